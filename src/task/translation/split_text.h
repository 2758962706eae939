/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts of a split of the task translation, or the labelled texts of the task classification, as their
 * files have them, for who scores answers that were given before: neither a vocabulary nor a model is needed.
 */
#ifndef ROTARY_TASK_TRANSLATION_SPLIT_TEXT_H
#define ROTARY_TASK_TRANSLATION_SPLIT_TEXT_H

#include "score/translation/bleu.h"
#include "task/task.h"
#include "text/text_lines.h"

struct split_text {
    struct text_lines source, target; /* of as many lines, in order: example i of the split is line i. Their
                                         paths are NULL */
    struct bleu_config bleu;          /* how the task scores translations of it */
};
/* `config`: the keys of a run, those of other tables than the task's are not read. The caller frees *text. A
 * task other than translation is ROTARY_INVALID_ARGUMENT; else errors are those of task_create. */
ROTARY_CHECKED rotary_status split_text_read(struct split_text *text, const json_t *config,
                                             enum task_split split, rotary_error *error);
void split_text_free(struct split_text *text); /* zeroed ones too */

struct labelled_corpus;
/* Reads those of the task classification; *score: what predictions are scored by. The caller frees *corpus,
 * which must not be moved. */
ROTARY_CHECKED rotary_status labelled_text_read(struct labelled_corpus *corpus, enum label_score *score,
                                                const json_t *config, rotary_error *error);

/* How translations of a text are scored that is lower case, or is not. */
struct bleu_config split_text_bleu(bool lowercase);

#endif
