/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/projections.h"

#include "base/fail.h"
#include "huggingface/tensor_names.h"
#include "oracle/tensor.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 512 };

const char *const fused_names[] = {"stacked", "grouped", NULL};

/* ---- names ---- */

bool projections_meant(const struct projections *projections, const char *name)
{
    return tensor_names_match(projections->patterns, name);
}

/* The first tensor of a name that is one of the patterns; NULL if there is none. */
static const char *first_of(const struct safetensors *file, const char *const *patterns)
{
    for (int i = 0; i < safetensors_count(file); i++)
        if (tensor_names_match(patterns, safetensors_at(file, i)->name) &&
            !tensor_names_is_norm(safetensors_at(file, i)->name))
            return safetensors_at(file, i)->name;
    return NULL;
}

/* Every given pattern must match a tensor: a slip in one must not leave half of a model unpermuted. */
rotary_status projections_check_patterns(const struct projections *projections,
                                         const struct safetensors *file, rotary_error *error)
{
    const char *path = safetensors_path(file), *other;
    for (const char *const *pattern = projections->patterns; !projections->usual && *pattern; pattern++) {
        const char *const one[] = {*pattern, NULL};
        bool found = false;
        for (int j = 0; !found && j < safetensors_count(file); j++)
            found = tensor_names_match(one, safetensors_at(file, j)->name);
        if (!found)
            return rotary_fail(error, ROTARY_BAD_FILE, "%s has no tensor \"%.100s\", wanted at least one",
                               path, *pattern);
    }
    if (!projections->usual)
        return ROTARY_OK;
    if ((other = first_of(file, tensor_names_packed_weights)) != NULL)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s: tensor \"%.128s\" is packed, several rows or inputs to a number, wanted weights "
            "that are unpacked",
            path, other);
    if (projections->fused == FUSED_NO && (other = first_of(file, tensor_names_fused)) != NULL)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s: tensor \"%.128s\" holds queries, keys and values, wanted --fused stacked or "
                           "--fused grouped",
                           path, other);
    if (!first_of(file, projections->patterns))
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s has no tensor named as query and key projections usually are, wanted --tensor "
                           "PATTERN",
                           path);
    return ROTARY_OK;
}

/* ---- rows ---- */

rotary_status projections_make(const struct rotation *rotation, enum fused fused, const char *const *patterns,
                               struct projections *projections, rotary_error *error)
{
    const char *const *usual = fused == FUSED_NO ? tensor_names_separate : tensor_names_fused;
    *projections = (struct projections){.path = rotation->path,
                                        .fused = fused,
                                        .head_dim = rotation->config.plan.head_dim,
                                        .query_heads = rotation->config.query_heads,
                                        .key_heads = rotation->config.key_heads,
                                        .patterns = patterns[0] ? patterns : usual,
                                        .usual = !patterns[0]};
    if (projections->fused != FUSED_NO && projections->query_heads == 0)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s has no \"num_attention_heads\", which --fused wants (and \"num_key_value_heads\" "
            "where keys have fewer)",
            rotation->path);
    if (rotation->config.rope_part_only)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s describes only the rotated part of a head; wanted a configuration of the rows that "
            "--tensor names: \"head_dim\", of both parts, \"rotary_dim\" %lld and \"span\" back",
            rotation->path, (long long)projections->head_dim);
    return ROTARY_OK;
}

bool projections_rotated(const struct projections *projections, const struct head_rows *rows, int64_t head)
{
    if (!rows->fused)
        return true;
    if (projections->fused == FUSED_STACKED)
        return head < projections->query_heads + projections->key_heads;
    int64_t group = projections->query_heads / projections->key_heads;
    return head % (group + 2) <= group;
}

rotary_status projections_rows(const struct projections *projections, const struct safetensor *tensor,
                               const char *label, struct head_rows *rows, rotary_error *error)
{
    long long head_dim = (long long)projections->head_dim;
    bool norm = tensor->name && tensor_names_is_norm(tensor->name);
    int64_t elements = safetensors_elements(tensor);
    /* A norm has a gain for each channel, of one head or of all. */
    int64_t count = norm ? elements : tensor->dimensions > 0 ? tensor->shape[0] : 0;
    int64_t others = count > 0 ? elements / count : 0;
    char shape[SHAPE_TEXT_BYTES];
    shape_text(tensor->shape, tensor->dimensions, shape);
    if (count < 1 || others < 1 || count % projections->head_dim != 0)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s has shape %s, wanted [rows, inputs] or [rows], rows a multiple of %s's "
                           "head_dim, %lld",
                           label, shape, projections->path, head_dim);
    int64_t heads = count / projections->head_dim;
    int64_t fused = projections->query_heads + 2 * projections->key_heads;
    if (projections->fused != FUSED_NO && !norm && heads != fused)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s has shape %s, wanted %.0f rows, those of %lld query heads and of %lld key and "
                           "value heads of %lld channels, as %s has them",
                           label, shape, (double)fused * (double)head_dim,
                           (long long)projections->query_heads, (long long)projections->key_heads, head_dim,
                           projections->path);
    if (projections->usual && projections->query_heads > 0 && heads == 2 * projections->query_heads &&
        tensor->name && fnmatch("*.q_proj.*", tensor->name, 0) == 0)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s has shape %s, wanted %lld rows, those of %lld query heads of %lld channels, as "
            "%s has them; if the others are gates, each after its head, a \"head_dim\" of "
            "%lld and a \"rotary_dim\", with --tensor",
            label, shape, (long long)projections->query_heads * head_dim, (long long)projections->query_heads,
            head_dim, projections->path, 2 * head_dim);
    *rows = (struct head_rows){.heads = heads,
                               .row_bytes = (size_t)others * safetensors_element_bytes(tensor),
                               .fused = projections->fused != FUSED_NO && !norm};
    return ROTARY_OK;
}

/* ---- what belongs to a projection ---- */

/* The tensor's name after that of the module of the weight "MODULE.weight"; NULL if it is of another module.
 */
static const char *within_module(const char *name, const char *weight)
{
    const char *dot = strrchr(weight, '.');
    size_t length = dot ? (size_t)(dot - weight) : 0;
    return length > 0 && strncmp(name, weight, length + 1) == 0 ? name + length + 1 : NULL;
}

/* A tensor that was not asked for, of the module of one that was. */
static rotary_status decide_companion(const struct safetensors *file, const struct safetensor *tensor,
                                      const struct safetensor *weight, const char *within, enum fate *fate,
                                      rotary_error *error)
{
    bool has_rows = tensor->dimensions > 0 && tensor->shape[0] == weight->shape[0];
    if (safetensors_elements(tensor) == 1 || strncmp(within, "lora_A.", 7) == 0)
        return ROTARY_OK;
    if (has_rows &&
        (tensor_names_match(tensor_names_per_row, within) || strncmp(within, "lora_B.", 7) == 0)) {
        *fate = FATE_MOVES;
        return ROTARY_OK;
    }
    return rotary_fail(
        error, ROTARY_BAD_FILE,
        "%s: tensor \"%.128s\" goes with \"%.128s\" but is not one number, nor known as a number "
        "for each row; if each of its rows goes with one, name both with --tensor",
        safetensors_path(file), tensor->name, weight->name);
}

rotary_status projections_decide(const struct projections *projections, const struct safetensors *file,
                                 enum fate *fates, rotary_error *error)
{
    rotary_status status = projections_check_patterns(projections, file, error);
    int count = safetensors_count(file);
    for (int i = 0; i < count; i++)
        fates[i] = projections_meant(projections, safetensors_at(file, i)->name) ? FATE_MOVES : FATE_STAYS;
    for (int i = 0; !status && i < count; i++) {
        const struct safetensor *weight = safetensors_at(file, i);
        if (!projections_meant(projections, weight->name) || weight->dimensions < 1)
            continue;
        for (int j = 0; !status && j < count; j++) {
            const struct safetensor *tensor = safetensors_at(file, j);
            const char *within = within_module(tensor->name, weight->name);
            if (within && !projections_meant(projections, tensor->name))
                status = decide_companion(file, tensor, weight, within, &fates[j], error);
        }
    }
    return status;
}
