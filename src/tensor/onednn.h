/* SPDX-License-Identifier: Apache-2.0
 *
 * The door to oneDNN: products small enough for one thread, planned once and run by any worker. Only matmul.c
 * calls these. Where a plain `int` tells of failure it is oneDNN's status: 0 is success.
 */
#ifndef ROTARY_TENSOR_ONEDNN_H
#define ROTARY_TENSOR_ONEDNN_H

#include <rotary/types.h>

enum gemm_epilogue {
    GEMM_EPILOGUE_NONE,
    GEMM_EPILOGUE_RELU,
    GEMM_EPILOGUE_SUM /* to what the destination holds */
};

enum { GEMM_PACKED = 0, GEMM_VNNI = -1 };

/* Everything a piece is planned from: destination[rows, columns] = finish(source[rows, inner] weights[inner,
 * columns] + bias), sums in f32. All members are of one type, so that shapes compare as bytes. */
struct gemm_shape {
    int64_t rows, columns, inner;
    int64_t source_row, source_column; /* strides; one of them is 1 */
    int64_t weights_row; /* stride; PIECE_PACKED: a panel; PIECE_INTERLEAVED: kernel/layer/layer_kernels.h */
    int64_t destination_row; /* stride */
    int64_t type;            /* rotary_dtype of source and weights */
    int64_t destination_type;
    int64_t bias; /* whether there is one */
    int64_t epilogue;
};

/* The pieces seen so far, and what each worker needs to run one. */
struct gemms;
struct gemm;

/* Caps oneDNN at `isa`, if this is its first use in the process. */
ROTARY_CHECKED rotary_status gemms_create(struct gemms **gemms, int threads, rotary_isa isa,
                                          rotary_error *error);
void gemms_destroy(struct gemms *gemms);
bool gemm_bf16_is_fast(void);
/* How many pieces run oneDNN's reference code: correct, and very slow. */
int64_t gemms_reference(const struct gemms *gemms);
/* "oneDNN 2.6.3, avx512_core_amx": what is linked, and the instruction set it computes with. */
void gemm_library(char *text, size_t bytes);

/* oneDNN plans for as many threads as OpenMP would start, and runs so too outside of parallel regions.
 * Between begin and end that is one; end takes what begin gave. */
int gemm_serial_begin(void);
void gemm_serial_end(int threads);

enum { GEMM_NO_MEMORY = 1 }; /* oneDNN's status for it */

/* Fills in `error` for oneDNN's `status`, which came of trying `what`. */
rotary_status gemm_fail(rotary_error *error, int status, const char *what);

/* A panel of a weight: [inner, columns] in the layout that pieces of this shape want. */
struct panel_plan;
struct panel;
/* A plan serves every panel of a width. `transposed`: the f32 source is [columns, inner]; source_row is the
 * stride of its rows. */
int panel_plan_create(struct panel_plan **plan, const struct gemms *gemms, rotary_dtype dtype, int64_t inner,
                      int64_t columns, bool transposed, int64_t source_row);
void panel_plan_destroy(struct panel_plan *plan);
size_t panel_plan_bytes(const struct panel_plan *plan);
/* data of panel_plan_bytes, zeroed, aligned to ROTARY_ALIGNMENT, is borrowed. */
int panel_create(struct panel **panel, const struct gemms *gemms, const struct panel_plan *plan, void *data);
void panel_destroy(struct panel *panel);
int panel_fill(const struct panel *panel, const struct gemms *gemms, int worker, const float *source);

/* The piece of a shape, planned now if it has not been seen; `panels` is the plan of its weights, NULL if
 * they are not packed. */
int gemm_find(struct gemms *gemms, const struct gemm **gemm, const struct gemm_shape *shape,
              const struct panel_plan *panels);
/* What oneDNN has for a piece, without planning it: nothing, its reference code, better. */
enum gemm_support { GEMM_UNSUPPORTED, GEMM_REFERENCE, GEMM_OPTIMIZED };
enum gemm_support gemm_probe(const struct gemms *gemms, const struct gemm_shape *shape);
/* Runs it. Weights are a panel's or, where panel is NULL, at `weights`. */
int gemm_run(const struct gemms *gemms, const struct gemm *gemm, int worker, const void *source,
             const void *weights, const struct panel *panel, const float *bias, void *destination);

#endif
