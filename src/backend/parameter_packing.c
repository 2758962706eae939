/* SPDX-License-Identifier: Apache-2.0
 *
 * Packed weights of rows of the parameter table, and those that rows share.
 */
#include "backend/parameters.h"

#include "backend/profile.h"
#include "base/fail.h"

#include <stdlib.h>

rotary_status parameters_pack(const struct parameters *parameters, int index, struct packed_weight *weight,
                              rotary_error *error)
{
    const struct backend *backend = parameters->backend;
    const struct backend_pack_weight call = {.weight = weight, .source = parameter_value(parameters, index)};
    double begin = profile_begin(backend->profile);
    rotary_status status = backend->operations->pack_weight(backend, &call, error);
    profile_end(backend->profile, begin, "update", "packed weights for matmul", 0.0, 0.0);
    return status;
}

static bool is_same(const struct packed_weight_config *a, const struct packed_weight_config *b)
{
    return a->dtype == b->dtype && a->inner == b->inner && a->columns == b->columns &&
           a->transposed == b->transposed;
}

rotary_status parameters_share(struct parameters *parameters, const struct packed_weight_config *config,
                               bool measured, int *shared, rotary_error *error)
{
    const struct backend *backend = parameters->backend;
    const int count = parameters->shared_count;
    for (int i = 0; i < count; i++)
        if (is_same(&parameters->shared[i].config, config)) {
            *shared = i;
            return ROTARY_OK;
        }
    struct shared_weight made = {.config = *config},
                         *grown = realloc(parameters->shared, (size_t)(count + 1) * sizeof *grown);
    if (!grown)
        return rotary_fail_memory(error, "for %d packed weights", count + 1);
    parameters->shared = grown;
    rotary_status status = ROTARY_OK;
    if (!measured)
        status = backend->operations->packed_weight_create(backend, &made.weight, config, error);
    if (status != ROTARY_OK)
        return status;
    grown[count] = made;
    *shared = parameters->shared_count++;
    return ROTARY_OK;
}

rotary_status parameters_pack_shared(struct parameters *parameters, int shared, int index,
                                     struct packed_weight **weight, rotary_error *error)
{
    struct shared_weight *held = &parameters->shared[shared];
    const uint64_t version = parameters->rows[index].version;
    if (held->index != index || held->version != version) {
        held->version = 0; /* it has no row whole, should packing fail */
        rotary_status status = parameters_pack(parameters, index, held->weight, error);
        if (status != ROTARY_OK)
            return status;
        held->index = index;
        held->version = version;
    }
    *weight = held->weight;
    return ROTARY_OK;
}

size_t parameters_shared_bytes(const struct parameters *parameters)
{
    const struct backend *backend = parameters->backend;
    size_t bytes = 0;
    for (int i = 0; i < parameters->shared_count; i++) {
        const struct shared_weight *held = &parameters->shared[i];
        bytes += held->weight ? backend->operations->packed_weight_bytes(backend, held->weight)
                              : (size_t)held->config.inner * (size_t)held->config.columns *
                                    rotary_dtype_size(held->config.dtype);
    }
    return bytes;
}
