/* SPDX-License-Identifier: Apache-2.0 */
#include "train/evaluation/evaluation.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/integer.h"
#include "model/generation/generation.h"
#include "score/frequency_loss.h"
#include "score/token_scores.h"
#include "train/batches.h"
#include "train/evaluation/label_predictions.h"
#include "train/evaluation/translations.h"

#include <string.h>

/* The memory of an evaluation. */
struct workspace {
    struct rotary_arena arena;
    struct problem_size size; /* of the longest problem */
    struct problem *problems;
    int32_t *prompt_tokens, *generated_tokens;
    struct batch_size batch_size;
    struct batch_memory batch;
    int64_t *counts, classes;     /* [classes] of a finite corpus: how often each is the target; else NULL */
    float *losses;                /* [tokens of a batch] of a task that cuts text, else NULL */
    const int32_t **prompts;      /* [problems] */
    int32_t **outputs;            /* [problems] */
    int64_t *lengths, *generated; /* [problems] */
};

static void carve(struct workspace *workspace, const struct task *task, int64_t problems)
{
    struct rotary_arena *arena = &workspace->arena;
    workspace->problems = rotary_arena_push(arena, problems, sizeof *workspace->problems);
    workspace->prompt_tokens =
        rotary_arena_push(arena, problems * workspace->size.prompt, sizeof *workspace->prompt_tokens);
    workspace->generated_tokens =
        rotary_arena_push(arena, problems * workspace->size.completion, sizeof *workspace->generated_tokens);
    batch_carve(&workspace->batch, task, workspace->batch_size.tokens, arena);
    if (task_has_examples(task_configuration(task))) {
        workspace->classes = task_vocabulary(task).target;
        workspace->counts = rotary_arena_push(arena, workspace->classes, sizeof *workspace->counts);
    }
    workspace->prompts = rotary_arena_push(arena, problems, sizeof *workspace->prompts);
    workspace->outputs = rotary_arena_push(arena, problems, sizeof *workspace->outputs);
    workspace->lengths = rotary_arena_push(arena, problems, sizeof *workspace->lengths);
    workspace->generated = rotary_arena_push(arena, problems, sizeof *workspace->generated);
    if (task_cuts_text(task_configuration(task)))
        workspace->losses = rotary_arena_push(arena, workspace->batch_size.tokens, sizeof *workspace->losses);
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
        tokenizer_decode(task_tokenizer(task), workspace->outputs[i], workspace->generated[i], generated,
                         sizeof generated);
        bool correct = task_score(task, &workspace->problems[i], generated, answer);
        evaluation->correct += correct;
        keep_sample(evaluation, i, &workspace->problems[i], generated, answer, correct);
    }
}

/* Makes problem i and its prompt. */
static rotary_status prepare_problem(const struct task *task, const struct evaluation_config *config,
                                     struct workspace *workspace, int64_t i, rotary_error *error)
{
    struct problem *problem = &workspace->problems[i];
    struct token_list prompt = {.tokens = workspace->prompt_tokens + i * workspace->size.prompt,
                                .capacity = workspace->size.prompt};
    rotary_status status = ROTARY_OK;
    task_problem(task, config->seed, i, problem);
    if (config->last)
        task_long_prompt(task, config->seed, i, &prompt);
    else
        status = tokenizer_encode(task_tokenizer(task), problem->prompt, (int64_t)strlen(problem->prompt),
                                  &prompt, error);
    workspace->lengths[i] = prompt.count;
    workspace->prompts[i] = prompt.tokens;
    workspace->outputs[i] = workspace->generated_tokens + i * workspace->size.completion;
    return status;
}

static rotary_status solve_problems(const struct task *task, struct transformer *transformer,
                                    const struct evaluation_config *config, struct workspace *workspace,
                                    struct evaluation *evaluation, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int64_t i = 0; status == ROTARY_OK && i < evaluation->problems; i++)
        status = prepare_problem(task, config, workspace, i, error);
    const struct generate_config generation = {.max_new_tokens = workspace->size.completion,
                                               .stop = task_stop(task),
                                               .sampler.temperature = (double)config->temperature,
                                               .seed = config->seed};
    /* Long prompts by as many at once as the model has sequences, which bounds the KV cache. */
    const int64_t group = config->last ? transformer_max_batch(transformer) : evaluation->problems;
    for (int64_t first = 0; status == ROTARY_OK && first < evaluation->problems; first += group) {
        const struct generate_call call = {.count = min_i64(group, evaluation->problems - first),
                                           .prompts = workspace->prompts + first,
                                           .lengths = workspace->lengths + first,
                                           .outputs = workspace->outputs + first,
                                           .generated = workspace->generated + first,
                                           .interrupted = config->interrupted};
        status = generation_run(transformer, &generation, &call, error);
    }
    if (status == ROTARY_OK)
        score_problems(task, workspace, evaluation);
    return status;
}

static enum task_split evaluated_split(const struct evaluation_config *config)
{
    return config->test ? TASK_TEST : TASK_VALIDATION;
}

/* Adds the losses of a batch to the sums. `losses` is as in transformer_call. */
static rotary_status add_losses(struct transformer *transformer, const struct evaluation_config *config,
                                const struct batch *batch, float *losses, struct token_sums *sums,
                                rotary_error *error)
{
    if (config->interrupted && atomic_load(config->interrupted))
        return rotary_fail(error, ROTARY_INTERRUPTED, "interrupted while evaluating");
    const struct transformer_call call = {.batch = batch, .losses = losses};
    struct loss_sums loss = {0};
    rotary_status status = transformer_run(transformer, &call, &loss, error);
    sums->total += loss.total;
    sums->counted += loss.counted;
    sums->correct += loss.correct;
    return status;
}

/* Adds the losses of a batch by the position in its sequences. */
static void add_positions(const struct batch *batch, const float *losses, struct position_losses *positions)
{
    for (int64_t sequence = 0; sequence < batch->input.batch; sequence++) {
        const int64_t start = sequence_start(&batch->input, sequence);
        for (int64_t i = 0; i < sequence_length(&batch->input, sequence); i++)
            if (batch->classes[start + i] != BATCH_IGNORED)
                position_losses_add(positions, i, (double)losses[start + i]);
    }
}

static void count_targets(const struct batch *batch, const struct workspace *workspace)
{
    const struct token_sequences *input = &batch->input;
    for (int64_t i = 0; i < token_rows(input); i++)
        if (batch->classes[i] >= 0 && batch->classes[i] < workspace->classes)
            workspace->counts[batch->classes[i]]++;
}

/* All rows of the split. */
static rotary_status sum_rows(const struct task *task, struct transformer *transformer,
                              const struct evaluation_config *config, const struct workspace *workspace,
                              struct token_sums *sums, struct position_losses *positions, rotary_error *error)
{
    const struct row_order order = {.task = task,
                                    .split = evaluated_split(config),
                                    .seed = config->seed,
                                    .rows = config->validation_sequences};
    rotary_status status = ROTARY_OK;
    int64_t first = 0, count;
    for (; status == ROTARY_OK && (count = rows_within(&order, workspace->batch_size, first)) > 0;
         first += count) {
        const struct batch filled = batch_fill(&workspace->batch, &order, first, count, 1);
        if (workspace->counts)
            count_targets(&filled, workspace);
        status = add_losses(transformer, config, &filled, workspace->losses, sums, error);
        if (status == ROTARY_OK && workspace->losses)
            add_positions(&filled, workspace->losses, positions);
    }
    return status;
}

static rotary_status validation_loss(const struct task *task, struct transformer *transformer,
                                     const struct evaluation_config *config,
                                     const struct workspace *workspace, struct evaluation *evaluation,
                                     rotary_error *error)
{
    struct token_sums sums = {0};
    if (workspace->losses)
        evaluation->positions.length = task_configuration(task)->sequence_length;
    const struct label_call labels = {.task = task,
                                      .transformer = transformer,
                                      .split = evaluated_split(config),
                                      .memory = &workspace->batch,
                                      .tokens = workspace->batch_size.tokens,
                                      .file = config->predictions,
                                      .interrupted = config->interrupted};
    rotary_status status =
        task_shape(task).labels
            ? label_predictions_run(&labels, &evaluation->labels, &sums, error)
            : sum_rows(task, transformer, config, workspace, &sums, &evaluation->positions, error);
    if (status != ROTARY_OK)
        return status;
    if (sums.counted == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the validation sequences have no targets: wanted at least one");
    sums.bytes = task_counts(task, evaluated_split(config)).text_bytes;
    const struct token_scores scores = token_scores(sums);
    evaluation->loss = scores.loss;
    evaluation->accuracy = scores.accuracy;
    evaluation->bits_per_byte = scores.bits_per_byte;
    if (workspace->counts && !task_shape(task).labels)
        evaluation->frequency_loss = frequency_loss(workspace->counts, workspace->classes);
    return ROTARY_OK;
}

/* As many rows as the model has room for. */
static struct batch_size batch_size_of(const struct task *task, const struct transformer *transformer,
                                       const struct evaluation_config *config)
{
    if (task_has_examples(task_configuration(task)))
        return (struct batch_size){.tokens = transformer_max_tokens(transformer)};
    const int64_t rows = min_i64(config->validation_sequences, transformer_max_batch(transformer));
    return (struct batch_size){.rows = rows, .tokens = rows * task_shape(task).time};
}

rotary_status evaluation_run(const struct task *task, struct transformer *transformer,
                             const struct evaluation_config *config, struct evaluation *evaluation,
                             rotary_error *error)
{
    double start = rotary_clock();
    struct evaluation result = {.samples = evaluation->samples};
    struct workspace workspace = {.batch_size = batch_size_of(task, transformer, config)};
    if (task_scoring(task) == SCORING_BLEU) {
        const int64_t examples = task_examples(task, evaluated_split(config));
        result.translated = config->problems < examples ? config->problems : examples;
        result.sample_count = evaluation->sample_count;
    }
    if (task_has_problems(task)) {
        workspace.size = task_problem_size(task);
        if (config->last)
            workspace.size.prompt = task_configuration(task)->sequence_length;
        result.problems = config->problems;
        result.sample_count =
            evaluation->sample_count < result.problems ? evaluation->sample_count : result.problems;
    }
    carve(&workspace, task, result.problems);
    rotary_status status = rotary_arena_allocate(&workspace.arena, "an evaluation", error);
    if (status != ROTARY_OK)
        return status;
    carve(&workspace, task, result.problems);

    if (result.problems > 0)
        status = solve_problems(task, transformer, config, &workspace, &result, error);
    if (status == ROTARY_OK && result.translated > 0)
        status = translations_run(task, transformer, config, &result, error);
    if (status == ROTARY_OK)
        status = validation_loss(task, transformer, config, &workspace, &result, error);
    rotary_arena_free(&workspace.arena);
    if (status == ROTARY_OK) {
        result.seconds = rotary_clock() - start;
        *evaluation = result;
    }
    return status;
}
