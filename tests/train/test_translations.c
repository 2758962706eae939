/* SPDX-License-Identifier: Apache-2.0
 *
 * Training on translations: packed sources and targets, the losses of a whole split, BLEU of what is written
 * to translations.txt, the last evaluation's test set, and resuming in the middle of an epoch, after SIGKILL
 * too.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "base/random.h"
#include "score/translation/bleu.h"
#include "train/folder/corpus_record.h"
#include "train/trainer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRAIN = 60, VALIDATION = 9, TEST = 7, WORDS = 10, MAX_LENGTH = 6, TEXT_BYTES = 8192, LINES = 64 };

static char corpus[512]; /* the folder of the files */

/* Sentences of 1 to 6 random words, and in the other language the same words in capitals, in reverse. */
static void write_split(const char *name, int count)
{
    static const char *const words[WORDS] = {"ja",  "nein", "du",  "er",  "wir",
                                             "ihr", "gut",  "rot", "tag", "weg"};
    struct rotary_random random = {.key = {.seed = (uint64_t)count, .stream = ROTARY_STREAM_TEST}};
    char source[TEXT_BYTES] = "", target[TEXT_BYTES] = "", path[64];
    for (int i = 0; i < count; i++) {
        const int length = 1 + (int)rotary_random_below(&random, MAX_LENGTH);
        const char *taken[MAX_LENGTH];
        for (int j = 0; j < length; j++)
            taken[j] = words[rotary_random_below(&random, WORDS)];
        for (int j = 0; j < length; j++) {
            snprintf(source + strlen(source), sizeof source - strlen(source), "%s%s", taken[j],
                     j + 1 < length ? " " : "\n");
            snprintf(target + strlen(target), sizeof target - strlen(target), "X%s%s", taken[length - 1 - j],
                     j + 1 < length ? " " : "\n");
        }
    }
    snprintf(path, sizeof path, "%s.de", name);
    write_file(corpus, path, source, strlen(source));
    snprintf(path, sizeof path, "%s.en", name);
    write_file(corpus, path, target, strlen(target));
}

/* Three sentences a batch or so, so that an epoch ends within a step. */
static void translation_config(struct run_config *config)
{
    char data[600];
    run_config_default(config);
    snprintf(data, sizeof data, "translation_data=%s", corpus);
    set_option(config, "task=translation");
    set_option(config, data);
    set_option(config, "translation_test=test");
    set_option(config, "architecture=encoder_decoder");
    config->task.sequence_length = 16;
    config->task.problems = 4;
    tiny_model(config, 1);
    config->model.dropout = 0.1;
    config->train.epochs = 9;
    config->train.batch_tokens = 24;
    config->train.gradient_accumulation_steps = 2;
    config->train.learning_rate = 1e-2;
    config->train.evaluate_every = 10;
    config->train.checkpoint_every = 5;
    config->train.average_checkpoints = 2;
    config->train.log_every = 3;
    config->train.precision = PRECISION_F32;
    rotary_error error;
    if (!CHECK(run_config_check(config, &error) == ROTARY_OK))
        printf("%s\n", error.message);
}

/* ---- the last evaluation ---- */

static json_t *last_line(const char *folder)
{
    size_t bytes;
    char *text = read_file(folder, "metrics.jsonl", &bytes);
    text[bytes - 1] = 0;
    json_t *object = json_loads(strrchr(text, '\n') + 1, 0, NULL);
    CHECK(object != NULL);
    free(text);
    return object;
}

static int split_lines(char *text, struct text_line lines[LINES])
{
    int count = 0;
    for (char *line = text; *line && count < LINES; count++) {
        char *end = strchr(line, '\n');
        *end = 0;
        lines[count] = (struct text_line){line, end - line};
        line = end + 1;
    }
    return count;
}

/* BLEU of the lines of a file of the run's folder. */
static double bleu_of_file(const char *folder, const char *name, const char *reference)
{
    size_t bytes;
    char *translations = read_file(folder, name, &bytes), *wanted = read_file(corpus, reference, &bytes);
    struct text_line hypotheses[LINES], references[LINES];
    const int count = split_lines(translations, hypotheses);
    CHECK_INT(count, TEST);
    CHECK_INT(split_lines(wanted, references), count);
    const struct text_line *const list = references;
    const struct segment_corpus segments = {
        .count = count, .hypotheses = hypotheses, .reference_count = 1, .references = &list};
    struct bleu_config config;
    struct bleu_score score = {.score = -1.0};
    bleu_config_default(&config);
    CHECK_INT(bleu_corpus(&config, &segments, &score, NULL), ROTARY_OK);
    free(translations);
    free(wanted);
    return score.score;
}

/* The mean loss of a split, a sentence at a time, unpacked. */
static double loss_of(const struct trained_model *model, enum task_split split)
{
    double total = 0.0;
    int64_t counted = 0;
    for (int64_t i = 0; i < task_examples(model->task, split); i++) {
        const struct task_example example = task_example(model->task, split, i);
        const struct batch batch = {
            .input = {.batch = 1, .time = example.target_count, .tokens = example.target},
            .source = {.batch = 1, .time = example.source_count, .tokens = example.source},
            .classes = example.target + 1};
        struct loss_sums loss = {0};
        CHECK_INT(
            transformer_run(model->transformer, &(struct transformer_call){.batch = &batch}, &loss, NULL),
            ROTARY_OK);
        total += loss.total;
        counted += loss.counted;
    }
    CHECK(counted > 0);
    return total / (double)counted;
}

static double number(const json_t *object, const char *key)
{
    CHECK(json_is_number(json_object_get(object, key)));
    return json_number_value(json_object_get(object, key));
}

/* The last line is the averaged model's, and has the scores of both splits, whole. */
static void test_last_evaluation(const char *folder, const struct backend *backend)
{
    json_t *line = last_line(folder);
    const json_t *evaluation = json_object_get(line, "evaluation"),
                 *test = json_object_get(evaluation, "test"), *samples = json_object_get(line, "samples");
    CHECK_TEXT(json_string_value(json_object_get(evaluation, "checkpoint")), "average");
    CHECK_INT((int64_t)number(evaluation, "translated"), VALIDATION);
    CHECK_INT((int64_t)number(test, "translated"), TEST);
    CHECK_NEAR(number(test, "bleu"), bleu_of_file(folder, "translations.txt", "test.en"), 1e-6);
    CHECK_WORDS(json_string_value(json_object_get(evaluation, "signature")), "nrefs:1|case:mixed|tok:13a");
    CHECK_INT((int64_t)json_array_size(samples), 8);
    const json_t *first = json_array_get(samples, 0);
    size_t bytes;
    char *sources = read_file(corpus, "val.de", &bytes), *references = read_file(corpus, "val.en", &bytes);
    CHECK_TEXT(json_string_value(json_object_get(first, "prompt")), strtok(sources, "\n"));
    CHECK_TEXT(json_string_value(json_object_get(first, "answer")), strtok(references, "\n"));
    struct run_config config;
    CHECK_INT(run_read_config(folder, &config, NULL), ROTARY_OK);
    const struct train_load_call load = {.folder = folder,
                                         .checkpoint = CHECKPOINT_AVERAGE,
                                         .backend = backend,
                                         .limits = trainer_limits(&config)};
    struct trained_model model;
    if (CHECK_INT(train_load(&load, &model, NULL), ROTARY_OK)) {
        const double loss = loss_of(&model, TASK_VALIDATION), test_loss = loss_of(&model, TASK_TEST);
        CHECK_NEAR(number(evaluation, "loss"), loss, 1e-5 * loss);
        CHECK_NEAR(number(test, "loss"), test_loss, 1e-5 * test_loss);
        printf("validation loss %.3f, BLEU of the test set %.1f\n", loss, number(test, "bleu"));
        transformer_destroy(model.transformer);
        task_destroy(model.task);
    }
    free(sources);
    free(references);
    json_decref(line);
}

/* ---- kill -9 ---- */

static int64_t dies_at;

static void die(void *argument, const struct train_progress *progress)
{
    (void)argument;
    if (progress->step == dies_at)
        raise(SIGKILL);
}

/* Trains in a child process, which is killed after step `step`; 0: it trains to the end. A process that has
 * run threads cannot fork one that runs threads. */
static void train_in_child(const struct run_config *config, const char *folder, int threads, int64_t step)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct backend backend;
        struct train_result result;
        rotary_error error = {0};
        dies_at = step;
        rotary_status status = backend_create(&backend, threads, ROTARY_ISA_AUTO, PRECISION_F32, &error);
        struct train_call call = {
            .config = config, .backend = &backend, .folder = folder, .resume = true, .progress = die};
        if (status == ROTARY_OK)
            status = train_run(&call, &result, &error);
        printf("%s", error.message);
        fflush(stdout);
        _exit(status == ROTARY_OK ? 0 : 1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    if (step > 0)
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    else
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Killed in the middle of epochs, once between two checkpoints, and resumed on another number of threads: the
 * bytes of a run that was not killed. */
static void test_killed(const struct run_config *config, const char *complete)
{
    static const char *const files[] = {"model.safetensors", "optimizer.safetensors", "best.safetensors",
                                        "average.safetensors", "translations.txt"};
    const char *killed = new_folder("killed");
    CHECK(config->train.steps > 33);
    train_in_child(config, complete, 2, 0);
    train_in_child(config, killed, 2, 12);
    train_in_child(config, killed, 1, 33);
    train_in_child(config, killed, 2, 0);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        check_about("%s", files[i]);
        CHECK(same_file(complete, killed, files[i]));
    }
    check_about("config.json");
    CHECK(same_config(complete, killed));
    check_about("%s", "");
    char *lines = timeless_metrics(complete), *resumed = timeless_metrics(killed);
    CHECK_TEXT(resumed, lines);
    CHECK_WORDS(lines, "\"step\":10,\"evaluation\"|\"translated\":4");
    free(lines);
    free(resumed);
}

/* A run that is killed after an evaluation, which has no test set, and shall then have no more steps, is
 * evaluated on it all the same, once. */
static void test_shortened(const struct run_config *config)
{
    struct run_config run = *config;
    const char *folder = new_folder("shortened");
    run.train.average_checkpoints = 0;
    train_in_child(&run, folder, 1, 12);
    run.train.epochs = 0;
    run.train.steps = 10;
    for (int time = 0; time < 2; time++) {
        train_in_child(&run, folder, 1, 0);
        json_t *line = last_line(folder), *evaluation = json_object_get(line, "evaluation");
        CHECK_INT((int64_t)number(line, "step"), 10);
        CHECK_INT((int64_t)number(evaluation, "translated"), VALIDATION);
        CHECK_INT((int64_t)number(json_object_get(evaluation, "test"), "translated"), TEST);
        json_decref(line);
        char *lines = timeless_metrics(folder), *first = strstr(lines, "\"evaluation\"");
        CHECK(first && strstr(first + 1, "\"evaluation\""));
        CHECK(first && !strstr(strstr(first + 1, "\"evaluation\"") + 1, "\"evaluation\""));
        free(lines);
    }
    CHECK(has_file(folder, "translations.txt"));
}

/* ---- another corpus ---- */

static void check_corpus(const struct run_config *config, const char *folder, bool training,
                         const char *words)
{
    rotary_error error = {0};
    CHECK_INT(corpus_check_config(&config->task, training ? TASK_TRAINING : TASK_VALIDATION, folder, &error),
              words ? ROTARY_INVALID_ARGUMENT : ROTARY_OK);
    if (words)
        CHECK_WORDS(error.message, words);
}

/* Resumes a run for more steps. */
static rotary_status resume(const struct run_config *config, const char *folder, struct backend *backend,
                            rotary_error *error)
{
    struct run_config more = *config;
    struct train_result result;
    more.train.steps += 40; /* of which no checkpoint is averaged that is gone */
    const struct train_call call = {.config = &more, .backend = backend, .folder = folder, .resume = true};
    return train_run(&call, &result, error);
}

/* A line more, for each split and side; then the same lines that end otherwise. */
static void test_changed(const struct run_config *config, const char *folder, struct backend *backend)
{
    static const char *const files[] = {"train.de", "train.en", "val.de", "val.en", "test.de", "test.en"},
                             *const splits[] = {"training", "validation", "test"};
    rotary_error error = {0};
    check_corpus(config, folder, true, NULL);
    for (int i = 0; i < 6; i++) {
        size_t bytes;
        char *text = read_file(corpus, files[i], &bytes), words[64];
        snprintf(words, sizeof words, "the %s text of the task translation|config.json", splits[i / 2]);
        check_about("%s", files[i]);
        text[bytes - 2] ^= 1;
        write_file(corpus, files[i], text, bytes);
        check_corpus(config, folder, true, words);
        check_corpus(config, folder, false, i / 2 == TASK_TRAINING ? NULL : words);
        CHECK_INT(resume(config, folder, backend, &error), ROTARY_INVALID_ARGUMENT);
        CHECK_WORDS(error.message, words);
        text[bytes - 2] ^= 1;
        write_file(corpus, files[i], text, bytes - 1); /* without the last newline */
        check_corpus(config, folder, true, NULL);
        write_file(corpus, files[i], text, bytes);
        free(text);
    }
    check_about("%s", "");
    /* A run of an earlier version has no hashes. */
    const char *old = new_folder("old");
    size_t bytes;
    char *text = read_file(folder, "config.json", &bytes);
    json_t *object = json_loadb(text, bytes, 0, NULL);
    CHECK_INT((int64_t)json_object_size(json_object_get(object, "corpus")), TASK_SPLITS);
    json_object_del(object, "corpus");
    char *without = json_dumps(object, 0);
    write_file(old, "config.json", without, strlen(without));
    check_corpus(config, old, true, NULL);
    json_decref(object);
    free(without);
    free(text);
}

/* The same text in another folder: the run goes on, and its configuration has the new folder. */
static void test_moved(const struct run_config *config, const char *folder, struct backend *backend)
{
    static const char *const files[] = {"train.de", "train.en", "val.de", "val.en", "test.de", "test.en"};
    struct run_config moved = *config, recorded;
    char data[600];
    rotary_error error = {0};
    const char *to = new_folder("moved");
    for (int i = 0; i < 6; i++)
        copy_file(corpus, files[i], to, files[i]);
    snprintf(data, sizeof data, "translation_data=%s", to);
    set_option(&moved, data);
    CHECK_INT(resume(&moved, folder, backend, &error), ROTARY_OK);
    if (CHECK_INT(run_read_config(folder, &recorded, &error), ROTARY_OK))
        CHECK(!run_config_equal(&recorded, config));
    moved.train.steps += 40;
    CHECK(run_config_equal(&recorded, &moved));
    write_file(to, files[0], "Eins.\n", 6);
    write_file(to, files[1], "One.\n", 5);
    CHECK_INT(resume(&moved, folder, backend, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "the training text of the task translation");
}

int main(void)
{
    snprintf(corpus, sizeof corpus, "%s", new_folder("corpus"));
    write_split("train", TRAIN);
    write_split("val", VALIDATION);
    write_split("test", TEST);
    struct run_config config;
    translation_config(&config);
    char folder[512];
    snprintf(folder, sizeof folder, "%s", new_folder("complete"));
    test_killed(&config, folder);
    test_shortened(&config);
    struct backend backend;
    if (CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK)) {
        test_last_evaluation(folder, &backend);
        test_changed(&config, folder, &backend);
        test_moved(&config, folder, &backend);
        backend_destroy(&backend);
    }
    return check_report();
}
