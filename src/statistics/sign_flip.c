/* SPDX-License-Identifier: Apache-2.0 */
#include "statistics/sign_flip.h"

#include "base/random.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { HALF = 1 << (SIGN_FLIP_EXACT / 2) };

/* The sums of all sign patterns, ascending; returns how many. Each difference merges the sums without it,
 * less and plus its magnitude. */
static int sums_of(double sums[HALF], const double *differences, int count)
{
    double before[HALF];
    int found = 1;
    sums[0] = 0;
    for (int i = 0; i < count; i++) {
        double magnitude = fabs(differences[i]);
        memcpy(before, sums, sizeof *sums * (size_t)found);
        for (int less = 0, plus = 0; plus < found;) {
            bool take_less = less < found && before[less] - magnitude <= before[plus] + magnitude;
            sums[less + plus] = take_less ? before[less] - magnitude : before[plus] + magnitude;
            *(take_less ? &less : &plus) += 1;
        }
        found *= 2;
    }
    return found;
}

/* How many of the 2^count patterns have a sum of at least `bound`: for each sum of the first half, ascending,
 * those of the second half that reach the bound with it are a growing tail. */
static double count_reaching(const double *differences, int count, double bound)
{
    double first[HALF], second[HALF], reaching = 0;
    int half = count / 2, firsts = sums_of(first, differences, half),
        seconds = sums_of(second, differences + half, count - half), at = seconds;
    for (int i = 0; i < firsts; i++) {
        while (at > 0 && first[i] + second[at - 1] >= bound)
            at--;
        reaching += seconds - at;
    }
    return reaching;
}

static double sampled_p(const double *differences, int count, double bound)
{
    struct rotary_random random = {.key = {.stream = ROTARY_STREAM_SIGN_FLIP}};
    int as_far = 1;
    for (int i = 0; i < SIGN_FLIP_SAMPLES; i++) {
        double sum = 0;
        uint32_t signs = 0;
        for (int j = 0; j < count; j++) {
            signs = j % 32 ? signs >> 1 : rotary_random_next(&random);
            sum += signs & 1 ? differences[j] : -differences[j];
        }
        as_far += fabs(sum) >= bound;
    }
    return as_far / (1.0 + SIGN_FLIP_SAMPLES);
}

double sign_flip_p(const double *differences, int count)
{
    double sum = 0, magnitudes = 0;
    for (int i = 0; i < count; i++) {
        sum += differences[i];
        magnitudes += fabs(differences[i]);
    }
    if (count < 1 || !isfinite(magnitudes))
        return (double)NAN;
    double bound = fabs(sum) - 1e-10 * magnitudes;
    if (bound <= 0)
        return 1;
    if (count > SIGN_FLIP_EXACT)
        return sampled_p(differences, count, bound);
    return 2 * ldexp(count_reaching(differences, count, bound), -count);
}

double sign_flip_min_p(int count)
{
    if (count < 1)
        return (double)NAN;
    return count > SIGN_FLIP_EXACT ? 1 / (1.0 + SIGN_FLIP_SAMPLES) : ldexp(1, 1 - count);
}
