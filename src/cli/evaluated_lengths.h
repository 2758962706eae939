/* SPDX-License-Identifier: Apache-2.0
 *
 * --evaluate-lengths and --evaluate-scaling: scores of a model at several lengths of sequences, as a table or
 * as JSON.
 */
#ifndef ROTARY_CLI_EVALUATED_LENGTHS_H
#define ROTARY_CLI_EVALUATED_LENGTHS_H

#include "train/length_evaluation.h"

#include <jansson.h>

enum { MAX_LENGTHS = 16 };

struct evaluated_length {
    int64_t length;
    enum length_scaling scaling;
    double factor;
    bool possible; /* false: nothing was evaluated */
    struct evaluation evaluation;
};
struct evaluated_lengths {
    int count;
    struct evaluated_length scores[MAX_LENGTHS * LENGTH_SCALINGS]; /* by length, then by scaling, as given */
};

/* Reads "256,512" and "none,yarn", NULL for "none", each once: lengths and scalings of *lengths. */
ROTARY_CHECKED rotary_status evaluated_lengths_read(struct evaluated_lengths *lengths, const char *numbers,
                                                    const char *scalings, rotary_error *error);
/* Evaluates all of them; `call` has the rest. */
ROTARY_CHECKED rotary_status evaluated_lengths_run(struct evaluated_lengths *lengths,
                                                   const struct length_call *call, rotary_error *error);
/* A table on stdout, "-" where a model cannot. `trained`: tokens of a sequence in training. */
void evaluated_lengths_print(const struct evaluated_lengths *lengths, int64_t trained);
/* [{"length", "scaling", "factor", "evaluation"}], the last null where a model cannot. */
json_t *evaluated_lengths_json(const struct evaluated_lengths *lengths);

#endif
