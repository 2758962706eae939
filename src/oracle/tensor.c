/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/tensor.h"

#include "base/element.h"
#include "base/fail.h"
#include "file/file.h"
#include "file/memory.h"
#include "file/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = FILE_PATH_BYTES };
#define SAFETENSORS_ENDING ".safetensors"

/* ---- types ---- */

/* The format's name in safetensors files, and the one in sentences. */
static const struct {
    const char *safetensors, *name;
} types[] = {
    [NPY_F16] = {"F16", "f16"},     [NPY_F32] = {"F32", "f32"},     [NPY_F64] = {"F64", "f64"},
    [NPY_BF16] = {"BF16", "bf16"},  [NPY_I8] = {"I8", "integer"},   [NPY_I16] = {"I16", "integer"},
    [NPY_I32] = {"I32", "integer"}, [NPY_I64] = {"I64", "integer"}, [NPY_U8] = {"U8", "integer"},
    [NPY_U16] = {"U16", "integer"}, [NPY_U32] = {"U32", "integer"}, [NPY_U64] = {"U64", "integer"},
    [NPY_BOOL] = {"BOOL", "bool"},
};
enum { TYPES = sizeof types / sizeof types[0] };

const char *tensor_type_name(enum npy_type type)
{
    return types[type].name;
}

bool tensor_is_integer(const struct tensor *tensor)
{
    return tensor->type >= NPY_I8 && tensor->type <= NPY_U64;
}

rotary_status tensor_check_float(const struct tensor *tensor, rotary_error *error)
{
    if (!tensor_is_integer(tensor) && tensor->type != NPY_BOOL)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE, "%s holds %s numbers, wanted f32, f16, bf16 or f64",
                       tensor->label, tensor_type_name(tensor->type));
}

rotary_dtype tensor_dtype(enum npy_type type)
{
    return type == NPY_F16 ? ROTARY_F16 : type == NPY_BF16 ? ROTARY_BF16 : ROTARY_F32;
}

/* To f32 so that rounding once more, to 16 bits, gives what rounding the double would have: what is not exact
 * gets an odd last bit (Boldo and Melquiond 2008). */
static float to_odd(double value)
{
    float nearest = (float)value;
    if ((double)nearest == value || !isfinite(nearest) || !isfinite(value))
        return nearest;
    uint32_t bits = rotary_float_bits(nearest);
    if (fabs((double)nearest) > fabs(value))
        bits--;
    return rotary_float_from_bits(bits | 1u);
}

void *tensor_from_double(const double *values, int64_t count, rotary_dtype dtype)
{
    void *converted = calloc((size_t)count + 1, rotary_dtype_size(dtype));
    if (!converted)
        return NULL;
    for (int64_t i = 0; i < count; i++)
        rotary_set_element(converted, i, dtype, dtype == ROTARY_F32 ? (float)values[i] : to_odd(values[i]));
    return converted;
}

void tensor_to_double(double *values, const void *converted, int64_t count, rotary_dtype dtype)
{
    for (int64_t i = 0; i < count; i++)
        values[i] = (double)rotary_element(converted, i, dtype);
}

/* ---- shapes ---- */

const char *tensor_shape_text(const struct tensor *tensor, char text[SHAPE_TEXT_BYTES])
{
    return shape_text(tensor->shape, tensor->dimensions, text);
}

rotary_status tensor_refuse_shape(const struct tensor *tensor, const char *wanted, rotary_error *error)
{
    char shape[SHAPE_TEXT_BYTES];
    return rotary_fail(error, ROTARY_BAD_FILE, "%s has shape %s, wanted %s", tensor->label,
                       tensor_shape_text(tensor, shape), wanted);
}

rotary_status tensor_make(const char *label, enum npy_type type, const int64_t *shape, int dimensions,
                          struct tensor *tensor, rotary_error *error)
{
    struct tensor made = {.label = label, .type = type, .dimensions = dimensions, .elements = 1};
    bool fits = true;
    for (int i = 0; i < dimensions; i++) {
        made.shape[i] = shape[i];
        fits = fits && !__builtin_mul_overflow(made.elements, shape[i], &made.elements);
    }
    fits = fits && made.elements < INT64_MAX / (int64_t)sizeof *made.values;
    rotary_status status =
        fits ? memory_check((size_t)made.elements * sizeof *made.values, label, error) : ROTARY_OK;
    if (status != ROTARY_OK)
        return status;
    made.values = fits ? calloc((size_t)made.elements + 1, sizeof *made.values) : NULL;
    if (!made.values) {
        char text[SHAPE_TEXT_BYTES];
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s: no memory for a tensor of shape %s", label,
                           tensor_shape_text(&made, text));
    }
    *tensor = made;
    return ROTARY_OK;
}

/* ---- reading ---- */

/* A file whose header is read: one of the two. */
struct tensor_source {
    struct npy_file npy;
    struct safetensors *safetensors;
    const struct safetensor *found; /* in it; NULL: it is a .npy file */
};

static void close_source(struct tensor *tensor)
{
    if (!tensor->source)
        return;
    npy_close(&tensor->source->npy);
    safetensors_close(tensor->source->safetensors);
    free(tensor->source);
    tensor->source = NULL;
}

void tensor_free(struct tensor *tensor)
{
    close_source(tensor);
    free(tensor->values);
    *tensor = (struct tensor){0};
}

/* Splits "a.safetensors:name" into path and name (NULL: none given); false if it is no safetensors file. */
static bool split_label(const char *label, char path[PATH_BYTES], const char **name)
{
    snprintf(path, PATH_BYTES, "%s", label);
    size_t ending = strlen(SAFETENSORS_ENDING);
    *name = NULL;
    for (char *at = strstr(path, SAFETENSORS_ENDING); at; at = strstr(at + 1, SAFETENSORS_ENDING)) {
        if (at[ending] == 0)
            return true;
        if (at[ending] == ':') {
            *name = label + (at - path) + ending + 1;
            at[ending] = 0;
            return true;
        }
    }
    return false;
}

/* An unaligned element of `bytes` bytes as double; false if it is a whole number beyond
 * 2^53.
 */
static bool take_element(const void *from, enum npy_type type, size_t bytes, double *value)
{
    const int64_t largest = (int64_t)1 << 53;
    uint64_t bits = 0;
    memcpy(&bits, from, bytes);
    switch (type) {
    case NPY_F16:
        *value = (double)rotary_f16_to_float((uint16_t)bits);
        return true;
    case NPY_BF16:
        *value = (double)rotary_bf16_to_float((uint16_t)bits);
        return true;
    case NPY_F32:
        *value = (double)rotary_float_from_bits((uint32_t)bits);
        return true;
    case NPY_F64:
        memcpy(value, &bits, sizeof *value);
        return true;
    case NPY_BOOL:
        *value = bits != 0;
        return true;
    case NPY_U8:
    case NPY_U16:
    case NPY_U32:
    case NPY_U64:
        *value = (double)bits;
        return bits <= (uint64_t)largest;
    case NPY_I8:
    case NPY_I16:
    case NPY_I32:
    case NPY_I64:
        break;
    }
    /* Its sign is that of its highest bit. */
    unsigned above = 64 - 8 * (unsigned)bytes;
    int64_t whole = (int64_t)(bits << above) >> above;
    *value = (double)whole;
    return whole >= -largest && whole <= largest;
}

/* Fills the tensor with unaligned numbers. */
static rotary_status take(const void *data, struct tensor *tensor, rotary_error *error)
{
    size_t bytes = npy_size(tensor->type);
    struct tensor made;
    rotary_status status =
        tensor_make(tensor->label, tensor->type, tensor->shape, tensor->dimensions, &made, error);
    for (int64_t i = 0; !status && i < made.elements; i++)
        if (!take_element((const char *)data + (size_t)i * bytes, made.type, bytes, &made.values[i])) {
            status = rotary_fail(error, ROTARY_BAD_FILE, "%s: number %lld is %.0f, wanted at most 2^53",
                                 tensor->label, (long long)i, made.values[i]);
            tensor_free(&made);
        }
    if (status == ROTARY_OK)
        tensor->values = made.values;
    return status;
}

static rotary_status open_npy(struct tensor *tensor, rotary_error *error)
{
    rotary_status status = npy_open(&tensor->source->npy, tensor->label, error);
    const struct npy *array = &tensor->source->npy.array;
    tensor->type = array->type;
    tensor->dimensions = array->dimensions;
    tensor->elements = array->elements;
    memcpy(tensor->shape, array->shape, sizeof tensor->shape);
    return status;
}

static rotary_status find_safetensor(const char *name, struct tensor *tensor, rotary_error *error)
{
    const struct safetensors *file = tensor->source->safetensors;
    int count = safetensors_count(file);
    if (!name && count != 1)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s holds %d tensors, wanted the name of one: %s:NAME",
                           tensor->label, count, tensor->label);
    const struct safetensor *found = name ? safetensors_find(file, name) : safetensors_at(file, 0);
    if (!found)
        return rotary_fail(
            error, ROTARY_BAD_FILE, "%s has no tensor \"%.128s\" (it has %d, the first is \"%.128s\")",
            safetensors_path(file), name, count, count > 0 ? safetensors_at(file, 0)->name : "");
    int type = 0;
    while (type < TYPES && strcmp(types[type].safetensors, safetensors_type(found)) != 0)
        type++;
    if (type == TYPES)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s holds numbers of type \"%s\", wanted F16, BF16, F32, F64, I8 to I64, U8 to U64 or BOOL",
            tensor->label, safetensors_type(found));
    tensor->source->found = found;
    tensor->type = (enum npy_type)type;
    tensor->dimensions = found->dimensions;
    tensor->elements = 1;
    for (int i = 0; i < found->dimensions; i++) {
        tensor->shape[i] = found->shape[i];
        tensor->elements *= found->shape[i]; /* no more than there are bytes in the file */
    }
    return ROTARY_OK;
}

rotary_status tensor_open(const char *label, struct tensor *tensor, rotary_error *error)
{
    char path[PATH_BYTES];
    const char *name;
    *tensor = (struct tensor){0};
    if (strstr(label, ".safetensors.index.json"))
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s names an index of files, wanted the safetensors file that has the tensor",
                           label);
    struct tensor opened = {.label = label, .source = calloc(1, sizeof *opened.source)};
    if (!opened.source)
        return rotary_fail_memory(error, "to open %s", label);
    opened.source->npy.input.descriptor = -1;
    rotary_status status;
    if (split_label(label, path, &name)) {
        status = safetensors_open_any(&opened.source->safetensors, path, error);
        if (status == ROTARY_OK)
            status = find_safetensor(name, &opened, error);
    } else {
        status = open_npy(&opened, error);
    }
    if (status == ROTARY_OK)
        *tensor = opened;
    else
        tensor_free(&opened);
    return status;
}

rotary_status tensor_load(struct tensor *tensor, rotary_error *error)
{
    struct tensor_source *source = tensor->source;
    struct npy array = {0};
    rotary_status status = source->found ? ROTARY_OK : npy_take(&source->npy, &array, error);
    if (status == ROTARY_OK)
        status = take(source->found ? source->found->data : array.data, tensor, error);
    npy_free(&array);
    close_source(tensor);
    return status;
}

/* ---- writing ---- */

bool tensor_name_ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), wanted = strlen(ending);
    return length >= wanted && strcmp(name + length - wanted, ending) == 0;
}

/* file_check_output of the files that labels name. */
static rotary_status check_inputs(const char *path, const char *const *inputs, int count, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < count; i++) {
        char input[PATH_BYTES];
        const char *name, *const found = input;
        if (inputs[i])
            (void)split_label(inputs[i], input, &name);
        if (inputs[i])
            status = file_check_output(path, &found, 1, error);
    }
    return status;
}

rotary_status tensor_check_output(const char *label, const char *const *inputs, int count,
                                  rotary_error *error)
{
    char path[PATH_BYTES];
    const char *name;
    bool in_safetensors = split_label(label, path, &name);
    if (strlen(label) >= PATH_BYTES - 8 || !(in_safetensors || tensor_name_ends_in(label, ".npy")))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "cannot write \"%.200s\", wanted a name that ends in .npy or .safetensors", label);
    struct safetensors *file = NULL;
    bool holds_tensors = in_safetensors && safetensors_open_any(&file, path, NULL) == ROTARY_OK;
    int tensors = holds_tensors ? safetensors_count(file) : 0;
    safetensors_close(file);
    if (tensors > 1)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s holds %d tensors and would then hold the result alone, wanted another name",
                           path, tensors);
    return check_inputs(path, inputs, count, error);
}

bool tensor_same_file(const char *a, const char *b)
{
    char paths[2][PATH_BYTES];
    const char *name;
    (void)split_label(a, paths[0], &name);
    (void)split_label(b, paths[1], &name);
    return file_same(paths[0], paths[1]);
}

/* bf16 in f32. */
static void round_to_bf16(const double *values, float *rounded, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        rounded[i] = rotary_rounded(to_odd(values[i]), ROTARY_BF16);
}

static rotary_status write_npy(const struct tensor *tensor, rotary_error *error)
{
    struct npy array = {.type = tensor->type == NPY_BF16 ? NPY_F32 : tensor->type,
                        .dimensions = tensor->dimensions};
    memcpy(array.shape, tensor->shape, sizeof array.shape);
    if (array.type == NPY_F64) {
        array.data = tensor->values;
        return npy_write(tensor->label, &array, error);
    }
    array.data = tensor_from_double(tensor->values, tensor->elements, tensor_dtype(array.type));
    if (array.data && tensor->type == NPY_BF16)
        round_to_bf16(tensor->values, array.data, tensor->elements);
    rotary_status status =
        array.data ? npy_write(tensor->label, &array, error)
                   : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s: no memory to write it", tensor->label);
    free(array.data);
    return status;
}

static rotary_status write_safetensor(const char *path, const char *name, const struct tensor *tensor,
                                      rotary_error *error)
{
    bool wide = tensor->type == NPY_F64;
    struct safetensor written = {.name = name ? name : "tensor",
                                 .dtype = tensor_dtype(tensor->type),
                                 .other_type = wide ? "F64" : NULL,
                                 .dimensions = tensor->dimensions,
                                 .data = tensor->values};
    memcpy(written.shape, tensor->shape, sizeof written.shape);
    void *converted = NULL;
    if (!wide) {
        converted = tensor_from_double(tensor->values, tensor->elements, written.dtype);
        if (!converted)
            return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s: no memory to write it", path);
        written.data = converted;
    }
    rotary_status status = safetensors_replace(path, &written, 1, NULL, error);
    free(converted);
    return status;
}

rotary_status tensor_write(const struct tensor *tensor, rotary_error *error)
{
    char path[PATH_BYTES];
    const char *name;
    return split_label(tensor->label, path, &name) ? write_safetensor(path, name, tensor, error)
                                                   : write_npy(tensor, error);
}
