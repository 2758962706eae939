/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of a backend's operations. A line OPERATION(name) declares
 *
 *     rotary_status (*name)(const struct backend *, const struct backend_name *call, rotary_error *)
 *
 * as a member of struct backend_operations (backend/backend.h) and puts the function cpu_name into the table
 * of the cpu backend (backend/cpu_backend.c). So a new operation is this line, its struct and one file for
 * each backend.
 */
#ifndef ROTARY_BACKEND_OPERATION_LIST_H
#define ROTARY_BACKEND_OPERATION_LIST_H

#define BACKEND_OPERATIONS(OPERATION)                                                                        \
    OPERATION(pack_weight)                                                                                   \
    OPERATION(matmul)                                                                                        \
    OPERATION(weight_gradient)                                                                               \
    OPERATION(stored_matmul)                                                                                 \
    OPERATION(stored_embedding)                                                                              \
    OPERATION(norm_forward)                                                                                  \
    OPERATION(norm_backward)                                                                                 \
    OPERATION(head_norm_forward)                                                                             \
    OPERATION(head_norm_backward)                                                                            \
    OPERATION(activation_forward)                                                                            \
    OPERATION(activation_backward)                                                                           \
    OPERATION(embedding_forward)                                                                             \
    OPERATION(embedding_backward)                                                                            \
    OPERATION(cast)                                                                                          \
    OPERATION(add)                                                                                           \
    OPERATION(add_matrix)                                                                                    \
    OPERATION(scale)                                                                                         \
    OPERATION(add_to_rows)                                                                                   \
    OPERATION(copy_rows)                                                                                     \
    OPERATION(scatter_rows)                                                                                  \
    OPERATION(mean_rows_forward)                                                                             \
    OPERATION(mean_rows_backward)                                                                            \
    OPERATION(drop)                                                                                          \
    OPERATION(softcap)                                                                                       \
    OPERATION(cross_entropy)                                                                                 \
    OPERATION(squared_error)                                                                                 \
    OPERATION(top_classes)                                                                                   \
    OPERATION(add_sums)                                                                                      \
    OPERATION(update)                                                                                        \
    OPERATION(attention_forward)                                                                             \
    OPERATION(attention_backward)                                                                            \
    OPERATION(attention_append)                                                                              \
    OPERATION(attention_reorder)                                                                             \
    OPERATION(attention_shift)                                                                               \
    OPERATION(attention_decode)

#endif
