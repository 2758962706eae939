/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads formulas: a parser by recursive descent, which computes what is constant at once. A sum is read again
 * for each of its numbers.
 */
#include "base/fail.h"
#include "layer/encoding/formula_operations.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DEPTH = 64,
    MAX_SUMS = 4,
    MAX_MADE = 16 * FORMULA_MAX_OPERATIONS, /* operations, with those that are computed at once */
    NAMES_BYTES = 256
};

static const struct function {
    const char *name;
    enum formula_operation operation;
    int arguments;
} functions[] = {
    {"abs", FORMULA_ABS, 1},   {"sqrt", FORMULA_SQRT, 1},   {"exp", FORMULA_EXP, 1}, {"log", FORMULA_LOG, 1},
    {"log2", FORMULA_LOG2, 1}, {"sin", FORMULA_SIN, 1},     {"cos", FORMULA_COS, 1}, {"min", FORMULA_MIN, 2},
    {"max", FORMULA_MAX, 2},   {"floor", FORMULA_FLOOR, 1}, {"if", FORMULA_IF, 3},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* Longer operators before those that they begin with. */
static const struct operator_sign {
    const char *text;
    enum formula_operation operation;
} comparisons[] = {{"<=", FORMULA_LESS_EQUAL}, {">=", FORMULA_GREATER_EQUAL}, {"==", FORMULA_EQUAL},
                   {"!=", FORMULA_NOT_EQUAL},  {"<", FORMULA_LESS},           {">", FORMULA_GREATER}},
  sums[] = {{"+", FORMULA_ADD}, {"-", FORMULA_SUBTRACT}},
  products[] = {{"*", FORMULA_MULTIPLY}, {"/", FORMULA_DIVIDE}};

/* The variable of a sum that is being read. */
struct loop {
    char name[FORMULA_NAME_BYTES];
    double value;
};

struct parser {
    const char *text, *next;
    const struct formula_name *names;
    int name_count;
    struct loop loops[MAX_SUMS];
    int loop_count, depth, made;
    struct formula_nodes *nodes;
    rotary_error *error;
};

static rotary_status parse_comparison(struct parser *parser, int *node);
static rotary_status parse_sign(struct parser *parser, int *node);

/* ---- errors ---- */

static long long column_of(const struct parser *parser, const char *at)
{
    return (long long)(at - parser->text) + 1;
}

/* What stands there, for a message: a word or a character. */
static rotary_status fail_wanted(const struct parser *parser, const char *wanted)
{
    const char *at = parser->next;
    int length = 0;
    while (length < FORMULA_NAME_BYTES && (isalnum((unsigned char)at[length]) || at[length] == '_'))
        length++;
    if (*at == 0)
        return rotary_fail(parser->error, ROTARY_INVALID_ARGUMENT, "column %lld: the formula ends, wanted %s",
                           column_of(parser, at), wanted);
    if (!isprint((unsigned char)*at))
        return rotary_fail(parser->error, ROTARY_INVALID_ARGUMENT, "column %lld: got the byte %d, wanted %s",
                           column_of(parser, at), (int)(unsigned char)*at, wanted);
    return rotary_fail(parser->error, ROTARY_INVALID_ARGUMENT, "column %lld: got \"%.*s\", wanted %s",
                       column_of(parser, at), length > 0 ? length : 1, at, wanted);
}

static void append_name(char text[NAMES_BYTES], const char *name)
{
    size_t used = strlen(text);
    snprintf(text + used, NAMES_BYTES - used, "%s%s", used ? ", " : "", name);
}

static rotary_status fail_name(const struct parser *parser, const char *at, const char *name, bool function)
{
    char known[NAMES_BYTES] = "";
    for (int i = 0; function && i < FUNCTIONS; i++)
        append_name(known, functions[i].name);
    for (int i = 0; !function && i < parser->name_count; i++)
        append_name(known, parser->names[i].name);
    for (int i = 0; !function && i < parser->loop_count; i++)
        append_name(known, parser->loops[i].name);
    append_name(known, function ? "sum" : "pi");
    return rotary_fail(parser->error, ROTARY_INVALID_ARGUMENT,
                       "column %lld: there is no %s \"%s\", wanted one of %s", column_of(parser, at),
                       function ? "function" : "name", name, known);
}

/* ---- nodes ---- */

static rotary_status add_node(struct parser *parser, struct formula_node node, int *index)
{
    struct formula_nodes *nodes = parser->nodes;
    if (nodes->count == FORMULA_MAX_OPERATIONS || ++parser->made > MAX_MADE)
        return rotary_fail(parser->error, ROTARY_INVALID_ARGUMENT,
                           "column %lld: more than %d operations, wanted a shorter formula",
                           column_of(parser, parser->next), (int)FORMULA_MAX_OPERATIONS);
    if (nodes->count == nodes->capacity) {
        int capacity = nodes->capacity ? 2 * nodes->capacity : 32;
        struct formula_node *items = realloc(nodes->items, (size_t)capacity * sizeof *items);
        if (!items)
            return rotary_fail_memory(parser->error, "for a formula");
        nodes->items = items;
        nodes->capacity = capacity;
    }
    nodes->items[nodes->count] = node;
    *index = nodes->count++;
    return ROTARY_OK;
}

static rotary_status add_constant(struct parser *parser, double constant, int *index)
{
    return add_node(parser, (struct formula_node){.operation = FORMULA_CONSTANT, .constant = constant},
                    index);
}

/* An operation on `count` nodes; a constant, in the place of these, if all of them are constants. Constants
 * that are the last nodes are no longer needed then. */
static rotary_status add_operation(struct parser *parser, enum formula_operation operation,
                                   const int *arguments, int count, int *index)
{
    struct formula_nodes *nodes = parser->nodes;
    struct formula_node node = {.operation = operation};
    double values[FORMULA_ARGUMENTS] = {0};
    bool constant = true;
    for (int i = 0; i < FORMULA_ARGUMENTS; i++) {
        node.arguments[i] = arguments[i < count ? i : 0];
        const struct formula_node *argument = &nodes->items[node.arguments[i]];
        node.is_series = node.is_series || argument->is_series;
        node.is_learned = node.is_learned || argument->is_learned;
        constant = constant && argument->operation == FORMULA_CONSTANT;
        values[i] = argument->constant;
    }
    if (!constant)
        return add_node(parser, node, index);
    if (arguments[0] == nodes->count - count) /* else an argument is shared */
        nodes->count -= count;
    return add_constant(parser, formula_apply(operation, values[0], values[1], values[2]), index);
}

/* ---- tokens ---- */

static void skip_spaces(struct parser *parser)
{
    while (*parser->next == ' ' || *parser->next == '\t')
        parser->next++;
}

/* Whether the text goes on with `sign`, which is then read. */
static bool accept(struct parser *parser, const char *sign)
{
    skip_spaces(parser);
    size_t length = strlen(sign);
    bool found = strncmp(parser->next, sign, length) == 0;
    parser->next += found ? length : 0;
    return found;
}

static rotary_status expect(struct parser *parser, const char *sign, const char *wanted)
{
    return accept(parser, sign) ? ROTARY_OK : fail_wanted(parser, wanted);
}

static const struct operator_sign *accept_operator(struct parser *parser, const struct operator_sign *signs,
                                                   size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (accept(parser, signs[i].text))
            return &signs[i];
    return NULL;
}

static size_t digits(const char *text)
{
    size_t count = 0;
    while (isdigit((unsigned char)text[count]))
        count++;
    return count;
}

/* The bytes of a number without a sign; 0: none stands there. */
static size_t number_length(const char *text)
{
    size_t length = digits(text), fraction = 0;
    if (text[length] == '.') {
        fraction = digits(text + length + 1);
        if (length + fraction > 0)
            length += 1 + fraction;
    }
    if (length > 0 && (text[length] == 'e' || text[length] == 'E')) {
        size_t sign = text[length + 1] == '+' || text[length + 1] == '-',
               exponent = digits(text + length + 1 + sign);
        length += exponent > 0 ? 1 + sign + exponent : 0;
    }
    return length;
}

static rotary_status parse_number(struct parser *parser, size_t length, int *node)
{
    char number[64];
    if (length >= sizeof number)
        return rotary_fail(parser->error, ROTARY_INVALID_ARGUMENT,
                           "column %lld: a number of %zu digits, wanted fewer",
                           column_of(parser, parser->next), length);
    snprintf(number, sizeof number, "%.*s", (int)length, parser->next);
    double value = strtod(number, NULL);
    if (!isfinite(value))
        return rotary_fail(parser->error, ROTARY_INVALID_ARGUMENT,
                           "column %lld: %s is not finite, wanted a number below 1.8e308",
                           column_of(parser, parser->next), number);
    parser->next += length;
    return add_constant(parser, value, node);
}

/* Reads a name; an empty one if none stands there. */
static rotary_status parse_name(struct parser *parser, char name[FORMULA_NAME_BYTES])
{
    const char *at = parser->next;
    size_t length = 0;
    while (isalpha((unsigned char)at[length]) || at[length] == '_' ||
           (length > 0 && isdigit((unsigned char)at[length])))
        length++;
    if (length >= FORMULA_NAME_BYTES)
        return rotary_fail(parser->error, ROTARY_INVALID_ARGUMENT,
                           "column %lld: a name of %zu letters, wanted at most %d", column_of(parser, at),
                           length, FORMULA_NAME_BYTES - 1);
    memcpy(name, at, length);
    name[length] = 0;
    parser->next += length;
    return ROTARY_OK;
}

/* ---- the grammar ---- */

static rotary_status parse_function(struct parser *parser, const struct function *function, int *node)
{
    int arguments[FORMULA_ARGUMENTS] = {0};
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < function->arguments; i++) {
        if (i > 0)
            status = expect(parser, ",", "\",\" and another argument");
        if (status == ROTARY_OK)
            status = parse_comparison(parser, &arguments[i]);
    }
    if (status == ROTARY_OK)
        status = expect(parser, ")", "\")\"");
    if (status != ROTARY_OK)
        return status;
    return add_operation(parser, function->operation, arguments, function->arguments, node);
}

/* A whole number that is a constant, and the comma after it. */
static rotary_status parse_limit(struct parser *parser, double *limit)
{
    skip_spaces(parser);
    const char *at = parser->next;
    int node = 0;
    rotary_status status = parse_comparison(parser, &node);
    if (status != ROTARY_OK)
        return status;
    const struct formula_node *read = &parser->nodes->items[node];
    *limit = read->constant;
    if (read->operation != FORMULA_CONSTANT || !(fabs(*limit) <= 1e6) || *limit != floor(*limit))
        return rotary_fail(parser->error, ROTARY_INVALID_ARGUMENT,
                           "column %lld: wanted a whole number, the same for all heads and distances, from "
                           "which or to which a sum goes",
                           column_of(parser, at));
    parser->nodes->count--;
    return expect(parser, ",", "\",\"");
}

/* The terms, each read from the same place. */
static rotary_status parse_terms(struct parser *parser, double first, double last, int *node)
{
    const char *body = parser->next;
    struct loop *loop = &parser->loops[parser->loop_count - 1];
    rotary_status status = ROTARY_OK;
    for (double i = first; status == ROTARY_OK && i <= last; i += 1.0) {
        int term = 0;
        parser->next = body;
        loop->value = i;
        status = parse_comparison(parser, &term);
        const int arguments[] = {*node, term};
        if (status == ROTARY_OK && i > first)
            status = add_operation(parser, FORMULA_ADD, arguments, 2, &term);
        *node = term;
    }
    return status;
}

static rotary_status parse_sum_of(struct parser *parser, const char *at, int *node)
{
    double first = 0, last = 0;
    if (parser->loop_count == MAX_SUMS)
        return rotary_fail(parser->error, ROTARY_INVALID_ARGUMENT,
                           "column %lld: more than %d sums within one another, wanted fewer",
                           column_of(parser, at), (int)MAX_SUMS);
    struct loop loop = {.value = 0};
    skip_spaces(parser);
    const char *name_at = parser->next;
    rotary_status status = parse_name(parser, loop.name);
    if (status == ROTARY_OK && !formula_allows_name(loop.name)) {
        parser->next = name_at;
        return fail_wanted(parser, "a name for what a sum counts");
    }
    if (status == ROTARY_OK)
        status = expect(parser, ",", "\",\"");
    if (status == ROTARY_OK)
        status = parse_limit(parser, &first);
    if (status == ROTARY_OK)
        status = parse_limit(parser, &last);
    if (status != ROTARY_OK)
        return status;
    if (last < first)
        return rotary_fail(parser->error, ROTARY_INVALID_ARGUMENT,
                           "column %lld: a sum from %.0f to %.0f, wanted a last number that is not below the "
                           "first",
                           column_of(parser, at), first, last);
    parser->loops[parser->loop_count++] = loop;
    status = parse_terms(parser, first, last, node);
    parser->loop_count--;
    return status == ROTARY_OK ? expect(parser, ")", "\")\"") : status;
}

static rotary_status parse_call(struct parser *parser, const char *at, const char *name, int *node)
{
    if (strcmp(name, "sum") == 0)
        return parse_sum_of(parser, at, node);
    for (int i = 0; i < FUNCTIONS; i++)
        if (strcmp(name, functions[i].name) == 0)
            return parse_function(parser, &functions[i], node);
    return fail_name(parser, at, name, true);
}

static rotary_status parse_variable(struct parser *parser, const char *at, const char *name, int *node)
{
    for (int i = parser->loop_count - 1; i >= 0; i--)
        if (strcmp(name, parser->loops[i].name) == 0)
            return add_constant(parser, parser->loops[i].value, node);
    for (int i = 0; i < parser->name_count; i++)
        if (strcmp(name, parser->names[i].name) == 0)
            return add_node(parser,
                            (struct formula_node){.operation = FORMULA_INPUT,
                                                  .input = i,
                                                  .is_series = parser->names[i].role == FORMULA_SERIES,
                                                  .is_learned = parser->names[i].role == FORMULA_LEARNED},
                            node);
    if (strcmp(name, "pi") == 0)
        return add_constant(parser, 0x1.921fb54442d18p+1, node);
    return fail_name(parser, at, name, false);
}

static rotary_status parse_primary(struct parser *parser, int *node)
{
    skip_spaces(parser);
    const char *at = parser->next;
    size_t length = number_length(at);
    if (length > 0)
        return parse_number(parser, length, node);
    if (accept(parser, "(")) {
        rotary_status status = parse_comparison(parser, node);
        return status == ROTARY_OK ? expect(parser, ")", "\")\"") : status;
    }
    char name[FORMULA_NAME_BYTES];
    rotary_status status = parse_name(parser, name);
    if (status != ROTARY_OK)
        return status;
    if (name[0] == 0)
        return fail_wanted(parser, "a number, a name, a function or \"(\"");
    return accept(parser, "(") ? parse_call(parser, at, name, node) : parse_variable(parser, at, name, node);
}

static rotary_status parse_power(struct parser *parser, int *node)
{
    int arguments[2] = {0};
    rotary_status status = parse_primary(parser, &arguments[0]);
    if (status == ROTARY_OK && accept(parser, "^")) {
        status = parse_sign(parser, &arguments[1]);
        if (status == ROTARY_OK)
            status = add_operation(parser, FORMULA_POWER, arguments, 2, &arguments[0]);
    }
    *node = arguments[0];
    return status;
}

/* Every recursion of the grammar passes here, so this alone bounds the depth. */
static rotary_status parse_sign(struct parser *parser, int *node)
{
    if (parser->depth == MAX_DEPTH)
        return rotary_fail(parser->error, ROTARY_INVALID_ARGUMENT,
                           "column %lld: more than %d levels of brackets and signs, wanted fewer",
                           column_of(parser, parser->next), (int)MAX_DEPTH);
    parser->depth++;
    rotary_status status;
    if (accept(parser, "-")) {
        int argument = 0;
        status = parse_sign(parser, &argument);
        if (status == ROTARY_OK)
            status = add_operation(parser, FORMULA_NEGATE, &argument, 1, node);
    } else {
        status = parse_power(parser, node);
    }
    parser->depth--;
    return status;
}

static rotary_status parse_product(struct parser *parser, int *node)
{
    int arguments[2] = {0};
    rotary_status status = parse_sign(parser, &arguments[0]);
    while (status == ROTARY_OK) {
        const struct operator_sign *found = accept_operator(parser, products, 2);
        if (!found)
            break;
        status = parse_sign(parser, &arguments[1]);
        if (status == ROTARY_OK)
            status = add_operation(parser, found->operation, arguments, 2, &arguments[0]);
    }
    *node = arguments[0];
    return status;
}

static rotary_status parse_sum(struct parser *parser, int *node)
{
    int arguments[2] = {0};
    rotary_status status = parse_product(parser, &arguments[0]);
    while (status == ROTARY_OK) {
        const struct operator_sign *found = accept_operator(parser, sums, 2);
        if (!found)
            break;
        status = parse_product(parser, &arguments[1]);
        if (status == ROTARY_OK)
            status = add_operation(parser, found->operation, arguments, 2, &arguments[0]);
    }
    *node = arguments[0];
    return status;
}

static rotary_status parse_comparison(struct parser *parser, int *node)
{
    int arguments[2] = {0};
    rotary_status status = parse_sum(parser, &arguments[0]);
    const struct operator_sign *found = NULL;
    if (status == ROTARY_OK)
        found = accept_operator(parser, comparisons, sizeof comparisons / sizeof comparisons[0]);
    if (found) {
        status = parse_sum(parser, &arguments[1]);
        if (status == ROTARY_OK)
            status = add_operation(parser, found->operation, arguments, 2, &arguments[0]);
    }
    *node = arguments[0];
    return status;
}

/* ---- public ---- */

bool formula_allows_name(const char *name)
{
    size_t length = strlen(name);
    bool good = length > 0 && length < FORMULA_NAME_BYTES && !isdigit((unsigned char)name[0]);
    for (size_t i = 0; good && i < length; i++)
        good = isalnum((unsigned char)name[i]) || name[i] == '_';
    for (int i = 0; good && i < FUNCTIONS; i++)
        good = strcmp(name, functions[i].name) != 0;
    return good && strcmp(name, "sum") != 0 && strcmp(name, "pi") != 0;
}

rotary_status formula_parse(struct formula_nodes *nodes, const char *text, const struct formula_name *names,
                            int count, rotary_error *error)
{
    struct parser parser = {
        .text = text, .next = text, .names = names, .name_count = count, .nodes = nodes, .error = error};
    if (strlen(text) >= FORMULA_MAX_BYTES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "column %d: a formula of %zu bytes, wanted at most %d", (int)FORMULA_MAX_BYTES,
                           strlen(text), FORMULA_MAX_BYTES - 1);
    int node = 0;
    rotary_status status = parse_comparison(&parser, &node);
    skip_spaces(&parser);
    if (status == ROTARY_OK && *parser.next)
        status = fail_wanted(&parser, "an operator or the end of the formula");
    return status;
}
