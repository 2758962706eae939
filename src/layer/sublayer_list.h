/* SPDX-License-Identifier: Apache-2.0
 *
 * The types of sublayers. A new type is a file with a `const struct sublayer_type <name>_sublayer` and a line
 * here.
 */
#ifndef ROTARY_LAYER_SUBLAYER_LIST_H
#define ROTARY_LAYER_SUBLAYER_LIST_H

#define ROTARY_SUBLAYERS(SUBLAYER)                                                                           \
    SUBLAYER(self_attention)                                                                                 \
    SUBLAYER(cross_attention)                                                                                \
    SUBLAYER(feed_forward)

#endif
