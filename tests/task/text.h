/* SPDX-License-Identifier: Apache-2.0
 *
 * Sequences of a task as text.
 */
#ifndef TESTS_TASK_TEXT_H
#define TESTS_TASK_TEXT_H

#include "support/check.h"
#include "task/generated/generated.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_TOKENS = 641 };

/* Ends a test that cannot continue. */
__attribute__((noreturn)) static inline void fail_with(const char *why)
{
    printf("%s\n", why);
    exit(1);
}

/* Creates a task; ends the test on failure. */
static inline struct task *task_of(const struct task_config *config)
{
    struct task *task = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(task_create(&task, config, NULL, &error), ROTARY_OK))
        fail_with(error.message);
    return task;
}

static inline struct task_config config_of(enum task_id kind)
{
    struct task_config config;
    task_config_default(&config);
    config.task = (int)kind;
    return config;
}

/* Sets an option of the tasks: "masked_train", "text.txt". */
static inline void set_text(struct task_config *config, const char *key, const char *value)
{
    struct settings settings[TASK_SETTINGS];
    char assignment[4096];
    rotary_error error = {0};
    task_settings(config, settings);
    snprintf(assignment, sizeof assignment, "%s=%s", key, value);
    if (!CHECK_INT(settings_assign(settings, TASK_SETTINGS, assignment, &error), ROTARY_OK))
        fail_with(error.message);
}

/* Likewise: "index_letters", 5. */
static inline void set_option(struct task_config *config, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    set_text(config, key, text);
}

/* The row at `place` of a task without a corpus as a sequence: its tokens and the last target, in
 * all sequence_length + 1. */
static inline void sequence_of(const struct task *task, const struct task_place *place, int32_t *sequence)
{
    const struct task_shape shape = task_shape(task);
    int32_t *memory = calloc((size_t)(2 * shape.time + shape.scratch), sizeof *memory);
    if (!memory)
        fail_with("no memory for a row");
    const struct task_row row = {
        .tokens = memory, .classes = memory + shape.time, .scratch = memory + 2 * shape.time};
    task_fill(task, place, &row);
    memcpy(sequence, row.tokens, (size_t)shape.time * sizeof *sequence);
    sequence[shape.time] = row.classes[shape.time - 1];
    /* Targets are the sequence shifted by one token. */
    CHECK(memcmp(row.classes, sequence + 1, (size_t)shape.time * sizeof *sequence) == 0);
    free(memory);
}

/* The training sequence of (seed, step, row) or, with step -1, validation sequence `row`; at most 640 + 1
 * tokens. */
static inline void text_of(const struct task *task, uint64_t seed, int64_t step, int64_t row, int64_t count,
                           char text[TEXT_TOKENS + 1])
{
    int32_t tokens[TEXT_TOKENS];
    const struct task_place place = {.split = step < 0 ? TASK_VALIDATION : TASK_TRAINING,
                                     .seed = seed,
                                     .step = (uint32_t)step,
                                     .index = row};
    sequence_of(task, &place, tokens);
    for (int64_t i = 0; i < count; i++) {
        if (tokens[i] < 0 || tokens[i] >= tokenizer_size(task_tokenizer(task)))
            CHECK(tokens[i] >= 0 && tokens[i] < tokenizer_size(task_tokenizer(task)));
    }
    CHECK_INT(tokenizer_decode(task_tokenizer(task), tokens, count, text, TEXT_TOKENS + 1), count);
}

/* Generated text, and the answer within it. */
struct known_answer {
    const char *generated, *answer;
};

static inline void check_answers(enum task_id kind, const struct known_answer *known, size_t count)
{
    struct task_config config = config_of(kind);
    struct task *task = task_of(&config);
    for (size_t i = 0; i < count; i++) {
        char answer[TASK_TEXT_BYTES];
        check_about("generated %s", known[i].generated);
        struct problem problem = {.answer = "none"};
        CHECK(!task_score(task, &problem, known[i].generated, answer));
        CHECK_TEXT(answer, known[i].answer);
        snprintf(problem.answer, sizeof problem.answer, "%s", known[i].answer);
        CHECK_INT(task_score(task, &problem, known[i].generated, answer), answer[0] != 0);
    }
    task_destroy(task);
    check_about("%s", "");
}

/* Raises `longest` to the lengths of an example. */
static inline void include_example(struct problem_size *longest, const struct example *example)
{
    int64_t prompt = (int64_t)strlen(example->prompt), completion = (int64_t)strlen(example->completion);
    longest->prompt = prompt > longest->prompt ? prompt : longest->prompt;
    longest->completion = completion > longest->completion ? completion : longest->completion;
}

/* Advances *at past `wanted`; false, with *at unchanged, if the text there differs. */
static inline bool skip(const char **at, const char *wanted)
{
    size_t length = strlen(wanted);
    if (strncmp(*at, wanted, length) != 0)
        return false;
    *at += length;
    return true;
}

#endif
