/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmark/generate_benchmark.h"

#include "backend/profile.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/fail.h"
#include "benchmark/operations.h"
#include "model/generation/generation.h"

/* The memory of a generate_call. */
struct buffers {
    struct rotary_arena arena;
    int32_t *prompt, *generated;
    const int32_t **prompts;
    int32_t **outputs;
    int64_t *lengths, *counts;
};

static void carve(struct buffers *buffers, int64_t problems, int64_t tokens)
{
    buffers->prompt = rotary_arena_push(&buffers->arena, problems, sizeof *buffers->prompt);
    buffers->generated = rotary_arena_push(&buffers->arena, problems * tokens, sizeof *buffers->generated);
    buffers->prompts = rotary_arena_push(&buffers->arena, problems, sizeof *buffers->prompts);
    buffers->outputs = rotary_arena_push(&buffers->arena, problems, sizeof *buffers->outputs);
    buffers->lengths = rotary_arena_push(&buffers->arena, problems, sizeof *buffers->lengths);
    buffers->counts = rotary_arena_push(&buffers->arena, problems, sizeof *buffers->counts);
}

static rotary_status create_buffers(struct buffers *buffers, int64_t problems, int64_t tokens,
                                    int64_t vocabulary, rotary_error *error)
{
    carve(buffers, problems, tokens);
    rotary_status status = rotary_arena_allocate(&buffers->arena, "the generated tokens", error);
    if (status != ROTARY_OK)
        return status;
    carve(buffers, problems, tokens);
    for (int64_t i = 0; i < problems; i++) {
        buffers->prompt[i] = (int32_t)(i % vocabulary);
        buffers->prompts[i] = &buffers->prompt[i];
        buffers->outputs[i] = buffers->generated + i * tokens;
        buffers->lengths[i] = 1;
    }
    return ROTARY_OK;
}

static rotary_status run_generation(struct generate_benchmark *result, struct transformer *transformer,
                                    const struct backend *backend, rotary_error *error)
{
    struct buffers buffers = {.arena = {0}};
    rotary_status status = create_buffers(&buffers, result->problems, result->tokens,
                                          transformer_configuration(transformer)->vocab_size, error);
    if (status == ROTARY_OK) {
        struct generate_config generation = {.max_new_tokens = 1, .stop = -1};
        struct generate_call call = {.count = 1,
                                     .prompts = buffers.prompts,
                                     .lengths = buffers.lengths,
                                     .outputs = buffers.outputs,
                                     .generated = buffers.counts};
        /* The first token packs the weights: that is part of the start. */
        double begin = rotary_clock();
        status = generation_run(transformer, &generation, &call, error);
        result->startup_seconds += rotary_clock() - begin;
        call.count = result->problems;
        generation.max_new_tokens = result->tokens;
        if (backend->profile)
            *backend->profile = (struct profile){0};
        begin = rotary_clock();
        if (status == ROTARY_OK)
            status = generation_run(transformer, &generation, &call, error);
        result->seconds = rotary_clock() - begin;
    }
    rotary_arena_free(&buffers.arena);
    return status;
}

static rotary_status check(const struct generate_benchmark *benchmark, const struct transformer *transformer,
                           rotary_error *error)
{
    const int64_t positions = transformer_configuration(transformer)->max_position_embeddings,
                  tokens = transformer_max_tokens(transformer);
    if (benchmark->tokens + 1 > positions)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the model has %lld positions, wanted more than the %lld tokens to generate",
                           (long long)positions, (long long)benchmark->tokens);
    if (benchmark->problems > tokens)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "a batch of %lld prompts: the model takes %lld tokens at once, wanted at least one "
            "for each prompt",
            (long long)benchmark->problems, (long long)tokens);
    return ROTARY_OK;
}

/* A profile is that of generation, so that nothing here is added to it. */
static rotary_status run_token(struct generate_benchmark *result, struct transformer *transformer,
                               const struct backend *backend, rotary_error *error)
{
    if (backend->profile)
        backend->profile->paused = true;
    rotary_status status = benchmark_token(&result->token, transformer, backend, error);
    if (backend->profile)
        backend->profile->paused = false;
    return status;
}

rotary_status benchmark_generate(struct generate_benchmark *benchmark, struct transformer *transformer,
                                 const struct backend *backend, rotary_error *error)
{
    const struct transformer_config *config = transformer_configuration(transformer);
    struct generate_benchmark result = {
        .problems = benchmark->problems,
        .tokens = benchmark->tokens,
        .startup_seconds = benchmark->startup_seconds,
        .parameters = (double)parameters_total(transformer_parameters(transformer)),
        .token = {.sequences = benchmark->problems, .prompt = benchmark->token.prompt}};
    /* The query that gives token n attends to n keys. */
    result.operations = (double)(result.problems * result.tokens) *
                        (2.0 * operations_matmul_parameters(config) +
                         operations_attention(config, 0.5 * ((double)result.tokens + 1.0)));
    rotary_status status = check(&result, transformer, error);
    if (status == ROTARY_OK)
        status = run_generation(&result, transformer, backend, error);
    if (status == ROTARY_OK)
        status = run_token(&result, transformer, backend, error);
    if (status == ROTARY_OK)
        status = limits_measure(backend, &result.limits, error);
    if (status == ROTARY_OK)
        *benchmark = result;
    return status;
}
