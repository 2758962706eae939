/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/device_backend.h"

#include "base/isa.h"
#include "base/threads.h"
#include "cuda/cuda_backend.h"

#include <stdio.h>
#include <string.h>

static rotary_status create_cuda(struct backend *backend, const struct device_request *request,
                                 rotary_error *error)
{
    rotary_isa isa = request->isa;
    rotary_status status = rotary_check_threads(request->threads, error);
    if (status == ROTARY_OK)
        status = rotary_isa_resolve(&isa, error);
    if (status != ROTARY_OK)
        return status;
    const int threads = request->threads ? request->threads : rotary_processors();
    return cuda_backend_create(backend, threads, isa, request->precision, error);
}

rotary_status device_backend_create(struct backend *backend, const struct device_request *request,
                                    rotary_error *error)
{
    const bool cuda = request->device == DEVICE_CUDA ||
                      (request->device == DEVICE_AUTO && cuda_device_check(NULL) == ROTARY_OK);
    return cuda ? create_cuda(backend, request, error)
                : backend_create(backend, request->threads, request->isa, request->precision, error);
}

rotary_status device_backend_copy(struct backend *backend, const struct backend *like, int threads,
                                  rotary_error *error)
{
    const struct device_request request = {.device = device_is_cuda(like) ? DEVICE_CUDA : DEVICE_CPU,
                                           .threads = threads,
                                           .isa = like->isa,
                                           .precision =
                                               like->storage == ROTARY_BF16 ? PRECISION_BF16 : PRECISION_F32};
    return device_backend_create(backend, &request, error);
}

bool device_is_cuda(const struct backend *backend)
{
    return strcmp(backend->operations->name, "cuda") == 0;
}

const char *device_text(char text[DEVICE_TEXT_BYTES])
{
    rotary_error error = {0};
    if (cuda_device_name(text, DEVICE_TEXT_BYTES, &error) != ROTARY_OK)
        snprintf(text, DEVICE_TEXT_BYTES, "none: %.240s", error.message);
    return text;
}

const char *device_library(void)
{
    return cuda_version();
}
