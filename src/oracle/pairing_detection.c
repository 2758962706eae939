/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/pairing_detection.h"

#include "base/element.h"
#include "base/fail.h"
#include "rope/rope_roles.h"

#include <math.h>
#include <stdlib.h>

/* Fewer channels have only one pairing. */
enum { MIN_CHANNELS = 4, PAIRINGS = 2 };
/* A pairing is named if random rows give such a correlation at most once in a thousand, for both pairings
 * together, and if it beats the nearest wrong pairs at the level of 95 %. */
static const double max_chance = 1e-3, min_contrast = 1.645;

/* A row of a projection: that of one channel of one head. */
struct row {
    int64_t head, channel, inputs, head_dim;
};

static rotary_status check_projection(const struct pairing_projection *projection, const char *name,
                                      int64_t inputs, int64_t head_dim, rotary_error *error)
{
    if (projection->heads < 1 || !projection->weight)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s.heads is %lld and its weight %s; wanted at least 1 and a matrix", name,
                           (long long)projection->heads, projection->weight ? "is there" : "is NULL");
    if ((unsigned)projection->dtype > ROTARY_BF16)
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

static rotary_status check(const struct pairing_layer *layer, int64_t head_dim, rotary_error *error)
{
    if (layer->inputs < 1 || layer->inputs > INT64_MAX / head_dim)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "inputs is %lld; wanted at least 1",
                           (long long)layer->inputs);
    rotary_status status = check_projection(&layer->query, "query", layer->inputs, head_dim, error);
    if (!status)
        status = check_projection(&layer->key, "key", layer->inputs, head_dim, error);
    if (!status && layer->query.heads % layer->key.heads != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "query.heads is %lld; wanted a multiple of key.heads, %lld",
                           (long long)layer->query.heads, (long long)layer->key.heads);
    return status;
}

/* The squared norm of a row, its bias included. */
static double row_square(const struct pairing_projection *projection, struct row row)
{
    int64_t head_stride = projection->head_stride ? projection->head_stride : row.inputs * row.head_dim;
    int64_t at = row.head * head_stride + row.channel * row.inputs;
    double sum = 0;
    for (int64_t i = 0; i < row.inputs; i++) {
        double weight = (double)rotary_unaligned_element(projection->weight, at + i, projection->dtype);
        sum += weight * weight;
    }
    if (projection->bias) {
        int64_t bias_stride = projection->bias_stride ? projection->bias_stride : row.head_dim;
        double bias = (double)rotary_unaligned_element(projection->bias, row.head * bias_stride + row.channel,
                                                       projection->dtype);
        sum += bias * bias;
    }
    return sum;
}

/* ln(|query row|^2 / |key row|^2) of the row of a key head; its query heads count together. A row of zeros
 * has none: *complete becomes false. */
static rotary_status imbalance(const struct pairing_layer *layer, struct row row, double *value,
                               bool *complete, rotary_error *error)
{
    int64_t group = layer->query.heads / layer->key.heads, key_head = row.head;
    double queries = 0, keys = row_square(&layer->key, row);
    for (int64_t i = 0; i < group; i++) {
        row.head = key_head * group + i;
        queries += row_square(&layer->query, row);
    }
    if (!isfinite(queries) || !isfinite(keys))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "row %lld of %s head %lld has values that are not finite; wanted finite numbers",
                           (long long)row.channel, isfinite(keys) ? "a query of key" : "key",
                           (long long)key_head);
    *complete = *complete && queries > 0 && keys > 0;
    *value = *complete ? log(queries) - log(keys) : 0;
    return ROTARY_OK;
}

/* Makes the mean 0 and the mean of squares 1; false if all are equal, which is no evidence. */
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

/* Mean and variance of the sum of products over pairs, if channels are paired at random, all pairings equally
 * probable. The sum of the values is 0 and the sum of their squares is their number n, so:
 *
 *     mean of x_a x_b              -1 / (n - 1)
 *     mean of x_a^2 x_b^2          (n^2 - p) / (n (n - 1)),  p = sum of x^4
 *     mean of x_a x_b x_c x_d      (3 n^2 - 6 p) / (n (n - 1) (n - 2) (n - 3))
 */
static void add_random_pairs(const double *values, int64_t count, struct pairing_evidence *evidence)
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

/* The product over `pair` less the mean product over the nearest wrong pairs. A trend from channel to channel
 * contributes equally to true and to wrong pairs, so it cancels. */
static double contrast(const double *values, int64_t pairs, rotary_pairing pairing, int64_t pair)
{
    double beside = 0;
    int count = 0;
    const double first = values[rotary_rope_pair_channel(pairing, pairs, pair, 0)];
    const double second = values[rotary_rope_pair_channel(pairing, pairs, pair, 1)];
    for (int64_t other = pair - 1; other <= pair + 1; other += 2) {
        if (other < 0 || other >= pairs)
            continue;
        const double other_first = values[rotary_rope_pair_channel(pairing, pairs, other, 0)];
        const double other_second = values[rotary_rope_pair_channel(pairing, pairs, other, 1)];
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

static void add_head(const double *values, int64_t pairs, struct pairing_evidence *evidence)
{
    for (int pairing = 0; pairing < PAIRINGS; pairing++) {
        double before = 0;
        for (int64_t pair = 0; pair < pairs; pair++) {
            evidence->products[pairing] +=
                values[rotary_rope_pair_channel((rotary_pairing)pairing, pairs, pair, 0)] *
                values[rotary_rope_pair_channel((rotary_pairing)pairing, pairs, pair, 1)];
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

rotary_status pairing_add_layer(const rotary_rope *rope, const struct pairing_layer *layer,
                                struct pairing_evidence *evidence, rotary_error *error)
{
    const struct rotary_span span = rotary_rope_span(rope);
    struct pairing_evidence sum = *evidence;
    rotary_status status = check(layer, span.head_dim, error);
    if (status || span.dim < MIN_CHANNELS)
        return status;
    double *values = calloc((size_t)span.dim, sizeof *values);
    if (!values)
        return rotary_fail_memory(error, "for %lld channels", (long long)span.dim);
    for (int64_t head = 0; !status && head < layer->key.heads; head++) {
        bool complete = true;
        for (int64_t channel = 0; !status && channel < span.dim; channel++) {
            struct row row = {head, span.start + channel, layer->inputs, span.head_dim};
            status = imbalance(layer, row, &values[channel], &complete, error);
        }
        if (!status && complete && standardise(values, span.dim))
            add_head(values, span.dim / 2, &sum);
    }
    free(values);
    if (!status)
        *evidence = sum;
    return status;
}

void pairing_add_evidence(struct pairing_evidence *evidence, const struct pairing_evidence *more)
{
    evidence->heads += more->heads;
    evidence->pairs += more->pairs;
    evidence->random_mean += more->random_mean;
    evidence->random_variance += more->random_variance;
    for (int i = 0; i < PAIRINGS; i++) {
        evidence->products[i] += more->products[i];
        evidence->contrasts[i] += more->contrasts[i];
        evidence->contrast_squares[i] += more->contrast_squares[i];
        evidence->contrast_lags[i] += more->contrast_lags[i];
    }
}

/* ---- the verdict ---- */

struct pairing_finding pairing_judge(const struct pairing_evidence *evidence)
{
    struct pairing_finding finding = {.verdict = PAIRING_UNKNOWN, .chance = {1, 1}};
    bool found[PAIRINGS] = {false};
    double deviation = sqrt(evidence->random_variance);
    for (int i = 0; i < PAIRINGS && evidence->pairs > 0 && deviation > 0; i++) {
        double squares = evidence->contrast_squares[i], lagged = squares + 2 * evidence->contrast_lags[i];
        /* Neighbouring contrasts are correlated; noise must not make the spread less than half. */
        double spread = sqrt(fmax(lagged, squares / 2));
        finding.correlation[i] = evidence->products[i] / (double)evidence->pairs;
        finding.score[i] = (evidence->random_mean - evidence->products[i]) / deviation;
        finding.contrast[i] = spread > 0 ? -evidence->contrasts[i] / spread : 0;
        finding.chance[i] = fmin(1, PAIRINGS * 0.5 * erfc(finding.score[i] / sqrt(2)));
        found[i] = finding.chance[i] < max_chance && finding.contrast[i] > min_contrast;
    }
    if (found[ROTARY_PAIRING_HALF] != found[ROTARY_PAIRING_INTERLEAVED])
        finding.verdict = found[ROTARY_PAIRING_HALF] ? PAIRING_IS_HALF : PAIRING_IS_INTERLEAVED;
    return finding;
}
