/* SPDX-License-Identifier: Apache-2.0 */
#include "model/encoding/custom_encoding.h"

#include "base/fail.h"
#include "file/file.h"
#include "file/npy.h"
#include "model/encoding/shipped_encodings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arrays ---- */

enum { MAX_NUMBERS = 4096 }; /* of an array, which a configuration has with all its digits */

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), last = strlen(ending);
    return length > last && strcmp(text + length - last, ending) == 0;
}

/* Element i; of f32 in the fewest digits that make it. */
static json_t *element(const struct npy *array, int64_t i)
{
    char digits[32];
    if (array->type == NPY_F64)
        return json_real(((const double *)array->data)[i]);
    const float value = ((const float *)array->data)[i];
    int count = 6;
    do
        snprintf(digits, sizeof digits, "%.*g", count, (double)value);
    while (++count <= 9 && strtof(digits, NULL) != value);
    return json_real(strtod(digits, NULL));
}

/* Elements first ... first + count - 1. */
static rotary_status make_list(const char *path, const struct npy *array, int64_t first, int64_t count,
                               json_t **list, rotary_error *error)
{
    json_t *made = json_array();
    for (int64_t i = first; made && i < first + count; i++)
        if (json_array_append_new(made, element(array, i)) != 0) {
            json_decref(made);
            return rotary_fail(error, ROTARY_BAD_FILE, "%.200s: number %lld is not finite", path,
                               (long long)i);
        }
    *list = made;
    return made ? ROTARY_OK : rotary_fail_memory(error, "for the numbers of %.200s", path);
}

/* A list, or of an array of two dimensions a list of lists. */
static rotary_status make_lists(const char *path, const struct npy *array, json_t **list, rotary_error *error)
{
    if (array->dimensions == 1)
        return make_list(path, array, 0, array->elements, list, error);
    json_t *made = json_array(), *row = NULL;
    rotary_status status = ROTARY_OK;
    for (int64_t i = 0; status == ROTARY_OK && i < array->shape[0]; i++) {
        status = make_list(path, array, i * array->shape[1], array->shape[1], &row, error);
        if (status == ROTARY_OK && json_array_append_new(made, row) != 0)
            status = rotary_fail_memory(error, "for the numbers of %.200s", path);
    }
    if (status == ROTARY_OK)
        *list = made;
    else
        json_decref(made);
    return status;
}

/* Biases are computed with in f32, which takes fewer digits. */
static void round_to_f32(struct npy *array)
{
    if (array->type != NPY_F64)
        return;
    for (int64_t i = 0; i < array->elements; i++) {
        const float value = (float)((const double *)array->data)[i];
        memcpy((char *)array->data + (size_t)i * sizeof value, &value, sizeof value);
    }
    array->type = NPY_F32;
}

static rotary_status read_array(const char *path, int dimensions, json_t **list, rotary_error *error)
{
    struct npy_file file;
    struct npy array;
    rotary_status status = npy_open(&file, path, error);
    if (status != ROTARY_OK)
        return status;
    const struct npy *header = &file.array;
    if ((header->type != NPY_F32 && header->type != NPY_F64) || header->dimensions < 1 ||
        header->dimensions > dimensions || header->elements > MAX_NUMBERS || header->elements == 0) {
        npy_close(&file);
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%.200s: wanted an array of one dimension%s, of 1 to %d numbers of f32 or f64",
                           path, dimensions == 2 ? " or two" : "", (int)MAX_NUMBERS);
    }
    status = npy_take(&file, &array, error);
    if (status != ROTARY_OK)
        return status;
    if (dimensions == 2)
        round_to_f32(&array);
    status = make_lists(path, &array, list, error);
    npy_free(&array);
    return status;
}

/* Replaces the name of a .npy file, which is beside the file, by its numbers. */
static rotary_status read_value(const char *path, json_t *object, const char *key, int dimensions,
                                rotary_error *error)
{
    const char *name = json_string_value(json_object_get(object, key));
    char folder[FILE_PATH_BYTES], array[FILE_PATH_BYTES];
    json_t *list = NULL;
    if (!name || !ends_with(name, ".npy"))
        return ROTARY_OK;
    rotary_status status = file_folder_of(path, folder, error);
    if (status == ROTARY_OK && name[0] != '/')
        status = file_path(array, folder, name, error);
    if (status == ROTARY_OK)
        status = read_array(name[0] == '/' ? name : array, dimensions, &list, error);
    if (status == ROTARY_OK && json_object_set_new(object, key, list) != 0)
        status = rotary_fail_memory(error, "for %.200s", path);
    return status;
}

static rotary_status read_arrays(const char *path, json_t *object, rotary_error *error)
{
    rotary_status status = read_value(path, object, "frequencies", 1, error);
    return status == ROTARY_OK ? read_value(path, object, "bias", 2, error) : status;
}

/* ---- files ---- */

/* "some/mine.json" is mine. Checked as any name is. */
static rotary_status add_name(const char *path, json_t *object, rotary_error *error)
{
    const char *name = file_name_of(path);
    size_t length = strlen(name);
    if (ends_with(name, ".json"))
        length -= strlen(".json");
    if (json_object_get(object, "name"))
        return ROTARY_OK;
    return json_object_set_new(object, "name", json_stringn(name, length)) == 0
               ? ROTARY_OK
               : rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "%.200s: the name of the file is no UTF-8 text, wanted a \"name\" in it", path);
}

/* Completes and checks what was read from `path`; releases it if it is wrong. */
static rotary_status complete(const char *path, json_t *made, json_t **object, rotary_error *error)
{
    struct custom_encoding *encoding = NULL;
    rotary_error wrong = {0};
    rotary_status status = add_name(path, made, &wrong);
    if (status == ROTARY_OK)
        status = read_arrays(path, made, &wrong);
    if (status == ROTARY_OK)
        status = custom_encoding_read(made, path, &encoding, &wrong);
    if (status != ROTARY_OK) {
        json_decref(made);
        return rotary_fail(error, status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status, "%s",
                           wrong.message);
    }
    custom_encoding_free(encoding);
    *object = made;
    return ROTARY_OK;
}

rotary_status custom_encoding_file(const char *path, json_t **object, rotary_error *error)
{
    json_t *made = NULL;
    rotary_status status = file_read_json(path, &made, error);
    return status == ROTARY_OK ? complete(path, made, object, error) : status;
}

rotary_status custom_encoding_value(const char *text, json_t **value, rotary_error *error)
{
    json_t *made = NULL;
    if (ends_with(text, ".json"))
        return custom_encoding_file(text, value, error);
    for (int i = 0; shipped_encoding_names[i]; i++)
        if (strcmp(text, shipped_encoding_names[i]) == 0) {
            const char *shipped = shipped_encoding_texts[i];
            rotary_status status = file_parse_json(text, shipped, strlen(shipped), &made, error);
            return status == ROTARY_OK ? complete(text, made, value, error) : status;
        }
    *value = json_string(text);
    return *value ? ROTARY_OK
                  : rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the name of an encoding is not UTF-8 text");
}
