/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/permute_weights.h"

#include "base/fail.h"
#include "file/npy.h"
#include "oracle/tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_BYTES = 256 };

/* What is the same for all tensors. */
struct permutation {
    const struct permute_config *config;
    struct rotation rotation;
    struct projections projections;
    json_t *names; /* of tensors that moved */
};

/* ---- one tensor ---- */

/* Permutes the tensor's rows into the new block *moved, which the caller frees. */
static rotary_status permute(const struct permutation *permutation, const struct safetensor *tensor,
                             const char *label, void **moved, rotary_error *error)
{
    const struct projections *projections = &permutation->projections;
    struct head_rows rows;
    rotary_status status = projections_rows(projections, tensor, label, &rows, error);
    if (status)
        return status;
    size_t head_bytes = (size_t)projections->head_dim * rows.row_bytes;
    char *output = malloc((size_t)rows.heads * head_bytes);
    if (!output)
        return rotary_fail_memory(error, "to permute %s", label);
    rotary_pairing to = permutation->config->to;
    for (int64_t head = 0; !status && head < rows.heads; head++) {
        const char *from = (const char *)tensor->data + (size_t)head * head_bytes;
        rotary_rope_permute_call call = {
            .struct_size = sizeof call,
            .heads = 1,
            .row_bytes = rows.row_bytes,
            .input = from,
            .output = output + (size_t)head * head_bytes,
            .from = to == ROTARY_PAIRING_HALF ? ROTARY_PAIRING_INTERLEAVED : ROTARY_PAIRING_HALF,
            .to = to,
        };
        if (projections_rotated(projections, &rows, head))
            status = rotary_rope_permute(permutation->rotation.rope, &call, error);
        else
            memcpy(call.output, from, head_bytes);
    }
    if (status)
        free(output);
    else
        *moved = output;
    return status;
}

/* ---- .npy ---- */

static rotary_status permute_npy(const struct permutation *permutation, rotary_error *error)
{
    const struct permute_config *config = permutation->config;
    /* A type of as many bytes as the array's elements have: their values are not read. */
    static const char *const types[] = {[1] = "U8", [2] = "U16", [4] = "U32", [8] = "U64"};
    struct npy array;
    void *moved = NULL;
    rotary_status status = npy_read(config->input, &array, error);
    if (status)
        return status;
    struct safetensor tensor = {
        .dimensions = array.dimensions, .data = array.data, .other_type = types[npy_size(array.type)]};
    memcpy(tensor.shape, array.shape, sizeof tensor.shape);
    status = permute(permutation, &tensor, config->input, &moved, error);
    if (!status) {
        struct npy output = array;
        output.data = moved;
        status = npy_write(config->output, &output, error);
        json_array_append_new(permutation->names, json_string(config->output));
    }
    free(moved);
    npy_free(&array);
    return status;
}

/* ---- safetensors ---- */

/* tensors, moved: [safetensors_count], zeros. */
static rotary_status permute_tensors(const struct permutation *permutation, const struct safetensors *file,
                                     struct safetensor *tensors, void **moved, rotary_error *error)
{
    enum fate *fates = calloc((size_t)safetensors_count(file) + 1, sizeof *fates);
    if (!fates)
        return rotary_fail_memory(error, "for %d tensors", safetensors_count(file));
    rotary_status status = projections_decide(&permutation->projections, file, fates, error);
    for (int i = 0; !status && i < safetensors_count(file); i++) {
        tensors[i] = *safetensors_at(file, i);
        if (fates[i] == FATE_STAYS)
            continue;
        char label[LABEL_BYTES];
        snprintf(label, sizeof label, "%.100s: tensor \"%.128s\"", permutation->config->input,
                 tensors[i].name);
        status = permute(permutation, &tensors[i], label, &moved[i], error);
        tensors[i].data = status ? NULL : moved[i];
        json_array_append_new(permutation->names, json_string(tensors[i].name));
    }
    free(fates);
    return status;
}

static rotary_status write_tensors(const char *output, const struct safetensors *file,
                                   const struct safetensor *tensors, rotary_error *error)
{
    json_t *metadata = safetensors_copy_metadata(file);
    if (!metadata)
        return rotary_fail_memory(error, "to write %s", output);
    rotary_status status = safetensors_replace(output, tensors, safetensors_count(file), metadata, error);
    json_decref(metadata);
    return status;
}

static rotary_status permute_model(const struct permutation *permutation, rotary_error *error)
{
    struct safetensors *file;
    rotary_status status = safetensors_open_any(&file, permutation->config->input, error);
    if (status)
        return status;
    size_t count = (size_t)safetensors_count(file);
    struct safetensor *tensors = calloc(count + 1, sizeof *tensors);
    void **moved = calloc(count + 1, sizeof *moved);
    if (!tensors || !moved)
        status = rotary_fail_memory(error, "for %zu tensors", count);
    if (!status)
        status = permute_tensors(permutation, file, tensors, moved, error);
    if (!status)
        status = write_tensors(permutation->config->output, file, tensors, error);
    for (size_t i = 0; moved && i < count; i++)
        free(moved[i]);
    free(moved);
    free(tensors);
    safetensors_close(file);
    return status;
}

rotary_status permute_weights(const struct permute_config *config, json_t *names, rotary_error *error)
{
    struct permutation permutation = {.config = config, .names = names};
    rotary_status status = rotation_make(&config->rotation, 0, &permutation.rotation, error);
    if (status)
        return status;
    status = projections_make(&permutation.rotation, config->fused, config->tensors, &permutation.projections,
                              error);
    if (!status)
        status = tensor_name_ends_in(config->input, ".npy") ? permute_npy(&permutation, error)
                                                            : permute_model(&permutation, error);
    rotation_destroy(&permutation.rotation);
    return status;
}
