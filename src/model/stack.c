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
    struct sublayer_config sublayer = part->config;
    sublayer.name = name;
    sublayer.width = config->width;
    sublayer.batch = config->batch;
    sublayer.time = config->time;
    sublayer.training = config->training;
    sublayer.packed = config->packed;
    sublayer.measured = config->measured;
    sublayer.initial.depth = (double)stack->count;
    if (part->plans)
        sublayer.attention = part->plans[k / config->parts];
    stack->sublayers[k].wiring = part->wiring;
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

/* The norm at point k: P_k of the sublayer before it, else N_(k+1) of the sublayer after it, or the final
 * norm. */
static rotary_status add_point(struct stack *stack, const struct stack_config *config, int64_t k,
                               struct parameters *parameters, rotary_error *error)
{
    struct stream_point *point = &stack->points[k];
    char name[NAME_BYTES];
    if (k > 0 && stack->sublayers[k - 1].wiring.norm_sum) {
        point->norm_is_stream = true;
        layer_name(name, config, k - 1, "_norm");
    } else if (k < stack->count && stack->sublayers[k].wiring.norm_input) {
        layer_name(name, config, k, "_norm");
    } else if (k == stack->count && config->final_norm) {
        snprintf(name, sizeof name, "%snorm", config->prefix);
    } else {
        return ROTARY_OK;
    }
    point->has_norm = true;
    return add_norm(&point->norm, config, name, parameters, error);
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
    }
    if (!made || !made->sublayers || !made->points) {
        stack_destroy(made);
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a model of %lld layers",
                           (long long)config->layers);
    }
    made->backend = backend;
    made->config = *config;
    made->config.prefix = NULL;
    made->config.block = NULL;
    made->count = count;
    rotary_status status = ROTARY_OK;
    for (int64_t k = 0; status == ROTARY_OK && k < count; k++)
        status = add_sublayer(made, config, k, parameters, error);
    for (int64_t k = 0; status == ROTARY_OK && k <= count; k++)
        status = add_point(made, config, k, parameters, error);
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

static void carve_point(const struct stack *stack, struct stream_point *point, struct rotary_arena *arena)
{
    point->sum = push_stream(stack, arena);
    point->mean = rotary_arena_push(arena, max_rows(stack), sizeof(float));
    point->rstd = rotary_arena_push(arena, max_rows(stack), sizeof(float));
    point->normalised = push_rows(stack, arena);
}

/* Points without a norm of the sum continue the stream in `sum`. The others write the norm beside it, to two
 * alternating buffers: a sum outlives its norm, the stream does not outlive the next sum. */
static void carve_points(struct stack *stack, struct rotary_arena *arena)
{
    float *streams[2] = {NULL, NULL};
    for (int64_t k = 0; k <= stack->count; k++) {
        struct stream_point *point = &stack->points[k], *first = &stack->points[0];
        if (stack->config.training || k == 0) {
            carve_point(stack, point, arena);
        } else {
            point->sum = first->sum;
            point->mean = first->mean;
            point->rstd = first->rstd;
            point->normalised = first->normalised;
        }
        if (point->norm_is_stream && !streams[k % 2])
            streams[k % 2] = push_stream(stack, arena);
        point->stream = point->norm_is_stream ? streams[k % 2] : point->sum;
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
    carve_shared(stack, arena, false);
    if (!training)
        return;
    stack->d_normalised = push_rows(stack, arena);
    stack->d_stream = push_stream(stack, arena);
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
    return first_rows(stack->points[stack->count].normalised, rows);
}

struct matrix stack_output_gradient(struct stack *stack, int64_t rows)
{
    return first_rows(stack->d_normalised, rows);
}

const float *stack_input_gradient(struct stack *stack)
{
    return stack->d_stream;
}

/* ---- Caches ---- */

rotary_status stack_cache_create(struct stack_cache *cache, const struct stack *stack, rotary_error *error)
{
    *cache = (struct stack_cache){.sublayers = calloc((size_t)stack->count, sizeof *cache->sublayers)};
    if (!cache->sublayers)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the cache of %lld sublayers",
                           (long long)stack->count);
    return ROTARY_OK;
}

void stack_cache_destroy(struct stack_cache *cache)
{
    free(cache->sublayers);
    *cache = (struct stack_cache){0};
}

void stack_cache_carve(struct stack_cache *cache, const struct stack *stack,
                       struct sublayer_cache_shape shape, struct rotary_arena *arena)
{
    size_t workspace = 0;
    for (int64_t k = 0; k < stack->count; k++) {
        const struct sublayer *sublayer = stack->sublayers[k].sublayer;
        if (!sublayer->type->carve_cache)
            continue;
        cache->sublayers[k] = sublayer->type->carve_cache(sublayer, arena, shape);
        size_t bytes = sublayer->type->decode_bytes(sublayer, shape);
        workspace = bytes > workspace ? bytes : workspace;
    }
    cache->workspace = rotary_arena_push(arena, (int64_t)workspace, 1);
}
