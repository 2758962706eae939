/* SPDX-License-Identifier: Apache-2.0
 *
 * Invariants for any input: later keys do not change earlier outputs, the number of threads changes nothing,
 * an output does not depend on the other queries of the call, and with rotary values only distances matter.
 */
#include "attention/bound.h"
#include "attention/trial.h"
#include "support/check.h"

#include <float.h>
#include <math.h>
#include <string.h>

static bool same_bits(const double *a, const double *b, int64_t count)
{
    return memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

static struct reference_case make_case(bool bf16, int64_t head_dim, int64_t queries, int64_t keys)
{
    return (struct reference_case){
        .batch = 2,
        .heads = 2,
        .key_value_heads = 1,
        .head_dim = head_dim,
        .queries = queries,
        .keys = keys,
        .first_query = keys - queries,
        .causal = true,
        .bf16 = bf16,
        .scale = (double)(float)(1 / sqrt((double)head_dim)),
        .rope = {.present = true, .dim = head_dim},
        .value_rope = {.present = true, .dim = head_dim},
    };
}

/* Overwrites all tokens from `from` on of tensors [batch, time, heads, head_dim] with other numbers. */
static void disturb(const struct reference_case *c, double *tensor, int64_t heads, int64_t from)
{
    for (int64_t i = 0; i < c->batch * c->keys * heads * c->head_dim; i++)
        if (i / (heads * c->head_dim) % c->keys >= from)
            tensor[i] = reference_round(c, (double)check_random(77, (uint64_t)i, 6));
}

static void try_future(bool bf16, rotary_isa isa)
{
    struct reference_case c = make_case(bf16, 40, 250, 250);
    struct reference_tensors a = reference_tensors_make(&c), b = reference_tensors_make(&c);
    struct trial_plan plan = trial_plan_make(&c, isa, 2);
    const int64_t cuts[] = {1, 77, 128, 192, 249};
    trial_fill(&c, &a, 1, 2);
    trial_run(&c, &plan, &a, false);
    for (int i = 0; i < 5; i++) {
        check_about("%s %s future from %lld", rotary_isa_name(isa), bf16 ? "bf16" : "f32",
                    (long long)cuts[i]);
        trial_fill(&c, &b, 1, 2);
        disturb(&c, b.query, c.heads, cuts[i]);
        disturb(&c, b.key, c.key_value_heads, cuts[i]);
        disturb(&c, b.value, c.key_value_heads, cuts[i]);
        trial_run(&c, &plan, &b, false);
        int64_t token = c.heads * c.head_dim, sequence = c.keys * token;
        for (int64_t s = 0; s < c.batch; s++) {
            CHECK(same_bits(a.output + s * sequence, b.output + s * sequence, cuts[i] * token));
            CHECK(!same_bits(a.output + s * sequence, b.output + s * sequence, (cuts[i] + 1) * token));
        }
    }
    trial_plan_free(&plan);
    reference_tensors_free(&a);
    reference_tensors_free(&b);
}

static void check_same(const struct reference_case *c, const struct reference_tensors *a,
                       const struct reference_tensors *b)
{
    int64_t query_size = reference_query_size(c), key_size = reference_key_size(c);
    CHECK(same_bits(a->output, b->output, query_size));
    CHECK(same_bits(a->log_sum_exp, b->log_sum_exp, c->batch * c->heads * c->queries));
    CHECK(same_bits(a->query_gradient, b->query_gradient, query_size));
    CHECK(same_bits(a->key_gradient, b->key_gradient, key_size));
    CHECK(same_bits(a->value_gradient, b->value_gradient, key_size));
}

static void try_threads(bool bf16, rotary_isa isa, int64_t queries)
{
    struct reference_case c = make_case(bf16, 16, queries, queries);
    struct reference_tensors a = reference_tensors_make(&c), b = reference_tensors_make(&c);
    const int threads[] = {1, 2, 3, 7};
    for (int i = 0; i < 4; i++) {
        struct reference_tensors *t = i == 0 ? &a : &b;
        struct trial_plan plan = trial_plan_make(&c, isa, threads[i]);
        trial_fill(&c, t, 1, 2);
        trial_run(&c, &plan, t, true);
        trial_plan_free(&plan);
        check_about("%s %s %d threads", rotary_isa_name(isa), bf16 ? "bf16" : "f32", threads[i]);
        check_same(&c, &a, t);
    }
    reference_tensors_free(&a);
    reference_tensors_free(&b);
}

/* A window longer than the sequence masks nothing, whatever the positions of the keys. */
static void try_long_window(bool bf16, rotary_isa isa, int64_t first_key)
{
    struct reference_case c = make_case(bf16, 16, 70, 70);
    c.first_key = first_key;
    struct reference_tensors a = reference_tensors_make(&c), b = reference_tensors_make(&c);
    for (int i = 0; i < 2; i++) {
        c.window = i == 0 ? 0 : INT64_MAX;
        struct trial_plan plan = trial_plan_make(&c, isa, 1);
        trial_fill(&c, i == 0 ? &a : &b, 1, 2);
        trial_run(&c, &plan, i == 0 ? &a : &b, true);
        trial_plan_free(&plan);
    }
    check_about("%s %s long window, keys from %lld", rotary_isa_name(isa), bf16 ? "bf16" : "f32",
                (long long)first_key);
    check_same(&c, &a, &b);
    reference_tensors_free(&a);
    reference_tensors_free(&b);
}

/* The last queries alone give the same bits as in a call with all queries, also where some rows are unbounded
 * and rows beside them are bounded. */
static void try_company(bool bf16, rotary_isa isa, double spread)
{
    struct reference_case full = make_case(bf16, 32, 300, 300);
    const int64_t alone[] = {1, 7, 50, 200};
    struct reference_tensors a = reference_tensors_make(&full);
    struct trial_plan plan = trial_plan_make(&full, isa, 2);
    trial_fill(&full, &a, 1, spread);
    trial_run(&full, &plan, &a, false);
    for (int i = 0; i < 4; i++) {
        struct reference_case c = make_case(bf16, 32, alone[i], 300);
        struct reference_tensors b = reference_tensors_make(&c);
        int64_t token = c.heads * c.head_dim, key_size = reference_key_size(&c);
        memcpy(b.key, a.key, (size_t)key_size * sizeof(double));
        memcpy(b.value, a.value, (size_t)key_size * sizeof(double));
        for (int64_t s = 0; s < c.batch; s++)
            memcpy(b.query + s * c.queries * token, a.query + (s * 300 + c.first_query) * token,
                   (size_t)(c.queries * token) * sizeof(double));
        trial_run(&c, &plan, &b, false);
        check_about("%s %s last %lld queries, scores of %g", rotary_isa_name(isa), bf16 ? "bf16" : "f32",
                    (long long)alone[i], spread);
        for (int64_t s = 0; s < c.batch; s++)
            CHECK(same_bits(b.output + s * c.queries * token, a.output + (s * 300 + c.first_query) * token,
                            c.queries * token));
        reference_tensors_free(&b);
    }
    trial_plan_free(&plan);
    reference_tensors_free(&a);
}

/* Keys and values behind the last query, as the rest of a cache has them, may be anything. */
static void try_rest(bool bf16, rotary_isa isa, int64_t queries, int64_t first_query)
{
    struct reference_case c = make_case(bf16, 40, queries, 700);
    c.first_query = first_query;
    struct reference_tensors a = reference_tensors_make(&c), b = reference_tensors_make(&c);
    struct trial_plan plan = trial_plan_make(&c, isa, 2);
    trial_fill(&c, &a, 1, 2);
    trial_fill(&c, &b, 1, 2);
    for (int64_t i = 0; i < reference_key_size(&c); i++)
        if (i / (c.key_value_heads * c.head_dim) % c.keys >= first_query + queries)
            b.key[i] = b.value[i] = NAN;
    trial_run(&c, &plan, &a, false);
    trial_run(&c, &plan, &b, false);
    check_about("%s %s rest of a cache behind %lld queries from %lld", rotary_isa_name(isa),
                bf16 ? "bf16" : "f32", (long long)queries, (long long)first_query);
    check_same(&c, &a, &b);
    trial_plan_free(&plan);
    reference_tensors_free(&a);
    reference_tensors_free(&b);
}

/* p is at most 1, so that gradients of values are at most the sum of all output gradients, however
 * coarse a log-sum-exp in f32 is. */
static void try_large_scores(bool bf16, rotary_isa isa, double spread)
{
    struct reference_case c = make_case(bf16, 40, 90, 130);
    struct reference_tensors t = reference_tensors_make(&c);
    struct trial_plan plan = trial_plan_make(&c, isa, 1);
    int64_t query_size = reference_query_size(&c), key_size = reference_key_size(&c);
    double max = 0;
    trial_fill(&c, &t, 1, spread);
    for (int64_t i = 0; i < query_size; i++)
        max = fmax(max, fabs(t.output_gradient[i]));
    trial_run(&c, &plan, &t, true);
    check_about("%s %s scores of %g", rotary_isa_name(isa), bf16 ? "bf16" : "f32", spread);
    for (int64_t i = 0; i < query_size; i++)
        CHECK(isfinite(t.query_gradient[i]));
    for (int64_t i = 0; i < key_size; i++) {
        CHECK(isfinite(t.key_gradient[i]));
        CHECK(fabs(t.value_gradient[i]) <= 2 * max * (double)(c.heads * c.queries));
    }
    trial_plan_free(&plan);
    reference_tensors_free(&t);
}

/* The max softcap changes nothing. */
static void try_large_cap(bool bf16, rotary_isa isa)
{
    struct reference_case open = make_case(bf16, 40, 90, 130), capped = open;
    struct trial_results results = trial_results_make(&open, 1, 2);
    capped.softcap = (double)FLT_MAX;
    struct trial_plan plan = trial_plan_make(&capped, isa, 2);
    trial_results_expect(&open, &results, true);
    check_about("%s %s largest cap", rotary_isa_name(isa), bf16 ? "bf16" : "f32");
    trial_run(&open, &plan, &results.got, true);
    trial_compare_all(&open, &results, true);
    trial_plan_free(&plan);
    trial_results_free(&results);
}

/* Under the min softcap p is uniform, also for a query whose scores are 0. */
static void try_small_cap(bool bf16, rotary_isa isa)
{
    struct reference_case c = make_case(bf16, 40, 90, 130), even = c;
    struct reference_tensors t = reference_tensors_make(&c), wanted = reference_tensors_make(&c);
    c.softcap = (double)FLT_TRUE_MIN;
    even.scale = 0x1p-60;
    struct trial_plan plan = trial_plan_make(&c, isa, 2);
    trial_fill(&c, &t, 1, 2);
    trial_fill(&c, &wanted, 1, 2);
    memset(t.query, 0, (size_t)(c.heads * c.head_dim) * sizeof *t.query);
    reference_run(&even, &wanted, false, false);
    trial_run(&c, &plan, &t, true);
    check_about("%s %s smallest cap", rotary_isa_name(isa), bf16 ? "bf16" : "f32");
    for (int64_t i = 0; i < reference_query_size(&c); i++) {
        CHECK_NEAR(t.output[i], wanted.output[i], bf16 ? 0x1p-6 : 0x1p-18);
        CHECK(isfinite(t.query_gradient[i]));
    }
    for (int64_t i = 0; i < reference_key_size(&c); i++)
        CHECK(isfinite(t.key_gradient[i]) && isfinite(t.value_gradient[i]));
    trial_plan_free(&plan);
    reference_tensors_free(&wanted);
    reference_tensors_free(&t);
}

/* With rotary values, outputs do not change when all positions are shifted; because cosines and sines are
 * rounded, not bit by bit. */
static void try_shift(bool bf16, rotary_isa isa)
{
    struct reference_case c = make_case(bf16, 64, 90, 130);
    struct trial_results results = trial_results_make(&c, 1, 2);
    struct trial_plan plan = trial_plan_make(&c, isa, 2);
    trial_results_expect(&c, &results, true);
    const int64_t shifts[] = {0, 1, 1000, 123456, -5000};
    for (int i = 0; i < 5; i++) {
        struct reference_case moved = c;
        moved.first_query += shifts[i];
        moved.first_key += shifts[i];
        check_about("%s %s shift %lld", rotary_isa_name(isa), bf16 ? "bf16" : "f32", (long long)shifts[i]);
        reference_run(&moved, &results.naive, true, true);
        bound_run(&moved, &results.wanted, &results.bound, true);
        trial_run(&moved, &plan, &results.got, true);
        trial_compare_all(&c, &results, true);
    }
    trial_plan_free(&plan);
    trial_results_free(&results);
}

int main(void)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    for (int i = 0; i < count; i++)
        for (int bf16 = 0; bf16 < 2; bf16++) {
            try_future(bf16, isas[i]);
            try_threads(bf16, isas[i], 150);
            try_threads(bf16, isas[i], 1100);
            try_long_window(bf16, isas[i], 0);
            try_long_window(bf16, isas[i], 30);
            try_company(bf16, isas[i], 2);
            try_company(bf16, isas[i], 4);
            try_rest(bf16, isas[i], 300, 5);
            try_rest(bf16, isas[i], 1, 33);
            try_rest(bf16, isas[i], 40, -50);
            try_large_cap(bf16, isas[i]);
            try_small_cap(bf16, isas[i]);
            try_large_scores(bf16, isas[i], 1e8);
            try_large_scores(bf16, isas[i], 1e12);
            try_shift(bf16, isas[i]);
        }
    return check_report();
}
