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
#include "task/kind.h"

#include <stdio.h>
#include <string.h>

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
    char string[TASK_TEXT_BYTES / 2]; /* more than the maximum of index_letters */
    for (int64_t i = 0; i < config->index_letters; i++)
        string[i] = (char)('a' + (int)rotary_random_below(random, LETTERS));
    string[config->index_letters] = '\0';
    index_example(string, rotary_random_below(random, (uint32_t)config->index_letters), example);
}

static struct problem_size size(const struct task_config *config)
{
    struct problem_size size = {.prompt = (int64_t)strlen("?s=''; s[:]==") + config->index_letters,
                                .completion = (int64_t)strlen("''#") + config->index_letters};
    for (int64_t index = config->index_letters - 1; index >= 0; index = index >= 10 ? index / 10 : -1)
        size.prompt++;
    return size;
}

/* The text before the #, quotes included. */
static void answer(const char *generated, char answer[TASK_TEXT_BYTES])
{
    const char *end = strchr(generated, '#');
    snprintf(answer, TASK_TEXT_BYTES, "%.*s", end ? (int)(end - generated) : 0, generated);
}

static void alphabet(const struct task_config *config, char alphabet[KIND_ALPHABET_BYTES])
{
    (void)config;
    snprintf(alphabet, KIND_ALPHABET_BYTES, "abcdefghijklmnopqrstuvwxyz0123456789?='; [:]#");
}

const struct kind kind_index = {
    .alphabet = alphabet, .random_example = random_example, .size = size, .answer = answer};
