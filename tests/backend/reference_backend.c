/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/reference_backend.h"

#include "backend/reference_operations.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

static struct reference_memory *memory_of(const struct backend *backend)
{
    return &((struct reference_state *)backend->state)->memory;
}

/* ---- memory ---- */

static rotary_status allocate(const struct backend *backend, void **memory, size_t bytes, const char *what,
                              rotary_error *error)
{
    void *made = reference_memory_allocate(memory_of(backend), bytes);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %s: %zu bytes", what, bytes);
    *memory = made;
    return ROTARY_OK;
}

static void release(const struct backend *backend, void *memory)
{
    reference_memory_release(memory_of(backend), memory);
}

static rotary_status write_bytes(const struct backend *backend, void *to, const void *host, size_t bytes,
                                 rotary_error *error)
{
    (void)error;
    reference_memory_check(memory_of(backend), to, bytes, "destination of a write");
    reference_check_host(backend, host, "source of a write");
    reference_memory_open(memory_of(backend));
    memcpy(to, host, bytes);
    reference_memory_close(memory_of(backend));
    return ROTARY_OK;
}

static rotary_status read_bytes(const struct backend *backend, void *host, const void *from, size_t bytes,
                                rotary_error *error)
{
    (void)error;
    reference_memory_check(memory_of(backend), from, bytes, "source of a read");
    reference_check_host(backend, host, "destination of a read");
    reference_memory_open(memory_of(backend));
    memcpy(host, from, bytes);
    reference_memory_close(memory_of(backend));
    return ROTARY_OK;
}

static rotary_status copy_bytes(const struct backend *backend, void *to, const void *from, size_t bytes,
                                rotary_error *error)
{
    (void)error;
    reference_memory_check(memory_of(backend), to, bytes, "destination of a copy");
    reference_memory_check(memory_of(backend), from, bytes, "source of a copy");
    reference_memory_open(memory_of(backend));
    memcpy(to, from, bytes);
    reference_memory_close(memory_of(backend));
    return ROTARY_OK;
}

static rotary_status clear_bytes(const struct backend *backend, void *memory, size_t bytes,
                                 rotary_error *error)
{
    (void)error;
    reference_memory_check(memory_of(backend), memory, bytes, "memory to clear");
    reference_memory_open(memory_of(backend));
    memset(memory, 0, bytes);
    reference_memory_close(memory_of(backend));
    return ROTARY_OK;
}

/* ---- what a call names ---- */

void reference_check_array(const struct backend *backend, const void *array, int64_t count, size_t size,
                           const char *what)
{
    reference_memory_check(memory_of(backend), array, (size_t)count * size, what);
}

void reference_check_matrix(const struct backend *backend, struct matrix matrix, const char *what)
{
    int64_t elements = matrix.rows > 0 ? (matrix.rows - 1) * matrix.stride + matrix.columns : 0;
    reference_check_array(backend, matrix.data, elements, rotary_dtype_size(matrix.dtype), what);
}

void reference_check_host(const struct backend *backend, const void *array, const char *what)
{
    reference_memory_check_host(memory_of(backend), array, what);
}

/* ---- the table ---- */

#define WITH_OPEN_MEMORY(name)                                                                               \
    static rotary_status run_##name(const struct backend *backend, const struct backend_##name *call,        \
                                    rotary_error *error)                                                     \
    {                                                                                                        \
        reference_memory_open(memory_of(backend));                                                           \
        rotary_status status = reference_##name(backend, call, error);                                       \
        reference_memory_close(memory_of(backend));                                                          \
        return status;                                                                                       \
    }
BACKEND_OPERATIONS(WITH_OPEN_MEMORY)
#undef WITH_OPEN_MEMORY

static void destroy(struct backend *backend)
{
    struct reference_state *state = backend->state;
    reference_memory_destroy(&state->memory);
    free(state);
}

#define MEMBER(name) .name = run_##name,
static const struct backend_operations operations = {
    .name = "reference",
    .destroy = destroy,
    .allocate = allocate,
    .release = release,
    .write = write_bytes,
    .read = read_bytes,
    .copy = copy_bytes,
    .clear = clear_bytes,
    .packed_weight_create = reference_packed_weight_create,
    .packed_weight_destroy = reference_packed_weight_destroy,
    .packed_weight_bytes = reference_packed_weight_bytes,
    .attention_create = reference_attention_create,
    .attention_destroy = reference_attention_destroy,
    .attention_config = reference_attention_config,
    .attention_forward_bytes = reference_attention_forward_bytes,
    .attention_backward_bytes = reference_attention_backward_bytes,
    .attention_decode_bytes = reference_attention_decode_bytes,
    .attention_append_bytes = reference_attention_append_bytes,
    .attention_reorder_bytes = reference_attention_reorder_bytes,
    BACKEND_OPERATIONS(MEMBER)};
#undef MEMBER

rotary_status reference_backend_create(struct backend *backend, rotary_dtype storage, rotary_error *error)
{
    struct reference_state *state = calloc(1, sizeof *state);
    if (!state)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a reference backend");
    *backend = (struct backend){.operations = &operations,
                                .state = state,
                                .threads = 1,
                                .isa = ROTARY_ISA_SCALAR,
                                .storage = storage};
    return ROTARY_OK;
}
