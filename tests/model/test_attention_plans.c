/* SPDX-License-Identifier: Apache-2.0
 *
 * The attention plans of a model's layers: rotations as config.json of transformers describes them, sliding
 * windows, layers without rotation, bases by layer type; what they compute, and refusals.
 */
#include "support/check.h"

#include "backend/reference_backend.h"
#include "model/encoding/rotation_config.h"
#include "model/model_keys.h"
#include "model/transformer_parts.h"
#include "rope/rope_roles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 4, HEAD_DIM = 8, VOCABULARY = 11, TIME = 12 };

static struct transformer_config configuration(const char *settings)
{
    struct transformer_config config;
    transformer_config_default(&config);
    config.vocab_size = VOCABULARY;
    config.hidden_size = 32;
    config.num_hidden_layers = LAYERS;
    config.num_attention_heads = 4;
    config.max_position_embeddings = 64;
    config.initializer_range = 0.5;
    config.initialisation = 1;
    json_t *object = json_loads(settings, 0, NULL);
    if (!CHECK(object) || !model_read(&config, object))
        printf("%s\n", settings);
    json_decref(object);
    return config;
}

static struct transformer *create(const struct backend *backend, const struct transformer_config *config)
{
    struct transformer *transformer = NULL;
    rotary_error error = {0};
    const struct transformer_limits limits = {.batch = 2, .time = TIME};
    if (!CHECK_INT(transformer_create(&transformer, backend, config, limits, 5, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(1);
    }
    return transformer;
}

/* ---- rotations ---- */

/* The plan that `rotary frequencies --length 64` makes of a config.json. */
static rotary_rope *rope_of_file(const char *text, const char *layer_type)
{
    json_t *object = json_loads(text, 0, NULL);
    const struct rope_config_request request = {.layer_type = layer_type};
    struct rope_config read;
    rotary_rope *rope = NULL;
    rotary_error error = {0};
    if (!CHECK(object) || !CHECK_INT(rope_config_parse(object, "file", &request, &read, &error), ROTARY_OK)) {
        printf("%s: %s\n", text, error.message);
        exit(1);
    }
    read.plan.sequence_length = 64;
    CHECK_INT(rotary_rope_create(&rope, &read.plan, &error), ROTARY_OK);
    rope_config_free(&read);
    json_decref(object);
    return rope;
}

static void check_same_rope(const rotary_rope *rope, const rotary_rope *wanted)
{
    CHECK(rope != NULL);
    CHECK_INT(rotary_rope_pairs(rope), rotary_rope_pairs(wanted));
    for (int64_t pair = 0; pair < rotary_rope_pairs(wanted); pair++)
        CHECK_NEAR(rotary_rope_inverse_frequencies(rope)[pair], rotary_rope_inverse_frequencies(wanted)[pair],
                   0);
    CHECK_NEAR(rotary_rope_attention_factor(rope), rotary_rope_attention_factor(wanted), 0);
    CHECK_NEAR(rotary_rope_softmax_factor(rope), rotary_rope_softmax_factor(wanted), 0);
}

static bool same_frequencies(const rotary_rope *rope, const rotary_rope *other)
{
    size_t bytes = (size_t)rotary_rope_pairs(rope) * sizeof(double);
    return rotary_rope_pairs(rope) == rotary_rope_pairs(other) &&
           memcmp(rotary_rope_inverse_frequencies(rope), rotary_rope_inverse_frequencies(other), bytes) == 0;
}

#define FILE_SIZES "\"head_dim\": 8, \"num_attention_heads\": 4, \"max_position_embeddings\": 64"

static const char *const rotations[] = {
    "\"rope_theta\": 500.0, \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 4}",
    "\"rope_theta\": 500.0, \"rope_scaling\": {\"rope_type\": \"ntk\", \"factor\": 4}",
    "\"rope_scaling\": {\"rope_type\": \"dynamic\", \"factor\": 3, \"original_max_position_embeddings\": 16}",
    "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4, \"original_max_position_embeddings\": 16}",
    "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4, \"original_max_position_embeddings\": 16, "
    "\"mscale\": 0.7, \"mscale_all_dim\": 0.9, \"beta_fast\": 8, \"truncate\": false}",
    "\"rope_scaling\": {\"rope_type\": \"longrope\", \"short_factor\": [1, 1.5, 2, 3], \"long_factor\": [2, "
    "3, "
    "5.5, 9], \"original_max_position_embeddings\": 16}",
    "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1, "
    "\"high_freq_factor\": 4, \"original_max_position_embeddings\": 16}",
    "\"rope_parameters\": {\"rope_type\": \"proportional\", \"partial_rotary_factor\": 0.5, \"factor\": 2}",
    "\"rope_parameters\": {\"rope_theta\": 77, \"angles\": \"f32\"}",
    "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4, \"original_max_position_embeddings\": 16, "
    "\"attention_factor\": 1.5}",
    "\"rope_parameters\": {\"rope_theta\": 77, \"partial_rotary_factor\": 0.5, \"span\": \"back\"}",
    "\"rope_parameters\": {\"inverse_frequencies\": [1, -0.25, 0.125, 0]}",
};

/* Every scaling of the library reaches the plans of a model. */
static void test_rotations(const struct backend *backend)
{
    rotary_rope *plain = rope_of_file("{" FILE_SIZES "}", NULL);
    for (size_t i = 0; i < sizeof rotations / sizeof *rotations; i++) {
        char file[512], settings[512];
        snprintf(file, sizeof file, "{" FILE_SIZES ", %s}", rotations[i]);
        snprintf(settings, sizeof settings, "{\"position\": \"roper\", %s}", rotations[i]);
        check_about("%s", rotations[i]);
        struct transformer_config config TRANSFORMER_CONFIG_LOCAL = configuration(settings);
        if (strstr(rotations[i], "partial_rotary_factor"))
            config.value_fraction = 0.5;
        struct transformer *transformer = create(backend, &config);
        rotary_rope *wanted = rope_of_file(file, NULL);
        const struct position_attention *plan = &transformer->main.plans.plans[1];
        for (int64_t layer = 0; layer < LAYERS; layer++)
            CHECK(transformer->main.plans.of_layer[layer] == plan->attention);
        check_same_rope(plan->rope, wanted);
        CHECK(same_frequencies(plan->value_rope, wanted));
        CHECK(!same_frequencies(plan->rope, plain));
        rotary_rope_destroy(wanted);
        transformer_destroy(transformer);
    }
    rotary_rope_destroy(plain);
    check_about("%s", "");
}

/* By the formula: base^(-2i / d), divided by a linear factor. */
static void test_formula(const struct backend *backend)
{
    struct transformer_config config TRANSFORMER_CONFIG_LOCAL =
        configuration("{\"rope_theta\": 500.0, \"partial_rotary_factor\": 0.75, \"rope_scaling\": "
                      "{\"rope_type\": \"linear\", \"factor\": 4}}");
    struct transformer *transformer = create(backend, &config);
    const rotary_rope *rope = transformer->main.plans.plans[1].rope;
    CHECK_INT(rotary_rope_pairs(rope), 3);
    for (int pair = 0; pair < 3; pair++)
        CHECK_NEAR(rotary_rope_inverse_frequencies(rope)[pair], pow(500.0, -2.0 * pair / 6.0) / 4, 1e-15);
    CHECK(!transformer->main.plans.plans[1].value_rope);
    transformer_destroy(transformer);
}

/* A head without channels to rotate may have an odd number of them. */
static void test_no_channel(const struct backend *backend)
{
    struct transformer_config config TRANSFORMER_CONFIG_LOCAL =
        configuration("{\"head_dim\": 33, \"partial_rotary_factor\": 0}");
    struct transformer *transformer = create(backend, &config);
    CHECK(transformer->main.plans.plans[1].attention && !transformer->main.plans.plans[1].rope);
    transformer_destroy(transformer);
}

/* A product that rounding leaves below an even number is that number, in the rotations of values too. */
static void test_channels(void)
{
    CHECK_INT(rope_config_channels(100, 0.58), 58); /* 57.99999999999999 */
    CHECK_INT(rope_config_channels(100, 0.29), 28); /* 28.999999999999996, as transformers has it */
    CHECK_INT(rope_config_channels(64, 0.25), 16);
    CHECK_INT(rope_config_channels(64, 1.0), 64);
    CHECK_INT(rope_config_channels(9, 1.0), 9);
    CHECK_INT(rope_config_channels(8, 0.1), 0);
}

/* A model that is trained here has an xpos_scale whatever its position is. */
static void test_xpos_of_position(void)
{
    static const struct {
        const char *more;
        double scale, origin;
    } cases[] = {
        {"\"position\": \"rope\", \"xpos_scale\": 256", 0, 0},
        {"\"position\": \"rope\", \"xpos_scale\": 256, \"rope_parameters\": {\"xpos_scale\": 128}", 128, 0},
        {"\"position\": \"xpos\", \"xpos_scale\": 256", 256, 50},
        {"\"position\": \"xpos\"", 512, 50},
        {"\"position\": \"xpos\", \"rope_parameters\": {\"xpos_scale\": 128, \"xpos_origin\": 7}", 128, 7},
        {"\"xpos_scale\": 256", 256, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        struct rope_config config;
        snprintf(text, sizeof text, "{\"head_dim\": 8, \"max_position_embeddings\": 100, %s}", cases[i].more);
        check_about("%s", text);
        json_t *object = json_loads(text, 0, NULL);
        const struct rope_config_request request = {0};
        if (CHECK_INT(rope_config_parse(object, "file", &request, &config, NULL), ROTARY_OK)) {
            CHECK_NEAR(config.plan.xpos_scale, cases[i].scale, 0);
            CHECK_NEAR(config.plan.xpos_origin, cases[i].origin, 0);
            rope_config_free(&config);
        }
        json_decref(object);
    }
    check_about("%s", "");
}

/* xPos's magnitudes are in the decoder's self-attention alone. */
static void test_xpos(const struct backend *backend)
{
    struct transformer_config config TRANSFORMER_CONFIG_LOCAL =
        configuration("{\"position\": \"xpos\", \"xpos_scale\": 16, \"cross_rotary\": true, "
                      "\"architecture\": \"encoder_decoder\", \"source_vocab_size\": 5}");
    const struct transformer_limits limits = {.batch = 2, .time = TIME, .source_time = TIME};
    struct transformer *transformer = NULL;
    CHECK_INT(transformer_create(&transformer, backend, &config, limits, 5, NULL), ROTARY_OK);
    const rotary_rope *decoder = transformer->main.plans.plans[1].rope,
                      *encoder = transformer->encoder.plans.plans[1].rope,
                      *cross = transformer->cross_plans.plans[1].rope;
    CHECK(rotary_rope_queries_differ(decoder) && !rotary_rope_queries_differ(encoder) &&
          !rotary_rope_queries_differ(cross));
    rotary_rope *wanted = rope_of_file("{" FILE_SIZES ", \"xpos_scale\": 16, \"xpos_origin\": 32}", NULL);
    enum { PAIRS = HEAD_DIM / 2 };
    float got[2 * PAIRS], expected[2 * PAIRS];
    for (int role = 0; role < ROTARY_ROLES; role++) {
        rotary_rope_role_rows(decoder, 5, 1, (enum rotary_rope_role)role, got, got + PAIRS);
        rotary_rope_role_rows(wanted, 5, 1, (enum rotary_rope_role)role, expected, expected + PAIRS);
        CHECK(memcmp(got, expected, sizeof got) == 0);
    }
    rotary_rope_destroy(wanted);
    transformer_destroy(transformer);
}

/* ---- layers ---- */

static const char gemma[] =
    "{\"layer_types\": [\"sliding_attention\", \"full_attention\", \"sliding_attention\", "
    "\"full_attention\"], \"sliding_window\": 3, \"no_rope_layers\": [1, 1, 1, 0], \"rope_theta\": 1e6, "
    "\"rope_local_base_freq\": 100, \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 8}}";

static void test_layers(const struct backend *backend)
{
    struct transformer_config config TRANSFORMER_CONFIG_LOCAL = configuration(gemma);
    struct transformer *transformer = create(backend, &config);
    const struct attention_plans *plans = &transformer->main.plans;
    CHECK(plans->of_layer[0] == plans->of_layer[2]);
    for (int layer = 1; layer < LAYERS; layer++)
        CHECK(plans->of_layer[layer] != plans->of_layer[(layer + 1) % LAYERS]);
    CHECK(plans->of_layer[1] != plans->of_layer[3]);
    const struct position_attention *of[LAYERS] = {NULL};
    for (int layer = 0; layer < LAYERS; layer++)
        for (int i = 0; i < MAX_ATTENTION_PLANS; i++)
            if (plans->plans[i].attention == plans->of_layer[layer])
                of[layer] = &plans->plans[i];
    const char file[] = "{" FILE_SIZES ", \"rope_theta\": 1e6, \"rope_local_base_freq\": 100, "
                        "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 8}}";
    rotary_rope *full = rope_of_file(file, "full_attention"),
                *local = rope_of_file(file, "sliding_attention");
    CHECK(!same_frequencies(full, local));
    CHECK_NEAR(rotary_rope_inverse_frequencies(local)[0], 1.0, 0);
    check_same_rope(of[0]->rope, local);
    check_same_rope(of[1]->rope, full);
    CHECK(!of[3]->rope);
    /* Two rotated plans of 4 pairs. */
    CHECK_NEAR(attention_plans_table_bytes(plans, &config), 64.0 * 2 * (4 + 4) * sizeof(float), 0);
    rotary_rope_destroy(full);
    rotary_rope_destroy(local);
    transformer_destroy(transformer);

    transformer_config_free(&config);
    config = configuration("{\"rope_parameters\": {\"full_attention\": null, \"sliding_attention\": "
                           "{\"rope_theta\": 100}}, \"sliding_window\": 3, \"layer_types\": "
                           "[\"full_attention\", \"sliding_attention\", \"full_attention\", "
                           "\"sliding_attention\"]}");
    transformer = create(backend, &config);
    CHECK(!transformer->main.plans.plans[1].rope && transformer->main.plans.plans[1].attention);
    CHECK_NEAR(rotary_rope_inverse_frequencies(transformer->main.plans.plans[3].rope)[1], pow(100, -0.25),
               1e-15);
    transformer_destroy(transformer);
}

static const int32_t tokens[2 * TIME] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8,
                                         9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4};

static void run(struct transformer *transformer, const int32_t *input, float logits[2 * TIME * VOCABULARY])
{
    rotary_error error = {0};
    const struct batch batch = {.input = {.batch = 2, .time = TIME, .tokens = input}};
    CHECK_INT(transformer_logits(transformer, &batch, logits, &error), ROTARY_OK);
}

/* With one layer and a window of 3, logits depend on the last 3 tokens. */
static void test_window(const struct backend *backend)
{
    struct transformer_config config TRANSFORMER_CONFIG_LOCAL =
        configuration("{\"num_hidden_layers\": 1, \"sliding_window\": 3}");
    struct transformer *transformer = create(backend, &config);
    static float logits[2][2 * TIME * VOCABULARY];
    int32_t changed[2 * TIME];
    memcpy(changed, tokens, sizeof changed);
    changed[4] = 0;
    run(transformer, tokens, logits[0]);
    run(transformer, changed, logits[1]);
    for (int t = 0; t < TIME; t++) {
        bool same =
            memcmp(logits[0] + t * VOCABULARY, logits[1] + t * VOCABULARY, VOCABULARY * sizeof(float)) == 0;
        check_about("token %d", t);
        CHECK_INT(same, t < 4 || t >= 7);
    }
    check_about("%s", "");
    transformer_destroy(transformer);
}

/* Layers that do not rotate are those of the encoding none. */
static void test_no_rope(const struct backend *backend)
{
    static float logits[3][2 * TIME * VOCABULARY];
    static const char *const settings[] = {"{\"position\": \"none\"}",
                                           "{\"position\": \"roper\", \"no_rope_layers\": [0, 0, 0, 0]}",
                                           "{\"position\": \"roper\", \"no_rope_layers\": [0, 1, 0, 0]}"};
    for (int i = 0; i < 3; i++) {
        struct transformer_config config TRANSFORMER_CONFIG_LOCAL = configuration(settings[i]);
        struct transformer *transformer = create(backend, &config);
        run(transformer, tokens, logits[i]);
        transformer_destroy(transformer);
    }
    CHECK(memcmp(logits[0], logits[1], sizeof logits[0]) == 0);
    CHECK(memcmp(logits[0], logits[2], sizeof logits[0]) != 0);
}

/* YaRN's factor of the softmax, which is DeepSeek's alone, leaves the scale as it is. */
static void test_softmax_factor(const struct backend *backend)
{
    static float logits[2][2 * TIME * VOCABULARY];
    static const char *const keys[] = {"", "\"mscale_all_dim\": 2, "};
    for (int i = 0; i < 2; i++) {
        char settings[256];
        snprintf(settings, sizeof settings,
                 "{\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4, \"attention_factor\": 1, %s"
                 "\"original_max_position_embeddings\": 16}}",
                 keys[i]);
        struct transformer_config config TRANSFORMER_CONFIG_LOCAL = configuration(settings);
        struct transformer *transformer = create(backend, &config);
        run(transformer, tokens, logits[i]);
        transformer_destroy(transformer);
    }
    CHECK(memcmp(logits[0], logits[1], sizeof logits[0]) == 0);
}

/* Decoding token by token gives the logits of the forward pass. */
static void test_decode(const struct backend *backend, const char *settings)
{
    struct transformer_config config TRANSFORMER_CONFIG_LOCAL = configuration(settings);
    struct transformer *transformer = create(backend, &config);
    static float logits[2 * TIME * VOCABULARY];
    run(transformer, tokens, logits);
    struct transformer_cache *cache = NULL;
    const struct transformer_cache_shape shape = {.batch = 2, .capacity = TIME};
    rotary_error error = {0};
    CHECK_INT(transformer_cache_create(&cache, transformer, &shape, &error), ROTARY_OK);
    double max = 0;
    for (int t = 0; t < TIME; t++) {
        float last[2 * VOCABULARY];
        int32_t next[2] = {tokens[t], tokens[TIME + t]};
        const struct transformer_decode_call call = {.time = 1, .tokens = next, .logits = last};
        CHECK_INT(transformer_decode(transformer, cache, &call, &error), ROTARY_OK);
        for (int i = 0; i < 2 * VOCABULARY; i++) {
            double wanted = (double)logits[(i / VOCABULARY * TIME + t) * VOCABULARY + i % VOCABULARY];
            max = fmax(max, fabs(wanted));
            check_about("%s, token %d", settings, t);
            CHECK_NEAR((double)last[i], wanted, 1e-4 * (1 + fabs(wanted)));
        }
    }
    CHECK(max > 0.1);
    check_about("%s", "");
    transformer_cache_destroy(cache);
    transformer_destroy(transformer);
}

/* ---- refusals ---- */

static void test_refusals(void)
{
    static const struct {
        const char *settings, *message;
    } wrong[] = {
        {"{\"layer_types\": [\"full_attention\"]}",
         "layer_types has 1 entries, wanted 4, one for each layer of num_hidden_layers"},
        {"{\"layer_types\": [\"full_attention\", \"sliding_atention\", \"full_attention\", "
         "\"full_attention\"], \"sliding_window\": 3}",
         "layer_types[1] is sliding_atention, wanted full_attention or sliding_attention; did you mean "
         "\"sliding_attention\"?"},
        {"{\"layer_types\": [\"full_attention\", 7, \"full_attention\", \"full_attention\"]}",
         "layer_types[1] is no text, wanted"},
        {"{\"layer_types\": [\"sliding_attention\", \"full_attention\", \"full_attention\", "
         "\"full_attention\"]}",
         "sliding_window is 0, wanted at least 1"},
        {"{\"no_rope_layers\": [1, 1]}", "no_rope_layers has 2 entries, wanted 4"},
        {"{\"no_rope_layers\": [1, 1, 2, 0]}", "no_rope_layers[2] is not valid"},
        {"{\"rope_local_base_freq\": 100}", "rope_local_base_freq is 100, wanted 0"},
        {"{\"rope_scaling\": {\"rope_type\": \"yarn\", \"factr\": 2}}",
         "the configuration: \"rope_scaling\" has the key \"factr\", which is not known and may change the "
         "angles (did you mean \"factor\"?); wanted one that is known"},
        {"{\"rope_scaling\": {\"rope_type\": \"yarm\", \"factor\": 2}}",
         "the configuration: \"rope_type\" is \"yarm\", wanted"},
        {"{\"rope_scaling\": {\"rope_type\": \"linear\"}}",
         "the configuration: \"rope_scaling\" has no \"factor\", which rope_type linear needs"},
        {"{\"position\": \"roper\", \"value_fraction\": 0.4}",
         "value_fraction 0.4 of head_dim 8 rotates 3 channels: wanted an even number"},
        {"{\"position\": \"roper\", \"value_fraction\": 0.5, \"rope_parameters\": {\"pair_factors\": [1, 2, "
         "3, "
         "4]}}",
         "value_fraction 0.5 of head_dim 8 rotates 4 channels: wanted 8"},
        {"{\"partial_rotary_factor\": 0.4, \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2}}",
         "3 of a head's 8 channels would rotate, wanted an even number"},
        {"{\"position\": \"xpos\", \"xpos_scale\": 0.5, \"max_position_embeddings\": 64}",
         "xpos_scale is 0.5, by which magnitudes of 64 positions would reach e^80.2: "
         "wanted "
         "an xpos_scale of at least 2"},
        {"{\"rope_parameters\": {\"full_attention\": {}, \"slidng_attention\": {\"rope_theta\": 9}}}",
         "rope_parameters has slidng_attention, wanted full_attention or sliding_attention; did you mean "
         "\"sliding_attention\"?"},
        {"{\"rope_parameters\": {\"sliding_attention\": {}}}",
         "the configuration has no layer type \"full_attention\", wanted one of sliding_attention"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct transformer_config config TRANSFORMER_CONFIG_LOCAL = configuration(wrong[i].settings);
        rotary_error error = {0};
        check_about("%s", wrong[i].settings);
        CHECK_INT(transformer_config_check(&config, &error), ROTARY_INVALID_ARGUMENT);
        if (!CHECK(strstr(error.message, wrong[i].message)))
            printf("%s\n", error.message);
    }
    check_about("%s", "");
}

/* With every scaling, on top of xPos's magnitudes too. */
static void test_decode_scaled(const struct backend *backend)
{
    for (size_t i = 0; i < sizeof rotations / sizeof *rotations; i++) {
        char settings[512];
        bool partial = strstr(rotations[i], "partial_rotary_factor");
        snprintf(settings, sizeof settings, "{\"position\": \"%s\", \"value_fraction\": %s, %s}",
                 i % 2 ? "xpos" : "roper", partial ? "0.5" : "1.0", rotations[i]);
        test_decode(backend, settings);
    }
}

static void test_backend(const struct backend *backend)
{
    test_rotations(backend);
    test_formula(backend);
    test_no_channel(backend);
    test_layers(backend);
    test_window(backend);
    test_no_rope(backend);
    test_softmax_factor(backend);
    test_xpos(backend);
    test_decode(backend, gemma);
    test_decode_scaled(backend);
    test_decode(backend, "{\"position\": \"xpos\", \"xpos_scale\": 4, \"num_key_value_heads\": 2}");
    test_decode(backend, "{\"position\": \"roper\", \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": "
                         "4, \"original_max_position_embeddings\": 16, \"mscale\": 0.5, "
                         "\"mscale_all_dim\": 2}}");
}

int main(void)
{
    struct backend backend;
    rotary_error error = {0};
    CHECK_INT(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK);
    test_backend(&backend);
    test_decode(&backend, "{\"position\": \"roper\", \"rope_parameters\": {\"xpos_scale\": 16, "
                          "\"mrope_section\": [1, 1, 2], \"axes\": \"separate\"}}");
    backend_destroy(&backend);
    CHECK_INT(reference_backend_create(&backend, ROTARY_F32, &error), ROTARY_OK);
    test_backend(&backend);
    backend_destroy(&backend);
    test_channels();
    test_xpos_of_position();
    test_refusals();
    return check_report();
}
