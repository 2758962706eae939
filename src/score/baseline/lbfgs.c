/* SPDX-License-Identifier: Apache-2.0 */
#include "score/baseline/lbfgs.h"

#include "base/fail.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { HISTORY = 10, MAX_TRIALS = 60 };
/* These are shares of the slope along the direction: what the value must sink by, and what the slope must
 * rise to. */
static const double SUFFICIENT = 1e-4, CURVATURE = 0.9;

/* Step and change of gradient of one iteration. */
struct update {
    double *step, *change; /* [dimension] */
    double scale;          /* 1 / (step · change) */
};

struct state {
    const struct lbfgs *search;
    double *memory;                 /* of all below */
    double *point;                  /* the caller's */
    double *gradient, *direction;   /* [dimension] */
    double *trial, *trial_gradient; /* [dimension] */
    struct update updates[HISTORY];
    int first, count; /* of the updates: a ring buffer */
    double value;
};

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static double largest(const double *values, int64_t count)
{
    double max = 0;
    for (int64_t i = 0; i < count; i++)
        max = fmax(max, fabs(values[i]));
    return max;
}

/* to += factor * from */
static void add(double *to, double factor, const double *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] += factor * from[i];
}

/* direction = −H gradient, H the approximation of the inverse Hessian: the two loops of the paper. */
static void find_direction(struct state *state)
{
    const int64_t count = state->search->dimension;
    double factors[HISTORY];
    for (int64_t i = 0; i < count; i++)
        state->direction[i] = -state->gradient[i];
    for (int i = state->count - 1; i >= 0; i--) {
        const struct update *update = &state->updates[(state->first + i) % HISTORY];
        factors[i] = update->scale * dot(update->step, state->direction, count);
        add(state->direction, -factors[i], update->change, count);
    }
    if (state->count > 0) {
        const struct update *last = &state->updates[(state->first + state->count - 1) % HISTORY];
        const double scale = 1 / (last->scale * dot(last->change, last->change, count));
        for (int64_t i = 0; i < count; i++)
            state->direction[i] *= scale;
    }
    for (int i = 0; i < state->count; i++) {
        const struct update *update = &state->updates[(state->first + i) % HISTORY];
        const double factor = update->scale * dot(update->change, state->direction, count);
        add(state->direction, factors[i] - factor, update->step, count);
    }
}

/* Finds a point along the direction where the value has sunk and the slope has risen enough: bisection
 * between a step that is too short and one that is too long. False if there is none within rounding. */
static bool find_trial(struct state *state, double step)
{
    const int64_t count = state->search->dimension;
    const double slope = dot(state->gradient, state->direction, count);
    double low = 0, high = INFINITY, value;
    if (!(slope < 0))
        return false;
    for (int i = 0; i < MAX_TRIALS; i++) {
        memcpy(state->trial, state->point, (size_t)count * sizeof *state->trial);
        add(state->trial, step, state->direction, count);
        value = state->search->value(state->search->context, state->trial, state->trial_gradient);
        if (!(value <= state->value + SUFFICIENT * step * slope)) {
            high = step;
        } else if (dot(state->trial_gradient, state->direction, count) < CURVATURE * slope) {
            low = step;
        } else {
            state->value = value;
            return true;
        }
        step = isinf(high) ? 2 * step : 0.5 * (low + high);
    }
    return false;
}

/* Moves to the trial point and remembers how it got there. */
static void accept_trial(struct state *state)
{
    const int64_t count = state->search->dimension;
    struct update *update = &state->updates[(state->first + state->count) % HISTORY];
    if (state->count == HISTORY)
        state->first = (state->first + 1) % HISTORY;
    else
        state->count++;
    for (int64_t i = 0; i < count; i++) {
        update->step[i] = state->trial[i] - state->point[i];
        update->change[i] = state->trial_gradient[i] - state->gradient[i];
    }
    const double curvature = dot(update->step, update->change, count);
    if (!(curvature > 0))
        state->count = 0; /* rounding: begins anew */
    update->scale = 1 / curvature;
    memcpy(state->point, state->trial, (size_t)count * sizeof *state->point);
    memcpy(state->gradient, state->trial_gradient, (size_t)count * sizeof *state->gradient);
}

static bool allocate(struct state *state)
{
    const size_t count = (size_t)state->search->dimension;
    state->memory = malloc((4 + 2 * HISTORY) * count * sizeof *state->memory);
    if (!state->memory)
        return false;
    double *next = state->memory;
    double **const vectors[] = {&state->gradient, &state->direction, &state->trial, &state->trial_gradient};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++, next += count)
        *vectors[i] = next;
    for (int i = 0; i < HISTORY; i++, next += 2 * count) {
        state->updates[i].step = next;
        state->updates[i].change = next + count;
    }
    return true;
}

rotary_status lbfgs_minimize(const struct lbfgs *search, double *point, int *iterations, rotary_error *error)
{
    struct state state = {.search = search, .point = point};
    *iterations = 0;
    if (!allocate(&state))
        return rotary_fail_memory(error, "to minimize a function of %lld numbers",
                                  (long long)search->dimension);
    state.value = search->value(search->context, point, state.gradient);
    rotary_status status = ROTARY_OK;
    if (!isfinite(state.value))
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "the function to minimize is %g where the search "
                             "begins, wanted a finite value",
                             state.value);
    while (status == ROTARY_OK && *iterations < search->max_iterations &&
           largest(state.gradient, search->dimension) > search->tolerance) {
        find_direction(&state);
        /* The first direction has no scale yet: a step of length 1 at most. */
        const double first = 1 / sqrt(dot(state.gradient, state.gradient, search->dimension));
        if (!find_trial(&state, state.count > 0 ? 1 : fmin(1, first)))
            break;
        accept_trial(&state);
        ++*iterations;
    }
    free(state.memory);
    return status;
}
