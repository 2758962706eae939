/* SPDX-License-Identifier: Apache-2.0
 *
 * Low-rank adaptation: the gradients of A and B beside PEFT's formula, s B A x, in double precision and
 * beside finite differences of the loss; what is frozen and what is trained; that a run which is resumed has
 * the bits of one that never stopped.
 */
#include "backend/reference_backend.h"
#include "support/check.h"
#include "support/parameter_copy.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "file/safetensors.h"
#include "train/trainer.h"
#include "train/weights/initial_weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 3, SAMPLES = 5, MAX_SIDE = 64 };
#define MODEL     "model.safetensors"
#define OPTIMIZER "optimizer.safetensors"

/* Gated, with two query heads for one key: the projections of a matrix have different numbers of rows. */
static void configure(struct run_config *config, const char *init)
{
    tiny_config(config);
    tiny_model(config, 2);
    config->model.dropout = 0.0;
    config->train.gradient_accumulation_steps = 1;
    config->train.warmup_steps = 0;
    config->train.learning_rate = 0.02;
    set_option(config, "num_key_value_heads=1");
    set_option(config, "hidden_act=swiglu");
    set_option(config, "optimizer=adamw");
    set_option(config, "weight_decay=0.1");
    if (init)
        snprintf(config->train.init, sizeof config->train.init, "%s", init);
}

static void check(struct run_config *config)
{
    rotary_error error = {0};
    if (!CHECK_INT(run_config_check(config, &error), ROTARY_OK))
        printf("%s\n", error.message);
}

/* The run that others adapt. */
static const char *base(void)
{
    static const char *folder;
    struct run_config config;
    if (folder)
        return folder;
    configure(&config, NULL);
    config.train.steps = 3;
    check(&config);
    folder = strdup(new_folder("base"));
    train_to_end(&config, 2, folder);
    return folder;
}

static void adapt(struct run_config *config, const char *targets)
{
    configure(config, base());
    config->train.lora_rank = RANK;
    config->train.lora_alpha = 6.0;
    snprintf(config->train.lora_targets, sizeof config->train.lora_targets, "%s", targets);
    check(config);
}

static void begin(struct trainer *trainer, const struct run_config *config, const struct backend *backend)
{
    rotary_error error = {0};
    if (!CHECK_INT(trainer_create(trainer, config, NULL, backend, &error), ROTARY_OK) ||
        !CHECK_INT(trainer_begin(trainer, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(check_report());
    }
}

/* ---- one projection, beside PEFT's formula ---- */

/* Rows first ... first + outputs - 1 of a matrix of the model, and what adapts them. */
struct projection {
    const char *matrix, *module;
    int64_t first, outputs, inputs;
};
static const struct projection projections[] = {
    {"layers.1.attention.query_key_value.weight", "layers.1.attention.query", 0, 16, 16},
    {"layers.0.attention.query_key_value.weight", "layers.0.attention.value", 24, 8, 16},
    {"layers.0.attention.output.weight", "layers.0.attention.output", 0, 16, 16},
    {"layers.1.feed_forward.up.weight", "layers.1.feed_forward.gate", 0, 32, 16},
    {"layers.1.feed_forward.up.weight", "layers.1.feed_forward.up", 32, 32, 16},
    {"layers.0.feed_forward.down.weight", "layers.0.feed_forward.down", 0, 16, 32},
};

static int row_of(const struct parameters *table, const char *module, const char *kind)
{
    char name[128];
    snprintf(name, sizeof name, "%s.%s.weight", module, kind);
    const int row = parameters_find(table, name);
    CHECK(row >= 0);
    return row;
}

/* Fills A or B of a projection with numbers that are exact sums' terms. */
static void fill(struct parameters *table, int row, float *values)
{
    for (int64_t i = 0; i < parameter_elements(&table->rows[row]); i++)
        values[i] = check_random((uint64_t)row + 40, (uint64_t)i, 1);
    CHECK_INT(parameters_write(table, parameter_range(table, PARAMETER_VALUES, row), values, NULL),
              ROTARY_OK);
}

static void read_row(const struct parameters *table, enum parameter_array array, int row, float *values)
{
    CHECK_INT(parameters_read(table, parameter_range(table, array, row), values, NULL), ROTARY_OK);
}

/* y = W0 x + s B (A x) has for every sample dB = s dy (A x)^T and dA = s (B^T dy) x^T; the model's gradient
 * is the sum of dy x^T. */
static void check_projection(struct trainer *trainer, const struct projection *of)
{
    enum { ALL = MAX_SIDE * MAX_SIDE };
    static float x[SAMPLES][MAX_SIDE], dy[SAMPLES][MAX_SIDE], a[ALL], b[ALL], d_a[ALL], d_b[ALL],
        base_value[ALL], merged[ALL], gradient[ALL];
    static double wanted_a[ALL], wanted_b[ALL];
    const double s = 2.0;
    struct parameters *model = transformer_parameters(trainer->transformer), *table = model->adapter;
    const int row_a = row_of(table, of->module, "lora_A"), row_b = row_of(table, of->module, "lora_B"),
              row_base = row_of(table, of->module, "base_layer"), weight = parameters_find(model, of->matrix);
    const struct parameter_range part = {.array = PARAMETER_GRADIENTS,
                                         .index = weight,
                                         .first = of->first * of->inputs,
                                         .count = of->outputs * of->inputs};
    check_about("%s", of->module);
    fill(table, row_a, a);
    fill(table, row_b, b);
    memset(wanted_a, 0, sizeof wanted_a);
    memset(wanted_b, 0, sizeof wanted_b);
    memset(gradient, 0, sizeof gradient);
    for (int n = 0; n < SAMPLES; n++) {
        for (int i = 0; i < MAX_SIDE; i++) {
            x[n][i] = check_random(7, (uint64_t)(n * MAX_SIDE + i), 1);
            dy[n][i] = check_random(8, (uint64_t)(n * MAX_SIDE + i), 1);
        }
        for (int64_t r = 0; r < RANK; r++) {
            double inner = 0.0, outer = 0.0;
            for (int64_t i = 0; i < of->inputs; i++)
                inner += (double)a[r * of->inputs + i] * (double)x[n][i];
            for (int64_t o = 0; o < of->outputs; o++)
                outer += (double)b[o * RANK + r] * (double)dy[n][o];
            for (int64_t i = 0; i < of->inputs; i++)
                wanted_a[r * of->inputs + i] += s * outer * (double)x[n][i];
            for (int64_t o = 0; o < of->outputs; o++)
                wanted_b[o * RANK + r] += s * inner * (double)dy[n][o];
        }
        for (int64_t o = 0; o < of->outputs; o++)
            for (int64_t i = 0; i < of->inputs; i++)
                gradient[o * of->inputs + i] += dy[n][o] * x[n][i];
    }
    CHECK_INT(parameters_write(model, part, gradient, NULL), ROTARY_OK);
    CHECK_INT(lora_gradients(trainer->lora, NULL), ROTARY_OK);
    read_row(table, PARAMETER_GRADIENTS, row_a, d_a);
    read_row(table, PARAMETER_GRADIENTS, row_b, d_b);
    for (int64_t i = 0; i < RANK * of->inputs; i++)
        CHECK_NEAR((double)d_a[i], wanted_a[i], 1e-4 * (1.0 + fabs(wanted_a[i])));
    for (int64_t i = 0; i < RANK * of->outputs; i++)
        CHECK_NEAR((double)d_b[i], wanted_b[i], 1e-4 * (1.0 + fabs(wanted_b[i])));
    CHECK_INT(parameters_read(model, part, gradient, NULL), ROTARY_OK);
    for (int64_t i = 0; i < part.count; i++)
        CHECK_INT(gradient[i] == 0.0f, 1);

    const uint64_t version = model->rows[weight].version;
    CHECK_INT(lora_merge(trainer->lora, NULL), ROTARY_OK);
    CHECK(model->rows[weight].version > version);
    struct parameter_range values = part;
    values.array = PARAMETER_VALUES;
    CHECK_INT(parameters_read(model, values, merged, NULL), ROTARY_OK);
    read_row(table, PARAMETER_VALUES, row_base, base_value);
    for (int64_t o = 0; o < of->outputs; o++) {
        double got = 0.0, wanted = 0.0, size = 0.0;
        for (int64_t i = 0; i < of->inputs; i++) {
            got += (double)merged[o * of->inputs + i] * (double)x[0][i];
            wanted += (double)base_value[o * of->inputs + i] * (double)x[0][i];
            size += fabs((double)merged[o * of->inputs + i] * (double)x[0][i]);
        }
        for (int64_t r = 0; r < RANK; r++)
            for (int64_t i = 0; i < of->inputs; i++)
                wanted += s * (double)b[o * RANK + r] * (double)a[r * of->inputs + i] * (double)x[0][i];
        CHECK_NEAR(got, wanted, 1e-5 * (1.0 + size));
    }
}

/* B is zero, so that the model is that of `init` before the first step, and A is as PEFT draws it: uniform,
 * with a bound of 1 / sqrt(inputs). */
static void check_beginning(struct trainer *trainer)
{
    struct parameters *model = transformer_parameters(trainer->transformer), *table = model->adapter;
    float *values = parameter_copy(table, PARAMETER_VALUES),
          *before = parameter_copy(model, PARAMETER_VALUES);
    for (int row = 0; row < table->count; row++) {
        const float *value = values + table->rows[row].offset;
        const double bound = 1.0 / sqrt((double)table->rows[row].columns);
        float max = 0.0f;
        for (int64_t i = 0; i < parameter_elements(&table->rows[row]); i++)
            max = fmaxf(max, fabsf(value[i]));
        if (strstr(table->rows[row].name, "lora_B"))
            CHECK_INT(max == 0.0f, 1);
        if (strstr(table->rows[row].name, "lora_A"))
            CHECK((double)max <= bound && (double)max > 0.8 * bound);
    }
    CHECK_INT(lora_merge(trainer->lora, NULL), ROTARY_OK);
    float *after = parameter_copy(model, PARAMETER_VALUES);
    for (int64_t i = 0; i < model->elements; i++)
        CHECK(after[i] == before[i]);
    free(values);
    free(before);
    free(after);
}

static void test_formula(const struct backend *backend)
{
    struct run_config config;
    struct trainer trainer;
    adapt(&config, "all");
    for (size_t i = 0; i < sizeof projections / sizeof *projections; i++) {
        begin(&trainer, &config, backend);
        check_beginning(&trainer);
        check_projection(&trainer, &projections[i]);
        trainer_destroy(&trainer);
    }
    check_about("%s", "");
}

/* ---- the gradients of a model, beside finite differences ---- */

/* The loss of the last batch that was trained on, and with backward the model's gradients. */
static double run_model(struct trainer *trainer, bool backward)
{
    struct loss_sums loss;
    const struct transformer_call call = {.batch = &trainer->data[0].batches[0],
                                          .backward = backward,
                                          .gradient_scale = 1.0f / 64.0f,
                                          .seed = 1};
    CHECK_INT(transformer_run(trainer->transformer, &call, &loss, NULL), ROTARY_OK);
    return loss.total / 64.0;
}

/* The loss where A and B are `amount` along `direction` from `values`. */
static double loss_at(struct trainer *trainer, const float *values, const float *direction, double amount)
{
    struct parameters *table = transformer_parameters(trainer->transformer)->adapter;
    float *moved = parameter_copy(table, PARAMETER_VALUES);
    for (int64_t i = 0; i < table->elements; i++)
        moved[i] = (float)((double)values[i] + amount * (double)direction[i]);
    parameter_give(table, PARAMETER_VALUES, moved);
    CHECK_INT(lora_merge(trainer->lora, NULL), ROTARY_OK);
    return run_model(trainer, false);
}

/* A copy of what is trained of an array, zero in the rows of W0. */
static float *trained_copy(const struct parameters *table, enum parameter_array array)
{
    float *copy = calloc((size_t)table->elements, sizeof *copy);
    for (int i = 0; i < table->count; i++)
        if (parameter_is_trained(&table->rows[i]))
            read_row(table, array, i, copy + table->rows[i].offset);
    return copy;
}

/* Also the norm of the step, which is that of A and B alone. */
static void test_differences(const struct backend *backend, const char *targets)
{
    const double distance = 0.02;
    struct run_config config;
    struct trainer trainer;
    struct trainer_step taken;
    adapt(&config, targets);
    begin(&trainer, &config, backend);
    check_about("differences of %s", targets);
    for (int step = 1; step <= 3; step++) /* until B is not zero */
        CHECK_INT(trainer_step(&trainer, step, &taken, NULL), ROTARY_OK);
    struct parameters *table = transformer_parameters(trainer.transformer)->adapter;
    float *values = parameter_copy(table, PARAMETER_VALUES);
    run_model(&trainer, true);
    CHECK_INT(lora_gradients(trainer.lora, NULL), ROTARY_OK);
    float *gradient = trained_copy(table, PARAMETER_GRADIENTS);
    for (int kind = 0; kind < 2; kind++) { /* A, then B */
        float *direction = calloc((size_t)table->elements, sizeof *direction);
        double slope = 0.0, size = 0.0;
        for (int row = 0; row < table->count; row++)
            for (int64_t i = 0; i < parameter_elements(&table->rows[row]); i++) {
                const int64_t at = table->rows[row].offset + i;
                if (!strstr(table->rows[row].name, kind ? "lora_B" : "lora_A"))
                    continue;
                direction[at] = check_random(90, (uint64_t)at, 0);
                slope += (double)gradient[at] * (double)direction[at];
                size += pow((double)gradient[at] * (double)direction[at], 2.0);
            }
        const double plus = loss_at(&trainer, values, direction, distance),
                     minus = loss_at(&trainer, values, direction, -distance);
        CHECK(size > 0.0);
        CHECK_NEAR((plus - minus) / (2.0 * distance), slope, 0.02 * sqrt(size) + 1e-4);
        free(direction);
    }
    free(values);
    free(gradient);
    trainer_destroy(&trainer);
    check_about("%s", "");
}

static void test_norm(const struct backend *backend)
{
    struct run_config config;
    struct trainer trainer;
    struct trainer_step taken;
    double square = 0.0;
    adapt(&config, "query,value");
    config.train.learning_rate = 0.0;
    begin(&trainer, &config, backend);
    CHECK_INT(trainer_step(&trainer, 1, &taken, NULL), ROTARY_OK);
    run_model(&trainer, true); /* the same batch and weights */
    CHECK_INT(lora_gradients(trainer.lora, NULL), ROTARY_OK);
    const struct parameters *table = transformer_parameters(trainer.transformer)->adapter;
    float *gradient = trained_copy(table, PARAMETER_GRADIENTS);
    for (int64_t i = 0; i < table->elements; i++)
        square += (double)gradient[i] * (double)gradient[i];
    const double norm = sqrt(square) * 64.0 / (double)taken.loss.counted;
    CHECK(norm > 0.0);
    CHECK_NEAR(taken.gradient_norm, norm, 1e-5 * norm);
    free(gradient);
    trainer_destroy(&trainer);
}

/* ---- whole runs ---- */

static struct safetensors *open_file(const char *folder, const char *name)
{
    char path[600];
    struct safetensors *file = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_INT(safetensors_open(&file, path, NULL), ROTARY_OK);
    return file;
}

/* Whether rows first ... first + rows - 1 of a tensor are bit-identical in both; rows 0: all. */
static bool same_rows(const struct safetensors *a, const struct safetensors *b, const char *name,
                      int64_t first, int64_t rows)
{
    const struct safetensor *one = safetensors_find(a, name), *two = safetensors_find(b, name);
    if (!CHECK(one && two))
        return false;
    const int64_t columns = safetensors_elements(one) / one->shape[0];
    return memcmp((const float *)one->data + first * columns, (const float *)two->data + first * columns,
                  (size_t)((rows ? rows : one->shape[0]) * columns) * sizeof(float)) == 0;
}

/* Of the adapted matrices query and value differ from those of `init`, and nothing else does. */
static void check_frozen(const char *folder)
{
    static const char name[] = "layers.1.attention.query_key_value.weight";
    struct safetensors *old = open_file(base(), MODEL), *new = open_file(folder, MODEL);
    CHECK_INT(safetensors_count(new), safetensors_count(old));
    for (int i = 0; i < safetensors_count(new); i++) {
        const char *tensor = safetensors_at(new, i)->name;
        check_about("%s", tensor);
        CHECK_INT(same_rows(new, old, tensor, 0, 0), !strstr(tensor, "query_key_value.weight"));
    }
    check_about("%s", "");
    CHECK(!same_rows(new, old, name, 0, 16));
    CHECK(same_rows(new, old, name, 16, 8));
    CHECK(!same_rows(new, old, name, 24, 8));
    safetensors_close(old);
    safetensors_close(new);
}

/* A, B, W0 and the moments of A and B, of each target of each layer; of W0 the bits of `init`. */
static void check_optimizer(const char *folder)
{
    enum { TARGETS = 4, TENSORS = 3 + 4 };
    struct safetensors *file = open_file(folder, OPTIMIZER), *old = open_file(base(), MODEL);
    CHECK_INT(safetensors_count(file), TARGETS * TENSORS);
    const struct safetensor *frozen = safetensors_find(file, "layers.1.attention.value.base_layer.weight"),
                            *whole = safetensors_find(old, "layers.1.attention.query_key_value.weight");
    if (CHECK(frozen && whole))
        CHECK(memcmp(frozen->data, (const float *)whole->data + 24 * 16, 8 * 16 * sizeof(float)) == 0);
    CHECK(safetensors_find(file, "moment2.layers.0.attention.query.lora_B.weight") != NULL);
    safetensors_close(file);
    safetensors_close(old);
}

static void test_runs(void)
{
    struct run_config config;
    char *whole = strdup(new_folder("whole")), *parts = strdup(new_folder("parts"));
    adapt(&config, "query,value");
    config.train.steps = 0;
    train_to_end(&config, 1, parts);
    struct safetensors *old = open_file(base(), MODEL), *first = open_file(parts, MODEL);
    for (int i = 0; i < safetensors_count(old); i++)
        CHECK(same_rows(first, old, safetensors_at(old, i)->name, 0, 0));
    safetensors_close(old);
    safetensors_close(first);
    static const int64_t steps[] = {4, 7, 12};
    for (int i = 0; i < 3; i++) {
        config.train.steps = steps[i];
        train_to_end(&config, 2, parts);
    }
    train_to_end(&config, 1, whole);
    CHECK(same_file(whole, parts, MODEL));
    check_frozen(whole);
    check_optimizer(whole);
    struct safetensors *one = open_file(whole, OPTIMIZER), *two = open_file(parts, OPTIMIZER);
    for (int i = 0; i < safetensors_count(one); i++)
        CHECK(same_rows(one, two, safetensors_at(one, i)->name, 0, 0));
    safetensors_close(one);
    safetensors_close(two);
    free(whole);
    free(parts);
}

/* The mean of checkpoints is that of the merged weights: what was frozen has its bits. */
static void test_average(void)
{
    struct run_config config;
    adapt(&config, "query,value");
    config.train.steps = 10;
    config.train.checkpoint_every = 2;
    config.train.average_checkpoints = 3;
    check(&config);
    const char *folder = new_folder("averaged");
    train_to_end(&config, 1, folder);
    struct safetensors *old = open_file(base(), MODEL), *mean = open_file(folder, "average.safetensors");
    CHECK_INT(safetensors_count(mean), safetensors_count(old));
    CHECK(same_rows(mean, old, "layers.0.feed_forward.up.weight", 0, 0));
    CHECK(!same_rows(mean, old, "layers.0.attention.query_key_value.weight", 0, 16));
    safetensors_close(old);
    safetensors_close(mean);
}

static void set_all(struct run_config *config, const char *const *settings)
{
    run_config_default(config);
    tiny_model(config, 1);
    config->train.precision = PRECISION_F32;
    config->train.checkpoint_every = config->train.evaluate_every = 0;
    for (; *settings; settings++)
        set_option(config, *settings);
}

/* What `init` does not give is trained: of an encoder that learns to classify, pooler and classifier. */
static void test_head(void)
{
    static const char *const masks[] = {"task=masked",
                                        "masked_documents=20",
                                        "masked_held_out=2",
                                        "masked_min_frequency=1",
                                        "architecture=encoder",
                                        "sequence_length=48",
                                        "batch_size=2",
                                        "steps=2",
                                        NULL},
                             *const labels[] = {"task=classification",
                                                "classification_examples=20",
                                                "classification_held_out=2",
                                                "classification_min_frequency=1",
                                                "sequence_length=48",
                                                "batch_size=2",
                                                "lora_rank=2",
                                                "learning_rate=0.01",
                                                NULL};
    struct run_config config;
    char *encoder = strdup(new_folder("encoder")), *whole = strdup(new_folder("labels"));
    set_all(&config, masks);
    check(&config);
    train_to_end(&config, 1, encoder);
    set_all(&config, labels);
    snprintf(config.train.init, sizeof config.train.init, "%s", encoder);
    CHECK_INT(initial_weights_model(&config, NULL), ROTARY_OK);
    config.train.steps = 4;
    check(&config);
    train_to_end(&config, 1, whole);
    const char *parts = new_folder("labels in parts");
    config.train.steps = 1;
    train_to_end(&config, 1, parts);
    config.train.steps = 4;
    train_to_end(&config, 2, parts);
    CHECK(same_file(whole, parts, MODEL));
    struct safetensors *old = open_file(encoder, MODEL), *new = open_file(whole, MODEL),
                       *optimizer = open_file(whole, OPTIMIZER);
    CHECK(same_rows(old, new, "embedding.weight", 0, 0));
    CHECK(same_rows(old, new, "layers.0.feed_forward.up.weight", 0, 0));
    CHECK(!same_rows(old, new, "layers.0.attention.query_key_value.weight", 0, 16));
    CHECK(safetensors_find(optimizer, "moment1.classifier.weight") != NULL);
    CHECK(safetensors_find(optimizer, "moment2.pooler.dense.weight") != NULL);
    CHECK(safetensors_find(optimizer, "moment1.embedding.weight") == NULL);
    CHECK(safetensors_find(optimizer, "moment1.layers.0.attention.query_key_value.weight") == NULL);
    safetensors_close(old);
    safetensors_close(new);
    safetensors_close(optimizer);
    free(encoder);
    free(whole);
}

/* ---- settings ---- */

static void check_refused(const char *const *settings, const char *words)
{
    struct run_config config;
    rotary_error error = {0};
    configure(&config, base());
    config.train.lora_rank = RANK;
    for (; *settings; settings++)
        set_option(&config, *settings);
    check_about("%s", words);
    CHECK_INT(run_config_check(&config, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, words);
    check_about("%s", "");
}

static void test_refused(void)
{
    check_refused((const char *const[]){"init=", NULL}, "lora_rank is 3|init names none|lora_rank 0");
    check_refused((const char *const[]){"lora_rank=9", NULL},
                  "lora_rank is 9|\"value\" of attention.query_key_value|[8, 16]");
    check_refused((const char *const[]){"lora_targets=query, vaule", NULL},
                  "no target is named \"vaule\"|did you mean \"value\"?");
    check_refused((const char *const[]){"lora_targets=query,", NULL}, "no target is named \"\"");
    check_refused((const char *const[]){"lora_targets=query,gate", "hidden_act=gelu", NULL},
                  "lora_targets is query,gate|no projection \"gate\"");
    check_refused((const char *const[]){"lora_targets=value", "key_is_value=true", NULL},
                  "no projection \"value\": its values are its keys (key_is_value)");
}

/* The adaptation has no gradients and moments but its own and the gradients of its targets. */
static void test_memory(const struct backend *backend)
{
    struct run_config config;
    struct trainer trainer;
    size_t adapted, trained;
    adapt(&config, "query");
    begin(&trainer, &config, backend);
    const struct parameters *model = transformer_parameters(trainer.transformer), *table = model->adapter;
    CHECK_INT(model->trained_elements, 0);
    CHECK_INT(model->gradient_elements, 2 * 32 * 16);
    CHECK_INT(table->trained_elements, 2 * 2 * (RANK * 16));
    CHECK_INT(trainer_bytes(&config, backend, &adapted, NULL), ROTARY_OK);
    config.train.lora_rank = 0;
    CHECK_INT(trainer_bytes(&config, backend, &trained, NULL), ROTARY_OK);
    const int64_t without = 3 * model->elements * (int64_t)sizeof(float),
                  with = 2 * (2 * 16 * 16 + 4 * RANK * 32) * (int64_t)sizeof(float);
    CHECK_INT((int64_t)trained - (int64_t)adapted, without - with);
    trainer_destroy(&trainer);
}

int main(void)
{
    struct backend backend, reference, bf16;
    CHECK_INT(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK);
    CHECK_INT(reference_backend_create(&reference, ROTARY_F32, NULL), ROTARY_OK);
    test_formula(&backend);
    test_formula(&reference);
    test_norm(&reference);
    backend_destroy(&reference);
    if (has_bf16()) {
        CHECK_INT(backend_create(&bf16, 2, ROTARY_ISA_AUTO, PRECISION_BF16, NULL), ROTARY_OK);
        test_formula(&bf16);
        backend_destroy(&bf16);
    }
    test_differences(&backend, "query,value");
    test_differences(&backend, "all");
    test_norm(&backend);
    test_memory(&backend);
    test_head();
    test_refused();
    test_runs();
    test_average();
    backend_destroy(&backend);
    return check_report();
}
