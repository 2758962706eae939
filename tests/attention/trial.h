/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the library on a reference_case. Tensors are views of a fused buffer with gaps, which must not be
 * written.
 */
#ifndef TESTS_ATTENTION_TRIAL_H
#define TESTS_ATTENTION_TRIAL_H

#include "attention/attention_reference.h"

/* Instruction sets to try: all available ones, from scalar up; amx alone in a sanitized build with AMX
 * emulation, and neon alone where an Arm is emulated. Returns how many. */
int trial_isas(rotary_isa isas[6]);

/* Whether the case of this number is tried: all are, but where a processor is emulated, which makes a test ten to twenty
 * times slower, one of every `every`. */
bool trial_takes(int number, int every);
/* So many tokens, where a processor or a device is emulated at most `emulated`. */
int64_t trial_tokens(int64_t tokens, int64_t emulated);

/* Whether a plan for the case can be made: on a device, kernels are for heads of TESTS_MAX_HEAD_DIM channels at
 * most, and for keys that are not the values. */
bool trial_can_plan(const struct reference_case *c);

/* The name of its element type. */
const char *trial_type(const struct reference_case *c);

/* A plan for a case, with the rotations it needs. */
struct trial_plan {
    rotary_rope *rope, *value_rope;
    rotary_attention *attention;
};
struct trial_plan trial_plan_make(const struct reference_case *c, rotary_isa isa, int threads);
void trial_plan_free(struct trial_plan *plan);

/* The library's results, the exact ones, those of the naive reference, and each element's error bound. */
struct trial_results {
    struct reference_tensors got, wanted, naive, bound;
};
/* All allocated; trial_fill fills got. */
struct trial_results trial_results_make(const struct reference_case *c, uint64_t seed, double spread);
/* Computes wanted, naive and bound for the inputs of got, with gradients if `backward`. */
void trial_results_expect(const struct reference_case *c, struct trial_results *results, bool backward);
void trial_results_free(struct trial_results *results);

/* Fills query, key, value and output_gradient with signed, balanced numbers, rounded to the element type.
 * Scores have a standard deviation of about `spread`. */
void trial_fill(const struct reference_case *c, struct reference_tensors *tensors, uint64_t seed,
                double spread);

/* Runs forward, and backward if asked, and checks that nothing outside the tensors was written. */
void trial_run(const struct reference_case *c, const struct trial_plan *plan,
               struct reference_tensors *tensors, bool backward);

/* The stride of an axis; it may be anything if the axis has one entry. */
static inline int64_t trial_stride(int64_t entries, int64_t stride)
{
    return entries > 1 ? stride : INT64_MAX;
}

/* A 64-byte aligned block of exactly `bytes` bytes, NaN in every type; aborts if there is no memory. */
void *trial_memory(size_t bytes);

/* Checks that max|got - wanted| <= 2 max|naive - wanted| + a few roundings of `size`, or of max|wanted|. */
void trial_compare(const struct reference_case *c, const char *name, const double *got, const double *wanted,
                   const double *naive, int64_t count, double size);
/* Checks that each element is within its bound, and that the bounds are small. */
void trial_hold(const struct reference_case *c, const char *name, const double *got, const double *wanted,
                const double *bound, int64_t count, double size);
/* trial_compare and trial_hold on output and log_sum_exp, and on the gradients if `backward`. */
void trial_compare_all(const struct reference_case *c, const struct trial_results *all, bool backward);

#endif
