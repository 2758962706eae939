/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/sentencepiece.h"

#include <stddef.h>

const char *const sentencepiece_model_names[] = {"unigram", "bpe", NULL};
