/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tensors of a model are projections of queries and keys, and where in them a head's rows are.
 */
#ifndef ROTARY_ORACLE_PROJECTIONS_H
#define ROTARY_ORACLE_PROJECTIONS_H

#include "file/safetensors.h"
#include "oracle/rotation.h"

/* One matrix for queries, keys and values. */
enum fused {
    FUSED_NO,      /* each has its own */
    FUSED_STACKED, /* all query heads, all key heads, all value heads (Phi-3; ours) */
    FUSED_GROUPED, /* group by group: its query heads, its key head, its value head (Falcon, InternLM2); with
                      as many key heads as query heads, query, key and value of head after head (GPT-NeoX) */
};
extern const char *const fused_names[]; /* "stacked" is FUSED_STACKED - 1, ... */

struct projections {
    const char *path; /* of the configuration, for messages */
    enum fused fused;
    int64_t head_dim, query_heads, key_heads; /* numbers of heads are used only if fused */
    const char *const *patterns;              /* of names, NULL-terminated */
    bool usual;                               /* they are those that models usually have */
};

/* patterns: names of tensors, NULL-terminated; if there are none, the usual ones. ROTARY_BAD_FILE if the
 * projections are fused and the configuration does not give the numbers of heads. */
ROTARY_CHECKED rotary_status projections_make(const struct rotation *rotation, enum fused fused,
                                              const char *const *patterns, struct projections *projections,
                                              rotary_error *error);

/* Whether a tensor of this name is to be permuted: it matches a pattern. By the usual patterns it is a
 * weight, a bias or a norm of queries or keys. */
bool projections_meant(const struct projections *projections, const char *name);
/* ROTARY_BAD_FILE unless every pattern, or one of the usual names, is in the file. */
ROTARY_CHECKED rotary_status projections_check_patterns(const struct projections *projections,
                                                        const struct safetensors *file, rotary_error *error);

/* A tensor as heads of head_dim rows, row_bytes each. ROTARY_BAD_FILE for a shape that has none. */
struct head_rows {
    int64_t heads;
    size_t row_bytes;
    bool fused; /* value heads are among them */
};
ROTARY_CHECKED rotary_status projections_rows(const struct projections *projections,
                                              const struct safetensor *tensor, const char *label,
                                              struct head_rows *rows, rotary_error *error);
/* Whether head number `head` of such a tensor is rotated: a value's is not. */
bool projections_rotated(const struct projections *projections, const struct head_rows *rows, int64_t head);

/* What happens to each tensor of a file when the rows of its projections move. */
enum fate { FATE_STAYS, FATE_MOVES };
/* fates: [safetensors_count]. A projection's scales and zero points, one for each row, move with it, one for
 * the whole tensor stays; ROTARY_BAD_FILE for what belongs to a projection and can do neither: blocks of rows
 * with one scale, and packed weights. */
ROTARY_CHECKED rotary_status projections_decide(const struct projections *projections,
                                                const struct safetensors *file, enum fate *fates,
                                                rotary_error *error);

#endif
