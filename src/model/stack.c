/* SPDX-License-Identifier: Apache-2.0
 *
 * Creation of a stack: its sublayers and norms, and its memory.
 */
#include "model/stack.h"

#include "base/fail.h"
#include "base/integer.h"
#include "model/stack_parts.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 96 };

static void layer_name(char name[NAME_BYTES], const struct stack_config *config, int64_t k,
                       const char *suffix)
{
    snprintf(name, NAME_BYTES, "%slayers.%lld.%s%s", config->prefix, (long long)(k / config->parts),
             config->block[k % config->parts].name, suffix);
}

static rotary_status add_sublayer(struct stack *stack, const struct stack_config *config, int64_t k,
                                  struct parameters *parameters, rotary_error *error)
{
    const struct stack_part *part = &config->block[k % config->parts];
    char name[NAME_BYTES];
    layer_name(name, config, k, "");
    stack->sublayers[k].first_row = parameters->count;
    struct sublayer_config sublayer = part->config;
    sublayer.name = name;
    sublayer.width = config->width;
    sublayer.batch = config->batch;
    sublayer.time = config->time;
    sublayer.training = config->training;
    sublayer.packed = config->packed;
    sublayer.positions = config->positions;
    sublayer.measured = config->measured;
    sublayer.initial.depth = (double)stack->count;
    if (part->plans)
        sublayer.attention = part->plans[k / config->parts];
    return sublayer_create(&stack->sublayers[k].sublayer, part->type, stack->backend, &sublayer, parameters,
                           error);
}

static rotary_status add_norm(struct norm *norm, const struct stack_config *config, const char *name,
                              struct parameters *parameters, rotary_error *error)
{
    const struct norm_config made = {
        .name = name, .kind = config->norm, .width = config->width, .epsilon = config->norm_epsilon};
    return norm_create(norm, &made, parameters, error);
}

/* Where sublayers[k] reads the stream, and whether through the norm of that point. */
static rotary_status wire(struct stack *stack, int64_t k, rotary_error *error)
{
    struct stack_sublayer *row = &stack->sublayers[k];
    const struct sublayer_wiring *wiring = &row->wiring;
    row->reads = wiring->parallel && row->part > 0 ? stack->sublayers[k - 1].reads : k;
    bool after_sum_norm = row->reads > 0 && stack->sublayers[row->reads - 1].wiring.norm_sum;
    row->has_own_norm = wiring->parallel ? !wiring->shared_norm : wiring->norm_input && after_sum_norm;
    if (wiring->parallel && row->part == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the first sublayer of a block is parallel: wanted one before it in the block");
    if (wiring->parallel && stack->sublayers[k - 1].wiring.norm_sum)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "a parallel sublayer comes after a norm of the sum: wanted that norm after the last "
            "of the sublayers that read the same");
    if (wiring->shared_norm && (!wiring->parallel || stack->sublayers[row->reads].has_own_norm))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "a sublayer shares a norm that is not there: wanted a parallel sublayer, and no norm "
            "of the sum before its norm");
    return ROTARY_OK;
}

/* The norm at point k: P_k of the sublayer before it, else N_(k+1) of the sublayer after it, or the final
 * norm. */
static rotary_status add_fused_norm(struct stack *stack, const struct stack_config *config, int64_t k,
                                    struct parameters *parameters, rotary_error *error)
{
    struct stream_point *point = &stack->points[k];
    const struct stack_sublayer *next = k < stack->count ? &stack->sublayers[k] : NULL;
    char name[NAME_BYTES];
    point->has_next = next ? !stack_waits(stack, k) : true;
    point->is_read = point->has_next;
    for (int64_t j = k; j < stack->count && stack->sublayers[j].reads == k; j++)
        point->is_read = point->is_read || !stack->sublayers[j].has_own_norm;
    point->norm_is_stream = k > 0 && stack->sublayers[k - 1].wiring.norm_sum;
    if (point->norm_is_stream)
        layer_name(name, config, k - 1, "_norm");
    else if (next && !stack_waits(stack, k) && next->wiring.norm_input)
        layer_name(name, config, k, "_norm");
    else if (!next && config->final_norm)
        snprintf(name, sizeof name, "%snorm", config->prefix);
    else
        return ROTARY_OK;
    return add_norm(&point->fused.norm, config, name, parameters, error);
}

/* M_k, the norm at point k, and the norms of the sublayers that read it through one of their own. */
static rotary_status add_norms(struct stack *stack, const struct stack_config *config, int64_t k,
                               struct parameters *parameters, rotary_error *error)
{
    char name[NAME_BYTES];
    struct stack_sublayer *before = k > 0 ? &stack->sublayers[k - 1] : NULL;
    rotary_status status = ROTARY_OK;
    if (before && before->wiring.norm_output) {
        layer_name(name, config, k - 1, "_output_norm");
        status = add_norm(&before->output_norm.norm, config, name, parameters, error);
    }
    if (status == ROTARY_OK)
        status = add_fused_norm(stack, config, k, parameters, error);
    for (int64_t j = k; status == ROTARY_OK && j < stack->count && stack->sublayers[j].reads == k; j++) {
        struct stack_sublayer *row = &stack->sublayers[j];
        if (!row->has_own_norm || !row->wiring.norm_input)
            continue;
        layer_name(name, config, j, row->wiring.norm_sum ? "_input_norm" : "_norm");
        status = add_norm(&row->own.norm, config, name, parameters, error);
    }
    return status;
}

struct parameter_rows stack_sublayer_rows(const struct stack *stack)
{
    return (struct parameter_rows){stack->sublayers[0].first_row, stack->end_row};
}

static rotary_status add_all(struct stack *stack, const struct stack_config *config,
                             struct parameters *parameters, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    const struct norm none = {.kind = NORM_NONE, .width = config->width, .gain = -1, .bias = -1};
    for (int64_t k = 0; status == ROTARY_OK && k < stack->count; k++) {
        struct stack_sublayer *row = &stack->sublayers[k];
        row->part = k % config->parts;
        row->wiring = config->block[row->part].wiring;
        row->own.norm = none;
        row->output_norm.norm = none;
        status = wire(stack, k, error);
        if (status == ROTARY_OK)
            status = add_sublayer(stack, config, k, parameters, error);
    }
    stack->end_row = parameters->count;
    for (int64_t k = 0; status == ROTARY_OK && k <= stack->count; k++) {
        stack->points[k].fused.norm = none;
        status = add_norms(stack, config, k, parameters, error);
    }
    if (status == ROTARY_OK && config->final_norm && stack->points[stack->count].norm_is_stream)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a final norm after a norm of the last sum: wanted one of them");
    return status;
}

rotary_status stack_create(struct stack **stack, const struct backend *backend,
                           const struct stack_config *config, struct parameters *parameters,
                           rotary_error *error)
{
    int64_t count = config->layers * config->parts;
    struct stack *made = calloc(1, sizeof *made);
    if (made) {
        made->sublayers = calloc((size_t)count, sizeof *made->sublayers);
        made->points = calloc((size_t)count + 1, sizeof *made->points);
        made->d_parallel = calloc((size_t)config->parts, sizeof *made->d_parallel);
    }
    if (!made || !made->sublayers || !made->points || !made->d_parallel) {
        stack_destroy(made);
        return rotary_fail_memory(error, "for a model of %lld layers", (long long)config->layers);
    }
    made->backend = backend;
    made->config = *config;
    made->config.prefix = NULL;
    made->config.block = NULL;
    made->count = count;
    rotary_status status = add_all(made, config, parameters, error);
    if (status == ROTARY_OK)
        *stack = made;
    else
        stack_destroy(made);
    return status;
}

void stack_destroy(struct stack *stack)
{
    if (!stack)
        return;
    for (int64_t k = 0; stack->sublayers && k < stack->count; k++)
        if (stack->sublayers[k].sublayer)
            stack->sublayers[k].sublayer->type->destroy(stack->sublayers[k].sublayer);
    free(stack->sublayers);
    free(stack->points);
    free(stack->d_parallel);
    free(stack);
}

/* ---- Memory ---- */

static int64_t max_rows(const struct stack *stack)
{
    return stack->config.batch * stack->config.time;
}

static struct matrix push_rows(const struct stack *stack, struct rotary_arena *arena)
{
    rotary_dtype storage = stack->backend->storage;
    int64_t rows = max_rows(stack), width = stack->config.width;
    return matrix_of(rotary_arena_push(arena, rows * width, rotary_dtype_size(storage)), storage, rows,
                     width);
}

static float *push_stream(const struct stack *stack, struct rotary_arena *arena)
{
    return rotary_arena_push(arena, max_rows(stack) * stack->config.width, sizeof(float));
}

typedef void carve_sublayer(struct sublayer *sublayer, struct rotary_arena *arena);

static carve_sublayer *carver(const struct sublayer *sublayer, bool saved)
{
    return saved ? sublayer->type->carve_saved : sublayer->type->carve_scratch;
}

/* All sublayers get the same memory, as much as the largest needs. */
static void carve_shared(struct stack *stack, struct rotary_arena *arena, bool saved)
{
    size_t begin = arena->used, end = begin;
    for (int64_t k = 0; k < stack->count; k++) {
        arena->used = begin;
        carver(stack->sublayers[k].sublayer, saved)(stack->sublayers[k].sublayer, arena);
        end = arena->used > end ? arena->used : end;
    }
    arena->used = end;
}

static void carve_statistics(const struct stack *stack, struct stack_norm *norm, struct rotary_arena *arena)
{
    if (stack->config.training && norm->norm.kind != NORM_NONE) {
        norm->mean = rotary_arena_push(arena, max_rows(stack), sizeof(float));
        norm->rstd = rotary_arena_push(arena, max_rows(stack), sizeof(float));
    }
}

/* Whether the sum at point k overwrites that at point k - 1: no norm reads that again in the backward pass.
 */
static bool is_in_place(const struct stack *stack, int64_t k)
{
    if (k == 0 || stack->points[k - 1].norm_is_stream)
        return false;
    if (!stack->config.training)
        return true;
    bool read = stack->points[k - 1].fused.norm.kind != NORM_NONE;
    for (int64_t j = k - 1; j < stack->count && stack->sublayers[j].reads == k - 1; j++)
        read = read || stack->sublayers[j].has_own_norm;
    return !read;
}

static bool has_own_readers(const struct stack *stack, int64_t k)
{
    bool found = false;
    for (int64_t j = k; j < stack->count && stack->sublayers[j].reads == k; j++)
        found = found || stack->sublayers[j].has_own_norm;
    return found;
}

/* Memory for the normalised sum at point k: one of two alternating buffers or, where norms of sublayers read
 * it again in the backward pass, its own. */
static float *push_normalised(const struct stack *stack, struct rotary_arena *arena, int64_t k,
                              float *streams[2])
{
    if (stack->config.training && has_own_readers(stack, k))
        return push_stream(stack, arena);
    if (!streams[k % 2])
        streams[k % 2] = push_stream(stack, arena);
    return streams[k % 2];
}

/* Without training all points share the memory of what sublayers read. With training those with a norm do:
 * the backward pass makes it again from the sum. */
static struct matrix push_normalised_rows(const struct stack *stack, struct rotary_arena *arena,
                                          const struct stream_point *point, struct matrix *shared)
{
    if (stack->config.training && point->fused.norm.kind == NORM_NONE)
        return push_rows(stack, arena);
    if (shared->rows == 0)
        *shared = push_rows(stack, arena);
    return *shared;
}

/* Points without a norm of the sum continue the stream in `sum`. The others write the norm beside it, to two
 * alternating buffers: a sum outlives its norm, the stream does not outlive the next sum, unless a norm of
 * its own reads it again. */
static void carve_points(struct stack *stack, struct rotary_arena *arena)
{
    bool training = stack->config.training;
    float *streams[2] = {NULL, NULL}, *sum = NULL;
    struct matrix shared = {0};
    for (int64_t k = 0; k <= stack->count; k++) {
        struct stream_point *point = &stack->points[k];
        if (is_in_place(stack, k)) {
            point->sum = stack->points[k - 1].stream;
        } else {
            sum = training || !sum ? push_stream(stack, arena) : sum;
            point->sum = sum;
        }
        carve_statistics(stack, &point->fused, arena);
        point->fused.normalised = push_normalised_rows(stack, arena, point, &shared);
        point->stream = point->norm_is_stream ? push_normalised(stack, arena, k, streams) : point->sum;
    }
}

/* What norms beside the points store. Without training the output of a sublayer is normalised in place, and
 * blocks share memory. */
static void carve_own(struct stack *stack, struct rotary_arena *arena)
{
    bool training = stack->config.training;
    for (int64_t k = 0; k < stack->count; k++) {
        struct stack_sublayer *row = &stack->sublayers[k];
        if (row->has_own_norm) {
            struct stack_sublayer *before = k >= stack->config.parts ? row - stack->config.parts : row;
            bool shares = !training && before->has_own_norm && before != row;
            carve_statistics(stack, &row->own, arena);
            row->own.normalised = shares ? before->own.normalised : push_rows(stack, arena);
        }
        if (training && row->wiring.norm_output) {
            carve_statistics(stack, &row->output_norm, arena);
            row->output = push_rows(stack, arena);
        }
    }
}

static void carve_gradients(struct stack *stack, struct rotary_arena *arena)
{
    stack->d_normalised = push_rows(stack, arena);
    stack->d_stream = push_stream(stack, arena);
    for (int64_t part = 0; part < stack->config.parts; part++) {
        bool waits = false;
        for (int64_t k = part; k < stack->count; k += stack->config.parts)
            waits = waits || stack_waits(stack, k);
        if (waits)
            stack->d_parallel[part] = push_rows(stack, arena);
    }
}

void stack_carve(struct stack *stack, struct rotary_arena *arena)
{
    bool training = stack->config.training;
    for (int64_t k = 0; training && k < stack->count; k++)
        carver(stack->sublayers[k].sublayer, true)(stack->sublayers[k].sublayer, arena);
    if (!training)
        carve_shared(stack, arena, true);
    carve_points(stack, arena);
    stack->sublayer_output = push_rows(stack, arena);
    carve_own(stack, arena);
    for (int64_t k = 0; !training && k < stack->count; k++)
        stack->sublayers[k].output = stack->sublayer_output;
    carve_shared(stack, arena, false);
    if (training)
        carve_gradients(stack, arena);
}

size_t stack_weight_bytes(const struct stack *stack)
{
    size_t bytes = 0;
    for (int64_t k = 0; k < stack->count; k++)
        bytes += stack->sublayers[k].sublayer->type->weight_bytes(stack->sublayers[k].sublayer);
    return bytes;
}

float *stack_input(struct stack *stack)
{
    return stack->points[0].stream;
}

struct matrix stack_output(struct stack *stack, int64_t rows)
{
    return first_rows(stack->points[stack->count].fused.normalised, rows);
}

struct matrix stack_output_gradient(struct stack *stack, int64_t rows)
{
    return first_rows(stack->d_normalised, rows);
}

float *stack_input_gradient(const struct stack *stack)
{
    return stack->d_stream;
}
