/* SPDX-License-Identifier: Apache-2.0
 *
 * Sequences of a task as text.
 */
#ifndef TESTS_TASK_TEXT_H
#define TESTS_TASK_TEXT_H

#include "support/check.h"
#include "task/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_TOKENS = 641 };

/* The end of a test that cannot go on. */
__attribute__((noreturn)) static inline void fail_with(const char *why)
{
    printf("%s\n", why);
    exit(1);
}

/* A task that must be creatable. */
static inline struct task *task_of(const struct task_config *config)
{
    struct task *task = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(task_create(&task, config, &error), ROTARY_OK))
        fail_with(error.message);
    return task;
}

static inline struct task_config config_of(enum task_kind kind)
{
    struct task_config config;
    task_config_default(&config);
    config.task = (int)kind;
    return config;
}

/* The training sequence of (seed, step, row), or, with step -1, held-out sequence `row`; at most 640 + 1
 * tokens. */
static inline void text_of(const struct task *task, uint64_t seed, int64_t step, int64_t row, int64_t count,
                           char text[TEXT_TOKENS + 1])
{
    int32_t tokens[TEXT_TOKENS];
    if (step < 0)
        task_validation_sequence(task, seed, row, tokens);
    else
        task_sequence(task, seed, (uint32_t)step, row, tokens);
    for (int64_t i = 0; i < count; i++) {
        if (tokens[i] < 0 || tokens[i] >= task_characters(task)->count)
            CHECK(tokens[i] >= 0 && tokens[i] < task_characters(task)->count);
    }
    characters_decode(task_characters(task), tokens, count, text);
}

/* What a model wrote, and the answer that stands in it. */
struct known_answer {
    const char *generated, *answer;
};

static inline void check_answers(const struct task *task, const struct known_answer *known, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char answer[TASK_TEXT_BYTES];
        check_about("written %s", known[i].generated);
        task_answer(task, known[i].generated, answer);
        CHECK_TEXT(answer, known[i].answer);
    }
    check_about("%s", "");
}

/* Skips `wanted` at *at; false, leaving *at alone, if something else stands there. */
static inline bool skip(const char **at, const char *wanted)
{
    size_t length = strlen(wanted);
    if (strncmp(*at, wanted, length) != 0)
        return false;
    *at += length;
    return true;
}

#endif
