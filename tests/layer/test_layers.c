/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers of this module in a chain (chain.h): against PyTorch on every backend, and finite differences on
 * every instruction set; the same bits on any number of threads; no allocation after the first run; dropout.
 */
#include "backend/cpu.h"
#include "backend/every_backend.h"
#include "backend/reference_backend.h"
#include "base/batch.h"
#include "layer/chain.h"
#include "support/allocations.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include "base/isa.h"
#include "layer/layer_goldens.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct chain_config plain = {.batch = 3,
                                          .time = 50,
                                          .position = EMBEDDING_POSITION_LEARNED,
                                          .activation = ACTIVATION_GELU,
                                          .smoothing = 0.1f};

static struct chain_config config_of(const struct golden *golden)
{
    struct chain_config config = plain;
    config.position = (enum embedding_position)golden->position;
    config.norm = (enum norm_kind)golden->norm;
    config.activation = (enum activation)golden->activation;
    config.smoothing = golden->smoothing;
    return config;
}

/* Destroys the backend. */
static void test_golden(const struct golden *golden, struct backend backend)
{
    /* bf16: some ten roundings between a parameter and the loss, each off by up to 2^-9 with a sign of its
     * own. */
    bool bf16 = backend.storage == ROTARY_BF16;
    double bound = bf16 ? 0.02 : 1e-5;
    const struct chain_config config = config_of(golden);
    struct chain chain;
    chain_create_on(&chain, &config, backend);
    check_about("%s activation %d", backend_about(&chain.backend), golden->activation);
    chain_run(&chain, true);
    CHECK_NEAR(chain.sums.total, golden->loss, (bf16 ? 2e-3 : 2e-6) * golden->loss);
    CHECK_INT(chain.sums.counted, 120);
    if (!bf16)
        CHECK_INT(chain.sums.correct, golden->correct);
    int rows = 0;
    float *gradients = parameter_copy(&chain.parameters, PARAMETER_GRADIENTS);
    for (const struct golden_gradient *wanted = golden->gradients; rows < 13 && wanted->name;
         wanted++, rows++) {
        int row = parameters_find(&chain.parameters, wanted->name);
        if (!CHECK(row >= 0))
            break;
        const float *gradient = gradients + chain.parameters.rows[row].offset;
        int64_t count = parameter_elements(&chain.parameters.rows[row]);
        double along = 0.0, square = 0.0, direction = 0.0;
        for (int64_t j = 0; j < count; j++) {
            double c = cos(0.3 * (double)j + 0.01 * (double)(j * j));
            along += (double)gradient[j] * c;
            square += (double)gradient[j] * (double)gradient[j];
            direction += c * c;
        }
        CHECK_NEAR(sqrt(square), wanted->norm, bound * wanted->norm);
        CHECK_NEAR(along, wanted->along, bound * wanted->norm * sqrt(direction));
    }
    free(gradients);
    CHECK_INT(rows, chain.parameters.count);
    if (strcmp(backend.operations->name, "cpu") == 0)
        CHECK_INT(matmul_reference_gemms(cpu_of(&chain.backend)->matmul), 0);
    chain_destroy(&chain);
}

/* Along a random direction in each parameter: (loss(+) - loss(-)) / 2 step, against the gradient's. */
static void test_finite_differences(const struct chain_config *config, rotary_isa isa)
{
    const float step = 0x1p-6f;
    struct chain chain;
    chain_create(&chain, config, 2, isa, PRECISION_F32);
    chain_run(&chain, true);
    struct parameters *parameters = &chain.parameters;
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS),
          *values = parameter_copy(parameters, PARAMETER_VALUES);
    for (int i = 0; i < parameters->count; i++) {
        check_about("%s dropout %g, along %s", rotary_isa_name(isa), (double)config->dropout,
                    parameters->rows[i].name);
        const float *gradient = gradients + parameters->rows[i].offset;
        float *value = values + parameters->rows[i].offset;
        int64_t count = parameter_elements(&parameters->rows[i]);
        double predicted = 0.0, size = 0.0, loss[2];
        float *saved = malloc((size_t)count * sizeof *saved);
        memcpy(saved, value, (size_t)count * sizeof *saved);
        for (int sign = 0; sign < 2; sign++) {
            for (int64_t j = 0; j < count; j++)
                value[j] = saved[j] + (sign ? -step : step) * check_random((uint64_t)i, (uint64_t)j, 0);
            parameter_replace(parameters, PARAMETER_VALUES, values);
            chain_run(&chain, false);
            loss[sign] = chain.sums.total;
        }
        for (int64_t j = 0; j < count; j++) {
            double direction = (double)check_random((uint64_t)i, (uint64_t)j, 0);
            predicted += direction * (double)gradient[j];
            size += pow((double)gradient[j], 2.0);
        }
        memcpy(value, saved, (size_t)count * sizeof *saved);
        free(saved);
        CHECK_NEAR((loss[0] - loss[1]) / (2.0 * (double)step), predicted, 0.02 * sqrt(size) + 1e-2);
    }
    free(gradients);
    free(values);
    chain_destroy(&chain);
}

/* The gradients of weights that changed since they were packed are those of a chain that never had others. */
static void test_changed_weights(enum precision precision)
{
    struct chain chains[2]; /* the second has run before */
    for (int i = 0; i < 2; i++) {
        struct parameters *parameters = &chains[i].parameters;
        chain_create(&chains[i], &plain, 2, ROTARY_ISA_AUTO, precision);
        if (i == 1)
            chain_run(&chains[i], true);
        float *values = parameter_copy(parameters, PARAMETER_VALUES);
        for (int64_t j = 0; j < parameters->elements; j++)
            values[j] *= 0.5f;
        parameter_give(parameters, PARAMETER_VALUES, values);
        parameter_clear(parameters, PARAMETER_GRADIENTS);
        chain_run(&chains[i], true);
    }
    CHECK(chains[0].sums.total > 1.0);
    CHECK(chains[1].sums.total == chains[0].sums.total);
    CHECK(parameter_same(&chains[0].parameters, &chains[1].parameters, PARAMETER_GRADIENTS));
    for (int i = 0; i < 2; i++)
        chain_destroy(&chains[i]);
}

static void test_threads(enum precision precision)
{
    struct chain_config config = plain;
    const int threads[] = {1, 2, 3, 7};
    double total = 0.0;
    float *gradients = NULL;
    config.dropout = 0.2f;
    config.batch = 12;
    for (int i = 0; i < 4; i++) {
        struct chain chain;
        chain_create(&chain, &config, threads[i], ROTARY_ISA_AUTO, precision);
        size_t bytes = (size_t)chain.parameters.elements * sizeof(float);
        check_about("%d threads, %s", threads[i], rotary_dtype_name(chain.backend.storage));
        chain_run(&chain, true);
        parameter_clear(&chain.parameters, PARAMETER_GRADIENTS);
        int64_t before = allocations_counted();
        chain_run(&chain, true);
        CHECK_INT(allocations_counted() - before, 0);
        float *got = parameter_copy(&chain.parameters, PARAMETER_GRADIENTS);
        if (i == 0)
            total = chain.sums.total;
        CHECK(chain.sums.total == total);
        CHECK(i == 0 || memcmp(gradients, got, bytes) == 0);
        free(gradients);
        gradients = got;
        chain_destroy(&chain);
    }
    free(gradients);
}

/* Frozen parameters get no gradient, and the others the same one. */
static void test_frozen(enum precision precision)
{
    static const char *const names[] = {"embedding.weight", "embedding.position.weight",
                                        "norm2.weight",     "norm3.bias",
                                        "first.weight",     "second.bias"};
    struct chain all;
    chain_create(&all, &plain, 2, ROTARY_ISA_AUTO, precision);
    chain_run(&all, true);
    float *wanted = parameter_copy(&all.parameters, PARAMETER_GRADIENTS);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct chain chain;
        chain_create(&chain, &plain, 2, ROTARY_ISA_AUTO, precision);
        int frozen = parameters_find(&chain.parameters, names[i]);
        check_about("%s frozen", names[i]);
        if (!CHECK(frozen >= 0))
            break;
        chain.parameters.rows[frozen].frozen = true;
        chain_run(&chain, true);
        float *got = parameter_copy(&chain.parameters, PARAMETER_GRADIENTS);
        for (int row = 0; row < chain.parameters.count; row++)
            for (int64_t j = 0; j < parameter_elements(&chain.parameters.rows[row]); j++) {
                int64_t at = chain.parameters.rows[row].offset + j;
                CHECK(got[at] == (row == frozen ? 0.0f : wanted[at]));
            }
        free(got);
        chain_destroy(&chain);
    }
    free(wanted);
    chain_destroy(&all);
}

enum { DROPPED_ROWS = 300, DROPPED_WIDTH = 100 };

/* The residual sum of a norm whose sublayer output is all ones, with dropout. Returns its mean. */
static double dropped(float residual_sum[DROPPED_ROWS][DROPPED_WIDTH], const struct backend *backend,
                      struct dropout dropout)
{
    static float ones[DROPPED_ROWS][DROPPED_WIDTH], out[DROPPED_ROWS][DROPPED_WIDTH];
    struct parameters table = {.backend = backend};
    struct norm norm;
    rotary_error error;
    const struct norm_config config = {
        .name = "norm", .kind = NORM_RMS, .width = DROPPED_WIDTH, .epsilon = 1e-5f};
    CHECK(norm_create(&norm, &config, &table, &error) == ROTARY_OK);
    CHECK(parameters_allocate(&table, false, &error) == ROTARY_OK);
    for (int i = 0; i < DROPPED_ROWS; i++)
        for (int j = 0; j < DROPPED_WIDTH; j++) {
            ones[i][j] = 1.0f;
            residual_sum[i][j] = 0.0f;
        }
    const struct backend_norm_forward call = {
        .rows = DROPPED_ROWS,
        .residual = &residual_sum[0][0],
        .dropout = dropout,
        .residual_sum = &residual_sum[0][0],
        .sublayer_output = matrix_of(ones, ROTARY_F32, DROPPED_ROWS, DROPPED_WIDTH),
        .normalised = matrix_of(out, ROTARY_F32, DROPPED_ROWS, DROPPED_WIDTH)};
    CHECK(norm_forward(&norm, &table, &call, &error) == ROTARY_OK);
    parameters_free(&table);
    double total = 0.0;
    for (int i = 0; i < DROPPED_ROWS; i++)
        for (int j = 0; j < DROPPED_WIDTH; j++)
            total += (double)residual_sum[i][j];
    return total / (DROPPED_ROWS * DROPPED_WIDTH);
}

static void test_dropout(void)
{
    static float one[DROPPED_ROWS][DROPPED_WIDTH], two[DROPPED_ROWS][DROPPED_WIDTH];
    const struct dropout base = {.probability = 0.3f, .seed = 1, .step = 1, .site = 1};
    struct dropout other[] = {base, base, base};
    struct backend backend;
    rotary_error error;
    CHECK(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, &error) == ROTARY_OK);
    check_about("dropout");
    /* Four standard deviations of the mean of 30,000 such elements. */
    CHECK_NEAR(dropped(one, &backend, base), 1.0, 4.0 * sqrt(0.3 / 0.7 / (DROPPED_ROWS * DROPPED_WIDTH)));
    for (int i = 0; i < DROPPED_ROWS; i++)
        for (int j = 0; j < DROPPED_WIDTH; j++)
            CHECK(one[i][j] == 0.0f || fabsf(one[i][j] - 1.0f / 0.7f) < 1e-6f);
    other[0].seed++;
    other[1].step++;
    other[2].site++;
    for (int k = 0; k < 3; k++) {
        int64_t agree = 0;
        dropped(two, &backend, other[k]);
        for (int i = 0; i < DROPPED_ROWS; i++)
            for (int j = 0; j < DROPPED_WIDTH; j++)
                agree += one[i][j] == two[i][j];
        /* Independent masks agree in 0.7^2 + 0.3^2 of the elements. */
        CHECK_NEAR((double)agree / (DROPPED_ROWS * DROPPED_WIDTH), 0.58, 0.015);
    }
    CHECK_NEAR(dropped(one, &backend, (struct dropout){.probability = 0.0f}), 1.0, 0.0);
    backend_destroy(&backend);
}

static void test_adam(bool decoupled, const double *wanted)
{
    struct backend backend;
    rotary_error error;
    int index;
    const struct parameter row = {.name = "x.weight", .rows = 20, .columns = 1, .decay = true};
    CHECK(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, &error) == ROTARY_OK);
    struct parameters table = {.backend = &backend};
    CHECK(parameters_add(&table, &row, &index, &error) == ROTARY_OK);
    CHECK(parameters_allocate(&table, true, &error) == ROTARY_OK);
    float values[20], gradients[20];
    for (int i = 0; i < 20; i++)
        values[i] = (float)sin(i);
    parameter_replace(&table, PARAMETER_VALUES, values);
    for (int step = 1; step <= 10; step++) {
        const struct adam adam = {.learning_rate = 0.01f,
                                  .beta1 = 0.9f,
                                  .beta2 = 0.98f,
                                  .epsilon = 1e-6f,
                                  .weight_decay = 0.1f,
                                  .decoupled = decoupled,
                                  .correction1 = (float)(1.0 - pow(0.9, step)),
                                  .correction2 = (float)(1.0 - pow(0.98, step))};
        for (int i = 0; i < 20; i++)
            gradients[i] = (float)(cos(0.9 * i * step) * exp2(i % 7 - 3));
        parameter_replace(&table, PARAMETER_GRADIENTS, gradients);
        CHECK(parameters_update(&table, &adam, 0.0, &error) == ROTARY_OK);
    }
    float *got = parameter_copy(&table, PARAMETER_VALUES);
    check_about("%s of PyTorch", decoupled ? "AdamW" : "Adam");
    for (int i = 0; i < 20; i++)
        CHECK_NEAR((double)got[i], wanted[i], 1e-6);
    free(got);
    parameters_free(&table);
    backend_destroy(&backend);
}

/* So many classes that the logits of LOSS_ROWS rows are not kept at once: the loss runs in two blocks. */
enum { LOSS_ROWS = 300, LOSS_WIDTH = 4, LOSS_CLASSES = 70001, LOSS_FIRST = 150 };

/* Rows first ... first + rows - 1: returns their loss, and writes d_hidden. */
static struct loss_sums run_loss(struct loss *loss, struct parameters *table, float *hidden, float *d_hidden,
                                 int64_t first, int64_t rows)
{
    static int32_t targets[LOSS_ROWS];
    for (int i = 0; i < LOSS_ROWS; i++)
        targets[i] = (i * 7919 + i * i * 31) % LOSS_CLASSES;
    struct loss_sums sums = {0};
    const struct loss_call call = {
        .rows.hidden = matrix_of(hidden + first * LOSS_WIDTH, ROTARY_F32, rows, LOSS_WIDTH),
        .targets = targets + first,
        .gradient_scale = 1.0f,
        .d_hidden = matrix_of(d_hidden + first * LOSS_WIDTH, ROTARY_F32, rows, LOSS_WIDTH)};
    CHECK(loss_run(loss, table, &call, &sums, NULL) == ROTARY_OK);
    return sums;
}

static void check_logits(struct loss *loss, const struct parameters *table, float *hidden)
{
    float *logits = malloc(sizeof *logits * LOSS_ROWS * LOSS_CLASSES);
    float *weight = parameter_copy(table, PARAMETER_VALUES);
    const struct loss_rows all = {.hidden = matrix_of(hidden, ROTARY_F32, LOSS_ROWS, LOSS_WIDTH)};
    CHECK(loss_logits(loss, table, &all, logits, NULL) == ROTARY_OK);
    for (int row = 0; row < LOSS_ROWS; row++)
        for (int class = row; class < LOSS_CLASSES; class += 997) {
            double wanted = 0.0;
            for (int i = 0; i < LOSS_WIDTH; i++)
                wanted += (double)hidden[row * LOSS_WIDTH + i] * (double)weight[class * LOSS_WIDTH + i];
            CHECK_NEAR((double)logits[(int64_t)row * LOSS_CLASSES + class], wanted, 1e-5);
        }
    free(logits);
    free(weight);
}

/* Every row but each sixteenth, by name: in two blocks. What is not read has no gradient, whatever was there.
 */
static void check_gathered(struct loss *loss, struct parameters *table, float *hidden)
{
    static float d[LOSS_ROWS * LOSS_WIDTH], wanted[LOSS_ROWS * LOSS_WIDTH], logits[2 * LOSS_CLASSES];
    static int32_t all[LOSS_ROWS], targets[LOSS_ROWS];
    static int64_t index[LOSS_ROWS];
    static float of_all[LOSS_ROWS], of_some[LOSS_ROWS];
    int64_t count = 0;
    const struct matrix rows = matrix_of(hidden, ROTARY_F32, LOSS_ROWS, LOSS_WIDTH);
    for (int i = 0; i < LOSS_ROWS; i++) {
        all[i] = i % 16 == 3 ? BATCH_IGNORED : (i * 7919 + i * i * 31) % LOSS_CLASSES;
        if (all[i] != BATCH_IGNORED) {
            index[count] = i;
            targets[count++] = all[i];
        }
    }
    CHECK(count > 256 && count < LOSS_ROWS);
    for (int i = 0; i < LOSS_ROWS * LOSS_WIDTH; i++)
        d[i] = 9.0f;
    struct loss_call call = {.rows.hidden = rows,
                             .targets = all,
                             .gradient_scale = 1.0f,
                             .d_hidden = matrix_of(wanted, ROTARY_F32, LOSS_ROWS, LOSS_WIDTH),
                             .losses = of_all};
    struct loss_sums whole = {0}, gathered = {0};
    CHECK(loss_run(loss, table, &call, &whole, NULL) == ROTARY_OK);
    call = (struct loss_call){.rows = {.hidden = rows, .index = index, .count = count},
                              .targets = targets,
                              .gradient_scale = 1.0f,
                              .d_hidden = matrix_of(d, ROTARY_F32, LOSS_ROWS, LOSS_WIDTH),
                              .losses = of_some};
    CHECK(loss_run(loss, table, &call, &gathered, NULL) == ROTARY_OK);
    CHECK_INT(gathered.counted, count);
    CHECK_INT(gathered.correct, whole.correct);
    CHECK_NEAR(gathered.total, whole.total, 1e-9 * whole.total);
    double total = 0;
    for (int64_t i = 0; i < count; i++) {
        CHECK_NEAR((double)of_some[i], (double)of_all[index[i]], 1e-5);
        total += (double)of_some[i];
    }
    CHECK_NEAR(total, whole.total, 1e-6 * whole.total);
    for (int i = 0; i < LOSS_ROWS * LOSS_WIDTH; i++)
        CHECK_NEAR((double)d[i], (double)wanted[i], 1e-6);
    const struct loss_rows last = {.hidden = rows, .index = index + count - 2, .count = 2};
    CHECK(loss_logits(loss, table, &last, logits, NULL) == ROTARY_OK);
    const float *weight = parameter_value(table, 0), *x = hidden + index[count - 1] * LOSS_WIDTH;
    double product = 0.0;
    for (int i = 0; i < LOSS_WIDTH; i++)
        product += (double)x[i] * (double)weight[17 * LOSS_WIDTH + i];
    CHECK_NEAR((double)logits[LOSS_CLASSES + 17], product, 1e-5);
}

static void test_loss_blocks(void)
{
    static float hidden[LOSS_ROWS * LOSS_WIDTH], d[2][LOSS_ROWS * LOSS_WIDTH];
    struct backend backend;
    struct loss *loss = NULL;
    struct linear *output = NULL;
    CHECK(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, NULL) == ROTARY_OK);
    struct parameters table = {.backend = &backend};
    const struct linear_config linear = {.name = "output",
                                         .inputs = LOSS_WIDTH,
                                         .outputs = LOSS_CLASSES,
                                         .rows = LOSS_ROWS,
                                         .training = true,
                                         .tied_weight = -1,
                                         .initial = INITIAL_NORMAL,
                                         .scale = 0.5f};
    const struct loss_config config = {
        .rows = LOSS_ROWS, .training = true, .gathers = true, .width = LOSS_WIDTH};
    check_about("a loss in blocks");
    CHECK(linear_create(&output, &backend, &linear, &table, NULL) == ROTARY_OK);
    CHECK(parameters_allocate(&table, true, NULL) == ROTARY_OK);
    CHECK(parameters_initialise(&table, 3, NULL) == ROTARY_OK);
    CHECK(loss_create(&loss, &backend, output, &config, NULL) == ROTARY_OK);
    for (int i = 0; i < LOSS_ROWS * LOSS_WIDTH; i++)
        hidden[i] = check_random(9, (uint64_t)i, 0);
    struct loss_sums all = run_loss(loss, &table, hidden, d[0], 0, LOSS_ROWS);
    struct loss_sums first = run_loss(loss, &table, hidden, d[1], 0, LOSS_FIRST);
    struct loss_sums rest = run_loss(loss, &table, hidden, d[1], LOSS_FIRST, LOSS_ROWS - LOSS_FIRST);
    CHECK_INT(all.counted, LOSS_ROWS);
    CHECK_NEAR(all.total, first.total + rest.total, 1e-9 * all.total);
    CHECK_INT(all.correct, first.correct + rest.correct);
    for (int i = 0; i < LOSS_ROWS * LOSS_WIDTH; i++)
        CHECK_NEAR((double)d[0][i], (double)d[1][i], 1e-6);
    check_logits(loss, &table, hidden);
    check_gathered(loss, &table, hidden);
    loss_destroy(loss);
    linear_destroy(output);
    parameters_free(&table);
    backend_destroy(&backend);
}

static void test_refusals(void)
{
    struct chain chain;
    rotary_error error = {0};
    chain_create(&chain, &plain, 1, ROTARY_ISA_AUTO, PRECISION_F32);
    check_about("refusals");
    struct matrix in = matrix_of(chain.normalised[0], ROTARY_F32, chain.rows, CHAIN_WIDTH);
    struct matrix out = matrix_of(chain.up, ROTARY_F32, chain.rows, CHAIN_HIDDEN);
    out.columns++;
    CHECK(linear_forward(chain.first, &chain.parameters, out, in, MATMUL_EPILOGUE_NONE, &error) ==
          ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "24 inputs and 40 outputs") != NULL);
    out.columns--;
    out.rows = in.rows = chain.rows + 1;
    CHECK(linear_forward(chain.first, &chain.parameters, out, in, MATMUL_EPILOGUE_NONE, &error) ==
          ROTARY_INVALID_ARGUMENT);
    struct loss *loss = NULL;
    const struct loss_config config = {.rows = 4, .label_smoothing = 1.0f};
    CHECK(loss_create(&loss, &chain.backend, chain.output, &config, &error) == ROTARY_INVALID_ARGUMENT);
    const struct loss_config inference = {.rows = chain.rows};
    CHECK(loss_create(&loss, &chain.backend, chain.output, &inference, &error) == ROTARY_OK);
    in.rows = chain.rows;
    const struct loss_call call = {.rows.hidden = in, .targets = chain.targets, .d_hidden = in};
    CHECK(loss_run(loss, &chain.parameters, &call, NULL, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, "a loss created for inference has no backward pass");
    static const int64_t index[] = {0};
    const struct loss_call gathering = {.rows = {.hidden = in, .index = index, .count = 1},
                                        .targets = chain.targets};
    CHECK(loss_run(loss, &chain.parameters, &gathering, NULL, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message,
               "a call of a loss that names its rows: the loss was not created to gather rows");
    loss_destroy(loss);
    chain_destroy(&chain);
}

int main(void)
{
    rotary_error error;
    bool bf16 = backend_native_precision() == PRECISION_BF16;
    struct chain_config with_dropout = plain;
    with_dropout.dropout = 0.25f;
    with_dropout.smoothing = 0.0f; /* the total is without smoothing, the gradient with it */
    for (int at = ROTARY_ISAS - 1; at > 0; at--) {
        rotary_isa isa = rotary_isa_order[at];
        if (!rotary_isa_available(isa))
            continue;
        for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
            for (int half = 0; half <= bf16; half++) {
                struct backend cpu;
                CHECK(backend_create(&cpu, 2, isa, half ? PRECISION_BF16 : PRECISION_F32, &error) ==
                      ROTARY_OK);
                test_golden(&goldens[i], cpu);
            }
        test_finite_differences(&with_dropout, isa);
    }
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
        for (int half = 0; half < 2; half++) {
            struct backend reference;
            CHECK(reference_backend_create(&reference, half ? ROTARY_BF16 : ROTARY_F32, &error) == ROTARY_OK);
            test_golden(&goldens[i], reference);
        }
    test_changed_weights(PRECISION_F32);
    test_threads(PRECISION_F32);
    if (bf16)
        test_threads(PRECISION_BF16);
    test_frozen(PRECISION_F32);
    if (bf16)
        test_frozen(PRECISION_BF16);
    test_dropout();
    test_loss_blocks();
    test_adam(false, golden_adam);
    test_adam(true, golden_adamw);
    test_refusals();
    return check_report();
}
