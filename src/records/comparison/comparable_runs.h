/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether runs are alike but for what is compared. Runs that also differ in something else are not paired:
 * nobody could say which of the differences made the result.
 *
 * Seeds may differ, and log_every and checkpoint_every, which change no number. The vocabulary, by the hash
 * of its contents and by its size, may differ where a compared key makes it (one of the task's own, or init);
 * whether scores then compare, records/comparison/comparable_scores.h says. evaluate_every may not: the area
 * under the validation loss and the steps to 90% are measured where a run is evaluated. Nor may steps.
 */
#ifndef ROTARY_RECORDS_COMPARISON_COMPARABLE_RUNS_H
#define ROTARY_RECORDS_COMPARISON_COMPARABLE_RUNS_H

#include "records/comparison/comparison_file.h"
#include "records/records.h"

/* What plain runs differ in, except in `keys`, which are compared: an array of their names. *text becomes a
 * sentence without its full stop, with keys, values and folders, which the caller frees; NULL if the runs are
 * alike. The keys that they differ in are appended to `found`. */
ROTARY_CHECKED rotary_status comparable_runs(char **text, const struct record *records, int count,
                                             const json_t *keys, json_t *found, rotary_error *error);

/* What the runs of a comparison differ in from its compare.json, in the same way. arms: the arm of each run.
 * A run with fewer steps is unfinished, not different. A key that one of them lacks, as another version wrote
 * it, has its default there: comparison_run() checked that. Precision "auto" is that of the first run. */
ROTARY_CHECKED rotary_status comparable_with_comparison(char **text, const struct comparison_file *file,
                                                        const struct record *records, const int *arms,
                                                        int count, rotary_error *error);

#endif
