/* SPDX-License-Identifier: Apache-2.0 */
#include "task/generated/random_string.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LETTERS = 26 };

void random_string(struct rotary_random *random, int64_t letters, char string[STRING_BYTES])
{
    for (int64_t i = 0; i < letters; i++)
        string[i] = (char)('a' + (int)rotary_random_below(random, LETTERS));
    string[letters] = '\0';
}

void random_length_string(struct rotary_random *random, int64_t max_letters, char string[STRING_BYTES])
{
    const uint32_t lengths = (uint32_t)(max_letters - STRING_MIN_LETTERS + 1);
    random_string(random, STRING_MIN_LETTERS + rotary_random_below(random, lengths), string);
}

void string_example(const char *string, const char *slice, const char *result, struct example *example)
{
    snprintf(example->prompt, TASK_TEXT_BYTES, "?s='%s'; s%s==", string, slice);
    snprintf(example->completion, TASK_TEXT_BYTES, "'%s'#", result);
    example->identity = rotary_hash(string, strlen(string));
}

void string_uncopied(const struct example *example, double length, double slice, double *nats)
{
    static const char before[] = "?s='", between[] = "'; s[", answer[] = "'";
    const double letter = log((double)LETTERS);
    const size_t begin = strlen(before), letters = strcspn(example->prompt + begin, "'"),
                 result = strlen(example->prompt) + strlen(answer),
                 copied = strcspn(example->completion + strlen(answer), "'");
    for (size_t i = 0; i < letters; i++)
        nats[begin + i] = letter;
    nats[begin + letters] = length;
    nats[begin + letters + strlen(between)] = slice;
    for (size_t i = 0; i < copied; i++)
        nats[result + i] = letter;
}

struct problem_size string_size(int64_t letters, const char *slice)
{
    return (struct problem_size){.prompt = (int64_t)(strlen("?s=''; s==") + strlen(slice)) + letters,
                                 .completion = (int64_t)strlen("''#") + letters};
}
