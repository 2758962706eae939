/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface to oneDNN: GEMMs, each a block of a matmul that runs on one thread, planned once and run by
 * any worker. Only the matmul files of this module call these. Functions that return `int` return oneDNN's
 * status: 0 is success.
 */
#ifndef ROTARY_BACKEND_ONEDNN_H
#define ROTARY_BACKEND_ONEDNN_H

#include <rotary/types.h>

enum gemm_epilogue {
    GEMM_EPILOGUE_NONE,
    GEMM_EPILOGUE_RELU,
    GEMM_EPILOGUE_SUM /* adds to the destination */
};

/* gemm_shape.weights_row of packed weights. */
enum { GEMM_WEIGHT_PANEL = 0, GEMM_VNNI = -1 };

/* What a GEMM computes, and all that it is planned from:
 *     destination[rows, columns] = epilogue(source[rows, inner] weights[inner, columns] + bias)
 * with f32 sums. Strides are in elements. All members have one type, so that shapes compare as bytes. */
struct gemm_shape {
    int64_t rows, columns, inner;
    int64_t source_row, source_column; /* strides; one of them is 1 */
    int64_t weights_row;               /* stride; GEMM_WEIGHT_PANEL: a panel; GEMM_VNNI: in the strips of
                                          struct layer_row (layer_kernels.h), bf16 packed by pack_vnni */
    int64_t destination_row;           /* stride */
    int64_t type, destination_type;    /* rotary_dtype; type: of source and weights */
    int64_t bias;                      /* 1 or 0: whether there is one */
    int64_t epilogue;                  /* enum gemm_epilogue */
};

/* The GEMMs planned so far, and what each worker needs to run one. */
struct gemms;
struct gemm;

/* Caps oneDNN at `isa`, if this is its first use in the process. */
ROTARY_CHECKED rotary_status gemms_create(struct gemms **gemms, int threads, rotary_isa isa,
                                          rotary_error *error);
void gemms_destroy(struct gemms *gemms);
/* The instruction set that bf16 GEMMs use: AMX or AVX512BF16; SCALAR where none is made for bf16. */
rotary_isa gemm_bf16_isa(void);
/* How many of them run oneDNN's reference implementation, which is very slow. */
int64_t gemms_reference(const struct gemms *gemms);
int64_t gemms_planned(const struct gemms *gemms);
/* "oneDNN 2.6.3, avx512_core_amx": the linked version and the instruction set it uses. */
void gemm_library(char *text, size_t bytes);

enum { GEMM_NO_MEMORY = 1 }; /* oneDNN's status for it */

/* Fills in `error` for oneDNN's `status`, the result of `what`. */
rotary_status gemm_fail(rotary_error *error, int status, const char *what);

/* A packed weight panel: [inner, columns] of a weight, in the layout that oneDNN prefers for its GEMMs. All
 * panels of a shape share a plan. */
struct panel_plan;
struct panel;
struct panel_shape {
    rotary_dtype dtype;
    int64_t inner, columns;
    bool transposed;    /* the f32 source is [columns, inner], else [inner, columns] */
    int64_t source_row; /* stride of the source's rows */
};
int panel_plan_create(struct panel_plan **plan, const struct gemms *gemms, const struct panel_shape *panel);
void panel_plan_destroy(struct panel_plan *plan);
size_t panel_plan_bytes(const struct panel_plan *plan);
/* Whether the layout is that of GEMM_VNNI. */
bool panel_plan_has_strips(const struct panel_plan *plan, const struct panel_shape *panel);
/* data of panel_plan_bytes, zeroed, aligned to ROTARY_ALIGNMENT, is borrowed. */
int panel_create(struct panel **panel, const struct gemms *gemms, const struct panel_plan *plan, void *data);
void panel_destroy(struct panel *panel);
int panel_fill(const struct panel *panel, const struct gemms *gemms, int worker, const float *source);

/* The GEMM of a shape, planned at the first request. `panels`: the plan of its packed weight panels; NULL:
 * its weights are not panels. */
int gemm_find(struct gemms *gemms, const struct gemm **gemm, const struct gemm_shape *shape,
              const struct panel_plan *panels);
/* How oneDNN would run the GEMM of a shape. */
enum gemm_support { GEMM_UNSUPPORTED, GEMM_REFERENCE, GEMM_OPTIMIZED };
enum gemm_support gemm_probe(const struct gemms *gemms, const struct gemm_shape *shape);

struct gemm_operands {
    const void *source, *weights;
    const struct panel *panel; /* read instead of `weights`; NULL: none */
    const float *bias;
    void *destination;
};
int gemm_run(const struct gemms *gemms, const struct gemm *gemm, int worker,
             const struct gemm_operands *operands);

#endif
