/* SPDX-License-Identifier: Apache-2.0
 *
 * A sentence that is written word by word.
 */
#include "task/text/synthetic_grammar.h"

#include <string.h>

static void put(struct sentence *sentence, const char *text)
{
    const size_t count = strlen(text);
    if ((size_t)sentence->length + count >= SENTENCE_BYTES)
        return;
    memcpy(sentence->text + sentence->length, text, count + 1);
    sentence->length += (int)count;
}

void sentence_add(struct sentence *sentence, const char *word, const char *ending)
{
    if (!word[0])
        return;
    if (sentence->length > 0)
        put(sentence, sentence->comma ? ", " : " ");
    sentence->comma = false;
    put(sentence, word);
    put(sentence, ending);
    for (const char *at = word; at; at = strchr(at + 1, ' '))
        sentence->words++;
}

void sentence_end(struct sentence *sentence)
{
    put(sentence, ".");
    char *first = sentence->text;
    if (first[0] >= 'a' && first[0] <= 'z')
        first[0] = (char)(first[0] - 'a' + 'A');
}
