/* SPDX-License-Identifier: Apache-2.0 */
#include "score/translation/chrf.h"

#include "base/fail.h"
#include "base/integer.h"
#include "score/points.h"
#include "score/translation/ngrams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row of statistics has three numbers for each length. */
enum { OF_HYPOTHESIS, OF_REFERENCE, MATCHES, NUMBERS };
_Static_assert(NUMBERS *(CHRF_MAX_CHAR_ORDER + CHRF_MAX_WORD_ORDER) <= SEGMENT_MAX_STATISTICS,
               "a row of statistics must fit");

void chrf_config_default(struct chrf_config *config)
{
    *config = (struct chrf_config){.char_order = 6, .beta = 2};
}

int chrf_width(const struct chrf_config *config)
{
    return NUMBERS * (config->char_order + config->word_order);
}

/* ---- the statistics of a segment ---- */

struct text {
    struct points characters, words; /* words are nodes of the counter's trie */
};

/* Memory that is used again for every segment. */
struct counter {
    const struct chrf_config *config;
    struct text *texts; /* [references + 1]; the translation comes last */
    struct points scratch;
    struct ngrams spelled; /* words */
    struct ngrams characters, words;
};

/* ASCII's punctuation and symbols. */
static bool is_punctuation(uint32_t point)
{
    return point > ' ' && point < 0x7f && !(point >= '0' && point <= '9') &&
           !(point >= 'A' && point <= 'Z') && !(point >= 'a' && point <= 'z');
}

/* Numbers the words of a text, from which one character of punctuation is split off, at the end or else at
 * the beginning. A text has at most twice as many as words, and never more than characters. */
static void number_words(struct counter *counter, struct text *text)
{
    const uint32_t *at = text->characters.at;
    uint32_t *to = text->words.at;
    for (int64_t begin = 0, end; points_word(&text->characters, &begin, &end); begin = end) {
        int64_t split = begin;
        if (end - begin > 1)
            split = is_punctuation(at[end - 1]) ? end - 1 : is_punctuation(at[begin]) ? begin + 1 : begin;
        if (split > begin)
            *to++ = ngrams_text(&counter->spelled, at + begin, split - begin);
        *to++ = ngrams_text(&counter->spelled, at + split, end - split);
    }
    text->words.count = to - text->words.at;
}

static rotary_status read_texts(struct counter *counter, const struct segment_corpus *corpus, int64_t index,
                                rotary_error *error)
{
    const struct chrf_config *config = counter->config;
    int64_t characters = 0, words = 0;
    rotary_status status = ROTARY_OK;
    for (int i = 0; i <= corpus->reference_count && status == ROTARY_OK; i++) {
        const struct text_line *side =
            i < corpus->reference_count ? corpus->references[i] : corpus->hypotheses;
        struct text *text = &counter->texts[i];
        status = points_read(&text->characters, &side[index], config->lowercase, &counter->scratch, error);
        if (status == ROTARY_OK)
            status = points_reserve(&text->words, text->characters.count, error);
        characters += text->characters.count;
    }
    if (status == ROTARY_OK)
        status = ngrams_begin(&counter->spelled, characters, error);
    for (int i = 0; i <= corpus->reference_count && status == ROTARY_OK; i++) {
        struct text *text = &counter->texts[i];
        if (config->word_order > 0)
            number_words(counter, text);
        words += text->words.count;
        if (!config->whitespace)
            points_squeeze(&text->characters);
    }
    if (status == ROTARY_OK)
        status = ngrams_begin(&counter->characters, config->char_order * characters, error);
    return status == ROTARY_OK ? ngrams_begin(&counter->words, config->word_order * words, error) : status;
}

/* The numbers of `order` lengths, of a translation and a reference of so many symbols, whose n-grams are
 * counted. Forgets those of the reference. */
static void compare(struct ngrams *ngrams, int64_t hypothesis, int64_t reference, int order, int64_t *row)
{
    for (int n = 0; n < order; n++) {
        row[NUMBERS * n + OF_REFERENCE] = max_i64(reference - n, 0);
        row[NUMBERS * n + OF_HYPOTHESIS] = reference > n ? max_i64(hypothesis - n, 0) : 0;
        row[NUMBERS * n + MATCHES] = 0;
    }
    for (int64_t i = 1; i < ngrams->count; i++) {
        struct ngram *ngram = &ngrams->nodes[i];
        row[NUMBERS * (ngram->length - 1) + MATCHES] += min_i64(ngram->hypothesis, ngram->reference);
        ngram->reference = 0;
    }
}

static void count_segment(struct counter *counter, int reference_count, int64_t *statistics)
{
    const struct chrf_config *config = counter->config;
    const struct text *hypothesis = &counter->texts[reference_count];
    const struct points *characters = &hypothesis->characters, *words = &hypothesis->words;
    ngrams_count(&counter->characters, characters->at, characters->count, config->char_order,
                 NGRAMS_HYPOTHESIS);
    ngrams_count(&counter->words, words->at, words->count, config->word_order, NGRAMS_HYPOTHESIS);
    double best = -1.0;
    for (int i = 0; i < reference_count; i++) {
        const struct text *reference = &counter->texts[i];
        int64_t row[SEGMENT_MAX_STATISTICS];
        ngrams_count(&counter->characters, reference->characters.at, reference->characters.count,
                     config->char_order, NGRAMS_REFERENCE);
        ngrams_count(&counter->words, reference->words.at, reference->words.count, config->word_order,
                     NGRAMS_REFERENCE);
        compare(&counter->characters, characters->count, reference->characters.count, config->char_order,
                row);
        compare(&counter->words, words->count, reference->words.count, config->word_order,
                row + NUMBERS * config->char_order);
        double score = chrf_of(config, row);
        if (score > best) {
            best = score;
            memcpy(statistics, row, sizeof *row * (size_t)chrf_width(config));
        }
    }
}

rotary_status chrf_count(const struct chrf_config *config, const struct segment_corpus *corpus,
                         int64_t *statistics, rotary_error *error)
{
    int texts = corpus->reference_count + 1;
    struct counter counter = {.config = config, .texts = calloc((size_t)texts, sizeof *counter.texts)};
    rotary_status status = ROTARY_OK;
    if (!counter.texts)
        status = rotary_fail_memory(error, "for %d texts", texts);
    for (int64_t i = 0; i < corpus->count && status == ROTARY_OK; i++) {
        status = read_texts(&counter, corpus, i, error);
        if (status == ROTARY_OK)
            count_segment(&counter, corpus->reference_count, statistics + i * chrf_width(config));
    }
    for (int i = 0; i < texts && counter.texts; i++) {
        points_free(&counter.texts[i].characters);
        points_free(&counter.texts[i].words);
    }
    free(counter.texts);
    points_free(&counter.scratch);
    ngrams_free(&counter.spelled);
    ngrams_free(&counter.characters);
    ngrams_free(&counter.words);
    return status;
}

/* ---- the score of statistics ---- */

double chrf_of(const struct chrf_config *config, const int64_t *sums)
{
    const double least = 1e-16, factor = (double)config->beta * config->beta;
    int order = config->char_order + config->word_order, found = 0;
    double scores = 0.0, precisions = 0.0, recalls = 0.0;
    for (int n = 0; n < order; n++) {
        const int64_t *numbers = sums + NUMBERS * n;
        double matches = (double)numbers[MATCHES];
        bool translated = numbers[OF_HYPOTHESIS] > 0, referred = numbers[OF_REFERENCE] > 0;
        double precision = translated ? matches / (double)numbers[OF_HYPOTHESIS] : least;
        double recall = referred ? matches / (double)numbers[OF_REFERENCE] : least;
        double denominator = factor * precision + recall;
        scores += denominator > 0 ? (1 + factor) * precision * recall / denominator : least;
        if (translated && referred) {
            precisions += precision;
            recalls += recall;
            found++;
        }
    }
    if (config->eps_smoothing)
        return 100 * scores / order;
    double precision = found > 0 ? precisions / found : 0.0, recall = found > 0 ? recalls / found : 0.0;
    if (precision + recall == 0)
        return 0.0;
    return 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
}

static double score_of(const void *config, const int64_t *sums)
{
    return chrf_of(config, sums);
}

struct segment_metric chrf_metric(const struct chrf_config *config)
{
    return (struct segment_metric){chrf_width(config), score_of, config};
}

const char *chrf_name(const struct chrf_config *config, char text[CHRF_NAME_BYTES])
{
    snprintf(text, CHRF_NAME_BYTES, "chrF%d%.*s", config->beta, config->word_order, "++++++++");
    return text;
}

const char *chrf_signature(const struct chrf_config *config, int reference_count,
                           const struct segment_sampling *sampling, char text[SIGNATURE_BYTES])
{
    char version[SIGNATURE_VERSION_BYTES];
    int used = segments_signature(text, reference_count, sampling);
    snprintf(text + used, (size_t)(SIGNATURE_BYTES - used), "case:%s|eff:%s|nc:%d|nw:%d|space:%s|version:%s",
             config->lowercase ? "lc" : "mixed", config->eps_smoothing ? "no" : "yes", config->char_order,
             config->word_order, config->whitespace ? "yes" : "no", segments_version(version));
    return text;
}
