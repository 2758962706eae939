/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts as lists of words, and where one of them stands within another, inside src/task.
 */
#ifndef ROTARY_TASK_CLASSIFICATION_WORD_RUNS_H
#define ROTARY_TASK_CLASSIFICATION_WORD_RUNS_H

#include "base/hash_table.h"
#include "text/text_lines.h"

struct word_runs {
    int64_t count;           /* of texts */
    uint64_t *words;         /* [starts[count]]: a hash of each word, text by text */
    uint64_t *prefixes;      /* [starts[count] + count]: hashes of the first 0, 1, ... words of each text */
    uint64_t *powers;        /* [longest + 1] */
    int64_t *starts;         /* [count + 1] in `words` */
    int64_t longest;         /* words of the longest text */
    struct hash_table texts; /* by the hash of all their words; of equal texts the first alone */
    bool *has_length;        /* [longest + 1]: there is a text of so many words */
    int64_t *same;           /* [count]: the first text with the same words */
};

/* Words are what white space separates. Two are taken for the same if their hashes of 64 bits are. */
ROTARY_CHECKED rotary_status word_runs_create(struct word_runs *runs, const struct text_line *texts,
                                              int64_t count, rotary_error *error);
void word_runs_free(struct word_runs *runs); /* zeroed ones too */

/* Sets marked[i] for every text i that is a part of text `whole` and shorter than it, the first of its copies
 * alone. Empty texts are parts of nothing. */
void word_runs_mark_parts(const struct word_runs *runs, int64_t whole, bool *marked);
/* A hash of the words of a text. */
uint64_t word_runs_hash(const struct word_runs *runs, int64_t text);

#endif
