/* SPDX-License-Identifier: Apache-2.0
 *
 * FIRE (Li et al. 2024): the bias of query m and key n is f_h(x), a network of x = psi(|n - m|) / (psi(max(L,
 * m)) + 1e-6) with psi(d) = ln(1 + |c| d). The network has one hidden layer of ReLU, which the heads share.
 * As in the paper's listing, c is 0.1 at first, and L = |l| fire_length with l = 1 at first.
 *
 * f is linear between the points at which hidden units begin or end, so attention has it as a
 * piecewise-linear bias: unit j, with weight w and bias b, has its knot at -b / w, and is active after it
 * where w is positive, before it where w is negative.
 */
#include "layer/encoding/encoding.h"

#include "base/integer.h"

#include <math.h>
#include <stdio.h>

static const double epsilon = 1e-6;

enum { C, MULTIPLIER, HIDDEN_WEIGHT, HIDDEN_BIAS, OUTPUT_WEIGHT, OUTPUT_BIAS, PARAMETERS };
_Static_assert((int)PARAMETERS <= (int)DISTANCE_BIAS_PARAMETERS, "there is room for all parameters");

enum { FIRE_MAX_WIDTH = 256 };

struct fire_options {
    int64_t width; /* hidden units */
    double length; /* L at first */
};

#define MEMBER(member) offsetof(struct fire_options, member)
static const struct setting table[] = {
    {"fire_width", SETTING_INTEGER, MEMBER(width), 1, FIRE_MAX_WIDTH, NULL,
     .help = "hidden units of fire's network"},
    {"fire_length", SETTING_REAL, MEMBER(length), 1.0, 1e9, NULL,
     .help = "position from which fire divides by the query's, before training"},
};
static const struct fire_options defaults = {.width = 32, .length = 512.0};
static const struct encoding_keys keys = {.settings = table,
                                          .count = sizeof table / sizeof table[0],
                                          .options_bytes = sizeof defaults,
                                          .defaults = &defaults};

static const struct fire_options *options_of(const struct distance_bias_settings *settings)
{
    return (const struct fire_options *)&settings->options;
}

static int list(const struct distance_bias_shape *shape, struct parameter rows[DISTANCE_BIAS_PARAMETERS])
{
    int64_t width = options_of(&shape->settings)->width, heads = shape->heads;
    float bound =
        (float)(1.0 / sqrt((double)width)); /* of a layer with so many inputs, as PyTorch draws it */
    rows[C] = (struct parameter){.rows = 1, .initial = INITIAL_CONSTANT, .scale = 0.1f};
    rows[MULTIPLIER] = (struct parameter){.rows = 1, .initial = INITIAL_ONE};
    rows[HIDDEN_WEIGHT] =
        (struct parameter){.rows = width, .columns = 1, .initial = INITIAL_UNIFORM, .scale = 1.0f};
    rows[HIDDEN_BIAS] = (struct parameter){.rows = width, .initial = INITIAL_UNIFORM, .scale = 1.0f};
    rows[OUTPUT_WEIGHT] =
        (struct parameter){.rows = heads, .columns = width, .initial = INITIAL_UNIFORM, .scale = bound};
    rows[OUTPUT_BIAS] = (struct parameter){.rows = heads, .initial = INITIAL_UNIFORM, .scale = bound};
    static const char *const names[PARAMETERS] = {
        "fire.c",           "fire.length_multiplier", "fire.hidden.weight",
        "fire.hidden.bias", "fire.output.weight",     "fire.output.bias"};
    for (int i = 0; i < PARAMETERS; i++)
        snprintf(rows[i].name, sizeof rows[i].name, "%s", names[i]);
    return PARAMETERS;
}

static int64_t segments(const struct distance_bias_settings *settings)
{
    return options_of(settings)->width + 1;
}

/* ---- the network ---- */

/* A hidden unit that has its knot at x, and is active in the segments after it, or in those before it. One
 * that does not depend on x has its knot at infinity. */
struct unit {
    double knot;
    int64_t index; /* among the parameters */
    bool after;
};

/* The units in the order of their knots: unit i has knot i, between segments i and i + 1. */
static void sort_units(const struct distance_bias_shape *shape, const float *const *parameters,
                       struct unit units[FIRE_MAX_WIDTH])
{
    for (int64_t j = 0; j < options_of(&shape->settings)->width; j++) {
        double weight = (double)parameters[HIDDEN_WEIGHT][j], bias = (double)parameters[HIDDEN_BIAS][j];
        struct unit unit = {weight != 0.0 ? -bias / weight : HUGE_VAL, j,
                            weight != 0.0 ? weight > 0.0 : !(bias > 0.0)};
        int64_t at = j;
        for (; at > 0 && units[at - 1].knot > unit.knot; at--)
            units[at] = units[at - 1];
        units[at] = unit;
    }
}

/* The segments in which unit i is active: begin ... end - 1. */
struct active {
    int64_t begin, end;
};

static struct active active_of(const struct unit *units, int64_t i, int64_t width)
{
    return units[i].after ? (struct active){i + 1, width + 1} : (struct active){0, i + 1};
}

/* ---- distances and positions ---- */

/* psi, and its derivative by c. */
struct psi {
    double value, by_c;
};

static struct psi psi_of(const float *const *parameters, double distance)
{
    double c = (double)parameters[C][0], size = fabs(c), sign = c > 0.0 ? 1.0 : c < 0.0 ? -1.0 : 0.0;
    return (struct psi){log1p(size * distance), sign * distance / (1.0 + size * distance)};
}

static double length_of(const struct distance_bias_shape *shape, const float *const *parameters)
{
    return fabs((double)parameters[MULTIPLIER][0]) * options_of(&shape->settings)->length;
}

/* ---- the bias ---- */

/* The linear functions of a head, from one segment to the next: a unit begins or ends between them. */
static void fill_segments(const struct distance_bias_shape *shape, const float *const *parameters,
                          const struct unit *units, int64_t head, float *bias)
{
    int64_t width = options_of(&shape->settings)->width;
    const struct piecewise_layout at = piecewise_layout_of(shape);
    const float *output = parameters[OUTPUT_WEIGHT] + head * width, *hidden_bias = parameters[HIDDEN_BIAS],
                *weight = parameters[HIDDEN_WEIGHT];
    float *intercepts = bias + at.intercepts + head * shape->segments,
          *slopes = bias + at.slopes + head * shape->segments;
    double intercept = (double)parameters[OUTPUT_BIAS][head], slope = 0.0;
    for (int64_t i = 0; i < width; i++)
        if (!units[i].after) {
            intercept += (double)output[units[i].index] * (double)hidden_bias[units[i].index];
            slope += (double)output[units[i].index] * (double)weight[units[i].index];
        }
    intercepts[0] = (float)intercept;
    slopes[0] = (float)slope;
    for (int64_t i = 0; i < width; i++) {
        int64_t j = units[i].index;
        double change = (double)output[j] * (units[i].after ? 1.0 : -1.0);
        intercept += change * (double)hidden_bias[j];
        slope += change * (double)weight[j];
        intercepts[i + 1] = (float)intercept;
        slopes[i + 1] = (float)slope;
    }
}

static void fill(const struct distance_bias_shape *shape, const float *const *parameters, float *bias)
{
    const struct piecewise_layout at = piecewise_layout_of(shape);
    struct unit units[FIRE_MAX_WIDTH];
    sort_units(shape, parameters, units);
    for (int64_t i = 0; i < options_of(&shape->settings)->width; i++)
        bias[at.knots + i] = (float)units[i].knot;
    for (int64_t head = 0; head < shape->heads; head++)
        fill_segments(shape, parameters, units, head, bias);
    for (int64_t i = 0; i < shape->distances; i++)
        bias[at.inputs + i] = (float)psi_of(parameters, fabs((double)(shape->first + i))).value;
    double length = length_of(shape, parameters);
    for (int64_t i = 0; i < at.positions; i++)
        bias[at.scales + i] = (float)(1.0 / (psi_of(parameters, fmax((double)i, length)).value + epsilon));
}

/* The gradients of the network's parameters: those of a unit's are sums over the segments in which it is
 * active. */
static void add_network_gradient(const struct distance_bias_shape *shape, const float *const *parameters,
                                 const float *d_bias, double *const *d_parameters)
{
    int64_t width = options_of(&shape->settings)->width, count = width + 1;
    const struct piecewise_layout at = piecewise_layout_of(shape);
    struct unit units[FIRE_MAX_WIDTH];
    sort_units(shape, parameters, units);
    for (int64_t head = 0; head < shape->heads; head++) {
        const float *d_intercepts = d_bias + at.intercepts + head * count,
                    *d_slopes = d_bias + at.slopes + head * count;
        double before[FIRE_MAX_WIDTH + 2][2] = {{0.0, 0.0}}; /* sums over the segments before one */
        for (int64_t segment = 0; segment < count; segment++) {
            before[segment + 1][0] = before[segment][0] + (double)d_intercepts[segment];
            before[segment + 1][1] = before[segment][1] + (double)d_slopes[segment];
        }
        d_parameters[OUTPUT_BIAS][head] += before[count][0];
        for (int64_t i = 0; i < width; i++) {
            struct active active = active_of(units, i, width);
            int64_t j = units[i].index, place = head * width + j;
            double d_intercept = before[active.end][0] - before[active.begin][0],
                   d_slope = before[active.end][1] - before[active.begin][1],
                   output = (double)parameters[OUTPUT_WEIGHT][place];
            d_parameters[OUTPUT_WEIGHT][place] += d_intercept * (double)parameters[HIDDEN_BIAS][j] +
                                                  d_slope * (double)parameters[HIDDEN_WEIGHT][j];
            d_parameters[HIDDEN_BIAS][j] += d_intercept * output;
            d_parameters[HIDDEN_WEIGHT][j] += d_slope * output;
        }
    }
}

/* max(L, m) of equal numbers divides its gradient between them, as PyTorch does. */
static double share_of_length(double length, double position)
{
    return length > position ? 1.0 : length == position ? 0.5 : 0.0;
}

static void gradient(const struct distance_bias_shape *shape, const float *const *parameters,
                     const float *d_bias, double *const *d_parameters)
{
    const struct piecewise_layout at = piecewise_layout_of(shape);
    double length = length_of(shape, parameters), size = fabs((double)parameters[C][0]),
           by_multiplier = parameters[MULTIPLIER][0] < 0.0f ? -options_of(&shape->settings)->length
                                                            : options_of(&shape->settings)->length;
    add_network_gradient(shape, parameters, d_bias, d_parameters);
    for (int64_t i = 0; i < shape->distances; i++)
        d_parameters[C][0] +=
            (double)d_bias[at.inputs + i] * psi_of(parameters, fabs((double)(shape->first + i))).by_c;
    for (int64_t i = 0; i < at.positions; i++) {
        double normaliser = fmax((double)i, length);
        struct psi psi = psi_of(parameters, normaliser);
        double scale = 1.0 / (psi.value + epsilon), d_psi = -(double)d_bias[at.scales + i] * scale * scale;
        d_parameters[C][0] += d_psi * psi.by_c;
        d_parameters[MULTIPLIER][0] +=
            d_psi * size / (1.0 + size * normaliser) * share_of_length(length, (double)i) * by_multiplier;
    }
}

static const struct distance_bias_function function = {
    .fill = fill, .list = list, .gradient = gradient, .segments = segments};
const struct position_encoding encoding_fire = {.keys = &keys, .distance_bias = &function};
