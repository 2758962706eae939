/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/detect.h"

#include "base/fail.h"
#include "cli/result.h"
#include "cli/tensor.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 512 };

/* ---- a layer's two projections ---- */

/* Words by which the names of a query and a key projection differ. */
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

static rotary_status add_separate(const struct rotation *rotation, const struct projections *projections,
                                  const struct safetensors *file, const struct safetensor *query,
                                  const struct safetensor *key, rotary_rope_evidence *evidence,
                                  rotary_error *error)
{
    const struct safetensor *tensors[] = {query, key};
    rotary_rope_projection found[2];
    if (key->dimensions != 2 || key->shape[1] != query->shape[1])
        return rotary_fail(error, ROTARY_BAD_FILE, "%.100s: \"%.128s\" and \"%.128s\" have unlike inputs",
                           safetensors_path(file), query->name, key->name);
    for (int i = 0; i < 2; i++) {
        struct head_rows rows;
        const struct safetensor *bias = find_bias(file, tensors[i]);
        rotary_status status = projections_rows(projections, tensors[i], tensors[i]->name, &rows, error);
        if (status)
            return status;
        found[i] = (rotary_rope_projection){.heads = rows.heads,
                                            .weight = tensors[i]->data,
                                            .bias = bias ? bias->data : NULL,
                                            .dtype = tensors[i]->dtype};
    }
    rotary_rope_detect_call call = {
        .struct_size = sizeof call, .inputs = query->shape[1], .query = found[0], .key = found[1]};
    return rotary_rope_detect(rotation->rope, &call, evidence, error);
}

/* One call for each key head, with the query heads that go with it. */
static rotary_status add_fused(const struct rotation *rotation, const struct projections *projections,
                               const struct safetensors *file, const struct safetensor *weight,
                               rotary_rope_evidence *evidence, rotary_error *error)
{
    struct head_rows rows;
    rotary_status status = projections_rows(projections, weight, weight->name, &rows, error);
    const struct safetensor *bias = find_bias(file, weight);
    int64_t group = projections->query_heads / projections->key_heads;
    size_t element = rotary_dtype_size(weight->dtype);
    for (int64_t i = 0; !status && i < projections->key_heads; i++) {
        int64_t query = projections->fused == FUSED_STACKED ? i * group : i * (group + 2);
        int64_t key = projections->fused == FUSED_STACKED ? projections->query_heads + i : query + group;
        const int64_t first[] = {query, key}, heads[] = {group, 1};
        rotary_rope_projection found[2];
        for (int j = 0; j < 2; j++) {
            size_t channels = (size_t)(first[j] * projections->head_dim) * element;
            found[j] = (rotary_rope_projection){.heads = heads[j],
                                                .weight = (const char *)weight->data +
                                                          channels * (size_t)weight->shape[1],
                                                .bias = bias ? (const char *)bias->data + channels : NULL,
                                                .dtype = weight->dtype};
        }
        rotary_rope_detect_call call = {
            .struct_size = sizeof call, .inputs = weight->shape[1], .query = found[0], .key = found[1]};
        status = rotary_rope_detect(rotation->rope, &call, evidence, error);
    }
    return status;
}

/* ---- what is said ---- */

static const char *const verdicts[] = {"unknown", "half", "interleaved"}; /* of rotary_detected */

static json_t *describe(const rotary_rope_evidence *evidence, const rotary_rope_finding *finding)
{
    json_t *object = json_pack("{s:s, s:I, s:I}", "pairing", verdicts[finding->verdict], "heads",
                               (json_int_t)evidence->heads, "pairs", (json_int_t)evidence->pairs);
    for (int i = 0; i < 2; i++)
        json_object_set_new(object, verdicts[i + 1],
                            json_pack("{s:f, s:f, s:f, s:f}", "correlation", finding->correlation[i], "score",
                                      finding->score[i], "contrast", finding->contrast[i], "chance",
                                      finding->chance[i]));
    return object;
}

static void print_line(const char *name, const rotary_rope_evidence *evidence,
                       const rotary_rope_finding *finding)
{
    printf("%s: %s (%lld pairs; half-split: correlation %.3f, chance %.2g; interleaved: %.3f, %.2g)\n", name,
           finding->verdict == ROTARY_DETECTED_NOTHING ? "cannot be known" : verdicts[finding->verdict],
           (long long)evidence->pairs, finding->correlation[0], finding->chance[0], finding->correlation[1],
           finding->chance[1]);
}

static void add_evidence(rotary_rope_evidence *all, const rotary_rope_evidence *own)
{
    all->heads += own->heads;
    all->pairs += own->pairs;
    all->random_mean += own->random_mean;
    all->random_variance += own->random_variance;
    for (int i = 0; i < 2; i++) {
        all->products[i] += own->products[i];
        all->contrasts[i] += own->contrasts[i];
        all->contrast_squares[i] += own->contrast_squares[i];
        all->contrast_lags[i] += own->contrast_lags[i];
    }
}

/* Adds a layer to `all` and says what it is by itself. */
static rotary_status take_layer(const struct invocation *invocation, const struct rotation *rotation,
                                const struct projections *projections, const struct safetensors *file,
                                const struct safetensor *tensor, rotary_rope_evidence *all, json_t *layers,
                                rotary_error *error)
{
    rotary_rope_evidence own = {.struct_size = sizeof own};
    rotary_rope_finding finding = {.struct_size = sizeof finding};
    const struct safetensor *key = projections->fused == FUSED_NO ? find_key(file, tensor->name) : NULL;
    const struct safetensor *other = key && !tensor->other_type ? key : tensor;
    if (other->other_type)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%.100s: tensor \"%.128s\" holds %s, wanted F32, F16 or BF16 to detect a pairing",
                           safetensors_path(file), other->name, other->other_type);
    rotary_error wrong = {0};
    rotary_status status = key ? add_separate(rotation, projections, file, tensor, key, &own, &wrong)
                               : add_fused(rotation, projections, file, tensor, &own, &wrong);
    if (!status)
        status = rotary_rope_judge(&own, &finding, &wrong);
    if (status)
        return rotary_fail(error, status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status,
                           "%.100s: tensor \"%.128s\": %.200s", safetensors_path(file), tensor->name,
                           wrong.message);
    add_evidence(all, &own);
    if (!invocation->common.json)
        print_line(tensor->name, &own, &finding);
    json_t *described = describe(&own, &finding);
    json_object_set_new(described, "tensor", json_string(tensor->name));
    json_array_append_new(layers, described);
    return ROTARY_OK;
}

static rotary_status take_file(const struct invocation *invocation, const struct rotation *rotation,
                               const struct projections *projections, const struct safetensors *file,
                               json_t *layers, bool *told, rotary_error *error)
{
    rotary_rope_evidence all = {.struct_size = sizeof all};
    rotary_rope_finding finding = {.struct_size = sizeof finding};
    rotary_status status = projections_check_patterns(projections, file, error);
    for (int i = 0; !status && i < safetensors_count(file); i++)
        if (is_query(projections, file, safetensors_at(file, i)))
            status = take_layer(invocation, rotation, projections, file, safetensors_at(file, i), &all,
                                layers, error);
    if (!status && json_array_size(layers) == 0)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s has no query projection with a key projection beside it, wanted both, or --fused",
            safetensors_path(file));
    if (!status)
        status = rotary_rope_judge(&all, &finding, error);
    if (status)
        return status;
    *told = finding.verdict != ROTARY_DETECTED_NOTHING;
    if (!invocation->common.json) {
        print_line(safetensors_path(file), &all, &finding);
        return ROTARY_OK;
    }
    json_t *object = describe(&all, &finding);
    json_object_set_new(object, "input", json_string(safetensors_path(file)));
    json_object_set(object, "layers", layers);
    return result_print_json(object, error);
}

rotary_status pairing_detect(const struct invocation *invocation, const struct rotation *rotation,
                             const struct projections *projections, const char *path, bool *told,
                             rotary_error *error)
{
    struct safetensors *file;
    rotary_status status = safetensors_open_any(&file, path, error);
    if (status)
        return status;
    json_t *layers = json_array();
    status = take_file(invocation, rotation, projections, file, layers, told, error);
    json_decref(layers);
    safetensors_close(file);
    return status;
}
