/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of `rotary attend`: what it is asked, what it reads, and librotary's kernel beside the
 * evaluation.
 */
#ifndef ROTARY_CLI_ATTEND_H
#define ROTARY_CLI_ATTEND_H

#include "cli/heads.h"
#include "cli/reference_attention.h"
#include "cli/rotation.h"

struct attend_options {
    struct rotation_options rotation;
    const char *query, *key, *value, *past_key, *past_value, *key_lengths, *mask;
    const char *output, *weights, *scores, *present_key, *present_value;
    struct option_integer layout, heads, key_heads, stage;
    struct option_real scale, softcap;
    struct option_integer window, window_left, window_right, first_query;
    bool roper, causal, pad_mask;
};

struct attend_work {
    struct heads query, key, value, output;
    struct tensor mask, weights, scores;
    struct rotation rotation;
    struct reference_sequence *sequences;
    struct reference_attention attention;
    int64_t blind;
};

/* Reads queries, keys, values, what stands before them, lengths and mask, and fills in work->attention but
 * for where results go. */
ROTARY_CHECKED rotary_status attend_read(const struct attend_options *options, struct attend_work *work,
                                         rotary_error *error);

/* Runs librotary's kernel on what is not turned yet, and sets *output to its result, [batch, queries, heads,
 * head_dim] in f32, which the caller frees. What it does not do is ROTARY_UNSUPPORTED, and said in *error. */
ROTARY_CHECKED rotary_status attend_kernel(const struct attend_options *options,
                                           const struct common_options *common,
                                           const struct attend_work *work, float **output,
                                           rotary_error *error);

#endif
