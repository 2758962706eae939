/* SPDX-License-Identifier: Apache-2.0
 *
 * The character tokenizer: one token per character of a fixed alphabet.
 */
#ifndef ROTARY_TEXT_CHARACTERS_H
#define ROTARY_TEXT_CHARACTERS_H

#include <rotary/status.h>

struct characters {
    int32_t count;       /* tokens 0 ... count - 1 */
    char character[256]; /* of a token */
    int16_t token[256];  /* of a byte; -1 if it is not in the alphabet */
};

/* Makes a vocabulary of the distinct bytes of `alphabet`, in order of first appearance. */
void characters_create(struct characters *characters, const char *alphabet);
/* ROTARY_INVALID_ARGUMENT if a byte is not in the alphabet; the message has the first one and its position,
 * counted from 1. */
ROTARY_CHECKED rotary_status characters_encode(const struct characters *characters, const char *text,
                                               int64_t bytes, int32_t *tokens, rotary_error *error);
/* Writes count characters and a terminating zero. */
void characters_decode(const struct characters *characters, const int32_t *tokens, int64_t count, char *text);

#endif
