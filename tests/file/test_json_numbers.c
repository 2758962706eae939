/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of JSON that C does not have: in fields that nobody asks for they refuse no file, and where they
 * are asked for they are neither a number nor a text.
 */
#include "file/json_numbers.h"

#include "file/file.h"
#include "rope_config/rope_config.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *load(const char *text, bool exact)
{
    json_error_t wrong;
    check_about("%.200s", text);
    return json_numbers_load(text, strlen(text), JSON_REJECT_DUPLICATES, exact, &wrong);
}

static void test_read_as(void)
{
    static const struct {
        const char *text, *same;
        bool exact;
    } cases[] = {
        {"[9223372036854775807, -9223372036854775808]", "[9223372036854775807,-9223372036854775808]", false},
        {"[9223372036854775808]", "[9223372036854775808.0]", false},
        {"[-9223372036854775809]", "[-9223372036854775809.0]", false},
        {"{\"a\":18329103420363166823,\"b\":\"x\"}", "{\"a\":18329103420363166823.0,\"b\":\"x\"}", false},
        {"[18329103420363166823]", "[{\"__integer__\":\"18329103420363166823\"}]", true},
        {"[1e999,-1E+999,1.5]", "[{\"__float__\":\"1e999\"},{\"__float__\":\"-1E+999\"},1.5]", false},
        {"[NaN, Infinity,-Infinity ]",
         "[{\"__float__\":\"NaN\"},{\"__float__\":\"Infinity\"},{\"__float__\":\"-Infinity\"}]", false},
        /* Not within texts and keys, also after escapes. */
        {"{\"NaN\": [\"NaN 1e999 \\\" NaN\", \"\\\\\", NaN, \"Infinity\"]}",
         "{\"NaN\":[\"NaN 1e999 \\\" NaN\",\"\\\\\",{\"__float__\":\"NaN\"},\"Infinity\"]}", false},
        {"[1, 2.5e3, true, null]", "[1,2500.0,true,null]", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *value = load(cases[i].text, cases[i].exact), *wanted = json_loads(cases[i].same, 0, NULL);
        CHECK(value && wanted && json_equal(value, wanted));
        json_decref(value);
        json_decref(wanted);
    }
}

static void test_still_refused(void)
{
    static const char *const texts[] = {
        "[nan]",     "[inf]", "[+Infinity]", "[Infinity1]", "[NaNNaN]", "[1-Infinity]", "{NaN: 1}",
        "[01]",      "[1.]",  "[.5]",        "[- 1]",       "[1e]",     "[NaN",         "[\"NaN, 1e999",
        "[1e999 2]", "",      "[0x1p9999]",  "[\"\\",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json_t *value = load(texts[i], false);
        CHECK(value == NULL);
        json_decref(value);
    }
}

/* A whole number with more digits than a double has, and one with more than any buffer. */
static void test_long(void)
{
    enum { DIGITS = 5000 };
    char *text = malloc(DIGITS + 3);
    text[0] = '[';
    memset(text + 1, '7', DIGITS);
    memcpy(text + 1 + DIGITS, "]", 2);
    json_t *value = load(text, false);
    const char *kept = json_numbers_float(json_array_get(value, 0));
    CHECK(kept && strlen(kept) == DIGITS);
    json_decref(value);
    value = load(text, true);
    kept = json_numbers_integer(json_array_get(value, 0));
    CHECK(kept && strlen(kept) == DIGITS);
    json_decref(value);
    free(text);
}

/* So many objects would take much more memory than the text. */
static void test_many(void)
{
    enum { COUNT = 70000 };
    char *text = malloc(COUNT * 4 + 2);
    text[0] = '[';
    for (int i = 0; i < COUNT; i++)
        memcpy(text + 1 + i * 4, i < COUNT - 1 ? "NaN," : "NaN]", 5);
    CHECK(load(text, false) == NULL);
    free(text);
}

/* A configuration that asks for such a number names the key; others do not matter. */
static void test_configuration(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"{\"head_dim\": 8, \"time_step_limit\": [0.0, Infinity], \"x\": 18446744073709551616}", NULL},
        {"{\"head_dim\": 8, \"rope_theta\": 20000000000000000000}", NULL},
        {"{\"head_dim\": 8, \"rope_theta\": Infinity}",
         "c.json: \"rope_theta\" is Infinity, wanted a number above 0"},
        {"{\"head_dim\": 8, \"rope_theta\": 1e999}", "\"rope_theta\" is 1e999, wanted a number above 0"},
        {"{\"head_dim\": 18446744073709551616}",
         "\"head_dim\" is 1.8446744073709552e19, wanted a whole number"},
        {"{\"head_dim\": 8, \"rope_scaling\": NaN}", "\"rope_scaling\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct rope_config_request request = {0};
        struct rope_config config;
        json_t *object = NULL;
        rotary_error error = {0};
        check_about("%s", cases[i].text);
        CHECK_INT(file_parse_json("c.json", cases[i].text, strlen(cases[i].text), &object, &error),
                  ROTARY_OK);
        CHECK_INT(rope_config_parse(object, "c.json", &request, &config, &error),
                  cases[i].words ? ROTARY_BAD_FILE : ROTARY_OK);
        if (cases[i].words)
            CHECK_WORDS(error.message, cases[i].words);
        else
            rope_config_free(&config);
        json_decref(object);
    }
}

int main(void)
{
    test_read_as();
    test_still_refused();
    test_long();
    test_many();
    test_configuration();
    return check_report();
}
