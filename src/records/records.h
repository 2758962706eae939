/* SPDX-License-Identifier: Apache-2.0
 *
 * A run's config.json and metrics.jsonl (src/train/run.h describes both), read from its folder. This needs
 * neither the model nor the trainer, so a report can be made of runs from other machines.
 */
#ifndef ROTARY_RECORDS_RECORDS_H
#define ROTARY_RECORDS_RECORDS_H

#include "records/record_lengths.h"
#include "score/label_scores.h"
#include "score/measure.h"

#include <jansson.h>
#include <rotary/status.h>

struct record_point {
    int64_t step;
    double loss;
    double tokens_per_second; /* NaN: the line does not say */
};

struct record_evaluation {
    int64_t step;
    int64_t correct, problems; /* problems 0: the task has none */
    double loss;
    double bits_per_byte;  /* of text whose bytes are known; else 0 */
    double frequency_loss; /* of a model that gives each target its frequency; 0: not recorded */
    int64_t translated, test_translated; /* sentences of validation and test set; 0: none was translated */
    double bleu, test_bleu;
    struct label_scores labels, test_labels; /* examples 0: there are none */
    bool averaged;                           /* of the mean of the last checkpoints */
};

struct record_sample { /* of the last evaluation that has samples; strings belong to the record */
    const char *prompt, *answer, *generated;
    bool correct;
};

struct record {
    char *folder;                /* as people know it */
    char *unpacked;              /* where that is read, if it is in an archive; else NULL */
    json_t *config;              /* all of config.json */
    const char *task, *position; /* point into config */
    char *arm;                   /* what the run is compared as: its position encoding, unless a comparison
                                    of other keys names it otherwise */
    int64_t seed, steps;         /* steps: as configured */
    bool averages;               /* at its end it evaluates the mean of its last checkpoints */
    json_t *provenance;          /* a list: what trained it (train/folder/provenance.h); NULL: not recorded */
    int64_t parameters;          /* of the model; 0: not recorded */
    double tokens_per_second;    /* median over its lines; NaN: none says */
    int64_t done;                /* the last step that has a line; 0: none yet */
    int64_t diverged;            /* the step at which training diverged and ended; 0: it did not */
    struct record_point *points;
    int64_t point_count;
    struct record_evaluation *evaluations;
    int64_t evaluation_count;
    struct record_sample *samples;
    int64_t sample_count;
    json_t *sample_lines;          /* owns the samples' strings */
    struct record_lengths lengths; /* scores of its last weights at other lengths */
    char *signature;               /* of the last BLEU (score/translation/bleu.h); NULL: there is none */
};

/* Reads a run's folder. A last line without a newline, which a killed run leaves, is ignored. Any other line
 * that breaks the format, and a step below the one before, is ROTARY_BAD_FILE; the message has the line's
 * number. A folder without metrics.jsonl is a run at step 0. */
ROTARY_CHECKED rotary_status record_read(struct record *record, const char *folder, rotary_error *error);
void record_free(struct record *record);
/* Where its files are read. */
const char *record_place(const struct record *record);

/* Whether the run was evaluated after its last step, or diverged. */
bool record_finished(const struct record *record);
/* NULL if there is none yet. */
const struct record_evaluation *record_last_evaluation(const struct record *record);
/* The scores of labels that a run is judged by: those of the test set where there is one. NULL: there are
 * none. */
const struct label_scores *record_labels(const struct record_evaluation *evaluation);
/* How the run's evaluations are scored; SCORING_LOSS if there is none yet. */
enum scoring record_scoring(const struct record *record);
/* The measure that decides unless another is declared. */
enum measure record_usual_measure(const struct record *record);
/* The measure of a finished run that did not diverge; NaN where its evaluations do not give it. */
double record_measure(const struct record *record, enum measure measure);
/* What a run that diverged counts as beside another: the worst value of a bounded score, its last step of a
 * time, and of a loss that before training, which is what one evaluated at step 0 has, else nearly what the
 * first line of its training does. NaN where the run has logged nothing. */
double record_worst(const struct record *record, enum measure measure);
/* The step of the first evaluation with an exact match of at least `fraction` of its problems, or
 * NOT_REACHED. */
int64_t record_steps_to(const struct record *record, double fraction);

#endif
