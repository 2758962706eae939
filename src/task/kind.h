/* SPDX-License-Identifier: Apache-2.0
 *
 * What one kind of task must be able to do, inside src/task. A kind has problems (addition, index), which are
 * drawn one by one and packed into sequences, or only whole sequences (prefix).
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
    char prompt[TASK_TEXT_BYTES];     /* what the model is given */
    char completion[TASK_TEXT_BYTES]; /* what it is to write, the final # included */
    uint64_t identity; /* a hash of what makes the problem this one: decides whether it is held out */
};

/* Characters at most. */
struct problem_size {
    int64_t prompt, completion;
};

enum { KIND_ALPHABET_BYTES = 256 };

struct kind {
    /* Every character of the task's text, zero-terminated. */
    void (*alphabet)(const struct task_config *config, char alphabet[KIND_ALPHABET_BYTES]);

    /* Of a kind with problems; NULL otherwise. */
    void (*random_example)(const struct task_config *config, struct rotary_random *random,
                           struct example *example);
    struct problem_size (*size)(const struct task_config *config);
    /* The answer that stands in `written`; empty if it was not finished. */
    void (*answer)(const char *generated, char answer[TASK_TEXT_BYTES]);

    /* Of a kind without problems: writes the first `count` tokens of a sequence and returns its identity,
     * which is the same for every count of at least KIND_OPENING_TOKENS. */
    uint64_t (*random_sequence)(const struct task_config *config, struct rotary_random *random, int64_t count,
                                int32_t *tokens);
};

enum { KIND_OPENING_TOKENS = 64 };

extern const struct kind kind_addition, kind_index, kind_prefix;

/* The text of one problem, for given operands; what `draw` writes once it has drawn them. */
void addition_example(uint64_t left, uint64_t right, struct example *example);
void index_example(const char *string, int64_t index, struct example *example);

#endif
