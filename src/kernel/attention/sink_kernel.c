/* SPDX-License-Identifier: Apache-2.0
 *
 * The gradient of a sink z: with p(m) = exp(z - lse(m)), its share of a row, whose value is 0, it is
 * sum_m p(m) (0 - delta(m)). A query that sees no key has no output, and so delta 0.
 */
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/tile.h"

#include <math.h>
#include <string.h>

double ROTARY_KERNEL(rotary_attention_sink_gradient)(const rotary_attention_problem *problem,
                                                     int64_t sequence, int64_t head)
{
    int64_t width = rotary_attention_row(problem->head_dim);
    const float *log_sum_exp =
        problem->saved_log_sum_exp + (sequence * problem->heads + head) * problem->queries;
    float output[ROTARY_ATTENTION_MAX_HEAD_DIM], d_output[ROTARY_ATTENTION_MAX_HEAD_DIM];
    double gradient = 0;
    memset(output, 0, sizeof output);
    memset(d_output, 0, sizeof d_output);
    for (int64_t query = 0; query < problem->queries; query++) {
        load_row(output, vector_at(problem, problem->saved_output, sequence, query, head), problem->bf16,
                 problem->head_dim);
        load_row(d_output, vector_at(problem, problem->output_gradient, sequence, query, head), problem->bf16,
                 problem->head_dim);
        vfloat delta = {0};
        for (int64_t channel = 0; channel < width; channel += LANES)
            delta = v_fma(v_load(output + channel), v_load(d_output + channel), delta);
        if (problem->sinks[head] > -INFINITY)
            gradient -= (double)(expf(problem->sinks[head] - log_sum_exp[query]) * v_sum(delta));
    }
    return gradient;
}
