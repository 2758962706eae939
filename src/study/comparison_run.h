/* SPDX-License-Identifier: Apache-2.0
 *
 * Trains a run for every arm and every seed.
 *
 *     <folder>/compare.json       records/comparison/comparison_file.h
 *     <folder>/<arm>-<seed>/      a run (src/train/run.h), such as roper-3/
 *     <folder>/report.html        made by report_write (src/report/report.h)
 *
 * Runs of the same seed see the same data in the same order, and their parameters of the same name and shape
 * start from the same weights: data is a function of (seed, step, row), initial weights of (seed, name).
 *
 * The results are read from the folder: collection_read (records/collection.h).
 */
#ifndef ROTARY_STUDY_COMPARISON_RUN_H
#define ROTARY_STUDY_COMPARISON_RUN_H

#include "study/comparison_plan.h"
#include "study/run_list.h"

struct compare_call {
    struct comparison_plan_call plan;
    const struct ranks *ranks; /* as in run_list_call */
    const struct backend *backend;
    int jobs; /* and the two calls: as in run_list_call */
    void (*estimated)(void *argument, const struct run_list_estimate *estimate);
    void (*progress)(void *argument, const struct run_progress *progress);
    void *argument;
    const atomic_bool *interrupted; /* as in train_call. May be NULL */
    bool tensorboard;               /* as in train_call */
    const char *commit;             /* likewise */
    run_list_left *left;            /* of comparison_list; else NULL */
};

/* Trains the runs that are not finished, of the sweep first if there is one (sweep.h). A folder that holds a
 * comparison is always resumed: finished runs are kept, an interrupted run resumes, and arms and seeds are
 * added. (What was planned and nobody began is left out again if the call lacks it.) Runs that were trained
 * there by train_run() are taken over. The call may have another log_every and checkpoint_every than the
 * folder, and more steps unless the schedule depends on their number (run_config_check_steps); with more
 * steps finished runs resume, too. Any other difference is ROTARY_INVALID_ARGUMENT, and the message has its
 * key. A folder that holds something else is refused. A run that diverges is finished without a score, and
 * the comparison continues. compare.json changes only if the call adds something, or its results were not
 * seen before: the caller shows them.
 *
 * With `until` the seeds are trained one after the other, until every contrast has a verdict by the test that
 * allows for looking after each (sequential.h), or all are trained. The same call resumes it. */
ROTARY_CHECKED rotary_status comparison_run(const struct compare_call *call, rotary_error *error);
/* What comparison_run would train, and how long it would take, as run_list_preview says it: nothing is
 * trained or written, the folder need not be there. Runs of a sweep are not among them; where its values are
 * not chosen yet, each arm is measured without them. */
ROTARY_CHECKED rotary_status comparison_preview(const struct compare_call *call, run_list_left *left,
                                                rotary_error *error);

/* How far a comparison is. */
enum comparison_stage {
    COMPARISON_SWEEP,    /* runs of the sweep are left; those that compare follow from them */
    COMPARISON_UNTIL,    /* runs are left, after which there may be more seeds, until there is a verdict */
    COMPARISON_RUNS,     /* runs are left, and none follow */
    COMPARISON_FINISHED, /* none are left */
};
/* Trains nothing: calls call->left for the runs of the next stage that are not finished, each of which
 * train_run() may then resume in its folder, wherever and in whichever order (study/run_listing.h). Called again
 * when these are done, it goes on to the stage that follows. The folder gets compare.json as soon as the sweep is
 * done, as comparison_run() writes it, which takes over what was trained. */
ROTARY_CHECKED rotary_status comparison_list(const struct compare_call *call, enum comparison_stage *stage,
                                             rotary_error *error);

#endif
