/* SPDX-License-Identifier: Apache-2.0
 *
 * The cpu backend: creation, memory, and the table. Its memory is the host's.
 */
#include "backend/auto_precision.h"
#include "backend/cpu.h"

#include "base/fail.h"
#include "base/isa.h"
#include "base/threads.h"

#include <stdlib.h>
#include <string.h>

/* ---- Memory. ---- */

/* Memory is an arena's: zeroed, aligned, and the address of its allocation is kept just before it. */
static rotary_status cpu_allocate(const struct backend *backend, void **memory, size_t bytes,
                                  const char *what, rotary_error *error)
{
    (void)backend;
    struct rotary_arena arena = {.used = bytes};
    if (__builtin_add_overflow(arena.used, ROTARY_ALIGNMENT, &arena.used))
        arena.used = SIZE_MAX;
    rotary_status status = rotary_arena_allocate(&arena, what, error);
    if (status != ROTARY_OK)
        return status;
    memcpy(arena.memory, &arena.block, sizeof arena.block);
    *memory = arena.memory + ROTARY_ALIGNMENT;
    return ROTARY_OK;
}

static void cpu_release(const struct backend *backend, void *memory)
{
    (void)backend;
    void *block = NULL;
    if (memory)
        memcpy(&block, (unsigned char *)memory - ROTARY_ALIGNMENT, sizeof block);
    free(block);
}

enum { COPY_BYTES = 1 << 17 }; /* of a work item */

struct copy {
    char *to;
    const char *from;
    size_t bytes;
};

static void copy_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct copy *copy = argument;
    size_t first = (size_t)index * COPY_BYTES, rest = copy->bytes - first;
    memcpy(copy->to + first, copy->from + first, rest < COPY_BYTES ? rest : COPY_BYTES);
}

/* On all threads: the system places a page near the thread that first writes it. */
static rotary_status cpu_copy(const struct backend *backend, void *to, const void *from, size_t bytes,
                              rotary_error *error)
{
    (void)error;
    struct copy copy = {.to = to, .from = from, .bytes = bytes};
    if (bytes > 0)
        rotary_parallel_for(backend->threads, (int64_t)((bytes - 1) / COPY_BYTES) + 1, copy_block, &copy);
    return ROTARY_OK;
}

static rotary_status cpu_clear(const struct backend *backend, void *memory, size_t bytes, rotary_error *error)
{
    (void)backend;
    (void)error;
    if (bytes)
        memset(memory, 0, bytes);
    return ROTARY_OK;
}

/* ---- The table. ---- */

static rotary_status cpu_packed_weight_create(const struct backend *backend, struct packed_weight **weight,
                                              const struct packed_weight_config *config, rotary_error *error)
{
    return packed_weight_create(weight, cpu_of(backend)->matmul, config, error);
}

static void cpu_packed_weight_destroy(const struct backend *backend, struct packed_weight *weight)
{
    (void)backend;
    packed_weight_destroy(weight);
}

static size_t cpu_packed_weight_bytes(const struct backend *backend, const struct packed_weight *weight)
{
    (void)backend;
    return packed_weight_bytes(weight);
}

static void destroy_cpu(struct cpu *cpu)
{
    if (!cpu)
        return;
    for (int i = 0; i < CPU_SHARED_WEIGHTS; i++)
        packed_weight_destroy(cpu->shared[i].weight);
    matmul_destroy(cpu->matmul);
    rotary_arena_free(&cpu->scratch);
    free(cpu);
}

static void cpu_destroy(struct backend *backend)
{
    destroy_cpu(cpu_of(backend));
}

static const struct backend_operations cpu_operations = {
    .name = "cpu",
    .on_host = true,
    .destroy = cpu_destroy,
    .allocate = cpu_allocate,
    .release = cpu_release,
    .write = cpu_copy,
    .read = cpu_copy,
    .copy = cpu_copy,
    .clear = cpu_clear,
    .packed_weight_create = cpu_packed_weight_create,
    .packed_weight_destroy = cpu_packed_weight_destroy,
    .packed_weight_bytes = cpu_packed_weight_bytes,
    .attention_create = cpu_attention_create,
    .attention_destroy = cpu_attention_destroy,
    .attention_config = cpu_attention_config,
    .attention_forward_bytes = cpu_attention_forward_bytes,
    .attention_backward_bytes = cpu_attention_backward_bytes,
    .attention_decode_bytes = cpu_attention_decode_bytes,
    .attention_append_bytes = cpu_attention_append_bytes,
    .attention_reorder_bytes = cpu_attention_reorder_bytes,
#define CPU_OPERATION(name) .name = cpu_##name,
    BACKEND_OPERATIONS(CPU_OPERATION)
#undef CPU_OPERATION
};

/* ---- Creation. ---- */

static rotary_status choose_storage(struct backend *backend, enum precision precision, rotary_error *error)
{
    char vendor[ROTARY_VENDOR_BYTES];
    rotary_processor_vendor(vendor);
    bool bf16 =
        precision == PRECISION_AUTO ? bf16_is_faster(matmul_bf16_isa(), vendor) : precision == PRECISION_BF16;
    if (bf16 && !matmul_prepare_bf16(cpu_of(backend)->matmul))
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "bf16 matmuls are not supported with the instruction set %s: use f32",
                           rotary_isa_name(backend->isa));
    backend->storage = bf16 ? ROTARY_BF16 : ROTARY_F32;
    return ROTARY_OK;
}

rotary_status backend_create(struct backend *backend, int threads, rotary_isa isa, enum precision precision,
                             rotary_error *error)
{
    rotary_status status = rotary_check_threads(threads, error);
    if (!status)
        status = rotary_isa_resolve(&isa, error);
    if (status)
        return status;
    struct cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return rotary_fail_memory(error, "for a backend");
    struct backend made = {.operations = &cpu_operations,
                           .state = cpu,
                           .threads = threads ? threads : rotary_processors(),
                           .isa = isa};
    cpu->kernels = layer_kernels_for(isa);
    status = matmul_create(&cpu->matmul, made.threads, isa, cpu->kernels, error);
    if (status == ROTARY_OK)
        status = choose_storage(&made, precision, error);
    if (status != ROTARY_OK) {
        destroy_cpu(cpu);
        return status;
    }
    *backend = made;
    return ROTARY_OK;
}
