/* SPDX-License-Identifier: Apache-2.0
 *
 * Formulas: values against C's operators, gradients against finite differences, and every error with its
 * column.
 */
#include "support/check.h"

#include "layer/encoding/formula.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DISTANCE, HEAD, HEADS, W, V, NAMES };
static const struct formula_name names[NAMES] = {{"distance", FORMULA_SERIES},
                                                 {"head", FORMULA_NUMBER},
                                                 {"heads", FORMULA_NUMBER},
                                                 {"w", FORMULA_LEARNED},
                                                 {"v", FORMULA_LEARNED}};
enum { COUNT = 131 }; /* of distances: no multiple of a block */

/* The distances are first ... first + COUNT - 1. */
struct numbers {
    double distances[COUNT], head, heads, w, v;
};

static struct numbers numbers_from(double first)
{
    struct numbers numbers = {.head = 2, .heads = 6, .w = 0.7, .v = -1.3};
    for (int j = 0; j < COUNT; j++)
        numbers.distances[j] = first + j;
    return numbers;
}

static void evaluate(const struct formula *formula, const struct numbers *numbers, int64_t count,
                     double *values)
{
    const double *const inputs[NAMES] = {numbers->distances, &numbers->head, &numbers->heads, &numbers->w,
                                         &numbers->v};
    formula_values(formula, inputs, count, values);
}

static struct formula *create(const char *text)
{
    rotary_error error = {0};
    struct formula *formula = NULL;
    check_about("%s", text);
    if (!CHECK_INT(formula_create(&formula, text, names, NAMES, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(1);
    }
    return formula;
}

/* ---- values ---- */

/* The bias of ALiBi as the paper's repository computes it. */
static double alibi_slope(double head, double heads)
{
    double power = exp2(floor(log2(heads)));
    return head < power ? exp2(-8 * (head + 1) / power) : exp2(-4 * (2 * (head - power) + 1) / power);
}
#define ALIBI                                                                                                \
    "-if(head < 2^floor(log2(heads)), 2^(-8*(head+1)/2^floor(log2(heads))), "                                \
    "2^(-4*(2*(head-2^floor(log2(heads)))+1)/2^floor(log2(heads)))) * abs(distance)"

struct value_case {
    const char *text;
    double value; /* at distance -5, head 2 of 6, w 0.7, v -1.3 */
};

static void check_values(void)
{
    double sandwich = 0;
    for (int i = 0; i < 64; i++)
        sandwich += cos(-5.0 * pow(10000.0, -2.0 * i / 128)) - 1.0;
    const struct value_case cases[] = {
        {"1", 1},
        {" .5e1 ", 5},
        {"1+2*3", 7},
        {"(1+2)*3", 9},
        {"2-3-4", -5},
        {"24/3/2", 4},
        {"2^3^2", 512},
        {"-2^2", -4},
        {"2^-1", 0.5},
        {"--3", 3},
        {"2*-3", -6},
        {"pi", 3.14159265358979323846},
        {"distance", -5},
        {"head/heads", 2.0 / 6.0},
        {"w*v", 0.7 * -1.3},
        {"abs(distance)", 5},
        {"sqrt(16)", 4},
        {"exp(w)", exp(0.7)},
        {"log(heads)", log(6)},
        {"log2(8)", 3},
        {"sin(distance)", sin(-5)},
        {"cos(distance)", cos(-5)},
        {"floor(v)", -2},
        {"min(w, v)", -1.3},
        {"max(w,v)", 0.7},
        {"if(head < 3, w, v)", 0.7},
        {"if(head < 2, w, v)", -1.3},
        {"(1 < 2) + (2 <= 2) + (3 > 2) + (2 >= 2) + (2 == 2) + (1 != 2)", 6},
        {"(2 < 2) + (3 <= 2) + (2 > 2) + (1 >= 2) + (1 == 2) + (2 != 2)", 0},
        {"if(distance == -5, 1, log(distance))", 1},
        {"sum(i, 1, 4, i*distance)", -50},
        {"sum(i, 0, sum(j, 1, 2, j), i)", 6},
        {"sum(i, 1, 2, sum(j, i, 2, 10*i + j))", 11 + 12 + 22},
        {"2 * sum(head, 3, 3, head) + head", 8},
        {"sum(i, 0, 63, cos(distance*10000^(-2*i/128)) - 1) * heads/(8*(head+1))", sandwich * 6 / 24},
        {"-exp(w) * log(1 + exp(v) * abs(distance))", -exp(0.7) * log(1 + exp(-1.3) * 5)},
        {ALIBI, -alibi_slope(2, 6) * 5},
    };
    struct numbers numbers = numbers_from(-5);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct formula *formula = create(cases[i].text);
        double value;
        evaluate(formula, &numbers, 1, &value);
        CHECK_NEAR(value, cases[i].value, 4e-16 * fabs(cases[i].value));
        formula_destroy(formula);
    }
}

/* Entries do not depend on those beside them, whatever block they are in. */
static void check_blocks(void)
{
    static const char *const texts[] = {"-exp(w) * log(1 + exp(v) * abs(distance))", "w + head", "distance"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct formula *formula = create(texts[i]);
        struct numbers numbers = numbers_from(-100);
        double values[COUNT], value;
        evaluate(formula, &numbers, COUNT, values);
        for (int j = 0; j < COUNT; j++) {
            numbers.distances[0] = -100 + j;
            evaluate(formula, &numbers, 1, &value);
            CHECK(value == values[j]);
        }
        formula_destroy(formula);
    }
}

/* ---- gradients ---- */

static double weighted_sum(const struct formula *formula, const struct numbers *numbers,
                           const double *weights)
{
    double values[COUNT], sum = 0;
    evaluate(formula, numbers, COUNT, values);
    for (int j = 0; j < COUNT; j++)
        sum += weights[j] * values[j];
    return sum;
}

static void gradient(const struct formula *formula, const struct numbers *numbers, const double *weights,
                     double d[2])
{
    const double *const inputs[NAMES] = {numbers->distances, &numbers->head, &numbers->heads, &numbers->w,
                                         &numbers->v};
    double *const d_inputs[NAMES] = {NULL, NULL, NULL, &d[0], &d[1]};
    formula_gradient(formula, inputs, COUNT, weights, d_inputs);
}

static void check_gradients(void)
{
    static const char *const texts[] = {
        "w + v",
        "w - v*distance",
        "w*v*w",
        "w/(v*distance + 200)",
        "(w+2)^v",
        "abs(distance)^(w+v+1)",
        "abs(distance)^w",
        "(distance/50)^3*v",
        "-w^2",
        "abs(v)*abs(w)",
        "sqrt(w*w + distance^2)",
        "sqrt(abs(distance)*w)",
        "exp(w*distance/100)",
        "-exp(w) * log(1 + exp(v) * abs(distance))",
        "log2(w + abs(distance))",
        "sin(w*distance) * cos(v*distance)",
        "floor(w) + v",
        "min(w*distance, v)",
        "max(w*distance, v)",
        "if(distance < -19, w*distance, log(v + 21 + distance))",
        "(w < v) * w + (w > v) * v",
        "sum(i, 1, 5, cos(w*i*distance)/i^v)",
        "w", /* no series */
        "head",
    };
    const double step = 1e-5;
    double weights[COUNT];
    for (int j = 0; j < COUNT; j++)
        weights[j] = (double)check_random(7, (uint64_t)j, 1);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct formula *formula = create(texts[i]);
        struct numbers numbers = numbers_from(-100);
        double d[2] = {1, 2}; /* added to */
        gradient(formula, &numbers, weights, d);
        for (int k = 0; k < 2; k++) {
            double *number = k == 0 ? &numbers.w : &numbers.v, kept = *number;
            *number = kept + step;
            double above = weighted_sum(formula, &numbers, weights);
            *number = kept - step;
            double below = weighted_sum(formula, &numbers, weights);
            *number = kept;
            double wanted = (above - below) / (2 * step);
            CHECK_NEAR(d[k] - (k + 1), wanted, 1e-6 * (fabs(wanted) + 1));
        }
        formula_destroy(formula);
    }
}

/* Where a derivative is undefined or infinite. */
static void check_edges(void)
{
    static const struct {
        const char *text;
        double by_w;
    } cases[] = {
        {"abs(w)", 0},    {"sqrt(w)", 0},   {"w^0.5", 0},
        {"w^0", 0},       {"0^(w+1)", 0},   {"if(w == 0, 3, 1/w)", 0},
        {"max(w, 0)", 1}, {"min(0, w)", 0}, {"floor(w)", 0},
        {"w^1", 1},
    };
    double weights[COUNT] = {1}, values[COUNT];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct formula *formula = create(cases[i].text);
        struct numbers numbers = numbers_from(0);
        numbers.w = 0;
        double d[2] = {0};
        evaluate(formula, &numbers, COUNT, values);
        CHECK(isfinite(values[0]));
        gradient(formula, &numbers, weights, d);
        CHECK_NEAR(d[0], cases[i].by_w, 0);
        formula_destroy(formula);
    }
    struct formula *formula = create("min(w, log(-1)) + max(log(-1), w)");
    struct numbers numbers = numbers_from(0);
    double value;
    evaluate(formula, &numbers, 1, &value);
    CHECK(isnan(value));
    formula_destroy(formula);
}

static void check_uses(void)
{
    struct formula *formula = create("if(head < 1, w, distance)");
    CHECK(formula_uses(formula, DISTANCE) && formula_uses(formula, HEAD) && formula_uses(formula, W));
    CHECK(!formula_uses(formula, HEADS) && !formula_uses(formula, V));
    formula_destroy(formula);
    static const struct {
        const char *name;
        bool allowed;
    } cases[] = {{"slope_2", true}, {"_", true},   {"2slope", false}, {"", false},  {"a-b", false},
                 {"exp", false},    {"pi", false}, {"sum", false},    {"e1", true}, {"\xc3\xa9", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_about("%s", cases[i].name);
        CHECK(formula_allows_name(cases[i].name) == cases[i].allowed);
    }
    CHECK(!formula_allows_name("abcdefghijklmnopqrstuvwxyzabcdef"));
    CHECK(formula_allows_name("abcdefghijklmnopqrstuvwxyzabcde"));
}

/* ---- errors ---- */

static void refuse(const char *text, const char *message)
{
    rotary_error error = {0};
    struct formula *formula = NULL;
    check_about("%.60s", text);
    CHECK_INT(formula_create(&formula, text, names, NAMES, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(!formula);
    CHECK_WORDS(error.message, message);
    formula_destroy(formula);
}

static void check_errors(void)
{
    refuse("", "column 1: the formula ends, wanted a number, a name, a function or \"(\"");
    refuse("1 +", "column 4: the formula ends");
    refuse("2 * dist", "column 5: there is no name \"dist\", wanted one of distance, head, heads, w, v, pi");
    refuse("-ln(w)", "column 2: there is no function \"ln\", wanted one of abs, sqrt,|, if, sum");
    refuse("(1 + 2", "column 7: the formula ends, wanted \")\"");
    refuse("1 + 2)", "column 6: got \")\", wanted an operator or the end of the formula");
    refuse("2e", "column 2: got \"e\", wanted an operator");
    refuse("w v", "column 3: got \"v\"");
    refuse("1 < 2 < 3", "column 7: got \"<\"");
    refuse("w = 2", "column 3: got \"=\"");
    refuse("min(1)", "column 6: got \")\", wanted \",\" and another argument");
    refuse("abs(1, 2)", "column 6: got \",\", wanted \")\"");
    refuse("abs", "column 1: there is no name \"abs\"");
    refuse("w\n", "column 2: got the byte 10");
    refuse("\xe2\x88\x92 w", "column 1: got the byte 226");
    refuse("1e999", "column 1: 1e999 is not finite");
    refuse("sum(2, 1, 2, 3)", "column 5: got \"2\", wanted a name for what a sum counts");
    refuse("sum(exp, 1, 2, 3)", "column 5: got \"exp\"");
    refuse("sum(i, 1, heads, i)", "column 11: wanted a whole number");
    refuse("sum(i, 0.5, 2, i)", "column 8: wanted a whole number");
    refuse("sum(i, 2, 1, i)", "column 1: a sum from 2 to 1");
    refuse("sum(i, i, 2, i)", "column 8: there is no name \"i\"");
    refuse("sum(i, 1, 2, i) + i", "column 19: there is no name \"i\"");
    refuse("sum(i, 0, 1000000, distance)", "more than 1024 operations");
    refuse("sum(i, 0, 1000000, sum(j, 0, 1000000, 1))", "more than 1024 operations");
    refuse("sum(a,1,1,sum(b,1,1,sum(c,1,1,sum(d,1,1,sum(f,1,1,1)))))", "more than 4 sums");
    refuse("abcdefghijklmnopqrstuvwxyzabcdefghijkl", "column 1: a name of 38 letters, wanted at most 31");
}

/* `count` times `unit`, then the tail; the caller frees it. */
static char *repeated(const char *unit, int count, const char *tail)
{
    size_t length = strlen(unit);
    char *text = calloc(1, length * (size_t)count + strlen(tail) + 1);
    if (!text)
        exit(1);
    for (int i = 0; i < count; i++)
        memcpy(text + (size_t)i * length, unit, length);
    strcat(text, tail);
    return text;
}

static void check_bounds(void)
{
    static const char *const units[] = {"(", "-", "abs(", "2^"};
    static const char *const tails[] = {"w", "w", "w", "w"};
    for (int i = 0; i < 4; i++) {
        char *text = repeated(units[i], 70, tails[i]);
        refuse(text, "more than 64 levels of brackets and signs");
        free(text);
    }
    char *text = repeated("-", 60, "w");
    formula_destroy(create(text));
    free(text);
    text = repeated(" ", FORMULA_MAX_BYTES - 2, "w");
    formula_destroy(create(text));
    free(text);
    text = repeated(" ", FORMULA_MAX_BYTES - 1, "w");
    refuse(text, "a formula of 1024 bytes, wanted at most 1023");
    free(text);
    text = repeated("1", 64, "");
    refuse(text, "column 1: a number of 64 digits");
    free(text);
}

int main(void)
{
    check_values();
    check_blocks();
    check_gradients();
    check_edges();
    check_uses();
    check_errors();
    check_bounds();
    return check_report();
}
