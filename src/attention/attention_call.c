/* SPDX-License-Identifier: Apache-2.0
 *
 * The start of every call: checks of its arguments.
 */
#include "attention/attention_plan.h"

#include "base/fail.h"
#include "base/strides.h"

#define MAX_EXTENT ((int64_t)1 << 31)

rotary_status rotary_attention_check_shape(rotary_attention_shape shape, rotary_error *error)
{
    const struct {
        const char *name;
        int64_t value, lowest, highest;
    } checks[] = {
        {"batch", shape.batch, 0, MAX_EXTENT},
        {"queries", shape.queries, 0, MAX_EXTENT},
        {"keys", shape.keys, 0, MAX_EXTENT},
        {"first_query", shape.first_query, -ROTARY_ATTENTION_MAX_POSITION, ROTARY_ATTENTION_MAX_POSITION},
        {"first_key", shape.first_key, -ROTARY_ATTENTION_MAX_POSITION, ROTARY_ATTENTION_MAX_POSITION},
    };
    for (int i = 0; i < 5; i++)
        if (checks[i].value < checks[i].lowest || checks[i].value > checks[i].highest)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s is %lld; wanted %lld ... %lld",
                               checks[i].name, (long long)checks[i].value, (long long)checks[i].lowest,
                               (long long)checks[i].highest);
    int64_t time = shape.queries > shape.keys ? shape.queries : shape.keys;
    if (shape.batch * time > ROTARY_MAX_TOKENS)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "batch has %lld tokens; wanted at most %lld",
                           (long long)(shape.batch * time), (long long)ROTARY_MAX_TOKENS);
    return ROTARY_OK;
}

static rotary_status check_operand(const rotary_attention *attention, const struct attention_operand *operand,
                                   rotary_error *error)
{
    const rotary_attention_const_view *view = &operand->view;
    if (operand->batch == 0 || operand->time == 0)
        return ROTARY_OK;
    if (!view->data)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s has no data; wanted [%lld, %lld, %lld, %lld] in %s", operand->name,
                           (long long)operand->batch, (long long)operand->time, (long long)operand->heads,
                           (long long)attention->head_dim, rotary_dtype_name(attention->dtype));
    const struct {
        const char *name;
        int64_t extent, stride;
    } axes[] = {
        {"batch_stride", operand->batch, view->batch_stride},
        {"time_stride", operand->time, view->time_stride},
        {"head_stride", operand->heads, view->head_stride},
    };
    int64_t min = operand->written ? attention->head_dim : 0;
    for (int i = 0; i < 3; i++)
        if (axes[i].extent > 1 && axes[i].stride < min)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s has a %s of %lld; wanted at least %lld",
                               operand->name, axes[i].name, (long long)axes[i].stride, (long long)min);
    const struct rotary_vectors vectors = {
        .tensor = operand->name,
        .member = "",
        .length = attention->head_dim,
        .element_bytes = rotary_dtype_size(attention->dtype),
        .extents = {operand->batch, operand->time, operand->heads},
        .strides = {view->batch_stride, view->time_stride, view->head_stride}};
    rotary_status status = rotary_check_offsets(&vectors, error);
    return status || !operand->written ? status : rotary_check_strides(&vectors, error);
}

rotary_status rotary_attention_check_operands(const rotary_attention *attention,
                                              const struct attention_operand *operands, int count,
                                              rotary_error *error)
{
    for (int i = 0; i < count; i++) {
        rotary_status status = check_operand(attention, &operands[i], error);
        if (status)
            return status;
    }
    return ROTARY_OK;
}

static rotary_status share_keys(const rotary_attention *attention, const char *name, const void *value,
                                rotary_error *error)
{
    return !attention->key_is_value || !value
               ? ROTARY_OK
               : rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "%s has data, but the plan's keys are its values; wanted none", name);
}

rotary_status rotary_attention_share_keys(const rotary_attention *attention, const char *name,
                                          rotary_attention_const_view key, rotary_attention_const_view *value,
                                          rotary_error *error)
{
    rotary_status status = share_keys(attention, name, value->data, error);
    if (!status && attention->key_is_value)
        *value = key;
    return status;
}

rotary_status rotary_attention_share_written_keys(const rotary_attention *attention, const char *name,
                                                  rotary_attention_view key, rotary_attention_view *value,
                                                  rotary_error *error)
{
    rotary_status status = share_keys(attention, name, value->data, error);
    if (!status && attention->key_is_value)
        *value = key;
    return status;
}

rotary_status rotary_attention_check_bias(const rotary_attention *attention,
                                          const rotary_attention_bias *bias, rotary_attention_shape shape,
                                          rotary_error *error)
{
    const struct {
        const char *name;
        int64_t extent, stride;
    } axes[] = {
        {"batch_stride", shape.batch, bias->batch_stride},
        {"head_stride", attention->heads, bias->head_stride},
        {"query_stride", shape.queries, bias->query_stride},
    };
    for (int i = 0; i < 3 && bias->data; i++)
        if (axes[i].extent > 1 && axes[i].stride < 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "bias has a %s of %lld; wanted 0 (shared) or more", axes[i].name,
                               (long long)axes[i].stride);
    const struct rotary_vectors rows = {
        .tensor = "bias",
        .member = "",
        .length = shape.keys,
        .element_bytes = sizeof *bias->data,
        .extents = {shape.batch, attention->heads, shape.queries},
        .strides = {bias->batch_stride, bias->head_stride, bias->query_stride}};
    return bias->data ? rotary_check_offsets(&rows, error) : ROTARY_OK;
}

rotary_status rotary_attention_check_key_lengths(const int64_t *key_lengths, rotary_attention_shape shape,
                                                 rotary_error *error)
{
    for (int64_t sequence = 0; sequence < shape.batch && key_lengths; sequence++)
        if (key_lengths[sequence] < 0 || key_lengths[sequence] > shape.keys)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "key_lengths[%lld] is %lld; wanted 0 ... %lld",
                               (long long)sequence, (long long)key_lengths[sequence], (long long)shape.keys);
    return ROTARY_OK;
}

rotary_status rotary_attention_check_workspace(const void *workspace, size_t bytes, rotary_error *error)
{
    if (bytes == SIZE_MAX)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a call this large needs more bytes of workspace than a size_t holds");
    if (bytes > 0 && !workspace)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there is no workspace; wanted %zu bytes", bytes);
    if ((uintptr_t)workspace % ROTARY_ALIGNMENT != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the workspace, %p, is not aligned; wanted %zu bytes", workspace,
                           ROTARY_ALIGNMENT);
    return ROTARY_OK;
}
