/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary_rope_apply against the formula in long double: random plans, shapes, strides, types, positions and
 * directions, in place and not, with every instruction set, in guarded memory. Elements that may not change
 * are compared bit by bit.
 */
#include "rope/elements.h"
#include "support/check.h"
#include "support/guard.h"

#include "base/isa.h"
#include "base/random.h"

#include <rotary/rope.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 150, ROLES = 3, MAX_PAIRS = 3000 };
static const double UNIT = 0x1p-24;

static struct rotary_random random_state;

static int64_t draw(int64_t low, int64_t high)
{
    return low + (int64_t)rotary_random_below(&random_state, (uint32_t)(high - low + 1));
}

/* One tensor of a call: its buffers, and their content before the call. */
struct tensor {
    bool in_place;
    struct guarded input, output;
    int64_t input_elements, output_elements, input_first, output_first;
    void *input_before, *output_before;
};

struct call {
    rotary_rope_config config;
    rotary_rope_apply_call apply;
    struct tensor tensors[ROLES];
    int64_t offsets[8];
    int32_t starts[9];
    double pair_factors[MAX_PAIRS];
    struct guarded array, cosine, sine; /* positions; the caller's tables */
    int axes;
};

/* A stride; sometimes an extreme one if the axis has one entry, where strides are ignored. */
static int64_t arbitrary_stride(int64_t entries, int64_t stride)
{
    return entries > 1 || draw(0, 1) ? stride : draw(0, 1) ? INT64_MAX : INT64_MIN;
}

/* Strides of axes in a random order with random gaps, some of them negative; returns the number of elements
 * and the index of the first. */
static int64_t make_strides(const int64_t sizes[3], int64_t width, int64_t strides[3], int64_t *first)
{
    int order[3] = {0, 1, 2};
    for (int i = 2; i > 0; i--) {
        int other = (int)draw(0, i), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    int64_t extent = width;
    *first = 0;
    for (int i = 0; i < 3; i++) {
        int64_t step = extent + draw(0, 2);
        extent = step * (sizes[order[i]] - 1) + extent;
        bool backwards = draw(0, 3) == 0;
        strides[order[i]] = arbitrary_stride(sizes[order[i]], backwards ? -step : step);
        if (backwards)
            *first += step * (sizes[order[i]] - 1);
    }
    return extent;
}

static void *copy_of(const void *data, int64_t elements, rotary_dtype dtype)
{
    size_t bytes = (size_t)elements * rotary_dtype_size(dtype);
    void *copy = malloc(bytes + 1);
    memcpy(copy, data, bytes);
    return copy;
}

static void *element_at(void *data, int64_t at, rotary_dtype dtype)
{
    return (char *)data + at * (int64_t)rotary_dtype_size(dtype);
}

static void make_tensor(const struct call *call, rotary_rope_tensor *view, struct tensor *tensor, bool at_end)
{
    int64_t width = call->config.head_dim;
    view->heads = draw(1, 4);
    view->input.dtype = (rotary_dtype)draw(0, 2);
    tensor->in_place = draw(0, 1);
    const int64_t sizes[3] = {call->apply.batch, call->apply.time, view->heads};
    int64_t strides[3];
    tensor->input_elements = make_strides(sizes, width, strides, &tensor->input_first);
    view->input.batch_stride = strides[0];
    view->input.time_stride = strides[1];
    view->input.head_stride = strides[2];
    tensor->input =
        guarded_create((size_t)tensor->input_elements * rotary_dtype_size(view->input.dtype), at_end);
    int octaves = view->input.dtype == ROTARY_F16 ? 6 : 20;
    uint64_t seed = (uint64_t)draw(0, 1 << 30);
    for (int64_t i = 0; i < tensor->input_elements; i++)
        rotary_set_element(tensor->input.data, i, view->input.dtype,
                           check_random(seed, (uint64_t)i, octaves));
    view->input.data = element_at(tensor->input.data, tensor->input_first, view->input.dtype);
    tensor->input_before = copy_of(tensor->input.data, tensor->input_elements, view->input.dtype);
    if (tensor->in_place) {
        view->output = (rotary_rope_view){
            element_at(tensor->input.data, tensor->input_first, view->input.dtype), view->input.dtype,
            arbitrary_stride(sizes[0], strides[0]), arbitrary_stride(sizes[1], strides[1]),
            arbitrary_stride(sizes[2], strides[2])};
        tensor->output = tensor->input;
        tensor->output_elements = tensor->input_elements;
        tensor->output_first = tensor->input_first;
    } else {
        view->output.dtype = (rotary_dtype)draw(0, 2);
        tensor->output_elements = make_strides(sizes, width, strides, &tensor->output_first);
        tensor->output =
            guarded_create((size_t)tensor->output_elements * rotary_dtype_size(view->output.dtype), at_end);
        for (int64_t i = 0; i < tensor->output_elements; i++)
            rotary_set_element(tensor->output.data, i, view->output.dtype, 77.0f);
        view->output.data = element_at(tensor->output.data, tensor->output_first, view->output.dtype);
        view->output.batch_stride = strides[0];
        view->output.time_stride = strides[1];
        view->output.head_stride = strides[2];
    }
    tensor->output_before = copy_of(tensor->output.data, tensor->output_elements, view->output.dtype);
}

static rotary_rope_tensor *view_of(struct call *call, int role)
{
    rotary_rope_tensor *views[ROLES] = {&call->apply.query, &call->apply.key, &call->apply.value};
    return views[role];
}

static void make_position_array(struct call *call)
{
    rotary_rope_positions *positions = &call->apply.positions;
    int64_t batch = call->apply.batch, time = call->apply.time;
    positions->array_type = (rotary_position_type)draw(0, 2);
    positions->array_batch_stride = draw(0, 1) ? time : 0;
    int64_t count = positions->array_batch_stride ? batch * time : time;
    if (call->axes > 1 && draw(0, 3)) {
        positions->array_axis_stride = count;
        count *= call->axes;
    }
    positions->array_axis_stride = arbitrary_stride(call->axes, positions->array_axis_stride);
    size_t size = positions->array_type == ROTARY_POSITION_I64 ? 8 : 4;
    call->array = guarded_create((size_t)count * size, draw(0, 1));
    positions->array = call->array.data;
    for (int64_t i = 0; i < count; i++)
        if (positions->array_type == ROTARY_POSITION_I64)
            ((int64_t *)call->array.data)[i] = draw(-3, 131072);
        else if (positions->array_type == ROTARY_POSITION_I32)
            ((int32_t *)call->array.data)[i] = (int32_t)draw(-3, 131072);
        else
            ((float *)call->array.data)[i] = (float)draw(-8, 4000) / 8.0f;
}

static void make_positions(struct call *call)
{
    rotary_rope_positions *positions = &call->apply.positions;
    int64_t batch = call->apply.batch, time = call->apply.time;
    positions->offset = draw(0, 1) ? 0 : draw(-200000, 1000000);
    if (draw(0, 2) == 0) {
        for (int i = 0; i < 8; i++)
            call->offsets[i] = draw(-1000, 1000);
        positions->offsets = call->offsets;
    }
    if (batch == 1 && draw(0, 1)) {
        positions->sequences = draw(1, 8);
        positions->starts = call->starts;
        for (int64_t i = 1; i < positions->sequences; i++)
            call->starts[i] = (int32_t)draw(call->starts[i - 1], time);
        call->starts[positions->sequences] = (int32_t)time;
    }
    if (draw(0, 1))
        make_position_array(call);
}

/* A caller's tables, whose entries need not be cosines and sines. */
static void make_tables(struct call *call)
{
    rotary_rope_tables *tables = &call->apply.tables;
    rotary_rope_positions *positions = &call->apply.positions;
    int64_t pairs = call->config.rotary_dim / 2;
    tables->dtype = (rotary_dtype)draw(0, 2);
    tables->per_token = call->axes > 1 || draw(0, 1);
    tables->row_stride = draw(0, 1) ? 0 : pairs + draw(0, 3);
    int64_t stride = tables->row_stride ? tables->row_stride : pairs;
    tables->batch_stride =
        arbitrary_stride(call->apply.batch, tables->per_token ? call->apply.time * stride : 0);
    tables->rows = call->apply.time + 5;
    int64_t rows = tables->per_token ? call->apply.batch * call->apply.time : tables->rows;
    int64_t elements = (rows - 1) * stride + pairs;
    size_t bytes = (size_t)elements * rotary_dtype_size(tables->dtype);
    call->cosine = guarded_create(bytes, draw(0, 1));
    call->sine = guarded_create(bytes, draw(0, 1));
    tables->cosine = call->cosine.data;
    tables->sine = call->sine.data;
    for (int64_t i = 0; i < elements; i++) {
        rotary_set_element(call->cosine.data, i, tables->dtype, (float)draw(-1000, 1000) / 1001.0f);
        rotary_set_element(call->sine.data, i, tables->dtype, (float)draw(1, 1000) / 1001.0f);
    }
    if (!tables->per_token) { /* positions within the table only */
        positions->array = NULL;
        positions->offsets = NULL;
        positions->offset = draw(0, 5);
    }
}

/* Frequencies, axes and magnitudes of a plan. Their values are tested in test_rope_variants.c. */
static void make_variant(struct call *call)
{
    rotary_rope_config *config = &call->config;
    int64_t pairs = config->rotary_dim / 2;
    call->axes = 1;
    for (int64_t pair = 0; pair < pairs; pair++)
        call->pair_factors[pair] = (double)draw(1, 30) / 10.0;
    if (draw(0, 2) == 0)
        config->pair_factors = call->pair_factors;
    if (draw(0, 2) == 0) {
        config->scaling = ROTARY_SCALING_YARN;
        config->factor = (double)draw(2, 40);
        config->original_positions = 4096;
    }
    if (draw(0, 3) == 0) {
        config->xpos_scale = 1e6;
        config->xpos_origin = (double)draw(-10, 1000);
    }
    if (draw(0, 2) == 0) {
        config->axes = (rotary_axes)draw(1, 3);
        int64_t rest = pairs;
        call->axes = config->axes == ROTARY_AXES_INTERLEAVED ? 3 : (int)draw(2, 4);
        for (int axis = 0; axis < call->axes; axis++) {
            config->sections[axis] = axis == call->axes - 1 ? rest : draw(0, rest);
            rest -= config->sections[axis];
        }
    }
}

static void make(struct call *call, rotary_isa isa)
{
    static const double bases[] = {10000, 500000, 1e6, 2};
    memset(call, 0, sizeof *call);
    call->apply.struct_size = sizeof call->apply;
    rotary_rope_config_default(&call->config);
    /* A few heads have more pairs than a thread keeps rows of. */
    bool huge = draw(0, 29) == 0;
    call->config.head_dim = huge ? draw(5000, 2 * MAX_PAIRS) : draw(2, 150);
    call->config.rotary_dim = 2 * draw(huge ? 2200 : 1, call->config.head_dim / 2);
    call->config.rotary_start = draw(0, call->config.head_dim - call->config.rotary_dim);
    call->config.pairing = (rotary_pairing)draw(0, 1);
    call->config.base = bases[draw(0, 3)];
    call->config.table_positions = draw(0, 1) ? 0 : draw(1, 60);
    call->config.threads = (int)draw(1, 3);
    call->config.isa = isa;
    call->apply.batch = draw(1, 3);
    call->apply.time = draw(0, 9) || huge ? draw(1, huge ? 3 : 12) : draw(60, 150);
    call->apply.direction = (rotary_direction)draw(0, 2);
    make_variant(call);
    make_positions(call);
    if (draw(0, 4) == 0)
        make_tables(call);
    bool at_end = draw(0, 1);
    for (int role = 0; role < ROLES; role++)
        if (draw(0, 1))
            make_tensor(call, view_of(call, role), &call->tensors[role], at_end);
}

static void release(struct call *call)
{
    for (int role = 0; role < ROLES; role++) {
        struct tensor *tensor = &call->tensors[role];
        if (!view_of(call, role)->input.data)
            continue;
        if (!tensor->in_place)
            guarded_destroy(&tensor->output);
        guarded_destroy(&tensor->input);
        free(tensor->input_before);
        free(tensor->output_before);
    }
    if (call->array.mapping)
        guarded_destroy(&call->array);
    if (call->cosine.mapping) {
        guarded_destroy(&call->cosine);
        guarded_destroy(&call->sine);
    }
}

/* The position of a token on an axis, by the definition in rotary/rope.h. */
static double position_of(const struct call *call, int64_t batch, int64_t time, int axis)
{
    const rotary_rope_positions *p = &call->apply.positions;
    int64_t sequence = batch, place = time;
    for (int64_t i = 0; p->starts && i < p->sequences; i++)
        if (time >= p->starts[i] && time < p->starts[i + 1]) {
            sequence = i;
            place = time - p->starts[i];
        }
    int64_t at = axis * p->array_axis_stride + batch * p->array_batch_stride + time;
    double position = (double)place;
    if (p->array)
        position = p->array_type == ROTARY_POSITION_I64   ? (double)((const int64_t *)p->array)[at]
                   : p->array_type == ROTARY_POSITION_I32 ? (double)((const int32_t *)p->array)[at]
                                                          : (double)((const float *)p->array)[at];
    return position + (double)p->offset + (p->offsets ? (double)p->offsets[sequence] : 0.0);
}

/* m c and m s of y = m (x0 c - x1 s), m (x0 s + x1 c), and the bounds of their errors. */
struct factors {
    double cosine, sine, absolute, units;
};

static struct factors plan_factors(const struct call *call, const rotary_rope *rope, int role, int64_t batch,
                                   int64_t time, int64_t pair)
{
    double position = position_of(call, batch, time, rotary_rope_axis(rope, pair));
    long double angle = (long double)position * (long double)rotary_rope_inverse_frequencies(rope)[pair];
    double dim = (double)call->config.rotary_dim, m = rotary_rope_attention_factor(rope);
    if (call->config.xpos_scale > 0)
        m *= pow((2.0 * (double)pair + 0.4 * dim) / (1.4 * dim),
                 (role == 0 ? 1 : -1) * (position - call->config.xpos_origin) / call->config.xpos_scale);
    if (role == 2)
        m = 1.0;
    if (call->apply.direction == ROTARY_INVERSE)
        m = 1.0 / m;
    if (call->apply.direction != ROTARY_FORWARD)
        angle = -angle;
    return (struct factors){.cosine = m * (double)cosl(angle),
                            .sine = m * (double)sinl(angle),
                            .absolute = m * fabs((double)angle) * 0x1p-50,
                            .units = m == 1.0 ? 4 : 6};
}

static struct factors table_factors(const struct call *call, int64_t batch, int64_t time, int64_t pair)
{
    const rotary_rope_tables *tables = &call->apply.tables;
    int64_t stride = tables->row_stride ? tables->row_stride : call->config.rotary_dim / 2;
    int64_t row = tables->per_token ? time : (int64_t)position_of(call, batch, time, 0);
    int64_t at = (tables->per_token ? batch * tables->batch_stride : 0) + row * stride + pair;
    double c = element_get(tables->cosine, at, tables->dtype),
           s = element_get(tables->sine, at, tables->dtype);
    if (call->apply.direction != ROTARY_FORWARD)
        s = -s;
    double square = call->apply.direction == ROTARY_INVERSE ? c * c + s * s : 1.0;
    return (struct factors){.cosine = c / square, .sine = s / square, .units = 8};
}

/* One token of one head. */
struct vector {
    int64_t batch, time, from, to;
};

static void check_vector(struct call *call, const rotary_rope *rope, int role, struct vector at)
{
    const rotary_rope_config *config = &call->config;
    const rotary_rope_tensor *view = view_of(call, role);
    const struct tensor *tensor = &call->tensors[role];
    rotary_dtype in = view->input.dtype, out = view->output.dtype;
    int64_t pairs = config->rotary_dim / 2;
    for (int64_t channel = 0; channel < config->head_dim; channel++) {
        int64_t span_channel = channel - config->rotary_start;
        double x = element_get(tensor->input_before, at.from + channel, in);
        double got = element_get(tensor->output.data, at.to + channel, out);
        if (span_channel < 0 || span_channel >= config->rotary_dim) {
            element_check(got, x, 0, out);
            continue;
        }
        bool half = config->pairing == ROTARY_PAIRING_HALF;
        int64_t pair = half ? span_channel % pairs : span_channel / 2;
        bool second = half ? span_channel >= pairs : span_channel % 2;
        int64_t partner = channel + (half ? pairs : 1) * (second ? -1 : 1);
        double x_other = element_get(tensor->input_before, at.from + partner, in);
        struct factors f = call->apply.tables.cosine
                               ? table_factors(call, at.batch, at.time, pair)
                               : plan_factors(call, rope, role, at.batch, at.time, pair);
        double c = f.cosine, s = second ? f.sine : -f.sine;
        /* Roundings of the table, the magnitude, the products and the sum; then the error of the angle. */
        double error =
            f.units * UNIT * (fabs(x * c) + fabs(x_other * s)) + f.absolute * (fabs(x) + fabs(x_other));
        element_check(got, x * c + x_other * s, error, out);
    }
}

static void check_tensor(struct call *call, const rotary_rope *rope, int role)
{
    const rotary_rope_tensor *view = view_of(call, role);
    const struct tensor *tensor = &call->tensors[role];
    bool *written = calloc((size_t)tensor->output_elements, sizeof *written);
    for (int64_t batch = 0; batch < call->apply.batch; batch++)
        for (int64_t time = 0; time < call->apply.time; time++)
            for (int64_t head = 0; head < view->heads; head++) {
                struct vector at = {.batch = batch, .time = time};
                at.from = tensor->input_first + batch * view->input.batch_stride +
                          time * view->input.time_stride + head * view->input.head_stride;
                at.to = tensor->output_first + batch * view->output.batch_stride +
                        time * view->output.time_stride + head * view->output.head_stride;
                check_vector(call, rope, role, at);
                for (int64_t channel = 0; channel < call->config.head_dim; channel++)
                    written[at.to + channel] = true;
            }
    size_t size = rotary_dtype_size(view->output.dtype);
    int64_t changed = 0;
    for (int64_t i = 0; i < tensor->output_elements; i++)
        changed += !written[i] && memcmp((char *)tensor->output_before + (size_t)i * size,
                                         (char *)tensor->output.data + (size_t)i * size, size) != 0;
    if (!tensor->in_place)
        changed += memcmp(tensor->input_before, tensor->input.data,
                          (size_t)tensor->input_elements * rotary_dtype_size(view->input.dtype)) != 0;
    CHECK_INT(changed, 0);
    free(written);
}

static void test_random(rotary_isa isa, uint64_t seed)
{
    random_state = (struct rotary_random){.key = {.seed = seed, .stream = ROTARY_STREAM_TEST}};
    for (int i = 0; i < CALLS; i++) {
        struct call call;
        make(&call, isa);
        rotary_rope *rope = NULL;
        rotary_error error = {0};
        check_about("%s, seed %llu, call %d, head_dim %lld, rotary_dim %lld", rotary_isa_name(isa),
                    (unsigned long long)seed, i, (long long)call.config.head_dim,
                    (long long)call.config.rotary_dim);
        if (!CHECK(rotary_rope_create(&rope, &call.config, &error) == ROTARY_OK &&
                   rotary_rope_apply(rope, &call.apply, &error) == ROTARY_OK))
            printf("    %s\n", error.message);
        for (int role = 0; role < ROLES && rope; role++)
            if (view_of(&call, role)->input.data)
                check_tensor(&call, rope, role);
        rotary_rope_destroy(rope);
        release(&call);
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    for (int isa = ROTARY_ISA_SCALAR; isa < ROTARY_ISAS; isa++)
        if (rotary_isa_available((rotary_isa)isa))
            test_random((rotary_isa)isa, seed + (uint64_t)isa);
    return check_report();
}
