/* SPDX-License-Identifier: Apache-2.0
 *
 * The gradient of a sink z: with p(m) = exp(z - lse(m)), its share of a row, whose value is 0, it is
 * sum_m p(m) (0 - delta(m)). A query that sees no key has no output, and so delta 0.
 */
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/tile.h"

#include <math.h>

/* The product of two vectors of a head. */
static float dot_vectors(const rotary_attention_problem *problem, const void *a, const void *b)
{
    vfloat sum = {0};
    for (int64_t channel = 0; channel < problem->head_dim; channel += LANES) {
        int64_t left = problem->head_dim - channel;
        if (problem->dtype == ROTARY_F32)
            sum = v_fma(load_columns((const float *)a + channel, left),
                        load_columns((const float *)b + channel, left), sum);
        else
            sum = v_fma(load_half_columns((const uint16_t *)a + channel, problem->dtype, left),
                        load_half_columns((const uint16_t *)b + channel, problem->dtype, left), sum);
    }
    return v_sum(sum);
}

double ROTARY_KERNEL(rotary_attention_sink_gradient)(const rotary_attention_problem *problem,
                                                     int64_t sequence, int64_t head)
{
    const float sink = problem->sinks[head],
                *log_sum_exp =
                    problem->saved_log_sum_exp + (sequence * problem->heads + head) * problem->queries;
    const int64_t last = problem->queries - 1;
    double gradient = 0;
    if (sink == -INFINITY)
        return 0;
    for (int64_t first = 0; first < problem->queries; first += LANES) {
        const int64_t count = min_i64(LANES, problem->queries - first);
        float delta[LANES], share[LANES];
        for (int64_t at = 0; at < count; at++) {
            fetch_ahead(problem, problem->saved_output, sequence, first + at, last, head);
            fetch_ahead(problem, problem->output_gradient, sequence, first + at, last, head);
            delta[at] =
                dot_vectors(problem, vector_at(problem, problem->saved_output, sequence, first + at, head),
                            vector_at(problem, problem->output_gradient, sequence, first + at, head));
        }
        v_store(share,
                v_exp2_to_126(v_set(LOG2_E) * (v_set(sink) - load_columns(log_sum_exp + first, count))));
        for (int64_t at = 0; at < count; at++)
            gradient -= (double)share[at] * (double)delta[at];
    }
    return gradient;
}
