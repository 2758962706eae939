/* SPDX-License-Identifier: Apache-2.0 */
#include "rope/rotate.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/strides.h"
#include "base/threads.h"
#include "kernel/rope/rope_kernels.h"

#include <stdlib.h>

/* A thread keeps rows of cosines and sines on its stack, SCRATCH floats of each. A work item is a block of at
 * most MAX_BLOCK tokens of one sequence, about WORK_ITEM elements. */
enum { SCRATCH = 2048, WORK_ITEM = 32768, MAX_BLOCK = 64 };

static rotary_status check_view(const char *name, const char *side, const void *data, rotary_dtype dtype,
                                rotary_error *error)
{
    if (!data)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s.%s.data is NULL; wanted a tensor", name, side);
    if ((unsigned)dtype >= ROTARY_DTYPES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s.%s.dtype is %d; wanted f32, f16 or bf16", name,
                           side, (int)dtype);
    return ROTARY_OK;
}

/* Heads whose channels can be counted. */
#define MAX_HEADS ((int64_t)1 << 31)

/* Vectors of an output that overlap would be rotated twice, or written by two threads. */
static rotary_status check_strides(const struct rotary_rope_rotation *rotation, const char *name,
                                   const rotary_rope_tensor *tensor, rotary_error *error)
{
    const rotary_rope_const_view *input = &tensor->input;
    const rotary_rope_view *output = &tensor->output;
    const struct rotary_vectors read = {
        .tensor = name,
        .member = ".input",
        .length = rotation->rope->span.head_dim,
        .element_bytes = rotary_dtype_size(input->dtype),
        .extents = {rotation->batch, rotation->time, tensor->heads},
        .strides = {input->batch_stride, input->time_stride, input->head_stride}};
    struct rotary_vectors written = read;
    written.member = ".output";
    written.element_bytes = rotary_dtype_size(output->dtype);
    written.strides[0] = output->batch_stride;
    written.strides[1] = output->time_stride;
    written.strides[2] = output->head_stride;
    rotary_status status = rotary_check_offsets(&read, error);
    if (!status)
        status = rotary_check_offsets(&written, error);
    return status ? status : rotary_check_strides(&written, error);
}

static bool in_place(const rotary_rope_tensor *tensor)
{
    return tensor->input.data == tensor->output.data;
}

static bool same_layout(const rotary_rope_const_view *a, const rotary_rope_view *b)
{
    return a->dtype == b->dtype && a->batch_stride == b->batch_stride && a->time_stride == b->time_stride &&
           a->head_stride == b->head_stride;
}

static void ignore_unused_strides(int64_t entries, int64_t *input_stride, int64_t *output_stride)
{
    if (entries == 1)
        *input_stride = *output_stride = 0;
}

static rotary_status check_tensor(const struct rotary_rope_rotation *rotation, const char *name,
                                  rotary_rope_tensor *tensor, rotary_error *error)
{
    rotary_rope_view *output = &tensor->output;
    ignore_unused_strides(rotation->batch, &tensor->input.batch_stride, &output->batch_stride);
    ignore_unused_strides(rotation->time, &tensor->input.time_stride, &output->time_stride);
    ignore_unused_strides(tensor->heads, &tensor->input.head_stride, &output->head_stride);
    rotary_status status = check_view(name, "input", tensor->input.data, tensor->input.dtype, error);
    if (!status)
        status = check_view(name, "output", output->data, output->dtype, error);
    if (!status && (tensor->heads < 1 || tensor->heads > MAX_HEADS))
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s.heads is %lld; wanted 1 ... %lld", name,
                             (long long)tensor->heads, (long long)MAX_HEADS);
    if (!status && rotation->batch > 0 && rotation->time > 0)
        status = check_strides(rotation, name, tensor, error);
    if (!status && in_place(tensor) && !same_layout(&tensor->input, output))
        status = rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s has the same data as input and output, but not the same type and strides; wanted both for a "
            "rotation in place",
            name);
    return status;
}

rotary_status rotary_rope_check_tensors(struct rotary_rope_rotation *rotation, rotary_error *error)
{
    static const char *const names[ROTARY_ROLES] = {"query", "key", "value"};
    rotary_status status = rotary_check_tokens(rotation->batch, rotation->time, error);
    for (int role = 0; role < ROTARY_ROLES && !status; role++)
        if (rotation->tensors[role].input.data)
            status = check_tensor(rotation, names[role], &rotation->tensors[role], error);
    return status;
}

struct block {
    int64_t batch, time, times;
};

static const void *input_at(const rotary_rope_const_view *view, int64_t batch, int64_t time, int64_t channel)
{
    int64_t element = batch * view->batch_stride + time * view->time_stride + channel;
    return (const char *)view->data + element * (int64_t)rotary_dtype_size(view->dtype);
}

static void *output_at(const rotary_rope_view *view, int64_t batch, int64_t time, int64_t channel)
{
    int64_t element = batch * view->batch_stride + time * view->time_stride + channel;
    return (char *)view->data + element * (int64_t)rotary_dtype_size(view->dtype);
}

/* Copies channels first ... first + count - 1, which are not rotated, of every head in the block. */
static void copy_channels(const rotary_rope_tensor *tensor, const struct rotary_rope_kernels *kernels,
                          struct block block, int64_t first, int64_t count)
{
    rotary_rope_copy *copy = kernels->copy[tensor->input.dtype][tensor->output.dtype];
    for (int64_t time = block.time; time < block.time + block.times; time++)
        for (int64_t head = 0; head < tensor->heads && count > 0; head++)
            copy(input_at(&tensor->input, block.batch, time, head * tensor->input.head_stride + first),
                 output_at(&tensor->output, block.batch, time, head * tensor->output.head_stride + first),
                 count);
}

static void rotate_channels(const rotary_rope *rope, const rotary_rope_tensor *tensor, struct block block,
                            struct rotary_rows rows)
{
    const struct rotary_span *span = &rope->span;
    const rotary_rope_const_view *input = &tensor->input;
    const rotary_rope_view *output = &tensor->output;
    rotary_rope_rotate *rotate = rope->kernels->rotate[span->pairing][input->dtype][output->dtype];
    int64_t channel = span->start + (span->pairing == ROTARY_PAIRING_HALF ? rows.first : 2 * rows.first);
    /* Memory is visited in order: head by head if the tokens of a head are closer than its heads. */
    bool by_head =
        block.times > 1 && tensor->heads > 1 && llabs(input->head_stride) > llabs(input->time_stride);
    int64_t heads = by_head ? 1 : tensor->heads;
    for (int64_t head = 0; head < tensor->heads; head += heads) {
        struct rotary_rope_tile tile = {
            .input = input_at(input, block.batch, block.time, head * input->head_stride + channel),
            .output = output_at(output, block.batch, block.time, head * output->head_stride + channel),
            .times = block.times,
            .heads = heads,
            .pairs = rows.count,
            .input_time_stride = input->time_stride,
            .input_head_stride = input->head_stride,
            .output_time_stride = output->time_stride,
            .output_head_stride = output->head_stride,
            .partner = rope->pairs,
            .cosine = rows.cosine,
            .sine = rows.sine,
        };
        rotate(&tile);
    }
}

static bool find_stored_rows(const struct rotary_rope_rotation *rotation, enum rotary_rope_role role,
                             struct block block, struct rotary_rows *rows)
{
    return rotation->stored_rows && rows->count == rotation->rope->pairs &&
           rotation->stored_rows(rotation->context, role, block.batch, block.time, block.times, rows);
}

/* Rotates pairs first ... first + count - 1 of a block of tokens in every tensor. */
static void rotate_block(const struct rotary_rope_rotation *rotation, struct block block, int64_t first,
                         int64_t count)
{
    float cosine[SCRATCH], sine[SCRATCH];
    bool filled = false;
    for (int role = 0; role < ROTARY_ROLES; role++) {
        const rotary_rope_tensor *tensor = &rotation->tensors[role];
        struct rotary_rows rows = {first, count, cosine, sine};
        if (!tensor->input.data)
            continue;
        if (!find_stored_rows(rotation, (enum rotary_rope_role)role, block, &rows)) {
            for (int64_t row = 0; row < block.times && !(filled && rotation->same_rows); row++)
                rotation->source(rotation->context, (enum rotary_rope_role)role, block.batch,
                                 block.time + row,
                                 (struct rotary_row){first, count, cosine + row * count, sine + row * count});
            filled = true;
        }
        rotate_channels(rotation->rope, tensor, block, rows);
    }
}

static int64_t total_heads(const struct rotary_rope_rotation *rotation)
{
    int64_t heads = 0;
    for (int role = 0; role < ROTARY_ROLES; role++)
        heads += rotation->tensors[role].input.data ? rotation->tensors[role].heads : 0;
    return heads;
}

/* Tokens per work item, from the problem's size alone. */
static int64_t block_times(const struct rotary_rope_rotation *rotation)
{
    int64_t times = WORK_ITEM / (total_heads(rotation) * rotation->rope->span.head_dim);
    times = min_i64(times, MAX_BLOCK);
    times = min_i64(times, SCRATCH / rotation->rope->pairs);
    return max_i64(times, 1);
}

static int64_t blocks_of(const struct rotary_rope_rotation *rotation)
{
    return divide_up(rotation->time, block_times(rotation));
}

static void rotate_block_of(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct rotary_rope_rotation *rotation = argument;
    const rotary_rope *rope = rotation->rope;
    int64_t times = block_times(rotation), blocks = blocks_of(rotation);
    struct block block = {.batch = index / blocks, .time = index % blocks * times};
    block.times = min_i64(times, rotation->time - block.time);
    for (int64_t first = 0; first < rope->pairs; first += SCRATCH)
        rotate_block(rotation, block, first, min_i64(rope->pairs - first, SCRATCH));
    int64_t end = rope->span.start + rope->span.dim;
    for (int role = 0; role < ROTARY_ROLES; role++) {
        const rotary_rope_tensor *tensor = &rotation->tensors[role];
        if (!tensor->input.data || in_place(tensor))
            continue;
        copy_channels(tensor, rope->kernels, block, 0, rope->span.start);
        copy_channels(tensor, rope->kernels, block, end, rope->span.head_dim - end);
    }
}

void rotary_rope_rotate_tensors(struct rotary_rope_rotation *rotation)
{
    if (total_heads(rotation) == 0 || rotation->batch == 0 || rotation->time == 0)
        return;
    rotary_parallel_for(rotation->rope->threads, rotation->batch * blocks_of(rotation), rotate_block_of,
                        rotation);
}
