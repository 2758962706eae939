/* SPDX-License-Identifier: Apache-2.0
 *
 * The suffix of a string from an index on (the first substring task of the RoPER article):
 *
 *     ?s='dyjeofuxvejmg'; s[8:]=='vejmg'#
 *
 * The string has index_letters letters, uniform over a to z. The index is uniform over 0 to
 * index_letters - 1, so the suffix is never empty, and has no leading zeros. A string is held out with all
 * its indices.
 */
#include "task/generated/random_string.h"

#include <math.h>
#include <stdio.h>

struct index_options {
    int64_t letters; /* of a string */
};

#define MEMBER(member) offsetof(struct index_options, member)
static const struct setting table[] = {
    {"index_letters", SETTING_INTEGER, MEMBER(letters), 2, STRING_MAX_LETTERS, NULL,
     .help = "letters of a string of the index task"},
};
static const struct index_options defaults = {.letters = 13};

void index_example(const char *string, int64_t index, struct example *example)
{
    char slice[32];
    snprintf(slice, sizeof slice, "[%lld:]", (long long)index);
    string_example(string, slice, string + index, example);
}

static void random_example(const struct task_config *config, struct rotary_random *random,
                           struct example *example)
{
    const struct index_options *options = task_options(config, TASK_INDEX);
    char string[STRING_BYTES];
    random_string(random, options->letters, string);
    index_example(string, rotary_random_below(random, (uint32_t)options->letters), example);
}

static void uncopied(const struct task_config *config, const struct example *example, double *nats)
{
    const struct index_options *options = task_options(config, TASK_INDEX);
    string_uncopied(example, 0, log((double)options->letters), nats);
}

static struct problem_size size(const struct task_config *config)
{
    const struct index_options *options = task_options(config, TASK_INDEX);
    return string_size(options->letters, options->letters > 10 ? "[10:]" : "[0:]");
}

static void alphabet(const struct task_config *config, char alphabet[GENERATED_ALPHABET_BYTES])
{
    (void)config;
    snprintf(alphabet, GENERATED_ALPHABET_BYTES, "abcdefghijklmnopqrstuvwxyz0123456789?='; [:]#");
}

static const struct generator generator = {
    .alphabet = alphabet,
    .random_example = random_example,
    .size = size,
    .uncopied_example = uncopied,
};

const struct task_type task_type_index = {
    .settings = table,
    .setting_count = sizeof table / sizeof table[0],
    .options_bytes = sizeof defaults,
    .defaults = &defaults,
    .create = generated_create,
    .fill = generated_fill,
    .problem = generated_problem,
    .long_prompt = generated_long_prompt,
    .size = generated_size,
    .answer = generated_answer,
    .uncopied_loss = generated_uncopied_loss,
    .generator = &generator,
};
