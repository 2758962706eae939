/* SPDX-License-Identifier: Apache-2.0 */
#include "train/optimizer.h"

#include "backend/parameter_update.h"

#include <math.h>

const char *const optimizer_names[] = {"adam", "adamw", NULL};

double optimizer_clip_scale(double norm, double max_grad_norm)
{
    if (max_grad_norm == 0.0)
        return 1.0;
    double scale = max_grad_norm / (norm + 1e-6);
    return scale < 1.0 ? scale : 1.0;
}

bool optimizer_step(const struct optimizer *optimizer, const struct backend *backend,
                    struct parameters *parameters, int64_t step, double learning_rate, double *norm)
{
    *norm = sqrt(update_gradient_square(backend, parameters));
    if (!isfinite(*norm))
        return false;
    struct adam adam = {
        .learning_rate = (float)learning_rate,
        .beta1 = (float)optimizer->beta1,
        .beta2 = (float)optimizer->beta2,
        .epsilon = (float)optimizer->epsilon,
        .weight_decay = (float)optimizer->weight_decay,
        .decoupled = optimizer->kind == OPTIMIZER_ADAMW,
        .gradient_scale = (float)optimizer_clip_scale(*norm, optimizer->max_grad_norm),
    };
    /* From the betas rounded to float, as the moments use them: near 1 the rounding is large beside 1 - beta.
     */
    adam.correction1 = (float)(1.0 - pow((double)adam.beta1, (double)step));
    adam.correction2 = (float)(1.0 - pow((double)adam.beta2, (double)step));
    update_adam(backend, parameters, &adam);
    return true;
}
