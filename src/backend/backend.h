/* SPDX-License-Identifier: Apache-2.0
 *
 * A backend: one table of the operations that layers are made of, and what they run on. Layers and models
 * compute through this table alone, so a second backend only fills another one.
 *
 * Memory of a backend is a plain pointer, which its user may offset and pass on but never dereference: it may
 * not be the host's. Activations, parameters, gradients, tokens and targets live there. Operations run in the
 * order in which they are called; they may return before they are done, except `read`. What fails then is the
 * status of a later call.
 */
#ifndef ROTARY_BACKEND_BACKEND_H
#define ROTARY_BACKEND_BACKEND_H

#include "backend/operation_calls.h"
#include "backend/operation_list.h"
#include "base/arena.h"

struct profile; /* backend/profile.h */
struct backend_operations;

/* Created once, passed down by pointer, never changed. Models may share one, but not run at the same time:
 * they would share the scratch memory of its operations. */
struct backend {
    const struct backend_operations *operations;
    void *state;             /* of the backend, owned: threads' scratch memory, planned matmuls, ... */
    int threads;             /* at least 1, of the host; the cpu backend computes on them */
    rotary_isa isa;          /* never ROTARY_ISA_AUTO; of the host */
    rotary_dtype storage;    /* type of matmul operands and of stored activations: f32 or bf16 */
    struct profile *profile; /* borrowed; where times are recorded. NULL: no profiling */
};

#define BACKEND_DECLARE_OPERATION(name) struct backend_##name;
BACKEND_OPERATIONS(BACKEND_DECLARE_OPERATION)
#undef BACKEND_DECLARE_OPERATION

struct backend_operations {
    const char *name; /* "cpu" */
    bool
        on_host; /* memory is the host's, which may use it where no operation runs; else `read` and `write` */
    void (*destroy)(struct backend *backend);

    /* Memory, zeroed, aligned to ROTARY_ALIGNMENT; `what` it is for is part of the message of
     * ROTARY_OUT_OF_MEMORY. release(NULL) is allowed. */
    rotary_status (*allocate)(const struct backend *backend, void **memory, size_t bytes, const char *what,
                              rotary_error *error);
    void (*release)(const struct backend *backend, void *memory);
    /* From and to the host, whose memory is free again when the call returns; from memory to memory that does
     * not overlap. */
    rotary_status (*write)(const struct backend *backend, void *to, const void *host, size_t bytes,
                           rotary_error *error);
    rotary_status (*read)(const struct backend *backend, void *host, const void *from, size_t bytes,
                          rotary_error *error);
    rotary_status (*copy)(const struct backend *backend, void *to, const void *from, size_t bytes,
                          rotary_error *error);
    rotary_status (*clear)(const struct backend *backend, void *memory, size_t bytes, rotary_error *error);

    /* The next three are NULL where operations are done when they return. What is called between step_begin and
     * step_end may be held back until step_end, which also follows a step that failed. Steps of one shape are expected to make the
     * same calls; if they do not, nothing but time is lost. */
    rotary_status (*step_begin)(const struct backend *backend, uint64_t shape, rotary_error *error);
    rotary_status (*step_end)(const struct backend *backend, rotary_error *error);
    /* Begins to copy memory of the host, for a `write` from some of it in a later step. It may not change until
     * `slot`, 0 or 1, is staged again; host NULL: nothing is staged there. */
    rotary_status (*stage)(const struct backend *backend, int slot, const void *host, size_t bytes,
                           rotary_error *error);

    /* A packed weight is zero until pack_weight. */
    rotary_status (*packed_weight_create)(const struct backend *backend, struct packed_weight **weight,
                                          const struct packed_weight_config *config, rotary_error *error);
    void (*packed_weight_destroy)(const struct backend *backend, struct packed_weight *weight);
    size_t (*packed_weight_bytes)(const struct backend *backend, const struct packed_weight *weight);

    /* A plan of attention. The rotations in `config` are librotary's plans: a backend may use them as they
     * are or read their frequencies. dtype, threads and isa of `config` are not read: they are the backend's.
     * attention_..._bytes are the bytes of workspace that a call needs, as librotary's functions say them for
     * its own calls. */
    rotary_status (*attention_create)(const struct backend *backend, struct attention_plan **plan,
                                      const rotary_attention_config *config, rotary_error *error);
    void (*attention_destroy)(const struct backend *backend, struct attention_plan *plan);
    /* What the plan was created with, but for the three members. */
    const rotary_attention_config *(*attention_config)(const struct attention_plan *plan);
    size_t (*attention_forward_bytes)(const struct attention_plan *plan,
                                      const rotary_attention_forward_call *call);
    size_t (*attention_backward_bytes)(const struct attention_plan *plan,
                                       const rotary_attention_backward_call *call);
    size_t (*attention_decode_bytes)(const struct attention_plan *plan, int64_t batch, int64_t queries,
                                     int64_t capacity);
    size_t (*attention_append_bytes)(const struct attention_plan *plan, int64_t batch, int64_t tokens);
    size_t (*attention_reorder_bytes)(const struct attention_plan *plan, int64_t batch);

#define BACKEND_MEMBER(name)                                                                                 \
    rotary_status (*name)(const struct backend *backend, const struct backend_##name *call,                  \
                          rotary_error *error);
    BACKEND_OPERATIONS(BACKEND_MEMBER)
#undef BACKEND_MEMBER
};

enum precision { PRECISION_AUTO, PRECISION_F32, PRECISION_BF16 };

/* The cpu backend. threads 0: all processors; isa ROTARY_ISA_AUTO: the best available. PRECISION_AUTO selects
 * bf16 where it is faster (backend/auto_precision.h), else f32. ROTARY_UNSUPPORTED if `isa` cannot run here.
 * Also caps the instruction set of oneDNN; the first call in a process decides (backend/matmul.h). */
ROTARY_CHECKED rotary_status backend_create(struct backend *backend, int threads, rotary_isa isa,
                                            enum precision precision, rotary_error *error);
/* Frees what any backend has. One that is all zero is allowed. */
void backend_destroy(struct backend *backend);

/* rotary_arena_allocate (base/arena.h) with memory of the backend, and its counterpart. */
ROTARY_CHECKED rotary_status backend_arena_allocate(const struct backend *backend, struct rotary_arena *arena,
                                                    const char *what, rotary_error *error);
void backend_arena_free(const struct backend *backend, struct rotary_arena *arena);

/* A configuration of attention as the backend computes it: in its type, with its threads and instruction set. */
rotary_attention_config backend_attention_config(const struct backend *backend,
                                                 const rotary_attention_config *config);

#endif
