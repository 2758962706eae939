/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a run has begun to learn. While none of two arms has, their comparison says nothing of what is
 * compared: it is "trained too short to rank". (docs/explanation/experiments.md declares the rule.)
 *
 * A run has begun once the validation loss of one of its evaluations is below LEARNED_BELOW times a
 * reference, the loss of a model that does not use what came before:
 *
 *     of a generated task   the loss of a model that knows all of the task but copies nothing, on the run's own
 *                           validation sequences (task_uncopied_loss)
 *     of text               that of a model that gives each token its frequency, where evaluations recorded it
 *                           ("frequency_loss")
 *     of text otherwise     ln(vocab_size), that of a guess
 *
 * Nothing is known of runs with labels, whose scores have baselines of their own, of runs that began with the
 * weights of another, and of those whose configuration lacks what the reference follows from: they count as
 * begun.
 */
#ifndef ROTARY_RECORDS_COMPARISON_LEARNED_H
#define ROTARY_RECORDS_COMPARISON_LEARNED_H

#include "records/records.h"

extern const double learned_below; /* what is nearer to the reference is within its noise */

enum learned_reference { LEARNED_UNKNOWN, LEARNED_UNCOPIED, LEARNED_FREQUENCY, LEARNED_GUESS };
/* "a model that copies nothing" */
extern const char *const learned_reference_names[];

struct learned {
    enum learned_reference kind;
    double reference, lowest; /* loss of the reference, and the lowest of the run's; of LEARNED_UNKNOWN NaN */
    bool begun;
};

/* Judges each record. */
void learned_judge(struct learned *learned, const struct record *records, int count);

#endif
