/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/rotate_tensor.h"

#include "base/fail.h"
#include "oracle/rounded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory and plans of one call. */
struct work {
    struct heads input;
    struct tensor positions, cosine, sine;
    rotary_rope *rope;        /* rotates by the tables in files */
    struct rotation rotation; /* of the configuration */
    rotary_dtype dtype;
    void *data, *cosine_data, *sine_data;
    int64_t *whole;    /* positions, if they are whole numbers */
    float *fractional; /* if not */
};

/* ---- shapes ---- */

static rotary_status read_input(const struct rotate_tensor_config *config, struct work *work,
                                rotary_error *error)
{
    const struct heads_request request = {
        config->input, config->layout, config->heads, HEADS_ALSO_PLAIN, {"B", "T", "H", "D"}};
    rotary_status status = heads_read(&request, &work->input, error);
    if (status)
        return status;
    bool rounded = config->arithmetic != ROTARY_F32;
    work->dtype = rounded ? config->arithmetic : tensor_dtype(work->input.tensor.type);
    return ROTARY_OK;
}

/* The batch sizes of what is given per token: 1 is broadcast. */
static const char *batch_text(const struct work *work, char text[SHAPE_TEXT_BYTES])
{
    snprintf(text, SHAPE_TEXT_BYTES, "%s%lld", work->input.batch == 1 ? "" : "1 or ",
             (long long)work->input.batch);
    return text;
}

/* ---- cosines and sines in files ---- */

static rotary_status check_cosines(const struct work *work, rotary_error *error)
{
    const struct tensor *cosine = &work->cosine;
    char wanted[2 * SHAPE_TEXT_BYTES], shape[SHAPE_TEXT_BYTES];
    rotary_status status = tensor_check_float(cosine, error);
    if (status)
        return status;
    bool per_token = cosine->dimensions == 3;
    snprintf(wanted, sizeof wanted, "[positions, pairs] or [%s, %lld, pairs], with 1 to %lld pairs",
             batch_text(work, shape), (long long)work->input.time, (long long)work->input.channels / 2);
    if (cosine->dimensions < 2 || cosine->dimensions > 3 ||
        (per_token && ((cosine->shape[0] != work->input.batch && cosine->shape[0] != 1) ||
                       cosine->shape[1] != work->input.time)))
        return tensor_refuse_shape(cosine, wanted, error);
    int64_t pairs = cosine->shape[cosine->dimensions - 1];
    return pairs < 1 || pairs > work->input.channels / 2 || cosine->elements == 0
               ? tensor_refuse_shape(cosine, wanted, error)
               : ROTARY_OK;
}

static rotary_status check_sines(const struct work *work, rotary_error *error)
{
    const struct tensor *cosine = &work->cosine, *sine = &work->sine;
    char wanted[2 * SHAPE_TEXT_BYTES], shape[SHAPE_TEXT_BYTES];
    rotary_status status = tensor_check_float(sine, error);
    if (status)
        return status;
    snprintf(wanted, sizeof wanted, "that of %.100s, %s", cosine->label, tensor_shape_text(cosine, shape));
    return sine->dimensions != cosine->dimensions ||
                   memcmp(sine->shape, cosine->shape, sizeof sine->shape[0] * (size_t)sine->dimensions) != 0
               ? tensor_refuse_shape(sine, wanted, error)
               : ROTARY_OK;
}

/* The plan rotates as many channels as the tables have, whatever the configuration's frequencies. */
static rotary_status make_table_plan(const struct rotate_tensor_config *config, struct work *work,
                                     rotary_error *error)
{
    rotary_rope_config plan;
    rotary_rope_config_default(&plan);
    plan.head_dim = work->input.channels;
    plan.rotary_dim = 2 * work->cosine.shape[work->cosine.dimensions - 1];
    plan.pairing = config->pairing;
    plan.threads = config->rotation.threads;
    plan.isa = config->rotation.isa;
    plan.table_positions = 0;
    const struct rotation *read = &work->rotation;
    if (read->rope) {
        struct rotary_span span = rotary_rope_span(read->rope);
        if (span.dim != plan.rotary_dim)
            return rotary_fail(error, ROTARY_BAD_FILE, "%s has %lld pairs, wanted %lld, as many as %s has",
                               work->cosine.label, (long long)plan.rotary_dim / 2, (long long)span.dim / 2,
                               read->path);
        plan.pairing = span.pairing;
        plan.rotary_start = span.start;
    }
    return rotary_rope_create(&work->rope, &plan, error);
}

static rotary_status read_tables(const struct rotate_tensor_config *config, struct work *work,
                                 rotary_error *error)
{
    rotary_status status = tensor_open(config->cosine, &work->cosine, error);
    if (!status)
        status = check_cosines(work, error);
    if (!status)
        status = tensor_load(&work->cosine, error);
    if (!status)
        status = tensor_open(config->sine, &work->sine, error);
    if (!status)
        status = check_sines(work, error);
    if (!status)
        status = tensor_load(&work->sine, error);
    if (status)
        return status;
    work->cosine_data = tensor_from_double(work->cosine.values, work->cosine.elements, ROTARY_F32);
    work->sine_data = tensor_from_double(work->sine.values, work->sine.elements, ROTARY_F32);
    return work->cosine_data && work->sine_data
               ? ROTARY_OK
               : rotary_fail_memory(error, "for the tables of %s", config->cosine);
}

static rotary_rope_tables file_tables(const struct work *work)
{
    const int64_t *shape = work->cosine.shape;
    bool per_token = work->cosine.dimensions == 3;
    int64_t pairs = shape[work->cosine.dimensions - 1];
    return (rotary_rope_tables){.cosine = work->cosine_data,
                                .sine = work->sine_data,
                                .dtype = ROTARY_F32,
                                .per_token = per_token,
                                .rows = per_token ? 0 : shape[0],
                                .row_stride = pairs,
                                .batch_stride = per_token && shape[0] > 1 ? work->input.time * pairs : 0};
}

static rotary_status make_plan(const struct rotate_tensor_config *config, struct work *work,
                               rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (config->rotation.config)
        status = rotation_make(&config->rotation, work->input.channels, &work->rotation, error);
    if (!status && config->cosine)
        status = read_tables(config, work, error);
    if (status)
        return status;
    return config->cosine ? make_table_plan(config, work, error) : ROTARY_OK;
}

/* ---- positions ---- */

/* The array's strides, from its shape. */
static rotary_status shape_positions(const struct work *work, int axes, rotary_rope_positions *positions,
                                     rotary_error *error)
{
    const struct tensor *tensor = &work->positions;
    const int64_t *shape = tensor->shape;
    int64_t batch = work->input.batch, time = work->input.time;
    int rank = tensor->dimensions;
    bool ends_in_time = rank >= 1 && shape[rank - 1] == time;
    if (rank == 1 && ends_in_time)
        return ROTARY_OK;
    if (rank == 2 && ends_in_time && axes > 1 && shape[0] == axes) {
        positions->array_axis_stride = time;
        return ROTARY_OK;
    }
    if (rank == 2 && ends_in_time && (shape[0] == batch || shape[0] == 1)) {
        positions->array_batch_stride = shape[0] == 1 ? 0 : time;
        return ROTARY_OK;
    }
    if (rank == 3 && ends_in_time && axes > 1 && shape[0] == axes && shape[1] == batch) {
        positions->array_batch_stride = time;
        positions->array_axis_stride = batch * time;
        return ROTARY_OK;
    }
    char wanted[3 * SHAPE_TEXT_BYTES], sequences[SHAPE_TEXT_BYTES], more[SHAPE_TEXT_BYTES] = "";
    if (axes > 1)
        snprintf(more, sizeof more, ", [%d, %lld] or [%d, %lld, %lld]", axes, (long long)time, axes,
                 (long long)batch, (long long)time);
    snprintf(wanted, sizeof wanted, "[%lld]%s[%s, %lld]%s", (long long)time, axes > 1 ? ", " : " or ",
             batch_text(work, sequences), (long long)time, more);
    return tensor_refuse_shape(tensor, wanted, error);
}

static rotary_status read_positions(const struct rotate_tensor_config *config, struct work *work, int axes,
                                    rotary_rope_positions *positions, rotary_error *error)
{
    rotary_status status = tensor_open(config->positions, &work->positions, error);
    if (!status)
        status = shape_positions(work, axes, positions, error);
    if (status)
        return status;
    const struct tensor *tensor = &work->positions;
    if (tensor->type == NPY_BOOL)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s holds %s numbers, wanted whole ones or f32",
                           tensor->label, tensor_type_name(tensor->type));
    status = tensor_load(&work->positions, error);
    if (status)
        return status;
    work->whole = calloc((size_t)tensor->elements, sizeof *work->whole);
    work->fractional = calloc((size_t)tensor->elements, sizeof *work->fractional);
    if (!work->whole || !work->fractional)
        return rotary_fail_memory(error, "for the positions of %s", tensor->label);
    bool whole = true;
    for (int64_t i = 0; i < tensor->elements; i++) {
        double value = tensor->values[i];
        if (!(fabs(value) <= 0x1p53))
            return rotary_fail(error, ROTARY_BAD_FILE, "%s: position %lld is %g, wanted a number up to 2^53",
                               tensor->label, (long long)i, value);
        whole = whole && floor(value) == value;
        work->whole[i] = (int64_t)value;
        work->fractional[i] = (float)value;
    }
    positions->array = whole ? (void *)work->whole : (void *)work->fractional;
    positions->array_type = whole ? ROTARY_POSITION_I64 : ROTARY_POSITION_F32;
    return ROTARY_OK;
}

/* ---- rotating ---- */

/* The 16-bit type of the angles; ROTARY_F32 if they have none. */
static rotary_dtype low_angles(enum rotation_angles angles)
{
    return angles == ANGLES_F16 ? ROTARY_F16 : angles == ANGLES_BF16 ? ROTARY_BF16 : ROTARY_F32;
}

static rotary_status apply(const struct rotate_tensor_config *config, const rotary_rope *rope,
                           const rotary_rope_apply_call *call, rotary_error *error)
{
    const struct rounded_arithmetic arithmetic = {.products = config->arithmetic,
                                                  .angles = low_angles(config->rotation.angles)};
    bool rounded = arithmetic.products != ROTARY_F32 || arithmetic.angles != ROTARY_F32;
    rotary_error wrong = {0};
    rotary_status status = rounded ? rounded_apply(rope, call, config->role, &arithmetic, &wrong)
                                   : rotary_rope_apply(rope, call, &wrong);
    return status ? rotary_fail(error, status, "%.100s: %.400s",
                                config->positions ? config->positions : config->input, wrong.message)
                  : ROTARY_OK;
}

static rotary_status rotate(const struct rotate_tensor_config *config, struct work *work, rotary_error *error)
{
    const rotary_rope *rope = config->cosine ? work->rope : work->rotation.rope;
    rotary_rope_apply_call call = {.struct_size = sizeof call,
                                   .batch = work->input.batch,
                                   .time = work->input.time,
                                   .direction = config->inverse ? ROTARY_INVERSE : ROTARY_FORWARD,
                                   .positions.offset = config->offset};
    rotary_status status = ROTARY_OK;
    if (config->cosine && work->cosine.dimensions == 3 && (config->positions || config->offset != 0))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s has a row for each token, whatever its position: wanted neither positions nor an "
            "offset, or [positions, pairs]",
            work->cosine.label);
    if (config->positions)
        status = read_positions(config, work, rotary_rope_axes(rope), &call.positions, error);
    if (status)
        return status;
    if (config->cosine)
        call.tables = file_tables(work);
    work->data = tensor_from_double(work->input.tensor.values, work->input.tensor.elements, work->dtype);
    if (!work->data)
        return rotary_fail_memory(error, "to rotate %s", config->input);
    rotary_rope_tensor *tensor = rotation_tensor(&call, config->role);
    int64_t head_stride = work->input.channels, time_stride = work->input.heads * head_stride;
    int64_t batch_stride = work->input.time * time_stride;
    tensor->heads = work->input.heads;
    tensor->input = (rotary_rope_const_view){work->data, work->dtype, batch_stride, time_stride, head_stride};
    tensor->output = (rotary_rope_view){work->data, work->dtype, batch_stride, time_stride, head_stride};
    return apply(config, rope, &call, error);
}

/* Moves the input's tensor, with the result in it, to *output. */
static rotary_status write_result(const struct rotate_tensor_config *config, struct work *work,
                                  struct tensor *output, rotary_error *error)
{
    static const enum npy_type types[] = {
        [ROTARY_F32] = NPY_F32, [ROTARY_F16] = NPY_F16, [ROTARY_BF16] = NPY_BF16};
    struct tensor *tensor = &work->input.tensor;
    tensor->label = config->output;
    tensor->type = types[work->dtype];
    tensor_to_double(tensor->values, work->data, tensor->elements, work->dtype);
    rotary_status status = heads_write(&work->input, error);
    if (!status) {
        *output = *tensor;
        *tensor = (struct tensor){0};
    }
    return status;
}

rotary_status rotate_tensor(const struct rotate_tensor_config *config, struct tensor *output,
                            rotary_error *error)
{
    struct work work = {0};
    rotary_status status = read_input(config, &work, error);
    if (!status)
        status = make_plan(config, &work, error);
    if (!status)
        status = rotate(config, &work, error);
    if (!status)
        status = write_result(config, &work, output, error);
    free(work.fractional);
    free(work.whole);
    free(work.data);
    free(work.sine_data);
    free(work.cosine_data);
    rotary_rope_destroy(work.rope);
    rotation_destroy(&work.rotation);
    tensor_free(&work.sine);
    tensor_free(&work.cosine);
    tensor_free(&work.positions);
    heads_free(&work.input);
    return status;
}
