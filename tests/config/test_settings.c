/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings tables: read, written, assigned; what is wrong is said, and changes nothing.
 */
#include "support/check.h"

#include "base/fail.h"
#include "config/comma_list.h"
#include "config/settings.h"

#include <stdlib.h>
#include <string.h>

static const char *const acts[] = {"relu", "gelu", "swiglu", NULL};

struct sample {
    int64_t steps;
    double rate;
    bool bias;
    int act;
    char name[SETTING_TEXT_BYTES];
    json_t *scaling, *types;
    struct setting_description *act_object;
};

static const struct setting sample_table[] = {
    {"steps", SETTING_INTEGER, offsetof(struct sample, steps), 1, 1000000, NULL, .help = "steps"},
    {"learning_rate", SETTING_REAL, offsetof(struct sample, rate), 0, 9.9999999, NULL, .help = "rate"},
    {"bias", SETTING_BOOLEAN, offsetof(struct sample, bias), 0, 0, NULL, .help = "bias"},
    {"hidden_act", SETTING_CHOICE, offsetof(struct sample, act), 0, 0, acts, .help = "activation"},
};
static const struct setting name_table[] = {
    {"run_name", SETTING_TEXT, offsetof(struct sample, name), 0, 0, NULL, .help = "name"},
};

static const struct setting json_table[] = {
    {"rope_scaling", SETTING_OBJECT, offsetof(struct sample, scaling), 0, 0, NULL, .help = "scaling"},
    {"layer_types", SETTING_ARRAY, offsetof(struct sample, types), 0, 0, NULL, .help = "types"},
};

static struct sample sample;
static const struct settings both[2] = {{sample_table, 4, &sample}, {name_table, 1, &sample}};
static const struct settings nested[1] = {{json_table, 2, &sample}};
static rotary_error error;

static void reset(void)
{
    sample = (struct sample){.steps = 10, .rate = 0.5, .act = 1, .name = "first"};
    error = (rotary_error){0};
}

static rotary_status read_text(const char *text)
{
    json_t *object = json_loads(text, 0, NULL);
    CHECK(object != NULL);
    rotary_status status = settings_read(both, 2, object, "here", &error);
    json_decref(object);
    return status;
}

static void test_read(void)
{
    reset();
    CHECK_INT(read_text("{\"steps\": 500, \"learning_rate\": 1, \"bias\": true, \"hidden_act\": \"swiglu\"}"),
              ROTARY_OK);
    CHECK_INT(sample.steps, 500);
    CHECK_NEAR(sample.rate, 1.0, 0);
    CHECK(sample.bias);
    CHECK_INT(sample.act, 2);
    CHECK_TEXT(sample.name, "first");
    CHECK_INT(read_text("{\"steps\": 1e6, \"run_name\": \"second\"}"), ROTARY_OK);
    CHECK_INT(sample.steps, 1000000);
    CHECK_TEXT(sample.name, "second");
}

/* Choices called true and false can be written as JSON's. */
static void test_boolean_choices(void)
{
    static const char *const names[] = {"bias", "true", "false", NULL};
    static const struct setting table[] = {
        {"mlp_bias", SETTING_CHOICE, offsetof(struct sample, act), 0, 0, names, .help = "biases"}};
    const struct settings settings = {table, 1, &sample};
    const char *const texts[] = {"{\"mlp_bias\": \"bias\"}", "{\"mlp_bias\": true}", "{\"mlp_bias\": false}",
                                 "{\"mlp_bias\": \"true\"}"};
    const int wanted[] = {0, 1, 2, 1};
    for (int i = 0; i < 4; i++) {
        json_t *object = json_loads(texts[i], 0, NULL);
        sample.act = -1;
        CHECK_INT(settings_read(&settings, 1, object, "here", &error), ROTARY_OK);
        CHECK_INT(sample.act, wanted[i]);
        json_decref(object);
    }
    CHECK_INT(settings_assign(&settings, 1, "mlp_bias=false", &error), ROTARY_OK);
    CHECK_INT(sample.act, 2);
}

static void test_refused(void)
{
    char long_text[400] = "{\"run_name\": \"", rest[300];
    memset(rest, 'x', 256);
    strcpy(rest + 256, "\"}");
    strcat(long_text, rest);
    const struct {
        const char *text, *wanted;
    } wrong[] = {
        {"{\"steps\": 0}", "here: \"steps\" is 0, wanted a whole number from 1 to 1000000"},
        {"{\"steps\": 1.5}", "here: \"steps\" is 1.5, wanted a whole number from 1 to 1000000"},
        {"{\"steps\": \"many\"}", "here: \"steps\" is \"many\", wanted a whole number from 1 to 1000000"},
        {"{\"steps\": 1e300}", "here: \"steps\" is 1e300, wanted a whole number from 1 to 1000000"},
        {"{\"learning_rate\": -0.1}", "here: \"learning_rate\" is -0.1, wanted a number from 0 to 9.9999999"},
        {"{\"learning_rate\": null}", "here: \"learning_rate\" is null, wanted a number from 0 to 9.9999999"},
        {"{\"bias\": 1}", "here: \"bias\" is 1, wanted true or false"},
        {"{\"hidden_act\": \"gleu\"}",
         "here: \"hidden_act\" is \"gleu\", wanted relu, gelu or swiglu; did you mean \"gelu\"?"},
        {"{\"hidden_act\": \"tanh\"}", "here: \"hidden_act\" is \"tanh\", wanted relu, gelu or swiglu"},
        {"{\"hidden_act\": true}", "here: \"hidden_act\" is true, wanted relu, gelu or swiglu"},
        {"{\"hidden_act\": 1}", "here: \"hidden_act\" is 1, wanted relu, gelu or swiglu"},
        {"{\"learnin_rate\": 1}", "here: there is no key \"learnin_rate\"; did you mean \"learning_rate\"?"},
        {"{\"zebra\": 1}", "here: there is no key \"zebra\""},
        {"{\"steps\": 20, \"run-name\": \"x\"}",
         "here: there is no key \"run-name\"; did you mean \"run_name\"?"},
        {"{\"steps\": 20, \"bias\": []}", "here: \"bias\" is [], wanted true or false"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        reset();
        struct sample before = sample;
        CHECK_INT(read_text(wrong[i].text), ROTARY_INVALID_ARGUMENT);
        CHECK_TEXT(error.message, wrong[i].wanted);
        CHECK(memcmp(&before, &sample, sizeof sample) == 0);
    }
    CHECK_INT(read_text(long_text), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "wanted a text of at most 255 bytes") != NULL);
    /* Nothing quoted can break the line. */
    CHECK_INT(read_text("{\"a\\nb\": 1}"), ROTARY_INVALID_ARGUMENT);
    CHECK(!strchr(error.message, '\n'));
}

static rotary_status assign(const char *text)
{
    return settings_assign(both, 2, text, &error);
}

static void test_assign(void)
{
    reset();
    CHECK_INT(assign("steps=77"), ROTARY_OK);
    CHECK_INT(sample.steps, 77);
    CHECK_INT(assign("steps=1e3"), ROTARY_OK);
    CHECK_INT(sample.steps, 1000);
    CHECK_INT(assign("learning_rate=.25"), ROTARY_OK);
    CHECK_NEAR(sample.rate, 0.25, 0);
    CHECK_INT(assign("bias=true"), ROTARY_OK);
    CHECK(sample.bias);
    CHECK_INT(assign("hidden_act=relu"), ROTARY_OK);
    CHECK_INT(sample.act, 0);
    CHECK_INT(assign("hidden_act=\"gelu\""), ROTARY_OK);
    CHECK_INT(sample.act, 1);
    CHECK_INT(assign("run_name=12"), ROTARY_OK);
    CHECK_TEXT(sample.name, "12");
    CHECK_INT(assign("run_name=a=b"), ROTARY_OK);
    CHECK_TEXT(sample.name, "a=b");
    CHECK_INT(assign("run_name="), ROTARY_OK);
    CHECK_TEXT(sample.name, "");

    static const struct {
        const char *text, *wanted;
    } wrong[] = {
        {"steps", "--set: \"steps\" is not key=value, wanted steps=VALUE"},
        {"steps:3", "--set: \"steps:3\" is not key=value, wanted steps=3"},
        {"=3", "--set: \"=3\" is not key=value"},
        {"step=3", "--set: there is no key \"step\"; did you mean \"steps\"?"},
        {"steps=", "--set: \"steps\" is \"\", wanted a whole number from 1 to 1000000"},
        {"steps=3x", "--set: \"steps\" is \"3x\", wanted a whole number from 1 to 1000000"},
        {"learning_rate=nan", "--set: \"learning_rate\" is \"nan\", wanted a number from 0 to 9.9999999"},
        {"learning_rate=inf", "--set: \"learning_rate\" is \"inf\", wanted a number from 0 to 9.9999999"},
        {"bias=yes", "--set: \"bias\" is \"yes\", wanted true or false"},
        {"hidden_act=swigl",
         "--set: \"hidden_act\" is \"swigl\", wanted relu, gelu or swiglu; did you mean \"swiglu\"?"},
    };
    reset();
    struct sample before = sample;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_INT(assign(wrong[i].text), ROTARY_INVALID_ARGUMENT);
        CHECK_TEXT(error.message, wrong[i].wanted);
        CHECK(memcmp(&before, &sample, sizeof sample) == 0);
    }
    CHECK_INT(assign("run_name=\xff"), ROTARY_INVALID_ARGUMENT);
}

static void test_write(void)
{
    reset();
    sample.rate = 0.1;
    json_t *object = json_object();
    CHECK_INT(settings_write(both, 2, object, &error), ROTARY_OK);
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(3));
    CHECK_TEXT(
        text,
        "{\"steps\":10,\"learning_rate\":0.1,\"bias\":false,\"hidden_act\":\"gelu\",\"run_name\":\"first\"}");
    free(text);
    struct sample before = sample;
    sample = (struct sample){.steps = 1};
    CHECK_INT(settings_read(both, 2, object, "here", &error), ROTARY_OK);
    CHECK_INT(sample.steps, before.steps);
    CHECK_NEAR(sample.rate, 0.1, 0);
    CHECK_INT(sample.act, 1);
    CHECK_TEXT(sample.name, "first");
    json_decref(object);
}

/* Whether a value is that of the text. */
static bool is_json(const json_t *value, const char *text)
{
    json_t *wanted = json_loads(text, 0, NULL);
    const bool same = json_equal(value, wanted);
    json_decref(wanted);
    return same;
}

/* JSON in a configuration: parsed once, and written as it was read. */
static void test_json(void)
{
    reset();
    CHECK_INT(settings_assign(nested, 1, "rope_scaling={ \"type\": \"yarn\",\n\"factor\": 0.1 }", &error),
              ROTARY_OK);
    CHECK(is_json(sample.scaling, "{\"type\":\"yarn\",\"factor\":0.1}"));
    CHECK_INT(settings_assign(nested, 1, "layer_types=[\"a\", [1e300, null]]", &error), ROTARY_OK);
    CHECK(is_json(sample.types, "[\"a\",[1e300,null]]"));
    json_t *object = json_object();
    CHECK_INT(settings_write(nested, 1, object, &error), ROTARY_OK);
    CHECK(json_real_value(json_object_get(json_object_get(object, "rope_scaling"), "factor")) == 0.1);
    CHECK_INT(settings_assign(nested, 1, "rope_scaling=null", &error), ROTARY_OK);
    CHECK(!sample.scaling);
    CHECK_INT(settings_read(nested, 1, object, "here", &error), ROTARY_OK);
    CHECK(is_json(sample.scaling, "{\"type\":\"yarn\",\"factor\":0.1}"));
    CHECK_INT(settings_check(nested, 1, "here", &error), ROTARY_OK);
    json_decref(object);
    settings_free(nested, 1);
    CHECK(!sample.scaling && !sample.types);
    object = json_object();
    CHECK_INT(settings_write(nested, 1, object, &error), ROTARY_OK);
    CHECK(json_is_null(json_object_get(object, "rope_scaling")));
    json_decref(object);
}

/* A copy that shares what the other owns keeps it where the other gets another value, or is freed; and nobody
 * who has what was read, or what is written, changes it. */
static void test_shared(void)
{
    struct sample copy;
    const struct settings copied[1] = {{json_table, 2, &copy}};
    reset();
    json_t *given = json_pack("{s:{s:i}}", "rope_scaling", "factor", 2), *written = json_object();
    CHECK_INT(settings_read(nested, 1, given, "here", &error), ROTARY_OK);
    json_object_set_new(json_object_get(given, "rope_scaling"), "factor", json_integer(3));
    copy = sample;
    settings_share(copied, 1);
    CHECK_INT(settings_assign(nested, 1, "rope_scaling={\"factor\":5}", &error), ROTARY_OK);
    CHECK(is_json(sample.scaling, "{\"factor\":5}"));
    settings_free(nested, 1);
    CHECK(is_json(copy.scaling, "{\"factor\":2}"));
    CHECK_INT(settings_write(copied, 1, written, &error), ROTARY_OK);
    json_object_set_new(json_object_get(written, "rope_scaling"), "factor", json_integer(3));
    CHECK(is_json(copy.scaling, "{\"factor\":2}"));
    settings_free(copied, 1);
    json_decref(given);
    json_decref(written);
}

static void test_json_refused(void)
{
    static const struct {
        const char *text, *wanted;
    } wrong[] = {
        {"rope_scaling=yarn", "--set: \"rope_scaling\" is \"yarn\", wanted an object or null"},
        {"rope_scaling=[]", "--set: \"rope_scaling\" is [], wanted an object or null"},
        {"rope_scaling=", "--set: \"rope_scaling\" is \"\", wanted an object or null"},
        {"rope_scaling={\"a\":1,\"a\":2}",
         "--set: \"rope_scaling\" is \"{\\\"a\\\":1,\\\"a\\\":2}\", wanted an object"},
        {"layer_types={}", "--set: \"layer_types\" is {}, wanted a list or null"},
        {"layer_types=3", "--set: \"layer_types\" is 3, wanted a list or null"},
        {"layer_type=[]", "--set: there is no key \"layer_type\"; did you mean \"layer_types\"?"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        reset();
        struct sample before = sample;
        CHECK_INT(settings_assign(nested, 1, wrong[i].text, &error), ROTARY_INVALID_ARGUMENT);
        check_about("%s", error.message);
        CHECK(strncmp(error.message, wrong[i].wanted, strlen(wrong[i].wanted)) == 0);
        CHECK(memcmp(&before, &sample, sizeof sample) == 0);
    }
    check_about("%s", "");
    /* Members that were filled in by other means. */
    sample.scaling = json_array();
    CHECK_INT(settings_check(nested, 1, "here", &error), ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, "here: \"rope_scaling\" is [], wanted an object or null");
    settings_free(nested, 1);
    sample.types = json_object();
    CHECK_INT(settings_check(nested, 1, "here", &error), ROTARY_INVALID_ARGUMENT);
    settings_free(nested, 1);
}

static void test_nearest(void)
{
    static const char *const names[] = {"none", "learned", "sinusoidal", "rope", "roper", NULL};
    static const char *const commands[] = {"train",  "evaluate", "generate", "compare",
                                           "report", "info",     "help",     NULL};
    CHECK_TEXT(settings_nearest("ropr", names), "rope");
    CHECK_TEXT(settings_nearest("ropre", names), "roper");
    CHECK_TEXT(settings_nearest("roperr", names), "roper");
    CHECK_TEXT(settings_nearest("RoPER", names), "roper");
    CHECK_TEXT(settings_nearest("sinusodial", names), "sinusoidal");
    CHECK_TEXT(settings_nearest("sin", names), "sinusoidal");
    CHECK_TEXT(settings_nearest("eval", commands), "evaluate");
    CHECK_TEXT(settings_nearest("trian", commands), "train");
    CHECK(!settings_nearest("bicycle", names));
    CHECK(!settings_nearest("", names));
    char long_name[300];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    CHECK(!settings_nearest(long_name, names));
}

static int described; /* descriptions that there are */

static void destroy(struct setting_description *description)
{
    described--;
    json_decref(description->json);
    free(description);
}

/* Of any object but {"bad": ...}. */
static rotary_status describe(const json_t *object, struct setting_description **description,
                              rotary_error *wrong)
{
    if (json_object_get(object, "bad"))
        return rotary_fail(wrong, ROTARY_INVALID_ARGUMENT, "act: bad is no key");
    *description = malloc(sizeof **description);
    **description = (struct setting_description){json_deep_copy(object), 1, destroy};
    described++;
    return ROTARY_OK;
}

/* Whether the sample's description is of the object; NULL: there is none. */
static bool is_described(const char *text)
{
    return text ? sample.act_object && is_json(sample.act_object->json, text) : !sample.act_object;
}

/* "none" of no choice at all, and "gate" for an object. */
static rotary_status stands_for(const char *text, json_t **value, rotary_error *wrong)
{
    if (strcmp(text, "none") == 0)
        return rotary_fail(wrong, ROTARY_BAD_FILE, "%s: nothing is there", text);
    *value = strcmp(text, "gate") == 0 ? json_pack("{s:i}", "gate", 1) : json_string(text);
    return ROTARY_OK;
}

/* What a person writes may stand for a value; JSON stands for itself, in assignments and elsewhere. */
static void test_stands_for(void)
{
    static const struct setting table[] = {
        {"act", SETTING_CHOICE, offsetof(struct sample, act), 0, 0, acts, .help = "act", .describe = describe,
         .description = offsetof(struct sample, act_object), .stands_for = stands_for}};
    const struct settings settings = {table, 1, &sample};
    reset();
    CHECK_INT(settings_set(&settings, 1, "--act", "act", "gate", &error), ROTARY_OK);
    CHECK_INT(sample.act, 3);
    CHECK(is_described("{\"gate\":1}"));
    CHECK_INT(settings_assign(&settings, 1, "act=\"relu\"", &error), ROTARY_OK);
    CHECK_INT(sample.act, 0);
    CHECK_INT(settings_assign(&settings, 1, "act={\"none\":1}", &error), ROTARY_OK);
    CHECK(is_described("{\"none\":1}"));
    CHECK_INT(settings_set(&settings, 1, "--act", "act", "none", &error), ROTARY_BAD_FILE);
    CHECK_TEXT(error.message, "none: nothing is there");
    CHECK_INT(settings_set(&settings, 1, "--act", "act", "gat", &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "--act: \"act\" is \"gat\", wanted relu, gelu or swiglu");
    CHECK_INT(settings_set(&settings, 1, "--act", "acts", "gate", &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "--act: there is no key \"acts\"; did you mean \"act\"?");
    CHECK(is_described("{\"none\":1}"));
    json_t *object = json_pack("{s:s}", "act", "gate");
    CHECK_INT(settings_read(&settings, 1, object, "here", &error), ROTARY_INVALID_ARGUMENT);
    json_decref(object);
    settings_free(&settings, 1);
    CHECK_INT(described, 0);
}

/* A choice that may also be an object has a description beside the index, which copies share. */
static void test_choice_object(void)
{
    static const struct setting table[] = {{"act", SETTING_CHOICE, offsetof(struct sample, act), 0, 0, acts,
                                            .help = "act", .describe = describe,
                                            .description = offsetof(struct sample, act_object)}};
    struct sample copy;
    const struct settings settings = {table, 1, &sample}, copied = {table, 1, &copy};
    reset();
    CHECK_INT(settings_assign(&settings, 1, "act={\"b\": 1, \"a\": [2]}", &error), ROTARY_OK);
    CHECK_INT(sample.act, 3);
    CHECK(is_described("{\"b\":1,\"a\":[2]}"));
    CHECK_INT(settings_check(&settings, 1, "here", &error), ROTARY_OK);
    json_t *object = json_object();
    CHECK_INT(settings_write(&settings, 1, object, &error), ROTARY_OK);
    char *text = json_dumps(object, JSON_COMPACT);
    CHECK_TEXT(text, "{\"act\":{\"b\":1,\"a\":[2]}}");
    free(text);
    CHECK_INT(settings_assign(&settings, 1, "act={\"bad\":1}", &error), ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, "act: bad is no key");
    CHECK(is_described("{\"b\":1,\"a\":[2]}"));
    copy = sample;
    settings_share(&copied, 1);
    CHECK_INT(settings_assign(&settings, 1, "act=gelu", &error), ROTARY_OK);
    CHECK_INT(sample.act, 1);
    CHECK(is_described(NULL));
    CHECK_INT(described, 1);
    settings_free(&copied, 1);
    CHECK_INT(described, 0);
    CHECK_INT(settings_read(&settings, 1, object, "here", &error), ROTARY_OK);
    CHECK_INT(sample.act, 3);
    CHECK_INT(described, 1);
    json_decref(object);
    settings_free(&settings, 1);
    CHECK_INT(settings_check(&settings, 1, "here", &error), ROTARY_INVALID_ARGUMENT);
    sample.act = 4;
    CHECK_INT(settings_check(&settings, 1, "here", &error), ROTARY_INVALID_ARGUMENT);
    reset();
    CHECK_INT(settings_assign(&settings, 1, "act=[1]", &error), ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, "--set: \"act\" is \"[1]\", wanted relu, gelu or swiglu, or an object");
    CHECK_INT(settings_assign(&settings, 1, "act={", &error), ROTARY_INVALID_ARGUMENT);
    CHECK_INT(sample.act, 1);
    struct settings plain = {sample_table, 4, &sample};
    CHECK_INT(settings_assign(&plain, 1, "hidden_act={\"a\":1}", &error), ROTARY_INVALID_ARGUMENT);
}

/* "" has one item, "a,,b" three. */
static void test_comma_list(void)
{
    static const char *const names[] = {"b", "a", NULL};
    const char *rest = "a,,b";
    struct comma_item item;
    int64_t value;
    char copy[3];
    CHECK(comma_list_next(&rest, &item) && comma_item_find(&item, names) == 1);
    CHECK(comma_list_next(&rest, &item) && item.length == 0 && comma_item_find(&item, names) == -1);
    CHECK(comma_list_next(&rest, &item) && comma_item_is(&item, "b") && !comma_item_is(&item, "bb"));
    CHECK(!comma_list_next(&rest, &item) && !comma_list_next(&rest, &item));
    CHECK_INT(comma_list_count(NULL), 0);
    CHECK_INT(comma_list_count(""), 1);
    CHECK_INT(comma_list_count("a,"), 2);
    rest = "12,12x,,99999999999999999999,-3,abcd";
    CHECK(comma_list_next(&rest, &item) && comma_item_number(&item, &value) && value == 12);
    CHECK(comma_list_next(&rest, &item) && !comma_item_number(&item, &value));
    CHECK(comma_list_next(&rest, &item) && !comma_item_number(&item, &value));
    CHECK(comma_list_next(&rest, &item) && !comma_item_number(&item, &value));
    CHECK(comma_list_next(&rest, &item) && comma_item_number(&item, &value) && value == -3);
    CHECK(comma_list_next(&rest, &item) && strcmp(comma_item_copy(&item, copy, sizeof copy), "ab") == 0);
}

int main(void)
{
    test_comma_list();
    test_choice_object();
    test_stands_for();
    test_read();
    test_boolean_choices();
    test_refused();
    test_assign();
    test_write();
    test_json();
    test_shared();
    test_json_refused();
    test_nearest();
    return check_report();
}
