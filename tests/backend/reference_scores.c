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
    double *all[] = {head->query, head->unrotated_query, head->key, head->value, head->p, head->d_softcap};
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

/* The index of the entry for the distance from a query to a key, of `distances` from `first` on. */
static int64_t clipped(const struct reference_head *head, int64_t m, int64_t n, int64_t first,
                       int64_t distances)
{
    int64_t entry = head->first_key + n - head->first_query - m - first;
    entry = entry < 0 ? 0 : entry;
    return entry < distances ? entry : distances - 1;
}

static int64_t entry_of(const struct reference_head *head, int64_t m, int64_t n)
{
    return clipped(head, m, n, head->distance_bias.first, head->distance_bias.distances);
}

/* The vector for that distance, and its gradient. */
struct vector {
    const float *data;
    float *gradient; /* NULL: not wanted */
};

static struct vector vector_of(const struct reference_head *head,
                               const rotary_attention_distance_vectors *vectors, int64_t m, int64_t n)
{
    int64_t at = clipped(head, m, n, vectors->first, vectors->distances) * vectors->distance_stride;
    return (struct vector){.data = vectors->data + at,
                           .gradient = vectors->gradient ? vectors->gradient + at : NULL};
}

static double vector_dot(const double *a, const float *vector, int64_t count)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * (double)vector[i];
    return sum;
}

static void add_scaled_vector(double *to, double factor, const float *vector, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] += factor * (double)vector[i];
}

static void add_vector_gradient(struct vector vector, double factor, const double *from, int64_t count)
{
    for (int64_t i = 0; vector.gradient && i < count; i++)
        vector.gradient[i] = (float)((double)vector.gradient[i] + factor * from[i]);
}

static float distance_bias(const struct reference_head *head, int64_t m, int64_t n)
{
    return head->distance_bias.data[entry_of(head, m, n)];
}

static int64_t clip(int64_t entry, int64_t count)
{
    return entry < 0 ? 0 : entry < count ? entry : count - 1;
}

/* Of a query and a key in the piecewise-linear bias: its segment, and the places of input and scale. */
struct piece {
    int64_t segment, input, scale;
    double x;
};

static struct piece piece_of(const struct reference_head *head, int64_t m, int64_t n)
{
    const rotary_attention_piecewise_bias *bias = &head->piecewise_bias;
    int64_t position = head->first_query + m, distance = head->first_key + n - position;
    struct piece piece = {.input = clip(distance - bias->first, bias->distances),
                          .scale = clip(position, bias->positions)};
    piece.x = (double)bias->distance_inputs[piece.input] * (double)bias->query_scales[piece.scale];
    while (piece.segment + 1 < bias->segments && piece.x >= (double)bias->knots[piece.segment])
        piece.segment++;
    return piece;
}

static double piecewise_bias(const struct reference_head *head, int64_t m, int64_t n)
{
    struct piece piece = piece_of(head, m, n);
    return (double)head->piecewise_bias.intercepts[piece.segment] +
           (double)head->piecewise_bias.slopes[piece.segment] * piece.x;
}

static void add_to(float *sum, double value)
{
    *sum = (float)((double)*sum + value);
}

static void add_piecewise_gradient(const struct reference_head *head, int64_t m, int64_t n, double d_bias)
{
    const rotary_attention_piecewise_bias *bias = &head->piecewise_bias;
    struct piece piece = piece_of(head, m, n);
    double d_x = d_bias * (double)bias->slopes[piece.segment];
    add_to(&bias->intercept_gradient[piece.segment], d_bias);
    add_to(&bias->slope_gradient[piece.segment], d_bias * piece.x);
    add_to(&bias->input_gradient[piece.input], d_x * (double)bias->query_scales[piece.scale]);
    add_to(&bias->scale_gradient[piece.scale], d_x * (double)bias->distance_inputs[piece.input]);
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
        if (head->piecewise_bias.intercepts)
            score += piecewise_bias(head, m, n);
        if (head->distance_keys.data)
            score += (double)head->config->scale *
                     vector_dot(head->unrotated_query + m * dim,
                                vector_of(head, &head->distance_keys, m, n).data, dim);
        if (head->distance_queries.data)
            score +=
                (double)head->config->scale *
                vector_dot(head->key + n * dim, vector_of(head, &head->distance_queries, m, n).data, dim);
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
    double max = head->sink;
    for (int64_t n = 0; n < head->keys; n++)
        max = fmax(max, head->p[n]);
    if (max == -HUGE_VAL)
        return max;
    double sum = exp(head->sink - max);
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
        .seed = seed_of(of_layer, (uint32_t)head->head, dropout->first_sequence + (uint64_t)head->sequence),
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
    for (int64_t n = 0; n < head->keys; n++) {
        if (head->p[n] == 0.0)
            continue;
        double weight = head->p[n] * dropout_factor(head, m, n);
        add_scaled(context, weight, head->value + n * dim, dim);
        if (head->distance_values.data)
            add_scaled_vector(context, weight, vector_of(head, &head->distance_values, m, n).data, dim);
    }
    return log_sum_exp;
}

/* The gradient of the weight of a key, before dropout. */
static double weight_gradient(const struct reference_head *head, int64_t m, int64_t n,
                              const double *d_context)
{
    int64_t dim = head->config->head_dim;
    double d = dot(d_context, head->value + n * dim, dim);
    if (head->distance_values.data)
        d += vector_dot(d_context, vector_of(head, &head->distance_values, m, n).data, dim);
    return d;
}

/* Of the terms by distance, from the gradient of the score and the weight after dropout. */
static void distance_gradients(const struct reference_head *head, int64_t m, int64_t n, double d_score,
                               double weight, const double *d_context,
                               const struct reference_head_gradients *to)
{
    int64_t dim = head->config->head_dim;
    if (head->distance_bias.gradient) {
        float *entry = &head->distance_bias.gradient[entry_of(head, m, n)];
        *entry = (float)((double)*entry + d_score);
    }
    if (head->piecewise_bias.intercept_gradient)
        add_piecewise_gradient(head, m, n, d_score);
    if (head->distance_keys.data) {
        struct vector key = vector_of(head, &head->distance_keys, m, n);
        double ds = (double)head->config->scale * d_score;
        add_scaled_vector(to->unrotated_query + m * dim, ds, key.data, dim);
        add_vector_gradient(key, ds, head->unrotated_query + m * dim, dim);
    }
    if (head->distance_queries.data) {
        struct vector query = vector_of(head, &head->distance_queries, m, n);
        double ds = (double)head->config->scale * d_score;
        add_scaled_vector(to->key + n * dim, ds, query.data, dim);
        add_vector_gradient(query, ds, head->key + n * dim, dim);
    }
    if (head->distance_values.data)
        add_vector_gradient(vector_of(head, &head->distance_values, m, n), weight, d_context, dim);
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
            delta += head->p[n] * dropout_factor(head, m, n) * weight_gradient(head, m, n, d_context);
    if (head->sink_gradient)
        *head->sink_gradient -= exp(head->sink - log_sum_exp) * delta;
    for (int64_t n = 0; n < head->keys; n++) {
        if (head->p[n] == 0.0)
            continue;
        double factor = dropout_factor(head, m, n);
        double dp = factor * weight_gradient(head, m, n, d_context);
        double d_bias = head->p[n] * (dp - delta);
        double ds = (double)head->config->scale * d_bias * head->d_softcap[n];
        add_scaled(to->query + m * dim, ds, head->key + n * dim, dim);
        add_scaled(to->key + n * dim, ds, head->query + m * dim, dim);
        add_scaled(to->value + n * dim, head->p[n] * factor, d_context, dim);
        distance_gradients(head, m, n, d_bias, head->p[n] * factor, d_context, to);
    }
}
