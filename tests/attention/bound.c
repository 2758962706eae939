/* SPDX-License-Identifier: Apache-2.0
 *
 * Every quantity is a value, in double, with the largest error that f32 and bf16 arithmetic can make in it. Of f16
 * the arithmetic is f32's, and results are rounded once more.
 * The order is that of docs/explanation/numerics.md, "Attention's bound".
 */
#include "attention/bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Unit roundoffs. EXP is the relative error of the exponential: 2 units in the last place, or, where p is
 * rounded to bf16, the error of the coarse exp2. */
static const double U = 0x1p-24, U_BF16 = 0x1p-8, U_F16 = 0x1p-11, EXP_F32 = 4 * 0x1p-24,
                    EXP_BF16 = 8e-5 + 4 * 0x1p-24;
/* Numbers below the smallest normal number may count as zero. */
static const double TINY = 0x1p-100;
/* Half the distance of the subnormal numbers of f16. */
static const double TINY_F16 = 0x1p-25;

/* The relative error of a sum of `count` products, in any order, with two roundings per product. */
static double gamma_of(int64_t count)
{
    double roundings = 2 * (double)count + 4;
    return roundings * U / (1 - roundings * U);
}

struct carried {
    double *value, *error;
};

struct bounding {
    const struct reference_case *c;
    struct carried query, key, value, d_output; /* rotated */
    struct carried output, query_gradient, key_gradient, value_gradient;
    struct carried unrotated, unrotated_key; /* of the gradients of queries and keys, what is not rotated */
    double *zeros;                           /* of a vector */
    const double *exact_query, *exact_key;   /* before rotation */
    /* For each key of one query: its score, the softcap's derivative, their errors; whether it is visible. */
    double *bias, *score, *score_error, *d_softcap, *d_softcap_error, *exact_output, *output_error;
    bool *visible;
    double stored, p_rounding,
        exponential; /* relative errors of storing, of p as a factor, of an exponential */
};

static double *make(int64_t count)
{
    double *made = calloc((size_t)count + 1, sizeof *made);
    if (!made)
        abort();
    return made;
}

static struct carried carry(const double *from, int64_t count)
{
    struct carried made = {make(count), make(count)};
    if (from)
        memcpy(made.value, from, (size_t)count * sizeof *from);
    return made;
}

static void drop(struct carried *carried)
{
    free(carried->value);
    free(carried->error);
}

struct rotation {
    struct carried *vectors;
    double direction;
};

/* Rows of cosines and sines are within u of their values, and 2^-34 for angles up to 2^17; then two
 * roundings. */
static void rotate_pair(void *with, int64_t x, int64_t y, double cosine, double sine)
{
    const struct rotation *rotation = with;
    double *value = rotation->vectors->value, *error = rotation->vectors->error;
    double a = value[x], b = value[y], c = fabs(cosine), s = fabs(sine);
    double off_a = error[x], off_b = error[y], spread = 0x1p-34 * (fabs(a) + fabs(b) + off_a + off_b);
    sine *= rotation->direction;
    value[x] = a * cosine - b * sine;
    value[y] = a * sine + b * cosine;
    error[x] = (1 + 4 * U) * (c * off_a + s * off_b) + 4 * U * (c * fabs(a) + s * fabs(b)) + spread;
    error[y] = (1 + 4 * U) * (s * off_a + c * off_b) + 4 * U * (s * fabs(a) + c * fabs(b)) + spread;
}

static void rotate(const struct reference_case *c, struct carried *vectors, enum reference_side side,
                   const struct reference_rotation *how, double direction)
{
    struct rotation rotation = {vectors, direction};
    reference_each_pair(c, side, how, rotate_pair, &rotation);
}

/* One more rounding of each element, relative. */
static void round_all(struct carried *vectors, int64_t count, double relative)
{
    for (int64_t i = 0; i < count; i++)
        vectors->error[i] += relative * (fabs(vectors->value[i]) + vectors->error[i]) + TINY;
}

/* a . b of `count` elements. */
static double dot(const struct carried *a, int64_t at, const struct carried *b, int64_t place, int64_t count,
                  double *error)
{
    double sum = 0, exact = 0, max = 0;
    for (int64_t i = 0; i < count; i++) {
        double x = a->value[at + i], y = b->value[place + i], product = fabs(x * y);
        sum += x * y;
        exact += product;
        max += (fabs(x) + a->error[at + i]) * (fabs(y) + b->error[place + i]);
    }
    *error = (max - exact) + gamma_of(count) * max + TINY;
    return sum;
}

/* A query, and the offsets of its vector and of that of key 0 of its head. */
struct place {
    int64_t sequence, head, query, at, keys;
};

static struct place place_of(const struct reference_case *c, int64_t b, int64_t h, int64_t m)
{
    int64_t shared = h / (c->heads / c->key_value_heads), d = c->head_dim;
    return (struct place){b, h, m, ((b * c->queries + m) * c->heads + h) * d,
                          (b * c->keys * c->key_value_heads + shared) * d};
}

static double factor_of(const struct reference_case *c, struct place place, int64_t key)
{
    return reference_factor(c, place.sequence, place.head, place.query, key);
}

/* The relative error of a sum of `count` products, of which `factors` factors are rounded to bf16 where attention is
 * in bf16. Vectors by distance are no such factors: they are rounded before (term_vectors). */
static double gamma_of_rounded(const struct bounding *w, int64_t count, double factors)
{
    return (1 + gamma_of(count)) * pow(1 + w->p_rounding, factors) - 1;
}

/* The product of a query with the vector of a key's distance, and its error. */
static double distance_key(const struct bounding *w, struct place place, int64_t key, double *error)
{
    const struct reference_case *c = w->c;
    int64_t vector = reference_distance_vector(c, &c->distance_keys, place.head, place.query, key);
    double sum = 0, max = 0;
    for (int64_t i = 0; i < c->head_dim; i++) {
        double product = reference_biased_query(c, w->exact_query, place.at, place.head, i) *
                         c->distance_keys.data[vector + i];
        sum += product;
        max += fabs(product);
    }
    *error = c->scale * gamma_of_rounded(w, c->head_dim + 2, 1) * max + TINY;
    return c->scale * sum;
}

/* The product of a key with the vector of its distance from a query, likewise. */
static double distance_query(const struct bounding *w, struct place place, int64_t key, double *error)
{
    const struct reference_case *c = w->c;
    const double *vector = c->distance_queries.data +
                           reference_distance_vector(c, &c->distance_queries, place.head, place.query, key);
    const double *k = w->exact_key + place.keys + key * c->key_value_heads * c->head_dim;
    double sum = 0, max = 0;
    for (int64_t i = 0; i < c->head_dim; i++) {
        sum += k[i] * vector[i];
        max += fabs(k[i] * vector[i]);
    }
    *error = c->scale * gamma_of_rounded(w, c->head_dim + 2, 1) * max + TINY;
    return c->scale * sum;
}

/* The vector of distance_values of a key, or zeros. */
static const double *distance_value(const struct bounding *w, struct place place, int64_t key)
{
    const struct reference_distance_vectors *values = &w->c->distance_values;
    if (!values->data)
        return w->zeros;
    return values->data + reference_distance_vector(w->c, values, place.head, place.query, key);
}

/* Scores of one query; returns the max size of a visible one, or -1 where none is visible. */
static double score(struct bounding *w, struct place place)
{
    const struct reference_case *c = w->c;
    const double *bias = reference_bias_row(c, place.sequence, place.head, place.query, w->bias);
    double size = -1;
    for (int64_t n = 0; n < c->keys; n++) {
        w->visible[n] = reference_sees(c, place.sequence, place.query, n) && !(bias && bias[n] <= -1e30);
        if (!w->visible[n])
            continue;
        double error,
            s = c->scale * dot(&w->query, place.at, &w->key,
                               place.keys + n * c->key_value_heads * c->head_dim, c->head_dim, &error);
        error *= c->scale;
        w->d_softcap[n] = 1;
        w->d_softcap_error[n] = 0;
        if (c->softcap > 0) {
            double capped = tanh(s / c->softcap);
            w->d_softcap[n] = 1 - capped * capped;
            /* The second derivative of tanh is 4 / (3 sqrt 3) at most. */
            w->d_softcap_error[n] = 0.77 * error / c->softcap + 24 * U;
            s = c->softcap * capped;
            error += 16 * U * fabs(s);
        }
        double added = bias ? bias[n] : 0, product = 0, product_error = 0;
        if (c->distance_keys.data)
            product = distance_key(w, place, n, &product_error);
        error += product_error + 4 * U * (fabs(product) + product_error);
        added += product;
        product = product_error = 0;
        if (c->distance_queries.data)
            product = distance_query(w, place, n, &product_error);
        error += product_error + 4 * U * (fabs(product) + product_error);
        added += product;
        /* The conversion to units of log 2 and back, and the sum. */
        error += 4 * U * (fabs(s) + error + fabs(added));
        w->score[n] = s + added;
        w->score_error[n] = error;
        size = fmax(size, fabs(w->score[n]) + error);
    }
    return size;
}

/* The log-sum-exp of w->score's exact values, and its error; *p_error becomes the relative error of the
 * forward pass's exponentials, without that of their scores. */
static double log_sum_exp_of(const struct bounding *w, double size, double sink, double *p_error,
                             double *error)
{
    const struct reference_case *c = w->c;
    double row_max = sink, off = 0;
    /* Blocks have at least 64 keys. Each may move the softmax offset, which costs an exponential and a
     * product; the moves, and the distance from the last offset, add up to at most twice the max score. */
    double blocks = (double)(c->keys / 64 + 2);
    *p_error = w->exponential + blocks * (w->exponential + 2 * U) + 8 * U * size;
    for (int64_t n = 0; n < c->keys; n++)
        row_max = w->visible[n] ? fmax(row_max, w->score[n]) : row_max;
    double sum = exp(sink - row_max); /* its exponential is in double */
    for (int64_t n = 0; n < c->keys; n++)
        sum += w->visible[n] ? exp(w->score[n] - row_max) : 0;
    for (int64_t n = 0; n < c->keys; n++)
        off += w->visible[n] ? exp(w->score[n] - row_max) / sum * expm1(w->score_error[n] + *p_error) : 0;
    off += gamma_of(c->keys);
    *error = -log1p(-fmin(off, 0.99)) +
             8 * U * (fmax(size, isinf(sink) ? 0 : fabs(sink)) + log((double)c->keys) + 1);
    return row_max + log(sum);
}

static double sink_of(const struct reference_case *c, struct place place)
{
    return c->sinks ? c->sinks[place.head] : -HUGE_VAL;
}

static void forward_query(struct bounding *w, struct reference_tensors *bound, struct place place)
{
    const struct reference_case *c = w->c;
    int64_t d = c->head_dim, stride = c->key_value_heads * d;
    double size = score(w, place), p_error, error;
    double *lse_error =
        &bound->log_sum_exp[(place.sequence * c->heads + place.head) * c->queries + place.query];
    *lse_error = 0;
    if (size < 0)
        return;
    double lse = log_sum_exp_of(w, size, sink_of(c, place), &p_error, &error),
           *output = w->output.value + place.at;
    *lse_error = error;
    memset(w->output_error, 0, (size_t)d * sizeof(double));
    for (int64_t n = 0; n < c->keys; n++) {
        double p = w->visible[n] ? exp(w->score[n] - lse) : 0;
        const double *added = distance_value(w, place, n);
        for (int64_t i = 0; w->visible[n] && i < d; i++)
            output[i] +=
                p * factor_of(c, place, n) * (w->value.value[place.keys + n * stride + i] + added[i]);
    }
    /* sum_n p (1 + e) v / sum_n p (1 + e) - o = sum_n p e (v - o) / (1 + sum_n p e), for errors e of p in
     * numerator and denominator alike. The other errors are in one of the two. */
    double all = 0, gamma = gamma_of(c->keys);
    for (int64_t n = 0; n < c->keys; n++) {
        if (!w->visible[n])
            continue;
        double p = exp(w->score[n] - lse), off = expm1(w->score_error[n] + p_error);
        double f = factor_of(c, place, n), rounding = (c->factors ? 2 : 1) * (w->p_rounding + 2 * U);
        const double *added = distance_value(w, place, n);
        all += p * off;
        for (int64_t i = 0; i < d; i++) {
            double v = f * w->value.value[place.keys + n * stride + i], more = f * added[i],
                   v_error = f * w->value.error[place.keys + n * stride + i];
            w->output_error[i] +=
                p * off * fabs(v + more - output[i]) +
                p * (1 + off) * ((rounding + gamma) * (fabs(v) + v_error + fabs(more)) + v_error);
        }
    }
    double rest = 1 - fmin(all + gamma, 0.99);
    for (int64_t i = 0; i < d; i++)
        w->output.error[place.at + i] = (w->output_error[i] + gamma * fabs(output[i])) / rest +
                                        (c->sinks ? 6 : 4) * U * fabs(output[i]) + TINY;
}

/* An exact value and the max size of a computed one. */
struct carried_scalar {
    double value, max;
};

/* Adds the errors of the gradients through distance_keys of one query and key, from ds. Sums run over keys,
 * queries, and work items of sequences and heads. */
static void bound_distance_keys(struct bounding *w, const struct reference_tensors *bound, struct place place,
                                int64_t key, struct carried_scalar ds)
{
    const struct reference_case *c = w->c;
    int64_t vector = reference_distance_vector(c, &c->distance_keys, place.head, place.query, key);
    int64_t sum = c->keys + c->queries + c->batch * c->heads;
    double gamma = gamma_of_rounded(w, sum, 1), gamma_vector = gamma_of_rounded(w, sum, 2);
    for (int64_t i = 0; i < c->head_dim; i++) {
        double q = c->scale * fabs(reference_biased_query(c, w->exact_query, place.at, place.head, i)),
               a = c->scale * fabs(c->distance_keys.data[vector + i]), size = fabs(ds.value);
        w->unrotated.value[place.at + i] += ds.value * c->scale * c->distance_keys.data[vector + i];
        w->unrotated.error[place.at + i] += (1 + gamma) * ds.max * a - size * a;
        bound->distance_keys_gradient[vector + i] += (1 + gamma_vector) * ds.max * q - size * q;
        if (c->query_bias)
            bound->query_bias_gradient[place.head * c->head_dim + i] += (1 + gamma) * ds.max * a - size * a;
    }
}

/* The same of distance_queries. */
static void bound_distance_queries(struct bounding *w, const struct reference_tensors *bound,
                                   struct place place, int64_t key, struct carried_scalar ds)
{
    const struct reference_case *c = w->c;
    int64_t vector = reference_distance_vector(c, &c->distance_queries, place.head, place.query, key),
            at = place.keys + key * c->key_value_heads * c->head_dim;
    int64_t sum = c->keys + c->queries + c->batch * c->heads;
    double gamma = gamma_of_rounded(w, sum, 1), gamma_vector = gamma_of_rounded(w, sum, 2),
           size = fabs(ds.value);
    for (int64_t i = 0; i < c->head_dim; i++) {
        double k = c->scale * fabs(w->exact_key[at + i]),
               b = c->scale * fabs(c->distance_queries.data[vector + i]);
        w->unrotated_key.value[at + i] += ds.value * c->scale * c->distance_queries.data[vector + i];
        w->unrotated_key.error[at + i] += (1 + gamma) * ds.max * b - size * b;
        bound->distance_queries_gradient[vector + i] += (1 + gamma_vector) * ds.max * k - size * k;
    }
}

/* The relative error of a product is (1 + a)(1 + b) ... - 1 over the errors of its factors. */
static void backward_query(struct bounding *w, const struct reference_tensors *given,
                           const struct reference_tensors *bound, struct place place)
{
    const struct reference_case *c = w->c;
    int64_t d = c->head_dim, stride = c->key_value_heads * d;
    double size = score(w, place), p_error, ignored;
    if (size < 0)
        return;
    double lse = log_sum_exp_of(w, size, sink_of(c, place), &p_error, &ignored);
    double lse_error =
        bound->log_sum_exp[(place.sequence * c->heads + place.head) * c->queries + place.query];
    /* dout . out, of the output as it was stored. */
    double delta = 0, delta_error = 0, max = 0;
    for (int64_t i = 0; i < d; i++) {
        double g = fabs(given->output_gradient[place.at + i]), o = bound->output[place.at + i];
        delta += w->d_output.value[place.at + i] * w->exact_output[place.at + i];
        delta_error += g * o;
        max += g * (fabs(w->output.value[place.at + i]) + o);
    }
    delta_error += gamma_of(d) * max;
    if (sink_of(c, place) > -HUGE_VAL) {
        double exponent = sink_of(c, place) - lse, share = exp(exponent);
        double off = expm1(lse_error + 4 * U * (fabs(exponent) + 2));
        bound->sinks_gradient[place.head] +=
            share * ((1 + off) * (fabs(delta) + delta_error) * (1 + 4 * U) - fabs(delta)) + TINY;
    }
    double gamma = gamma_of(c->keys), gamma_keys = gamma_of(c->queries * (c->heads / c->key_value_heads)),
           gamma_all = gamma_of(c->keys + c->queries + c->batch * c->heads);
    for (int64_t n = 0; n < c->keys; n++) {
        if (!w->visible[n])
            continue;
        int64_t key = place.keys + n * stride;
        double p = exp(w->score[n] - lse), dp_error;
        double off = expm1(w->score_error[n] + lse_error + w->exponential + 4 * U * (size + fabs(lse)));
        double f = factor_of(c, place, n);
        double product = dot(&w->d_output, place.at, &w->value, key, d, &dp_error);
        const double *added = distance_value(w, place, n);
        for (int64_t i = 0; i < d && c->distance_values.data; i++) {
            double g = w->d_output.value[place.at + i], g_error = w->d_output.error[place.at + i];
            product += g * added[i];
            dp_error += (g_error + gamma_of(d + 2) * (fabs(g) + g_error)) * fabs(added[i]);
        }
        double difference = f * product - delta;
        dp_error = f * dp_error + 2 * U * fabs(difference + delta) + delta_error +
                   2 * U * (fabs(difference) + dp_error + delta_error);
        double ds = p * difference * w->d_softcap[n];
        double ds_max = p * (1 + off) * (fabs(difference) + dp_error) *
                            (fabs(w->d_softcap[n]) + w->d_softcap_error[n]) * (1 + w->p_rounding + 8 * U) +
                        TINY;
        double p_max = p * f * (1 + off) * (1 + w->p_rounding + 2 * U) + TINY;
        if (c->distance_bias.data) {
            double gamma_rows = gamma_of(c->queries + c->batch * c->heads);
            double max_ds =
                p * (1 + off) * (fabs(difference) + dp_error) * (1 + w->p_rounding + 8 * U) + TINY;
            bound->distance_gradient[reference_distance_entry(c, place.head, place.query, n)] +=
                (1 + gamma_rows) * max_ds - fabs(p * difference);
        }
        struct carried_scalar ds_of_score = {
            p * difference, p * (1 + off) * (fabs(difference) + dp_error) * (1 + 8 * U) + TINY};
        if (c->distance_keys.data)
            bound_distance_keys(w, bound, place, n, ds_of_score);
        if (c->distance_queries.data)
            bound_distance_queries(w, bound, place, n, ds_of_score);
        for (int64_t i = 0; i < d; i++) {
            double q = w->query.value[place.at + i], k = w->key.value[key + i],
                   g = w->d_output.value[place.at + i];
            double q_max = fabs(q) + w->query.error[place.at + i], k_max = fabs(k) + w->key.error[key + i],
                   g_max = fabs(g) + w->d_output.error[place.at + i];
            w->query_gradient.value[place.at + i] += c->scale * ds * k;
            w->query_gradient.error[place.at + i] += c->scale * ((1 + gamma) * ds_max * k_max - fabs(ds * k));
            w->key_gradient.value[key + i] += c->scale * ds * q;
            w->key_gradient.error[key + i] += c->scale * ((1 + gamma_keys) * ds_max * q_max - fabs(ds * q));
            w->value_gradient.value[key + i] += p * f * g;
            w->value_gradient.error[key + i] += (1 + gamma_keys) * p_max * g_max - fabs(p * f * g);
            if (c->distance_values.data)
                bound->distance_values_gradient[added - c->distance_values.data + i] +=
                    (1 + gamma_all) * p_max * g_max - fabs(p * f * g);
        }
    }
}

/* Applies the transposed rotation to a result, adds what is not rotated, rounds it as it is stored, and
 * writes its bound. */
static void finish(const struct bounding *w, struct carried *result, enum reference_side side,
                   const struct reference_rotation *how, double *to)
{
    int64_t count = side == REFERENCE_KEYS ? reference_key_size(w->c) : reference_query_size(w->c);
    round_all(result, count, 4 * U);
    rotate(w->c, result, side, how, -1);
    const struct carried *more = result == &w->query_gradient ? &w->unrotated
                                 : result == &w->key_gradient ? &w->unrotated_key
                                                              : NULL;
    for (int64_t i = 0; i < count && more; i++) {
        result->value[i] += more->value[i];
        result->error[i] += more->error[i] + 4 * U * fabs(more->value[i]);
    }
    round_all(result, count, w->stored);
    for (int64_t i = 0; i < count; i++)
        to[i] = result->error[i] + (w->c->f16 ? TINY_F16 : 0);
}

typedef void row_work(struct bounding *w, const struct reference_tensors *given,
                      struct reference_tensors *bound, struct place place);

static void forward_row(struct bounding *w, const struct reference_tensors *given,
                        struct reference_tensors *bound, struct place place)
{
    (void)given;
    forward_query(w, bound, place);
}

static void backward_row(struct bounding *w, const struct reference_tensors *given,
                         struct reference_tensors *bound, struct place place)
{
    backward_query(w, given, bound, place);
}

static void each_row(struct bounding *w, const struct reference_tensors *given,
                     struct reference_tensors *bound, row_work *work)
{
    const struct reference_case *c = w->c;
    for (int64_t b = 0; b < c->batch; b++)
        for (int64_t h = 0; h < c->heads; h++)
            for (int64_t m = 0; m < c->queries; m++)
                work(w, given, bound, place_of(c, b, h, m));
}

/* Of values and of gradients of outputs, channels that are no values are 0. */
static void clear_others(const struct reference_case *c, struct carried *vectors, int64_t count)
{
    for (int64_t i = 0; i < count && c->value_channels > 0; i++)
        if (i % c->head_dim < c->value_start || i % c->head_dim >= c->value_start + c->value_channels)
            vectors->value[i] = vectors->error[i] = 0;
}

void bound_run(const struct reference_case *c, const struct reference_tensors *given,
               struct reference_tensors *bound, bool backward)
{
    int64_t queries = reference_query_size(c), keys = reference_key_size(c);
    int64_t n = c->keys;
    double unit = c->bf16 ? U_BF16 : 0;
    struct bounding w = {
        .c = c,
        .query = carry(given->query, queries),
        .key = carry(given->key, keys),
        .value = carry(given->value, keys),
        .d_output = carry(given->output_gradient, queries),
        .output = carry(NULL, queries),
        .query_gradient = carry(NULL, queries),
        .key_gradient = carry(NULL, keys),
        .value_gradient = carry(NULL, keys),
        .unrotated = carry(NULL, queries),
        .exact_query = given->query,
        .exact_key = given->key,
        .unrotated_key = carry(NULL, keys),
        .zeros = make(c->head_dim),
        .bias = make(n),
        .score = make(n),
        .score_error = make(n),
        .d_softcap = make(n),
        .d_softcap_error = make(n),
        .exact_output = make(queries),
        .output_error = make(c->head_dim),
        .visible = calloc((size_t)n + 1, sizeof(bool)),
        .stored = c->f16 ? U_F16 : unit,
        .p_rounding = unit,
        .exponential = c->bf16 ? EXP_BF16 : EXP_F32,
    };
    if (!w.visible)
        abort();
    const struct reference_rotation of_query = reference_rotation_of(c, ROTARY_ROTATE_QUERY),
                                    of_key = reference_rotation_of(c, ROTARY_ROTATE_KEY),
                                    of_value = reference_rotation_of(c, ROTARY_ROTATE_VALUE),
                                    of_output = reference_rotation_of(c, ROTARY_ROTATE_OUTPUT);
    rotate(c, &w.query, REFERENCE_QUERIES, &of_query, 1);
    rotate(c, &w.key, REFERENCE_KEYS, &of_key, 1);
    rotate(c, &w.value, REFERENCE_KEYS, &of_value, 1);
    clear_others(c, &w.value, keys);
    clear_others(c, &w.d_output, queries);
    rotate(c, &w.d_output, REFERENCE_QUERIES, &of_output, 1);
    /* Queries include the scale; rotated vectors are rounded to bf16 where they are factors of bf16 matmuls.
     */
    round_all(&w.query, queries, unit + 4 * U);
    round_all(&w.key, keys, w.stored); /* as caches hold them */
    round_all(&w.value, keys, w.stored);
    round_all(&w.d_output, queries, unit);
    each_row(&w, given, bound, forward_row);
    memcpy(w.exact_output, w.output.value, (size_t)queries * sizeof(double));
    finish(&w, &w.output, REFERENCE_QUERIES, &of_output, bound->output);
    if (backward) {
        each_row(&w, given, bound, backward_row);
        finish(&w, &w.query_gradient, REFERENCE_QUERIES, &of_query, bound->query_gradient);
        finish(&w, &w.key_gradient, REFERENCE_KEYS, &of_key, bound->key_gradient);
        finish(&w, &w.value_gradient, REFERENCE_KEYS, &of_value, bound->value_gradient);
        for (int64_t i = 0; i < keys && c->key_is_value; i++) {
            bound->key_gradient[i] += bound->value_gradient[i];
            bound->value_gradient[i] = 0;
        }
    }
    struct carried *all[] = {
        &w.query,          &w.key,          &w.value,          &w.d_output,  &w.output,
        &w.query_gradient, &w.key_gradient, &w.value_gradient, &w.unrotated, &w.unrotated_key};
    for (int i = 0; i < 10; i++)
        drop(all[i]);
    double *rows[] = {w.bias,         w.score,       w.score_error, w.d_softcap, w.d_softcap_error,
                      w.exact_output, w.output_error};
    for (int i = 0; i < 7; i++)
        free(rows[i]);
    free(w.visible);
    free(w.zeros);
}
