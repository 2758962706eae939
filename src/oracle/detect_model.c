/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/detect_model.h"

#include "base/fail.h"
#include "oracle/tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 512 };

/* ---- a layer's two projections ---- */

/* Parts by which the names of a query and a key projection differ. */
static const struct {
    const char *query, *key;
} words[] = {{".q_proj.", ".k_proj."}, {".wq.", ".wk."}, {".query.", ".key."}, {".to_q.", ".to_k."}};

/* The name with the first `from` in it replaced; false if it is not in it. */
static bool replace(const char *name, const char *from, const char *to, char replaced[NAME_BYTES])
{
    const char *at = strstr(name, from);
    return at && snprintf(replaced, NAME_BYTES, "%.*s%s%s", (int)(at - name), name, to, at + strlen(from)) <
                     NAME_BYTES;
}

static const struct safetensor *find_key(const struct safetensors *file, const char *query)
{
    char name[NAME_BYTES];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (replace(query, words[i].query, words[i].key, name))
            return safetensors_find(file, name);
    return NULL;
}

static const struct safetensor *find_bias(const struct safetensors *file, const struct safetensor *weight)
{
    char name[NAME_BYTES];
    const struct safetensor *bias =
        replace(weight->name, ".weight", ".bias", name) ? safetensors_find(file, name) : NULL;
    bool fits = bias && !bias->other_type && bias->dtype == weight->dtype && bias->dimensions == 1 &&
                bias->shape[0] == weight->shape[0];
    return fits ? bias : NULL;
}

/* Whether a tensor is the weight of a query projection, or of a fused one, whose pairing can be asked for. */
static bool is_query(const struct projections *projections, const struct safetensors *file,
                     const struct safetensor *tensor)
{
    if (!projections_meant(projections, tensor->name) || tensor->dimensions != 2 ||
        tensor_name_ends_in(tensor->name, "norm.weight"))
        return false;
    return projections->fused != FUSED_NO || find_key(file, tensor->name) != NULL;
}

/* What is the same for all layers. */
struct detection {
    struct rotation rotation;
    struct projections projections;
    const struct safetensors *file;
};

static rotary_status add_separate(const struct detection *detection, const struct safetensor *query,
                                  const struct safetensor *key, struct pairing_evidence *evidence,
                                  rotary_error *error)
{
    const struct safetensors *file = detection->file;
    const struct safetensor *tensors[] = {query, key};
    struct pairing_projection found[2];
    if (key->dimensions != 2 || key->shape[1] != query->shape[1])
        return rotary_fail(error, ROTARY_BAD_FILE, "%.100s: \"%.128s\" and \"%.128s\" have unlike inputs",
                           safetensors_path(file), query->name, key->name);
    for (int i = 0; i < 2; i++) {
        struct head_rows rows;
        const struct safetensor *bias = find_bias(file, tensors[i]);
        rotary_status status =
            projections_rows(&detection->projections, tensors[i], tensors[i]->name, &rows, error);
        if (status)
            return status;
        found[i] = (struct pairing_projection){.heads = rows.heads,
                                               .weight = tensors[i]->data,
                                               .bias = bias ? bias->data : NULL,
                                               .dtype = tensors[i]->dtype};
    }
    struct pairing_layer layer = {.inputs = query->shape[1], .query = found[0], .key = found[1]};
    return pairing_add_layer(detection->rotation.rope, &layer, evidence, error);
}

/* Adds each key head with its group of query heads. */
static rotary_status add_fused(const struct detection *detection, const struct safetensor *weight,
                               struct pairing_evidence *evidence, rotary_error *error)
{
    const struct projections *projections = &detection->projections;
    struct head_rows rows;
    rotary_status status = projections_rows(projections, weight, weight->name, &rows, error);
    const struct safetensor *bias = find_bias(detection->file, weight);
    int64_t group = projections->query_heads / projections->key_heads;
    size_t element = rotary_dtype_size(weight->dtype);
    for (int64_t i = 0; !status && i < projections->key_heads; i++) {
        int64_t query = projections->fused == FUSED_STACKED ? i * group : i * (group + 2);
        int64_t key = projections->fused == FUSED_STACKED ? projections->query_heads + i : query + group;
        const int64_t first[] = {query, key}, heads[] = {group, 1};
        struct pairing_projection found[2];
        for (int j = 0; j < 2; j++) {
            size_t channels = (size_t)(first[j] * projections->head_dim) * element;
            found[j] = (struct pairing_projection){.heads = heads[j],
                                                   .weight = (const char *)weight->data +
                                                             channels * (size_t)weight->shape[1],
                                                   .bias = bias ? (const char *)bias->data + channels : NULL,
                                                   .dtype = weight->dtype};
        }
        struct pairing_layer layer = {.inputs = weight->shape[1], .query = found[0], .key = found[1]};
        status = pairing_add_layer(detection->rotation.rope, &layer, evidence, error);
    }
    return status;
}

/* ---- a file's layers ---- */

/* The evidence of the layer of a query or fused projection. */
static rotary_status detect_layer(const struct detection *detection, const struct safetensor *tensor,
                                  struct detected *layer, rotary_error *error)
{
    bool fused = detection->projections.fused != FUSED_NO;
    const char *path = safetensors_path(detection->file);
    const struct safetensor *key = fused ? NULL : find_key(detection->file, tensor->name);
    const struct safetensor *other = key && !tensor->other_type ? key : tensor;
    if (other->other_type)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%.100s: tensor \"%.128s\" holds %s, wanted F32, F16 or BF16 to detect a pairing",
                           path, other->name, other->other_type);
    *layer = (struct detected){.name = tensor->name};
    rotary_error wrong = {0};
    rotary_status status = key ? add_separate(detection, tensor, key, &layer->evidence, &wrong)
                               : add_fused(detection, tensor, &layer->evidence, &wrong);
    if (status)
        return rotary_fail(error, status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status,
                           "%.100s: tensor \"%.128s\": %.200s", path, tensor->name, wrong.message);
    layer->finding = pairing_judge(&layer->evidence);
    return ROTARY_OK;
}

static rotary_status detect_layers(const struct detection *detection, struct detect_result *result,
                                   rotary_error *error)
{
    const struct safetensors *file = detection->file;
    int count = safetensors_count(file);
    result->all.name = safetensors_path(file);
    result->layers = calloc((size_t)count + 1, sizeof *result->layers);
    if (!result->layers)
        return rotary_fail_memory(error, "for %d layers", count);
    rotary_status status = projections_check_patterns(&detection->projections, file, error);
    for (int i = 0; !status && i < count; i++) {
        struct detected *layer = &result->layers[result->layer_count];
        if (!is_query(&detection->projections, file, safetensors_at(file, i)))
            continue;
        status = detect_layer(detection, safetensors_at(file, i), layer, error);
        pairing_add_evidence(&result->all.evidence, &layer->evidence);
        result->layer_count++;
    }
    if (!status && result->layer_count == 0)
        status =
            rotary_fail(error, ROTARY_BAD_FILE,
                        "%s has no query projection with a key projection beside it, wanted both, or --fused",
                        result->all.name);
    result->all.finding = pairing_judge(&result->all.evidence);
    return status;
}

rotary_status detect_model(const struct detect_config *config, struct detect_result *result,
                           rotary_error *error)
{
    struct detect_result made = {0};
    struct detection detection = {0};
    rotary_status status = rotation_make(&config->rotation, 0, &detection.rotation, error);
    if (status)
        return status;
    status =
        projections_make(&detection.rotation, config->fused, config->tensors, &detection.projections, error);
    if (!status)
        status = safetensors_open_any(&made.file, config->input, error);
    if (!status) {
        detection.file = made.file;
        status = detect_layers(&detection, &made, error);
        if (status)
            detect_free(&made);
    }
    rotation_destroy(&detection.rotation);
    if (!status)
        *result = made;
    return status;
}

void detect_free(struct detect_result *result)
{
    free(result->layers);
    safetensors_close(result->file);
    *result = (struct detect_result){0};
}
