/* SPDX-License-Identifier: Apache-2.0
 *
 * Fused linear cross-entropy: output projection, softmax and cross-entropy by blocks of rows, so that logits
 * exist for one block at a time. One output has a squared error, or is a logit: those of a number of rows one
 * after another, the choices of an example, then have one softmax. Where few rows have a target, as of masked
 * tokens, only these are gathered, and all else is computed for them alone; of sequences that have one target
 * their first token, or the mean of their tokens.
 */
#ifndef ROTARY_LAYER_LOSS_H
#define ROTARY_LAYER_LOSS_H

#include "layer/output_transform.h"

struct loss;

struct loss_config {
    int64_t rows; /* the maximum per call */
    float label_smoothing;
    float softcap; /* of the logits: softcap * tanh(logits / softcap); 0: none */
    bool training;
    bool gathers;                       /* calls may name their rows: of ... */
    int64_t width;                      /* ... hidden channels */
    struct output_transform *transform; /* before the output projection, borrowed; NULL: none */
};

/* Bytes that loss_create allocates for `classes` outputs. */
size_t loss_bytes(const struct backend *backend, int64_t classes, const struct loss_config *config);
/* `output` (width -> vocabulary) is borrowed. */
ROTARY_CHECKED rotary_status loss_create(struct loss **loss, const struct backend *backend,
                                         struct linear *output, const struct loss_config *config,
                                         rotary_error *error);
void loss_destroy(struct loss *loss);

/* What a call reads: all rows of `hidden`, or those that it names. */
struct loss_rows {
    struct matrix hidden; /* [rows, width], storage type */
    const int64_t *index; /* [count] on the host, ascending; NULL: all rows */
    int64_t count;        /* 0 without an index */
    /* [count] on the host: the mean of so many rows from the named one on is read in its place. NULL: the row
     * itself */
    const int64_t *means;
};

struct loss_call {
    struct loss_rows rows;
    /* One for each of them, or for each group of choices, backend memory: classes, of which BATCH_IGNORED
     * (base/batch.h) adds nothing, or of one output numbers for a squared error; NULL: classes are read. */
    const int32_t *targets;
    const float *values;
    int choices;            /* of one output: rows that have one softmax; 0: each row has its own */
    float gradient_scale;   /* of the summed loss: 1 / (targets counted in the step) */
    struct dropout dropout; /* of the transform; probability 0: none */
    /* [rows, width], storage type, contiguous, overwritten: 0 in rows that are not read. data NULL: no
     * backward pass */
    struct matrix d_hidden;
    /* -log p of the class of each target, in nats and on the host; those of ignored ones are not defined.
     * NULL: not wanted, as with `values`. */
    float *losses;
};
/* With a backward pass also accumulates the gradients of transform and output projection, and adds the sums
 * of the call to the step's statistics (backend/parameters.h). `sums`: where they are read to, which waits
 * for the backend; NULL: they are not. */
ROTARY_CHECKED rotary_status loss_run(struct loss *loss, struct parameters *parameters,
                                      const struct loss_call *call, struct loss_sums *sums,
                                      rotary_error *error);

/* Transform and output projection alone: logits [rows that are read, classes] on the host. */
ROTARY_CHECKED rotary_status loss_logits(struct loss *loss, const struct parameters *parameters,
                                         const struct loss_rows *rows, float *logits, rotary_error *error);
/* The most probable classes of each row, on the host. `call` has all members but input, weight and bias. */
ROTARY_CHECKED rotary_status loss_top_classes(struct loss *loss, const struct parameters *parameters,
                                              struct matrix hidden, const struct backend_top_classes *call,
                                              rotary_error *error);

#endif
