/* SPDX-License-Identifier: Apache-2.0
 *
 * Matmuls against sums in double of the same operands, rounded to the storage type, on one instruction set.
 */
#include "backend/cpu.h"
#include "base/element.h"
#include "support/allocations.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct backend make(const char *isa_name, enum precision precision, int threads)
{
    rotary_isa isa;
    struct backend backend = {0};
    rotary_error error;
    if (rotary_isa_from_name(&isa, isa_name, &error) != ROTARY_OK || !rotary_isa_available(isa))
        check_skip("this machine cannot run %s", isa_name);
    if (backend_create(&backend, threads, isa, precision, &error) != ROTARY_OK) {
        if (precision != PRECISION_BF16)
            CHECK_TEXT(error.message, "");
        backend.threads = 0;
    }
    return backend;
}

static double element(struct matrix m, int64_t row, int64_t column)
{
    return (double)rotary_element(m.data, row * m.stride + column, m.dtype);
}

/* Random numbers cost more than the matmul: matrices take theirs from one pool, in scattered order. */
static float pooled(uint64_t seed, uint64_t index)
{
    enum { POOL = 1 << 14 };
    static float pool[POOL];
    if (pool[0] == 0.0f)
        for (uint64_t i = 0; i < POOL; i++)
            pool[i] = check_random(0, i, 3);
    return pool[(index * 2654435761u + seed * 40503u) >> 7 & (POOL - 1)];
}

static struct matrix random_matrix(uint64_t seed, rotary_dtype dtype, int64_t rows, int64_t columns,
                                   int64_t stride)
{
    struct matrix m = {.data = calloc((size_t)(rows * stride), sizeof(float)),
                       .dtype = dtype,
                       .rows = rows,
                       .columns = columns,
                       .stride = stride};
    for (int64_t i = 0; i < rows * stride; i++)
        rotary_set_element(m.data, i, dtype, pooled(seed, (uint64_t)i));
    return m;
}

static double apply_epilogue(enum matmul_epilogue epilogue, double x)
{
    return epilogue == MATMUL_EPILOGUE_RELU && x < 0.0 ? 0.0 : x;
}

struct sizes {
    int64_t rows, inner, columns, padding;
};

/* Half a unit of the output's last place, and of an f32 sum of `terms` of size `magnitude`. */
static double bound_of(rotary_dtype out, double wanted, double magnitude)
{
    return (out == ROTARY_BF16 ? 0x1.01p-8 : 0x1p-23) * fabs(wanted) + 0x1p-20 * magnitude;
}

static void test_matmul(struct backend *backend, struct sizes sizes, bool transposed, bool with_bias,
                        rotary_dtype out_type, enum matmul_epilogue epilogue)
{
    rotary_error error;
    struct matrix in =
        random_matrix(1, backend->storage, sizes.rows, sizes.inner, sizes.inner + sizes.padding);
    struct matrix source =
        random_matrix(2, ROTARY_F32, 1, sizes.inner * sizes.columns, sizes.inner * sizes.columns);
    struct matrix bias = random_matrix(3, ROTARY_F32, 1, sizes.columns, sizes.columns);
    struct matrix out = random_matrix(4, out_type, sizes.rows, sizes.columns, sizes.columns + sizes.padding);
    struct matrix before =
        random_matrix(4, out_type, sizes.rows, sizes.columns, sizes.columns + sizes.padding);
    const float *w = source.data, *b = with_bias ? bias.data : NULL;
    struct packed_weight *weight = NULL;
    check_about("%s %s rows %lld inner %lld columns %lld%s%s epilogue %d", rotary_isa_name(backend->isa),
                rotary_dtype_name(backend->storage), (long long)sizes.rows, (long long)sizes.inner,
                (long long)sizes.columns, transposed ? " transposed" : "", with_bias ? " bias" : "",
                (int)epilogue);
    const struct packed_weight_config config = {
        .dtype = backend->storage, .inner = sizes.inner, .columns = sizes.columns, .transposed = transposed};
    if (!CHECK(packed_weight_create(&weight, cpu_of(backend)->matmul, &config, &error) == ROTARY_OK) ||
        !CHECK(packed_weight_fill(weight, cpu_of(backend)->matmul, w, &error) == ROTARY_OK))
        return;
    const struct backend_matmul call = {
        .out = out, .in = in, .weight = weight, .bias = b, .epilogue = epilogue};
    if (!CHECK(backend->operations->matmul(backend, &call, &error) == ROTARY_OK))
        return;
    for (int64_t row = 0; row<sizes.rows; row += sizes.rows> 64 ? 13 : 1)
        for (int64_t column = 0; column < out.stride; column++) {
            if (column >= sizes.columns) {
                CHECK(element(out, row, column) == element(before, row, column));
                continue;
            }
            double sum = with_bias ? (double)b[column] : 0.0, magnitude = fabs(sum);
            for (int64_t k = 0; k < sizes.inner; k++) {
                float value = w[transposed ? column * sizes.inner + k : k * sizes.columns + column];
                double term = element(in, row, k) * (double)rotary_rounded(value, backend->storage);
                sum += term;
                magnitude += fabs(term);
            }
            double wanted = apply_epilogue(epilogue, sum);
            CHECK_NEAR(element(out, row, column), wanted, bound_of(out_type, wanted, magnitude));
        }
    packed_weight_destroy(weight);
    free(in.data);
    free(source.data);
    free(bias.data);
    free(out.data);
    free(before.data);
}

static void test_gradient(struct backend *backend, struct sizes sizes)
{
    rotary_error error;
    struct matrix a =
        random_matrix(5, backend->storage, sizes.rows, sizes.columns, sizes.columns + sizes.padding);
    struct matrix b =
        random_matrix(6, backend->storage, sizes.rows, sizes.inner, sizes.inner + sizes.padding);
    struct matrix gradient = random_matrix(7, ROTARY_F32, sizes.columns, sizes.inner, sizes.inner);
    struct matrix before = random_matrix(7, ROTARY_F32, sizes.columns, sizes.inner, sizes.inner);
    check_about("%s %s gradient of %lld rows [%lld, %lld]", rotary_isa_name(backend->isa),
                rotary_dtype_name(backend->storage), (long long)sizes.rows, (long long)sizes.columns,
                (long long)sizes.inner);
    struct matrix sums = random_matrix(11, ROTARY_F32, 1, sizes.columns, sizes.columns);
    struct matrix sums_before = random_matrix(11, ROTARY_F32, 1, sizes.columns, sizes.columns);
    struct backend_weight_gradient call = {.gradient = gradient.data, .sums = sums.data, .a = a, .b = b};
    CHECK(backend->operations->weight_gradient(backend, &call, &error) == ROTARY_OK);
    for (int64_t i = 0; i < sizes.columns; i++) {
        double sum = element(sums_before, 0, i), magnitude = fabs(sum);
        for (int64_t row = 0; row < sizes.rows; row++) {
            sum += element(a, row, i);
            magnitude += fabs(element(a, row, i));
        }
        CHECK_NEAR(element(sums, 0, i), sum, bound_of(ROTARY_F32, sum, magnitude));
    }
    /* The sums alone, of a frozen weight with a bias that is trained. */
    call.gradient = NULL;
    call.sums = sums_before.data;
    CHECK(backend->operations->weight_gradient(backend, &call, &error) == ROTARY_OK);
    for (int64_t i = 0; i < sizes.columns; i++)
        CHECK_NEAR(element(sums_before, 0, i), element(sums, 0, i), 1e-5 * (1.0 + fabs(element(sums, 0, i))));
    free(sums.data);
    free(sums_before.data);
    int64_t step = sizes.rows * sizes.columns * sizes.inner > 5000000 ? 17 : 1;
    for (int64_t i = 0; i < sizes.columns; i += step)
        for (int64_t j = 0; j < sizes.inner; j++) {
            double sum = element(before, i, j), magnitude = fabs(sum);
            for (int64_t row = 0; row < sizes.rows; row++) {
                double term = element(a, row, i) * element(b, row, j);
                sum += term;
                magnitude += fabs(term);
            }
            CHECK_NEAR(element(gradient, i, j), sum, bound_of(ROTARY_F32, sum, magnitude));
        }
    free(a.data);
    free(b.data);
    free(gradient.data);
    free(before.data);
}

/* A matmul into `out`; a gradient and, behind it, its column sums into `gradient`. The second run allocates
 * nothing. */
static void run_twice(const char *isa, enum precision precision, int threads, float *out, float *gradient,
                      struct sizes sizes)
{
    rotary_error error;
    struct backend backend = make(isa, precision, threads);
    struct matrix in = random_matrix(8, backend.storage, sizes.rows, sizes.inner, sizes.inner);
    struct matrix a = random_matrix(9, backend.storage, sizes.rows, sizes.columns, sizes.columns);
    struct matrix source = random_matrix(10, ROTARY_F32, sizes.inner, sizes.columns, sizes.columns);
    struct packed_weight *weight = NULL;
    check_about("%s %s %d threads", isa, rotary_dtype_name(backend.storage), threads);
    const struct packed_weight_config config = {
        .dtype = backend.storage, .inner = sizes.inner, .columns = sizes.columns};
    CHECK(packed_weight_create(&weight, cpu_of(&backend)->matmul, &config, &error) == ROTARY_OK);
    const struct backend_matmul product = {
        .out = matrix_of(out, ROTARY_F32, sizes.rows, sizes.columns), .in = in, .weight = weight};
    int64_t before = 0;
    for (int call = 0; call < 2; call++) {
        before = allocations_counted();
        memset(gradient, 0, (size_t)(sizes.columns * (sizes.inner + 1)) * sizeof(float));
        CHECK(packed_weight_fill(weight, cpu_of(&backend)->matmul, source.data, &error) == ROTARY_OK);
        CHECK(backend.operations->matmul(&backend, &product, &error) == ROTARY_OK);
        const struct backend_weight_gradient sum = {
            .gradient = gradient, .sums = gradient + sizes.columns * sizes.inner, .a = a, .b = in};
        CHECK(backend.operations->weight_gradient(&backend, &sum, &error) == ROTARY_OK);
        if (call == 0)
            CHECK(allocations_counted() > before);
    }
    CHECK_INT(allocations_counted() - before, 0);
    packed_weight_destroy(weight);
    free(in.data);
    free(a.data);
    free(source.data);
    backend_destroy(&backend);
}

static void test_threads(const char *isa, enum precision precision)
{
    struct sizes sizes = {4500, 130, 600, 0};
    size_t out_bytes = (size_t)(sizes.rows * sizes.columns) * sizeof(float);
    size_t gradient_bytes = (size_t)((sizes.inner + 1) * sizes.columns) * sizeof(float);
    float *out[2] = {malloc(out_bytes), malloc(out_bytes)},
          *gradient[2] = {malloc(gradient_bytes), malloc(gradient_bytes)};
    const int threads[] = {1, 2, 3, 7};
    for (int i = 0; i < 4; i++) {
        run_twice(isa, precision, threads[i], out[i > 0], gradient[i > 0], sizes);
        if (i > 0) {
            CHECK(memcmp(out[0], out[1], out_bytes) == 0);
            CHECK(memcmp(gradient[0], gradient[1], gradient_bytes) == 0);
        }
    }
    for (int i = 0; i < 2; i++) {
        free(out[i]);
        free(gradient[i]);
    }
}

/* Packed batches have ever new numbers of rows: GEMMs are planned for a few of them. */
static void test_planned(const char *isa)
{
    enum { INNER = 40, COLUMNS = 48, ROWS = 600 };
    rotary_error error;
    struct backend backend = make(isa, PRECISION_F32, 1);
    const struct matmul *matmul = cpu_of(&backend)->matmul;
    struct matrix in = random_matrix(8, ROTARY_F32, ROWS, INNER, INNER),
                  out = random_matrix(9, ROTARY_F32, ROWS, COLUMNS, COLUMNS),
                  source = random_matrix(10, ROTARY_F32, INNER, COLUMNS, COLUMNS);
    struct packed_weight *weight = NULL;
    const struct packed_weight_config config = {.dtype = ROTARY_F32, .inner = INNER, .columns = COLUMNS};
    CHECK(packed_weight_create(&weight, cpu_of(&backend)->matmul, &config, &error) == ROTARY_OK);
    CHECK(packed_weight_fill(weight, cpu_of(&backend)->matmul, source.data, &error) == ROTARY_OK);
    for (int64_t rows = 1; rows <= ROWS; rows++) {
        const struct backend_matmul product = {
            .out = matrix_rows(out, 0, rows), .in = matrix_rows(in, 0, rows), .weight = weight};
        CHECK(backend.operations->matmul(&backend, &product, &error) == ROTARY_OK);
    }
    CHECK(matmul_planned_gemms(matmul) <= 24);
    for (int64_t rows = 1; rows <= ROWS; rows++) {
        const struct backend_weight_gradient sum = {
            .gradient = source.data, .a = matrix_rows(in, 0, rows), .b = matrix_rows(out, 0, rows)};
        CHECK(backend.operations->weight_gradient(&backend, &sum, &error) == ROTARY_OK);
    }
    CHECK(matmul_planned_gemms(matmul) <= 24 + 2 * 40);
    packed_weight_destroy(weight);
    free(in.data);
    free(out.data);
    free(source.data);
    backend_destroy(&backend);
}

/* A row has the same bits alone, and beside others: text that is generated from a prompt does not depend on
 * the prompts beside it. */
static void test_single_row(struct backend *backend, struct sizes sizes, rotary_dtype out_type)
{
    enum { ROWS = 40 };
    static const int64_t counts[] = {2, 3, 5, ROWS};
    rotary_error error;
    struct matrix in = random_matrix(7, backend->storage, ROWS, sizes.inner, sizes.inner + sizes.padding),
                  source = random_matrix(8, ROTARY_F32, 1, sizes.inner * sizes.columns,
                                         sizes.inner * sizes.columns),
                  bias = random_matrix(9, ROTARY_F32, 1, sizes.columns, sizes.columns),
                  all = random_matrix(10, out_type, ROWS, sizes.columns, sizes.columns),
                  alone = random_matrix(11, out_type, ROWS, sizes.columns, sizes.columns);
    struct packed_weight *weight = NULL;
    const struct packed_weight_config config = {
        .dtype = backend->storage, .inner = sizes.inner, .columns = sizes.columns};
    const struct backend_operations *operations = backend->operations;
    CHECK_INT(operations->packed_weight_create(backend, &weight, &config, &error), ROTARY_OK);
    const struct backend_pack_weight pack = {.weight = weight, .source = source.data};
    CHECK_INT(operations->pack_weight(backend, &pack, &error), ROTARY_OK);
    struct backend_matmul call = {.weight = weight, .bias = bias.data, .epilogue = MATMUL_EPILOGUE_RELU};
    check_about("a row of %lld x %lld, %s", (long long)sizes.inner, (long long)sizes.columns,
                rotary_isa_name(backend->isa));
    for (int64_t row = 0; row < ROWS; row++) {
        call.in = matrix_rows(in, row, 1);
        call.out = matrix_rows(alone, row, 1);
        CHECK_INT(operations->matmul(backend, &call, &error), ROTARY_OK);
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        call.in = matrix_rows(in, 0, counts[i]);
        call.out = matrix_rows(all, 0, counts[i]);
        CHECK_INT(operations->matmul(backend, &call, &error), ROTARY_OK);
        for (int64_t row = 0; row < counts[i]; row++)
            for (int64_t column = 0; column < sizes.columns; column++)
                CHECK(element(alone, row, column) == element(all, row, column));
    }
    check_about("%s", "");
    operations->packed_weight_destroy(backend, weight);
    free(in.data);
    free(source.data);
    free(bias.data);
    free(all.data);
    free(alone.data);
}

int main(int count, char **arguments)
{
    const char *isa = count > 1 ? arguments[1] : "auto";
    const struct sizes all[] = {{1, 1, 1, 0},       {1, 128, 128, 0},   {7, 5, 3, 2},      {300, 41, 97, 8},
                                {40, 97, 41, 0},    {256, 128, 512, 0}, {515, 33, 600, 8}, {130, 700, 65, 0},
                                {64, 2048, 130, 0}, {70, 300, 3, 0}};
    for (int precision = PRECISION_F32; precision <= PRECISION_BF16; precision++) {
        struct backend backend = make(isa, (enum precision)precision, 2);
        if (backend.threads == 0)
            continue;
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            for (int variant = 0; variant < 8; variant++)
                test_matmul(&backend, all[i], variant & 1, variant & 2, backend.storage,
                            (enum matmul_epilogue)(variant / 4));
            test_matmul(&backend, all[i], true, true, ROTARY_F32, MATMUL_EPILOGUE_NONE);
            test_gradient(&backend, all[i]);
            /* Of f32, oneDNN's kernels for AVX2 sum up a row otherwise. */
            if (precision == PRECISION_BF16 || cpu_of(&backend)->kernels->multiply_row[ROTARY_F32]) {
                test_single_row(&backend, all[i], backend.storage);
                test_single_row(&backend, all[i], ROTARY_F32);
            }
        }
        if (precision == PRECISION_BF16 || cpu_of(&backend)->kernels->multiply_row[ROTARY_F32])
            test_single_row(&backend, (struct sizes){1, 3000, 1100, 0}, ROTARY_F32);
        test_gradient(&backend, (struct sizes){5000, 40, 300, 0});
        test_gradient(&backend, (struct sizes){600, 530, 50, 4});
        check_about("%s %s", rotary_isa_name(backend.isa), rotary_dtype_name(backend.storage));
        CHECK_INT(matmul_reference_gemms(cpu_of(&backend)->matmul), 0);
        backend_destroy(&backend);
        test_threads(isa, (enum precision)precision);
    }
    test_planned(isa);
    return check_report();
}
