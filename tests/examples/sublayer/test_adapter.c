/* SPDX-License-Identifier: Apache-2.0
 *
 * docs/how-to/add-an-operation.md, "A sublayer": a stack with a type that the project's own list does not have.
 * Its gradients against finite differences along random directions; decoding against the forward pass.
 */
#include "backend/reference_backend.h"
#include "support/check.h"

#include "model/stack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 12,
    HIDDEN = 6,
    LAYERS = 2,
    BATCH = 2,
    TIME = 4,
    ROWS = BATCH * TIME,
    ELEMENTS = ROWS * WIDTH
};

struct model {
    struct backend backend;
    struct parameters parameters;
    struct stack *stack;
    struct rotary_arena arena;
};

static void must(rotary_status status, const rotary_error *error)
{
    if (!CHECK(status == ROTARY_OK)) {
        printf("%s\n", error->message);
        exit(1);
    }
}

/* The model destroys the backend. */
static void create(struct model *model, struct backend backend)
{
    rotary_error error;
    *model = (struct model){0};
    model->backend = backend;
    model->parameters.backend = &model->backend;
    const struct sublayer_config config = {.in_bias = true,
                                           .out_bias = true,
                                           .norm = NORM_LAYER,
                                           .norm_epsilon = 1e-5f,
                                           .hidden = HIDDEN,
                                           .activation = ACTIVATION_GELU};
    const struct stack_part block[] = {
        {.type = "feed_forward", .name = "feed_forward", .config = config, .wiring = {.norm_input = true}},
        {.type = "adapter", .name = "adapter", .config = config, .wiring = {.norm_output = true}}};
    const struct stack_config stack = {.prefix = "",
                                       .layers = LAYERS,
                                       .parts = 2,
                                       .block = block,
                                       .width = WIDTH,
                                       .norm = NORM_RMS,
                                       .norm_epsilon = 1e-5f,
                                       .final_norm = true,
                                       .batch = BATCH,
                                       .time = TIME,
                                       .training = true};
    must(stack_create(&model->stack, &model->backend, &stack, &model->parameters, &error), &error);
    must(parameters_allocate(&model->parameters, true, &error), &error);
    stack_carve(model->stack, &model->arena);
    must(backend_arena_allocate(&model->backend, &model->arena, "a test", &error), &error);
    stack_carve(model->stack, &model->arena);
}

static void destroy(struct model *model)
{
    stack_destroy(model->stack);
    parameters_free(&model->parameters);
    backend_arena_free(&model->backend, &model->arena);
    backend_destroy(&model->backend);
}

/* A random value of parameter element i, plus step times the direction. */
static void fill(struct model *model, double step)
{
    rotary_error error;
    struct parameters *parameters = &model->parameters;
    for (int row = 0; row < parameters->count; row++) {
        float value[WIDTH * WIDTH];
        for (int64_t i = 0; i < parameter_elements(&parameters->rows[row]); i++) {
            uint64_t element = (uint64_t)(parameters->rows[row].offset + i);
            bool gain = strstr(parameters->rows[row].name, "norm.weight");
            value[i] = (float)(0.3 * (double)check_random(1, element, 0) + (gain ? 1.0 : 0.0) +
                               step * (double)check_random(2, element, 0));
        }
        must(parameters_write(parameters, parameter_range(parameters, PARAMETER_VALUES, row), value, &error),
             &error);
    }
}

static void write_input(struct model *model, double step)
{
    rotary_error error;
    float input[ELEMENTS];
    for (uint64_t i = 0; i < ELEMENTS; i++)
        input[i] = (float)((double)check_random(3, i, 1) + step * (double)check_random(4, i, 0));
    must(model->backend.operations->write(&model->backend, stack_input(model->stack), input, sizeof input,
                                          &error),
         &error);
}

static const struct stack_call call = {.tokens = {.batch = BATCH, .time = TIME}};

/* The sum of the output's elements, each times a random number. */
static double loss(struct model *model, float output[ELEMENTS])
{
    rotary_error error;
    must(stack_forward(model->stack, &model->parameters, &call, &error), &error);
    must(model->backend.operations->read(&model->backend, output, stack_output(model->stack, ROWS).data,
                                         ELEMENTS * sizeof *output, &error),
         &error);
    double sum = 0.0;
    for (uint64_t i = 0; i < ELEMENTS; i++)
        sum += (double)output[i] * (double)check_random(5, i, 0);
    return sum;
}

/* The gradient of the loss along the direction, by the backward pass. */
static double slope(struct model *model)
{
    rotary_error error;
    float d_output[ELEMENTS], gradient[ELEMENTS > WIDTH * WIDTH ? ELEMENTS : WIDTH * WIDTH];
    double sum = 0.0;
    for (uint64_t i = 0; i < ELEMENTS; i++)
        d_output[i] = check_random(5, i, 0);
    must(model->backend.operations->write(&model->backend, stack_output_gradient(model->stack, ROWS).data,
                                          d_output, sizeof d_output, &error),
         &error);
    must(stack_backward(model->stack, &model->parameters, &call, &error), &error);
    for (int row = 0; row < model->parameters.count; row++) {
        must(parameters_read(&model->parameters,
                             parameter_range(&model->parameters, PARAMETER_GRADIENTS, row), gradient, &error),
             &error);
        for (int64_t i = 0; i < parameter_elements(&model->parameters.rows[row]); i++)
            sum += (double)gradient[i] *
                   (double)check_random(2, (uint64_t)(model->parameters.rows[row].offset + i), 0);
    }
    must(model->backend.operations->read(&model->backend, gradient, stack_input_gradient(model->stack),
                                         ELEMENTS * sizeof *gradient, &error),
         &error);
    for (uint64_t i = 0; i < ELEMENTS; i++)
        sum += (double)gradient[i] * (double)check_random(4, i, 0);
    return sum;
}

static void test_gradient(struct model *model)
{
    float output[ELEMENTS];
    double at[2];
    const double step = 1e-3;
    fill(model, 0.0);
    write_input(model, 0.0);
    loss(model, output);
    double wanted = slope(model);
    for (int side = 0; side < 2; side++) {
        fill(model, side ? step : -step);
        write_input(model, side ? step : -step);
        at[side] = loss(model, output);
    }
    CHECK(fabs(wanted) > 0.1);
    CHECK_NEAR((at[1] - at[0]) / (2.0 * step), wanted, 2e-3 * (fabs(wanted) + 1.0));
}

static void test_decode(struct model *model)
{
    rotary_error error;
    struct stack_cache cache;
    struct rotary_arena arena = {0};
    float wanted[ELEMENTS], got[ELEMENTS];
    const int64_t counts[BATCH] = {TIME, TIME}, lengths[BATCH] = {0, 0};
    fill(model, 0.0);
    write_input(model, 0.0);
    loss(model, wanted);
    const struct sublayer_cache_shape shape = {.batch = BATCH, .capacity = TIME, .beams = 1, .count = TIME};
    must(stack_cache_create(&cache, model->stack, shape, &error), &error);
    stack_cache_carve(&cache, model->stack, &arena);
    const struct stack_decode_call decode = {
        .batch = BATCH, .rows = ROWS, .counts = counts, .lengths = lengths, .cache = &cache};
    write_input(model, 0.0);
    must(stack_decode(model->stack, &model->parameters, &decode, &error), &error);
    must(model->backend.operations->read(&model->backend, got, stack_output(model->stack, ROWS).data,
                                         sizeof got, &error),
         &error);
    for (int i = 0; i < ELEMENTS; i++)
        CHECK_NEAR(got[i], wanted[i], 0.0);
    stack_cache_destroy(&cache);
}

static void test_model(struct backend backend)
{
    struct model model;
    create(&model, backend);
    CHECK_INT(parameters_find(&model.parameters, "layers.1.adapter.norm.weight") >= 0, 1);
    test_gradient(&model);
    test_decode(&model);
    destroy(&model);
}

int main(void)
{
    struct backend backend;
    rotary_error error = {0};
    must(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, &error), &error);
    test_model(backend);
    must(reference_backend_create(&backend, ROTARY_F32, &error), &error);
    test_model(backend);
    return check_report();
}
