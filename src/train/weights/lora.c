/* SPDX-License-Identifier: Apache-2.0 */
#include "train/weights/lora.h"

#include "backend/profile.h"
#include "base/fail.h"
#include "train/weights/initial_weights.h"
#include "train/weights/lora_targets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char weight_ending[] = ".weight";

/* A projection of one layer. */
struct target {
    int weight;                         /* the row of the model's table that has it */
    int64_t first, outputs, inputs;     /* from row `first` of that matrix on */
    int a, b, base;                     /* rows of the adapter: A, B, W0 */
    struct packed_weight *a_packed;     /* A as [rank, inputs] */
    struct packed_weight *a_transposed; /* A^T as [inputs, rank] */
};

struct lora {
    const struct backend *backend; /* borrowed */
    struct parameters *model;      /* borrowed */
    struct parameters table;
    int64_t rank;
    float scale;
    struct target *targets; /* [count] */
    int count;
};

/* ---- creation ---- */

/* Whether a parameter is the weight of `matrix` in some layer. *prefix: the length of its name before that.
 */
static bool has_matrix(const struct parameter *row, const char *matrix, size_t *prefix)
{
    const size_t all = strlen(row->name), ending = strlen(weight_ending), length = strlen(matrix);
    if (all < length + ending + 1 || strcmp(row->name + all - ending, weight_ending) != 0)
        return false;
    const char *name = row->name + all - ending - length;
    *prefix = (size_t)(name - row->name);
    return strncmp(name, matrix, length) == 0 && name[-1] == '.';
}

/* Adds a row named as PEFT names it: "layers.0.attention.query.lora_A.weight". */
static rotary_status add_row(struct lora *lora, const char *module, const char *kind, struct parameter *row,
                             int *index, rotary_error *error)
{
    const int length = snprintf(row->name, sizeof row->name, "%s.%s.weight", module, kind);
    if (length >= (int)sizeof row->name)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "no room for the name %s.%s.weight", module, kind);
    return parameters_add(&lora->table, row, index, error);
}

static rotary_status add_rows(struct lora *lora, struct target *target, const char *module,
                              rotary_error *error)
{
    struct parameter a = {.rows = lora->rank,
                          .columns = target->inputs,
                          .initial = INITIAL_UNIFORM,
                          .scale = (float)(1.0 / sqrt((double)target->inputs)),
                          .decay = true},
                     b = {.rows = target->outputs, .columns = lora->rank, .decay = true},
                     base = {.rows = target->outputs, .columns = target->inputs, .frozen = true};
    rotary_status status = add_row(lora, module, "lora_A", &a, &target->a, error);
    if (status == ROTARY_OK)
        status = add_row(lora, module, "lora_B", &b, &target->b, error);
    return status == ROTARY_OK ? add_row(lora, module, "base_layer", &base, &target->base, error) : status;
}

static rotary_status create_packed(struct lora *lora, struct target *target, rotary_error *error)
{
    const struct packed_weight_config plain = {.dtype = ROTARY_F32,
                                               .inner = lora->rank,
                                               .columns = target->inputs},
                                      transposed = {.dtype = ROTARY_F32,
                                                    .inner = target->inputs,
                                                    .columns = lora->rank,
                                                    .transposed = true};
    const struct backend_operations *operations = lora->backend->operations;
    rotary_status status = operations->packed_weight_create(lora->backend, &target->a_packed, &plain, error);
    if (status != ROTARY_OK)
        return status;
    return operations->packed_weight_create(lora->backend, &target->a_transposed, &transposed, error);
}

/* Adds row `weight` of the model as a target, if it is the projection of some layer. */
static rotary_status add_target(struct lora *lora, int weight, const struct lora_projection *projection,
                                rotary_error *error)
{
    struct parameter *row = &lora->model->rows[weight];
    size_t prefix;
    char module[sizeof row->name];
    if (!has_matrix(row, projection->matrix, &prefix))
        return ROTARY_OK;
    /* "layers.0.attention." of "layers.0.attention.query_key_value.weight" */
    prefix += (size_t)(strchr(projection->matrix, '.') - projection->matrix) + 1;
    snprintf(module, sizeof module, "%.*s%s", (int)prefix, row->name, projection->name);
    struct target *targets = realloc(lora->targets, (size_t)(lora->count + 1) * sizeof *targets);
    if (!targets)
        return rotary_fail_memory(error, "for the targets of lora");
    lora->targets = targets;
    struct target *target = &targets[lora->count++];
    *target = (struct target){.weight = weight,
                              .first = projection->first,
                              .outputs = projection->outputs,
                              .inputs = projection->inputs};
    row->frozen = false;
    row->adapted = true;
    rotary_status status = add_rows(lora, target, module, error);
    return status == ROTARY_OK ? create_packed(lora, target, error) : status;
}

static rotary_status add_targets(struct lora *lora, const struct run_config *config, rotary_error *error)
{
    struct lora_projection projections[LORA_MAX_PROJECTIONS];
    const int count = lora_projections(&config->model, config->train.lora_targets, projections);
    rotary_status status = ROTARY_OK;
    for (int row = 0; row < lora->model->count; row++)
        for (int i = 0; status == ROTARY_OK && i < count; i++)
            status = add_target(lora, row, &projections[i], error);
    return status;
}

/* A matrix [outputs, inputs] of the targets, in memory of the model's table. */
static struct matrix part_of(const struct target *target, float *of_row)
{
    return matrix_of(of_row + target->first * target->inputs, ROTARY_F32, target->outputs, target->inputs);
}

static struct matrix value_of(const struct lora *lora, int row)
{
    const struct parameter *parameter = &lora->table.rows[row];
    return matrix_of(lora->table.values + parameter->offset, ROTARY_F32, parameter->rows, parameter->columns);
}

/* W0 = W. */
static rotary_status copy_base(struct lora *lora, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < lora->count; i++) {
        const struct target *target = &lora->targets[i];
        const struct matrix base = value_of(lora, target->base);
        status = lora->backend->operations->copy(lora->backend, base.data,
                                                 parameter_value(lora->model, target->weight) +
                                                     target->first * target->inputs,
                                                 (size_t)(base.rows * base.columns) * sizeof(float), error);
    }
    return status;
}

/* A and B at their beginning, of a model of which it is decided what is frozen. */
static rotary_status create(struct lora **lora, const struct run_config *config,
                            struct parameters *parameters, rotary_error *error)
{
    struct lora *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for lora");
    *made = (struct lora){.backend = parameters->backend,
                          .model = parameters,
                          .table = {.backend = parameters->backend},
                          .rank = config->train.lora_rank,
                          .scale = (float)(config->train.lora_alpha / (double)config->train.lora_rank)};
    rotary_status status = add_targets(made, config, error);
    if (status == ROTARY_OK)
        status = parameters_allocate_training(parameters, error);
    if (status == ROTARY_OK)
        status = parameters_allocate(&made->table, true, error);
    if (status == ROTARY_OK)
        status = parameters_initialise(&made->table, (uint64_t)config->train.seed, error);
    if (status == ROTARY_OK)
        status = copy_base(made, error);
    if (status != ROTARY_OK) {
        lora_destroy(made);
        return status;
    }
    parameters->adapter = &made->table;
    *lora = made;
    return ROTARY_OK;
}

void lora_destroy(struct lora *lora)
{
    if (!lora)
        return;
    for (int i = 0; i < lora->count; i++) {
        lora->backend->operations->packed_weight_destroy(lora->backend, lora->targets[i].a_packed);
        lora->backend->operations->packed_weight_destroy(lora->backend, lora->targets[i].a_transposed);
    }
    lora->model->adapter = NULL;
    parameters_free(&lora->table);
    free(lora->targets);
    free(lora);
}

/* Every write of values raises a version: rows whose version rises were given. */
rotary_status lora_begin(struct lora **lora, const struct run_config *config, struct parameters *parameters,
                         struct unused_tensors *unused, rotary_error *error)
{
    uint64_t *versions = malloc((size_t)parameters->count * sizeof *versions);
    if (!versions)
        return rotary_fail_memory(error, "for lora");
    for (int i = 0; i < parameters->count; i++)
        versions[i] = parameters->rows[i].version;
    rotary_status status = initial_weights_load(config, parameters, unused, error);
    for (int i = 0; i < parameters->count; i++)
        parameters->rows[i].frozen = parameters->rows[i].version > versions[i];
    free(versions);
    return status == ROTARY_OK ? create(lora, config, parameters, error) : status;
}

rotary_status lora_resume(struct lora **lora, const struct run_config *config, struct parameters *parameters,
                          const struct checkpoint *checkpoint, rotary_error *error)
{
    for (int i = 0; i < parameters->count; i++)
        parameters->rows[i].frozen = !checkpoint_has_moments(checkpoint, &parameters->rows[i]);
    rotary_status status = create(lora, config, parameters, error);
    return status == ROTARY_OK ? checkpoint_load(checkpoint, parameters, error) : status;
}

/* ---- a step ---- */

static rotary_status target_gradients(struct lora *lora, const struct target *target, rotary_error *error)
{
    const struct backend *backend = lora->backend;
    const struct matrix d_weight = part_of(target, parameter_gradient(lora->model, target->weight));
    float *d_b = parameter_gradient(&lora->table, target->b);
    const struct backend_pack_weight pack = {.weight = target->a_transposed,
                                             .source = parameter_value(&lora->table, target->a)};
    const struct backend_matmul product = {.out = matrix_of(d_b, ROTARY_F32, target->outputs, lora->rank),
                                           .in = d_weight,
                                           .weight = target->a_transposed};
    const struct backend_weight_gradient sum = {.gradient = parameter_gradient(&lora->table, target->a),
                                                .a = value_of(lora, target->b),
                                                .b = d_weight};
    rotary_status status = backend->operations->pack_weight(backend, &pack, error);
    if (status == ROTARY_OK)
        status = backend->operations->matmul(backend, &product, error);
    return status == ROTARY_OK ? backend->operations->weight_gradient(backend, &sum, error) : status;
}

rotary_status lora_gradients(struct lora *lora, rotary_error *error)
{
    const struct backend *backend = lora->backend;
    const struct parameters *model = lora->model;
    const struct backend_scale scale = {
        .to = lora->table.gradients, .count = lora->table.gradient_elements, .factor = lora->scale};
    const double begin = profile_begin(backend->profile);
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < lora->count; i++)
        status = target_gradients(lora, &lora->targets[i], error);
    if (status == ROTARY_OK)
        status = backend->operations->scale(backend, &scale, error);
    if (status == ROTARY_OK)
        status = backend->operations->clear(
            backend, model->gradients + model->trained_elements,
            (size_t)(model->gradient_elements - model->trained_elements) * sizeof(float), error);
    profile_end(backend->profile, begin, "update", "gradients of A and B", 0.0, 0.0);
    return status;
}

/* W = s B A + W0. */
static rotary_status merge_target(struct lora *lora, const struct target *target, rotary_error *error)
{
    const struct backend *backend = lora->backend;
    const struct backend_pack_weight pack = {.weight = target->a_packed,
                                             .source = parameter_value(&lora->table, target->a)};
    const struct backend_matmul product = {
        .out = part_of(target, parameters_overwrite(lora->model, target->weight)),
        .in = value_of(lora, target->b),
        .weight = target->a_packed};
    const struct backend_scale scale = {
        .to = product.out.data, .count = target->outputs * target->inputs, .factor = lora->scale};
    const struct backend_add add = {.to = product.out.data, .in = value_of(lora, target->base)};
    rotary_status status = backend->operations->pack_weight(backend, &pack, error);
    if (status == ROTARY_OK)
        status = backend->operations->matmul(backend, &product, error);
    if (status == ROTARY_OK)
        status = backend->operations->scale(backend, &scale, error);
    return status == ROTARY_OK ? backend->operations->add(backend, &add, error) : status;
}

rotary_status lora_merge(struct lora *lora, rotary_error *error)
{
    const double begin = profile_begin(lora->backend->profile);
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < lora->count; i++)
        status = merge_target(lora, &lora->targets[i], error);
    profile_end(lora->backend->profile, begin, "update", "weights from A and B", 0.0, 0.0);
    return status;
}
