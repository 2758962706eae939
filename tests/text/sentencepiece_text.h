/* SPDX-License-Identifier: Apache-2.0
 *
 * Text to train SentencePiece on in tests: lines of made-up words, the same for the same seed.
 */
#ifndef TESTS_TEXT_SENTENCEPIECE_TEXT_H
#define TESTS_TEXT_SENTENCEPIECE_TEXT_H

#include "text/tokenizer/sentencepiece.h"

enum { GENERATED_LINES = 400, GENERATED_LINE_BYTES = 128 };
struct generated_text {
    char bytes[GENERATED_LINES][GENERATED_LINE_BYTES];
    struct text_line lines[GENERATED_LINES];
};
void generate_text(struct generated_text *text, uint64_t seed);

#endif
