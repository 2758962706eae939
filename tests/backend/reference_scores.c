/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/reference_scores.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>

#define MASKED -1e30f /* an entry of a bias that hides a key */

double *reference_doubles(int64_t count)
{
    double *made = calloc((size_t)count + 1, sizeof *made);
    if (!made)
        abort();
    return made;
}

void reference_head_free(struct reference_head *head)
{
    double *all[] = {head->query, head->key, head->value, head->p, head->d_softcap};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add_scaled(double *to, double factor, const double *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] += factor * from[i];
}

/* The index of the entry for the distance from a query to a key. */
static int64_t entry_of(const struct reference_head *head, int64_t m, int64_t n)
{
    const rotary_attention_distance_bias *bias = &head->distance_bias;
    int64_t entry = head->first_key + n - head->first_query - m - bias->first;
    entry = entry < 0 ? 0 : entry;
    return entry < bias->distances ? entry : bias->distances - 1;
}

static float distance_bias(const struct reference_head *head, int64_t m, int64_t n)
{
    return head->distance_bias.data[entry_of(head, m, n)];
}

static bool sees(const struct reference_head *head, int64_t m, int64_t n)
{
    int64_t distance = head->first_query + m - head->first_key - n, window = head->config->window;
    if (head->bias && !(head->bias[m * head->bias_stride + n] > MASKED))
        return false;
    if (head->distance_bias.data && !(distance_bias(head, m, n) > MASKED))
        return false;
    return !head->config->causal || (distance >= 0 && (window == 0 || distance < window));
}

/* Fills p with the scores of query m and d_softcap with the derivatives; what it does not see is -infinity.
 */
static void score_row(const struct reference_head *head, int64_t m)
{
    int64_t dim = head->config->head_dim;
    double softcap = (double)head->config->softcap;
    for (int64_t n = 0; n < head->keys; n++) {
        head->p[n] = -HUGE_VAL;
        head->d_softcap[n] = 1.0;
        if (!sees(head, m, n))
            continue;
        double score = (double)head->config->scale * dot(head->query + m * dim, head->key + n * dim, dim);
        if (softcap > 0.0) {
            double capped = tanh(score / softcap);
            score = softcap * capped;
            head->d_softcap[n] = 1.0 - capped * capped;
        }
        if (head->bias)
            score += (double)head->bias[m * head->bias_stride + n];
        if (head->distance_bias.data)
            score += (double)distance_bias(head, m, n);
        head->p[n] = score;
    }
}

/* Replaces scores by probabilities. */
static void subtract_and_exponentiate(const struct reference_head *head, double log_sum_exp)
{
    for (int64_t n = 0; n < head->keys; n++)
        head->p[n] = head->p[n] == -HUGE_VAL ? 0.0 : exp(head->p[n] - log_sum_exp);
}

static double log_sum_exp_of(const struct reference_head *head)
{
    double max = -HUGE_VAL, sum = 0.0;
    for (int64_t n = 0; n < head->keys; n++)
        max = fmax(max, head->p[n]);
    if (max == -HUGE_VAL)
        return max;
    for (int64_t n = 0; n < head->keys; n++)
        sum += exp(head->p[n] - max);
    return max + log(sum);
}

/* Words 0 and 1 of a block, as the seed of others. */
static uint64_t seed_of(uint64_t seed, uint32_t step, uint64_t block)
{
    const struct rotary_random_key key = {seed, ROTARY_STREAM_ATTENTION_DROPOUT, step};
    uint32_t words[4];
    rotary_random_block(key, block, words);
    return words[0] | (uint64_t)words[1] << 32;
}

/* The factor of the weight of query m and key n: 0 or 1 / (1 - probability). 16 random bits decide. */
static double dropout_factor(const struct reference_head *head, int64_t m, int64_t n)
{
    const rotary_attention_dropout *dropout = &head->dropout;
    double threshold = fmin(round((double)dropout->probability * 0x1p16), 0x1p16 - 1.0);
    if (threshold == 0.0)
        return 1.0;
    uint64_t of_layer = seed_of(dropout->seed, dropout->step, dropout->site);
    const struct rotary_random_key key = {
        .seed = seed_of(of_layer, (uint32_t)head->head, (uint64_t)head->sequence),
        .stream = ROTARY_STREAM_ATTENTION_DROPOUT};
    uint32_t words[4];
    rotary_random_block(key, (uint64_t)(m / 4) << 32 | (uint64_t)(n / 32 * 16 + n % 16), words);
    uint32_t bits = words[m % 4] >> (n / 16 % 2 ? 16 : 0) & 0xffff;
    return (double)bits < threshold ? 0.0 : 0x1p16 / (0x1p16 - threshold);
}

double reference_attend(const struct reference_head *head, int64_t m, double *context)
{
    int64_t dim = head->config->head_dim;
    score_row(head, m);
    double log_sum_exp = log_sum_exp_of(head);
    subtract_and_exponentiate(head, log_sum_exp);
    for (int64_t n = 0; n < head->keys; n++)
        if (head->p[n] != 0.0)
            add_scaled(context, head->p[n] * dropout_factor(head, m, n), head->value + n * dim, dim);
    return log_sum_exp;
}

void reference_attend_backward(const struct reference_head *head, int64_t m, double log_sum_exp,
                               const double *d_context, const struct reference_head_gradients *to)
{
    int64_t dim = head->config->head_dim;
    score_row(head, m);
    subtract_and_exponentiate(head, log_sum_exp);
    double delta = 0.0;
    for (int64_t n = 0; n < head->keys; n++)
        if (head->p[n] != 0.0)
            delta += head->p[n] * dropout_factor(head, m, n) * dot(d_context, head->value + n * dim, dim);
    for (int64_t n = 0; n < head->keys; n++) {
        if (head->p[n] == 0.0)
            continue;
        double factor = dropout_factor(head, m, n);
        double dp = factor * dot(d_context, head->value + n * dim, dim);
        double d_bias = head->p[n] * (dp - delta);
        double ds = (double)head->config->scale * d_bias * head->d_softcap[n];
        add_scaled(to->query + m * dim, ds, head->key + n * dim, dim);
        add_scaled(to->key + n * dim, ds, head->query + m * dim, dim);
        add_scaled(to->value + n * dim, head->p[n] * factor, d_context, dim);
        if (head->distance_bias.gradient) {
            float *entry = &head->distance_bias.gradient[entry_of(head, m, n)];
            *entry = (float)((double)*entry + d_bias);
        }
    }
}
