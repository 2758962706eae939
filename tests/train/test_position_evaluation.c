/* SPDX-License-Identifier: Apache-2.0
 *
 * The loss of a text by position: each token's is that of its logits, at its place in its own sequence, and
 * all of them together are the validation loss. And the loss of a model that knows frequencies alone.
 */
#include "support/check.h"
#include "train/evaluation/evaluation.h"
#include "train/runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 24, LONGER = 72, MAX_CLASSES = 512 };

static struct backend backend;

/* What a token costs by its logits. */
static double loss_of(const float *logits, int64_t classes, int32_t class)
{
    double sum = 0;
    for (int64_t i = 0; i < classes; i++)
        sum += exp((double)logits[i] - (double)logits[class]);
    return log(sum);
}

/* Adds the losses of every validation sequence, one at a time. */
static void add_expected(const struct task *task, struct transformer *transformer,
                         struct position_losses *expected)
{
    const int64_t classes = transformer_configuration(transformer)->vocab_size;
    static float logits[LONGER * MAX_CLASSES];
    CHECK(classes <= MAX_CLASSES);
    for (int64_t i = 0; i < task_examples(task, TASK_VALIDATION); i++) {
        int32_t tokens[LONGER], targets[LONGER];
        const int64_t count = task_example(task, TASK_VALIDATION, i).target_count;
        task_fill(task, &(struct task_place){.split = TASK_VALIDATION, .index = i},
                  &(struct task_row){.tokens = tokens, .classes = targets});
        const struct batch batch = {.input = {.batch = 1, .time = count, .tokens = tokens}};
        CHECK_INT(transformer_logits(transformer, &batch, logits, NULL), ROTARY_OK);
        for (int64_t j = 0; j < count; j++)
            if (targets[j] != BATCH_IGNORED)
                position_losses_add(expected, j, loss_of(logits + j * classes, classes, targets[j]));
    }
}

/* Each target of the validation set by all the others, with one added to every token. */
static double loss_of_frequencies(const struct task *task)
{
    static int32_t targets[1 << 16];
    const int64_t classes = task_vocabulary(task).target;
    int64_t counts[MAX_CLASSES] = {0}, counted = 0;
    double sum = 0;
    for (int64_t i = 0; i < task_examples(task, TASK_VALIDATION); i++) {
        int32_t tokens[LONGER], read[LONGER];
        const int64_t count = task_example(task, TASK_VALIDATION, i).target_count;
        task_fill(task, &(struct task_place){.split = TASK_VALIDATION, .index = i},
                  &(struct task_row){.tokens = tokens, .classes = read});
        for (int64_t j = 0; j < count && counted < 1 << 16; j++)
            if (read[j] != BATCH_IGNORED) {
                counts[read[j]]++;
                targets[counted++] = read[j];
            }
    }
    for (int64_t i = 0; i < counted; i++)
        sum -= log((double)(counts[targets[i]] - 1 + 1) / (double)(counted - 1 + classes));
    return sum / (double)counted;
}

static void test_task(const char *name, const char *setting, int64_t length)
{
    struct run_config config;
    struct task *task;
    struct transformer *transformer;
    rotary_error error = {0};
    char option[64];
    tiny_config(&config);
    snprintf(option, sizeof option, "task=%s", name);
    set_option(&config, option);
    set_option(&config, setting);
    snprintf(option, sizeof option, "%s_documents=20", name);
    set_option(&config, option);
    snprintf(option, sizeof option, "%s_held_out=9", name);
    set_option(&config, option);
    config.task.sequence_length = length;
    check_about("%s of %s", setting, name);
    if (!CHECK_INT(task_create(&task, &config.task, NULL, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        return;
    }
    config.model.vocab_size = task_vocabulary(task).target;
    config.model.max_position_embeddings = length;
    config.model.initializer_range = 0.5; /* so that losses differ */
    if (task_wants_encoder(task))
        config.model.architecture = ARCHITECTURE_ENCODER;
    /* Batches begin and end within the text: more than one, of several sequences. */
    const struct transformer_limits limits = {.batch = 3, .time = length, .packed = true};
    if (!CHECK_INT(transformer_create(&transformer, &backend, &config.model, limits, 1, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        task_destroy(task);
        return;
    }
    struct evaluation evaluation = {0};
    struct position_losses expected = {.length = length};
    const struct evaluation_config how = {.seed = 1};
    CHECK_INT(evaluation_run(task, transformer, &how, &evaluation, &error), ROTARY_OK);
    add_expected(task, transformer, &expected);
    CHECK_INT(evaluation.positions.length, length);
    double total = 0;
    int64_t counted = 0;
    for (int bin = 0; bin < POSITION_BINS; bin++) {
        const struct position_bin *got = &evaluation.positions.bins[bin], *wanted = &expected.bins[bin];
        CHECK_INT(got->counted, wanted->counted);
        CHECK_NEAR(got->total, wanted->total, 2e-5 * (1 + wanted->total));
        total += got->total;
        counted += got->counted;
    }
    CHECK(counted > 50);
    CHECK_NEAR(evaluation.frequency_loss, loss_of_frequencies(task), 1e-12);
    CHECK_NEAR(total / (double)counted, evaluation.loss, 1e-6 * evaluation.loss);
    transformer_destroy(transformer);
    task_destroy(task);
    check_about("%s", "");
}

int main(void)
{
    if (backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL) != ROTARY_OK)
        return 1;
    test_task("language", "language_windows=consecutive", LENGTH);
    test_task("language", "language_windows=documents", LONGER);
    test_task("masked", "masked_probability=0.3", LENGTH);
    test_task("masked", "masked_probability=0.15", LONGER);
    backend_destroy(&backend);
    return check_report();
}
