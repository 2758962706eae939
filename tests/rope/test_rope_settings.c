/* SPDX-License-Identifier: Apache-2.0
 *
 * A setting that nothing reads beside the others is refused by its name, and dropped where that is asked for.
 */
#include "plans.h"

#include <string.h>

static const double list[] = {1, 2, 3, 4};

/* Gives the setting of this name another value than its default. */
static void set(rotary_rope_config *config, const char *name)
{
    const struct {
        const char *name;
        double *number;
    } numbers[] = {
        {"factor", &config->factor},
        {"beta_fast", &config->beta_fast},
        {"beta_slow", &config->beta_slow},
        {"mscale", &config->mscale},
        {"mscale_all_dim", &config->mscale_all_dim},
        {"low_frequency_factor", &config->low_frequency_factor},
        {"high_frequency_factor", &config->high_frequency_factor},
        {"short_attention_factor", &config->short_attention_factor},
        {"long_attention_factor", &config->long_attention_factor},
        {"rotary_fraction", &config->rotary_fraction},
        {"xpos_origin", &config->xpos_origin},
        {"base", &config->base},
        {"query_scale_length", &config->query_scale_length},
        {"query_scale_offset", &config->query_scale_offset},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(numbers[i].name, name) == 0)
            *numbers[i].number = 0.75;
    if (strcmp(name, "truncate") == 0)
        config->truncate = false;
    if (strcmp(name, "short_factors") == 0)
        config->short_factors = list;
    if (strcmp(name, "long_factors") == 0)
        config->long_factors = list;
    if (strcmp(name, "sections") == 0)
        config->sections[1] = 4;
}

static const struct {
    const char *name;
    rotary_scaling scaling; /* that reads it; NONE: what else does, is_read sets */
    const char *words;
} cases[] = {
    {"factor", ROTARY_SCALING_LINEAR, "factor is 0.75|wanted its default, 0|a scaling alone"},
    {"beta_fast", ROTARY_SCALING_YARN, "beta_fast is 0.75|wanted its default, 32|scaling yarn"},
    {"beta_slow", ROTARY_SCALING_YARN, "beta_slow is 0.75|wanted its default, 1|scaling yarn"},
    {"mscale", ROTARY_SCALING_YARN, "mscale is 0.75|scaling yarn"},
    {"mscale_all_dim", ROTARY_SCALING_YARN, "mscale_all_dim is 0.75|scaling yarn"},
    {"truncate", ROTARY_SCALING_YARN, "truncate is false|wanted true|scaling yarn"},
    {"low_frequency_factor", ROTARY_SCALING_LLAMA3, "low_frequency_factor is 0.75|scaling llama3"},
    {"high_frequency_factor", ROTARY_SCALING_LLAMA3, "high_frequency_factor is 0.75|scaling llama3"},
    {"short_factors", ROTARY_SCALING_LONGROPE, "short_factors are given|wanted none|scaling longrope"},
    {"long_factors", ROTARY_SCALING_LONGROPE, "long_factors are given|wanted none|scaling longrope"},
    {"short_attention_factor", ROTARY_SCALING_LONGROPE, "short_attention_factor is 0.75|scaling longrope"},
    {"long_attention_factor", ROTARY_SCALING_LONGROPE, "long_attention_factor is 0.75|scaling longrope"},
    {"rotary_fraction", ROTARY_SCALING_PROPORTIONAL,
     "rotary_fraction is 0.75|scaling proportional|rotary_dim"},
    {"sections", ROTARY_SCALING_NONE, "sections are given|wanted none|one axis"},
    {"xpos_origin", ROTARY_SCALING_NONE, "xpos_origin is 0.75|xpos_scale"},
    {"base", ROTARY_SCALING_NONE, "base is 0.75|wanted its default, 10000|inverse_frequencies"},
    {"query_scale_length", ROTARY_SCALING_NONE, "query_scale_length is 0.75|query_scale_beta"},
    {"query_scale_offset", ROTARY_SCALING_NONE, "query_scale_offset is 0.75|query_scale_beta"},
};

/* A configuration beside whose settings all of the cases are unread, or all but those of scalings are read. */
static rotary_rope_config config_of(rotary_scaling scaling, bool is_read)
{
    rotary_rope_config config = plan_config(8);
    config.scaling = scaling;
    config.inverse_frequencies = is_read ? NULL : list;
    config.axes = is_read ? ROTARY_AXES_SECTIONS : ROTARY_AXES_ONE;
    config.xpos_scale = is_read ? 512 : 0;
    config.query_scale_beta = is_read ? 0.1 : 0;
    return config;
}

static bool is_same(const rotary_rope_config *a, const rotary_rope_config *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void test_each(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_about("%s", cases[i].name);
        const rotary_rope_config plain = config_of(ROTARY_SCALING_NONE, false);
        rotary_rope_config config = plain;
        rotary_rope *rope = NULL;
        rotary_error error = {0};
        set(&config, cases[i].name);
        CHECK(!is_same(&config, &plain));
        CHECK_INT(rotary_rope_create(&rope, &config, &error), ROTARY_INVALID_ARGUMENT);
        CHECK_WORDS(error.message, cases[i].words);
        rotary_rope_config_drop_unread(&config);
        CHECK(is_same(&config, &plain));
        rotary_rope_destroy(plan_make(&config));

        config = config_of(cases[i].scaling, true);
        set(&config, cases[i].name);
        const rotary_rope_config kept = config;
        rotary_rope_config_drop_unread(&config);
        CHECK(is_same(&config, &kept));
    }
    check_about("%s", "");
}

/* ggml has the base beside frequencies, where it multiplies angles in f32. */
static void test_base_of_ggml(void)
{
    for (int f32 = 0; f32 < 2; f32++) {
        rotary_rope_config config = config_of(ROTARY_SCALING_NONE, false);
        config.compat = ROTARY_COMPAT_GGML;
        config.angles_f32 = f32;
        config.base = 500;
        rotary_rope_config_drop_unread(&config);
        CHECK(config.base == (f32 ? 500 : 10000));
    }
}

/* Of an older caller's struct no byte behind it is written. */
static void test_shorter_struct(void)
{
    rotary_rope_config config = config_of(ROTARY_SCALING_NONE, false);
    config.factor = 2;
    config.xpos_origin = 2;
    config.query_scale_length = 2;
    config.struct_size = offsetof(rotary_rope_config, query_scale_beta);
    rotary_rope_config_drop_unread_sized(&config, config.struct_size);
    CHECK(config.factor == 0 && config.xpos_origin == 0 && config.query_scale_length == 2);
}

int main(void)
{
    test_each();
    test_base_of_ggml();
    test_shorter_struct();
    return check_report();
}
