/* SPDX-License-Identifier: Apache-2.0
 *
 * NoPE: only the causal mask gives order (Kazemnejad et al. 2023).
 */
#include "layer/encoding/encoding.h"

const struct position_encoding encoding_none = {.embedding = EMBEDDING_POSITION_NONE};
