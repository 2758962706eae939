/* SPDX-License-Identifier: Apache-2.0
 *
 * Prompts are decoded in groups. All sequences of a group advance together, one position per step: a longer
 * prompt supplies its own token where a shorter one already takes the model's. So all sequences of the
 * group's KV cache have the same length.
 */
#include "model/generation.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/random.h"
#include "model/decoder_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct group {
    struct decoder *decoder;
    const struct generate_config *config;
    int64_t first, count;   /* prompts first ... first + count - 1 of the call */
    int64_t capacity;       /* positions: longest prompt + max_new_tokens */
    int32_t *tokens;        /* [count, capacity] */
    int32_t *inputs;        /* [count, time]: the tokens of one call */
    const int64_t *lengths; /* of the prompts */
    int64_t *generated;     /* [count] new tokens so far */
    float *logits;          /* [count, vocabulary], or [count, capacity, vocabulary] without a cache */
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

/* Writes the next token at `position` of every sequence whose prompt ends before it. True when all sequences
 * are finished. */
static bool append(const struct group *group, int64_t position, const float *logits, int64_t stride)
{
    bool all_finished = true;
    for (int64_t row = 0; row < group->count; row++) {
        int32_t *tokens = group->tokens + row * group->capacity;
        if (position >= group->lengths[row] && !is_finished(group, row)) {
            tokens[position] = next_token(group, row, position, logits + row * stride);
            group->generated[row]++;
        } else if (position >= group->lengths[row]) {
            tokens[position] =
                tokens[position - 1]; /* padding: the model reads it, the output ends before it */
        }
        all_finished = all_finished && is_finished(group, row);
    }
    return all_finished;
}

/* Copies positions from ... from + time - 1 of every sequence to `inputs`. */
static void gather(const struct group *group, int64_t from, int64_t time)
{
    for (int64_t row = 0; row < group->count; row++)
        memcpy(group->inputs + row * time, group->tokens + row * group->capacity + from,
               (size_t)time * sizeof *group->inputs);
}

static int64_t shortest_length(const struct group *group)
{
    int64_t min = group->lengths[0];
    for (int64_t row = 1; row < group->count; row++)
        min = min_i64(min, group->lengths[row]);
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
    int64_t chunk = decoder_rows(group->decoder->limits) / group->count,
            shortest_prompt = shortest_length(group);
    bool done = false;
    for (int64_t position = 0; status == ROTARY_OK && !done;) {
        int64_t time = max_i64(min_i64(shortest_prompt - position, chunk), 1);
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
    for (int64_t position = shortest_length(group);
         status == ROTARY_OK && !done && position < group->capacity; position++) {
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
        longest = max_i64(longest, group->lengths[row]);
    group->capacity = longest + group->config->max_new_tokens;
    int64_t positions = group->config->without_cache ? group->capacity : 1;
    int64_t rows = decoder_rows(group->decoder->limits);
    group->tokens = calloc((size_t)(group->count * group->capacity), sizeof *group->tokens);
    group->inputs = calloc((size_t)(rows + group->count * group->capacity), sizeof *group->inputs);
    group->logits =
        calloc((size_t)(group->count * positions * group->decoder->config.vocab_size), sizeof(float));
    rotary_status status = ROTARY_OK;
    if (!group->tokens || !group->inputs || !group->logits)
        status = rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to generate from %lld prompts",
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
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "max_new_tokens is %lld: wanted at least 1",
                           (long long)config->max_new_tokens);
    for (int64_t i = 0; i < count; i++)
        if (lengths[i] < 1)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "prompt %lld is empty: wanted at least 1 token", (long long)i);
    /* With a cache a sequence takes one row of a call; without, one sequence of the batch. */
    int64_t group_size = config->without_cache ? decoder->limits.batch : decoder_rows(decoder->limits);
    rotary_status status = ROTARY_OK;
    for (int64_t first = 0; status == ROTARY_OK && first < count; first += group_size) {
        struct group group = {.decoder = decoder,
                              .config = config,
                              .first = first,
                              .count = min_i64(count - first, group_size),
                              .lengths = lengths + first,
                              .generated = generated + first};
        memset(group.generated, 0, (size_t)group.count * sizeof *group.generated);
        status = run_group(&group, prompts + first, outputs + first, interrupted, error);
    }
    return status;
}
