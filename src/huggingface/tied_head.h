/* SPDX-License-Identifier: Apache-2.0
 *
 * An output projection that is to be the embedding ("tie_word_embeddings"), and the tensors that a file has
 * of both. As transformers reads them: two that are equal are tied, two that differ are not, whatever
 * config.json says, and one alone is both.
 */
#ifndef ROTARY_HUGGINGFACE_TIED_HEAD_H
#define ROTARY_HUGGINGFACE_TIED_HEAD_H

#include "huggingface/weight_files.h"

enum tied_head {
    TIED_EMBEDDING, /* the embedding is there, and no output; or neither is */
    TIED_OUTPUT,    /* the output is there, and no embedding */
    TIED_BOTH,      /* both, with the same values */
    TIED_NOT        /* both, and they differ: in values, shape or kind */
};

/* What the files have of two tensors by these names. */
enum tied_head tied_head_find(const struct weight_files *weights, const char *embedding, const char *output);

#endif
