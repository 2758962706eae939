/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tensor is named where a step diverges: NaN and infinities that the test writes, in any element.
 */
#include "support/check.h"

#include "train/divergence.h"

#include <math.h>

enum { ROWS = 3 };
static const struct parameter rows[ROWS] = {
    {.name = "embedding.weight", .rows = 40, .columns = 30, .initial = INITIAL_NORMAL, .scale = 0.1f},
    {.name = "layers.0.norm.weight", .rows = 7, .initial = INITIAL_ONE},
    {.name = "layers.1.up.weight", .rows = 60, .columns = 70, .initial = INITIAL_NORMAL, .scale = 0.1f},
};

static void put(struct parameters *parameters, enum parameter_array array, int index, int64_t at, float value)
{
    const struct parameter_range range = {array, index, at, 1};
    CHECK(parameters_write(parameters, range, &value, NULL) == ROTARY_OK);
}

static void check_said(const struct parameters *parameters, bool has_loss, const char *wanted)
{
    char text[DIVERGENCE_BYTES];
    divergence_tensor(parameters, has_loss, text);
    CHECK_TEXT(text, wanted);
}

/* Beyond the first block that is read, too. */
static void test_values(struct parameters *parameters, float value)
{
    const char *const last = "layers.1.up.weight has values that are not finite";
    put(parameters, PARAMETER_VALUES, 2, 4199, value);
    check_said(parameters, false, last);
    check_said(parameters, true, last);
    put(parameters, PARAMETER_GRADIENTS, 2, 0, value);
    check_said(parameters, true, last);
    put(parameters, PARAMETER_VALUES, 1, 6, value);
    check_said(parameters, true, "layers.0.norm.weight has values that are not finite");
    put(parameters, PARAMETER_VALUES, 1, 6, 1);
    put(parameters, PARAMETER_VALUES, 2, 4199, 0);
    put(parameters, PARAMETER_GRADIENTS, 2, 0, 0);
}

/* The backward pass comes to the last one first; without a loss they are all the same. */
static void test_gradients(struct parameters *parameters, float value)
{
    const char *const largest = "the largest weight is -30, in embedding.weight";
    put(parameters, PARAMETER_VALUES, 0, 1100, -30);
    put(parameters, PARAMETER_GRADIENTS, 0, 5, value);
    check_said(parameters, true, "the gradient of embedding.weight is not finite");
    put(parameters, PARAMETER_GRADIENTS, 1, 5, value);
    check_said(parameters, true, "the gradient of layers.0.norm.weight is not finite");
    check_said(parameters, false, largest);
    put(parameters, PARAMETER_GRADIENTS, 0, 5, 0);
    put(parameters, PARAMETER_GRADIENTS, 1, 5, 0);
    check_said(parameters, true, largest);
}

int main(void)
{
    struct backend backend;
    CHECK(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL) == ROTARY_OK);
    struct parameters parameters = {.backend = &backend};
    for (int i = 0; i < ROWS; i++) {
        int index;
        CHECK(parameters_add(&parameters, &rows[i], &index, NULL) == ROTARY_OK);
    }
    CHECK(parameters_allocate(&parameters, true, NULL) == ROTARY_OK);
    CHECK(parameters_initialise(&parameters, 1, NULL) == ROTARY_OK);
    test_values(&parameters, NAN);
    test_values(&parameters, -INFINITY);
    test_gradients(&parameters, NAN);
    test_gradients(&parameters, INFINITY);
    parameters_free(&parameters);
    backend_destroy(&backend);
    return check_report();
}
