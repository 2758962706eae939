/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of src/layer/encoding/encoding_list.h with one line more.
 */
#ifndef ROTARY_LAYER_ENCODING_LIST_H
#define ROTARY_LAYER_ENCODING_LIST_H

#define ROTARY_ENCODINGS(ENCODING)                                                                           \
    ENCODING(NONE, none, "none")                                                                             \
    ENCODING(LEARNED, learned, "learned")                                                                    \
    ENCODING(SINUSOIDAL, sinusoidal, "sinusoidal")                                                           \
    ENCODING(ROPE, rope, "rope")                                                                             \
    ENCODING(ROPER, roper, "roper")                                                                          \
    ENCODING(XPOS, xpos, "xpos")                                                                             \
    ENCODING(ALIBI, alibi, "alibi")                                                                          \
    ENCODING(T5, t5, "t5")                                                                                   \
    ENCODING(KERPLE, kerple, "kerple")                                                                       \
    ENCODING(SANDWICH, sandwich, "sandwich")                                                                 \
    ENCODING(SHAW, shaw, "shaw")                                                                             \
    ENCODING(TRANSFORMER_XL, transformer_xl, "transformer-xl")                                               \
    ENCODING(DEBERTA, deberta, "deberta")                                                                    \
    ENCODING(FIRE, fire, "fire")                                                                             \
    ENCODING(GAUSSIAN, gaussian, "gaussian")

#endif
