/* SPDX-License-Identifier: Apache-2.0 */
#include "train/unused_keys.h"

#include "base/fail.h"
#include "file/file.h"
#include "layer/sublayer.h"
#include "model/encoding/model_encoding.h"
#include "train/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_BYTES = 64 };

/* ---- conditions ---- */

static bool rotates(const struct position_encoding *encoding)
{
    return encoding->rotate != 0;
}

static bool rotates_no_query_or_key(const struct run_config *config)
{
    return !(model_rotates(&config->model) & ROTATE_QUERY_KEY);
}

static bool rotates_no_value_or_output(const struct run_config *config)
{
    return !(model_rotates(&config->model) & ROTATE_VALUE_OUTPUT);
}

/* Where `rotate` says it, and not `position`. */
static bool names_no_value_or_output(const struct run_config *config)
{
    return config->model.rotate && rotates_no_value_or_output(config);
}

static bool has_magnitudes(const struct position_encoding *encoding)
{
    return encoding->xpos;
}

static bool has_frequencies(const struct run_config *config)
{
    return model_encoding_has_frequencies(&config->model);
}

/* Whether parameters, or those of a layer type within, name a scaling by the length of the sequences. */
static bool scales_by_length(const json_t *parameters)
{
    static const char *const names[] = {"dynamic", "longrope", "su", NULL};
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)parameters, key, value) { /* jansson's parameter is not const */
        for (int i = 0; json_is_string(value) && names[i]; i++)
            if (strcmp(json_string_value(value), names[i]) == 0)
                return true;
        if (scales_by_length(value))
            return true;
    }
    return false;
}

/* No scaling that depends on the length of the sequences. */
static bool scales_by_no_length(const struct run_config *config)
{
    return !scales_by_length(config->model.rope_scaling) && !scales_by_length(config->model.rope_parameters);
}

static bool has_no_minimum(const struct run_config *config)
{
    return config->train.schedule != SCHEDULE_LINEAR && config->train.schedule != SCHEDULE_COSINE;
}

static bool has_epochs(const struct run_config *config)
{
    return config->train.epochs > 0;
}

static bool has_token_budget(const struct run_config *config)
{
    return config->train.batch_tokens > 0;
}

static bool validates_all(const struct run_config *config)
{
    return task_has_examples(&config->task);
}

static bool is_not_normal(const struct run_config *config)
{
    return !initial_is_normal((enum initial_kind)config->model.initialisation);
}

static bool has_no_encoder(const struct run_config *config)
{
    return !transformer_has_encoder(&config->model);
}

static bool is_encoder(const struct run_config *config)
{
    return config->model.architecture == ARCHITECTURE_ENCODER;
}

static bool is_classifier(const struct run_config *config)
{
    return config->model.num_labels > 0;
}

static bool is_no_classifier(const struct run_config *config)
{
    return config->model.num_labels == 0;
}

static bool is_regression(const struct run_config *config)
{
    return config->model.num_labels == 1 && task_choices(&config->task) == 0;
}

static bool adapts_nothing(const struct run_config *config)
{
    return config->train.lora_rank == 0;
}

/* A window that no sequence fills, of layers that differ from others in nothing else. */
static bool has_wide_window(const struct run_config *config)
{
    const struct transformer_config *model = &config->model;
    return model->sliding_window >= model->max_position_embeddings && model->rope_local_base_freq == 0 &&
           !model->layer_types && !model->rope_parameters;
}

/* ---- keys without effect ---- */

static const char encoder_decoder[] = "architecture encoder_decoder";

static const struct {
    const char *key, *other; /* `other` is the key that excludes it */
    bool (*is_unused)(const struct run_config *config);
    const char *wanted;
    /* Of a key that encodings have by their terms, in place of the last three: `position` excludes it. */
    bool (*fits)(const struct position_encoding *encoding);
} conditions[] = {
    {"rotate", .fits = rotates},
    {"value_fraction", "rotate", names_no_value_or_output, .wanted = "rotate with v or o"},
    {"value_fraction", "position", rotates_no_value_or_output,
     .wanted = "position roper, or rotate with v or o"},
    {"rope_theta", .fits = rotates},
    {"rope_theta", "position", has_frequencies, .wanted = "a position without frequencies of its own"},
    {"partial_rotary_factor", .fits = rotates},
    {"partial_rotary_factor", "rotate", rotates_no_query_or_key, .wanted = "rotate with q or k"},
    {"pairing", .fits = rotates},
    {"rope_scaling", .fits = rotates},
    {"rope_parameters", .fits = rotates},
    {"rope_sequence_length", .fits = rotates},
    {"rope_sequence_length", "rope_scaling", scales_by_no_length, .wanted = "rope_type dynamic or longrope"},
    {"rope_local_base_freq", .fits = rotates},
    {"no_rope_layers", .fits = rotates},
    {"xpos_scale", .fits = has_magnitudes},
    {"xpos_scale", "architecture", is_encoder,
     .wanted = "an architecture with a decoder, which alone has magnitudes"},
    {"minimum_learning_rate", "schedule", has_no_minimum, .wanted = "schedule linear or cosine"},
    {"steps", "epochs", has_epochs, .wanted = "epochs 0"},
    {"batch_size", "batch_tokens", has_token_budget, .wanted = "batch_tokens 0"},
    {"validation_sequences", "task", validates_all, .wanted = "a task that makes up its data"},
    {"initializer_range", "initialisation", is_not_normal, .wanted = "initialisation normal or bert"},
    {"num_encoder_layers", "architecture", has_no_encoder, .wanted = encoder_decoder},
    {"source_vocab_size", "architecture", has_no_encoder, .wanted = encoder_decoder},
    {"share_encoder_decoder_embeddings", "architecture", has_no_encoder, .wanted = encoder_decoder},
    {"cross_rotary", "architecture", has_no_encoder, .wanted = encoder_decoder},
    {"cross_rotary", .fits = rotates},
    {"output_transform", "num_labels", is_classifier, .wanted = "num_labels 0"},
    {"tie_word_embeddings", "num_labels", is_classifier, .wanted = "num_labels 0"},
    {"output_bias", "num_labels", is_classifier, .wanted = "num_labels 0"},
    {"classifier_activation", "num_labels", is_no_classifier, .wanted = "num_labels of a classifier"},
    {"classifier_pooling", "num_labels", is_no_classifier, .wanted = "num_labels of a classifier"},
    {"label_smoothing", "num_labels", is_regression, .wanted = "several classes, or num_labels 0"},
    {"lora_alpha", "lora_rank", adapts_nothing, .wanted = "lora_rank of at least 1"},
    {"lora_targets", "lora_rank", adapts_nothing, .wanted = "lora_rank of at least 1"},
    {"sliding_window", "max_position_embeddings", has_wide_window, .wanted = "a window that is shorter"},
};

/* The key that excludes another, and what is wanted in its place. */
struct exclusion {
    const char *key;
    char wanted[SETTINGS_NAMES_BYTES + 16];
};

static bool exclude(struct exclusion *exclusion, const char *key, const char *before, const char *wanted)
{
    exclusion->key = key;
    snprintf(exclusion->wanted, sizeof exclusion->wanted, "%s%s", before, wanted);
    return true;
}

/* By the conditions, in their order. */
static bool find_condition(const struct run_config *config, const char *key, struct exclusion *found)
{
    char names[SETTINGS_NAMES_BYTES];
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        if (strcmp(conditions[i].key, key) != 0)
            continue;
        if (conditions[i].fits && !conditions[i].fits(model_encoding(&config->model)))
            return exclude(found, "position", "position ", encoding_names(conditions[i].fits, names));
        if (conditions[i].is_unused && conditions[i].is_unused(config))
            return exclude(found, conditions[i].other, "", conditions[i].wanted);
    }
    return false;
}

/* What excludes `key`; false: it is used. `folder` has the vocabulary; NULL: it is made, as the task's keys
 * say. */
static bool find_excluding(const struct run_config *config, const char *folder, const char *key,
                           struct exclusion *found)
{
    char names[SETTINGS_NAMES_BYTES];
    const char *wanted = encoding_names_with_key(key, names);
    if (wanted && !encoding_has_key(model_encoding(&config->model), key))
        return exclude(found, "position", "position ", wanted);
    if (find_condition(config, key, found))
        return true;
    const char *other = task_excluding_key(&config->task, key, &wanted);
    if (!other || (folder && task_makes_vocabulary(&config->task, other)))
        return false;
    return exclude(found, other, "", wanted);
}

/* The value of a key as a person writes it; "?" without memory. */
static void write_value(const json_t *object, const char *key, char text[VALUE_BYTES])
{
    const json_t *value = json_object_get(object, key);
    char *made = json_is_string(value) ? NULL : file_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT);
    const char *source = json_is_string(value) ? json_string_value(value) : made ? made : "?";
    snprintf(text, VALUE_BYTES, "%.*s%s", VALUE_BYTES - 4, source,
             strlen(source) > VALUE_BYTES - 4 ? "..." : "");
    free(made);
}

static bool is_default(const json_t *object, const char *key)
{
    struct run_config defaults;
    run_config_default(&defaults);
    json_t *usual = NULL;
    rotary_status status = run_config_to_json(&defaults, &usual, NULL);
    bool same = status == ROTARY_OK && json_equal(json_object_get(usual, key), json_object_get(object, key));
    json_decref(usual);
    return same;
}

/* ROTARY_INVALID_ARGUMENT if the key, which is excluded in this configuration, is not its default. */
static rotary_status refuse_unless_default(const struct run_config *config, const char *key,
                                           const struct exclusion *exclusion, rotary_error *error)
{
    json_t *object;
    rotary_status status = run_config_to_json(config, &object, error);
    if (status != ROTARY_OK)
        return status;
    const char *other = exclusion->key, *wanted = exclusion->wanted;
    char value[VALUE_BYTES], other_value[VALUE_BYTES];
    write_value(object, key, value);
    write_value(object, other, other_value);
    if (strcmp(key, "steps") == 0 && has_epochs(config)) /* what was set is gone: epochs say what it is */
        status =
            rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s does nothing with %s %s: wanted %s, or no %s",
                        key, other, other_value, wanted, key);
    else if (!is_default(object, key))
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "%s is %s, which does nothing with %s %s: wanted %s, or no %s", key, value,
                             other, other_value, wanted, key);
    json_decref(object);
    return status;
}

/* The folder whose vocabulary the configuration has in place of what `key` says; NULL: `key` says nothing of
 * a vocabulary, or no folder has one. */
static const char *folder_in_place(const struct unused_keys_call *call, const struct run_config *config,
                                   const char *key)
{
    return task_makes_vocabulary(&config->task, key) ? run_vocabulary_folder(config, call->folder) : NULL;
}

static bool is_used(const struct unused_keys_call *call, const struct run_config *config, const char *key)
{
    struct exclusion ignored;
    return !folder_in_place(call, config, key) &&
           !find_excluding(config, run_vocabulary_folder(config, call->folder), key, &ignored);
}

/* The key is used by none of the configurations. */
static rotary_status refuse(const struct unused_keys_call *call, const struct run_config *config,
                            const char *key, rotary_error *error)
{
    const char *folder = folder_in_place(call, config, key);
    struct exclusion exclusion;
    if (folder)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s is set, and the vocabulary is that of %.200s: leave it out", key, folder);
    return find_excluding(config, run_vocabulary_folder(config, call->folder), key, &exclusion)
               ? refuse_unless_default(config, key, &exclusion, error)
               : ROTARY_OK;
}

rotary_status unused_keys_check(const struct unused_keys_call *call, const char *key, rotary_error *error)
{
    for (int i = 0; i < call->count; i++)
        if (is_used(call, &call->configs[i], key))
            return ROTARY_OK;
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < call->count; i++)
        status = refuse(call, &call->configs[i], key, error);
    return status;
}

rotary_status unused_keys_check_assigned(const struct unused_keys_call *call, const char *const *assignments,
                                         int count, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < count && status == ROTARY_OK; i++) {
        char key[SETTING_TEXT_BYTES];
        settings_assigned_key(key, assignments[i]);
        status = unused_keys_check(call, key, error);
    }
    return status;
}
