/* SPDX-License-Identifier: Apache-2.0 */
#include "model/own_encoding.h"

#include "base/fail.h"
#include "file/file.h"
#include "file/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arrays ---- */

enum { MAX_NUMBERS = 4096 }; /* of an array; more have no room in a configuration */

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), last = strlen(ending);
    return length > last && strcmp(text + length - last, ending) == 0;
}

/* An element in the fewest digits that are enough for its type. */
static double element(const struct npy *array, int64_t index)
{
    char digits[32];
    if (array->type == NPY_F64)
        return ((const double *)array->data)[index];
    const float value = ((const float *)array->data)[index];
    int count = 6;
    do
        snprintf(digits, sizeof digits, "%.*g", count, (double)value);
    while (++count <= 9 && strtof(digits, NULL) != value);
    return strtod(digits, NULL);
}

static rotary_status make_list(const char *path, const struct npy *array, json_t **list, rotary_error *error)
{
    json_t *made = json_array();
    for (int64_t i = 0; made && i < array->elements; i++)
        if (json_array_append_new(made, json_real(element(array, i))) != 0) {
            json_decref(made);
            return rotary_fail(error, ROTARY_BAD_FILE, "%.200s: number %lld is not finite", path,
                               (long long)i);
        }
    *list = made;
    return made ? ROTARY_OK
                : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the numbers of %s", path);
}

static rotary_status read_array(const char *path, json_t **list, rotary_error *error)
{
    struct npy_file file;
    struct npy array;
    rotary_status status = npy_open(&file, path, error);
    if (status != ROTARY_OK)
        return status;
    const struct npy *header = &file.array;
    if ((header->type != NPY_F32 && header->type != NPY_F64) || header->dimensions != 1 ||
        header->elements > MAX_NUMBERS) {
        npy_close(&file);
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%.200s: wanted an array of one dimension, of at most %d numbers of f32 or f64",
                           path, (int)MAX_NUMBERS);
    }
    status = npy_take(&file, &array, error);
    if (status != ROTARY_OK)
        return status;
    status = make_list(path, &array, list, error);
    npy_free(&array);
    return status;
}

/* Replaces "frequencies": "some.npy", which is beside the file, by its numbers. */
static rotary_status read_arrays(const char *path, json_t *object, rotary_error *error)
{
    const char *name = json_string_value(json_object_get(object, "frequencies"));
    char folder[FILE_PATH_BYTES], array[FILE_PATH_BYTES];
    json_t *list = NULL;
    if (!name || !ends_with(name, ".npy"))
        return ROTARY_OK;
    rotary_status status = file_folder_of(path, folder, error);
    if (status == ROTARY_OK && name[0] == '/')
        status = read_array(name, &list, error);
    else if (status == ROTARY_OK) {
        status = file_path(array, folder, name, error);
        if (status == ROTARY_OK)
            status = read_array(array, &list, error);
    }
    if (status == ROTARY_OK && json_object_set_new(object, "frequencies", list) != 0)
        status = rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %s", path);
    return status;
}

/* ---- files ---- */

/* "some/mine.json" is mine. Checked as any name is. */
static rotary_status add_name(const char *path, json_t *object, rotary_error *error)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
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

rotary_status own_encoding_file(const char *path, json_t **object, rotary_error *error)
{
    json_t *made = NULL;
    struct own_encoding encoding;
    rotary_error wrong = {0};
    rotary_status status = file_read_json(path, &made, &wrong);
    if (status == ROTARY_OK)
        status = add_name(path, made, &wrong);
    if (status == ROTARY_OK)
        status = read_arrays(path, made, &wrong);
    if (status == ROTARY_OK)
        status = own_encoding_read(made, path, 0, &encoding, &wrong);
    if (status != ROTARY_OK) {
        json_decref(made);
        return rotary_fail(error, status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status, "%s",
                           wrong.message);
    }
    own_encoding_free(&encoding);
    *object = made;
    return ROTARY_OK;
}

rotary_status own_encoding_value(const char *text, json_t **value, rotary_error *error)
{
    if (ends_with(text, ".json"))
        return own_encoding_file(text, value, error);
    *value = json_string(text);
    return *value ? ROTARY_OK
                  : rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the name of an encoding is not UTF-8 text");
}
