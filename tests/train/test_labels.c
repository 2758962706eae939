/* SPDX-License-Identifier: Apache-2.0
 *
 * Predicted labels: what a model is shown, how its logits become losses, scores and a file, and baselines. In
 * the model's place are logits that follow from the tokens.
 */
#include "file/file.h"
#include "support/scratch.h"
#include "task/classification/label_baselines.h"
#include "task/classification/labelled_corpus.h"
#include "task/text.h"
#include "train/evaluation/label_predictions.h"

#include <math.h>

enum { TIME = 16, TOKENS = 40, MAX_SEQUENCES = 8 };

/* ---- the model ---- */

static struct {
    bool regression, choices;
    int64_t batches, sequences;
} stub;

/* Of a sequence of n tokens: the logits 0, n / 4 and 1, or the number n; of a choice the logit n / 4. Batches
 * have whole sequences, and all choices of an example. */
rotary_status transformer_logits(struct transformer *transformer, const struct batch *batch, float *logits,
                                 rotary_error *error)
{
    const struct token_sequences *input = &batch->input;
    (void)transformer;
    (void)error;
    CHECK(token_rows(input) <= TOKENS && input->starts[0] == 0);
    CHECK_INT(batch->choices, stub.choices ? 2 : 0);
    CHECK(!stub.choices || input->batch % 2 == 0);
    CHECK((batch->values != NULL) == stub.regression && (batch->classes == NULL) == stub.regression);
    for (int64_t i = 0; i < input->batch; i++) {
        const int32_t count = input->starts[i + 1] - input->starts[i];
        for (int64_t t = input->starts[i]; input->segments && t < input->starts[i + 1]; t++)
            CHECK(input->segments[t] == 0 || input->segments[t] == 1);
        if (stub.regression || stub.choices) {
            logits[i] = (float)count / (stub.choices ? 4.0F : 1.0F);
            continue;
        }
        logits[3 * i] = 0;
        logits[3 * i + 1] = (float)count / 4;
        logits[3 * i + 2] = 1;
    }
    stub.batches++;
    stub.sequences += input->batch;
    return ROTARY_OK;
}

/* ---- a corpus ---- */

/* Sequences of 3, 5, 8 and 16 tokens, and many of 12, so that there are several batches. */
static struct task *make_task(bool regression)
{
    struct task_config config = config_of(TASK_CLASSIFICATION);
    config.sequence_length = TIME;
    scratch_write_text("train.csv", "label,a\n1,x\n2,y\n0,z\n2,x\n");
    scratch_write_text("dev.csv", "label,a\n0,x\n0,x x x\n1,x x x x x x\n1,x x x x x x x x x x x x x x\n2,x\n"
                                  "2,x x x x x x x x x x\n1,x x x x x x x x x x\n");
    set_text(&config, "classification_data", scratch_folder());
    set_text(&config, "classification_train", "train.csv");
    set_text(&config, "classification_validation", "dev.csv");
    set_text(&config, "classification_text", "a");
    set_text(&config, "classification_regression", regression ? "true" : "false");
    set_option(&config, "classification_min_frequency", 1);
    stub.regression = regression;
    stub.batches = stub.sequences = 0;
    return task_of(&config);
}

static struct batch_memory batch_memory_of(const struct task *task, struct rotary_arena *arena)
{
    struct batch_memory packed;
    batch_carve(&packed, task, TOKENS, arena);
    if (!CHECK_INT(rotary_arena_allocate(arena, "a test", NULL), ROTARY_OK))
        exit(1);
    batch_carve(&packed, task, TOKENS, arena);
    return packed;
}

static void predict(const struct task *task, struct label_scores *scores, struct token_sums *sums,
                    char **file)
{
    struct rotary_arena arena = {0};
    const struct batch_memory memory = batch_memory_of(task, &arena);
    const struct label_call call = {.task = task,
                                    .split = TASK_VALIDATION,
                                    .memory = &memory,
                                    .tokens = TOKENS,
                                    .file = scratch_path("predictions.tsv")};
    size_t count;
    rotary_error error = {0};
    CHECK_TEXT(label_predictions_run(&call, scores, sums, &error) ? error.message : "", "");
    if (!CHECK_INT(file_read(call.file, 1 << 16, file, &count, &error), ROTARY_OK))
        exit(1);
    rotary_arena_free(&arena);
}

/* ---- tests ---- */

/* The class is 1 where a sequence has more than four tokens, else 2. */
static void test_classes(void)
{
    static const int lengths[] = {3, 5, 8, 16, 3, 12, 12}, labels[] = {0, 0, 1, 1, 2, 2, 1};
    struct task *task = make_task(false);
    struct label_scores scores = {.examples = 0};
    struct token_sums sums = {0};
    double loss = 0;
    char *file, line[200];
    predict(task, &scores, &sums, &file);
    for (int i = 0; i < 7; i++) {
        const double logits[] = {0, lengths[i] / 4.0, 1}, sum = 1 + exp(logits[1]) + exp(1);
        loss += log(sum) - logits[labels[i]];
        snprintf(line, sizeof line, "\n%d\t%d\t%d\t%.6g\t%.6g\t%.6g\n", i, labels[i], lengths[i] > 4 ? 1 : 2,
                 1 / sum, exp(logits[1]) / sum, exp(1) / sum);
        check_about("%s", line + 1);
        CHECK(strstr(file, line) != NULL);
    }
    check_about("%s", "");
    const char *names = "index\tlabel\tprediction\tprobability of 0\tprobability of 1\tprobability of 2\n";
    CHECK(strstr(file, names) == file);
    CHECK_INT(stub.sequences, 7);
    CHECK(stub.batches >= 2);
    CHECK_INT(sums.counted, 7);
    CHECK_INT(sums.correct, 4);
    CHECK_NEAR(sums.total, loss, 1e-6);
    CHECK_INT(scores.examples, 7);
    CHECK_INT(scores.decides, LABEL_ACCURACY);
    CHECK_NEAR(scores.values[LABEL_ACCURACY], 4.0 / 7, 1e-15);
    CHECK_NEAR(scores.values[LABEL_MACRO_F1], (0 + 6.0 / 8 + 2.0 / 4) / 3,
               1e-15); /* 3 of 5 and 3; 1 of 2 and 2 */
    CHECK(isnan(scores.values[LABEL_F1]) && isnan(scores.values[LABEL_SPEARMAN]));
    free(file);
    task_destroy(task);
}

static void test_numbers(void)
{
    static const int lengths[] = {3, 5, 8, 16, 3, 12, 12}, labels[] = {0, 0, 1, 1, 2, 2, 1};
    struct task *task = make_task(true);
    struct label_scores scores = {.examples = 0};
    struct token_sums sums = {0};
    double squares = 0;
    char *file;
    predict(task, &scores, &sums, &file);
    for (int i = 0; i < 7; i++)
        squares += (lengths[i] - labels[i]) * (lengths[i] - labels[i]);
    CHECK_NEAR(sums.total, squares, 1e-9);
    CHECK_INT(sums.counted, 7);
    CHECK_INT(scores.decides, LABEL_SPEARMAN);
    CHECK(strstr(file, "index\tlabel\tprediction\n0\t0\t3\n1\t0\t5\n2\t1\t8\n") == file);
    CHECK_NEAR(scores.values[LABEL_PEARSON], 0.28230003285544597, 1e-12);
    CHECK(isnan(scores.values[LABEL_ACCURACY]));
    free(file);
    task_destroy(task);
}

/* Choices b and c of three texts: the longer one is predicted. */
static void test_choices(void)
{
    static const int lengths[][2] = {{5, 6}, {8, 5}, {16, 16}}, labels[] = {1, 1, 0};
    struct label_scores scores = {.examples = 0};
    struct token_sums sums = {0};
    struct label_baselines baselines;
    double loss = 0;
    char *file, line[200];
    struct task_config config = config_of(TASK_CLASSIFICATION);
    config.sequence_length = TIME;
    scratch_write_text("train.csv", "label,a,b,c\nB,x x,x x,y y\nC,z x,y y,z x\nC,z z,y y,z x\n");
    scratch_write_text("dev.csv", "label,a,b,c\nC,x,x,z z\nC,x,x x x x,y\n"
                                  "B,x x x x x x x x x,y y y y y y y,x x x x x x x x\n");
    set_text(&config, "classification_data", scratch_folder());
    set_text(&config, "classification_train", "train.csv");
    set_text(&config, "classification_validation", "dev.csv");
    set_text(&config, "classification_text", "a");
    set_text(&config, "classification_choices", "b,c");
    set_option(&config, "classification_min_frequency", 1);
    stub.regression = false;
    stub.choices = true;
    stub.batches = stub.sequences = 0;
    struct task *task = task_of(&config);
    predict(task, &scores, &sums, &file);
    for (int i = 0; i < 3; i++) {
        const double logits[] = {lengths[i][0] / 4.0, lengths[i][1] / 4.0},
                     sum = exp(logits[0]) + exp(logits[1]);
        loss += log(sum) - logits[labels[i]];
        snprintf(line, sizeof line, "\n%d\t%s\t%s\t%.6g\t%.6g\n", i, labels[i] ? "C" : "B",
                 logits[1] > logits[0] ? "C" : "B", exp(logits[0]) / sum, exp(logits[1]) / sum);
        check_about("%s", line + 1);
        CHECK(strstr(file, line) != NULL);
    }
    check_about("%s", "");
    CHECK(strstr(file, "index\tlabel\tprediction\tprobability of B\tprobability of C\n") == file);
    CHECK_INT(stub.sequences, 6);
    CHECK(stub.batches >= 2);
    CHECK_INT(sums.counted, 3);
    CHECK_NEAR(sums.total, loss, 1e-6);
    CHECK_NEAR(scores.values[LABEL_ACCURACY], 2.0 / 3, 1e-15);
    const struct label_baselines_call call = {task_labelled(task), LABEL_ACCURACY, TASK_VALIDATION};
    CHECK_INT(label_baselines_run(&baselines, &call, NULL), ROTARY_OK);
    CHECK_NEAR(baselines.scores[BASELINE_MAJORITY].values[LABEL_ACCURACY], 2.0 / 3, 1e-15);
    CHECK_NEAR(baselines.scores[BASELINE_WORDS].values[LABEL_ACCURACY], 0,
               1e-15); /* the wrong one is like a */
    label_baselines_free(&baselines);
    free(file);
    stub.choices = false;
    task_destroy(task);
}

/* The majority of training is class 2; words do not help. */
static void test_baselines(void)
{
    struct task *task = make_task(false);
    struct label_baselines_call call = {task_labelled(task), LABEL_ACCURACY, TASK_VALIDATION};
    struct label_baselines baselines;
    CHECK_INT(label_baselines_run(&baselines, &call, NULL), ROTARY_OK);
    CHECK_INT(baselines.scores[BASELINE_MAJORITY].examples, 7);
    CHECK_NEAR(baselines.scores[BASELINE_MAJORITY].values[LABEL_ACCURACY], 2.0 / 7, 1e-15);
    for (int i = 0; i < 7; i++)
        CHECK_INT(baselines.classes[BASELINE_MAJORITY][i], 2);
    CHECK_INT(baselines.scores[BASELINE_WORDS].examples, 7);
    CHECK(!baselines.values[BASELINE_WORDS]);
    label_baselines_free(&baselines);
    task_destroy(task);
    task = make_task(true);
    call.corpus = task_labelled(task);
    CHECK_INT(label_baselines_run(&baselines, &call, NULL), ROTARY_OK);
    CHECK(isnan(baselines.scores[BASELINE_MAJORITY].values[LABEL_PEARSON])); /* all are one number */
    label_baselines_free(&baselines);
    task_destroy(task);
}

int main(void)
{
    test_classes();
    test_numbers();
    test_choices();
    test_baselines();
    return check_report();
}
