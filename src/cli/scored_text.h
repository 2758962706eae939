/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary evaluate --text and --tokens: the perplexity of any text in a decoder (inference/text_score.h).
 */
#ifndef ROTARY_CLI_SCORED_TEXT_H
#define ROTARY_CLI_SCORED_TEXT_H

#include "cli/command.h"
#include "train/folder/checkpoint.h"

struct scored_text_options {
    const char *text, *tokens, *logits; /* NULL: not given */
    struct option_integer context, stride;
};
enum { SCORED_TEXT_ROWS = 5 };
extern const struct setting scored_text_rows[SCORED_TEXT_ROWS];

/* Whether the options ask for the score of a text. */
bool scored_text_wanted(const struct scored_text_options *options);
/* What is wrong with the options, alone or beside one another. */
ROTARY_CHECKED rotary_status scored_text_check(const struct scored_text_options *options,
                                               rotary_error *error);
/* Loads the model of the folder that the command names, and prints the score. */
enum exit_status scored_text_run(const struct invocation *invocation,
                                 const struct scored_text_options *options, enum checkpoint_kind checkpoint);

#endif
