/* SPDX-License-Identifier: Apache-2.0 */
#include "text/characters.h"

#include "base/fail.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void characters_create(struct characters *characters, const char *alphabet)
{
    memset(characters, 0, sizeof *characters);
    for (int byte = 0; byte < 256; byte++)
        characters->token[byte] = -1;
    for (const char *at = alphabet; *at; at++) {
        unsigned char byte = (unsigned char)*at;
        if (characters->token[byte] >= 0)
            continue;
        characters->token[byte] = (int16_t)characters->count;
        characters->character[characters->count++] = *at;
    }
}

/* A byte for a message: the character in quotes if it is printable, else its number. */
static void describe(unsigned char byte, char text[16])
{
    if (isascii(byte) && isprint(byte))
        snprintf(text, 16, "'%c'", byte);
    else
        snprintf(text, 16, "byte 0x%02x", (unsigned)byte);
}

rotary_status characters_encode(const struct characters *characters, const char *text, int64_t bytes,
                                int32_t *tokens, rotary_error *error)
{
    for (int64_t i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (characters->token[byte] < 0) {
            char shown[16];
            describe(byte, shown);
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s at position %lld of the text is not in the alphabet \"%.*s\"", shown,
                               (long long)(i + 1), (int)characters->count, characters->character);
        }
    }
    for (int64_t i = 0; i < bytes; i++)
        tokens[i] = characters->token[(unsigned char)text[i]];
    return ROTARY_OK;
}

void characters_decode(const struct characters *characters, const int32_t *tokens, int64_t count, char *text)
{
    for (int64_t i = 0; i < count; i++)
        text[i] = characters->character[tokens[i]];
    text[count] = '\0';
}
