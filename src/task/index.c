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
#include "task/generated.h"

#include <stdio.h>
#include <string.h>

struct index_options {
    int64_t letters; /* of a string */
};

#define MEMBER(member) offsetof(struct index_options, member)
static const struct setting table[] = {
    {"index_letters", SETTING_INTEGER, MEMBER(letters), 2, 99, NULL,
     .help = "letters of a string of the index task"},
};
static const struct index_options defaults = {.letters = 13};

enum { LETTERS = 26 };

void index_example(const char *string, int64_t index, struct example *example)
{
    snprintf(example->prompt, TASK_TEXT_BYTES, "?s='%s'; s[%lld:]==", string, (long long)index);
    snprintf(example->completion, TASK_TEXT_BYTES, "'%s'#", string + index);
    example->identity = rotary_hash(string, strlen(string));
}

static void random_example(const struct task_config *config, struct rotary_random *random,
                           struct example *example)
{
    const struct index_options *options = task_options(config, TASK_INDEX);
    char string[TASK_TEXT_BYTES / 2]; /* more than the maximum of index_letters */
    for (int64_t i = 0; i < options->letters; i++)
        string[i] = (char)('a' + (int)rotary_random_below(random, LETTERS));
    string[options->letters] = '\0';
    index_example(string, rotary_random_below(random, (uint32_t)options->letters), example);
}

static struct problem_size size(const struct task_config *config)
{
    const struct index_options *options = task_options(config, TASK_INDEX);
    struct problem_size size = {.prompt = (int64_t)strlen("?s=''; s[:]==") + options->letters,
                                .completion = (int64_t)strlen("''#") + options->letters};
    for (int64_t index = options->letters - 1; index >= 0; index = index >= 10 ? index / 10 : -1)
        size.prompt++;
    return size;
}

/* The text before the #, quotes included. */
static void answer(const char *generated, char answer[TASK_TEXT_BYTES])
{
    const char *end = strchr(generated, '#');
    snprintf(answer, TASK_TEXT_BYTES, "%.*s", end ? (int)(end - generated) : 0, generated);
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
};

const struct kind kind_index = {
    .settings = table,
    .setting_count = sizeof table / sizeof table[0],
    .options_bytes = sizeof defaults,
    .defaults = &defaults,
    .create = generated_create,
    .fill = generated_fill,
    .problem = generated_problem,
    .size = generated_size,
    .answer = answer,
    .generator = &generator,
};
