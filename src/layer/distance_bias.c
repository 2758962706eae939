/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/distance_bias.h"

#include "base/fail.h"

#include <stdlib.h>

static struct distance_bias_shape shape_of(const struct distance_bias_config *config)
{
    return (struct distance_bias_shape){.heads = config->heads,
                                        .distances =
                                            config->causal ? config->positions : 2 * config->positions - 1,
                                        .first = 1 - config->positions};
}

static bool has_bias(const struct distance_bias_config *config)
{
    return position_encoding(config->position)->fill_distance_bias && config->positions > 0;
}

double distance_bias_bytes(const struct distance_bias_config *config)
{
    const struct distance_bias_shape shape = shape_of(config);
    return has_bias(config) ? (double)shape.heads * (double)shape.distances * sizeof(float) : 0.0;
}

rotary_status distance_bias_create(struct distance_bias *bias, const struct backend *backend,
                                   const struct distance_bias_config *config, rotary_error *error)
{
    *bias = (struct distance_bias){.backend = backend};
    if (!has_bias(config))
        return ROTARY_OK;
    static const char what[] = "the bias of an encoding by distance";
    const struct distance_bias_shape shape = shape_of(config);
    size_t count = (size_t)(shape.heads * shape.distances), bytes = count * sizeof(float);
    void *memory = NULL;
    float *host = malloc(bytes);
    if (!host)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %s: %zu bytes", what, bytes);
    position_encoding(config->position)->fill_distance_bias(&shape, host);
    rotary_status status = backend->operations->allocate(backend, &memory, bytes, what, error);
    if (status == ROTARY_OK)
        status = backend->operations->write(backend, memory, host, bytes, error);
    free(host);
    if (status != ROTARY_OK) {
        backend->operations->release(backend, memory);
        return status;
    }
    bias->memory = memory;
    bias->call = (rotary_attention_distance_bias){.data = bias->memory,
                                                  .distances = shape.distances,
                                                  .first = shape.first,
                                                  .head_stride = shape.distances};
    return ROTARY_OK;
}

void distance_bias_destroy(struct distance_bias *bias)
{
    if (bias->memory)
        bias->backend->operations->release(bias->backend, bias->memory);
    *bias = (struct distance_bias){0};
}
