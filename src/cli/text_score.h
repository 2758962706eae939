/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary evaluate --text and --tokens: the perplexity of any text in a decoder
 * (train/evaluation/text_evaluation.h).
 */
#ifndef ROTARY_CLI_TEXT_SCORE_H
#define ROTARY_CLI_TEXT_SCORE_H

#include "cli/command.h"
#include "train/folder/checkpoint.h"

struct text_score_options {
    const char *text, *tokens, *logits; /* NULL: not given */
    struct option_integer context, stride;
};
enum { TEXT_SCORE_ROWS = 5 };
extern const struct setting text_score_rows[TEXT_SCORE_ROWS];

/* Whether the options ask for the score of a text. */
bool text_score_wanted(const struct text_score_options *options);
/* What is wrong with the options, alone or beside one another. */
ROTARY_CHECKED rotary_status text_score_check(const struct text_score_options *options, rotary_error *error);
/* Loads the model of the folder that the command names, and prints the score. */
enum exit_status text_score_run(const struct invocation *invocation, const struct text_score_options *options,
                                enum checkpoint_kind checkpoint);

#endif
