/* SPDX-License-Identifier: Apache-2.0
 *
 * Prompts are decoded in groups. All sequences of a group advance together, one position per step, so they
 * have the same length in the KV cache. The next token of a sequence comes from its prompt until that ends,
 * then from the model.
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
    struct generate_call call; /* of the group's prompts alone */
    int64_t first;             /* index of the group's first prompt */
    int64_t capacity;          /* positions: longest prompt + max_new_tokens */
    int32_t *tokens;           /* [count, capacity]: prompts and generated tokens */
    int32_t *inputs;           /* [count, time]: tokens of one decoder call */
    float *logits;             /* [count, vocabulary], or [count, capacity, vocabulary] without a cache */
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
    int64_t generated = group->call.generated[row];
    const int32_t *tokens = group->tokens + row * group->capacity + group->call.lengths[row];
    return generated == group->config->max_new_tokens ||
           (generated > 0 && tokens[generated - 1] == group->config->stop);
}

/* Writes token `position` of every sequence whose prompt is not longer. True when all sequences are finished.
 */
static bool append(const struct group *group, int64_t position, const float *logits, int64_t stride)
{
    bool all_finished = true;
    for (int64_t row = 0; row < group->call.count; row++) {
        int32_t *tokens = group->tokens + row * group->capacity;
        if (position >= group->call.lengths[row] && !is_finished(group, row)) {
            tokens[position] = next_token(group, row, position, logits + row * stride);
            group->call.generated[row]++;
        } else if (position >= group->call.lengths[row]) {
            tokens[position] = tokens[position - 1]; /* padding: not part of the output */
        }
        all_finished = all_finished && is_finished(group, row);
    }
    return all_finished;
}

/* Copies positions from ... from + time - 1 of every sequence to `inputs`. */
static void gather(const struct group *group, int64_t from, int64_t time)
{
    for (int64_t row = 0; row < group->call.count; row++)
        memcpy(group->inputs + row * time, group->tokens + row * group->capacity + from,
               (size_t)time * sizeof *group->inputs);
}

static int64_t shortest_length(const struct group *group)
{
    int64_t min = group->call.lengths[0];
    for (int64_t row = 1; row < group->call.count; row++)
        min = min_i64(min, group->call.lengths[row]);
    return min;
}

static bool is_interrupted(const struct group *group)
{
    return group->call.interrupted && atomic_load_explicit(group->call.interrupted, memory_order_relaxed);
}

static rotary_status generate_with_cache(const struct group *group, rotary_error *error)
{
    struct decoder_cache *cache = NULL;
    rotary_status status =
        decoder_cache_create(&cache, group->decoder, group->call.count, group->capacity, error);
    int64_t chunk = decoder_rows(group->decoder->limits) / group->call.count,
            shortest_prompt = shortest_length(group);
    bool done = false;
    for (int64_t position = 0; status == ROTARY_OK && !done;) {
        int64_t time = max_i64(min_i64(shortest_prompt - position, chunk), 1);
        gather(group, position, time);
        const struct decoder_decode_call call = {
            .time = time, .tokens = group->inputs, .logits = group->logits};
        status = decoder_decode(group->decoder, cache, &call, error);
        position += time;
        if (status == ROTARY_OK)
            done = append(group, position, group->logits, group->decoder->config.vocab_size);
        if (status == ROTARY_OK && is_interrupted(group))
            status = rotary_fail(error, ROTARY_INTERRUPTED, "interrupted while generating");
    }
    decoder_cache_destroy(cache);
    return status;
}

static rotary_status generate_without_cache(const struct group *group, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    int64_t vocabulary = group->decoder->config.vocab_size;
    bool done = false;
    for (int64_t position = shortest_length(group);
         status == ROTARY_OK && !done && position < group->capacity; position++) {
        gather(group, 0, position);
        const struct token_sequences input = {
            .batch = group->call.count, .time = position, .tokens = group->inputs};
        status = decoder_logits(group->decoder, &input, group->logits, error);
        if (status == ROTARY_OK)
            done =
                append(group, position, group->logits + (position - 1) * vocabulary, position * vocabulary);
        if (status == ROTARY_OK && is_interrupted(group))
            status = rotary_fail(error, ROTARY_INTERRUPTED, "interrupted while generating");
    }
    return status;
}

static rotary_status run_group(struct group *group, rotary_error *error)
{
    int64_t longest = 0;
    for (int64_t row = 0; row < group->call.count; row++)
        longest = max_i64(longest, group->call.lengths[row]);
    group->capacity = longest + group->config->max_new_tokens;
    int64_t positions = group->config->without_cache ? group->capacity : 1;
    int64_t rows = decoder_rows(group->decoder->limits);
    group->tokens = calloc((size_t)(group->call.count * group->capacity), sizeof *group->tokens);
    group->inputs = calloc((size_t)(rows + group->call.count * group->capacity), sizeof *group->inputs);
    group->logits =
        calloc((size_t)(group->call.count * positions * group->decoder->config.vocab_size), sizeof(float));
    rotary_status status = ROTARY_OK;
    if (!group->tokens || !group->inputs || !group->logits)
        status = rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to generate from %lld prompts",
                             (long long)group->call.count);
    if (status == ROTARY_OK) {
        for (int64_t row = 0; row < group->call.count; row++)
            memcpy(group->tokens + row * group->capacity, group->call.prompts[row],
                   (size_t)group->call.lengths[row] * sizeof *group->tokens);
        status = group->config->without_cache ? generate_without_cache(group, error)
                                              : generate_with_cache(group, error);
    }
    if (status == ROTARY_OK)
        for (int64_t row = 0; row < group->call.count; row++)
            memcpy(group->call.outputs[row], group->tokens + row * group->capacity + group->call.lengths[row],
                   (size_t)group->call.generated[row] * sizeof *group->tokens);
    free(group->tokens);
    free(group->inputs);
    free(group->logits);
    return status;
}

rotary_status generate(struct decoder *decoder, const struct generate_config *config,
                       const struct generate_call *call, rotary_error *error)
{
    if (config->max_new_tokens < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "max_new_tokens is %lld: wanted at least 1",
                           (long long)config->max_new_tokens);
    for (int64_t i = 0; i < call->count; i++)
        if (call->lengths[i] < 1)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "prompt %lld is empty: wanted at least 1 token", (long long)i);
    /* With a cache, a sequence takes one row of the decoder's batch; without, `time` rows. */
    int64_t group_size = config->without_cache ? decoder->limits.batch : decoder_rows(decoder->limits);
    rotary_status status = ROTARY_OK;
    for (int64_t first = 0; status == ROTARY_OK && first < call->count; first += group_size) {
        struct group group = {.decoder = decoder,
                              .config = config,
                              .first = first,
                              .call = {.count = min_i64(call->count - first, group_size),
                                       .prompts = call->prompts + first,
                                       .lengths = call->lengths + first,
                                       .outputs = call->outputs + first,
                                       .generated = call->generated + first,
                                       .interrupted = call->interrupted}};
        memset(group.call.generated, 0, (size_t)group.call.count * sizeof *group.call.generated);
        status = run_group(&group, error);
    }
    return status;
}
