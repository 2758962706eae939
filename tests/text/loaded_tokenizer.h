/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TEXT_LOADED_TOKENIZER_H
#define TESTS_TEXT_LOADED_TOKENIZER_H

#include "text/tokenizer/tokenizer.h"

/* The tokenizer of a file; NULL, and a failed check, if it is refused. */
struct tokenizer *load_tokenizer(const char *path);

#endif
