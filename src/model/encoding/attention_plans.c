/* SPDX-License-Identifier: Apache-2.0 */
#include "model/encoding/attention_plans.h"

#include "base/fail.h"
#include "base/integer.h"
#include "layer/sublayer.h"
#include "model/encoding/model_encoding.h"
#include "model/encoding/rotation_config.h"

#include <stdlib.h>
#include <string.h>

/* ---- the kinds of the layers ---- */

enum layer_type { LAYER_FULL, LAYER_SLIDING };
static const char *const layer_types[] = {"full_attention", "sliding_attention", NULL};

/* The index of the plan of layers of this kind. */
static int plan_index(enum layer_type type, bool rotated)
{
    return 2 * (int)type + rotated;
}

static enum layer_type type_of_plan(int index)
{
    return (enum layer_type)(index / 2);
}

static bool is_rotated_plan(int index)
{
    return index % 2 == 1;
}

/* A list of the configuration, which may be missing, must have an entry for each layer. */
static rotary_status check_list(const struct transformer_config *config, const char *key, const json_t *list,
                                rotary_error *error)
{
    if (!list || (int64_t)json_array_size(list) == config->num_hidden_layers)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "%s has %lld entries, wanted %lld, one for each layer of num_hidden_layers", key,
                       (long long)json_array_size(list), (long long)config->num_hidden_layers);
}

/* Whether there is a layer type of this name; *type is which. */
static bool find_type(const char *name, enum layer_type *type)
{
    for (int i = 0; name && layer_types[i]; i++)
        if (strcmp(name, layer_types[i]) == 0) {
            *type = (enum layer_type)i;
            return true;
        }
    return false;
}

static rotary_status read_type(const json_t *entry, size_t layer, enum layer_type *type, rotary_error *error)
{
    const char *text = json_string_value(entry);
    if (find_type(text, type))
        return ROTARY_OK;
    char hint[SETTINGS_HINT_BYTES] = "", names[SETTINGS_NAMES_BYTES];
    if (text)
        settings_hint(text, layer_types, hint);
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "layer_types[%zu] is %.60s, wanted %s%s", layer,
                       text ? text : "no text", settings_names(layer_types, names), hint);
}

/* Whether entry `layer` of no_rope_layers says that the layer rotates. */
static rotary_status read_rotated(const json_t *entry, size_t layer, bool *rotated, rotary_error *error)
{
    json_int_t number = json_integer_value(entry);
    if (!json_is_integer(entry) || (number != 0 && number != 1))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "no_rope_layers[%zu] is not valid: wanted 1 for a layer that rotates, or 0",
                           layer);
    *rotated = number == 1;
    return ROTARY_OK;
}

/* The plan of each layer, [num_hidden_layers], from its lists. */
static rotary_status assign_plans(const struct transformer_config *config, int *plan_of_layer,
                                  rotary_error *error)
{
    const json_t *types = config->layer_types, *rotated = config->no_rope_layers;
    enum layer_type all = config->sliding_window > 0 ? LAYER_SLIDING : LAYER_FULL;
    rotary_status status = ROTARY_OK;
    for (size_t layer = 0; status == ROTARY_OK && layer < (size_t)config->num_hidden_layers; layer++) {
        enum layer_type type = all;
        bool rotates = true;
        if (types)
            status = read_type(json_array_get(types, layer), layer, &type, error);
        if (status == ROTARY_OK && rotated)
            status = read_rotated(json_array_get(rotated, layer), layer, &rotates, error);
        plan_of_layer[layer] = plan_index(type, rotates);
    }
    return status;
}

/* Refuses parameters of a layer type that no model has, which no layer would read. */
static rotary_status check_parameters(const struct transformer_config *config, rotary_error *error)
{
    const char *key;
    json_t *entry;
    json_object_foreach (config->rope_parameters, key, entry) {
        char hint[SETTINGS_HINT_BYTES], names[SETTINGS_NAMES_BYTES];
        enum layer_type type;
        if (json_is_object(entry) && !find_type(key, &type))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "rope_parameters has %.60s, wanted %s%s", key,
                               settings_names(layer_types, names), settings_hint(key, layer_types, hint));
    }
    return ROTARY_OK;
}

static rotary_status check_window(const struct transformer_config *config, const int *plan_of_layer,
                                  rotary_error *error)
{
    int64_t sliding = 0;
    for (int64_t layer = 0; layer < config->num_hidden_layers; layer++)
        sliding += type_of_plan(plan_of_layer[layer]) == LAYER_SLIDING;
    if (sliding > 0 && config->sliding_window == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "sliding_window is 0, wanted at least 1, as layer_types has sliding_attention");
    if (sliding == 0 && config->rope_local_base_freq > 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "rope_local_base_freq is %g, wanted 0, as no layer has the type sliding_attention",
                           config->rope_local_base_freq);
    return ROTARY_OK;
}

/* The plan of each layer; the caller frees *plan_of_layer, [num_hidden_layers]. */
static rotary_status read_layers(const struct transformer_config *config, int **plan_of_layer,
                                 rotary_error *error)
{
    int *made = calloc((size_t)config->num_hidden_layers, sizeof *made);
    rotary_status status = made ? ROTARY_OK : rotary_fail_memory(error, "for the plans of a model");
    if (status == ROTARY_OK)
        status = check_list(config, "layer_types", config->layer_types, error);
    if (status == ROTARY_OK)
        status = check_list(config, "no_rope_layers", config->no_rope_layers, error);
    if (status == ROTARY_OK)
        status = assign_plans(config, made, error);
    if (status == ROTARY_OK)
        status = check_parameters(config, error);
    if (status == ROTARY_OK)
        status = check_window(config, made, error);
    if (status == ROTARY_OK)
        *plan_of_layer = made;
    else
        free(made);
    return status;
}

/* ---- plans ---- */

/* What the plan of this index rotates. */
static rotary_status read_rotation(const struct transformer_config *config, int index,
                                   struct rotation_config *rotation, rotary_error *error)
{
    *rotation = (struct rotation_config){0};
    if (!is_rotated_plan(index))
        return ROTARY_OK;
    return rotation_config_read(config, layer_types[type_of_plan(index)], rotation, error);
}

/* Whether there is a rotation of queries or keys. That of outputs is the same one where keys are the values. */
static bool uses_rope(const struct transformer_config *config, unsigned rotate)
{
    return (rotate & ROTATE_QUERY_KEY) || (rotate && config->key_is_value == KEY_IS_VALUE_ROTATED);
}

/* What every plan of a kind has in common. */
struct plan_request {
    const struct backend *backend;
    const struct transformer_config *config;
    enum attention_kind kind;
    int64_t table_positions;
};

/* No more than a table may have: other positions are computed in each call. */
static int64_t limit_table(const rotary_rope_config *rope, int64_t positions)
{
    const int64_t channels = rope->rotary_dim > 0 ? rope->rotary_dim : rope->head_dim;
    return channels >= 2 ? min_i64(positions, ROTARY_ROPE_MAX_TABLE / (channels / 2)) : positions;
}

static rotary_status create_plan(struct position_attention *plan, const struct plan_request *request,
                                 int index, rotary_error *error)
{
    const struct transformer_config *config = request->config;
    const struct position_encoding *encoding = model_encoding(config);
    struct rotation_config rotation;
    rotary_status status = read_rotation(config, index, &rotation, error);
    if (status != ROTARY_OK)
        return status;
    if (request->kind != ATTENTION_DECODER) { /* a magnitude would grow with keys that follow */
        rotation.rope.plan.xpos_scale = 0;
        rotary_rope_config_drop_unread(&rotation.rope.plan);
    }
    rotation.rope.plan.table_positions = limit_table(&rotation.rope.plan, request->table_positions);
    rotation.value_rope.table_positions = limit_table(&rotation.value_rope, request->table_positions);
    const unsigned rotate =
        rotation.rotate & (request->kind == ATTENTION_CROSS ? ROTATE_QUERY_KEY : ROTATE_ALL);
    const struct position_config attention = {
        .heads = config->num_attention_heads,
        .key_value_heads = config->num_key_value_heads,
        .head_dim = config->head_dim,
        .causal = request->kind == ATTENTION_DECODER,
        .score_products = request->kind == ATTENTION_CROSS ? 1 : encoding->score_products,
        .score_channels = config->query_pre_attn_scalar,
        .softcap = (float)config->attn_logit_softcapping,
        .window = type_of_plan(index) == LAYER_SLIDING ? config->sliding_window : 0,
        .rope = uses_rope(config, rotate) ? &rotation.rope.plan : NULL,
        .value_rope = rotate & ROTATE_VALUE_OUTPUT ? &rotation.value_rope : NULL,
        .rotate = rotate,
        .key_is_value = config->key_is_value == KEY_IS_VALUE_ROTATED && request->kind != ATTENTION_CROSS};
    status = position_attention_create(plan, request->backend, &attention, error);
    rotation_config_free(&rotation);
    return status;
}

static rotary_status create_plans(struct attention_plans *plans, const struct plan_request *request,
                                  const int *plan_of_layer, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int64_t layer = 0; status == ROTARY_OK && layer < plans->layers; layer++) {
        struct position_attention *plan = &plans->plans[plan_of_layer[layer]];
        if (!plan->attention)
            status = create_plan(plan, request, plan_of_layer[layer], error);
        plans->of_layer[layer] = plan->attention;
    }
    return status;
}

/* The plan of each layer of a kind; the caller frees *plan_of_layer, [*layers]. */
static rotary_status read_kind(const struct transformer_config *config, enum attention_kind kind,
                               int64_t *layers, int **plan_of_layer, rotary_error *error)
{
    bool is_main = kind == ATTENTION_DECODER || config->architecture == ARCHITECTURE_ENCODER;
    *layers = kind == ATTENTION_ENCODER && !is_main ? config->num_encoder_layers : config->num_hidden_layers;
    if (is_main)
        return read_layers(config, plan_of_layer, error);
    int *made = calloc((size_t)*layers, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for the plans of a model");
    bool rotated = kind == ATTENTION_ENCODER || config->cross_rotary;
    for (int64_t layer = 0; layer < *layers; layer++)
        made[layer] = plan_index(LAYER_FULL, rotated);
    *plan_of_layer = made;
    return ROTARY_OK;
}

rotary_status attention_plans_create(struct attention_plans *plans, const struct backend *backend,
                                     const struct transformer_config *config, enum attention_kind kind,
                                     int64_t table_positions, rotary_error *error)
{
    int *plan_of_layer = NULL;
    struct attention_plans made = {.kind = kind};
    rotary_status status = read_kind(config, kind, &made.layers, &plan_of_layer, error);
    if (status != ROTARY_OK)
        return status;
    made.of_layer = calloc((size_t)made.layers, sizeof *made.of_layer);
    const struct plan_request request = {backend, config, kind, table_positions};
    status = made.of_layer
                 ? create_plans(&made, &request, plan_of_layer, error)
                 : rotary_fail_memory(error, "for the plans of %lld layers", (long long)made.layers);
    free(plan_of_layer);
    if (status == ROTARY_OK)
        *plans = made;
    else
        attention_plans_destroy(&made);
    return status;
}

void attention_plans_destroy(struct attention_plans *plans)
{
    for (int i = 0; i < MAX_ATTENTION_PLANS; i++)
        position_attention_destroy(&plans->plans[i]);
    free(plans->of_layer);
    *plans = (struct attention_plans){0};
}

/* With magnitudes queries and keys have tables of their own. */
static int64_t tables_of(const rotary_rope *rope, bool apart)
{
    return apart ? 3 : rotary_rope_attention_factor(rope) != 1.0 ? 2 : 1;
}

double attention_plans_table_bytes(const struct attention_plans *plans,
                                   const struct transformer_config *config)
{
    bool xpos = plans->kind == ATTENTION_DECODER && model_encoding(config)->xpos;
    int64_t pairs = 0, positions = transformer_positions(config);
    for (int i = 0; i < MAX_ATTENTION_PLANS; i++) {
        const struct position_attention *plan = &plans->plans[i];
        pairs += plan->rope
                     ? rotary_rope_pairs(plan->rope) * tables_of(plan->rope, xpos || plan->scales_queries)
                     : 0;
        pairs += plan->value_rope ? rotary_rope_pairs(plan->value_rope) : 0;
    }
    /* A cosine and a sine of each pair. */
    return (double)positions * 2.0 * (double)pairs * sizeof(float);
}

/* ---- checking ---- */

/* *attention_factor is that of the rotation. */
static rotary_status check_rope(const rotary_rope_config *config, double *attention_factor,
                                rotary_error *error)
{
    rotary_rope_config small = *config;
    rotary_rope *rope;
    small.table_positions = 0;
    small.threads = 1;
    rotary_status status = rotary_rope_create(&rope, &small, error);
    if (status != ROTARY_OK)
        return status;
    *attention_factor = rotary_rope_attention_factor(rope);
    rotary_rope_destroy(rope);
    return ROTARY_OK;
}

/* Keys that grow by their rotation would be values that do. */
static rotary_status check_shared_keys(const struct transformer_config *config,
                                       const rotary_rope_config *rope, double attention_factor,
                                       rotary_error *error)
{
    if (config->key_is_value != KEY_IS_VALUE_ROTATED)
        return ROTARY_OK;
    if (rope->xpos_scale > 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "key_is_value is true, and the rotation multiplies keys by xPos's magnitudes: "
                           "wanted key_is_value unrotated or false");
    if (attention_factor != 1.0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "key_is_value is true, and the rotation multiplies keys by an attention factor of "
                           "%g: wanted attention_factor 1, or key_is_value unrotated or false",
                           attention_factor);
    return ROTARY_OK;
}

static rotary_status check_rotation(const struct transformer_config *config, int index, rotary_error *error)
{
    struct rotation_config rotation;
    rotary_status status = read_rotation(config, index, &rotation, error);
    if (status != ROTARY_OK)
        return status;
    double factor = 1.0, value_factor;
    if (uses_rope(config, rotation.rotate))
        status = check_rope(&rotation.rope.plan, &factor, error);
    if (status == ROTARY_OK && (rotation.rotate & ROTATE_VALUE_OUTPUT))
        status = check_rope(&rotation.value_rope, &value_factor, error);
    if (status == ROTARY_OK)
        status = check_shared_keys(config, &rotation.rope.plan, factor, error);
    rotation_config_free(&rotation);
    return status;
}

static rotary_status check_kind(const struct transformer_config *config, enum attention_kind kind,
                                rotary_error *error)
{
    int *plan_of_layer = NULL;
    int64_t layers = 0;
    rotary_status status = read_kind(config, kind, &layers, &plan_of_layer, error);
    if (status != ROTARY_OK)
        return status;
    bool checked[MAX_ATTENTION_PLANS] = {false};
    for (int64_t layer = 0; status == ROTARY_OK && layer < layers; layer++) {
        int index = plan_of_layer[layer];
        if (!checked[index])
            status = check_rotation(config, index, error);
        checked[index] = true;
    }
    free(plan_of_layer);
    return status;
}

rotary_status attention_plans_check(const struct transformer_config *config, rotary_error *error)
{
    bool encodes = config->architecture == ARCHITECTURE_ENCODER;
    rotary_status status = check_kind(config, encodes ? ATTENTION_ENCODER : ATTENTION_DECODER, error);
    if (status != ROTARY_OK || !transformer_has_encoder(config))
        return status;
    return check_kind(config, ATTENTION_ENCODER, error);
}
