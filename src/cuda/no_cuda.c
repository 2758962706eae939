/* SPDX-License-Identifier: Apache-2.0
 *
 * In the place of the cuda backend, in a program that is built without it.
 */
#include "base/fail.h"
#include "cuda/cuda_backend.h"

rotary_status cuda_device_check(rotary_error *error)
{
    return rotary_fail(error, ROTARY_UNSUPPORTED,
                       "this program is built without CUDA (cmake -DROTARY_CUDA=ON builds it with): use "
                       "--device cpu");
}

rotary_status cuda_backend_create(struct backend *backend, int threads, rotary_isa isa,
                                  enum precision precision, rotary_error *error)
{
    (void)backend;
    (void)threads;
    (void)isa;
    (void)precision;
    return cuda_device_check(error);
}

rotary_status cuda_device_name(char *name, size_t bytes, rotary_error *error)
{
    (void)name;
    (void)bytes;
    return cuda_device_check(error);
}

const char *cuda_version(void)
{
    return NULL;
}
