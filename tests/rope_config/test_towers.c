/* SPDX-License-Identifier: Apache-2.0
 *
 * Configurations of the towers of images, which are read by their model_type, and refused without it.
 */
#include "huggingface/model_types.h"
#include "rope_config/rope_config.h"
#include "support/check.h"

#include <stdio.h>

static rotary_status parse(const char *text, struct rope_config *config, rotary_error *error)
{
    const struct rope_config_request request = {.find_family = model_types_find};
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    check_about("%s", text);
    if (!CHECK(object != NULL))
        return ROTARY_OUT_OF_MEMORY;
    rotary_status status = rope_config_parse(object, "config.json", &request, config, error);
    json_decref(object);
    return status;
}

/* What transformers' own code computes is in tests/rope/rope_goldens.h; here, where sizes come from. */
static void test_sizes(void)
{
    static const struct {
        const char *text;
        int64_t head_dim, heads;
        rotary_axes axes;
    } cases[] = {
        /* hidden_size is the width of the language model */
        {"{\"model_type\": \"qwen2_vl_vision\", \"embed_dim\": 64, \"num_heads\": 4, \"hidden_size\": 3584}",
         16, 4, ROTARY_AXES_SEPARATE},
        {"{\"model_type\": \"qwen2_vl_vision\", \"hidden_size\": 3584}", 80, 0, ROTARY_AXES_SEPARATE},
        {"{\"model_type\": \"qwen2_5_vl_vision\", \"hidden_size\": 1280, \"num_heads\": 16}", 80, 16,
         ROTARY_AXES_SEPARATE},
        {"{\"model_type\": \"qwen3_vl_vision\", \"head_dim\": 24, \"num_heads\": 16}", 24, 16,
         ROTARY_AXES_SEPARATE},
        {"{\"model_type\": \"pixtral\", \"head_dim\": 64, \"patch_size\": 16}", 64, 0, ROTARY_AXES_SECTIONS},
        {"{\"model_type\": \"pixtral\"}", 64, 0, ROTARY_AXES_SECTIONS},
        {"{\"model_type\": \"pixtral\", \"rope_parameters\": {\"rope_type\": \"default\"}}", 64, 0,
         ROTARY_AXES_SECTIONS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config;
        rotary_error error = {0};
        if (!CHECK_INT(parse(cases[i].text, &config, &error), ROTARY_OK)) {
            printf("  %s\n", error.message);
            continue;
        }
        CHECK_INT(config.plan.head_dim, cases[i].head_dim);
        CHECK_INT(config.query_heads, cases[i].heads);
        CHECK_INT(config.plan.axes, cases[i].axes);
        CHECK_INT(config.plan.sections[0], cases[i].head_dim / 4);
        CHECK_INT(config.plan.sections[1], cases[i].head_dim / 4);
        CHECK_TEXT(config.rope_type, "axial");
        CHECK((config.plan.inverse_frequencies != NULL) == (cases[i].axes == ROTARY_AXES_SECTIONS));
        rope_config_free(&config);
    }
}

static void test_refused(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        /* As published, without a type; with that of the model; and Pixtral's in params.json. */
        {"{\"depth\": 32, \"embed_dim\": 1280, \"num_heads\": 16, \"hidden_size\": 3584, \"patch_size\": 14}",
         "config.json: \"num_heads\" is 16|\"model_type\"|\"qwen2_vl_vision\"|\"mrope_section\""},
        {"{\"model_type\": \"qwen2_vl\", \"embed_dim\": 1280, \"num_heads\": 16, \"hidden_size\": 3584}",
         "\"num_heads\" is 16|\"model_type\""},
        {"{\"hidden_size\": 1024, \"num_attention_heads\": 16, \"patch_size\": 16, \"rope_theta\": 10000.0}",
         "\"patch_size\" is 16|\"model_type\"|\"pixtral\""},
        {"{\"model_type\": \"pixtral\", \"head_dim\": 6}", "6 channels|a multiple of 4"},
        {"{\"model_type\": \"pixtral\", \"head_dim\": 4503599627370496}",
         "4503599627370496 channels|at most"},
        {"{\"model_type\": \"pixtral\", \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2}}",
         "\"rope_type\" is \"linear\", wanted axial"},
        {"{\"model_type\": \"pixtral\", \"mrope_section\": [16, 16]}", "\"mrope_section\" is [16,16]"},
        {"{\"model_type\": \"pixtral\", \"axes\": \"separate\"}", "\"axes\" is \"separate\""},
        {"{\"head_dim\": 8, \"rope_parameters\": {\"rope_type\": \"axial\"}}",
         "no \"mrope_section\", which rope_type axial needs"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config;
        rotary_error error = {0};
        if (!CHECK_INT(parse(cases[i].text, &config, &error), ROTARY_BAD_FILE))
            rope_config_free(&config);
        CHECK_WORDS(error.message, cases[i].words);
    }
}

/* Models of text whose keys have such names are read. */
static void test_text(void)
{
    static const char *const texts[] = {
        "{\"model_type\": \"blt_global_transformer\", \"patch_size\": 4.5}",
        "{\"num_attention_heads\": 4, \"num_heads\": 4, \"hidden_size\": 32}",
        "{\"hidden_size\": 32, \"num_attention_heads\": 4, \"patch_size\": 8, \"mrope_section\": [2, 2]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct rope_config config;
        rotary_error error = {0};
        if (CHECK_INT(parse(texts[i], &config, &error), ROTARY_OK))
            rope_config_free(&config);
        else
            printf("  %s\n", error.message);
    }
}

int main(void)
{
    test_sizes();
    test_refused();
    test_text();
    return check_report();
}
