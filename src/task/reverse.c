/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing a string backwards:
 *
 *     ?s='dyjeofux'; s[::-1]=='xufoejyd'#
 *
 * A string has 3 to reverse_letters letters, each length equally likely.
 */
#include "task/random_string.h"

#include <stdio.h>
#include <string.h>

struct reverse_options {
    int64_t letters; /* maximum of a string */
};

#define MEMBER(member) offsetof(struct reverse_options, member)
static const struct setting table[] = {
    {"reverse_letters", SETTING_INTEGER, MEMBER(letters), STRING_MIN_LETTERS, STRING_MAX_LETTERS, NULL,
     .help = "maximum letters of a string of the reverse task"},
};
static const struct reverse_options defaults = {.letters = 20};

static const char slice[] = "[::-1]";

void reverse_example(const char *string, struct example *example)
{
    char reversed[STRING_BYTES];
    size_t letters = strlen(string);
    for (size_t i = 0; i < letters; i++)
        reversed[i] = string[letters - 1 - i];
    reversed[letters] = '\0';
    string_example(string, slice, reversed, example);
}

static void random_example(const struct task_config *config, struct rotary_random *random,
                           struct example *example)
{
    const struct reverse_options *options = task_options(config, TASK_REVERSE);
    char string[STRING_BYTES];
    random_length_string(random, options->letters, string);
    reverse_example(string, example);
}

static struct problem_size size(const struct task_config *config)
{
    const struct reverse_options *options = task_options(config, TASK_REVERSE);
    return string_size(options->letters, slice);
}

static void alphabet(const struct task_config *config, char alphabet[GENERATED_ALPHABET_BYTES])
{
    (void)config;
    snprintf(alphabet, GENERATED_ALPHABET_BYTES, "abcdefghijklmnopqrstuvwxyz?='; [:]#-1");
}

static const struct generator generator = {
    .alphabet = alphabet,
    .random_example = random_example,
    .size = size,
};

const struct kind kind_reverse = {
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
