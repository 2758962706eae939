/* SPDX-License-Identifier: Apache-2.0 */
#include "task/task.h"

#include "base/fail.h"
#include "task/kind.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *const task_names[] = {"addition", "index", "prefix", NULL};

static const struct kind *const kinds[TASK_KINDS] = {&kind_addition, &kind_index, &kind_prefix};

enum {
    HELD_OUT_ONE_IN = 64, /* 1 of 64 problems is held out from training */
    MAX_TRIES = 1 << 14,  /* rejected problems after which a configuration is refused */
};

/* `step` in the random keys of the evaluation stream, which training does not use. */
enum { VALIDATION_SEQUENCES, EVALUATION_PROBLEMS };

#define MEMBER(member) offsetof(struct task_config, member)

static const struct setting table[] = {
    {"task", SETTING_CHOICE, MEMBER(task), 0, 0, task_names, .help = "task to train on"},
    {"sequence_length", SETTING_INTEGER, MEMBER(sequence_length), 16, 1 << 20, NULL,
     .help = "tokens per sequence"},
    {"problems", SETTING_INTEGER, MEMBER(problems), 1, 1 << 16, NULL, .help = "problems per evaluation"},
    {"addition_digits", SETTING_INTEGER, MEMBER(addition_digits), 2, 16, NULL,
     .help = "maximum digits of an operand of the addition task"},
    {"index_letters", SETTING_INTEGER, MEMBER(index_letters), 2, 99, NULL,
     .help = "letters of a string of the index task"},
    {"prefix_letters", SETTING_INTEGER, MEMBER(prefix_letters), 2, 26, NULL,
     .help = "size of the alphabet of the prefix task"},
    {"prefix_random", SETTING_INTEGER, MEMBER(prefix_random), 1, 1024, NULL,
     .help = "random letters per round of the prefix task"},
    {"prefix_substring", SETTING_INTEGER, MEMBER(prefix_substring), 1, 1 << 16, NULL,
     .help = "copied letters per round of the prefix task"},
};

void task_config_default(struct task_config *config)
{
    *config = (struct task_config){.task = TASK_INDEX,
                                   .sequence_length = 640,
                                   .problems = 128,
                                   .addition_digits = 8,
                                   .index_letters = 13,
                                   .prefix_letters = 4,
                                   .prefix_random = 4,
                                   .prefix_substring = 32};
}

struct settings task_settings(struct task_config *config)
{
    return (struct settings){table, sizeof table / sizeof table[0], config};
}

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
    if (task->kind->random_example) {
        task->kind->random_example(&task->config, random, example);
        return example->identity;
    }
    int32_t tokens[KIND_OPENING_TOKENS];
    int64_t count = task->config.sequence_length + 1;
    return task->kind->random_sequence(&task->config, random,
                                       count < KIND_OPENING_TOKENS ? count : KIND_OPENING_TOKENS, tokens);
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

static rotary_status check_size(const struct task *task, rotary_error *error)
{
    if (!task->kind->size)
        return ROTARY_OK;
    struct problem_size size = task->kind->size(&task->config);
    if (size.prompt + size.completion > task->config.sequence_length)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "sequence_length %lld is too short for task %s, whose longest problem takes %lld tokens",
            (long long)task->config.sequence_length, task_names[task->config.task],
            (long long)(size.prompt + size.completion));
    return ROTARY_OK;
}

rotary_status task_create(struct task **out, const struct task_config *config, rotary_error *error)
{
    struct task *task = malloc(sizeof *task);
    if (!task)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a task (%zu bytes)", sizeof *task);
    task->config = *config;
    task->kind = kinds[config->task];
    char alphabet[KIND_ALPHABET_BYTES];
    task->kind->alphabet(config, alphabet);
    characters_create(&task->characters, alphabet);

    rotary_status status = check_size(task, error);
    if (status == ROTARY_OK)
        status = check_variety(task, error);
    if (status == ROTARY_OK)
        *out = task;
    else
        task_destroy(task);
    return status;
}

void task_destroy(struct task *task)
{
    free(task);
}

const struct task_config *task_configuration(const struct task *task)
{
    return &task->config;
}

const struct characters *task_characters(const struct task *task)
{
    return &task->characters;
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

/* Appends `text` to the *length tokens, truncated so that they are at most `count`. */
static void append(const struct task *task, const char *text, int32_t *tokens, int64_t *length, int64_t count)
{
    for (const char *at = text; *at && *length < count; at++)
        tokens[(*length)++] = task->characters.token[(unsigned char)*at];
}

static void fill_sequence(const struct task *task, struct rotary_random random, bool held_out,
                          int32_t *tokens)
{
    const int64_t count = task->config.sequence_length + 1;
    struct example example;
    if (!task->kind->random_example) {
        struct rotary_random accepted = sample_split(task, &random, held_out, &example);
        task->kind->random_sequence(&task->config, &accepted, count, tokens);
        return;
    }
    for (int64_t length = 0; length < count;) {
        sample_split(task, &random, held_out, &example);
        append(task, example.prompt, tokens, &length, count);
        append(task, example.completion, tokens, &length, count);
    }
}

/* Every row has its own 2^32 random numbers. */
static struct rotary_random random_of(uint64_t seed, uint32_t stream, uint32_t step, int64_t row)
{
    return (struct rotary_random){.key = {.seed = seed, .stream = stream, .step = step},
                                  .next = (uint64_t)row << 32};
}

void task_sequence(const struct task *task, uint64_t seed, uint32_t step, int64_t row, int32_t *tokens)
{
    fill_sequence(task, random_of(seed, ROTARY_STREAM_TASK, step, row), false, tokens);
}

void task_validation_sequence(const struct task *task, uint64_t seed, int64_t index, int32_t *tokens)
{
    fill_sequence(task, random_of(seed, ROTARY_STREAM_EVALUATE, VALIDATION_SEQUENCES, index), true, tokens);
}

bool task_has_problems(const struct task *task)
{
    return task->kind->random_example != NULL;
}

struct problem_size task_problem_size(const struct task *task)
{
    return task->kind->size(&task->config);
}

void task_problem(const struct task *task, uint64_t seed, int64_t index, struct problem *problem)
{
    struct rotary_random random = random_of(seed, ROTARY_STREAM_EVALUATE, EVALUATION_PROBLEMS, index);
    struct example example;
    sample_split(task, &random, true, &example);
    memcpy(problem->prompt, example.prompt, sizeof problem->prompt);
    task->kind->answer(example.completion, problem->answer);
}

void task_answer(const struct task *task, const char *generated, char answer[TASK_TEXT_BYTES])
{
    answer[0] = '\0';
    if (task->kind->answer)
        task->kind->answer(generated, answer);
}
