/* SPDX-License-Identifier: Apache-2.0 */
#include "score/baseline/tfidf.h"

#include "base/fail.h"
#include "text/utf8.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

/* Writes the pairs of a text, at most one for each of its bytes, in ascending order. Returns their number. */
static int64_t find_pairs(const struct text_line *text, uint64_t *pairs)
{
    int64_t count = 0, characters = 0;
    uint64_t before = 0;
    for (int64_t at = 0, length; at < text->count; at += length, characters++) {
        length = utf8_character_bytes(text->bytes + at, text->count - at);
        const uint64_t point = length > 0 ? utf8_code_point(text->bytes + at, length) : 0xfffd;
        length += length == 0;
        if (characters > 0)
            pairs[count++] = before << 32 | point;
        before = point;
    }
    qsort(pairs, (size_t)count, sizeof *pairs, compare);
    return count;
}

/* ---- creating ---- */

/* Leaves each of ascending pairs once. Returns how many there are. */
static int64_t make_set(uint64_t *pairs, int64_t count)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++)
        if (i == 0 || pairs[i] != pairs[kept - 1])
            pairs[kept++] = pairs[i];
    return kept;
}

/* `pairs` [count]: those of each text once. Makes them the vocabulary. */
static bool count_texts(struct tfidf *tfidf, uint64_t *pairs, int64_t count, int64_t texts)
{
    tfidf->pairs = pairs;
    tfidf->idf = malloc((size_t)(count + 1) * sizeof *tfidf->idf);
    if (!tfidf->idf)
        return false;
    qsort(pairs, (size_t)count, sizeof *pairs, compare);
    for (int64_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && pairs[end] == pairs[first];)
            end++;
        pairs[tfidf->count] = pairs[first];
        tfidf->idf[tfidf->count++] = log((double)(1 + texts) / (double)(1 + end - first)) + 1;
    }
    return true;
}

rotary_status tfidf_create(struct tfidf *tfidf, const struct text_line *texts, int64_t count,
                           rotary_error *error)
{
    int64_t bytes = 0, used = 0;
    *tfidf = (struct tfidf){0};
    for (int64_t i = 0; i < count; i++)
        bytes += texts[i].count;
    uint64_t *pairs = malloc((size_t)(bytes + 1) * sizeof *pairs);
    if (!pairs)
        return rotary_fail_memory(error, "for the characters of texts");
    for (int64_t i = 0; i < count; i++)
        used += make_set(pairs + used, find_pairs(&texts[i], pairs + used));
    if (count_texts(tfidf, pairs, used, count))
        return ROTARY_OK;
    tfidf_free(tfidf);
    return rotary_fail_memory(error, "for the characters of texts");
}

void tfidf_free(struct tfidf *tfidf)
{
    free(tfidf->pairs);
    free(tfidf->idf);
    *tfidf = (struct tfidf){0};
}

/* ---- comparing ---- */

/* The next pair of a list from *at on, which is moved behind all of its kind; the weight is 0 at the end. */
struct weighted {
    uint64_t pair;
    double weight;
};

static struct weighted next_pair(const struct tfidf *tfidf, const uint64_t *pairs, int64_t count, int64_t *at)
{
    while (*at < count) {
        const int64_t first = *at;
        while (*at < count && pairs[*at] == pairs[first])
            ++*at;
        const uint64_t *found =
            bsearch(&pairs[first], tfidf->pairs, (size_t)tfidf->count, sizeof *pairs, compare);
        if (found)
            return (struct weighted){pairs[first], (double)(*at - first) * tfidf->idf[found - tfidf->pairs]};
    }
    return (struct weighted){UINT64_MAX, 0};
}

static double similarity(const struct tfidf *tfidf, const uint64_t *a, int64_t a_count, const uint64_t *b,
                         int64_t b_count)
{
    int64_t a_at = 0, b_at = 0;
    double dot = 0, a_square = 0, b_square = 0;
    struct weighted x = next_pair(tfidf, a, a_count, &a_at), y = next_pair(tfidf, b, b_count, &b_at);
    while (x.weight > 0 || y.weight > 0) {
        const bool takes_x = x.pair <= y.pair, takes_y = y.pair <= x.pair;
        a_square += takes_x ? x.weight * x.weight : 0;
        b_square += takes_y ? y.weight * y.weight : 0;
        dot += takes_x && takes_y ? x.weight * y.weight : 0;
        if (takes_x)
            x = next_pair(tfidf, a, a_count, &a_at);
        if (takes_y)
            y = next_pair(tfidf, b, b_count, &b_at);
    }
    return dot > 0 ? dot / sqrt(a_square * b_square) : 0;
}

rotary_status tfidf_choose(const struct tfidf *tfidf, const struct text_line *text,
                           const struct text_line *texts, int count, double *similarities, int32_t *chosen,
                           rotary_error *error)
{
    int64_t longest = 0;
    for (int i = 0; i < count; i++)
        longest = texts[i].count > longest ? texts[i].count : longest;
    uint64_t *pairs = malloc((size_t)(text->count + longest + 1) * sizeof *pairs), *others = pairs;
    if (!pairs)
        return rotary_fail_memory(error, "for the characters of texts");
    const int64_t own = find_pairs(text, pairs);
    others += own;
    *chosen = 0;
    for (int i = 0; i < count; i++) {
        similarities[i] = similarity(tfidf, pairs, own, others, find_pairs(&texts[i], others));
        if (similarities[i] > similarities[*chosen])
            *chosen = i;
    }
    free(pairs);
    return ROTARY_OK;
}
