/* SPDX-License-Identifier: Apache-2.0
 *
 * Repeating a string, or writing it backwards:
 *
 *     ?s='dyjeofux'; s[:]=='dyjeofux'#
 *     ?s='dyjeofux'; s[::-1]=='xufoejyd'#
 *
 * A string has 3 to copy_letters or reverse_letters letters, each length equally likely, so that no letter of
 * a copy has a fixed distance to its original.
 */
#include "task/generated/random_string.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct copy_options {
    int64_t letters; /* maximum of a string */
};

#define MEMBER(member) offsetof(struct copy_options, member)
static const struct setting copy_table[] = {
    {"copy_letters", SETTING_INTEGER, MEMBER(letters), STRING_MIN_LETTERS, STRING_MAX_LETTERS, NULL,
     .help = "maximum letters of a string of the copy task"},
};
static const struct setting reverse_table[] = {
    {"reverse_letters", SETTING_INTEGER, MEMBER(letters), STRING_MIN_LETTERS, STRING_MAX_LETTERS, NULL,
     .help = "maximum letters of a string of the reverse task"},
};
static const struct copy_options defaults = {.letters = 20};

static const char copy_slice[] = "[:]", reverse_slice[] = "[::-1]";

void copy_example(const char *string, struct example *example)
{
    string_example(string, copy_slice, string, example);
}

void reverse_example(const char *string, struct example *example)
{
    char reversed[STRING_BYTES];
    size_t letters = strlen(string);
    for (size_t i = 0; i < letters; i++)
        reversed[i] = string[letters - 1 - i];
    reversed[letters] = '\0';
    string_example(string, reverse_slice, reversed, example);
}

static bool reverses(const struct task_config *config)
{
    return config->task == TASK_REVERSE;
}

static int64_t letters_of(const struct task_config *config)
{
    const struct copy_options *options = task_options(config, config->task);
    return options->letters;
}

static void random_example(const struct task_config *config, struct rotary_random *random,
                           struct example *example)
{
    char string[STRING_BYTES];
    random_length_string(random, letters_of(config), string);
    if (reverses(config))
        reverse_example(string, example);
    else
        copy_example(string, example);
}

static void uncopied(const struct task_config *config, const struct example *example, double *nats)
{
    string_uncopied(example, log((double)(letters_of(config) - STRING_MIN_LETTERS + 1)), 0, nats);
}

static struct problem_size size(const struct task_config *config)
{
    return string_size(letters_of(config), reverses(config) ? reverse_slice : copy_slice);
}

static void alphabet(const struct task_config *config, char alphabet[GENERATED_ALPHABET_BYTES])
{
    snprintf(alphabet, GENERATED_ALPHABET_BYTES, "abcdefghijklmnopqrstuvwxyz?='; [:]#%s",
             reverses(config) ? "-1" : "");
}

static const struct generator generator = {
    .alphabet = alphabet,
    .random_example = random_example,
    .size = size,
    .uncopied_example = uncopied,
};

const struct task_type task_type_copy = {
    .settings = copy_table,
    .setting_count = sizeof copy_table / sizeof copy_table[0],
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

const struct task_type task_type_reverse = {
    .settings = reverse_table,
    .setting_count = sizeof reverse_table / sizeof reverse_table[0],
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
