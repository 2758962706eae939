/* SPDX-License-Identifier: Apache-2.0
 *
 * Prompts are decoded in groups. Sequences of a group advance by different lengths: a transformer call has
 * the rest of every prompt, or as much of it as fits, and one token of every sequence beyond its prompt. A
 * finished sequence leaves: the last unfinished one takes its place in the KV cache, so that unfinished ones
 * come first. Longer prompts come before shorter ones, so that neighbours have equally many new tokens.
 *
 * Where a context is given, a sequence whose cache is full drops tokens and shifts those after them.
 */
#include "model/generation/generation.h"

#include "base/arena.h"
#include "base/fail.h"
#include "base/integer.h"
#include "base/random.h"
#include "model/generation/token_choice.h"
#include "model/transformer_parts.h"

#include <stdlib.h>
#include <string.h>

/* A prompt and what was generated from it. */
struct sequence {
    int64_t prompt;          /* its index in the call */
    int64_t length, decoded; /* tokens; those of them that the transformer has read */
    bool ended;              /* by the listener */
    int32_t *tokens;         /* [capacity] */
};

struct group {
    struct transformer *transformer;
    const struct generate_config *config;
    const struct generate_call *call;
    struct transformer_cache *cache; /* NULL: without a cache */
    int64_t count, unfinished;
    int64_t capacity; /* of the text: longest prompt + max_new_tokens */
    int64_t cached;   /* tokens of a sequence in the cache, at most */
    struct rotary_arena arena;
    struct sequence *sequences; /* [count]: the unfinished ones come first */
    int32_t *tokens;            /* [count, capacity] */
    /* These are of one transformer call. */
    int32_t *inputs; /* [unfinished, time] */
    int64_t *counts; /* [unfinished] */
    float *logits;   /* [unfinished, vocabulary], or [unfinished, time, vocabulary] without a cache */
    int32_t *choice; /* [vocabulary]: of the sampler */
};

static int32_t next_token(const struct group *group, const struct sequence *sequence, float *logits)
{
    struct rotary_random_key key = {
        .seed = group->config->seed, .stream = ROTARY_STREAM_SAMPLE, .step = (uint32_t)sequence->length};
    float uniform = rotary_random_uniform(key, (uint64_t)(group->call->first + sequence->prompt));
    const struct sampler_row row = {.logits = logits,
                                    .count = group->transformer->config.vocab_size,
                                    .text = sequence->tokens,
                                    .text_length = sequence->length,
                                    .scratch = group->choice};
    return sampler_choose(&group->config->sampler, &row, (double)uniform);
}

static bool is_finished(const struct group *group, const struct sequence *sequence)
{
    int64_t generated = group->call->generated[sequence->prompt];
    return sequence->ended || generated == group->config->max_new_tokens ||
           (generated > 0 && sequence->tokens[sequence->length - 1] == group->config->stop);
}

/* Refuses logits that are not numbers: token 0 would be taken, again and again, which looks like an answer. */
static rotary_status check_logits(const struct group *group, const struct sequence *sequence,
                                  const float *logits, rotary_error *error)
{
    rotary_error inner = {0};
    rotary_status status = group->config->unchecked
                               ? ROTARY_OK
                               : token_check_logits(logits, group->transformer->config.vocab_size, &inner);
    if (status == ROTARY_OK)
        return ROTARY_OK;
    return rotary_fail(error, status, "prompt %lld: %s", (long long)(group->call->first + sequence->prompt),
                       inner.message);
}

/* Appends the next token to a sequence, and to the call's output. The logits become scores. */
static rotary_status append(const struct group *group, struct sequence *sequence, float *logits,
                            rotary_error *error)
{
    const struct generate_call *call = group->call;
    rotary_status status = check_logits(group, sequence, logits, error);
    if (status != ROTARY_OK)
        return status;
    int32_t token = next_token(group, sequence, logits);
    sequence->tokens[sequence->length++] = token;
    call->outputs[sequence->prompt][call->generated[sequence->prompt]++] = token;
    sequence->ended = call->listener && call->listener(call->context, sequence->prompt, token);
    return ROTARY_OK;
}

/* Removes sequence `index`, which is finished. */
static rotary_status leave(struct group *group, int64_t index, rotary_error *error)
{
    int64_t last = --group->unfinished;
    if (index == last)
        return ROTARY_OK;
    group->sequences[index] = group->sequences[last];
    if (!group->cache)
        return ROTARY_OK;
    return transformer_cache_copy(group->transformer, group->cache, index, last, error);
}

/* Removes the finished sequences, from the last on: so a sequence that takes another's place is unfinished.
 */
static rotary_status leave_all(struct group *group, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int64_t i = group->unfinished - 1; status == ROTARY_OK && i >= 0; i--)
        if (is_finished(group, &group->sequences[i]))
            status = leave(group, i, error);
    return status;
}

/* Makes room in the cache of sequence `index` if it is full; *room is what it has. */
static rotary_status make_room(struct group *group, int64_t index, int64_t *room, rotary_error *error)
{
    int64_t length = transformer_cache_length(group->cache, index), keep = group->config->keep,
            discard = (group->cached - keep) / 2;
    *room = group->cached - length;
    if (*room > 0)
        return ROTARY_OK;
    *room = discard;
    return transformer_cache_shift(group->transformer, group->cache, index, keep, discard, error);
}

/* The new tokens of each sequence in the next call: at most `chunk`, and as many as its cache has room for.
 * *time is the largest number. */
static rotary_status count_tokens(struct group *group, int64_t *time, rotary_error *error)
{
    int64_t chunk = transformer_rows(group->transformer->limits) / group->count, room;
    *time = 0;
    for (int64_t i = 0; i < group->unfinished; i++) {
        const struct sequence *sequence = &group->sequences[i];
        rotary_status status = make_room(group, i, &room, error);
        if (status != ROTARY_OK)
            return status;
        group->counts[i] = min_i64(sequence->length - sequence->decoded, min_i64(chunk, room));
        *time = max_i64(*time, group->counts[i]);
    }
    return ROTARY_OK;
}

/* Runs the tokens that the transformer has not read yet, as many as count_tokens says, and appends a
 * token to every sequence of which it has then read all. */
static rotary_status advance(struct group *group, rotary_error *error)
{
    int64_t time;
    rotary_status status = count_tokens(group, &time, error);
    if (status != ROTARY_OK)
        return status;
    for (int64_t i = 0; i < group->unfinished; i++) {
        struct sequence *sequence = &group->sequences[i];
        memcpy(group->inputs + i * time, sequence->tokens + sequence->decoded,
               (size_t)group->counts[i] * sizeof *group->inputs);
        sequence->decoded += group->counts[i];
    }
    const struct transformer_decode_call call = {.batch = group->unfinished,
                                                 .time = time,
                                                 .tokens = group->inputs,
                                                 .counts = group->counts,
                                                 .logits = group->logits};
    status = transformer_decode(group->transformer, group->cache, &call, error);
    for (int64_t i = 0; status == ROTARY_OK && i < group->unfinished; i++) {
        struct sequence *sequence = &group->sequences[i];
        if (sequence->decoded == sequence->length)
            status =
                append(group, sequence, group->logits + i * group->transformer->config.vocab_size, error);
    }
    return status;
}

/* Does so without a cache: runs all tokens of every sequence. What follows a shorter one is not seen by it.
 */
static rotary_status advance_without_cache(struct group *group, rotary_error *error)
{
    int64_t time = 0, vocabulary = group->transformer->config.vocab_size;
    for (int64_t i = 0; i < group->unfinished; i++)
        time = max_i64(time, group->sequences[i].length);
    for (int64_t i = 0; i < group->unfinished; i++)
        memcpy(group->inputs + i * time, group->sequences[i].tokens, (size_t)time * sizeof *group->inputs);
    const struct token_sequences input = {.batch = group->unfinished, .time = time, .tokens = group->inputs};
    const struct batch batch = {.input = input};
    rotary_status status = transformer_logits(group->transformer, &batch, group->logits, error);
    for (int64_t i = 0; status == ROTARY_OK && i < group->unfinished; i++) {
        struct sequence *sequence = &group->sequences[i];
        status =
            append(group, sequence, group->logits + (i * time + sequence->length - 1) * vocabulary, error);
    }
    return status;
}

static bool is_interrupted(const struct group *group)
{
    return group->call->interrupted && atomic_load_explicit(group->call->interrupted, memory_order_relaxed);
}

static void carve(struct group *group)
{
    struct rotary_arena *arena = &group->arena;
    int64_t count = group->count, positions = group->config->without_cache ? group->capacity : 1;
    group->sequences = rotary_arena_push(arena, count, sizeof *group->sequences);
    group->tokens = rotary_arena_push(arena, count * group->capacity, sizeof *group->tokens);
    group->inputs = rotary_arena_push(arena, count * group->capacity, sizeof *group->inputs);
    group->counts = rotary_arena_push(arena, count, sizeof *group->counts);
    group->logits = rotary_arena_push(arena, count * positions,
                                      (size_t)group->transformer->config.vocab_size * sizeof *group->logits);
    group->choice = rotary_arena_push(arena, group->transformer->config.vocab_size, sizeof *group->choice);
}

static int compare_sequences(const void *left, const void *right)
{
    const struct sequence *a = left, *b = right;
    if (a->length != b->length)
        return a->length < b->length ? 1 : -1;
    return a->prompt < b->prompt ? -1 : 1;
}

/* Writes the prompts first ... first + count - 1 of the call, the longest before the others. */
static void write_prompts(struct group *group, int64_t first)
{
    for (int64_t i = 0; i < group->count; i++) {
        int64_t length = group->call->lengths[first + i];
        group->sequences[i] = (struct sequence){
            .prompt = first + i, .length = length, .tokens = group->tokens + i * group->capacity};
        memset(group->sequences[i].tokens, 0, (size_t)group->capacity * sizeof *group->tokens);
        memcpy(group->sequences[i].tokens, group->call->prompts[first + i],
               (size_t)length * sizeof *group->tokens);
    }
    qsort(group->sequences, (size_t)group->count, sizeof *group->sequences, compare_sequences);
}

static rotary_status create(struct group *group, int64_t first, rotary_error *error)
{
    for (int64_t i = 0; i < group->count; i++)
        group->capacity = max_i64(group->capacity, group->call->lengths[first + i]);
    group->capacity += group->config->max_new_tokens;
    group->cached = group->capacity;
    if (group->config->context > 0)
        group->cached = min_i64(group->capacity, group->config->context);
    carve(group);
    rotary_status status = rotary_arena_allocate(&group->arena, "generation", error);
    if (status != ROTARY_OK)
        return status;
    carve(group);
    write_prompts(group, first);
    if (group->config->without_cache)
        return ROTARY_OK;
    const struct transformer_cache_shape shape = {.batch = group->count, .capacity = group->cached};
    return transformer_cache_create(&group->cache, group->transformer, &shape, error);
}

static rotary_status run_group(struct group *group, int64_t first, rotary_error *error)
{
    rotary_status status = create(group, first, error);
    group->unfinished = group->count;
    while (status == ROTARY_OK && group->unfinished > 0) {
        status = group->cache ? advance(group, error) : advance_without_cache(group, error);
        if (status == ROTARY_OK)
            status = leave_all(group, error);
        if (status == ROTARY_OK && is_interrupted(group))
            status = rotary_fail(error, ROTARY_INTERRUPTED, "interrupted while generating");
    }
    transformer_cache_destroy(group->cache);
    rotary_arena_free(&group->arena);
    return status;
}

/* That the texts fit into the context, or that it can be shifted. */
static rotary_status check_context(const struct transformer *transformer,
                                   const struct generate_config *config, const struct generate_call *call,
                                   rotary_error *error)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < call->count; i++)
        longest = max_i64(longest, call->lengths[i] + config->max_new_tokens);
    if (config->context == 0 || longest <= config->context)
        return ROTARY_OK;
    if (config->keep < 0 || config->context < 2 || config->keep > config->context - 2)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a context of %lld tokens that keeps the first %lld: wanted at least two more",
                           (long long)config->context, (long long)config->keep);
    if (config->without_cache)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "a context without a cache: wanted one of them");
    return transformer_check_shift(transformer, error);
}

rotary_status generation_run(struct transformer *transformer, const struct generate_config *config,
                             const struct generate_call *call, rotary_error *error)
{
    if (config->max_new_tokens < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "max_new_tokens is %lld: wanted at least 1",
                           (long long)config->max_new_tokens);
    rotary_status status = sampler_check(&config->sampler, error);
    if (status != ROTARY_OK)
        return status;
    if (transformer->config.architecture == ARCHITECTURE_ENCODER)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the model is an encoder, which continues no prompt: wanted a decoder");
    if (transformer->encoder.stack)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the model is an encoder-decoder, which translates a source: wanted a decoder");
    for (int64_t i = 0; i < call->count; i++)
        if (call->lengths[i] < 1)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "prompt %lld is empty: wanted at least 1 token", (long long)i);
    status = check_context(transformer, config, call, error);
    /* With a cache, a sequence takes one row of the transformer's batch; without, `time` rows. */
    int64_t group_size =
        config->without_cache ? transformer->limits.batch : transformer_rows(transformer->limits);
    for (int64_t first = 0; status == ROTARY_OK && first < call->count; first += group_size) {
        struct group group = {.transformer = transformer,
                              .config = config,
                              .call = call,
                              .count = min_i64(call->count - first, group_size)};
        memset(call->generated + first, 0, (size_t)group.count * sizeof *call->generated);
        status = run_group(&group, first, error);
    }
    return status;
}
