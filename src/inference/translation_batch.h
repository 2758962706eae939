/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of text through a trained encoder–decoder: what `rotary translate` does with some lines at once.
 */
#ifndef ROTARY_INFERENCE_TRANSLATION_BATCH_H
#define ROTARY_INFERENCE_TRANSLATION_BATCH_H

#include "inference/loaded_model.h"
#include "model/generation/search.h"
#include "text/text_lines.h"

/* A line of the input. Its source tokens end with the end token. */
struct translation_source {
    int64_t number;       /* of the line, from 1 */
    char *text;           /* as the tokenizer reads it, ends with a zero byte */
    int64_t first, count; /* its tokens in the batch; count 0: it has no words, and is not translated */
};

/* Some lines and their translations. */
struct translation_batch {
    const struct loaded_model *model;
    struct search_config search;
    bool copy_unknown;              /* an unknown word becomes the source's word that is attended to most */
    const atomic_bool *interrupted; /* may be NULL */

    int64_t count, capacity;            /* lines, at most */
    struct translation_source *sources; /* [capacity] */
    int32_t *tokens;                    /* of all sources */
    int64_t token_count, token_capacity;
    int32_t *found;     /* [capacity * n_best, max_new_tokens] */
    int64_t *generated; /* [capacity * n_best]; -1: there is no such output; BATCH_UNSEARCHED: not yet */
    double *scores;     /* [capacity * n_best] */
    int64_t done;       /* lines that are translated, from the first on */
};
enum { BATCH_UNSEARCHED = -2 };

/* `batch` has the model, the search and what goes with it, and is empty otherwise. */
ROTARY_CHECKED rotary_status translation_batch_create(struct translation_batch *batch, int64_t capacity,
                                                      rotary_error *error);
void translation_batch_free(struct translation_batch *batch);

/* Adds a line to a batch that has room. *left_out: how many of its tokens the model cannot read; it
 * translates those before them. */
ROTARY_CHECKED rotary_status translation_batch_add(struct translation_batch *batch,
                                                   const struct text_line *line, int64_t number,
                                                   int64_t *left_out, rotary_error *error);
/* Translates all lines. When it is interrupted or fails, those before batch->done are translated. */
ROTARY_CHECKED rotary_status translation_batch_run(struct translation_batch *batch, rotary_error *error);
/* Translation `output` of line `line`, 0 ... n_best - 1: its text, which the caller frees, and its score;
 * *text is NULL if there are fewer. A line without words has empty ones, of score 0. */
ROTARY_CHECKED rotary_status translation_batch_text(const struct translation_batch *batch, int64_t line,
                                                    int64_t output, char **text, double *score,
                                                    rotary_error *error);
void translation_batch_clear(struct translation_batch *batch);

#endif
