/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of the tokenizers that files are accepted as.
 */
#ifndef TESTS_FUZZ_TOKENIZER_CHECKS_H
#define TESTS_FUZZ_TOKENIZER_CHECKS_H

#include "text/tokenizer/tokenizer.h"

enum { FUZZ_TOKENS = 256, FUZZ_TEXT_BYTES = 1 << 12 };

struct fuzz_encoded {
    int32_t tokens[FUZZ_TOKENS]; /* the first of the text, [count] */
    int64_t count;
    char decoded[FUZZ_TEXT_BYTES]; /* their text, of `bytes` bytes, as far as there is room */
    int64_t bytes;
};

/* Encodes a text and decodes its tokens. Fails unless these are there, and their text has the same length
 * without room. False if the text is refused; fails if it has tokens then. */
bool fuzz_encode(const struct tokenizer *tokenizer, struct token_text text, struct fuzz_encoded *encoded);
/* Fails unless what is saved is the same tokenizer. */
void fuzz_check_saved(const struct tokenizer *tokenizer);

#endif
