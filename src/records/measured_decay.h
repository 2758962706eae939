/* SPDX-License-Identifier: Apache-2.0
 *
 * How a trained model's scores fall with distance, and what its attention does at each place: means over
 * sequences, by layer and head, and by distance or by the query's place. It is what `rotary decay DIR`
 * measures, and decay.json in a run's folder:
 *
 *     {"format": 2, "position": "rope", "step": 600, "checkpoint": "last", "seed": 1, "sequences": 16,
 *      "length": 0, "scaling": "none",
 *      "kinds": [{"kind": "decoder", "distance": [0, 1, ...], "pairs": [[...], ...],
 *                 "score": [[[...], ...], ...], "weight": ..., "bias": ...,
 *                 "query": [0, 1, ...], "queries": [[...], ...], "entropy": ..., "output_norm": ...}]}
 *
 * "pairs" is [layers, distances], "queries" [layers, places], the means are [layers, heads, ...]; null where
 * there are no pairs or queries.
 */
#ifndef ROTARY_RECORDS_MEASURED_DECAY_H
#define ROTARY_RECORDS_MEASURED_DECAY_H

#include "base/attention_maps.h"

#include <jansson.h>
#include <rotary/status.h>

/* What the means are by: the query's place minus the key's, which is below 0 where the key comes after the
 * query, in encoders; or the query's place. */
enum decay_axis { DECAY_BY_DISTANCE, DECAY_BY_QUERY, DECAY_AXES };
extern const char *const decay_axis_names[]; /* "distance", "query", NULL */
extern const char *const decay_counted[];    /* what is counted of each: "pairs", "queries" */

/* A query and a key have the first three: the score before the softmax, the weight after it, and the part of
 * the score that depends on their places alone. A query has the others: the entropy of its weights in nats,
 * and the Euclidean norm of what its head puts out, before the projection of all heads. */
enum decay_measure {
    DECAY_SCORE,
    DECAY_WEIGHT,
    DECAY_BIAS,
    DECAY_ENTROPY,
    DECAY_OUTPUT_NORM,
    DECAY_MEASURES
};
extern const char *const decay_measure_names[]; /* "score", "weight", "bias", ..., NULL */

static inline enum decay_axis decay_axis_of(enum decay_measure measure)
{
    return measure < DECAY_ENTROPY ? DECAY_BY_DISTANCE : DECAY_BY_QUERY;
}

/* Distances or places first ... first + count - 1. */
struct decay_points {
    int64_t first, count;
    int64_t *counts; /* [layers, count]: of pairs, or of queries */
};

/* The self-attention of a stack. */
struct decay_kind {
    int64_t layers, heads; /* layers 0: the model has none of the kind */
    struct decay_points axes[DECAY_AXES];
    double *means[DECAY_MEASURES]; /* [layers, heads, points]; NaN where nothing is counted */
};

enum { DECAY_NAME_BYTES = 256 };
struct measured_decay {
    char position[DECAY_NAME_BYTES], checkpoint[DECAY_NAME_BYTES];
    int64_t step, seed, sequences;
    int64_t length;                 /* tokens of a sequence, where others than in training; 0: as there */
    char scaling[DECAY_NAME_BYTES]; /* of the rotation for that length */
    struct decay_kind kinds[ATTENTION_KINDS]; /* cross-attention has no distance, and layers 0 */
};

/* Gives a kind the layers, heads and points of `sizes`, and memory with zeros. Too many numbers for a file are
 * ROTARY_INVALID_ARGUMENT. The caller frees the decay, also after an error. */
ROTARY_CHECKED rotary_status decay_kind_create(struct decay_kind *kind, const struct decay_kind *sizes,
                                               rotary_error *error);
void measured_decay_free(struct measured_decay *decay);

/* The points that a measure has means at. */
static inline const struct decay_points *decay_points_of(const struct decay_kind *kind,
                                                         enum decay_measure measure)
{
    return &kind->axes[decay_axis_of(measure)];
}

/* The means of a measure and a head, [points]. */
static inline double *decay_means(const struct decay_kind *kind, enum decay_measure measure, int64_t layer,
                                  int64_t head)
{
    return kind->means[measure] + (layer * kind->heads + head) * decay_points_of(kind, measure)->count;
}

/* The object of the file, with seven digits of each mean; NULL without memory. */
json_t *measured_decay_json(const struct measured_decay *decay);
/* Writes decay.json of a run's folder, and reads it: without a file nothing is measured, and all kinds have
 * no layers. A file that is not as above is ROTARY_BAD_FILE, and the message has the key. */
ROTARY_CHECKED rotary_status measured_decay_write(const struct measured_decay *decay, const char *folder,
                                                  rotary_error *error);
ROTARY_CHECKED rotary_status measured_decay_read(struct measured_decay *decay, const char *folder,
                                                 rotary_error *error);
/* Reads the object, which came from `path`. */
ROTARY_CHECKED rotary_status measured_decay_parse(struct measured_decay *decay, const json_t *object,
                                                  const char *path, rotary_error *error);

#endif
