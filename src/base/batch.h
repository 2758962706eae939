/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch: what a task gives and a model reads. Every task uses this structure and leaves out what it does
 * not need. All arrays are borrowed and in the memory of the host.
 */
#ifndef ROTARY_BASE_BATCH_H
#define ROTARY_BASE_BATCH_H

#include <stdint.h>

enum { BATCH_IGNORED = -1 }; /* a class that adds nothing to loss and gradients: PyTorch's ignore_index */

/* Sequences of tokens, one behind another without padding, as the rows of a model's matrices. No sequence
 * attends to another. */
struct token_sequences {
    int64_t batch; /* sequences; 0: there are none */
    int64_t time;  /* tokens of each; not read where their lengths differ, and there are starts: */
    const int32_t
        *starts; /* [batch + 1], from 0: sequence s has the tokens starts[s] ... starts[s + 1] - 1 */
    const int32_t *tokens;    /* [tokens of all] */
    const int32_t *segments;  /* likewise: token types, as BERT has them; NULL: none */
    const int32_t *positions; /* likewise; NULL: 0, 1, 2, ... in every sequence */
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

/* Where sequence s begins; s may be `batch`: where the last one ends. */
static inline int64_t sequence_start(const struct token_sequences *sequences, int64_t s)
{
    return sequences->starts ? sequences->starts[s] : s * sequences->time;
}

static inline int64_t sequence_length(const struct token_sequences *sequences, int64_t s)
{
    return sequence_start(sequences, s + 1) - sequence_start(sequences, s);
}

static inline int64_t token_rows(const struct token_sequences *sequences)
{
    return sequence_start(sequences, sequences->batch);
}

#endif
