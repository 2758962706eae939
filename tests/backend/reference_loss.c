/* SPDX-License-Identifier: Apache-2.0
 *
 * The loss of the reference backend.
 */
#include "backend/reference_operations.h"

#include "base/batch.h"

#include <math.h>

enum { MAX_CAPPED = 4096 }; /* classes of capped logits */

/* With a softcap: caps a row of logits, and says the derivatives. */
static void cap_row(const struct backend_cross_entropy *call, int64_t row, double slopes[MAX_CAPPED])
{
    double cap = (double)call->softcap;
    for (int64_t i = 0; cap > 0.0 && i < call->logits.columns && i < MAX_CAPPED; i++) {
        double t = tanh(reference_get(call->logits, row, i) / cap);
        reference_set(call->logits, row, i, cap * t);
        slopes[i] = 1.0 - t * t;
    }
}

static double slope_of(const struct backend_cross_entropy *call, const double slopes[MAX_CAPPED], int64_t i)
{
    return call->softcap > 0.0f ? slopes[i] : 1.0;
}

/* Fills `logits` with probabilities, adds the loss of the row, and returns it. */
static double softmax_row(struct matrix logits, int64_t row, int32_t target, struct loss_sums *sums)
{
    int64_t argmax = 0;
    double sum = 0.0, at_target = reference_get(logits, row, target);
    for (int64_t i = 1; i < logits.columns; i++)
        if (reference_get(logits, row, i) > reference_get(logits, row, argmax))
            argmax = i;
    double max = reference_get(logits, row, argmax);
    for (int64_t i = 0; i < logits.columns; i++)
        sum += exp(reference_get(logits, row, i) - max);
    for (int64_t i = 0; i < logits.columns; i++)
        reference_set(logits, row, i, exp(reference_get(logits, row, i) - max) / sum);
    sums->total += log(sum) + max - at_target;
    sums->counted++;
    sums->correct += argmax == target;
    return log(sum) + max - at_target;
}

rotary_status reference_softcap(const struct backend *backend, const struct backend_softcap *call,
                                rotary_error *error)
{
    (void)error;
    reference_check_matrix(backend, call->logits, "logits to cap");
    for (int64_t row = 0; row < call->logits.rows; row++)
        for (int64_t i = 0; i < call->logits.columns; i++)
            reference_set(call->logits, row, i,
                          (double)call->cap * tanh(reference_get(call->logits, row, i) / (double)call->cap));
    return ROTARY_OK;
}

rotary_status reference_cross_entropy(const struct backend *backend, const struct backend_cross_entropy *call,
                                      rotary_error *error)
{
    (void)error;
    double scale = (double)call->gradient_scale, smoothing = (double)call->smoothing;
    reference_check_matrix(backend, call->logits, "logits");
    reference_check_array(backend, call->targets, call->logits.rows, sizeof(int32_t), "targets");
    reference_check_matrix(backend, call->gradient, "gradient of the logits");
    reference_check_array(backend, call->sums, 1, sizeof *call->sums, "sums of the loss");
    reference_check_array(backend, call->losses, call->logits.rows, sizeof *call->losses, "losses of rows");
    for (int64_t row = 0; row < call->logits.rows; row++) {
        int32_t target = call->targets[row];
        double slopes[MAX_CAPPED];
        cap_row(call, row, slopes);
        if (target != BATCH_IGNORED) {
            const double loss = softmax_row(call->logits, row, target, call->sums);
            if (call->losses)
                call->losses[row] = (float)loss;
        }
        for (int64_t i = 0; call->gradient.data && i < call->logits.columns; i++) {
            double wanted = smoothing / (double)call->logits.columns + (i == target ? 1.0 - smoothing : 0.0);
            double d = scale * slope_of(call, slopes, i) * (reference_get(call->logits, row, i) - wanted);
            reference_set(call->gradient, row, i, target == BATCH_IGNORED ? 0.0 : d);
        }
    }
    return ROTARY_OK;
}

rotary_status reference_squared_error(const struct backend *backend, const struct backend_squared_error *call,
                                      rotary_error *error)
{
    (void)error;
    reference_check_matrix(backend, call->predictions, "predictions");
    reference_check_array(backend, call->targets, call->predictions.rows, sizeof(float), "targets");
    reference_check_matrix(backend, call->gradient, "gradient of the predictions");
    reference_check_array(backend, call->sums, 1, sizeof *call->sums, "sums of the loss");
    for (int64_t row = 0; row < call->predictions.rows; row++) {
        double away = reference_get(call->predictions, row, 0) - (double)call->targets[row];
        if (call->gradient.data)
            reference_set(call->gradient, row, 0, (double)call->gradient_scale * 2.0 * away);
        call->sums->total += away * away;
        call->sums->counted++;
    }
    return ROTARY_OK;
}

rotary_status reference_add_sums(const struct backend *backend, const struct backend_add_sums *call,
                                 rotary_error *error)
{
    (void)error;
    reference_check_array(backend, call->to, 1, sizeof *call->to, "sums of the loss");
    reference_check_array(backend, call->from, 1, sizeof *call->from, "sums to add");
    call->to->total += call->from->total;
    call->to->counted += call->from->counted;
    call->to->correct += call->from->correct;
    return ROTARY_OK;
}

/* Whether a class is among neither those chosen nor those excluded. */
static bool is_left(const struct backend_top_classes *call, const int32_t *chosen, int64_t count, int32_t one)
{
    for (int64_t i = 0; i < call->excluded_count; i++)
        if (call->excluded[i] == one)
            return false;
    for (int64_t i = 0; i < count; i++)
        if (chosen[i] == one)
            return false;
    return true;
}

static double logit(const struct backend_top_classes *call, int64_t row, int64_t one)
{
    double sum = call->bias ? (double)call->bias[one] : 0.0;
    for (int64_t i = 0; i < call->in.columns; i++)
        sum += reference_get(call->in, row, i) * reference_get(call->weight->weight, i, one);
    return call->softcap > 0.0f ? (double)call->softcap * tanh(sum / (double)call->softcap) : sum;
}

/* The most probable class that is left. */
static int32_t choose(const struct backend_top_classes *call, int64_t row, const int32_t *chosen,
                      int64_t count)
{
    int32_t best = -1;
    double most = 0.0;
    for (int32_t i = 0; i < call->weight->weight.columns; i++) {
        double value = logit(call, row, i);
        if (!is_left(call, chosen, count, i) || (best >= 0 && !(value > most)))
            continue;
        best = i;
        most = value;
    }
    return best;
}

rotary_status reference_top_classes(const struct backend *backend, const struct backend_top_classes *call,
                                    rotary_error *error)
{
    (void)error;
    int64_t classes = call->weight->weight.columns;
    reference_check_matrix(backend, call->in, "input of the output projection");
    reference_check_array(backend, call->bias, classes, sizeof(float), "bias");
    reference_check_host(backend, call->excluded, "excluded classes");
    reference_check_host(backend, call->log_probabilities, "log-probabilities");
    reference_check_host(backend, call->chosen, "the most probable classes");
    for (int64_t row = 0; row < call->in.rows; row++) {
        double sum = 0.0;
        for (int64_t i = 0; i < classes; i++)
            sum += exp(logit(call, row, i));
        int32_t *chosen = call->chosen + row * call->count;
        for (int64_t i = 0; i < call->count; i++) {
            chosen[i] = choose(call, row, chosen, i);
            call->log_probabilities[row * call->count + i] = (float)(logit(call, row, chosen[i]) - log(sum));
        }
    }
    return ROTARY_OK;
}
