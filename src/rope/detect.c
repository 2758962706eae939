/* SPDX-License-Identifier: Apache-2.0
 *
 * Which pairing a query and a key projection were trained in.
 *
 * Gradient descent keeps what a symmetry of the loss conserves. If rows a and b are a pair, the scores stay
 * as they are when the queries' rows a and b are multiplied by a number and the keys' divided by it, so
 *
 *     d(a) + d(b),  d(i) = |query row i|^2 - |key row i|^2,
 *
 * stays as it was drawn while training moves d(a) and d(b) by themselves: within a pair they move against
 * each other, between rows of different pairs nothing ties them. So the rows' ln(|query row|^2 / |key row|^2)
 * are anticorrelated between the members of true pairs and of no others.
 */
#include "base/element.h"
#include "base/fail.h"
#include "base/sized.h"
#include "kernel/rope/rope_kernels.h"
#include "rope/rope_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fewer channels have but one way to be paired. */
enum { FEWEST_CHANNELS = 4 };
/* A verdict wants that rows without structure look like it no more than once in a thousand, either pairing
 * together, and that the pairing does better than the nearest wrong one by 95 in 100. */
static const double max_chance = 1e-3, min_contrast = 1.645;

static rotary_status check_projection(const rotary_rope_projection *projection, const char *name,
                                      int64_t inputs, int64_t head_dim, rotary_error *error)
{
    if (projection->heads < 1 || !projection->weight)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s.heads is %lld and its weight %s; wanted at least 1 and a matrix", name,
                           (long long)projection->heads, projection->weight ? "is there" : "is NULL");
    if ((unsigned)projection->dtype >= ROTARY_DTYPES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s.dtype is %d; wanted ROTARY_F32, ROTARY_F16 or ROTARY_BF16", name,
                           (int)projection->dtype);
    int64_t rows = inputs * head_dim;
    if (projection->head_stride != 0 && projection->head_stride < rows)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s.head_stride is %lld; wanted 0 or at least %lld", name,
                           (long long)projection->head_stride, (long long)rows);
    if (projection->bias && projection->bias_stride != 0 && projection->bias_stride < head_dim)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s.bias_stride is %lld; wanted 0 or at least %lld", name,
                           (long long)projection->bias_stride, (long long)head_dim);
    return ROTARY_OK;
}

static rotary_status check(const rotary_rope *rope, const rotary_rope_detect_call *call, rotary_error *error)
{
    int64_t head_dim = rope->span.head_dim;
    if (call->inputs < 1 || call->inputs > INT64_MAX / head_dim)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "inputs is %lld; wanted at least 1",
                           (long long)call->inputs);
    rotary_status status = check_projection(&call->query, "query", call->inputs, head_dim, error);
    if (!status)
        status = check_projection(&call->key, "key", call->inputs, head_dim, error);
    if (!status && call->query.heads % call->key.heads != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "query.heads is %lld; wanted a multiple of key.heads, %lld",
                           (long long)call->query.heads, (long long)call->key.heads);
    return status;
}

/* The square of the size of a row, its bias with it. */
static double square(const rotary_rope_projection *projection, int64_t inputs, int64_t head_dim, int64_t head,
                     int64_t channel)
{
    int64_t head_stride = projection->head_stride ? projection->head_stride : inputs * head_dim;
    int64_t at = head * head_stride + channel * inputs;
    double sum = 0;
    for (int64_t i = 0; i < inputs; i++) {
        double weight = (double)rotary_element(projection->weight, at + i, projection->dtype);
        sum += weight * weight;
    }
    if (projection->bias) {
        int64_t bias_stride = projection->bias_stride ? projection->bias_stride : head_dim;
        double bias =
            (double)rotary_element(projection->bias, head * bias_stride + channel, projection->dtype);
        sum += bias * bias;
    }
    return sum;
}

/* ln(|query row|^2 / |key row|^2) of a channel of the span; the query heads of a key head count together. A
 * row of zeros has none: *whole becomes false. */
static rotary_status imbalance(const rotary_rope *rope, const rotary_rope_detect_call *call, int64_t key_head,
                               int64_t channel, double *value, bool *whole, rotary_error *error)
{
    int64_t group = call->query.heads / call->key.heads, head_dim = rope->span.head_dim;
    int64_t row = rope->span.start + channel;
    double queries = 0, keys = square(&call->key, call->inputs, head_dim, key_head, row);
    for (int64_t i = 0; i < group; i++)
        queries += square(&call->query, call->inputs, head_dim, key_head * group + i, row);
    if (!isfinite(queries) || !isfinite(keys))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "row %lld of %s head %lld holds what is not finite; wanted numbers",
                           (long long)row, isfinite(keys) ? "a query of key" : "key", (long long)key_head);
    *whole = *whole && queries > 0 && keys > 0;
    *value = *whole ? log(queries) - log(keys) : 0;
    return ROTARY_OK;
}

/* Makes the mean 0 and the mean of squares 1; false if all are the same, which says nothing. */
static bool standardise(double *values, int64_t count)
{
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < count; i++)
        mean += values[i] / (double)count;
    for (int64_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    for (int64_t i = 0; i < count; i++)
        values[i] = (values[i] - mean) * sqrt((double)count / squares);
    return squares > 0;
}

/* ---- one head's share of the evidence ---- */

/* Mean and variance of the sum of products over pairs, if channels are paired at random, each way as likely
 * as the others. By the power sums of the values, of which the first is 0 and the second their number n:
 *
 *     mean of x_a x_b              -1 / (n - 1)
 *     mean of x_a^2 x_b^2          (n^2 - p) / (n (n - 1)),  p = sum of x^4
 *     mean of x_a x_b x_c x_d      (3 n^2 - 6 p) / (n (n - 1) (n - 2) (n - 3))
 */
static void add_random_pairs(const double *values, int64_t count, rotary_rope_evidence *evidence)
{
    double n = (double)count, pairs = n / 2, fourths = 0;
    for (int64_t i = 0; i < count; i++)
        fourths += values[i] * values[i] * values[i] * values[i];
    double mean = -pairs / (n - 1);
    double one = pairs * (n * n - fourths) / (n * (n - 1));
    double two = pairs * (pairs - 1) * (3 * n * n - 6 * fourths) / (n * (n - 1) * (n - 2) * (n - 3));
    evidence->random_mean += mean;
    evidence->random_variance += fmax(one + two - mean * mean, 0);
}

/* The product over `pair`, less the mean of those over the nearest wrong pairs: what a trend from channel to
 * channel gives to right and wrong pairs alike is not in it. */
static double contrast(const double *values, int64_t pairs, rotary_pairing pairing, int64_t pair)
{
    double beside = 0;
    int count = 0;
    const double first = values[rotary_rope_place(pairing, pairs, pair, 0)];
    const double second = values[rotary_rope_place(pairing, pairs, pair, 1)];
    for (int64_t other = pair - 1; other <= pair + 1; other += 2) {
        if (other < 0 || other >= pairs)
            continue;
        const double other_first = values[rotary_rope_place(pairing, pairs, other, 0)];
        const double other_second = values[rotary_rope_place(pairing, pairs, other, 1)];
        if (pairing == ROTARY_PAIRING_HALF || other > pair) {
            beside += other_first * second;
            count++;
        }
        if (pairing == ROTARY_PAIRING_HALF || other < pair) {
            beside += first * other_second;
            count++;
        }
    }
    return first * second - beside / (double)count;
}

static void add_head(const double *values, int64_t pairs, rotary_rope_evidence *evidence)
{
    for (int pairing = 0; pairing < ROTARY_PAIRINGS; pairing++) {
        double before = 0;
        for (int64_t pair = 0; pair < pairs; pair++) {
            evidence->products[pairing] +=
                values[rotary_rope_place((rotary_pairing)pairing, pairs, pair, 0)] *
                values[rotary_rope_place((rotary_pairing)pairing, pairs, pair, 1)];
            double here = contrast(values, pairs, (rotary_pairing)pairing, pair);
            evidence->contrasts[pairing] += here;
            evidence->contrast_squares[pairing] += here * here;
            evidence->contrast_lags[pairing] += here * before;
            before = here;
        }
    }
    add_random_pairs(values, 2 * pairs, evidence);
    evidence->heads++;
    evidence->pairs += pairs;
}

rotary_status rotary_rope_detect(const rotary_rope *rope, const rotary_rope_detect_call *given,
                                 rotary_rope_evidence *evidence, rotary_error *error)
{
    rotary_rope_detect_call known = {0}, *call = &known;
    rotary_rope_evidence sum = {0};
    rotary_status status = rotary_take_sized(&known, sizeof known, given, "rotary_rope_detect_call", error);
    if (!status)
        status = rotary_take_sized(&sum, sizeof sum, evidence, "rotary_rope_evidence", error);
    if (!status)
        status = check(rope, call, error);
    if (status || rope->span.dim < FEWEST_CHANNELS)
        return status;
    double *values = calloc((size_t)rope->span.dim, sizeof *values);
    if (!values)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %lld channels",
                           (long long)rope->span.dim);
    for (int64_t head = 0; !status && head < call->key.heads; head++) {
        bool whole = true;
        for (int64_t channel = 0; !status && channel < rope->span.dim; channel++)
            status = imbalance(rope, call, head, channel, &values[channel], &whole, error);
        if (!status && whole && standardise(values, rope->span.dim))
            add_head(values, rope->pairs, &sum);
    }
    free(values);
    if (!status)
        memcpy(evidence, &sum, evidence->struct_size);
    return status;
}

/* ---- the verdict ---- */

rotary_status rotary_rope_judge(const rotary_rope_evidence *given, rotary_rope_finding *finding,
                                rotary_error *error)
{
    rotary_rope_evidence known = {0}, *evidence = &known;
    rotary_rope_finding made = {0};
    rotary_status status = rotary_take_sized(&known, sizeof known, given, "rotary_rope_evidence", error);
    if (!status)
        status = rotary_take_sized(&made, sizeof made, finding, "rotary_rope_finding", error);
    if (status)
        return status;
    made = (rotary_rope_finding){.struct_size = finding->struct_size};
    bool found[ROTARY_PAIRINGS] = {false};
    double deviation = sqrt(evidence->random_variance);
    for (int i = 0; i < ROTARY_PAIRINGS; i++) {
        made.chance[i] = 1;
        if (evidence->pairs < 1 || !(deviation > 0))
            continue;
        double squares = evidence->contrast_squares[i], lagged = squares + 2 * evidence->contrast_lags[i];
        double spread =
            sqrt(fmax(lagged, squares / 2)); /* never less than half as much, whatever the noise */
        made.correlation[i] = evidence->products[i] / (double)evidence->pairs;
        made.score[i] = (evidence->random_mean - evidence->products[i]) / deviation;
        made.contrast[i] = spread > 0 ? -evidence->contrasts[i] / spread : 0;
        made.chance[i] = fmin(1, ROTARY_PAIRINGS * 0.5 * erfc(made.score[i] / sqrt(2)));
        found[i] = made.chance[i] < max_chance && made.contrast[i] > min_contrast;
    }
    if (found[ROTARY_PAIRING_HALF] != found[ROTARY_PAIRING_INTERLEAVED])
        made.verdict = found[ROTARY_PAIRING_HALF] ? ROTARY_DETECTED_HALF : ROTARY_DETECTED_INTERLEAVED;
    memcpy(finding, &made, finding->struct_size);
    return ROTARY_OK;
}
