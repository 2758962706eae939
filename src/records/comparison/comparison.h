/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison of runs: grouped by arm, paired by seed, with statistics. It is made from records alone.
 *
 * An arm is one of the configurations that are compared: a position encoding, or a value of another key. Only
 * finished runs count. A run that diverged has no score: it is counted separately and left out of an arm's
 * means. It is the worst run in "the mean without the worst", which is undefined if two or more diverged. In
 * a pair it counts with the worst score that there is, so that an arm gains nothing by runs that diverge.
 */
#ifndef ROTARY_RECORDS_COMPARISON_COMPARISON_H
#define ROTARY_RECORDS_COMPARISON_COMPARISON_H

#include "records/comparison/contrast.h"
#include "records/comparison/learned.h"
#include "records/records.h"

/* The probability that a comparison shows any difference where there is none. */
extern const double comparison_alpha;

/* What an arm costs. */
struct arm_cost {
    int64_t parameters; /* of a model; 0: not recorded */
    /* Time of a token in training, that of the first arm being 1: the median over the seeds that both have
     * finished, from what the runs logged. NaN: none says. */
    double time;
};

struct comparison_arm {
    const char *name; /* "roper", or "value_fraction=0.5"; borrowed */
    int run_count;    /* finished and not diverged */
    int diverged_count;
    /* run_count values, by seed. values[0] owns the memory of all arrays here. */
    double *values[MEASURES]; /* NaN where a run has no such measure */
    /* run_count and then diverged_count values, each by seed. */
    int64_t *steps_to_90; /* step of the first evaluation with 90% exact match, or NOT_REACHED; always
                             NOT_REACHED for a run that diverged */
    int *runs;            /* index into the records */
    struct statistics statistics[MEASURES];
    struct arm_cost cost;
    int unlearned;          /* runs of run_count that have not begun to learn (learned.h) */
    bool too_short;         /* most of them: the arm is trained too short to rank */
    struct reached reached; /* 90% exact match; of run_count + diverged_count runs */
};

enum verdict {
    VERDICT_TOO_FEW,
    VERDICT_TOO_SHORT, /* neither arm has begun to learn (learned.h) */
    VERDICT_NO_SPREAD, /* of equal differences, by the sequential test, which gives no interval of those */
    VERDICT_NO_DIFFERENCE,
    VERDICT_BETTER,
    VERDICT_WORSE
};

/* The results may have been seen before there were as many runs as now, or as many steps. Who goes on until a
 * difference shows finds one too often, unless the test allows for it (sequential.h). */
struct looks {
    const int *seeds;     /* of each time that results were shown, in order: seeds of every arm then */
    const int64_t *steps; /* and steps of a run. NULL: those of now */
    int count;
};

struct comparison {
    const struct record *records; /* borrowed */
    int record_count;
    const char *varied;          /* "position": the keys whose values are compared; borrowed */
    const char *unlike;          /* as requested, or `incomparable`; borrowed */
    char *incomparable;          /* why the scores of the runs do not compare (comparable.h); NULL: they do */
    bool vocabularies_differ;    /* so that losses per token are none of the measures */
    const struct looks *looks;   /* as requested; borrowed */
    int max_pairs;               /* as requested; 0 if there are more pairs than that */
    struct learned *learned;     /* of each record */
    struct comparison_arm *arms; /* the first is the baseline of those that follow */
    int arm_count;
    struct contrast
        *contrasts; /* every other arm with the first; with `all_pairs` also those with each other */
    int contrast_count;
    int enough_pairs; /* that a contrast needs for a verdict */
    /* The contrasts that are judged together, by sign flips of the seeds that any of them has: of all of them
     * or of patterns that are drawn. */
    int family, seeds;
    bool drawn;
    bool all_pairs; /* as requested */
    enum measure
        measures[MEASURES]; /* those that are reported; the first is the primary one, which decides */
    int measure_count;
    enum scoring scoring;
    bool has_problems; /* scored by exact match */
    int64_t problems;  /* of an evaluation */
    int64_t examples;  /* that labels were predicted of; 0: none */
    bool test;         /* labels are those of the test set, else of the validation set */
    int64_t steps;     /* of a run; the maximum where they differ */
    int unfinished;    /* runs that are not finished, begun or not */
    int diverged;      /* records of runs that diverged */
    const struct sentence_scores *sentences;  /* of translations, set by collection_read_answers; NULL: they
                                                 were not read. Borrowed */
    const struct example_scores *predictions; /* of labels, likewise */
};

struct comparison_request {
    const struct record *records; /* of one task; they live as long as the comparison, as do all texts */
    int record_count;
    int planned; /* runs that there are to be; those without a record are unfinished. Fewer than there are
                    records: these are all */
    const char *const *arms; /* names in their order, the baseline first; NULL: in order of appearance */
    int arm_count;
    bool all_pairs;
    const char *varied; /* the keys whose values are compared, "norm, value_fraction"; NULL: "position" */
    const char *unlike; /* what else the runs differ in, as a sentence without its full stop. Then nothing is
                           paired, and there is no verdict. NULL: nothing */
    const struct looks *looks; /* NULL: none */
    int max_pairs; /* seeds are added one at a time, at most so many: the primary measure's intervals are
                      those of the sequential test (sequential.h). 0: they are those of max_t.h */
};

/* Groups the records by record.arm. Two finished records of the same arm and seed are
 * ROTARY_INVALID_ARGUMENT. */
ROTARY_CHECKED rotary_status comparison_create(struct comparison **comparison,
                                               const struct comparison_request *request, rotary_error *error);
void comparison_destroy(struct comparison *comparison);

/* The number of seeds at the first look that saw fewer than are finished now; 0 if there was none. */
int comparison_seen_before(const struct comparison *comparison);
/* Counts steps likewise. */
int64_t comparison_seen_steps(const struct comparison *comparison);
/* What the primary measure shows: a difference to the side of its mean if adjusted_p is at most
 * comparison_alpha. Of a sequential comparison its interval decides. */
enum verdict comparison_decide(const struct comparison *comparison, const struct contrast *contrast);

/* What a run counts as in a pair: its measure; of one that diverged the worst (record_worst). */
double comparison_score(const struct comparison *comparison, int record, enum measure measure);

/* The score of labels that is reported first; MEASURES: the runs have no labels. */
enum measure comparison_label_measure(const struct comparison *comparison);

/* The index of the arm of that name; -1 if there is none. */
int comparison_find(const struct comparison *comparison, const char *name);
/* The contrast of arm `index` with the first; NULL for the first. */
const struct contrast *comparison_contrast(const struct comparison *comparison, int index);

#endif
