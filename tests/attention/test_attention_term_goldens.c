/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention with a bias by distance, with keys, queries and values by distance and with dropout, and its
 * gradients, against PyTorch's autograd in double precision, at every instruction set.
 */
#include "attention/golden_numbers.h"
#include "support/check.h"

#include <math.h>
#include <rotary/attention.h>
#include <stdlib.h>

#include "attention/attention_term_goldens.h"

enum { LONG = BATCH * TIME * HEADS * DIM, SHORT = BATCH * TIME * PAIRS * DIM, TABLE = HEADS * DISTANCES };
enum { VECTORS = TABLE * DIM, BIAS = HEADS * DIM };

static rotary_attention_const_view given(const float *data, int64_t heads)
{
    return (rotary_attention_const_view){data, TIME * heads * DIM, heads * DIM, DIM};
}

static rotary_attention_view written(float *data, int64_t heads)
{
    return (rotary_attention_view){data, TIME * heads * DIM, heads * DIM, DIM};
}

/* Vectors by distance, and their gradients. */
struct vectors {
    float *data, *gradient;
    int64_t count;
};

static struct vectors make_vectors(int64_t seed, int64_t count)
{
    return (struct vectors){golden_numbers(seed, count), calloc((size_t)count, sizeof(float)), count};
}

static rotary_attention_distance_vectors given_if(bool present, struct vectors vectors)
{
    if (!present)
        return (rotary_attention_distance_vectors){0};
    return (rotary_attention_distance_vectors){vectors.data,    DISTANCES, FIRST,
                                               DISTANCES * DIM, DIM,       vectors.gradient};
}

static void check_gradients(struct vectors *vectors, const double *wanted)
{
    check_samples(vectors->gradient, vectors->count, wanted, SAMPLES);
    free(vectors->data);
    free(vectors->gradient);
}

static void test_golden(const struct golden *golden, rotary_isa isa)
{
    check_about("%s, %s", golden->name, rotary_isa_name(isa));
    rotary_attention *attention = NULL;
    rotary_attention_config config;
    rotary_attention_config_default(&config);
    config.heads = HEADS;
    config.key_value_heads = PAIRS;
    config.head_dim = DIM;
    config.causal = golden->causal;
    config.softcap = golden->softcap;
    config.scale = (float)(1 / sqrt(golden->products * (double)DIM));
    config.isa = isa;
    CHECK_INT(rotary_attention_create(&attention, &config, NULL), ROTARY_OK);
    float *query = golden_numbers(1, LONG), *key = golden_numbers(2, SHORT),
          *value = golden_numbers(3, SHORT), *gradient = golden_numbers(4, LONG),
          *table = golden_numbers(5, TABLE);
    float *output = golden_numbers(6, LONG), *logs = golden_numbers(7, BATCH * HEADS * TIME),
          *query_gradient = golden_numbers(6, LONG), *key_gradient = golden_numbers(6, SHORT),
          *value_gradient = golden_numbers(6, SHORT), *table_gradient = calloc(TABLE, sizeof(float));
    rotary_attention_distance_bias bias = {table, DISTANCES, FIRST, DISTANCES, table_gradient};
    if (!golden->distance)
        bias = (rotary_attention_distance_bias){0};
    struct vectors keys = make_vectors(8, VECTORS), queries = make_vectors(9, VECTORS),
                   values = make_vectors(10, VECTORS), query_bias = make_vectors(11, BIAS);
    bool biased = golden->vectors & QUERY_BIAS;
    rotary_attention_forward_call forward = {
        .struct_size = sizeof forward,
        .shape = {BATCH, TIME, TIME, 0, 0},
        .query = given(query, HEADS),
        .key = given(key, PAIRS),
        .value = given(value, PAIRS),
        .output = written(output, HEADS),
        .log_sum_exp = logs,
        .distance_bias = bias,
        .dropout = {.probability = golden->dropout, .seed = SEED, .step = STEP, .site = SITE},
        .distance_keys = given_if(golden->vectors & KEYS, keys),
        .query_bias = biased ? query_bias.data : NULL,
        .distance_queries = given_if(golden->vectors & QUERIES, queries),
        .distance_values = given_if(golden->vectors & VALUES, values),
    };
    rotary_attention_backward_call backward = {
        .struct_size = sizeof backward,
        .shape = forward.shape,
        .query = forward.query,
        .key = forward.key,
        .value = forward.value,
        .output = given(output, HEADS),
        .output_gradient = given(gradient, HEADS),
        .log_sum_exp = logs,
        .query_gradient = written(query_gradient, HEADS),
        .key_gradient = written(key_gradient, PAIRS),
        .value_gradient = written(value_gradient, PAIRS),
        .distance_bias = bias,
        .dropout = forward.dropout,
        .distance_keys = forward.distance_keys,
        .query_bias = forward.query_bias,
        .query_bias_gradient = biased ? query_bias.gradient : NULL,
        .distance_queries = forward.distance_queries,
        .distance_values = forward.distance_values,
    };
    size_t bytes = rotary_attention_forward_call_bytes(attention, &forward) +
                   rotary_attention_backward_call_bytes(attention, &backward);
    void *workspace = aligned_alloc(64, (bytes + 127) / 64 * 64);
    forward.workspace = backward.workspace = workspace;
    CHECK_INT(rotary_attention_forward(attention, &forward, NULL), ROTARY_OK);
    CHECK_INT(rotary_attention_backward(attention, &backward, NULL), ROTARY_OK);
    check_samples(output, LONG, golden->output, SAMPLES);
    check_samples(query_gradient, LONG, golden->query, SAMPLES);
    check_samples(key_gradient, SHORT, golden->key, SAMPLES);
    check_samples(value_gradient, SHORT, golden->value, SAMPLES);
    check_samples(table_gradient, TABLE, golden->table, SAMPLES);
    check_gradients(&keys, golden->keys);
    check_gradients(&query_bias, golden->query_bias);
    check_gradients(&queries, golden->queries);
    check_gradients(&values, golden->values);
    void *all[] = {query,          key,          value,          gradient,       table,    output, logs,
                   query_gradient, key_gradient, value_gradient, table_gradient, workspace};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    rotary_attention_destroy(attention);
}

int main(void)
{
    for (int isa = ROTARY_ISA_SCALAR; isa <= ROTARY_ISA_AVX512BF16; isa++)
        for (size_t i = 0; rotary_isa_available((rotary_isa)isa) && i < sizeof goldens / sizeof *goldens; i++)
            test_golden(&goldens[i], (rotary_isa)isa);
    return check_report();
}
