/* SPDX-License-Identifier: Apache-2.0
 *
 * The rotation that a model's config.json describes, as a plan of librotary and by its definition in double.
 * Attention is evaluated with the latter, and librotary's kernels are compared with it.
 */
#ifndef ROTARY_ORACLE_ROTATION_H
#define ROTARY_ORACLE_ROTATION_H

#include "rope/rope_roles.h"
#include "rope_config/rope_config.h"

/* Precision of the angles, in place of the configuration's. */
enum rotation_angles { ANGLES_OF_CONFIG, ANGLES_F64, ANGLES_F32, ANGLES_F16, ANGLES_BF16 };

/* A configuration file, and how to read it. */
struct rotation_request {
    const char *config, *layer_type; /* as in struct rope_config_request */
    const char *const *ignored;
    bool scales_queries; /* likewise */
    bool attends;        /* likewise */
    bool unrotated;      /* the layer is one without rotation: the plan changes nothing */
    rotary_compat compat;
    int64_t sequence_length; /* 0: the file's, if it has one */
    enum rotation_angles angles;
    int threads; /* of the plan */
    rotary_isa isa;
    /* Told of a model_type of which nothing is known, and which is not ignored; NULL: nobody is. */
    void (*note_unknown)(const char *config, const char *model_type);
};

extern const char *const rotation_compats[]; /* of rotary_compat */

struct rotation {
    const char *path; /* of the configuration */
    json_t *object;   /* all that it has */
    struct rope_config config;
    rotary_rope *rope;
};

/* Reads request->config and makes the plan. head_dim: that of the tensors to rotate, which the file must not
 * contradict; 0: there are none, and the file must say. rotation_destroy releases what a success took. */
ROTARY_CHECKED rotary_status rotation_make(const struct rotation_request *request, int64_t head_dim,
                                           struct rotation *rotation, rotary_error *error);
void rotation_destroy(struct rotation *rotation);

/* [time, heads, head_dim], rotated in place; the token at time t has position positions[t] on every axis, or
 * first + t if that is NULL. */
struct rotation_target {
    enum rotary_rope_role role;
    bool inverse;
    int64_t first, time, heads;
    const int64_t *positions;
    double *values;
};
/* Rotates by the definition in double; with f32 angles or 16-bit tables by librotary's cosines and sines of
 * the position. */
ROTARY_CHECKED rotary_status rotation_apply(const struct rotation *rotation,
                                            const struct rotation_target *target, rotary_error *error);

/* The two channels of a pair. */
void rotation_channels(struct rotary_span span, int64_t pair, int64_t channels[2]);
/* The tensor of a call that has this role. */
rotary_rope_tensor *rotation_tensor(rotary_rope_apply_call *call, enum rotary_rope_role role);

#endif
