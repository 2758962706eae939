/* SPDX-License-Identifier: Apache-2.0
 *
 * Frequencies and magnitudes of every scaling and compatibility mode against their formulas.
 */
#include "rope/plans.h"

#include "rope/rope_roles.h"

#include <math.h>
#include <string.h>

static rotary_rope_config config_of(int64_t head_dim, rotary_scaling scaling)
{
    rotary_rope_config config = plan_config(head_dim);
    config.scaling = scaling;
    return config;
}

/* A relative bound of a few roundings of double, so that low frequencies count as much as high ones. */
static void check_relative(double got, double wanted)
{
    CHECK_NEAR(got, wanted, 1e-13 * fabs(wanted));
}

static double w(const rotary_rope_config *config, int64_t pair)
{
    int64_t dim = config->rotary_dim ? config->rotary_dim : config->head_dim;
    return exp(-log(config->base) * 2.0 * (double)pair / (double)dim);
}

static void test_linear_and_ntk(void)
{
    rotary_rope_config config = config_of(96, ROTARY_SCALING_LINEAR);
    config.rotary_dim = 64;
    config.base = 500000;
    config.factor = 8;
    rotary_rope *rope = plan_make(&config);
    CHECK_INT(rotary_rope_pairs(rope), 32);
    for (int64_t pair = 0; pair < 32; pair++)
        check_relative(rotary_rope_inverse_frequencies(rope)[pair], w(&config, pair) / 8);
    CHECK(rotary_rope_attention_factor(rope) == 1.0);
    rotary_rope_destroy(rope);

    config.scaling = ROTARY_SCALING_NTK;
    rope = plan_make(&config);
    check_relative(rotary_rope_inverse_frequencies(rope)[0], 1.0);
    check_relative(rotary_rope_inverse_frequencies(rope)[31],
                   w(&config, 31) / 8); /* the lowest frequency is divided by the factor */
    check_relative(rotary_rope_inverse_frequencies(rope)[10], w(&config, 10) * pow(8.0, -20.0 / 62.0));
    rotary_rope_destroy(rope);

    config.compat = ROTARY_COMPAT_VLLM; /* the base times 8, and all divided by 8^(2/64) */
    rope = plan_make(&config);
    for (int64_t pair = 0; pair < 32; pair++)
        check_relative(rotary_rope_inverse_frequencies(rope)[pair],
                       w(&config, pair) * pow(8.0, -2.0 * (double)(pair + 1) / 64.0));
    rotary_rope_destroy(rope);
}

static double dynamic_slowest(int64_t length, rotary_compat compat)
{
    rotary_rope_config config = config_of(64, ROTARY_SCALING_DYNAMIC_NTK);
    config.factor = 4;
    config.original_positions = 2048;
    config.sequence_length = length;
    config.compat = compat;
    rotary_rope *rope = plan_make(&config);
    double slowest = rotary_rope_inverse_frequencies(rope)[31] / w(&config, 31);
    check_relative(rotary_rope_inverse_frequencies(rope)[0], 1.0);
    rotary_rope_destroy(rope);
    return slowest;
}

static void test_dynamic_ntk(void)
{
    check_relative(dynamic_slowest(0, ROTARY_COMPAT_NONE), 1.0);
    check_relative(dynamic_slowest(100, ROTARY_COMPAT_HUGGINGFACE), 1.0);
    check_relative(dynamic_slowest(4096, ROTARY_COMPAT_NONE), 1.0 / 5.0);  /* 4 * 2 - 3 */
    check_relative(dynamic_slowest(8192, ROTARY_COMPAT_NONE), 1.0 / 13.0); /* 4 * 4 - 3 */
    check_relative(dynamic_slowest(100, ROTARY_COMPAT_VLLM), 1.0 / 13.0);  /* always the greatest length */
}

/* YaRN's ramp from its definition by rotations within the original context. */
static double yarn_frequency(const rotary_rope_config *config, int64_t pair, bool truncate)
{
    double dim = (double)config->head_dim, original = (double)config->original_positions;
    double low = dim * log(original / (config->beta_fast * 2 * M_PI)) / (2 * log(config->base));
    double high = dim * log(original / (config->beta_slow * 2 * M_PI)) / (2 * log(config->base));
    if (truncate) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, dim - 1); /* a bound in channels for a number of pairs, as in the authors' code */
    double ramp = ((double)pair - low) / (high - low);
    ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
    return w(config, pair) * ((1 - ramp) + ramp / config->factor);
}

static void test_yarn_frequencies(void)
{
    static const struct {
        int64_t head_dim, original;
        double base, beta_fast;
    } ramps[] = {
        {128, 4096, 150000, 32},  /* ends within the pairs */
        {128, 131072, 10000, 32}, /* ends beyond the last pair, 63 */
        {16, 1117, 10, 42},       /* would end beyond the last channel, 15 */
        {64, 128, 10000, 32},     /* would begin before the first pair */
    };
    for (int mode = 0; mode < 16; mode++) {
        rotary_rope_config config = config_of(ramps[mode / 4].head_dim, ROTARY_SCALING_YARN);
        config.base = ramps[mode / 4].base;
        config.factor = 32;
        config.beta_fast = ramps[mode / 4].beta_fast;
        config.original_positions = ramps[mode / 4].original;
        config.truncate = mode % 2;
        bool ggml = mode % 4 >= 2; /* which always truncates */
        config.compat = ggml ? ROTARY_COMPAT_GGML : ROTARY_COMPAT_NONE;
        check_about("yarn mode %d", mode);
        rotary_rope *rope = plan_make(&config);
        for (int64_t pair = 0; pair < config.head_dim / 2; pair++)
            check_relative(rotary_rope_inverse_frequencies(rope)[pair],
                           yarn_frequency(&config, pair, config.truncate || ggml));
        rotary_rope_destroy(rope);
    }
    check_about("%s", "");
}

struct magnitude_case {
    double factor, attention_factor, mscale, mscale_all_dim;
    rotary_compat compat;
    double wanted, softmax;
};

static void test_yarn_magnitudes(void)
{
    const double usual = 1 + 0.1 * log(40.0);
    const struct magnitude_case cases[] = {
        {40, 0, 0, 0, ROTARY_COMPAT_NONE, usual, 1},
        {40, 1.5, 0, 0, ROTARY_COMPAT_NONE, 1.5, 1},
        {40, 1.5, 0, 0, ROTARY_COMPAT_HUGGINGFACE, 1.5, 1},
        {40, 1.5, 0, 0, ROTARY_COMPAT_VLLM, usual, 1},
        {40, 1.5, 0, 0, ROTARY_COMPAT_GGML, 1.5 * usual, 1},
        {40, 0, 0, 0, ROTARY_COMPAT_GGML, usual, 1},
        {40, 0, 1, 1, ROTARY_COMPAT_NONE, 1, usual * usual}, /* DeepSeek V3 */
        {40, 0, 0.707, 1, ROTARY_COMPAT_NONE, (1 + 0.0707 * log(40.0)) / usual, usual * usual},
        {0.5, 0, 0, 0, ROTARY_COMPAT_NONE, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rotary_rope_config config = config_of(64, ROTARY_SCALING_YARN);
        config.original_positions = 4096;
        config.factor = cases[i].factor;
        config.attention_factor = cases[i].attention_factor;
        config.mscale = cases[i].mscale;
        config.mscale_all_dim = cases[i].mscale_all_dim;
        config.compat = cases[i].compat;
        check_about("yarn magnitude %zu", i);
        rotary_rope *rope = plan_make(&config);
        check_relative(rotary_rope_attention_factor(rope), cases[i].wanted);
        check_relative(rotary_rope_softmax_factor(rope), cases[i].softmax);
        /* The magnitude is in the rows of queries and keys, not in those of values. */
        float cosine[32], sine[32];
        rotary_rope_role_rows(rope, 0, 1, ROTARY_ROLE_KEY, cosine, sine);
        CHECK_NEAR((double)cosine[5], cases[i].wanted, 0x1p-22 * cases[i].wanted);
        rotary_rope_role_rows(rope, 0, 1, ROTARY_ROLE_VALUE, cosine, sine);
        CHECK(cosine[5] == 1.0f);
        rotary_rope_destroy(rope);
    }
    check_about("%s", "");
}

static void test_longrope(void)
{
    double shorts[48], longs[48];
    for (int pair = 0; pair < 48; pair++) {
        shorts[pair] = 1.0 + 0.01 * pair;
        longs[pair] = 1.0 + 1.3 * pair;
    }
    static const struct {
        int64_t length, max;
        rotary_compat compat;
        bool is_long;
    } cases[] = {{0, 131072, ROTARY_COMPAT_NONE, false},   {4096, 131072, ROTARY_COMPAT_NONE, false},
                 {4097, 131072, ROTARY_COMPAT_NONE, true}, {4097, 131072, ROTARY_COMPAT_HUGGINGFACE, true},
                 {100, 131072, ROTARY_COMPAT_VLLM, true},  {100, 4096, ROTARY_COMPAT_VLLM, false},
                 {100, 131072, ROTARY_COMPAT_GGML, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rotary_rope_config config = config_of(96, ROTARY_SCALING_LONGROPE);
        config.original_positions = 4096;
        config.max_positions = cases[i].max;
        config.sequence_length = cases[i].length;
        config.compat = cases[i].compat;
        config.short_factors = shorts;
        config.long_factors = longs;
        check_about("longrope %zu", i);
        rotary_rope *rope = plan_make(&config);
        for (int pair = 0; pair < 48; pair++)
            check_relative(rotary_rope_inverse_frequencies(rope)[pair],
                           w(&config, pair) / (cases[i].is_long ? longs[pair] : shorts[pair]));
        double s = (double)cases[i].max / 4096.0;
        check_relative(rotary_rope_attention_factor(rope), s > 1 ? sqrt(1 + log(s) / log(4096.0)) : 1.0);
        rotary_rope_destroy(rope);
        config.attention_factor = 1.5; /* replaces the formula, and is replaced by each list's own */
        config.short_attention_factor = 1.25;
        rope = plan_make(&config);
        check_relative(rotary_rope_attention_factor(rope), cases[i].is_long ? 1.5 : 1.25);
        rotary_rope_destroy(rope);
        config.long_attention_factor = 1.75;
        rope = plan_make(&config);
        check_relative(rotary_rope_attention_factor(rope), cases[i].is_long ? 1.75 : 1.25);
        /* With a magnitude for each list, Hugging Face's code keeps the short list. */
        bool long_list = cases[i].is_long && cases[i].compat != ROTARY_COMPAT_HUGGINGFACE;
        for (int pair = 0; pair < 48; pair++)
            check_relative(rotary_rope_inverse_frequencies(rope)[pair],
                           w(&config, pair) / (long_list ? longs[pair] : shorts[pair]));
        rotary_rope_destroy(rope);
    }
    check_about("%s", "");
}

static void test_llama3(void)
{
    rotary_rope_config config = config_of(128, ROTARY_SCALING_LLAMA3);
    config.base = 500000;
    config.factor = 8;
    config.original_positions = 8192;
    rotary_rope *rope = plan_make(&config);
    int kept = 0, slowed = 0, between = 0;
    for (int64_t pair = 0; pair < 64; pair++) {
        double frequency = w(&config, pair), rotations = 8192.0 * frequency / (2 * M_PI);
        double smooth = (rotations - 1) / 3;
        double wanted = rotations > 4   ? frequency
                        : rotations < 1 ? frequency / 8
                                        : (1 - smooth) * frequency / 8 + smooth * frequency;
        *(rotations > 4 ? &kept : rotations < 1 ? &slowed : &between) += 1;
        check_relative(rotary_rope_inverse_frequencies(rope)[pair], wanted);
    }
    CHECK(kept > 10 && slowed > 10 && between > 2);
    rotary_rope_destroy(rope);
}

static void test_proportional_and_lists(void)
{
    rotary_rope_config config = config_of(256, ROTARY_SCALING_PROPORTIONAL);
    config.base = 1e6;
    config.rotary_fraction = 0.25;
    rotary_rope *rope = plan_make(&config);
    for (int64_t pair = 0; pair < 128; pair++)
        check_relative(rotary_rope_inverse_frequencies(rope)[pair], pair < 32 ? w(&config, pair) : 0.0);
    rotary_rope_destroy(rope);

    double factors[32], frequencies[32];
    for (int pair = 0; pair < 32; pair++) {
        factors[pair] = 1 + pair % 5;
        frequencies[pair] = 3.0 - 0.25 * pair; /* negative ones rotate the other way */
    }
    config = config_of(64, ROTARY_SCALING_LINEAR);
    config.factor = 2;
    config.pair_factors = factors;
    rope = plan_make(&config);
    for (int64_t pair = 0; pair < 32; pair++)
        check_relative(rotary_rope_inverse_frequencies(rope)[pair], w(&config, pair) / 2 / factors[pair]);
    rotary_rope_destroy(rope);
    config = config_of(64, ROTARY_SCALING_NONE);
    config.inverse_frequencies = frequencies;
    config.attention_factor = 1.25;
    rope = plan_make(&config);
    for (int64_t pair = 0; pair < 32; pair++)
        check_relative(rotary_rope_inverse_frequencies(rope)[pair], frequencies[pair]);
    check_relative(rotary_rope_attention_factor(rope), 1.25);
    rotary_rope_destroy(rope);
}

static rotary_rope *sectioned(rotary_axes axes, int64_t head_dim, int64_t a, int64_t b, int64_t c,
                              rotary_compat compat)
{
    rotary_rope_config config = config_of(head_dim, ROTARY_SCALING_NONE);
    config.axes = axes;
    config.compat = compat;
    config.sections[0] = a;
    config.sections[1] = b;
    config.sections[2] = c;
    return plan_make(&config);
}

static void test_axes(void)
{
    /* Qwen2-VL: 16 pairs of time, 24 of rows, 24 of columns; frequencies continue. */
    rotary_rope_config plain = config_of(128, ROTARY_SCALING_NONE);
    rotary_rope *rope = sectioned(ROTARY_AXES_SECTIONS, 128, 16, 24, 24, ROTARY_COMPAT_NONE);
    CHECK_INT(rotary_rope_axes(rope), 3);
    for (int64_t pair = 0; pair < 64; pair++) {
        CHECK_INT(rotary_rope_axis(rope, pair), pair < 16 ? 0 : pair < 40 ? 1 : 2);
        check_relative(rotary_rope_inverse_frequencies(rope)[pair], w(&plain, pair));
    }
    rotary_rope_destroy(rope);

    /* Qwen3-VL: interleaved; pairs left over belong to time, or to a fourth axis in ggml. */
    for (int ggml = 0; ggml <= 1; ggml++) {
        rope = sectioned(ROTARY_AXES_INTERLEAVED, 128, 24, 20, 20,
                         ggml ? ROTARY_COMPAT_GGML : ROTARY_COMPAT_NONE);
        CHECK_INT(rotary_rope_axes(rope), ggml ? 4 : 3);
        for (int64_t pair = 0; pair < 64; pair++) {
            int wanted = pair < 60 ? (int)(pair % 3) : 0;
            if (ggml && (pair == 61 || pair == 62))
                wanted = 3;
            CHECK_INT(rotary_rope_axis(rope, pair), wanted);
            check_relative(rotary_rope_inverse_frequencies(rope)[pair], w(&plain, pair));
        }
        rotary_rope_destroy(rope);
    }

    rope = sectioned(ROTARY_AXES_INTERLEAVED, 64, 4, 14, 14, ROTARY_COMPAT_GGML);
    CHECK_INT(rotary_rope_axis(rope, 9), 0);
    CHECK_INT(rotary_rope_axis(rope, 12), 3); /* the first pair beyond the section of time */
    CHECK_INT(rotary_rope_axis(rope, 13), 1);
    rotary_rope_destroy(rope);

    /* Vision: rows, then columns, each with the frequencies of a head of half the size. */
    rope = sectioned(ROTARY_AXES_SEPARATE, 80, 20, 20, 0, ROTARY_COMPAT_NONE);
    plain = config_of(40, ROTARY_SCALING_NONE);
    CHECK_INT(rotary_rope_axes(rope), 2);
    for (int64_t pair = 0; pair < 40; pair++) {
        CHECK_INT(rotary_rope_axis(rope, pair), pair / 20);
        check_relative(rotary_rope_inverse_frequencies(rope)[pair], w(&plain, pair % 20));
    }
    rotary_rope_destroy(rope);
}

/* With separate axes every scaling gives each section the frequencies of a head of its size. */
static void test_separate_scalings(void)
{
    const rotary_scaling scalings[] = {
        ROTARY_SCALING_NONE, ROTARY_SCALING_LINEAR, ROTARY_SCALING_NTK,         ROTARY_SCALING_DYNAMIC_NTK,
        ROTARY_SCALING_YARN, ROTARY_SCALING_LLAMA3, ROTARY_SCALING_PROPORTIONAL};
    const int64_t sections[ROTARY_MAX_AXES] = {24, 9, 16, 2};
    for (int i = 0; i < 7 * 2; i++) {
        rotary_rope_config config = config_of(102, scalings[i / 2]);
        config.angles_f32 = i % 2;
        config.factor = config.scaling == ROTARY_SCALING_NONE ? 0 : 4;
        config.original_positions = 2048;
        config.sequence_length = 6000;
        config.rotary_fraction = config.scaling == ROTARY_SCALING_PROPORTIONAL ? 0.6 : 0;
        config.axes = ROTARY_AXES_SEPARATE;
        memcpy(config.sections, sections, sizeof sections);
        rotary_rope *rope = plan_make(&config);
        int64_t first = 0;
        for (int axis = 0; axis < ROTARY_MAX_AXES; first += sections[axis++]) {
            check_about("scaling %d, axis %d", (int)config.scaling, axis);
            rotary_rope_config section_config = config;
            section_config.head_dim = 2 * sections[axis];
            section_config.axes = ROTARY_AXES_ONE;
            rotary_rope_config_drop_unread(&section_config);
            rotary_rope *alone = plan_make(&section_config);
            for (int64_t pair = 0; pair < sections[axis]; pair++)
                CHECK(rotary_rope_inverse_frequencies(rope)[first + pair] ==
                      rotary_rope_inverse_frequencies(alone)[pair]);
            rotary_rope_destroy(alone);
        }
        rotary_rope_destroy(rope);
    }
    check_about("%s", "");
}

/* xPos: the product of a query's and a key's magnitude depends on their distance alone and decays with it. */
static void test_xpos(void)
{
    rotary_rope_config config = config_of(64, ROTARY_SCALING_NONE);
    config.xpos_scale = 512;
    config.xpos_origin = 7;
    rotary_rope *rope = plan_make(&config);
    CHECK(rotary_rope_queries_differ(rope));
    float cosine[32], sine[32];
    for (int64_t position = -300; position <= 3000; position += 1100)
        for (int role = 0; role < 3; role++) {
            rotary_rope_role_rows(rope, position, 1, (enum rotary_rope_role)role, cosine, sine);
            for (int pair = 0; pair < 32; pair++) {
                double zeta = (2.0 * pair + 0.4 * 64) / (1.4 * 64);
                double power = role == ROTARY_ROLE_VALUE ? 0 : ((double)position - 7) / 512;
                double wanted = pow(zeta, role == ROTARY_ROLE_KEY ? -power : power);
                CHECK_NEAR(hypot((double)cosine[pair], (double)sine[pair]), wanted, 4 * 0x1p-24 * wanted);
            }
        }
    rotary_rope_destroy(rope);
}

/* Queries grow in steps with their position, keys and values do not, in the table and beyond it. */
static void test_query_scale(void)
{
    rotary_rope_config config = config_of(16, ROTARY_SCALING_NONE);
    config.query_scale_beta = 0.1;
    config.query_scale_length = 100;
    config.table_positions = 250;
    for (int offset = 0; offset < 2; offset++) {
        config.query_scale_offset = offset;
        config.attention_factor = offset ? 1.5 : 0;
        rotary_rope *rope = plan_make(&config);
        CHECK(rotary_rope_queries_differ(rope));
        static const int64_t positions[] = {-150, -1, 0, 98, 99, 100, 199, 200, 249, 100000};
        for (size_t i = 0; i < sizeof positions / sizeof positions[0]; i++)
            for (int role = 0; role < 3; role++) {
                float cosine[8], sine[8];
                struct rotary_rows rows = {.cosine = cosine, .sine = sine};
                const enum rotary_rope_role of = (enum rotary_rope_role)role;
                rotary_rope_role_rows(rope, positions[i], 1, of, cosine, sine);
                bool inside = rotary_rope_table_rows(rope, (double)positions[i], 1, of, &rows);
                CHECK(inside == (positions[i] >= 0 && positions[i] < 250));
                double blocks = floor((double)(positions[i] + offset) / 100.0), wanted = 1;
                if (role != ROTARY_ROLE_VALUE)
                    wanted = offset ? 1.5 : 1;
                if (role == ROTARY_ROLE_QUERY && blocks > 0)
                    wanted *= 1 + 0.1 * log(1 + blocks);
                for (int pair = 0; pair < 8; pair++) {
                    CHECK_NEAR(hypot((double)rows.cosine[pair], (double)rows.sine[pair]), wanted,
                               4 * 0x1p-24 * wanted);
                    CHECK(rows.cosine[pair] == cosine[pair] && rows.sine[pair] == sine[pair]);
                }
            }
        rotary_rope_destroy(rope);
    }
    const struct {
        double beta, length, offset;
        int64_t rotary_dim;
        const char *words;
    } wrong[] = {
        {-1, 100, 0, 16, "query_scale_beta is -1"},
        {0.1, 0, 0, 16, "query_scale_length is 0"},
        {0.1, 100, NAN, 16, "query_scale_offset is nan"},
        {0.1, 100, 0, 8, "query_scale_beta is 0.1 where 8 of 16 channels are rotated|the complete head"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        rotary_rope *rope = NULL;
        rotary_error error = {0};
        config.query_scale_beta = wrong[i].beta;
        config.query_scale_length = wrong[i].length;
        config.query_scale_offset = wrong[i].offset;
        config.rotary_dim = wrong[i].rotary_dim;
        CHECK_INT(rotary_rope_create(&rope, &config, &error), ROTARY_INVALID_ARGUMENT);
        CHECK_WORDS(error.message, wrong[i].words);
    }
}

/* ggml's f32 angles are products from pair to pair, Hugging Face's are one product. Their errors differ. */
static void test_f32_angles(void)
{
    rotary_rope_config config = config_of(128, ROTARY_SCALING_LINEAR);
    config.factor = 4;
    config.angles_f32 = true;
    config.compat = ROTARY_COMPAT_GGML;
    rotary_rope *rope = plan_make(&config);
    float cosine[64], sine[64], theta = 8191.0f, ratio = powf(10000.0f, -2.0f / 128.0f);
    rotary_rope_role_rows(rope, 8191, 1, ROTARY_ROLE_VALUE, cosine, sine);
    double difference = 0;
    for (int pair = 0; pair < 64; pair++) {
        CHECK_NEAR((double)cosine[pair], cos((double)(theta * 0.25f)), 0x1p-24);
        float frequency = 1.0f / powf(10000.0f, (float)(2 * pair) / 128.0f) / 4.0f;
        difference = fmax(difference, fabs(cos((double)(8191.0f * frequency)) - (double)cosine[pair]));
        theta *= ratio;
    }
    CHECK(difference > 1e-5);
    rotary_rope_destroy(rope);

    /* They are close to the exact angles for sections of any size and for a caller's frequencies. */
    double frequencies[32];
    for (int pair = 0; pair < 32; pair++)
        frequencies[pair] = 3.0 - 0.25 * pair;
    for (int own = 0; own <= 1; own++) {
        config = config_of(64, ROTARY_SCALING_NONE);
        config.angles_f32 = true;
        config.compat = ROTARY_COMPAT_GGML;
        config.inverse_frequencies = own ? frequencies : NULL;
        config.axes = own ? ROTARY_AXES_ONE : ROTARY_AXES_SEPARATE;
        config.sections[0] = own ? 0 : 1;
        config.sections[1] = own ? 0 : 31;
        rope = plan_make(&config);
        rotary_rope_role_rows(rope, 100, 1, ROTARY_ROLE_VALUE, cosine, sine);
        for (int pair = 0; pair < 32; pair++)
            CHECK_NEAR((double)sine[pair], sin(100 * rotary_rope_inverse_frequencies(rope)[pair]), 1e-3);
        rotary_rope_destroy(rope);
    }
}

/* Tables kept in bf16, as some implementations do. */
static void test_table_dtype(void)
{
    rotary_rope_config config = config_of(64, ROTARY_SCALING_NONE);
    config.table_dtype = ROTARY_BF16;
    rotary_rope *rope = plan_make(&config);
    float cosine[32], sine[32];
    rotary_rope_role_rows(rope, 100, 1, ROTARY_ROLE_QUERY, cosine, sine);
    double largest = 0;
    for (int pair = 0; pair < 32; pair++) {
        uint32_t bits;
        memcpy(&bits, &cosine[pair], sizeof bits);
        CHECK_INT(bits & 0xffff, 0);
        double exact = cos(100.0 * w(&config, pair));
        CHECK_NEAR((double)cosine[pair], exact, 0x1.01p-8 * fabs(exact) + 0x1p-24);
        largest = fmax(largest, fabs((double)cosine[pair] - exact));
    }
    CHECK(largest > 1e-4);
    rotary_rope_destroy(rope);
}

int main(void)
{
    test_linear_and_ntk();
    test_dynamic_ntk();
    test_yarn_frequencies();
    test_yarn_magnitudes();
    test_longrope();
    test_llama3();
    test_proportional_and_lists();
    test_axes();
    test_separate_scalings();
    test_xpos();
    test_query_scale();
    test_f32_angles();
    test_table_dtype();
    return check_report();
}
