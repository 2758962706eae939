/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"

#include "backend/matmul.h"
#include "base/fail.h"
#include "base/isa.h"
#include "base/threads.h"
#include "kernel/layer/layer_kernels.h"

static rotary_status choose_storage(struct backend *backend, enum precision precision, rotary_error *error)
{
    bool bf16 = precision == PRECISION_BF16 || (precision == PRECISION_AUTO && matmul_bf16_is_fast());
    if (bf16 && !matmul_prepare_bf16(backend->matmul))
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "bf16 matmuls are not supported with the instruction set %s: use f32",
                           rotary_isa_name(backend->isa));
    backend->storage = bf16 ? ROTARY_BF16 : ROTARY_F32;
    return ROTARY_OK;
}

rotary_status backend_create(struct backend *backend, int threads, rotary_isa isa, enum precision precision,
                             rotary_error *error)
{
    rotary_status status = rotary_check_threads(threads, error);
    if (!status)
        status = rotary_isa_resolve(&isa, error);
    if (status)
        return status;
    struct backend made = {
        .threads = threads ? threads : rotary_processors(), .isa = isa, .kernels = layer_kernels_for(isa)};
    status = matmul_create(&made.matmul, made.threads, isa, made.kernels, error);
    if (status == ROTARY_OK)
        status = choose_storage(&made, precision, error);
    if (status != ROTARY_OK) {
        matmul_destroy(made.matmul);
        return status;
    }
    *backend = made;
    return ROTARY_OK;
}

void backend_destroy(struct backend *backend)
{
    matmul_destroy(backend->matmul);
    *backend = (struct backend){0};
}
