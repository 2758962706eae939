/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/encoder_config.h"

#include "backend/operation_calls.h"
#include "base/fail.h"
#include "huggingface/config_keys.h"
#include "layer/encoding/encoding.h"
#include "layer/sublayer.h"

#include <string.h>

static const char *const families[] = {"bert", "roformer", NULL};
static const char *const activations[] = {"relu", "gelu", NULL}; /* in the order of enum activation */
static const char *const position_types[] = {"absolute", NULL};
static const char *const problems[] = {"single_label_classification", "regression", NULL};
enum { MAX_LABELS = 1 << 16 };

#define MEMBER(member) offsetof(struct encoder_config, member)
static const struct setting table[] = {
    {"model_type", SETTING_CHOICE, MEMBER(family), .choices = families},
    {"vocab_size", SETTING_INTEGER, MEMBER(vocab_size), .min = 1, .max = 1 << 24},
    {"hidden_size", SETTING_INTEGER, MEMBER(hidden_size), .min = 1, .max = 1 << 20},
    {"embedding_size", SETTING_INTEGER, MEMBER(embedding_size), .min = 1, .max = 1 << 20},
    {"num_hidden_layers", SETTING_INTEGER, MEMBER(num_hidden_layers), .min = 1, .max = 1024},
    {"num_attention_heads", SETTING_INTEGER, MEMBER(num_attention_heads), .min = 1,
     .max = TRANSFORMER_MAX_HEADS},
    {"intermediate_size", SETTING_INTEGER, MEMBER(intermediate_size), .min = 1, .max = 1 << 22},
    {"max_position_embeddings", SETTING_INTEGER, MEMBER(max_position_embeddings), .min = 16, .max = 1 << 20},
    {"type_vocab_size", SETTING_INTEGER, MEMBER(type_vocab_size), .min = 1, .max = 1 << 16},
    {"hidden_act", SETTING_CHOICE, MEMBER(hidden_act), .choices = activations},
    {"hidden_dropout_prob", SETTING_REAL, MEMBER(hidden_dropout_prob), .min = 0, .max = 0.99},
    {"attention_probs_dropout_prob", SETTING_REAL, MEMBER(attention_probs_dropout_prob), .min = 0,
     .max = 0.99},
    {"layer_norm_eps", SETTING_REAL, MEMBER(layer_norm_eps), .min = 1e-12, .max = 1},
    {"initializer_range", SETTING_REAL, MEMBER(initializer_range), .min = 0, .max = 10},
    {"tie_word_embeddings", SETTING_BOOLEAN, .offset = MEMBER(tie_word_embeddings)},
    {"rotary_value", SETTING_BOOLEAN, .offset = MEMBER(rotary_value)},
    {"is_decoder", SETTING_BOOLEAN, .offset = MEMBER(is_decoder)},
    {"add_cross_attention", SETTING_BOOLEAN, .offset = MEMBER(add_cross_attention)},
    {"position_embedding_type", SETTING_CHOICE, MEMBER(position_embedding_type), .choices = position_types},
    {"problem_type", SETTING_CHOICE, MEMBER(problem_type), .choices = problems},
};
enum { KEYS = sizeof table / sizeof table[0], SINGLE_LABEL = 0, REGRESSION = 1 };

static void fill_defaults(struct encoder_config *config, bool roformer)
{
    *config = (struct encoder_config){.vocab_size = roformer ? 50000 : 30522,
                                      .hidden_size = 768,
                                      .num_hidden_layers = 12,
                                      .num_attention_heads = 12,
                                      .intermediate_size = 3072,
                                      .max_position_embeddings = roformer ? 1536 : 512,
                                      .type_vocab_size = 2,
                                      .hidden_act = ACTIVATION_GELU,
                                      .hidden_dropout_prob = 0.1,
                                      .attention_probs_dropout_prob = 0.1,
                                      .layer_norm_eps = 1e-12,
                                      .initializer_range = 0.02,
                                      .tie_word_embeddings = true,
                                      .problem_type = -1};
}

bool encoder_config_is(const json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "model_type"));
    return type &&
           (strcmp(type, families[ENCODER_BERT]) == 0 || strcmp(type, families[ENCODER_ROFORMER]) == 0);
}

/* Reads the keys of the table alone. A null is the default. */
static rotary_status read_keys(struct encoder_config *config, const json_t *object, const char *path,
                               rotary_error *error)
{
    const struct settings settings = {table, KEYS, config};
    json_t *known = json_object();
    for (int i = 0; i < KEYS; i++) {
        json_t *value = json_object_get(object, table[i].name);
        if (value && !json_is_null(value))
            json_object_set(known, table[i].name, value);
    }
    rotary_status status = settings_read(&settings, 1, known, path, error);
    json_decref(known);
    return status;
}

/* Whether the model of the first class that "architectures" names predicts a label. */
static bool predicts_label(const json_t *object)
{
    const char *name = json_string_value(json_array_get(json_object_get(object, "architectures"), 0));
    return name && strstr(name, "ForSequenceClassification");
}

static rotary_status read_labels(struct encoder_config *config, const json_t *object, const char *path,
                                 rotary_error *error)
{
    const json_t *labels = json_object_get(object, "id2label"),
                 *count = json_object_get(object, "num_labels");
    const bool regression = config->problem_type == REGRESSION;
    if (!predicts_label(object))
        return ROTARY_OK;
    config->head = ENCODER_LABELS;
    config->labels = labels ? (int64_t)json_object_size(labels) : 2;
    if (!labels && json_is_number(count) && json_number_value(count) != 2)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s: \"num_labels\" is %g, and there is no \"id2label\", wanted one that names them", path,
            json_number_value(count));
    if (config->labels < 1 || config->labels > MAX_LABELS)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: \"id2label\" is no object of 1 to %d labels", path,
                           (int)MAX_LABELS);
    if (regression != (config->labels == 1) && config->problem_type >= 0)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s: \"problem_type\" is \"%s\" and \"id2label\" has %lld labels, wanted %s", path,
                           problems[config->problem_type], (long long)config->labels,
                           regression ? "1" : "at least 2");
    return ROTARY_OK;
}

/* What no model of this program computes. */
static rotary_status check_computed(const struct encoder_config *config, const char *path,
                                    rotary_error *error)
{
    const char *wrong = NULL;
    if (config->is_decoder)
        wrong = "\"is_decoder\" is true, wanted false: a token of an encoder sees all others";
    else if (config->add_cross_attention)
        wrong = "\"add_cross_attention\" is true, wanted false: an encoder has no source";
    else if (config->rotary_value)
        wrong = "\"rotary_value\" is true, wanted false: transformers rotates values and does not rotate the "
                "context back, which no position encoding of this program does";
    else if (config->embedding_size > 0 && config->embedding_size != config->hidden_size)
        wrong = "\"embedding_size\" is not \"hidden_size\", as is wanted: embeddings are not projected";
    else if (config->hidden_size % config->num_attention_heads != 0)
        wrong = "\"hidden_size\" is no multiple of \"num_attention_heads\", as is wanted";
    else if (config->family == ENCODER_ROFORMER && config->hidden_size / config->num_attention_heads % 2 != 0)
        wrong = "the channels of a head are an odd number, wanted pairs of them, which are rotated";
    return wrong ? rotary_fail(error, ROTARY_BAD_FILE, "%s: %s", path, wrong) : ROTARY_OK;
}

rotary_status encoder_config_read(struct encoder_config *config, const json_t *object, const char *path,
                                  rotary_error *error)
{
    const char *type = json_string_value(json_object_get(object, "model_type"));
    struct encoder_config read;
    fill_defaults(&read, type && strcmp(type, families[ENCODER_ROFORMER]) == 0);
    rotary_status status = config_keys_check(object, "encoder", type, path, error);
    if (status == ROTARY_OK)
        status = read_keys(&read, object, path, error);
    if (status == ROTARY_OK)
        status = read_labels(&read, object, path, error);
    if (status == ROTARY_OK)
        status = check_computed(&read, path, error);
    if (status == ROTARY_OK)
        *config = read;
    else if (status == ROTARY_INVALID_ARGUMENT && error)
        error->status = ROTARY_BAD_FILE;
    return status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status;
}

void encoder_config_model(const struct encoder_config *config, struct transformer_config *model)
{
    const bool roformer = config->family == ENCODER_ROFORMER;
    transformer_config_default(model);
    model->architecture = ARCHITECTURE_ENCODER;
    model->position = roformer ? POSITION_ROPE : POSITION_LEARNED;
    model->pairing = roformer ? ROTARY_PAIRING_INTERLEAVED : ROTARY_PAIRING_HALF;
    model->vocab_size = config->vocab_size;
    model->hidden_size = config->hidden_size;
    model->num_hidden_layers = config->num_hidden_layers;
    model->num_attention_heads = config->num_attention_heads;
    model->intermediate_size = config->intermediate_size;
    model->max_position_embeddings = config->max_position_embeddings;
    model->type_vocab_size = config->type_vocab_size;
    model->hidden_act = config->hidden_act;
    model->norm_position = NORM_POSITION_POST;
    model->norm_epsilon = config->layer_norm_eps;
    model->embedding_norm = true;
    model->output_transform = true;
    model->tie_word_embeddings = config->tie_word_embeddings;
    model->dropout = config->hidden_dropout_prob;
    model->attention_dropout = config->attention_probs_dropout_prob;
    model->initialisation = INITIALISE_BERT;
    model->initializer_range = config->initializer_range;
    model->num_labels = config->labels;
    /* RoFormer's classifier has the activation of the feed-forward layers. */
    model->classifier_activation = !roformer                               ? CLASSIFIER_TANH
                                   : config->hidden_act == ACTIVATION_RELU ? CLASSIFIER_RELU
                                                                           : CLASSIFIER_GELU;
}
