/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading safetensors files. Everything in a file is checked before it is used.
 */
#include "file/safetensors_layout.h"

#include "base/fail.h"
#include "file/checksum/checksum.h"
#include "file/json_numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The largest models have some 90,000 tensors in 12 million bytes. The reference implementation takes 100
 * million; a text of so many may take fifty times its bytes in memory. */
static const uint64_t max_header_bytes = 16 << 20;

struct safetensors {
    char *path;
    unsigned char *bytes;
    size_t size;          /* of the whole file */
    size_t header_length; /* of its JSON text */
    json_t *header;       /* owns the tensors' names */
    struct safetensor *tensors;
    int count;
    void **copies; /* [count] of tensors whose data are not aligned; NULL of others, and for any type */
    bool verified;
    bool any_type;
};

static rotary_status map_file(struct safetensors *file, rotary_error *error)
{
    /* Without O_NONBLOCK, open() of a pipe would wait for its writer. */
    int descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return rotary_fail(error, ROTARY_IO_ERROR, "cannot open %s: %s", file->path, strerror(errno));
    rotary_status status = ROTARY_OK;
    struct stat about;
    if (fstat(descriptor, &about) != 0)
        status = rotary_fail(error, ROTARY_IO_ERROR, "cannot look at %s: %s", file->path, strerror(errno));
    else if (!S_ISREG(about.st_mode))
        status = rotary_fail(error, ROTARY_BAD_FILE, "%s is not a file of tensors: it is not a regular file",
                             file->path);
    else if (about.st_size < SAFETENSORS_LENGTH_BYTES)
        status = rotary_fail(error, ROTARY_BAD_FILE, "%s is not a file of tensors: it has %jd bytes",
                             file->path, (intmax_t)about.st_size);
    else {
        void *mapped = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (mapped == MAP_FAILED)
            status = rotary_fail(error, ROTARY_IO_ERROR, "cannot map %s: %s", file->path, strerror(errno));
        else {
            file->bytes = mapped;
            file->size = (size_t)about.st_size;
        }
    }
    close(descriptor);
    return status;
}

static rotary_status read_header(struct safetensors *file, rotary_error *error)
{
    uint64_t length = 0;
    for (int i = 0; i < SAFETENSORS_LENGTH_BYTES; i++)
        length |= (uint64_t)file->bytes[i] << 8 * i;
    if (length > file->size - SAFETENSORS_LENGTH_BYTES)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s is truncated or is not a file of tensors: its header would have %" PRIu64
                           " bytes, the file has %zu",
                           file->path, length, file->size);
    if (length > max_header_bytes)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s: its header would have %" PRIu64 " bytes, wanted at most %" PRIu64, file->path,
                           length, max_header_bytes);
    file->header_length = (size_t)length;
    json_error_t wrong;
    const char *text = (const char *)file->bytes + SAFETENSORS_LENGTH_BYTES;
    file->header = json_numbers_load(text, file->header_length, JSON_REJECT_DUPLICATES, false, &wrong);
    if (!file->header)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: its header is damaged at byte %d: %s", file->path,
                           wrong.position, wrong.text);
    if (!json_is_object(file->header))
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: its header is no JSON object", file->path);
    return ROTARY_OK;
}

static rotary_status fail_tensor(const struct safetensors *file, const char *name, const char *what,
                                 rotary_error *error)
{
    return rotary_fail(error, ROTARY_BAD_FILE, "%s: tensor \"%.128s\": %s", file->path, name, what);
}

static bool read_type(const json_t *value, bool any_type, struct safetensor *tensor)
{
    const char *name = json_string_value(value);
    for (int i = ROTARY_F32; name && i <= (int)ROTARY_BF16; i++) {
        tensor->dtype = (rotary_dtype)i;
        if (strcmp(name, safetensors_type(tensor)) == 0)
            return true;
    }
    tensor->other_type = name && any_type ? safetensors_other_type(name) : NULL;
    return tensor->other_type != NULL;
}

static rotary_status read_tensor(const struct safetensors *file, const char *name, const json_t *entry,
                                 struct safetensor *tensor, rotary_error *error)
{
    const json_t *shape = json_object_get(entry, "shape"), *offsets = json_object_get(entry, "data_offsets");
    if (!json_is_object(entry) || json_object_size(entry) != 3 || !json_is_array(shape) ||
        !json_is_array(offsets) || !json_object_get(entry, "dtype"))
        return fail_tensor(file, name,
                           "the header must give its dtype, shape and data_offsets, and nothing else", error);
    *tensor = (struct safetensor){.name = name};
    if (!read_type(json_object_get(entry, "dtype"), file->any_type, tensor))
        return fail_tensor(file, name,
                           file->any_type ? "its type is unknown, or its elements are not whole bytes"
                                          : "its type is not F32, F16 or BF16",
                           error);
    if (json_array_size(shape) > SAFETENSORS_DIMENSIONS)
        return fail_tensor(file, name, "it has more than 8 dimensions", error);
    tensor->dimensions = (int)json_array_size(shape);
    for (int i = 0; i < tensor->dimensions; i++) {
        const json_t *size = json_array_get(shape, (size_t)i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return fail_tensor(file, name, "a size in its shape is not an integer from 0 up", error);
        tensor->shape[i] = json_integer_value(size);
    }
    const json_t *begin_value = json_array_get(offsets, 0), *end_value = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin_value) || !json_is_integer(end_value) ||
        json_integer_value(begin_value) < 0 ||
        json_integer_value(end_value) < json_integer_value(begin_value))
        return fail_tensor(file, name,
                           "its data_offsets are not two integers from 0 up, the second at least the first",
                           error);
    uint64_t begin = (uint64_t)json_integer_value(begin_value), end = (uint64_t)json_integer_value(end_value),
             bytes;
    uint64_t data_size = file->size - SAFETENSORS_LENGTH_BYTES - file->header_length;
    if (end > data_size)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s is truncated: tensor \"%.128s\" would end at byte %" PRIu64 " of %" PRIu64
                           " bytes of data",
                           file->path, name, end, data_size);
    if (!safetensors_bytes(tensor, &bytes) || bytes != end - begin)
        return fail_tensor(file, name, "its shape and its data_offsets do not agree", error);
    tensor->data = file->bytes + SAFETENSORS_LENGTH_BYTES + file->header_length + begin;
    return ROTARY_OK;
}

static size_t tensor_bytes(const struct safetensor *tensor)
{
    uint64_t bytes = 0;
    (void)safetensors_bytes(tensor, &bytes); /* the tensor is valid */
    return (size_t)bytes;
}

/* By offset; of two with the same offset, the empty one first. */
static int compare_offsets(const void *left, const void *right)
{
    const struct safetensor *a = left, *b = right;
    if (a->data != b->data)
        return (uintptr_t)a->data < (uintptr_t)b->data ? -1 : 1;
    size_t a_bytes = tensor_bytes(a), b_bytes = tensor_bytes(b);
    return a_bytes < b_bytes ? -1 : a_bytes > b_bytes;
}

/* The format wants contiguous tensors: no overlap, no gap, no bytes after the last. */
static rotary_status check_offsets(const struct safetensors *file, rotary_error *error)
{
    const unsigned char *next = file->bytes + SAFETENSORS_LENGTH_BYTES + file->header_length;
    for (int i = 0; i < file->count; i++) {
        const unsigned char *data = file->tensors[i].data;
        if (data != next)
            return fail_tensor(file, file->tensors[i].name,
                               data < next ? "its data overlaps another's" : "there is a gap before its data",
                               error);
        next = data + tensor_bytes(&file->tensors[i]);
    }
    size_t left = (size_t)(file->bytes + file->size - next);
    if (left > 0)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has %zu bytes that belong to no tensor", file->path,
                           left);
    return ROTARY_OK;
}

/* The format does not align data. Callers who read numbers in place get copies of those that are not. */
static rotary_status align_tensors(struct safetensors *file, rotary_error *error)
{
    file->copies = calloc((size_t)file->count + 1, sizeof *file->copies);
    for (int i = 0; file->copies && i < file->count; i++) {
        struct safetensor *tensor = &file->tensors[i];
        const size_t bytes = tensor_bytes(tensor);
        if ((uintptr_t)tensor->data % rotary_dtype_size(tensor->dtype) == 0)
            continue;
        file->copies[i] = malloc(bytes + 1);
        if (!file->copies[i])
            return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s: no memory to align tensor \"%.128s\"",
                               file->path, tensor->name);
        tensor->data = memcpy(file->copies[i], tensor->data, bytes);
    }
    return file->copies ? ROTARY_OK
                        : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s: no memory to list its %d tensors",
                                      file->path, file->count);
}

static rotary_status read_metadata(const struct safetensors *file, rotary_error *error)
{
    json_t *metadata = json_object_get(file->header, SAFETENSORS_METADATA);
    const char *key;
    json_t *value;
    if (metadata && !json_is_object(metadata))
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: its metadata is no JSON object", file->path);
    json_object_foreach (metadata, key, value)
        if (!json_is_string(value))
            return rotary_fail(error, ROTARY_BAD_FILE, "%s: its metadata \"%.128s\" is not a string",
                               file->path, key);
    return ROTARY_OK;
}

static rotary_status read_tensors(struct safetensors *file, rotary_error *error)
{
    file->tensors = calloc(json_object_size(file->header) + 1, sizeof *file->tensors);
    if (!file->tensors)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s: no memory to list its %zu tensors", file->path,
                           json_object_size(file->header));
    const char *name;
    json_t *entry;
    json_object_foreach (file->header, name, entry) {
        if (strcmp(name, SAFETENSORS_METADATA) == 0)
            continue;
        rotary_status status = read_tensor(file, name, entry, &file->tensors[file->count], error);
        if (status != ROTARY_OK)
            return status;
        file->count++;
    }
    if (file->count > 0)
        qsort(file->tensors, (size_t)file->count, sizeof *file->tensors, compare_offsets);
    return check_offsets(file, error);
}

static rotary_status verify(struct safetensors *file, rotary_error *error)
{
    size_t prefix = strlen(SAFETENSORS_CHECKSUM_PREFIX);
    const char *text = (const char *)file->bytes + SAFETENSORS_LENGTH_BYTES;
    const char *written = safetensors_metadata(file, SAFETENSORS_CHECKSUM);
    if (!written || file->header_length < prefix || memcmp(text, SAFETENSORS_CHECKSUM_PREFIX, prefix) != 0)
        return ROTARY_OK; /* written by another program */
    char digits[CHECKSUM_TEXT_BYTES] = "";
    if (strlen(written) == CHECKSUM_DIGITS) {
        size_t digits_begin = SAFETENSORS_LENGTH_BYTES + prefix, digits_end = digits_begin + CHECKSUM_DIGITS;
        memset(digits, '0', CHECKSUM_DIGITS);
        struct checksum checksum;
        checksum_start(&checksum);
        checksum_add(&checksum, file->bytes, digits_begin);
        checksum_add(&checksum, digits, CHECKSUM_DIGITS);
        checksum_add(&checksum, file->bytes + digits_end, file->size - digits_end);
        checksum_finish_text(&checksum, digits);
    }
    if (strcmp(digits, written) != 0)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s is corrupted: its content does not match the checksum it carries", file->path);
    file->verified = true;
    return ROTARY_OK;
}

static rotary_status open_file(struct safetensors **file, const char *path, bool any_type,
                               rotary_error *error)
{
    struct safetensors *opened = calloc(1, sizeof *opened);
    if (!opened)
        return rotary_fail_memory(error, "to open %s", path);
    opened->any_type = any_type;
    opened->path = strdup(path);
    rotary_status status =
        opened->path ? map_file(opened, error) : rotary_fail_memory(error, "to open %s", path);
    if (status == ROTARY_OK)
        status = read_header(opened, error);
    if (status == ROTARY_OK)
        status = read_metadata(opened, error);
    if (status == ROTARY_OK)
        status = read_tensors(opened, error);
    if (status == ROTARY_OK)
        status = verify(opened, error);
    if (status == ROTARY_OK && !any_type)
        status = align_tensors(opened, error);
    if (status == ROTARY_OK)
        *file = opened;
    else
        safetensors_close(opened);
    return status;
}

rotary_status safetensors_open(struct safetensors **file, const char *path, rotary_error *error)
{
    return open_file(file, path, false, error);
}

rotary_status safetensors_open_any(struct safetensors **file, const char *path, rotary_error *error)
{
    return open_file(file, path, true, error);
}

void safetensors_close(struct safetensors *file)
{
    if (!file)
        return;
    if (file->bytes)
        munmap(file->bytes, file->size);
    json_decref(file->header);
    for (int i = 0; file->copies && i < file->count; i++)
        free(file->copies[i]);
    free(file->copies);
    free(file->tensors);
    free(file->path);
    free(file);
}

const char *safetensors_path(const struct safetensors *file)
{
    return file->path;
}

bool safetensors_verified(const struct safetensors *file)
{
    return file->verified;
}

int safetensors_count(const struct safetensors *file)
{
    return file->count;
}

const struct safetensor *safetensors_at(const struct safetensors *file, int index)
{
    return index >= 0 && index < file->count ? &file->tensors[index] : NULL;
}

const struct safetensor *safetensors_find(const struct safetensors *file, const char *name)
{
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i];
    return NULL;
}

const char *safetensors_metadata(const struct safetensors *file, const char *key)
{
    return json_string_value(json_object_get(json_object_get(file->header, SAFETENSORS_METADATA), key));
}

json_t *safetensors_copy_metadata(const struct safetensors *file)
{
    const json_t *metadata = json_object_get(file->header, SAFETENSORS_METADATA);
    json_t *copy = metadata ? json_deep_copy(metadata) : json_object();
    json_object_del(copy, SAFETENSORS_CHECKSUM);
    return copy;
}
