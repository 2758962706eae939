/* SPDX-License-Identifier: Apache-2.0 */
#include "records/record_lengths.h"

#include "base/fail.h"
#include "file/checksum/json_checksum.h"
#include "file/file.h"
#include "records/record_positions.h"
#include "run_folder/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* It is printed in tables and on pages. */
static bool is_scaling(const char *name)
{
    const size_t length = strlen(name);
    return length > 0 && length < RECORD_SCALING_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789") == length;
}

static rotary_status read_scores(const struct json_source *source, const json_t *object,
                                 struct record_length *length, rotary_error *error)
{
    rotary_status status = json_field_count(source, object, "correct", &length->correct, error);
    if (status == ROTARY_OK)
        status = json_field_count(source, object, "problems", &length->problems, error);
    if (status == ROTARY_OK && length->correct > length->problems)
        status = json_field_fail(source, "correct", json_object_get(object, "correct"),
                                 "at most \"problems\"", error);
    if (status == ROTARY_OK)
        status = json_field_measured(source, object, "loss", &length->loss, error);
    if (status == ROTARY_OK && json_object_get(object, "bits_per_byte"))
        status = json_field_measured(source, object, "bits_per_byte", &length->bits_per_byte, error);
    if (status == ROTARY_OK)
        status = record_positions_read(source, object, length->length, &length->positions, error);
    return status;
}

static rotary_status read_length(const struct json_source *source, const json_t *object,
                                 struct record_length *length, rotary_error *error)
{
    const char *scaling = json_string_value(json_object_get(object, "scaling"));
    *length = (struct record_length){.possible = !json_is_null(json_object_get(object, "problems"))};
    rotary_status status = json_field_count(source, object, "length", &length->length, error);
    if (status == ROTARY_OK && (!scaling || !is_scaling(scaling)))
        status = json_field_fail(source, "scaling", json_object_get(object, "scaling"),
                                 "the name of a scaling", error);
    if (status != ROTARY_OK)
        return status;
    memcpy(length->scaling, scaling, strlen(scaling) + 1);
    return length->possible ? read_scores(source, object, length, error) : ROTARY_OK;
}

rotary_status record_lengths_add(struct record_lengths *lengths, const struct record_length *length,
                                 rotary_error *error)
{
    for (int i = 0; i < lengths->count; i++)
        if (lengths->items[i].length == length->length &&
            strcmp(lengths->items[i].scaling, length->scaling) == 0) {
            lengths->items[i] = *length;
            return ROTARY_OK;
        }
    struct record_length *items =
        realloc(lengths->items, (size_t)(lengths->count + 1) * sizeof *lengths->items);
    if (!items)
        return rotary_fail_memory(error, "for the scores of a run");
    lengths->items = items;
    lengths->items[lengths->count++] = *length;
    return ROTARY_OK;
}

static rotary_status read_object(const struct json_source *source, const json_t *object,
                                 struct record_lengths *lengths, rotary_error *error)
{
    const json_t *list = json_object_get(object, "lengths");
    rotary_status status = json_field_count(source, object, "step", &lengths->step, error);
    if (status == ROTARY_OK && !json_is_array(list))
        status = json_field_fail(source, "lengths", json_object_get(object, "lengths"), "a list", error);
    for (size_t i = 0; status == ROTARY_OK && i < json_array_size(list); i++) {
        struct record_length length;
        status = read_length(source, json_array_get(list, i), &length, error);
        if (status == ROTARY_OK)
            status = record_lengths_add(lengths, &length, error);
    }
    return status;
}

rotary_status record_lengths_read_file(struct record_lengths *lengths, const char *path, rotary_error *error)
{
    json_t *object = NULL;
    *lengths = (struct record_lengths){0};
    rotary_status status = file_read_json(path, &object, error);
    if (status == ROTARY_OK)
        status = json_checksum_take(object, path, error);
    if (status == ROTARY_OK)
        status = read_object(&(struct json_source){.path = path}, object, lengths, error);
    json_decref(object);
    if (status != ROTARY_OK)
        record_lengths_free(lengths);
    return status;
}

rotary_status record_lengths_read(struct record_lengths *lengths, const char *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    *lengths = (struct record_lengths){0};
    rotary_status status = file_path(path, folder, FOLDER_LENGTHS, error);
    return status == ROTARY_OK && file_exists(path) ? record_lengths_read_file(lengths, path, error) : status;
}

static json_t *length_json(const struct record_length *length)
{
    if (!length->possible)
        return json_pack("{s:I, s:s, s:n, s:n, s:n}", "length", (json_int_t)length->length, "scaling",
                         length->scaling, "correct", "problems", "loss");
    json_t *object = json_pack("{s:I, s:s, s:I, s:I, s:o}", "length", (json_int_t)length->length, "scaling",
                               length->scaling, "correct", (json_int_t)length->correct, "problems",
                               (json_int_t)length->problems, "loss", file_json_number(length->loss));
    if (length->bits_per_byte > 0)
        json_object_set_new(object, "bits_per_byte", json_real(length->bits_per_byte));
    if (length->positions.length > 0)
        json_object_set_new(object, "positions", record_positions_json(&length->positions));
    return object;
}

rotary_status record_lengths_write(const struct record_lengths *lengths, const char *folder,
                                   rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_output_path(path, folder, FOLDER_LENGTHS, error);
    json_t *list = json_array();
    for (int i = 0; i < lengths->count; i++)
        json_array_append_new(list, length_json(&lengths->items[i]));
    json_t *object = json_pack("{s:I, s:o}", "step", (json_int_t)lengths->step, "lengths", list);
    json_checksum_set(object);
    if (status == ROTARY_OK)
        status = file_replace_json(path, object, error);
    json_decref(object);
    return status;
}

void record_lengths_free(struct record_lengths *lengths)
{
    free(lengths->items);
    *lengths = (struct record_lengths){0};
}

const struct record_length *record_lengths_find(const struct record_lengths *lengths, int64_t length,
                                                const char *scaling)
{
    for (int i = 0; i < lengths->count; i++)
        if (lengths->items[i].length == length && strcmp(lengths->items[i].scaling, scaling) == 0)
            return &lengths->items[i];
    return NULL;
}
