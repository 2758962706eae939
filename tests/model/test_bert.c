/* SPDX-License-Identifier: Apache-2.0
 *
 * BERT and RoFormer: logits, losses and gradients of those of transformers with the same weights, for masked
 * tokens, classes of sequences, numbers and the choices of an example, on every backend.
 */
#include "backend/every_backend.h"
#include "model/encoder_fixture.h"
#include "model/golden_gradients.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bert_case {
    const char *settings; /* JSON */
    int choices;          /* the sequences are those of one example; 0: they are not */
    double loss;
    const struct golden_probe *probes;
    int64_t count;
    const double *logits; /* of the tokens with a target, or of the sequences */
    int64_t logit_count;
};

#include "bert_goldens.h"

enum { CASES = sizeof bert_cases / sizeof *bert_cases };

/* The batch of tests/golden/make_bert_goldens.py. */
struct bert_batch {
    struct masked_batch masked;
    int32_t labels[BATCH];
    float values[BATCH];
};

static void fill(struct bert_batch *made, const struct transformer_config *config, int choices)
{
    const int64_t labels = choices > 0 ? 2 : config->num_labels;
    struct batch *batch = &made->masked.batch;
    masked_batch_level(&made->masked, config);
    for (int row = 0; row < ROWS; row++)
        made->masked.tokens[row] = (row * 7 + 3) % (VOCABULARY - 1) + 1;
    masked_batch_cut(&made->masked);
    for (int s = 0; s < BATCH; s++) {
        made->labels[s] = labels > 0 ? (int32_t)((s + (choices > 0)) % labels) : 0;
        made->values[s] = 0.5f * (float)s - 0.25f;
    }
    if (labels > 0)
        batch->classes = labels > 1 ? made->labels : NULL;
    batch->values = labels == 1 ? made->values : NULL;
    batch->choices = choices;
}

static void compare_logits(struct transformer *transformer, const struct batch *batch,
                           const struct bert_case *golden)
{
    static float logits[ROWS * VOCABULARY];
    int64_t rows[ROWS], count = 0;
    rotary_error error = {0};
    double bound = transformer->backend->storage == ROTARY_F32 ? 1e-4 : 0.1;
    for (int64_t row = 0; batch->classes && row < token_rows(&batch->input); row++)
        if (batch->classes[row % (transformer->config.num_labels ? BATCH : ROWS)] != BATCH_IGNORED)
            rows[count++] = row;
    if (transformer->config.num_labels > 0)
        CHECK_INT(transformer_logits(transformer, batch, logits, &error), ROTARY_OK);
    else
        CHECK_INT(transformer_row_logits(transformer, batch, rows, count, logits, &error), ROTARY_OK);
    for (int64_t i = 0; i < golden->logit_count; i++)
        CHECK_NEAR(logits[i], golden->logits[i], bound * (1.0 + fabs(golden->logits[i])));
}

static void test_golden(const struct backend *backend, const struct bert_case *golden)
{
    struct transformer_config config;
    encoder_config(&config, golden->settings);
    struct transformer *transformer = encoder_create(backend, &config, true);
    struct parameters *parameters = transformer_parameters(transformer);
    struct bert_batch batch;
    parameter_fill(parameters);
    fill(&batch, &config, golden->choices);
    check_about("%s, %s", backend_about(backend), golden->settings);
    const struct transformer_call call = {.backward = true};
    struct loss_sums loss = encoder_run(transformer, &batch.masked.batch, call);
    double bound = backend->storage == ROTARY_F32 ? 2e-5 : 0.12;
    CHECK_NEAR(loss.total, golden->loss, bound * golden->loss * 0.1);
    CHECK_INT(loss.counted, golden->choices > 0 ? 1 : config.num_labels > 0 ? BATCH : 8);
    CHECK_INT(parameters->count, golden->count);
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    for (int64_t g = 0; g < golden->count; g++) {
        const char *name = bert_names[golden->probes[g].name];
        int row = parameters_find(parameters, name);
        check_about("%s, %s, %s", backend_about(backend), golden->settings, name);
        if (CHECK(row >= 0))
            golden_compare(gradients, parameters, row, golden->probes[g].probe, bound);
    }
    free(gradients);
    compare_logits(transformer, &batch.masked.batch, golden);
    check_about("%s", "");
    transformer_destroy(transformer);
}

static void test_backend(const struct backend *backend)
{
    for (int c = 0; c < CASES; c++)
        test_golden(backend, &bert_cases[c]);
}

int main(void)
{
    on_every_backend(test_backend);
    return check_report();
}
