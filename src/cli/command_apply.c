/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary apply: turns a tensor with librotary.
 */
#include "base/fail.h"
#include "cli/heads.h"
#include "cli/result.h"
#include "cli/rotation.h"
#include "cli/rounded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct apply_options {
    struct rotation_options rotation;
    const char *cosine, *sine, *input, *output, *positions;
    struct option_integer offset, pairing, role, arithmetic, layout, heads;
    bool inverse;
};

static const char *const role_names[] = {"query", "key", "value", NULL}; /* of enum rotary_rope_role */

static const char *const arithmetic_names[] = {"f32", "f16", "bf16", NULL}; /* of rotary_dtype */
static const char *const angle_names[] = {"f64", "f32", "f16", "bf16",
                                          NULL}; /* behind f64, of rotary_dtype */

#define MEMBER(member) offsetof(struct apply_options, member)
static const struct option apply_table[] = {
    ROTATION_OPTIONS("--config", "the rotation: a model's config.json (see rotary help frequencies)",
                     struct apply_options, rotation),
    {"--cos", OPTION_TEXT, "FILE", MEMBER(cosine),
     .help = "cosines of your own: [positions, pairs], or [B, T, pairs] or [1, T, pairs] of the tokens one "
             "by one; with --config too, that says how channels are paired and where they stand"},
    {"--sin", OPTION_TEXT, "FILE", MEMBER(sine), .help = "sines, likewise"},
    {"--pairing", OPTION_CHOICE, "NAME", MEMBER(pairing), .choices = rope_config_pairings,
     .help = "with --cos and without --config, which channels are a pair: half (i and i + pairs) or "
             "interleaved (2i and 2i + 1) (default: half)"},
    {"--input", OPTION_TEXT, "FILE", MEMBER(input),
     .help = "what is turned: [T, D], [T, H, D] or [B, T, H, D], in f32, f16 or bf16; f64 is rounded to f32 "
             "first"},
    HEADS_LAYOUT_OPTION(struct apply_options, layout),
    {"--heads", OPTION_INTEGER, "N", MEMBER(heads), .min = 1, .max = 1 << 20,
     .help = "with --layout flat, the number of heads"},
    {"--output", OPTION_TEXT, "FILE", MEMBER(output),
     .help = "where the result goes, in the input's type (f64: f32), or that of --arithmetic bf16 or f16"},
    {"--positions", OPTION_TEXT, "FILE", MEMBER(positions),
     .help = "where tokens stand: [T] or [B, T]; of rotations with several axes also [axes, T] or [axes, B, "
             "T]; numbers that are not whole are rounded to f32 (default: 0, 1, 2, ...)"},
    {"--offset", OPTION_INTEGER, "N", MEMBER(offset), .min = -0x1p53, .max = 0x1p53,
     .help = "the first token's position, in place of --positions (default: 0)"},
    {"--as", OPTION_CHOICE, "ROLE", MEMBER(role), .choices = role_names,
     .help = "what the tensor is: query, key or value; they differ where there are magnitudes: values have "
             "none, xPos divides keys by those of queries (default: query)"},
    {"--arithmetic", OPTION_CHOICE, "TYPE", MEMBER(arithmetic), .choices = arithmetic_names,
     .help = "f32, or bf16 or f16 as a model in PyTorch of that type: input, cosines and sines, every "
             "product and every sum are rounded to it (default: f32, rounded once at the end)"},
    {"--angles", OPTION_CHOICE, "TYPE", MEMBER(rotation.angles), .choices = angle_names,
     .help = "f64, f32, or bf16 or f16 as a rotation that was cast to it: frequencies, positions, angles, "
             "cosines and sines are each rounded to it (default: the configuration's \"angles\", else f64)"},
    {"--inverse", OPTION_FLAG, NULL, MEMBER(inverse), .help = "undo the turn, and its magnitude"},
};

/* Everything the call borrows. */
struct work {
    struct heads input;
    struct tensor positions, cosine, sine;
    rotary_rope *rope;        /* that turns by the tables of --cos and --sin */
    struct rotation rotation; /* of --config */
    rotary_dtype dtype;
    void *data, *cosine_data, *sine_data;
    int64_t *whole;    /* positions, if they are whole numbers */
    float *fractional; /* if not */
};

/* ---- shapes ---- */

static rotary_status read_input(const struct apply_options *options, struct work *work, rotary_error *error)
{
    static const struct heads_names names = {"B", "T", "H", "D"};
    rotary_status status = heads_read(options->input, (enum heads_layout)options->layout.value,
                                      options->heads.value, HEADS_ALSO_PLAIN, &names, &work->input, error);
    if (status)
        return status;
    work->dtype = options->arithmetic.value == ROTARY_F32 ? tensor_dtype(work->input.tensor.type)
                                                          : (rotary_dtype)options->arithmetic.value;
    return ROTARY_OK;
}

/* The sequences that what is given for each token may be of: one stands for all. */
static const char *batch_text(const struct work *work, char text[SHAPE_TEXT_BYTES])
{
    snprintf(text, SHAPE_TEXT_BYTES, "%s%lld", work->input.batch == 1 ? "" : "1 or ",
             (long long)work->input.batch);
    return text;
}

/* ---- cosines and sines of the caller's ---- */

static rotary_status check_tables(const struct work *work, rotary_error *error)
{
    const struct tensor *cosine = &work->cosine, *sine = &work->sine;
    char wanted[2 * SHAPE_TEXT_BYTES], shape[SHAPE_TEXT_BYTES];
    rotary_status status = tensor_check_float(cosine, error);
    if (!status)
        status = tensor_check_float(sine, error);
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
    if (pairs < 1 || pairs > work->input.channels / 2 || cosine->elements == 0)
        return tensor_refuse_shape(cosine, wanted, error);
    snprintf(wanted, sizeof wanted, "that of %.100s, %s", cosine->label, tensor_shape_text(cosine, shape));
    if (sine->dimensions != cosine->dimensions ||
        memcmp(sine->shape, cosine->shape, sizeof sine->shape[0] * (size_t)sine->dimensions) != 0)
        return tensor_refuse_shape(sine, wanted, error);
    return ROTARY_OK;
}

/* The plan turns as many channels as the tables have, whatever the configuration says of frequencies. */
static rotary_status make_table_plan(const struct apply_options *options, const struct invocation *invocation,
                                     struct work *work, rotary_error *error)
{
    rotary_rope_config config;
    rotary_rope_config_default(&config);
    config.head_dim = work->input.channels;
    config.rotary_dim = 2 * work->cosine.shape[work->cosine.dimensions - 1];
    config.pairing = (rotary_pairing)options->pairing.value;
    config.threads = (int)invocation->common.threads.value;
    config.isa = (rotary_isa)invocation->common.isa.value;
    config.table_positions = 0;
    const struct rotation *read = &work->rotation;
    if (read->rope) {
        struct rotary_span span = rotary_rope_span(read->rope);
        if (span.dim < work->input.channels && span.dim != config.rotary_dim)
            return rotary_fail(error, ROTARY_BAD_FILE, "%s has %lld pairs, wanted %lld, as many as %s has",
                               work->cosine.label, (long long)config.rotary_dim / 2, (long long)span.dim / 2,
                               read->path);
        config.pairing = span.pairing;
        config.rotary_start = span.start;
    }
    return rotary_rope_create(&work->rope, &config, error);
}

static rotary_status read_tables(const struct apply_options *options, struct work *work, rotary_error *error)
{
    rotary_status status = tensor_read(options->cosine, &work->cosine, error);
    if (!status)
        status = tensor_read(options->sine, &work->sine, error);
    if (!status)
        status = check_tables(work, error);
    if (status)
        return status;
    work->cosine_data = tensor_pack(work->cosine.values, work->cosine.elements, ROTARY_F32);
    work->sine_data = tensor_pack(work->sine.values, work->sine.elements, ROTARY_F32);
    return work->cosine_data && work->sine_data
               ? ROTARY_OK
               : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the tables of %s", options->cosine);
}

static rotary_rope_tables own_tables(const struct work *work)
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

static rotary_status make_plan(const struct apply_options *options, const struct invocation *invocation,
                               struct work *work, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (options->rotation.config)
        status = rotation_make(&options->rotation, &invocation->common, work->input.channels, &work->rotation,
                               error);
    if (!status && options->cosine)
        status = read_tables(options, work, error);
    if (status)
        return status;
    return options->cosine ? make_table_plan(options, invocation, work, error) : ROTARY_OK;
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

static rotary_status read_positions(const struct apply_options *options, struct work *work, int axes,
                                    rotary_rope_positions *positions, rotary_error *error)
{
    rotary_status status = tensor_read(options->positions, &work->positions, error);
    if (!status)
        status = shape_positions(work, axes, positions, error);
    if (status)
        return status;
    const struct tensor *tensor = &work->positions;
    if (tensor->type == NPY_BOOL)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s holds %s numbers, wanted whole ones or f32",
                           tensor->label, tensor_type_name(tensor->type));
    work->whole = calloc((size_t)tensor->elements, sizeof *work->whole);
    work->fractional = calloc((size_t)tensor->elements, sizeof *work->fractional);
    if (!work->whole || !work->fractional)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the positions of %s", tensor->label);
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

/* ---- turning ---- */

/* The type of 16 bits that --angles names; ROTARY_F32 if it is none. */
static rotary_dtype low_angles(const struct apply_options *options)
{
    int64_t angles = options->rotation.angles.value;
    return angles >= 2 ? (rotary_dtype)(angles - 1) : ROTARY_F32;
}

static rotary_status turn(const struct apply_options *options, struct work *work, rotary_error *error)
{
    const rotary_rope *rope = options->cosine ? work->rope : work->rotation.rope;
    rotary_rope_apply_call call = {.struct_size = sizeof call,
                                   .batch = work->input.batch,
                                   .time = work->input.time,
                                   .direction = options->inverse ? ROTARY_INVERSE : ROTARY_FORWARD,
                                   .positions.offset = options->offset.value};
    rotary_status status = ROTARY_OK;
    if (options->positions)
        status = read_positions(options, work, rotary_rope_axes(rope), &call.positions, error);
    if (status)
        return status;
    if (options->cosine)
        call.tables = own_tables(work);
    work->data = tensor_pack(work->input.tensor.values, work->input.tensor.elements, work->dtype);
    if (!work->data)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to turn %s", options->input);
    enum rotary_rope_role role = (enum rotary_rope_role)options->role.value;
    rotary_rope_tensor *tensor = rotation_tensor(&call, role);
    int64_t head_stride = work->input.channels, time_stride = work->input.heads * head_stride;
    int64_t batch_stride = work->input.time * time_stride;
    tensor->heads = work->input.heads;
    tensor->input = (rotary_rope_const_view){work->data, work->dtype, batch_stride, time_stride, head_stride};
    tensor->output = (rotary_rope_view){work->data, work->dtype, batch_stride, time_stride, head_stride};
    rotary_error wrong = {0};
    const struct rounded_arithmetic arithmetic = {.products = (rotary_dtype)options->arithmetic.value,
                                                  .angles = low_angles(options)};
    bool rounded = arithmetic.products != ROTARY_F32 || arithmetic.angles != ROTARY_F32;
    status = rounded ? rounded_apply(rope, &call, role, &arithmetic, &wrong)
                     : rotary_rope_apply(rope, &call, &wrong);
    return status ? rotary_fail(error, status, "%.100s: %.400s",
                                options->positions ? options->positions : options->input, wrong.message)
                  : ROTARY_OK;
}

static rotary_status write_result(const struct apply_options *options, const struct invocation *invocation,
                                  struct work *work, rotary_error *error)
{
    static const enum npy_type types[] = {
        [ROTARY_F32] = NPY_F32, [ROTARY_F16] = NPY_F16, [ROTARY_BF16] = NPY_BF16};
    struct heads written = work->input;
    const struct tensor *output = &written.tensor;
    written.tensor.label = options->output;
    written.tensor.type = types[work->dtype];
    tensor_unpack(written.tensor.values, work->data, output->elements, work->dtype);
    rotary_status status = heads_write(&written, error);
    if (status)
        return status;
    if (invocation->common.json)
        return result_print_json(json_pack("{s:s, s:o, s:s}", "output", options->output, "shape",
                                           tensor_shape_json(output), "type", tensor_type_name(output->type)),
                                 error);
    char shape[SHAPE_TEXT_BYTES];
    printf("%s: %s %s\n", options->output, tensor_shape_text(output, shape), tensor_type_name(output->type));
    return ROTARY_OK;
}

/* ---- the command ---- */

static rotary_status check_options(const struct apply_options *options, rotary_error *error)
{
    const char *wrong = NULL;
    if (!options->input || !options->output)
        wrong = "apply wants --input FILE and --output FILE";
    else if (!options->rotation.config && !options->cosine && !options->sine)
        wrong = "apply wants --config FILE, or --cos FILE and --sin FILE";
    else if (!options->cosine != !options->sine)
        wrong = "--cos and --sin want each other";
    else if (options->rotation.angles.given && !options->rotation.config)
        wrong = "--angles goes with --config: --cos and --sin have their angles behind them";
    else if (options->rotation.angles.given && options->cosine)
        wrong = "--angles and --cos exclude each other";
    else if (options->positions && options->offset.given)
        wrong = "--positions and --offset exclude each other";
    else if (options->pairing.given && (options->rotation.config || !options->cosine))
        wrong = "--pairing goes with --cos alone; with --config, its key \"pairing\" says it";
    else if ((options->layout.value == HEADS_FLAT) != options->heads.given)
        wrong = options->heads.given ? "--heads wants --layout flat" : "--layout flat wants --heads N";
    if (wrong)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s", wrong);
    return tensor_check_output(options->output, error);
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct apply_options *options = invocation->options;
    rotary_error error = {0};
    if (check_options(options, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    struct work work = {0};
    rotary_status status = read_input(options, &work, &error);
    if (!status)
        status = make_plan(options, invocation, &work, &error);
    if (!status)
        status = turn(options, &work, &error);
    if (!status)
        status = write_result(options, invocation, &work, &error);
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
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_apply = {
    .name = "apply",
    .operands = "",
    .summary = "turns a tensor by a RoPE configuration, or by cosines and sines of your own",
    .more = "Files are .npy, or safetensors files with the tensor's name behind a colon if there are several "
            "(model.safetensors:q). The arithmetic is librotary's: f32, rounded once to the tensor's type.",
    .example = "rotary apply --config config.json --input q.npy --offset 100 --output turned.npy\n"
               "turns the queries of tokens at positions 100, 101, ...",
    .options = apply_table,
    .option_count = sizeof apply_table / sizeof apply_table[0],
    .options_size = sizeof(struct apply_options),
    .run = run,
};
