/* SPDX-License-Identifier: Apache-2.0 */
#include "train/evaluation/evaluation.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/integer.h"
#include "model/generation/generation.h"
#include "score/frequency_loss.h"
#include "score/token_scores.h"
#include "train/evaluation/label_predictions.h"
#include "train/evaluation/translations.h"
#include "train/packed_batch.h"
#include "train/training_batch.h"

#include <string.h>

/* The memory of an evaluation. */
struct workspace {
    struct rotary_arena arena;
    struct problem_size size; /* of the longest problem */
    struct problem *problems;
    int32_t *prompt_tokens, *generated_tokens;
    int64_t batch_sequences; /* validation sequences per batch */
    struct task_batch batch;
    int64_t corpus_tokens;        /* per batch of a finite corpus; 0: there is none */
    struct packed_batch packed;   /* such a batch */
    int64_t *counts, classes;     /* [classes] of such a corpus: how often each is the target */
    float *losses;                /* [corpus_tokens] of a task that cuts text, else NULL */
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
    if (workspace->corpus_tokens > 0) {
        packed_batch_carve(&workspace->packed, task, workspace->corpus_tokens, arena);
        workspace->classes = task_vocabulary(task).target;
        workspace->counts = rotary_arena_push(arena, workspace->classes, sizeof *workspace->counts);
    } else {
        task_batch_carve(&workspace->batch, task, workspace->batch_sequences, arena);
    }
    workspace->prompts = rotary_arena_push(arena, problems, sizeof *workspace->prompts);
    workspace->outputs = rotary_arena_push(arena, problems, sizeof *workspace->outputs);
    workspace->lengths = rotary_arena_push(arena, problems, sizeof *workspace->lengths);
    workspace->generated = rotary_arena_push(arena, problems, sizeof *workspace->generated);
    if (task_cuts_text(task_configuration(task)))
        workspace->losses = rotary_arena_push(arena, workspace->corpus_tokens, sizeof *workspace->losses);
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

/* Validation rows first ... first + rows - 1 as a batch. */
static struct batch validation_batch(uint64_t seed, int64_t first, int64_t rows,
                                     const struct workspace *workspace)
{
    for (int64_t row = 0; row < rows; row++) {
        const struct task_place place = validation_place(seed, first + row);
        task_batch_fill(&workspace->batch, row, &place);
    }
    return task_batch_view(&workspace->batch, 0, rows);
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

static rotary_status sum_sequences(struct transformer *transformer, const struct evaluation_config *config,
                                   const struct workspace *workspace, struct token_sums *sums,
                                   rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int64_t first = 0; status == ROTARY_OK && first < config->validation_sequences;
         first += workspace->batch_sequences) {
        int64_t rest = config->validation_sequences - first,
                rows = rest < workspace->batch_sequences ? rest : workspace->batch_sequences;
        const struct batch filled = validation_batch(config->seed, first, rows, workspace);
        status = add_losses(transformer, config, &filled, NULL, sums, error);
    }
    return status;
}

/* Adds the losses of a packed batch by the position in its sequences. */
static void add_positions(const struct batch *batch, const float *losses, struct position_losses *positions)
{
    const int32_t *starts = batch->input.starts;
    for (int64_t sequence = 0; sequence < batch->input.sequences; sequence++)
        for (int64_t i = starts[sequence]; i < starts[sequence + 1]; i++)
            if (batch->classes[i] != BATCH_IGNORED)
                position_losses_add(positions, i - starts[sequence], (double)losses[i]);
}

static void count_targets(const struct batch *batch, const struct workspace *workspace)
{
    const struct token_sequences *input = &batch->input;
    for (int32_t i = input->starts[0]; i < input->starts[input->sequences]; i++)
        if (batch->classes[i] >= 0 && batch->classes[i] < workspace->classes)
            workspace->counts[batch->classes[i]]++;
}

/* All examples of a split, packed. */
static rotary_status sum_corpus(const struct task *task, struct transformer *transformer,
                                const struct evaluation_config *config, const struct workspace *workspace,
                                struct token_sums *sums, struct position_losses *positions,
                                rotary_error *error)
{
    const struct example_order order = {.task = task, .split = evaluated_split(config)};
    const struct batch_size size = {.tokens = workspace->corpus_tokens};
    rotary_status status = ROTARY_OK;
    int64_t first = 0, count;
    for (; status == ROTARY_OK && (count = examples_within(&order, size, first)) > 0; first += count) {
        const struct batch filled = packed_batch_fill(&workspace->packed, &order, first, count);
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
                                      .packed = &workspace->packed,
                                      .tokens = workspace->corpus_tokens,
                                      .file = config->predictions,
                                      .interrupted = config->interrupted};
    rotary_status status =
        task_shape(task).labels ? label_predictions_run(&labels, &evaluation->labels, &sums, error)
        : workspace->corpus_tokens > 0
            ? sum_corpus(task, transformer, config, workspace, &sums, &evaluation->positions, error)
            : sum_sequences(transformer, config, workspace, &sums, error);
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

rotary_status evaluation_run(const struct task *task, struct transformer *transformer,
                             const struct evaluation_config *config, struct evaluation *evaluation,
                             rotary_error *error)
{
    double start = rotary_clock();
    struct evaluation result = {.samples = evaluation->samples};
    int64_t max = transformer_max_batch(transformer);
    struct workspace workspace = {
        .batch_sequences = config->validation_sequences < max ? config->validation_sequences : max};
    if (task_has_examples(task_configuration(task)))
        workspace.corpus_tokens = transformer_max_tokens(transformer);
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
