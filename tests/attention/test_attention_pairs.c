/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention with the terms of every encoding and what these are combined with: each pair of choices occurs,
 * forward and backward, on every instruction set of this machine, against the reference in double.
 *
 * test_attention_pairs random N tries N random combinations more.
 */
#include "attention/dropout_factors.h"
#include "attention/piecewise_case.h"
#include "attention/term_inputs.h"
#include "attention/trial.h"
#include "base/random.h"
#include "support/check.h"
#include "support/covering.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum factor { TERMS, VISIBILITY, GROUPS, TOKENS, DROPOUT, PRECISION, SOFTCAP, TABLES, SINKS, FACTORS };

enum { ROPE, ROPER, BIAS, FIRE, SHAW, TRANSFORMER_XL, DEBERTA, ALL_TERMS, TERM_LEVELS };
static const char *const term_names[TERM_LEVELS] = {"rope", "roper",          "bias",    "fire",
                                                    "shaw", "transformer-xl", "deberta", "all"};
enum { ALL_VISIBLE, CAUSAL, WINDOW, VISIBILITIES };
enum { HEADS = 4, GROUP_LEVELS = 3 };
static const int64_t key_value_heads[GROUP_LEVELS] = {4, 2, 1};
enum { EQUAL_LENGTHS, KEY_LENGTHS, PACKED, TOKEN_LEVELS };
enum { ALL_DISTANCES, CLIPPED, TABLE_LEVELS };
enum { F32, BF16, F16, PRECISIONS };

static const int levels[FACTORS] = {
    TERM_LEVELS, VISIBILITIES, GROUP_LEVELS, TOKEN_LEVELS, 2, PRECISIONS, 2, TABLE_LEVELS, 2};

static struct reference_distance_vectors range_of(const struct reference_case *c, int table)
{
    const int64_t all = c->queries + c->keys - 1;
    return table == CLIPPED ? (struct reference_distance_vectors){.distances = 17, .first = -8}
                            : (struct reference_distance_vectors){.distances = all, .first = 1 - c->queries};
}

/* With tables of all distances and positions, or shorter ones. */
static struct piecewise_shape piecewise_of(const struct reference_case *c, int table)
{
    const struct reference_distance_vectors range = range_of(c, table);
    return (struct piecewise_shape){9, range.distances, range.first, table == CLIPPED ? 20 : 60, 0.25, 30};
}

static void add_vectors(const struct reference_case *c, struct reference_distance_vectors *vectors,
                        const int *row, uint64_t seed)
{
    *vectors = range_of(c, row[TABLES]);
    term_vectors(c, vectors, (enum term_layout)(seed % TERM_LAYOUTS), 0.5, seed);
}

static void add_terms(struct reference_case *c, const int *row, uint64_t seed)
{
    const int terms = row[TERMS];
    const bool all = terms == ALL_TERMS;
    const struct reference_rotation rotation = {.present = true, .dim = c->head_dim};
    if (terms == ROPE || terms == ROPER || all)
        c->rope = rotation;
    if (terms == ROPER || all)
        c->value_rope = rotation;
    if (terms == BIAS || all) {
        const struct reference_distance_vectors range = range_of(c, row[TABLES]);
        c->distance_bias = (struct reference_distance_bias){term_numbers(HEADS * range.distances, 1, seed),
                                                            range.distances, range.first, range.distances};
    }
    if (terms == SHAW || terms == TRANSFORMER_XL || terms == DEBERTA || all)
        add_vectors(c, &c->distance_keys, row, seed + 1);
    if (terms == SHAW || all)
        add_vectors(c, &c->distance_values, row, seed + 2);
    if (terms == TRANSFORMER_XL || all)
        c->query_bias = term_numbers(HEADS * c->head_dim, 1, seed + 3);
    if (terms == DEBERTA || all)
        add_vectors(c, &c->distance_queries, row, seed + 4);
}

static void try_row(const int *row, uint64_t seed)
{
    static const int64_t lengths[3] = {41, 0, 17};
    rotary_isa isas[6];
    const int count = trial_isas(isas);
    struct reference_case c = {
        .batch = 3,
        .heads = HEADS,
        .key_value_heads = key_value_heads[row[GROUPS]],
        .head_dim = 16,
        .queries = 37,
        .keys = 41,
        .first_query = 4,
        .causal = row[VISIBILITY] != ALL_VISIBLE,
        .window = row[VISIBILITY] == WINDOW ? 11 : 0,
        .key_lengths = row[TOKENS] == KEY_LENGTHS ? lengths : NULL,
        .packed = row[TOKENS] == PACKED,
        .bf16 = row[PRECISION] == BF16,
        .f16 = row[PRECISION] == F16,
        .softcap = row[SOFTCAP] ? 3 : 0,
        .scale = 0.25,
    };
    if (!trial_can_plan(&c))
        return;
    add_terms(&c, row, seed);
    if (row[SINKS])
        c.sinks = term_numbers(HEADS, 2, seed + 6);
    if (row[DROPOUT]) {
        c.dropout = (rotary_attention_dropout){.probability = 0.25f, .seed = seed, .step = 7, .site = 2};
        c.factors = dropout_factors(&c);
    }
    const struct piecewise_shape piecewise = piecewise_of(&c, row[TABLES]);
    const bool fire = row[TERMS] == FIRE || row[TERMS] == ALL_TERMS;
    rotary_attention_piecewise_bias bias = piecewise_case_make(&c, &piecewise, seed + 5);
    c.piecewise_bias = fire ? &bias : NULL;
    struct trial_results results = trial_results_make(&c, seed + 10, 1);
    trial_results_expect(&c, &results, true);
    for (int i = 0; i < count; i++) {
        check_about("%s %s %s%s window %lld heads %d/%lld%s%s%s%s%s%s", rotary_isa_name(isas[i]),
                    trial_type(&c), term_names[row[TERMS]], c.causal ? " causal" : "", (long long)c.window,
                    HEADS, (long long)c.key_value_heads, c.key_lengths ? " key_lengths" : "",
                    c.packed ? " packed" : "", row[DROPOUT] ? " dropout" : "", row[SOFTCAP] ? " softcap" : "",
                    row[TABLES] == CLIPPED ? " clipped" : "", row[SINKS] ? " sinks" : "");
        struct trial_plan plan = trial_plan_make(&c, isas[i], 1 + i % 3);
        trial_run(&c, &plan, &results.got, true);
        trial_compare_all(&c, &results, true);
        if (fire)
            piecewise_case_check(&c, &results);
        trial_plan_free(&plan);
    }
    trial_results_free(&results);
    term_inputs_free(&c);
    piecewise_case_free(&bias);
    free((void *)(uintptr_t)c.factors);
}

static void try_random(int64_t number)
{
    for (int64_t i = 0; i < number; i++) {
        int row[FACTORS];
        for (int j = 0; j < FACTORS; j++) {
            uint32_t words[4];
            rotary_random_block((struct rotary_random_key){77, 0, (uint32_t)j}, (uint64_t)i, words);
            row[j] = (int)(words[0] % (uint32_t)levels[j]);
        }
        try_row(row, 5000000 + 20 * (uint64_t)i);
    }
}

int main(int count, char **arguments)
{
    static struct covering covering = {.factors = FACTORS};
    if (count == 3 && strcmp(arguments[1], "random") == 0) {
        try_random(strtoll(arguments[2], NULL, 10));
        return check_report();
    }
    memcpy(covering.levels, levels, sizeof levels);
    covering_make(&covering);
    CHECK_INT(covering_missing(&covering), 0);
    for (int i = 0; i < covering.rows; i++)
        try_row(covering.row[i], 4000000 + 20 * (uint64_t)i);
    return check_report();
}
