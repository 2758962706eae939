/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/decoder_weights.h"

#include "base/fail.h"
#include "huggingface/buffer_tensors.h"
#include "huggingface/tensor_names.h"
#include "huggingface/tied_head.h"
#include "huggingface/weight_files.h"
#include "model/parameters_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARTS = 3 };

struct decoder_map {
    const struct decoder_weights_call *call;
    const struct weight_files *weights;
    const struct parameters *parameters;
    struct parameter_source *sources; /* [count] of [MAX_PARTS parameters->count] */
    char (*names)[TENSOR_NAME_BYTES]; /* likewise: of their tensors */
    int count;
    enum tied_head head; /* of a model that is tied */
};

/* ---- the output projection ---- */

/* The module of the file that is the output projection: the family's, or where the files lack that, its other
 * name (transformers' own for a GPT-NeoX, which it reads too). */
static const char *output_of(const struct weight_files *weights, const json_t *family)
{
    const json_t *names = json_object_get(json_object_get(family, "tensors"), "output");
    const char *theirs = json_string_value(json_array_get(names, 0)),
               *other = json_string_value(json_object_get(family, "other_output"));
    char name[TENSOR_NAME_BYTES], other_name[TENSOR_NAME_BYTES];
    snprintf(name, sizeof name, "%s.weight", theirs ? theirs : "output");
    snprintf(other_name, sizeof other_name, "%s.weight", other ? other : "");
    const bool renamed = other && !weight_files_find(weights, name) && weight_files_find(weights, other_name);
    return renamed ? other : theirs ? theirs : "output";
}

static enum tied_head find_head(const struct weight_files *weights, const json_t *family)
{
    char embedding[TENSOR_NAME_BYTES], output[TENSOR_NAME_BYTES];
    const json_t *names = json_object_get(json_object_get(family, "tensors"), "embedding");
    const char *theirs = json_string_value(json_array_get(names, 0));
    snprintf(embedding, sizeof embedding, "%s.weight", theirs ? theirs : "embedding");
    snprintf(output, sizeof output, "%s.weight", output_of(weights, family));
    return tied_head_find(weights, embedding, output);
}

void decoder_weights_settle(const char *folder, const json_t *family, struct transformer_config *model)
{
    struct weight_files weights;
    if (!model->tie_word_embeddings || weight_files_open(&weights, folder, NULL) != ROTARY_OK)
        return;
    model->tie_word_embeddings = find_head(&weights, family) != TIED_NOT;
    weight_files_close(&weights);
}

/* ---- the map ---- */

static bool is_qkv(const char *name)
{
    return strstr(name, ".query_key_value.") != NULL;
}

/* The rows of part `part` of a parameter. Queries may be more than keys and values. */
static int64_t part_rows(const struct decoder_map *map, const struct parameter *row, int64_t parts,
                         int64_t part)
{
    const struct transformer_config *model = map->call->model;
    if (is_qkv(row->name) && parts == MAX_PARTS)
        return (part == 0 ? model->num_attention_heads : model->num_key_value_heads) * model->head_dim;
    return row->rows / parts;
}

static bool is_norm(const char *name)
{
    return strstr(name, "norm.weight") != NULL;
}

static rotary_status add_parameter(struct decoder_map *map, int index, rotary_error *error)
{
    const struct parameter *row = &map->parameters->rows[index];
    const json_t *family = map->call->family;
    const double offset = json_number_value(json_object_get(family, "norm_offset"));
    const bool by_head = json_is_true(json_object_get(family, "query_key_value_by_head"));
    const json_t *tensors = json_object_get(family, "tensors");
    struct tensor_name split;
    const json_t *theirs =
        tensor_name_split(row->name, &split) ? json_object_get(tensors, split.module) : NULL;
    const int64_t parts = (int64_t)json_array_size(theirs);
    if (parts < 1 || parts > MAX_PARTS)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s: the model has a parameter %s, which is no part of its family",
                           map->call->folder, row->name);
    const bool is_output = strcmp(split.module, map->head == TIED_OUTPUT ? "embedding" : "output") == 0;
    int64_t first = 0;
    for (int64_t part = 0; part < parts; part++) {
        char *name = map->names[map->count];
        tensor_name_fill(name,
                         is_output ? output_of(map->weights, family)
                                   : json_string_value(json_array_get(theirs, (size_t)part)),
                         &split);
        struct parameter_source *source = &map->sources[map->count++];
        *source = (struct parameter_source){.tensor = name,
                                            .parameter = row->name,
                                            .first = first,
                                            .rows = part_rows(map, row, parts, part),
                                            .added = is_norm(row->name) ? (float)offset : 0.0f};
        if (by_head && is_qkv(row->name)) {
            source->groups = map->call->model->num_attention_heads;
            source->parts = MAX_PARTS;
        }
        first += source->rows;
    }
    return ROTARY_OK;
}

static rotary_status load(struct decoder_map *map, struct parameters *parameters, rotary_error *error)
{
    char output[TENSOR_NAME_BYTES] = "", model[64];
    rotary_status status = ROTARY_OK;
    if (map->call->model->tie_word_embeddings)
        map->head = find_head(map->weights, map->call->family);
    for (int i = 0; i < parameters->count && status == ROTARY_OK; i++)
        status = add_parameter(map, i, error);
    if (map->head == TIED_BOTH)
        snprintf(output, sizeof output, "%s.weight", output_of(map->weights, map->call->family));
    snprintf(model, sizeof model, "a model of %lld layers", (long long)map->call->model->num_hidden_layers);
    const char *const ignored[] = {output, NULL}, *const *const lists[] = {ignored,
                                                                           buffer_tensors_of_decoders};
    const struct weight_files_call call = {
        .map = map->sources, .count = map->count, .unused = lists, .unused_count = 2, .model = model};
    if (status == ROTARY_OK)
        status = buffer_tensors_check(map->weights, map->call->model, error);
    return status == ROTARY_OK ? weight_files_load(map->weights, &call, parameters, error) : status;
}

static void release_files(void *source)
{
    weight_files_close(source);
    free(source);
}

/* Closes the files, unless stored rows lie in them: then the table does, in the end, also after a failure. */
static rotary_status hand_over(struct weight_files *weights, struct parameters *parameters,
                               rotary_status status, rotary_error *error)
{
    struct weight_files *kept = parameters->stores ? malloc(sizeof *kept) : NULL;
    if (kept) {
        *kept = *weights;
        parameters_keep(parameters, kept, release_files);
        return status;
    }
    weight_files_close(weights);
    if (!parameters->stores || status != ROTARY_OK)
        return status;
    return rotary_fail_memory(error, "to keep the weights");
}

rotary_status decoder_weights_load(struct parameters *parameters, const struct decoder_weights_call *call,
                                   rotary_error *error)
{
    const size_t room = MAX_PARTS * (size_t)parameters->count + 1;
    struct weight_files weights;
    rotary_status status = weight_files_open(&weights, call->folder, error);
    if (status != ROTARY_OK)
        return status;
    struct decoder_map map = {.call = call,
                              .weights = &weights,
                              .parameters = parameters,
                              .sources = calloc(room, sizeof *map.sources),
                              .names = calloc(room, sizeof *map.names)};
    status = map.sources && map.names ? load(&map, parameters, error)
                                      : rotary_fail_memory(error, "to list the tensors of %s", call->folder);
    free(map.sources);
    free(map.names);
    return hand_over(&weights, parameters, status, error);
}
