/* SPDX-License-Identifier: Apache-2.0
 *
 * Dual chunk attention (Qwen 2.5 1M): positions of queries and keys by chunk.
 */
#ifndef ROTARY_ORACLE_ATTEND_CHUNKS_H
#define ROTARY_ORACLE_ATTEND_CHUNKS_H

#include "oracle/attend.h"

/* Sets work->attention.chunks.length where the configuration has chunks; ROTARY_BAD_FILE for attention that they
 * do not have. */
ROTARY_CHECKED rotary_status attend_chunks_check(const struct attend_config *config, struct attend_work *work,
                                                 rotary_error *error);
/* Multiplies queries by the scale of their sequence's length, and rotates queries and keys; the queries for
 * other chunks are in work->chunks and attention->chunks. */
ROTARY_CHECKED rotary_status attend_chunks_rotate(struct attend_work *work, rotary_error *error);

#endif
