/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference backend: every operation in plain scalar C and in double, on memory that is inaccessible
 * outside of operations. It shares no code with the cpu backend. So it shows that layers and models compute
 * through the table of operations alone, and that a second backend fits there.
 */
#ifndef REFERENCE_BACKEND_H
#define REFERENCE_BACKEND_H

#include "backend/backend.h"

/* storage: f32 or bf16. The caller calls backend_destroy. */
ROTARY_CHECKED rotary_status reference_backend_create(struct backend *backend, rotary_dtype storage,
                                                      rotary_error *error);

#endif
