/* SPDX-License-Identifier: Apache-2.0 */
#include "train/optimizer.h"

#include <math.h>

const char *const optimizer_names[] = {"adam", "adamw", NULL};

rotary_status optimizer_step(const struct optimizer *optimizer, struct parameters *parameters, int64_t step,
                             double learning_rate, rotary_error *error)
{
    struct adam adam = {
        .learning_rate = (float)learning_rate,
        .beta1 = (float)optimizer->beta1,
        .beta2 = (float)optimizer->beta2,
        .epsilon = (float)optimizer->epsilon,
        .weight_decay = (float)optimizer->weight_decay,
        .decoupled = optimizer->kind == OPTIMIZER_ADAMW,
    };
    /* From the betas rounded to float, as the moments use them: near 1 the rounding is large beside 1 - beta.
     */
    adam.correction1 = (float)(1.0 - pow((double)adam.beta1, (double)step));
    adam.correction2 = (float)(1.0 - pow((double)adam.beta2, (double)step));
    return parameters_update(parameters, &adam, optimizer->max_grad_norm, error);
}
