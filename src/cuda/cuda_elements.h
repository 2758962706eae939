/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices of the backend in kernels, whose type is a parameter of a template.
 */
#ifndef ROTARY_CUDA_CUDA_ELEMENTS_H
#define ROTARY_CUDA_CUDA_ELEMENTS_H

#include "backend/matrix.h"
#include "cuda/device.h"

/* struct matrix, typed. */
template <typename T>
struct tensor {
    T *data;
    int64_t rows, columns, stride;

    __device__ float get(int64_t row, int64_t column) const
    {
        return to_float(data[row * stride + column]);
    }
    __device__ void set(int64_t row, int64_t column, float x) const
    {
        data[row * stride + column] = from_float<T>(x);
    }
};

template <typename T>
inline tensor<T> tensor_of(const struct matrix &matrix)
{
    tensor<T> made;
    made.data = static_cast<T *>(matrix.data);
    made.rows = matrix.rows;
    made.columns = matrix.columns;
    made.stride = matrix.stride;
    return made;
}

/* Calls `function` with a value of the element's type. */
template <typename Function>
inline rotary_status with_type(rotary_dtype dtype, const Function &function)
{
    return dtype == ROTARY_BF16 ? function(bf16()) : function(0.0f);
}

#endif
