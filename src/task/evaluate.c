/* SPDX-License-Identifier: Apache-2.0
 *
 * Scoring a decoder: the problems it solves, writing greedily through the cache, and its loss on held-out
 * sequences.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/fail.h"
#include "model/generation.h"
#include "task/kind.h"

#include <string.h>

/* Everything an evaluation needs room for. */
struct workspace {
    struct rotary_arena arena;
    struct problem *problems;
    int32_t *prompt_tokens, *generated_tokens;
    int64_t together;                     /* held-out sequences run at once */
    int32_t *sequence, *tokens, *targets; /* [time + 1]; [together, time] */
    const int32_t **prompts;              /* [problems] */
    int32_t **continuations;              /* [problems] */
    int64_t *lengths, *generated;         /* [problems] */
};

static void carve(struct workspace *room, const struct task *task, struct problem_size size, int64_t problems)
{
    struct rotary_arena *arena = &room->arena;
    room->problems = rotary_arena_push(arena, problems, sizeof *room->problems);
    room->prompt_tokens = rotary_arena_push(arena, problems * size.prompt, sizeof *room->prompt_tokens);
    room->generated_tokens =
        rotary_arena_push(arena, problems * size.working, sizeof *room->generated_tokens);
    int64_t time = task->config.sequence_length;
    room->sequence = rotary_arena_push(arena, time + 1, sizeof *room->sequence);
    room->tokens = rotary_arena_push(arena, room->together * time, sizeof *room->tokens);
    room->targets = rotary_arena_push(arena, room->together * time, sizeof *room->targets);
    room->prompts = rotary_arena_push(arena, problems, sizeof *room->prompts);
    room->continuations = rotary_arena_push(arena, problems, sizeof *room->continuations);
    room->lengths = rotary_arena_push(arena, problems, sizeof *room->lengths);
    room->generated = rotary_arena_push(arena, problems, sizeof *room->generated);
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

static void mark(const struct task *task, const struct workspace *room, struct evaluation *evaluation)
{
    for (int64_t i = 0; i < evaluation->problems; i++) {
        char generated[TASK_TEXT_BYTES] = "", answer[TASK_TEXT_BYTES] = "";
        characters_decode(&task->characters, room->continuations[i], room->generated[i], generated);
        task_answer(task, generated, answer);
        bool correct = strcmp(answer, room->problems[i].answer) == 0;
        evaluation->correct += correct;
        keep_sample(evaluation, i, &room->problems[i], generated, answer, correct);
    }
}

static rotary_status solve_problems(const struct task *task, struct decoder *decoder,
                                    const struct evaluation_config *config, struct problem_size size,
                                    struct workspace *room, struct evaluation *evaluation,
                                    rotary_error *error)
{
    for (int64_t i = 0; i < evaluation->problems; i++) {
        task_problem(task, config->seed, i, &room->problems[i]);
        int32_t *prompt = room->prompt_tokens + i * size.prompt;
        room->lengths[i] = (int64_t)strlen(room->problems[i].prompt);
        rotary_status status =
            characters_encode(&task->characters, room->problems[i].prompt, room->lengths[i], prompt, error);
        if (status != ROTARY_OK)
            return status;
        room->prompts[i] = prompt;
        room->continuations[i] = room->generated_tokens + i * size.working;
    }
    struct generate_config generation = {.max_new_tokens = size.working,
                                         .stop = task->characters.token['#'],
                                         .temperature = config->temperature,
                                         .seed = config->seed};
    rotary_status status = generate(decoder, &generation, evaluation->problems, room->prompts, room->lengths,
                                    room->continuations, room->generated, config->interrupted, error);
    if (status == ROTARY_OK)
        mark(task, room, evaluation);
    return status;
}

/* Sequences first ... first + rows - 1, side by side, each twice: what is read, and what should follow. */
static void write_validation(const struct task *task, uint64_t seed, int64_t first, int64_t rows,
                             const struct workspace *room)
{
    int64_t time = task->config.sequence_length;
    size_t bytes = (size_t)time * sizeof(int32_t);
    for (int64_t row = 0; row < rows; row++) {
        task_validation_sequence(task, seed, first + row, room->sequence);
        memcpy(room->tokens + row * time, room->sequence, bytes);
        memcpy(room->targets + row * time, room->sequence + 1, bytes);
    }
}

static rotary_status validation_loss(const struct task *task, struct decoder *decoder,
                                     const struct evaluation_config *config, struct workspace *room,
                                     struct evaluation *evaluation, rotary_error *error)
{
    double total = 0;
    int64_t counted = 0, correct = 0;
    for (int64_t first = 0; first < config->validation_sequences; first += room->together) {
        if (config->interrupted && atomic_load(config->interrupted))
            return rotary_fail(error, ROTARY_INTERRUPTED, "interrupted while evaluating");
        int64_t rest = config->validation_sequences - first,
                rows = rest < room->together ? rest : room->together;
        write_validation(task, config->seed, first, rows, room);
        struct decoder_batch batch = {.batch = rows,
                                      .time = task->config.sequence_length,
                                      .tokens = room->tokens,
                                      .targets = room->targets};
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

rotary_status task_evaluate(const struct task *task, struct decoder *decoder,
                            const struct evaluation_config *config, struct evaluation *evaluation,
                            rotary_error *error)
{
    double start = rotary_clock();
    struct evaluation result = {.samples = evaluation->samples};
    struct problem_size size = {0};
    if (task_has_problems(task)) {
        size = task->kind->size(&task->config);
        result.problems = config->problems < task->config.problems ? config->problems : task->config.problems;
        result.sample_count =
            evaluation->sample_count < result.problems ? evaluation->sample_count : result.problems;
    }

    int64_t max = decoder_max_batch(decoder);
    struct workspace room = {.together =
                                 config->validation_sequences < max ? config->validation_sequences : max};
    carve(&room, task, size, result.problems);
    rotary_status status = rotary_arena_allocate(&room.arena, "an evaluation", error);
    if (status != ROTARY_OK)
        return status;
    carve(&room, task, size, result.problems);

    if (result.problems > 0)
        status = solve_problems(task, decoder, config, size, &room, &result, error);
    if (status == ROTARY_OK)
        status = validation_loss(task, decoder, config, &room, &result, error);
    rotary_arena_free(&room.arena);
    if (status == ROTARY_OK) {
        result.seconds = rotary_clock() - start;
        *evaluation = result;
    }
    return status;
}
