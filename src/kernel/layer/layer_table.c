/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel table of one variant.
 */
#include "kernel/layer/layer_variant.h"

extern const struct layer_kernels ROTARY_KERNEL(layer_kernels);

const struct layer_kernels ROTARY_KERNEL(layer_kernels) = {
    .norm_forward = ROTARY_KERNEL(layer_norm_forward),
    .norm_backward = ROTARY_KERNEL(layer_norm_backward),
    .activate = ROTARY_KERNEL(layer_activate),
    .activate_backward = ROTARY_KERNEL(layer_activate_backward),
    .gated = ROTARY_KERNEL(layer_gated),
    .gated_backward = ROTARY_KERNEL(layer_gated_backward),
    .softcap = ROTARY_KERNEL(layer_softcap),
    .stored_product = ROTARY_KERNEL(layer_stored_product),
    .widen = ROTARY_KERNEL(layer_widen),
    .cross_entropy = ROTARY_KERNEL(layer_cross_entropy),
    .top_classes = ROTARY_KERNEL(layer_top_classes),
    .column_sums = ROTARY_KERNEL(layer_column_sums),
    .to_storage = ROTARY_KERNEL(layer_to_storage),
    .from_storage = ROTARY_KERNEL(layer_from_storage),
    .embed = ROTARY_KERNEL(layer_embed),
    .embed_backward = ROTARY_KERNEL(layer_embed_backward),
    .drop = ROTARY_KERNEL(layer_drop),
    .transpose = ROTARY_KERNEL(layer_transpose),
    .pack_vnni = ROTARY_KERNEL(layer_pack_vnni),
    .copy_nontemporal = ROTARY_KERNEL(layer_copy_nontemporal),
#if LANES == 16
    .add_product = ROTARY_KERNEL(layer_add_product),
    .multiply_row[ROTARY_F32] = ROTARY_KERNEL(layer_multiply_row_f32),
#endif
#if defined(__AVX512BF16__)
    .multiply_row[ROTARY_BF16] = ROTARY_KERNEL(layer_multiply_row_bf16),
#endif
    .adam = ROTARY_KERNEL(layer_adam),
    .sum_of_squares = ROTARY_KERNEL(layer_sum_of_squares),
};
