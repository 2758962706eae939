/* SPDX-License-Identifier: Apache-2.0
 *
 * What configurations say of attention beside the rotation: DeepSeek's latents and layer types, and chunks.
 */
#include "huggingface/model_types.h"
#include "rope_config/rope_config.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

static rotary_status parse(const char *text, struct rope_config_request request, struct rope_config *config,
                           rotary_error *error)
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

static bool reads(const char *text, struct rope_config_request request, struct rope_config *config)
{
    rotary_error error = {0};
    bool good = CHECK_INT(parse(text, request, config, &error), ROTARY_OK);
    if (!good)
        printf("  %s\n", error.message);
    return good;
}

static void refuses(const char *text, struct rope_config_request request, const char *message)
{
    struct rope_config config = {0};
    rotary_error error = {0};
    rotary_status status = parse(text, request, &config, &error);
    if (!CHECK_INT(status, ROTARY_BAD_FILE) || !CHECK(strstr(error.message, message) != NULL))
        printf("  wanted: %s\n  got: %s\n", message, error.message);
    if (status == ROTARY_OK)
        rope_config_free(&config);
}

/* ---- DeepSeek-V4 ---- */

#define YARN                                                                                                 \
    "\"type\": \"yarn\", \"factor\": 16, \"beta_fast\": 32, \"beta_slow\": 1, "                              \
    "\"original_max_position_embeddings\": 65536"
/* Its released files have it so, with bases of its own. */
#define DEEPSEEK_V4(more)                                                                                    \
    "{\"model_type\": \"deepseek_v4\", \"head_dim\": 512, \"qk_rope_head_dim\": 64, \"rope_theta\": 500, "   \
    "\"compress_rope_theta\": 9000, \"max_position_embeddings\": 1048576, \"rope_scaling\": {" YARN more     \
    "}}"

static void test_layer_types(void)
{
    static const struct {
        const char *layer_type;
        double base;
        rotary_scaling scaling;
    } cases[] = {
        {"main", 500, ROTARY_SCALING_NONE},
        {"sliding_attention", 500, ROTARY_SCALING_NONE},
        {"compress", 9000, ROTARY_SCALING_YARN},
        {"compressed_sparse_attention", 9000, ROTARY_SCALING_YARN},
        {"heavily_compressed_attention", 9000, ROTARY_SCALING_YARN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config;
        if (!reads(DEEPSEEK_V4(""), (struct rope_config_request){.layer_type = cases[i].layer_type}, &config))
            continue;
        bool scaled = cases[i].scaling == ROTARY_SCALING_YARN;
        CHECK_NEAR(config.plan.base, cases[i].base, 0);
        CHECK_INT(config.plan.scaling, cases[i].scaling);
        CHECK_NEAR(config.plan.factor, scaled ? 16 : 0, 0);
        CHECK_INT(config.plan.original_positions, scaled ? 65536 : 0);
        CHECK_INT(config.plan.head_dim, 512);
        CHECK_INT(config.plan.rotary_dim, 64);
        CHECK_INT(config.plan.rotary_start, 448);
        CHECK_INT(config.plan.pairing, ROTARY_PAIRING_INTERLEAVED);
        CHECK_INT(config.score_channels, 0);
        rope_config_free(&config);
    }
    refuses(DEEPSEEK_V4(""), (struct rope_config_request){0},
            "wanted --layer-type with one of main, compress");
    refuses(DEEPSEEK_V4(""), (struct rope_config_request){.layer_type = "full_attention"},
            "no layer type \"full_attention\", wanted one of main, compress");
    refuses(DEEPSEEK_V4(", \"rope_theta\": 9"), (struct rope_config_request){.layer_type = "compress"},
            "wanted an object for each layer type: main, compress");
    refuses("{\"head_dim\": 8, \"compress_rope_theta\": 160000}",
            (struct rope_config_request){.layer_type = "compress"},
            "wanted beside it the \"model_type\" of a model that compresses keys");
}

#define LAYERS(of_layers)                                                                                    \
    "{\"head_dim\": 16, \"layer_types\": [\"sliding_attention\", \"full_attention\", \"full_attention\"], "  \
    "\"rope_parameters\": {\"sliding_attention\": {}, \"full_attention\": {}}, "                             \
    "\"per_layer_config\": " of_layers "}"

/* Heads that differ between layer types, as transformers writes them. */
static void test_layers_heads(void)
{
    static const char both[] = LAYERS("{\"1\": {\"head_dim\": 32}, \"2\": {\"head_dim\": 32}}");
    const struct rope_config_request full = {.layer_type = "full_attention"},
                                     sliding = {.layer_type = "sliding_attention"},
                                     ignored = {.layer_type = "full_attention",
                                                .ignored = (const char *const[]){"per_layer_config", NULL}};
    const struct rope_config_request *const requests[] = {&full, &sliding, &ignored};
    const int64_t wanted[] = {32, 16, 16};
    for (int i = 0; i < 3; i++) {
        struct rope_config config;
        if (!reads(both, *requests[i], &config))
            continue;
        CHECK_INT(config.plan.head_dim, wanted[i]);
        CHECK_INT(config.plan.rotary_dim, wanted[i]);
        rope_config_free(&config);
    }
    refuses(LAYERS("{\"1\": {\"head_dim\": 32}, \"2\": {\"head_dim\": 64}}"), full,
            "wanted heads of one size in all layers of a type");
    refuses(LAYERS("{\"2\": {\"head_dim\": 32}}"), full, "wanted the head_dim of all layers");
    refuses(LAYERS("{\"1\": {\"head_dim\": 0}, \"2\": {\"head_dim\": 32}}"), full, "\"head_dim\" is 0");
}

static void test_unknown_type(void)
{
    const char *text = "{\"model_type\": \"nowhere\", \"head_dim\": 8}";
    const struct rope_config_request ignored = {.ignored = (const char *const[]){"model_type", NULL}};
    struct rope_config config;
    if (reads(text, (struct rope_config_request){0}, &config)) {
        CHECK(strcmp(config.unknown_type, "nowhere") == 0);
        rope_config_free(&config);
    }
    if (reads(text, ignored, &config)) {
        CHECK(!config.unknown_type[0]);
        rope_config_free(&config);
    }
    if (reads(DEEPSEEK_V4(""), (struct rope_config_request){.layer_type = "main"}, &config)) {
        CHECK(!config.unknown_type[0]);
        rope_config_free(&config);
    }
}

/* transformers saves it so, by the names of its rotations and by those of its layer types. */
static void test_saved(void)
{
    static const char text[] =
        "{\"model_type\": \"deepseek_v4\", \"rope_parameters\": {\"main\": "
        "{\"rope_theta\": 3}, \"compress\": {\"rope_theta\": 5, " YARN ", \"attention_factor\": 1.5}}}";
    struct rope_config config;
    if (reads(text, (struct rope_config_request){.layer_type = "sliding_attention"}, &config)) {
        CHECK_NEAR(config.plan.base, 3, 0);
        CHECK_INT(config.plan.scaling, ROTARY_SCALING_NONE);
        rope_config_free(&config);
    }
    if (reads(text, (struct rope_config_request){.layer_type = "heavily_compressed_attention"}, &config)) {
        CHECK_NEAR(config.plan.base, 5, 0);
        CHECK_NEAR(config.plan.attention_factor, 1.5, 0);
        rope_config_free(&config);
    }
}

/* YaRN without its factor on cosines and sines, by the arithmetic of every implementation. */
static void test_magnitude(void)
{
    for (int compat = ROTARY_COMPAT_NONE; compat <= ROTARY_COMPAT_VLLM; compat++) {
        struct rope_config config;
        struct rope_config_request request = {.layer_type = "compress", .compat = (rotary_compat)compat};
        if (!reads(DEEPSEEK_V4(""), request, &config))
            continue;
        rotary_rope *rope = NULL;
        rotary_error error = {0};
        config.plan.compat = (rotary_compat)compat;
        if (CHECK_INT(rotary_rope_create(&rope, &config.plan, &error), ROTARY_OK)) {
            CHECK_NEAR(rotary_rope_attention_factor(rope), 1, 1e-15);
            CHECK_NEAR(rotary_rope_softmax_factor(rope), 1, 0);
        }
        rotary_rope_destroy(rope);
        rope_config_free(&config);
    }
    struct rope_config config;
    if (reads(DEEPSEEK_V4(", \"attention_factor\": 1.25"),
              (struct rope_config_request){.layer_type = "compress"}, &config)) {
        CHECK_NEAR(config.plan.attention_factor, 1.25, 0);
        rope_config_free(&config);
    }
}

/* ---- latents ---- */

static void test_latents(void)
{
    static const char text[] = "{\"model_type\": \"deepseek_v3\", \"qk_nope_head_dim\": 128, "
                               "\"qk_rope_head_dim\": 64, \"kv_lora_rank\": 512}";
    static const struct {
        int64_t requested, head_dim, start, score_channels;
    } cases[] = {{0, 64, 0, 0}, {64, 64, 0, 0}, {192, 192, 128, 192}, {576, 576, 512, 192}, {512, 64, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_config config;
        if (!reads(text, (struct rope_config_request){.head_dim = cases[i].requested}, &config))
            continue;
        CHECK_INT(config.plan.head_dim, cases[i].head_dim);
        CHECK_INT(config.plan.rotary_dim, 64);
        CHECK_INT(config.plan.rotary_start, cases[i].start);
        CHECK_INT(config.score_channels, cases[i].score_channels);
        rope_config_free(&config);
    }
}

/* ---- chunks ---- */

#define CHUNKS(inside) "{\"head_dim\": 8, \"dual_chunk_attention_config\": {" inside "}}"

static void test_chunks(void)
{
    static const struct {
        const char *text;
        int64_t length, reach, original;
    } cases[] = {
        {CHUNKS("\"chunk_size\": 10, \"local_size\": 3, \"original_max_position_embeddings\": 9"), 7, 10, 9},
        {CHUNKS(""), 7168, 8192, 0},
        {CHUNKS("\"chunk_size\": 9000, \"sparse_attention_enabled\": false"), 7976, 9000, 0},
        {"{\"head_dim\": 8, \"dual_chunk_attention_config\": null}", 0, 0, 0},
    };
    const struct rope_config_request chunks = {.attends = true};
    struct rope_config config;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!reads(cases[i].text, chunks, &config))
            continue;
        CHECK_INT(config.chunks.length, cases[i].length);
        CHECK_INT(config.chunks.reach, cases[i].reach);
        CHECK_INT(config.chunks.original, cases[i].original);
        rope_config_free(&config);
    }
    refuses(cases[0].text, (struct rope_config_request){0}, "positions depend on chunks");
    refuses(CHUNKS("\"chunk_size\": 4, \"local_size\": 4"), chunks,
            "\"local_size\" is 4, wanted less than \"chunk_size\", 4");
    refuses(CHUNKS("\"chunk_size\": 0"), chunks, "\"chunk_size\" is 0");
    refuses(CHUNKS("\"chunk_size\": 9223372036854775807"), chunks, "wanted a whole number");
    refuses(CHUNKS("\"chunk_length\": 8"), chunks, "the key \"chunk_length\", which is not known");
    refuses(CHUNKS("\"sparse_attention_enabled\": true"), chunks,
            "or --ignore sparse_attention_enabled: which keys are seen");
    refuses(CHUNKS("\"sparse_attention_config\": {\"0\": {}}"), chunks,
            "or --ignore sparse_attention_config: which keys are seen");
    refuses("{\"head_dim\": 8, \"dual_chunk_attention_config\": 3}", chunks, "wanted an object or null");
    refuses("{\"head_dim\": 8, \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2}, "
            "\"dual_chunk_attention_config\": {}}",
            chunks, "rope_type linear beside \"dual_chunk_attention_config\", wanted default");
    static const char *const ignored[] = {"sparse_attention_enabled", NULL};
    if (reads(CHUNKS("\"sparse_attention_enabled\": true, \"sparse_attention_config\": {\"0\": {}}"),
              (struct rope_config_request){.attends = true, .ignored = ignored}, &config))
        rope_config_free(&config);
    static const char *const whole[] = {"dual_chunk_attention_config", NULL};
    if (reads(CHUNKS("\"chunk_size\": 10"), (struct rope_config_request){.attends = true, .ignored = whole},
              &config)) {
        CHECK_INT(config.chunks.length, 0);
        rope_config_free(&config);
    }
}

/* Keys of other programs' files, by which positions or scores differ. */
static void test_other_spellings(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"head_dim\": 8, \"rope_type\": \"yarn\", \"scaling_factor\": 4, \"max_position_embeddings\": 64, "
         "\"original_max_position_embeddings\": 16}",
         "the model has the key \"scaling_factor\", which is not known"},
        {"{\"head_dim\": 8, \"attn_temperature_len\": 1024}",
         "\"attn_temperature_len\" is 1024, wanted 0, or --ignore attn_temperature_len: no score"},
        {"{\"head_dim\": 8, \"use_logn_attn\": true}", "wanted false, or --ignore use_logn_attn: queries"},
        {"{\"head_dim\": 8, \"yarn\": {\"factor\": 4}}", "\"yarn\" is {\"factor\":4}, wanted null"},
        {"{\"head_dim\": 8, \"llama_4_scaling\": {\"beta\": 0.1}}", "wanted null, and \"rope_parameters\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuses(cases[i].text, (struct rope_config_request){0}, cases[i].message);
    const char *values = "{\"model_type\": \"roformer\", \"head_dim\": 8, \"rotary_value\": true}";
    struct rope_config config;
    if (reads(values, (struct rope_config_request){0}, &config)) {
        CHECK_INT(config.values, ROPE_VALUES_ROTATE);
        rope_config_free(&config);
    }
    if (reads(DEEPSEEK_V4(""), (struct rope_config_request){.layer_type = "main", .attends = true},
              &config)) {
        CHECK_INT(config.values, ROPE_VALUES_AND_OUTPUTS);
        rope_config_free(&config);
    }
    if (reads("{\"head_dim\": 8, \"attn_temperature_len\": -1, \"scaling_factor\": 4, \"yarn\": false}",
              (struct rope_config_request){0}, &config))
        rope_config_free(&config);
}

int main(void)
{
    test_other_spellings();
    test_layer_types();
    test_layers_heads();
    test_unknown_type();
    test_saved();
    test_magnitude();
    test_latents();
    test_chunks();
    return check_report();
}
