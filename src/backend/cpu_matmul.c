/* SPDX-License-Identifier: Apache-2.0
 *
 * Matmuls of the cpu backend: backend/matmul.h.
 */
#include "backend/cpu.h"

rotary_status cpu_pack_weight(const struct backend *backend, const struct backend_pack_weight *call,
                              rotary_error *error)
{
    return packed_weight_fill(call->weight, cpu_of(backend)->matmul, call->source, error);
}

rotary_status cpu_matmul(const struct backend *backend, const struct backend_matmul *call,
                         rotary_error *error)
{
    return matmul_run(cpu_of(backend)->matmul, call, error);
}

rotary_status cpu_weight_gradient(const struct backend *backend, const struct backend_weight_gradient *call,
                                  rotary_error *error)
{
    return matmul_gradient(cpu_of(backend)->matmul, call, error);
}
