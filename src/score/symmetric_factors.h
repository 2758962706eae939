/* SPDX-License-Identifier: Apache-2.0
 *
 * The eigenvectors of symmetric matrices: all of a small one, by Jacobi's rotations, and those of the largest
 * magnitudes of a sparse one, by iterating a subspace (Halko, Martinsson and Tropp, 2011): its span is
 * multiplied by the matrix and made orthonormal, again and again; then the matrix within the span is small.
 */
#ifndef ROTARY_SCORE_SYMMETRIC_FACTORS_H
#define ROTARY_SCORE_SYMMETRIC_FACTORS_H

#include <rotary/status.h>

/* Row i has values[begins[i] ... begins[i + 1]) in the columns of the same places. */
struct sparse_symmetric {
    int64_t size;
    const int64_t *begins; /* [size + 1] */
    const int32_t *columns;
    const float *values;
};

/* Replaces a symmetric matrix [size][size] by its eigenvalues on the diagonal. vectors [size][size]: column j
 * is the eigenvector of the eigenvalue j. */
void symmetric_eigenvectors(double *matrix, double *vectors, int64_t size);

/* factors [size][count]: column j is u √|λ|, of the eigenvector u whose eigenvalue λ has the j-th largest
 * magnitude: U √S of the singular value decomposition. 1 <= count; columns beyond `size` are 0. The subspace
 * has 8 dimensions more and is multiplied `iterations` times. ROTARY_OUT_OF_MEMORY. */
ROTARY_CHECKED rotary_status symmetric_factors(const struct sparse_symmetric *matrix, int64_t count,
                                               int iterations, double *factors, rotary_error *error);

#endif
