/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch: what a task gives and a model reads. Every task uses this structure and leaves out what it does
 * not need. All arrays are borrowed and in the memory of the host.
 */
#ifndef ROTARY_BASE_BATCH_H
#define ROTARY_BASE_BATCH_H

#include <stdint.h>

enum { BATCH_IGNORED = -1 }; /* a class that adds nothing to loss and gradients: PyTorch's ignore_index */

/* Sequences of tokens, as the rows of a model's matrices: row b * time + t is token t of sequence b.
 *
 * Padded: `batch` sequences, of which the first lengths[b] tokens are real. Keys beyond them are not
 * attended. Packed (cu_seqlens): batch is 1, time counts the tokens of all sequences, and sequence s has the
 * tokens starts[s] ... starts[s + 1] - 1. No sequence attends to another. */
struct token_sequences {
    int64_t batch, time;
    const int32_t *tokens;    /* [batch, time] */
    const int32_t *lengths;   /* [batch], 0 ... time; NULL: all are `time`, or sequences are packed */
    const int32_t *starts;    /* [sequences + 1], from 0 to time; NULL: sequences are not packed */
    int64_t sequences;        /* packed ones; 0 without starts */
    const int32_t *segments;  /* [batch, time]: token types, as BERT has them; NULL: none */
    const int32_t *positions; /* [batch, time]; NULL: 0, 1, 2, ... in every sequence */
};

struct batch {
    struct token_sequences input;
    struct token_sequences source; /* what an encoder reads; batch 0: there is none */
    /* A target for each row of `input`, of a classifier for each sequence, or BATCH_IGNORED; NULL: none. */
    const int32_t *classes;
    const float *values; /* a real target for each sequence; NULL: none */
    /* A classifier may take choices: so many sequences one after another are the choices of an example, which
     * has one target: which of them it is. 0: there are none. */
    int choices;
};

static inline int64_t token_rows(const struct token_sequences *sequences)
{
    return sequences->batch * sequences->time;
}

#endif
