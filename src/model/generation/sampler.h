/* SPDX-License-Identifier: Apache-2.0
 *
 * How the next token is taken from the logits of one row: the processors of transformers
 * (generation/logits_process.py), in the order in which its generate() applies them, and a draw.
 *
 *     repetition_penalty r  a token of the text so far has logit / r, or logit * r below 0 (Keskar et al. 2019)
 *     temperature T         logits / T
 *     top_k                 the k largest logits, and those that equal the least of them
 *     top_p                 the most probable tokens, each while those before it have less than p together
 *                           (Holtzman et al. 2020)
 *     min_p                 tokens that are at least min_p times as probable as the most probable one
 *                           (Nguyen et al. 2024)
 *
 * Probabilities are those of what the processors before have left.
 */
#ifndef ROTARY_MODEL_GENERATION_SAMPLER_H
#define ROTARY_MODEL_GENERATION_SAMPLER_H

#include <rotary/status.h>

/* Logits divided by less could be infinite. */
#define SAMPLER_MIN_TEMPERATURE 1e-6

/* All zero: the largest logit. */
struct sampler_config {
    double temperature; /* 0: greedy, the first of the largest logits; top_k, top_p and min_p are 0 then */
    int64_t top_k;      /* 0: all tokens */
    double top_p;       /* up to 1; 0: all tokens, as 1 */
    double min_p;       /* 0 ... 1; 0: all tokens */
    double repetition_penalty; /* above 0; 0: none, as 1 */
};

/* ROTARY_INVALID_ARGUMENT if a member is out of its range, or chooses among tokens that are not sampled. */
ROTARY_CHECKED rotary_status sampler_check(const struct sampler_config *config, rotary_error *error);

/* One row: its logits, which become scores, and the tokens of the text so far. */
struct sampler_row {
    float *logits;       /* [count], finite */
    int64_t count;       /* at least 1 */
    const int32_t *text; /* [text_length], each 0 ... count - 1 */
    int64_t text_length;
    int32_t *scratch; /* [count] */
};

/* Replaces the logits by what transformers' processors make of them, in f32: -infinity for tokens that are
 * left out. At least one is left. */
void sampler_process(const struct sampler_config *config, const struct sampler_row *row);
/* Does so, and chooses a token: the first of the largest scores with temperature 0, else drawn from their
 * softmax by its cumulative sum; `uniform` is in [0, 1). */
int32_t sampler_choose(const struct sampler_config *config, const struct sampler_row *row, double uniform);

#endif
