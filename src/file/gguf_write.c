/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing GGUF files.
 */
#include "file/gguf.h"

#include "base/fail.h"
#include "file/print.h"

#include <stdlib.h>
#include <string.h>

/* What is before the tensors' bytes. */
struct header {
    const char *path;
    struct print print;
};

/* What there is no memory for is noticed when the text ends. */
static void put(struct header *header, const void *bytes, size_t count)
{
    (void)!fwrite(bytes, 1, count, header->print.stream);
}

/* A number of `size` bytes, the lowest first. */
static void put_number(struct header *header, uint64_t number, int size)
{
    unsigned char bytes[8];
    for (int i = 0; i < size; i++)
        bytes[i] = (unsigned char)(number >> 8 * i);
    put(header, bytes, (size_t)size);
}

static void put_text(struct header *header, const char *text, size_t count)
{
    put_number(header, count, 8);
    put(header, text, count);
}

static void put_float(struct header *header, double number)
{
    const float value = (float)number;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_number(header, bits, 4);
}

/* ---- metadata ---- */

/* The type of a value that is no list; 0: none that is written. */
static int type_of(const json_t *value)
{
    return json_is_integer(value)   ? GGUF_UINT32
           : json_is_real(value)    ? GGUF_FLOAT32
           : json_is_boolean(value) ? GGUF_BOOL
           : json_is_string(value)  ? GGUF_STRING
                                    : 0;
}

static void put_value(struct header *header, const json_t *value)
{
    switch (type_of(value)) {
    case GGUF_UINT32: /* and INT32, which has the same bytes */
        put_number(header, (uint64_t)json_integer_value(value), 4);
        break;
    case GGUF_FLOAT32:
        put_float(header, json_real_value(value));
        break;
    case GGUF_BOOL:
        put_number(header, json_is_true(value), 1);
        break;
    default:
        put_text(header, json_string_value(value), json_string_length(value));
    }
}

static rotary_status check_integer(const struct header *header, const char *key, const json_t *value,
                                   long long min, long long max, rotary_error *error)
{
    const long long integer = json_integer_value(value);
    if (!json_is_integer(value) || (integer >= min && integer <= max))
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s: \"%s\" is %lld, wanted %lld to %lld",
                       header->path, key, integer, min, max);
}

static rotary_status put_list(struct header *header, const char *key, const json_t *list, rotary_error *error)
{
    const size_t count = json_array_size(list);
    const int type = type_of(json_array_get(list, 0));
    rotary_status status = ROTARY_OK;
    for (size_t i = 0; i < count && status == ROTARY_OK; i++) {
        const json_t *value = json_array_get(list, i);
        status = type_of(value) == type
                     ? check_integer(header, key, value, INT32_MIN, INT32_MAX, error)
                     : rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                                   "%s: entry %zu of \"%s\" has another type than the first", header->path,
                                   i + 1, key);
    }
    if (status != ROTARY_OK)
        return status;
    put_number(header, GGUF_ARRAY, 4);
    put_number(header, (uint64_t)(type == GGUF_UINT32 ? GGUF_INT32 : type), 4);
    put_number(header, count, 8);
    for (size_t i = 0; i < count; i++)
        put_value(header, json_array_get(list, i));
    return ROTARY_OK;
}

/* A list of bytes is an object of their hexadecimal digits. */
static const char bytes_key[] = "uint8";

json_t *gguf_bytes(const unsigned char *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    char *text = malloc(2 * count + 1);
    for (size_t i = 0; text && i < count; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    json_t *value = text ? json_pack("{s:s#}", bytes_key, text, (int)(2 * count)) : NULL;
    free(text);
    return value;
}

static uint64_t digit_of(char letter)
{
    return (uint64_t)(letter <= '9' ? letter - '0' : letter - 'a' + 10);
}

static void put_bytes(struct header *header, const json_t *text)
{
    const char *letters = json_string_value(text);
    const size_t count = json_string_length(text) / 2;
    put_number(header, GGUF_ARRAY, 4);
    put_number(header, GGUF_UINT8, 4);
    put_number(header, count, 8);
    for (size_t i = 0; i < count; i++)
        put_number(header, digit_of(letters[2 * i]) << 4 | digit_of(letters[2 * i + 1]), 1);
}

static rotary_status put_entry(struct header *header, const char *key, const json_t *value,
                               rotary_error *error)
{
    const json_t *single = json_is_array(value) ? json_array_get(value, 0) : value;
    const json_t *bytes = json_object_get(value, bytes_key);
    if (bytes) {
        put_text(header, key, strlen(key));
        put_bytes(header, bytes);
        return ROTARY_OK;
    }
    if (type_of(single) == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s: \"%s\" is null, an object or a list of nothing: wanted a number, a text, a "
                           "boolean or a list of them",
                           header->path, key);
    put_text(header, key, strlen(key));
    if (json_is_array(value))
        return put_list(header, key, value, error);
    put_number(header, (uint64_t)type_of(value), 4);
    put_value(header, value);
    return check_integer(header, key, value, 0, UINT32_MAX, error);
}

static rotary_status put_metadata(struct header *header, const json_t *metadata, rotary_error *error)
{
    const char *key;
    json_t *value;
    rotary_status status = ROTARY_OK;
    json_object_foreach ((json_t *)(uintptr_t)metadata, key, value) /* jansson's parameter is not const */
        if (status == ROTARY_OK)
            status = put_entry(header, key, value, error);
    return status;
}

/* ---- tensors ---- */

uint32_t gguf_tensor_type(rotary_dtype dtype)
{
    static const uint32_t types[] = {[ROTARY_F32] = 0, [ROTARY_F16] = 1, [ROTARY_BF16] = 30};
    return types[dtype];
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + GGUF_ALIGNMENT - 1) / GGUF_ALIGNMENT * GGUF_ALIGNMENT;
}

static rotary_status check_tensor(const char *path, const struct safetensor *tensors, int index,
                                  rotary_error *error)
{
    const struct safetensor *tensor = &tensors[index];
    const char *wrong = NULL;
    if (strlen(tensor->name) >= GGUF_NAME_BYTES)
        wrong = "has a name of 64 bytes or more, wanted less";
    else if (tensor->dimensions < 1 || tensor->dimensions > GGUF_DIMENSIONS)
        wrong = "has no dimension or more than 4, wanted 1 to 4";
    else if (tensor->other_type)
        wrong = "has a type that is none of f32, f16 and bf16";
    for (int i = 0; i < index && !wrong; i++)
        if (strcmp(tensors[i].name, tensor->name) == 0)
            wrong = "is there twice";
    for (int i = 0; i < tensor->dimensions && !wrong; i++)
        if (tensor->shape[i] < 1)
            wrong = "has a dimension without elements";
    return wrong ? rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s: the tensor \"%.100s\" %s", path,
                               tensor->name, wrong)
                 : ROTARY_OK;
}

static uint64_t bytes_of(const struct safetensor *tensor)
{
    return (uint64_t)safetensors_elements(tensor) * rotary_dtype_size(tensor->dtype);
}

/* Describes the tensors, and adds their bytes and what fills them up to the alignment to the parts. */
static rotary_status put_tensors(struct header *header, const struct safetensor *tensors, int count,
                                 struct file_part *parts, rotary_error *error)
{
    static const unsigned char zeros[GGUF_ALIGNMENT];
    uint64_t offset = 0;
    for (int i = 0; i < count; i++) {
        const struct safetensor *tensor = &tensors[i];
        rotary_status status = check_tensor(header->path, tensors, i, error);
        if (status != ROTARY_OK)
            return status;
        const uint64_t bytes = bytes_of(tensor);
        put_text(header, tensor->name, strlen(tensor->name));
        put_number(header, (uint64_t)tensor->dimensions, 4);
        for (int d = tensor->dimensions - 1; d >= 0; d--)
            put_number(header, (uint64_t)tensor->shape[d], 8);
        put_number(header, gguf_tensor_type(tensor->dtype), 4);
        put_number(header, offset, 8);
        parts[2 * i] = (struct file_part){.bytes = tensor->data,
                                          .count = (size_t)bytes,
                                          .fetch = tensor->fetch,
                                          .context = tensor->context};
        parts[2 * i + 1] = (struct file_part){.bytes = zeros, .count = (size_t)(padded(bytes) - bytes)};
        offset += padded(bytes);
    }
    fflush(header->print.stream);
    put(header, zeros, (size_t)padded(header->print.count) - header->print.count);
    return ROTARY_OK;
}

static rotary_status put_all(struct header *header, const json_t *metadata, const struct safetensor *tensors,
                             int count, struct file_part *parts, rotary_error *error)
{
    put(header, "GGUF", 4);
    put_number(header, GGUF_VERSION, 4);
    put_number(header, (uint64_t)count, 8);
    put_number(header, json_object_size(metadata), 8);
    rotary_status status = put_metadata(header, metadata, error);
    return status == ROTARY_OK ? put_tensors(header, tensors, count, parts, error) : status;
}

static rotary_status write_parts(struct header *header, const json_t *metadata,
                                 const struct safetensor *tensors, int count, struct file_part *parts,
                                 rotary_error *error)
{
    rotary_status status = put_all(header, metadata, tensors, count, parts + 1, error);
    const rotary_status ended = print_end(&header->print, status == ROTARY_OK ? error : NULL);
    status = status == ROTARY_OK ? ended : status;
    if (status == ROTARY_OK) {
        parts[0] = (struct file_part){.bytes = header->print.text, .count = header->print.count};
        status = file_replace_parts(header->path, parts, 2 * count + 1, error);
    }
    free(header->print.text);
    return status;
}

rotary_status gguf_replace(const char *path, const json_t *metadata, const struct safetensor *tensors,
                           int count, rotary_error *error)
{
    struct header header = {.path = path};
    struct file_part *parts = calloc(2 * (size_t)count + 1, sizeof *parts);
    if (!parts)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s: no memory for %d tensors", path, count);
    rotary_status status = print_begin(&header.print, error);
    if (status == ROTARY_OK)
        status = write_parts(&header, metadata, tensors, count, parts, error);
    free(parts);
    return status;
}
