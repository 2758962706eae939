/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens are ordered by a heap as far as they are needed: top_k and top_p mostly keep few of a large
 * vocabulary. Of equal scores the token of the lower number comes first; in transformers top_p cuts them in
 * the order of an unstable sort.
 */
#include "model/generation/sampler.h"

#include "base/fail.h"
#include "base/integer.h"
#include "model/generation/token_choice.h"

#include <math.h>

static rotary_status refuse(const char *name, double value, const char *wanted, rotary_error *error)
{
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s is %g: wanted %s", name, value, wanted);
}

rotary_status sampler_check(const struct sampler_config *config, rotary_error *error)
{
    const double t = config->temperature;
    if (!((t >= 0.0 && t <= 0.0) || t >= SAMPLER_MIN_TEMPERATURE) || isinf(t))
        return refuse("temperature", t, "0, or a number from 1e-6 on", error);
    if (config->top_k < 0)
        return refuse("top_k", (double)config->top_k, "0 for all tokens, or at least 1", error);
    if (!(config->top_p >= 0.0 && config->top_p <= 1.0))
        return refuse("top_p", config->top_p, "a number from 0 to 1", error);
    if (!(config->min_p >= 0.0 && config->min_p <= 1.0))
        return refuse("min_p", config->min_p, "a number from 0 to 1", error);
    if (!(config->repetition_penalty >= 0.0) || isinf(config->repetition_penalty))
        return refuse("repetition_penalty", config->repetition_penalty, "a number above 0", error);
    const char *chosen = config->top_k > 0                            ? "top_k"
                         : config->top_p > 0.0 && config->top_p < 1.0 ? "top_p"
                         : config->min_p > 0.0                        ? "min_p"
                                                                      : NULL;
    if (config->temperature <= 0.0 && chosen)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s without a temperature: wanted both, to sample, or neither", chosen);
    return ROTARY_OK;
}

/* A token that is in the text several times is penalised once: its new score is not what is read again,
 * because all tokens are marked first, and the marks are taken away one by one. */
static void penalise(double penalty, const struct sampler_row *row)
{
    for (int64_t i = 0; i < row->text_length; i++)
        row->scratch[row->text[i]] = 1;
    for (int64_t i = 0; i < row->text_length; i++) {
        int32_t token = row->text[i];
        float factor = (float)penalty, *logit = &row->logits[token];
        if (row->scratch[token] == 1)
            *logit = *logit < 0.0f ? *logit * factor : *logit / factor;
        row->scratch[token] = 0;
    }
}

/* ---- The largest scores first. ---- */

/* The heap of the tokens that were not taken yet: none comes before its parent. */
struct heap {
    const float *scores;
    int32_t *tokens;
    int64_t count;
};

static bool comes_before(const struct heap *heap, int32_t token, int32_t other)
{
    float a = heap->scores[token], b = heap->scores[other];
    return a > b || (a == b && token < other);
}

static void sink(struct heap *heap, int64_t at)
{
    int32_t token = heap->tokens[at];
    for (int64_t child = 2 * at + 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count && comes_before(heap, heap->tokens[child + 1], heap->tokens[child]))
            child++;
        if (!comes_before(heap, heap->tokens[child], token))
            break;
        heap->tokens[at] = heap->tokens[child];
        at = child;
    }
    heap->tokens[at] = token;
}

static struct heap heap_of(const struct sampler_row *row)
{
    struct heap heap = {.scores = row->logits, .tokens = row->scratch, .count = row->count};
    for (int64_t i = 0; i < row->count; i++)
        heap.tokens[i] = (int32_t)i;
    for (int64_t at = row->count / 2 - 1; at >= 0; at--)
        sink(&heap, at);
    return heap;
}

/* Takes the next token. It is kept behind the heap: all that were taken are in tokens[count ...], the last
 * one first. */
static void take(struct heap *heap)
{
    int32_t first = heap->tokens[0], last = heap->tokens[--heap->count];
    heap->tokens[0] = last;
    sink(heap, 0);
    heap->tokens[heap->count] = first;
}

/* Takes the `top_k` first tokens and those that equal the last of them. */
static void take_top_k(struct heap *heap, int64_t top_k)
{
    int64_t most = min_i64(top_k, heap->count);
    for (int64_t i = 0; i < most; i++)
        take(heap);
    float last = heap->scores[heap->tokens[heap->count]];
    while (heap->count > 0 && heap->scores[heap->tokens[0]] >= last)
        take(heap);
}

/* The sum of exp(score - max) of the tokens that were taken, or of all. */
static double sum_of(const struct heap *heap, int64_t count, double max, bool taken)
{
    double sum = 0.0;
    for (int64_t i = taken ? heap->count : 0; i < count; i++)
        sum += exp((double)heap->scores[heap->tokens[i]] - max);
    return sum;
}

/* How many tokens are kept, from the first on: each while those before it have less than `top_p` of `total`
 * together. `taken` tokens are taken already. */
static int64_t count_top_p(struct heap *heap, const struct sampler_row *row, double top_p, bool only_taken)
{
    int64_t all = row->count - heap->count, kept = 0;
    float max = row->logits[token_argmax(row->logits, row->count)];
    double wanted = top_p * sum_of(heap, row->count, (double)max, only_taken), before = 0.0;
    for (int64_t most = only_taken ? all : row->count; kept < most && (kept == 0 || before < wanted);
         kept++) {
        if (!only_taken)
            take(heap);
        before += exp((double)heap->scores[heap->tokens[row->count - 1 - kept]] - (double)max);
    }
    return kept;
}

/* Leaves out all tokens but the first by top_k and top_p. */
static void keep_first(const struct sampler_config *config, const struct sampler_row *row)
{
    struct heap heap = heap_of(row);
    if (config->top_k > 0)
        take_top_k(&heap, config->top_k);
    int64_t kept = row->count - heap.count;
    if (config->top_p > 0.0 && config->top_p < 1.0)
        kept = count_top_p(&heap, row, config->top_p, config->top_k > 0);
    for (int64_t i = 0; i < row->count - kept; i++)
        row->logits[heap.tokens[i]] = -INFINITY;
}

void sampler_process(const struct sampler_config *config, const struct sampler_row *row)
{
    if (config->repetition_penalty > 0.0 && config->repetition_penalty != 1.0)
        penalise(config->repetition_penalty, row);
    if (config->temperature <= 0.0)
        return;
    for (int64_t i = 0; i < row->count; i++)
        row->logits[i] /= (float)config->temperature;
    if (config->top_k > 0 || (config->top_p > 0.0 && config->top_p < 1.0))
        keep_first(config, row);
    if (config->min_p <= 0.0)
        return;
    /* p / p_max = exp(score - max). */
    double max = (double)row->logits[token_argmax(row->logits, row->count)];
    for (int64_t i = 0; i < row->count; i++)
        if (exp((double)row->logits[i] - max) < config->min_p)
            row->logits[i] = -INFINITY;
}

int32_t sampler_choose(const struct sampler_config *config, const struct sampler_row *row, double uniform)
{
    sampler_process(config, row);
    if (config->temperature <= 0.0)
        return token_argmax(row->logits, row->count);
    return token_sample(row->logits, row->count, 1.0, uniform);
}
