/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks that make up their data at random, in characters. Most have problems (addition, index, copy):
 * their rows are examples one after another. Others have sequences without problems (prefix). One problem or
 * sequence in 64, chosen by its identity, is held out from training.
 */
#ifndef ROTARY_TASK_GENERATED_GENERATED_H
#define ROTARY_TASK_GENERATED_GENERATED_H

#include "task/task_type.h"

struct example {
    char prompt[TASK_TEXT_BYTES];     /* given to the model */
    char completion[TASK_TEXT_BYTES]; /* what the model is to generate, the final # included */
    uint64_t identity; /* a hash of the problem: decides whether it is held out from training */
};

enum {
    GENERATED_ALPHABET_BYTES = 256,
    GENERATED_OPENING_TOKENS = 64,
};

struct generator {
    /* Every character of the task's text, zero-terminated. */
    void (*alphabet)(const struct task_config *config, char alphabet[GENERATED_ALPHABET_BYTES]);

    /* NULL for a task type without problems, as is the next. */
    void (*random_example)(const struct task_config *config, struct rotary_random *random,
                           struct example *example);
    struct problem_size (*size)(const struct task_config *config);

    /* Appends to `prompt` the example's prompt in another form, of the same answer: as long as it can be
     * within `room` tokens, which the longest prompt does not exceed. NULL: a long prompt is other examples
     * and then the example's. */
    void (*long_prompt)(const struct task *task, const struct example *example, struct rotary_random *random,
                        int64_t room, struct token_list *prompt);

    /* NULL for a task type with problems. Writes the first `count` tokens of a random sequence and returns
     * its identity, which is the same for every count of at least GENERATED_OPENING_TOKENS. */
    uint64_t (*random_sequence)(const struct task_config *config, struct rotary_random *random, int64_t count,
                                int32_t *tokens);

    /* What a model pays that knows all of the task, its format, frequencies and lengths, but copies nothing:
     * a character that repeats an earlier one costs it as much as one that is random. Minus the logarithm of
     * its probability in nats, for each character of the prompt and then of the completion, into zeros. For
     * tokens of sequences without problems by their ids. */
    void (*uncopied_example)(const struct task_config *config, const struct example *example, double *nats);
    double (*uncopied_token)(const struct task_config *config, int32_t token);
};

/* The functions of a struct task_type whose generator is set. */
rotary_status generated_create(struct task *task, rotary_error *error);
void generated_fill(const struct task *task, const struct task_place *place, const struct task_row *row);
void generated_problem(const struct task *task, uint64_t seed, int64_t index, struct problem *problem);
void generated_long_prompt(const struct task *task, uint64_t seed, int64_t index, struct token_list *prompt);
struct problem_size generated_size(const struct task *task);
double generated_uncopied_loss(const struct task *task, uint64_t seed, int64_t sequences);
/* Appends a text of the task, a token each character, as far as there is room. */
void generated_append(const struct task *task, const char *text, struct token_list *list);
/* Finds it for tasks whose completion is the answer and the #: the text before the #. */
void generated_answer(const char *generated, char answer[TASK_TEXT_BYTES]);

/* The example for given operands, as random_example() makes it from random ones. */
void addition_example(uint64_t left, uint64_t right, struct example *example);
void index_example(const char *string, int64_t index, struct example *example);
void copy_example(const char *string, struct example *example);
void reverse_example(const char *string, struct example *example);

#endif
