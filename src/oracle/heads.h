/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors of heads in the axis orders that programs use. The oracle computes on [batch, time, heads,
 * channels]; a result has the axis order of its input's file.
 */
#ifndef ROTARY_ORACLE_HEADS_H
#define ROTARY_ORACLE_HEADS_H

#include "oracle/tensor.h"

enum heads_layout {
    HEADS_AFTER_TIME,  /* [T, H, D], [B, T, H, D] */
    HEADS_BEFORE_TIME, /* [H, T, D], [B, H, T, D] */
    HEADS_FLAT,        /* [T, H * D], [B, T, H * D] */
};
extern const char *const heads_layouts[]; /* of enum heads_layout */

struct heads {
    struct tensor tensor; /* type and shape as in the file; values [batch, time, heads, channels] */
    enum heads_layout layout;
    bool batched;
    int64_t batch, time, heads, channels;
};

/* The names of a tensor's sizes in a message: "[2, S, G, 64]" in the order of its layout. */
struct heads_names {
    const char *batch, *time, *heads, *channels; /* batch NULL: none */
};
/* A number as text, for heads_names. */
struct digits {
    char text[24];
};
struct digits digits_of(int64_t number);
/* LABEL has shape [3], wanted [2, S, G, 64]MORE, to go with PARTNER */
rotary_status heads_refuse(const struct heads *heads, const struct heads_names *names, const char *more,
                           const struct heads *partner, rotary_error *error);

/* Which other shapes are accepted: [T, D], one head; or a time of 0. */
enum heads_also { HEADS_ALSO_NOTHING, HEADS_ALSO_PLAIN, HEADS_ALSO_EMPTY };

struct heads_request {
    const char *label;
    enum heads_layout layout;
    int64_t count; /* heads of a flat tensor, otherwise not read */
    enum heads_also also;
    struct heads_names names; /* for messages */
};
/* Reads request->label, which must hold floating-point numbers and have no size of 0. heads_free releases the
 * memory. */
ROTARY_CHECKED rotary_status heads_read(const struct heads_request *request, struct heads *heads,
                                        rotary_error *error);

struct heads_sizes {
    int64_t time, heads, channels;
};
/* Zeros, [like->batch, time, heads, channels], to be written to `label` in the layout and the type of `like`.
 */
ROTARY_CHECKED rotary_status heads_make(const char *label, const struct heads *like, struct heads_sizes sizes,
                                        struct heads *made, rotary_error *error);
/* Gives the tensor the shape that its sizes have in a layout; the values keep their order. */
void heads_set_layout(struct heads *heads, enum heads_layout layout);
/* Prepends `past` to `heads` along time; all other sizes must agree. */
ROTARY_CHECKED rotary_status heads_join(const struct heads *past, struct heads *heads, rotary_error *error);
/* Writes to tensor.label in the layout. */
ROTARY_CHECKED rotary_status heads_write(const struct heads *heads, rotary_error *error);
void heads_free(struct heads *heads);

#endif
