/* SPDX-License-Identifier: Apache-2.0
 *
 * The library run on a reference_case: tensors as views of a fused buffer with gaps, which must stay as they
 * are.
 */
#ifndef TESTS_ATTENTION_TRIAL_H
#define TESTS_ATTENTION_TRIAL_H

#include "attention/attention_reference.h"

/* Instruction sets to try: those available, from scalar up; amx alone where its tiles are software,
 * sanitized. Returns how many. */
int trial_isas(rotary_isa isas[6]);

/* A plan for a case, with the rotations it needs. */
struct trial_plan {
    rotary_rope *rope, *value_rope;
    rotary_attention *attention;
};
struct trial_plan trial_plan_make(const struct reference_case *c, rotary_isa isa, int threads);
void trial_plan_free(struct trial_plan *plan);

/* What a case gives, what is wanted, what a naive program gives, and how far off each element may be. */
struct trial_results {
    struct reference_tensors got, wanted, naive, bound;
};
/* All allocated; trial_fill fills got. */
struct trial_results trial_results_make(const struct reference_case *c, uint64_t seed, double spread);
/* Makes wanted, naive and bound, of gradients too with `backward`, for the inputs of got. */
void trial_results_expect(const struct reference_case *c, struct trial_results *results, bool backward);
void trial_results_free(struct trial_results *results);

/* Fills query, key, value and output_gradient with signed, balanced numbers, rounded to the element type.
 * Scores have a standard deviation of about `spread`. */
void trial_fill(const struct reference_case *c, struct reference_tensors *tensors, uint64_t seed,
                double spread);

/* Runs forward, and backward if asked, and checks that nothing outside the tensors was written. */
void trial_run(const struct reference_case *c, const struct trial_plan *plan,
               struct reference_tensors *tensors, bool backward);

/* The stride of an axis, which may be anything where there is only one entry. */
static inline int64_t trial_stride(int64_t entries, int64_t stride)
{
    return entries > 1 ? stride : INT64_MAX;
}

/* A 64-byte aligned block that ends where its bytes end; abort when there is none. */
void *trial_memory(size_t bytes);

/* Checks that max|got - wanted| <= 2 max|naive - wanted| + floor * size, size being at least max|wanted|. */
void trial_compare(const struct reference_case *c, const char *name, const double *got, const double *wanted,
                   const double *naive, int64_t count, double size);
/* Checks that each element is as near as its bound says, and that the bounds say something. */
void trial_hold(const struct reference_case *c, const char *name, const double *got, const double *wanted,
                const double *bound, int64_t count, double size);
/* Output and log_sum_exp, and the gradients, by trial_compare and, each element, by the bound of bound_run.
 */
void trial_compare_all(const struct reference_case *c, const struct trial_results *all, bool backward);

#endif
