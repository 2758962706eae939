/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans: invalid configurations, and rows of cosines and sines against the formula in long double.
 */
#include "rope/plans.h"

#include "rope/rope_roles.h"

#include <math.h>
#include <string.h>

static const double UNIT = 0x1p-24; /* the largest relative error of rounding to f32 */

/* The plan is refused with `status` and a message that contains all of `words` (separated by '|'). */
static void refused(rotary_rope_config config, rotary_status status, const char *words)
{
    rotary_rope *rope = NULL;
    rotary_error error = {0};
    check_about("refusal \"%s\"", words);
    CHECK_INT(rotary_rope_create(&rope, &config, &error), status);
    CHECK(rope == NULL);
    CHECK_INT(error.status, status);
    CHECK_WORDS(error.message, words);
    CHECK_INT(rotary_rope_create(&rope, &config, NULL), status);
    check_about("%s", "");
}

static void test_refusals(void)
{
    rotary_rope_config config = plan_config(0);
    refused(config, ROTARY_INVALID_ARGUMENT, "head_dim|0|2 ...");
    config = plan_config(65);
    refused(config, ROTARY_INVALID_ARGUMENT, "65|head_dim|even");
    config = plan_config(64);
    config.rotary_dim = 33;
    refused(config, ROTARY_INVALID_ARGUMENT, "rotary_dim|33|even");
    config.rotary_dim = 66;
    refused(config, ROTARY_INVALID_ARGUMENT, "rotary_dim|66|64");
    config.rotary_dim = -2;
    refused(config, ROTARY_INVALID_ARGUMENT, "rotary_dim|-2");
    config.rotary_dim = 32;
    config.rotary_start = 33;
    refused(config, ROTARY_INVALID_ARGUMENT, "rotary_start is 33|0 ... 32");
    config.rotary_start = INT64_MAX;
    refused(config, ROTARY_INVALID_ARGUMENT, "rotary_start is 9223372036854775807|0 ... 32");
    config.rotary_start = -1;
    refused(config, ROTARY_INVALID_ARGUMENT, "rotary_start is -1");
    config = plan_config(64);
    for (int i = 0; i < 4; i++) {
        config.base = (double[]){0, -1, NAN, INFINITY}[i];
        refused(config, ROTARY_INVALID_ARGUMENT, "base|finite");
    }
    config = plan_config(64);
    config.pairing = (rotary_pairing)7;
    refused(config, ROTARY_INVALID_ARGUMENT, "pairing|7");
    config = plan_config(64);
    config.table_positions = -1;
    refused(config, ROTARY_INVALID_ARGUMENT, "table_positions|-1");
    config = plan_config(64);
    config.threads = -1;
    refused(config, ROTARY_INVALID_ARGUMENT, "threads|-1");
    config.threads = 100000;
    refused(config, ROTARY_INVALID_ARGUMENT, "threads|100000|1024");
    config = plan_config(64);
    config.struct_size = 0;
    refused(config, ROTARY_INVALID_ARGUMENT, "struct_size|0");
    /* A table that would take minutes to compute. */
    config = plan_config(1 << 20);
    config.table_positions = 513;
    refused(config, ROTARY_INVALID_ARGUMENT, "table_positions is 513|0 ... 512 for 524288 pairs|each call");
    config = plan_config(16);
    config.rotary_dim = 4;
    config.table_positions = ((int64_t)1 << 27) + 1;
    refused(config, ROTARY_INVALID_ARGUMENT, "table_positions is 134217729|0 ... 134217728 for 2 pairs");
    config.table_positions = INT64_MAX;
    refused(config, ROTARY_INVALID_ARGUMENT, "table_positions is 9223372036854775807");
    config = plan_config(64);
    config.isa = rotary_isa_available(ROTARY_ISA_NEON) ? ROTARY_ISA_AVX2 : ROTARY_ISA_NEON;
    refused(config, ROTARY_UNSUPPORTED, rotary_isa_name(config.isa));
    rotary_rope_destroy(NULL);
}

/* Frequencies that are finite and no angles, 0 where none is asked for, and magnitudes that f32 does not
 * have. A 0 that is asked for is kept. */
static void test_underflow(void)
{
    static const double zero[2] = {0.5, 0.0}, huge[2] = {1.0, 0x1p54}, most[2] = {-0x1p53, 0.0};
    rotary_rope_config config = plan_config(4);
    config.base = 1e-40; /* pair 1: 1e20 */
    refused(config, ROTARY_INVALID_ARGUMENT, "pair 1|1e+20|2^53|base 1e-40");
    config = plan_config(4);
    config.inverse_frequencies = huge;
    refused(config, ROTARY_INVALID_ARGUMENT, "pair 1|1.80144e+16|2^53");
    config.inverse_frequencies = most;
    rotary_rope_destroy(plan_make(&config));
    config.inverse_frequencies = zero;
    rotary_rope *rope = plan_make(&config);
    CHECK(rope && rotary_rope_inverse_frequencies(rope)[1] == 0.0);
    rotary_rope_destroy(rope);
    config = plan_config(8);
    config.scaling = ROTARY_SCALING_NTK;
    config.factor = 1e308; /* the base becomes infinite */
    refused(config, ROTARY_INVALID_ARGUMENT, "pair 1|inverse frequency 0|factor 1e+308");
    config = plan_config(8);
    config.base = 1e300;
    config.angles_f32 = true; /* f32 has neither the base nor 1 over its powers */
    refused(config, ROTARY_INVALID_ARGUMENT, "pair 1|inverse frequency 0");
    config = plan_config(8);
    config.attention_factor = 1e300;
    refused(config, ROTARY_INVALID_ARGUMENT, "attention factor 1e+300|f32");
    config.attention_factor = 1e-300;
    refused(config, ROTARY_INVALID_ARGUMENT, "attention factor 1e-300|f32");
    config = plan_config(8);
    config.scaling = ROTARY_SCALING_YARN;
    config.factor = 4;
    config.original_positions = 64;
    config.mscale = config.mscale_all_dim = 1e200; /* their quotient is 1, the square is infinite */
    refused(config, ROTARY_INVALID_ARGUMENT, "softmax factor inf");
    config = plan_config(8);
    config.xpos_scale = 1e-320;
    refused(config, ROTARY_INVALID_ARGUMENT, "xpos_scale|pair 0");
    config.xpos_scale = 1e-2; /* the logarithm of zeta, -1.25, times 100 */
    refused(config, ROTARY_INVALID_ARGUMENT, "xpos_scale is 0.01|pair 0|e^-125");
    config.xpos_scale = 0.015;
    rotary_rope_destroy(plan_make(&config));
    config.xpos_origin = 0x1p54;
    refused(config, ROTARY_INVALID_ARGUMENT, "xpos_origin|2^53");
}

/* Settings that are valid one by one. */
static void test_overflow(void)
{
    static const double factors[2] = {1.0, 1e-300};
    rotary_rope_config config = plan_config(4);
    config.base = 1e-30;
    config.pair_factors = factors;
    refused(config, ROTARY_INVALID_ARGUMENT, "pair 1|inf|finite");
    test_underflow();
    config = plan_config(64);
    config.scaling = ROTARY_SCALING_DYNAMIC_NTK;
    config.factor = 1e18;
    config.original_positions = 4096;
    rotary_rope *rope;
    rotary_error error = {0};
    if (!CHECK(rotary_rope_create(&rope, &config, &error) == ROTARY_OK))
        return;
    /* Up to the original length nothing is scaled, for any factor. */
    CHECK_NEAR(rotary_rope_inverse_frequencies(rope)[16], 0.01, 1e-17);
    rotary_rope_destroy(rope);
}

static void test_scaling_refusals(void)
{
    static const double given[32] = {1.0}, bad[32] = {1.0, 1.0, -2.0};
    rotary_rope_config config = plan_config(64);
    config.scaling = (rotary_scaling)99;
    refused(config, ROTARY_INVALID_ARGUMENT, "scaling|99");
    config.scaling = ROTARY_SCALING_LINEAR;
    refused(config, ROTARY_INVALID_ARGUMENT, "factor|0|max_positions");
    config.factor = -2;
    refused(config, ROTARY_INVALID_ARGUMENT, "factor|-2");
    config.factor = 2;
    config.scaling = ROTARY_SCALING_YARN;
    refused(config, ROTARY_INVALID_ARGUMENT, "original_positions|0");
    config.original_positions = -5;
    refused(config, ROTARY_INVALID_ARGUMENT, "original_positions|-5");
    config.original_positions = 2048;
    config.beta_slow = 64;
    refused(config, ROTARY_INVALID_ARGUMENT, "beta_fast|32|64");
    config.beta_slow = 1;
    config.mscale = NAN;
    refused(config, ROTARY_INVALID_ARGUMENT, "mscale|nan");
    config.mscale = 0;
    config.base = 1;
    refused(config, ROTARY_INVALID_ARGUMENT, "base|1|YaRN");
    config.base = 10000;
    config.attention_factor = -1;
    refused(config, ROTARY_INVALID_ARGUMENT, "attention_factor|-1");
    config.attention_factor = 0;
    config.short_attention_factor = -2;
    refused(config, ROTARY_INVALID_ARGUMENT, "short_attention_factor|-2");
    config.short_attention_factor = 0;
    config.long_attention_factor = INFINITY;
    refused(config, ROTARY_INVALID_ARGUMENT, "long_attention_factor|inf");
    config.long_attention_factor = 0;
    config.scaling = ROTARY_SCALING_LLAMA3;
    config.high_frequency_factor = 0.5;
    refused(config, ROTARY_INVALID_ARGUMENT, "low_frequency_factor|low <= high");
    config.high_frequency_factor = 4;
    config.scaling = ROTARY_SCALING_DYNAMIC_NTK;
    config.factor = 0.5;
    refused(config, ROTARY_INVALID_ARGUMENT, "factor|0.5|dynamic");
    config.scaling = ROTARY_SCALING_NTK;
    config.rotary_dim = 2;
    refused(config, ROTARY_INVALID_ARGUMENT, "rotary_dim|2|4");
    config.rotary_dim = 0;
    config.scaling = ROTARY_SCALING_PROPORTIONAL;
    refused(config, ROTARY_INVALID_ARGUMENT, "rotary_fraction|0");
    config.scaling = ROTARY_SCALING_LONGROPE;
    refused(config, ROTARY_INVALID_ARGUMENT, "short_factors|32");
    config.short_factors = bad;
    refused(config, ROTARY_INVALID_ARGUMENT, "long_factors|32");
    config.long_factors = bad;
    refused(config, ROTARY_INVALID_ARGUMENT, "short_factors[2]|-2");
    config.inverse_frequencies = given;
    refused(config, ROTARY_INVALID_ARGUMENT, "inverse_frequencies|one of the two");
    config = plan_config(64);
    config.pair_factors = bad;
    refused(config, ROTARY_INVALID_ARGUMENT, "pair_factors[2]|-2");
    config = plan_config(64);
    config.xpos_scale = -1;
    refused(config, ROTARY_INVALID_ARGUMENT, "xpos_scale|-1");
    config.xpos_scale = 512;
    config.xpos_origin = INFINITY;
    refused(config, ROTARY_INVALID_ARGUMENT, "xpos_origin|inf");
    config = plan_config(64);
    config.axes = ROTARY_AXES_SECTIONS;
    config.sections[0] = 16;
    refused(config, ROTARY_INVALID_ARGUMENT, "16, 0, 0, 0|is 16|32");
    config.sections[1] = -1;
    refused(config, ROTARY_INVALID_ARGUMENT, "sections[1]|-1");
    config.axes = ROTARY_AXES_INTERLEAVED;
    config.sections[1] = 8;
    config.sections[3] = 8;
    refused(config, ROTARY_INVALID_ARGUMENT, "sections[3]|8|three");
    config.axes = (rotary_axes)9;
    refused(config, ROTARY_INVALID_ARGUMENT, "axes|9");
    config = plan_config(64);
    config.table_dtype = (rotary_dtype)5;
    refused(config, ROTARY_INVALID_ARGUMENT, "table_dtype|5");
    config = plan_config(64);
    config.compat = (rotary_compat)5;
    refused(config, ROTARY_INVALID_ARGUMENT, "compat|5");
}

/* Cosines and sines are rounded to f32 once, and the angle to a few units in the last place of double. */
static void check_rows(const rotary_rope *rope, const rotary_rope_config *config, int64_t first,
                       int64_t count)
{
    int64_t dim = config->rotary_dim ? config->rotary_dim : config->head_dim, pairs = dim / 2;
    float *cosine = malloc((size_t)(count * pairs) * sizeof *cosine);
    float *sine = malloc((size_t)(count * pairs) * sizeof *sine);
    rotary_rope_role_rows(rope, first, count, ROTARY_ROLE_QUERY, cosine, sine);
    for (int64_t row = 0; row < count; row++)
        for (int64_t pair = 0; pair < pairs; pair++) {
            long double frequency =
                powl((long double)config->base, -2.0L * (long double)pair / (long double)dim);
            long double angle = (long double)(first + row) * frequency;
            double bound = UNIT + 4 * 0x1p-53 * fabs((double)angle);
            CHECK_NEAR((double)cosine[row * pairs + pair], (double)cosl(angle), bound);
            CHECK_NEAR((double)sine[row * pairs + pair], (double)sinl(angle), bound);
        }
    free(cosine);
    free(sine);
}

static void test_rows(void)
{
    static const struct {
        int64_t head_dim, rotary_dim, table;
        double base;
    } plans[] = {
        {64, 0, 100, 10000}, {128, 0, 0, 500000}, {80, 20, 64, 1e6}, {2, 2, 7, 10000}, {6, 0, 3, 1.5}};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        rotary_rope_config config = plan_config(plans[i].head_dim);
        config.rotary_dim = plans[i].rotary_dim;
        config.table_positions = plans[i].table;
        config.base = plans[i].base;
        rotary_rope *rope = plan_make(&config);
        check_about("head_dim %lld, base %g", (long long)config.head_dim, config.base);
        check_rows(rope, &config, 0, 130);
        check_rows(rope, &config, -70, 100);
        check_rows(rope, &config, 131000, 72);
        check_rows(rope, &config, 1000000, 3);
        struct rotary_span span = rotary_rope_span(rope);
        CHECK_INT(span.head_dim, config.head_dim);
        CHECK_INT(span.dim, config.rotary_dim ? config.rotary_dim : config.head_dim);
        rotary_rope_destroy(rope);
    }
}

/* With f32 angles the frequency, the product and the cosine are each rounded to f32. */
static void test_angles_f32(void)
{
    rotary_rope_config config = plan_config(64);
    config.angles_f32 = true;
    rotary_rope *rope = plan_make(&config);
    float cosine[32], sine[32];
    rotary_rope_role_rows(rope, 100003, 1, ROTARY_ROLE_VALUE, cosine, sine);
    double largest = 0;
    for (int pair = 0; pair < 32; pair++) {
        float frequency = 1.0f / (float)pow(10000.0, (double)((float)(2 * pair) / 64.0f));
        float angle = 100003.0f * frequency;
        CHECK_NEAR((double)cosine[pair], cos((double)angle), UNIT);
        CHECK_NEAR((double)sine[pair], sin((double)angle), UNIT);
        largest = fmax(largest, fabs((double)cosine[pair] - cos(100003.0 * pow(10000.0, -pair / 32.0))));
    }
    CHECK(largest > 1e-4); /* the mode makes a difference */
    rotary_rope_destroy(rope);
}

int main(void)
{
    test_refusals();
    test_scaling_refusals();
    test_overflow();
    test_rows();
    test_angles_f32();
    return check_report();
}
