/* SPDX-License-Identifier: Apache-2.0
 *
 * How large a difference the rule of the verdicts finds, and how many pairs that takes, by simulation: the
 * scores of all arms are drawn from one normal distribution, always the same ones, and the second arm then
 * gains an effect. Effects are in standard deviations of a paired
 * difference, which has √2 standard deviations of a score where the runs of a pair have nothing in common.
 */
#ifndef ROTARY_STATISTICS_POWER_H
#define ROTARY_STATISTICS_POWER_H

#include <rotary/status.h>

struct power_design {
    int arms; /* at least 2 */
    bool all_pairs;
    double alpha; /* of max_t.h */
};

/* The share of `experiments` in which the second arm is found to differ from the first by so many pairs, at
 * least 2. */
struct power_call {
    const struct power_design *design;
    int pairs;
    double effect;
    int experiments;
};
ROTARY_CHECKED rotary_status power_of(double *power, const struct power_call *call, rotary_error *error);

/* The effects that are found four times in five. Where max_t.h gives the second arm an interval that begins
 * at -x, an effect above x would have been found: so one draw gives all effects. */
enum { POWER_SIZES = 6, POWER_MAX_PAIRS = 100000 };
struct power {
    double effects[POWER_SIZES]; /* times √pairs, for some numbers of pairs; infinite: none is found */
};
ROTARY_CHECKED rotary_status power_create(struct power *power, const struct power_design *design,
                                          rotary_error *error);
/* The effect that at least ENOUGH_PAIRS pairs find; between the numbers that were tried it is interpolated.
 */
double power_effect(const struct power *power, int pairs);
/* The fewest pairs, from ENOUGH_PAIRS on, that find the effect, whatever its sign; POWER_MAX_PAIRS if no
 * fewer do, as for 0. */
int power_pairs(const struct power *power, double effect);

#endif
