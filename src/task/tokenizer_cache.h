/* SPDX-License-Identifier: Apache-2.0
 *
 * SentencePiece models that this process has trained. Training takes seconds, and a command makes its task
 * several times: to count the steps of an epoch, to measure a step, and for every run of a comparison.
 */
#ifndef ROTARY_TASK_TOKENIZER_CACHE_H
#define ROTARY_TASK_TOKENIZER_CACHE_H

#include "text/tokenizer/sentencepiece.h"

struct tokenizer_cache;

ROTARY_CHECKED rotary_status tokenizer_cache_create(struct tokenizer_cache **cache, rotary_error *error);
void tokenizer_cache_destroy(struct tokenizer_cache *cache); /* NULL is allowed */

/* Does as sentencepiece_train, without counts, and gives the tokenizer of an earlier call with the same
 * configuration and lines (by number and a hash of 64 bits), or else a new one. It belongs to the cache. Any
 * number of threads may call this; one trains at a time, so that two that want the same do not both train it.
 */
ROTARY_CHECKED rotary_status tokenizer_cache_train(struct tokenizer_cache *cache,
                                                   struct tokenizer **tokenizer,
                                                   const struct sentencepiece_config *config,
                                                   const struct text_line *lines, int64_t count,
                                                   rotary_error *error);

#endif
