/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of a text as BERT has them (Devlin, Chang, Lee and Toutanova, 2019), before they are taken apart
 * into pieces. In this order, for each character:
 *
 *     control characters (tab, line feed and carriage return are white space) and U+FFFD are removed
 *     a Chinese character is a word of its own
 *     accents are stripped: canonical decomposition (NFD) without nonspacing marks
 *     it becomes lower case, each character alone
 *     white space ends a word; a punctuation mark, and any symbol of ASCII, is a word of its own
 *
 * This is the order of the Rust library `tokenizers`, with which transformers tokenises. It differs from
 * Google's program in Python where a capital sigma ends a word (which has two forms in lower case), and in
 * 256 Chinese characters from U+2B820 on, which are no words of their own.
 */
#ifndef ROTARY_TEXT_TOKENIZER_BERT_WORDS_H
#define ROTARY_TEXT_TOKENIZER_BERT_WORDS_H

#include <stdbool.h>
#include <stdint.h>

struct bert_rules {
    bool lower_case;
    bool strip_accents;
    bool split_chinese;
};

/* Whether a character is in the blocks of CJK ideographs that BERT names. */
bool bert_is_chinese(uint32_t point);

/* A longer word has no pieces. */
enum { BERT_WORD_CHARACTERS = 100 };

/* Takes a word: `bytes` bytes of UTF-8, valid during the call; 0: one of more than BERT_WORD_CHARACTERS
 * characters. */
typedef void bert_take_word(void *context, const char *word, int64_t bytes);

/* Calls take(context, ...) for each word of valid UTF-8 text. Takes no memory, however long the text. */
void bert_split(const struct bert_rules *rules, const char *text, int64_t bytes, bert_take_word *take,
                void *context);

#endif
