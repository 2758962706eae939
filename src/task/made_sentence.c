/* SPDX-License-Identifier: Apache-2.0 */
#include "task/made_sentence.h"

#include <string.h>

static void put(struct sentence *sentence, const char *bytes, size_t count)
{
    if (sentence->length + (int)count >= SENTENCE_BYTES - 1)
        return;
    memcpy(sentence->text + sentence->length, bytes, count);
    sentence->length += (int)count;
    sentence->text[sentence->length] = '\0';
}

void sentence_add(struct sentence *sentence, const char *words)
{
    if (!words[0])
        return;
    if (sentence->comma)
        put(sentence, ",", 1);
    sentence->comma = false;
    if (sentence->length > 0)
        put(sentence, " ", 1);
    put(sentence, words, strlen(words));
    for (const char *at = words; at; at = strchr(at + 1, ' '))
        sentence->words++;
}

void sentence_end(struct sentence *sentence, char mark)
{
    put(sentence, &mark, 1);
    char *first = sentence->text;
    if ((unsigned char)first[0] == 0xc3 && (unsigned char)first[1] != 0x9f)
        first[1] = (char)((unsigned char)first[1] & ~0x20u);
    else if (first[0] >= 'a' && first[0] <= 'z')
        first[0] = (char)(first[0] - 'a' + 'A');
}
