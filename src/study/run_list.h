/* SPDX-License-Identifier: Apache-2.0
 *
 * A flat list of runs to train, each in its own folder below one folder.
 */
#ifndef ROTARY_STUDY_RUN_LIST_H
#define ROTARY_STUDY_RUN_LIST_H

#include "study/arms.h"
#include "study/estimate.h"
#include "train/train.h"

struct listed_run {
    const char *arm;                 /* its name; borrowed from the arms */
    const struct run_config *config; /* the arm's, checked; borrowed. The seed is the run's own: */
    int64_t seed;
    char name[RUN_NAME_BYTES]; /* of its folder: "roper-3" */
};

struct run_list {
    const char *folder; /* that has the runs' folders; borrowed */
    struct listed_run *runs;
    int count, arms; /* runs[i] is of arm i % arms */
};

/* Every arm with every seed, seed by seed (rope-1, roper-1, rope-2, ...), so that a list that was not
 * finished has pairs. configs: of each arm, as arms_configs makes them; `arms` and they live as long as the
 * list. */
ROTARY_CHECKED rotary_status run_list_create(struct run_list *list, const char *folder,
                                             const struct arms *arms, const struct run_config *configs,
                                             const int64_t *seeds, int seed_count, rotary_error *error);
void run_list_free(struct run_list *list);

/* Checks that the runs that are there already, trained by whichever command, are those of the list: they may
 * differ in log_every and checkpoint_every alone, and have fewer steps unless the schedule depends on their
 * number. Else ROTARY_INVALID_ARGUMENT; the message has the run, the key and both values. */
ROTARY_CHECKED rotary_status run_list_check(const struct run_list *list, const struct backend *backend,
                                            rotary_error *error);

struct run_progress {
    int run, runs;   /* this run, counted from 1; number of runs */
    const char *arm; /* its arm's name */
    int64_t seed;
    const struct train_progress *train; /* NULL: the run was already finished, or diverged */
    int64_t diverged;                   /* the step at which it diverged; 0: it did not */
    int job, jobs;                      /* which of the jobs trains it: 0 ... jobs - 1 */
    int done;                           /* runs that are finished */
};

/* What training will take. */
struct run_list_estimate {
    struct estimate_work work; /* that is left; its runs share the rest of the steps evenly */
    struct estimate estimate;
    int threads; /* of all jobs */
};

/* A run of which something is left to do. */
struct run_left {
    const struct listed_run *run;
    int64_t steps;      /* 0: it has taken all of them, and may lack its last evaluation */
    const char *folder; /* the run's; where runs are handed out */
    json_t *changes;    /* keys that its folder has with other values; where runs are handed out */
};
typedef void run_list_left(void *argument, const struct run_left *left);

enum { RUN_LIST_AUTO = -1 };

struct run_list_call {
    const struct run_list *list;
    int before, total; /* runs of other lists, for progress: those before this one, and all */
    const struct backend *backend;
    int jobs; /* runs side by side, which share the backend's threads; 0: one. RUN_LIST_AUTO: as many as take
                 the least time (study/estimate.h). No more than there is room for */
    int *chosen; /* receives the number of jobs where it was measured. May be NULL */
    /* Called before the first step, unless all runs are finished. May be NULL. */
    void (*estimated)(void *argument, const struct run_list_estimate *estimate);
    /* Called after every step of every run, once at a time, but with several jobs from their threads. May be
     * NULL. */
    void (*progress)(void *argument, const struct run_progress *progress);
    void *argument;
    const atomic_bool *interrupted; /* as in train_call. May be NULL */
    const struct ranks *ranks;      /* that train the list together, one run each; NULL: this process alone */
    bool tensorboard;               /* as in train_call */
    const char *commit;             /* likewise */
    run_list_left *left;            /* not NULL: runs are handed out to it (run_listing.h) */
};

/* The precision of the run's folder: `auto` is that of the backend, as train_run() has it. */
int run_list_precision(const struct run_config *config, const struct backend *backend);
/* Trains nothing: calls `left` for each run in their order, with the steps that it has left (0: it is
 * finished), and then `estimated`, unless all are finished. */
ROTARY_CHECKED rotary_status run_list_preview(const struct run_list_call *call, run_list_left *left,
                                              rotary_error *error);

/* Trains the runs that are not finished, beginning them in their order. Results do not depend on the number
 * of jobs. A run that diverges is finished, and the next one begins. Other failures end it, and so does an
 * interruption: the other runs are then stopped and saved. The message has the run's name. Of several ranks this
 * is called by rank 0 while the others are in rank_runs_follow (study/rank_runs.h). */
ROTARY_CHECKED rotary_status run_list_train(const struct run_list_call *call, rotary_error *error);

#endif
