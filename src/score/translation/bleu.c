/* SPDX-License-Identifier: Apache-2.0 */
#include "score/translation/bleu.h"

#include "base/fail.h"
#include "base/integer.h"
#include "score/translation/ngrams.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const bleu_smoothing_names[] = {"exp", "floor", "add-k", "none", NULL};

void bleu_config_default(struct bleu_config *config)
{
    *config = (struct bleu_config){.tokenizer = BLEU_13A, .smoothing = BLEU_EXP};
}

double bleu_smoothing_default(enum bleu_smoothing smoothing)
{
    return smoothing == BLEU_FLOOR ? 0.1 : smoothing == BLEU_ADD_K ? 1.0 : 0.0;
}

/* ---- the statistics of a segment ---- */

/* Memory that is used again for every segment. */
struct counter {
    const struct bleu_config *config;
    struct points *texts; /* [references + 1], tokenized; the translation comes last */
    struct points tokens; /* of one text: nodes of `words` */
    struct points scratch;
    struct ngrams words, ngrams;
};

static rotary_status read_texts(struct counter *counter, const struct segment_corpus *corpus, int64_t index,
                                rotary_error *error)
{
    int64_t characters = 0, tokens = 0;
    rotary_status status = ROTARY_OK;
    for (int i = 0; i <= corpus->reference_count && status == ROTARY_OK; i++) {
        const struct text_line *side =
            i < corpus->reference_count ? corpus->references[i] : corpus->hypotheses;
        struct points *text = &counter->texts[i];
        status = points_read(text, &side[index], counter->config->lowercase, &counter->scratch, error);
        if (status != ROTARY_OK)
            break;
        points_trim(text);
        status = bleu_tokenize(counter->config->tokenizer, text, &counter->scratch, error);
        characters += text->count;
        tokens += points_words(text);
    }
    if (status == ROTARY_OK)
        status = points_reserve(&counter->tokens, tokens, error);
    if (status == ROTARY_OK)
        status = ngrams_begin(&counter->words, characters, error);
    return status == ROTARY_OK ? ngrams_begin(&counter->ngrams, BLEU_ORDER * tokens, error) : status;
}

/* The tokens of a text as numbers, the same for the same token. */
static void number_tokens(struct counter *counter, const struct points *text)
{
    counter->tokens.count = 0;
    for (int64_t begin = 0, end; points_word(text, &begin, &end); begin = end)
        counter->tokens.at[counter->tokens.count++] =
            ngrams_text(&counter->words, text->at + begin, end - begin);
}

/* best: how often the reference has it that has it most often. */
static void merge_reference(struct ngrams *ngrams)
{
    for (int64_t i = 0; i < ngrams->count; i++) {
        struct ngram *ngram = &ngrams->nodes[i];
        if (ngram->reference > ngram->best)
            ngram->best = ngram->reference;
        ngram->reference = 0;
    }
}

static int64_t nearer_length(int64_t a, int64_t b, int64_t length)
{
    int64_t distance_a = llabs(a - length), distance_b = llabs(b - length);
    return distance_a < distance_b || (distance_a == distance_b && a < b) ? a : b;
}

static void count_segment(struct counter *counter, int reference_count, int64_t *statistics)
{
    const struct points *hypothesis = &counter->texts[reference_count];
    const struct points *tokens = &counter->tokens;
    number_tokens(counter, hypothesis);
    ngrams_count(&counter->ngrams, tokens->at, tokens->count, BLEU_ORDER, NGRAMS_HYPOTHESIS);
    int64_t length = tokens->count, nearest = -1;
    for (int i = 0; i < reference_count; i++) {
        number_tokens(counter, &counter->texts[i]);
        ngrams_count(&counter->ngrams, tokens->at, tokens->count, BLEU_ORDER, NGRAMS_REFERENCE);
        merge_reference(&counter->ngrams);
        nearest = i == 0 ? tokens->count : nearer_length(tokens->count, nearest, length);
    }
    statistics[BLEU_HYPOTHESIS_LENGTH] = length;
    statistics[BLEU_REFERENCE_LENGTH] = nearest;
    for (int n = 0; n < BLEU_ORDER; n++) {
        statistics[BLEU_CORRECT + n] = 0;
        statistics[BLEU_TOTAL + n] = max_i64(length - n, 0);
    }
    for (int64_t i = 1; i < counter->ngrams.count; i++) {
        const struct ngram *ngram = &counter->ngrams.nodes[i];
        statistics[BLEU_CORRECT + ngram->length - 1] += min_i64(ngram->hypothesis, ngram->best);
    }
}

rotary_status bleu_count(const struct bleu_config *config, const struct segment_corpus *corpus,
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
            count_segment(&counter, corpus->reference_count, statistics + i * BLEU_STATISTICS);
    }
    for (int i = 0; i < texts && counter.texts; i++)
        points_free(&counter.texts[i]);
    free(counter.texts);
    points_free(&counter.tokens);
    points_free(&counter.scratch);
    ngrams_free(&counter.words);
    ngrams_free(&counter.ngrams);
    return status;
}

/* ---- the score of statistics ---- */

/* The precision of n-grams in percent, of which there are some. *zeros counts those without a match. */
static double precision(const struct bleu_config *config, double correct, double total, int *zeros)
{
    if (correct > 0)
        return 100.0 * correct / total;
    if (config->smoothing == BLEU_EXP)
        return 100.0 / (ldexp(1.0, ++*zeros) * total);
    return config->smoothing == BLEU_FLOOR ? 100.0 * config->smoothing_value / total : 0.0;
}

static double brevity_penalty(int64_t hypothesis, int64_t reference)
{
    if (hypothesis >= reference)
        return 1.0;
    return hypothesis > 0 ? exp(1.0 - (double)reference / (double)hypothesis) : 0.0;
}

struct bleu_score bleu_of(const struct bleu_config *config, const int64_t sums[BLEU_STATISTICS])
{
    int64_t length = sums[BLEU_HYPOTHESIS_LENGTH], reference = sums[BLEU_REFERENCE_LENGTH], matches = 0;
    struct bleu_score result = {.brevity_penalty = brevity_penalty(length, reference),
                                .ratio = reference > 0 ? (double)length / (double)reference : 0.0,
                                .hypothesis_length = length,
                                .reference_length = reference};
    for (int n = 0; n < BLEU_ORDER; n++)
        matches += sums[BLEU_CORRECT + n];
    if (matches == 0) /* nothing to smooth */
        return result;
    int order = BLEU_ORDER, zeros = 0;
    for (int n = 0; n < BLEU_ORDER; n++) {
        double added = config->smoothing == BLEU_ADD_K && n > 0 ? config->smoothing_value : 0.0;
        double total = (double)sums[BLEU_TOTAL + n] + added;
        if (total == 0.0)
            break;
        if (config->effective_order)
            order = n + 1;
        result.precisions[n] = precision(config, (double)sums[BLEU_CORRECT + n] + added, total, &zeros);
    }
    double logs = 0.0;
    for (int n = 0; n < order; n++)
        logs += log(result.precisions[n]); /* minus infinity of 0: so the score is 0 */
    result.score = result.brevity_penalty * exp(logs / order);
    return result;
}

rotary_status bleu_corpus(const struct bleu_config *config, const struct segment_corpus *corpus,
                          struct bleu_score *score, rotary_error *error)
{
    int64_t *statistics = malloc(((size_t)corpus->count + 1) * BLEU_STATISTICS * sizeof *statistics);
    if (!statistics)
        return rotary_fail_memory(error, "for the BLEU of %lld segments", (long long)corpus->count);
    rotary_status status = bleu_count(config, corpus, statistics, error);
    if (status == ROTARY_OK) {
        int64_t sums[BLEU_STATISTICS];
        segments_sum(statistics, corpus->count, BLEU_STATISTICS, sums);
        *score = bleu_of(config, sums);
    }
    free(statistics);
    return status;
}

static double score_of(const void *config, const int64_t *sums)
{
    return bleu_of(config, sums).score;
}

struct segment_metric bleu_metric(const struct bleu_config *config)
{
    return (struct segment_metric){BLEU_STATISTICS, score_of, config};
}

const char *bleu_text(const struct bleu_score *score, char text[BLEU_TEXT_BYTES])
{
    const double *precisions = score->precisions;
    snprintf(text, BLEU_TEXT_BYTES,
             "%.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)", precisions[0],
             precisions[1], precisions[2], precisions[3], score->brevity_penalty, score->ratio,
             (long long)score->hypothesis_length, (long long)score->reference_length);
    return text;
}

const char *bleu_signature(const struct bleu_config *config, int reference_count,
                           const struct segment_sampling *sampling, char text[SIGNATURE_BYTES])
{
    char value[32] = "", version[SIGNATURE_VERSION_BYTES];
    if (config->smoothing == BLEU_FLOOR || config->smoothing == BLEU_ADD_K)
        snprintf(value, sizeof value, "[%.2f]", config->smoothing_value);
    int used = segments_signature(text, reference_count, sampling);
    snprintf(text + used, (size_t)(SIGNATURE_BYTES - used), "case:%s|eff:%s|tok:%s|smooth:%s%s|version:%s",
             config->lowercase ? "lc" : "mixed", config->effective_order ? "yes" : "no",
             bleu_tokenizer_names[config->tokenizer], bleu_smoothing_names[config->smoothing], value,
             segments_version(version));
    return text;
}
