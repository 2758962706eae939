/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of model types: all of it can be read, and damage to it is noticed.
 */
#include "huggingface/model_types.h"
#include "rope_config/rope_axes.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

enum { TYPES = 381, TYPES_WITHOUT_ROTATION = 197 };

static json_t *table; /* parsed once, for speed */

static rotary_status find(const char *model_type, struct rope_family *family, rotary_error *error)
{
    return model_types_find_in(table, model_type, family, error);
}

/* Reads a config.json of little more than its model type, for one layer type. */
static void check_read(const char *model_type, const char *layer_type, const struct rope_family *family)
{
    static const char *const ignored[] = {"position_embedding_type", "use_mem_rope",
                                          "attention_head_dim",      "max_position_embeddings",
                                          "llama_4_scaling_beta",    NULL};
    const struct rope_config_request request = {
        .layer_type = layer_type, .head_dim = 64, .ignored = ignored, .find_family = find};
    rotary_error error = {0};
    struct rope_config config;
    json_t *object = json_pack("{s:s, s:i, s:i}", "model_type", model_type, "hidden_size", 2560,
                               "num_attention_heads", 32);
    rotary_status status = rope_config_parse(object, "config.json", &request, &config, &error);
    json_decref(object);
    bool refused = family->unsupported[0] != 0 || family->without_rotation;
    if (!CHECK_INT(status, refused ? ROTARY_BAD_FILE : ROTARY_OK))
        printf("  %s\n", error.message);
    if (refused)
        CHECK(strstr(error.message,
                     family->unsupported[0] ? family->unsupported : "has no rotary embedding") != NULL);
    if (status == ROTARY_OK)
        rope_config_free(&config);
}

static void check_family(const char *model_type)
{
    struct rope_family family;
    rotary_error error = {0};
    check_about("%s", model_type);
    if (!CHECK_INT(find(model_type, &family, &error), ROTARY_OK)) {
        printf("  %s\n", error.message);
        return;
    }
    bool by_layer_type = false;
    const char *layer_type;
    json_t *parameters;
    json_object_foreach (family.rope_parameters, layer_type, parameters) {
        if (json_is_object(parameters))
            check_read(model_type, layer_type, &family);
        by_layer_type = by_layer_type || json_is_object(parameters);
    }
    if (!by_layer_type)
        check_read(model_type, NULL, &family);
    rope_family_free(&family);
}

static void test_every_type(void)
{
    table = json_loads(model_types_json, JSON_REJECT_DUPLICATES, NULL);
    json_t *types = json_object_get(table, "model_types"),
           *without = json_object_get(table, "without_rotation");
    CHECK_INT((int64_t)json_object_size(types), TYPES);
    CHECK_INT((int64_t)json_array_size(without), TYPES_WITHOUT_ROTATION);
    const char *model_type;
    json_t *entry;
    json_object_foreach (types, model_type, entry)
        check_family(model_type);
    for (size_t i = 0; i < json_array_size(without); i++) {
        model_type = json_string_value(json_array_get(without, i));
        check_about("%s", model_type);
        CHECK(!json_object_get(types, model_type));
        check_family(model_type);
    }
    json_decref(table);
}

static void test_values(void)
{
    struct rope_family family;
    rotary_error error = {0};
    if (CHECK_INT(model_types_find("deepseek_v4", &family, &error), ROTARY_OK)) {
        CHECK_INT(family.head_dim, 512);
        CHECK_INT(family.hidden_size, 4096);
        CHECK_INT(family.num_attention_heads, 64);
        CHECK_INT(family.max_position_embeddings, 1048576);
        CHECK_TEXT(rope_config_pairings[family.pairing], "interleaved");
        CHECK_TEXT(rope_config_spans[family.span], "back");
        CHECK_TEXT(rope_axes_names[family.axes], "sections");
        CHECK_INT((int64_t)json_object_size(family.rope_parameters), 2);
        CHECK(!family.without_rotation);
        rope_family_free(&family);
    }
    if (CHECK_INT(model_types_find("bert", &family, &error), ROTARY_OK)) {
        CHECK(family.without_rotation);
        rope_family_free(&family);
    }
    if (CHECK_INT(model_types_find("a type of tomorrow", &family, &error), ROTARY_OK)) {
        static const struct rope_family none;
        CHECK(memcmp(&family, &none, sizeof none) == 0);
        rope_family_free(&family);
    }
}

static void test_damage(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[]", "model_types.json: wanted an object \"model_types\" and an array \"without_rotation\""},
        {"{\"model_types\": {\"a\": {}}}", "an array \"without_rotation\""},
        {"{\"model_types\": [], \"without_rotation\": []}", "wanted an object \"model_types\""},
        {"{\"model_types\": {\"a\": {}}, \"without_rotation\": [], \"more\": 1}", "wanted an object"},
        {"{\"model_types\": {\"a\": 8}, \"without_rotation\": []}", "model_types.json, a: wanted an object"},
        {"{\"model_types\": {\"a\": {\"head_din\": 8}}, \"without_rotation\": []}",
         "model_types.json, a: there is no key \"head_din\"; did you mean \"head_dim\"?"},
        {"{\"model_types\": {\"a\": {\"head_dim\": \"8\"}}, \"without_rotation\": []}",
         "model_types.json, a: \"head_dim\" is \"8\", wanted a whole number"},
        {"{\"model_types\": {\"a\": {\"head_dim\": 0}}, \"without_rotation\": []}", "\"head_dim\" is 0"},
        {"{\"model_types\": {\"a\": {\"partial_rotary_factor\": 2}}, \"without_rotation\": []}",
         "\"partial_rotary_factor\" is 2"},
        {"{\"model_types\": {\"a\": {\"pairing\": \"halves\"}}, \"without_rotation\": []}",
         "\"pairing\" is \"halves\", wanted half or interleaved"},
        {"{\"model_types\": {\"a\": {\"unsupported\": true}}, \"without_rotation\": []}",
         "\"unsupported\" is true"},
        {"{\"model_types\": {\"a\": {\"rope_parameters\": []}}, \"without_rotation\": []}",
         "model_types.json, a: \"rope_parameters\" is no object"},
        {"{\"model_types\": {\"a\": {\"required\": {\"b\": 1}}}, \"without_rotation\": []}",
         "model_types.json, a: \"b\" has a rule that is no text"},
        {"{\"model_types\": {\"a\": {\"refused\": \"b\"}}, \"without_rotation\": []}",
         "\"refused\" is no object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rope_family family;
        rotary_error error = {0};
        check_about("%s", cases[i].text);
        json_t *damaged = json_loads(cases[i].text, 0, NULL);
        if (!CHECK(model_types_find_in(damaged, "a", &family, &error) != ROTARY_OK))
            rope_family_free(&family);
        json_decref(damaged);
        if (!CHECK(strstr(error.message, cases[i].message) != NULL))
            printf("  %s\n", error.message);
    }
}

/* Without a table of families, a model type has no defaults and no rules. */
static void test_without_families(void)
{
    static const char *const types[] = {"gpt_neox", "nanochat", "bert", "zamba2"};
    const struct rope_config_request request = {0};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct rope_config config;
        rotary_error error = {0};
        json_t *object = json_pack("{s:s, s:i}", "model_type", types[i], "head_dim", 64);
        check_about("%s without families", types[i]);
        if (CHECK_INT(rope_config_parse(object, "config.json", &request, &config, &error), ROTARY_OK)) {
            CHECK_INT(config.plan.rotary_dim, 64);
            rope_config_free(&config);
        }
        json_decref(object);
    }
}

int main(void)
{
    test_every_type();
    test_values();
    test_damage();
    test_without_families();
    return check_report();
}
