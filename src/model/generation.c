/* SPDX-License-Identifier: Apache-2.0
 *
 * All prompts of a group advance together, one position a step: where a prompt still has characters they are
 * read, else what the model chose is. So a group is one cache whose sequences have equal lengths.
 */
#include "model/generation.h"

#include "base/fail.h"
#include "base/random.h"
#include "model/decoder_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct group {
    struct decoder *decoder;
    const struct generate_config *config;
    int64_t first, count;   /* prompts first ... first + count - 1 of the call */
    int64_t capacity;       /* positions: longest prompt + most */
    int32_t *tokens;        /* [count, capacity] */
    int32_t *inputs;        /* [count, chunk]: the tokens of one call, gathered */
    const int64_t *lengths; /* of the prompts */
    int64_t *generated;
    float *logits; /* [count, vocabulary], or [count, capacity, vocabulary] without a cache */
};

static int32_t argmax(const float *logits, int64_t count)
{
    int64_t index = 0;
    for (int64_t i = 1; i < count; i++)
        if (logits[i] > logits[index])
            index = i;
    return (int32_t)index;
}

/* Draws from softmax(logits / temperature) by its cumulative sum, in double. */
static int32_t sample(const float *logits, int64_t count, double temperature, double uniform)
{
    double max = (double)logits[argmax(logits, count)], total = 0.0;
    for (int64_t i = 0; i < count; i++)
        total += exp(((double)logits[i] - max) / temperature);
    double remaining = uniform * total;
    for (int64_t i = 0; i < count; i++) {
        remaining -= exp(((double)logits[i] - max) / temperature);
        if (remaining < 0.0)
            return (int32_t)i;
    }
    return argmax(logits, count);
}

static int32_t next_token(const struct group *group, int64_t row, int64_t position, const float *logits)
{
    int64_t vocabulary = group->decoder->config.vocab_size;
    if (group->config->temperature <= 0.0f)
        return argmax(logits, vocabulary);
    struct rotary_random_key key = {
        .seed = group->config->seed, .stream = ROTARY_STREAM_SAMPLE, .step = (uint32_t)position};
    float uniform = rotary_random_uniform(key, (uint64_t)(group->first + row));
    return sample(logits, vocabulary, (double)group->config->temperature, (double)uniform);
}

static bool is_finished(const struct group *group, int64_t row)
{
    int64_t generated = group->generated[row];
    const int32_t *tokens = group->tokens + row * group->capacity + group->lengths[row];
    return generated == group->config->max_new_tokens ||
           (generated > 0 && tokens[generated - 1] == group->config->stop);
}

/* Appends the model's choice at `position` to every sequence whose prompt ends before it. True when all are
 * finished. */
static bool append(const struct group *group, int64_t position, const float *logits, int64_t stride)
{
    bool all_finished = true;
    for (int64_t row = 0; row < group->count; row++) {
        int32_t *tokens = group->tokens + row * group->capacity;
        if (position >= group->lengths[row] && !is_finished(group, row)) {
            tokens[position] = next_token(group, row, position, logits + row * stride);
            group->generated[row]++;
        } else if (position >= group->lengths[row]) {
            tokens[position] = tokens[position - 1]; /* read on, never looked at */
        }
        all_finished = all_finished && is_finished(group, row);
    }
    return all_finished;
}

/* Positions from ... from + time - 1 of every sequence, side by side. */
static void gather(const struct group *group, int64_t from, int64_t time)
{
    for (int64_t row = 0; row < group->count; row++)
        memcpy(group->inputs + row * time, group->tokens + row * group->capacity + from,
               (size_t)time * sizeof *group->inputs);
}

static int64_t shortest(const struct group *group)
{
    int64_t min = group->lengths[0];
    for (int64_t row = 1; row < group->count; row++)
        min = group->lengths[row] < min ? group->lengths[row] : min;
    return min;
}

static bool is_interrupted(const atomic_bool *interrupted)
{
    return interrupted && atomic_load_explicit(interrupted, memory_order_relaxed);
}

static rotary_status generate_with_cache(const struct group *group, const atomic_bool *interrupted,
                                         rotary_error *error)
{
    struct decoder_cache *cache = NULL;
    rotary_status status = decoder_cache_create(&cache, group->decoder, group->count, group->capacity, error);
    int64_t chunk = decoder_rows(group->decoder->limits) / group->count, shortest_length = shortest(group);
    bool done = false;
    for (int64_t position = 0; status == ROTARY_OK && !done;) {
        int64_t remaining = shortest_length - position, time = remaining < 1       ? 1
                                                               : remaining < chunk ? remaining
                                                                                   : chunk;
        gather(group, position, time);
        status = decoder_decode(group->decoder, cache, time, group->inputs, group->logits, error);
        position += time;
        if (status == ROTARY_OK)
            done = append(group, position, group->logits, group->decoder->config.vocab_size);
        if (status == ROTARY_OK && is_interrupted(interrupted))
            status = rotary_fail(error, ROTARY_INTERRUPTED, "interrupted while generating");
    }
    decoder_cache_destroy(cache);
    return status;
}

static rotary_status generate_without_cache(const struct group *group, const atomic_bool *interrupted,
                                            rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    int64_t vocabulary = group->decoder->config.vocab_size;
    bool done = false;
    for (int64_t position = shortest(group); status == ROTARY_OK && !done && position < group->capacity;
         position++) {
        gather(group, 0, position);
        status = decoder_logits(group->decoder, group->count, position, group->inputs, group->logits, error);
        if (status == ROTARY_OK)
            done =
                append(group, position, group->logits + (position - 1) * vocabulary, position * vocabulary);
        if (is_interrupted(interrupted))
            status = rotary_fail(error, ROTARY_INTERRUPTED, "interrupted while generating");
    }
    return status;
}

static rotary_status run_group(struct group *group, const int32_t *const *prompts, int32_t *const *outputs,
                               const atomic_bool *interrupted, rotary_error *error)
{
    int64_t longest = 0;
    for (int64_t row = 0; row < group->count; row++)
        longest = group->lengths[row] > longest ? group->lengths[row] : longest;
    group->capacity = longest + group->config->max_new_tokens;
    int64_t positions = group->config->without_cache ? group->capacity : 1;
    int64_t rows = decoder_rows(group->decoder->limits);
    group->tokens = calloc((size_t)(group->count * group->capacity), sizeof *group->tokens);
    group->inputs = calloc((size_t)(rows + group->count * group->capacity), sizeof *group->inputs);
    group->logits =
        calloc((size_t)(group->count * positions * group->decoder->config.vocab_size), sizeof(float));
    rotary_status status = ROTARY_OK;
    if (!group->tokens || !group->inputs || !group->logits)
        status = rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to continue %lld prompts",
                             (long long)group->count);
    if (status == ROTARY_OK) {
        for (int64_t row = 0; row < group->count; row++)
            memcpy(group->tokens + row * group->capacity, prompts[row],
                   (size_t)group->lengths[row] * sizeof *group->tokens);
        status = group->config->without_cache ? generate_without_cache(group, interrupted, error)
                                              : generate_with_cache(group, interrupted, error);
    }
    if (status == ROTARY_OK)
        for (int64_t row = 0; row < group->count; row++)
            memcpy(outputs[row], group->tokens + row * group->capacity + group->lengths[row],
                   (size_t)group->generated[row] * sizeof *group->tokens);
    free(group->tokens);
    free(group->inputs);
    free(group->logits);
    return status;
}

rotary_status generate(struct decoder *decoder, const struct generate_config *config, int64_t count,
                       const int32_t *const *prompts, const int64_t *lengths, int32_t *const *outputs,
                       int64_t *generated, const atomic_bool *interrupted, rotary_error *error)
{
    if (config->max_new_tokens < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%lld new tokens were asked for: at least 1 is wanted",
                           (long long)config->max_new_tokens);
    for (int64_t i = 0; i < count; i++)
        if (lengths[i] < 1)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "prompt %lld is empty: a model continues at least one token", (long long)i);
    /* With a cache a sequence is one row of a step; without, it takes a place in the batch. */
    int64_t group_size = config->without_cache ? decoder->limits.batch : decoder_rows(decoder->limits);
    rotary_status status = ROTARY_OK;
    for (int64_t first = 0; status == ROTARY_OK && first < count; first += group_size) {
        struct group group = {.decoder = decoder,
                              .config = config,
                              .first = first,
                              .count = count - first < group_size ? count - first : group_size,
                              .lengths = lengths + first,
                              .generated = generated + first};
        memset(group.generated, 0, (size_t)group.count * sizeof *group.generated);
        status = run_group(&group, prompts + first, outputs + first, interrupted, error);
    }
    return status;
}
