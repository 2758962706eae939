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
#include "train/evaluation/evaluation_shares.h"
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

/* Solves a range of problems. */
static rotary_status solve_range(const struct task *task, struct transformer *transformer,
                                 const struct evaluation_config *config, struct workspace *workspace,
                                 struct item_range range, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    const struct generate_config generation = {.max_new_tokens = workspace->size.completion,
                                               .stop = task_stop(task),
                                               .sampler.temperature = (double)config->temperature,
                                               .seed = config->seed,
                                               .unchecked = true}; /* the loss says it */
    /* Long prompts by as many at once as the model has sequences, which bounds the KV cache. */
    const int64_t group = config->last ? transformer_max_batch(transformer) : range.end - range.first;
    for (int64_t first = range.first; status == ROTARY_OK && first < range.end; first += group) {
        const struct generate_call call = {.count = min_i64(group, range.end - first),
                                           .prompts = workspace->prompts + first,
                                           .lengths = workspace->lengths + first,
                                           .outputs = workspace->outputs + first,
                                           .generated = workspace->generated + first,
                                           .interrupted = config->interrupted};
        status = generation_run(transformer, &generation, &call, error);
    }
    return status;
}

static rotary_status solve_problems(const struct task *task, struct transformer *transformer,
                                    const struct evaluation_config *config, struct workspace *workspace,
                                    struct evaluation *evaluation, rotary_error *error)
{
    const struct item_range groups = evaluation_groups(config, ranks_index(config->ranks));
    rotary_status status = ROTARY_OK;
    for (int64_t i = 0; status == ROTARY_OK && i < evaluation->problems; i++)
        status = prepare_problem(task, config, workspace, i, error);
    for (int64_t group = groups.first; status == ROTARY_OK && group < groups.end; group++)
        status = solve_range(task, transformer, config, workspace,
                             evaluation_group(config, evaluation->problems, group), error);
    const struct generated_tokens all = {.count = evaluation->problems,
                                         .stride = workspace->size.completion,
                                         .tokens = workspace->generated_tokens,
                                         .generated = workspace->generated};
    status = ranks_agree(config->ranks, status, error);
    if (status == ROTARY_OK)
        status = evaluation_collect_tokens(config, &all, error);
    if (status == ROTARY_OK && ranks_index(config->ranks) == 0)
        score_problems(task, workspace, evaluation);
    return status;
}

static enum task_split evaluated_split(const struct evaluation_config *config)
{
    return config->test ? TASK_TEST : TASK_VALIDATION;
}

/* The losses of a batch. `losses` is as in transformer_call. */
static rotary_status batch_losses(struct transformer *transformer, const struct evaluation_config *config,
                                  const struct batch *batch, float *losses, struct loss_sums *loss,
                                  rotary_error *error)
{
    if (config->interrupted && atomic_load(config->interrupted))
        return rotary_fail(error, ROTARY_INTERRUPTED, "interrupted while evaluating");
    const struct transformer_call call = {.batch = batch, .losses = losses};
    *loss = (struct loss_sums){0};
    return transformer_run(transformer, &call, loss, error);
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

/* The rows of a split that are evaluated, and where what they show goes. */
struct row_walk {
    struct row_order order;
    struct transformer *transformer;
    const struct evaluation_config *config;
    const struct workspace *workspace;
    struct token_sums *sums;
    struct position_losses *positions;
    struct kept_losses *kept; /* of this rank's batches, where there are several ranks */
};

static void take_losses(const struct row_walk *walk, const struct batch *batch, const struct loss_sums *loss)
{
    walk->sums->total += loss->total;
    walk->sums->counted += loss->counted;
    walk->sums->correct += loss->correct;
    if (walk->workspace->counts)
        count_targets(batch, walk->workspace);
    if (walk->workspace->losses)
        add_positions(batch, walk->workspace->losses, walk->positions);
}

/* Computes the batches of this rank; alone it takes what they show at once. */
static rotary_status compute_rows(const struct row_walk *walk, rotary_error *error)
{
    const struct workspace *workspace = walk->workspace;
    const int ranks = ranks_count(walk->config->ranks), rank = ranks_index(walk->config->ranks);
    rotary_status status = ROTARY_OK;
    int64_t first = 0, count;
    for (int64_t i = 0;
         status == ROTARY_OK && (count = rows_within(&walk->order, workspace->batch_size, first)) > 0;
         i++, first += count) {
        if (i % ranks != rank)
            continue;
        const struct batch filled = batch_fill(&workspace->batch, &walk->order, first, count, 1);
        struct loss_sums loss;
        status = batch_losses(walk->transformer, walk->config, &filled, workspace->losses, &loss, error);
        if (status == ROTARY_OK && ranks == 1)
            take_losses(walk, &filled, &loss);
        else if (status == ROTARY_OK)
            status = kept_losses_add(walk->kept, &loss, workspace->losses, token_rows(&filled.input), error);
    }
    return status;
}

/* Rank 0 takes what the batches of all ranks show, in their order. */
static rotary_status collect_rows(const struct row_walk *walk, rotary_error *error)
{
    const struct workspace *workspace = walk->workspace;
    const struct ranks *ranks = walk->config->ranks;
    rotary_status status = ROTARY_OK;
    int64_t first = 0, count;
    for (int64_t i = 0;
         status == ROTARY_OK && (count = rows_within(&walk->order, workspace->batch_size, first)) > 0;
         i++, first += count) {
        const int owner = (int)(i % ranks_count(ranks));
        if (ranks_index(ranks) != 0 && ranks_index(ranks) != owner)
            continue;
        struct loss_sums loss;
        const struct batch filled = batch_fill(&workspace->batch, &walk->order, first, count, 1);
        const int64_t tokens = token_rows(&filled.input);
        if (ranks_index(ranks) == owner)
            kept_losses_take(walk->kept, &loss, workspace->losses, tokens);
        status = ranks_give(ranks, owner, 0, &loss, sizeof loss, error);
        if (status == ROTARY_OK && workspace->losses)
            status = ranks_give(ranks, owner, 0, workspace->losses,
                                (size_t)tokens * sizeof *workspace->losses, error);
        if (status == ROTARY_OK && ranks_index(ranks) == 0)
            take_losses(walk, &filled, &loss);
    }
    return status == ROTARY_OK ? ranks_share(ranks, walk->sums, sizeof *walk->sums, error) : status;
}

/* All rows of the split. */
static rotary_status sum_rows(const struct task *task, struct transformer *transformer,
                              const struct evaluation_config *config, const struct workspace *workspace,
                              struct token_sums *sums, struct position_losses *positions, rotary_error *error)
{
    struct kept_losses kept = {.batches = 0};
    const struct row_walk walk = {.order = {.task = task,
                                            .split = evaluated_split(config),
                                            .seed = config->seed,
                                            .rows = config->validation_sequences},
                                  .transformer = transformer,
                                  .config = config,
                                  .workspace = workspace,
                                  .sums = sums,
                                  .positions = positions,
                                  .kept = &kept};
    rotary_status status = ranks_agree(config->ranks, compute_rows(&walk, error), error);
    if (status == ROTARY_OK && config->ranks)
        status = collect_rows(&walk, error);
    kept_losses_free(&kept);
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
                                      .file = ranks_index(config->ranks) == 0 ? config->predictions : NULL,
                                      .ranks = config->ranks,
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
    if (status == ROTARY_OK)
        carve(&workspace, task, result.problems);
    status = ranks_agree(config->ranks, status, error);
    if (status == ROTARY_OK && result.problems > 0)
        status = solve_problems(task, transformer, config, &workspace, &result, error);
    if (status == ROTARY_OK && result.translated > 0)
        status = translations_run(task, transformer, config, &result, error);
    if (status == ROTARY_OK)
        status = validation_loss(task, transformer, config, &workspace, &result, error);
    status = ranks_agree(config->ranks, status, error);
    rotary_arena_free(&workspace.arena);
    if (status == ROTARY_OK) {
        result.seconds = rotary_clock() - start;
        *evaluation = result;
    }
    return status;
}
