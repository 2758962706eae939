/* SPDX-License-Identifier: Apache-2.0 */
#include "train/evaluation.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/fail.h"
#include "model/generation.h"

#include <string.h>

/* The memory of an evaluation. */
struct workspace {
    struct rotary_arena arena;
    struct problem_size size; /* of the longest problem */
    struct problem *problems;
    int32_t *prompt_tokens, *generated_tokens;
    int64_t batch_sequences;              /* validation sequences per batch */
    int32_t *sequence, *tokens, *targets; /* [time + 1]; [batch_sequences, time] */
    const int32_t **prompts;              /* [problems] */
    int32_t **outputs;                    /* [problems] */
    int64_t *lengths, *generated;         /* [problems] */
};

static void carve(struct workspace *workspace, const struct task *task, int64_t problems)
{
    struct rotary_arena *arena = &workspace->arena;
    workspace->problems = rotary_arena_push(arena, problems, sizeof *workspace->problems);
    workspace->prompt_tokens =
        rotary_arena_push(arena, problems * workspace->size.prompt, sizeof *workspace->prompt_tokens);
    workspace->generated_tokens =
        rotary_arena_push(arena, problems * workspace->size.completion, sizeof *workspace->generated_tokens);
    int64_t time = task_configuration(task)->sequence_length;
    workspace->sequence = rotary_arena_push(arena, time + 1, sizeof *workspace->sequence);
    workspace->tokens =
        rotary_arena_push(arena, workspace->batch_sequences * time, sizeof *workspace->tokens);
    workspace->targets =
        rotary_arena_push(arena, workspace->batch_sequences * time, sizeof *workspace->targets);
    workspace->prompts = rotary_arena_push(arena, problems, sizeof *workspace->prompts);
    workspace->outputs = rotary_arena_push(arena, problems, sizeof *workspace->outputs);
    workspace->lengths = rotary_arena_push(arena, problems, sizeof *workspace->lengths);
    workspace->generated = rotary_arena_push(arena, problems, sizeof *workspace->generated);
}

static void keep_sample(struct evaluation *evaluation, int64_t index, const struct problem *problem,
                        const char *generated, const char *answer, bool correct)
{
    if (index >= evaluation->sample_count)
        return;
    struct evaluation_sample *sample = &evaluation->samples[index];
    sample->problem = *problem;
    memcpy(sample->generated, generated, sizeof sample->generated);
    memcpy(sample->answer, answer, sizeof sample->answer);
    sample->correct = correct;
}

static void score_problems(const struct task *task, const struct workspace *workspace,
                           struct evaluation *evaluation)
{
    for (int64_t i = 0; i < evaluation->problems; i++) {
        char generated[TASK_TEXT_BYTES] = "", answer[TASK_TEXT_BYTES] = "";
        characters_decode(task_characters(task), workspace->outputs[i], workspace->generated[i], generated);
        task_answer(task, generated, answer);
        bool correct = strcmp(answer, workspace->problems[i].answer) == 0;
        evaluation->correct += correct;
        keep_sample(evaluation, i, &workspace->problems[i], generated, answer, correct);
    }
}

static rotary_status solve_problems(const struct task *task, struct decoder *decoder,
                                    const struct evaluation_config *config, struct workspace *workspace,
                                    struct evaluation *evaluation, rotary_error *error)
{
    for (int64_t i = 0; i < evaluation->problems; i++) {
        task_problem(task, config->seed, i, &workspace->problems[i]);
        int32_t *prompt = workspace->prompt_tokens + i * workspace->size.prompt;
        workspace->lengths[i] = (int64_t)strlen(workspace->problems[i].prompt);
        rotary_status status = characters_encode(task_characters(task), workspace->problems[i].prompt,
                                                 workspace->lengths[i], prompt, error);
        if (status != ROTARY_OK)
            return status;
        workspace->prompts[i] = prompt;
        workspace->outputs[i] = workspace->generated_tokens + i * workspace->size.completion;
    }
    const struct generate_config generation = {.max_new_tokens = workspace->size.completion,
                                               .stop = task_characters(task)->token['#'],
                                               .temperature = config->temperature,
                                               .seed = config->seed};
    const struct generate_call call = {.count = evaluation->problems,
                                       .prompts = workspace->prompts,
                                       .lengths = workspace->lengths,
                                       .outputs = workspace->outputs,
                                       .generated = workspace->generated,
                                       .interrupted = config->interrupted};
    rotary_status status = generate(decoder, &generation, &call, error);
    if (status == ROTARY_OK)
        score_problems(task, workspace, evaluation);
    return status;
}

/* Validation sequences first ... first + rows - 1 as a batch of tokens and of targets, which are shifted by
 * one. */
static void fill_validation(const struct task *task, uint64_t seed, int64_t first, int64_t rows,
                            const struct workspace *workspace)
{
    int64_t time = task_configuration(task)->sequence_length;
    size_t bytes = (size_t)time * sizeof(int32_t);
    for (int64_t row = 0; row < rows; row++) {
        task_validation_sequence(task, seed, first + row, workspace->sequence);
        memcpy(workspace->tokens + row * time, workspace->sequence, bytes);
        memcpy(workspace->targets + row * time, workspace->sequence + 1, bytes);
    }
}

static rotary_status validation_loss(const struct task *task, struct decoder *decoder,
                                     const struct evaluation_config *config, struct workspace *workspace,
                                     struct evaluation *evaluation, rotary_error *error)
{
    double total = 0;
    int64_t counted = 0, correct = 0;
    for (int64_t first = 0; first < config->validation_sequences; first += workspace->batch_sequences) {
        if (config->interrupted && atomic_load(config->interrupted))
            return rotary_fail(error, ROTARY_INTERRUPTED, "interrupted while evaluating");
        int64_t rest = config->validation_sequences - first,
                rows = rest < workspace->batch_sequences ? rest : workspace->batch_sequences;
        fill_validation(task, config->seed, first, rows, workspace);
        struct decoder_batch batch = {.batch = rows,
                                      .time = task_configuration(task)->sequence_length,
                                      .tokens = workspace->tokens,
                                      .targets = workspace->targets};
        struct loss_sums loss = {0};
        rotary_status status = decoder_run(decoder, &batch, &loss, error);
        if (status != ROTARY_OK)
            return status;
        total += loss.total;
        counted += loss.counted;
        correct += loss.correct;
    }
    if (counted > 0) {
        evaluation->loss = total / (double)counted;
        evaluation->accuracy = (double)correct / (double)counted;
    }
    return ROTARY_OK;
}

rotary_status evaluation_run(const struct task *task, struct decoder *decoder,
                             const struct evaluation_config *config, struct evaluation *evaluation,
                             rotary_error *error)
{
    double start = rotary_clock();
    struct evaluation result = {.samples = evaluation->samples};
    int64_t max = decoder_max_batch(decoder);
    struct workspace workspace = {
        .batch_sequences = config->validation_sequences < max ? config->validation_sequences : max};
    if (task_has_problems(task)) {
        workspace.size = task_problem_size(task);
        result.problems = config->problems < task_configuration(task)->problems
                              ? config->problems
                              : task_configuration(task)->problems;
        result.sample_count =
            evaluation->sample_count < result.problems ? evaluation->sample_count : result.problems;
    }
    carve(&workspace, task, result.problems);
    rotary_status status = rotary_arena_allocate(&workspace.arena, "an evaluation", error);
    if (status != ROTARY_OK)
        return status;
    carve(&workspace, task, result.problems);

    if (result.problems > 0)
        status = solve_problems(task, decoder, config, &workspace, &result, error);
    if (status == ROTARY_OK)
        status = validation_loss(task, decoder, config, &workspace, &result, error);
    rotary_arena_free(&workspace.arena);
    if (status == ROTARY_OK) {
        result.seconds = rotary_clock() - start;
        *evaluation = result;
    }
    return status;
}
