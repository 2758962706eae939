/* SPDX-License-Identifier: Apache-2.0
 *
 * Outputs and gradients of attention against PyTorch's autograd in double precision, at every instruction
 * set.
 */
#include "attention/golden_numbers.h"
#include "support/check.h"

#include <rotary/attention.h>
#include <stdio.h>
#include <stdlib.h>

#include "attention/attention_goldens.h"

enum { LONG = BATCH * TIME * HEADS * DIM, SHORT = BATCH * TIME * PAIRS * DIM, SCORES = HEADS * TIME * TIME };

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
    float *query = golden_numbers(1, LONG), *key = golden_numbers(2, SHORT),
          *value = golden_numbers(3, SHORT);
    float *gradient = golden_numbers(4, LONG), *bias = golden_numbers(5, SCORES);
    float *output = golden_numbers(6, LONG), *logs = golden_numbers(7, BATCH * HEADS * TIME);
    float *query_gradient = golden_numbers(6, LONG), *key_gradient = golden_numbers(6, SHORT),
          *value_gradient = golden_numbers(6, SHORT);
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
    check_samples(output, LONG, golden->output, SAMPLES);
    check_samples(query_gradient, LONG, golden->query, SAMPLES);
    check_samples(key_gradient, SHORT, golden->key, SAMPLES);
    check_samples(value_gradient, SHORT, golden->value, SAMPLES);
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
