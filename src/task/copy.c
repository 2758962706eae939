/* SPDX-License-Identifier: Apache-2.0
 *
 * Repeating a string:
 *
 *     ?s='dyjeofux'; s[:]=='dyjeofux'#
 *
 * A string has 3 to copy_letters letters, each length equally likely, so that no letter of the copy has a
 * fixed distance to its original.
 */
#include "task/random_string.h"

#include <stdio.h>

struct copy_options {
    int64_t letters; /* maximum of a string */
};

#define MEMBER(member) offsetof(struct copy_options, member)
static const struct setting table[] = {
    {"copy_letters", SETTING_INTEGER, MEMBER(letters), STRING_MIN_LETTERS, STRING_MAX_LETTERS, NULL,
     .help = "maximum letters of a string of the copy task"},
};
static const struct copy_options defaults = {.letters = 20};

static const char slice[] = "[:]";

void copy_example(const char *string, struct example *example)
{
    string_example(string, slice, string, example);
}

static void random_example(const struct task_config *config, struct rotary_random *random,
                           struct example *example)
{
    const struct copy_options *options = task_options(config, TASK_COPY);
    char string[STRING_BYTES];
    random_length_string(random, options->letters, string);
    copy_example(string, example);
}

static struct problem_size size(const struct task_config *config)
{
    const struct copy_options *options = task_options(config, TASK_COPY);
    return string_size(options->letters, slice);
}

static void alphabet(const struct task_config *config, char alphabet[GENERATED_ALPHABET_BYTES])
{
    (void)config;
    snprintf(alphabet, GENERATED_ALPHABET_BYTES, "abcdefghijklmnopqrstuvwxyz?='; [:]#");
}

static const struct generator generator = {
    .alphabet = alphabet,
    .random_example = random_example,
    .size = size,
};

const struct kind kind_copy = {
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
    .generator = &generator,
};
