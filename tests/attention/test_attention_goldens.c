/* SPDX-License-Identifier: Apache-2.0
 *
 * Outputs and gradients of attention against PyTorch's autograd in double precision, at every instruction
 * set.
 */
#include "support/check.h"

#include <math.h>
#include <rotary/attention.h>
#include <stdio.h>
#include <stdlib.h>

#include "attention/attention_goldens.h"

enum { LONG = BATCH * TIME * HEADS * DIM, SHORT = BATCH * TIME * PAIRS * DIM, SCORES = HEADS * TIME * TIME };

/* As numbers() in make_attention_goldens.py. */
static float *numbers(int64_t seed, int64_t count)
{
    float *made = malloc((size_t)count * sizeof *made);
    for (int64_t j = 0; j < count; j++) {
        int64_t i = j + 100003 * seed;
        uint32_t hash = 1103515245u * (uint32_t)i + 12345u;
        made[j] = (float)((int)(hash >> 8 & 0xffff) - 32768) / 32768.0f * ldexpf(1.0f, (int)(i % 4) - 2);
    }
    return made;
}

/* Numbers are below 2, so a score of DIM products, 1 / sqrt(DIM) of their sum, is at most 23, and off by DIM
 * + 8 roundings of that: 5.5e-5. p is off by twice as much of itself. Outputs and gradients are sums
 * of products with p, which cancel to no less than half of the largest sample here: 4 times 5.5e-5 of
 * it. */
static void check_samples(const float *got, int64_t count, const double *wanted)
{
    double largest = 0;
    for (int j = 0; j < SAMPLES; j++)
        largest = fmax(largest, fabs(wanted[j]));
    for (int j = 0; j < SAMPLES; j++)
        CHECK_NEAR((double)got[j * 613 % count], wanted[j], 2.2e-4 * largest);
}

static rotary_attention_const_view view(const float *data, int64_t heads)
{
    return (rotary_attention_const_view){data, TIME * heads * DIM, heads * DIM, DIM};
}

static rotary_attention_view room(float *data, int64_t heads)
{
    return (rotary_attention_view){data, TIME * heads * DIM, heads * DIM, DIM};
}

static void test_golden(const struct golden *golden, rotary_isa isa)
{
    check_about("%s, %s", golden->name, rotary_isa_name(isa));
    rotary_rope_config rope_config;
    rotary_rope_config_default(&rope_config);
    rope_config.head_dim = DIM;
    rope_config.base = BASE;
    rotary_rope *rope = NULL;
    rotary_attention *attention = NULL;
    CHECK_INT(rotary_rope_create(&rope, &rope_config, NULL), ROTARY_OK);
    rotary_attention_config config;
    rotary_attention_config_default(&config);
    config.heads = HEADS;
    config.key_value_heads = PAIRS;
    config.head_dim = DIM;
    config.causal = golden->causal;
    config.window = golden->window;
    config.softcap = golden->softcap;
    config.rope = golden->rope ? rope : NULL;
    config.value_rope = golden->roper ? rope : NULL;
    config.isa = isa;
    CHECK_INT(rotary_attention_create(&attention, &config, NULL), ROTARY_OK);
    float *query = numbers(1, LONG), *key = numbers(2, SHORT), *value = numbers(3, SHORT);
    float *gradient = numbers(4, LONG), *bias = numbers(5, SCORES);
    float *output = numbers(6, LONG), *logs = numbers(7, BATCH * HEADS * TIME);
    float *query_gradient = numbers(6, LONG), *key_gradient = numbers(6, SHORT),
          *value_gradient = numbers(6, SHORT);
    rotary_attention_shape shape = {BATCH, TIME, TIME, 0, 0};
    size_t bytes =
        rotary_attention_forward_bytes(attention, shape) + rotary_attention_backward_bytes(attention, shape);
    void *workspace = aligned_alloc(64, (bytes + 127) / 64 * 64);
    rotary_attention_bias added = {golden->bias ? bias : NULL, 0, TIME * TIME, TIME};
    rotary_attention_forward_call forward = {.struct_size = sizeof forward,
                                             .shape = shape,
                                             .query = view(query, HEADS),
                                             .key = view(key, PAIRS),
                                             .value = view(value, PAIRS),
                                             .output = room(output, HEADS),
                                             .log_sum_exp = logs,
                                             .workspace = workspace,
                                             .bias = added};
    CHECK_INT(rotary_attention_forward(attention, &forward, NULL), ROTARY_OK);
    rotary_attention_backward_call backward = {.struct_size = sizeof backward,
                                               .shape = shape,
                                               .query = view(query, HEADS),
                                               .key = view(key, PAIRS),
                                               .value = view(value, PAIRS),
                                               .output = view(output, HEADS),
                                               .output_gradient = view(gradient, HEADS),
                                               .log_sum_exp = logs,
                                               .query_gradient = room(query_gradient, HEADS),
                                               .key_gradient = room(key_gradient, PAIRS),
                                               .value_gradient = room(value_gradient, PAIRS),
                                               .workspace = workspace,
                                               .bias = added};
    CHECK_INT(rotary_attention_backward(attention, &backward, NULL), ROTARY_OK);
    check_samples(output, LONG, golden->output);
    check_samples(query_gradient, LONG, golden->query);
    check_samples(key_gradient, SHORT, golden->key);
    check_samples(value_gradient, SHORT, golden->value);
    float *all[] = {query,  key,  value,          gradient,     bias,
                    output, logs, query_gradient, key_gradient, value_gradient};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(workspace);
    rotary_attention_destroy(attention);
    rotary_rope_destroy(rope);
}

int main(void)
{
    for (int isa = ROTARY_ISA_SCALAR; isa <= ROTARY_ISA_AVX512BF16; isa++)
        for (size_t i = 0; rotary_isa_available((rotary_isa)isa) && i < sizeof goldens / sizeof *goldens; i++)
            test_golden(&goldens[i], (rotary_isa)isa);
    return check_report();
}
