/* SPDX-License-Identifier: Apache-2.0 */
#include "train/weights/pretrained.h"

#include "base/fail.h"
#include "base/integer.h"
#include "file/file.h"
#include "file/memory.h"
#include "huggingface/decoder_config.h"
#include "huggingface/decoder_weights.h"
#include "task/vocabulary_files.h"
#include "text/tokenizer/tokenizer_settings.h"
#include "train/weights/huggingface_run.h"

#include <stdlib.h>

/* ---- the model ---- */

static rotary_status read_config(const char *folder, struct transformer_config *model, json_t **family,
                                 rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    json_t *object;
    rotary_status status = huggingface_run_read(folder, path, &object, error);
    if (status == ROTARY_OK)
        status = decoder_config_read(object, path, model, family, error);
    if (status == ROTARY_OK)
        decoder_weights_settle(folder, *family, model);
    json_decref(object);
    return status;
}

rotary_status pretrained_find(const char *folder, bool *found, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    json_t *object;
    rotary_status status = huggingface_run_read(folder, path, &object, error);
    *found = status == ROTARY_OK && decoder_config_is(object);
    json_decref(object);
    return status;
}

rotary_status pretrained_positions(const char *folder, int64_t *positions, rotary_error *error)
{
    struct transformer_config model;
    json_t *family = NULL;
    rotary_status status = read_config(folder, &model, &family, error);
    json_decref(family);
    if (status != ROTARY_OK)
        return status;
    *positions = model.max_position_embeddings;
    transformer_config_free(&model);
    return status;
}

static rotary_status create(const struct pretrained_call *call, struct pretrained *made, rotary_error *error)
{
    const struct transformer_limits limits = {
        .batch = call->batch, .time = call->time, .stored = !call->copies};
    json_t *family = NULL;
    size_t bytes;
    rotary_status status = read_config(call->folder, &made->model, &family, error);
    if (status != ROTARY_OK)
        return status;
    made->model.rope_sequence_length = call->tokens > 0 ? call->tokens : made->model.max_position_embeddings;
    status = transformer_bytes(call->backend, &made->model, limits, &bytes, error);
    if (status == ROTARY_OK)
        status = memory_check(bytes, "the model", error);
    if (status == ROTARY_OK)
        status = transformer_create(&made->transformer, call->backend, &made->model, limits, 0, error);
    const struct decoder_weights_call weights = {
        .folder = call->folder, .family = family, .model = &made->model};
    if (status == ROTARY_OK)
        status = decoder_weights_load(transformer_parameters(made->transformer), &weights, error);
    json_decref(family);
    return status;
}

/* ---- the tokenizer ---- */

/* Whether transformers makes what stands before a text anew from "add_bos_token", whatever tokenizer.json says. */
static bool rebuilds_frame(const json_t *settings)
{
    static const char *const classes[] = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer",
                                          "CohereTokenizer"};
    bool found = false;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        found = found || tokenizer_class_is(settings, classes[i]);
    return found;
}

/* "add_bos_token" of tokenizer_config.json: 1, 0, or -1 where it does not say, or nothing reads it. */
static rotary_status read_adds_begin(const char *folder, bool pieces, int *adds, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    bool found;
    json_t *object;
    *adds = -1;
    rotary_status status = file_path(path, folder, "tokenizer_config.json", error);
    if (status == ROTARY_OK)
        status = file_find(path, &found, error);
    if (status != ROTARY_OK || !found)
        return status;
    status = file_read_json(path, &object, error);
    if (status != ROTARY_OK)
        return status;
    const json_t *value = json_object_get(object, "add_bos_token");
    if (value && !json_is_null(value) && !json_is_boolean(value))
        status = rotary_fail(error, ROTARY_BAD_FILE,
                             "%s: \"add_bos_token\" is no truth value, wanted true or false", path);
    else if (json_is_boolean(value) && (pieces || rebuilds_frame(object)))
        *adds = json_is_true(value);
    json_decref(object);
    return status;
}

static rotary_status read_tokenizer(const char *folder, struct pretrained *made, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    int adds = -1;
    bool found;
    rotary_status status = vocabulary_find(path, folder, &found, error);
    if (status != ROTARY_OK || !found)
        return status;
    status = tokenizer_load(&made->tokenizer, path, error);
    const bool pieces = status == ROTARY_OK && tokenizer_kind(made->tokenizer) == TOKENIZER_SENTENCEPIECE;
    if (status == ROTARY_OK)
        status = read_adds_begin(folder, pieces, &adds, error);
    if (status != ROTARY_OK)
        return status;
    const int32_t begin = tokenizer_special(made->tokenizer).begin;
    made->end = tokenizer_special(made->tokenizer).end;
    made->begin = adds == 0 ? -1 : adds == 1 && !pieces ? begin : tokenizer_begin(made->tokenizer);
    if (adds == 1 && !pieces && begin < 0)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s: \"add_bos_token\" is true, and the tokenizer has no \"bos_token\", wanted one", path);
    return ROTARY_OK;
}

/* ---- the ends of what is generated ---- */

/* What transformers' files do not say, the tokenizer does. */
static rotary_status read_ends(const char *folder, struct pretrained *made, rotary_error *error)
{
    struct generation_ends *ends = &made->ends;
    rotary_status status = generation_ends_read(ends, folder, error);
    if (status != ROTARY_OK || ends->said || ends->none_said || made->end < 0)
        return status;
    ends->tokens = malloc(sizeof *ends->tokens);
    if (!ends->tokens)
        return rotary_fail_memory(error, "to read %s", folder);
    ends->tokens[ends->count++] = made->end;
    return ROTARY_OK;
}

rotary_status pretrained_load(const struct pretrained_call *call, struct pretrained *pretrained,
                              rotary_error *error)
{
    struct pretrained made = {.begin = -1, .end = -1};
    rotary_status status = create(call, &made, error);
    if (status == ROTARY_OK)
        status = read_tokenizer(call->folder, &made, error);
    if (status == ROTARY_OK)
        status = read_ends(call->folder, &made, error);
    if (status == ROTARY_OK)
        *pretrained = made;
    else
        pretrained_free(&made);
    return status;
}

void pretrained_free(struct pretrained *pretrained)
{
    transformer_destroy(pretrained->transformer);
    transformer_config_free(&pretrained->model);
    tokenizer_destroy(pretrained->tokenizer);
    generation_ends_free(&pretrained->ends);
    *pretrained = (struct pretrained){0};
}
