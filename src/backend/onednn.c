/* SPDX-License-Identifier: Apache-2.0
 *
 * The only file that includes oneDNN. Each GEMM is planned for one thread and runs with memory that the
 * caller provides.
 */
#include "backend/onednn.h"

#include "base/arena.h"
#include "base/fail.h"
#include "base/random.h"

#include <dnnl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The operands of a GEMM. */
enum operand { SOURCE, WEIGHTS, DESTINATION, BIAS, SCRATCH, OPERANDS };

/* ---- oneDNN 2 passes memory descriptors by value, oneDNN 3 by handle. ---- */

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t layout;

static const_dnnl_memory_desc_t layout_handle(const layout *l)
{
    return *l;
}

static dnnl_status_t layout_strided(layout *l, const dnnl_dims_t dims, dnnl_data_type_t type,
                                    const dnnl_dims_t strides)
{
    return dnnl_memory_desc_create_with_strides(l, 2, dims, type, strides);
}

static dnnl_status_t layout_any(layout *l, const dnnl_dims_t dims, dnnl_data_type_t type)
{
    return dnnl_memory_desc_create_with_tag(l, 2, dims, type, dnnl_format_tag_any);
}

static dnnl_status_t layout_strips(layout *l, const dnnl_dims_t dims, dnnl_data_type_t type)
{
    return dnnl_memory_desc_create_with_tag(l, 2, dims, type,
                                            type == dnnl_bf16 ? dnnl_BA16a64b2a : dnnl_BA16a64b);
}

static dnnl_status_t layout_copy(layout *l, const_dnnl_memory_desc_t from)
{
    return dnnl_memory_desc_clone(l, from);
}

static void layout_free(layout *l)
{
    dnnl_memory_desc_destroy(*l);
}

static dnnl_status_t plan_matmul(dnnl_primitive_desc_t *plan, dnnl_engine_t engine,
                                 const layout operands[BIAS + 1], bool bias, dnnl_primitive_attr_t attributes)
{
    return dnnl_matmul_primitive_desc_create(plan, engine, operands[SOURCE], operands[WEIGHTS],
                                             bias ? operands[BIAS] : NULL, operands[DESTINATION], attributes);
}

static dnnl_status_t append_sum(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_sum(operations, 1.0f, 0, dnnl_data_type_undef);
}

static dnnl_status_t append_relu(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_eltwise(operations, dnnl_eltwise_relu, 0.0f, 0.0f);
}
#else
typedef dnnl_memory_desc_t layout;

static const dnnl_memory_desc_t *layout_handle(const layout *l)
{
    return l;
}

static dnnl_status_t layout_strided(layout *l, const dnnl_dims_t dims, dnnl_data_type_t type,
                                    const dnnl_dims_t strides)
{
    return dnnl_memory_desc_init_by_strides(l, 2, dims, type, strides);
}

static dnnl_status_t layout_any(layout *l, const dnnl_dims_t dims, dnnl_data_type_t type)
{
    return dnnl_memory_desc_init_by_tag(l, 2, dims, type, dnnl_format_tag_any);
}

static dnnl_status_t layout_strips(layout *l, const dnnl_dims_t dims, dnnl_data_type_t type)
{
    return dnnl_memory_desc_init_by_tag(l, 2, dims, type,
                                        type == dnnl_bf16 ? dnnl_BA16a64b2a : dnnl_BA16a64b);
}

static dnnl_status_t layout_copy(layout *l, const dnnl_memory_desc_t *from)
{
    *l = *from;
    return dnnl_success;
}

static void layout_free(layout *l)
{
    (void)l;
}

static dnnl_status_t plan_matmul(dnnl_primitive_desc_t *plan, dnnl_engine_t engine,
                                 const layout operands[BIAS + 1], bool bias, dnnl_primitive_attr_t attributes)
{
    dnnl_matmul_desc_t description;
    dnnl_status_t status = dnnl_matmul_desc_init(&description, &operands[SOURCE], &operands[WEIGHTS],
                                                 bias ? &operands[BIAS] : NULL, &operands[DESTINATION]);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(plan, &description, attributes, engine, NULL);
    return status;
}

static dnnl_status_t append_sum(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_sum(operations, 1.0f);
}

static dnnl_status_t append_relu(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_eltwise(operations, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
}
#endif

/* ---- What all GEMMs share. ---- */

/* Rows of the GEMM that a panel's layout is chosen for. oneDNN chooses the same layout for fewer rows. */
enum { PANEL_ROWS = 256 };

_Static_assert(GEMM_NO_MEMORY == (int)dnnl_out_of_memory, "the value of oneDNN's own status");

struct gemm {
    struct gemm_shape shape;
    dnnl_primitive_t primitive;
    dnnl_memory_t (*memory)[OPERANDS]; /* [threads]; set to the operands before each run */
    bool reference;
    struct gemm *next;
};

enum { BUCKETS = 256 };

struct gemms {
    dnnl_engine_t engine;
    dnnl_stream_t *streams; /* [threads] */
    int threads;
    struct gemm *planned[BUCKETS]; /* lists of those whose shapes have this hash modulo BUCKETS */
    unsigned char *scratch;        /* [threads][scratch_bytes] */
    size_t scratch_bytes;
};

struct panel_plan {
    layout layout, source;
    int layouts; /* how many of the two are initialised */
    dnnl_primitive_t fill;
};

struct panel {
    const struct panel_plan *plan;
    dnnl_memory_t memory, source;
};

rotary_status gemm_fail(rotary_error *error, int status, const char *what)
{
    if (status == GEMM_NO_MEMORY)
        return rotary_fail_memory(error, "for %s", what);
    return rotary_fail(error, ROTARY_UNSUPPORTED, "oneDNN %d.%d failed at %s with status %d",
                       DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, what, status);
}

/* oneDNN plans for, and runs on, as many threads as OpenMP would start in the calling thread. It is to be
 * one: the threads are ours (base/threads.h), and no thread of this program calls OpenMP for anything else.
 */
static void use_this_thread_alone(void)
{
    omp_set_num_threads(1);
}

int64_t gemms_reference(const struct gemms *gemms)
{
    int64_t count = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (const struct gemm *gemm = gemms->planned[i]; gemm; gemm = gemm->next)
            count += gemm->reference;
    return count;
}

int64_t gemms_planned(const struct gemms *gemms)
{
    int64_t count = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (const struct gemm *gemm = gemms->planned[i]; gemm; gemm = gemm->next)
            count++;
    return count;
}

static dnnl_data_type_t type_of(int64_t dtype)
{
    return dtype == ROTARY_BF16 ? dnnl_bf16 : dnnl_f32;
}

static void *writable(const void *data)
{
    return (void *)(uintptr_t)data; /* oneDNN takes no pointers to const */
}

#if defined(ROTARY_HAVE_X86)
static void cap(rotary_isa isa)
{
    static const dnnl_cpu_isa_t caps[] = {[ROTARY_ISA_SCALAR] = dnnl_cpu_isa_sse41,
                                          [ROTARY_ISA_AVX2] = dnnl_cpu_isa_avx2,
                                          [ROTARY_ISA_AVX512] = dnnl_cpu_isa_avx512_core,
                                          [ROTARY_ISA_AVX512BF16] = dnnl_cpu_isa_avx512_core_bf16};
    /* The best `isa` of this processor is not a cap: oneDNN may then use further extensions, such as AVX-512
     * VNNI. */
    bool best = isa == ROTARY_ISA_AMX ||
                (isa == ROTARY_ISA_AVX512BF16 && !rotary_isa_available(ROTARY_ISA_AMX)) ||
                (isa == ROTARY_ISA_AVX512 && !rotary_isa_available(ROTARY_ISA_AVX512BF16));
    if (!best)
        dnnl_set_max_cpu_isa(caps[isa]); /* has no effect after oneDNN's first use (onednn.h) */
}

static bool uses(dnnl_cpu_isa_t isa)
{
    return (dnnl_get_effective_cpu_isa() & isa) == isa; /* each value contains the bits of those below it */
}

rotary_isa gemm_bf16_isa(void)
{
    if (uses(dnnl_cpu_isa_avx512_core_amx))
        return ROTARY_ISA_AMX;
    return uses(dnnl_cpu_isa_avx512_core_bf16) ? ROTARY_ISA_AVX512BF16 : ROTARY_ISA_SCALAR;
}

static const char *instruction_set(void)
{
    static const struct {
        dnnl_cpu_isa_t isa;
        const char *name;
    } names[] = {
        {dnnl_cpu_isa_sse41, "sse41"},
        {dnnl_cpu_isa_avx, "avx"},
        {dnnl_cpu_isa_avx2, "avx2"},
        {dnnl_cpu_isa_avx512_core, "avx512_core"},
        {dnnl_cpu_isa_avx512_core_vnni, "avx512_core_vnni"},
        {dnnl_cpu_isa_avx512_core_bf16, "avx512_core_bf16"},
        {dnnl_cpu_isa_avx512_core_amx, "avx512_core_amx"},
    };
    const char *name = "generic code";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (uses(names[i].isa))
            name = names[i].name;
    return name;
}
#else
static void cap(rotary_isa isa)
{
    (void)isa;
}

rotary_isa gemm_bf16_isa(void)
{
    return ROTARY_ISA_SCALAR;
}

static const char *instruction_set(void)
{
    return "instruction set not reported";
}
#endif

void gemm_library(char *text, size_t bytes)
{
    const dnnl_version_t *version = dnnl_version();
    snprintf(text, bytes, "oneDNN %d.%d.%d, %s", version->major, version->minor, version->patch,
             instruction_set());
}

rotary_status gemms_create(struct gemms **gemms, int threads, rotary_isa isa, rotary_error *error)
{
    cap(isa);
    struct gemms *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for matmuls");
    made->threads = threads;
    made->streams = calloc((size_t)threads, sizeof(dnnl_stream_t));
    dnnl_status_t status =
        made->streams ? dnnl_engine_create(&made->engine, dnnl_cpu, 0) : dnnl_out_of_memory;
    for (int worker = 0; status == dnnl_success && worker < threads; worker++)
        status = dnnl_stream_create(&made->streams[worker], made->engine, dnnl_stream_default_flags);
    if (status != dnnl_success) {
        gemms_destroy(made);
        return gemm_fail(error, (int)status, "setting up");
    }
    *gemms = made;
    return ROTARY_OK;
}

static void gemm_destroy(struct gemm *gemm, int threads)
{
    for (int worker = 0; gemm->memory && worker < threads; worker++)
        for (int i = 0; i < OPERANDS; i++)
            if (gemm->memory[worker][i])
                dnnl_memory_destroy(gemm->memory[worker][i]);
    free(gemm->memory);
    if (gemm->primitive)
        dnnl_primitive_destroy(gemm->primitive);
    free(gemm);
}

void gemms_destroy(struct gemms *gemms)
{
    if (!gemms)
        return;
    for (int i = 0; i < BUCKETS; i++)
        while (gemms->planned[i]) {
            struct gemm *gemm = gemms->planned[i];
            gemms->planned[i] = gemm->next;
            gemm_destroy(gemm, gemms->threads);
        }
    for (int worker = 0; gemms->streams && worker < gemms->threads; worker++)
        if (gemms->streams[worker])
            dnnl_stream_destroy(gemms->streams[worker]);
    free(gemms->streams);
    if (gemms->engine)
        dnnl_engine_destroy(gemms->engine);
    free(gemms->scratch);
    free(gemms);
}

/* ---- GEMMs. ---- */

static dnnl_status_t gemm_attributes(dnnl_primitive_attr_t *attributes, int64_t epilogue)
{
    dnnl_post_ops_t operations = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(attributes);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(*attributes, dnnl_scratchpad_mode_user);
    if (status == dnnl_success)
        status = dnnl_post_ops_create(&operations);
    if (status == dnnl_success && epilogue == GEMM_EPILOGUE_SUM)
        status = append_sum(operations);
    if (status == dnnl_success && epilogue == GEMM_EPILOGUE_RELU)
        status = append_relu(operations);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(*attributes, operations);
    if (operations)
        dnnl_post_ops_destroy(operations);
    return status;
}

struct gemm_layouts {
    layout operand[BIAS + 1];
    int made;
};

static dnnl_status_t gemm_layouts(struct gemm_layouts *l, const struct gemm_shape *shape,
                                  const layout *panel_layout)
{
    const dnnl_dims_t source = {shape->rows, shape->inner}, weights = {shape->inner, shape->columns},
                      destination = {shape->rows, shape->columns}, bias = {1, shape->columns},
                      source_strides = {shape->source_row, shape->source_column},
                      weights_strides = {shape->weights_row, 1},
                      destination_strides = {shape->destination_row, 1}, bias_strides = {shape->columns, 1};
    dnnl_data_type_t type = type_of(shape->type);
    dnnl_status_t status = layout_strided(&l->operand[SOURCE], source, type, source_strides);
    l->made += status == dnnl_success;
    if (status == dnnl_success && panel_layout)
        status = layout_copy(&l->operand[WEIGHTS], layout_handle(panel_layout));
    else if (status == dnnl_success && shape->weights_row == GEMM_WEIGHT_PANEL)
        status = layout_any(&l->operand[WEIGHTS], weights, type);
    else if (status == dnnl_success && shape->weights_row == GEMM_VNNI)
        status = layout_strips(&l->operand[WEIGHTS], weights, type);
    else if (status == dnnl_success)
        status = layout_strided(&l->operand[WEIGHTS], weights, type, weights_strides);
    l->made += status == dnnl_success;
    if (status == dnnl_success)
        status = layout_strided(&l->operand[DESTINATION], destination, type_of(shape->destination_type),
                                destination_strides);
    l->made += status == dnnl_success;
    if (status == dnnl_success)
        status = layout_strided(&l->operand[BIAS], bias, dnnl_f32, bias_strides);
    l->made += status == dnnl_success;
    return status;
}

/* Plans the GEMM of a shape. `panel_layout` is the layout of the weights. NULL: shape->weights_row determines
 * it, and for GEMM_WEIGHT_PANEL oneDNN chooses. */
static dnnl_status_t gemm_plan(dnnl_primitive_desc_t *plan, struct gemm_layouts *l, dnnl_engine_t engine,
                               const struct gemm_shape *shape, const layout *panel_layout)
{
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_status_t status = gemm_layouts(l, shape, panel_layout);
    if (status == dnnl_success)
        status = gemm_attributes(&attributes, shape->epilogue);
    if (status == dnnl_success)
        status = plan_matmul(plan, engine, l->operand, shape->bias != 0, attributes);
    if (attributes)
        dnnl_primitive_attr_destroy(attributes);
    return status;
}

static void gemm_layouts_free(struct gemm_layouts *l)
{
    for (int i = 0; i < l->made; i++)
        layout_free(&l->operand[i]);
}

static dnnl_status_t reserve_scratch(struct gemms *gemms, size_t bytes)
{
    bytes = rotary_align(bytes);
    if (bytes <= gemms->scratch_bytes)
        return dnnl_success;
    unsigned char *scratch = aligned_alloc(ROTARY_ALIGNMENT, bytes * (size_t)gemms->threads);
    if (!scratch)
        return dnnl_out_of_memory;
    free(gemms->scratch);
    gemms->scratch = scratch;
    gemms->scratch_bytes = bytes;
    return dnnl_success;
}

static bool is_reference(const_dnnl_primitive_desc_t plan)
{
    const char *name = "";
    dnnl_primitive_desc_query(plan, dnnl_query_impl_info_str, 0, (void *)&name);
    return strncmp(name, "ref", 3) == 0;
}

enum gemm_support gemm_probe(const struct gemms *gemms, const struct gemm_shape *shape)
{
    struct gemm_layouts layouts = {0};
    dnnl_primitive_desc_t plan = NULL;
    enum gemm_support support = GEMM_UNSUPPORTED;
    use_this_thread_alone();
    if (gemm_plan(&plan, &layouts, gemms->engine, shape, NULL) == dnnl_success)
        support = is_reference(plan) ? GEMM_REFERENCE : GEMM_OPTIMIZED;
    if (plan)
        dnnl_primitive_desc_destroy(plan);
    gemm_layouts_free(&layouts);
    return support;
}

static dnnl_status_t gemm_make(struct gemms *gemms, struct gemm *gemm, const layout *panel_layout)
{
    struct gemm_layouts layouts = {0};
    dnnl_primitive_desc_t plan = NULL;
    use_this_thread_alone();
    dnnl_status_t status = gemm_plan(&plan, &layouts, gemms->engine, &gemm->shape, panel_layout);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&gemm->primitive, plan);
    if (status == dnnl_success && !(gemm->memory = calloc((size_t)gemms->threads, sizeof *gemm->memory)))
        status = dnnl_out_of_memory;
    for (int worker = 0; status == dnnl_success && worker < gemms->threads; worker++)
        for (int i = 0; status == dnnl_success && i < OPERANDS; i++) {
            if (i == WEIGHTS && panel_layout)
                continue; /* a panel has its own */
            const void *handle =
                i == SCRATCH ? (const void *)dnnl_primitive_desc_query_md(plan, dnnl_query_scratchpad_md, 0)
                             : (const void *)layout_handle(&layouts.operand[i]);
            status = dnnl_memory_create(&gemm->memory[worker][i], handle, gemms->engine, DNNL_MEMORY_NONE);
        }
    if (status == dnnl_success)
        status = reserve_scratch(gemms, dnnl_memory_desc_get_size(
                                            dnnl_primitive_desc_query_md(plan, dnnl_query_scratchpad_md, 0)));
    if (status == dnnl_success)
        gemm->reference = is_reference(plan);
    if (plan)
        dnnl_primitive_desc_destroy(plan);
    gemm_layouts_free(&layouts);
    return status;
}

int gemm_find(struct gemms *gemms, const struct gemm **found, const struct gemm_shape *shape,
              const struct panel_plan *panels)
{
    struct gemm **bucket = &gemms->planned[rotary_hash(shape, sizeof *shape) % BUCKETS];
    for (const struct gemm *gemm = *bucket; gemm; gemm = gemm->next)
        if (memcmp(&gemm->shape, shape, sizeof *shape) == 0) {
            *found = gemm;
            return dnnl_success;
        }
    struct gemm *gemm = calloc(1, sizeof *gemm);
    if (!gemm)
        return dnnl_out_of_memory;
    gemm->shape = *shape;
    dnnl_status_t status = gemm_make(gemms, gemm, panels ? &panels->layout : NULL);
    if (status != dnnl_success) {
        gemm_destroy(gemm, gemms->threads);
        return (int)status;
    }
    gemm->next = *bucket;
    *bucket = gemm;
    *found = gemm;
    return dnnl_success;
}

int gemm_run(const struct gemms *gemms, const struct gemm *gemm, int worker,
             const struct gemm_operands *operands)
{
    dnnl_memory_t *memory = gemm->memory[worker];
    use_this_thread_alone();
    dnnl_status_t status = dnnl_memory_set_data_handle(memory[SOURCE], writable(operands->source));
    if (status == dnnl_success && !operands->panel)
        status = dnnl_memory_set_data_handle(memory[WEIGHTS], writable(operands->weights));
    if (status == dnnl_success)
        status = dnnl_memory_set_data_handle(memory[DESTINATION], operands->destination);
    if (status == dnnl_success && operands->bias)
        status = dnnl_memory_set_data_handle(memory[BIAS], writable(operands->bias));
    if (status == dnnl_success)
        status = dnnl_memory_set_data_handle(memory[SCRATCH],
                                             gemms->scratch + (size_t)worker * gemms->scratch_bytes);
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, memory[SOURCE]},
        {DNNL_ARG_WEIGHTS, operands->panel ? operands->panel->memory : memory[WEIGHTS]},
        {DNNL_ARG_DST, memory[DESTINATION]},
        {DNNL_ARG_SCRATCHPAD, memory[SCRATCH]},
        {DNNL_ARG_BIAS, memory[BIAS]}};
    if (status == dnnl_success)
        status = dnnl_primitive_execute(gemm->primitive, gemms->streams[worker], operands->bias ? 5 : 4,
                                        arguments);
    return (int)status;
}

/* ---- Packed weight panels. ---- */

int panel_plan_create(struct panel_plan **plan, const struct gemms *gemms, const struct panel_shape *panel)
{
    const struct gemm_shape shape = {.rows = PANEL_ROWS,
                                     .columns = panel->columns,
                                     .inner = panel->inner,
                                     .source_row = panel->inner,
                                     .source_column = 1,
                                     .destination_row = panel->columns,
                                     .type = panel->dtype,
                                     .destination_type = panel->dtype};
    const dnnl_dims_t dims = {panel->inner, panel->columns}, row_major_strides = {panel->source_row, 1},
                      transposed_strides = {1, panel->source_row};
    struct gemm_layouts layouts = {0};
    dnnl_primitive_desc_t matmul = NULL, fill = NULL;
    struct panel_plan *made = calloc(1, sizeof *made);
    if (!made)
        return dnnl_out_of_memory;
    use_this_thread_alone();
    dnnl_status_t status = gemm_plan(&matmul, &layouts, gemms->engine, &shape, NULL);
    if (status == dnnl_success)
        status = layout_copy(&made->layout, dnnl_primitive_desc_query_md(matmul, dnnl_query_weights_md, 0));
    made->layouts += status == dnnl_success;
    if (status == dnnl_success)
        status = layout_strided(&made->source, dims, dnnl_f32,
                                panel->transposed ? transposed_strides : row_major_strides);
    made->layouts += status == dnnl_success;
    if (status == dnnl_success)
        status = dnnl_reorder_primitive_desc_create(&fill, layout_handle(&made->source), gemms->engine,
                                                    layout_handle(&made->layout), gemms->engine, NULL);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&made->fill, fill);
    if (fill)
        dnnl_primitive_desc_destroy(fill);
    if (matmul)
        dnnl_primitive_desc_destroy(matmul);
    gemm_layouts_free(&layouts);
    if (status == dnnl_success)
        *plan = made;
    else
        panel_plan_destroy(made);
    return (int)status;
}

void panel_plan_destroy(struct panel_plan *plan)
{
    if (!plan)
        return;
    if (plan->fill)
        dnnl_primitive_destroy(plan->fill);
    if (plan->layouts > 0)
        layout_free(&plan->layout);
    if (plan->layouts > 1)
        layout_free(&plan->source);
    free(plan);
}

size_t panel_plan_bytes(const struct panel_plan *plan)
{
    return rotary_align(dnnl_memory_desc_get_size(layout_handle(&plan->layout)));
}

bool panel_plan_has_strips(const struct panel_plan *plan, const struct panel_shape *panel)
{
    layout strips;
    if (layout_strips(&strips, (dnnl_dims_t){panel->inner, panel->columns}, type_of(panel->dtype)) !=
        dnnl_success)
        return false;
    bool equal = dnnl_memory_desc_equal(layout_handle(&plan->layout), layout_handle(&strips)) != 0;
    layout_free(&strips);
    return equal;
}

int panel_create(struct panel **panel, const struct gemms *gemms, const struct panel_plan *plan, void *data)
{
    struct panel *made = calloc(1, sizeof *made);
    if (!made)
        return dnnl_out_of_memory;
    made->plan = plan;
    dnnl_status_t status =
        dnnl_memory_create(&made->memory, layout_handle(&plan->layout), gemms->engine, data);
    if (status == dnnl_success)
        status =
            dnnl_memory_create(&made->source, layout_handle(&plan->source), gemms->engine, DNNL_MEMORY_NONE);
    if (status == dnnl_success)
        *panel = made;
    else
        panel_destroy(made);
    return (int)status;
}

void panel_destroy(struct panel *panel)
{
    if (!panel)
        return;
    if (panel->memory)
        dnnl_memory_destroy(panel->memory);
    if (panel->source)
        dnnl_memory_destroy(panel->source);
    free(panel);
}

int panel_fill(const struct panel *panel, const struct gemms *gemms, int worker, const float *source)
{
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, panel->source}, {DNNL_ARG_TO, panel->memory}};
    use_this_thread_alone();
    dnnl_status_t status = dnnl_memory_set_data_handle(panel->source, writable(source));
    if (status == dnnl_success)
        status = dnnl_primitive_execute(panel->plan->fill, gemms->streams[worker], 2, arguments);
    return (int)status;
}
