/* SPDX-License-Identifier: Apache-2.0
 *
 * Biases by distance: tables against the papers' formulas in double precision (tests/golden).
 */
#include "support/check.h"

#include "layer/distance_bias.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct golden_case {
    const char *encoding;
    int heads;
    bool causal;
    int count; /* of distances, the first of the list */
    const double *bias;
};

#include "distance_bias_goldens.h"

enum { GOLDEN_POSITIONS = 300 };

static int position_named(const char *name)
{
    int position = 0;
    while (position_names[position] && strcmp(position_names[position], name) != 0)
        position++;
    return position;
}

static void test_golden(const struct backend *backend, const struct golden_case *golden)
{
    const struct distance_bias_config config = {.position = (enum position)position_named(golden->encoding),
                                                .heads = golden->heads,
                                                .positions = GOLDEN_POSITIONS,
                                                .causal = golden->causal};
    struct distance_bias bias;
    rotary_error error = {0};
    CHECK_INT(distance_bias_create(&bias, backend, &config, &error), ROTARY_OK);
    int64_t count = golden->causal ? GOLDEN_POSITIONS : 2 * GOLDEN_POSITIONS - 1;
    CHECK_INT(bias.call.distances, count);
    CHECK_INT(bias.call.first, 1 - GOLDEN_POSITIONS);
    CHECK_NEAR(distance_bias_bytes(&config), (double)(golden->heads * count) * sizeof(float), 0);
    size_t bytes = (size_t)(golden->heads * count) * sizeof(float);
    float *table = malloc(bytes);
    CHECK_INT(backend->operations->read(backend, table, bias.call.data, bytes, &error), ROTARY_OK);
    for (int head = 0; head < golden->heads; head++)
        for (int i = 0; i < golden->count; i++) {
            double wanted = golden->bias[head * golden->count + i];
            check_about("%s, head %d of %d, distance %d", golden->encoding, head, golden->heads,
                        (int)distances[i]);
            CHECK_NEAR((double)table[head * count + distances[i] - bias.call.first], wanted,
                       1e-6 * (1e-3 + fabs(wanted)));
        }
    check_about("%s", "");
    free(table);
    distance_bias_destroy(&bias);
}

int main(void)
{
    struct backend backend;
    rotary_error error = {0};
    CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        test_golden(&backend, &cases[i]);
    backend_destroy(&backend);
    return check_report();
}
