/* SPDX-License-Identifier: Apache-2.0
 *
 * What bindings get of the reader: plans with their lists, types of which nothing is known, and messages in their words.
 */
#include "config_library/config_library.h"
#include "support/check.h"

#include <string.h>

static rotary_status create(rotary_config_rotation **rotation, rotary_config_source source,
                            rotary_error *error)
{
    check_about("%s", source.text);
    source.name = "config.json";
    source.bytes = strlen(source.text);
    return rotary_config_rotation_create(rotation, &source, error);
}

static void test_plans(void)
{
    static const char longrope[] = "{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"longrope\", "
                                   "\"original_max_position_embeddings\": 64, "
                                   "\"short_factor\": [1, 2, 3, 4], \"long_factor\": [5, 6, 7, 8]}}";
    rotary_config_rotation *rotation = NULL;
    if (!CHECK_INT(create(&rotation, (rotary_config_source){.text = longrope}, NULL), ROTARY_OK))
        return;
    const rotary_rope_config *plan = rotary_config_rotation_plan(rotation);
    CHECK_INT(plan->head_dim, 8);
    CHECK_INT(plan->scaling, ROTARY_SCALING_LONGROPE);
    CHECK_INT(plan->original_positions, 64);
    for (int i = 0; i < 4; i++)
        CHECK(plan->short_factors[i] == 1 + i && plan->long_factors[i] == 5 + i);
    CHECK_TEXT(rotary_config_rotation_unknown_type(rotation), "");
    rotary_config_rotation_destroy(rotation);
    rotary_config_rotation_destroy(NULL);
}

static void test_requests(void)
{
    static const char layers[] =
        "{\"head_dim\": 8, \"rope_parameters\": {\"full\": {\"rope_theta\": 7}, \"sliding\": {}}}";
    static const char strange[] =
        "{\"model_type\": \"strange\", \"head_dim\": 8, \"rope_magic\": 1, \"position\": \"t5\"}";
    static const char *const ignored[] = {"rope_magic", "position", NULL};
    static const char nemotron[] = "{\"model_type\": \"nemotron\", \"head_dim\": 16, \"rope_percent\": 0.25}";
    rotary_config_rotation *rotation = NULL;
    if (CHECK_INT(create(&rotation, (rotary_config_source){.text = layers, .layer_type = "full"}, NULL),
                  ROTARY_OK))
        CHECK(rotary_config_rotation_plan(rotation)->base == 7);
    rotary_config_rotation_destroy(rotation);
    rotation = NULL;
    if (CHECK_INT(create(&rotation, (rotary_config_source){.text = strange, .ignored = ignored}, NULL),
                  ROTARY_OK))
        CHECK_TEXT(rotary_config_rotation_unknown_type(rotation), "strange");
    rotary_config_rotation_destroy(rotation);
    for (int huggingface = 0; huggingface < 2; huggingface++) {
        rotation = NULL;
        const rotary_config_source source = {
            .text = nemotron, .compat = huggingface ? ROTARY_COMPAT_HUGGINGFACE : ROTARY_COMPAT_NONE};
        if (CHECK_INT(create(&rotation, source, NULL), ROTARY_OK))
            CHECK_INT(rotary_config_rotation_plan(rotation)->rotary_dim, huggingface ? 8 : 4);
        rotary_config_rotation_destroy(rotation);
    }
}

static void test_refusals(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "config.json is empty"},
        {"{\"head_dim\": 8", "config.json, line 1"},
        {"[8]", "holds no JSON object"},
        {"{\"head_dim\": 8, \"rope_magic\": 1}", "wanted one that is known, or ignore rope_magic"},
        {"{\"head_dim\": 8, \"use_rope\": false}", "wanted true, or ignore use_rope: the model"},
        {"{\"head_dim\": 8, \"rope_parameters\": {\"full\": {}, \"sliding\": {}}}",
         "wanted layer_type with one of full, sliding"},
        {"{\"head_dim\": 8, \"position\": \"alibi\"}",
         "\"position\" is \"alibi\", wanted rope, roper or xpos"},
        {"{\"head_dim\": 8, \"position\": {\"name\": \"rope\"}}", "wanted rope, roper or xpos"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rotary_config_rotation *rotation = NULL;
        rotary_error error = {0};
        CHECK_INT(create(&rotation, (rotary_config_source){.text = cases[i].text}, &error), ROTARY_BAD_FILE);
        CHECK_WORDS(error.message, cases[i].words);
        CHECK(rotation == NULL);
    }
}

int main(void)
{
    test_plans();
    test_requests();
    test_refusals();
    return check_report();
}
