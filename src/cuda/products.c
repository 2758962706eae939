/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/products.h"

#include "base/fail.h"
#include "cuda/steps.h"

#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLANS = 512, MAX_WORKSPACE = 32 << 20, ALGORITHMS = 8 };

/* What a plan depends on. Compared by its bytes, so it is filled from zero. */
struct shape {
    int64_t rows, columns, inner, a_stride, b_stride, out_stride;
    int in_type, out_type, a_transposed, b_transposed, accumulate, epilogue;
    uint32_t a_alignment, b_alignment, out_alignment;
};

struct plan {
    struct shape shape;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, out;
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace; /* that the algorithm needs */
    bool possible;
};

struct cuda_products {
    cublasLtHandle_t handle;
    cublasStatus_t failed; /* the status of the last product */
    void *workspace;       /* of this stream alone; it grows to the largest need of a plan */
    size_t workspace_bytes;
    struct plan plans[MAX_PLANS];
    int count, next; /* next: the one that is replaced when all are taken */
};

static rotary_status check(cublasStatus_t status, const char *what, rotary_error *error)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_UNSUPPORTED, "cuBLASLt failed in %s: %s", what,
                       cublasLtGetStatusString(status));
}

rotary_status cuda_products_create(struct cuda_products **products, rotary_error *error)
{
    struct cuda_products *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for matrix products");
    *products = made; /* whoever destroys the backend destroys it */
    return check(cublasLtCreate(&made->handle), "creation", error);
}

static void destroy_plan(struct plan *plan)
{
    if (plan->operation)
        cublasLtMatmulDescDestroy(plan->operation);
    cublasLtMatrixLayout_t layouts[] = {plan->a, plan->b, plan->out};
    for (int i = 0; i < 3; i++)
        if (layouts[i])
            cublasLtMatrixLayoutDestroy(layouts[i]);
    memset(plan, 0, sizeof *plan);
}

void cuda_products_destroy(struct cuda_products *products)
{
    if (!products)
        return;
    for (int i = 0; i < products->count; i++)
        destroy_plan(&products->plans[i]);
    (void)cudaFree(products->workspace);
    if (products->handle)
        cublasLtDestroy(products->handle);
    free(products);
}

static cudaDataType_t type_of(rotary_dtype dtype)
{
    return dtype == ROTARY_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

/* The largest power of two, at most 256, that an address and the distance of rows are multiples of. */
static uint32_t alignment_of(struct matrix m)
{
    uint64_t bits = (uint64_t)(uintptr_t)m.data | (uint64_t)m.stride * rotary_dtype_size(m.dtype) | 256;
    return (uint32_t)(bits & (~bits + 1));
}

static struct shape shape_of(const struct cuda_product *product)
{
    struct shape shape;
    memset(&shape, 0, sizeof shape);
    shape.rows = product->out.rows;
    shape.columns = product->out.columns;
    shape.inner = product->b_transposed ? product->b.columns : product->b.rows;
    shape.a_stride = product->a.stride;
    shape.b_stride = product->b.stride;
    shape.out_stride = product->out.stride;
    shape.in_type = (int)product->a.dtype;
    shape.out_type = (int)product->out.dtype;
    shape.a_transposed = product->a_transposed;
    shape.b_transposed = product->b_transposed;
    shape.accumulate = product->accumulate;
    const bool relu = product->epilogue == MATMUL_EPILOGUE_RELU;
    shape.epilogue = product->bias ? (relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)
                                   : (relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT);
    shape.a_alignment = alignment_of(product->a);
    shape.b_alignment = alignment_of(product->b);
    shape.out_alignment = alignment_of(product->out);
    return shape;
}

/* ---- A plan. cuBLASLt reads matrices column by column: a row-major out = a b is its out^T = b^T a^T, whose
 * first operand is b as it lies in memory, and whose second is a. ---- */

static cublasStatus_t describe(struct plan *plan)
{
    const struct shape *shape = &plan->shape;
    const cudaDataType_t in = type_of((rotary_dtype)shape->in_type),
                         out = type_of((rotary_dtype)shape->out_type);
    const cublasOperation_t first = shape->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = shape->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasLtEpilogue_t epilogue = (cublasLtEpilogue_t)shape->epilogue;
    const uint64_t columns = (uint64_t)shape->columns, rows = (uint64_t)shape->rows,
                   inner = (uint64_t)shape->inner;
    cublasStatus_t status = cublasLtMatmulDescCreate(&plan->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (!status)
        status = cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_TRANSA, &first,
                                                sizeof first);
    if (!status)
        status = cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_TRANSB, &second,
                                                sizeof second);
    if (!status)
        status = cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                                sizeof epilogue);
    if (!status)
        status = cublasLtMatrixLayoutCreate(&plan->a, in, shape->b_transposed ? inner : columns,
                                            shape->b_transposed ? columns : inner, shape->b_stride);
    if (!status)
        status = cublasLtMatrixLayoutCreate(&plan->b, in, shape->a_transposed ? rows : inner,
                                            shape->a_transposed ? inner : rows, shape->a_stride);
    if (!status)
        status = cublasLtMatrixLayoutCreate(&plan->out, out, columns, rows, shape->out_stride);
    return status;
}

static cublasStatus_t prefer(const struct shape *shape, cublasLtMatmulPreference_t preference)
{
    /* Partial sums stay f32, and are added in a fixed order: not in the memory of the output. */
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const size_t workspace = MAX_WORKSPACE;
    const struct {
        cublasLtMatmulPreferenceAttributes_t attribute;
        const void *value;
        size_t bytes;
    } wishes[] = {
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace},
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &shape->b_alignment, sizeof shape->b_alignment},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &shape->a_alignment, sizeof shape->a_alignment},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &shape->out_alignment, sizeof shape->out_alignment},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &shape->out_alignment, sizeof shape->out_alignment},
    };
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes && !status; i++)
        status = cublasLtMatmulPreferenceSetAttribute(preference, wishes[i].attribute, wishes[i].value,
                                                      wishes[i].bytes);
    return status;
}

/* The first algorithm that the library offers. `possible` stays false where it has none. */
static cublasStatus_t choose(struct cuda_products *products, struct plan *plan)
{
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t found[ALGORITHMS];
    int count = 0;
    memset(found, 0, sizeof found);
    cublasStatus_t status = cublasLtMatmulPreferenceCreate(&preference);
    if (!status)
        status = prefer(&plan->shape, preference);
    if (!status)
        status = cublasLtMatmulAlgoGetHeuristic(products->handle, plan->operation, plan->a, plan->b,
                                                plan->out, plan->out, preference, ALGORITHMS, found, &count);
    for (int i = 0; i < count && !plan->possible; i++)
        if (found[i].state == CUBLAS_STATUS_SUCCESS && found[i].workspaceSize <= MAX_WORKSPACE) {
            plan->algorithm = found[i].algo;
            plan->workspace = found[i].workspaceSize;
            plan->possible = true;
        }
    if (preference)
        cublasLtMatmulPreferenceDestroy(preference);
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? CUBLAS_STATUS_SUCCESS : status;
}

/* cudaFree waits for the device, so that no product uses the old memory. */
static rotary_status reserve(const struct backend *backend, size_t bytes, rotary_error *error)
{
    struct cuda_products *products = cuda_of(backend)->products;
    if (bytes <= products->workspace_bytes)
        return ROTARY_OK;
    rotary_status status = cuda_steps_interrupt(backend, error);
    if (status != ROTARY_OK)
        return status;
    (void)cudaFree(products->workspace);
    products->workspace = NULL;
    products->workspace_bytes = 0;
    if (cudaMalloc(&products->workspace, bytes) != cudaSuccess)
        return rotary_fail_memory(error, "on the device for the workspace of matrix products");
    products->workspace_bytes = bytes;
    return ROTARY_OK;
}

static rotary_status find_plan(struct cuda_products *products, const struct cuda_product *product,
                               struct plan **plan, rotary_error *error)
{
    const struct shape shape = shape_of(product);
    for (int i = 0; i < products->count; i++)
        if (memcmp(&products->plans[i].shape, &shape, sizeof shape) == 0) {
            *plan = &products->plans[i];
            return ROTARY_OK;
        }
    struct plan *made = &products->plans[products->next];
    products->next = (products->next + 1) % MAX_PLANS;
    if (products->count < MAX_PLANS)
        products->count++;
    destroy_plan(made);
    made->shape = shape;
    cublasStatus_t status = describe(made);
    if (!status)
        status = choose(products, made);
    if (status) {
        destroy_plan(made);
        return check(status, "planning a product", error);
    }
    *plan = made;
    return ROTARY_OK;
}

/* A product as an item of a step (cuda/steps.h). */
struct product_item {
    struct plan *plan;
    struct shape shape; /* of the plan, which may be replaced */
    const void *a, *b, *bias;
    void *out, *workspace;
    size_t workspace_bytes;
};

static cudaError_t run_product(const struct cuda *cuda, const void *arguments)
{
    const struct product_item *item = arguments;
    struct cuda_products *products = cuda->products;
    const struct plan *plan = item->plan;
    const float alpha = 1.0f, beta = item->shape.accumulate ? 1.0f : 0.0f;
    if (memcmp(&plan->shape, &item->shape, sizeof plan->shape) != 0 || item->workspace != products->workspace)
        return cudaErrorInvalidValue;
    products->failed = CUBLAS_STATUS_SUCCESS;
    if (item->bias)
        products->failed = cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                          &item->bias, sizeof item->bias);
    if (!products->failed)
        products->failed =
            cublasLtMatmul(products->handle, plan->operation, &alpha, item->b, plan->a, item->a, plan->b,
                           &beta, item->out, plan->out, item->out, plan->out, &plan->algorithm,
                           item->workspace, item->workspace_bytes, cuda->stream);
    return products->failed ? cudaErrorUnknown : cudaSuccess;
}

rotary_status cuda_products_run(const struct backend *backend, const struct cuda_product *product, bool *done,
                                rotary_error *error)
{
    struct cuda_products *products = cuda_of(backend)->products;
    struct product_item made;
    struct plan *plan = NULL;
    rotary_status status = find_plan(products, product, &plan, error);
    if (status == ROTARY_OK)
        status = reserve(backend, plan->workspace, error);
    *done = status == ROTARY_OK && plan->possible;
    if (!*done)
        return status;
    memset(&made, 0, sizeof made);
    made.plan = plan;
    made.shape = plan->shape;
    made.a = product->a.data;
    made.b = product->b.data;
    made.bias = product->bias;
    made.out = product->out.data;
    made.workspace = products->workspace;
    made.workspace_bytes = products->workspace_bytes;
    const struct cuda_item item = {.run = run_product, .arguments = &made, .bytes = sizeof made};
    status = cuda_submit(backend, &item, "a product", error);
    return status != ROTARY_OK && products->failed ? check(products->failed, "a product", error) : status;
}
