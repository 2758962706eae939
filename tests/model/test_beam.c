/* SPDX-License-Identifier: Apache-2.0
 *
 * The beam of one source, with made-up probabilities that depend on all tokens so far: against a plain beam
 * search that copies whole hypotheses and sorts all continuations; against the best of all outputs there are;
 * a beam of 1 against the most probable token of each step; and that slots follow the hypotheses.
 */
#include "model/generation/beam.h"
#include "model/plain_search.h"
#include "support/check.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 4, END = 1, LONGEST = 6, MOST = BEAM_MAX_SIZE };

/* log p of every token after `length` tokens. Of few values, so that there are equal sums. */
static void next_log_probabilities(const void *seed, const int32_t *tokens, int64_t length, double *log_p)
{
    double total = 0.0;
    uint64_t hash = *(const uint64_t *)seed * 31 + rotary_hash(tokens, (uint64_t)length * sizeof *tokens);
    for (int64_t i = 0; i < VOCABULARY; i++) {
        const struct rotary_random_key key = {.seed = hash, .stream = ROTARY_STREAM_TEST};
        log_p[i] = exp(floor(6.0 * (double)rotary_random_uniform(key, (uint64_t)i)) / 2.0);
        total += log_p[i];
    }
    for (int64_t i = 0; i < VOCABULARY; i++)
        log_p[i] = (double)(float)log(log_p[i] / total);
}

/* Candidates of every slot, as a model would give them for what the cache of the slot holds. */
static void fill_candidates(const struct plain_problem *problem, const struct beam *beam,
                            int32_t cache[][LONGEST], int64_t count, float *log_probabilities,
                            int32_t *tokens)
{
    for (int64_t i = 0; i < beam->live; i++) {
        double log_p[VOCABULARY];
        int64_t slot = beam->order[i];
        const struct hypothesis *hypothesis = &beam->slots[slot];
        CHECK_INT(hypothesis->length, beam->length);
        CHECK(memcmp(cache[slot], hypothesis->tokens, (size_t)beam->length * sizeof **cache) == 0);
        next_log_probabilities(problem->context, hypothesis->tokens, beam->length, log_p);
        for (int64_t j = 0; j < count; j++) {
            int32_t best = 0;
            for (int32_t token = 1; token < VOCABULARY; token++)
                best = log_p[token] > log_p[best] ? token : best;
            log_probabilities[slot * count + j] = (float)log_p[best];
            tokens[slot * count + j] = best;
            log_p[best] = -(double)INFINITY;
        }
    }
}

/* Moves a cache as the parents say, and checks that as few sequences as possible were moved. */
static void move_cache(const struct beam *beam, int64_t size, const int32_t *parents,
                       int32_t cache[][LONGEST])
{
    static int32_t before[MOST][LONGEST];
    memcpy(before, cache, (size_t)size * sizeof *before);
    bool parent_is_live[MOST] = {false};
    int64_t moved = 0, distinct = 0;
    for (int64_t i = 0; i < size; i++) {
        moved += parents[i] != i;
        memcpy(cache[i], before[parents[i]], sizeof *before);
    }
    for (int64_t i = 0; i < beam->live; i++) {
        int64_t slot = beam->order[i];
        distinct += !parent_is_live[parents[slot]];
        parent_is_live[parents[slot]] = true;
        cache[slot][beam->length - 1] = beam->slots[slot].tokens[beam->length - 1];
    }
    if (beam->live > 0)
        CHECK_INT(moved, beam->live - distinct);
}

static void run(struct beam *beam, const struct plain_problem *problem)
{
    static int32_t cache[MOST][LONGEST], tokens[MOST * VOCABULARY], parents[MOST];
    static float log_probabilities[MOST * VOCABULARY];
    int64_t size = beam->config->size, count = 2 * size < VOCABULARY ? 2 * size : VOCABULARY;
    beam_start(beam, 3, problem->longest);
    CHECK_INT(beam->source, 3);
    while (!beam_is_done(beam)) {
        fill_candidates(problem, beam, cache, count, log_probabilities, tokens);
        const struct beam_candidates candidates = {
            .count = count, .log_probabilities = log_probabilities, .tokens = tokens};
        beam_advance(beam, &candidates, parents);
        move_cache(beam, size, parents, cache);
    }
}

static void test_plain(struct beam *beam, const struct plain_problem *problem)
{
    static struct plain_output wanted[PLAIN_MAX + 1];
    run(beam, problem);
    int64_t count = plain_search(problem, wanted);
    CHECK_INT(beam->kept, count);
    for (int64_t i = 0; i < count; i++) {
        const struct hypothesis *got = &beam->finished[i];
        CHECK(got->score == wanted[i].score && got->length == wanted[i].length);
        CHECK(memcmp(got->tokens, wanted[i].tokens, (size_t)got->length * sizeof *got->tokens) == 0);
    }
}

/* The best of all outputs there are: of every one that ends, and of the longest. */
static void find_best(const struct plain_problem *problem, struct plain_output *prefix,
                      struct plain_output *best)
{
    double log_p[VOCABULARY], sum = prefix->sum;
    next_log_probabilities(problem->context, prefix->tokens, prefix->length, log_p);
    prefix->length++;
    for (int32_t token = 0; token < VOCABULARY; token++) {
        prefix->tokens[prefix->length - 1] = token;
        prefix->sum = sum + log_p[token];
        prefix->score = prefix->sum / pow((double)prefix->length, problem->penalty);
        if (token != END && prefix->length < problem->longest)
            find_best(problem, prefix, best);
        else if (best->length == 0 || prefix->score > best->score)
            *best = *prefix;
    }
    prefix->length--;
    prefix->sum = sum;
}

/* A beam that nothing falls out of finds the best: 121 outputs have at most 4 tokens. */
static void test_exhaustive(struct beam *beam, const struct plain_problem *problem)
{
    struct plain_output prefix = {0}, best = {0};
    find_best(problem, &prefix, &best);
    run(beam, problem);
    CHECK_INT(beam->kept, 121);
    CHECK(beam->finished[0].score == best.score);
}

static void test_greedy(struct beam *beam, const struct plain_problem *problem)
{
    struct plain_output greedy = {0};
    for (int32_t token = 0; greedy.length < problem->longest && token != END;) {
        double log_p[VOCABULARY];
        next_log_probabilities(problem->context, greedy.tokens, greedy.length, log_p);
        token = 0;
        for (int32_t other = 1; other < VOCABULARY; other++)
            token = log_p[other] > log_p[token] ? other : token;
        greedy.tokens[greedy.length++] = token;
    }
    run(beam, problem);
    CHECK_INT(beam->kept, 1);
    CHECK_INT(beam->finished[0].length, greedy.length);
    CHECK(memcmp(beam->finished[0].tokens, greedy.tokens, (size_t)greedy.length * sizeof *greedy.tokens) ==
          0);
}

static void test_size(int64_t size, double penalty)
{
    const struct beam_config config = {
        .size = size, .capacity = LONGEST, .length_penalty = penalty, .end = END};
    struct beam beam;
    struct rotary_arena arena = {0};
    beam_carve(&beam, &config, &arena);
    CHECK_INT(rotary_arena_allocate(&arena, "a beam", NULL), ROTARY_OK);
    beam_carve(&beam, &config, &arena);
    uint64_t seed = 0;
    struct plain_problem problem = {.vocabulary = VOCABULARY,
                                    .size = size,
                                    .penalty = penalty,
                                    .end = END,
                                    .next = next_log_probabilities,
                                    .context = &seed};
    for (; seed < 60; seed++) {
        check_about("size %lld, penalty %g, seed %d", (long long)size, penalty, (int)seed);
        problem.longest = LONGEST;
        test_plain(&beam, &problem);
        if (size == 1)
            test_greedy(&beam, &problem);
        problem.longest = 4;
        if (size == BEAM_MAX_SIZE)
            test_exhaustive(&beam, &problem);
    }
    check_about("%s", "");
    rotary_arena_free(&arena);
}

/* Independent hypotheses take what they are given; the better of those that ended are first. */
static void test_independent(void)
{
    const struct beam_config config = {.size = 3, .capacity = 2, .end = END, .independent = true};
    struct beam beam;
    struct rotary_arena arena = {0};
    beam_carve(&beam, &config, &arena);
    CHECK_INT(rotary_arena_allocate(&arena, "a beam", NULL), ROTARY_OK);
    beam_carve(&beam, &config, &arena);
    beam_start(&beam, 0, 2);
    CHECK_INT(beam.live, 3);
    int32_t parents[3], first[] = {2, END, 3}, second[] = {END, 0, 2};
    const float log_p[] = {-2.0f, -3.5f, -1.0f};
    beam_advance(&beam, &(struct beam_candidates){1, log_p, first}, parents);
    CHECK(beam.live == 2 && beam.kept == 1 && !beam_is_done(&beam));
    beam_advance(&beam, &(struct beam_candidates){1, log_p, second}, parents);
    CHECK(beam_is_done(&beam) && beam.kept == 3);
    CHECK(parents[0] == 0 && parents[1] == 1 && parents[2] == 2);
    CHECK(beam.finished[0].score == -2.0 && beam.finished[0].length == 2 && beam.finished[0].tokens[1] == 2);
    CHECK(beam.finished[1].score == -3.5 && beam.finished[1].length == 1 &&
          beam.finished[1].tokens[0] == END);
    CHECK(beam.finished[2].score == -4.0 && beam.finished[2].length == 2 && beam.finished[2].tokens[0] == 2);
    rotary_arena_free(&arena);
}

int main(void)
{
    static const double penalties[] = {0.0, 0.6, 1.0, 2.0};
    static const int64_t sizes[] = {1, 2, 3, 5, 17, BEAM_MAX_SIZE};
    for (int i = 0; i < 4 * 6; i++)
        test_size(sizes[i % 6], penalties[i / 6]);
    test_independent();
    return check_report();
}
