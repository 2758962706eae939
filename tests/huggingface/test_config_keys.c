/* SPDX-License-Identifier: Apache-2.0
 *
 * What config_keys.json says of the keys of a config.json is so, for every model type: another value of a key
 * that is applied makes another model or is refused, one of a key that is refused is refused by its name, and
 * one of a key that is unused changes nothing.
 */
#include "support/check.h"

#include "huggingface/config_keys.h"
#include "huggingface/decoder_config.h"
#include "huggingface/encoder_config.h"

#include <stdlib.h>
#include <string.h>

/* A value that is no default of the key, and keys without which it says nothing. */
struct sample {
    const char *key, *value, *beside;
};
#define WINDOWS "{\"use_sliding_window\": true, \"sliding_window\": 5, \"max_window_layers\": 2}"
#define LLAMA3                                                                                               \
    "{\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 2, \"low_freq_factor\": 1, "                 \
    "\"high_freq_factor\": 4, \"original_max_position_embeddings\": 16}}"
#define LABELS "{\"architectures\": [\"BertForSequenceClassification\"]}"
static const struct sample samples[] = {
    {"add_cross_attention", "true", NULL},
    {"architectures", "[\"BertForSequenceClassification\"]", NULL},
    {"attention_bias", "true", NULL},
    {"attention_bias", "false", NULL},
    {"attention_dropout", "0.25", NULL},
    {"attention_probs_dropout_prob", "0.25", NULL},
    {"attn_logit_softcapping", "3.5", NULL},
    {"dual_chunk_attention_config", "{\"chunk_size\": 4}", NULL},
    {"embedding_size", "8", NULL},
    {"final_logit_softcapping", "3.5", NULL},
    {"head_dim", "12", NULL},
    {"hidden_act", "\"relu\"", NULL},
    {"hidden_activation", "\"gelu_new\"", NULL},
    {"hidden_activation", "\"relu\"", NULL},
    {"hidden_dropout", "0.25", NULL},
    {"hidden_dropout_prob", "0.25", NULL},
    {"hidden_size", "64", NULL},
    {"id2label", "{\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}", LABELS},
    {"initializer_range", "0.5", NULL},
    {"intermediate_size", "48", NULL},
    {"is_causal", "true", NULL},
    {"is_causal", "false", NULL},
    {"is_decoder", "true", NULL},
    {"layer_norm_eps", "0.25", NULL},
    {"layer_types", "[\"full_attention\", \"full_attention\", \"sliding_attention\"]",
     "{\"use_sliding_window\": true, \"sliding_window\": 5, \"max_window_layers\": 0}"},
    {"max_position_embeddings", "77", NULL},
    {"max_window_layers", "1", WINDOWS},
    {"mlp_bias", "true", NULL},
    {"model_type", "\"mamba\"", NULL},
    {"num_attention_heads", "2", NULL},
    {"num_hidden_layers", "2", NULL},
    {"num_key_value_heads", "2", NULL},
    {"num_labels", "3", LABELS},
    {"original_max_position_embeddings", "8", LLAMA3},
    {"partial_rotary_factor", "0.5", NULL},
    {"per_layer_config", "{\"0\": {\"hidden_size\": 32}}", NULL},
    {"position_embedding_type", "\"relative_key\"", NULL},
    {"problem_type", "\"regression\"", LABELS},
    {"quantization_config", "{\"quant_method\": \"awq\"}", NULL},
    {"query_pre_attn_scalar", "7", NULL},
    {"rms_norm_eps", "0.25", NULL},
    {"rope_local_base_freq", "77.0", NULL},
    {"rope_parameters", "{\"rope_theta\": 77.0}", NULL},
    {"rope_scaling", "{\"rope_type\": \"linear\", \"factor\": 2}", NULL},
    {"rope_theta", "77.0", NULL},
    {"rotary_emb_base", "77.0", NULL},
    {"rotary_pct", "0.5", NULL},
    {"rotary_value", "true", NULL},
    {"sliding_window", "3", WINDOWS},
    {"sliding_window_pattern", "2", NULL},
    {"tie_word_embeddings", "true", NULL},
    {"tie_word_embeddings", "false", NULL},
    {"type_vocab_size", "3", NULL},
    {"use_bidirectional_attention", "true", NULL},
    {"use_parallel_residual", "false", NULL},
    {"use_sliding_window", "true", "{\"sliding_window\": 5, \"max_window_layers\": 1}"},
    {"vocab_size", "13", NULL},
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

static bool is_encoder(const char *model_type)
{
    return strcmp(model_type, "bert") == 0 || strcmp(model_type, "roformer") == 0;
}

/* The model as text; a refusal is its message. The caller frees it. */
static char *describe(const json_t *object, bool encoder, rotary_status *status)
{
    struct transformer_config model TRANSFORMER_CONFIG_LOCAL = {0};
    json_t *family = NULL, *settings = json_object();
    rotary_error error = {0};
    if (encoder) {
        struct encoder_config read;
        *status = encoder_config_read(&read, object, "config.json", &error);
        if (*status == ROTARY_OK) {
            encoder_config_model(&read, &model);
            json_object_set_new(settings, "head", json_integer(read.head));
            json_object_set_new(settings, "problem", json_integer(read.problem_type));
        }
    } else {
        *status = decoder_config_read(object, "config.json", &model, &family, &error);
    }
    json_decref(family);
    if (*status == ROTARY_OK) {
        struct settings tables[TRANSFORMER_SETTINGS];
        transformer_settings(&model, tables);
        CHECK_INT(settings_write(tables, TRANSFORMER_SETTINGS, settings, NULL), ROTARY_OK);
    }
    char *text = *status == ROTARY_OK ? json_dumps(settings, JSON_SORT_KEYS) : strdup(error.message);
    json_decref(settings);
    return text;
}

static json_t *base_of(const char *model_type)
{
    json_t *object =
        json_pack("{s:s, s:i, s:i, s:i, s:i, s:i}", "model_type", model_type, "vocab_size", 11, "hidden_size",
                  32, "num_hidden_layers", 3, "num_attention_heads", 4, "intermediate_size", 24);
    if (!is_encoder(model_type) && strcmp(model_type, "gpt_neox") != 0)
        json_object_set_new(object, "num_key_value_heads", json_integer(4));
    return object;
}

enum outcome { SAME, OTHER, REFUSED };

/* What a value of the key does; *message is that of a refusal, which the caller frees. */
static enum outcome try(const char *model_type, const char *key, json_t *value, const char *beside,
                        char **message)
{
    const bool encoder = is_encoder(model_type);
    json_t *object = base_of(model_type);
    json_t *more = beside ? json_loads(beside, 0, NULL) : NULL;
    if (more)
        json_object_update(object, more);
    rotary_status status[2];
    char *before = describe(object, encoder, &status[0]);
    json_object_set_new(object, key, value);
    char *after = describe(object, encoder, &status[1]);
    if (!CHECK_INT(status[0], ROTARY_OK))
        CHECK_TEXT(before, "");
    const enum outcome outcome = status[1] != ROTARY_OK ? REFUSED : strcmp(before, after) == 0 ? SAME : OTHER;
    free(before);
    *message = after;
    json_decref(more);
    json_decref(object);
    return outcome;
}

/* Whether a sample of the key makes another model or a refusal; a key of the list must have a sample. */
static bool has_effect(const char *model_type, const char *key)
{
    bool sampled = false, effect = false;
    for (int i = 0; i < SAMPLES; i++) {
        if (strcmp(samples[i].key, key) != 0)
            continue;
        char *message;
        json_t *value = json_loads(samples[i].value, JSON_DECODE_ANY, NULL);
        effect = try(model_type, key, value, samples[i].beside, &message) != SAME || effect;
        sampled = true;
        free(message);
    }
    CHECK(sampled);
    return effect;
}

static void check_refused(const char *model_type, const char *key, const char *value)
{
    char *message, words[128];
    snprintf(words, sizeof words, "config.json|\"%s\"", key);
    CHECK_INT(try(model_type, key, json_loads(value, JSON_DECODE_ANY, NULL), NULL, &message), REFUSED);
    CHECK_WORDS(message, words);
    free(message);
    CHECK_INT(try(model_type, key, json_null(), NULL, &message), SAME);
    free(message);
}

static void check_unused(const char *model_type, const char *key)
{
    static const char *const values[] = {"3", "true", "{\"a\": {\"b\": 1}}"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char *message;
        CHECK_INT(try(model_type, key, json_loads(values[i], JSON_DECODE_ANY, NULL), NULL, &message), SAME);
        free(message);
    }
}

static const char *sample_of(const char *key)
{
    for (int i = 0; i < SAMPLES; i++)
        if (strcmp(samples[i].key, key) == 0)
            return samples[i].value;
    CHECK_TEXT(key, "a key with a sample");
    return "3";
}

static void check_list(const char *model_type, const json_t *list)
{
    json_t *applied = json_object_get(list, "applied"), *refused = json_object_get(list, "refused"),
           *unused = json_object_get(list, "unused");
    for (size_t i = 0; i < json_array_size(applied); i++) {
        const char *key = json_string_value(json_array_get(applied, i));
        check_about("%s, %s", model_type, key);
        CHECK(has_effect(model_type, key));
    }
    const char *key;
    json_t *row;
    json_object_foreach (refused, key, row) {
        check_about("%s, %s", model_type, key);
        CHECK(json_is_string(json_object_get(row, "why")));
        check_refused(model_type, key, sample_of(key));
    }
    json_object_foreach (unused, key, row) {
        check_about("%s, %s", model_type, key);
        CHECK(json_is_string(row));
        check_unused(model_type, key);
    }
}

/* Keys among the parameters of a decoder's rotation, for all layers and for a type of them. */
static void check_parameters(const char *model_type, const json_t *list)
{
    const char *key;
    json_t *row;
    json_object_foreach (json_object_get(list, "refused"), key, row)
        for (int by_type = 0; by_type < 2; by_type++) {
            char words[128], *message;
            json_t *value = json_pack("{s:s, s:i, s:i}", "rope_type", "dynamic", "factor", 2, key, 3);
            if (by_type)
                value = json_pack("{s:o}", "full_attention", value);
            snprintf(words, sizeof words, "config.json|\"%s\" is 3: transformers", key);
            check_about("%s, %s", model_type, key);
            CHECK_INT(try(model_type, "rope_parameters", value, NULL, &message), REFUSED);
            CHECK_WORDS(message, words);
            free(message);
        }
}

int main(void)
{
    json_t *table = json_loads(config_keys_json, JSON_REJECT_DUPLICATES, NULL), *list;
    const char *name;
    int types = 0;
    CHECK(table != NULL);
    json_object_foreach (table, name, list) {
        if (strcmp(name, "decoder") == 0 || strcmp(name, "encoder") == 0 || strcmp(name, "parameters") == 0)
            continue;
        if (!is_encoder(name))
            check_parameters(name, json_object_get(table, "parameters"));
        check_list(name, json_object_get(table, is_encoder(name) ? "encoder" : "decoder"));
        check_list(name, list);
        types++;
    }
    CHECK_INT(types, 13);
    json_decref(table);
    return check_report();
}
