/* SPDX-License-Identifier: Apache-2.0
 *
 * Making plans and dense tensors.
 */
#ifndef TESTS_ROPE_PLANS_H
#define TESTS_ROPE_PLANS_H

#include "support/check.h"

#include <math.h>
#include <rotary/rope.h>
#include <stdio.h>
#include <stdlib.h>

/* The default configuration for heads of `head_dim`, with a short table. */
static inline rotary_rope_config plan_config(int64_t head_dim)
{
    rotary_rope_config config;
    rotary_rope_config_default(&config);
    config.head_dim = head_dim;
    config.table_positions = 64;
    return config;
}

/* Creates a plan; ends the test if it fails. */
static inline rotary_rope *plan_make(const rotary_rope_config *config)
{
    rotary_rope *rope = NULL;
    rotary_error error = {0};
    if (!CHECK(rotary_rope_create(&rope, config, &error) == ROTARY_OK)) {
        printf("    %s\n", error.message);
        exit(check_report());
    }
    return rope;
}

/* A dense f32 tensor [batch, time, heads, head_dim], rotated from `input` to `output`. */
static inline rotary_rope_tensor plan_tensor(const float *input, float *output, int64_t time, int64_t heads,
                                             int64_t head_dim)
{
    int64_t time_stride = heads * head_dim, batch_stride = time * time_stride;
    return (rotary_rope_tensor){
        .heads = heads,
        .input = {input, ROTARY_F32, batch_stride, time_stride, head_dim},
        .output = {output, ROTARY_F32, batch_stride, time_stride, head_dim},
    };
}

/* `count` random numbers; the caller frees them. */
static inline float *plan_random(uint64_t seed, int64_t count, int octaves)
{
    float *numbers = malloc((size_t)count * sizeof *numbers);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = check_random(seed, (uint64_t)i, octaves);
    return numbers;
}

/* The greatest absolute difference between got and wanted (NULL: zeros); NaN if any difference is NaN. */
static inline double plan_max_difference(const float *got, const float *wanted, int64_t count)
{
    double max = 0;
    for (int64_t i = 0; i < count; i++) {
        double difference = fabs((double)(wanted ? got[i] - wanted[i] : got[i]));
        if (!(difference <= max) && !isnan(max))
            max = difference;
    }
    return max;
}

#endif
