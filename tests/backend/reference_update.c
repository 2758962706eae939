/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimizer of the reference backend.
 */
#include "backend/parameters.h"
#include "backend/reference_operations.h"

#include <math.h>

static double squares(const struct parameters *parameters)
{
    double sum = 0.0;
    for (int i = 0; i < parameters->count; i++) {
        const float *gradient = parameter_gradient(parameters, i);
        const bool counts = gradient && parameter_is_trained(&parameters->rows[i]);
        for (int64_t j = 0; counts && j < parameter_elements(&parameters->rows[i]); j++)
            sum += (double)gradient[j] * (double)gradient[j];
    }
    return sum;
}

/* Element `at` of the gradients and moments, whose value is *element. */
static void update_element(const struct parameters *parameters, float *element, int64_t at,
                           const struct adam *adam, double weight_decay, double clip_scale)
{
    double value = (double)*element, rate = (double)adam->learning_rate;
    double beta1 = (double)adam->beta1, beta2 = (double)adam->beta2;
    double g =
        clip_scale * (double)parameters->gradients[at] + (adam->decoupled ? 0.0 : weight_decay * value);
    double m = beta1 * (double)parameters->moment1[at] + (1.0 - beta1) * g;
    double v = beta2 * (double)parameters->moment2[at] + (1.0 - beta2) * g * g;
    double step =
        m / (double)adam->correction1 / (sqrt(v / (double)adam->correction2) + (double)adam->epsilon);
    if (adam->decoupled)
        step += weight_decay * value;
    *element = (float)(value - rate * step);
    parameters->moment1[at] = (float)m;
    parameters->moment2[at] = (float)v;
    parameters->gradients[at] = 0.0f;
}

static void update_table(const struct parameters *parameters, const struct adam *adam, double clip_scale)
{
    for (int i = 0; i < parameters->count; i++) {
        const struct parameter *row = &parameters->rows[i];
        double decay = row->decay ? (double)adam->weight_decay : 0.0;
        for (int64_t j = 0; parameter_is_trained(row) && j < parameter_elements(row); j++)
            update_element(parameters, &parameters->values[row->offset + j], row->gradient_offset + j, adam,
                           decay, clip_scale);
    }
}

static void check_table(const struct backend *backend, const struct parameters *parameters)
{
    float *const arrays[] = {parameters->moment1, parameters->moment2};
    reference_check_array(backend, parameters->values, parameters->elements, sizeof(float), "values");
    reference_check_array(backend, parameters->gradients, parameters->gradient_elements, sizeof(float),
                          "gradients");
    for (int i = 0; i < 2; i++)
        reference_check_array(backend, arrays[i], parameters->trained_elements, sizeof(float), "moments");
}

rotary_status reference_update(const struct backend *backend, const struct backend_update *call,
                               rotary_error *error)
{
    (void)error;
    struct step_statistics *statistics = call->parameters->statistics;
    double square = 0.0;
    reference_check_array(backend, statistics, 1, sizeof *statistics, "statistics of a step");
    statistics->diverged = !isfinite(statistics->loss.total);
    if (statistics->diverged)
        return ROTARY_OK;
    for (const struct parameters *table = call->parameters; table; table = table->adapter) {
        check_table(backend, table);
        square += squares(table);
    }
    statistics->gradient_norm = sqrt(square);
    statistics->diverged = !isfinite(statistics->gradient_norm);
    if (statistics->diverged)
        return ROTARY_OK;
    double scale = call->max_grad_norm / (statistics->gradient_norm + 1e-6);
    statistics->clip_scale = call->max_grad_norm == 0.0 ? 1.0 : fmin(scale, 1.0);
    for (const struct parameters *table = call->parameters; table; table = table->adapter)
        update_table(table, &call->adam, statistics->clip_scale);
    return ROTARY_OK;
}
