/* SPDX-License-Identifier: Apache-2.0
 *
 * The cuda backend, on the emulated device or the one that there is, in the place of the others: in tests that
 * compare a backend with the reference backend, and in those that run on every backend.
 */
#include "backend/every_backend.h"
#include "backend/tested_backend.h"
#include "base/isa.h"
#include "cuda/cuda_backend.h"
#include "support/check.h"

#include <stdio.h>

/* Kernels of the device do not depend on the host's instruction set. */
bool tested_backend_has(rotary_isa isa)
{
    return isa == rotary_isa_best();
}

rotary_status tested_backend_create(struct backend *backend, rotary_isa isa, enum precision precision,
                                    rotary_error *error)
{
    return cuda_backend_create(backend, 1, isa, precision, error);
}

const char *backend_about(const struct backend *backend)
{
    return backend->storage == ROTARY_F32 ? "cuda f32" : "cuda bf16";
}

bool backend_is_tried_fully(const struct backend *backend)
{
    (void)backend;
    return false;
}

enum precision backend_native_precision(void)
{
    return PRECISION_BF16;
}

void on_every_backend(backend_test *test)
{
    const enum precision precisions[] = {PRECISION_F32, PRECISION_BF16};
    for (int i = 0; i < 2; i++) {
        struct backend backend;
        rotary_error error = {0};
        if (!CHECK_INT(tested_backend_create(&backend, rotary_isa_best(), precisions[i], &error),
                       ROTARY_OK)) {
            printf("%s\n", error.message);
            continue;
        }
        printf("on %s\n", backend_about(&backend));
        test(&backend);
        backend_destroy(&backend);
    }
}
