/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/attention_reference.h"

#include "base/element.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t reference_query_size(const struct reference_case *c)
{
    return c->batch * c->queries * c->heads * c->head_dim;
}

int64_t reference_key_size(const struct reference_case *c)
{
    return c->batch * c->keys * c->key_value_heads * c->head_dim;
}

int64_t reference_distance_size(const struct reference_case *c)
{
    const struct reference_distance_bias *bias = &c->distance_bias;
    return bias->data ? (c->heads - 1) * bias->head_stride + bias->distances : 0;
}

int64_t reference_vectors_size(const struct reference_case *c,
                               const struct reference_distance_vectors *vectors)
{
    return vectors->data ? (c->heads - 1) * vectors->head_stride +
                               (vectors->distances - 1) * vectors->distance_stride + c->head_dim
                         : 0;
}

int64_t reference_query_bias_size(const struct reference_case *c)
{
    return c->query_bias ? c->heads * c->head_dim : 0;
}

static double *make(int64_t count)
{
    double *made = calloc((size_t)count + 1, sizeof *made);
    if (!made)
        abort();
    return made;
}

struct reference_tensors reference_tensors_make(const struct reference_case *c)
{
    int64_t queries = reference_query_size(c), keys = reference_key_size(c);
    return (struct reference_tensors){
        .query = make(queries),
        .key = make(keys),
        .value = make(keys),
        .output = make(queries),
        .log_sum_exp = make(c->batch * c->heads * c->queries),
        .output_gradient = make(queries),
        .query_gradient = make(queries),
        .key_gradient = make(keys),
        .value_gradient = make(keys),
        .distance_gradient = make(reference_distance_size(c)),
        .distance_keys_gradient = make(reference_vectors_size(c, &c->distance_keys)),
        .query_bias_gradient = make(reference_query_bias_size(c)),
        .distance_queries_gradient = make(reference_vectors_size(c, &c->distance_queries)),
        .distance_values_gradient = make(reference_vectors_size(c, &c->distance_values)),
        .sinks_gradient = make(c->heads),
        .score_gradient = c->piecewise_bias ? make(c->batch * c->heads * c->queries * c->keys) : NULL,
    };
}

void reference_tensors_free(struct reference_tensors *t)
{
    double *all[] = {t->query,
                     t->key,
                     t->value,
                     t->output,
                     t->log_sum_exp,
                     t->output_gradient,
                     t->query_gradient,
                     t->key_gradient,
                     t->value_gradient,
                     t->distance_gradient,
                     t->distance_keys_gradient,
                     t->query_bias_gradient,
                     t->distance_values_gradient,
                     t->distance_queries_gradient,
                     t->sinks_gradient,
                     t->score_gradient};
    for (int i = 0; i < 16; i++)
        free(all[i]);
}

rotary_dtype reference_dtype(const struct reference_case *c)
{
    return c->bf16 ? ROTARY_BF16 : c->f16 ? ROTARY_F16 : ROTARY_F32;
}

double reference_round(const struct reference_case *c, double value)
{
    return (double)rotary_rounded((float)value, reference_dtype(c));
}

static double keep(const struct reference_case *c, bool naive, double value)
{
    return naive ? reference_round(c, value) : value;
}

void reference_each_pair(const struct reference_case *c, enum reference_side side,
                         const struct reference_rotation *how, reference_visit *visit, void *with)
{
    bool of_keys = side == REFERENCE_KEYS;
    int64_t pairs = how->dim / 2, time = of_keys ? c->keys : c->queries,
            heads = of_keys ? c->key_value_heads : c->heads;
    const int32_t *positions = of_keys ? c->key_positions : c->query_positions;
    for (int64_t vector = 0; how->present && vector < c->batch * time * heads; vector++) {
        double position = (double)((of_keys ? c->first_key : c->first_query) + vector / heads % time);
        if (positions)
            position = positions[vector / heads];
        int64_t span = vector * c->head_dim + how->start;
        for (int64_t i = 0; i < pairs; i++) {
            double angle = position * pow(10000.0, -2.0 * (double)i / (double)how->dim);
            int64_t x = how->interleaved ? span + 2 * i : span + i, y = how->interleaved ? x + 1 : x + pairs;
            visit(with, x, y, cos(angle), sin(angle));
        }
    }
}

struct rotation {
    const struct reference_case *c;
    double *vectors, direction;
    bool naive;
};

static void rotate_pair(void *with, int64_t x, int64_t y, double cosine, double sine)
{
    const struct rotation *rotation = with;
    double a = rotation->vectors[x], b = rotation->vectors[y];
    sine *= rotation->direction;
    rotation->vectors[x] = keep(rotation->c, rotation->naive, a * cosine - b * sine);
    rotation->vectors[y] = keep(rotation->c, rotation->naive, a * sine + b * cosine);
}

/* Rotates all vectors of a side. */
static void rotate(const struct reference_case *c, double *vectors, enum reference_side side,
                   const struct reference_rotation *how, double direction, bool naive)
{
    struct rotation rotation = {c, vectors, direction, naive};
    reference_each_pair(c, side, how, rotate_pair, &rotation);
}

/* Sums of products, in double, or in float where a naive program would. */
static double dot(const double *a, const double *b, int64_t count, bool naive)
{
    double sum = 0;
    float narrow = 0;
    for (int64_t i = 0; i < count && !naive; i++)
        sum += a[i] * b[i];
    for (int64_t i = 0; i < count && naive; i++)
        narrow += (float)a[i] * (float)b[i];
    return naive ? (double)narrow : sum;
}

static void add_scaled(double *to, double factor, const double *from, int64_t count, bool naive)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = naive ? (double)((float)to[i] + (float)factor * (float)from[i]) : to[i] + factor * from[i];
}

bool reference_sees(const struct reference_case *c, int64_t sequence, int64_t query, int64_t key)
{
    int64_t distance = (c->first_query + query) - (c->first_key + key);
    if (c->key_lengths && key >= c->key_lengths[sequence])
        return false;
    return !c->causal || (distance >= 0 && (c->window == 0 || distance < c->window));
}

static int64_t entry_of(const struct reference_case *c, int64_t first, int64_t distances, int64_t query,
                        int64_t key)
{
    int64_t entry = (c->first_key + key) - (c->first_query + query) - first;
    return entry < 0 ? 0 : entry > distances - 1 ? distances - 1 : entry;
}

int64_t reference_distance_entry(const struct reference_case *c, int64_t head, int64_t query, int64_t key)
{
    const struct reference_distance_bias *bias = &c->distance_bias;
    return head * bias->head_stride + entry_of(c, bias->first, bias->distances, query, key);
}

int64_t reference_distance_vector(const struct reference_case *c,
                                  const struct reference_distance_vectors *vectors, int64_t head,
                                  int64_t query, int64_t key)
{
    return head * vectors->head_stride +
           entry_of(c, vectors->first, vectors->distances, query, key) * vectors->distance_stride;
}

double reference_biased_query(const struct reference_case *c, const double *query, int64_t at, int64_t head,
                              int64_t channel)
{
    return query[at + channel] + (c->query_bias ? c->query_bias[head * c->head_dim + channel] : 0);
}

static int64_t clip(int64_t entry, int64_t count)
{
    return entry < 0 ? 0 : entry > count - 1 ? count - 1 : entry;
}

struct reference_piece reference_piece_of(const struct reference_case *c, int64_t query, int64_t key)
{
    const rotary_attention_piecewise_bias *bias = c->piecewise_bias;
    int64_t position = c->first_query + query, distance = c->first_key + key - position;
    struct reference_piece piece = {.input_at = clip(distance - bias->first, bias->distances),
                                    .scale_at = clip(position, bias->positions)};
    float input = bias->distance_inputs[piece.input_at], scale = bias->query_scales[piece.scale_at];
    while (piece.segment < bias->segments - 1 && bias->knots[piece.segment] <= input * scale)
        piece.segment++;
    piece.input = (double)input;
    piece.scale = (double)scale;
    return piece;
}

/* In f32, as other biases are given. */
static double piecewise_bias_of(const struct reference_case *c, int64_t head, int64_t query, int64_t key)
{
    if (!c->piecewise_bias)
        return 0;
    struct reference_piece piece = reference_piece_of(c, query, key);
    int64_t at = head * c->piecewise_bias->segments + piece.segment;
    return (double)fmaf((float)piece.input, c->piecewise_bias->slopes[at] * (float)piece.scale,
                        c->piecewise_bias->intercepts[at]);
}

const double *reference_bias_row(const struct reference_case *c, int64_t sequence, int64_t head,
                                 int64_t query, double *row)
{
    const struct reference_bias *bias = &c->bias;
    const double *biases =
        bias->data + sequence * bias->batch_stride + head * bias->head_stride + query * bias->query_stride;
    for (int64_t key = 0; key < c->keys; key++) {
        double added[2] = {
            bias->data ? biases[key] : 0,
            c->distance_bias.data ? c->distance_bias.data[reference_distance_entry(c, head, query, key)] : 0};
        bool masked = added[0] <= -1e30 || added[1] <= -1e30;
        row[key] = masked ? -HUGE_VAL : added[0] + added[1] + piecewise_bias_of(c, head, query, key);
    }
    return bias->data || c->distance_bias.data || c->piecewise_bias ? row : NULL;
}

struct query_of {
    int64_t sequence, query;
    double sink; /* of its head; -infinity: none */
};

double reference_factor(const struct reference_case *c, int64_t sequence, int64_t head, int64_t query,
                        int64_t key)
{
    return c->factors ? c->factors[((sequence * c->heads + head) * c->queries + query) * c->keys + key] : 1;
}

/* p of one query over all keys, and the derivative of the softcap; returns log-sum-exp. */
static double softmax_row(const struct reference_case *c, const double *query, const double *keys,
                          const double *bias, struct query_of m, double *p, double *d_softcap, bool naive)
{
    int64_t stride = c->key_value_heads * c->head_dim;
    double row_max = m.sink;
    for (int64_t n = 0; n < c->keys; n++) {
        p[n] = -HUGE_VAL;
        d_softcap[n] = 1;
        if (!reference_sees(c, m.sequence, m.query, n) || (bias && bias[n] <= -1e30))
            continue;
        double score = keep(c, naive, c->scale * dot(query, keys + n * stride, c->head_dim, naive));
        if (c->softcap > 0) {
            double capped = tanh(score / c->softcap);
            score = keep(c, naive, c->softcap * capped);
            d_softcap[n] = 1 - capped * capped;
        }
        if (bias)
            score = naive ? (double)(float)(score + bias[n]) : score + bias[n];
        p[n] = score;
        row_max = fmax(row_max, score);
    }
    if (row_max == -HUGE_VAL) {
        memset(p, 0, (size_t)c->keys * sizeof *p);
        return -HUGE_VAL;
    }
    double sum = exp(m.sink - row_max);
    for (int64_t n = 0; n < c->keys; n++)
        sum += exp(p[n] - row_max);
    for (int64_t n = 0; n < c->keys; n++)
        p[n] = keep(c, naive, exp(p[n] - row_max) / sum);
    return row_max + log(sum);
}

struct rows {
    double *query, *key, *value, *d_output; /* rotated copies */
    double *p, *d_softcap, *dp, *bias;
    double *unrotated, *unrotated_key; /* of the gradients of queries and keys, what is not rotated */
};

/* Adds the products of a query, which is at `at`, with the vectors of its distances to a row of biases. */
static void add_distance_keys(const struct reference_case *c, const double *query, int64_t at, int64_t head,
                              int64_t m, double *row, bool naive)
{
    for (int64_t n = 0; n < c->keys; n++) {
        double sum = 0, one = 1;
        for (int64_t i = 0; i < c->head_dim; i++)
            add_scaled(&sum, keep(c, naive, reference_biased_query(c, query, at, head, i)),
                       c->distance_keys.data + reference_distance_vector(c, &c->distance_keys, head, m, n) +
                           i,
                       1, naive);
        add_scaled(row + n, keep(c, naive, c->scale * sum), &one, 1, naive);
    }
}

/* The same of the vectors with the keys, whose first is at `at`. */
static void add_distance_queries(const struct reference_case *c, const double *key, int64_t at, int64_t head,
                                 int64_t m, double *row, bool naive)
{
    for (int64_t n = 0; n < c->keys; n++, at += c->key_value_heads * c->head_dim) {
        const double *vector =
            c->distance_queries.data + reference_distance_vector(c, &c->distance_queries, head, m, n);
        double product = keep(c, naive, c->scale * dot(key + at, vector, c->head_dim, naive)), one = 1;
        add_scaled(row + n, product, &one, 1, naive);
    }
}

/* The gradients of distance_queries, and of a key, which is at `at`, through them. */
static void add_distance_queries_gradient(const struct reference_case *c, struct reference_tensors *t,
                                          const struct rows *rows, int64_t at, int64_t vector, double ds)
{
    for (int64_t i = 0; i < c->head_dim; i++) {
        t->distance_queries_gradient[vector + i] += c->scale * ds * t->key[at + i];
        rows->unrotated_key[at + i] += c->scale * ds * c->distance_queries.data[vector + i];
    }
}

/* The gradients of distance_keys, of query_bias, and of the query through them, from ds of one key. */
static void add_distance_keys_gradient(const struct reference_case *c, struct reference_tensors *t,
                                       const struct rows *rows, int64_t at, int64_t head, int64_t vector,
                                       double ds)
{
    for (int64_t i = 0; i < c->head_dim; i++) {
        double step = c->scale * ds * c->distance_keys.data[vector + i];
        t->distance_keys_gradient[vector + i] +=
            c->scale * ds * reference_biased_query(c, t->query, at, head, i);
        rows->unrotated[at + i] += step;
        if (c->query_bias)
            t->query_bias_gradient[head * c->head_dim + i] += step;
    }
}

static void attend(const struct reference_case *c, struct reference_tensors *t, const struct rows *rows,
                   int64_t b, int64_t h, int64_t m, bool backward, bool naive)
{
    int64_t d = c->head_dim, shared = h / (c->heads / c->key_value_heads);
    int64_t at = ((b * c->queries + m) * c->heads + h) * d,
            keys_at = (b * c->keys * c->key_value_heads + shared) * d;
    int64_t stride = c->key_value_heads * d;
    const double *query = rows->query + at, *keys = rows->key + keys_at, *values = rows->value + keys_at;
    const double *bias = reference_bias_row(c, b, h, m, rows->bias);
    const struct reference_distance_vectors *distance_values = &c->distance_values;
    if (c->distance_keys.data) {
        add_distance_keys(c, t->query, at, h, m, rows->bias, naive);
        bias = rows->bias;
    }
    if (c->distance_queries.data) {
        add_distance_queries(c, t->key, keys_at, h, m, rows->bias, naive);
        bias = rows->bias;
    }
    const double sink = c->sinks ? c->sinks[h] : -HUGE_VAL;
    const double log_sum_exp =
        softmax_row(c, query, keys, bias, (struct query_of){b, m, sink}, rows->p, rows->d_softcap, naive);
    t->log_sum_exp[(b * c->heads + h) * c->queries + m] = log_sum_exp;
    for (int64_t n = 0; n < c->keys; n++) {
        double w = keep(c, naive, rows->p[n] * reference_factor(c, b, h, m, n));
        if (rows->p[n] != 0)
            add_scaled(t->output + at, w, values + n * stride, d, naive);
        if (rows->p[n] != 0 && distance_values->data)
            add_scaled(t->output + at, w,
                       distance_values->data + reference_distance_vector(c, distance_values, h, m, n), d,
                       naive);
    }
    for (int64_t i = 0; i < d; i++)
        t->output[at + i] = keep(c, naive, t->output[at + i]);
    if (!backward)
        return;
    const double *d_output = rows->d_output + at;
    for (int64_t n = 0; n < c->keys; n++) {
        double product = keep(c, naive, dot(d_output, values + n * stride, d, naive));
        if (distance_values->data)
            product +=
                dot(d_output, distance_values->data + reference_distance_vector(c, distance_values, h, m, n),
                    d, naive);
        rows->dp[n] = reference_factor(c, b, h, m, n) * product;
    }
    double delta = dot(rows->p, rows->dp, c->keys, naive);
    if (sink > -HUGE_VAL)
        t->sinks_gradient[h] -= exp(sink - log_sum_exp) * delta;
    for (int64_t n = 0; n < c->keys; n++) {
        double ds = keep(c, naive, rows->p[n] * (rows->dp[n] - delta)), one = 1;
        if (c->piecewise_bias)
            t->score_gradient[((b * c->heads + h) * c->queries + m) * c->keys + n] = ds;
        if (c->distance_bias.data)
            add_scaled(t->distance_gradient + reference_distance_entry(c, h, m, n), ds, &one, 1, naive);
        if (c->distance_keys.data)
            add_distance_keys_gradient(c, t, rows, at, h,
                                       reference_distance_vector(c, &c->distance_keys, h, m, n), ds);
        if (c->distance_queries.data)
            add_distance_queries_gradient(c, t, rows, keys_at + n * stride,
                                          reference_distance_vector(c, &c->distance_queries, h, m, n), ds);
        ds *= c->scale * rows->d_softcap[n];
        add_scaled(t->query_gradient + at, ds, keys + n * stride, d, naive);
        add_scaled(t->key_gradient + keys_at + n * stride, ds, query, d, naive);
        double w = keep(c, naive, rows->p[n] * reference_factor(c, b, h, m, n));
        add_scaled(t->value_gradient + keys_at + n * stride, w, d_output, d, naive);
        if (distance_values->data)
            add_scaled(t->distance_values_gradient + reference_distance_vector(c, distance_values, h, m, n),
                       w, d_output, d, naive);
    }
}

static double *copy(const double *from, int64_t count)
{
    double *to = make(count);
    memcpy(to, from, (size_t)count * sizeof *to);
    return to;
}

static void round_all(const struct reference_case *c, double *tensor, int64_t count, bool naive)
{
    for (int64_t i = 0; i < count; i++)
        tensor[i] = keep(c, naive, tensor[i]);
}

/* Of values and of gradients of outputs, channels that are no values are 0. They have all rotated channels or
 * none where outputs are rotated back. */
static void clear_others(const struct reference_case *c, double *vectors, int64_t count)
{
    for (int64_t i = 0; i < count && c->value_channels > 0; i++)
        if (i % c->head_dim < c->value_start || i % c->head_dim >= c->value_start + c->value_channels)
            vectors[i] = 0;
}

struct reference_rotation reference_rotation_of(const struct reference_case *c, rotary_attention_rotate part)
{
    const unsigned key_value = ROTARY_ROTATE_KEY | ROTARY_ROTATE_VALUE;
    const bool shared = c->key_is_value && (part & key_value);
    const bool by_rope = shared || part == ROTARY_ROTATE_QUERY || part == ROTARY_ROTATE_KEY;
    struct reference_rotation how = by_rope ? c->rope : c->value_rope;
    if (c->rotate && !(c->rotate & (shared ? key_value : (unsigned)part)))
        how.present = false;
    return how;
}

void reference_run(const struct reference_case *c, struct reference_tensors *t, bool backward, bool naive)
{
    const struct reference_rotation of_query = reference_rotation_of(c, ROTARY_ROTATE_QUERY),
                                    of_key = reference_rotation_of(c, ROTARY_ROTATE_KEY),
                                    of_value = reference_rotation_of(c, ROTARY_ROTATE_VALUE),
                                    of_output = reference_rotation_of(c, ROTARY_ROTATE_OUTPUT);
    int64_t query_size = reference_query_size(c), key_size = reference_key_size(c);
    struct rows rows = {copy(t->query, query_size),
                        copy(t->key, key_size),
                        copy(t->value, key_size),
                        copy(t->output_gradient, query_size),
                        make(c->keys),
                        make(c->keys),
                        make(c->keys),
                        make(c->keys),
                        make(query_size),
                        make(key_size)};
    clear_others(c, rows.d_output, query_size);
    rotate(c, rows.query, REFERENCE_QUERIES, &of_query, 1, naive);
    rotate(c, rows.key, REFERENCE_KEYS, &of_key, 1, naive);
    rotate(c, rows.value, REFERENCE_KEYS, &of_value, 1, naive);
    clear_others(c, rows.value, key_size);
    rotate(c, rows.d_output, REFERENCE_QUERIES, &of_output, 1, naive);
    memset(t->output, 0, (size_t)query_size * sizeof(double));
    for (int64_t i = 0; i < query_size && backward; i++)
        t->query_gradient[i] = 0;
    for (int64_t i = 0; i < key_size && backward; i++)
        t->key_gradient[i] = t->value_gradient[i] = 0;
    for (int64_t i = 0; i < reference_distance_size(c) && backward; i++)
        t->distance_gradient[i] = 0;
    for (int64_t i = 0; i < reference_vectors_size(c, &c->distance_keys) && backward; i++)
        t->distance_keys_gradient[i] = 0;
    for (int64_t i = 0; i < reference_query_bias_size(c) && backward; i++)
        t->query_bias_gradient[i] = 0;
    for (int64_t i = 0; i < reference_vectors_size(c, &c->distance_values) && backward; i++)
        t->distance_values_gradient[i] = 0;
    for (int64_t i = 0; i < reference_vectors_size(c, &c->distance_queries) && backward; i++)
        t->distance_queries_gradient[i] = 0;
    for (int64_t i = 0; i < c->heads && backward; i++)
        t->sinks_gradient[i] = 0;
    for (int64_t b = 0; b < c->batch; b++)
        for (int64_t h = 0; h < c->heads; h++)
            for (int64_t m = 0; m < c->queries; m++)
                attend(c, t, &rows, b, h, m, backward, naive);
    rotate(c, t->output, REFERENCE_QUERIES, &of_output, -1, naive);
    if (backward) {
        round_all(c, t->query_gradient, query_size, naive);
        round_all(c, t->key_gradient, key_size, naive);
        round_all(c, t->value_gradient, key_size, naive);
        rotate(c, t->query_gradient, REFERENCE_QUERIES, &of_query, -1, naive);
        rotate(c, t->key_gradient, REFERENCE_KEYS, &of_key, -1, naive);
        rotate(c, t->value_gradient, REFERENCE_KEYS, &of_value, -1, naive);
        for (int64_t i = 0; i < query_size && c->distance_keys.data; i++)
            t->query_gradient[i] = keep(c, naive, t->query_gradient[i] + rows.unrotated[i]);
        for (int64_t i = 0; i < key_size && c->distance_queries.data; i++)
            t->key_gradient[i] = keep(c, naive, t->key_gradient[i] + rows.unrotated_key[i]);
        for (int64_t i = 0; i < key_size && c->key_is_value; i++) {
            t->key_gradient[i] = keep(c, naive, t->key_gradient[i] + t->value_gradient[i]);
            t->value_gradient[i] = 0;
        }
    }
    double *all[] = {rows.query,     rows.key, rows.value, rows.d_output,  rows.p,
                     rows.d_softcap, rows.dp,  rows.bias,  rows.unrotated, rows.unrotated_key};
    for (int i = 0; i < 10; i++)
        free(all[i]);
}
