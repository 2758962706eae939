/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/export_rotation.h"

#include "base/fail.h"
#include "huggingface/export_family.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

/* What neither format expresses. */
static rotary_status check(const struct export_rotation *rotation, const char *where, rotary_error *error)
{
    const rotary_rope_config *plan = &rotation->config.rope.plan;
    const char *wrong = NULL;
    if (!(rotation->config.rotate & ROTATE_QUERY_KEY))
        wrong = "nothing is rotated, wanted a rotation of all layers";
    else if (plan->rotary_start != 0)
        wrong = "\"span\" is \"back\", wanted \"front\": the channels that are rotated come first";
    else if (plan->axes != ROTARY_AXES_ONE)
        wrong = "positions have several axes, wanted one, that of text";
    else if (plan->scaling == ROTARY_SCALING_PROPORTIONAL)
        wrong = "rope_type is proportional, wanted another: these models rotate all pairs of the span";
    else if (plan->pair_factors || plan->inverse_frequencies)
        wrong = "the rotation has a list of its own, pair_factors or inverse_frequencies: wanted a rope_type";
    else if (plan->query_scale_beta != 0)
        wrong = "queries grow with their position (\"llama_4_scaling_beta\"), wanted 0";
    else if (plan->xpos_scale != 0)
        wrong = "queries and keys have magnitudes by position (xpos), wanted none";
    else if (plan->table_dtype != ROTARY_F32)
        wrong = "cosines and sines are rounded to 16 bits (\"tables\"), wanted \"f32\"";
    return wrong ? rotary_fail(error, ROTARY_UNSUPPORTED, "%s: %s", where, wrong) : ROTARY_OK;
}

/* The base whose frequencies the plan has, which are its powers: the last pair's has the most digits. */
static double base_of(const rotary_rope *plan)
{
    const int64_t last = rotary_rope_pairs(plan) - 1;
    const double frequency = rotary_rope_inverse_frequencies(plan)[last];
    return pow(frequency, -(double)(last + 1) / (double)last);
}

/* Whether transformers has the model's frequencies for every length from `dynamic` itself: where nothing is
 * changed up to max_position_embeddings, or where the model's are those of one length that was asked for. */
static bool stays_dynamic(const struct export_rotation *rotation)
{
    const rotary_rope_config *plan = &rotation->config.rope.plan;
    return plan->scaling == ROTARY_SCALING_DYNAMIC_NTK &&
           (plan->sequence_length <= rotation->original ||
            (rotation->for_a_length && rotation->original == plan->max_positions));
}

static void derive(struct export_rotation *rotation)
{
    const rotary_rope_config *plan = &rotation->config.rope.plan;
    rotation->original = plan->original_positions > 0 ? plan->original_positions : plan->max_positions;
    rotation->factor = plan->factor;
    if (plan->factor == 0 && rotation->original > 0)
        rotation->factor = (double)plan->max_positions / (double)rotation->original;
    rotation->base = plan->base;
    if (plan->scaling == ROTARY_SCALING_NTK || plan->scaling == ROTARY_SCALING_DYNAMIC_NTK)
        rotation->base = base_of(rotation->plan);
}

/* The layer type to read: the other one where no layer has the one that is asked for. */
static const char *layer_type_of(const struct transformer_config *config, bool sliding)
{
    const bool windowed = export_family_windowed(config),
               full = !windowed || transformer_names_layer_type(config, "full_attention");
    return !full || (sliding && windowed) ? "sliding_attention" : "full_attention";
}

rotary_status export_rotation_read(struct export_rotation *rotation, const struct transformer_config *config,
                                   bool sliding, const char *where, rotary_error *error)
{
    struct export_rotation read = {.plan = NULL, .for_a_length = config->rope_sequence_length > 0};
    rotary_status status = rotation_config_read(config, layer_type_of(config, sliding), &read.config, error);
    if (status != ROTARY_OK)
        return status;
    read.config.rope.plan.table_positions = 1;
    if (read.config.rotate & ROTATE_QUERY_KEY)
        status = rotary_rope_create(&read.plan, &read.config.rope.plan, error);
    if (status == ROTARY_OK)
        status = check(&read, where, error);
    if (status == ROTARY_OK) {
        derive(&read);
        *rotation = read;
    } else {
        export_rotation_free(&read);
    }
    return status;
}

rotary_status export_rotation_settle(struct transformer_config *config, rotary_error *error)
{
    struct rotation_config read;
    rotary_status status = rotation_config_read(config, layer_type_of(config, false), &read, error);
    if (status != ROTARY_OK)
        return status;
    const rotary_rope_config *plan = &read.rope.plan;
    if (read.rotate & ROTATE_QUERY_KEY) {
        config->pairing = plan->pairing;
        if (rope_config_channels(config->head_dim, config->partial_rotary_factor) != plan->rotary_dim)
            config->partial_rotary_factor = (double)plan->rotary_dim / (double)config->head_dim;
    }
    rotation_config_free(&read);
    return ROTARY_OK;
}

void export_rotation_free(struct export_rotation *rotation)
{
    rotary_rope_destroy(rotation->plan);
    rotation_config_free(&rotation->config);
    *rotation = (struct export_rotation){.plan = NULL};
}

/* ---- transformers ---- */

static json_t *list_of(const double *numbers, int64_t count)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(list, json_real(numbers[i]));
    return list;
}

static json_t *yarn_parameters(const struct export_rotation *rotation)
{
    const rotary_rope_config *plan = &rotation->config.rope.plan;
    return json_pack("{s:s, s:f, s:f, s:I, s:f, s:f, s:f, s:b}", "rope_type", "yarn", "rope_theta",
                     rotation->base, "factor", rotation->factor, "original_max_position_embeddings",
                     (json_int_t)rotation->original, "attention_factor",
                     rotary_rope_attention_factor(rotation->plan), "beta_fast", plan->beta_fast, "beta_slow",
                     plan->beta_slow, "truncate", plan->truncate);
}

static json_t *longrope_parameters(const struct export_rotation *rotation)
{
    const rotary_rope_config *plan = &rotation->config.rope.plan;
    const int64_t pairs = rotary_rope_pairs(rotation->plan);
    const bool is_long = plan->sequence_length > rotation->original;
    const double *in_force = is_long && !rotation->for_a_length ? plan->long_factors : plan->short_factors;
    return json_pack("{s:s, s:f, s:f, s:I, s:f, s:o, s:o}", "rope_type", "longrope", "rope_theta",
                     rotation->base, "factor", rotation->factor, "original_max_position_embeddings",
                     (json_int_t)rotation->original, "attention_factor",
                     rotary_rope_attention_factor(rotation->plan), "short_factor", list_of(in_force, pairs),
                     "long_factor", list_of(plan->long_factors, pairs));
}

static json_t *llama3_parameters(const struct export_rotation *rotation)
{
    const rotary_rope_config *plan = &rotation->config.rope.plan;
    return json_pack("{s:s, s:f, s:f, s:I, s:f, s:f}", "rope_type", "llama3", "rope_theta", rotation->base,
                     "factor", rotation->factor, "original_max_position_embeddings",
                     (json_int_t)rotation->original, "low_freq_factor", plan->low_frequency_factor,
                     "high_freq_factor", plan->high_frequency_factor);
}

/* Any scaling as a list of factors that holds for all lengths. */
static json_t *listed_parameters(const struct export_rotation *rotation)
{
    const int64_t pairs = rotary_rope_pairs(rotation->plan);
    const double *frequencies = rotary_rope_inverse_frequencies(rotation->plan);
    json_t *list = json_array();
    for (int64_t i = 0; i < pairs; i++)
        json_array_append_new(list,
                              json_real(pow(rotation->base, -(double)i / (double)pairs) / frequencies[i]));
    const int64_t original = rotation->original > 0 ? rotation->original : 1;
    return json_pack("{s:s, s:f, s:I, s:f, s:O, s:o}", "rope_type", "longrope", "rope_theta", rotation->base,
                     "original_max_position_embeddings", (json_int_t)original, "attention_factor",
                     rotary_rope_attention_factor(rotation->plan), "short_factor", list, "long_factor", list);
}

json_t *export_rotation_parameters(const struct export_rotation *rotation, bool longrope)
{
    const rotary_rope_config *plan = &rotation->config.rope.plan;
    const bool powers = plan->scaling == ROTARY_SCALING_NONE || plan->scaling == ROTARY_SCALING_NTK ||
                        plan->scaling == ROTARY_SCALING_DYNAMIC_NTK;
    if (longrope && powers)
        return json_pack("{s:s, s:f}", "rope_type", "default", "rope_theta", rotation->base);
    if (longrope && plan->scaling != ROTARY_SCALING_LONGROPE)
        return listed_parameters(rotation);
    switch (plan->scaling) {
    case ROTARY_SCALING_LINEAR:
        return json_pack("{s:s, s:f, s:f}", "rope_type", "linear", "rope_theta", rotation->base, "factor",
                         rotation->factor);
    case ROTARY_SCALING_YARN:
        return yarn_parameters(rotation);
    case ROTARY_SCALING_LONGROPE:
        return longrope_parameters(rotation);
    case ROTARY_SCALING_LLAMA3:
        return llama3_parameters(rotation);
    default:
        if (stays_dynamic(rotation))
            return json_pack("{s:s, s:f, s:f}", "rope_type", "dynamic", "rope_theta", plan->base, "factor",
                             rotation->factor);
        return json_pack("{s:s, s:f}", "rope_type", "default", "rope_theta", rotation->base);
    }
}

/* ---- GGUF ---- */

/* "<architecture>.rope.<name>" */
static void set(json_t *metadata, const char *architecture, const char *name, json_t *value)
{
    char key[96];
    snprintf(key, sizeof key, "%s.rope.%s", architecture, name);
    json_object_set_new(metadata, key, value);
}

/* Whether llama.cpp computes the same from YaRN's own keys: it rounds the ends of the ramp, and older
 * versions have no other beta_fast and beta_slow than the defaults. */
static bool has_own_yarn(const struct export_rotation *rotation)
{
    const rotary_rope_config *plan = &rotation->config.rope.plan;
    return plan->scaling == ROTARY_SCALING_YARN && plan->truncate && plan->beta_fast == 32 &&
           plan->beta_slow == 1 && rotation->factor >= 1;
}

static void set_yarn(const struct export_rotation *rotation, const char *architecture, json_t *metadata)
{
    /* llama.cpp multiplies the factor of the file by this one. */
    const double own = 1.0 + 0.1 * log(rotation->factor),
                 rest = rotary_rope_attention_factor(rotation->plan) / own;
    set(metadata, architecture, "scaling.type", json_string("yarn"));
    set(metadata, architecture, "scaling.factor", json_real(rotation->factor));
    set(metadata, architecture, "scaling.original_context_length",
        json_integer((json_int_t)rotation->original));
    if (!(fabs(rest - 1.0) < 1e-7))
        set(metadata, architecture, "scaling.attn_factor", json_real(rest));
}

/* The frequencies of the base, divided by those of the plan. */
static void fill_factors(const struct export_rotation *rotation, float *factors)
{
    const int64_t pairs = rotary_rope_pairs(rotation->plan);
    const double *frequencies = rotary_rope_inverse_frequencies(rotation->plan);
    for (int64_t i = 0; i < pairs; i++)
        factors[i] = (float)(pow(rotation->base, -(double)i / (double)pairs) / frequencies[i]);
}

void export_rotation_gguf(const struct export_rotation *rotation, const char *architecture, json_t *metadata,
                          float *factors, bool *has_factors)
{
    const rotary_scaling scaling = rotation->config.rope.plan.scaling;
    const double magnitude = rotary_rope_attention_factor(rotation->plan);
    set(metadata, architecture, "freq_base", json_real(rotation->base));
    *has_factors = false;
    if (has_own_yarn(rotation)) {
        set_yarn(rotation, architecture, metadata);
        return;
    }
    if (scaling == ROTARY_SCALING_LINEAR) {
        set(metadata, architecture, "scaling.type", json_string("linear"));
        set(metadata, architecture, "scaling.factor", json_real(rotation->factor));
    }
    *has_factors = scaling == ROTARY_SCALING_YARN || scaling == ROTARY_SCALING_LONGROPE ||
                   scaling == ROTARY_SCALING_LLAMA3;
    if (*has_factors)
        fill_factors(rotation, factors);
    if (magnitude != 1.0)
        set(metadata, architecture, "scaling.attn_factor", json_real(magnitude));
}
