/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/rotation.h"

#include "base/fail.h"
#include "file/file.h"
#include "huggingface/model_types.h"
#include "oracle/trained_model.h"

#include <math.h>
#include <stdlib.h>

const char *const rotation_compats[] = {"none", "huggingface", "ggml", "vllm", NULL};

/* ---- making ---- */

/* Makes the plan one whose angles are 0. */
static rotary_status stop_rotation(struct rope_config *config, rotary_error *error)
{
    const rotary_rope_config of = config->plan;
    free(config->numbers);
    config->numbers = calloc((size_t)of.rotary_dim, sizeof *config->numbers);
    if (!config->numbers)
        return rotary_fail_memory(error, "for the frequencies of a layer without rotation");
    rotary_rope_config_default(&config->plan);
    config->plan.head_dim = of.head_dim;
    config->plan.rotary_dim = of.rotary_dim;
    config->plan.rotary_start = of.rotary_start;
    config->plan.inverse_frequencies = config->numbers;
    return ROTARY_OK;
}

static rotary_status make_plan(struct rotation *rotation, const struct rotation_request *request,
                               rotary_error *error)
{
    rotary_rope_config *plan = &rotation->config.plan;
    plan->compat = request->compat;
    if (request->sequence_length > 0)
        plan->sequence_length = request->sequence_length;
    if (request->angles != ANGLES_OF_CONFIG)
        plan->angles_f32 = request->angles != ANGLES_F64;
    plan->threads = request->threads;
    plan->isa = request->isa;
    plan->table_positions = 0; /* one call needs no table, and a file must not make it take gigabytes */
    rotary_rope_config_drop_unread(plan);
    rotary_error wrong = {0};
    rotary_status status = rotary_rope_create(&rotation->rope, plan, &wrong);
    if (status == ROTARY_OK || status == ROTARY_UNSUPPORTED)
        return status ? rotary_fail(error, status, "%s", wrong.message) : ROTARY_OK;
    /* The invalid argument came from the file. */
    return rotary_fail(error, status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status, "%s: %.400s",
                       rotation->path, wrong.message);
}

rotary_status rotation_make(const struct rotation_request *request, int64_t head_dim,
                            struct rotation *rotation, rotary_error *error)
{
    struct rotation made = {.path = request->config};
    struct rope_config_request file = {.layer_type = request->layer_type,
                                       .head_dim = head_dim,
                                       .ignored = request->ignored,
                                       .scales_queries = request->scales_queries,
                                       .attends = request->attends,
                                       .unrotated = request->unrotated,
                                       .compat = request->compat,
                                       .find_family = model_types_find};
    rotary_status status = file_read_json(request->config, &made.object, error);
    if (status)
        return status;
    status = rope_config_parse(made.object, request->config, &file, &made.config, error);
    if (!status && request->note_unknown && made.config.unknown_type[0])
        request->note_unknown(request->config, made.config.unknown_type);
    if (!status && !request->attends) /* attention compares all that it rotates (attend_model.h) */
        status = trained_model_check(made.object, request->config, request->ignored, error);
    if (!status && request->unrotated)
        status = stop_rotation(&made.config, error);
    if (!status && head_dim > 0 && made.config.plan.head_dim != head_dim)
        status = rotary_fail(error, ROTARY_BAD_FILE,
                             "%s describes heads of %lld channels, wanted %lld, as the tensors have",
                             request->config, (long long)made.config.plan.head_dim, (long long)head_dim);
    if (!status)
        status = make_plan(&made, request, error);
    if (status) {
        rotation_destroy(&made);
        return status;
    }
    *rotation = made;
    return ROTARY_OK;
}

void rotation_destroy(struct rotation *rotation)
{
    rotary_rope_destroy(rotation->rope);
    rope_config_free(&rotation->config);
    json_decref(rotation->object);
    *rotation = (struct rotation){0};
}

/* ---- rotating ---- */

/* Cosines and sines of a position, [pairs] each, times the magnitude. */
struct row {
    double *cosine, *sine;
};

static void define_row(const struct rotation *rotation, enum rotary_rope_role role, double position,
                       struct row row)
{
    const rotary_rope_config *plan = &rotation->config.plan;
    const double *frequencies = rotary_rope_inverse_frequencies(rotation->rope);
    double dim = (double)rotary_rope_span(rotation->rope).dim;
    for (int64_t pair = 0; pair < rotary_rope_pairs(rotation->rope); pair++) {
        double magnitude = role == ROTARY_ROLE_VALUE ? 1.0 : rotary_rope_attention_factor(rotation->rope);
        if (plan->xpos_scale > 0 && role != ROTARY_ROLE_VALUE) {
            double zeta = (2.0 * (double)pair + 0.4 * dim) / (1.4 * dim);
            double growth = pow(zeta, (position - plan->xpos_origin) / plan->xpos_scale);
            magnitude *= role == ROTARY_ROLE_QUERY ? growth : 1.0 / growth;
        }
        double angle = position * frequencies[pair];
        row.cosine[pair] = magnitude * cos(angle);
        row.sine[pair] = magnitude * sin(angle);
    }
}

/* Those of librotary. `numbers` has room for 2 * pairs. */
static void library_row(const struct rotation *rotation, enum rotary_rope_role role, int64_t position,
                        float *numbers, struct row row)
{
    const int64_t pairs = rotary_rope_pairs(rotation->rope);
    rotary_rope_role_rows(rotation->rope, position, 1, role, numbers, numbers + pairs);
    for (int64_t pair = 0; pair < pairs; pair++) {
        row.cosine[pair] = (double)numbers[pair];
        row.sine[pair] = (double)numbers[pairs + pair];
    }
}

/* The inverse of the rotation by (c, s), whose magnitude is the root of c^2 + s^2. */
static void invert_row(struct row row, int64_t pairs)
{
    for (int64_t pair = 0; pair < pairs; pair++) {
        double square = row.cosine[pair] * row.cosine[pair] + row.sine[pair] * row.sine[pair];
        row.cosine[pair] /= square;
        row.sine[pair] /= -square;
    }
}

void rotation_channels(struct rotary_span span, int64_t pair, int64_t channels[2])
{
    for (int member = 0; member < 2; member++)
        channels[member] = span.start + rotary_rope_pair_channel(span.pairing, span.dim / 2, pair, member);
}

rotary_rope_tensor *rotation_tensor(rotary_rope_apply_call *call, enum rotary_rope_role role)
{
    return role == ROTARY_ROLE_QUERY ? &call->query : role == ROTARY_ROLE_KEY ? &call->key : &call->value;
}

static void rotate_head(struct rotary_span span, struct row row, double *head)
{
    for (int64_t pair = 0; pair < span.dim / 2; pair++) {
        int64_t at[2];
        rotation_channels(span, pair, at);
        double x0 = head[at[0]], x1 = head[at[1]];
        head[at[0]] = x0 * row.cosine[pair] - x1 * row.sine[pair];
        head[at[1]] = x0 * row.sine[pair] + x1 * row.cosine[pair];
    }
}

rotary_status rotation_apply(const struct rotation *rotation, const struct rotation_target *target,
                             rotary_error *error)
{
    const rotary_rope_config *plan = &rotation->config.plan;
    struct rotary_span span = rotary_rope_span(rotation->rope);
    int64_t pairs = span.dim / 2;
    bool by_definition = !plan->angles_f32 && plan->table_dtype == ROTARY_F32;
    double *memory = calloc((size_t)pairs * 3, sizeof *memory);
    if (!memory)
        return rotary_fail_memory(error, "for a row of cosines");
    struct row row = {memory, memory + pairs};
    float *numbers = (float *)(memory + 2 * pairs);
    for (int64_t t = 0; t < target->time; t++) {
        int64_t position = target->positions ? target->positions[t] : target->first + t;
        if (by_definition)
            define_row(rotation, target->role, (double)position, row);
        else
            library_row(rotation, target->role, position, numbers, row);
        if (target->inverse)
            invert_row(row, pairs);
        for (int64_t h = 0; h < target->heads; h++)
            rotate_head(span, row, target->values + (t * target->heads + h) * span.head_dim);
    }
    free(memory);
    return ROTARY_OK;
}
