/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/sublayer_parts.h"

#include "base/arena.h"

#include <math.h>
#include <stdio.h>

static void set_initial(struct linear_config *linear, const struct sublayer_config *config,
                        const struct sublayer_linear *shape)
{
    const struct initial_config *initial = &config->initial;
    bool normal = initial_is_normal(initial->kind),
         divides = initial->kind == INITIALISE_NORMAL && shape->joins;
    float uniform = (float)(1.0 / sqrt((double)shape->inputs));
    linear->initial = normal ? INITIAL_NORMAL : INITIAL_UNIFORM;
    linear->bias_initial = normal ? INITIAL_ZERO : INITIAL_UNIFORM;
    linear->scale = linear->bias_scale = uniform;
    if (normal)
        linear->scale = (float)(initial->range / sqrt(divides ? initial->depth : 1.0));
    if (initial->kind != INITIALISE_GLOROT)
        return;
    int64_t first = shape->first_outputs > 0 ? shape->first_outputs : shape->outputs;
    linear->scale = initial_glorot(shape->inputs, first);
    if (shape->next_outputs > 0) {
        linear->tail_outputs = shape->outputs - first;
        linear->tail_scale = initial_glorot(shape->inputs, shape->next_outputs);
    }
}

rotary_status sublayer_add_linear(struct linear **linear, const struct backend *backend,
                                  const struct sublayer_config *config, const struct sublayer_linear *shape,
                                  struct parameters *parameters, rotary_error *error)
{
    char name[96];
    snprintf(name, sizeof name, "%s%s%s", config->name ? config->name : "", config->name ? "." : "",
             shape->name);
    struct linear_config made = {.name = name,
                                 .inputs = shape->inputs,
                                 .outputs = shape->outputs,
                                 .rows = shape->rows > 0 ? shape->rows : config->batch * config->time,
                                 .bias = shape->bias,
                                 .training = config->training,
                                 .measured = config->measured,
                                 .tied_weight = shape->tied ? shape->tied_weight : -1};
    set_initial(&made, config, shape);
    return linear_create(linear, backend, &made, parameters, error);
}

rotary_status sublayer_attend(const struct sublayer *sublayer, const rotary_attention_forward_call *call,
                              const struct attention_observer *observer, rotary_error *error)
{
    const struct backend_attention_forward operation = {.plan = sublayer->config.attention, .call = call};
    const struct backend *backend = sublayer->backend;
    rotary_status status = backend->operations->attention_forward(backend, &operation, error);
    if (status != ROTARY_OK || !observer)
        return status;
    return observer->see(observer->context, sublayer, &operation, error);
}

struct matrix sublayer_push(const struct sublayer *sublayer, struct rotary_arena *arena, int64_t columns)
{
    return sublayer_push_rows(sublayer, arena, sublayer->config.batch * sublayer->config.time, columns);
}

struct matrix sublayer_push_rows(const struct sublayer *sublayer, struct rotary_arena *arena, int64_t rows,
                                 int64_t columns)
{
    rotary_dtype storage = sublayer->backend->storage;
    void *data = columns ? rotary_arena_push(arena, rows * columns, rotary_dtype_size(storage)) : NULL;
    return matrix_of(data, storage, rows, columns);
}
