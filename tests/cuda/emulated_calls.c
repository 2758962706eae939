/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/device_calls.h"
#include "emulated_memory.h"

void device_order(bool descending)
{
    emulated_orders(1, descending);
}

rotary_status device_wait(const struct backend *backend, rotary_error *error)
{
    (void)backend;
    (void)error;
    return ROTARY_OK;
}
