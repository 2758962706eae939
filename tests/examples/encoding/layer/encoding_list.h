/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of src/layer/encoding_list.h with one line more.
 */
#ifndef ROTARY_LAYER_ENCODING_LIST_H
#define ROTARY_LAYER_ENCODING_LIST_H

#define ROTARY_ENCODINGS(ENCODING)                                                                           \
    ENCODING(NONE, none)                                                                                     \
    ENCODING(LEARNED, learned)                                                                               \
    ENCODING(SINUSOIDAL, sinusoidal)                                                                         \
    ENCODING(ROPE, rope)                                                                                     \
    ENCODING(ROPER, roper)                                                                                   \
    ENCODING(XPOS, xpos)                                                                                     \
    ENCODING(ALIBI, alibi)                                                                                   \
    ENCODING(T5, t5)                                                                                         \
    ENCODING(KERPLE, kerple)                                                                                 \
    ENCODING(SANDWICH, sandwich)                                                                             \
    ENCODING(SHAW, shaw)                                                                                     \
    ENCODING(GAUSSIAN, gaussian)

#endif
