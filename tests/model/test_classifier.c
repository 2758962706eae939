/* SPDX-License-Identifier: Apache-2.0
 *
 * Encoders that classify sequences, or predict a number of each, by their first token or the mean of all:
 * sequences alone, sequences without a label, dropout by finite differences, memory, determinism, refusals.
 * test_bert.c compares them with transformers.
 */
#include "backend/every_backend.h"
#include "model/encoder_fixture.h"
#include "model/golden_gradients.h"
#include "model/refused_batch.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char classes_settings[] =
    "{\"position\": \"rope\", \"norm_position\": \"post\", \"hidden_act\": \"gelu\", \"embedding_norm\": "
    "true, "
    "\"type_vocab_size\": 2, \"num_labels\": 4, \"tie_word_embeddings\": true, \"output_transform\": true}";
static const char numbers_settings[] = "{\"position\": \"t5\", \"hidden_act\": \"gelu\", \"num_labels\": 1, "
                                       "\"classifier_activation\": \"gelu\", "
                                       "\"bias\": false}";
static const char means_settings[] =
    "{\"position\": \"rope\", \"norm_position\": \"post\", \"hidden_act\": \"gelu\", \"num_labels\": 4, "
    "\"classifier_pooling\": \"mean\", \"bias\": true}";
static const struct transformer_call with_backward = {.backward = true};

static struct transformer *create(const struct backend *backend, const char *settings, bool training)
{
    struct transformer_config config;
    encoder_config(&config, settings);
    struct transformer *transformer = encoder_create(backend, &config, training);
    parameter_fill(transformer_parameters(transformer));
    return transformer;
}

/* The masked batch with a label or a value of each sequence in place of its classes. */
struct labelled_batch {
    struct masked_batch masked;
    int32_t labels[BATCH];
    float values[BATCH];
};

static struct batch *label(struct labelled_batch *made, const struct transformer *transformer)
{
    const struct transformer_config *config = &transformer->config;
    struct batch *batch = &made->masked.batch;
    masked_batch(&made->masked, config);
    for (int s = 0; s < BATCH; s++) {
        made->labels[s] = (3 * s + 1) % 4;
        made->values[s] = 1.5f - (float)s;
    }
    batch->classes = config->num_labels > 1 ? made->labels : NULL;
    batch->values = config->num_labels == 1 ? made->values : NULL;
    return batch;
}

/* Sequences alone have the loss, the gradients and the logits of all together. */
static void test_alone(const struct backend *backend, const char *settings)
{
    struct transformer *transformer = create(backend, settings, true);
    struct parameters *parameters = transformer_parameters(transformer);
    struct labelled_batch made;
    const struct batch *all = label(&made, transformer);
    float logits[2][4 * BATCH];
    double alone = 0, bound = backend->storage == ROTARY_F32 ? 3e-6 : 3e-2;
    const int64_t labels = transformer->config.num_labels;
    const double together = encoder_run(transformer, all, with_backward).total;
    float *wanted = parameter_copy(parameters, PARAMETER_GRADIENTS);
    parameter_clear(parameters, PARAMETER_GRADIENTS);
    CHECK_INT(transformer_logits(transformer, all, logits[0], NULL), ROTARY_OK);
    for (int64_t s = 0; s < BATCH; s++) {
        struct batch one = *all;
        const int64_t start = sequence_start(&all->input, s);
        one.input =
            (struct token_sequences){.batch = 1,
                                     .time = sequence_length(&all->input, s),
                                     .tokens = all->input.tokens + start,
                                     .segments = all->input.segments ? all->input.segments + start : NULL};
        one.classes = all->classes ? all->classes + s : NULL;
        one.values = all->values ? all->values + s : NULL;
        alone += encoder_run(transformer, &one, with_backward).total;
        CHECK_INT(transformer_logits(transformer, &one, logits[1] + s * labels, NULL), ROTARY_OK);
    }
    float *got = parameter_copy(parameters, PARAMETER_GRADIENTS);
    check_about("%s, %s", backend_about(backend), settings);
    CHECK(together > 0.1);
    CHECK_NEAR(alone, together, 1e-6 * together);
    CHECK_NEAR(encoder_difference(got, wanted, parameters->elements), 0.0, bound);
    CHECK_NEAR(encoder_difference(logits[1], logits[0], BATCH * labels), 0.0, bound);
    free(wanted);
    free(got);
    check_about("%s", "");
    transformer_destroy(transformer);
}

/* The mean of one token is the first token, that of several is not. */
static void test_pooling(const struct backend *backend)
{
    struct transformer *transformer = create(backend, means_settings, true);
    struct labelled_batch made;
    const struct batch *batch = label(&made, transformer);
    float means[4 * BATCH], firsts[4 * BATCH];
    made.masked.starts[2] = made.masked.starts[1] + 1;
    CHECK_INT(transformer_logits(transformer, batch, means, NULL), ROTARY_OK);
    int64_t *counts = transformer->target_means;
    transformer->target_means = NULL;
    CHECK_INT(transformer_logits(transformer, batch, firsts, NULL), ROTARY_OK);
    transformer->target_means = counts;
    check_about("%s", backend_about(backend));
    for (int s = 0; s < BATCH; s++) {
        const int64_t length = sequence_length(&batch->input, s);
        CHECK_INT(counts[s], length);
        CHECK((encoder_difference(means + 4 * s, firsts + 4 * s, 4) > 1e-2) == (length > 1));
    }
    check_about("%s", "");
    transformer_destroy(transformer);
}

/* The losses that its logits have: -log softmax, or the square of what is missing. */
static void test_loss(const struct backend *backend, const char *settings)
{
    struct transformer *transformer = create(backend, settings, false);
    struct labelled_batch made;
    const struct batch *batch = label(&made, transformer);
    const int64_t labels = transformer->config.num_labels;
    float logits[4 * BATCH];
    double wanted = 0.0;
    CHECK_INT(transformer_logits(transformer, batch, logits, NULL), ROTARY_OK);
    for (int64_t s = 0; s < BATCH; s++) {
        double sum = 0.0, away = (double)(logits[s * labels] - made.values[s]);
        for (int64_t i = 0; i < labels; i++)
            sum += exp((double)logits[s * labels + i]);
        wanted += labels == 1 ? away * away : log(sum) - (double)logits[s * labels + made.labels[s]];
    }
    struct loss_sums loss = encoder_run(transformer, batch, (struct transformer_call){0});
    CHECK_NEAR(loss.total, wanted, 1e-5 * wanted);
    CHECK_INT(loss.counted, BATCH);
    transformer_destroy(transformer);
}

/* Four packed sequences, the choices of two examples, or `count` of these from `first` on. */
struct choices_batch {
    struct batch batch;
    int32_t tokens[ROWS], segments[ROWS], starts[5], classes[2];
};

static const struct batch *choose(struct choices_batch *made, int first, int count)
{
    static const int32_t lengths[] = {5, 2, 3, 4}, classes[] = {1, 0};
    int32_t token = 0, used = 0;
    for (int s = 0; s < first + count; s++)
        for (int i = 0; i < lengths[s]; i++, token++) {
            if (i == 0 && s >= first)
                made->starts[s - first] = used;
            if (s >= first)
                made->tokens[used++] = (token * 5 + 2) % VOCABULARY;
        }
    made->starts[count] = used;
    for (int i = 0; i < 2; i++)
        made->classes[i] = classes[(i + first / 2) % 2];
    made->batch = (struct batch){.input = {.batch = count, .tokens = made->tokens, .starts = made->starts},
                                 .classes = made->classes,
                                 .choices = 2};
    return &made->batch;
}

/* The softmax is over the choices of an example, and examples do not see one another. */
static void test_choices(const struct backend *backend)
{
    struct transformer *transformer = create(backend, numbers_settings, true);
    struct parameters *parameters = transformer_parameters(transformer);
    struct choices_batch made;
    float logits[4], *whole;
    double wanted = 0.0, parts = 0.0, bound = backend->storage == ROTARY_F32 ? 3e-6 : 3e-2;
    CHECK_INT(transformer_logits(transformer, choose(&made, 0, 4), logits, NULL), ROTARY_OK);
    for (int i = 0; i < 4; i += 2)
        wanted += log(exp((double)logits[i]) + exp((double)logits[i + 1])) -
                  (double)logits[i + made.classes[i / 2]];
    const struct loss_sums loss = encoder_run(transformer, choose(&made, 0, 4), with_backward);
    check_about("%s", backend_about(backend));
    CHECK_NEAR(loss.total, wanted, 3.0 * bound * wanted);
    CHECK_INT(loss.counted, 2);
    CHECK(fabs((double)(logits[0] - logits[1])) > 0.05);
    whole = parameter_copy(parameters, PARAMETER_GRADIENTS);
    parameter_clear(parameters, PARAMETER_GRADIENTS);
    for (int first = 0; first < 4; first += 2)
        parts += encoder_run(transformer, choose(&made, first, 2), with_backward).total;
    float *added = parameter_copy(parameters, PARAMETER_GRADIENTS);
    CHECK_NEAR(parts, loss.total, bound * loss.total);
    CHECK_NEAR(encoder_difference(added, whole, parameters->elements), 0.0, bound);
    free(added);
    free(whole);
    check_about("%s", "");
    transformer_destroy(transformer);
}

static void test_refused_choices(const struct backend *backend)
{
    struct transformer *classes = create(backend, classes_settings, false),
                       *numbers = create(backend, numbers_settings, false);
    struct choices_batch made;
    refuse_batch(classes, choose(&made, 0, 4), "2 choices for a model of num_labels 4: wanted 2 or more");
    refuse_batch(numbers, choose(&made, 0, 3), "a batch of 3 sequences with 2 choices for each example");
    choose(&made, 0, 4);
    made.classes[1] = 2;
    refuse_batch(numbers, &made.batch, "target 1 is 2: wanted 0 ... 1, the choices, or -1");
    choose(&made, 0, 4);
    made.batch.choices = 1;
    refuse_batch(numbers, &made.batch, "a batch with 1 choices");
    transformer_destroy(classes);
    transformer_destroy(numbers);
}

/* A sequence without a label adds nothing. */
static void test_ignored(const struct backend *backend)
{
    struct transformer *transformer = create(backend, classes_settings, true);
    struct parameters *parameters = transformer_parameters(transformer);
    struct labelled_batch made;
    double losses[3] = {0};
    float *gradients[3];
    for (int part = 0; part < 3; part++) { /* all, the first alone, the others */
        const struct batch *batch = label(&made, transformer);
        for (int s = 0; s < BATCH; s++)
            if (part > 0 && (s == 0) != (part == 1))
                made.labels[s] = BATCH_IGNORED;
        losses[part] = encoder_run(transformer, batch, with_backward).total;
        gradients[part] = parameter_copy(parameters, PARAMETER_GRADIENTS);
        parameter_clear(parameters, PARAMETER_GRADIENTS);
    }
    CHECK_NEAR(losses[1] + losses[2], losses[0], 1e-6 * losses[0]);
    for (int64_t i = 0; i < parameters->elements; i++)
        gradients[1][i] += gradients[2][i];
    CHECK_NEAR(encoder_difference(gradients[1], gradients[0], parameters->elements), 0.0, 3e-6);
    for (int part = 0; part < 3; part++)
        free(gradients[part]);
    transformer_destroy(transformer);
}

/* With dropout, also of what the classifier reads, the loss is a function of the parameters. */
static void test_dropout(const struct backend *backend, const char *settings, bool everywhere)
{
    struct transformer *transformer = create(backend, settings, true);
    struct transformer_call call = {.backward = true, .seed = 5, .micro_step = 9};
    struct labelled_batch made;
    const struct batch *batch = label(&made, transformer);
    const double step = 2e-4, plain = encoder_run(transformer, batch, (struct transformer_call){0}).total;
    double at[2];
    transformer->config.dropout = 0.2;
    transformer->config.attention_dropout = everywhere ? 0.1 : 0.0;
    double first = encoder_run(transformer, batch, call).total, slope = encoder_slope(transformer);
    for (int side = 0; side < 2; side++) {
        encoder_fill(transformer, side ? step : -step);
        at[side] = encoder_run(transformer, batch, call).total;
    }
    check_about("%s", settings);
    CHECK_NEAR((at[1] - at[0]) / (2.0 * step), slope, 1e-2 * (fabs(slope) + 10.0));
    parameter_fill(transformer_parameters(transformer));
    call.micro_step = 10;
    CHECK(encoder_run(transformer, batch, call).total != first);
    call.backward = false;
    CHECK_NEAR(encoder_run(transformer, batch, call).total, plain, 0.0);
    check_about("%s", "");
    transformer_destroy(transformer);
}

/* Features that are dropped add nothing to the gradient of the classifier's weight: of four sequences' worth,
 * at a probability of 0.9, many columns are 0. */
static void test_dropped_features(const struct backend *backend)
{
    struct transformer *transformer = create(backend, classes_settings, true);
    const struct parameters *parameters = transformer_parameters(transformer);
    const int row = parameters_find(parameters, "classifier.weight");
    struct labelled_batch made;
    int zeros = 0;
    transformer->config.dropout = 0.9;
    encoder_run(transformer, label(&made, transformer), with_backward);
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    for (int64_t i = 0; i < 32; i++)
        zeros += gradients[parameters->rows[row].offset + i] == 0.0f;
    CHECK(zeros >= 15 && zeros < 32); /* 0.9^3 of 32 are 23 */
    free(gradients);
    transformer_destroy(transformer);
}

static void test_bytes(const struct backend *backend)
{
    struct transformer_config config;
    encoder_config(&config, numbers_settings);
    config.hidden_size = 128; /* packed weights of narrow layers are rounded up to blocks */
    config.head_dim = 32;
    config.intermediate_size = 512;
    const struct transformer_limits limits = {.batch = BATCH, .time = TIME, .training = true, .packed = true};
    size_t estimate = 0;
    CHECK_INT(transformer_bytes(backend, &config, limits, &estimate, NULL), ROTARY_OK);
    struct transformer *transformer = encoder_create(backend, &config, true);
    const struct loss_config loss = {
        .rows = ROWS, .training = true, .gathers = true, .width = 128, .transform = transformer->transform};
    double allocated = (double)loss_bytes(backend, 1, &loss) +
                       (double)transformer->parameters.arena.capacity +
                       (double)transformer->parameters.training_arena.capacity +
                       (double)transformer->arena.capacity + (double)linear_bytes(transformer->output) +
                       (double)parameters_shared_bytes(&transformer->parameters) +
                       (double)output_transform_weight_bytes(transformer->transform) +
                       (double)stack_weight_bytes(transformer->main.stack);
    CHECK_NEAR((double)estimate, allocated, 0.03 * allocated);
    transformer_destroy(transformer);
}

static void test_refused_batches(const struct backend *backend)
{
    struct transformer *classes = create(backend, classes_settings, false),
                       *numbers = create(backend, numbers_settings, false);
    struct labelled_batch made;
    rotary_error error = {0};
    float logits[4 * BATCH];
    struct batch bad = *label(&made, classes);
    bad.values = made.values;
    refuse_batch(classes, &bad, "a transformer wants classes alone");
    bad = *label(&made, classes);
    made.labels[1] = 4;
    refuse_batch(classes, &bad, "target 1 is 4: wanted 0 ... 3, the labels, or -1");
    bad = *label(&made, classes);
    made.masked.starts[1] = made.masked.starts[2];
    refuse_batch(classes, &bad, "sequence 1 has no tokens");
    CHECK_INT(transformer_logits(classes, &bad, logits, &error), ROTARY_INVALID_ARGUMENT);
    const int64_t row = 0;
    bad = *label(&made, classes);
    CHECK_INT(transformer_row_logits(classes, &bad, &row, 1, logits, &error), ROTARY_UNSUPPORTED);
    bad = *label(&made, numbers);
    bad.values = NULL;
    bad.classes = made.labels;
    refuse_batch(numbers, &bad, "a model of num_labels 1 wants real targets alone");
    bad = *label(&made, numbers);
    made.values[2] = NAN;
    refuse_batch(numbers, &bad, "the target of sequence 2 is nan: wanted a finite number");
    transformer_destroy(classes);
    transformer_destroy(numbers);
}

static void test_refused_configurations(void)
{
    struct transformer_config config;
    rotary_error error = {0};
    encoder_config(&config, classes_settings);
    config.architecture = ARCHITECTURE_DECODER;
    CHECK_INT(transformer_config_check(&config, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "num_labels is 4 without architecture encoder"));
}

static void test_backend(const struct backend *backend)
{
    test_alone(backend, classes_settings);
    test_alone(backend, numbers_settings);
    test_alone(backend, means_settings);
    test_pooling(backend);
    test_choices(backend);
}

int main(void)
{
    struct backend backend;
    on_every_backend(test_backend);
    CHECK_INT(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK);
    test_loss(&backend, classes_settings);
    test_loss(&backend, numbers_settings);
    test_loss(&backend, means_settings);
    test_refused_choices(&backend);
    test_ignored(&backend);
    for (int everywhere = 0; everywhere < 2; everywhere++) {
        test_dropout(&backend, classes_settings, everywhere);
        test_dropout(&backend, numbers_settings, everywhere);
        test_dropout(&backend, means_settings, everywhere);
    }
    test_dropped_features(&backend);
    test_bytes(&backend);
    test_refused_batches(&backend);
    test_refused_configurations();
    backend_destroy(&backend);
    return check_report();
}
