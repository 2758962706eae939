/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/every_backend.h"

#include "backend/reference_backend.h"
#include "base/isa.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

enum { THREADS = 2 };

const char *backend_about(const struct backend *backend)
{
    static char about[64];
    bool cpu = strcmp(backend->operations->name, "cpu") == 0;
    snprintf(about, sizeof about, "%s %s", cpu ? rotary_isa_name(backend->isa) : backend->operations->name,
             rotary_dtype_name(backend->storage));
    return about;
}

bool backend_is_tried_fully(const struct backend *backend)
{
    bool reference = strcmp(backend->operations->name, "reference") == 0;
    return backend->storage == ROTARY_F32 && (reference || backend->isa == rotary_isa_best());
}

enum precision backend_native_precision(void)
{
    rotary_isa best = rotary_isa_best();
    return best == ROTARY_ISA_AMX || best == ROTARY_ISA_AVX512BF16 ? PRECISION_BF16 : PRECISION_F32;
}

/* Destroys the backend. */
static void run(backend_test *test, struct backend *backend, rotary_status status, const rotary_error *error)
{
    if (!CHECK_INT(status, ROTARY_OK)) {
        printf("%s\n", error->message);
        return;
    }
    printf("on %s\n", backend_about(backend));
    test(backend);
    backend_destroy(backend);
}

void on_every_backend(backend_test *test)
{
    struct backend backend;
    rotary_error error = {0};
    /* The best instruction set first: oneDNN takes the first cap of a process, and has bf16 for few sets. */
    for (int i = ROTARY_ISAS - 1; i > 0; i--) {
        rotary_isa isa = rotary_isa_order[i];
        if (!rotary_isa_available(isa))
            continue;
        rotary_status status = backend_create(&backend, THREADS, isa, PRECISION_F32, &error);
        run(test, &backend, status, &error);
        status = backend_create(&backend, THREADS, isa, PRECISION_BF16, &error);
        if (status != ROTARY_UNSUPPORTED)
            run(test, &backend, status, &error);
    }
    run(test, &backend, reference_backend_create(&backend, ROTARY_F32, &error), &error);
    run(test, &backend, reference_backend_create(&backend, ROTARY_BF16, &error), &error);
}
