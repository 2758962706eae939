/* SPDX-License-Identifier: Apache-2.0
 *
 * Sinks of every size on every instruction set, against the reference in double: within and far beyond the
 * scores, with bounded and unbounded scores, where queries see no key, and while decoding. The reference's
 * gradient of the sinks is compared with finite differences.
 */
#include "attention/trial.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 4 };

struct sizes {
    const char *name;
    double sinks[HEADS];
};
static const struct sizes all_sizes[] = {
    {"moderate", {-1.5, 0, 0.75, 3}},
    {"extreme", {100, -100, 40, -HUGE_VAL}},
    {"beyond every exponential", {1000, -1000, 100, 100}},
};
enum { SIZES = sizeof all_sizes / sizeof *all_sizes };

static struct reference_case case_of(const double *sinks, bool bf16, int64_t key_value_heads)
{
    return (struct reference_case){.batch = 2,
                                   .heads = HEADS,
                                   .key_value_heads = key_value_heads,
                                   .head_dim = 24,
                                   .queries = 70,
                                   .keys = 66,
                                   .first_query = -4, /* the first queries see no key */
                                   .causal = true,
                                   .bf16 = bf16,
                                   .scale = 0.25,
                                   .rope = {.present = true, .dim = 24},
                                   .value_rope = {.present = true, .dim = 16},
                                   .sinks = sinks};
}

/* Queries that see no key, with the sink as their log-sum-exp. */
static void check_blank_rows(const struct reference_case *c, const struct reference_tensors *got)
{
    for (int64_t head = 0; head < c->heads; head++)
        for (int64_t query = 0; query < 4; query++) {
            CHECK(got->log_sum_exp[head * c->queries + query] == c->sinks[head]);
            for (int64_t channel = 0; channel < c->head_dim; channel++)
                CHECK(got->output[(query * c->heads + head) * c->head_dim + channel] == 0);
        }
}

/* Biases of all distances: the first keep scores bounded, the second do not. */
static const double all_biases[][HEADS] = {{0.5, 0, -1, 2}, {70, -70, 65, -90}};

static void try_passes(const struct sizes *sizes, bool bf16, const double *biases)
{
    rotary_isa isas[6];
    const int count = trial_isas(isas);
    struct reference_case c = case_of(sizes->sinks, bf16, 2);
    c.distance_bias = (struct reference_distance_bias){biases, 1, 0, 1};
    struct trial_results results = trial_results_make(&c, 61, 1);
    trial_results_expect(&c, &results, true);
    for (int i = 0; i < count; i++) {
        double first[HEADS];
        for (int threads = 1; threads <= 3; threads += 2) {
            check_about("%s %s sinks %s biases %g threads %d", rotary_isa_name(isas[i]),
                        bf16 ? "bf16" : "f32", sizes->name, biases[0], threads);
            struct trial_plan plan = trial_plan_make(&c, isas[i], threads);
            trial_run(&c, &plan, &results.got, true);
            trial_compare_all(&c, &results, true);
            check_blank_rows(&c, &results.got);
            if (threads == 1)
                memcpy(first, results.got.sinks_gradient, sizeof first);
            CHECK(memcmp(first, results.got.sinks_gradient, sizeof first) == 0);
            trial_plan_free(&plan);
        }
    }
    trial_results_free(&results);
}

/* sum over the output of output times output_gradient. */
static double loss_of(const struct reference_case *c, struct reference_tensors *t)
{
    double loss = 0;
    reference_run(c, t, false, false);
    for (int64_t i = 0; i < reference_query_size(c); i++)
        loss += t->output[i] * t->output_gradient[i];
    return loss;
}

static void try_differences(void)
{
    double sinks[HEADS];
    const double step = 1e-4;
    memcpy(sinks, all_sizes[0].sinks, sizeof sinks);
    struct reference_case c = case_of(sinks, false, 2);
    struct reference_tensors t = reference_tensors_make(&c);
    trial_fill(&c, &t, 71, 1);
    reference_run(&c, &t, true, false);
    for (int head = 0; head < HEADS; head++) {
        check_about("finite difference of sink %d", head);
        double at = sinks[head], gradient = t.sinks_gradient[head];
        sinks[head] = at + step;
        double more = loss_of(&c, &t);
        sinks[head] = at - step;
        double less = loss_of(&c, &t);
        sinks[head] = at;
        CHECK(fabs(gradient) > 0.01);
        CHECK(fabs((more - less) / (2 * step) - gradient) <= 1e-6 * (1 + fabs(gradient)));
    }
    reference_tensors_free(&t);
}

/* ---- decoding ---- */

static float *floats_of(const double *from, int64_t count)
{
    float *made = trial_memory((size_t)count * sizeof *made);
    for (int64_t i = 0; i < count; i++)
        made[i] = (float)from[i];
    return made;
}

/* Decodes all tokens of one sequence in steps of `step`, in f32. */
static void decode_steps(const struct reference_case *c, const struct trial_plan *plan,
                         struct reference_tensors *t, int64_t step)
{
    int64_t d = c->head_dim, query_row = c->heads * d, key_row = c->key_value_heads * d;
    float *query = floats_of(t->query, c->queries * query_row), *key = floats_of(t->key, c->keys * key_row),
          *value = floats_of(t->value, c->keys * key_row), *sinks = floats_of(c->sinks, c->heads);
    float *keys = trial_memory((size_t)(c->keys * key_row) * sizeof *keys),
          *values = trial_memory((size_t)(c->keys * key_row) * sizeof *values),
          *output = trial_memory((size_t)(c->queries * query_row) * sizeof *output);
    void *workspace = trial_memory(rotary_attention_decode_bytes(plan->attention, 1, step, c->keys));
    for (int64_t at = 0; at < c->queries; at += step) {
        rotary_error error = {0};
        const rotary_attention_decode_call call = {
            .struct_size = sizeof call,
            .batch = 1,
            .queries = at + step < c->queries ? step : c->queries - at,
            .capacity = c->keys,
            .lengths = &at,
            .query = {query + at * query_row, 0, query_row, d},
            .key = {key + at * key_row, 0, key_row, d},
            .value = {value + at * key_row, 0, key_row, d},
            .key_cache = {keys, 0, key_row, d},
            .value_cache = {values, 0, key_row, d},
            .output = {output + at * query_row, 0, query_row, d},
            .workspace = workspace,
            .sinks = sinks,
        };
        if (!CHECK_INT(rotary_attention_decode(plan->attention, &call, &error), ROTARY_OK))
            printf("%s\n", error.message);
    }
    for (int64_t i = 0; i < c->queries * query_row; i++)
        t->output[i] = (double)output[i];
    void *const all[] = {query, key, value, sinks, keys, values, output, workspace};
    for (int i = 0; i < 8; i++)
        free(all[i]);
}

static void try_decoding(const struct sizes *sizes)
{
    static const int64_t steps[] = {1, 3, 70};
    rotary_isa isas[6];
    const int count = trial_isas(isas);
    struct reference_case c = case_of(sizes->sinks, false, 4);
    c.batch = 1;
    c.queries = c.keys = 70;
    c.first_query = 0;
    struct trial_results results = trial_results_make(&c, 81, 1);
    trial_results_expect(&c, &results, false);
    for (int i = 0; i < count; i++)
        for (int s = 0; s < 3; s++) {
            check_about("%s decoding by %lld, sinks %s", rotary_isa_name(isas[i]), (long long)steps[s],
                        sizes->name);
            struct trial_plan plan = trial_plan_make(&c, isas[i], 1 + s);
            decode_steps(&c, &plan, &results.got, steps[s]);
            trial_hold(&c, "output", results.got.output, results.wanted.output, results.bound.output,
                       reference_query_size(&c), 0);
            trial_plan_free(&plan);
        }
    trial_results_free(&results);
}

int main(void)
{
    for (int s = 0; s < SIZES; s++) {
        for (int bf16 = 0; bf16 < 2; bf16++) {
            try_passes(&all_sizes[s], bf16, all_biases[0]);
            try_passes(&all_sizes[s], bf16, all_biases[1]);
        }
        try_decoding(&all_sizes[s]);
    }
    try_differences();
    return check_report();
}
