/* SPDX-License-Identifier: Apache-2.0
 *
 * A finite corpus: the lines of a poem (Robert Louis Stevenson, "From a Railway Carriage", 1885). A row is a
 * line in bytes, from the token that begins it to the one that ends it. The last lines are held out from
 * training.
 */
#include "base/fail.h"
#include "task/task_type.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct lines_options {
    int64_t validation; /* lines held out */
};

#define MEMBER(member) offsetof(struct lines_options, member)
static const struct setting table[] = {
    {"lines_validation", SETTING_INTEGER, MEMBER(validation), 1, 8, NULL,
     .help = "lines that the lines task holds out from training"},
};
static const struct lines_options defaults = {.validation = 3};

static const char *const lines[] = {
    "Faster than fairies, faster than witches,",   "Bridges and houses, hedges and ditches;",
    "And charging along like troops in a battle",  "All through the meadows the horses and cattle:",
    "All of the sights of the hill and the plain", "Fly as thick as driving rain;",
    "And ever again, in the wink of an eye,",      "Painted stations whistle by.",
    "Here is a child who clambers and scrambles,", "All by himself and gathering brambles;",
    "Here is a tramp who stands and gazes;",       "And here is the green for stringing the daisies!",
    "Here is a cart run away in the road",         "Lumping along with man and load;",
    "And here is a mill, and there is a river:",   "Each a glimpse and gone for ever!",
};
enum { LINES = sizeof lines / sizeof lines[0] };

enum { MAX_TOKENS = 64 };

/* The lines as tokens, from the one that begins a line to the one that ends it. */
struct encoded {
    int32_t tokens[LINES][MAX_TOKENS];
    int64_t counts[LINES];
};

static rotary_status create(struct task *task, rotary_error *error)
{
    rotary_status status = bytes_create(&task->tokenizer, error);
    struct encoded *encoded = task->data = malloc(sizeof *encoded);
    if (status == ROTARY_OK && !encoded)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a poem");
    for (int i = 0; status == ROTARY_OK && i < LINES; i++) {
        const struct special_tokens special = tokenizer_special(task->tokenizer);
        struct token_list list = {.tokens = encoded->tokens[i], .capacity = MAX_TOKENS - 1, .count = 1};
        encoded->tokens[i][0] = special.begin;
        status = tokenizer_encode(task->tokenizer, lines[i], (int64_t)strlen(lines[i]), &list, error);
        encoded->tokens[i][list.count] = special.end;
        encoded->counts[i] = list.count;
    }
    return status;
}

static void destroy(struct task *task)
{
    free(task->data);
}

static int64_t examples(const struct task *task, enum task_split split)
{
    const struct lines_options *options = task_options(&task->config, TASK_LINES);
    return split == TASK_TRAINING     ? LINES - options->validation
           : split == TASK_VALIDATION ? options->validation
                                      : 0;
}

/* The held-out lines are the last ones. A line that is longer than a row is cut. */
static struct task_example example(const struct task *task, enum task_split split, int64_t index)
{
    const struct encoded *encoded = task->data;
    const int64_t line = split == TASK_TRAINING ? index : examples(task, TASK_TRAINING) + index,
                  count = encoded->counts[line];
    return (struct task_example){.target = encoded->tokens[line],
                                 .target_count = count < task->shape.time ? count : task->shape.time};
}

const struct task_type task_type_lines = {
    .settings = table,
    .setting_count = sizeof table / sizeof table[0],
    .options_bytes = sizeof defaults,
    .defaults = &defaults,
    .create = create,
    .destroy = destroy,
    .examples = examples,
    .example = example,
};
