/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run left behind: its folder's config.json and metrics.jsonl (src/train/run.h describes both), read
 * back. Nothing here needs the model or the trainer, so reports can be made of runs from elsewhere.
 */
#ifndef ROTARY_STUDY_RECORDS_H
#define ROTARY_STUDY_RECORDS_H

#include <jansson.h>
#include <rotary/status.h>

struct record_point {
    int64_t step;
    double loss;
};

struct record_evaluation {
    int64_t step;
    int64_t correct, problems; /* problems 0: the task has none */
    double loss;
};

struct record_sample { /* of the last evaluation that has any; strings belong to the record */
    const char *prompt, *answer, *generated;
    bool correct;
};

struct record {
    char *folder;
    json_t *config;              /* the whole configuration */
    const char *task, *position; /* point into config */
    int64_t seed, steps;         /* steps: those wanted */
    int64_t done;                /* the last step a line was written for; 0: none yet */
    int64_t diverged;            /* the step training ended at because it diverged; 0: it did not */
    struct record_point *points;
    int64_t point_count;
    struct record_evaluation *evaluations;
    int64_t evaluation_count;
    struct record_sample *samples;
    int64_t sample_count;
    json_t *sample_lines; /* owns the samples' strings */
};

/* Reads a run's folder. A last line without its newline is what a killed run leaves and is passed over; any
 * other line that is not what the format says, and steps that go back, are ROTARY_BAD_FILE, the line named by
 * number. A folder without metrics.jsonl yet is a run at step 0. */
ROTARY_CHECKED rotary_status record_read(struct record *record, const char *folder, rotary_error *error);
void record_free(struct record *record);

/* Whether all wanted steps are done and the last evaluation is of the last step, or the run diverged before:
 * nothing more will come of it. */
bool record_finished(const struct record *record);
/* NULL when there is none yet. */
const struct record_evaluation *record_last_evaluation(const struct record *record);
/* The first evaluation with at least `share` of its problems right; NOT_REACHED. */
int64_t record_steps_to(const struct record *record, double fraction);

#endif
