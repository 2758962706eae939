/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmark/generate_benchmark.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/fail.h"
#include "benchmark/operations.h"
#include "model/generation.h"
#include "tensor/profile.h"

/* What generate() is given and what it writes to. */
struct texts {
    struct rotary_arena arena;
    int32_t *prompt, *generated;
    const int32_t **prompts;
    int32_t **continuations;
    int64_t *lengths, *counts;
};

static void carve(struct texts *texts, int64_t problems, int64_t tokens)
{
    texts->prompt = rotary_arena_push(&texts->arena, problems, sizeof *texts->prompt);
    texts->generated = rotary_arena_push(&texts->arena, problems * tokens, sizeof *texts->generated);
    texts->prompts = rotary_arena_push(&texts->arena, problems, sizeof *texts->prompts);
    texts->continuations = rotary_arena_push(&texts->arena, problems, sizeof *texts->continuations);
    texts->lengths = rotary_arena_push(&texts->arena, problems, sizeof *texts->lengths);
    texts->counts = rotary_arena_push(&texts->arena, problems, sizeof *texts->counts);
}

static rotary_status create_texts(struct texts *texts, int64_t problems, int64_t tokens, int64_t vocabulary,
                                  rotary_error *error)
{
    carve(texts, problems, tokens);
    rotary_status status = rotary_arena_allocate(&texts->arena, "what is written", error);
    if (status != ROTARY_OK)
        return status;
    carve(texts, problems, tokens);
    for (int64_t i = 0; i < problems; i++) {
        texts->prompt[i] = (int32_t)(i % vocabulary);
        texts->prompts[i] = &texts->prompt[i];
        texts->continuations[i] = texts->generated + i * tokens;
        texts->lengths[i] = 1;
    }
    return ROTARY_OK;
}

static rotary_status write_all(struct generate_benchmark *made, struct decoder *decoder,
                               const struct compute *compute, rotary_error *error)
{
    struct texts texts = {.arena = {0}};
    rotary_status status =
        create_texts(&texts, made->problems, made->tokens, decoder_configuration(decoder)->vocab_size, error);
    if (status == ROTARY_OK) {
        struct generate_config how = {.max_new_tokens = made->tokens, .stop = -1};
        if (compute->profile)
            *compute->profile = (struct profile){0};
        double begin = rotary_clock();
        status = generate(decoder, &how, made->problems, texts.prompts, texts.lengths, texts.continuations,
                          texts.counts, NULL, error);
        made->seconds = rotary_clock() - begin;
    }
    rotary_arena_free(&texts.arena);
    return status;
}

rotary_status benchmark_generate(struct generate_benchmark *benchmark, const struct run_config *config,
                                 const struct compute *compute, rotary_error *error)
{
    struct generate_benchmark made = {.problems = benchmark->problems, .tokens = benchmark->tokens};
    int64_t positions = config->model.max_position_embeddings;
    if (made.tokens + 1 > positions)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the model has %lld positions: there is no room for %lld tokens behind a first",
                           (long long)positions, (long long)made.tokens);
    double begin = rotary_clock();
    struct decoder *decoder = NULL;
    struct decoder_limits limits = {.batch = config->train.batch_size, .time = config->task.sequence_length};
    rotary_status status =
        decoder_create(&decoder, compute, &config->model, limits, (uint64_t)config->train.seed, error);
    if (status == ROTARY_OK) {
        made.first = rotary_clock() - begin;
        made.parameters = (double)parameters_total(decoder_parameters(decoder));
        status = write_all(&made, decoder, compute, error);
    }
    decoder_destroy(decoder);
    /* The token that is written n-th follows one that meets n keys. */
    made.operations = (double)(made.problems * made.tokens) *
                      (2.0 * operations_multiplied(&config->model) +
                       operations_attention(&config->model, 0.5 * ((double)made.tokens + 1.0)));
    if (status == ROTARY_OK)
        status = limits_measure(compute, &made.limits, error);
    if (status == ROTARY_OK)
        *benchmark = made;
    return status;
}
