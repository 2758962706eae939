/* SPDX-License-Identifier: Apache-2.0 */
#include "score/symmetric_factors.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPARE = 8, MAX_SWEEPS = 60 };

/* ---- small matrices ---- */

/* Rotates rows and columns p and q so that their element becomes 0 (Golub and Van Loan, 8.5). */
static void rotate(double *a, double *v, int64_t n, int64_t p, int64_t q)
{
    if (a[p * n + q] == 0)
        return;
    const double tau = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
    const double t = (tau >= 0 ? 1.0 : -1.0) / (fabs(tau) + sqrt(1 + tau * tau));
    const double c = 1 / sqrt(1 + t * t), s = t * c;
    for (int64_t i = 0; i < n; i++) {
        const double x = a[i * n + p], y = a[i * n + q];
        a[i * n + p] = c * x - s * y;
        a[i * n + q] = s * x + c * y;
    }
    for (int64_t i = 0; i < n; i++) {
        const double x = a[p * n + i], y = a[q * n + i];
        a[p * n + i] = c * x - s * y;
        a[q * n + i] = s * x + c * y;
    }
    for (int64_t i = 0; i < n; i++) {
        const double x = v[i * n + p], y = v[i * n + q];
        v[i * n + p] = c * x - s * y;
        v[i * n + q] = s * x + c * y;
    }
}

void symmetric_eigenvectors(double *matrix, double *vectors, int64_t size)
{
    double all = 0;
    for (int64_t i = 0; i < size * size; i++) {
        all += matrix[i] * matrix[i];
        vectors[i] = i % (size + 1) == 0;
    }
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        double off = 0;
        for (int64_t p = 0; p < size; p++)
            for (int64_t q = p + 1; q < size; q++)
                off += matrix[p * size + q] * matrix[p * size + q];
        if (!(off > 1e-30 * all))
            return;
        for (int64_t p = 0; p < size; p++)
            for (int64_t q = p + 1; q < size; q++)
                rotate(matrix, vectors, size, p, q);
    }
}

/* ---- sparse matrices ---- */

/* out = matrix basis, both [size][width]. */
static void multiply(const struct sparse_symmetric *matrix, const double *basis, int64_t width, double *out)
{
    for (int64_t i = 0; i < matrix->size; i++) {
        double *row = out + i * width;
        memset(row, 0, (size_t)width * sizeof *row);
        for (int64_t k = matrix->begins[i]; k < matrix->begins[i + 1]; k++) {
            const double value = (double)matrix->values[k], *from = basis + matrix->columns[k] * width;
            for (int64_t j = 0; j < width; j++)
                row[j] += value * from[j];
        }
    }
}

static double dot(const double *x, int64_t i, int64_t j, int64_t size, int64_t width)
{
    double sum = 0;
    for (int64_t row = 0; row < size; row++)
        sum += x[row * width + i] * x[row * width + j];
    return sum;
}

/* Makes columns orthonormal, by Gram-Schmidt, twice. What depends on the columns before it becomes 0. */
static void orthonormalise(double *x, int64_t size, int64_t width)
{
    for (int64_t j = 0; j < width; j++) {
        const double before = sqrt(dot(x, j, j, size, width));
        for (int pass = 0; pass < 2; pass++)
            for (int64_t i = 0; i < j; i++) {
                const double share = dot(x, i, j, size, width);
                for (int64_t row = 0; row < size; row++)
                    x[row * width + j] -= share * x[row * width + i];
            }
        const double norm = sqrt(dot(x, j, j, size, width)), scale = norm > 1e-12 * before ? 1 / norm : 0;
        for (int64_t row = 0; row < size; row++)
            x[row * width + j] *= scale;
    }
}

/* The subspace and what is computed within it. */
struct subspace {
    int64_t size, width;
    double *basis, *product; /* [size][width] */
    double *inner, *vectors; /* [width][width] */
    int64_t *order;          /* [width]: eigenvalues by descending magnitude */
};

static bool subspace_create(struct subspace *space, int64_t size, int64_t width)
{
    const size_t tall = (size_t)(size * width) + 1, small = (size_t)(width * width) + 1;
    *space = (struct subspace){.size = size, .width = width};
    space->basis = calloc(tall, sizeof(double));
    space->product = calloc(tall, sizeof(double));
    space->inner = calloc(small, sizeof(double));
    space->vectors = calloc(small, sizeof(double));
    space->order = calloc((size_t)width + 1, sizeof *space->order);
    return space->basis && space->product && space->inner && space->vectors && space->order;
}

static void subspace_free(struct subspace *space)
{
    free(space->basis);
    free(space->product);
    free(space->inner);
    free(space->vectors);
    free(space->order);
}

static void begin(struct subspace *space)
{
    const struct rotary_random_key key = {.seed = 1, .stream = ROTARY_STREAM_SUBSPACE};
    for (int64_t i = 0; i < space->size * space->width; i++)
        space->basis[i] = (double)rotary_random_normal(key, (uint64_t)i);
    orthonormalise(space->basis, space->size, space->width);
}

/* Eigenvalues and eigenvectors of basisᵀ matrix basis. */
static void solve_within(struct subspace *space, const struct sparse_symmetric *matrix)
{
    const int64_t width = space->width;
    multiply(matrix, space->basis, width, space->product);
    for (int64_t i = 0; i < width; i++)
        for (int64_t j = 0; j < width; j++) {
            double sum = 0;
            for (int64_t row = 0; row < space->size; row++)
                sum += space->basis[row * width + i] * space->product[row * width + j];
            space->inner[i * width + j] = sum;
        }
    symmetric_eigenvectors(space->inner, space->vectors, width);
    for (int64_t i = 0; i < width; i++) {
        const double magnitude = fabs(space->inner[i * (width + 1)]);
        int64_t place = i;
        for (; place > 0 && fabs(space->inner[space->order[place - 1] * (width + 1)]) < magnitude; place--)
            space->order[place] = space->order[place - 1];
        space->order[place] = i;
    }
}

rotary_status symmetric_factors(const struct sparse_symmetric *matrix, int64_t count, int iterations,
                                double *factors, rotary_error *error)
{
    struct subspace space;
    const int64_t width = min_i64(count + SPARE, matrix->size);
    if (!subspace_create(&space, matrix->size, width)) {
        subspace_free(&space);
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the factors of a matrix");
    }
    begin(&space);
    for (int i = 0; i < iterations && width < matrix->size; i++) { /* else it is the whole space */
        multiply(matrix, space.basis, width, space.product);
        orthonormalise(space.product, matrix->size, width);
        double *other = space.basis;
        space.basis = space.product;
        space.product = other;
    }
    solve_within(&space, matrix);
    for (int64_t row = 0; row < matrix->size; row++)
        for (int64_t j = 0; j < count; j++) {
            const int64_t at = j < width ? space.order[j] : 0;
            double sum = 0;
            for (int64_t k = 0; k < width && j < width; k++)
                sum += space.basis[row * width + k] * space.vectors[k * width + at];
            factors[row * count + j] = j < width ? sum * sqrt(fabs(space.inner[at * (width + 1)])) : 0;
        }
    subspace_free(&space);
    return ROTARY_OK;
}
