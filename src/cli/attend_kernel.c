/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/attend.h"

#include "base/fail.h"

#include <rotary/attention.h>
#include <stdlib.h>

/* What the call borrows. */
struct kernel {
    rotary_attention *attention;
    void *workspace, *query, *key, *value;
    float *mask;
    rotary_attention_bias bias;
};

static const char *missing(const struct reference_attention *wanted)
{
    if (wanted->scale <= 0)
        return "it wants a scale above 0";
    if (wanted->value_dim != wanted->head_dim)
        return "it wants values with as many channels as queries";
    if (wanted->after > 0 || (wanted->after < 0 && wanted->before >= 0))
        return "it knows windows of causal attention only";
    return NULL;
}

static rotary_status create(const struct attend_options *options, const struct common_options *common,
                            const struct attend_work *work, struct kernel *kernel, rotary_error *error)
{
    const struct reference_attention *wanted = &work->attention;
    rotary_attention_config config;
    rotary_attention_config_default(&config);
    config.heads = wanted->heads;
    config.key_value_heads = wanted->key_value_heads;
    config.head_dim = wanted->head_dim;
    config.scale = (float)wanted->scale;
    config.causal = wanted->after == 0;
    config.window = wanted->before + 1;
    config.softcap = (float)wanted->softcap;
    config.rope = work->rotation.rope;
    config.value_rope = options->roper ? work->rotation.rope : NULL;
    config.threads = (int)common->threads.value;
    config.isa = (rotary_isa)common->isa.value;
    return rotary_attention_create(&kernel->attention, &config, error);
}

static rotary_attention_const_view view_of(const void *data, int64_t sequence, int64_t time, int64_t heads,
                                           int64_t head_dim)
{
    int64_t stride = time * heads * head_dim;
    return (rotary_attention_const_view){(const float *)data + sequence * stride, stride, heads * head_dim,
                                         head_dim};
}

/* The mask in f32, keys side by side; what sequences, heads or queries share they go on sharing. */
static rotary_status take_mask(const struct reference_attention *wanted, struct kernel *kernel,
                               rotary_error *error)
{
    const struct reference_mask *mask = &wanted->mask;
    if (!mask->values)
        return ROTARY_OK;
    int64_t batch = mask->strides[0] ? wanted->batch : 1, heads = mask->strides[1] ? wanted->heads : 1;
    int64_t queries = mask->strides[2] ? wanted->queries : 1, keys = wanted->keys;
    float *to = kernel->mask = malloc((size_t)(batch * heads * queries * keys + 1) * sizeof *to);
    if (!to)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to run the kernel of librotary");
    int64_t at[4];
    for (at[0] = 0; at[0] < batch; at[0]++)
        for (at[1] = 0; at[1] < heads; at[1]++)
            for (at[2] = 0; at[2] < queries; at[2]++)
                for (at[3] = 0; at[3] < keys; at[3]++)
                    *to++ = (float)reference_mask_at(mask, at);
    kernel->bias = (rotary_attention_bias){
        .data = kernel->mask,
        .batch_stride = mask->strides[0] ? heads * queries * keys : 0,
        .head_stride = mask->strides[1] ? queries * keys : 0,
        .query_stride = mask->strides[2] ? keys : 0,
    };
    return ROTARY_OK;
}

/* `count` sequences from `first` on, which stand at the same positions. */
static rotary_status run(const struct attend_work *work, struct kernel *kernel, int64_t first, int64_t count,
                         float *output, rotary_error *error)
{
    const struct reference_attention *wanted = &work->attention;
    const struct reference_sequence *sequence = &wanted->sequences[first];
    int64_t heads = wanted->heads, pairs = wanted->key_value_heads, head_dim = wanted->head_dim;
    int64_t queries = wanted->queries, stride = queries * heads * head_dim;
    if (sequence->keys == 0)
        return ROTARY_OK; /* zeros already */
    rotary_attention_shape shape = {count, queries, sequence->keys, sequence->first_query, 0};
    size_t bytes = rotary_attention_forward_bytes(kernel->attention, shape);
    free(kernel->workspace);
    kernel->workspace = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!kernel->workspace)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to run the kernel of librotary");
    rotary_attention_forward_call call = {
        .struct_size = sizeof call,
        .shape = shape,
        .query = view_of(kernel->query, first, queries, heads, head_dim),
        .key = view_of(kernel->key, first, wanted->keys, pairs, head_dim),
        .value = view_of(kernel->value, first, wanted->keys, pairs, head_dim),
        .output = {output + first * stride, stride, heads * head_dim, head_dim},
        .workspace = kernel->workspace,
        .bias = kernel->bias,
    };
    if (call.bias.data)
        call.bias.data += first * call.bias.batch_stride;
    return rotary_attention_forward(kernel->attention, &call, error);
}

rotary_status attend_kernel(const struct attend_options *options, const struct common_options *common,
                            const struct attend_work *work, float **output, rotary_error *error)
{
    const struct reference_attention *wanted = &work->attention;
    const struct tensor *query = &work->query.tensor, *key = &work->key.tensor, *value = &work->value.tensor;
    const char *reason = missing(wanted);
    if (reason)
        return rotary_fail(error, ROTARY_UNSUPPORTED, "%s", reason);
    struct kernel kernel = {0};
    rotary_status status = create(options, common, work, &kernel, error);
    if (status)
        return status;
    kernel.query = tensor_pack(query->values, query->elements, ROTARY_F32);
    kernel.key = tensor_pack(key->values, key->elements, ROTARY_F32);
    kernel.value = tensor_pack(value->values, value->elements, ROTARY_F32);
    float *made = calloc((size_t)query->elements, sizeof *made);
    if (!kernel.query || !kernel.key || !kernel.value || !made)
        status = rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to run the kernel of librotary");
    if (!status)
        status = take_mask(wanted, &kernel, error);
    int64_t together = options->key_lengths ? 1 : wanted->batch;
    for (int64_t b = 0; !status && b < wanted->batch; b += together)
        status = run(work, &kernel, b, together, made, error);
    free(kernel.value);
    free(kernel.key);
    free(kernel.query);
    free(kernel.workspace);
    free(kernel.mask);
    rotary_attention_destroy(kernel.attention);
    if (status) {
        free(made);
        return status;
    }
    *output = made;
    return ROTARY_OK;
}
