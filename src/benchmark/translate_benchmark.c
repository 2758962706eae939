/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmark/translate_benchmark.h"

#include "backend/profile.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/random.h"
#include "model/generation/search.h"

/* The memory of a search_call. */
struct buffers {
    struct rotary_arena arena;
    int32_t *tokens, *found;
    const int32_t **sources;
    int32_t **outputs;
    int64_t *lengths, *generated;
};

static int64_t longest_source(const struct translate_benchmark *benchmark)
{
    return benchmark->source_tokens + benchmark->source_tokens / 2;
}

static void carve(struct buffers *buffers, const struct translate_benchmark *benchmark)
{
    int64_t count = benchmark->sentences;
    struct rotary_arena *arena = &buffers->arena;
    buffers->tokens = rotary_arena_push(arena, count * longest_source(benchmark), sizeof *buffers->tokens);
    buffers->found = rotary_arena_push(arena, count * benchmark->tokens, sizeof *buffers->found);
    buffers->sources = rotary_arena_push(arena, count, sizeof *buffers->sources);
    buffers->outputs = rotary_arena_push(arena, count, sizeof *buffers->outputs);
    buffers->lengths = rotary_arena_push(arena, count, sizeof *buffers->lengths);
    buffers->generated = rotary_arena_push(arena, count, sizeof *buffers->generated);
}

static rotary_status create_buffers(struct buffers *buffers, const struct translate_benchmark *benchmark,
                                    int64_t vocabulary, rotary_error *error)
{
    int64_t longest = longest_source(benchmark),
            shortest = benchmark->source_tokens - longest + benchmark->source_tokens;
    carve(buffers, benchmark);
    rotary_status status = rotary_arena_allocate(&buffers->arena, "the sentences", error);
    if (status != ROTARY_OK)
        return status;
    carve(buffers, benchmark);
    struct rotary_random random = {.key = {.seed = 1, .stream = ROTARY_STREAM_TASK}};
    for (int64_t i = 0; i < benchmark->sentences; i++) {
        int32_t *tokens = buffers->tokens + i * longest;
        for (int64_t t = 0; t < longest; t++)
            tokens[t] = (int32_t)rotary_random_below(&random, (uint32_t)vocabulary);
        buffers->sources[i] = tokens;
        buffers->outputs[i] = buffers->found + i * benchmark->tokens;
        buffers->lengths[i] = shortest + i % (longest - shortest + 1);
    }
    return ROTARY_OK;
}

static rotary_status run_searches(struct translate_benchmark *result, struct transformer *transformer,
                                  const struct backend *backend, rotary_error *error)
{
    const struct transformer_config *config = transformer_configuration(transformer);
    struct buffers buffers = {.arena = {0}};
    rotary_status status = create_buffers(&buffers, result, config->source_vocab_size, error);
    if (status == ROTARY_OK) {
        struct search_config how;
        search_config_default(&how);
        how.length_factor = 0.0f;
        how.max_new_tokens = result->tokens;
        how.beams = result->beams;
        how.begin = 0;
        struct search_call call = {.count = 1,
                                   .sources = buffers.sources,
                                   .lengths = buffers.lengths,
                                   .outputs = buffers.outputs,
                                   .generated = buffers.generated};
        /* The first sentence packs the weights: that is part of the start. */
        double begin = rotary_clock();
        status = search_run(transformer, &how, &call, error);
        result->startup_seconds += rotary_clock() - begin;
        call.count = result->sentences;
        if (backend->profile)
            *backend->profile = (struct profile){0};
        begin = rotary_clock();
        if (status == ROTARY_OK)
            status = search_run(transformer, &how, &call, error);
        result->seconds = rotary_clock() - begin;
    }
    rotary_arena_free(&buffers.arena);
    return status;
}

rotary_status benchmark_translate(struct translate_benchmark *benchmark,
                                  const struct transformer_config *config, uint64_t seed,
                                  const struct backend *backend, rotary_error *error)
{
    struct translate_benchmark result = *benchmark;
    double begin = rotary_clock();
    struct transformer *transformer = NULL;
    const struct transformer_limits limits = {.batch = result.batch_size,
                                              .time = result.beams,
                                              .source_time = longest_source(&result),
                                              .packed = true};
    rotary_status status = transformer_create(&transformer, backend, config, limits, seed, error);
    if (status == ROTARY_OK) {
        result.startup_seconds = rotary_clock() - begin;
        result.parameters = (double)parameters_total(transformer_parameters(transformer));
        status = run_searches(&result, transformer, backend, error);
    }
    transformer_destroy(transformer);
    if (status == ROTARY_OK)
        status = limits_measure(backend, &result.limits, error);
    if (status == ROTARY_OK)
        *benchmark = result;
    return status;
}
