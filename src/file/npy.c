/* SPDX-License-Identifier: Apache-2.0 */
#include "file/npy.h"

#include "base/fail.h"
#include "file/file.h"
#include "file/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

static const struct {
    const char *name; /* as written; files may have any byte order before the type */
    size_t size;
} types[] = {
    [NPY_F16] = {"<f2", 2},  [NPY_F32] = {"<f4", 4}, [NPY_F64] = {"<f8", 8}, [NPY_BF16] = {"<V2", 2},
    [NPY_I8] = {"|i1", 1},   [NPY_I16] = {"<i2", 2}, [NPY_I32] = {"<i4", 4}, [NPY_I64] = {"<i8", 8},
    [NPY_U8] = {"|u1", 1},   [NPY_U16] = {"<u2", 2}, [NPY_U32] = {"<u4", 4}, [NPY_U64] = {"<u8", 8},
    [NPY_BOOL] = {"|b1", 1},
};
enum { TYPES = sizeof types / sizeof types[0], TEXT_BYTES = 64, PREFIX_BYTES = 10, HEADER_ALIGNMENT = 64 };
/* Version 1 can have no more; three entries with at most NPY_DIMENSIONS sizes need some hundred. */
enum { HEADER_MAX_BYTES = 65535, FIRST_BLOCK_BYTES = 1 << 20 };

size_t npy_size(enum npy_type type)
{
    return types[type].size;
}

static bool count_elements(const struct npy *array, int64_t *elements, int64_t *bytes)
{
    int64_t product = 1;
    for (int i = 0; i < array->dimensions; i++)
        if (array->shape[i] < 0 || __builtin_mul_overflow(product, array->shape[i], &product))
            return false;
    *elements = product;
    return !__builtin_mul_overflow(product, (int64_t)npy_size(array->type), bytes);
}

/* ---- the header: a Python dictionary of three entries ---- */

/* The rest of the header's text, which ends with a zero byte. */
struct cursor {
    const char *next;
};

static bool skip(struct cursor *cursor, char wanted)
{
    while (*cursor->next == ' ' || *cursor->next == '\n' || *cursor->next == '\t')
        cursor->next++;
    if (*cursor->next != wanted)
        return false;
    cursor->next += wanted != 0;
    return true;
}

/* 'text' or "text", without escapes. */
static bool read_text(struct cursor *cursor, char text[TEXT_BYTES])
{
    char quote = skip(cursor, '\'') ? '\'' : '"';
    if (quote == '"' && !skip(cursor, '"'))
        return false;
    const char *end = strchr(cursor->next, quote);
    if (!end || end - cursor->next >= TEXT_BYTES)
        return false;
    size_t length = (size_t)(end - cursor->next);
    memcpy(text, cursor->next, length);
    text[length] = 0;
    cursor->next = end + 1;
    return true;
}

static bool read_word(struct cursor *cursor, const char *word)
{
    size_t length = strlen(word);
    if (!skip(cursor, word[0]) || strncmp(cursor->next, word + 1, length - 1) != 0)
        return false;
    cursor->next += length - 1;
    return true;
}

/* (), (3,), (3, 4), (3, 4,) */
static bool read_shape(struct cursor *cursor, struct npy *array)
{
    if (!skip(cursor, '('))
        return false;
    array->dimensions = 0;
    while (!skip(cursor, ')')) {
        if (array->dimensions == NPY_DIMENSIONS || *cursor->next < '0' || *cursor->next > '9')
            return false;
        char *end;
        errno = 0;
        long long size = strtoll(cursor->next, &end, 10);
        if (errno != 0)
            return false;
        cursor->next = end;
        array->shape[array->dimensions++] = size;
        if (skip(cursor, ','))
            continue;
        if (array->dimensions == 1 || !skip(cursor, ')'))
            return false;
        return true;
    }
    return true;
}

struct header {
    char type[TEXT_BYTES];
    struct npy_file *file;
};

static bool read_entry(struct cursor *cursor, struct header *header, unsigned *seen)
{
    char key[TEXT_BYTES];
    if (!read_text(cursor, key) || !skip(cursor, ':'))
        return false;
    unsigned bit;
    bool good;
    if (strcmp(key, "descr") == 0) {
        bit = 1;
        good = read_text(cursor, header->type);
    } else if (strcmp(key, "fortran_order") == 0) {
        bit = 2;
        header->file->fortran = read_word(cursor, "True");
        good = header->file->fortran || read_word(cursor, "False");
    } else if (strcmp(key, "shape") == 0) {
        bit = 4;
        good = read_shape(cursor, &header->file->array);
    } else
        return false;
    good = good && !(*seen & bit);
    *seen |= bit;
    return good;
}

static bool read_dictionary(const char *text, struct header *header)
{
    struct cursor cursor = {text};
    unsigned seen = 0;
    if (!skip(&cursor, '{'))
        return false;
    while (!skip(&cursor, '}')) {
        if (!read_entry(&cursor, header, &seen))
            return false;
        if (skip(&cursor, ','))
            continue;
        if (!skip(&cursor, '}'))
            return false;
        break;
    }
    return seen == 7 && skip(&cursor, 0);
}

/* Reads the bytes before the header's text, and sets the length of the text. */
static rotary_status read_prefix(struct npy_file *file, size_t *length, rotary_error *error)
{
    const char *path = file->input.path;
    unsigned char prefix[PREFIX_BYTES + 2] = {0};
    size_t got, more = 0;
    rotary_status status = input_read(&file->input, prefix, PREFIX_BYTES, &got, error);
    if (status != ROTARY_OK)
        return status;
    if (got >= 2 && memcmp(prefix, "PK", 2) == 0)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s is a zip archive, as .npz and PyTorch's .pt files are, wanted one array as .npy", path);
    if (got < PREFIX_BYTES || memcmp(prefix, magic, sizeof magic) != 0)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s is not a .npy file: it does not start with \\x93NUMPY",
                           path);
    if (prefix[6] < 1 || prefix[6] > 2)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s is a .npy file of version %d, wanted 1 or 2", path,
                           prefix[6]);
    if (prefix[6] == 2)
        status = input_read(&file->input, prefix + PREFIX_BYTES, 2, &more, error);
    *length = prefix[8] | (size_t)prefix[9] << 8 | (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24;
    file->start = PREFIX_BYTES + more;
    if (status == ROTARY_OK && *length > HEADER_MAX_BYTES)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: its header would have %zu bytes, wanted at most %d",
                           path, *length, (int)HEADER_MAX_BYTES);
    return status;
}

/* Reads and parses the header. */
static rotary_status read_header(struct npy_file *file, struct header *header, rotary_error *error)
{
    const char *path = file->input.path;
    size_t length = 0, got;
    rotary_status status = read_prefix(file, &length, error);
    if (status != ROTARY_OK)
        return status;
    char *text = calloc(length + 1, 1);
    if (!text)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s: no memory for its header", path);
    status = input_read(&file->input, text, length, &got, error);
    if (status == ROTARY_OK && got < length)
        status = rotary_fail(error, ROTARY_BAD_FILE,
                             "%s is truncated: its header would have %zu bytes, the file has %zu", path,
                             length, file->start + got);
    else if (status == ROTARY_OK && (strlen(text) < length || !read_dictionary(text, header)))
        status = rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s: its header is not {'descr': ..., 'fortran_order': ..., 'shape': ...} with at most %d sizes",
            path, NPY_DIMENSIONS);
    file->start += length;
    free(text);
    return status;
}

static rotary_status refuse_bytes(const struct npy_file *file, const char *present, rotary_error *error)
{
    return rotary_fail(error, ROTARY_BAD_FILE, "%s has %s bytes of numbers, its shape and type want %" PRId64,
                       file->input.path, present, file->bytes);
}

static rotary_status check_header(const struct header *header, rotary_error *error)
{
    struct npy_file *file = header->file;
    char order = header->type[0];
    int type = 0;
    while (type < TYPES && strcmp(types[type].name + 1, header->type + (order != 0)) != 0)
        type++;
    if (type == TYPES || !strchr("<>|=", order))
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s holds numbers of type \"%s\", wanted <f2, <f4, <f8, <V2 (bf16), <i1 to <i8, <u1 "
            "to <u8 or |b1",
            file->input.path, header->type);
    file->swapped = order == '>';
    file->array.type = (enum npy_type)type;
    if (!count_elements(&file->array, &file->array.elements, &file->bytes))
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: its shape is too large", file->input.path);
    if (file->input.size == 0 || (uint64_t)file->bytes == file->input.size - file->start)
        return ROTARY_OK;
    char present[32];
    snprintf(present, sizeof present, "%" PRIu64, file->input.size - file->start);
    return refuse_bytes(file, present, error);
}

/* ---- the numbers: from the file's byte order and axes to this machine's ---- */

static void swap_bytes(unsigned char *bytes, int64_t elements, size_t size)
{
    for (int64_t i = 0; i < elements; i++, bytes += size)
        for (size_t j = 0; j < size / 2; j++) {
            unsigned char kept = bytes[j];
            bytes[j] = bytes[size - 1 - j];
            bytes[size - 1 - j] = kept;
        }
}

/* From Fortran order, in which the first axis varies fastest, to C order. */
static rotary_status reorder(const char *path, const struct npy *array, char **bytes, rotary_error *error)
{
    size_t size = npy_size(array->type);
    int64_t at[NPY_DIMENSIONS] = {0};
    char *ordered = malloc((size_t)array->elements * size + 1);
    if (!ordered)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s: no memory for its axes in C order", path);
    for (int64_t i = 0; i < array->elements; i++) {
        int64_t place = 0;
        for (int axis = array->dimensions - 1; axis >= 0; axis--)
            place = place * array->shape[axis] + at[axis];
        memcpy(ordered + (size_t)i * size, *bytes + (size_t)place * size, size);
        for (int axis = array->dimensions - 1; axis >= 0 && ++at[axis] == array->shape[axis]; axis--)
            at[axis] = 0;
    }
    free(*bytes);
    *bytes = ordered;
    return ROTARY_OK;
}

static rotary_status convert(const struct npy_file *file, char **bytes, rotary_error *error)
{
    const struct npy *array = &file->array;
    if (file->swapped)
        swap_bytes((unsigned char *)*bytes, array->elements, npy_size(array->type));
    return file->fortran && array->dimensions > 1 ? reorder(file->input.path, array, bytes, error)
                                                  : ROTARY_OK;
}

/* ---- a file ---- */

rotary_status npy_open(struct npy_file *file, const char *path, rotary_error *error)
{
    *file = (struct npy_file){.input.descriptor = -1};
    struct header header = {.file = file};
    rotary_status status = input_open(&file->input, path, error);
    if (status == ROTARY_OK)
        status = read_header(file, &header, error);
    if (status == ROTARY_OK)
        status = check_header(&header, error);
    if (status != ROTARY_OK)
        npy_close(file);
    return status;
}

/* Reads the numbers into a block that grows, so that a pipe costs no more memory than it has bytes. */
static rotary_status read_numbers(struct npy_file *file, char **bytes, rotary_error *error)
{
    const char *path = file->input.path;
    size_t wanted = (size_t)file->bytes, capacity = 0, used = 0, got = 0;
    rotary_status status = memory_check(wanted, path, error);
    do {
        size_t known = file->input.size > 0 || wanted < FIRST_BLOCK_BYTES ? wanted : FIRST_BLOCK_BYTES;
        capacity = capacity == 0 ? known : capacity < wanted / 2 ? 2 * capacity : wanted;
        char *larger = status == ROTARY_OK ? realloc(*bytes, capacity + 1) : NULL;
        if (status == ROTARY_OK && !larger)
            status = rotary_fail_memory(error, "for the %zu bytes of %s", capacity, path);
        if (status != ROTARY_OK)
            return status;
        *bytes = larger;
        status = input_read(&file->input, *bytes + used, capacity - used, &got, error);
        used += got;
    } while (used == capacity && used < wanted);
    char present[32], one;
    snprintf(present, sizeof present, "%zu", used);
    if (status == ROTARY_OK && used < wanted)
        status = refuse_bytes(file, present, error);
    if (status == ROTARY_OK)
        status = input_read(&file->input, &one, 1, &got, error);
    return status == ROTARY_OK && got > 0 ? refuse_bytes(file, "more", error) : status;
}

rotary_status npy_take(struct npy_file *file, struct npy *array, rotary_error *error)
{
    char *bytes = NULL;
    rotary_status status = read_numbers(file, &bytes, error);
    if (status == ROTARY_OK)
        status = convert(file, &bytes, error);
    input_close(&file->input);
    if (status != ROTARY_OK) {
        free(bytes);
        return status;
    }
    *array = file->array;
    array->data = bytes;
    return ROTARY_OK;
}

void npy_close(struct npy_file *file)
{
    input_close(&file->input);
}

rotary_status npy_read(const char *path, struct npy *array, rotary_error *error)
{
    struct npy_file file;
    rotary_status status = npy_open(&file, path, error);
    return status == ROTARY_OK ? npy_take(&file, array, error) : status;
}

void npy_free(struct npy *array)
{
    free(array->data);
    *array = (struct npy){0};
}

rotary_status npy_write(const char *path, const struct npy *array, rotary_error *error)
{
    int64_t elements, bytes;
    if (array->dimensions < 0 || array->dimensions > NPY_DIMENSIONS ||
        !count_elements(array, &elements, &bytes))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s: an array of %d dimensions, one of them negative or all too large; wanted 0 to %d", path,
            array->dimensions, NPY_DIMENSIONS);
    char header[512];
    int used = snprintf(header + PREFIX_BYTES, sizeof header - PREFIX_BYTES,
                        "{'descr': '%s', 'fortran_order': False, 'shape': (", types[array->type].name);
    for (int i = 0; i < array->dimensions; i++)
        used += snprintf(header + PREFIX_BYTES + used, sizeof header - PREFIX_BYTES - (size_t)used,
                         "%" PRId64 "%s", array->shape[i],
                         array->dimensions == 1      ? ","
                         : i + 1 < array->dimensions ? ", "
                                                     : "");
    used += snprintf(header + PREFIX_BYTES + used, sizeof header - PREFIX_BYTES - (size_t)used, "), }");
    /* Padded with spaces and a newline, so that the numbers are aligned. */
    size_t total = ((size_t)used + PREFIX_BYTES + HEADER_ALIGNMENT) / HEADER_ALIGNMENT * HEADER_ALIGNMENT;
    memset(header + PREFIX_BYTES + used, ' ', total - PREFIX_BYTES - (size_t)used - 1);
    header[total - 1] = '\n';
    memcpy(header, magic, sizeof magic);
    header[6] = 1;
    header[7] = 0;
    header[8] = (char)((total - PREFIX_BYTES) & 0xff);
    header[9] = (char)((total - PREFIX_BYTES) >> 8);
    struct file_part parts[] = {{.bytes = header, .count = total},
                                {.bytes = array->data, .count = (size_t)bytes}};
    return file_replace_parts(path, parts, 2, error);
}
