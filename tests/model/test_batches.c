/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches of a transformer: sequences of one length, packed ones and positions of tokens against runs of
 * single sequences, loss and gradients; what a transformer refuses.
 */
#include "backend/every_backend.h"
#include "model/refused_batch.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include "layer/encoding/encoding.h"
#include "model/transformer_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 11, SEQUENCES = 3, TIME = 9, ROWS = SEQUENCES * TIME };
static const int32_t lengths[SEQUENCES] = {4, 9, 1}, starts[SEQUENCES + 1] = {0, 4, 13, 14};
enum { TOKENS = 14 };

static struct transformer *create(const struct backend *backend, enum position position)
{
    struct transformer_config config;
    transformer_config_default(&config);
    config.vocab_size = VOCABULARY;
    config.hidden_size = 32;
    config.num_hidden_layers = 2;
    config.num_key_value_heads = 2;
    config.max_position_embeddings = 40;
    config.position = (int)position;
    config.hidden_act = ACTIVATION_GELU;
    const struct transformer_limits limits = {
        .batch = SEQUENCES, .time = TIME, .training = true, .packed = true, .positions = true};
    struct transformer *transformer = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(transformer_create(&transformer, backend, &config, limits, 4, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(1);
    }
    return transformer;
}

/* Token and target of token t of a sequence. */
static int32_t token(int64_t sequence, int64_t t)
{
    return (int32_t)((7 * sequence + 3 * t + t * t / 3) % VOCABULARY);
}

static int32_t target(int64_t sequence, int64_t t)
{
    return (int32_t)((5 * sequence + 2 * t + 1) % VOCABULARY);
}

/* Loss and, by adding to the gradients, backward pass. */
static double run(struct transformer *transformer, const struct batch *batch)
{
    const struct transformer_call call = {.batch = batch, .backward = true, .gradient_scale = 0.25f};
    struct loss_sums loss = {0};
    rotary_error error = {0};
    if (!CHECK_INT(transformer_run(transformer, &call, &loss, &error), ROTARY_OK))
        printf("%s\n", error.message);
    return loss.total;
}

static double run_separately(struct transformer *transformer)
{
    double total = 0.0;
    for (int64_t s = 0; s < SEQUENCES; s++) {
        int32_t tokens[TIME], targets[TIME];
        for (int64_t t = 0; t < lengths[s]; t++) {
            tokens[t] = token(s, t);
            targets[t] = target(s, t);
        }
        const struct batch batch = {.input = {.batch = 1, .time = lengths[s], .tokens = tokens},
                                    .classes = targets};
        total += run(transformer, &batch);
    }
    return total;
}

/* Sequences of one length: tokens that follow change nothing, and have no target. */
static double run_level(struct transformer *transformer)
{
    int32_t tokens[ROWS], targets[ROWS];
    for (int64_t row = 0; row < ROWS; row++) {
        bool more = row % TIME >= lengths[row / TIME];
        tokens[row] = more ? (int32_t)(row % VOCABULARY) : token(row / TIME, row % TIME);
        targets[row] = more ? BATCH_IGNORED : target(row / TIME, row % TIME);
    }
    const struct batch batch = {.input = {.batch = SEQUENCES, .time = TIME, .tokens = tokens},
                                .classes = targets};
    return run(transformer, &batch);
}

/* `shift`: all positions are given, and begin there; below 0: they are not. */
static double run_packed(struct transformer *transformer, int32_t shift)
{
    int32_t tokens[TOKENS], targets[TOKENS], positions[TOKENS];
    for (int64_t s = 0; s < SEQUENCES; s++)
        for (int32_t row = starts[s]; row < starts[s + 1]; row++) {
            tokens[row] = token(s, row - starts[s]);
            targets[row] = target(s, row - starts[s]);
            positions[row] = shift + row - starts[s];
        }
    const struct batch batch = {.input = {.batch = SEQUENCES,
                                          .tokens = tokens,
                                          .starts = starts,
                                          .positions = shift < 0 ? NULL : positions},
                                .classes = targets};
    return run(transformer, &batch);
}

/* Takes the gradients and sets them to zero. */
static float *take_gradients(struct transformer *transformer)
{
    rotary_error error = {0};
    struct parameters *parameters = transformer_parameters(transformer);
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    CHECK_INT(parameters->backend->operations->clear(parameters->backend, parameters->gradients,
                                                     (size_t)parameters->elements * sizeof(float), &error),
              ROTARY_OK);
    return gradients;
}

/* Compares with the norm of all gradients as the measure, and frees `got`. */
static void compare(const struct transformer *transformer, float *got, const float *wanted, double bound)
{
    double difference = 0.0, norm = 0.0;
    for (int64_t i = 0; i < transformer->parameters.elements; i++) {
        difference += ((double)got[i] - (double)wanted[i]) * ((double)got[i] - (double)wanted[i]);
        norm += (double)wanted[i] * (double)wanted[i];
    }
    CHECK(norm > 0.0);
    CHECK_NEAR(sqrt(difference), 0.0, bound * sqrt(norm));
    free(got);
}

/* RoPE's scores depend on distances alone; absolute positions are rows of a table. */
static void test_shift(struct transformer *transformer, const float *wanted, double separate, double bound)
{
    enum position position = (enum position)transformer->config.position;
    double shifted = run_packed(transformer, 17);
    float *gradients = take_gradients(transformer);
    if (position_encoding(position)->embedding == EMBEDDING_POSITION_NONE) {
        CHECK_NEAR(shifted, separate, 10.0 * bound * separate);
        compare(transformer, gradients, wanted, 10.0 * bound);
        return;
    }
    CHECK(fabs(shifted - separate) > 1e-3 * separate);
    free(gradients);
}

static void test_batches(const struct backend *backend)
{
    double bound = backend->storage == ROTARY_F32 ? 2e-6 : 2e-2;
    for (int position = 0; position < POSITIONS; position++) {
        struct transformer *transformer = create(backend, (enum position)position);
        check_about("%s, %s", backend_about(backend), position_names[position]);
        double separate = run_separately(transformer);
        float *wanted = take_gradients(transformer);
        CHECK_NEAR(run_level(transformer), separate, bound * separate);
        compare(transformer, take_gradients(transformer), wanted, bound);
        double packed = run_packed(transformer, -1);
        CHECK_NEAR(packed, separate, bound * separate);
        float *gradients = take_gradients(transformer);
        CHECK_NEAR(run_packed(transformer, 0), packed, 0.0);
        compare(transformer, take_gradients(transformer), gradients, 0.0);
        compare(transformer, gradients, wanted, bound);
        test_shift(transformer, wanted, separate, bound);
        free(wanted);
        transformer_destroy(transformer);
    }
    check_about("%s", "");
}

static void test_refusals(void)
{
    rotary_error error = {0};
    struct backend backend;
    CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK);
    struct transformer *transformer = create(&backend, POSITION_LEARNED);
    const int32_t tokens[ROWS] = {0}, far[ROWS] = {39, 40}, negative[ROWS] = {0, -1},
                  unordered[] = {0, 5, 4, TOKENS}, late[] = {1, TOKENS}, long_starts[] = {0, ROWS + 1};
    const struct batch good = {.input = {.batch = SEQUENCES, .time = TIME, .tokens = tokens},
                               .classes = tokens};
    struct batch bad = good;
    bad.input.segments = tokens;
    refuse_batch(transformer, &bad, "a model without a type_vocab_size does not read them");
    bad = good;
    bad.source = good.input;
    refuse_batch(transformer, &bad, "a batch with a source");
    bad = good;
    bad.values = (const float[]){0.0f};
    refuse_batch(transformer, &bad, "a batch with real targets");
    bad = good;
    bad.classes = NULL;
    refuse_batch(transformer, &bad, "a batch with no classes");
    int32_t targets[ROWS] = {[ROWS - 1] = BATCH_IGNORED - 1};
    bad.classes = targets;
    refuse_batch(transformer, &bad, "target 26 is -2: wanted 0 ... 10, the vocabulary, or -1");
    targets[ROWS - 1] = VOCABULARY;
    refuse_batch(transformer, &bad, "target 26 is 11: wanted 0 ... 10, the vocabulary, or -1");
    bad = good;
    bad.input.tokens = negative;
    refuse_batch(transformer, &bad, "token 1 is -1");
    bad = good;
    bad.input.positions = far;
    refuse_batch(transformer, &bad, "position 40: the model has positions 0 ... 39");
    bad.input.positions = negative;
    refuse_batch(transformer, &bad, "the position of token 1 is -1");
    bad = (struct batch){.input = {.batch = 3, .tokens = tokens, .starts = unordered}, .classes = tokens};
    refuse_batch(transformer, &bad, "packed sequence 1 starts at 5 and ends at 4");
    bad.input.batch = 1;
    bad.input.starts = late;
    refuse_batch(transformer, &bad, "packed sequences start at 1: wanted 0");
    bad.input.starts = long_starts;
    bad.input.positions = tokens;
    refuse_batch(transformer, &bad, "a batch of 1 sequences of 28 tokens");
    bad.input.positions = NULL;
    bad.input.batch = SEQUENCES;
    bad.input.starts = starts;
    transformer->limits.packed = transformer->limits.positions = false;
    refuse_batch(transformer, &bad, "the model was not created for them");
    bad = good;
    bad.input.positions = tokens;
    refuse_batch(transformer, &bad, "the model was not created for them");
    transformer_destroy(transformer);
    transformer = create(&backend, POSITION_TRANSFORMER_XL); /* its distances have an end */
    bad.input.positions = far;
    refuse_batch(transformer, &bad, "position 40: the model has positions 0 ... 39");
    transformer_destroy(transformer);
    backend_destroy(&backend);
}

int main(void)
{
    on_every_backend(test_batches);
    test_refusals();
    return check_report();
}
