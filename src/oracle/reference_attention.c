/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/reference_attention.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t key_position(const struct reference_attention *attention, int64_t key)
{
    return attention->key_positions ? attention->key_positions[key] : key;
}

static bool visible(const struct reference_attention *attention, const int64_t at[4])
{
    const struct reference_sequence *sequence = &attention->sequences[at[0]];
    int64_t distance = sequence->first_query + at[2] - key_position(attention, at[3]);
    return at[3] < sequence->keys && (attention->before < 0 || distance <= attention->before) &&
           (attention->after < 0 || -distance <= attention->after);
}

/* What the mask adds to a score. */
static double added(const struct reference_mask *mask, const int64_t at[4])
{
    int64_t place = 0;
    if (!mask->values)
        return 0;
    if (at[3] >= mask->keys)
        return -HUGE_VAL;
    for (int i = 0; i < 4; i++)
        place += at[i] * mask->strides[i];
    if (mask->allows)
        return mask->values[place] != 0 ? 0 : -HUGE_VAL;
    return mask->values[place];
}

static double pair_bias(const struct reference_attention *attention, const int64_t at[4])
{
    const struct reference_pairs *pairs = &attention->pairs;
    int64_t query = attention->sequences[at[0]].first_query + at[2];
    return pairs->bias ? pairs->bias(pairs->context, at[1], query, at[3]) : 0;
}

double reference_attention_bias(const struct reference_attention *attention, const int64_t at[4])
{
    return visible(attention, at) ? added(&attention->mask, at) + pair_bias(attention, at) : -HUGE_VAL;
}

static double product(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The row of tables by distance for a head, a query and a key. */
static int64_t distance_row(const struct reference_attention *attention, const int64_t at[4])
{
    int64_t distance = at[3] - attention->sequences[at[0]].first_query - at[2];
    return at[1] * attention->distances.count + distance - attention->distances.first;
}

/* What the position encoding adds to a score. */
static double added_by_distance(const struct reference_attention *attention, const int64_t at[4],
                                const double *query, const double *key)
{
    const struct reference_distances *distances = &attention->distances;
    int64_t row = distance_row(attention, at), channels = attention->head_dim;
    double sum = distances->bias ? distances->bias[row] : 0;
    if (distances->keys) {
        const double *vector = distances->keys + row * channels;
        double met = product(query, vector, channels);
        if (distances->position_bias)
            met += product(distances->position_bias + at[1] * channels, vector, channels);
        sum += attention->scale * met;
    }
    if (distances->queries)
        sum += attention->scale * product(key, distances->queries + row * channels, channels);
    return sum;
}

/* The score of a query and a key at one stage. A masked key gives minus infinity, whatever the product. */
static double score(const struct reference_attention *attention, const int64_t at[4], const double *query,
                    const double *key, enum reference_stage stage)
{
    int64_t channels = attention->head_dim;
    double more = stage == REFERENCE_MASKED ? reference_attention_bias(attention, at) : 0;
    if (more == -HUGE_VAL)
        return more;
    double met = product(query, key, channels);
    if (attention->distances.content_bias)
        met += product(attention->distances.content_bias + at[1] * channels, key, channels);
    met *= attention->scale;
    if (attention->softcap > 0 && stage != REFERENCE_SCALED)
        met = attention->softcap * tanh(met / attention->softcap);
    if (stage == REFERENCE_MASKED)
        met += added_by_distance(attention, at, query, key);
    return met + more;
}

/* Replaces scores by weights that add up to 1 with that of the sink; false, and all weights 0, if all scores
 * are minus infinity. */
static bool softmax(double *scores, int64_t count, double sink)
{
    double largest = -HUGE_VAL;
    for (int64_t i = 0; i < count; i++)
        if (!(scores[i] <= largest)) /* a NaN stays, and makes all weights NaN */
            largest = scores[i];
    bool masked = largest == -HUGE_VAL;
    largest = largest < sink ? sink : largest;
    double total = sink == -HUGE_VAL ? 0 : exp(sink - largest);
    for (int64_t i = 0; i < count; i++) {
        scores[i] = masked ? 0 : exp(scores[i] - largest);
        total += scores[i];
    }
    for (int64_t i = 0; !masked && i < count; i++)
        scores[i] /= total;
    return !masked;
}

/* What the position encoding adds to a value; NULL: nothing. */
static const double *value_vector(const struct reference_attention *attention, const int64_t at[4])
{
    const double *values = attention->distances.values;
    return values ? values + distance_row(attention, at) * attention->value_dim : NULL;
}

/* The query at [b, h, m] that meets key n. */
static const double *query_vector(const struct reference_attention *attention, const int64_t at[4])
{
    const struct reference_chunks *chunks = &attention->chunks;
    const double *vectors = attention->query;
    if (chunks->length > 0) {
        int64_t position = attention->sequences[at[0]].first_query + at[2];
        int64_t apart = position / chunks->length - at[3] / chunks->length;
        vectors = apart > 1 ? chunks->distant : apart > 0 ? chunks->successive : vectors;
    }
    int64_t row = (at[0] * attention->queries + at[2]) * attention->heads + at[1];
    return vectors + row * attention->head_dim;
}

/* One query of one head, at [b, h, m]. weights, and scores unless NULL: [keys]. */
static bool attend(const struct reference_attention *attention, const int64_t at[4], double *weights,
                   double *scores)
{
    int64_t b = at[0], h = at[1], m = at[2], heads = attention->heads;
    int64_t pairs = attention->key_value_heads, shared = h / (heads / pairs);
    int64_t row = (b * attention->queries + m) * heads + h;
    for (int64_t n = 0; n < attention->keys; n++) {
        int64_t place = (b * attention->keys + n) * pairs + shared, here[4] = {b, h, m, n};
        const double *key = attention->key + place * attention->head_dim;
        const double *query = query_vector(attention, here);
        weights[n] = score(attention, here, query, key, REFERENCE_MASKED);
        if (scores)
            scores[n] = score(attention, here, query, key, attention->stage);
    }
    bool attends = softmax(weights, attention->keys, attention->sinks ? attention->sinks[h] : -HUGE_VAL);
    double *output = attention->output + row * attention->value_dim;
    memset(output, 0, (size_t)attention->value_dim * sizeof *output);
    for (int64_t n = 0; n < attention->keys; n++) {
        int64_t place = (b * attention->keys + n) * pairs + shared;
        const double *value = attention->value + place * attention->value_dim;
        const double *vector = value_vector(attention, (const int64_t[4]){b, h, m, n});
        /* The value of a masked key does not count, even if it is infinite. */
        for (int64_t i = 0; weights[n] != 0 && i < attention->value_dim; i++)
            output[i] += weights[n] * (vector ? value[i] + vector[i] : value[i]);
    }
    return attends;
}

rotary_status reference_attention_run(const struct reference_attention *attention, int64_t *masked_rows,
                                      rotary_error *error)
{
    double *own = NULL;
    *masked_rows = 0;
    if (!attention->weights) {
        own = calloc((size_t)attention->keys + 1, sizeof *own);
        if (!own)
            return rotary_fail_memory(error, "for the weights of a query");
    }
    for (int64_t b = 0; b < attention->batch; b++)
        for (int64_t h = 0; h < attention->heads; h++)
            for (int64_t m = 0; m < attention->queries; m++) {
                int64_t row = (b * attention->heads + h) * attention->queries + m, at[4] = {b, h, m, 0};
                *masked_rows += !attend(attention, at, own ? own : attention->weights + row * attention->keys,
                                        attention->scores ? attention->scores + row * attention->keys : NULL);
            }
    free(own);
    return ROTARY_OK;
}
