/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/rounded.h"

#include "base/element.h"
#include "base/fail.h"
#include "rope/positions.h"

#include <math.h>
#include <stdlib.h>

/* ---- cosines and sines ---- */

/* librotary rotates the pair (1, 0) of each token to its cosine and sine, magnitude and direction included.
 * heads: [batch, time, head_dim], zeros. */
static rotary_status library_rows(const rotary_rope *rope, const rotary_rope_apply_call *call,
                                  enum rotary_rope_role role, float *heads, rotary_error *error)
{
    struct rotary_span span = rotary_rope_span(rope);
    int64_t channels[2];
    for (int64_t token = 0; token < call->batch * call->time; token++)
        for (int64_t pair = 0; pair < span.dim / 2; pair++) {
            rotation_channels(span, pair, channels);
            heads[token * span.head_dim + channels[0]] = 1;
        }
    rotary_rope_apply_call ask = *call;
    ask.query = ask.key = ask.value = (rotary_rope_tensor){0};
    int64_t stride = span.head_dim;
    *rotation_tensor(&ask, role) = (rotary_rope_tensor){
        .heads = 1,
        .input = {heads, ROTARY_F32, call->time * stride, stride, stride},
        .output = {heads, ROTARY_F32, call->time * stride, stride, stride},
    };
    return rotary_rope_apply(rope, &ask, error);
}

/* Computes it from angles in 16 bits. library_rows has checked the positions. */
static void round_rows(const rotary_rope *rope, const rotary_rope_apply_call *call,
                       enum rotary_rope_role role, rotary_dtype dtype, float *heads)
{
    struct rotary_span span = rotary_rope_span(rope);
    const double *frequencies = rotary_rope_inverse_frequencies(rope);
    double factor = role == ROTARY_ROLE_VALUE ? 1.0 : rotary_rope_attention_factor(rope);
    bool inverse = call->direction != ROTARY_FORWARD;
    float magnitude = (float)(call->direction == ROTARY_INVERSE ? 1.0 / factor : factor);
    for (int64_t token = 0; token < call->batch * call->time; token++) {
        double position[ROTARY_MAX_AXES];
        int64_t channels[2];
        rotary_rope_position(&call->positions, token / call->time, token % call->time, rotary_rope_axes(rope),
                             position);
        for (int64_t pair = 0; pair < span.dim / 2; pair++) {
            float place = rotary_rounded((float)position[rotary_rope_axis(rope, pair)], dtype);
            float frequency = rotary_rounded((float)frequencies[pair], dtype);
            double angle = (double)rotary_rounded(place * frequency, dtype);
            float cosine = rotary_rounded((float)cos(angle), dtype),
                  sine = rotary_rounded((float)sin(angle), dtype);
            float *head = heads + token * span.head_dim;
            rotation_channels(span, pair, channels);
            head[channels[0]] = rotary_rounded(cosine * magnitude, dtype);
            head[channels[1]] = rotary_rounded((inverse ? -sine : sine) * magnitude, dtype);
        }
    }
}

/* ---- rotating ---- */

/* One head of `tensor` at an offset, by the cosines and sines of its token. */
static void rotate_head(struct rotary_span span, const rotary_rope_tensor *tensor, int64_t offset,
                        const float *row, rotary_dtype products)
{
    rotary_dtype dtype = tensor->input.dtype;
    for (int64_t pair = 0; pair < span.dim / 2; pair++) {
        int64_t at[2];
        rotation_channels(span, pair, at);
        float cosine = rotary_rounded(row[at[0]], products), sine = rotary_rounded(row[at[1]], products);
        float x0 = rotary_element(tensor->input.data, offset + at[0], dtype);
        float x1 = rotary_element(tensor->input.data, offset + at[1], dtype);
        float y0 = rotary_rounded(x0 * cosine, products) + rotary_rounded(-x1 * sine, products);
        float y1 = rotary_rounded(x1 * cosine, products) + rotary_rounded(x0 * sine, products);
        rotary_set_element(tensor->output.data, offset + at[0], dtype, rotary_rounded(y0, products));
        rotary_set_element(tensor->output.data, offset + at[1], dtype, rotary_rounded(y1, products));
    }
}

rotary_status rounded_apply(const rotary_rope *rope, const rotary_rope_apply_call *call,
                            enum rotary_rope_role role, const struct rounded_arithmetic *arithmetic,
                            rotary_error *error)
{
    struct rotary_span span = rotary_rope_span(rope);
    rotary_rope_apply_call copy = *call;
    const rotary_rope_tensor *tensor = rotation_tensor(&copy, role);
    float *rows = calloc((size_t)(call->batch * call->time * span.head_dim) + 1, sizeof *rows);
    if (!rows)
        return rotary_fail_memory(error, "for %lld cosines and sines",
                                  (long long)(call->batch * call->time * span.dim));
    rotary_status status = library_rows(rope, call, role, rows, error);
    if (!status && arithmetic->angles != ROTARY_F32)
        round_rows(rope, call, role, arithmetic->angles, rows);
    for (int64_t token = 0; !status && token < call->batch * call->time; token++)
        for (int64_t head = 0; head < tensor->heads; head++) {
            int64_t offset = token / call->time * tensor->input.batch_stride +
                             token % call->time * tensor->input.time_stride +
                             head * tensor->input.head_stride;
            rotate_head(span, tensor, offset, rows + token * span.head_dim, arithmetic->products);
        }
    free(rows);
    return status;
}
