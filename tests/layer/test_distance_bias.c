/* SPDX-License-Identifier: Apache-2.0
 *
 * Biases by distance: tables and gradients of their parameters against the papers' formulas in double
 * precision (tests/golden); when a table is computed anew; gradients that add up.
 */
#include "layer/encoding_keys.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include "layer/encoding/distance_bias.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct golden_case {
    const char *encoding;
    const char *keys; /* the encoding's, but for default values */
    int heads;
    bool causal;
    int count; /* of distances, the first of the list */
    const double *bias;
    int parameters;
    struct {
        const char *name;
        double probe;
    } gradients[DISTANCE_BIAS_PARAMETERS];
};

#include "distance_bias_goldens.h"

enum { GOLDEN_POSITIONS = 300 };

/* A bias with its table of parameters, which are filled as the goldens' are. */
struct fixture {
    struct parameters parameters;
    struct distance_bias bias;
    struct distance_bias_config config;
    int64_t entries;
};

static void must(rotary_status status, const rotary_error *error)
{
    if (!CHECK_INT(status, ROTARY_OK)) {
        printf("%s\n", error->message);
        exit(1);
    }
}

static void begin(struct fixture *fixture, const struct backend *backend, const struct golden_case *golden,
                  const char *prefix)
{
    int position = 0;
    while (position_names[position] && strcmp(position_names[position], golden->encoding) != 0)
        position++;
    *fixture = (struct fixture){
        .parameters.backend = backend,
        .config = {.function = position_encoding((enum position)position)->distance_bias,
                   .prefix = prefix,
                   .heads = golden->heads,
                   .positions = GOLDEN_POSITIONS,
                   .causal = golden->causal,
                   .training = true,
                   .settings = {.options = options_with((enum position)position, golden->keys)}}};
    fixture->config.settings.width = 64;
    rotary_error error = {0};
    must(distance_bias_create(&fixture->bias, backend, &fixture->config, &fixture->parameters, &error),
         &error);
    if (fixture->parameters.count > 0) {
        must(parameters_allocate(&fixture->parameters, true, &error), &error);
        parameter_fill(&fixture->parameters);
    }
    fixture->entries = golden->heads * fixture->bias.call.distances;
    must(distance_bias_update(&fixture->bias, &fixture->parameters, &error), &error);
}

static void end(struct fixture *fixture)
{
    distance_bias_destroy(&fixture->bias);
    parameters_free(&fixture->parameters);
}

/* The table, which the caller frees. */
static float *read_table(const struct fixture *fixture)
{
    const struct backend *backend = fixture->bias.backend;
    size_t bytes = (size_t)fixture->entries * sizeof(float);
    float *table = malloc(bytes);
    rotary_error error = {0};
    must(backend->operations->read(backend, table, fixture->bias.call.data, bytes, &error), &error);
    return table;
}

static void test_table(const struct fixture *fixture, const struct golden_case *golden)
{
    int64_t count = golden->causal ? GOLDEN_POSITIONS : 2 * GOLDEN_POSITIONS - 1;
    CHECK_INT(fixture->bias.call.distances, count);
    CHECK_INT(fixture->bias.call.first, 1 - GOLDEN_POSITIONS);
    CHECK_INT(fixture->bias.call.head_stride, count);
    CHECK_NEAR(distance_bias_bytes(&fixture->config),
               (double)fixture->entries * sizeof(float) * (golden->parameters > 0 ? 2 : 1), 0);
    float *table = read_table(fixture);
    for (int head = 0; head < golden->heads; head++)
        for (int i = 0; i < golden->count; i++) {
            double wanted = golden->bias[head * golden->count + i];
            check_about("%s, head %d of %d, distance %d", golden->encoding, head, golden->heads,
                        (int)distances[i]);
            CHECK_NEAR((double)table[head * count + distances[i] - fixture->bias.call.first], wanted,
                       1e-6 * (1e-3 + fabs(wanted)));
        }
    free(table);
}

/* A backward pass whose gradient of the bias is cos(0.9 i + 0.5). */
static void backward(struct fixture *fixture)
{
    const struct backend *backend = fixture->bias.backend;
    float *d_bias = malloc((size_t)fixture->entries * sizeof *d_bias);
    for (int64_t i = 0; i < fixture->entries; i++)
        d_bias[i] = (float)cos(0.9 * (double)i + 0.5);
    rotary_error error = {0};
    must(distance_bias_clear_gradient(&fixture->bias, &error), &error);
    if (fixture->bias.call.gradient)
        must(backend->operations->write(backend, fixture->bias.call.gradient, d_bias,
                                        (size_t)fixture->entries * sizeof *d_bias, &error),
             &error);
    must(distance_bias_backward(&fixture->bias, &fixture->parameters, &error), &error);
    free(d_bias);
}

/* After `passes` backward passes. */
static void test_gradients(const struct fixture *fixture, const struct golden_case *golden, double passes)
{
    const struct parameters *parameters = &fixture->parameters;
    CHECK_INT(parameters->count, golden->parameters);
    if (parameters->count == 0)
        return;
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    for (int g = 0; g < golden->parameters; g++) {
        char name[96];
        snprintf(name, sizeof name, "%s%s", fixture->config.prefix, golden->gradients[g].name);
        int row = parameters_find(parameters, name);
        check_about("%s, %g passes, %s", golden->encoding, passes, name);
        if (!CHECK(row >= 0))
            continue;
        const float *gradient = gradients + parameters->rows[row].offset;
        double probe = 0, square = 0;
        for (int64_t i = 0; i < parameter_elements(&parameters->rows[row]); i++) {
            probe += (double)gradient[i] * cos(0.9 * (double)i + 0.5);
            square += (double)gradient[i] * (double)gradient[i];
        }
        CHECK(!parameters->rows[row].decay);
        CHECK_NEAR(probe, passes * golden->gradients[g].probe, 1e-5 * sqrt(square));
    }
    free(gradients);
}

static void test_golden(const struct backend *backend, const struct golden_case *golden)
{
    struct fixture fixture;
    begin(&fixture, backend, golden, "");
    test_table(&fixture, golden);
    for (int pass = 1; pass <= 2; pass++) { /* gradients add up, and the bias's own is cleared */
        backward(&fixture);
        test_gradients(&fixture, golden, pass);
    }
    check_about("%s", "");
    end(&fixture);
}

/* A table follows its parameters, and a backward pass leaves it as it is. */
static void test_update(const struct backend *backend, const struct golden_case *golden)
{
    struct fixture fixture;
    rotary_error error = {0};
    float none = 0;
    begin(&fixture, backend, golden, "encoder.");
    CHECK(fixture.bias.is_learned);
    CHECK(strncmp(fixture.parameters.rows[0].name, "encoder.", 8) == 0);
    size_t bytes = (size_t)fixture.entries * sizeof(float);
    float *before = read_table(&fixture);
    backward(&fixture);
    must(distance_bias_update(&fixture.bias, &fixture.parameters, &error), &error);
    float *same = read_table(&fixture);
    CHECK(memcmp(before, same, bytes) == 0);
    const struct parameter_range first = {.array = PARAMETER_VALUES, .count = 1};
    must(parameters_write(&fixture.parameters, first, &none, &error), &error);
    must(distance_bias_update(&fixture.bias, &fixture.parameters, &error), &error);
    float *after = read_table(&fixture);
    CHECK(memcmp(before, after, bytes) != 0);
    free(before);
    free(same);
    free(after);
    end(&fixture);
}

/* A frozen parameter gets no gradient. */
static void test_frozen(const struct backend *backend, const struct golden_case *golden)
{
    struct fixture fixture;
    begin(&fixture, backend, golden, "");
    fixture.parameters.rows[0].frozen = true;
    backward(&fixture);
    float *gradients = parameter_copy(&fixture.parameters, PARAMETER_GRADIENTS);
    for (int64_t i = 0; i < parameter_elements(&fixture.parameters.rows[0]); i++)
        CHECK_NEAR((double)gradients[i], 0.0, 0.0);
    free(gradients);
    end(&fixture);
}

/* For fewer positions than the table of parameters is long. */
static void test_short(const struct backend *backend, const struct golden_case *golden)
{
    struct fixture fixture;
    begin(&fixture, backend, golden, "");
    struct distance_bias_config config = fixture.config;
    struct parameters parameters = {.backend = backend};
    struct distance_bias bias;
    rotary_error error = {0};
    config.positions = 2;
    must(distance_bias_create(&bias, backend, &config, &parameters, &error), &error);
    must(parameters_allocate(&parameters, true, &error), &error);
    parameter_fill(&parameters);
    must(distance_bias_update(&bias, &parameters, &error), &error);
    float *table = read_table(&fixture), small[1024];
    size_t bytes = (size_t)(config.heads * bias.call.distances) * sizeof *small;
    must(backend->operations->read(backend, small, bias.call.data, bytes, &error), &error);
    for (int64_t i = 0; i < bias.call.distances; i++)
        CHECK_NEAR((double)small[i], (double)table[bias.call.first + i - fixture.bias.call.first], 0.0);
    must(distance_bias_clear_gradient(&bias, &error), &error);
    must(distance_bias_backward(&bias, &parameters, &error), &error);
    free(table);
    distance_bias_destroy(&bias);
    parameters_free(&parameters);
    end(&fixture);
}

int main(void)
{
    struct backend backend;
    rotary_error error = {0};
    CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_golden(&backend, &cases[i]);
        if (cases[i].parameters == 0)
            continue;
        test_update(&backend, &cases[i]);
        test_frozen(&backend, &cases[i]);
        test_short(&backend, &cases[i]);
    }
    backend_destroy(&backend);
    return check_report();
}
