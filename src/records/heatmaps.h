/* SPDX-License-Identifier: Apache-2.0
 *
 * What the heads of a run, or of a few sides of runs, look at in a few texts: for the pages and tables of
 * `rotary heatmap`.
 *
 * A side is a run, or the runs of one arm of a comparison. With several runs a side the runs are the units of
 * statistics, paired by seed; with one run a side the texts are, and say nothing of other runs.
 */
#ifndef ROTARY_RECORDS_HEATMAPS_H
#define ROTARY_RECORDS_HEATMAPS_H

#include "records/head_statistics.h"

#include <stdbool.h>

/* A text as a model reads it. */
struct heatmap_text {
    int64_t count;
    char **labels; /* [count], UTF-8, for people to read: one allocation each */
};

/* What a run did with a text. */
struct heatmap_example {
    struct heatmap_text source,
        target; /* that encoder and decoder read; source.count 0: there is no encoder */
    struct attention_weights
        weights[ATTENTION_KINDS]; /* `weights` and `visible` NULL where they are not kept */
};

/* The heads of one kind of attention in a run. */
struct heatmap_heads {
    int64_t layers, heads;        /* layers 0: the model has none of this kind */
    struct head_numbers *numbers; /* [texts, layers, heads] */
    struct head_offsets *offsets; /* [layers, heads], of all texts */
};

struct heatmap_run {
    char *folder;
    int64_t seed;
    int64_t texts;
    struct heatmap_example *examples; /* [texts] */
    struct heatmap_heads kinds[ATTENTION_KINDS];
    double difference; /* the largest of struct attention_weights.difference */
};

struct heatmap_side {
    char *name; /* of the arm */
    struct heatmap_run *runs;
    int run_count; /* the first is shown */
};

enum { HEATMAP_SIDES = 8 }; /* at most */
struct heatmaps {
    char *task;
    int64_t texts;
    int64_t shown;                            /* the first texts, whose weights are kept */
    struct heatmap_side sides[HEATMAP_SIDES]; /* the first is the baseline of the others; all have as many
                                                 runs, run i of each from one seed */
    int side_count;
};
void heatmap_run_free(struct heatmap_run *run);
void heatmaps_free(struct heatmaps *maps);

/* Members of struct head_numbers. */
enum head_number { HEAD_ENTROPY, HEAD_NORMALISED, HEAD_DISTANCE, HEAD_NUMBERS };
extern const char *const head_number_names[]; /* "entropy", "normalised_entropy", "distance", NULL */

/* A mean and its 95% interval, by Student's t. Values that are NaN are left out. */
struct interval {
    int64_t count;    /* of values */
    double mean;      /* NaN without any */
    double low, high; /* NaN with fewer than two, or where all are equal */
};

/* One number of one head, averaged over the texts of a run, with the interval over texts. */
struct interval heatmap_head(const struct heatmap_run *run, enum attention_kind kind, int64_t layer,
                             int64_t head, enum head_number number);

/* Which layers of a kind, and which of their numbers. */
enum { HEATMAP_DEEPER_HALF = -1 }; /* layers L / 2 ... L - 1 of L, rounded down */
struct heatmap_choice {
    enum attention_kind kind;
    int64_t layer; /* or HEATMAP_DEEPER_HALF */
    enum head_number number;
};
/* The mean over the heads of these layers of one side, with an interval over its units. */
struct interval heatmap_layer(const struct heatmaps *maps, int side, struct heatmap_choice choice);
/* That side minus the first, unit by unit. Both must have the layers. */
struct interval heatmap_contrast(const struct heatmaps *maps, int side, struct heatmap_choice choice);
/* Whether that side, not the first, and the first have equally many layers of the kind, and more than none.
 */
bool heatmap_comparable(const struct heatmaps *maps, int side, enum attention_kind kind);
/* Whether the units are runs. */
bool heatmap_units_are_runs(const struct heatmaps *maps);

#endif
