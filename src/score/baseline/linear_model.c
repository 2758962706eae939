/* SPDX-License-Identifier: Apache-2.0 */
#include "score/baseline/linear_model.h"

#include "base/fail.h"
#include "score/baseline/lbfgs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITERATIONS = 2000 };

/* What is minimized. */
struct problem {
    const struct feature_rows *rows;
    const struct linear_targets *targets;
    double penalty;
    int outputs;
    double *scores; /* [outputs]: scratch */
};

/* ---- scores ---- */

static void scores_of(const double *weights, int outputs, const struct feature_rows *rows, int64_t row,
                      double *z)
{
    const int64_t width = rows->columns + 1;
    for (int k = 0; k < outputs; k++) {
        const double *own = weights + k * width;
        z[k] = own[rows->columns];
        for (int64_t i = rows->starts[row]; i < rows->starts[row + 1]; i++)
            z[k] += own[rows->places[i]] * rows->values[i];
    }
}

void linear_scores(const struct linear_model *model, const struct feature_rows *rows, int64_t row, double *z)
{
    scores_of(model->weights, model->outputs, rows, row, z);
}

int32_t linear_class(const struct linear_model *model, const double *z)
{
    int32_t best = 0;
    if (model->outputs == 1)
        return z[0] > 0;
    for (int32_t k = 1; k < model->outputs; k++)
        if (z[k] > z[best])
            best = k;
    return best;
}

/* ---- losses; each replaces scores by the loss's derivatives by them ---- */

static double logistic_loss(double *z, int32_t label)
{
    const double towards = label == 1 ? z[0] : -z[0], /* the larger, the better */
        p = 1 / (1 + exp(towards));
    const double loss = towards > 0 ? log1p(exp(-towards)) : log1p(exp(towards)) - towards;
    z[0] = label == 1 ? -p : p;
    return loss;
}

static double softmax_loss(double *z, int outputs, int32_t label)
{
    double max = z[0], sum = 0;
    for (int k = 1; k < outputs; k++)
        max = fmax(max, z[k]);
    const double own = z[label] - max;
    for (int k = 0; k < outputs; k++) {
        z[k] = exp(z[k] - max);
        sum += z[k];
    }
    for (int k = 0; k < outputs; k++)
        z[k] = z[k] / sum - (k == label);
    return log(sum) - own;
}

static double squared_loss(double *z, double wanted)
{
    const double difference = z[0] - wanted;
    z[0] = 2 * difference;
    return difference * difference;
}

static double loss_of(const struct problem *problem, int64_t row)
{
    if (problem->targets->classes == 0)
        return squared_loss(problem->scores, problem->targets->values[row]);
    const int32_t label = problem->targets->labels[row];
    return problem->outputs == 1 ? logistic_loss(problem->scores, label)
                                 : softmax_loss(problem->scores, problem->outputs, label);
}

/* ---- the function ---- */

/* The penalty, without the intercepts; adds its derivatives. */
static double penalty_of(const struct problem *problem, const double *weights, double *gradient)
{
    const int64_t columns = problem->rows->columns;
    const double factor = problem->targets->classes == 0 ? 2 * problem->penalty : problem->penalty;
    double sum = 0;
    for (int k = 0; k < problem->outputs; k++)
        for (int64_t i = 0; i < columns; i++) {
            const double weight = weights[k * (columns + 1) + i];
            gradient[k * (columns + 1) + i] += factor * weight;
            sum += weight * weight;
        }
    return 0.5 * factor * sum;
}

static double value_of(const void *context, const double *weights, double *gradient)
{
    const struct problem *problem = context;
    const struct feature_rows *rows = problem->rows;
    const int64_t width = rows->columns + 1;
    double sum = 0;
    memset(gradient, 0, (size_t)problem->outputs * (size_t)width * sizeof *gradient);
    for (int64_t row = 0; row < rows->rows; row++) {
        scores_of(weights, problem->outputs, rows, row, problem->scores);
        sum += loss_of(problem, row);
        for (int k = 0; k < problem->outputs; k++) {
            double *own = gradient + k * width;
            own[rows->columns] += problem->scores[k];
            for (int64_t i = rows->starts[row]; i < rows->starts[row + 1]; i++)
                own[rows->places[i]] += problem->scores[k] * rows->values[i];
        }
    }
    return sum + penalty_of(problem, weights, gradient);
}

/* ---- fitting ---- */

static rotary_status check_targets(const struct feature_rows *rows, const struct linear_targets *targets,
                                   rotary_error *error)
{
    bool differ = false;
    if (rows->rows < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a linear model of no examples, wanted one or more");
    for (int64_t i = 0; i < rows->rows; i++) {
        if (targets->classes == 0 && !isfinite(targets->values[i]))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "the value of example %lld is %g, wanted a number", (long long)i + 1,
                               targets->values[i]);
        if (targets->classes == 0)
            continue;
        if (targets->labels[i] < 0 || targets->labels[i] >= targets->classes)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "the label of example %lld is class %d, wanted 0 to %d", (long long)i + 1,
                               (int)targets->labels[i], targets->classes - 1);
        differ = differ || targets->labels[i] != targets->labels[0];
    }
    if (targets->classes > 0 && !differ)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "all %lld examples are of class %d, wanted two classes", (long long)rows->rows,
                           (int)targets->labels[0]);
    return ROTARY_OK;
}

rotary_status linear_fit(struct linear_model *model, const struct feature_rows *rows,
                         const struct linear_targets *targets, double penalty, double tolerance,
                         rotary_error *error)
{
    *model = (struct linear_model){.classes = targets->classes,
                                   .outputs = targets->classes > 2 ? targets->classes : 1,
                                   .columns = rows->columns};
    rotary_status status = check_targets(rows, targets, error);
    if (status != ROTARY_OK)
        return status;
    const int64_t dimension = model->outputs * (rows->columns + 1);
    struct problem problem = {rows, targets, penalty, model->outputs, NULL};
    model->weights = calloc((size_t)dimension, sizeof *model->weights);
    problem.scores = malloc((size_t)model->outputs * sizeof *problem.scores);
    if (model->weights && problem.scores) {
        const struct lbfgs search = {dimension, value_of, &problem, tolerance * (double)rows->rows,
                                     MAX_ITERATIONS};
        status = lbfgs_minimize(&search, model->weights, &model->iterations, error);
    } else {
        status = rotary_fail_memory(error, "for a linear model of %lld weights", (long long)dimension);
    }
    free(problem.scores);
    if (status != ROTARY_OK)
        linear_free(model);
    return status;
}

void linear_free(struct linear_model *model)
{
    free(model->weights);
    model->weights = NULL;
}

void feature_rows_free(struct feature_rows *rows)
{
    free(rows->starts);
    free(rows->places);
    free(rows->values);
    *rows = (struct feature_rows){0};
}
