/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests ask of the device that they are linked with: the emulated one, or the one that there is.
 */
#ifndef ROTARY_TESTS_CUDA_DEVICE_CALLS_H
#define ROTARY_TESTS_CUDA_DEVICE_CALLS_H

#include "backend/backend.h"

/* Launches run once, with threads in descending order or in ascending; a device has its own. */
void device_order(bool descending);
/* Returns when what was launched is done. */
ROTARY_CHECKED rotary_status device_wait(const struct backend *backend, rotary_error *error);

#endif
