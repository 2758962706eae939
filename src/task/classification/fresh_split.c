/* SPDX-License-Identifier: Apache-2.0 */
#include "task/classification/fresh_split.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/random.h"
#include "task/classification/word_runs.h"

#include <stdlib.h>
#include <string.h>

/* Where a sentence, or a group, of this hash is. */
static enum fresh_side draw(uint64_t hash, double share)
{
    const struct rotary_random_key key = {.seed = hash, .stream = ROTARY_STREAM_SPLIT};
    const double place = (double)rotary_random_uniform(key, 0);
    return place < share ? FRESH_VALIDATION : place < 2 * share ? FRESH_TEST : FRESH_TRAINING;
}

/* ---- texts ---- */

/* `parts`, `left_out` [count]: of the first copies of texts. */
static void split_texts(const struct word_runs *runs, double share, bool *parts, bool *left_out,
                        unsigned char *sides)
{
    for (int64_t i = 0; i < runs->count; i++)
        if (runs->same[i] == i)
            word_runs_mark_parts(runs, i, parts);
    for (int64_t i = 0; i < runs->count; i++) {
        const bool sentence = runs->same[i] == i && !parts[i];
        sides[i] = sentence ? (unsigned char)draw(word_runs_hash(runs, i), share) : FRESH_TRAINING;
        if (sides[i] != FRESH_TRAINING)
            word_runs_mark_parts(runs, i, left_out);
    }
    for (int64_t i = 0; i < runs->count; i++) {
        const int64_t first = runs->same[i];
        if (left_out[first] || (first != i && sides[first] != FRESH_TRAINING))
            sides[i] = FRESH_LEFT_OUT;
    }
}

/* ---- pairs ---- */

/* The root of the group of a node; paths are halved on the way. */
static int64_t find_root(int64_t *parents, int64_t node)
{
    while (parents[node] != node) {
        parents[node] = parents[parents[node]];
        node = parents[node];
    }
    return node;
}

/* Texts i and count + i of `runs` are those of pair i; a group is a set of texts. Its hash is the smallest of
 * those of its texts, so that it does not depend on their order. */
static void split_pairs(const struct word_runs *runs, double share, int64_t *parents, uint64_t *hashes,
                        unsigned char *sides)
{
    const int64_t count = runs->count / 2;
    for (int64_t i = 0; i < runs->count; i++) {
        parents[i] = i;
        hashes[i] = UINT64_MAX;
    }
    for (int64_t i = 0; i < count; i++)
        parents[find_root(parents, runs->same[i])] = find_root(parents, runs->same[count + i]);
    for (int64_t i = 0; i < runs->count; i++) {
        const int64_t root = find_root(parents, runs->same[i]);
        const uint64_t hash = word_runs_hash(runs, i);
        hashes[root] = hash < hashes[root] ? hash : hashes[root];
    }
    for (int64_t i = 0; i < count; i++)
        sides[i] = (unsigned char)draw(hashes[find_root(parents, runs->same[i])], share);
}

static rotary_status split_by(const struct fresh_request *request, const struct word_runs *runs,
                              unsigned char *sides, rotary_error *error)
{
    const size_t count = (size_t)runs->count;
    if (request->second) {
        int64_t *parents = malloc((count + 1) * sizeof *parents);
        uint64_t *hashes = malloc((count + 1) * sizeof *hashes);
        const bool enough = parents && hashes;
        if (enough)
            split_pairs(runs, request->share, parents, hashes, sides);
        free(hashes);
        free(parents);
        return enough ? ROTARY_OK
                      : rotary_fail_memory(error, "to split %lld texts", (long long)request->count);
    }
    bool *marks = calloc(2 * count + 1, sizeof *marks);
    if (!marks)
        return rotary_fail_memory(error, "to split %lld texts", (long long)request->count);
    split_texts(runs, request->share, marks, marks + count, sides);
    free(marks);
    return ROTARY_OK;
}

/* ---- both ---- */

/* `first`, then `second`, which may be NULL; the caller frees them. NULL without memory. */
static struct text_line *join(const struct text_line *first, int64_t count, const struct text_line *second,
                              int64_t second_count)
{
    struct text_line *texts = malloc((size_t)(count + second_count + 1) * sizeof *texts);
    if (!texts)
        return NULL;
    if (count > 0)
        memcpy(texts, first, (size_t)count * sizeof *texts);
    if (second_count > 0)
        memcpy(texts + count, second, (size_t)second_count * sizeof *texts);
    return texts;
}

rotary_status fresh_split(const struct fresh_request *request, unsigned char *sides, rotary_error *error)
{
    const int64_t seconds = request->second ? request->count : 0;
    struct word_runs runs;
    struct text_line *texts = join(request->first, request->count, request->second, seconds);
    if (!texts)
        return rotary_fail_memory(error, "to split %lld texts", (long long)request->count);
    rotary_status status = word_runs_create(&runs, texts, request->count + seconds, error);
    free(texts);
    if (status != ROTARY_OK)
        return status;
    status = split_by(request, &runs, sides, error);
    word_runs_free(&runs);
    return status;
}

rotary_status fresh_leaks(const struct text_line *texts, int64_t count, const struct text_line *others,
                          int64_t other_count, int64_t *leaks, rotary_error *error)
{
    struct word_runs runs = {0};
    struct text_line *both = join(others, other_count, texts, count);
    bool *marked = calloc((size_t)(count + other_count) + 1, sizeof *marked);
    rotary_status status = both && marked
                               ? word_runs_create(&runs, both, count + other_count, error)
                               : rotary_fail_memory(error, "to split %lld texts", (long long)count);
    free(both);
    if (status == ROTARY_OK) {
        for (int64_t i = 0; i < other_count; i++)
            if (runs.same[i] == i) {
                word_runs_mark_parts(&runs, i, marked);
                marked[i] = true;
            }
        *leaks = 0;
        for (int64_t i = 0; i < count; i++)
            *leaks += marked[runs.same[other_count + i]];
        word_runs_free(&runs);
    }
    free(marked);
    return status;
}
