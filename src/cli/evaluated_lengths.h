/* SPDX-License-Identifier: Apache-2.0
 *
 * --evaluate-lengths and --evaluate-scaling: scores of a model at several lengths of sequences, as a table or
 * as JSON.
 */
#ifndef ROTARY_CLI_EVALUATED_LENGTHS_H
#define ROTARY_CLI_EVALUATED_LENGTHS_H

#include "cli/arguments.h"
#include "report/comparison_table.h"
#include "study/length_scores.h"

/* The two options of a command, over struct length_options. */
struct length_options {
    const char *lengths, *scalings, *factors; /* NULL: not given */
};
enum { LENGTH_OPTION_ROWS = 3 };
extern const struct setting length_option_rows[LENGTH_OPTION_ROWS];

/* What they ask for. */
struct length_request {
    struct length_wanted wanted[MAX_WANTED];
    int count;       /* 0: nothing */
    int64_t trained; /* as in length_call */
    json_t *factors; /* of longrope, as in length_call; owned: json_decref frees it */
};

/* Reads "256,512" and "none,yarn" (not given: "none"), each once, and the file of factors. Checks that a run
 * of the configuration can be asked for them (length_check), which had sequences of `trained` tokens in
 * training. 0: runs of a comparison, whose scalings are not checked, as some arms may have some of their own.
 */
ROTARY_CHECKED rotary_status length_options_read(const struct length_options *options,
                                                 const struct run_config *config, int64_t trained,
                                                 struct length_request *request, rotary_error *error);
/* What is to be evaluated. */
void evaluated_lengths_want(struct length_scores *lengths, const struct length_request *request);
/* A table on stdout, "-" where a model cannot; of a text also the perplexity by position in the longest
 * sequences. */
void evaluated_lengths_print(const struct length_scores *lengths, const struct task *task);
/* [{"length", "scaling", "factor", "evaluation"}], the last null where a model cannot. */
json_t *evaluated_lengths_json(const struct length_scores *lengths);
/* CSV on stdout as `rotary report` has it of the runs of a comparison, under the name of the model's position
 * encoding. */
ROTARY_CHECKED rotary_status evaluated_lengths_csv(const struct length_scores *lengths,
                                                   const struct run_config *config, enum csv_table table,
                                                   rotary_error *error);
/* Replaces the file by the picture of the perplexity by position (positions_picture). */
ROTARY_CHECKED rotary_status evaluated_lengths_draw(const struct length_scores *lengths, const char *path,
                                                    rotary_error *error);

#endif
