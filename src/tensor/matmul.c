/* SPDX-License-Identifier: Apache-2.0
 *
 * A piece is a product small enough for one thread: a block of rows by a panel of columns, or a tile of a
 * weight's gradient by a chunk of rows. oneDNN plans each piece for one thread and runs it with memory that
 * is handed to it, so that any worker can run any piece at any time.
 */
#include "tensor/matmul.h"

#include "base/arena.h"
#include "base/fail.h"
#include "base/threads.h"

#include <dnnl.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROW_BLOCK = 256,          /* rows of a piece of product_run */
    PANEL_ALIGNMENT = 64,     /* columns oneDNN groups in its blocked layouts */
    PANEL_COLUMNS = 512,      /* at most in a piece of product_run, */
    PANEL_ELEMENTS = 1 << 18, /* and its weights take at most this, to stay in the second-level cache */
    TILE_LEFT = 256,          /* a piece of product_gradient: rows and columns of the gradient, */
    TILE_RIGHT = 512,
    TILE_CHUNK = 512,    /* and rows summed over */
    GROUP_ROWS = 2048,   /* rows summed into one partial gradient, at least */
    GRADIENT_ITEMS = 16, /* pieces of work wanted of a gradient */
    REDUCTION_BLOCK = 8192,
};

/* ---- The two generations of oneDNN's C interface. Version 2 has descriptors by value, version 3 by handle.
 * ---- */

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

static dnnl_status_t layout_copy(layout *l, const_dnnl_memory_desc_t from)
{
    return dnnl_memory_desc_clone(l, from);
}

static void layout_free(layout *l)
{
    dnnl_memory_desc_destroy(*l);
}

static dnnl_status_t plan_matmul(dnnl_primitive_desc_t *plan, dnnl_engine_t engine, const layout *source,
                                 const layout *weights, const layout *bias, const layout *destination,
                                 dnnl_primitive_attr_t attributes)
{
    return dnnl_matmul_primitive_desc_create(plan, engine, *source, *weights, bias ? *bias : NULL,
                                             *destination, attributes);
}

static dnnl_status_t append_sum(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_sum(operations, 1.0f, 0, dnnl_data_type_undef);
}

static dnnl_status_t append_activation(dnnl_post_ops_t operations, dnnl_alg_kind_t algorithm)
{
    return dnnl_post_ops_append_eltwise(operations, algorithm, 0.0f, 0.0f);
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

static dnnl_status_t layout_copy(layout *l, const dnnl_memory_desc_t *from)
{
    *l = *from;
    return dnnl_success;
}

static void layout_free(layout *l)
{
    (void)l;
}

static dnnl_status_t plan_matmul(dnnl_primitive_desc_t *plan, dnnl_engine_t engine, const layout *source,
                                 const layout *weights, const layout *bias, const layout *destination,
                                 dnnl_primitive_attr_t attributes)
{
    dnnl_matmul_desc_t description;
    dnnl_status_t status = dnnl_matmul_desc_init(&description, source, weights, bias, destination);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(plan, &description, attributes, engine, NULL);
    return status;
}

static dnnl_status_t append_sum(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_sum(operations, 1.0f);
}

static dnnl_status_t append_activation(dnnl_post_ops_t operations, dnnl_alg_kind_t algorithm)
{
    return dnnl_post_ops_append_eltwise(operations, 1.0f, algorithm, 0.0f, 0.0f);
}
#endif

/* ---- Small helpers. ---- */

enum operand { SOURCE, WEIGHTS, DESTINATION, BIAS, SCRATCH, OPERANDS };
enum finish {
    FINISH_PLAIN = PRODUCT_PLAIN,
    FINISH_RELU = PRODUCT_RELU,
    FINISH_GELU = PRODUCT_GELU,
    FINISH_SUM
};

/* Everything oneDNN plans a piece from; all members of one type, so that there is no padding and shapes
 * compare as bytes. destination[rows, columns] (+)= source[rows, inner] weights[inner, columns] (+ bias). */
struct shape {
    int64_t rows, columns, inner;
    int64_t source_row, source_column; /* strides */
    int64_t weights_row;               /* stride; 0: packed */
    int64_t destination_row;           /* stride */
    int64_t source_type, destination_type, bias, finish;
};

struct piece {
    struct shape shape;
    dnnl_primitive_t primitive;
    dnnl_memory_t (*memory)[OPERANDS]; /* [threads] */
    struct piece *next;
};

struct products {
    dnnl_engine_t engine;
    dnnl_stream_t *streams; /* [threads] */
    int threads;
    struct piece *pieces;
    unsigned char *scratch; /* [threads][scratch_bytes] */
    size_t scratch_bytes;
    float *partial; /* gradients of groups of rows, before they are summed */
    int64_t partial_count;
};

struct packed_weight {
    int64_t inner, columns, panel_columns;
    int panels;
    rotary_dtype dtype;
    bool transposed;
    size_t panel_bytes;
    unsigned char *data;      /* [panels][panel_bytes] */
    layout layouts[2];        /* of a full panel, of the last one */
    dnnl_primitive_t fill[2]; /* likewise: from the f32 source */
    dnnl_memory_t *memory;    /* [panels] */
    dnnl_memory_t *source;    /* [panels]; pointed at the source when filling */
};

static rotary_status failed(rotary_error *error, dnnl_status_t status, const char *what)
{
    if (status == dnnl_out_of_memory)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %s", what);
    return rotary_fail(error, ROTARY_UNSUPPORTED, "oneDNN %d.%d cannot do %s here (its status %d)",
                       DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, what, (int)status);
}

static dnnl_data_type_t type_of(int64_t dtype)
{
    return dtype == ROTARY_BF16 ? dnnl_bf16 : dnnl_f32;
}

static void *writable(const void *data)
{
    return (void *)(uintptr_t)data; /* oneDNN's handles know no const */
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* oneDNN plans for as many threads as OpenMP would start, and runs so too where it is not inside a parallel
 * region. */
static int serial_begin(void)
{
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    return threads;
}

static void serial_end(int threads)
{
    omp_set_num_threads(threads);
}

/* ---- Pieces. ---- */

static dnnl_status_t finish_attributes(dnnl_primitive_attr_t *attributes, int64_t finish)
{
    dnnl_post_ops_t operations = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(attributes);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(*attributes, dnnl_scratchpad_mode_user);
    if (status == dnnl_success)
        status = dnnl_post_ops_create(&operations);
    if (status == dnnl_success && finish == FINISH_SUM)
        status = append_sum(operations);
    if (status == dnnl_success && finish == FINISH_RELU)
        status = append_activation(operations, dnnl_eltwise_relu);
    if (status == dnnl_success && finish == FINISH_GELU)
        status = append_activation(operations, dnnl_eltwise_gelu_erf);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(*attributes, operations);
    if (operations)
        dnnl_post_ops_destroy(operations);
    return status;
}

struct piece_layouts {
    layout operand[BIAS + 1];
    int made;
};

static dnnl_status_t piece_layouts(struct piece_layouts *l, const struct shape *shape, const layout *packed)
{
    const dnnl_dims_t source = {shape->rows, shape->inner}, weights = {shape->inner, shape->columns},
                      destination = {shape->rows, shape->columns}, bias = {1, shape->columns},
                      source_strides = {shape->source_row, shape->source_column},
                      weights_strides = {shape->weights_row, 1},
                      destination_strides = {shape->destination_row, 1}, bias_strides = {shape->columns, 1};
    dnnl_data_type_t type = type_of(shape->source_type);
    dnnl_status_t status = layout_strided(&l->operand[SOURCE], source, type, source_strides);
    l->made += status == dnnl_success;
    if (status == dnnl_success)
        status = packed               ? layout_copy(&l->operand[WEIGHTS], layout_handle(packed))
                 : shape->weights_row ? layout_strided(&l->operand[WEIGHTS], weights, type, weights_strides)
                                      : layout_any(&l->operand[WEIGHTS], weights, type);
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

/* What oneDNN would do for a shape; with `packed` NULL and no stride the weights' layout is its choice. */
static dnnl_status_t piece_plan(dnnl_primitive_desc_t *plan, struct piece_layouts *l, dnnl_engine_t engine,
                                const struct shape *shape, const layout *packed)
{
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_status_t status = piece_layouts(l, shape, packed);
    if (status == dnnl_success)
        status = finish_attributes(&attributes, shape->finish);
    if (status == dnnl_success)
        status = plan_matmul(plan, engine, &l->operand[SOURCE], &l->operand[WEIGHTS],
                             shape->bias ? &l->operand[BIAS] : NULL, &l->operand[DESTINATION], attributes);
    if (attributes)
        dnnl_primitive_attr_destroy(attributes);
    return status;
}

static void piece_layouts_free(struct piece_layouts *l)
{
    for (int i = 0; i < l->made; i++)
        layout_free(&l->operand[i]);
}

static void piece_destroy(struct piece *piece, int threads)
{
    for (int worker = 0; piece->memory && worker < threads; worker++)
        for (int i = 0; i < OPERANDS; i++)
            if (piece->memory[worker][i])
                dnnl_memory_destroy(piece->memory[worker][i]);
    free(piece->memory);
    if (piece->primitive)
        dnnl_primitive_destroy(piece->primitive);
    free(piece);
}

static dnnl_status_t reserve_scratch(struct products *products, size_t bytes)
{
    bytes = rotary_align(bytes);
    if (bytes <= products->scratch_bytes)
        return dnnl_success;
    unsigned char *scratch = aligned_alloc(ROTARY_ALIGNMENT, bytes * (size_t)products->threads);
    if (!scratch)
        return dnnl_out_of_memory;
    free(products->scratch);
    products->scratch = scratch;
    products->scratch_bytes = bytes;
    return dnnl_success;
}

static dnnl_status_t piece_make(struct products *products, struct piece *piece, const layout *packed)
{
    struct piece_layouts layouts = {0};
    dnnl_primitive_desc_t plan = NULL;
    dnnl_status_t status = piece_plan(&plan, &layouts, products->engine, &piece->shape, packed);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&piece->primitive, plan);
    if (status == dnnl_success && !(piece->memory = calloc((size_t)products->threads, sizeof *piece->memory)))
        status = dnnl_out_of_memory;
    for (int worker = 0; status == dnnl_success && worker < products->threads; worker++)
        for (int i = 0; status == dnnl_success && i < OPERANDS; i++) {
            if (i == WEIGHTS && packed)
                continue; /* the packed weight has its own */
            const void *handle =
                i == SCRATCH ? (const void *)dnnl_primitive_desc_query_md(plan, dnnl_query_scratchpad_md, 0)
                             : (const void *)layout_handle(&layouts.operand[i]);
            status =
                dnnl_memory_create(&piece->memory[worker][i], handle, products->engine, DNNL_MEMORY_NONE);
        }
    if (status == dnnl_success)
        status = reserve_scratch(products, dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(
                                               plan, dnnl_query_scratchpad_md, 0)));
    if (plan)
        dnnl_primitive_desc_destroy(plan);
    piece_layouts_free(&layouts);
    return status;
}

/* The piece of this shape, planned now if it has not been seen before. */
static dnnl_status_t piece_find(struct products *products, struct piece **found, const struct shape *shape,
                                const layout *packed)
{
    for (struct piece *piece = products->pieces; piece; piece = piece->next)
        if (memcmp(&piece->shape, shape, sizeof *shape) == 0) {
            *found = piece;
            return dnnl_success;
        }
    struct piece *piece = calloc(1, sizeof *piece);
    if (!piece)
        return dnnl_out_of_memory;
    piece->shape = *shape;
    dnnl_status_t status = piece_make(products, piece, packed);
    if (status != dnnl_success) {
        piece_destroy(piece, products->threads);
        return status;
    }
    piece->next = products->pieces;
    products->pieces = piece;
    *found = piece;
    return dnnl_success;
}

static dnnl_status_t piece_execute(const struct products *products, const struct piece *piece, int worker,
                                   const void *source, const void *weights, dnnl_memory_t packed,
                                   const float *bias, void *destination)
{
    dnnl_memory_t *memory = piece->memory[worker];
    dnnl_status_t status = dnnl_memory_set_data_handle(memory[SOURCE], writable(source));
    if (status == dnnl_success && !packed)
        status = dnnl_memory_set_data_handle(memory[WEIGHTS], writable(weights));
    if (status == dnnl_success)
        status = dnnl_memory_set_data_handle(memory[DESTINATION], destination);
    if (status == dnnl_success && bias)
        status = dnnl_memory_set_data_handle(memory[BIAS], writable(bias));
    if (status == dnnl_success)
        status = dnnl_memory_set_data_handle(memory[SCRATCH],
                                             products->scratch + (size_t)worker * products->scratch_bytes);
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, memory[SOURCE]},
                                         {DNNL_ARG_WEIGHTS, packed ? packed : memory[WEIGHTS]},
                                         {DNNL_ARG_DST, memory[DESTINATION]},
                                         {DNNL_ARG_SCRATCHPAD, memory[SCRATCH]},
                                         {DNNL_ARG_BIAS, memory[BIAS]}};
    if (status == dnnl_success)
        status = dnnl_primitive_execute(piece->primitive, products->streams[worker], bias ? 5 : 4, arguments);
    return status;
}

/* ---- What the products of one compute share. ---- */

#if defined(ROTARY_HAVE_X86)
static dnnl_cpu_isa_t cap_of(rotary_isa isa)
{
    switch (isa) {
    case ROTARY_ISA_SCALAR:
        return dnnl_cpu_isa_sse41;
    case ROTARY_ISA_AVX2:
        return dnnl_cpu_isa_avx2;
    case ROTARY_ISA_AVX512:
        return dnnl_cpu_isa_avx512_core;
    default:
        return dnnl_cpu_isa_all;
    }
}
#endif

rotary_status products_create(struct products **products, int threads, rotary_isa isa, rotary_error *error)
{
#if defined(ROTARY_HAVE_X86)
    /* A processor may have more than its best `isa` says, such as bf16 without tiles: no cap then. */
    bool best =
        isa > ROTARY_ISA_AVX2 && isa != ROTARY_ISA_AMX && !rotary_isa_available((rotary_isa)(isa + 1));
    dnnl_set_max_cpu_isa(best ? dnnl_cpu_isa_all
                              : cap_of(isa)); /* refused after the first use: see matmul.h */
#else
    (void)isa;
#endif
    struct products *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for matrix products");
    made->threads = threads;
    made->streams = calloc((size_t)threads, sizeof(dnnl_stream_t));
    dnnl_status_t status =
        made->streams ? dnnl_engine_create(&made->engine, dnnl_cpu, 0) : dnnl_out_of_memory;
    for (int worker = 0; status == dnnl_success && worker < threads; worker++)
        status = dnnl_stream_create(&made->streams[worker], made->engine, dnnl_stream_default_flags);
    if (status != dnnl_success) {
        products_destroy(made);
        return failed(error, status, "matrix products");
    }
    *products = made;
    return ROTARY_OK;
}

void products_destroy(struct products *products)
{
    if (!products)
        return;
    while (products->pieces) {
        struct piece *piece = products->pieces;
        products->pieces = piece->next;
        piece_destroy(piece, products->threads);
    }
    for (int worker = 0; products->streams && worker < products->threads; worker++)
        if (products->streams[worker])
            dnnl_stream_destroy(products->streams[worker]);
    free(products->streams);
    if (products->engine)
        dnnl_engine_destroy(products->engine);
    free(products->scratch);
    free(products->partial);
    free(products);
}

bool products_bf16_is_fast(const struct products *products)
{
    (void)products;
#if defined(ROTARY_HAVE_X86)
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
#else
    return false;
#endif
}

bool products_bf16_works(struct products *products)
{
    const struct shape shape = {.rows = 64,
                                .columns = 64,
                                .inner = 64,
                                .source_row = 64,
                                .source_column = 1,
                                .weights_row = 64,
                                .destination_row = 64,
                                .source_type = ROTARY_BF16,
                                .destination_type = ROTARY_F32,
                                .finish = FINISH_SUM};
    struct piece *piece;
    int threads = serial_begin();
    dnnl_status_t status = piece_find(products, &piece, &shape, NULL);
    serial_end(threads);
    return status == dnnl_success;
}

/* ---- Weights, packed. ---- */

static int64_t panel_width(const struct packed_weight *weight, int panel)
{
    return smaller(weight->panel_columns, weight->columns - panel * weight->panel_columns);
}

static dnnl_status_t pack_panel_plan(struct packed_weight *weight, const struct products *products, int which,
                                     int64_t width)
{
    struct shape shape = {.rows = ROW_BLOCK,
                          .columns = width,
                          .inner = weight->inner,
                          .source_row = weight->inner,
                          .source_column = 1,
                          .destination_row = weight->columns,
                          .source_type = weight->dtype,
                          .destination_type = weight->dtype};
    struct piece_layouts layouts = {0};
    dnnl_primitive_desc_t plan = NULL, fill = NULL;
    dnnl_status_t status = piece_plan(&plan, &layouts, products->engine, &shape, NULL);
    piece_layouts_free(&layouts);
    if (status == dnnl_success)
        status = layout_copy(&weight->layouts[which],
                             dnnl_primitive_desc_query_md(plan, dnnl_query_weights_md, 0));
    if (plan)
        dnnl_primitive_desc_destroy(plan);
    layout source;
    if (status == dnnl_success) {
        const dnnl_dims_t dims = {weight->inner, width};
        const dnnl_dims_t plain = {weight->columns, 1}, transposed = {1, weight->inner};
        status = layout_strided(&source, dims, dnnl_f32, weight->transposed ? transposed : plain);
    }
    if (status != dnnl_success)
        return status;
    status =
        dnnl_reorder_primitive_desc_create(&fill, layout_handle(&source), products->engine,
                                           layout_handle(&weight->layouts[which]), products->engine, NULL);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&weight->fill[which], fill);
    for (int panel = 0; status == dnnl_success && panel < weight->panels; panel++)
        if ((panel == weight->panels - 1) == which)
            status = dnnl_memory_create(&weight->source[panel], layout_handle(&source), products->engine,
                                        DNNL_MEMORY_NONE);
    if (fill)
        dnnl_primitive_desc_destroy(fill);
    layout_free(&source);
    return status;
}

static dnnl_status_t pack_allocate(struct packed_weight *weight, const struct products *products)
{
    for (int which = 0; which < 2; which++) {
        size_t bytes = rotary_align(dnnl_memory_desc_get_size(layout_handle(&weight->layouts[which])));
        weight->panel_bytes = bytes > weight->panel_bytes ? bytes : weight->panel_bytes;
    }
    size_t bytes = weight->panel_bytes * (size_t)weight->panels;
    weight->data = aligned_alloc(ROTARY_ALIGNMENT, bytes);
    if (!weight->data)
        return dnnl_out_of_memory;
    memset(weight->data, 0, bytes);
    dnnl_status_t status = dnnl_success;
    for (int panel = 0; status == dnnl_success && panel < weight->panels; panel++)
        status = dnnl_memory_create(&weight->memory[panel],
                                    layout_handle(&weight->layouts[panel == weight->panels - 1]),
                                    products->engine, weight->data + (size_t)panel * weight->panel_bytes);
    return status;
}

rotary_status packed_weight_create(struct packed_weight **weight, const struct compute *compute,
                                   int64_t inner, int64_t columns, bool transposed, rotary_error *error)
{
    struct packed_weight *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for packed weights");
    int64_t fitting = PANEL_ELEMENTS / inner / PANEL_ALIGNMENT * PANEL_ALIGNMENT;
    fitting = fitting < PANEL_ALIGNMENT ? PANEL_ALIGNMENT : smaller(fitting, PANEL_COLUMNS);
    made->inner = inner;
    made->columns = columns;
    made->panel_columns = smaller(fitting, columns);
    made->panels = (int)divide_up(columns, made->panel_columns);
    made->dtype = compute->storage;
    made->transposed = transposed;
    made->memory = calloc((size_t)made->panels, sizeof(dnnl_memory_t));
    made->source = calloc((size_t)made->panels, sizeof(dnnl_memory_t));
    dnnl_status_t status = made->memory && made->source ? dnnl_success : dnnl_out_of_memory;
    int threads = serial_begin();
    for (int which = 0; status == dnnl_success && which < 2; which++)
        status = pack_panel_plan(made, compute->products, which,
                                 which ? panel_width(made, made->panels - 1) : made->panel_columns);
    if (status == dnnl_success)
        status = pack_allocate(made, compute->products);
    serial_end(threads);
    if (status != dnnl_success) {
        packed_weight_destroy(made);
        return failed(error, status, "packed weights");
    }
    *weight = made;
    return ROTARY_OK;
}

void packed_weight_destroy(struct packed_weight *weight)
{
    if (!weight)
        return;
    for (int panel = 0; panel < weight->panels; panel++) {
        if (weight->memory && weight->memory[panel])
            dnnl_memory_destroy(weight->memory[panel]);
        if (weight->source && weight->source[panel])
            dnnl_memory_destroy(weight->source[panel]);
    }
    for (int which = 0; which < 2; which++)
        if (weight->fill[which]) {
            dnnl_primitive_destroy(weight->fill[which]);
            layout_free(&weight->layouts[which]);
        }
    free(weight->memory);
    free(weight->source);
    free(weight->data);
    free(weight);
}

size_t packed_weight_bytes(const struct packed_weight *weight)
{
    return weight->panel_bytes * (size_t)weight->panels;
}

struct fill {
    const struct packed_weight *weight;
    const struct products *products;
    const float *source;
    _Atomic int status;
};

static void fill_panel(void *argument, int64_t panel, int worker)
{
    struct fill *fill = argument;
    const struct packed_weight *weight = fill->weight;
    int64_t column = panel * weight->panel_columns;
    const float *source = fill->source + column * (weight->transposed ? weight->inner : 1);
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, weight->source[panel]},
                                         {DNNL_ARG_TO, weight->memory[panel]}};
    dnnl_status_t status = dnnl_memory_set_data_handle(weight->source[panel], writable(source));
    if (status == dnnl_success)
        status = dnnl_primitive_execute(weight->fill[panel == weight->panels - 1],
                                        fill->products->streams[worker], 2, arguments);
    if (status != dnnl_success)
        fill->status = (int)status;
}

rotary_status packed_weight_fill(struct packed_weight *weight, const struct compute *compute,
                                 const float *source, rotary_error *error)
{
    struct fill fill = {.weight = weight, .products = compute->products, .source = source};
    int threads = serial_begin();
    rotary_parallel_for(compute->threads, weight->panels, fill_panel, &fill);
    serial_end(threads);
    return fill.status ? failed(error, (dnnl_status_t)fill.status, "packing of weights") : ROTARY_OK;
}

/* ---- out = finish(in weight + bias). ---- */

struct run {
    const struct products *products;
    const struct packed_weight *weight;
    struct matrix out, in;
    const float *bias;
    struct piece *pieces[2][2]; /* full or last block of rows; full or last panel */
    int64_t blocks;
    _Atomic int status;
};

static void run_piece(void *argument, int64_t index, int worker)
{
    struct run *run = argument;
    int64_t block = index / run->weight->panels, panel = index % run->weight->panels;
    const struct piece *piece = run->pieces[block == run->blocks - 1][panel == run->weight->panels - 1];
    int64_t row = block * ROW_BLOCK, column = panel * run->weight->panel_columns;
    const char *in =
        (const char *)run->in.data + (size_t)(row * run->in.stride) * rotary_dtype_size(run->in.dtype);
    char *out =
        (char *)run->out.data + (size_t)(row * run->out.stride + column) * rotary_dtype_size(run->out.dtype);
    dnnl_status_t status = piece_execute(run->products, piece, worker, in, NULL, run->weight->memory[panel],
                                         run->bias ? run->bias + column : NULL, out);
    if (status != dnnl_success)
        run->status = (int)status;
}

rotary_status product_run(const struct compute *compute, struct matrix out, struct matrix in,
                          const struct packed_weight *weight, const float *bias, enum product_finish finish,
                          rotary_error *error)
{
    if (in.rows == 0)
        return ROTARY_OK;
    struct run run = {.products = compute->products,
                      .weight = weight,
                      .out = out,
                      .in = in,
                      .bias = bias,
                      .blocks = divide_up(in.rows, ROW_BLOCK)};
    int threads = serial_begin();
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < 4 && status == dnnl_success; i++) {
        int last_block = i / 2, last_panel = i % 2;
        if ((run.blocks == 1 && !last_block) || (weight->panels == 1 && !last_panel))
            continue;
        struct shape shape = {.rows = last_block ? in.rows - (run.blocks - 1) * ROW_BLOCK : ROW_BLOCK,
                              .columns = panel_width(weight, last_panel ? weight->panels - 1 : 0),
                              .inner = weight->inner,
                              .source_row = in.stride,
                              .source_column = 1,
                              .destination_row = out.stride,
                              .source_type = in.dtype,
                              .destination_type = out.dtype,
                              .bias = bias != NULL,
                              .finish = finish};
        status = piece_find(compute->products, &run.pieces[last_block][last_panel], &shape,
                            &weight->layouts[last_panel]);
    }
    if (status == dnnl_success) {
        rotary_parallel_for(compute->threads, run.blocks * weight->panels, run_piece, &run);
        status = (dnnl_status_t)run.status;
    }
    serial_end(threads);
    return status == dnnl_success ? ROTARY_OK : failed(error, status, "a matrix product");
}

/* ---- gradient += left^T right. ---- */

struct gradient_run {
    struct products *products;
    struct matrix left, right;
    float *gradient;
    int64_t tiles_left, tiles_right, groups, group_rows;
    struct piece
        *pieces[2][2][2][2]; /* full or last tile left, right; full or last chunk; overwriting or adding */
    _Atomic int status;
};

static void gradient_cut(struct gradient_run *run, int64_t rows, int64_t left_columns, int64_t right_columns)
{
    run->tiles_left = divide_up(left_columns, TILE_LEFT);
    run->tiles_right = divide_up(right_columns, TILE_RIGHT);
    int64_t wanted = divide_up(GRADIENT_ITEMS, run->tiles_left * run->tiles_right);
    int64_t groups = smaller(wanted, divide_up(rows, GROUP_ROWS));
    run->group_rows = divide_up(divide_up(rows, groups), TILE_CHUNK) * TILE_CHUNK;
    run->groups = divide_up(rows, run->group_rows);
}

static void gradient_tile(void *argument, int64_t index, int worker)
{
    struct gradient_run *run = argument;
    int64_t tile_right = index % run->tiles_right, tile_left = index / run->tiles_right % run->tiles_left;
    int64_t group = index / run->tiles_right / run->tiles_left;
    int64_t first = group * run->group_rows, past = smaller(first + run->group_rows, run->left.rows);
    int64_t column_left = tile_left * TILE_LEFT, column_right = tile_right * TILE_RIGHT;
    size_t size = rotary_dtype_size(run->left.dtype);
    float *whole = run->groups == 1 ? run->gradient
                                    : run->products->partial + group * run->left.columns * run->right.columns;
    float *tile = whole + column_left * run->right.columns + column_right;
    for (int64_t row = first; row < past; row += TILE_CHUNK) {
        bool adding = row > first || run->groups == 1;
        const struct piece *piece =
            run->pieces[tile_left == run->tiles_left - 1][tile_right == run->tiles_right - 1]
                       [past - row < TILE_CHUNK][adding];
        const char *left =
            (const char *)run->left.data + (size_t)(row * run->left.stride + column_left) * size;
        const char *right =
            (const char *)run->right.data + (size_t)(row * run->right.stride + column_right) * size;
        dnnl_status_t status = piece_execute(run->products, piece, worker, left, right, NULL, NULL, tile);
        if (status != dnnl_success)
            run->status = (int)status;
    }
}

static void gradient_reduce(void *argument, int64_t index, int worker)
{
    (void)worker;
    struct gradient_run *run = argument;
    int64_t count = run->left.columns * run->right.columns;
    int64_t first = index * REDUCTION_BLOCK, past = smaller(first + REDUCTION_BLOCK, count);
    for (int64_t group = 0; group < run->groups; group++) {
        const float *partial = run->products->partial + group * count;
        for (int64_t i = first; i < past; i++)
            run->gradient[i] += partial[i];
    }
}

static dnnl_status_t gradient_pieces(struct gradient_run *run)
{
    dnnl_status_t status = dnnl_success;
    int64_t rest = run->left.rows % TILE_CHUNK;
    for (int i = 0; i < 16 && status == dnnl_success; i++) {
        int last_left = i & 1, last_right = i >> 1 & 1, last_chunk = i >> 2 & 1, adding = i >> 3;
        if ((run->tiles_left == 1 && !last_left) || (run->tiles_right == 1 && !last_right) ||
            (last_chunk && rest == 0) || (!last_chunk && run->left.rows < TILE_CHUNK) ||
            (!adding && run->groups == 1))
            continue;
        struct shape shape = {
            .rows = last_left ? run->left.columns - (run->tiles_left - 1) * TILE_LEFT : TILE_LEFT,
            .columns = last_right ? run->right.columns - (run->tiles_right - 1) * TILE_RIGHT : TILE_RIGHT,
            .inner = last_chunk ? rest : TILE_CHUNK,
            .source_row = 1,
            .source_column = run->left.stride,
            .weights_row = run->right.stride,
            .destination_row = run->right.columns,
            .source_type = run->left.dtype,
            .destination_type = ROTARY_F32,
            .finish = adding ? FINISH_SUM : FINISH_PLAIN};
        status =
            piece_find(run->products, &run->pieces[last_left][last_right][last_chunk][adding], &shape, NULL);
    }
    return status;
}

rotary_status product_gradient_reserve(const struct compute *compute, int64_t rows, int64_t left_columns,
                                       int64_t right_columns, rotary_error *error)
{
    struct products *products = compute->products;
    struct gradient_run run = {0};
    gradient_cut(&run, rows, left_columns, right_columns);
    int64_t count = run.groups == 1 ? 0 : run.groups * left_columns * right_columns;
    if (count <= products->partial_count)
        return ROTARY_OK;
    float *partial = aligned_alloc(ROTARY_ALIGNMENT, rotary_align((size_t)count * sizeof(float)));
    if (!partial)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the gradient of a weight");
    free(products->partial);
    products->partial = partial;
    products->partial_count = count;
    return ROTARY_OK;
}

rotary_status product_gradient(const struct compute *compute, float *gradient, struct matrix left,
                               struct matrix right, rotary_error *error)
{
    if (left.rows == 0)
        return ROTARY_OK;
    struct gradient_run run = {
        .products = compute->products, .left = left, .right = right, .gradient = gradient};
    gradient_cut(&run, left.rows, left.columns, right.columns);
    rotary_status reserved = product_gradient_reserve(compute, left.rows, left.columns, right.columns, error);
    if (reserved != ROTARY_OK)
        return reserved;
    int threads = serial_begin();
    dnnl_status_t status = gradient_pieces(&run);
    if (status == dnnl_success) {
        rotary_parallel_for(compute->threads, run.tiles_left * run.tiles_right * run.groups, gradient_tile,
                            &run);
        status = (dnnl_status_t)run.status;
    }
    serial_end(threads);
    if (status != dnnl_success)
        return failed(error, status, "the gradient of a weight");
    if (run.groups > 1)
        rotary_parallel_for(compute->threads, divide_up(left.columns * right.columns, REDUCTION_BLOCK),
                            gradient_reduce, &run);
    return ROTARY_OK;
}
