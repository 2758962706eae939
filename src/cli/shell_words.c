/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shell_words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool needs_quotes(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,=+:@%";
    return word[0] == 0 || word[strspn(word, plain)] != 0;
}

static char *append_quoted(char *next, const char *word)
{
    *next++ = '\'';
    for (const char *c = word; *c; c++)
        if (*c == '\'')
            next = stpcpy(next, "'\\''");
        else
            *next++ = *c;
    return stpcpy(next, "'");
}

char *shell_words(int count, const char *const *words)
{
    size_t bytes = 1;
    for (int i = 0; i < count; i++)
        bytes += 4 * strlen(words[i]) + 3;
    char *line = malloc(bytes), *next = line;
    if (!line)
        return NULL;
    *line = 0;
    for (int i = 0; i < count; i++) {
        if (i > 0)
            next = stpcpy(next, " ");
        next = needs_quotes(words[i]) ? append_quoted(next, words[i]) : stpcpy(next, words[i]);
    }
    return line;
}
