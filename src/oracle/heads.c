/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/heads.h"

#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS_TEXT_BYTES = 160 };

const char *const heads_layouts[] = {"time", "heads", "flat", NULL};

/* "[2, S, G, 64]" */
static void heads_text(enum heads_layout layout, const struct heads_names *names, char text[HEADS_TEXT_BYTES])
{
    bool swapped = layout == HEADS_BEFORE_TIME;
    snprintf(text, HEADS_TEXT_BYTES, "[%s%s%s, %s%s%s]", names->batch ? names->batch : "",
             names->batch ? ", " : "", swapped ? names->heads : names->time,
             swapped ? names->time : names->heads, layout == HEADS_FLAT ? " * " : ", ", names->channels);
}

struct digits digits_of(int64_t number)
{
    struct digits digits;
    snprintf(digits.text, sizeof digits.text, "%lld", (long long)number);
    return digits;
}

rotary_status heads_refuse(const struct heads *heads, const struct heads_names *names, const char *more,
                           const struct heads *partner, rotary_error *error)
{
    char shape[HEADS_TEXT_BYTES], wanted[2 * SHAPE_TEXT_BYTES];
    heads_text(heads->layout, names, shape);
    snprintf(wanted, sizeof wanted, "%s%.60s, to go with %.60s", shape, more, partner->tensor.label);
    return tensor_refuse_shape(&heads->tensor, wanted, error);
}

/* [b, i, j, channels] as a new block [b, j, i, channels], which the caller frees. */
static rotary_status swap_axes(const int64_t sizes[4], const struct tensor *tensor, double **swapped,
                               rotary_error *error)
{
    int64_t rows = sizes[0] * sizes[1] * sizes[2], channels = sizes[3];
    *swapped = calloc((size_t)(rows * channels) + 1, sizeof **swapped);
    if (!*swapped)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s: no memory for its axes in another order",
                           tensor->label);
    for (int64_t row = 0; row < rows; row++) {
        int64_t j = row % sizes[2], i = row / sizes[2] % sizes[1], b = row / sizes[2] / sizes[1];
        int64_t there = (b * sizes[2] + j) * sizes[1] + i;
        memcpy(*swapped + there * channels, tensor->values + row * channels,
               (size_t)channels * sizeof **swapped);
    }
    return ROTARY_OK;
}

/* Sets the four sizes from the file's shape; false if the layout has no such shape. */
static bool take_sizes(struct heads *heads, int64_t count, enum heads_also also)
{
    const struct tensor *tensor = &heads->tensor;
    const int64_t *shape = tensor->shape;
    int rank = tensor->dimensions, min = heads->layout == HEADS_FLAT ? 2 : 3;
    bool single = also == HEADS_ALSO_PLAIN && rank == 2 && heads->layout != HEADS_FLAT;
    if (!single && (rank < min || rank > min + 1))
        return false;
    heads->batched = rank == min + 1;
    heads->batch = heads->batched ? shape[0] : 1;
    heads->channels = shape[rank - 1];
    if (single) {
        heads->time = shape[0];
        heads->heads = 1;
    } else if (heads->layout == HEADS_FLAT) {
        heads->time = shape[rank - 2];
        heads->heads = count;
        heads->channels /= count;
        return shape[rank - 1] % count == 0;
    } else {
        bool swapped = heads->layout == HEADS_BEFORE_TIME;
        heads->time = shape[rank - (swapped ? 2 : 3)];
        heads->heads = shape[rank - (swapped ? 3 : 2)];
    }
    return true;
}

/* LABEL has shape [3], wanted [T, D], [T, H, D] or [B, T, H, D] */
static rotary_status refuse_sizes(const struct heads_request *request, const struct tensor *tensor,
                                  rotary_error *error)
{
    char alone[HEADS_TEXT_BYTES], batched[HEADS_TEXT_BYTES], wanted[3 * HEADS_TEXT_BYTES];
    const struct digits number = digits_of(request->count);
    struct heads_names names = request->names;
    names.batch = NULL;
    if (request->layout == HEADS_FLAT)
        names.heads = number.text;
    heads_text(request->layout, &names, alone);
    names.batch = request->names.batch;
    heads_text(request->layout, &names, batched);
    bool plain = request->also == HEADS_ALSO_PLAIN && request->layout != HEADS_FLAT;
    snprintf(wanted, sizeof wanted, "%s%s or %s", plain ? "[T, D], " : "", alone, batched);
    return tensor_refuse_shape(tensor, wanted, error);
}

rotary_status heads_read(const struct heads_request *request, struct heads *heads, rotary_error *error)
{
    *heads = (struct heads){.layout = request->layout};
    rotary_status status = tensor_open(request->label, &heads->tensor, error);
    const struct tensor *tensor = &heads->tensor;
    if (!status)
        status = tensor_check_float(tensor, error);
    if (status)
        return status;
    if (!take_sizes(heads, request->count, request->also))
        return refuse_sizes(request, tensor, error);
    if (tensor->elements == 0 && !(request->also == HEADS_ALSO_EMPTY && heads->time == 0))
        return tensor_refuse_shape(tensor, "no size to be 0", error);
    status = tensor_load(&heads->tensor, error);
    if (status || request->layout != HEADS_BEFORE_TIME)
        return status;
    const int64_t sizes[4] = {heads->batch, heads->heads, heads->time, heads->channels};
    double *values;
    status = swap_axes(sizes, tensor, &values, error);
    if (status)
        return status;
    free(tensor->values);
    heads->tensor.values = values;
    return ROTARY_OK;
}

void heads_set_layout(struct heads *heads, enum heads_layout layout)
{
    int rank = 0;
    bool swapped = layout == HEADS_BEFORE_TIME, flat = layout == HEADS_FLAT;
    int64_t *shape = heads->tensor.shape;
    if (heads->batched)
        shape[rank++] = heads->batch;
    shape[rank++] = swapped ? heads->heads : heads->time;
    if (!flat)
        shape[rank++] = swapped ? heads->time : heads->heads;
    shape[rank++] = flat ? heads->heads * heads->channels : heads->channels;
    heads->tensor.dimensions = rank;
    heads->layout = layout;
}

rotary_status heads_make(const char *label, const struct heads *like, struct heads_sizes sizes,
                         struct heads *made, rotary_error *error)
{
    *made = *like;
    made->tensor = (struct tensor){0};
    made->time = sizes.time;
    made->heads = sizes.heads;
    made->channels = sizes.channels;
    heads_set_layout(made, like->layout);
    return tensor_make(label, like->tensor.type, made->tensor.shape, made->tensor.dimensions, &made->tensor,
                       error);
}

rotary_status heads_join(const struct heads *past, struct heads *heads, rotary_error *error)
{
    if (past->batched != heads->batched || past->batch != heads->batch || past->heads != heads->heads ||
        past->channels != heads->channels) {
        const struct digits batch = digits_of(heads->batch), pairs = digits_of(heads->heads),
                            channels = digits_of(heads->channels);
        const struct heads_names names = {heads->batched ? batch.text : NULL, "P", pairs.text, channels.text};
        return heads_refuse(past, &names, "", heads, error);
    }
    struct heads joined;
    struct heads_sizes sizes = {past->time + heads->time, heads->heads, heads->channels};
    rotary_status status = heads_make(heads->tensor.label, heads, sizes, &joined, error);
    if (status)
        return status;
    int64_t row = heads->heads * heads->channels, before = past->time * row, after = heads->time * row;
    for (int64_t b = 0; b < heads->batch; b++) {
        double *values = joined.tensor.values + b * (before + after);
        memcpy(values, past->tensor.values + b * before, (size_t)before * sizeof *values);
        memcpy(values + before, heads->tensor.values + b * after, (size_t)after * sizeof *values);
    }
    heads_free(heads);
    *heads = joined;
    return ROTARY_OK;
}

rotary_status heads_write(const struct heads *heads, rotary_error *error)
{
    struct tensor written = heads->tensor;
    if (heads->layout != HEADS_BEFORE_TIME)
        return tensor_write(&heads->tensor, error);
    const int64_t sizes[4] = {heads->batch, heads->time, heads->heads, heads->channels};
    rotary_status status = swap_axes(sizes, &heads->tensor, &written.values, error);
    if (!status)
        status = tensor_write(&written, error);
    free(written.values);
    return status;
}

void heads_free(struct heads *heads)
{
    tensor_free(&heads->tensor);
    *heads = (struct heads){0};
}
