/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend_pair.h"

#include "backend/reference_backend.h"
#include "backend/tested_backend.h"
#include "base/element.h"
#include "base/isa.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 3 };

static void must(rotary_status status, const rotary_error *error)
{
    if (!CHECK_INT(status, ROTARY_OK)) {
        printf("%s\n", error->message);
        exit(1);
    }
}

rotary_status pair_create(struct pair *pair, rotary_isa isa, rotary_dtype storage, rotary_error *error)
{
    *pair = (struct pair){.seed = 1};
    enum precision precision = storage == ROTARY_BF16 ? PRECISION_BF16 : PRECISION_F32;
    rotary_status status = tested_backend_create(&pair->backends[SIDE_CPU], isa, precision, error);
    if (status == ROTARY_OK)
        status = reference_backend_create(&pair->backends[SIDE_REFERENCE], storage, error);
    return status;
}

static bool test_one(rotary_isa isa, rotary_dtype storage, void (*test)(struct pair *pair))
{
    struct pair pair;
    rotary_error error = {0};
    rotary_status status = pair_create(&pair, isa, storage, &error);
    if (status == ROTARY_UNSUPPORTED || !CHECK_INT(status, ROTARY_OK))
        return false;
    check_about("%s %s", rotary_isa_name(isa), rotary_dtype_name(storage));
    test(&pair);
    check_about("%s", "");
    pair_destroy(&pair);
    return true;
}

void pair_test_all(void (*test)(struct pair *pair))
{
    int tested = 0;
    /* The best instruction set first: oneDNN takes the first cap of a process, and has bf16 for few sets. */
    for (int i = ROTARY_ISAS - 1; i > 0; i--)
        if (tested_backend_has(rotary_isa_order[i])) {
            tested += test_one(rotary_isa_order[i], ROTARY_F32, test);
            tested += test_one(rotary_isa_order[i], ROTARY_BF16, test);
        }
    CHECK(tested > 0);
}

void pair_clear(struct pair *pair)
{
    for (int i = 0; i < pair->count; i++)
        for (int side = 0; side < SIDES; side++)
            pair->backends[side].operations->release(&pair->backends[side], pair->tensors[i].memory[side]);
    pair->count = 0;
}

void pair_destroy(struct pair *pair)
{
    pair_clear(pair);
    for (int side = 0; side < SIDES; side++)
        backend_destroy(&pair->backends[side]);
}

struct tensor *pair_bytes(struct pair *pair, const void *host, size_t bytes)
{
    rotary_error error = {0};
    if (pair->count == MAX_TENSORS)
        abort();
    struct tensor *tensor = &pair->tensors[pair->count++];
    *tensor = (struct tensor){0};
    for (int side = 0; side < SIDES; side++) {
        const struct backend *backend = &pair->backends[side];
        must(backend->operations->allocate(backend, &tensor->memory[side], bytes, "a test", &error), &error);
        must(backend->operations->write(backend, tensor->memory[side], host, bytes, &error), &error);
    }
    return tensor;
}

/* Numbers are rounded to `held`. */
static struct tensor *make(struct pair *pair, struct tensor shape, rotary_dtype held, int octaves)
{
    int64_t elements = shape.rows * shape.stride;
    size_t bytes = (size_t)elements * rotary_dtype_size(shape.dtype);
    void *host = malloc(bytes);
    if (!host)
        abort();
    for (int64_t i = 0; i < elements; i++) {
        float rounded = 0;
        rotary_set_element(&rounded, 0, held, check_random(pair->seed, (uint64_t)i, octaves));
        rotary_set_element(host, i, shape.dtype, rotary_element(&rounded, 0, held));
    }
    pair->seed++;
    struct tensor *tensor = pair_bytes(pair, host, bytes);
    memcpy(shape.memory, tensor->memory, sizeof shape.memory);
    *tensor = shape;
    free(host);
    return tensor;
}

struct tensor *pair_tensor(struct pair *pair, rotary_dtype dtype, int64_t rows, int64_t columns, int octaves)
{
    struct tensor shape = {.dtype = dtype, .rows = rows, .columns = columns, .stride = columns};
    return make(pair, shape, dtype, octaves);
}

struct tensor *pair_storage(struct pair *pair, int64_t rows, int64_t columns)
{
    struct tensor shape = {.dtype = pair->backends[SIDE_REFERENCE].storage,
                           .rows = rows,
                           .columns = columns,
                           .stride = columns + GAP};
    return make(pair, shape, shape.dtype, 2);
}

struct tensor *pair_floats(struct pair *pair, int64_t rows, int64_t columns)
{
    return pair_tensor(pair, ROTARY_F32, rows, columns, 2);
}

struct tensor *pair_rounded_floats(struct pair *pair, int64_t rows, int64_t columns)
{
    struct tensor shape = {.dtype = ROTARY_F32, .rows = rows, .columns = columns, .stride = columns};
    return make(pair, shape, pair->backends[SIDE_REFERENCE].storage, 2);
}

struct matrix on(const struct tensor *tensor, enum side side)
{
    if (!tensor)
        return (struct matrix){0};
    struct matrix matrix = matrix_of(tensor->memory[side], tensor->dtype, tensor->rows, tensor->columns);
    matrix.stride = tensor->stride;
    return matrix;
}

float *floats_on(const struct tensor *tensor, enum side side)
{
    return tensor ? tensor->memory[side] : NULL;
}

void pair_read(struct pair *pair, const struct tensor *tensor, enum side side, void *host, size_t bytes)
{
    rotary_error error = {0};
    const struct backend *backend = &pair->backends[side];
    must(backend->operations->read(backend, host, tensor->memory[side], bytes, &error), &error);
}

double pair_bound(const struct pair *pair)
{
    return pair->backends[SIDE_REFERENCE].storage == ROTARY_F32 ? 3e-6 : 0x1p-7;
}

void pair_compare(struct pair *pair, const struct tensor *tensor, double bound, const char *what)
{
    int64_t elements = tensor->rows * tensor->stride, worst = 0;
    size_t bytes = (size_t)elements * rotary_dtype_size(tensor->dtype);
    double square = 0.0, excess = -1.0;
    void *host[SIDES];
    for (int side = 0; side < SIDES; side++) {
        host[side] = malloc(bytes);
        if (!host[side])
            abort();
        pair_read(pair, tensor, (enum side)side, host[side], bytes);
    }
    for (int64_t i = 0; i < elements; i++) {
        double wanted = (double)rotary_element(host[SIDE_REFERENCE], i, tensor->dtype);
        square += wanted * wanted / (double)elements;
    }
    for (int64_t i = 0; i < elements; i++) {
        double wanted = (double)rotary_element(host[SIDE_REFERENCE], i, tensor->dtype);
        double got = (double)rotary_element(host[SIDE_CPU], i, tensor->dtype);
        double over = fabs(got - wanted) / (sqrt(square) + fabs(wanted));
        if (got == wanted || over <= excess)
            continue;
        excess = over;
        worst = i;
        if (isnan(over))
            break;
    }
    const double wanted = (double)rotary_element(host[SIDE_REFERENCE], worst, tensor->dtype);
    if (!CHECK_NEAR((double)rotary_element(host[SIDE_CPU], worst, tensor->dtype), wanted,
                    bound * (sqrt(square) + fabs(wanted))))
        printf("that is element %lld of the %s\n", (long long)worst, what);
    free(host[SIDE_CPU]);
    free(host[SIDE_REFERENCE]);
}
