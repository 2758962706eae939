/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodings that add a bias by distance to scores: ALiBi, T5, KERPLE, Sandwich.
 */
#include "oracle/position_formula.h"

#include "base/fail.h"

#include <math.h>

#define MEMBER(member) offsetof(struct formula_settings, member)

static int64_t length_of(int64_t distance)
{
    return distance < 0 ? -distance : distance;
}

/* ---- alibi: Press, Smith and Lewis 2022 ---- */

/* 2^(-8 / H), its square, its cube, ... of H heads, a power of two. Others take those of the power before,
 * and then the first, third, fifth, ... of the power after. */
static double alibi_slope(int64_t head, int64_t heads)
{
    double before = exp2(floor(log2((double)heads)));
    int64_t beyond = head - (int64_t)before;
    return beyond < 0 ? pow(exp2(-8.0 / before), (double)(head + 1))
                      : pow(exp2(-8.0 / (2.0 * before)), (double)(2 * beyond + 1));
}

static double alibi(const struct position_formula *formula, int64_t head, int64_t distance)
{
    return -alibi_slope(head, formula->heads) * (double)length_of(distance);
}

const struct formula_encoding formula_alibi = {.name = "alibi", .bias = alibi};

/* ---- t5: Raffel et al. 2020 ---- */

static const struct setting t5_settings[] = {
    {"relative_attention_num_buckets", SETTING_INTEGER, MEMBER(relative_attention_num_buckets), .min = 4,
     .max = 1 << 16},
    {"relative_attention_max_distance", SETTING_INTEGER, MEMBER(relative_attention_max_distance), .min = 2,
     .max = 1 << 24},
};

static rotary_status t5_check(const struct formula_settings *settings, rotary_error *error)
{
    long long buckets = (long long)settings->relative_attention_num_buckets,
              last = (long long)settings->relative_attention_max_distance;
    if (buckets % 2 != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "relative_attention_num_buckets is %lld, wanted an even number", buckets);
    if (last <= buckets / 2)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "relative_attention_max_distance is %lld, wanted more than %lld, half of "
                           "relative_attention_num_buckets",
                           last, buckets / 2);
    return ROTARY_OK;
}

/* The first half of the buckets are single distances. The others have edges in a geometric sequence up to
 * max_distance: `exact` times a power of max_distance / exact. A distance is in the last bucket whose edge it
 * reaches, and reaches an edge that it equals but for the rounding of the power. */
static int64_t t5_bucket(const struct position_formula *formula, int64_t distance)
{
    int64_t buckets = formula->settings.relative_attention_num_buckets, away = length_of(distance), first = 0;
    if (!formula->causal) {
        buckets /= 2;
        first = distance > 0 ? buckets : 0;
    }
    int64_t exact = buckets / 2, bucket = exact;
    if (away < exact)
        return first + away;
    double ratio = (double)formula->settings.relative_attention_max_distance / (double)exact;
    while (bucket + 1 < buckets) {
        double part = (double)(bucket + 1 - exact) / (double)(buckets - exact);
        if ((double)away < (double)exact * pow(ratio, part) * (1.0 - 1e-12))
            break;
        bucket++;
    }
    return first + bucket;
}

static int t5_list(const struct position_formula *formula, struct formula_parameter rows[FORMULA_PARAMETERS])
{
    rows[0] = (struct formula_parameter){"relative_attention_bias.weight",
                                         2,
                                         {formula->settings.relative_attention_num_buckets, formula->heads}};
    return 1;
}

static double t5(const struct position_formula *formula, int64_t head, int64_t distance)
{
    return formula->parameters[0][t5_bucket(formula, distance) * formula->heads + head];
}

const struct formula_encoding formula_t5 = {.name = "t5",
                                            .settings = t5_settings,
                                            .setting_count = 2,
                                            .check = t5_check,
                                            .list = t5_list,
                                            .bias = t5};

/* ---- kerple: Chi, Fan, Ramadge and Rudnicky 2022 ---- */

enum { LOG, POWER };
static const char *const kernels[] = {"log", "power", NULL};
static const struct setting kerple_settings[] = {
    {"kerple_kernel", SETTING_CHOICE, MEMBER(kerple_kernel), .choices = kernels},
};

static int kerple_list(const struct position_formula *formula,
                       struct formula_parameter rows[FORMULA_PARAMETERS])
{
    bool is_log = formula->settings.kerple_kernel == LOG;
    rows[0] = (struct formula_parameter){"kerple.log_scale", 1, {formula->heads}};
    rows[1] = (struct formula_parameter){
        is_log ? "kerple.log_slope" : "kerple.exponent_logit", 1, {formula->heads}};
    return 2;
}

/* -r1 ln(1 + r2 |n - m|), or -r1 |n - m|^r2 with r2 up to 2; the parameters are ln r1, and ln r2 or
 * ln(r2 / (2 - r2)). */
static double kerple(const struct position_formula *formula, int64_t head, int64_t distance)
{
    double r1 = exp(formula->parameters[0][head]), w2 = formula->parameters[1][head],
           away = (double)length_of(distance);
    if (formula->settings.kerple_kernel == LOG)
        return -r1 * log1p(exp(w2) * away);
    return -r1 * pow(away, 2.0 / (1.0 + exp(-w2)));
}

const struct formula_encoding formula_kerple = {
    .name = "kerple", .settings = kerple_settings, .setting_count = 1, .list = kerple_list, .bias = kerple};

/* ---- sandwich: Chi, Fan, Rudnicky and Ramadge 2023 ---- */

static const struct setting sandwich_settings[] = {
    {"sandwich_channels", SETTING_INTEGER, MEMBER(sandwich_channels), .min = 2, .max = 1024},
};

static rotary_status sandwich_check(const struct formula_settings *settings, rotary_error *error)
{
    if (settings->sandwich_channels % 2 != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "sandwich_channels is %lld, wanted an even number",
                           (long long)settings->sandwich_channels);
    return ROTARY_OK;
}

/* The product of the sinusoids of m and n, sum_i cos((n - m) w_i), over 8 (h + 1) / H. */
static double sandwich(const struct position_formula *formula, int64_t head, int64_t distance)
{
    double channels = (double)formula->settings.sandwich_channels, product = 0;
    for (double channel = 0; channel < channels; channel += 2)
        product += cos((double)distance / pow(10000.0, channel / channels));
    return product / (8.0 * (double)(head + 1) / (double)formula->heads);
}

const struct formula_encoding formula_sandwich = {.name = "sandwich",
                                                  .settings = sandwich_settings,
                                                  .setting_count = 1,
                                                  .check = sandwich_check,
                                                  .bias = sandwich};
