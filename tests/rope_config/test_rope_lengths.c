/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys that implementations read in different places: the context length before scaling, parameters beside
 * those of layer types, and what is refused because no rotation has it. Values are those of transformers
 * 5.24 and, for "ntk", of vLLM.
 */
#include "huggingface/model_types.h"
#include "rope_config/rope_config.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static rotary_status read(const char *text, struct rope_config_request request, struct rope_config *config,
                          rotary_error *error)
{
    json_error_t wrong;
    json_t *object = json_loads(text, 0, &wrong);
    check_about("%.180s", text);
    if (!CHECK(object != NULL))
        return ROTARY_OUT_OF_MEMORY;
    request.find_family = model_types_find;
    rotary_status status = rope_config_parse(object, "config.json", &request, config, error);
    json_decref(object);
    return status;
}

/* A plan of the text; NULL, and a failed check, if it is refused. The caller frees it and the numbers. */
static rotary_rope *make(const char *text, struct rope_config_request request, struct rope_config *config)
{
    rotary_error error = {0};
    rotary_rope *rope = NULL;
    if (CHECK_INT(read(text, request, config, &error), ROTARY_OK)) {
        config->plan.compat = request.compat;
        rotary_rope_config_drop_unread(&config->plan);
        CHECK_INT(rotary_rope_create(&rope, &config->plan, &error), ROTARY_OK);
    }
    if (!rope)
        printf("  %s\n", error.message);
    return rope;
}

/* ---- the length before scaling ---- */

#define SIZES                                                                                                \
    "{\"head_dim\": 8, \"num_attention_heads\": 2, \"max_position_embeddings\": 2048, "                      \
    "\"original_max_position_embeddings\": 512, \"rope_scaling\": {\"factor\": 2, \"rope_type\": "
#define INSIDE ", \"original_max_position_embeddings\": 1024"
#define LLAMA3 "\"llama3\", \"low_freq_factor\": 1, \"high_freq_factor\": 4"
#define LISTS  "\"longrope\", \"short_factor\": [1, 1, 1, 1], \"long_factor\": [2, 2, 2, 2]"

static void test_original(void)
{
    static const struct {
        const char *text;
        rotary_compat compat;
        int64_t original; /* 0: max_position_embeddings */
    } cases[] = {
        {SIZES "\"yarn\"" INSIDE "}}", ROTARY_COMPAT_NONE, 512},
        {SIZES "\"yarn\"" INSIDE "}}", ROTARY_COMPAT_HUGGINGFACE, 512},
        {SIZES "\"yarn\"}}", ROTARY_COMPAT_NONE, 512},
        {SIZES LLAMA3 INSIDE "}}", ROTARY_COMPAT_HUGGINGFACE, 512},
        {SIZES LISTS INSIDE "}}", ROTARY_COMPAT_HUGGINGFACE, 512},
        {SIZES "\"dynamic\"" INSIDE "}}", ROTARY_COMPAT_NONE, 1024},
        {"{\"head_dim\": 8, \"max_position_embeddings\": 2048, \"rope_scaling\": {\"factor\": 2, "
         "\"rope_type\": " LLAMA3 "}}",
         ROTARY_COMPAT_NONE, 0},
        {SIZES "\"dynamic\"" INSIDE "}}", ROTARY_COMPAT_GGML, 1024},
        {SIZES "\"dynamic\"" INSIDE "}}", ROTARY_COMPAT_HUGGINGFACE, 0},
        {SIZES "\"dynamic\"" INSIDE "}}", ROTARY_COMPAT_VLLM, 0},
        /* Where layer types have parameters, the length beside them is not read. */
        {"{\"head_dim\": 8, \"max_position_embeddings\": 2048, \"original_max_position_embeddings\": 512, "
         "\"rope_parameters\": {\"a\": {\"rope_type\": \"yarn\", \"factor\": 2" INSIDE "}}}",
         ROTARY_COMPAT_HUGGINGFACE, 1024},
        {"{\"head_dim\": 8, \"max_position_embeddings\": 2048, \"original_max_position_embeddings\": 512, "
         "\"rope_parameters\": {\"a\": {\"rope_type\": \"yarn\", \"factor\": 2}" INSIDE "}}",
         ROTARY_COMPAT_HUGGINGFACE, 0},
        /* Phi 3's class has a length of its own, 4096. */
        {"{\"model_type\": \"phi3\", \"head_dim\": 8, \"max_position_embeddings\": 16384, \"rope_scaling\": "
         "{\"type\": " LISTS INSIDE "}}",
         ROTARY_COMPAT_NONE, 4096},
        {"{\"model_type\": \"phi3\", \"head_dim\": 8, \"original_max_position_embeddings\": 256, "
         "\"rope_scaling\": {\"type\": " LISTS INSIDE "}}",
         ROTARY_COMPAT_NONE, 256},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config;
        rotary_rope *rope =
            make(cases[i].text, (struct rope_config_request){.compat = cases[i].compat}, &config);
        if (!rope)
            continue;
        CHECK_INT(config.plan.original_positions, cases[i].original);
        rotary_rope_destroy(rope);
        rope_config_free(&config);
    }
}

/* ---- NTK ---- */

#define NTK "\"head_dim\": 64, \"rope_theta\": 500000, \"rope_scaling\": {\"type\": \"ntk\", \"factor\": 2}}"

/* The base times 2^(d/(d-2)), or, where it is divided, the base times 2 and all frequencies by 2^(2/d). */
static void test_ntk(void)
{
    static const struct {
        const char *text;
        rotary_compat compat;
        bool divided;
    } cases[] = {
        {"{" NTK, ROTARY_COMPAT_NONE, false},
        {"{" NTK, ROTARY_COMPAT_HUGGINGFACE, false},
        {"{" NTK, ROTARY_COMPAT_VLLM, true},
        {"{\"model_type\": \"new\", " NTK, ROTARY_COMPAT_NONE, true},
        {"{\"model_type\": \"new\", " NTK, ROTARY_COMPAT_VLLM, true},
        /* Hunyuan's alpha is not vLLM's ntk. */
        {"{\"head_dim\": 64, \"max_position_embeddings\": 99, \"rope_theta\": 500000, \"rope_scaling\": {"
         "\"type\": \"dynamic\", \"alpha\": 2}}",
         ROTARY_COMPAT_VLLM, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config;
        rotary_rope *rope =
            make(cases[i].text, (struct rope_config_request){.compat = cases[i].compat}, &config);
        if (!rope)
            continue;
        for (int pair = 0; pair < 32; pair++) {
            const double exponent = cases[i].divided ? (pair + 1) / 32.0 : pair / 31.0,
                         wanted = pow(500000, -pair / 32.0) * pow(2, -exponent);
            CHECK_NEAR(rotary_rope_inverse_frequencies(rope)[pair], wanted, 1e-13 * wanted);
        }
        rotary_rope_destroy(rope);
        rope_config_free(&config);
    }
}

/* ---- beside the parameters of layer types ---- */

#define TYPED                                                                                                \
    "{\"head_dim\": 8, \"max_position_embeddings\": 256, \"rope_parameters\": {\"full\": {\"rope_theta\": "  \
    "100, \"rope_type\": \"yarn\", \"factor\": 2}, \"sliding\": {\"rope_theta\": 50}, "

static void test_beside(void)
{
    struct rope_config config;
    rotary_error error = {0};
    struct rope_config_request request = {.layer_type = "sliding"};
    /* They belong to no layer. */
    static const char text[] = TYPED "\"rope_theta\": 7, \"rope_type\": \"default\", \"factor\": null}}";
    if (CHECK_INT(read(text, request, &config, &error), ROTARY_OK)) {
        CHECK_NEAR(config.plan.base, 50, 0);
        CHECK_TEXT(config.rope_type, "default");
        rope_config_free(&config);
    }
    request.layer_type = NULL;
    CHECK_INT(read(text, request, &config, &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, "wanted --layer-type with one of full, sliding");
    CHECK(!strstr(error.message, "rope_theta"));
    request.layer_type = "rope_theta";
    CHECK_INT(read(text, request, &config, &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, "no layer type \"rope_theta\"|one of full, sliding");
    /* One that is alone needs no name. */
    request.layer_type = NULL;
    if (CHECK_INT(
            read("{\"head_dim\": 8, \"rope_parameters\": {\"rope_theta\": null, \"only\": {\"rope_theta\": "
                 "9}}}",
                 request, &config, &error),
            ROTARY_OK)) {
        CHECK_NEAR(config.plan.base, 9, 0);
        rope_config_free(&config);
    }
}

/* transformers reads "truncate" beside layer types alone. */
static void test_truncate(void)
{
    static const struct {
        const char *text;
        rotary_compat compat;
        bool truncate;
    } cases[] = {
        {TYPED "\"truncate\": false}}", ROTARY_COMPAT_NONE, false},
        {TYPED "\"truncate\": false}}", ROTARY_COMPAT_HUGGINGFACE, false},
        {"{\"head_dim\": 8, \"max_position_embeddings\": 256, \"rope_parameters\": {\"full\": "
         "{\"rope_type\": "
         "\"yarn\", \"factor\": 2, \"truncate\": false}}}",
         ROTARY_COMPAT_NONE, false},
        {"{\"head_dim\": 8, \"max_position_embeddings\": 256, \"rope_parameters\": {\"full\": "
         "{\"rope_type\": "
         "\"yarn\", \"factor\": 2, \"truncate\": false}}}",
         ROTARY_COMPAT_HUGGINGFACE, true},
        {"{\"head_dim\": 8, \"max_position_embeddings\": 256, \"rope_parameters\": {\"rope_type\": \"yarn\", "
         "\"factor\": 2, \"truncate\": false}}",
         ROTARY_COMPAT_HUGGINGFACE, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config;
        rotary_error error = {0};
        struct rope_config_request request = {.compat = cases[i].compat};
        if (strstr(cases[i].text, "\"full\""))
            request.layer_type = "full";
        if (CHECK_INT(read(cases[i].text, request, &config, &error), ROTARY_OK)) {
            CHECK_INT(config.plan.truncate, cases[i].truncate);
            rope_config_free(&config);
        }
    }
}

/* ---- what no rotation has ---- */

static void test_refused(void)
{
    static const struct {
        const char *text, *layer_type, *words, *ignored;
    } cases[] = {
        {TYPED "\"gamma\": 3}}", "full", "\"rope_parameters\" has the key \"gamma\"|--ignore gamma", "gamma"},
        {"{\"head_dim\": 8, \"rope_parameters\": {\"llama_4_scaling_beta\": 0.1}}", NULL,
         "\"llama_4_scaling_beta\" is 0.1, wanted 0, or --ignore llama_4_scaling_beta",
         "llama_4_scaling_beta"},
        {"{\"model_type\": \"ministral3\"}", NULL, "\"llama_4_scaling_beta\" is 0.1", "llama_4_scaling_beta"},
        {"{\"head_dim\": 8, \"dual_chunk_attention_config\": {\"chunk_size\": 64}}", NULL,
         "\"dual_chunk_attention_config\" is|wanted null, or --ignore dual_chunk_attention_config",
         "dual_chunk_attention_config"},
        {"{\"model_type\": \"olmo3\", \"head_dim\": 8, \"rope_parameters\": {\"rope_theta\": 5}}",
         "full_attention",
         "\"rope_parameters\" is|an object for each layer type: sliding_attention, full_attention", NULL},
        {"{\"model_type\": \"deepseek_v4\", \"compress_rope_theta\": 160000, \"qk_rope_head_dim\": 64, "
         "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 16, \"rope_theta\": 10000}}",
         "compress", "\"rope_scaling\" is|wanted an object for each layer type: main, compress", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config = {0};
        rotary_error error = {0};
        const char *const ignored[] = {cases[i].ignored, NULL};
        struct rope_config_request request = {.layer_type = cases[i].layer_type};
        CHECK_INT(read(cases[i].text, request, &config, &error), ROTARY_BAD_FILE);
        CHECK_WORDS(error.message, cases[i].words);
        request.ignored = ignored;
        if (cases[i].ignored && CHECK_INT(read(cases[i].text, request, &config, &error), ROTARY_OK))
            rope_config_free(&config);
    }
    struct rope_config config;
    rotary_error error = {0};
    if (CHECK_INT(read("{\"head_dim\": 8, \"rope_parameters\": {\"llama_4_scaling_beta\": 0}}",
                       (struct rope_config_request){0}, &config, &error),
                  ROTARY_OK))
        rope_config_free(&config);
}

/* Frequencies by length: a model that is trained here has those of all its positions, another one the caller's. */
static void test_own_length(void)
{
#define DYNAMIC                                                                                              \
    "{\"head_dim\": 8, \"max_position_embeddings\": 256, \"rope_scaling\": {\"type\": \"dynamic\", "         \
    "\"factor\": 4, \"original_max_position_embeddings\": 16}"
    static const struct {
        const char *text;
        int64_t length;
    } cases[] = {
        {DYNAMIC "}", 0},
        {DYNAMIC ", \"position\": \"rope\"}", 256},
        {DYNAMIC ", \"position\": \"rope\", \"rope_sequence_length\": 0}", 256},
        {DYNAMIC ", \"position\": \"rope\", \"rope_sequence_length\": 99}", 99},
    };
#undef DYNAMIC
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config;
        if (!CHECK_INT(read(cases[i].text, (struct rope_config_request){0}, &config, NULL), ROTARY_OK))
            continue;
        CHECK_INT(config.plan.sequence_length, cases[i].length);
        rope_config_free(&config);
    }
}

/* The scale of queries, for callers that apply it. */
static void test_query_scale(void)
{
    static const struct {
        const char *text;
        double beta, length;
        const char *words; /* of the refusal; NULL: it is read */
    } cases[] = {
        {"{\"head_dim\": 8, \"rope_parameters\": {\"llama_4_scaling_beta\": 0.25, "
         "\"original_max_position_embeddings\": 64}}",
         0.25, 64, NULL},
        {"{\"head_dim\": 8, \"rope_parameters\": {\"llama_4_scaling_beta\": 0}}", 0, 0, NULL},
        {"{\"head_dim\": 8, \"rope_parameters\": {\"llama_4_scaling_beta\": 0.25}}", 0, 0,
         "has no \"original_max_position_embeddings\", which llama_4_scaling_beta needs"},
        {"{\"head_dim\": 8, \"rope_parameters\": {\"llama_4_scaling_beta\": -1, "
         "\"original_max_position_embeddings\": 64}}",
         0, 0, "\"llama_4_scaling_beta\" is -1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config = {0};
        rotary_error error = {0};
        check_about("%s", cases[i].text);
        const struct rope_config_request request = {.scales_queries = true};
        CHECK_INT(read(cases[i].text, request, &config, &error),
                  cases[i].words ? ROTARY_BAD_FILE : ROTARY_OK);
        if (cases[i].words)
            CHECK_WORDS(error.message, cases[i].words);
        CHECK_NEAR(config.query_scale.beta, cases[i].beta, 0);
        CHECK_NEAR(config.query_scale.length, cases[i].length, 0);
        CHECK_NEAR(config.query_scale.offset, 0, 0);
        rope_config_free(&config);
    }
}

/* Nemotron's share of a head, which transformers does not read: its class has 0.5. */
static void test_rope_percent(void)
{
    static const struct {
        const char *text;
        rotary_compat compat;
        int64_t rotary_dim;
    } cases[] = {
        {"{\"model_type\": \"nemotron\", \"head_dim\": 16, \"rope_percent\": 0.25}", ROTARY_COMPAT_NONE, 4},
        {"{\"model_type\": \"nemotron\", \"head_dim\": 16, \"rope_percent\": 0.25}",
         ROTARY_COMPAT_HUGGINGFACE, 8},
        {"{\"model_type\": \"nemotron\", \"head_dim\": 16, \"rope_percent\": 0.25, "
         "\"partial_rotary_factor\": 1}",
         ROTARY_COMPAT_HUGGINGFACE, 16},
        {"{\"model_type\": \"nemotron\", \"head_dim\": 16, \"rope_percent\": 0.25, "
         "\"partial_rotary_factor\": 0.25, \"rotary_dim\": 4}",
         ROTARY_COMPAT_NONE, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config;
        rotary_error error = {0};
        struct rope_config_request request = {.compat = cases[i].compat};
        if (CHECK_INT(read(cases[i].text, request, &config, &error), ROTARY_OK)) {
            CHECK_INT(config.plan.rotary_dim, cases[i].rotary_dim);
            rope_config_free(&config);
        }
    }
}

int main(void)
{
    test_original();
    test_ntk();
    test_beside();
    test_truncate();
    test_refused();
    test_own_length();
    test_query_scale();
    test_rope_percent();
    return check_report();
}
