/* SPDX-License-Identifier: Apache-2.0
 *
 * Configurations in all their spellings, and the messages for wrong ones.
 */
#include "huggingface/model_types.h"
#include "rope_config/rope_config.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

static rotary_status parse_for(const char *text, struct rope_config_request request,
                               struct rope_config *config, rotary_error *error)
{
    json_error_t wrong;
    json_t *object = json_loads(text, 0, &wrong);
    check_about("%s", text);
    if (!CHECK(object != NULL))
        return ROTARY_OUT_OF_MEMORY;
    request.find_family = model_types_find;
    rotary_status status = rope_config_parse(object, "config.json", &request, config, error);
    json_decref(object);
    return status;
}

static rotary_status parse(const char *text, const char *layer_type, struct rope_config *config,
                           rotary_error *error)
{
    return parse_for(text, (struct rope_config_request){.layer_type = layer_type}, config, error);
}

static bool reads(const char *text, const char *layer_type, struct rope_config *config)
{
    rotary_error error = {0};
    bool good = CHECK_INT(parse(text, layer_type, config, &error), ROTARY_OK);
    if (!good)
        printf("  %s\n", error.message);
    return good;
}

/* ---- spellings ---- */

#define MLA                                                                                                  \
    "{\"model_type\": \"deepseek_v3\", \"head_dim\": 64, \"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": "  \
    "64"

static void test_sizes(void)
{
    static const struct {
        const char *text;
        int64_t requested, head_dim, rotary_dim, rotary_start;
        double base;
    } cases[] = {
        {"{\"head_dim\": 128}", 0, 128, 128, 0, 10000},
        {"{\"hidden_size\": 4096, \"num_attention_heads\": 32, \"head_dim\": null}", 0, 128, 128, 0, 10000},
        {"{\"hidden_size\": 4096, \"num_attention_heads\": 32, \"head_dim\": 64}", 0, 64, 64, 0, 10000},
        {"{\"n_embd\": 4096, \"n_head\": 16, \"rotary_dim\": 64}", 0, 256, 64, 0, 10000},
        {"{\"head_dim\": 64, \"rotary_pct\": 0.25, \"rotary_emb_base\": 500}", 0, 64, 16, 0, 500},
        {"{\"head_dim\": 80, \"partial_rotary_factor\": 0.4, \"rope_theta\": 1e6}", 0, 80, 32, 0, 1e6},
        {"{\"head_dim\": 80, \"rope_parameters\": {\"rope_theta\": 7, \"partial_rotary_factor\": 0.5}}", 0,
         80, 40, 0, 7},
        {"{\"head_dim\": 64, \"partial_rotary_factor\": 0.5, \"span\": \"back\"}", 0, 64, 32, 32, 10000},
        {"{\"head_dim\": 64, \"partial_rotary_factor\": 0.25, \"span\": \"back\"}", 0, 64, 16, 48, 10000},
        {"{\"head_dim\": 8, \"rope_theta\": 3, \"rope_parameters\": {\"rope_theta\": 7}}", 0, 8, 8, 0, 7},
        {"{\"text_config\": {\"head_dim\": 32, \"rope_theta\": 5}, \"rope_scaling\": null}", 0, 32, 32, 0, 5},
        {"{\"hidden_size\": 64, \"num_attention_heads\": 2, \"qk_rope_head_dim\": 16}", 0, 16, 16, 0, 10000},
        /* MLA: the tensors have the rotated part of a head, or all of it. */
        {MLA "}", 0, 64, 64, 0, 10000},
        {MLA "}", 64, 64, 64, 0, 10000},
        {MLA "}", 128, 64, 64, 0, 10000},
        {MLA "}", 192, 192, 64, 128, 10000},
        {MLA ", \"span\": \"front\"}", 192, 192, 64, 0, 10000},
        {MLA ", \"use_mla\": false}", 192, 64, 64, 0, 10000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config;
        rotary_error error = {0};
        struct rope_config_request request = {.head_dim = cases[i].requested};
        if (!CHECK_INT(parse_for(cases[i].text, request, &config, &error), ROTARY_OK))
            continue;
        CHECK_INT(config.plan.head_dim, cases[i].head_dim);
        CHECK_INT(config.plan.rotary_dim, cases[i].rotary_dim);
        CHECK_INT(config.plan.rotary_start, cases[i].rotary_start);
        CHECK_NEAR(config.plan.base, cases[i].base, 0);
        CHECK_TEXT(config.rope_type, "default");
        rope_config_free(&config);
    }
}

/* One rotation, by every place and spelling of its keys. */
static void test_spellings(void)
{
    static const char *const texts[] = {
        "{\"head_dim\": 8, \"rope_theta\": 9, \"max_position_embeddings\": 256, \"rope_scaling\": {\"type\": "
        "\"yarn\", \"factor\": 4.0, \"original_max_position_embeddings\": 64, \"truncate\": false}}",
        "{\"head_dim\": 8, \"rope_theta\": 9, \"max_position_embeddings\": 256, \"rope_scaling\": "
        "{\"rope_type\": "
        "\"yarn\", \"type\": \"linear\", \"factor\": 4, \"original_max_position_embeddings\": 64, "
        "\"beta_fast\": "
        "null, \"truncate\": false}}",
        "{\"head_dim\": 8, \"max_position_embeddings\": 256, \"rope_parameters\": {\"rope_type\": \"yarn\", "
        "\"rope_theta\": 9, \"factor\": 4, \"original_max_position_embeddings\": 64, \"truncate\": false}}",
        "{\"head_dim\": 8, \"max_position_embeddings\": 256, \"rope_type\": \"yarn\", \"rope_theta\": 9, "
        "\"factor\": "
        "4, \"original_max_position_embeddings\": 64, \"truncate\": false}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct rope_config config;
        if (!reads(texts[i], NULL, &config))
            continue;
        const rotary_rope_config *plan = &config.plan;
        CHECK_INT(plan->scaling, ROTARY_SCALING_YARN);
        CHECK_NEAR(plan->factor, 4, 0);
        CHECK_NEAR(plan->base, 9, 0);
        CHECK_NEAR(plan->beta_fast, 32, 0);
        CHECK_INT(plan->original_positions, 64);
        CHECK_INT(plan->max_positions, 256);
        CHECK(!plan->truncate);
        rope_config_free(&config);
    }
}

static void test_types(void)
{
    static const struct {
        const char *type;
        rotary_scaling scaling;
    } cases[] = {
        {"default", ROTARY_SCALING_NONE},        {"mrope", ROTARY_SCALING_NONE},
        {"linear", ROTARY_SCALING_LINEAR},       {"ntk", ROTARY_SCALING_NTK},
        {"dynamic", ROTARY_SCALING_DYNAMIC_NTK}, {"yarn", ROTARY_SCALING_YARN},
        {"longrope", ROTARY_SCALING_LONGROPE},   {"su", ROTARY_SCALING_LONGROPE},
        {"llama3", ROTARY_SCALING_LLAMA3},       {"proportional", ROTARY_SCALING_PROPORTIONAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "{\"head_dim\": 4, \"max_position_embeddings\": 128, \"partial_rotary_factor\": 1, "
                 "\"rope_scaling\": {\"rope_type\": \"%s\", \"factor\": 2, \"low_freq_factor\": 1, "
                 "\"high_freq_factor\": 4, \"original_max_position_embeddings\": 64, "
                 "\"short_factor\": [1, 2], \"long_factor\": [3, 4]}}",
                 cases[i].type);
        struct rope_config config;
        if (!reads(text, NULL, &config))
            continue;
        CHECK_INT(config.plan.scaling, cases[i].scaling);
        if (config.plan.scaling == ROTARY_SCALING_LONGROPE) {
            CHECK_NEAR(config.plan.short_factors[1], 2, 0);
            CHECK_NEAR(config.plan.long_factors[0], 3, 0);
        }
        rope_config_free(&config);
    }
}

static void test_layer_types(void)
{
    static const char keyed[] = "{\"head_dim\": 8, \"rope_parameters\": {\"full_attention\": {\"rope_type\": "
                                "\"linear\", \"factor\": 8, \"rope_theta\": 1e6}, \"sliding_attention\": "
                                "{\"rope_theta\": 1e4}}}";
    static const char old[] = "{\"head_dim\": 8, \"rope_theta\": 1e6, \"rope_local_base_freq\": 1e4, "
                              "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 8}}";
    static const char both[] =
        "{\"head_dim\": 8, \"rope_theta\": 1e6, \"rope_local_base_freq\": 1e4, "
        "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 8, \"rope_theta\": 1e6}, "
        "\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"linear\", \"factor\": 8, "
        "\"rope_theta\": 1e6}, "
        "\"sliding_attention\": {\"rope_theta\": 1e4}}}";
    const char *const texts[] = {keyed, old, both};
    for (int i = 0; i < 3; i++) {
        struct rope_config config;
        if (reads(texts[i], "full_attention", &config)) {
            CHECK_NEAR(config.plan.base, 1e6, 0);
            CHECK_NEAR(config.plan.factor, 8, 0);
            CHECK_INT(config.plan.scaling, ROTARY_SCALING_LINEAR);
            rope_config_free(&config);
        }
        if (reads(texts[i], "sliding_attention", &config)) {
            CHECK_NEAR(config.plan.base, 1e4, 0);
            CHECK_INT(config.plan.scaling, ROTARY_SCALING_NONE);
            rope_config_free(&config);
        }
    }
}

static void test_own_keys(void)
{
    struct rope_config config;
    if (reads("{\"head_dim\": 8, \"pairing\": \"interleaved\", \"angles\": \"f32\", \"tables\": \"bf16\", "
              "\"xpos_scale\": 512, \"xpos_origin\": -3.5, \"pair_factors\": [1, 2, 3, 4]}",
              NULL, &config)) {
        CHECK_INT(config.plan.pairing, ROTARY_PAIRING_INTERLEAVED);
        CHECK(config.plan.angles_f32);
        CHECK_INT(config.plan.table_dtype, ROTARY_BF16);
        CHECK_NEAR(config.plan.xpos_scale, 512, 0);
        CHECK_NEAR(config.plan.xpos_origin, -3.5, 0);
        CHECK_NEAR(config.plan.pair_factors[3], 4, 0);
        rope_config_free(&config);
    }
    if (reads("{\"head_dim\": 4, \"inverse_frequencies\": [1, -0.5]}", NULL, &config)) {
        CHECK_NEAR(config.plan.inverse_frequencies[1], -0.5, 0);
        rope_config_free(&config);
    }
    static const struct {
        const char *more;
        rotary_axes axes;
    } axes[] = {{"", ROTARY_AXES_SECTIONS},
                {", \"mrope_interleaved\": true", ROTARY_AXES_INTERLEAVED},
                {", \"axes\": \"separate\"", ROTARY_AXES_SEPARATE}};
    for (int i = 0; i < 3; i++) {
        char text[256];
        snprintf(
            text, sizeof text,
            "{\"head_dim\": 16, \"rope_scaling\": {\"type\": \"mrope\", \"mrope_section\": [4, 2, 2]%s}}",
            axes[i].more);
        if (reads(text, NULL, &config)) {
            CHECK_INT(config.plan.axes, axes[i].axes);
            CHECK_INT(config.plan.sections[0], 4);
            CHECK_INT(config.plan.sections[2], 2);
            rope_config_free(&config);
        }
    }
}

/* ---- single models ---- */

static void test_models(void)
{
    struct rope_config config;
    /* Hunyuan: static, by alpha; its factor is 1. */
    if (reads("{\"head_dim\": 8, \"max_position_embeddings\": 64, \"rope_scaling\": {\"type\": \"dynamic\", "
              "\"alpha\": 1000.0, \"factor\": 1.0, \"beta_fast\": 32, \"beta_slow\": 1, \"mscale\": 1.0, "
              "\"mscale_all_dim\": 0.0}}",
              NULL, &config)) {
        CHECK_INT(config.plan.scaling, ROTARY_SCALING_NTK);
        CHECK_NEAR(config.plan.factor, 1000, 0);
        CHECK_TEXT(config.rope_type, "ntk");
        rope_config_free(&config);
    }
    if (reads("{\"head_dim\": 8, \"max_position_embeddings\": 64, \"rope_scaling\": {\"type\": \"dynamic\", "
              "\"alpha\": 4.0}}",
              NULL, &config)) {
        CHECK_NEAR(config.plan.factor, 4, 0);
        rope_config_free(&config);
    }
    /* Phi-3.5-MoE: an attention factor for each list. */
    if (reads(
            "{\"head_dim\": 4, \"max_position_embeddings\": 128, \"rope_scaling\": {\"type\": \"longrope\", "
            "\"short_factor\": [1, 1], \"long_factor\": [2, 3], \"short_mscale\": 1.25, \"long_mscale\": "
            "1.5, "
            "\"original_max_position_embeddings\": 64}}",
            NULL, &config)) {
        CHECK_NEAR(config.plan.short_attention_factor, 1.25, 0);
        CHECK_NEAR(config.plan.long_attention_factor, 1.5, 0);
        rope_config_free(&config);
    }
    /* Gemma 3 12B as it was published: its head_dim is not 3840 / 16, nor its base 10000. */
    if (reads("{\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"gemma3_text\", "
              "\"hidden_size\": 3840, "
              "\"num_attention_heads\": 16, \"rope_scaling\": {\"factor\": 8.0, \"rope_type\": \"linear\"}}}",
              "full_attention", &config)) {
        CHECK_INT(config.plan.head_dim, 256);
        CHECK_NEAR(config.plan.base, 1e6, 0);
        rope_config_free(&config);
    }
    /* ChatGLM3's code rotates half of kv_channels; its file does not say so. */
    if (reads("{\"model_type\": \"chatglm\", \"hidden_size\": 4096, \"num_attention_heads\": 32, "
              "\"kv_channels\": 128, "
              "\"original_rope\": true, \"rope_ratio\": 50}",
              NULL, &config)) {
        CHECK_INT(config.plan.head_dim, 128);
        CHECK_INT(config.plan.rotary_dim, 64);
        CHECK_INT(config.plan.pairing, ROTARY_PAIRING_INTERLEAVED);
        CHECK_NEAR(config.plan.base, 500000, 0);
        rope_config_free(&config);
    }
    /* The file overrides the defaults of its family. */
    if (reads("{\"model_type\": \"gpt_neox\", \"head_dim\": 64, \"rotary_pct\": 1.0}", NULL, &config)) {
        CHECK_INT(config.plan.rotary_dim, 64);
        rope_config_free(&config);
    }
    if (reads("{\"model_type\": \"gpt_neox\", \"head_dim\": 64}", NULL, &config)) {
        CHECK_INT(config.plan.rotary_dim, 16);
        rope_config_free(&config);
    }
    if (reads("{\"model_type\": \"gemma3_text\", \"head_dim\": 64, \"rope_theta\": 5000}", "full_attention",
              &config)) {
        CHECK_INT(config.plan.head_dim, 64);
        CHECK_NEAR(config.plan.base, 5000, 0);
        rope_config_free(&config);
    }
    /* Phi-3 within another model, whose files leave out the defaults of Phi-3. */
    if (reads(
            "{\"model_type\": \"phi3\", \"head_dim\": 4, \"max_position_embeddings\": 131072, "
            "\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1, 1], \"long_factor\": [2, 3]}}",
            NULL, &config)) {
        CHECK_INT(config.plan.original_positions, 4096);
        CHECK_INT(config.plan.max_positions, 131072);
        rope_config_free(&config);
    }
    if (reads("{\"head_dim\": 8, \"rope_ratio\": 50}", NULL, &config)) { /* ChatGLM */
        CHECK_NEAR(config.plan.base, 500000, 0);
        rope_config_free(&config);
    }
    /* ModernBERT in both spellings. */
    static const char *const two[] = {
        "{\"head_dim\": 8, \"global_rope_theta\": 160000.0, \"local_rope_theta\": 10000.0}",
        "{\"head_dim\": 8, \"rope_parameters\": {\"full_attention\": {\"rope_type\": \"default\", "
        "\"rope_theta\": 160000.0}, \"sliding_attention\": {\"rope_type\": \"default\", \"rope_theta\": "
        "10000.0}}}"};
    for (int i = 0; i < 2; i++) {
        if (reads(two[i], "full_attention", &config)) {
            CHECK_NEAR(config.plan.base, 160000, 0);
            rope_config_free(&config);
        }
        if (reads(two[i], "sliding_attention", &config)) {
            CHECK_NEAR(config.plan.base, 10000, 0);
            rope_config_free(&config);
        }
    }
    if (reads("{\"head_dim\": 80, \"rotary_emb_fraction\": 0.5, \"rotary_emb_scale_base\": null, "
              "\"num_attention_heads\": 12, \"num_key_value_heads\": 4}",
              NULL, &config)) {
        CHECK_INT(config.plan.rotary_dim, 40);
        CHECK_INT(config.query_heads, 12);
        CHECK_INT(config.key_heads, 4);
        rope_config_free(&config);
    }
}

/* Defaults of families, for files as they were published. */
static void test_family_defaults(void)
{
    static const struct {
        const char *text, *layer_type;
        int64_t head_dim, rotary_dim, rotary_start;
        double base;
        rotary_scaling scaling;
        double factor;
    } cases[] = {
        /* LLaVA 1.5 */
        {"{\"model_type\": \"llava\", \"text_config\": {\"model_type\": \"llama\", "
         "\"max_position_embeddings\": 4096}}",
         NULL, 128, 128, 0, 10000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"qwen3\", \"hidden_size\": 1024, \"num_attention_heads\": 16}", NULL, 128, 128, 0,
         10000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"qwen3\", \"hidden_size\": 1024, \"num_attention_heads\": 16, \"head_dim\": "
         "null}",
         NULL, 64, 64, 0, 10000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"cohere\", \"hidden_size\": 8192, \"num_attention_heads\": 64}", NULL, 128, 128,
         0, 500000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"gpt_oss\", \"rope_scaling\": null}", NULL, 64, 64, 0, 150000,
         ROTARY_SCALING_YARN, 32},
        {"{\"model_type\": \"gpt_oss\", \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}}", NULL, 64,
         64, 0, 150000, ROTARY_SCALING_LINEAR, 2},
        {"{\"model_type\": \"gpt_oss\", \"rope_theta\": 7}", NULL, 64, 64, 0, 7, ROTARY_SCALING_YARN, 32},
        {"{\"model_type\": \"higgs_audio_v2\"}", NULL, 128, 128, 0, 500000, ROTARY_SCALING_LLAMA3, 32},
        {"{\"model_type\": \"higgs_audio_v2\", \"rope_parameters\": {\"rope_type\": \"default\"}}", NULL, 128,
         128, 0, 10000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"gptj\"}", NULL, 256, 64, 0, 10000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"jetmoe\", \"hidden_size\": 2048, \"num_attention_heads\": 32, \"kv_channels\": "
         "96}",
         NULL, 96, 96, 0, 10000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"zamba2\", \"hidden_size\": 2560, \"num_attention_heads\": 32, "
         "\"attention_head_dim\": 160, \"kv_channels\": 80, \"use_mem_rope\": true}",
         NULL, 160, 160, 0, 10000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"dbrx\", \"d_model\": 6144, \"n_heads\": 48, \"attn_config\": {\"kv_n_heads\": "
         "8, "
         "\"rope_theta\": 500000}}",
         NULL, 128, 128, 0, 500000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"gptj\", \"rotary\": true}", NULL, 256, 64, 0, 10000, ROTARY_SCALING_NONE, 0},
        {"{\"head_dim\": 8, \"use_rotary_pos_emb\": true, \"rope\": true, \"position_embedding_type\": "
         "\"rope_gptj\"}",
         NULL, 8, 8, 0, 10000, ROTARY_SCALING_NONE, 0},
        /* MLA, and heads of other attention in an MLA family. */
        {"{\"model_type\": \"deepseek_v3\", \"hidden_size\": 7168, \"num_attention_heads\": 128}", NULL, 64,
         64, 0, 10000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"mistral4\", \"head_dim\": 128, \"qk_nope_head_dim\": 64, \"qk_rope_head_dim\": "
         "48, \"rope_parameters\": {\"rope_type\": \"default\", \"partial_rotary_factor\": 0.5}}",
         NULL, 48, 48, 0, 10000, ROTARY_SCALING_NONE, 0},
        {"{\"hidden_size\": 64, \"num_attention_heads\": 2, \"head_dim\": 96, \"qk_nope_head_dim\": 64, "
         "\"qk_rope_head_dim\": 32}",
         NULL, 32, 32, 0, 10000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"deepseek_v2\", \"hidden_size\": 1280, \"num_attention_heads\": 10, "
         "\"qk_nope_head_dim\": 0, \"qk_rope_head_dim\": 0, \"use_mla\": false}",
         NULL, 128, 128, 0, 10000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"deepseek_v4\", \"head_dim\": 512, \"qk_rope_head_dim\": 64}", "main", 512, 64,
         448, 10000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"deepseek_v4\"}", "compress", 512, 64, 448, 160000, ROTARY_SCALING_NONE, 0},
        /* Types of layers. */
        {"{\"model_type\": \"gemma3_text\"}", "sliding_attention", 256, 256, 0, 10000, ROTARY_SCALING_NONE,
         0},
        {"{\"model_type\": \"gemma3_text\", \"rope_theta\": 5e5, \"rope_scaling\": {\"rope_type\": "
         "\"linear\", \"factor\": 8}}",
         "sliding_attention", 256, 256, 0, 10000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"gemma3_text\", \"rope_theta\": 5e5, \"rope_scaling\": {\"rope_type\": "
         "\"linear\", \"factor\": 8}}",
         "full_attention", 256, 256, 0, 500000, ROTARY_SCALING_LINEAR, 8},
        {"{\"model_type\": \"gemma3_text\", \"rope_parameters\": {\"sliding_attention\": {\"rope_theta\": "
         "2e4}}}",
         "full_attention", 256, 256, 0, 1e6, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"gemma3_text\", \"rope_theta\": 5, \"rope_parameters\": {\"sliding_attention\": "
         "{\"rope_type\": \"default\"}}}",
         "sliding_attention", 256, 256, 0, 10000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"gemma4_text\"}", "full_attention", 512, 512, 0, 1e6, ROTARY_SCALING_PROPORTIONAL,
         0},
        {"{\"model_type\": \"gemma4_text\", \"rope_parameters\": {\"full_attention\": {\"rope_type\": "
         "\"linear\", \"factor\": 2}}}",
         "full_attention", 512, 512, 0, 1e6, ROTARY_SCALING_LINEAR, 2},
        {"{\"model_type\": \"laguna\", \"rope_parameters\": {\"full_attention\": {\"rope_theta\": 7}}}",
         "full_attention", 128, 128, 0, 7, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"laguna\"}", "full_attention", 128, 64, 0, 500000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"gemma4_text\", \"head_dim\": 128}", "sliding_attention", 128, 128, 0, 10000,
         ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"mimo_v2_flash\", \"rope_theta\": 6e6, \"swa_rope_theta\": 3e4}",
         "sliding_attention", 192, 64, 0, 3e4, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"mimo_v2_flash\", \"rope_theta\": 6e6, \"swa_rope_theta\": 3e4}",
         "full_attention", 192, 64, 0, 6e6, ROTARY_SCALING_NONE, 0},
        {"{\"head_dim\": 8, \"rope_theta\": 7, \"rope_local_base_freq\": 5}", "full_attention", 8, 8, 0, 7,
         ROTARY_SCALING_NONE, 0},
        /* A language model within another model, one level down or two. */
        {"{\"model_type\": \"qwen2_5_omni\", \"thinker_config\": {\"text_config\": {\"hidden_size\": 3584, "
         "\"num_attention_heads\": 28}}}",
         NULL, 128, 128, 0, 1e6, ROTARY_SCALING_NONE, 0},
        {"{\"hidden_size\": 99, \"llm_config\": {\"hidden_size\": 64, \"num_attention_heads\": 2}}", NULL, 32,
         32, 0, 10000, ROTARY_SCALING_NONE, 0},
        /* Keys that name a rotation and change none, and a type without rotation that a file gives one. */
        {"{\"head_dim\": 8, \"layer_property\": 3, \"no_rope_layers\": [1], \"use_rope\": true}", NULL, 8, 8,
         0, 10000, ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"bert\", \"head_dim\": 8, \"rope_theta\": 5}", NULL, 8, 8, 0, 5,
         ROTARY_SCALING_NONE, 0},
        {"{\"model_type\": \"granite_swa\", \"layer_rope_theta\": [3e4, 0, 3e4], \"rope_theta\": 3e4}", NULL,
         128, 128, 0, 3e4, ROTARY_SCALING_NONE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config;
        if (!reads(cases[i].text, cases[i].layer_type, &config))
            continue;
        CHECK_INT(config.plan.head_dim, cases[i].head_dim);
        CHECK_INT(config.plan.rotary_dim, cases[i].rotary_dim);
        CHECK_INT(config.plan.rotary_start, cases[i].rotary_start);
        CHECK_NEAR(config.plan.base, cases[i].base, 0);
        CHECK_INT(config.plan.scaling, cases[i].scaling);
        CHECK_NEAR(config.plan.factor, cases[i].factor, 0);
        rope_config_free(&config);
    }
}

/* Interleaved axes, by a key or by the family. */
static void test_interleaved_axes(void)
{
    static const struct {
        const char *text;
        rotary_axes axes;
    } cases[] = {
        {"{\"model_type\": \"qwen3_vl_text\", \"rope_scaling\": {\"mrope_section\": [24, 20, 20]}}",
         ROTARY_AXES_INTERLEAVED},
        {"{\"model_type\": \"qwen2_vl\", \"rope_scaling\": {\"mrope_section\": [16, 24, 24]}}",
         ROTARY_AXES_SECTIONS},
        {"{\"head_dim\": 16, \"rope_scaling\": {\"interleaved\": true, \"mrope_section\": [4, 2, 2]}}",
         ROTARY_AXES_INTERLEAVED},
        {"{\"head_dim\": 16, \"rope_scaling\": {\"interleaved\": false, \"mrope_section\": [4, 2, 2]}}",
         ROTARY_AXES_SECTIONS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config;
        if (!reads(cases[i].text, NULL, &config))
            continue;
        CHECK_INT(config.plan.axes, cases[i].axes);
        rope_config_free(&config);
    }
}

static void test_pairings(void)
{
    static const struct {
        const char *text;
        rotary_pairing pairing;
        const char *from;
    } cases[] = {
        {"{\"head_dim\": 8}", ROTARY_PAIRING_HALF, "default"},
        {"{\"head_dim\": 8, \"model_type\": \"llama\"}", ROTARY_PAIRING_HALF, "default"},
        {"{\"head_dim\": 8, \"model_type\": \"gptj\", \"rotary_dim\": 8}", ROTARY_PAIRING_INTERLEAVED,
         "model_type"},
        {"{\"head_dim\": 8, \"model_type\": \"cohere2\"}", ROTARY_PAIRING_INTERLEAVED, "model_type"},
        {"{\"model_type\": \"llama4\", \"text_config\": {\"head_dim\": 8, \"no_rope_layers\": [1, 0]}}",
         ROTARY_PAIRING_INTERLEAVED, "model_type"},
        {"{\"head_dim\": 8, \"model_type\": \"roformer\", \"pairing\": \"half\"}", ROTARY_PAIRING_HALF,
         "pairing"},
        {"{\"head_dim\": 8, \"model_type\": \"deepseek_v3\", \"rope_interleave\": false}",
         ROTARY_PAIRING_HALF, "rope_interleave"},
        {"{\"model_type\": \"deepseek_v2\", \"use_mla\": false}", ROTARY_PAIRING_HALF, "use_mla"},
        {"{\"model_type\": \"moonshine_streaming\", \"head_dim\": 40}", ROTARY_PAIRING_INTERLEAVED,
         "model_type"},
        {"{\"head_dim\": 8, \"rope_interleave\": true}", ROTARY_PAIRING_INTERLEAVED, "rope_interleave"},
        {"{\"head_dim\": 8, \"rotary_emb_interleaved\": true}", ROTARY_PAIRING_INTERLEAVED,
         "rotary_emb_interleaved"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config;
        if (!reads(cases[i].text, NULL, &config))
            continue;
        CHECK_INT(config.plan.pairing, cases[i].pairing);
        CHECK_TEXT(config.pairing_from, cases[i].from);
        rope_config_free(&config);
    }
}

/* An unknown key is accepted where it is ignored by name. */
static void test_ignored(void)
{
    static const char text[] =
        "{\"head_dim\": 8, \"rope_magic\": 3, \"rope_scaling\": {\"type\": \"linear\", "
        "\"factor\": 2, \"gamma\": 1}}";
    const char *const lists[][3] = {{NULL}, {"gamma", NULL}, {"gamma", "rope_magic", NULL}};
    for (int count = 0; count <= 2; count++) {
        struct rope_config_request request = {.ignored = lists[count]};
        struct rope_config config;
        rotary_error error = {0};
        rotary_status status = parse_for(text, request, &config, &error);
        CHECK_INT(status, count == 2 ? ROTARY_OK : ROTARY_BAD_FILE);
        if (status == ROTARY_OK)
            rope_config_free(&config);
        else
            CHECK(strstr(error.message, "--ignore rope_magic") != NULL);
    }
}

/* So are models that are refused by type or by a known key. */
static void test_ignored_models(void)
{
    static const char *const texts[] = {"{\"head_dim\": 8, \"model_type\": \"bert\"}",
                                        "{\"head_dim\": 8, \"model_type\": \"nanochat\"}",
                                        "{\"head_dim\": 8, \"use_dynamic_ntk\": true}"};
    static const char *const ignored[] = {"model_type", "use_dynamic_ntk", NULL};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct rope_config_request request = {.ignored = ignored};
        struct rope_config config;
        rotary_error error = {0};
        if (CHECK_INT(parse_for(texts[i], request, &config, &error), ROTARY_OK))
            rope_config_free(&config);
    }
}

/* ---- refusals ---- */

static void test_refusals(void)
{
    static const struct {
        const char *text, *layer_type, *message;
    } cases[] = {
        {"{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2, \"gamma\": 3}}", NULL,
         "config.json: \"rope_scaling\" has the key \"gamma\", which is not known and may change the angles; "
         "wanted one "
         "that is known, or --ignore gamma"},
        {"{\"head_dim\": 8, \"rope_parameters\": {\"a\": {\"rope_type\": \"yarn\", \"facor\": 2}}}", NULL,
         "\"rope_parameters\" has the key \"facor\", which is not known and may change the angles (did you "
         "mean "
         "\"factor\"?)"},
        {"{\"head_dim\": 8, \"rotary_phase\": 3}", NULL, "the model has the key \"rotary_phase\""},
        {"{\"head_dim\": 8, \"rope_parameters\": {\"a\": {\"rope_theta\": 2}, \"b\": 5}}", NULL,
         "\"rope_parameters\" has the key \"b\", which is not known"},
        {"{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2, \"alpha\": 3}}", NULL,
         "has an \"alpha\" with rope_type linear, wanted rope_type dynamic"},
        {"{\"head_dim\": 8, \"rope_interleave\": 1}", NULL, "\"rope_interleave\" is 1, wanted true or false"},
        {"{\"head_dim\": 8, \"num_attention_heads\": 12, \"num_key_value_heads\": 5}", NULL,
         "has 5 key heads, wanted a divisor of its 12 query heads"},
        {"{}", NULL, "config.json has no \"head_dim\", wanted that, or \"hidden_size\""},
        {"{\"head_dim\": 0}", NULL, "config.json: \"head_dim\" is 0, wanted a whole number from 1 up"},
        {"{\"head_dim\": 1e300}", NULL, "\"head_dim\" is 1e300, wanted"},
        {"{\"head_dim\": true}", NULL, "\"head_dim\" is true, wanted"},
        {"{\"head_dim\": 7}", NULL, "7 of a head's 7 channels would rotate, wanted an even number"},
        {"{\"head_dim\": 8, \"attn_config\": {\"rope\": true, \"rope_hf_config\": {\"type\": \"linear\"}}}",
         NULL, "\"attn_config\" has the key \"rope_hf_config\", which is not known"},
        {"{\"head_dim\": 8, \"attn_config\": {\"rope\": false}}", NULL, "\"rope\" is false, wanted true"},
        {"{\"head_dim\": 8, \"attn_config\": {\"alibi\": true}}", NULL, "\"alibi\" is true, wanted false"},
        {"{\"model_type\": \"gptj\", \"rotary_dim\": null}", NULL, "\"rotary_dim\" is null"},
        {"{\"head_dim\": 8, \"rotary_dim\": 10}", NULL, "10 of a head's 8 channels would rotate"},
        {"{\"hidden_size\": 9, \"num_attention_heads\": 2}", NULL, "\"hidden_size\" is 9, wanted a multiple"},
        {"{\"head_dim\": 8, \"rope_theta\": \"10000\"}", NULL,
         "\"rope_theta\" is \"10000\", wanted a number above 0"},
        {"{\"head_dim\": 8, \"partial_rotary_factor\": 1.5}", NULL,
         "\"partial_rotary_factor\" is 1.5, wanted"},
        {"{\"head_dim\": 8, \"rope_scaling\": []}", NULL, "\"rope_scaling\" is [], wanted an object or null"},
        {"{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"yran\", \"factor\": 2}}", NULL,
         "\"type\" is \"yran\", wanted default, linear, ntk, dynamic, yarn, longrope, llama3, "
         "proportional or axial; did "
         "you mean \"yarn\"?"},
        {"{\"head_dim\": 8, \"rope_scaling\": {\"rope_type\": 3}}", NULL,
         "\"rope_type\" is 3, wanted default"},
        {"{\"head_dim\": 8, \"rope_scaling\": {\"factor\": 2}}", NULL, "\"factor\" and no \"rope_type\""},
        {"{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"linear\"}}", NULL,
         "has no \"factor\", which rope_type linear needs"},
        {"{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"linear\", \"factor\": -1}}", NULL,
         "\"factor\" is -1, wanted"},
        {"{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 2}}", NULL,
         "has no \"max_position_embeddings\""},
        {"{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"llama3\", \"factor\": 2, \"low_freq_factor\": 1, "
         "\"high_freq_factor\": 4}}",
         NULL, "has no \"original_max_position_embeddings\""},
        {"{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"llama3\", \"factor\": 2, \"low_freq_factor\": 5, "
         "\"high_freq_factor\": 4, \"original_max_position_embeddings\": 8}}",
         NULL, "\"low_freq_factor\" is 5, wanted at most"},
        {"{\"head_dim\": 8, \"max_position_embeddings\": 8, \"rope_scaling\": {\"type\": \"longrope\", "
         "\"short_factor\": [1, 1, 1, 1], \"long_factor\": [1, 1, 1]}}",
         NULL, "\"long_factor\" has 3 entries, wanted a list of 4 numbers"},
        {"{\"head_dim\": 4, \"max_position_embeddings\": 8, \"rope_scaling\": {\"type\": \"longrope\", "
         "\"short_factor\": [1, 0], \"long_factor\": [1, 1]}}",
         NULL, "\"short_factor[1]\" is 0, wanted a number above 0"},
        {"{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"mrope\", \"mrope_section\": [1, 2]}}", NULL,
         "\"mrope_section\" is [1,2], wanted a list of 1 to 4 whole numbers, together 4"},
        {"{\"head_dim\": 8, \"rope_scaling\": {\"mrope_section\": [4]}, \"axes\": \"rows\"}", NULL,
         "\"axes\" is \"rows\", wanted sections, interleaved or separate"},
        {"{\"head_dim\": 8, \"pairing\": \"halves\"}", NULL,
         "\"pairing\" is \"halves\", wanted half or interleaved; did you mean \"half\"?"},
        {"{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}, \"rope_parameters\": "
         "{\"rope_theta\": 2}}",
         NULL, "both \"rope_scaling\" and \"rope_parameters\""},
        {"{\"head_dim\": 8, \"rope_scaling\": {\"rope_theta\": 3}, \"rope_parameters\": {\"full_attention\": "
         "{\"rope_theta\": 2}, \"sliding_attention\": {\"rope_theta\": 3}}}",
         "sliding_attention", "both \"rope_scaling\" and \"rope_parameters\""},
        {"{\"head_dim\": 8, \"rope_parameters\": {\"full\": {\"rope_theta\": 2}, \"sliding\": "
         "{\"rope_theta\": 3}}}",
         NULL,
         "config.json: layer types have different rotations; wanted --layer-type with one of full, "
         "sliding"},
        {"{\"head_dim\": 8, \"rope_parameters\": {\"full\": {\"rope_theta\": 2}, \"sliding\": "
         "{\"rope_theta\": 3}}}",
         "slidng", "has no layer type \"slidng\", wanted one of full, sliding; did you mean \"sliding\"?"},
        {"{\"head_dim\": 8, \"position_encoding_2d\": true}", NULL,
         "\"position_encoding_2d\" is true, wanted false"},
        {"{\"head_dim\": 8, \"use_dynamic_ntk\": true}", NULL, "wanted false, or --ignore use_dynamic_ntk: "},
        {"{\"model_type\": \"falcon\", \"alibi\": true}", NULL, "wanted false, or --ignore alibi: ALiBi"},
        {"{\"head_dim\": 8, \"use_alibi\": true}", NULL, "\"use_alibi\" is true"},
        {"{\"head_dim\": 8, \"use_rotary_pos_emb\": false}", NULL, "\"use_rotary_pos_emb\" is false"},
        {"{\"head_dim\": 8, \"rope\": false}", NULL, "\"rope\" is false, wanted true"},
        {"{\"head_dim\": 8, \"rotary\": {\"base\": 10000, \"type\": \"dynamic\"}}", NULL, /* InternLM */
         "\"rotary\" is {\"base\":10000,\"type\":\"dynamic\"}, wanted true"},
        {"{\"head_dim\": 8, \"use_rope\": false}", NULL, "wanted true, or --ignore use_rope: the model"},
        {"{\"model_type\": \"zamba2\", \"use_mem_rope\": false, \"attention_head_dim\": 8}", NULL,
         "\"use_mem_rope\" is false, wanted true"},
        {"{\"model_type\": \"zamba2\", \"attention_head_dim\": 8}", NULL, "has no \"use_mem_rope\""},
        {"{\"model_type\": \"zamba2\", \"use_mem_rope\": true}", NULL, "has no \"attention_head_dim\""},
        {"{\"head_dim\": 8, \"position_embedding_type\": \"absolute\"}", NULL,
         "\"position_embedding_type\" is \"absolute\", wanted rotary or rope"},
        {"{\"model_type\": \"esm\", \"position_embedding_type\": \"absolute\"}", NULL, "is \"absolute\""},
        {"{\"model_type\": \"granitemoehybrid\"}", NULL, "has no \"position_embedding_type\", wanted rope"},
        {"{\"model_type\": \"esm\"}", NULL, "has no \"position_embedding_type\", wanted rotary"},
        {"{\"model_type\": \"baichuan\", \"head_dim\": 8, \"model_max_length\": 4096}", NULL,
         "has no \"max_position_embeddings\""},
        {"{\"model_type\": \"modernbert\", \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2}}",
         "full_attention", "wanted \"rope_parameters\" for each layer type"},
        {"{\"model_type\": \"granite_swa\", \"layer_rope_theta\": [1e4, 0, 2e4]}", NULL,
         "\"layer_rope_theta\" is [1e4,0,2e4], wanted one base"},
        {"{\"head_dim\": 8, \"partial_rotary_factors\": [0.5, 1]}", NULL, "\"partial_rotary_factors\" is"},
        {"{\"head_dim\": 8, \"layer_rope_phase\": 3}", NULL, "the model has the key \"layer_rope_phase\""},
        {"{\"model_type\": \"bert\", \"hidden_size\": 768, \"num_attention_heads\": 12}", NULL,
         "a model of type \"bert\" has no rotary embedding"},
        {"{\"model_type\": \"clip\", \"text_config\": {\"model_type\": \"clip_text_model\"}}", NULL,
         "a model of type \"clip_text_model\" has no rotary embedding"},
        {"{\"model_type\": \"nanochat\"}", NULL, "a model of type \"nanochat\" rotates backwards"},
        {"{\"model_type\": \"glm4v_vision\", \"head_dim\": 64}", NULL,
         "\"glm4v_vision\" rotates by position in an image"},
        {"{\"model_type\": \"ernie4_5_vl_moe\", \"text_config\": {\"rope_theta\": 5}}", NULL,
         "interleaves height and width before time"},
        {"{\"model_type\": \"gemma3_text\"}", NULL, "layer types have different rotations"},
        {"{\"head_dim\": 8, \"rope_local_base_freq\": 5}", NULL, "layer types have different rotations"},
        {"{\"model_type\": \"beam\"}", "full_attention",
         "\"full_attention\" is null, wanted an object: these layers have no rotation"},
        {"{\"model_type\": \"deepseek_v4\", \"rope_scaling\": {\"rope_theta\": 9}}", "main",
         "wanted an object for each layer type"},
        {"{\"head_dim\": 8}", "full_attention", "config.json has one rotation for all layer types"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config = {0};
        rotary_error error = {0};
        CHECK_INT(parse(cases[i].text, cases[i].layer_type, &config, &error), ROTARY_BAD_FILE);
        if (!CHECK(strstr(error.message, cases[i].message) != NULL))
            printf("  %s\n", error.message);
        CHECK(strncmp(error.message, "config.json", strlen("config.json")) == 0);
        CHECK(config.numbers == NULL);
    }
}

int main(void)
{
    test_sizes();
    test_spellings();
    test_types();
    test_layer_types();
    test_own_keys();
    test_models();
    test_family_defaults();
    test_interleaved_axes();
    test_pairings();
    test_ignored();
    test_ignored_models();
    test_refusals();
    return check_report();
}
