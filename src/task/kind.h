/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface of a kind of task, inside src/task. Some kinds have problems (addition, index): training
 * sequences are their examples one after another. Others generate sequences without problems (prefix).
 */
#ifndef ROTARY_TASK_KIND_H
#define ROTARY_TASK_KIND_H

#include "task/task.h"

struct task {
    struct task_config config;
    struct characters characters;
    const struct kind *kind;
};

struct example {
    char prompt[TASK_TEXT_BYTES];     /* given to the model */
    char completion[TASK_TEXT_BYTES]; /* what the model is to generate, the final # included */
    uint64_t identity; /* a hash of the problem: decides whether it is held out from training */
};

enum { KIND_ALPHABET_BYTES = 256 };

struct kind {
    /* Every character of the task's text, zero-terminated. */
    void (*alphabet)(const struct task_config *config, char alphabet[KIND_ALPHABET_BYTES]);

    /* NULL for a kind without problems, as are the next two. */
    void (*random_example)(const struct task_config *config, struct rotary_random *random,
                           struct example *example);
    struct problem_size (*size)(const struct task_config *config);
    /* The answer within `generated`; empty if generation stopped before its end. */
    void (*answer)(const char *generated, char answer[TASK_TEXT_BYTES]);

    /* NULL for a kind with problems. Writes the first `count` tokens of a random sequence and returns its
     * identity, which is the same for every count of at least KIND_OPENING_TOKENS. */
    uint64_t (*random_sequence)(const struct task_config *config, struct rotary_random *random, int64_t count,
                                int32_t *tokens);
};

enum { KIND_OPENING_TOKENS = 64 };

extern const struct kind kind_addition, kind_index, kind_prefix;

/* The example for given operands, as random_example() makes it from random ones. */
void addition_example(uint64_t left, uint64_t right, struct example *example);
void index_example(const char *string, int64_t index, struct example *example);

#endif
