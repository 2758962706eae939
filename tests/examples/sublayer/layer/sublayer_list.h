/* SPDX-License-Identifier: Apache-2.0
 *
 * src/layer/sublayer_list.h with one line more.
 */
#ifndef ROTARY_LAYER_SUBLAYER_LIST_H
#define ROTARY_LAYER_SUBLAYER_LIST_H

#define ROTARY_SUBLAYERS(SUBLAYER)                                                                           \
    SUBLAYER(self_attention)                                                                                 \
    SUBLAYER(cross_attention)                                                                                \
    SUBLAYER(adapter)                                                                                        \
    SUBLAYER(feed_forward)

#endif
