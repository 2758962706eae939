/* SPDX-License-Identifier: Apache-2.0
 *
 * Every operation of the cpu backend against the reference backend, on every instruction set, in f32 and
 * bf16.
 */
#include "backend/backend_pair.h"
#include "backend/parameters.h"
#include "base/batch.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ROWS is more than the blocks that operations are cut into, and no multiple of them. */
enum { ROWS = 150, WIDTH = 70, HEADS = 5 };

static const struct dropout drop = {.probability = 0.3f, .seed = 17, .step = 3, .site = 5},
                            keep_all = {.probability = 0.0f};

/* ---- memory ---- */

/* Memory is zeroed and aligned; bytes go in, from one allocation to another, and out, and none beside them.
 */
static void test_memory_of(const struct backend *backend, size_t bytes)
{
    enum { MARGIN = 5 };
    unsigned char *wanted = malloc(bytes + 2 * MARGIN), *got = malloc(bytes + 2 * MARGIN);
    const struct backend_operations *operations = backend->operations;
    void *memory[2];
    for (int i = 0; i < 2; i++) {
        CHECK_INT(operations->allocate(backend, &memory[i], bytes + 2 * MARGIN, "a test", NULL), ROTARY_OK);
        CHECK((uintptr_t)memory[i] % ROTARY_ALIGNMENT == 0);
        CHECK_INT(operations->read(backend, got, memory[i], bytes + 2 * MARGIN, NULL), ROTARY_OK);
        for (size_t j = 0; j < bytes + 2 * MARGIN; j++)
            CHECK(got[j] == 0);
    }
    for (size_t j = 0; j < bytes + 2 * MARGIN; j++)
        wanted[j] = j < MARGIN || j >= MARGIN + bytes ? 0 : (unsigned char)(1 + (j * 31 + j / 251) % 255);
    unsigned char *from = memory[0], *to = memory[1];
    CHECK_INT(operations->write(backend, from + MARGIN, wanted + MARGIN, bytes, NULL), ROTARY_OK);
    CHECK_INT(operations->copy(backend, to + MARGIN, from + MARGIN, bytes, NULL), ROTARY_OK);
    CHECK_INT(operations->clear(backend, from + MARGIN, bytes, NULL), ROTARY_OK);
    CHECK_INT(operations->read(backend, got, to, bytes + 2 * MARGIN, NULL), ROTARY_OK);
    CHECK(memcmp(got, wanted, bytes + 2 * MARGIN) == 0);
    CHECK_INT(operations->read(backend, got, from, bytes + 2 * MARGIN, NULL), ROTARY_OK);
    memset(wanted, 0, bytes + 2 * MARGIN);
    CHECK(memcmp(got, wanted, bytes + 2 * MARGIN) == 0);
    for (int i = 0; i < 2; i++)
        operations->release(backend, memory[i]);
    operations->release(backend, NULL);
    free(wanted);
    free(got);
}

static void test_memory(const struct pair *pair)
{
    /* More than the cpu backend copies at once, and no multiple of it. */
    static const size_t bytes[] = {0, 1, 1 << 17, (1 << 17) + 1, 400001};
    for (int side = 0; side < SIDES; side++)
        for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
            test_memory_of(&pair->backends[side], bytes[i]);
}

/* ---- matmul ---- */

static void matmul_on(struct pair *pair, enum side side, const struct tensor *const t[4], bool transposed,
                      enum matmul_epilogue epilogue)
{
    const struct backend *backend = &pair->backends[side];
    const struct packed_weight_config config = {.dtype = backend->storage,
                                                .inner = t[1]->columns,
                                                .columns = t[0]->columns,
                                                .transposed = transposed};
    struct packed_weight *weight = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(backend->operations->packed_weight_create(backend, &weight, &config, &error), ROTARY_OK))
        return;
    CHECK(backend->operations->packed_weight_bytes(backend, weight) > 0);
    RUN(pair, side, pack_weight, {.weight = weight, .source = floats_on(t[2], side)});
    RUN(pair, side, matmul,
        {.out = on(t[0], side),
         .in = on(t[1], side),
         .weight = weight,
         .bias = floats_on(t[3], side),
         .epilogue = epilogue});
    backend->operations->packed_weight_destroy(backend, weight);
}

static void test_matmul(struct pair *pair)
{
    for (int i = 0; i < 8; i++) {
        bool transposed = i & 1, relu = i & 2, f32 = i & 4;
        const struct tensor *out = f32 ? pair_floats(pair, ROWS, WIDTH) : pair_storage(pair, ROWS, WIDTH);
        const struct tensor *t[] = {out, pair_storage(pair, ROWS, 33), pair_floats(pair, WIDTH, 33),
                                    relu ? pair_floats(pair, 1, WIDTH) : NULL};
        for (int side = 0; side < SIDES; side++)
            matmul_on(pair, (enum side)side, t, transposed,
                      relu ? MATMUL_EPILOGUE_RELU : MATMUL_EPILOGUE_NONE);
        pair_compare(pair, out, pair_bound(pair), "output of a matmul");
        pair_clear(pair);
    }
}

static void test_weight_gradient(struct pair *pair)
{
    const struct tensor *a = pair_storage(pair, ROWS, WIDTH), *b = pair_storage(pair, ROWS, 41),
                        *gradient = pair_floats(pair, WIDTH, 41), *sums = pair_floats(pair, 1, WIDTH);
    for (int wanted = 1; wanted < 4; wanted++)
        for (int side = 0; side < SIDES; side++)
            RUN(pair, (enum side)side, weight_gradient,
                {.gradient = wanted & 1 ? floats_on(gradient, (enum side)side) : NULL,
                 .sums = wanted & 2 ? floats_on(sums, (enum side)side) : NULL,
                 .a = on(a, (enum side)side),
                 .b = on(b, (enum side)side)});
    pair_compare(pair, gradient, 3e-6, "gradient of a weight");
    pair_compare(pair, sums, 3e-6, "gradient of a bias");
    pair_clear(pair);
}

/* ---- norms ---- */

struct norm_tensors {
    const struct tensor *gain, *bias, *residual, *sublayer_output, *sum, *normalised, *normalised_f32, *mean,
        *rstd, *d_gain, *d_bias, *d_residual, *d_sublayer_output;
};

static void norm_on(struct pair *pair, enum side side, enum norm_kind kind, const struct norm_tensors *t,
                    bool accumulate)
{
    const struct norm_weights norm = {kind, 1e-5f, floats_on(t->gain, side), floats_on(t->bias, side)};
    const struct dropout dropout = accumulate ? drop : keep_all;
    RUN(pair, side, norm_forward,
        {.norm = norm,
         .rows = ROWS,
         .width = WIDTH,
         .residual = floats_on(t->residual, side),
         .sublayer_output = on(t->sublayer_output, side),
         .dropout = dropout,
         .residual_sum = floats_on(t->sum, side),
         .normalised = on(t->normalised, side),
         .normalised_f32 = floats_on(t->normalised_f32, side),
         .mean = floats_on(t->mean, side),
         .rstd = floats_on(t->rstd, side)});
    RUN(pair, side, norm_backward,
        {.norm = norm,
         .d_gain = floats_on(t->d_gain, side),
         .d_bias = floats_on(t->d_bias, side),
         .rows = ROWS,
         .width = WIDTH,
         .residual_sum = floats_on(t->sublayer_output ? t->sum : t->residual, side),
         .mean = floats_on(t->mean, side),
         .rstd = floats_on(t->rstd, side),
         .d_normalised = on(t->normalised, side),
         .d_normalised_f32 = floats_on(t->normalised_f32, side),
         .accumulate = accumulate,
         .d_residual = floats_on(t->d_residual, side),
         .d_sublayer_output = on(t->d_sublayer_output, side),
         .dropout = dropout});
}

/* What a norm is given and asked for: a sublayer's output and both types, no sublayer's output and the
 * storage type, or none and f32. */
enum norm_outputs { NORM_BOTH, NORM_STORAGE, NORM_F32, NORM_OUTPUTS };

/* The forward pass, and the backward pass with its outputs as their gradients. */
static void test_norm(struct pair *pair, enum norm_kind kind, bool accumulate, enum norm_outputs wanted)
{
    const struct tensor *gain = pair_floats(pair, 1, WIDTH), *bias = pair_floats(pair, 1, WIDTH);
    struct norm_tensors t = {.residual = pair_floats(pair, ROWS, WIDTH),
                             .mean = pair_floats(pair, 1, ROWS),
                             .rstd = pair_floats(pair, 1, ROWS),
                             .d_residual = pair_floats(pair, ROWS, WIDTH)};
    if (kind != NORM_NONE) {
        t.gain = gain;
        t.d_gain = pair_floats(pair, 1, WIDTH);
    }
    if (kind == NORM_LAYER) {
        t.bias = bias;
        t.d_bias = pair_floats(pair, 1, WIDTH);
    }
    if (wanted != NORM_F32)
        t.normalised = pair_storage(pair, ROWS, WIDTH);
    if (wanted != NORM_STORAGE)
        t.normalised_f32 = pair_floats(pair, ROWS, WIDTH);
    if (wanted == NORM_BOTH) {
        t.sublayer_output = pair_storage(pair, ROWS, WIDTH);
        t.d_sublayer_output = pair_storage(pair, ROWS, WIDTH);
        t.sum = pair_floats(pair, ROWS, WIDTH);
    }
    for (int side = 0; side < SIDES; side++)
        norm_on(pair, (enum side)side, kind, &t, accumulate);
    const struct tensor *outputs[] = {
        t.normalised, t.sum,    t.normalised_f32, kind == NORM_NONE ? NULL : t.rstd,
        t.d_residual, t.d_gain, t.d_bias,         t.d_sublayer_output};
    static const char *const names[] = {"output of a norm",      "residual sum",
                                        "f32 output of a norm",  "rstd",
                                        "gradient of residuals", "gradient of a gain",
                                        "gradient of a bias",    "gradient of a sublayer's output"};
    for (int i = 0; i < 8; i++)
        if (outputs[i])
            pair_compare(pair, outputs[i], 2 * pair_bound(pair), names[i]);
    pair_clear(pair);
}

static void test_norms(struct pair *pair)
{
    static const char *const names[] = {"layer norm", "rms norm", "no norm"};
    for (int kind = NORM_LAYER; kind <= NORM_NONE; kind++)
        for (int i = 0; i < 2 * NORM_OUTPUTS; i++) {
            check_about("%s %s, %s", rotary_isa_name(pair->backends[SIDE_CPU].isa),
                        rotary_dtype_name(pair->backends[SIDE_CPU].storage), names[kind]);
            test_norm(pair, (enum norm_kind)kind, i & 1, (enum norm_outputs)(i / 2));
        }
}

static void test_head_norm(struct pair *pair, enum norm_kind kind, int64_t heads)
{
    int64_t width = WIDTH / heads;
    const struct tensor *in = pair_storage(pair, ROWS, WIDTH), *out = pair_storage(pair, ROWS, WIDTH),
                        *d_in = pair_storage(pair, ROWS, WIDTH), *d_out = pair_storage(pair, ROWS, WIDTH),
                        *gain = pair_floats(pair, 1, width), *bias = pair_floats(pair, 1, width),
                        *d_gain = pair_floats(pair, 1, width), *d_bias = pair_floats(pair, 1, width),
                        *mean = pair_floats(pair, ROWS, heads), *rstd = pair_floats(pair, ROWS, heads);
    bool layer = kind == NORM_LAYER;
    for (int i = 0; i < SIDES; i++) {
        enum side side = (enum side)i;
        const struct norm_weights norm = {kind, 1e-5f, floats_on(gain, side),
                                          layer ? floats_on(bias, side) : NULL};
        RUN(pair, side, head_norm_forward,
            {.norm = norm,
             .heads = heads,
             .out = on(out, side),
             .in = on(in, side),
             .mean = floats_on(mean, side),
             .rstd = floats_on(rstd, side)});
        RUN(pair, side, head_norm_backward,
            {.norm = norm,
             .d_gain = floats_on(d_gain, side),
             .d_bias = layer ? floats_on(d_bias, side) : NULL,
             .heads = heads,
             .d_in = on(d_in, side),
             .d_out = on(d_out, side),
             .in = on(in, side),
             .mean = floats_on(mean, side),
             .rstd = floats_on(rstd, side)});
    }
    pair_compare(pair, out, pair_bound(pair), "normed heads");
    pair_compare(pair, rstd, 1e-5, "rstd");
    pair_compare(pair, d_in, 2 * pair_bound(pair), "gradient of normed heads");
    pair_compare(pair, d_gain, 1e-5, "gradient of a gain");
    pair_compare(pair, d_bias, 1e-5, "gradient of a bias");
    pair_clear(pair);
}

/* ---- activation ---- */

/* again: the backward pass makes the output again, and gradients take the place of values. */
static void test_activation(struct pair *pair, enum activation kind, struct dropout dropout, bool again)
{
    int64_t pre_width = activation_is_gated(kind) ? 2 * WIDTH : WIDTH;
    const struct tensor *pre = pair_storage(pair, ROWS, pre_width), *out = pair_storage(pair, ROWS, WIDTH),
                        *d_out = pair_storage(pair, ROWS, WIDTH),
                        *d_pre = again ? pre : pair_storage(pair, ROWS, pre_width);
    for (int i = 0; i < SIDES; i++) {
        enum side side = (enum side)i;
        RUN(pair, side, activation_forward,
            {.kind = kind, .out = on(out, side), .pre = on(pre, side), .dropout = dropout});
        RUN(pair, side, activation_backward,
            {.kind = kind,
             .d_pre = on(d_pre, side),
             .d_out = on(d_out, side),
             .saved = on(kind == ACTIVATION_RELU ? out : pre, side),
             .out = again ? on(d_out, side) : (struct matrix){0},
             .dropout = dropout});
    }
    pair_compare(pair, out, pair_bound(pair), "activation");
    pair_compare(pair, d_pre, pair_bound(pair), "gradient of an activation");
    if (again)
        pair_compare(pair, d_out, pair_bound(pair), "activation made again");
    pair_clear(pair);
}

/* ---- embedding and rows ---- */

/* with_types: a table of types; by_token: positions and types are those given. */
static void test_embedding(struct pair *pair, bool by_token, bool with_types)
{
    enum { VOCABULARY = 19, POSITIONS = 40, TIME = 30, TYPES = 3 };
    int32_t tokens[ROWS], positions[ROWS], types[ROWS];
    for (int i = 0; i < ROWS; i++) {
        tokens[i] = (i * 7 + i / 11) % VOCABULARY;
        positions[i] = (i * 13 + 5) % POSITIONS;
        types[i] = (i * 5 + i / 7) % TYPES;
    }
    const struct tensor *ids = pair_bytes(pair, tokens, sizeof tokens),
                        *places = pair_bytes(pair, positions, sizeof positions),
                        *kinds = pair_bytes(pair, types, sizeof types),
                        *type_table = with_types ? pair_floats(pair, TYPES, WIDTH) : NULL,
                        *d_types = with_types ? pair_floats(pair, TYPES, WIDTH) : NULL,
                        *table = pair_floats(pair, VOCABULARY, WIDTH),
                        *position_table = pair_floats(pair, POSITIONS, WIDTH),
                        *out = pair_floats(pair, ROWS, WIDTH),
                        *d_table = pair_floats(pair, VOCABULARY, WIDTH),
                        *d_positions = pair_floats(pair, POSITIONS, WIDTH);
    for (int i = 0; i < SIDES; i++) {
        enum side side = (enum side)i;
        RUN(pair, side, embedding_forward,
            {.rows = ROWS,
             .width = WIDTH,
             .time = TIME,
             .out = floats_on(out, side),
             .tokens = ids->memory[side],
             .table = floats_on(table, side),
             .position_table = floats_on(position_table, side),
             .positions = by_token ? places->memory[side] : NULL,
             .type_table = floats_on(type_table, side),
             .types = by_token ? kinds->memory[side] : NULL,
             .scale = 1.5f,
             .dropout = drop});
        RUN(pair, side, embedding_backward,
            {.rows = ROWS,
             .width = WIDTH,
             .time = TIME,
             .d_out = floats_on(out, side),
             .tokens = ids->memory[side],
             .d_table = floats_on(d_table, side),
             .d_position_table = floats_on(d_positions, side),
             .d_type_table = floats_on(d_types, side),
             .positions = by_token ? places->memory[side] : NULL,
             .types = by_token ? kinds->memory[side] : NULL,
             .scale = 1.5f,
             .dropout = drop});
    }
    pair_compare(pair, out, 3e-6, "embedding");
    pair_compare(pair, d_table, 3e-6, "gradient of the table");
    pair_compare(pair, d_positions, 3e-6, "gradient of the table of positions");
    if (with_types)
        pair_compare(pair, d_types, 3e-6, "gradient of the table of types");
    pair_clear(pair);
}

static void test_rows(struct pair *pair)
{
    int64_t index[ROWS];
    for (int64_t i = 0; i < ROWS; i++)
        index[i] = (i * 37 + 4) % (ROWS / 2);
    const struct tensor *cast = pair_storage(pair, ROWS, WIDTH), *in = pair_storage(pair, ROWS, WIDTH),
                        *copied = pair_storage(pair, ROWS, WIDTH), *stream = pair_floats(pair, ROWS, WIDTH),
                        *contiguous = pair_storage(pair, ROWS, WIDTH);
    for (int i = 0; i < SIDES; i++) {
        enum side side = (enum side)i;
        RUN(pair, side, cast, {.out = on(cast, side), .in = floats_on(stream, side)});
        RUN(pair, side, add, {.to = floats_on(stream, side), .in = on(in, side)});
        RUN(pair, side, copy_rows, {.out = on(copied, side), .in = on(in, side), .index = index});
        RUN(pair, side, copy_rows, {.out = on(contiguous, side), .in = on(in, side)});
    }
    pair_compare(pair, cast, 0.0, "cast rows");
    pair_compare(pair, stream, 1e-6, "sum");
    pair_compare(pair, copied, 0.0, "rows copied by index");
    pair_compare(pair, contiguous, 0.0, "copied rows");
    pair_clear(pair);
}

/* Rows that are scattered leave those between them as they were. */
static void test_scatter(struct pair *pair)
{
    enum { SCATTERED = 67 };
    int64_t index[SCATTERED];
    for (int64_t i = 0; i < SCATTERED; i++)
        index[i] = 2 * i + i / 9;
    const struct tensor *in = pair_storage(pair, SCATTERED, WIDTH), *out = pair_storage(pair, ROWS, WIDTH),
                        *gathered = pair_storage(pair, SCATTERED, WIDTH);
    for (int i = 0; i < SIDES; i++) {
        enum side side = (enum side)i;
        RUN(pair, side, scatter_rows, {.out = on(out, side), .in = on(in, side), .index = index});
        RUN(pair, side, copy_rows, {.out = on(gathered, side), .in = on(out, side), .index = index});
    }
    pair_compare(pair, out, 0.0, "scattered rows");
    static float scattered[SCATTERED * (WIDTH + 8)], again[SCATTERED * (WIDTH + 8)];
    size_t bytes = (size_t)(SCATTERED * in->stride) * rotary_dtype_size(in->dtype);
    CHECK(bytes <= sizeof scattered);
    pair_read(pair, in, SIDE_CPU, scattered, bytes);
    pair_read(pair, gathered, SIDE_CPU, again, bytes);
    for (int64_t row = 0; row < SCATTERED; row++) {
        size_t begin = (size_t)(row * in->stride) * rotary_dtype_size(in->dtype);
        CHECK(memcmp((char *)scattered + begin, (char *)again + begin,
                     WIDTH * rotary_dtype_size(in->dtype)) == 0);
    }
    pair_clear(pair);
}

static void test_drop(struct pair *pair, struct dropout dropout)
{
    const struct tensor *in = pair_storage(pair, ROWS, WIDTH), *out = pair_storage(pair, ROWS, WIDTH),
                        *stream = pair_floats(pair, ROWS, WIDTH);
    for (int i = 0; i < SIDES; i++) {
        enum side side = (enum side)i;
        RUN(pair, side, drop, {.out = on(out, side), .in = on(in, side), .dropout = dropout});
        RUN(pair, side, drop, {.out = on(stream, side), .in = on(stream, side), .dropout = dropout});
    }
    pair_compare(pair, out, pair_bound(pair), "dropout");
    pair_compare(pair, stream, 3e-6, "dropout in place");
    pair_clear(pair);
}

static void test_add_to_rows(struct pair *pair)
{
    const struct tensor *rows = pair_storage(pair, ROWS, WIDTH), *vector = pair_floats(pair, 1, WIDTH);
    for (int i = 0; i < SIDES; i++) {
        enum side side = (enum side)i;
        const struct matrix all = on(rows, side), part = matrix_block(all, 1, ROWS - 1, 3, WIDTH - 5);
        RUN(pair, side, add_to_rows, {.rows = part, .vector = floats_on(vector, side)});
    }
    pair_compare(pair, rows, pair->backends[0].storage == ROTARY_BF16 ? 8e-3 : 1e-6,
                 "rows with a vector added");
    pair_clear(pair);
}

/* Blocks of wider matrices, at different columns. */
static void test_add_matrix(struct pair *pair)
{
    const struct tensor *to = pair_storage(pair, ROWS, WIDTH), *in = pair_storage(pair, ROWS, WIDTH);
    for (int i = 0; i < SIDES; i++) {
        enum side side = (enum side)i;
        RUN(pair, side, add_matrix,
            {.to = matrix_block(on(to, side), 1, ROWS - 1, 3, WIDTH - 5),
             .in = matrix_block(on(in, side), 0, ROWS - 1, 1, WIDTH - 5)});
    }
    pair_compare(pair, to, pair->backends[0].storage == ROTARY_BF16 ? 8e-3 : 1e-6, "sum of matrices");
    pair_clear(pair);
}

/* All but the first and the last number, more than a block of them. */
static void test_scale(struct pair *pair)
{
    const struct tensor *stream = pair_floats(pair, ROWS, WIDTH);
    for (int i = 0; i < SIDES; i++)
        RUN(pair, (enum side)i, scale,
            {.to = floats_on(stream, (enum side)i) + 1, .count = ROWS * WIDTH - 2, .factor = -0.75f});
    pair_compare(pair, stream, 1e-6, "scaled");
    pair_clear(pair);
}

/* ---- loss ---- */

/* In place: the gradient replaces the logits. */
static void test_loss(struct pair *pair, bool in_place, float softcap)
{
    int32_t targets[ROWS];
    for (int i = 0; i < ROWS; i++)
        targets[i] = i % 7 == 3 ? BATCH_IGNORED : (i * 31) % WIDTH;
    const struct loss_sums none[2] = {{0}, {.total = 2.5, .counted = 3, .correct = 1}};
    const struct tensor *logits = pair_floats(pair, ROWS, WIDTH),
                        *gradient = in_place ? logits : pair_storage(pair, ROWS, WIDTH),
                        *ids = pair_bytes(pair, targets, sizeof targets),
                        *losses = pair_floats(pair, 1, ROWS), *sums = pair_bytes(pair, none, sizeof none);
    struct loss_sums got[SIDES][2];
    for (int i = 0; i < SIDES; i++) {
        enum side side = (enum side)i;
        struct loss_sums *at = sums->memory[side];
        RUN(pair, side, cross_entropy,
            {.logits = on(logits, side),
             .targets = ids->memory[side],
             .gradient_scale = 0.25f,
             .smoothing = 0.1f,
             .softcap = softcap,
             .gradient = on(gradient, side),
             .losses = floats_on(losses, side),
             .sums = at});
        RUN(pair, side, add_sums, {.to = at + 1, .from = at});
        pair_read(pair, sums, side, got[side], sizeof got[side]);
    }
    pair_compare(pair, gradient, pair_bound(pair), "gradient of logits");
    pair_compare(pair, losses, 1e-5, "losses of rows");
    double total = got[SIDE_REFERENCE][1].total;
    CHECK(total > 100.0);
    CHECK_NEAR(got[SIDE_CPU][1].total, total, 1e-6 * total);
    CHECK_INT(got[SIDE_CPU][1].counted, 3 + ROWS - (ROWS - 3 + 6) / 7);
    CHECK_INT(got[SIDE_CPU][1].counted, got[SIDE_REFERENCE][1].counted);
    CHECK_INT(got[SIDE_CPU][1].correct, got[SIDE_REFERENCE][1].correct);
    pair_clear(pair);
}

static void test_softcap(struct pair *pair)
{
    const struct tensor *logits = pair_tensor(pair, ROTARY_F32, ROWS, WIDTH, 2);
    for (int i = 0; i < SIDES; i++)
        RUN(pair, (enum side)i, softcap, {.logits = on(logits, (enum side)i), .cap = 0.5f});
    pair_compare(pair, logits, 1e-6, "capped logits");
    pair_clear(pair);
}

/* Of predictions with gaps between them, and in place. */
static void test_squared_error(struct pair *pair, bool in_place)
{
    const struct loss_sums none = {0};
    const struct tensor *predictions = pair_tensor(pair, ROTARY_F32, ROWS, 1, 2),
                        *targets = pair_floats(pair, 1, ROWS),
                        *gradient = in_place ? predictions : pair_storage(pair, ROWS, 1),
                        *sums = pair_bytes(pair, &none, sizeof none);
    struct loss_sums got[SIDES];
    for (int i = 0; i < SIDES; i++) {
        enum side side = (enum side)i;
        RUN(pair, side, squared_error,
            {.predictions = on(predictions, side),
             .targets = floats_on(targets, side),
             .gradient_scale = 0.25f,
             .gradient = on(gradient, side),
             .sums = sums->memory[side]});
        pair_read(pair, sums, side, &got[side], sizeof got[side]);
    }
    pair_compare(pair, gradient, pair_bound(pair), "gradient of predictions");
    CHECK(got[SIDE_REFERENCE].total > 10.0);
    CHECK_NEAR(got[SIDE_CPU].total, got[SIDE_REFERENCE].total, 1e-12 * got[SIDE_REFERENCE].total);
    CHECK_INT(got[SIDE_CPU].counted, ROWS);
    CHECK_INT(got[SIDE_CPU].correct, 0);
    pair_clear(pair);
}

/* The classes of several panels of a weight, with a bias and without. */
static void test_top_classes(struct pair *pair, bool with_bias, float softcap)
{
    enum { COUNT = 3, CLASSES = 1100, INNER = 33 };
    static const int32_t excluded[] = {5, 0};
    static float values[SIDES][ROWS * COUNT];
    static int32_t chosen[SIDES][ROWS * COUNT];
    const struct tensor *in = pair_storage(pair, ROWS, INNER), *source = pair_floats(pair, CLASSES, INNER),
                        *bias = with_bias ? pair_floats(pair, 1, CLASSES) : NULL;
    for (int i = 0; i < SIDES; i++) {
        const struct backend *backend = &pair->backends[i];
        const struct packed_weight_config config = {
            .dtype = backend->storage, .inner = INNER, .columns = CLASSES, .transposed = true};
        struct packed_weight *weight = NULL;
        if (!CHECK_INT(backend->operations->packed_weight_create(backend, &weight, &config, NULL), ROTARY_OK))
            return;
        RUN(pair, (enum side)i, pack_weight, {.weight = weight, .source = floats_on(source, (enum side)i)});
        RUN(pair, (enum side)i, top_classes,
            {.in = on(in, (enum side)i),
             .weight = weight,
             .bias = floats_on(bias, (enum side)i),
             .softcap = softcap,
             .count = COUNT,
             .excluded = excluded,
             .excluded_count = 2,
             .log_probabilities = values[i],
             .chosen = chosen[i]});
        backend->operations->packed_weight_destroy(backend, weight);
    }
    for (int i = 0; i < ROWS * COUNT; i++) {
        double wanted = (double)values[SIDE_REFERENCE][i];
        CHECK_INT(chosen[SIDE_CPU][i], chosen[SIDE_REFERENCE][i]);
        CHECK_NEAR((double)values[SIDE_CPU][i], wanted, 1e-5 * (1.0 - wanted));
    }
    pair_clear(pair);
}

/* ---- update ---- */

enum { PARAMETERS = 3 };

static void create_parameters(struct parameters *parameters, const struct backend *backend)
{
    static const struct parameter rows[PARAMETERS] = {{.name = "a", .rows = 37, .columns = 29, .decay = true},
                                                      {.name = "b", .rows = 41, .columns = 7},
                                                      {.name = "c", .rows = 33}};
    *parameters = (struct parameters){.backend = backend};
    int index;
    for (int i = 0; i < PARAMETERS; i++)
        CHECK_INT(parameters_add(parameters, &rows[i], &index, NULL), ROTARY_OK);
    CHECK_INT(parameters_allocate(parameters, true, NULL), ROTARY_OK);
    parameters->rows[1].frozen = true;
}

/* Fills an array of a row, or adds up what is in it: whether the two backends agree. */
static void fill_row(struct parameters *parameters, struct parameter_range range, uint64_t seed)
{
    float host[37 * 29];
    for (int64_t i = 0; i < range.count; i++) {
        float x = check_random(seed + (uint64_t)range.array, (uint64_t)i, 2);
        host[i] = range.array == PARAMETER_MOMENT2 ? x * x : x; /* the second moment is not negative */
    }
    CHECK_INT(parameters_write(parameters, range, host, NULL), ROTARY_OK);
}

static void compare_row(const struct parameters both[SIDES], struct parameter_range range)
{
    float host[SIDES][37 * 29];
    for (int side = 0; side < SIDES; side++)
        CHECK_INT(parameters_read(&both[side], range, host[side], NULL), ROTARY_OK);
    for (int64_t i = 0; i < range.count; i++)
        CHECK_NEAR((double)host[SIDE_CPU][i], (double)host[SIDE_REFERENCE][i],
                   2e-6 * (1.0 + (double)(host[SIDE_REFERENCE][i] > 0 ? host[SIDE_REFERENCE][i]
                                                                      : -host[SIDE_REFERENCE][i])));
}

static void test_update(const struct pair *pair, bool decoupled, double max_grad_norm)
{
    const struct adam adam = {.learning_rate = 0.02f,
                              .beta1 = 0.9f,
                              .beta2 = 0.97f,
                              .epsilon = 1e-6f,
                              .weight_decay = 0.1f,
                              .decoupled = decoupled,
                              .correction1 = 0.3f,
                              .correction2 = 0.05f};
    struct parameters both[SIDES];
    struct step_statistics got[SIDES];
    for (int side = 0; side < SIDES; side++) {
        create_parameters(&both[side], &pair->backends[side]);
        for (int row = 0; row < PARAMETERS; row++)
            for (int array = 0; array < PARAMETER_ARRAYS; array++)
                if (!(both[side].rows[row].frozen && array == PARAMETER_GRADIENTS))
                    fill_row(&both[side], parameter_range(&both[side], (enum parameter_array)array, row),
                             (uint64_t)(10 * row + 100));
        CHECK_INT(parameters_update(&both[side], &adam, max_grad_norm, NULL), ROTARY_OK);
        CHECK_INT(parameters_read_statistics(&both[side], &got[side], NULL), ROTARY_OK);
    }
    CHECK(got[SIDE_REFERENCE].gradient_norm > 10.0);
    CHECK_NEAR(got[SIDE_CPU].gradient_norm, got[SIDE_REFERENCE].gradient_norm,
               1e-6 * got[SIDE_REFERENCE].gradient_norm);
    CHECK_NEAR(got[SIDE_CPU].clip_scale, got[SIDE_REFERENCE].clip_scale, 1e-6);
    CHECK((got[SIDE_CPU].clip_scale < 1.0) == (max_grad_norm > 0.0));
    CHECK(got[SIDE_CPU].diverged == 0 && got[SIDE_REFERENCE].diverged == 0);
    for (int row = 0; row < PARAMETERS; row++)
        for (int array = 0; array < PARAMETER_ARRAYS; array++)
            compare_row(both, parameter_range(&both[0], (enum parameter_array)array, row));
    for (int side = 0; side < SIDES; side++)
        parameters_free(&both[side]);
}

/* A gradient that is not finite: nothing changes but `diverged`. */
static void test_divergence(const struct pair *pair)
{
    const struct adam adam = {
        .learning_rate = 1.0f, .epsilon = 1.0f, .correction1 = 1.0f, .correction2 = 1.0f};
    for (int side = 0; side < SIDES; side++) {
        struct parameters parameters;
        const float infinite = 1e38f * 10.0f;
        float value = 0.0f;
        struct step_statistics statistics;
        create_parameters(&parameters, &pair->backends[side]);
        struct parameter_range range = {.array = PARAMETER_GRADIENTS, .index = 2, .first = 3, .count = 1};
        CHECK_INT(parameters_write(&parameters, range, &infinite, NULL), ROTARY_OK);
        CHECK_INT(parameters_update(&parameters, &adam, 1.0, NULL), ROTARY_OK);
        CHECK_INT(parameters_read_statistics(&parameters, &statistics, NULL), ROTARY_OK);
        CHECK_INT(statistics.diverged, 1);
        range.array = PARAMETER_VALUES;
        CHECK_INT(parameters_read(&parameters, range, &value, NULL), ROTARY_OK);
        CHECK(value == 0.0f);
        parameters_free(&parameters);
    }
}

static void test_all(struct pair *pair)
{
    test_memory(pair);
    test_matmul(pair);
    test_weight_gradient(pair);
    test_norms(pair);
    test_head_norm(pair, NORM_LAYER, HEADS);
    test_head_norm(pair, NORM_RMS, HEADS);
    test_head_norm(pair, NORM_RMS, 1);
    for (int kind = ACTIVATION_RELU; kind <= ACTIVATION_TANH; kind++)
        for (int dropped = 0; dropped < 2; dropped++)
            for (int again = 0; again < 1 + (kind != ACTIVATION_RELU); again++)
                test_activation(pair, (enum activation)kind, dropped ? drop : keep_all, again);
    for (int i = 0; i < 4; i++)
        test_embedding(pair, i & 1, i & 2);
    test_rows(pair);
    test_scatter(pair);
    test_drop(pair, drop);
    test_drop(pair, keep_all);
    test_top_classes(pair, false, 0.0f);
    test_top_classes(pair, true, 0.0f);
    test_top_classes(pair, false, 30.0f);
    test_loss(pair, false, 0.0f);
    test_loss(pair, false, 2.0f);
    test_softcap(pair);
    test_squared_error(pair, false);
    if (pair->backends[SIDE_CPU].storage == ROTARY_F32) {
        test_loss(pair, true, 0.0f);
        test_squared_error(pair, true);
    }
    test_update(pair, false, 1.0);
    test_update(pair, true, 0.0);
    test_divergence(pair);
    test_add_to_rows(pair);
    test_add_matrix(pair);
    test_scale(pair);
}

int main(void)
{
    pair_test_all(test_all);
    return check_report();
}
