/* SPDX-License-Identifier: Apache-2.0
 *
 * KERPLE (Chi, Fan, Ramadge and Rudnicky 2022): biases -r1 ln(1 + r2 u) or -r1 u^r2 at u = |n - m|, with two
 * learned positive numbers r1 and r2 for each head, r2 at most 2 where it is an exponent. Trained are numbers
 * w1 and w2 of any size: r = exp(w), and an exponent is 2 / (1 + exp(-w2)). Initially r1 and r2 are uniform
 * as in the authors' code, an exponent nearly so.
 */
#include "layer/encoding/encoding.h"

#include <math.h>
#include <stdio.h>

enum kerple_kernel { KERPLE_LOG, KERPLE_POWER };
static const char *const kernels[] = {"log", "power", NULL};

struct kerple_options {
    int kernel; /* enum kerple_kernel */
};

static const struct setting table[] = {
    {"kerple_kernel", SETTING_CHOICE, offsetof(struct kerple_options, kernel), 0, 0, kernels,
     .help = "bias of kerple: logarithm or power of the distance"},
};
static const struct kerple_options defaults = {.kernel = KERPLE_LOG};
static const struct encoding_keys keys = {.settings = table,
                                          .count = sizeof table / sizeof table[0],
                                          .options_bytes = sizeof defaults,
                                          .defaults = &defaults};

static enum kerple_kernel kind_of(const struct distance_bias_shape *shape)
{
    return (enum kerple_kernel)((const struct kerple_options *)&shape->settings.options)->kernel;
}

/* The numbers of a head, the bias at one distance, and its derivatives by w1 and w2. */
struct kernel {
    double scale, shape; /* r1, r2 */
    double bias, by_scale, by_shape;
};

static struct kernel kernel_of(enum kerple_kernel kind, const float *const *parameters, int64_t head)
{
    double first = (double)parameters[0][head], second = (double)parameters[1][head];
    return (struct kernel){.scale = exp(first),
                           .shape = kind == KERPLE_LOG ? exp(second) : 2.0 / (1.0 + exp(-second))};
}

static void evaluate(struct kernel *kernel, enum kerple_kernel kind, int64_t distance)
{
    double u = fabs((double)distance), scale = kernel->scale, shape = kernel->shape;
    if (kind == KERPLE_LOG) {
        kernel->bias = -scale * log1p(shape * u);
        kernel->by_shape = -scale * shape * u / (1.0 + shape * u);
    } else {
        kernel->bias = -scale * pow(u, shape);
        kernel->by_shape = u > 0.0 ? kernel->bias * log(u) * shape * (1.0 - 0.5 * shape) : 0.0;
    }
    kernel->by_scale = kernel->bias;
}

static int list(const struct distance_bias_shape *shape, struct parameter rows[DISTANCE_BIAS_PARAMETERS])
{
    bool is_log = kind_of(shape) == KERPLE_LOG;
    rows[0] = (struct parameter){
        .rows = shape->heads, .initial = INITIAL_LOG_UNIFORM, .scale = is_log ? 2.0f : 1.0f};
    rows[1] = (struct parameter){.rows = shape->heads,
                                 .initial = is_log ? INITIAL_LOG_UNIFORM : INITIAL_UNIFORM,
                                 .scale = is_log ? 1.0f : 3.0f};
    snprintf(rows[0].name, sizeof rows[0].name, "kerple.log_scale");
    snprintf(rows[1].name, sizeof rows[1].name, "kerple.%s", is_log ? "log_slope" : "exponent_logit");
    return 2;
}

static void fill(const struct distance_bias_shape *shape, const float *const *parameters, float *bias)
{
    enum kerple_kernel kind = kind_of(shape);
    for (int64_t head = 0; head < shape->heads; head++) {
        struct kernel kernel = kernel_of(kind, parameters, head);
        for (int64_t i = 0; i < shape->distances; i++) {
            evaluate(&kernel, kind, shape->first + i);
            bias[head * shape->distances + i] = (float)kernel.bias;
        }
    }
}

static void gradient(const struct distance_bias_shape *shape, const float *const *parameters,
                     const float *d_bias, double *const *d_parameters)
{
    enum kerple_kernel kind = kind_of(shape);
    for (int64_t head = 0; head < shape->heads; head++) {
        struct kernel kernel = kernel_of(kind, parameters, head);
        for (int64_t i = 0; i < shape->distances; i++) {
            double d = (double)d_bias[head * shape->distances + i];
            evaluate(&kernel, kind, shape->first + i);
            d_parameters[0][head] += d * kernel.by_scale;
            d_parameters[1][head] += d * kernel.by_shape;
        }
    }
}

static const struct distance_bias_function function = {.fill = fill, .list = list, .gradient = gradient};
const struct position_encoding encoding_kerple = {.keys = &keys, .distance_bias = &function};
