/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention over tensors in files, evaluated in double by its equation, and how far librotary's kernel is
 * from it.
 */
#ifndef ROTARY_ORACLE_ATTEND_H
#define ROTARY_ORACLE_ATTEND_H

#include "oracle/attend_position.h"
#include "oracle/heads.h"
#include "oracle/reference_attention.h"
#include "oracle/rotation.h"

#include <rotary/attention.h>

/* The two pairs of which attend_config.rotate is made where encodings are relative. */
enum {
    ATTEND_QUERY_KEY = ROTARY_ROTATE_QUERY | ROTARY_ROTATE_KEY,
    ATTEND_VALUE_OUTPUT = ROTARY_ROTATE_VALUE | ROTARY_ROTATE_OUTPUT
};

struct attend_config {
    struct rotation_request rotation; /* of queries and keys; config NULL: none */
    unsigned rotate;                  /* with a rotation, what it rotates: a sum of rotary_attention_rotate */
    bool key_is_value;                /* values are the rotated keys: `value` and `past_value` are NULL */
    struct attend_position position;
    const char *query, *key, *value;
    const char *past_key, *past_value, *key_lengths, *key_positions, *mask, *sinks; /* NULL: none */
    const char *output;
    const char *weights, *scores, *present_key, *present_value; /* NULL: not written */
    enum heads_layout layout;
    int64_t heads, key_heads; /* of the flat layout */
    enum reference_stage stage;
    const double *scale; /* NULL: 1 / sqrt(head_dim), of deberta 1 / sqrt(3 head_dim), of MLA its model's */
    double softcap;      /* 0: none */
    /* A query at position p attends to the keys at p - before ... p + after; -1: to all on that side. */
    int64_t before, after;
    const int64_t *first_query; /* position; NULL: the last query is at the position of the last key */
    bool pad_mask;              /* keys beyond the mask are masked */
    bool additive_mask;         /* zeros and ones are added too */
    bool run_kernel;            /* compare librotary's kernel too */
    int threads;                /* of the kernel */
    rotary_isa isa;
};

/* librotary's result in f32 against the evaluated one. */
struct attend_kernel_result {
    bool ran;
    rotary_error reason; /* if it did not, or if the largest difference is not finite */
    double largest_difference, largest_output;
};

struct attend_work {
    struct heads query, key, value, output;
    struct tensor mask, sinks, weights, scores;
    struct rotation rotation;
    struct attend_terms terms;
    struct reference_sequence *sequences;
    int64_t *key_positions;
    double *chunks; /* queries that meet other chunks */
    struct reference_attention attention;
    int64_t masked_rows; /* queries that attend to no key */
    struct attend_kernel_result kernel;
};

/* Whether the results can be written, each to a file of its own; called before the work. */
ROTARY_CHECKED rotary_status attend_check_outputs(const struct attend_config *config, rotary_error *error);
/* Reads, evaluates and writes. *work, zero before, is released by attend_free, also after an error. */
ROTARY_CHECKED rotary_status attend_run(const struct attend_config *config, struct attend_work *work,
                                        rotary_error *error);
void attend_free(struct attend_work *work);

/* attend_inputs.c: reads queries, keys, values, the past, lengths and mask, and fills in work->attention but
 * for its results. */
ROTARY_CHECKED rotary_status attend_read(const struct attend_config *config, struct attend_work *work,
                                         rotary_error *error);

/* attend_kernel.c: runs librotary's kernel on the unrotated inputs and sets *output to its result, [batch,
 * queries, heads, head_dim] in f32, which the caller frees. What the kernel does not support is
 * ROTARY_UNSUPPORTED. */
ROTARY_CHECKED rotary_status attend_kernel(const struct attend_config *config, const struct attend_work *work,
                                           float **output, rotary_error *error);
/* The first of the unrotated inputs, for a message, that has a finite number beyond f32; NULL: there is none.
 */
const char *attend_beyond_f32(const struct attend_work *work);

#endif
