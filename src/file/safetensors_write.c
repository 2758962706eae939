/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing safetensors files.
 */
#include "file/safetensors_layout.h"

#include "base/fail.h"
#include "file/checksum/checksum.h"

#include <stdlib.h>
#include <string.h>

/* The offset of the data is a multiple of this, so that wide loads of a mapped file are aligned. */
enum { DATA_ALIGNMENT = 64 };

const char *safetensors_type(const struct safetensor *tensor)
{
    static const char *const names[] = {[ROTARY_F32] = "F32", [ROTARY_F16] = "F16", [ROTARY_BF16] = "BF16"};
    return tensor->other_type ? tensor->other_type : names[tensor->dtype];
}

static const struct {
    const char *name;
    size_t bytes;
} other_types[] = {
    {"F64", 8}, {"I64", 8}, {"U64", 8}, {"C64", 8},  {"I32", 4},     {"U32", 4},     {"I16", 2},
    {"U16", 2}, {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1},
};
enum { OTHER_TYPES = sizeof other_types / sizeof other_types[0] };

const char *safetensors_other_type(const char *name)
{
    for (int i = 0; i < OTHER_TYPES; i++)
        if (strcmp(other_types[i].name, name) == 0)
            return other_types[i].name;
    return NULL;
}

size_t safetensors_element_bytes(const struct safetensor *tensor)
{
    if (!tensor->other_type)
        return rotary_dtype_size(tensor->dtype);
    for (int i = 0; i < OTHER_TYPES; i++)
        if (strcmp(other_types[i].name, tensor->other_type) == 0)
            return other_types[i].bytes;
    return 0;
}

int64_t safetensors_elements(const struct safetensor *tensor)
{
    int64_t elements = 1;
    for (int i = 0; i < tensor->dimensions; i++)
        elements *= tensor->shape[i];
    return elements;
}

bool safetensors_bytes(const struct safetensor *tensor, uint64_t *bytes)
{
    uint64_t product = safetensors_element_bytes(tensor);
    bool good = product > 0;
    for (int i = 0; i < tensor->dimensions; i++)
        if (tensor->shape[i] < 0 || __builtin_mul_overflow(product, (uint64_t)tensor->shape[i], &product))
            return false;
    *bytes = product;
    return good;
}

/* The parts of a file: length of the header, text of the header, then the tensors. */
struct layout {
    struct file_part *parts;
    int count;
    uint64_t *offsets; /* of each tensor within the data */
    char *header;
    unsigned char length[SAFETENSORS_LENGTH_BYTES];
};

static rotary_status check_tensor(const char *path, const struct safetensor *tensor, uint64_t *bytes,
                                  rotary_error *error)
{
    if (tensor->dimensions < 0 || tensor->dimensions > SAFETENSORS_DIMENSIONS)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s: tensor %s has %d dimensions, wanted 0 to %d",
                           path, tensor->name, tensor->dimensions, SAFETENSORS_DIMENSIONS);
    if (!safetensors_bytes(tensor, bytes) || *bytes > INT64_MAX)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s: tensor %s has an unknown type, or a size that is negative or too large", path,
                           tensor->name);
    return ROTARY_OK;
}

/* Assigns every tensor its offset. Tensors of larger elements come first, so that all are aligned to their
 * elements. */
static rotary_status assign_offsets(struct layout *layout, const char *path, const struct safetensor *tensors,
                                    int count, rotary_error *error)
{
    uint64_t offset = 0;
    layout->count = 2;
    for (size_t size = 8; size >= 1; size /= 2)
        for (int i = 0; i < count; i++) {
            uint64_t bytes = 0;
            rotary_status status = check_tensor(path, &tensors[i], &bytes, error);
            if (status != ROTARY_OK)
                return status;
            if (safetensors_element_bytes(&tensors[i]) != size)
                continue;
            layout->offsets[i] = offset;
            layout->parts[layout->count++] = (struct file_part){.bytes = tensors[i].data,
                                                                .count = (size_t)bytes,
                                                                .fetch = tensors[i].fetch,
                                                                .context = tensors[i].context};
            if (__builtin_add_overflow(offset, bytes, &offset) || offset > INT64_MAX)
                return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s: the tensors together are too large",
                                   path);
        }
    return ROTARY_OK;
}

/* The header's entry of a tensor; NULL without memory, or if its name is not UTF-8. */
static json_t *describe(const struct safetensor *tensor, uint64_t offset)
{
    json_t *shape = json_array();
    uint64_t bytes = 0;
    (void)safetensors_bytes(tensor, &bytes);
    for (int i = 0; i < tensor->dimensions; i++)
        json_array_append_new(shape, json_integer(tensor->shape[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", safetensors_type(tensor), "shape", shape,
                     "data_offsets", (json_int_t)offset, (json_int_t)(offset + bytes));
}

static rotary_status make_header(struct layout *layout, const char *path, const struct safetensor *tensors,
                                 int count, const json_t *metadata, rotary_error *error)
{
    char zeros[CHECKSUM_DIGITS + 1] = "";
    memset(zeros, '0', CHECKSUM_DIGITS);
    json_t *header = json_pack("{s:{s:s}}", SAFETENSORS_METADATA, SAFETENSORS_CHECKSUM, zeros);
    bool good = header != NULL;
    if (good && metadata)
        good = json_object_update_missing(json_object_get(header, SAFETENSORS_METADATA),
                                          (json_t *)(uintptr_t)metadata) == 0;
    for (int i = 0; i < count && good; i++) {
        if (json_object_get(header, tensors[i].name)) {
            json_decref(header);
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s: two tensors are named \"%s\"", path,
                               tensors[i].name);
        }
        good = json_object_set_new(header, tensors[i].name, describe(&tensors[i], layout->offsets[i])) == 0;
    }
    char *text = good ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    if (!text)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY,
                           "%s: no memory for the header, or a name that is not UTF-8", path);

    size_t used = strlen(text);
    size_t padded = (SAFETENSORS_LENGTH_BYTES + used + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT -
                    SAFETENSORS_LENGTH_BYTES;
    layout->header = malloc(padded);
    if (!layout->header) {
        free(text);
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s: no memory for the header", path);
    }
    memcpy(layout->header, text, used);
    memset(layout->header + used, ' ', padded - used);
    free(text);
    for (int i = 0; i < SAFETENSORS_LENGTH_BYTES; i++)
        layout->length[i] = (unsigned char)(padded >> 8 * i);
    layout->parts[0] = (struct file_part){.bytes = layout->length, .count = SAFETENSORS_LENGTH_BYTES};
    layout->parts[1] = (struct file_part){.bytes = layout->header, .count = padded};
    return ROTARY_OK;
}

static rotary_status add_block(void *checksum, const void *bytes, size_t count, rotary_error *error)
{
    (void)error;
    checksum_add(checksum, bytes, count);
    return ROTARY_OK;
}

/* Replaces the zeros in the header by the checksum of all parts. */
static rotary_status write_checksum(struct layout *layout, rotary_error *error)
{
    struct checksum checksum;
    checksum_start(&checksum);
    for (int i = 0; i < layout->count; i++) {
        rotary_status status = file_part_blocks(&layout->parts[i], add_block, &checksum, error);
        if (status != ROTARY_OK)
            return status;
    }
    char digits[CHECKSUM_TEXT_BYTES];
    checksum_finish_text(&checksum, digits);
    memcpy(layout->header + strlen(SAFETENSORS_CHECKSUM_PREFIX), digits, CHECKSUM_DIGITS);
    return ROTARY_OK;
}

static rotary_status check_metadata(const char *path, const json_t *metadata, rotary_error *error)
{
    json_t *entries = (json_t *)(uintptr_t)metadata; /* jansson cannot iterate over a const object */
    const char *key;
    json_t *value;
    json_object_foreach (entries, key, value) {
        if (!json_is_string(value))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s: metadata \"%s\" is not a string", path,
                               key);
    }
    return ROTARY_OK;
}

typedef rotary_status put_parts(const char *path, const struct file_part *parts, int count,
                                rotary_error *error);

static rotary_status write_by(put_parts *put, const char *path, const struct safetensor *tensors, int count,
                              const json_t *metadata, rotary_error *error)
{
    rotary_status status = metadata ? check_metadata(path, metadata, error) : ROTARY_OK;
    if (status != ROTARY_OK)
        return status;
    size_t max_parts = (size_t)count + 2;
    struct layout layout = {.parts = calloc(max_parts, sizeof *layout.parts),
                            .offsets = calloc(max_parts, sizeof *layout.offsets)};
    if (!layout.parts || !layout.offsets)
        status = rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s: no memory to list %d tensors", path, count);
    if (status == ROTARY_OK)
        status = assign_offsets(&layout, path, tensors, count, error);
    if (status == ROTARY_OK)
        status = make_header(&layout, path, tensors, count, metadata, error);
    if (status == ROTARY_OK)
        status = write_checksum(&layout, error);
    if (status == ROTARY_OK)
        status = put(path, layout.parts, layout.count, error);
    free(layout.header);
    free(layout.offsets);
    free(layout.parts);
    return status;
}

rotary_status safetensors_write(const char *path, const struct safetensor *tensors, int count,
                                const json_t *metadata, rotary_error *error)
{
    return write_by(file_write_parts, path, tensors, count, metadata, error);
}

rotary_status safetensors_replace(const char *path, const struct safetensor *tensors, int count,
                                  const json_t *metadata, rotary_error *error)
{
    return write_by(file_replace_parts, path, tensors, count, metadata, error);
}
