/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/buffer_tensors.h"

#include "base/element.h"
#include "base/fail.h"
#include "huggingface/tensor_names.h"
#include "model/encoding/rotation_config.h"

#include <math.h>
#include <rotary/rope.h>
#include <stdlib.h>
#include <string.h>

#define FREQUENCIES "*rotary_emb.inv_freq"
#define MASK        "*.attention.bias"
#define MASKED      "*.attention.masked_bias"
#define POSITIONS   "*embeddings.position_ids"
#define SINES       "*encoder.embed_positions.weight"

const char *const buffer_tensors_of_decoders[] = {FREQUENCIES, MASK, MASKED, NULL};
const char *const buffer_tensors_of_encoders[] = {POSITIONS, SINES, NULL};

/* ---- elements ---- */

/* An element of a number type; NaN for another type, which equals nothing. */
static double element(const struct safetensor *tensor, int64_t at)
{
    const size_t bytes = safetensors_element_bytes(tensor);
    const char *from = (const char *)tensor->data + (size_t)at * bytes, *type = tensor->other_type;
    int64_t whole = 0;
    double real;
    if (!type)
        return (double)rotary_unaligned_element(tensor->data, at, tensor->dtype);
    memcpy(&whole, from, bytes < sizeof whole ? bytes : sizeof whole);
    memcpy(&real, &whole, sizeof real);
    if (strcmp(type, "F64") == 0)
        return real;
    if (strcmp(type, "BOOL") == 0 || strcmp(type, "U8") == 0 || strcmp(type, "I64") == 0 ||
        strcmp(type, "I32") == 0 || strcmp(type, "I8") == 0)
        return (double)whole; /* none of these is negative here */
    return NAN;
}

/* Whether a number is another one, as it is after it was computed in f32 with such a relative error and
 * rounded to the tensor's type. */
static bool is_near(const struct safetensor *tensor, double got, double wanted, double computed)
{
    const bool exact = tensor->other_type || tensor->dtype == ROTARY_F32;
    const double rounding = exact ? 0.0 : tensor->dtype == ROTARY_F16 ? 0x1p-11 : 0x1p-8;
    const double smallest = !exact && tensor->dtype == ROTARY_F16 ? 0x1p-25 : 0.0; /* half a subnormal step */
    return fabs(got - wanted) <= computed + rounding * (fabs(wanted) + computed) + smallest;
}

/* ---- each kind ---- */

struct checked {
    const struct safetensor *tensor;
    const struct transformer_config *model;
};

/* Whether the tensor is the inverse frequencies of a plan, or, where scalings were elsewhere once, those that
 * are not scaled. */
static bool is_of_plan(const struct safetensor *tensor, const rotary_rope *plan,
                       const rotary_rope_config *config)
{
    const int64_t pairs = rotary_rope_pairs(plan);
    const double *scaled = rotary_rope_inverse_frequencies(plan);
    bool is_scaled = true, is_plain = true;
    if (tensor->dimensions != 1 || tensor->shape[0] != pairs)
        return false;
    for (int64_t i = 0; i < pairs; i++) {
        const double got = element(tensor, i),
                     plain = pow(config->base, -2.0 * (double)i / (double)config->rotary_dim);
        is_scaled = is_scaled && is_near(tensor, got, scaled[i], 1e-5 * scaled[i]);
        is_plain = is_plain && is_near(tensor, got, plain, 1e-5 * plain);
    }
    return is_scaled || is_plain;
}

static bool is_of_layers(const struct checked *checked, const char *layer_type)
{
    struct rotation_config read;
    rotary_rope *plan = NULL;
    if (rotation_config_read(checked->model, layer_type, &read, NULL) != ROTARY_OK)
        return false;
    read.rope.plan.table_positions = 1;
    const bool found = (read.rotate & ROTATE_QUERY_KEY) &&
                       rotary_rope_create(&plan, &read.rope.plan, NULL) == ROTARY_OK &&
                       is_of_plan(checked->tensor, plan, &read.rope.plan);
    rotary_rope_destroy(plan);
    rotation_config_free(&read);
    return found;
}

static bool is_frequencies(const struct checked *checked)
{
    return is_of_layers(checked, "full_attention") || is_of_layers(checked, "sliding_attention");
}

/* Whether it is [1, 1, n, n], 1 where a token sees another and 0 elsewhere. */
static bool is_mask(const struct checked *checked)
{
    const struct safetensor *tensor = checked->tensor;
    const int last = tensor->dimensions - 1;
    if (last < 1 || tensor->shape[last] != tensor->shape[last - 1])
        return false;
    const int64_t size = tensor->shape[last];
    if (safetensors_elements(tensor) != size * size)
        return false;
    for (int64_t i = 0; i < size * size; i++) {
        const double wanted = i % size <= i / size ? 1.0 : 0.0;
        if (!(fabs(element(tensor, i) - wanted) <= 0.0))
            return false;
    }
    return true;
}

/* A score that is far below any other: -1e9, or what 16 bits have of it. */
static bool is_masked(const struct checked *checked)
{
    return safetensors_elements(checked->tensor) == 1 && element(checked->tensor, 0) <= -1e4;
}

static bool is_positions(const struct checked *checked)
{
    const int64_t count = safetensors_elements(checked->tensor);
    bool same = true;
    for (int64_t i = 0; same && i < count; i++)
        same = fabs(element(checked->tensor, i) - (double)i) <= 0.0;
    return same;
}

/* Row p has the sines of p / 10000^(2 i / d), and behind them the cosines. */
static bool is_sines(const struct checked *checked)
{
    const struct safetensor *tensor = checked->tensor;
    const int64_t dim = tensor->dimensions == 2 ? tensor->shape[1] : 0, half = dim / 2;
    if (dim == 0 || dim % 2 != 0)
        return false;
    for (int64_t i = 0; i < tensor->shape[0] * dim; i++) {
        const int64_t pair = i % dim % half;
        const double angle = (double)(i / dim) * pow(10000.0, -2.0 * (double)pair / (double)dim),
                     wanted = i % dim < half ? sin(angle) : cos(angle);
        if (!is_near(tensor, element(tensor, i), wanted, 1e-6 * (1.0 + angle)))
            return false;
    }
    return true;
}

static const struct {
    const char *pattern;
    bool (*is_right)(const struct checked *checked);
    const char *wanted;
} rows[] = {
    {FREQUENCIES, is_frequencies, "the inverse frequencies that config.json gives"},
    {MASK, is_mask, "a causal mask"},
    {MASKED, is_masked, "a score below all others"},
    {POSITIONS, is_positions, "0, 1, 2, ..."},
    {SINES, is_sines, "the sines and cosines of positions"},
};

static rotary_status check_tensor(const struct checked *checked, const char *path, rotary_error *error)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const pattern[] = {rows[i].pattern, NULL};
        if (tensor_names_match(pattern, checked->tensor->name) && !rows[i].is_right(checked))
            return rotary_fail(error, ROTARY_BAD_FILE,
                               "%s: tensor %.100s is not used, and has other values than would be: wanted %s",
                               path, checked->tensor->name, rows[i].wanted);
    }
    return ROTARY_OK;
}

rotary_status buffer_tensors_check(const struct weight_files *weights, const struct transformer_config *model,
                                   rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int file = 0; file < weights->count; file++)
        for (int i = 0; status == ROTARY_OK && i < safetensors_count(weights->files[file]); i++) {
            const struct checked checked = {safetensors_at(weights->files[file], i), model};
            status = check_tensor(&checked, safetensors_path(weights->files[file]), error);
        }
    return status;
}
