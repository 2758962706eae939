/* SPDX-License-Identifier: Apache-2.0
 *
 * The command-line parser: every form of every type, everything that can be wrong, and thousands of random
 * lines.
 */
#include "support/check.h"

#include "base/random.h"
#include "cli/arguments.h"

#include <string.h>

static const char *const colours[] = {"red", "green", "blue", NULL};

struct sample {
    const char *name;
    struct option_integer steps, colour;
    struct option_real rate;
    struct option_list sets;
    bool json, resume;
};

static const struct setting own[] = {
    {.name = "--steps",
     .type = SETTING_INTEGER,
     .metavar = "N",
     .offset = offsetof(struct sample, steps),
     .min = 1,
     .max = 1000},
    {.name = "--name", .type = SETTING_TEXT, .metavar = "TEXT", .offset = offsetof(struct sample, name)},
    {.name = "--set", .type = SETTING_LIST, .metavar = "KEY=VALUE", .offset = offsetof(struct sample, sets)},
    {.name = "--resume", .type = SETTING_BOOLEAN, .offset = offsetof(struct sample, resume)},
};
static const struct setting shared[] = {
    {.name = "--rate",
     .type = SETTING_REAL,
     .metavar = "X",
     .offset = offsetof(struct sample, rate),
     .min = 0,
     .max = 2},
    {.name = "--colour",
     .type = SETTING_CHOICE,
     .metavar = "NAME",
     .offset = offsetof(struct sample, colour),
     .choices = colours},
    {.name = "--json", .type = SETTING_BOOLEAN, .offset = offsetof(struct sample, json)},
};

enum { MAX_ARGUMENTS = 300 };
static struct sample sample;
static const char *items[MAX_ARGUMENTS];
static struct operands operands = {.items = items};
static const struct setting *about;
static rotary_error error;

static rotary_status parse(int count, const char *const *arguments)
{
    sample = (struct sample){0};
    error = (rotary_error){0};
    const struct settings sets[] = {{own, sizeof own / sizeof own[0], &sample},
                                    {shared, sizeof shared / sizeof shared[0], &sample}};
    const struct command_line line = {sets, 2, count, arguments, NULL};
    return arguments_parse(&line, &operands, &about, &error);
}

#define PARSE(...)                                                                                           \
    parse((int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *)), (const char *[]){__VA_ARGS__})

static void test_forms(void)
{
    CHECK_INT(parse(0, NULL), ROTARY_OK);
    CHECK(!sample.name && !sample.steps.given && !sample.json && sample.sets.count == 0 &&
          operands.count == 0);

    CHECK_INT(
        PARSE("index", "--steps", "5", "--json", "--rate=1.5", "more", "--name", "-", "--colour", "green"),
        ROTARY_OK);
    CHECK_INT(operands.count, 2);
    CHECK_TEXT(operands.items[0], "index");
    CHECK_TEXT(operands.items[1], "more");
    CHECK(sample.steps.given && sample.rate.given && sample.colour.given && sample.json && !sample.resume);
    CHECK_INT(sample.steps.value, 5);
    CHECK_NEAR(sample.rate.value, 1.5, 0);
    CHECK_INT(sample.colour.value, 1);
    CHECK_TEXT(sample.name, "-");

    CHECK_INT(PARSE("--set", "a=1", "--set=b=2", "--set", "--c"), ROTARY_OK);
    CHECK_INT(sample.sets.count, 3);
    CHECK_TEXT(sample.sets.items[0], "a=1");
    CHECK_TEXT(sample.sets.items[1], "b=2");
    CHECK_TEXT(sample.sets.items[2], "--c");

    CHECK_INT(PARSE("--name=", "--", "--json", "-x"), ROTARY_OK);
    CHECK_TEXT(sample.name, "");
    CHECK_INT(operands.count, 2);
    CHECK_TEXT(operands.items[0], "--json");
    CHECK(!sample.json);

    CHECK_INT(PARSE("--steps=5", "--json", "--json", "--name", "x y"), ROTARY_OK);
    CHECK_INT(sample.steps.value, 5);
    CHECK_TEXT(sample.name, "x y");
}

static void check_refused(rotary_status status, const char *message, const char *option)
{
    CHECK_INT(status, ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, message);
    CHECK_TEXT(about ? about->name : "none", option);
}

static void test_refused(void)
{
    check_refused(PARSE("--stpes", "5"), "there is no option --stpes; did you mean --steps?", "--steps");
    check_refused(PARSE("--steps=5", "--steps=6"),
                  "--steps is given twice, the second time as \"6\": wanted one value", "--steps");
    check_refused(PARSE("--bicycle=5"), "there is no option --bicycle", "none");
    check_refused(PARSE("-s"), "there is no option -s", "none");
    check_refused(PARSE("--steps"), "--steps wants a value: --steps N", "--steps");
    check_refused(PARSE("--steps", "0"), "--steps is \"0\", wanted a whole number from 1 to 1000", "--steps");
    check_refused(PARSE("--steps", "1001"), "--steps is \"1001\", wanted a whole number from 1 to 1000",
                  "--steps");
    check_refused(PARSE("--steps=5x"), "--steps is \"5x\", wanted a whole number from 1 to 1000", "--steps");
    check_refused(PARSE("--steps="), "--steps is \"\", wanted a whole number from 1 to 1000", "--steps");
    check_refused(PARSE("--steps", "99999999999999999999"),
                  "--steps is \"99999999999999999999\", wanted a whole number from 1 to 1000", "--steps");
    check_refused(PARSE("--rate", "nan"), "--rate is \"nan\", wanted a number from 0 to 2", "--rate");
    check_refused(PARSE("--rate", "-1"), "--rate is \"-1\", wanted a number from 0 to 2", "--rate");
    check_refused(PARSE("--colour", "gren"),
                  "--colour is \"gren\", wanted red, green or blue; did you mean \"green\"?", "--colour");
    check_refused(PARSE("--json=yes"), "--json takes no value, but got \"yes\"", "--json");
    check_refused(PARSE("--name", "--json"),
                  "--name wants a value, but is followed by the option --json (if that is the value, write "
                  "--name=--json)",
                  "--name");
    const char *many[2 * OPTION_LIST_ITEMS + 2];
    for (int i = 0; i < 2 * OPTION_LIST_ITEMS + 2; i += 2) {
        many[i] = "--set";
        many[i + 1] = "a=1";
    }
    CHECK_INT(parse(2 * OPTION_LIST_ITEMS, many), ROTARY_OK);
    check_refused(parse(2 * OPTION_LIST_ITEMS + 2, many), "--set is given more than 128 times", "--set");
}

/* No line crashes the parser, and a refusal always says something. */
static void test_random_lines(void)
{
    static const char *const pieces[] = {"--steps", "--steps=", "--",        "-",      "",        "5",
                                         "--set",   "--rate=1", "--colour=", "--json", "--json=", "--jsonn",
                                         "-5",      "=",        "--=",       "---",    "x=y",     "\xff\n"};
    struct rotary_random random = {.key = {.seed = 1, .stream = ROTARY_STREAM_TEST}};
    int refused = 0;
    for (int i = 0; i < 5000; i++) {
        const char *arguments[8];
        int count = (int)rotary_random_below(&random, 8);
        for (int j = 0; j < count; j++)
            arguments[j] = pieces[rotary_random_below(&random, sizeof pieces / sizeof pieces[0])];
        rotary_status status = parse(count, arguments);
        refused += status != ROTARY_OK;
        CHECK(status == ROTARY_OK || (status == ROTARY_INVALID_ARGUMENT && error.message[0]));
        CHECK(operands.count <= count);
    }
    CHECK(refused > 1000 && refused < 5000);
}

int main(void)
{
    test_forms();
    test_refused();
    test_random_lines();
    return check_report();
}
