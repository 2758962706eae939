/* SPDX-License-Identifier: Apache-2.0
 *
 * Any subset of queries, keys, values and outputs rotates: on every instruction set, forward and backward and in a
 * cache, against the reference in double, and gradients against its finite differences. What depends on differences
 * of positions alone is shifted without a change, and nothing else is.
 */
#include "attention/bound.h"
#include "attention/trial.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUERY = 1, KEY = 2, VALUE = 4, OUTPUT = 8, SUBSETS = 16 };

static const char *name_of(unsigned rotate)
{
    static const char *const names[SUBSETS] = {"all", "q",  "k",  "qk",  "v",  "qv",  "kv",  "qkv",
                                               "o",   "qo", "ko", "qko", "vo", "qvo", "kvo", "qkvo"};
    return names[rotate];
}

/* Values have a rotation of their own. */
static struct reference_case case_of(unsigned rotate, bool bf16)
{
    return (struct reference_case){
        .batch = 2,
        .heads = 4,
        .key_value_heads = 2,
        .head_dim = 24,
        .queries = 30,
        .keys = 37,
        .first_query = 7,
        .causal = true,
        .bf16 = bf16,
        .scale = (double)(float)(1 / sqrt(24.0)),
        .rope = {.present = true, .dim = 24},
        .value_rope = {.present = true, .interleaved = true, .start = 4, .dim = 16},
        .rotate = rotate};
}

/* ---- finite differences ---- */

static double loss_of(const struct reference_case *c, const struct reference_tensors *at)
{
    struct reference_tensors t = *at;
    double sum = 0;
    reference_run(c, &t, false, false);
    for (int64_t i = 0; i < reference_query_size(c); i++)
        sum += t.output[i] * t.output_gradient[i];
    return sum;
}

/* Steps along a direction; with gradients, returns their product with it, and adds the size of its terms. */
static double step(double *numbers, const double *gradient, int64_t count, uint64_t seed, double length,
                   double *size)
{
    double product = 0;
    for (int64_t i = 0; i < count; i++) {
        double direction = (double)check_random(seed, (uint64_t)i, 1);
        numbers[i] += length * direction;
        product += gradient ? gradient[i] * direction : 0;
        *size += gradient ? fabs(gradient[i] * direction) : 0;
    }
    return product;
}

/* The library's gradients along a random direction are the slope of the reference's outputs. */
static void check_differences(const struct reference_case *c, struct reference_tensors *got)
{
    enum { TENSORS = 3 };
    const double length = 1e-5;
    const int64_t queries = reference_query_size(c), keys = reference_key_size(c),
                  counts[] = {queries, keys, keys};
    const double *gradients[] = {got->query_gradient, got->key_gradient, got->value_gradient};
    double *const numbers[] = {got->query, got->key, got->value};
    double slope = 0, size = 0, unused = 0, losses[2];
    double *output = got->output, *sums = got->log_sum_exp;
    got->output = calloc((size_t)queries, sizeof(double));
    got->log_sum_exp = calloc((size_t)(c->batch * c->heads * c->queries), sizeof(double));
    for (int i = 0; i < TENSORS; i++)
        slope += step(numbers[i], gradients[i], counts[i], 30 + (uint64_t)i, length, &size);
    losses[0] = loss_of(c, got);
    for (int i = 0; i < TENSORS; i++)
        step(numbers[i], NULL, counts[i], 30 + (uint64_t)i, -2 * length, &unused);
    losses[1] = loss_of(c, got);
    for (int i = 0; i < TENSORS; i++)
        step(numbers[i], NULL, counts[i], 30 + (uint64_t)i, length, &unused);
    free(got->output);
    free(got->log_sum_exp);
    got->output = output;
    got->log_sum_exp = sums;
    CHECK_NEAR(slope, (losses[0] - losses[1]) / (2 * length), 1e-6 * size);
}

static void try_passes(const struct reference_case *c)
{
    rotary_isa isas[6];
    const int count = trial_isas(isas);
    if (!trial_can_plan(c))
        return;
    struct trial_results results = trial_results_make(c, 61, 1);
    trial_results_expect(c, &results, true);
    for (int i = 0; i < count; i++) {
        check_about("%s %s %s%s", rotary_isa_name(isas[i]), c->bf16 ? "bf16" : "f32", name_of(c->rotate),
                    c->key_is_value ? ", keys are values" : "");
        struct trial_plan plan = trial_plan_make(c, isas[i], 1 + i % 3);
        trial_run(c, &plan, &results.got, true);
        trial_compare_all(c, &results, true);
        trial_plan_free(&plan);
        if (!c->bf16 && !c->key_is_value && i == count - 1)
            check_differences(c, &results.got);
    }
    trial_results_free(&results);
}

/* ---- differences of positions ---- */

static bool is_relative(unsigned rotate)
{
    const unsigned scores = rotate & (QUERY | KEY), sums = rotate & (VALUE | OUTPUT);
    return (scores == 0 || scores == (QUERY | KEY)) && (sums == 0 || sums == (VALUE | OUTPUT));
}

static void try_positions(unsigned rotate)
{
    struct reference_case c = case_of(rotate, false), moved = c;
    moved.first_query += 1000;
    moved.first_key += 1000;
    struct trial_results results = trial_results_make(&moved, 67, 1);
    struct reference_tensors here = reference_tensors_make(&c);
    trial_fill(&c, &here, 67, 1);
    reference_run(&c, &here, false, false);
    trial_results_expect(&moved, &results, true);
    struct trial_plan plan = trial_plan_make(&moved, ROTARY_ISA_AUTO, 2);
    trial_run(&moved, &plan, &results.got, true);
    check_about("%s from position 1000 on", name_of(rotate));
    trial_compare_all(&moved, &results, true);
    double largest = 0;
    for (int64_t i = 0; i < reference_query_size(&c); i++)
        largest = fmax(largest, fabs(here.output[i] - results.wanted.output[i]));
    CHECK(is_relative(rotate) ? largest < 1e-10 : largest > 1e-2);
    trial_plan_free(&plan);
    reference_tensors_free(&here);
    trial_results_free(&results);
}

/* ---- a cache ---- */

static float *floats_of(const double *numbers, int64_t count)
{
    float *made = trial_memory((size_t)count * sizeof *made);
    for (int64_t i = 0; i < count; i++)
        made[i] = (float)numbers[i];
    return made;
}

/* Decodes all tokens in steps of several sizes; `capacity` rows are as many as there are tokens. */
static void try_cache(unsigned rotate, rotary_isa isa)
{
    static const int64_t steps[] = {1, 3, 12, 1};
    struct reference_case c = case_of(rotate, false);
    c.batch = 1;
    c.queries = c.keys = 17;
    c.first_query = 0;
    const int64_t d = c.head_dim, query_row = c.heads * d, key_row = c.key_value_heads * d, capacity = c.keys;
    struct trial_results results = trial_results_make(&c, 71, 1);
    trial_results_expect(&c, &results, false);
    struct trial_plan plan = trial_plan_make(&c, isa, 2);
    float *query = floats_of(results.got.query, reference_query_size(&c)),
          *key = floats_of(results.got.key, reference_key_size(&c)),
          *value = floats_of(results.got.value, reference_key_size(&c)),
          *output = trial_memory((size_t)(capacity * query_row) * sizeof(float)),
          *key_cache = trial_memory((size_t)(capacity * key_row) * sizeof(float)),
          *value_cache = trial_memory((size_t)(capacity * key_row) * sizeof(float));
    check_about("%s %s in a cache", rotary_isa_name(isa), name_of(rotate));
    int64_t length = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; length += steps[i++]) {
        void *workspace = trial_memory(rotary_attention_decode_bytes(plan.attention, 1, steps[i], capacity));
        const rotary_attention_decode_call call = {
            .struct_size = sizeof call,
            .batch = 1,
            .queries = steps[i],
            .capacity = capacity,
            .lengths = &length,
            .query = {query + length * query_row, 0, query_row, d},
            .key = {key + length * key_row, 0, key_row, d},
            .value = {value + length * key_row, 0, key_row, d},
            .key_cache = {key_cache, 0, key_row, d},
            .value_cache = {value_cache, 0, key_row, d},
            .output = {output + length * query_row, 0, query_row, d},
            .workspace = workspace,
        };
        CHECK_INT(rotary_attention_decode(plan.attention, &call, NULL), ROTARY_OK);
        free(workspace);
    }
    for (int64_t i = 0; i < reference_query_size(&c); i++)
        results.got.output[i] = (double)output[i];
    trial_hold(&c, "output", results.got.output, results.wanted.output, results.bound.output,
               reference_query_size(&c), 0);
    float *const all[] = {query, key, value, output, key_cache, value_cache};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    trial_plan_free(&plan);
    trial_results_free(&results);
}

/* ---- what is refused ---- */

static void refuse(const rotary_attention_config *config, const char *words)
{
    rotary_attention *attention;
    rotary_error error = {0};
    check_about("%s", words);
    CHECK_INT(rotary_attention_create(&attention, config, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, words);
    check_about("%s", "");
}

static void try_errors(void)
{
    rotary_rope_config plain, xpos;
    rotary_rope *rope = NULL, *grown = NULL;
    rotary_attention_config config;
    rotary_rope_config_default(&plain);
    plain.head_dim = 16;
    xpos = plain;
    xpos.xpos_scale = 512;
    CHECK_INT(rotary_rope_create(&rope, &plain, NULL), ROTARY_OK);
    CHECK_INT(rotary_rope_create(&grown, &xpos, NULL), ROTARY_OK);
    rotary_attention_config_default(&config);
    CHECK_INT(config.rotate, 0);
    config.heads = config.key_value_heads = 1;
    config.head_dim = 16;
    config.rope = config.value_rope = rope;
    config.rotate = SUBSETS;
    refuse(&config, "rotate is 16; wanted a sum of some rotary_attention_rotate, at most 15, or 0");
    config.rotate = KEY | VALUE;
    config.rope = NULL;
    refuse(&config, "rotate is 6, and there is no rope");
    config.rotate = OUTPUT;
    config.value_rope = NULL;
    refuse(&config, "rotate is 8, and there is no value_rope");
    config.rope = grown;
    config.rotate = KEY;
    refuse(&config, "rotate is 2, and rope has magnitudes of queries alone|ROTARY_ROTATE_QUERY");
    config.rope = NULL;
    config.rotate = VALUE;
    config.key_is_value = true;
    refuse(&config, "rotate is 4, and there is no rope");
    rotary_rope_destroy(rope);
    rotary_rope_destroy(grown);
}

int main(void)
{
    rotary_isa isas[6];
    const int count = trial_isas(isas);
    for (unsigned rotate = 1; rotate < SUBSETS; rotate++) {
        struct reference_case c = case_of(rotate, false), shared = c;
        try_passes(&c);
        c.bf16 = true;
        try_passes(&c);
        shared.key_is_value = true;
        shared.value_rope = shared.rope;
        if (trial_takes((int)rotate, 4)) {
            try_passes(&shared);
            shared.bf16 = true;
            try_passes(&shared);
        }
        try_positions(rotate);
        for (int i = 0; i < count; i++)
            try_cache(rotate, isas[i]);
    }
    try_errors();
    return check_report();
}
