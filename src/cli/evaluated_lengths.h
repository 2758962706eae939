/* SPDX-License-Identifier: Apache-2.0
 *
 * --evaluate-lengths and --evaluate-scaling: scores of a model at several lengths of sequences, as a table or
 * as JSON.
 */
#ifndef ROTARY_CLI_EVALUATED_LENGTHS_H
#define ROTARY_CLI_EVALUATED_LENGTHS_H

#include "cli/arguments.h"
#include "study/length_run.h"

enum { MAX_LENGTHS = 16, MAX_WANTED = MAX_LENGTHS * LENGTH_SCALINGS };

/* The two options of a command, over struct length_options. */
struct length_options {
    const char *lengths, *scalings, *factors; /* NULL: not given */
};
enum { LENGTH_OPTION_ROWS = 3 };
extern const struct setting length_option_rows[LENGTH_OPTION_ROWS];

/* What they ask for. */
struct length_request {
    struct length_wanted wanted[MAX_WANTED];
    int count;                        /* 0: nothing */
    char factors[SETTING_JSON_BYTES]; /* of longrope, as in length_call */
};

struct evaluated_length {
    int64_t length;
    enum length_scaling scaling;
    double factor;
    bool possible; /* false: nothing was evaluated */
    struct evaluation evaluation;
};
struct evaluated_lengths {
    int count;
    struct evaluated_length scores[MAX_WANTED]; /* by length, then by scaling, as given */
};

/* Reads "256,512" and "none,yarn" (not given: "none"), each once, and the file of factors. Checks that a run
 * of the configuration can be asked for them (length_check). A comparison does not check the scalings, which
 * some of its arms may have of their own: `of_run` is false. */
ROTARY_CHECKED rotary_status length_options_read(const struct length_options *options,
                                                 const struct run_config *config, bool of_run,
                                                 struct length_request *request, rotary_error *error);
/* What is to be evaluated. */
void evaluated_lengths_want(struct evaluated_lengths *lengths, const struct length_request *request);
/* Evaluates all of them; `call` has the rest. */
ROTARY_CHECKED rotary_status evaluated_lengths_run(struct evaluated_lengths *lengths,
                                                   const struct length_call *call, rotary_error *error);
/* A table on stdout, "-" where a model cannot; of a text also the perplexity by position in the longest
 * sequences. `task` is that of training. */
void evaluated_lengths_print(const struct evaluated_lengths *lengths, const struct task *task);
/* [{"length", "scaling", "factor", "evaluation"}], the last null where a model cannot. */
json_t *evaluated_lengths_json(const struct evaluated_lengths *lengths);

#endif
