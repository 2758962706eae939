/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention by its formula, in double, with all of p stored; and a naive version in the precision of the
 * tensors, which shows how much error to expect.
 */
#ifndef TESTS_ATTENTION_ATTENTION_REFERENCE_H
#define TESTS_ATTENTION_ATTENTION_REFERENCE_H

#include <rotary/attention.h>

struct reference_rotation {
    bool present, interleaved;
    int64_t start, dim;
};

/* Added to scores: element (b, h, m, n) is data[b batch_stride + h head_stride + m query_stride + n]. Unused
 * elements may be anything. */
struct reference_bias {
    const double *data; /* NULL: none; f32 values */
    int64_t batch_stride, head_stride, query_stride;
    int64_t elements;
};

/* Added to scores: entry i of head h, data[h head_stride + i], where key - query, by position, is first + i;
 * the entry at an end where it is beyond that end. */
struct reference_distance_bias {
    const double *data; /* NULL: none; f32 values */
    int64_t distances, first, head_stride;
};

/* Vectors of head_dim channels: vector i of head h, at data + h head_stride + i distance_stride, where key -
 * query is first + i; the vector at an end where it is beyond that end. */
struct reference_distance_vectors {
    const double *data; /* NULL: none; f32 values */
    int64_t distances, first, head_stride, distance_stride;
};

struct reference_case {
    int64_t batch, heads, key_value_heads, head_dim, queries, keys, first_query, first_key;
    bool causal, bf16, f16; /* of bf16 or of f16, if not of f32 */
    int64_t window;
    double scale, softcap; /* scale 0 is not a default; softcap 0: none */
    struct reference_rotation rope, value_rope;
    unsigned rotate; /* what of it is rotated, a sum of rotary_attention_rotate; 0: all */
    struct reference_bias bias;
    const int64_t *key_lengths; /* [batch]; NULL: all keys */
    bool packed; /* the sequences of the batch are packed in one: for the library, the reference ignores it */
    const int32_t *query_positions, *key_positions; /* [batch, queries] and [batch, keys], of the rotation;
                                                       NULL: from first_query and first_key */
    struct reference_distance_bias distance_bias;
    struct reference_distance_vectors distance_keys; /* scale (q + query_bias) . vector is added to scores */
    const double *query_bias;                        /* [heads, head_dim]; f32 values; NULL: none */
    struct reference_distance_vectors distance_queries;    /* scale k . vector is added to scores */
    struct reference_distance_vectors distance_values;     /* added to rotated values */
    const rotary_attention_piecewise_bias *piecewise_bias; /* as the library has it; NULL: none */
    rotary_attention_dropout dropout;
    const double *sinks; /* [heads]; f32 values; NULL: none */
    /* Values are the keys, rotated as these are; outputs are rotated back where value_rope, which is rope, is
     * present. The gradient of both is that of the keys, and that of the values is 0. */
    bool key_is_value;
    int64_t value_start, value_channels; /* the channels that are values; 0: all */
    const double *factors; /* of p, [batch, heads, queries, keys], what dropout makes them; NULL: 1 */
};

/* The vectors of queries (and outputs), or those of keys (and values). */
enum reference_side { REFERENCE_QUERIES, REFERENCE_KEYS };

/* Contiguous [batch, time, heads, head_dim]; log_sum_exp [batch, heads, queries]. */
struct reference_tensors {
    double *query, *key, *value, *output, *log_sum_exp;
    double *output_gradient, *query_gradient, *key_gradient, *value_gradient;
    double *distance_gradient; /* as the distance bias */
    double *distance_keys_gradient, *query_bias_gradient, *distance_queries_gradient,
        *distance_values_gradient;
    double *sinks_gradient; /* [heads] */
    double
        *score_gradient; /* ds, [batch, heads, queries, keys], after softcap; NULL without piecewise_bias */
};

int64_t reference_query_size(const struct reference_case *c);
int64_t reference_key_size(const struct reference_case *c);
int64_t reference_distance_size(const struct reference_case *c);
int64_t reference_vectors_size(const struct reference_case *c,
                               const struct reference_distance_vectors *vectors);
int64_t reference_query_bias_size(const struct reference_case *c); /* 0 where there is none */
/* All members allocated and zero. */
struct reference_tensors reference_tensors_make(const struct reference_case *c);
void reference_tensors_free(struct reference_tensors *tensors);

/* Computes output and log_sum_exp from query, key and value and, with `backward`, the gradients from
 * output_gradient. With `naive` every intermediate tensor is rounded to the element type. */
void reference_run(const struct reference_case *c, struct reference_tensors *tensors, bool backward,
                   bool naive);

/* The rotation of a part, not present where there is none. Keys that are values are one part. */
struct reference_rotation reference_rotation_of(const struct reference_case *c, rotary_attention_rotate part);

/* Calls `visit` for each pair of channels of all vectors of one side that `how` rotates: with the indices of
 * its elements, and the cosine and sine of its angle. */
typedef void reference_visit(void *with, int64_t x, int64_t y, double cosine, double sine);
void reference_each_pair(const struct reference_case *c, enum reference_side side,
                         const struct reference_rotation *how, reference_visit *visit, void *with);

/* Whether a query of a sequence sees a key, by their positions in the shape. */
bool reference_sees(const struct reference_case *c, int64_t sequence, int64_t query, int64_t key);

/* The entry of the distance bias for a head, a query and a key. */
int64_t reference_distance_entry(const struct reference_case *c, int64_t head, int64_t query, int64_t key);
/* The offset of their vector in the data. */
int64_t reference_distance_vector(const struct reference_case *c,
                                  const struct reference_distance_vectors *vectors, int64_t head,
                                  int64_t query, int64_t key);
/* A channel of a query, which is at `at`, and of its head's bias. */
double reference_biased_query(const struct reference_case *c, const double *query, int64_t at, int64_t head,
                              int64_t channel);
/* What the piecewise bias has of a query and a key: its segment in the arrays of a head, input and scale, and
 * where these are. */
struct reference_piece {
    int64_t segment, input_at, scale_at;
    double input, scale;
};
struct reference_piece reference_piece_of(const struct reference_case *c, int64_t query, int64_t key);
/* The sum of the biases of a query for each key, -infinity where one masks; returns `row`, or NULL where
 * there are no biases. */
const double *reference_bias_row(const struct reference_case *c, int64_t sequence, int64_t head,
                                 int64_t query, double *row);

/* The factor of p. */
double reference_factor(const struct reference_case *c, int64_t sequence, int64_t head, int64_t query,
                        int64_t key);

/* The case's element type, and the nearest value of that. */
rotary_dtype reference_dtype(const struct reference_case *c);
double reference_round(const struct reference_case *c, double value);

#endif
