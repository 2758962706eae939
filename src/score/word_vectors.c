/* SPDX-License-Identifier: Apache-2.0 */
#include "score/word_vectors.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/random.h"
#include "score/symmetric_factors.h"
#include "text/bert_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_OCCURRENCES = 2 };
static const struct bert_rules rules = {.lower_case = true, .strip_accents = true, .split_chinese = true};

void word_vectors_config_default(struct word_vectors_config *config)
{
    *config = (struct word_vectors_config){
        .max_words = 6000, .window = 5, .dimension = 100, .iterations = 10, .a = 1e-3};
}

static rotary_status fail_memory(rotary_error *error)
{
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the words of texts");
}

static int compare(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

/* ---- words ---- */

/* The words of one text: at most one for each byte. */
struct word_list {
    uint64_t *hashes;
    int64_t count;
};

static void take(void *context, const char *word, int64_t bytes)
{
    struct word_list *list = context;
    list->hashes[list->count++] = rotary_hash(word, (uint64_t)bytes);
}

static void split(const struct text_line *text, struct word_list *list)
{
    list->count = 0;
    bert_split(&rules, text->bytes, text->count, take, list);
}

/* The place of a word in the vocabulary; -1: it has none. */
static int64_t find(const struct word_vectors *vectors, uint64_t hash)
{
    const uint64_t *found =
        bsearch(&hash, vectors->words, (size_t)vectors->count, sizeof *vectors->words, compare);
    return found ? found - vectors->words : -1;
}

struct counted {
    uint64_t hash;
    int64_t count;
};

static int compare_counts(const void *a, const void *b)
{
    const struct counted *first = a, *second = b;
    if (first->count != second->count)
        return first->count > second->count ? -1 : 1;
    return compare(&first->hash, &second->hash);
}

/* What is learned on the way to the vectors. */
struct learning {
    struct word_vectors *vectors;
    const struct word_vectors_config *config;
    const struct text_line *texts;
    int64_t text_count, word_count; /* of all texts */
    struct word_list list;          /* of one text */
    int32_t *places;                /* likewise: in the vocabulary */
    double *shares;                 /* [vocabulary]: p */
    uint32_t *pairs;                /* c, of u >= v: pairs[u (u + 1) / 2 + v] */
    int64_t *begins;                /* M, as struct sparse_symmetric has it */
    int32_t *columns;
    float *values;
};

static void learning_free(struct learning *learning)
{
    free(learning->list.hashes);
    free(learning->places);
    free(learning->shares);
    free(learning->pairs);
    free(learning->begins);
    free(learning->columns);
    free(learning->values);
}

/* all [word_count]: the words of all texts in ascending order. Leaves the most frequent ones as the
 * vocabulary. */
static bool choose_vocabulary(struct learning *learning, const uint64_t *all)
{
    struct word_vectors *vectors = learning->vectors;
    struct counted *counted = malloc((size_t)(learning->word_count + 1) * sizeof *counted);
    int64_t different = 0;
    if (!counted)
        return false;
    for (int64_t first = 0, end; first < learning->word_count; first = end) {
        for (end = first; end < learning->word_count && all[end] == all[first];)
            end++;
        if (end - first >= MIN_OCCURRENCES)
            counted[different++] = (struct counted){all[first], end - first};
    }
    qsort(counted, (size_t)different, sizeof *counted, compare_counts);
    vectors->count = min_i64(different, learning->config->max_words);
    const size_t room = (size_t)vectors->count + 1;
    vectors->words = malloc(room * sizeof *vectors->words);
    learning->shares = calloc(room, sizeof *learning->shares);
    const bool enough = vectors->words && learning->shares;
    for (int64_t i = 0; i < vectors->count && enough; i++)
        vectors->words[i] = counted[i].hash;
    if (enough)
        qsort(vectors->words, (size_t)vectors->count, sizeof *vectors->words, compare);
    for (int64_t i = 0; i < vectors->count && enough; i++)
        learning->shares[find(vectors, counted[i].hash)] =
            (double)counted[i].count / (double)learning->word_count;
    free(counted);
    return enough;
}

static bool learn_vocabulary(struct learning *learning)
{
    int64_t bytes = 0, longest = 0;
    for (int64_t i = 0; i < learning->text_count; i++) {
        bytes += learning->texts[i].count;
        longest = max_i64(longest, learning->texts[i].count);
    }
    uint64_t *all = malloc((size_t)(bytes + 1) * sizeof *all);
    learning->list.hashes = malloc((size_t)(longest + 1) * sizeof *learning->list.hashes);
    learning->places = malloc((size_t)(longest + 1) * sizeof *learning->places);
    bool enough = all && learning->list.hashes && learning->places;
    for (int64_t i = 0; i < learning->text_count && enough; i++) {
        split(&learning->texts[i], &learning->list);
        memcpy(all + learning->word_count, learning->list.hashes, (size_t)learning->list.count * sizeof *all);
        learning->word_count += learning->list.count;
    }
    if (enough) {
        qsort(all, (size_t)learning->word_count, sizeof *all, compare);
        enough = choose_vocabulary(learning, all);
    }
    free(all);
    return enough;
}

/* ---- the matrix ---- */

static int64_t pair_of(int64_t u, int64_t v)
{
    return u >= v ? u * (u + 1) / 2 + v : v * (v + 1) / 2 + u;
}

/* A pair of one word counts twice, as each of the two is beside the other. */
static void count_text(struct learning *learning, const struct text_line *text)
{
    split(text, &learning->list);
    for (int64_t i = 0; i < learning->list.count; i++) {
        const int64_t u = find(learning->vectors, learning->list.hashes[i]);
        learning->places[i] = (int32_t)u;
        for (int64_t j = max_i64(i - learning->config->window, 0); j < i && u >= 0; j++)
            if (learning->places[j] >= 0)
                learning->pairs[pair_of(u, learning->places[j])] += learning->places[j] == u ? 2 : 1;
    }
}

static double information(const struct learning *learning, const double *sums, double all, int64_t u,
                          int64_t v)
{
    const double count = (double)learning->pairs[pair_of(u, v)];
    return count > 0 ? fmax(log(count * all / (sums[u] * sums[v])), 0) : 0;
}

/* The positive elements of M: how many there are, and where there is room the elements. */
static int64_t fill_matrix(struct learning *learning, const double *sums, double all)
{
    const int64_t size = learning->vectors->count;
    int64_t count = 0;
    for (int64_t u = 0; u < size; u++) {
        learning->begins[u] = count;
        for (int64_t v = 0; v < size; v++) {
            const double value = information(learning, sums, all, u, v);
            if (value > 0 && learning->values) {
                learning->columns[count] = (int32_t)v;
                learning->values[count] = (float)value;
            }
            count += value > 0;
        }
    }
    learning->begins[size] = count;
    return count;
}

static bool learn_matrix(struct learning *learning)
{
    const int64_t size = learning->vectors->count;
    double all = 0, *sums = calloc((size_t)size + 1, sizeof *sums);
    learning->pairs = calloc((size_t)(size * (size + 1) / 2) + 1, sizeof *learning->pairs);
    learning->begins = calloc((size_t)size + 1, sizeof *learning->begins);
    bool enough = sums && learning->pairs && learning->begins;
    for (int64_t i = 0; i < learning->text_count && enough; i++)
        count_text(learning, &learning->texts[i]);
    for (int64_t u = 0; u < size && enough; u++) {
        for (int64_t v = 0; v < size; v++)
            sums[u] += (double)learning->pairs[pair_of(u, v)];
        all += sums[u];
    }
    if (enough) {
        const size_t room = (size_t)fill_matrix(learning, sums, all) + 1;
        learning->columns = malloc(room * sizeof *learning->columns);
        learning->values = malloc(room * sizeof *learning->values);
        enough = learning->columns && learning->values;
    }
    if (enough)
        fill_matrix(learning, sums, all);
    free(sums);
    return enough;
}

/* ---- texts ---- */

/* The weighted mean of the words' vectors. */
static void sum_text(const struct word_vectors *vectors, const struct word_list *list, double *text)
{
    int64_t known = 0;
    memset(text, 0, (size_t)vectors->dimension * sizeof *text);
    for (int64_t i = 0; i < list->count; i++) {
        const int64_t place = find(vectors, list->hashes[i]);
        if (place < 0)
            continue;
        known++;
        for (int64_t j = 0; j < vectors->dimension; j++)
            text[j] += vectors->vectors[place * vectors->dimension + j];
    }
    for (int64_t j = 0; j < vectors->dimension && known > 0; j++)
        text[j] /= (double)known;
}

/* The eigenvector of the largest eigenvalue of XᵀX, of the vectors X of the training texts. */
static bool learn_common(struct learning *learning)
{
    struct word_vectors *vectors = learning->vectors;
    const int64_t n = vectors->dimension;
    double *squares = calloc((size_t)(n * n), sizeof *squares), *all = calloc((size_t)(n * n), sizeof *all),
           *text = calloc((size_t)n, sizeof *text);
    const bool enough = squares && all && text;
    int64_t largest = 0;
    for (int64_t i = 0; i < learning->text_count && enough; i++) {
        split(&learning->texts[i], &learning->list);
        sum_text(vectors, &learning->list, text);
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = 0; k < n; k++)
                squares[j * n + k] += text[j] * text[k];
    }
    if (enough)
        symmetric_eigenvectors(squares, all, n);
    for (int64_t j = 0; j < n && enough; j++)
        if (squares[j * (n + 1)] > squares[largest * (n + 1)])
            largest = j;
    for (int64_t j = 0; j < n && enough; j++)
        vectors->common[j] = all[j * n + largest];
    free(squares);
    free(all);
    free(text);
    return enough;
}

/* ---- creating ---- */

static rotary_status learn(struct learning *learning, rotary_error *error)
{
    struct word_vectors *vectors = learning->vectors;
    if (!learn_vocabulary(learning) || !learn_matrix(learning))
        return fail_memory(error);
    const size_t room = (size_t)(vectors->count * vectors->dimension) + 1;
    vectors->vectors = calloc(room, sizeof *vectors->vectors);
    vectors->common = calloc((size_t)vectors->dimension, sizeof *vectors->common);
    if (!vectors->vectors || !vectors->common)
        return fail_memory(error);
    const struct sparse_symmetric matrix = {vectors->count, learning->begins, learning->columns,
                                            learning->values};
    rotary_status status =
        symmetric_factors(&matrix, vectors->dimension, learning->config->iterations, vectors->vectors, error);
    const double a = learning->config->a;
    for (int64_t i = 0; i < vectors->count * vectors->dimension; i++)
        vectors->vectors[i] *= a / (a + learning->shares[i / vectors->dimension]);
    return status != ROTARY_OK || learn_common(learning) ? status : fail_memory(error);
}

rotary_status word_vectors_create(struct word_vectors *vectors, const struct text_line *texts, int64_t count,
                                  const struct word_vectors_config *config, rotary_error *error)
{
    *vectors = (struct word_vectors){.dimension = config->dimension};
    struct learning learning = {.vectors = vectors, .config = config, .texts = texts, .text_count = count};
    rotary_status status = learn(&learning, error);
    learning_free(&learning);
    if (status != ROTARY_OK)
        word_vectors_free(vectors);
    return status;
}

void word_vectors_free(struct word_vectors *vectors)
{
    free(vectors->words);
    free(vectors->vectors);
    free(vectors->common);
    *vectors = (struct word_vectors){0};
}

/* ---- comparing ---- */

static double product(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static void embed(const struct word_vectors *vectors, const struct text_line *text, struct word_list *list,
                  double *vector)
{
    split(text, list);
    sum_text(vectors, list, vector);
    const double share = product(vector, vectors->common, vectors->dimension);
    for (int64_t i = 0; i < vectors->dimension; i++)
        vector[i] -= share * vectors->common[i];
}

static double cosine(const double *a, const double *b, int64_t count)
{
    const double squares = product(a, a, count) * product(b, b, count);
    return squares > 0 ? product(a, b, count) / sqrt(squares) : 0;
}

rotary_status word_vectors_choose(const struct word_vectors *vectors, const struct text_line *text,
                                  const struct text_line *texts, int count, double *similarities,
                                  int32_t *chosen, rotary_error *error)
{
    const int64_t n = vectors->dimension;
    int64_t longest = text->count;
    for (int i = 0; i < count; i++)
        longest = max_i64(longest, texts[i].count);
    struct word_list list = {.hashes = malloc((size_t)(longest + 1) * sizeof *list.hashes)};
    double *own = malloc(2 * (size_t)n * sizeof *own); /* and the other's behind it */
    rotary_status status = list.hashes && own ? ROTARY_OK : fail_memory(error);
    *chosen = 0;
    if (status == ROTARY_OK)
        embed(vectors, text, &list, own);
    for (int i = 0; i < count && status == ROTARY_OK; i++) {
        embed(vectors, &texts[i], &list, own + n);
        similarities[i] = cosine(own, own + n, n);
        if (similarities[i] > similarities[*chosen])
            *chosen = i;
    }
    free(list.hashes);
    free(own);
    return status;
}
