/* SPDX-License-Identifier: Apache-2.0
 *
 * Which backend is compared with the reference backend. tests/backend/tested_cpu.c and tests/cuda/tested_cuda.c
 * say it, each for its program.
 */
#ifndef TESTED_BACKEND_H
#define TESTED_BACKEND_H

#include "backend/backend.h"

/* Whether it runs on this instruction set, and is to be tested there. */
bool tested_backend_has(rotary_isa isa);
/* ROTARY_UNSUPPORTED where it has not this precision. */
ROTARY_CHECKED rotary_status tested_backend_create(struct backend *backend, rotary_isa isa,
                                                   enum precision precision, rotary_error *error);

#endif
