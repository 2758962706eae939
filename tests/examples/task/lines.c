/* SPDX-License-Identifier: Apache-2.0
 *
 * A finite corpus: the lines of a poem (Robert Louis Stevenson, "From a Railway Carriage", 1885). A row is a
 * line in bytes, from the token that begins it to the one that ends it, and padding after it. The last lines
 * are held out from training.
 */
#include "task/kind.h"
#include "task/permutation.h"

#include <stddef.h>
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

static rotary_status create(struct task *task, rotary_error *error)
{
    task->shape.lengths = true;
    return bytes_create(&task->tokenizer, error);
}

/* The line at a place: lines of training in the order of their epoch, held-out ones as they stand. */
static const char *line_at(const struct task *task, const struct task_place *place)
{
    const struct lines_options *options = task_options(&task->config, TASK_LINES);
    const int64_t trained = LINES - options->validation;
    if (place->validation)
        return lines[trained + place->row % options->validation];
    return lines[corpus_training_example(place, trained).index];
}

static void fill(const struct task *task, const struct task_place *place, const struct task_row *row)
{
    const char *line = line_at(task, place);
    const struct special_tokens special = tokenizer_special(task->tokenizer);
    const int64_t time = task->shape.time;
    struct token_list list = {.tokens = row->tokens, .capacity = time, .count = 1};
    row->tokens[0] = special.begin;
    (void)!tokenizer_encode(task->tokenizer, line, (int64_t)strlen(line), &list, NULL); /* bytes never fail */
    *row->length = (int32_t)list.count;
    const int32_t last = list.left_out > 0 ? BATCH_IGNORED : special.end; /* a truncated line has no end */
    for (int64_t i = 0; i < time; i++) {
        if (i >= list.count)
            row->tokens[i] = special.padding;
        row->classes[i] = i + 1 < list.count    ? row->tokens[i + 1]
                          : i + 1 == list.count ? last
                                                : BATCH_IGNORED;
    }
}

const struct kind kind_lines = {
    .settings = table,
    .setting_count = sizeof table / sizeof table[0],
    .options_bytes = sizeof defaults,
    .defaults = &defaults,
    .create = create,
    .fill = fill,
};
