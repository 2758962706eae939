/* SPDX-License-Identifier: Apache-2.0
 *
 * make_tokenizer TOKENIZER FOLDER: writes the tokenizer of a file, as the program keeps it, as
 * FOLDER/tokenizer.json, and FOLDER/model.gguf, a small model that has it.
 */
#include "backend/backend.h"
#include "file/file.h"
#include "huggingface/export_cases.h"
#include "text/tokenizer_export/tokenizer_export.h"

#include <stdio.h>

static rotary_status write_json(const struct tokenizer *tokenizer, const char *folder, rotary_error *error)
{
    char path[1024];
    json_t *object;
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    rotary_status status = tokenizer_export_json(tokenizer, -1, &object, error);
    if (status == ROTARY_OK && object)
        status = file_replace_json(path, object, error);
    json_decref(object);
    return status;
}

static rotary_status write_gguf(const struct tokenizer *tokenizer, const char *folder, rotary_error *error)
{
    char path[1024], settings[64];
    const int64_t size = tokenizer_size(tokenizer);
    const struct tokenizer_gguf_call call = {.size = size, .begin = -1, .end = (int32_t)size - 1};
    snprintf(path, sizeof path, "%s/model.gguf", folder);
    snprintf(settings, sizeof settings, "{\"vocab_size\":%lld}", (long long)size);
    const struct export_case row = {.name = "tokenizer", .settings = settings};
    struct export_vocabulary vocabulary = {.begin = -1, .end = -1, .padding = -1};
    struct backend backend;
    struct export_model model;
    rotary_status status = backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, error);
    if (status == ROTARY_OK)
        status = export_case_make(&row, &backend, &model, error);
    if (status == ROTARY_OK)
        status = tokenizer_export_gguf(tokenizer, &call, &vocabulary.metadata, vocabulary.reason, error);
    if (status == ROTARY_OK)
        status = export_case_write_vocabulary(&row, &model, EXPORT_GGUF, path, &vocabulary, error);
    if (status == ROTARY_OK && vocabulary.reason[0])
        printf("no_vocab: %s\n", vocabulary.reason);
    return status;
}

int main(int count, char **arguments)
{
    rotary_error error = {0};
    struct tokenizer *tokenizer;
    if (count != 3) {
        fprintf(stderr, "usage: make_tokenizer TOKENIZER FOLDER\n");
        return 2;
    }
    rotary_status status = tokenizer_load(&tokenizer, arguments[1], &error);
    if (status == ROTARY_OK)
        status = write_json(tokenizer, arguments[2], &error);
    if (status == ROTARY_OK)
        status = write_gguf(tokenizer, arguments[2], &error);
    if (status != ROTARY_OK)
        fprintf(stderr, "%s\n", error.message);
    return status != ROTARY_OK;
}
