/* SPDX-License-Identifier: Apache-2.0
 *
 * make_exports FOLDER: writes each case of export_cases.c as FOLDER/NAME, a Hugging Face folder,
 * FOLDER/NAME.gguf, its logits as FOLDER/NAME.npy, and the tokens that these are of as FOLDER/tokens.npy.
 * Prints names, and checksums of the two files of tensors.
 */
#include "backend/backend.h"
#include "file/npy.h"
#include "huggingface/export_cases.h"

#include <inttypes.h>
#include <stdio.h>

static rotary_status print_checksums(const char *folder, const struct export_case *row, rotary_error *error)
{
    char path[1024];
    uint64_t sums[2] = {0};
    snprintf(path, sizeof path, "%s/%s/model.safetensors", folder, row->name);
    rotary_status status = export_case_checksum(path, &sums[0], error);
    snprintf(path, sizeof path, "%s/%s.gguf", folder, row->name);
    if (status == ROTARY_OK && row->gguf)
        status = export_case_checksum(path, &sums[1], error);
    if (status == ROTARY_OK)
        printf("%s %016" PRIx64 " %016" PRIx64 "\n", row->name, sums[0], sums[1]);
    return status;
}

static rotary_status write_case(const char *folder, const struct export_case *row,
                                const struct backend *backend, rotary_error *error)
{
    float logits[EXPORT_TIME * EXPORT_VOCABULARY];
    char path[1024];
    struct export_model model;
    rotary_status status = export_case_make(row, backend, &model, error);
    if (status != ROTARY_OK)
        return status;
    snprintf(path, sizeof path, "%s/%s", folder, row->name);
    status = export_case_write(row, &model, EXPORT_HUGGINGFACE, path, error);
    snprintf(path, sizeof path, "%s/%s.gguf", folder, row->name);
    if (status == ROTARY_OK && row->gguf)
        status = export_case_write(row, &model, EXPORT_GGUF, path, error);
    if (status == ROTARY_OK)
        status = export_case_logits(&model, logits, error);
    snprintf(path, sizeof path, "%s/%s.npy", folder, row->name);
    const struct npy array = {
        .type = NPY_F32, .dimensions = 2, .shape = {EXPORT_TIME, EXPORT_VOCABULARY}, .data = logits};
    if (status == ROTARY_OK)
        status = npy_write(path, &array, error);
    if (status == ROTARY_OK)
        status = print_checksums(folder, row, error);
    transformer_destroy(model.transformer);
    transformer_config_free(&model.config);
    return status;
}

static rotary_status write_tokens(const char *folder, rotary_error *error)
{
    int32_t tokens[EXPORT_TIME];
    char path[1024];
    export_case_tokens(tokens);
    snprintf(path, sizeof path, "%s/tokens.npy", folder);
    const struct npy array = {.type = NPY_I32, .dimensions = 1, .shape = {EXPORT_TIME}, .data = tokens};
    return npy_write(path, &array, error);
}

int main(int count, char **arguments)
{
    struct backend backend;
    rotary_error error = {0};
    if (count != 2) {
        fprintf(stderr, "usage: make_exports FOLDER\n");
        return 2;
    }
    rotary_status status = backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, &error);
    if (status == ROTARY_OK)
        status = write_tokens(arguments[1], &error);
    for (int i = 0; i < export_case_count && status == ROTARY_OK; i++)
        status = write_case(arguments[1], &export_cases[i], &backend, &error);
    if (status != ROTARY_OK)
        fprintf(stderr, "%s\n", error.message);
    return status != ROTARY_OK;
}
