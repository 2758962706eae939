/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/export_model.h"

#include "base/fail.h"
#include "file/gguf.h"
#include "huggingface/export_rotation.h"
#include "huggingface/export_tensors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void export_vocabulary_free(struct export_vocabulary *vocabulary)
{
    for (int i = 0; i < vocabulary->file_count; i++)
        json_decref(vocabulary->files[i].object);
    json_decref(vocabulary->metadata);
    *vocabulary = (struct export_vocabulary){.begin = -1, .end = -1, .padding = -1};
}

/* What a model is in a format. */
struct exported {
    const struct export_model_call *call;
    /* The call's, borrowed, with the pairing and the share that rope_parameters names. */
    struct transformer_config config;
    struct export_family family;
    struct export_rotation rotation, sliding; /* of all layers, or of those without a window and with one */
};

static void release(struct exported *exported)
{
    export_rotation_free(&exported->rotation);
    export_rotation_free(&exported->sliding);
    export_family_free(&exported->family);
}

/* Whether layers with a sliding window may have a rotation of their own. */
static bool has_two_rotations(const struct export_family *family)
{
    return strcmp(export_family_text(family, "rotations"), "by_layer_type") == 0;
}

/* Layers have one rotation, unless the family has two; and the same channels rotate. */
static rotary_status check_rotations(const struct exported *exported, rotary_error *error)
{
    const rotary_rope_config *full = &exported->rotation.config.rope.plan,
                             *sliding = &exported->sliding.config.rope.plan;
    json_t *of_full = export_rotation_parameters(&exported->rotation, false),
           *of_sliding = export_rotation_parameters(&exported->sliding, false);
    const bool same = has_two_rotations(&exported->family) || json_equal(of_full, of_sliding);
    json_decref(of_full);
    json_decref(of_sliding);
    if (same && full->rotary_dim == sliding->rotary_dim && full->pairing == sliding->pairing)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_UNSUPPORTED,
                       "%s: rope_parameters of full_attention and of sliding_attention differ%s, which no "
                       "model of type %s has: wanted the same for both",
                       exported->call->where, same ? " in the channels that are rotated" : "",
                       json_string_value(json_object_get(exported->family.entry, "model_type")));
}

static rotary_status find(struct exported *exported, const struct export_model_call *call,
                          rotary_error *error)
{
    *exported = (struct exported){.call = call, .config = *call->config};
    const struct transformer_config *config = &exported->config;
    rotary_status status = export_rotation_settle(&exported->config, error);
    if (status == ROTARY_OK)
        status = export_family_find(&exported->family, config, call->format, call->where, error);
    if (status == ROTARY_OK)
        status = export_rotation_read(&exported->rotation, config, false, call->where, error);
    if (status == ROTARY_OK)
        status = export_rotation_read(&exported->sliding, config, true, call->where, error);
    if (status == ROTARY_OK)
        status = check_rotations(exported, error);
    if (status != ROTARY_OK)
        release(exported);
    return status;
}

rotary_status export_model_check(const struct export_model_call *call, rotary_error *error)
{
    struct exported exported;
    rotary_status status = find(&exported, call, error);
    if (status == ROTARY_OK)
        release(&exported);
    return status;
}

/* ---- a Hugging Face folder ---- */

/* A token's id, or null. */
static json_t *token_json(int32_t token)
{
    return token >= 0 ? json_integer(token) : json_null();
}

/* A token's id, a list of several, or null. */
static json_t *ends_json(const struct export_vocabulary *vocabulary)
{
    const struct generation_ends *ends = vocabulary->ends;
    if (!ends || ends->count < 2)
        return token_json(!ends ? vocabulary->end : ends->count == 1 ? ends->tokens[0] : -1);
    json_t *list = json_array();
    for (int i = 0; i < ends->count; i++)
        json_array_append_new(list, json_integer(ends->tokens[i]));
    return list;
}

static void add_tokens(json_t *object, const struct export_vocabulary *vocabulary)
{
    json_object_set_new(object, "bos_token_id", token_json(vocabulary->begin));
    json_object_set_new(object, "eos_token_id", ends_json(vocabulary));
    json_object_set_new(object, "pad_token_id", token_json(vocabulary->padding));
}

/* rope_parameters, of all layers or by layer type. Earlier versions of transformers have the base of layers
 * with a window beside it, and no scaling of these. */
static void add_parameters(json_t *object, const struct exported *exported, json_t *parameters)
{
    if (!has_two_rotations(&exported->family)) {
        json_object_set(object, "rope_parameters", parameters);
        return;
    }
    json_t *sliding = export_rotation_parameters(&exported->sliding, false);
    json_t *both = json_pack("{s:O, s:o}", "full_attention", parameters, "sliding_attention", sliding);
    json_object_set_new(object, "rope_parameters", both);
    json_object_set(object, "rope_local_base_freq", json_object_get(sliding, "rope_theta"));
}

/* The rotation as current versions of transformers have it, in rope_parameters, and as earlier ones do, in
 * rope_scaling: the same object, for readers that refuse others. */
static void add_rotation(json_t *object, const struct exported *exported)
{
    const bool longrope = export_family_text(&exported->family, "scaling")[0] != '\0';
    json_t *parameters = export_rotation_parameters(&exported->rotation, longrope),
           *original = json_object_get(parameters, "original_max_position_embeddings");
    const bool plain = strcmp(json_string_value(json_object_get(parameters, "rope_type")), "default") == 0;
    json_object_set(object, "rope_theta", json_object_get(parameters, "rope_theta"));
    add_parameters(object, exported, parameters);
    json_object_set_new(object, "rope_scaling", plain ? json_null() : json_deep_copy(parameters));
    if (longrope && original)
        json_object_set(object, "original_max_position_embeddings", original);
    json_decref(parameters);
}

/* config.json */
static json_t *make_config(const struct exported *exported)
{
    static const char *const types[] = {
        [ROTARY_F32] = "float32", [ROTARY_F16] = "float16", [ROTARY_BF16] = "bfloat16"};
    json_t *object = export_family_describe(&exported->family, "");
    const char *type = types[exported->call->dtype];
    json_object_set_new(object, "architectures",
                        json_pack("[s]", export_family_text(&exported->family, "architecture")));
    json_object_set_new(object, "model_type",
                        json_string(export_family_text(&exported->family, "model_type")));
    json_object_set_new(object, "torch_dtype", json_string(type));
    json_object_set_new(object, "dtype", json_string(type));
    add_tokens(object, exported->call->vocabulary);
    add_rotation(object, exported);
    return object;
}

static rotary_status write_object(const char *folder, const char *name, json_t *object, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, folder, name, error);
    return status == ROTARY_OK ? file_replace_json(path, object, error) : status;
}

static rotary_status write_config(const struct exported *exported, const char *folder, rotary_error *error)
{
    json_t *config = make_config(exported), *generation = json_object();
    add_tokens(generation, exported->call->vocabulary);
    json_object_set_new(generation, "_from_model_config", json_true());
    rotary_status status = write_object(folder, "config.json", config, error);
    if (status == ROTARY_OK)
        status = write_object(folder, "generation_config.json", generation, error);
    json_decref(config);
    json_decref(generation);
    return status;
}

static rotary_status write_file(const struct export_file *file, const char *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    if (file->object)
        return write_object(folder, file->name, file->object, error);
    rotary_status status = file_path(path, folder, file->name, error);
    return status == ROTARY_OK ? file_replace(path, file->bytes, file->count, error) : status;
}

static rotary_status write_tensors(const struct export_tensors *list, const char *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    json_t *metadata = json_pack("{s:s}", "format", "pt"); /* without which transformers reads no file */
    rotary_status status = file_path(path, folder, "model.safetensors", error);
    if (status == ROTARY_OK)
        status = safetensors_replace(path, list->tensors, list->count, metadata, error);
    json_decref(metadata);
    return status;
}

/* Removes what an interrupted export may have left: a file of another vocabulary must not stay. */
static void clear(const char *folder)
{
    static const char *const names[] = {
        "config.json",    "generation_config.json", "model.safetensors",      "tokenizer.model",
        "tokenizer.json", "tokenizer_config.json",  "special_tokens_map.json"};
    char path[FILE_PATH_BYTES];
    rotary_error ignored;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (file_path(path, folder, names[i], &ignored) == ROTARY_OK)
            (void)unlink(path);
}

/* A folder may be empty: rmdir() succeeds then, and says of any other what is wrong. */
static rotary_status check_absent(const char *path, rotary_error *error)
{
    if (rmdir(path) == 0 || errno == ENOENT)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "%s is there already: wanted a name for a folder that is not", path);
}

/* Writes all files into a folder that is there. */
static rotary_status fill_folder(const struct exported *exported, const struct export_tensors *list,
                                 const char *folder, rotary_error *error)
{
    const struct export_vocabulary *vocabulary = exported->call->vocabulary;
    rotary_status status = write_tensors(list, folder, error);
    for (int i = 0; i < vocabulary->file_count && status == ROTARY_OK; i++)
        status = write_file(&vocabulary->files[i], folder, error);
    return status == ROTARY_OK ? write_config(exported, folder, error) : status;
}

static rotary_status write_folder(const struct exported *exported, const struct export_tensors *list,
                                  rotary_error *error)
{
    const char *path = exported->call->path;
    char folder[FILE_PATH_BYTES];
    int length = (int)strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (snprintf(folder, sizeof folder, "%.*s.next", length, path) >= (int)sizeof folder)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%.80s...: the path is too long", path);
    rotary_status status = check_absent(path, error);
    if (status == ROTARY_OK)
        status = file_make_folder(folder, error);
    if (status != ROTARY_OK)
        return status;
    clear(folder);
    status = fill_folder(exported, list, folder, error);
    if (status == ROTARY_OK)
        status = file_rename(folder, path, error);
    if (status != ROTARY_OK) {
        clear(folder);
        (void)rmdir(folder);
    }
    return status;
}

/* ---- a file of GGUF ---- */

/* ggml's number of a file's type: that of most of its tensors. */
static json_int_t file_type(rotary_dtype dtype)
{
    static const json_int_t types[] = {[ROTARY_F32] = 0, [ROTARY_F16] = 1, [ROTARY_BF16] = 32};
    return types[dtype];
}

/* The metadata, and the factors of the frequencies, [pairs]; NULL if a text is not UTF-8. */
static json_t *make_metadata(const struct exported *exported, float *factors, bool *has_factors)
{
    const struct export_model_call *call = exported->call;
    const char *architecture = export_family_text(&exported->family, "architecture");
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s.", architecture);
    json_t *metadata =
               json_pack("{s:s, s:s, s:i, s:i, s:I}", "general.architecture", architecture, "general.name",
                         call->name, "general.quantization_version", 2, "general.alignment", GGUF_ALIGNMENT,
                         "general.file_type", file_type(call->dtype)),
           *described = export_family_describe(&exported->family, prefix);
    json_object_update_new(metadata, described);
    export_rotation_gguf(&exported->rotation, architecture, metadata, factors, has_factors);
    json_object_update(metadata, call->vocabulary->metadata);
    return metadata;
}

/* Adds the tensors of factors; the list has room for two more. */
static rotary_status add_factors(const struct exported *exported, struct export_tensors *list,
                                 const float *factors, rotary_error *error)
{
    const json_t *names = json_object_get(exported->family.form, "factors");
    for (size_t i = 0; i < json_array_size(names); i++)
        list->tensors[list->count++] =
            (struct safetensor){.name = json_string_value(json_array_get(names, i)),
                                .dtype = ROTARY_F32,
                                .dimensions = 1,
                                .shape = {rotary_rope_pairs(exported->rotation.plan)},
                                .data = factors};
    return json_array_size(names) > 0
               ? ROTARY_OK
               : rotary_fail(
                     error, ROTARY_UNSUPPORTED,
                     "%s: rope_type is %s, which llama.cpp does not have of models of type %s: wanted "
                     "linear, dynamic, or yarn with its usual parameters",
                     exported->call->where, exported->rotation.config.rope.rope_type,
                     export_family_text(&exported->family, "architecture"));
}

static rotary_status write_gguf(const struct exported *exported, struct export_tensors *list,
                                rotary_error *error)
{
    const struct export_model_call *call = exported->call;
    const int64_t pairs = rotary_rope_pairs(exported->rotation.plan);
    float *factors = calloc((size_t)pairs, sizeof *factors);
    bool has_factors = false;
    json_t *metadata = factors ? make_metadata(exported, factors, &has_factors) : NULL;
    rotary_status status = ROTARY_OK;
    if (!factors)
        status = rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s: no memory to export it", call->where);
    else if (!metadata)
        status = rotary_fail(error, ROTARY_UNSUPPORTED,
                             "%s: its name is not UTF-8, wanted one for a GGUF file", call->where);
    if (status == ROTARY_OK && has_factors)
        status = add_factors(exported, list, factors, error);
    if (status == ROTARY_OK)
        status = gguf_replace(call->path, metadata, list->tensors, list->count, error);
    json_decref(metadata);
    free(factors);
    return status;
}

/* ---- either ---- */

static rotary_pairing pairing_of(const struct export_family *family)
{
    const bool interleaved = strcmp(export_family_text(family, "pairing"), "interleaved") == 0;
    return interleaved ? ROTARY_PAIRING_INTERLEAVED : ROTARY_PAIRING_HALF;
}

static void count_written(const struct exported *exported, const struct export_tensors *list,
                          struct export_written *written)
{
    const char *type = json_string_value(json_object_get(exported->family.entry, "model_type"));
    *written = (struct export_written){.tensors = list->count};
    snprintf(written->model_type, sizeof written->model_type, "%s", type);
    for (int i = 0; i < list->count; i++)
        written->bytes +=
            safetensors_elements(&list->tensors[i]) * (int64_t)rotary_dtype_size(list->tensors[i].dtype);
}

rotary_status export_model_write(const struct export_model_call *call, struct export_written *written,
                                 rotary_error *error)
{
    const bool gguf = call->format == EXPORT_GGUF;
    struct exported exported;
    struct export_tensors list;
    rotary_status status = find(&exported, call, error);
    if (status != ROTARY_OK)
        return status;
    const struct export_tensors_call tensors = {.parameters = call->parameters,
                                                .config = &exported.config,
                                                .family = &exported.family,
                                                .pairing = pairing_of(&exported.family),
                                                .dtype = call->dtype,
                                                .vectors_f32 = gguf};
    status = export_tensors_make(&list, &tensors, call->where, error);
    if (status == ROTARY_OK) {
        status = gguf ? write_gguf(&exported, &list, error) : write_folder(&exported, &list, error);
        if (status == ROTARY_OK)
            count_written(&exported, &list, written);
        export_tensors_free(&list);
    }
    release(&exported);
    return status;
}
