/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradients of frequencies and positions against central differences of a loss written in double.
 */
#include "rope/plans.h"

#include <math.h>
#include <string.h>

enum {
    BATCH = 2,
    TIME = 5,
    HEADS = 2,
    HEAD_DIM = 22,
    DIM = 20,
    PAIRS = 10,
    COUNT = BATCH * TIME * HEADS * HEAD_DIM
};
enum { MAX_AXES = 2, TENSORS = 3 };

/* A plan with learned frequencies, three tensors, and the gradients of their rotated outputs. */
struct problem {
    rotary_rope_config config;
    double frequencies[PAIRS];
    float positions[MAX_AXES][BATCH][TIME];
    float *input[TENSORS], *gradient[TENSORS];
    int axes;
};

static double magnitude(const struct problem *problem, int tensor, int pair, double position)
{
    if (tensor == 2)
        return 1;
    double factor = problem->config.attention_factor > 0 ? problem->config.attention_factor : 1;
    if (problem->config.xpos_scale == 0)
        return factor;
    double zeta = (2.0 * pair + 0.4 * DIM) / (1.4 * DIM);
    return factor * pow(zeta, (tensor == 0 ? 1 : -1) * (position - problem->config.xpos_origin) /
                                  problem->config.xpos_scale);
}

/* The sum of gradient * output, with outputs from the formula; `shifted` is added to one position. */
static double loss(const struct problem *problem, const double *frequencies, int axis, int token,
                   double shifted)
{
    double total = 0;
    bool half = problem->config.pairing == ROTARY_PAIRING_HALF;
    for (int tensor = 0; tensor < TENSORS; tensor++)
        for (int i = 0; i < BATCH * TIME * HEADS; i++)
            for (int pair = 0; pair < PAIRS; pair++) {
                int token_of_vector = i / HEADS, axis_of_pair = problem->axes == 1 ? 0 : pair >= PAIRS / 2;
                double position = (double)(&problem->positions[axis_of_pair][0][0])[token_of_vector];
                if (token_of_vector == token && axis_of_pair == axis)
                    position += shifted;
                int channel = i * HEAD_DIM + 1 + (half ? pair : 2 * pair), partner = half ? PAIRS : 1;
                const float *x = problem->input[tensor] + channel, *g = problem->gradient[tensor] + channel;
                double m = magnitude(problem, tensor, pair, position);
                double c = m * cos(position * frequencies[pair]), s = m * sin(position * frequencies[pair]);
                total += (double)g[0] * ((double)x[0] * c - (double)x[partner] * s);
                total += (double)g[partner] * ((double)x[0] * s + (double)x[partner] * c);
            }
    return total;
}

static rotary_rope_gradient_tensor tensor_of(const float *input, const float *gradient)
{
    rotary_rope_const_view view = {input, ROTARY_F32, TIME * HEADS * HEAD_DIM, HEADS * HEAD_DIM, HEAD_DIM};
    rotary_rope_gradient_tensor tensor = {.heads = HEADS, .input = view, .output_gradient = view};
    tensor.output_gradient.data = gradient;
    return tensor;
}

static void check_gradients(const struct problem *problem, const rotary_rope *rope, int threads)
{
    double dw[PAIRS], dp[MAX_AXES * BATCH * TIME];
    for (int pair = 0; pair < PAIRS; pair++)
        dw[pair] = 1000.0; /* the gradient is accumulated */
    rotary_rope_gradient_call call = {
        .struct_size = sizeof call,
        .batch = BATCH,
        .time = TIME,
        .positions = {.array = problem->positions,
                      .array_type = ROTARY_POSITION_F32,
                      .array_batch_stride = TIME,
                      .array_axis_stride = BATCH * TIME},
        .query = tensor_of(problem->input[0], problem->gradient[0]),
        .key = tensor_of(problem->input[1], problem->gradient[1]),
        .value = tensor_of(problem->input[2], problem->gradient[2]),
        .frequency_gradient = dw,
        .position_gradient = dp,
    };
    rotary_error error = {0};
    check_about("%d threads, %d axes, xpos %g", threads, problem->axes, problem->config.xpos_scale);
    if (!CHECK(rotary_rope_gradient(rope, &call, &error) == ROTARY_OK))
        printf("    %s\n", error.message);
    /* Rows are rounded to f32 (2^-24), sums have about 200 terms of size 10, differences of step h an error
     * of h^2. */
    const double step = 1e-4;
    for (int pair = 0; pair < PAIRS; pair++) {
        double up[PAIRS], down[PAIRS];
        memcpy(up, problem->frequencies, sizeof up);
        memcpy(down, problem->frequencies, sizeof down);
        up[pair] += step / 10;
        down[pair] -= step / 10;
        double wanted = (loss(problem, up, 0, -1, 0) - loss(problem, down, 0, -1, 0)) / (step / 5);
        CHECK_NEAR(dw[pair] - 1000.0, wanted, 2e-3);
    }
    for (int axis = 0; axis < problem->axes; axis++)
        for (int token = 0; token < BATCH * TIME; token++) {
            double wanted = (loss(problem, problem->frequencies, axis, token, step) -
                             loss(problem, problem->frequencies, axis, token, -step)) /
                            (2 * step);
            CHECK_NEAR(dp[axis * BATCH * TIME + token], wanted, 1e-4);
        }
}

static void test(int variant)
{
    struct problem problem = {.axes = variant == 2 ? 2 : 1};
    for (int pair = 0; pair < PAIRS; pair++)
        problem.frequencies[pair] = (double)check_random(20, (uint64_t)pair, 0);
    for (int i = 0; i < MAX_AXES * BATCH * TIME; i++)
        (&problem.positions[0][0][0])[i] = 3.0f * check_random(21, (uint64_t)i, 0);
    for (int tensor = 0; tensor < TENSORS; tensor++) {
        problem.input[tensor] = plan_random(22 + (uint64_t)tensor, COUNT, 0);
        problem.gradient[tensor] = plan_random(32 + (uint64_t)tensor, COUNT, 0);
    }
    problem.config = plan_config(HEAD_DIM);
    problem.config.rotary_dim = DIM;
    problem.config.rotary_start = 1;
    problem.config.pairing = (rotary_pairing)(variant % 2);
    problem.config.inverse_frequencies = problem.frequencies;
    if (variant == 2) {
        problem.config.axes = ROTARY_AXES_SECTIONS;
        problem.config.sections[0] = problem.config.sections[1] = PAIRS / 2;
    }
    if (variant == 3) {
        problem.config.attention_factor = 1.3;
        problem.config.xpos_scale = 5;
        problem.config.xpos_origin = 0.5;
    }
    for (int threads = 1; threads <= 2; threads++) {
        problem.config.threads = threads;
        rotary_rope *rope = plan_make(&problem.config);
        check_gradients(&problem, rope, threads);
        rotary_rope_destroy(rope);
    }
    for (int tensor = 0; tensor < TENSORS; tensor++) {
        free(problem.input[tensor]);
        free(problem.gradient[tensor]);
    }
}

int main(void)
{
    for (int variant = 0; variant < 4; variant++)
        test(variant);
    return check_report();
}
