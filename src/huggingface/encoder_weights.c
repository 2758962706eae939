/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/encoder_weights.h"

#include "base/fail.h"
#include "huggingface/buffer_tensors.h"
#include "huggingface/tied_head.h"
#include "huggingface/weight_files.h"
#include "model/parameters_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 3, NAME_BYTES = 128 };

/* A module of this program's models, and those of transformers' that it has one below the other; without
 * "layers.N." and "encoder.layer.N.". */
struct module_names {
    const char *ours, *theirs[PARTS];
};

static const struct module_names of_embedding[] = {
    {"embedding", {"embeddings.word_embeddings"}},
    {"embedding.position", {"embeddings.position_embeddings"}},
    {"embedding.type", {"embeddings.token_type_embeddings"}},
    {"embedding.norm", {"embeddings.LayerNorm"}},
    {NULL, {NULL}},
};
static const struct module_names of_layer[] = {
    {"attention.query_key_value", {"attention.self.query", "attention.self.key", "attention.self.value"}},
    {"attention.output", {"attention.output.dense"}},
    {"attention_norm", {"attention.output.LayerNorm"}},
    {"feed_forward.up", {"intermediate.dense"}},
    {"feed_forward.down", {"output.dense"}},
    {"feed_forward_norm", {"output.LayerNorm"}},
    {NULL, {NULL}},
};
/* Behind the last layer. */
static const struct module_names of_bert_head[] = {
    {"transform.dense", {"cls.predictions.transform.dense"}},
    {"transform.norm", {"cls.predictions.transform.LayerNorm"}},
    {"output", {"cls.predictions.decoder"}},
    {"pooler.dense", {"bert.pooler.dense"}},
    {"classifier", {"classifier"}},
    {NULL, {NULL}},
};
static const struct module_names of_roformer_head[] = {
    {"transform.dense", {"cls.predictions.transform.dense"}},
    {"transform.norm", {"cls.predictions.transform.LayerNorm"}},
    {"output", {"cls.predictions.decoder"}},
    {"pooler.dense", {"classifier.dense"}},
    {"classifier", {"classifier.out_proj"}},
    {NULL, {NULL}},
};

/* Other names of the same tensor: those of models without a head, and of those that were once TensorFlow's.
 * The bias of the output projection is a parameter of its own, and one of `decoder`. */
static const struct {
    const char *end, *other;
} other_ends[] = {{".LayerNorm.weight", ".LayerNorm.gamma"},
                  {".LayerNorm.bias", ".LayerNorm.beta"},
                  {"predictions.decoder.bias", "predictions.bias"}};

/* What is behind the last layer of the encoder of one task, and is not used for another one. */
static const char *const of_heads[] = {"cls.*",        "bert.pooler.*", "pooler.*",
                                       "classifier.*", "qa_outputs.*",  NULL};

struct encoder_map {
    const struct encoder_weights_call *call;
    const struct weight_files *weights;
    const struct parameters *parameters;
    struct parameter_source *sources; /* [count] of [PARTS parameters->count] */
    char (*names)[NAME_BYTES];        /* likewise: of their tensors */
    int count;
    enum tied_head head; /* of a model that is tied */
};

/* ---- names ---- */

static const char *stem_of(const struct encoder_config *config)
{
    return config->family == ENCODER_ROFORMER ? "roformer." : "bert.";
}

/* The file's own name of a tensor, which may lack the stem. */
static bool find_without_stem(const struct weight_files *weights, const char *stem, char name[NAME_BYTES])
{
    if (weight_files_find(weights, name))
        return true;
    if (strncmp(name, stem, strlen(stem)) != 0 || !weight_files_find(weights, name + strlen(stem)))
        return false;
    memmove(name, name + strlen(stem), strlen(name + strlen(stem)) + 1);
    return true;
}

static bool find_tensor(const struct encoder_map *map, char name[NAME_BYTES])
{
    const char *stem = stem_of(map->call->config);
    if (find_without_stem(map->weights, stem, name))
        return true;
    for (size_t i = 0; i < sizeof other_ends / sizeof other_ends[0]; i++) {
        const size_t length = strlen(name), end = strlen(other_ends[i].end);
        char other[NAME_BYTES];
        if (length < end || strcmp(name + length - end, other_ends[i].end) != 0)
            continue;
        snprintf(other, sizeof other, "%.*s%s", (int)(length - end), name, other_ends[i].other);
        if (find_without_stem(map->weights, stem, other)) {
            memcpy(name, other, sizeof other);
            return true;
        }
    }
    return false;
}

/* The row whose module the parameter `name` is of, and what is behind it: "weight", "bias". */
static const struct module_names *find_module(const struct module_names *rows, const char *name,
                                              const char **kind)
{
    const char *dot = strrchr(name, '.');
    for (; dot && rows->ours; rows++)
        if (strlen(rows->ours) == (size_t)(dot - name) &&
            memcmp(rows->ours, name, (size_t)(dot - name)) == 0) {
            *kind = dot + 1;
            return rows;
        }
    return NULL;
}

/* ---- the output projection ---- */

static const char output_name[] = "cls.predictions.decoder.weight";

static enum tied_head find_head(const struct weight_files *weights, const struct encoder_config *config)
{
    char embedding[NAME_BYTES];
    snprintf(embedding, sizeof embedding, "%s%s.weight", stem_of(config), of_embedding[0].theirs[0]);
    (void)find_without_stem(weights, stem_of(config), embedding);
    return tied_head_find(weights, embedding, output_name);
}

void encoder_weights_settle(const char *folder, struct encoder_config *config)
{
    struct weight_files weights;
    if (!config->tie_word_embeddings || config->head != ENCODER_TOKENS ||
        weight_files_open(&weights, folder, NULL) != ROTARY_OK)
        return;
    config->tie_word_embeddings = find_head(&weights, config) != TIED_NOT;
    weight_files_close(&weights);
}

/* ---- the map ---- */

/* Adds the tensors of a parameter: `before` stands before the names of the module. */
static void add_sources(struct encoder_map *map, int index, const struct module_names *module,
                        const char *before, const char *kind, bool may_lack)
{
    const struct parameter *row = &map->parameters->rows[index];
    int parts = 0;
    while (parts < PARTS && module->theirs[parts])
        parts++;
    for (int part = 0; part < parts; part++) {
        char *name = map->names[map->count];
        snprintf(name, NAME_BYTES, "%s%s.%s", before, module->theirs[part], kind);
        if (!find_tensor(map, name) && may_lack)
            continue;
        map->sources[map->count++] = (struct parameter_source){
            .tensor = name,
            .parameter = row->name,
            .first = row->rows / parts * part,
            .rows = row->rows / parts,
        };
    }
}

static rotary_status add_parameter(struct encoder_map *map, int index, rotary_error *error)
{
    const struct encoder_config *config = map->call->config;
    const char *name = map->parameters->rows[index].name, *stem = stem_of(config), *kind = NULL;
    char before[NAME_BYTES];
    int layer, length = 0;
    if (sscanf(name, "layers.%d.%n", &layer, &length) == 1 && length > 0) {
        const struct module_names *module = find_module(of_layer, name + length, &kind);
        snprintf(before, sizeof before, "%sencoder.layer.%d.", stem, layer);
        if (module)
            add_sources(map, index, module, before, kind, false);
        if (module)
            return ROTARY_OK;
    }
    const struct module_names *module = find_module(of_embedding, name, &kind);
    if (module == &of_embedding[0] && map->head == TIED_OUTPUT) {
        add_sources(map, index, find_module(of_bert_head, "output.weight", &kind), "", kind, false);
        return ROTARY_OK;
    }
    if (module) {
        add_sources(map, index, module, stem, kind, false);
        return ROTARY_OK;
    }
    module = find_module(config->family == ENCODER_ROFORMER ? of_roformer_head : of_bert_head, name, &kind);
    if (module) {
        add_sources(map, index, module, "", kind, !map->call->head_wanted);
        return ROTARY_OK;
    }
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "%s: the model has a parameter %s, which is no part of BERT or RoFormer",
                       map->call->folder, name);
}

/* The second of two tensors that are the same: an output projection that is the embedding, and the bias of
 * either name. */
static void list_equal(const struct encoder_map *map, const char *ignored[3])
{
    static const char bias[] = "cls.predictions.bias", decoder_bias[] = "cls.predictions.decoder.bias";
    int count = 0;
    if (map->head == TIED_BOTH)
        ignored[count++] = output_name;
    if (tied_head_find(map->weights, decoder_bias, bias) == TIED_BOTH)
        ignored[count++] = bias;
}

static rotary_status load(struct encoder_map *map, struct parameters *parameters, rotary_error *error)
{
    char model[64];
    const char *ignored[3] = {NULL};
    struct unused_tensors found = {.count = 0};
    rotary_status status = ROTARY_OK;
    if (map->call->config->tie_word_embeddings)
        map->head = find_head(map->weights, map->call->config);
    for (int i = 0; i < parameters->count && status == ROTARY_OK; i++)
        status = add_parameter(map, i, error);
    snprintf(model, sizeof model, "an encoder of %lld layers",
             (long long)map->call->config->num_hidden_layers);
    list_equal(map, ignored);
    const char *const *const lists[] = {ignored, buffer_tensors_of_encoders};
    const struct weight_files_call call = {.map = map->sources,
                                           .count = map->count,
                                           .unused = lists,
                                           .unused_count = 2,
                                           .heads = of_heads,
                                           .found = map->call->unused ? map->call->unused : &found,
                                           .model = model};
    struct transformer_config config;
    encoder_config_model(map->call->config, &config);
    if (status == ROTARY_OK)
        status = buffer_tensors_check(map->weights, &config, error);
    return status == ROTARY_OK ? weight_files_load(map->weights, &call, parameters, error) : status;
}

rotary_status encoder_weights_load(struct parameters *parameters, const struct encoder_weights_call *call,
                                   rotary_error *error)
{
    const size_t room = PARTS * (size_t)parameters->count + 1;
    struct weight_files weights;
    rotary_status status = weight_files_open(&weights, call->folder, error);
    if (status != ROTARY_OK)
        return status;
    struct encoder_map map = {.call = call,
                              .weights = &weights,
                              .parameters = parameters,
                              .sources = calloc(room, sizeof *map.sources),
                              .names = calloc(room, sizeof *map.names)};
    status = map.sources && map.names ? load(&map, parameters, error)
                                      : rotary_fail_memory(error, "to list the tensors of %s", call->folder);
    free(map.sources);
    free(map.names);
    weight_files_close(&weights);
    return status;
}
