/* SPDX-License-Identifier: Apache-2.0 */
#include "task/generated/generated.h"

#include "base/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HELD_OUT_ONE_IN = 64, /* 1 of 64 problems is held out from training */
    MAX_TRIES = 1 << 14,  /* rejected problems after which a configuration is refused */
};

/* `step` in the random keys of the evaluation stream, which training does not use. */
enum { VALIDATION_SEQUENCES, EVALUATION_PROBLEMS, SURROUNDINGS };

/* Whether the problem or sequence of this identity is held out from training. The low bits of the hash depend
 * on the low bits of the text's bytes alone; the upper half, folded in, depends on all of them. */
static bool is_held_out(uint64_t identity)
{
    return (identity ^ identity >> 32) % HELD_OUT_ONE_IN == 0;
}

/* Makes a random example, or the opening of a random sequence, and returns its identity. */
static uint64_t random_identity(const struct task *task, struct rotary_random *random,
                                struct example *example)
{
    if (task->type->generator->random_example) {
        task->type->generator->random_example(&task->config, random, example);
        return example->identity;
    }
    int32_t tokens[GENERATED_OPENING_TOKENS];
    int64_t count = task->config.sequence_length + 1;
    return task->type->generator->random_sequence(
        &task->config, random, count < GENERATED_OPENING_TOKENS ? count : GENERATED_OPENING_TOKENS, tokens);
}

/* Ensures that the loop of sample_split always ends, for training and for evaluation. */
static rotary_status check_variety(const struct task *task, rotary_error *error)
{
    for (int held_out = 0; held_out < 2; held_out++) {
        struct rotary_random random = {
            .key = {.stream = ROTARY_STREAM_EVALUATE, .step = EVALUATION_PROBLEMS}};
        struct example example;
        int64_t tries = 0;
        while (is_held_out(random_identity(task, &random, &example)) != (held_out == 1)) {
            if (++tries == MAX_TRIES)
                return rotary_fail(
                    error, ROTARY_INVALID_ARGUMENT,
                    "task %s has too few different problems in this configuration: none is left for %s",
                    task_names[task->config.task], held_out == 1 ? "evaluation" : "training");
        }
    }
    return ROTARY_OK;
}

/* The # ends a completion. */
static rotary_status find_stop(struct task *task, rotary_error *error)
{
    struct token_list list = {.tokens = &task->stop, .capacity = 1};
    return tokenizer_encode(task->tokenizer, "#", 1, &list, error);
}

rotary_status generated_create(struct task *task, rotary_error *error)
{
    const struct generator *generator = task->type->generator;
    char alphabet[GENERATED_ALPHABET_BYTES];
    generator->alphabet(&task->config, alphabet);
    task->shape.scratch = task->config.sequence_length + 1;
    rotary_status status = characters_create(&task->tokenizer, alphabet, error);
    if (status == ROTARY_OK && generator->random_example)
        status = find_stop(task, error);
    return status == ROTARY_OK ? check_variety(task, error) : status;
}

/* Rejection sampling: makes random examples until one is of the wanted split. Returns the generator as it was
 * before that one. */
static struct rotary_random sample_split(const struct task *task, struct rotary_random *random, bool held_out,
                                         struct example *example)
{
    struct rotary_random before;
    do
        before = *random;
    while (is_held_out(random_identity(task, random, example)) != held_out);
    return before;
}

void generated_append(const struct task *task, const char *text, struct token_list *list)
{
    /* This cannot fail: the alphabet has every character of the task's text. */
    (void)!tokenizer_encode(task->tokenizer, text, (int64_t)strlen(text), list, NULL);
}

static void fill_sequence(const struct task *task, struct rotary_random random, bool held_out,
                          int32_t *tokens)
{
    const int64_t count = task->config.sequence_length + 1;
    struct example example;
    if (!task->type->generator->random_example) {
        struct rotary_random accepted = sample_split(task, &random, held_out, &example);
        task->type->generator->random_sequence(&task->config, &accepted, count, tokens);
        return;
    }
    struct token_list list = {.tokens = tokens, .capacity = count};
    while (list.count < count) {
        sample_split(task, &random, held_out, &example);
        generated_append(task, example.prompt, &list);
        generated_append(task, example.completion, &list);
    }
}

/* Every row has its own 2^32 random numbers. */
static struct rotary_random random_of(uint64_t seed, uint32_t stream, uint32_t step, int64_t row)
{
    return (struct rotary_random){.key = {.seed = seed, .stream = stream, .step = step},
                                  .next = (uint64_t)row << 32};
}

static struct rotary_random validation_random(uint64_t seed, int64_t row)
{
    return random_of(seed, ROTARY_STREAM_EVALUATE, VALIDATION_SEQUENCES, row);
}

void generated_fill(const struct task *task, const struct task_place *place, const struct task_row *row)
{
    const bool held_out = place->split != TASK_TRAINING;
    struct rotary_random random = held_out
                                      ? validation_random(place->seed, place->index)
                                      : random_of(place->seed, ROTARY_STREAM_TASK, place->step, place->index);
    fill_sequence(task, random, held_out, row->scratch);
    /* Targets are the sequence shifted by one token. */
    size_t bytes = (size_t)task->config.sequence_length * sizeof(int32_t);
    memcpy(row->tokens, row->scratch, bytes);
    memcpy(row->classes, row->scratch + 1, bytes);
}

/* Examples one after another, as fill_sequence has them: the nats of tokens 1 ... sequence_length, which are
 * the targets. */
static double uncopied_examples(const struct task *task, struct rotary_random random)
{
    const struct generator *generator = task->type->generator;
    const int64_t count = task->config.sequence_length + 1;
    double sum = 0;
    for (int64_t filled = 0; filled < count;) {
        struct example example;
        double nats[2 * TASK_TEXT_BYTES] = {0};
        sample_split(task, &random, true, &example);
        generator->uncopied_example(&task->config, &example, nats);
        const int64_t length = (int64_t)(strlen(example.prompt) + strlen(example.completion));
        for (int64_t i = 0; i < length && filled < count; i++, filled++)
            sum += filled > 0 ? nats[i] : 0;
    }
    return sum;
}

static double uncopied_sequence(const struct task *task, struct rotary_random random, int32_t *tokens)
{
    const int64_t count = task->config.sequence_length + 1;
    double sum = 0;
    fill_sequence(task, random, true, tokens);
    for (int64_t i = 1; i < count; i++)
        sum += task->type->generator->uncopied_token(&task->config, tokens[i]);
    return sum;
}

double generated_uncopied_loss(const struct task *task, uint64_t seed, int64_t sequences)
{
    const bool examples = task->type->generator->random_example != NULL;
    int32_t *tokens = examples ? NULL : malloc((size_t)(task->config.sequence_length + 1) * sizeof *tokens);
    double sum = examples || tokens ? 0 : (double)NAN;
    for (int64_t row = 0; row < sequences && !isnan(sum); row++) {
        const struct rotary_random random = validation_random(seed, row);
        sum += examples ? uncopied_examples(task, random) : uncopied_sequence(task, random, tokens);
    }
    free(tokens);
    return sum / ((double)sequences * (double)task->config.sequence_length);
}

void generated_problem(const struct task *task, uint64_t seed, int64_t index, struct problem *problem)
{
    struct rotary_random random = random_of(seed, ROTARY_STREAM_EVALUATE, EVALUATION_PROBLEMS, index);
    struct example example;
    sample_split(task, &random, true, &example);
    memcpy(problem->prompt, example.prompt, sizeof problem->prompt);
    task->type->answer(example.completion, problem->answer);
}

/* Examples of training, so that none of them is the problem itself, as long as they fit `room`. */
static void append_examples(const struct task *task, struct rotary_random *random, int64_t room,
                            struct token_list *list)
{
    for (;;) {
        struct example example;
        sample_split(task, random, false, &example);
        room -= (int64_t)(strlen(example.prompt) + strlen(example.completion));
        if (room < 0)
            return;
        generated_append(task, example.prompt, list);
        generated_append(task, example.completion, list);
    }
}

void generated_long_prompt(const struct task *task, uint64_t seed, int64_t index, struct token_list *prompt)
{
    const struct generator *generator = task->type->generator;
    struct rotary_random random = random_of(seed, ROTARY_STREAM_EVALUATE, EVALUATION_PROBLEMS, index),
                         around = random_of(seed, ROTARY_STREAM_EVALUATE, SURROUNDINGS, index);
    struct example example;
    sample_split(task, &random, true, &example);
    const int64_t room = task->config.sequence_length - generator->size(&task->config).completion;
    if (generator->long_prompt) {
        generator->long_prompt(task, &example, &around, room, prompt);
        return;
    }
    append_examples(task, &around, room - (int64_t)strlen(example.prompt), prompt);
    generated_append(task, example.prompt, prompt);
}

struct problem_size generated_size(const struct task *task)
{
    return task->type->generator->size(&task->config);
}

void generated_answer(const char *generated, char answer[TASK_TEXT_BYTES])
{
    const char *end = strchr(generated, '#');
    snprintf(answer, TASK_TEXT_BYTES, "%.*s", end ? (int)(end - generated) : 0, generated);
}
