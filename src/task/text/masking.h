/* SPDX-License-Identifier: Apache-2.0
 *
 * Masking for masked language modelling (Devlin et al., "BERT", 2019, section 3.1): a share of the tokens is
 * chosen, each by chance alone, and is to be predicted. Of these 80% are replaced by the mask, 10% by a
 * random token, and 10% stay as they are. Tokens are masked anew each time that they are read (Liu et al.,
 * "RoBERTa", 2019, section 4.1).
 *
 * With whole words all tokens of a word are chosen, or none; each is replaced by itself.
 */
#ifndef ROTARY_TASK_TEXT_MASKING_H
#define ROTARY_TASK_TEXT_MASKING_H

#include "base/random.h"
#include "text/tokenizer/tokenizer.h"

struct masking;

/* `probability` is the share that is chosen. ROTARY_INVALID_ARGUMENT for a tokenizer without mask, or with
 * special tokens alone; it is not used afterwards. */
ROTARY_CHECKED rotary_status masking_create(struct masking **masking, const struct tokenizer *tokenizer,
                                            double probability, bool whole_words, rotary_error *error);
void masking_destroy(struct masking *masking); /* NULL is allowed */

/* Whether no word goes on at this token. */
bool masking_begins_word(const struct masking *masking, int32_t token);

/* The most tokens that are masked at once: so many numbers belong to one `first`. */
enum { MASKING_BLOCKS = 1 << 20 };
/* Masks a sequence of `count` tokens, at most MASKING_BLOCKS, of which the first is special. Special tokens,
 * and words with one of them, stay; their classes, and those of all that is not chosen, are BATCH_IGNORED. If
 * chance chooses none, one token or word is taken, each with the same probability; there is none if all are
 * special. What is done to a token follows from the tokens, and the key's random blocks first ...
 * first + count - 1. */
void masking_apply(const struct masking *masking, struct rotary_random_key key, uint64_t first,
                   int32_t *tokens, int32_t *classes, int64_t count);

#endif
