/* SPDX-License-Identifier: Apache-2.0
 *
 * Which backend a command computes on. It is there in every build: where the program has no cuda backend, or
 * the machine no device, that is refused in one line.
 */
#ifndef ROTARY_CUDA_DEVICE_BACKEND_H
#define ROTARY_CUDA_DEVICE_BACKEND_H

#include "backend/backend.h"

enum device {
    DEVICE_CPU,
    DEVICE_CUDA,
    DEVICE_AUTO /* cuda where there is a device for it, else cpu */
};

/* threads, isa and precision as backend_create has them. */
struct device_request {
    enum device device;
    int threads;
    rotary_isa isa;
    enum precision precision;
};

/* The caller calls backend_destroy. ROTARY_UNSUPPORTED says what is missing. */
ROTARY_CHECKED rotary_status device_backend_create(struct backend *backend,
                                                   const struct device_request *request, rotary_error *error);
/* Another of the kind of `like`, with other threads. */
ROTARY_CHECKED rotary_status device_backend_copy(struct backend *backend, const struct backend *like,
                                                 int threads, rotary_error *error);
/* Whether it computes on a CUDA device. */
bool device_is_cuda(const struct backend *backend);

enum { DEVICE_TEXT_BYTES = 256 };
/* The device that there is, or why there is none, as a line for a person. */
const char *device_text(char text[DEVICE_TEXT_BYTES]);
/* The version of CUDA that the program is built with; NULL: it is built without. */
const char *device_library(void);

#endif
