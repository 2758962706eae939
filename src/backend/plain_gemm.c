/* SPDX-License-Identifier: Apache-2.0
 *
 * In the place of onednn.c, in a program that is built without oneDNN: GEMMs as plain loops, right and slow.
 * A packed weight panel is [inner, columns], row by row.
 */
#include "backend/onednn.h"

#include "base/arena.h"
#include "base/element.h"
#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gemm {
    struct gemm_shape shape;
    struct gemm *next;
};

struct gemms {
    struct gemm *planned;
};

struct panel_plan {
    struct panel_shape shape;
};

struct panel {
    const struct panel_plan *plan;
    void *data;
};

enum { DONE = 0, UNSUPPORTED = 3 /* oneDNN's status for it is another one; no one asks which */ };

rotary_status gemm_fail(rotary_error *error, int status, const char *what)
{
    if (status == GEMM_NO_MEMORY)
        return rotary_fail_memory(error, "for %s", what);
    return rotary_fail(error, ROTARY_UNSUPPORTED, "%s needs oneDNN, which this program is built without",
                       what);
}

rotary_isa gemm_bf16_isa(void)
{
    return ROTARY_ISA_SCALAR;
}

void gemm_library(char *text, size_t bytes)
{
    snprintf(text, bytes, "plain loops, without oneDNN");
}

/* ---- The GEMMs asked for. ---- */

rotary_status gemms_create(struct gemms **gemms, int threads, rotary_isa isa, rotary_error *error)
{
    (void)threads;
    (void)isa;
    struct gemms *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for matmuls");
    *gemms = made;
    return ROTARY_OK;
}

void gemms_destroy(struct gemms *gemms)
{
    if (!gemms)
        return;
    while (gemms->planned) {
        struct gemm *gemm = gemms->planned;
        gemms->planned = gemm->next;
        free(gemm);
    }
    free(gemms);
}

int64_t gemms_planned(const struct gemms *gemms)
{
    int64_t count = 0;
    for (const struct gemm *gemm = gemms->planned; gemm; gemm = gemm->next)
        count++;
    return count;
}

/* None is of oneDNN. */
int64_t gemms_reference(const struct gemms *gemms)
{
    (void)gemms;
    return 0;
}

enum gemm_support gemm_probe(const struct gemms *gemms, const struct gemm_shape *shape)
{
    (void)gemms;
    if (shape->weights_row == GEMM_VNNI)
        return GEMM_UNSUPPORTED;
    return shape->type == ROTARY_BF16 ? GEMM_REFERENCE : GEMM_OPTIMIZED;
}

int gemm_find(struct gemms *gemms, const struct gemm **found, const struct gemm_shape *shape,
              const struct panel_plan *panels)
{
    (void)panels;
    if (shape->weights_row == GEMM_VNNI)
        return UNSUPPORTED;
    for (const struct gemm *gemm = gemms->planned; gemm; gemm = gemm->next)
        if (memcmp(&gemm->shape, shape, sizeof *shape) == 0) {
            *found = gemm;
            return DONE;
        }
    struct gemm *made = malloc(sizeof *made);
    if (!made)
        return GEMM_NO_MEMORY;
    *made = (struct gemm){.shape = *shape, .next = gemms->planned};
    gemms->planned = made;
    *found = made;
    return DONE;
}

/* ---- A GEMM. ---- */

enum { TILE = 64 }; /* columns whose sums are kept at once */

/* sums[0 ... count) += x * row[0 ... count) */
static void add_row(float sums[TILE], float x, const void *row, int64_t type, int64_t count)
{
    if (type == ROTARY_BF16)
        for (int64_t i = 0; i < count; i++)
            sums[i] += x * rotary_bf16_to_float(((const uint16_t *)row)[i]);
    else
        for (int64_t i = 0; i < count; i++)
            sums[i] += x * ((const float *)row)[i];
}

static void store(const struct gemm_shape *shape, const float sums[TILE], int64_t count, void *to)
{
    for (int64_t i = 0; i < count; i++) {
        float x = sums[i];
        if (shape->epilogue == GEMM_EPILOGUE_SUM)
            x += rotary_element(to, i, (rotary_dtype)shape->destination_type);
        if (shape->epilogue == GEMM_EPILOGUE_RELU && !(x > 0.0f))
            x = 0.0f;
        rotary_set_element(to, i, (rotary_dtype)shape->destination_type, x);
    }
}

static void multiply(const struct gemm_shape *shape, const struct gemm_operands *operands, int64_t row,
                     int64_t column)
{
    const size_t size = rotary_dtype_size((rotary_dtype)shape->type),
                 to_size = rotary_dtype_size((rotary_dtype)shape->destination_type);
    const int64_t left = shape->columns - column, count = left < TILE ? left : TILE,
                  stride = operands->panel ? shape->columns : shape->weights_row;
    const char *weights = operands->panel ? operands->panel->data : operands->weights;
    float sums[TILE] = {0};
    if (operands->bias)
        memcpy(sums, operands->bias + column, (size_t)count * sizeof *sums);
    for (int64_t k = 0; k < shape->inner; k++)
        add_row(sums,
                rotary_element(operands->source, row * shape->source_row + k * shape->source_column,
                               (rotary_dtype)shape->type),
                weights + (size_t)(k * stride + column) * size, shape->type, count);
    store(shape, sums, count,
          (char *)operands->destination + (size_t)(row * shape->destination_row + column) * to_size);
}

int gemm_run(const struct gemms *gemms, const struct gemm *gemm, int worker,
             const struct gemm_operands *operands)
{
    (void)gemms;
    (void)worker;
    for (int64_t row = 0; row < gemm->shape.rows; row++)
        for (int64_t column = 0; column < gemm->shape.columns; column += TILE)
            multiply(&gemm->shape, operands, row, column);
    return DONE;
}

/* ---- Packed weight panels. ---- */

int panel_plan_create(struct panel_plan **plan, const struct gemms *gemms, const struct panel_shape *panel)
{
    (void)gemms;
    struct panel_plan *made = malloc(sizeof *made);
    if (!made)
        return GEMM_NO_MEMORY;
    made->shape = *panel;
    *plan = made;
    return DONE;
}

void panel_plan_destroy(struct panel_plan *plan)
{
    free(plan);
}

size_t panel_plan_bytes(const struct panel_plan *plan)
{
    const struct panel_shape *shape = &plan->shape;
    return rotary_align((size_t)(shape->inner * shape->columns) * rotary_dtype_size(shape->dtype));
}

bool panel_plan_has_strips(const struct panel_plan *plan, const struct panel_shape *panel)
{
    (void)plan;
    (void)panel;
    return false;
}

int panel_create(struct panel **panel, const struct gemms *gemms, const struct panel_plan *plan, void *data)
{
    (void)gemms;
    struct panel *made = malloc(sizeof *made);
    if (!made)
        return GEMM_NO_MEMORY;
    *made = (struct panel){.plan = plan, .data = data};
    *panel = made;
    return DONE;
}

void panel_destroy(struct panel *panel)
{
    free(panel);
}

int panel_fill(const struct panel *panel, const struct gemms *gemms, int worker, const float *source)
{
    (void)gemms;
    (void)worker;
    const struct panel_shape *shape = &panel->plan->shape;
    for (int64_t k = 0; k < shape->inner; k++)
        for (int64_t column = 0; column < shape->columns; column++) {
            const float x =
                source[shape->transposed ? column * shape->source_row + k : k * shape->source_row + column];
            rotary_set_element(panel->data, k * shape->columns + column, shape->dtype, x);
        }
    return DONE;
}
