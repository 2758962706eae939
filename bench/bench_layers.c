/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations of a training step at the sizes of the paper's presets: bench_layers [threads] [f32|bf16]
 * [rounds]. For each the shortest time of some rounds, the rate of arithmetic and of bytes that must move,
 * and beside them what this machine does at best: the rate of a product that stays in the cache, and of a
 * copy that does not.
 */
#include "layer/activation.h"
#include "layer/embedding.h"
#include "layer/loss.h"
#include "layer/norm.h"
#include "tensor/matmul.h"
#include "tensor/update.h"

#include "base/arena.h"
#include "base/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VOCABULARY = 48, COPY_BLOCK = 1 << 20 };

struct size {
    const char *preset;
    int64_t rows, width, hidden;
};

struct bench {
    struct compute compute;
    struct size size;
    int rounds;
    const char *only; /* the operation asked for; NULL: all */
    struct parameters parameters;
    struct linear *project, *attended, *up, *down, *output;
    struct norm norm;
    struct loss *loss;
    struct embedding embedding;
    struct packed_weight *packed;
    struct rotary_arena arena;
    float *stream, *d_stream, *mean, *deviation, *scratch;
    void *narrow, *narrow2, *wide, *wide2;
    int32_t *tokens;
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(rotary_status status, const rotary_error *error)
{
    if (status != ROTARY_OK) {
        fprintf(stderr, "bench_layers: %s\n", error->message);
        exit(1);
    }
}

static struct matrix narrow(struct bench *b)
{
    return matrix_of(b->narrow, b->compute.storage, b->size.rows, b->size.width);
}

static struct matrix narrow2(struct bench *b)
{
    return matrix_of(b->narrow2, b->compute.storage, b->size.rows, b->size.width);
}

static struct matrix wide(struct bench *b, void *data, int64_t columns)
{
    return matrix_of(data, b->compute.storage, b->size.rows, columns);
}

static void forward(struct bench *b, struct linear *linear, struct matrix out, struct matrix in,
                    enum product_finish finish)
{
    rotary_error error;
    must(linear_forward(linear, &b->parameters, out, in, finish, &error), &error);
}

static void backward(struct bench *b, struct linear *linear, struct matrix d_in, struct matrix d_out,
                     struct matrix in)
{
    rotary_error error;
    must(linear_backward(linear, &b->parameters, d_in, d_out, in, &error), &error);
}

static void run_project(struct bench *b)
{
    forward(b, b->project, wide(b, b->wide, 3 * b->size.width), narrow(b), PRODUCT_PLAIN);
}

static void run_attended(struct bench *b)
{
    forward(b, b->attended, narrow2(b), narrow(b), PRODUCT_PLAIN);
}

static void run_up(struct bench *b)
{
    forward(b, b->up, wide(b, b->wide, b->size.hidden), narrow(b), PRODUCT_RELU);
}

static void run_down(struct bench *b)
{
    forward(b, b->down, narrow2(b), wide(b, b->wide, b->size.hidden), PRODUCT_PLAIN);
}

static void run_project_backward(struct bench *b)
{
    backward(b, b->project, narrow2(b), wide(b, b->wide, 3 * b->size.width), narrow(b));
}

static void run_attended_backward(struct bench *b)
{
    backward(b, b->attended, wide(b, b->wide, b->size.width), narrow2(b), narrow(b));
}

static void run_down_backward(struct bench *b)
{
    backward(b, b->down, wide(b, b->wide2, b->size.hidden), narrow(b), wide(b, b->wide, b->size.hidden));
}

static void run_up_backward(struct bench *b)
{
    backward(b, b->up, narrow2(b), wide(b, b->wide2, b->size.hidden), narrow(b));
}

static void run_relu_backward(struct bench *b)
{
    struct matrix d = wide(b, b->wide2, b->size.hidden);
    activation_backward(&b->compute, ACTIVATION_RELU, d, d, wide(b, b->wide, b->size.hidden));
}

static void run_gelu(struct bench *b)
{
    activation_forward(&b->compute, ACTIVATION_GELU, wide(b, b->wide2, b->size.hidden),
                       wide(b, b->wide, b->size.hidden));
}

static void run_norm(struct bench *b)
{
    const struct norm_forward_call call = {.rows = b->size.rows,
                                           .residual = b->stream,
                                           .branch = narrow(b),
                                           .sum = b->stream,
                                           .normalised = narrow2(b),
                                           .mean = b->mean,
                                           .deviation = b->deviation};
    norm_forward(&b->norm, &b->compute, &b->parameters, &call);
}

static void run_norm_backward(struct bench *b)
{
    const struct norm_backward_call call = {.rows = b->size.rows,
                                            .sum = b->stream,
                                            .mean = b->mean,
                                            .deviation = b->deviation,
                                            .d_normalised = narrow(b),
                                            .accumulate = true,
                                            .d_residual = b->d_stream,
                                            .d_branch = narrow2(b),
                                            .scratch = b->scratch};
    norm_backward(&b->norm, &b->compute, &b->parameters, &call);
}

static void run_loss(struct bench *b)
{
    rotary_error error;
    struct loss_sums sums;
    const struct loss_call call = {
        .hidden = narrow(b), .targets = b->tokens, .gradient_scale = 1e-3f, .d_hidden = narrow2(b)};
    must(loss_run(b->loss, &b->parameters, &call, &sums, &error), &error);
}

static void run_embedding(struct bench *b)
{
    embedding_forward(&b->embedding, &b->compute, &b->parameters, b->stream, b->tokens, NULL, 1, b->size.rows,
                      (struct dropout){0});
}

static void run_embedding_backward(struct bench *b)
{
    embedding_backward(&b->embedding, &b->compute, &b->parameters, b->d_stream, b->tokens, 1, b->size.rows,
                       (struct dropout){0});
}

static void run_prepare(struct bench *b)
{
    rotary_error error;
    struct linear *linears[] = {b->project, b->attended, b->up, b->down};
    for (int i = 0; i < 4; i++)
        must(linear_prepare(linears[i], &b->parameters, &error), &error);
}

static void run_adam(struct bench *b)
{
    const struct adam adam = {.learning_rate = 1e-9f,
                              .beta1 = 0.9f,
                              .beta2 = 0.98f,
                              .epsilon = 1e-8f,
                              .gradient_scale = 1.0f,
                              .correction1 = 0.5f,
                              .correction2 = 0.5f};
    update_gradient_square(&b->compute, &b->parameters);
    update_adam(&b->compute, &b->parameters, &adam);
}

static void run_best_product(struct bench *b)
{
    rotary_error error;
    struct matrix in = matrix_of(b->narrow, b->compute.storage, 512, 512);
    struct matrix out = matrix_of(b->narrow2, b->compute.storage, 512, 512);
    for (int i = 0; i < 20; i++)
        must(product_run(&b->compute, out, in, b->packed, NULL, PRODUCT_PLAIN, &error), &error);
}

static void copy_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    struct bench *b = argument;
    memcpy((char *)b->wide + index * COPY_BLOCK, (char *)b->wide2 + index * COPY_BLOCK, COPY_BLOCK);
}

static void run_copy(struct bench *b)
{
    rotary_parallel_for(b->compute.threads,
                        b->size.rows * b->size.hidden * (int64_t)rotary_dtype_size(b->compute.storage) /
                            COPY_BLOCK,
                        copy_block, b);
}

static void report(struct bench *b, const char *name, void (*run)(struct bench *), double operations,
                   double bytes)
{
    double best = 1e9;
    if (b->only && strcmp(b->only, name) != 0)
        return;
    for (int round = 0; round <= b->rounds; round++) {
        double start = seconds();
        run(b);
        double taken = seconds() - start;
        if (round > 0 && taken < best)
            best = taken;
    }
    printf("  %-22s %8.3f ms %8.0f GFLOP/s %7.1f GB/s\n", name, 1e3 * best, 1e-9 * operations / best,
           1e-9 * bytes / best);
}

static struct linear *linear_named(struct bench *b, const char *name, int64_t inputs, int64_t outputs)
{
    rotary_error error;
    struct linear *linear;
    const struct linear_config config = {.name = name,
                                         .inputs = inputs,
                                         .outputs = outputs,
                                         .rows = b->size.rows,
                                         .bias = true,
                                         .training = true,
                                         .tied_weight = -1,
                                         .initial = INITIAL_UNIFORM,
                                         .scale = 0.05f};
    must(linear_create(&linear, &b->compute, &config, &b->parameters, &error), &error);
    return linear;
}

static void carve(struct bench *b)
{
    int64_t rows = b->size.rows, width = b->size.width;
    size_t size = rotary_dtype_size(b->compute.storage);
    b->stream = rotary_arena_push(&b->arena, rows * width, sizeof(float));
    b->d_stream = rotary_arena_push(&b->arena, rows * width, sizeof(float));
    b->mean = rotary_arena_push(&b->arena, rows, sizeof(float));
    b->deviation = rotary_arena_push(&b->arena, rows, sizeof(float));
    b->scratch = rotary_arena_push(&b->arena, norm_scratch(&b->norm, rows), sizeof(float));
    b->narrow = rotary_arena_push(&b->arena, rows * width, size);
    b->narrow2 = rotary_arena_push(&b->arena, rows * width, size);
    b->wide = rotary_arena_push(&b->arena, rows * b->size.hidden, size);
    b->wide2 = rotary_arena_push(&b->arena, rows * b->size.hidden, size);
    b->tokens = rotary_arena_push(&b->arena, rows, sizeof(int32_t));
}

static void create(struct bench *b)
{
    rotary_error error;
    int64_t width = b->size.width;
    b->project = linear_named(b, "project", width, 3 * width);
    b->attended = linear_named(b, "attended", width, width);
    b->up = linear_named(b, "up", width, b->size.hidden);
    b->down = linear_named(b, "down", b->size.hidden, width);
    b->output = linear_named(b, "output", width, VOCABULARY);
    const struct loss_config loss = {.rows = b->size.rows, .training = true};
    must(loss_create(&b->loss, &b->compute, b->output, &loss, &error), &error);
    must(norm_create(&b->norm, NORM_LAYER, "norm", width, 1e-5f, &b->parameters, &error), &error);
    const struct embedding_config embedding = {
        .name = "embedding", .vocabulary = VOCABULARY, .width = width, .scale = 1.0f, .initial_scale = 0.02f};
    must(embedding_create(&b->embedding, &embedding, &b->parameters, &error), &error);
    must(parameters_allocate(&b->parameters, true, &error), &error);
    parameters_initialise(&b->parameters, b->compute.threads, 1);
    must(packed_weight_create(&b->packed, &b->compute, 512, 512, false, &error), &error);
    carve(b);
    must(rotary_arena_allocate(&b->arena, "the activations", &error), &error);
    /* Memory that was never written is one page of zeros, which nothing would have to wait for. */
    memset(b->arena.memory, 0, b->arena.capacity);
    carve(b);
    for (int64_t i = 0; i < b->size.rows; i++)
        b->tokens[i] = (int32_t)(i * i % VOCABULARY);
    run_prepare(b);
    must(linear_prepare(b->output, &b->parameters, &error), &error);
}

static void destroy(struct bench *b)
{
    struct linear *linears[] = {b->project, b->attended, b->up, b->down, b->output};
    for (int i = 0; i < 5; i++)
        linear_destroy(linears[i]);
    loss_destroy(b->loss);
    embedding_destroy(&b->embedding);
    packed_weight_destroy(b->packed);
    parameters_free(&b->parameters);
    rotary_arena_free(&b->arena);
    compute_destroy(&b->compute);
}

static void run_all(struct bench *b)
{
    double rows = (double)b->size.rows, width = (double)b->size.width, hidden = (double)b->size.hidden;
    double size = (double)rotary_dtype_size(b->compute.storage), narrow_bytes = rows * width * size;
    double wide_bytes = rows * hidden * size, stream_bytes = rows * width * 4.0;
    double product = 2.0 * rows * width * width, wide_product = 2.0 * rows * width * hidden;
    double parameters = (double)b->parameters.elements;
    printf("%s: %lld rows, %lld wide, %lld hidden, %s, %d threads\n", b->size.preset, (long long)b->size.rows,
           (long long)b->size.width, (long long)b->size.hidden, rotary_dtype_name(b->compute.storage),
           b->compute.threads);
    report(b, "best product", run_best_product, 20.0 * 2.0 * 512.0 * 512.0 * 512.0, 0.0);
    report(b, "copy", run_copy, 0.0, 2.0 * wide_bytes);
    report(b, "embedding", run_embedding, 0.0, stream_bytes);
    report(b, "norm", run_norm, 0.0, 2.0 * stream_bytes + 2.0 * narrow_bytes);
    report(b, "project", run_project, 3.0 * product, 4.0 * narrow_bytes);
    report(b, "attended", run_attended, product, 2.0 * narrow_bytes);
    report(b, "up, relu", run_up, wide_product, narrow_bytes + wide_bytes);
    report(b, "gelu", run_gelu, 0.0, 2.0 * wide_bytes);
    report(b, "down", run_down, wide_product, narrow_bytes + wide_bytes);
    report(b, "loss", run_loss, 6.0 * rows * width * VOCABULARY, 2.0 * narrow_bytes);
    report(b, "down backward", run_down_backward, 2.0 * wide_product, 2.0 * narrow_bytes + 2.0 * wide_bytes);
    report(b, "relu backward", run_relu_backward, 0.0, 3.0 * wide_bytes);
    report(b, "up backward", run_up_backward, 2.0 * wide_product, 2.0 * narrow_bytes + 2.0 * wide_bytes);
    report(b, "attended backward", run_attended_backward, 2.0 * product, 4.0 * narrow_bytes);
    report(b, "project backward", run_project_backward, 6.0 * product, 8.0 * narrow_bytes);
    report(b, "norm backward", run_norm_backward, 0.0, 3.0 * stream_bytes + 2.0 * narrow_bytes);
    report(b, "embedding backward", run_embedding_backward, 0.0, stream_bytes);
    report(b, "prepare", run_prepare, 0.0, parameters * (4.0 + 2.0 * size));
    report(b, "adam", run_adam, 0.0, parameters * 36.0);
}

int main(int count, char **arguments)
{
    const struct size sizes[] = {{"prefix/paper", 8192, 128, 512},
                                 {"addition/paper, 4 of its 32 sequences", 2560, 512, 2048},
                                 {"addition/paper", 20480, 512, 2048}};
    int threads = count > 1 ? atoi(arguments[1]) : 0;
    enum precision precision = PRECISION_AUTO;
    if (count > 2)
        precision = strcmp(arguments[2], "f32") == 0 ? PRECISION_F32 : PRECISION_BF16;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct bench b = {.size = sizes[i],
                          .rounds = count > 3 ? atoi(arguments[3]) : 10,
                          .only = count > 4 ? arguments[4] : NULL};
        rotary_error error;
        must(compute_create(&b.compute, threads, ROTARY_ISA_AUTO, precision, &error), &error);
        create(&b);
        run_all(&b);
        destroy(&b);
    }
    return 0;
}
