/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores by distance of trained models: measured, printed, drawn, and kept in the runs' folders.
 */
#ifndef ROTARY_CLI_OUTPUT_DECAY_RUNS_H
#define ROTARY_CLI_OUTPUT_DECAY_RUNS_H

#include "cli/command.h"
#include "records/measured_decay.h"
#include "train/evaluation/length_evaluation.h"

struct decay_runs_call {
    const struct invocation *invocation; /* operands: folders of runs or of comparisons */
    int64_t sequences;
    int64_t distance; /* the largest; 0: any */
    int64_t length;   /* of sequences, and the scaling for it; 0: as in training */
    enum length_scaling scaling;
    enum decay_axis by; /* what the lines are by */
    enum checkpoint_kind checkpoint;
    const char *picture;        /* of one run; NULL: none */
    enum decay_measure measure; /* that the picture shows */
};

/* Only the first run of each arm of a comparison counts. */
ROTARY_CHECKED rotary_status decay_runs(const struct decay_runs_call *call, rotary_error *error);

#endif
