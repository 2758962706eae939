/* SPDX-License-Identifier: Apache-2.0 */
#include "cublasLt.h"
#include "emulated_block.h"
#include "emulated_memory.h"
#include "emulated_streams.h"

#include <math.h>
#include <string.h>

struct emulated_handle {
    int unused;
};

struct emulated_operation {
    cublasOperation_t transpose_a, transpose_b;
    cublasLtEpilogue_t epilogue;
    const void *bias;
};

struct emulated_layout {
    cudaDataType_t type;
    uint64_t rows, columns;
    int64_t distance; /* of columns */
};

struct emulated_preference {
    size_t workspace;
    uint32_t reductions, alignment[4];
};

namespace
{

enum { WORKSPACE_BYTES = 1024 };

size_t size_of(const emulated_layout *layout)
{
    return layout->type == CUDA_R_16BF ? 2 : 4;
}

float element(const void *data, const emulated_layout *layout, uint64_t row, uint64_t column)
{
    const uint64_t at = row + column * (uint64_t)layout->distance;
    float x;
    if (layout->type == CUDA_R_32F)
        return static_cast<const float *>(data)[at];
    const uint32_t bits = (uint32_t) static_cast<const uint16_t *>(data)[at] << 16;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void store(void *data, const emulated_layout *layout, uint64_t row, uint64_t column, float x)
{
    const uint64_t at = row + column * (uint64_t)layout->distance;
    uint32_t bits;
    if (layout->type == CUDA_R_32F) {
        static_cast<float *>(data)[at] = x;
        return;
    }
    memcpy(&bits, &x, sizeof bits);
    bits = isnan(x) ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u);
    static_cast<uint16_t *>(data)[at] = (uint16_t)(bits >> 16);
}

void check_matrix(const void *data, const emulated_layout *layout, const char *what)
{
    const uint64_t elements =
        layout->columns ? (layout->columns - 1) * (uint64_t)layout->distance + layout->rows : 0;
    emulated_memory_check(data, elements * size_of(layout), what);
}

/* The sides of an operand after its transposition. */
uint64_t rows_of(const emulated_layout *layout, cublasOperation_t operation)
{
    return operation == CUBLAS_OP_T ? layout->columns : layout->rows;
}

uint64_t columns_of(const emulated_layout *layout, cublasOperation_t operation)
{
    return operation == CUBLAS_OP_T ? layout->rows : layout->columns;
}

bool shapes_agree(const emulated_operation *operation, const emulated_layout *a, const emulated_layout *b,
                  const emulated_layout *c, const emulated_layout *d)
{
    return rows_of(a, operation->transpose_a) == d->rows &&
           columns_of(a, operation->transpose_a) == rows_of(b, operation->transpose_b) &&
           columns_of(b, operation->transpose_b) == d->columns && c->rows == d->rows &&
           c->columns == d->columns && c->type == d->type && a->type == b->type &&
           (d->type == a->type || d->type == CUDA_R_32F) && a->distance >= (int64_t)a->rows &&
           b->distance >= (int64_t)b->rows && d->distance >= (int64_t)d->rows && a->rows > 0 && d->rows > 0 &&
           d->columns > 0;
}

/* A product as it was asked for: who asks again may change descriptions. */
struct product {
    emulated_operation operation;
    emulated_layout a_layout, b_layout, c_layout, d_layout;
    const void *a, *b, *c;
    void *d;
    float scale, keep;
};

emulated_layout bias_layout_of(const emulated_layout &d)
{
    return {d.type, d.rows, 1, (int64_t)d.rows};
}

float element_of_product(const product &of, uint64_t row, uint64_t column)
{
    const uint64_t inner = columns_of(&of.a_layout, of.operation.transpose_a);
    const bool a_is_transposed = of.operation.transpose_a == CUBLAS_OP_T,
               b_is_transposed = of.operation.transpose_b == CUBLAS_OP_T;
    float sum = 0.0f;
    for (uint64_t i = 0; i < inner; i++)
        sum = fmaf(
            a_is_transposed ? element(of.a, &of.a_layout, i, row) : element(of.a, &of.a_layout, row, i),
            b_is_transposed ? element(of.b, &of.b_layout, column, i) : element(of.b, &of.b_layout, i, column),
            sum);
    return of.scale * sum + (of.keep != 0.0f ? of.keep * element(of.c, &of.c_layout, row, column) : 0.0f);
}

void run_product(const product &of)
{
    const bool has_bias = of.operation.epilogue & CUBLASLT_EPILOGUE_BIAS,
               relu = of.operation.epilogue & CUBLASLT_EPILOGUE_RELU;
    const emulated_layout bias_layout = bias_layout_of(of.d_layout);
    emulated_kernel_name("of a product");
    emulated_memory_open();
    for (uint64_t column = 0; column < of.d_layout.columns; column++)
        for (uint64_t row = 0; row < of.d_layout.rows; row++) {
            const float bias = has_bias ? element(of.operation.bias, &bias_layout, row, 0) : 0.0f,
                        sum = element_of_product(of, row, column) + bias;
            store(of.d, &of.d_layout, row, column, relu && sum < 0.0f ? 0.0f : sum);
        }
    emulated_memory_close();
}

} // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = new emulated_handle();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS         ? "CUBLAS_STATUS_SUCCESS"
           : status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
                                                   : "CUBLAS_STATUS_NOT_SUPPORTED";
}

size_t cublasLtGetVersion(void)
{
    return 130000;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *operation, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *operation = new emulated_operation{CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, NULL};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation)
{
    delete operation;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute, const void *value,
                                              size_t bytes)
{
    void *to = attribute == CUBLASLT_MATMUL_DESC_TRANSA     ? (void *)&operation->transpose_a
               : attribute == CUBLASLT_MATMUL_DESC_TRANSB   ? (void *)&operation->transpose_b
               : attribute == CUBLASLT_MATMUL_DESC_EPILOGUE ? (void *)&operation->epilogue
                                                            : (void *)&operation->bias;
    if (bytes != (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER ? sizeof(void *) : sizeof(int)))
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType_t type, uint64_t rows,
                                          uint64_t columns, int64_t distance)
{
    *layout = new emulated_layout{type, rows, columns, distance};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    *preference = new emulated_preference{0, CUBLASLT_REDUCTION_SCHEME_MASK, {256, 256, 256, 256}};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    delete preference;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t bytes)
{
    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
        if (bytes != sizeof preference->workspace)
            return CUBLAS_STATUS_INVALID_VALUE;
        memcpy(&preference->workspace, value, bytes);
        return CUBLAS_STATUS_SUCCESS;
    }
    if (bytes != sizeof(uint32_t))
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK
               ? &preference->reductions
               : &preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
           value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

/* The algorithm remembers the alignments that it was asked for. */
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t *found, int *count)
{
    (void)handle;
    *count = 0;
    if (!shapes_agree(operation, a, b, c, d) || requested < 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (preference->reductions & CUBLASLT_REDUCTION_SCHEME_INPLACE)
        emulated_fault("a product may add up partial sums in an order that is not fixed");
    const emulated_layout *layouts[] = {a, b, c, d};
    for (int i = 0; i < 4; i++)
        if (preference->alignment[i] < 4 || (size_t)layouts[i]->distance * size_of(layouts[i]) % 4 != 0)
            return CUBLAS_STATUS_NOT_SUPPORTED;
    memset(found, 0, sizeof *found);
    for (int i = 0; i < 4; i++)
        found->algo.data[i] = preference->alignment[i];
    found->state = CUBLAS_STATUS_SUCCESS;
    found->workspaceSize = WORKSPACE_BYTES;
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t workspace_bytes,
                              cudaStream_t stream)
{
    (void)handle;
    emulated_kernel_name("of a product");
    if (!shapes_agree(operation, a_layout, b_layout, c_layout, d_layout))
        return CUBLAS_STATUS_INVALID_VALUE;
    const void *const data[] = {a, b, c, d};
    for (int i = 0; i < 4; i++)
        if ((uintptr_t)data[i] % algorithm->data[i] != 0)
            emulated_fault("a product's operand %d at %p is not aligned to %d bytes", i, data[i],
                           (int)algorithm->data[i]);
    if (workspace_bytes < WORKSPACE_BYTES)
        emulated_fault("a product has a workspace of %zu bytes, and needs %d", workspace_bytes,
                       WORKSPACE_BYTES);
    emulated_memory_check(workspace, workspace_bytes, "workspace of a product");
    check_matrix(a, a_layout, "first operand of a product");
    check_matrix(b, b_layout, "second operand of a product");
    check_matrix(d, d_layout, "output of a product");
    if (operation->epilogue & CUBLASLT_EPILOGUE_BIAS) {
        const emulated_layout bias_layout = bias_layout_of(*d_layout);
        check_matrix(operation->bias, &bias_layout, "bias of a product");
    }
    const product made = {*operation,
                          *a_layout,
                          *b_layout,
                          *c_layout,
                          *d_layout,
                          a,
                          b,
                          c,
                          d,
                          *static_cast<const float *>(alpha),
                          *static_cast<const float *>(beta)};
    emulated_submit(stream, [made]() { run_product(made); });
    return CUBLAS_STATUS_SUCCESS;
}
}
