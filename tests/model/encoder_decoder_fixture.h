/* SPDX-License-Identifier: Apache-2.0
 *
 * Small encoder-decoders for tests, with the batch of tests/golden/make_transformer_goldens.py.
 */
#ifndef ENCODER_DECODER_FIXTURE_H
#define ENCODER_DECODER_FIXTURE_H

#include "model/golden_gradients.h"
#include "model/transformer_parts.h"

enum {
    PAIRS = 3,
    TARGET_TIME = 7,
    SOURCE_TIME = 5,
    TARGET_ROWS = PAIRS * TARGET_TIME,
    SOURCE_ROWS = PAIRS * SOURCE_TIME,
    VOCABULARY = 13,
    SOURCE_VOCABULARY = 11
};
extern const int32_t target_lengths[PAIRS], source_lengths[PAIRS];

struct golden_case {
    const char *norm_position, *tying, *position, *norm, *act, *pairing, *query_key_norm;
    int bias, key_value_heads, cross_rotary, scaled;
    double label_smoothing, fraction;
    double loss;
    const struct golden_probe *probes;
    size_t count;
    const char *const *names;
};

struct transformer_config pair_config(const struct golden_case *golden);
/* Ends the test where that fails. */
struct transformer *pair_transformer(const struct backend *backend, const struct transformer_config *config,
                                     bool training);
/* Parameter i of a name becomes 0.3 sin(0.7 i + 0.05 i^2 + its length), and 1 more where it is a gain; then
 * step * sin(0.37 e) is added, where e is the element's index in the flat array. */
void pair_fill(struct transformer *transformer, double step);

/* The batch; `alone` has only pair `pair`. */
struct pair_batch {
    struct batch batch;
    int32_t tokens[TARGET_ROWS], classes[TARGET_ROWS], source[SOURCE_ROWS];
    int32_t starts[PAIRS + 1], source_starts[PAIRS + 1];
};
void pair_batch(struct pair_batch *made, const struct transformer_config *config);
void pair_alone(struct pair_batch *made, const struct transformer_config *config, int64_t pair);

#endif
