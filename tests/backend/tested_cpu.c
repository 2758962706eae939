/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/tested_backend.h"

enum { THREADS = 2 };

bool tested_backend_has(rotary_isa isa)
{
    return rotary_isa_available(isa);
}

rotary_status tested_backend_create(struct backend *backend, rotary_isa isa, enum precision precision,
                                    rotary_error *error)
{
    return backend_create(backend, THREADS, isa, precision, error);
}
