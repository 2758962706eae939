/* SPDX-License-Identifier: Apache-2.0 */
#include "train/benchmark.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/fail.h"
#include "tensor/matmul.h"
#include "tensor/profile.h"
#include "train/learner.h"

#include <stdlib.h>

/* A product of the shape of a large feed-forward layer, repeated. */
enum { PRODUCT_ROWS = 4096, PRODUCT_INNER = 512, PRODUCT_COLUMNS = 2048, PRODUCT_REPEATS = 20 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double benchmark_operations(const struct run_config *config)
{
    const struct decoder_config *model = &config->model;
    double width = (double)model->hidden_size, layers = (double)model->num_hidden_layers,
           attended = (double)(model->num_attention_heads * model->head_dim),
           keys = (double)(model->num_key_value_heads * model->head_dim),
           up = decoder_is_gated(model) ? 2.0 : 1.0, time = (double)config->task.sequence_length,
           tokens = time * (double)(config->train.batch_size * config->train.accumulation);
    double matrices = layers * (width * (2.0 * attended + 2.0 * keys) +
                                (up + 1.0) * width * (double)model->intermediate_size) +
                      width * (double)model->vocab_size;
    double attention = layers * 7.0 * 2.0 * attended * (time + 1.0) / 2.0;
    return tokens * (6.0 * matrices + attention);
}

static rotary_status time_products(const struct compute *compute, double *best, rotary_error *error)
{
    size_t size = rotary_dtype_size(compute->storage);
    struct rotary_arena arena = {0};
    struct matrix in, out;
    float *source = NULL;
    rotary_status status = ROTARY_OK;
    for (int real = 0; real < 2 && status == ROTARY_OK; real++) {
        in = matrix_of(rotary_arena_push(&arena, PRODUCT_ROWS * PRODUCT_INNER, size), compute->storage,
                       PRODUCT_ROWS, PRODUCT_INNER);
        out = matrix_of(rotary_arena_push(&arena, PRODUCT_ROWS * PRODUCT_COLUMNS, size), compute->storage,
                        PRODUCT_ROWS, PRODUCT_COLUMNS);
        source = rotary_arena_push(&arena, PRODUCT_INNER * PRODUCT_COLUMNS, sizeof(float));
        if (!real)
            status = rotary_arena_allocate(&arena, "the product that is timed", error);
    }
    struct packed_weight *weight = NULL;
    if (status == ROTARY_OK)
        status = packed_weight_create(&weight, compute, PRODUCT_INNER, PRODUCT_COLUMNS, false, error);
    if (status == ROTARY_OK)
        status = packed_weight_fill(weight, compute, source, error);
    *best = 0.0;
    for (int repeat = 0; status == ROTARY_OK && repeat < PRODUCT_REPEATS; repeat++) {
        double begin = rotary_clock();
        status = product_run(compute, out, in, weight, NULL, PRODUCT_PLAIN, error);
        double rate = 2.0 * PRODUCT_ROWS * PRODUCT_INNER * PRODUCT_COLUMNS / (rotary_clock() - begin);
        *best = rate > *best ? rate : *best;
    }
    packed_weight_destroy(weight);
    rotary_arena_free(&arena);
    return status;
}

static rotary_status time_steps(struct learner *learner, double begin, double *seconds,
                                struct benchmark *made, rotary_error *error)
{
    for (int64_t step = 0; step <= made->steps; step++) {
        double start = rotary_clock();
        struct learner_step taken;
        rotary_status status = learner_step(learner, step + 1, &taken, error);
        if (status != ROTARY_OK)
            return status;
        if (step > 0) {
            seconds[step - 1] = rotary_clock() - start;
            continue;
        }
        made->first = rotary_clock() - begin;
        if (learner->compute->profile)
            *learner->compute->profile = (struct profile){0};
    }
    qsort(seconds, (size_t)made->steps, sizeof *seconds, by_value);
    made->best = seconds[0];
    made->median = 0.5 * (seconds[(made->steps - 1) / 2] + seconds[made->steps / 2]);
    return ROTARY_OK;
}

rotary_status benchmark_train(const struct run_config *config, const struct compute *compute, int64_t steps,
                              struct benchmark *benchmark, rotary_error *error)
{
    struct benchmark made = {.steps = steps,
                             .tokens = (double)(config->task.sequence_length * config->train.batch_size *
                                                config->train.accumulation),
                             .operations = benchmark_operations(config)};
    double *seconds = steps > 0 ? calloc((size_t)steps, sizeof *seconds) : NULL;
    if (!seconds)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the times of %lld steps",
                           (long long)steps);
    double begin = rotary_clock();
    struct learner learner;
    rotary_status status = learner_create(&learner, config, compute, error);
    if (status == ROTARY_OK) {
        made.parameters = (double)parameters_total(decoder_parameters(learner.decoder));
        status = time_steps(&learner, begin, seconds, &made, error);
        learner_destroy(&learner);
    }
    if (status == ROTARY_OK)
        status = time_products(compute, &made.product_rate, error);
    free(seconds);
    if (status == ROTARY_OK)
        *benchmark = made;
    return status;
}
