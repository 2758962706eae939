/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations of the reference backend, one reference_NAME for each line NAME of backend/operation_list.h,
 * and what they share. They run while the backend's memory is open.
 */
#ifndef REFERENCE_OPERATIONS_H
#define REFERENCE_OPERATIONS_H

#include "backend/backend.h"
#include "backend/reference_memory.h"
#include "backend/reference_rotation.h"

#define REFERENCE_DECLARE(name)                                                                              \
    rotary_status reference_##name(const struct backend *backend, const struct backend_##name *call,         \
                                   rotary_error *error);
BACKEND_OPERATIONS(REFERENCE_DECLARE)
#undef REFERENCE_DECLARE

rotary_status reference_packed_weight_create(const struct backend *backend, struct packed_weight **weight,
                                             const struct packed_weight_config *config, rotary_error *error);
void reference_packed_weight_destroy(const struct backend *backend, struct packed_weight *weight);
size_t reference_packed_weight_bytes(const struct backend *backend, const struct packed_weight *weight);

rotary_status reference_attention_create(const struct backend *backend, struct attention_plan **plan,
                                         const rotary_attention_config *config, rotary_error *error);
void reference_attention_destroy(const struct backend *backend, struct attention_plan *plan);
const rotary_attention_config *reference_attention_config(const struct attention_plan *plan);
/* Operations need no workspace, but ask for some and overwrite it, so that nobody keeps anything there. */
size_t reference_attention_forward_bytes(const struct attention_plan *plan,
                                         const rotary_attention_forward_call *call);
size_t reference_attention_backward_bytes(const struct attention_plan *plan,
                                          const rotary_attention_backward_call *call);
size_t reference_attention_append_bytes(const struct attention_plan *plan, int64_t batch, int64_t tokens);
size_t reference_attention_reorder_bytes(const struct attention_plan *plan, int64_t batch);
size_t reference_attention_decode_bytes(const struct attention_plan *plan, int64_t batch, int64_t queries,
                                        int64_t capacity);

struct reference_state {
    struct reference_memory memory;
};

/* The memory that a call names must be the backend's, or the host's; anything else ends the program. NULL is
 * allowed. */
void reference_check_matrix(const struct backend *backend, struct matrix matrix, const char *what);
void reference_check_array(const struct backend *backend, const void *array, int64_t count, size_t size,
                           const char *what);
void reference_check_host(const struct backend *backend, const void *array, const char *what);

/* Element (row, column). */
double reference_get(struct matrix matrix, int64_t row, int64_t column);
void reference_set(struct matrix matrix, int64_t row, int64_t column, double value);

/* The factor of an element under dropout: 0 or 1 / (1 - probability). */
double reference_dropout(struct dropout dropout, int64_t row, int64_t column);

struct packed_weight {
    struct packed_weight_config config;
    struct matrix weight; /* [inner, columns], in the backend's memory */
};

struct attention_plan {
    rotary_attention_config config; /* of the backend's type; scale is never 0 */
    struct reference_rotation_plan query_rotation, key_rotation, value_rotation, output_rotation;
};

#endif
