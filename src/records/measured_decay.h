/* SPDX-License-Identifier: Apache-2.0
 *
 * How a trained model's scores fall with distance: means over sequences, by layer, head and distance. It is
 * what `rotary decay DIR` measures, and decay.json in a run's folder:
 *
 *     {"format": 1, "position": "rope", "step": 600, "checkpoint": "last", "seed": 1, "sequences": 16,
 *      "kinds": [{"kind": "decoder", "distance": [0, 1, ...], "pairs": [[...], ...],
 *                 "score": [[[...], ...], ...], "weight": ..., "bias": ...}]}
 *
 * "pairs" is [layers, distances], the others [layers, heads, distances]; null where there are no pairs.
 */
#ifndef ROTARY_RECORDS_MEASURED_DECAY_H
#define ROTARY_RECORDS_MEASURED_DECAY_H

#include "base/attention_maps.h"

#include <jansson.h>
#include <rotary/status.h>

/* A query and a key have these: the score before the softmax, the weight after it, and the part of the score
 * that depends on their places alone. */
enum decay_measure { DECAY_SCORE, DECAY_WEIGHT, DECAY_BIAS, DECAY_MEASURES };
extern const char *const decay_measure_names[]; /* "score", "weight", "bias", NULL */

/* The self-attention of a stack. A distance is the query's place minus the key's: below 0 where the key comes
 * after the query, in encoders. */
struct decay_kind {
    int64_t layers, heads;         /* layers 0: the model has none of the kind */
    int64_t first, distances;      /* distances first ... first + distances - 1 */
    int64_t *pairs;                /* [layers, distances]: of query and key */
    double *means[DECAY_MEASURES]; /* [layers, heads, distances]; NaN where there are no pairs */
};

enum { DECAY_NAME_BYTES = 256 };
struct measured_decay {
    char position[DECAY_NAME_BYTES], checkpoint[DECAY_NAME_BYTES];
    int64_t step, seed, sequences;
    struct decay_kind kinds[ATTENTION_KINDS]; /* cross-attention has no distance, and layers 0 */
};

/* Sets a kind's sizes and memory, with zeros. Too many numbers for a file are ROTARY_INVALID_ARGUMENT. The
 * caller frees the decay, also after an error. */
ROTARY_CHECKED rotary_status decay_kind_create(struct decay_kind *kind, int64_t layers, int64_t heads,
                                               int64_t first, int64_t distances, rotary_error *error);
void measured_decay_free(struct measured_decay *decay);

/* The means of a measure and a head, [distances]. */
static inline const double *decay_means(const struct decay_kind *kind, enum decay_measure measure,
                                        int64_t layer, int64_t head)
{
    return kind->means[measure] + (layer * kind->heads + head) * kind->distances;
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
