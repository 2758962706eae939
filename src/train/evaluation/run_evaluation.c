/* SPDX-License-Identifier: Apache-2.0 */
#include "train/evaluation/run_evaluation.h"

#include "file/file.h"
#include "run_folder/folder.h"
#include "train/evaluation/evaluation.h"

/* The last evaluation of a run predicts the test set too if there is one, whose predictions are kept; without
 * one those of the validation set. */
static rotary_status predict_all(const struct task *task, struct transformer *transformer,
                                 const struct evaluation_config *how, const char *folder,
                                 struct evaluation *evaluation, rotary_error *error)
{
    const bool has_test = task_examples(task, TASK_TEST) > 0;
    struct evaluation_config all = *how;
    struct evaluation test = {.sample_count = 0};
    char path[FILE_PATH_BYTES];
    rotary_status status = file_output_path(path, folder, FOLDER_PREDICTIONS, error);
    all.predictions = has_test ? NULL : path;
    if (status == ROTARY_OK)
        status = evaluation_run(task, transformer, &all, evaluation, error);
    if (status != ROTARY_OK || !has_test)
        return status;
    all.predictions = path;
    all.test = true;
    status = evaluation_run(task, transformer, &all, &test, error);
    evaluation->test.labels = test.labels;
    evaluation->test.loss = test.loss;
    evaluation->test.accuracy = test.accuracy;
    evaluation->seconds += test.seconds;
    return status;
}

/* The last evaluation of a run translates the whole validation set, and the test set if there is one, whose
 * translations are kept. */
static rotary_status evaluate_all(const struct task *task, struct transformer *transformer,
                                  const struct evaluation_config *how, const char *folder,
                                  struct evaluation *evaluation, rotary_error *error)
{
    struct evaluation_config all = *how;
    char path[FILE_PATH_BYTES];
    if (task_shape(task).labels)
        return predict_all(task, transformer, how, folder, evaluation, error);
    if (task_scoring(task) != SCORING_BLEU)
        return evaluation_run(task, transformer, how, evaluation, error);
    rotary_status status = file_output_path(path, folder, FOLDER_TRANSLATIONS, error);
    if (status != ROTARY_OK)
        return status;
    const bool has_test = task_examples(task, TASK_TEST) > 0;
    all.problems = INT64_MAX;
    all.translations = has_test ? NULL : path;
    status = evaluation_run(task, transformer, &all, evaluation, error);
    if (status != ROTARY_OK || !has_test)
        return status;
    all.test = true;
    all.translations = path;
    struct evaluation test = {.sample_count = 0};
    status = evaluation_run(task, transformer, &all, &test, error);
    evaluation->test.translated = test.translated;
    evaluation->test.bleu = test.bleu;
    evaluation->test.loss = test.loss;
    evaluation->test.accuracy = test.accuracy;
    evaluation->seconds += test.seconds;
    return status;
}

rotary_status run_evaluation(const struct run_evaluation *how, const struct task *task,
                             struct transformer *transformer, struct evaluation *evaluation,
                             rotary_error *error)
{
    const struct run_config *config = how->config;
    const struct evaluation_config evaluated = {
        .seed = (uint64_t)config->train.seed,
        .problems = config->task.problems,
        .validation_sequences = config->train.validation_sequences,
        .interrupted = how->interrupted,
        .ranks = how->ranks,
        .shards = config->train.shards,
    };
    return how->last ? evaluate_all(task, transformer, &evaluated, how->folder, evaluation, error)
                     : evaluation_run(task, transformer, &evaluated, evaluation, error);
}
