/* SPDX-License-Identifier: Apache-2.0
 *
 * Which pairing a query and a key projection were trained in. Permuting weights of the wrong pairing spoils
 * them, and a file does not say which they have. Initial weights do not say it either, but training leaves a
 * mark. The scores do not change when both query rows of a pair are multiplied by a number and both key rows
 * divided by it, so gradient descent conserves
 *
 *     |query row a|^2 - |key row a|^2 + |query row b|^2 - |key row b|^2     for the rows a, b of a pair
 *
 * (the argument is that of Du, Hu and Lee, arXiv 1806.00900, for rotations), up to step size, weight decay
 * and Adam's normalisation, while it changes each row's own difference. So ln(|query row|^2 / |key row|^2) is
 * anticorrelated between the two rows of a true pair, and between other rows it is not.
 */
#ifndef ROTARY_ORACLE_PAIRING_DETECTION_H
#define ROTARY_ORACLE_PAIRING_DETECTION_H

#include <rotary/rope.h>

struct pairing_projection {
    int64_t heads;
    const void *weight;  /* [heads, head_dim, inputs], as trained */
    int64_t head_stride; /* elements from a head's first row to the next head's; 0: head_dim * inputs */
    const void *bias;    /* [heads, head_dim], of the same type; NULL: none */
    int64_t bias_stride; /* elements from a head's bias to the next head's; 0: head_dim */
    rotary_dtype dtype;
};

struct pairing_layer {
    int64_t inputs;
    struct pairing_projection query, key; /* query heads are a multiple of key heads */
};

/* Sums to which each layer adds. All zeros is no evidence. Entries of arrays are by rotary_pairing. */
struct pairing_evidence {
    int64_t heads, pairs; /* key heads, and their pairs; heads with a row of zeros are left out */
    double products[2];   /* of the standardised imbalances of a pair's rows */
    double random_mean, random_variance; /* of products for random pairs */
    double contrasts[2], contrast_squares[2],
        contrast_lags[2]; /* products less those of neighbouring pairs */
};

enum pairing_verdict {
    PAIRING_UNKNOWN, /* the evidence does not say */
    PAIRING_IS_HALF,
    PAIRING_IS_INTERLEAVED,
};

struct pairing_finding {
    enum pairing_verdict verdict;
    /* By rotary_pairing: the correlation within pairs, which is below 0 for the pairing of the training; how
     * many standard deviations it lies below that of random pairs, and below that of the nearest wrong pairs;
     * and the probability that one of both pairings lies so low by chance. */
    double correlation[2], score[2], contrast[2], chance[2];
};

/* Adds a layer to the evidence. The plan says which channels of a head rotate; its pairing and frequencies
 * are not read. A span of fewer than two pairs has only one pairing and adds nothing.
 *
 * ROTARY_INVALID_ARGUMENT for impossible sizes and for weights that are not finite, ROTARY_OUT_OF_MEMORY; the
 * evidence is then unchanged. Sums are double. */
ROTARY_CHECKED rotary_status pairing_add_layer(const rotary_rope *rope, const struct pairing_layer *layer,
                                               struct pairing_evidence *evidence, rotary_error *error);
void pairing_add_evidence(struct pairing_evidence *evidence, const struct pairing_evidence *more);

/* A pairing is named if its chance is below 1 in 1000 and its contrast above 1.645, and the same does not
 * hold for the other one. */
struct pairing_finding pairing_judge(const struct pairing_evidence *evidence);

#endif
