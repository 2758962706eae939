/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors of heads as programs lay them out. Commands compute on [batch, time, heads, channels]; a file may
 * have its axes in another order, and gets its result in the order it has.
 */
#ifndef ROTARY_CLI_HEADS_H
#define ROTARY_CLI_HEADS_H

#include "cli/arguments.h"
#include "cli/tensor.h"

enum heads_layout {
    HEADS_AFTER_TIME,  /* [T, H, D], [B, T, H, D] */
    HEADS_BEFORE_TIME, /* [H, T, D], [B, H, T, D] */
    HEADS_FLAT,        /* [T, H * D], [B, T, H * D] */
};
extern const char *const heads_layouts[]; /* of enum heads_layout */

/* The row of --layout, for a command's table: `member` is an option_integer in its struct. */
#define HEADS_LAYOUT_OPTION(structure, member)                                                               \
    {                                                                                                        \
        "--layout", OPTION_CHOICE, "NAME", offsetof(structure, member),                                      \
            .choices = heads_layouts,                                                                        \
            .help = "order of the axes in the files: time [B, T, H, D]; heads [B, H, T, D], as PyTorch's "   \
                    "scaled_dot_product_attention and ONNX have it; flat [B, T, H * D], which wants the "    \
                    "number of heads; each also without B (default: time)"                                   \
    }

struct heads {
    struct tensor tensor; /* type and shape as in the file; values [batch, time, heads, channels] */
    enum heads_layout layout;
    bool batched;
    int64_t batch, time, heads, channels;
};

/* What a tensor is to look like, for a sentence: "[2, S, G, 64]" in the order of its layout. */
struct heads_names {
    const char *batch, *time, *heads, *channels; /* batch NULL: none */
};
/* A number as text, for the sizes of a sentence. */
struct digits {
    char text[24];
};
struct digits digits(int64_t number);
/* LABEL has shape [3], wanted [2, S, G, 64]MORE, to go with PARTNER */
rotary_status heads_refuse(const struct heads *heads, const struct heads_names *names, const char *more,
                           const struct heads *partner, rotary_error *error);

/* What will do as well: [T, D], one head; no tokens. */
enum heads_also { HEADS_ALSO_NOTHING, HEADS_ALSO_PLAIN, HEADS_ALSO_EMPTY };
/* Reads `label`, which must hold numbers of floating point, none of its sizes 0. `count`: heads of a flat
 * tensor, otherwise not read. `names`: how the sentence calls the sizes. heads_free gives the memory back. */
ROTARY_CHECKED rotary_status heads_read(const char *label, enum heads_layout layout, int64_t count,
                                        enum heads_also also, const struct heads_names *names,
                                        struct heads *heads, rotary_error *error);
/* Zeros, [like->batch, time, heads, channels], to be written to `label` in the layout and the type of `like`.
 */
ROTARY_CHECKED rotary_status heads_make(const char *label, const struct heads *like, int64_t time,
                                        int64_t heads, int64_t channels, struct heads *made,
                                        rotary_error *error);
/* Gives the tensor the shape that its sizes have in a layout; the values keep their order. */
void heads_lay_out(struct heads *heads, enum heads_layout layout);
/* Puts `past` before `heads`, along time: sizes but that one must agree, and `label` is in sentences. */
ROTARY_CHECKED rotary_status heads_join(const struct heads *past, struct heads *heads, rotary_error *error);
/* Writes tensor.label, in the layout. The values keep their order. */
ROTARY_CHECKED rotary_status heads_write(const struct heads *heads, rotary_error *error);
void heads_free(struct heads *heads);

#endif
