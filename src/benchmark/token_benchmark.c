/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmark/token_benchmark.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/integer.h"
#include "benchmark/limits.h"
#include "benchmark/operations.h"
#include "model/generation/token_choice.h"

#include <string.h>

#define SECONDS 3.0
enum { MIN_ROUNDS = 5, MAX_ROUNDS = 200, WARM_UP_ROUNDS = 3 };

struct loop {
    struct transformer *transformer;
    struct transformer_cache *cache;
    int64_t sequences, prompt, capacity, vocabulary;
    struct rotary_arena arena;
    int32_t *tokens; /* [sequences, prompt] */
    float *logits;   /* [sequences, vocabulary] */
    struct memory_limit memory;
};

static void carve(struct loop *loop)
{
    loop->tokens = rotary_arena_push(&loop->arena, loop->sequences * loop->prompt, sizeof *loop->tokens);
    loop->logits = rotary_arena_push(&loop->arena, loop->sequences * loop->vocabulary, sizeof *loop->logits);
    loop->memory.data = rotary_arena_push(&loop->arena, round_up(loop->memory.bytes, MEMORY_LIMIT_UNIT), 1);
}

/* The greedy choice of every sequence becomes its next token. */
static void choose(struct loop *loop)
{
    for (int64_t i = 0; i < loop->sequences; i++)
        loop->tokens[i] = token_argmax(loop->logits + i * loop->vocabulary, loop->vocabulary);
}

static rotary_status decode(struct loop *loop, const int32_t *tokens, int64_t time, rotary_error *error)
{
    const struct transformer_decode_call call = {.time = time, .tokens = tokens, .logits = loop->logits};
    return transformer_decode(loop->transformer, loop->cache, &call, error);
}

static rotary_status run_step(void *argument, rotary_error *error)
{
    struct loop *loop = argument;
    rotary_status status = decode(loop, loop->tokens, 1, error);
    choose(loop);
    return status;
}

/* Reads the prompts into a new cache, in as many tokens at once as the transformer takes. */
static rotary_status read_prompts(struct loop *loop, double *seconds, rotary_error *error)
{
    int64_t chunk = transformer_max_tokens(loop->transformer) / loop->sequences;
    const struct transformer_cache_shape shape = {.batch = loop->sequences, .capacity = loop->capacity};
    transformer_cache_destroy(loop->cache);
    loop->cache = NULL;
    for (int64_t i = 0; i < loop->sequences * loop->prompt; i++)
        loop->tokens[i] = (int32_t)(i * 31 % loop->vocabulary);
    rotary_status status = transformer_cache_create(&loop->cache, loop->transformer, &shape, error);
    double begin = rotary_clock();
    for (int64_t at = 0; at < loop->prompt && status == ROTARY_OK; at += chunk)
        status = decode(loop, loop->tokens + at * loop->sequences, min_i64(chunk, loop->prompt - at), error);
    *seconds = rotary_clock() - begin;
    choose(loop);
    return status;
}

static rotary_status time_steps(struct loop *loop, struct token_benchmark *result, rotary_error *error)
{
    struct timing_item items[] = {{.run = run_step, .argument = loop},
                                  {.run = memory_limit_read, .argument = &loop->memory}};
    items[0].baseline = &items[1];
    const struct timing_plan plan = {.seconds = SECONDS,
                                     .min = MIN_ROUNDS,
                                     .max =
                                         min_i64(MAX_ROUNDS, loop->capacity - loop->prompt - WARM_UP_ROUNDS)};
    rotary_status status = timing_run(items, 2, &plan, &result->rounds, error);
    result->step = items[0].timing;
    result->read = items[1].timing;
    result->ratio = items[0].ratio;
    return status;
}

/* Sums up the matrices that multiply a token: the table of embeddings is one of them where it is also the
 * output's. */
static double weight_bytes(const struct transformer_config *config, const struct parameters *parameters,
                           rotary_dtype packed)
{
    if (!parameters->stores)
        return operations_matmul_parameters(config) * (double)rotary_dtype_size(packed);
    double bytes = 0.0;
    for (int i = 0; i < parameters->count; i++) {
        const struct stored_weight *weight = parameter_stored(parameters, i);
        const bool multiplies =
            config->tie_word_embeddings || i != parameters_find(parameters, "embedding.weight");
        for (int64_t part = 0; weight && multiplies && part < weight->count; part++)
            bytes += (double)(weight->parts[part].rows * weight->columns) *
                     (double)rotary_dtype_size(weight->parts[part].dtype);
    }
    return bytes;
}

/* A query of the prompt attends to half of it on average. */
static void count(struct token_benchmark *result, struct transformer *transformer,
                  const struct backend *backend)
{
    const struct transformer_config *config = transformer_configuration(transformer);
    double rows = (double)(result->sequences * result->prompt),
           output = (double)config->hidden_size * (double)config->vocab_size;
    result->weight_bytes = weight_bytes(config, transformer_parameters(transformer), backend->storage);
    result->prompt_operations = rows * (2.0 * (operations_matmul_parameters(config) - output) +
                                        operations_attention(config, 0.5 * ((double)result->prompt + 1.0))) +
                                2.0 * (double)result->sequences * output;
}

rotary_status benchmark_token(struct token_benchmark *benchmark, struct transformer *transformer,
                              const struct backend *backend, rotary_error *error)
{
    const struct transformer_config *config = transformer_configuration(transformer);
    struct token_benchmark result = {.sequences = benchmark->sequences, .prompt = benchmark->prompt};
    int64_t positions = config->max_position_embeddings, least = WARM_UP_ROUNDS + MIN_ROUNDS;
    if (result.prompt + least > positions)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a prompt of %lld tokens and %lld more need %lld positions, the model has %lld",
                           (long long)result.prompt, (long long)least, (long long)(result.prompt + least),
                           (long long)positions);
    count(&result, transformer, backend);
    struct loop loop = {
        .transformer = transformer,
        .sequences = result.sequences,
        .prompt = result.prompt,
        .capacity = min_i64(positions, result.prompt + MAX_ROUNDS + WARM_UP_ROUNDS),
        .vocabulary = config->vocab_size,
        .memory = {.isa = backend->isa, .threads = backend->threads, .bytes = (int64_t)result.weight_bytes}};
    carve(&loop);
    rotary_status status = rotary_arena_allocate(&loop.arena, "the benchmark of a token", error);
    if (status == ROTARY_OK) {
        carve(&loop);
        /* Pages that were never written share one page of zeros, which is always in the caches. */
        memset(loop.memory.data, 1, (size_t)loop.memory.bytes);
        status = read_prompts(&loop, &result.prompt_seconds, error);
    }
    if (status == ROTARY_OK)
        status = read_prompts(&loop, &result.prompt_seconds, error);
    if (status == ROTARY_OK)
        status = time_steps(&loop, &result, error);
    transformer_cache_destroy(loop.cache);
    rotary_arena_free(&loop.arena);
    if (status == ROTARY_OK)
        *benchmark = result;
    return status;
}
