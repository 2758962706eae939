/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodings that add a row of a table to the embedding of each token.
 */
#include "layer/encoding/encoding.h"

/* A trained table (Gehring et al. 2017). */
const struct position_encoding encoding_learned = {.embedding = EMBEDDING_POSITION_LEARNED};

/* Fixed sines and cosines (Vaswani et al. 2017). */
const struct position_encoding encoding_sinusoidal = {.embedding = EMBEDDING_POSITION_SINUSOIDAL};
