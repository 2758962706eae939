/* SPDX-License-Identifier: Apache-2.0 */
#include "score/baseline/word_features.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/random.h"
#include "score/points.h"
#include "text/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_HASHES = 1 << 6, FIRST_FEATURES = 1 << 12, PART_FIRST = 0, PART_SECOND, PART_BOTH, PARTS };

/* A list of hashes that grows. */
struct hashes {
    uint64_t *at;
    int64_t count, capacity;
};

static bool append(struct hashes *hashes, uint64_t hash)
{
    if (hashes->count == hashes->capacity) {
        const int64_t capacity = max_i64(2 * hashes->capacity, FIRST_HASHES);
        uint64_t *at = realloc(hashes->at, (size_t)capacity * sizeof *at);
        if (!at)
            return false;
        hashes->at = at;
        hashes->capacity = capacity;
    }
    hashes->at[hashes->count++] = hash;
    return true;
}

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

/* Sorts the list and leaves each hash once. */
static void make_set(struct hashes *hashes)
{
    int64_t kept = 0;
    if (hashes->count > 0)
        qsort(hashes->at, (size_t)hashes->count, sizeof *hashes->at, compare_hashes);
    for (int64_t i = 0; i < hashes->count; i++)
        if (i == 0 || hashes->at[i] != hashes->at[kept - 1])
            hashes->at[kept++] = hashes->at[i];
    hashes->count = kept;
}

static int64_t count_shared(const struct hashes *a, const struct hashes *b)
{
    int64_t shared = 0;
    for (int64_t i = 0, j = 0; i < a->count && j < b->count;) {
        shared += a->at[i] == b->at[j];
        const bool first = a->at[i] <= b->at[j], second = a->at[i] >= b->at[j];
        i += first;
        j += second;
    }
    return shared;
}

/* ---- words of a text ---- */

/* Counts those of one text. */
struct bag {
    struct hashes words, neighbours; /* sets: words, and pairs of neighbouring ones */
};

struct scanner {
    struct points points, scratch;
    struct bag bags[2]; /* of the texts of a pair */
};

static void free_scanner(struct scanner *scanner)
{
    points_free(&scanner->points);
    points_free(&scanner->scratch);
    for (int i = 0; i < 2; i++) {
        free(scanner->bags[i].words.at);
        free(scanner->bags[i].neighbours.at);
    }
}

static bool stands_alone(uint32_t point)
{
    return unicode_is_punctuation(point) || unicode_is_symbol(point);
}

/* The next word at or after *begin; false if there is none. */
static bool next_word(const struct points *points, int64_t *begin, int64_t *end)
{
    while (*begin < points->count && unicode_is_space(points->at[*begin]))
        ++*begin;
    *end = *begin;
    if (*begin == points->count)
        return false;
    do
        ++*end;
    while (!stands_alone(points->at[*begin]) && *end < points->count && !unicode_is_space(points->at[*end]) &&
           !stands_alone(points->at[*end]));
    return true;
}

static rotary_status read_bag(struct scanner *scanner, struct bag *bag, const struct text_line *text,
                              rotary_error *error)
{
    bag->words.count = bag->neighbours.count = 0;
    rotary_status status = points_read(&scanner->points, text, true, &scanner->scratch, error);
    if (status != ROTARY_OK)
        return status;
    uint64_t pair[2] = {0};
    for (int64_t begin = 0, end; next_word(&scanner->points, &begin, &end); begin = end) {
        pair[0] = pair[1];
        pair[1] =
            rotary_hash(scanner->points.at + begin, (uint64_t)(end - begin) * sizeof *scanner->points.at);
        if (bag->words.count > 0 && !append(&bag->neighbours, rotary_hash(pair, sizeof pair)))
            return rotary_fail_memory(error, "for the words of texts");
        if (!append(&bag->words, pair[1]))
            return rotary_fail_memory(error, "for the words of texts");
    }
    make_set(&bag->words);
    make_set(&bag->neighbours);
    return ROTARY_OK;
}

/* Reads text `i`, or both of a pair; without a second one its bag is empty. */
static rotary_status read_bags(struct scanner *scanner, const struct word_texts *texts, int64_t i,
                               rotary_error *error)
{
    rotary_status status = read_bag(scanner, &scanner->bags[0], &texts->first[i], error);
    if (status == ROTARY_OK && texts->second)
        status = read_bag(scanner, &scanner->bags[1], &texts->second[i], error);
    return status;
}

/* ---- vocabulary ---- */

static rotary_status gather_words(struct scanner *scanner, const struct word_texts *texts, struct hashes *all,
                                  rotary_error *error)
{
    for (int64_t i = 0; i < texts->count; i++) {
        rotary_status status = read_bags(scanner, texts, i, error);
        if (status != ROTARY_OK)
            return status;
        for (int side = 0; side < 2; side++)
            for (int64_t j = 0; j < scanner->bags[side].words.count; j++)
                if (!append(all, scanner->bags[side].words.at[j]))
                    return rotary_fail_memory(error, "for the words of texts");
    }
    return ROTARY_OK;
}

rotary_status word_vocabulary_create(struct word_vocabulary *vocabulary, const struct word_texts *texts,
                                     int64_t min_texts, rotary_error *error)
{
    struct scanner scanner = {0};
    struct hashes all = {0};
    *vocabulary = (struct word_vocabulary){0};
    rotary_status status = gather_words(&scanner, texts, &all, error);
    free_scanner(&scanner);
    if (status != ROTARY_OK) {
        free(all.at);
        return status;
    }
    if (all.count > 0)
        qsort(all.at, (size_t)all.count, sizeof *all.at, compare_hashes);
    for (int64_t begin = 0, end; begin < all.count; begin = end) {
        for (end = begin + 1; end < all.count && all.at[end] == all.at[begin];)
            end++;
        if (end - begin >= min_texts)
            all.at[vocabulary->count++] = all.at[begin];
    }
    vocabulary->words = all.at;
    return ROTARY_OK;
}

void word_vocabulary_free(struct word_vocabulary *vocabulary)
{
    free(vocabulary->words);
    *vocabulary = (struct word_vocabulary){0};
}

/* ---- features ---- */

struct writer {
    const struct word_vocabulary *vocabulary;
    struct feature_rows *rows;
    int64_t used, capacity;
};

static bool reserve(struct writer *writer, int64_t more)
{
    if (writer->used + more <= writer->capacity)
        return true;
    const int64_t capacity = max_i64(max_i64(2 * writer->capacity, FIRST_FEATURES), writer->used + more);
    int32_t *places = realloc(writer->rows->places, (size_t)capacity * sizeof *places);
    if (places)
        writer->rows->places = places;
    double *values = places ? realloc(writer->rows->values, (size_t)capacity * sizeof *values) : NULL;
    if (!values)
        return false;
    writer->rows->values = values;
    writer->capacity = capacity;
    return true;
}

static void add_feature(struct writer *writer, int64_t place, double value)
{
    writer->rows->places[writer->used] = (int32_t)place;
    writer->rows->values[writer->used++] = value;
}

/* Adds the feature of a word in this part, unless the vocabulary has it not. */
static void add_word(struct writer *writer, uint64_t word, int part)
{
    const struct word_vocabulary *vocabulary = writer->vocabulary;
    const uint64_t *found =
        vocabulary->count > 0
            ? bsearch(&word, vocabulary->words, (size_t)vocabulary->count, sizeof word, compare_hashes)
            : NULL;
    if (found)
        add_feature(writer, part * vocabulary->count + (found - vocabulary->words), 1);
}

static double ratio(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static void add_overlaps(struct writer *writer, const struct bag *first, const struct bag *second)
{
    const int64_t words = count_shared(&first->words, &second->words),
                  neighbours = count_shared(&first->neighbours, &second->neighbours), a = first->words.count,
                  b = second->words.count;
    const double overlaps[WORD_OVERLAPS] = {
        ratio(words, a + b - words),
        ratio(words, a),
        ratio(words, b),
        ratio(neighbours, first->neighbours.count + second->neighbours.count - neighbours),
        fabs(log((1 + (double)a) / (1 + (double)b))),
    };
    for (int i = 0; i < WORD_OVERLAPS; i++)
        add_feature(writer, PARTS * writer->vocabulary->count + i, overlaps[i]);
}

static void add_pair(struct writer *writer, const struct bag *first, const struct bag *second)
{
    int64_t i = 0, j = 0;
    while (i < first->words.count || j < second->words.count) {
        const bool of_first = i < first->words.count &&
                              (j == second->words.count || first->words.at[i] <= second->words.at[j]),
                   of_second = j < second->words.count &&
                               (i == first->words.count || second->words.at[j] <= first->words.at[i]);
        add_word(writer, of_first ? first->words.at[i] : second->words.at[j],
                 of_first && of_second ? PART_BOTH
                 : of_first            ? PART_FIRST
                                       : PART_SECOND);
        i += of_first;
        j += of_second;
    }
    add_overlaps(writer, first, second);
}

static rotary_status write_rows(struct writer *writer, struct scanner *scanner,
                                const struct word_texts *texts, rotary_error *error)
{
    const struct bag *bags = scanner->bags;
    for (int64_t row = 0; row < texts->count; row++) {
        rotary_status status = read_bags(scanner, texts, row, error);
        if (status != ROTARY_OK)
            return status;
        if (!reserve(writer, bags[0].words.count + bags[1].words.count + WORD_OVERLAPS))
            return rotary_fail_memory(error, "for the words of texts");
        if (texts->second)
            add_pair(writer, &bags[0], &bags[1]);
        else
            for (int64_t i = 0; i < bags[0].words.count; i++)
                add_word(writer, bags[0].words.at[i], PART_FIRST);
        writer->rows->starts[row + 1] = writer->used;
    }
    return ROTARY_OK;
}

rotary_status word_features(struct feature_rows *rows, const struct word_vocabulary *vocabulary,
                            const struct word_texts *texts, rotary_error *error)
{
    struct scanner scanner = {0};
    struct writer writer = {.vocabulary = vocabulary, .rows = rows};
    *rows = (struct feature_rows){.rows = texts->count,
                                  .columns = texts->second ? PARTS * vocabulary->count + WORD_OVERLAPS
                                                           : vocabulary->count,
                                  .starts = calloc((size_t)texts->count + 1, sizeof *rows->starts)};
    rotary_status status =
        rows->columns > INT32_MAX
            ? rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                          "the texts have %lld features, wanted less than 2^31", (long long)rows->columns)
        : rows->starts ? write_rows(&writer, &scanner, texts, error)
                       : rotary_fail_memory(error, "for the words of texts");
    free_scanner(&scanner);
    if (status != ROTARY_OK)
        feature_rows_free(rows);
    return status;
}
