/* SPDX-License-Identifier: Apache-2.0
 *
 * Entries are evaluated in blocks, one operation after the other: what depends on no series is computed once
 * for a block.
 */
#include "layer/encoding/formula.h"

#include "base/fail.h"
#include "base/integer.h"
#include "layer/encoding/formula_operations.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16 };

struct formula {
    struct formula_nodes nodes;
    bool uses[FORMULA_MAX_NAMES];
};

/* [nodes, BLOCK]: results, or the derivatives of the sum by them. What is no series has one number. */
typedef double workspace[FORMULA_MAX_OPERATIONS * BLOCK];

rotary_status formula_create(struct formula **formula, const char *text, const struct formula_name *names,
                             int count, rotary_error *error)
{
    struct formula *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for a formula");
    rotary_status status = formula_parse(&made->nodes, text, names, count, error);
    if (status != ROTARY_OK) {
        formula_destroy(made);
        return status;
    }
    for (int i = 0; i < made->nodes.count; i++)
        if (made->nodes.items[i].operation == FORMULA_INPUT)
            made->uses[made->nodes.items[i].input] = true;
    *formula = made;
    return ROTARY_OK;
}

void formula_destroy(struct formula *formula)
{
    if (!formula)
        return;
    free(formula->nodes.items);
    free(formula);
}

bool formula_uses(const struct formula *formula, int name)
{
    return formula->uses[name];
}

/* Evaluates `count` entries from `first` on. */
struct block {
    const struct formula *formula;
    const double *const *inputs;
    int64_t first;
    int count;
    double *results, *gradients; /* workspaces; gradients NULL: there are none */
};

/* The numbers of a node, and how far one entry's is from the next's. */
static const double *results_of(const struct block *block, int node, int *stride)
{
    *stride = block->formula->nodes.items[node].is_series;
    return block->results + (size_t)node * BLOCK;
}

static void evaluate_node(const struct block *block, int index)
{
    const struct formula_node *node = &block->formula->nodes.items[index];
    double *results = block->results + (size_t)index * BLOCK;
    const int count = node->is_series ? block->count : 1;
    if (node->operation == FORMULA_CONSTANT) {
        results[0] = node->constant;
        return;
    }
    if (node->operation == FORMULA_INPUT) {
        const double *input = block->inputs[node->input] + (node->is_series ? block->first : 0);
        memcpy(results, input, (size_t)count * sizeof *results);
        return;
    }
    int stride[FORMULA_ARGUMENTS];
    const double *x = results_of(block, node->arguments[0], &stride[0]);
    const double *y = results_of(block, node->arguments[1], &stride[1]);
    const double *z = results_of(block, node->arguments[2], &stride[2]);
    for (int j = 0; j < count; j++)
        results[j] = formula_apply(node->operation, x[j * stride[0]], y[j * stride[1]], z[j * stride[2]]);
}

static void evaluate(const struct block *block)
{
    for (int i = 0; i < block->formula->nodes.count; i++)
        evaluate_node(block, i);
}

/* Goes to the block that begins at `first`; false: it is beyond the last of `count`. */
static bool go_to(struct block *block, int64_t first, int64_t count)
{
    block->first = first;
    block->count = (int)min_i64(count - first, BLOCK);
    return first < count;
}

void formula_values(const struct formula *formula, const double *const *inputs, int64_t count, double *values)
{
    workspace memory;
    struct block block = {.formula = formula, .inputs = inputs, .results = memory};
    for (int64_t first = 0; go_to(&block, first, count); first += BLOCK) {
        evaluate(&block);
        int stride;
        const double *results = results_of(&block, formula->nodes.count - 1, &stride);
        for (int j = 0; j < block.count; j++)
            values[first + j] = results[j * stride];
    }
}

/* Adds entry j's share of a node's gradient to those of its arguments. */
static void propagate(const struct block *block, const struct formula_node *node, int j, double result,
                      double gradient)
{
    double arguments[FORMULA_ARGUMENTS], derivatives[FORMULA_ARGUMENTS];
    int stride;
    for (int k = 0; k < FORMULA_ARGUMENTS; k++) {
        const double *results = results_of(block, node->arguments[k], &stride);
        arguments[k] = results[j * stride];
    }
    formula_derivatives(node->operation, arguments, result, derivatives);
    for (int k = 0; k < FORMULA_ARGUMENTS; k++) {
        const struct formula_node *argument = &block->formula->nodes.items[node->arguments[k]];
        double *sum = block->gradients + (size_t)node->arguments[k] * BLOCK;
        if (argument->is_learned && derivatives[k] != 0.0)
            sum[argument->is_series ? j : 0] += gradient * derivatives[k];
    }
}

/* A gradient of 0 goes no further, so that a branch that was not taken adds nothing, not even a NaN. */
static void differentiate_node(const struct block *block, int index, double *const *d_inputs)
{
    const struct formula_node *node = &block->formula->nodes.items[index];
    const double *results = block->results + (size_t)index * BLOCK;
    const double *gradients = block->gradients + (size_t)index * BLOCK;
    const int count = node->is_series ? block->count : 1;
    if (!node->is_learned)
        return;
    if (node->operation == FORMULA_INPUT) {
        *d_inputs[node->input] += gradients[0];
        return;
    }
    for (int j = 0; j < count; j++)
        if (gradients[j] != 0.0)
            propagate(block, node, j, results[j], gradients[j]);
}

void formula_gradient(const struct formula *formula, const double *const *inputs, int64_t count,
                      const double *d_values, double *const *d_inputs)
{
    const int last = formula->nodes.count - 1;
    const size_t numbers = (size_t)formula->nodes.count * BLOCK;
    workspace results, derivatives;
    double *gradients = derivatives + (size_t)last * BLOCK;
    const bool is_series = formula->nodes.items[last].is_series;
    if (!formula->nodes.items[last].is_learned)
        return;
    struct block block = {.formula = formula, .inputs = inputs, .results = results, .gradients = derivatives};
    for (int64_t first = 0; go_to(&block, first, count); first += BLOCK) {
        evaluate(&block);
        memset(derivatives, 0, numbers * sizeof *derivatives);
        for (int j = 0; j < block.count; j++)
            gradients[is_series ? j : 0] += d_values[first + j];
        for (int i = last; i >= 0; i--)
            differentiate_node(&block, i, d_inputs);
    }
}
