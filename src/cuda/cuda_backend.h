/* SPDX-License-Identifier: Apache-2.0
 *
 * A backend on a CUDA device.
 */
#ifndef ROTARY_CUDA_CUDA_BACKEND_H
#define ROTARY_CUDA_CUDA_BACKEND_H

#include "backend/backend.h"

/* On the first device. threads, at least 1, and isa, not ROTARY_ISA_AUTO, are the host's. PRECISION_AUTO is
 * bf16. ROTARY_UNSUPPORTED where there is no driver, no device, or one of a compute capability below 8.0. The
 * caller calls backend_destroy. */
ROTARY_CHECKED rotary_status cuda_backend_create(struct backend *backend, int threads, rotary_isa isa,
                                                 enum precision precision, rotary_error *error);

/* Whether there is such a device: ROTARY_UNSUPPORTED says what is missing. */
ROTARY_CHECKED rotary_status cuda_device_check(rotary_error *error);
/* Its name. */
ROTARY_CHECKED rotary_status cuda_device_name(char *name, size_t bytes, rotary_error *error);
/* The version of CUDA that the program was built with; NULL if it was built without (cuda/no_cuda.c). */
const char *cuda_version(void);

#endif
