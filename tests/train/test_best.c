/* SPDX-License-Identifier: Apache-2.0
 *
 * The best checkpoint: it is the model of the evaluation with the lowest validation loss, the first of equal
 * ones, in one run and in a resumed one; it is never taken for the last, nor the last for it; damaged and
 * foreign files are refused. (test_kill.c kills runs while it is written.)
 */
#include "support/check.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "file/safetensors.h"
#include "train/folder/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEST  "best.safetensors"
#define MODEL "model.safetensors"

/* The validation loss that evaluations report: |loss - turning_loss|, which falls and then rises; or always
 * the same, if turning_loss is NaN. */
static double turning_loss;

/* The linker's --wrap redirects the library's calls to this. */
rotary_status __real_evaluation_run(const struct task *task, struct transformer *transformer,
                                    const struct evaluation_config *config, struct evaluation *evaluation,
                                    rotary_error *error);
rotary_status __wrap_evaluation_run(const struct task *task, struct transformer *transformer,
                                    const struct evaluation_config *config, struct evaluation *evaluation,
                                    rotary_error *error);
rotary_status __wrap_evaluation_run(const struct task *task, struct transformer *transformer,
                                    const struct evaluation_config *config, struct evaluation *evaluation,
                                    rotary_error *error)
{
    rotary_status status = __real_evaluation_run(task, transformer, config, evaluation, error);
    evaluation->loss = isnan(turning_loss) ? 1.0 : fabs(evaluation->loss - turning_loss);
    return status;
}

static struct run_config config;
static struct backend backend;

static const char *numbered(const char *kind)
{
    static int number;
    char name[32];
    snprintf(name, sizeof name, "%s%d", kind, number++);
    return scratch_path(name);
}

static const char *trained(int64_t steps)
{
    const char *folder = numbered("run");
    config.train.steps = steps;
    train_to_end(&config, 1, folder);
    return folder;
}

static const char *copy_of(const char *folder)
{
    static const char *const names[] = {"config.json", "metrics.jsonl", "optimizer.safetensors", MODEL, BEST};
    const char *copy = new_folder(strrchr(numbered("copy"), '/') + 1);
    for (int i = 0; i < 5; i++)
        copy_file(folder, names[i], copy, names[i]);
    return copy;
}

static void check_best(const char *folder, int64_t step)
{
    struct checkpoint_best best;
    rotary_error error = {0};
    if (!CHECK(checkpoint_read_best(folder, &config, &best, &error) == ROTARY_OK))
        printf("%s\n", error.message);
    CHECK_INT(best.step, step);
}

/* The run cannot be resumed, with `words` in the message, and its folder stays unchanged. */
static void check_not_resumed(const char *folder, rotary_status wanted, const char *words)
{
    uint64_t before = hash_folder(folder);
    struct train_call call = {.config = &config, .backend = &backend, .folder = folder, .resume = true};
    struct train_result result;
    rotary_error error = {0};
    CHECK_INT(train_run(&call, &result, &error), wanted);
    if (!CHECK(strstr(error.message, words) != NULL))
        printf("wanted \"%s\" in: %s\n", words, error.message);
    CHECK(strchr(error.message, '\n') == NULL);
    CHECK(hash_folder(folder) == before);
}

static void check_refused(const char *folder, const char *words)
{
    check_not_resumed(folder, ROTARY_BAD_FILE, words);
}

/* Loads a checkpoint for inference; returns its validation loss, or NaN if the status is not ROTARY_OK. */
static double loss_of(const char *folder, enum checkpoint_kind kind, rotary_status wanted, const char *words)
{
    const struct train_load_call load = {
        .folder = folder, .checkpoint = kind, .backend = &backend, .limits = {.batch = 2, .time = 48}};
    struct trained_model model;
    rotary_error error = {0};
    CHECK_INT(train_load(&load, &model, &error), wanted);
    if (!CHECK(strstr(error.message, words) != NULL))
        printf("wanted \"%s\" in: %s\n", words, error.message);
    if (wanted != ROTARY_OK)
        return NAN;
    struct evaluation evaluation = {0};
    const struct evaluation_config how = {
        .seed = (uint64_t)config.train.seed, .problems = 4, .validation_sequences = 2};
    CHECK(__wrap_evaluation_run(model.task, model.transformer, &how, &evaluation, NULL) == ROTARY_OK);
    transformer_destroy(model.transformer);
    task_destroy(model.task);
    return evaluation.loss;
}

/* Whether the best checkpoints have the same tensors, of the same step and loss. The configuration in their
 * metadata has the steps that the run was to have when they were written. */
static bool same_best(const char *folder, const char *other)
{
    char path[600], other_path[600];
    snprintf(path, sizeof path, "%s/" BEST, folder);
    snprintf(other_path, sizeof other_path, "%s/" BEST, other);
    struct safetensors *a, *b;
    if (!CHECK(safetensors_open(&a, path, NULL) == ROTARY_OK))
        return false;
    if (!CHECK(safetensors_open(&b, other_path, NULL) == ROTARY_OK)) {
        safetensors_close(a);
        return false;
    }
    static const char *const keys[] = {"step", "validation_loss"};
    bool same = safetensors_count(a) == safetensors_count(b) && safetensors_count(a) > 0;
    for (int i = 0; same && i < 2; i++)
        same = strcmp(safetensors_metadata(a, keys[i]), safetensors_metadata(b, keys[i])) == 0;
    for (int i = 0; same && i < safetensors_count(a); i++) {
        const struct safetensor *tensor = safetensors_at(a, i), *found = safetensors_find(b, tensor->name);
        int64_t elements = safetensors_elements(tensor);
        same = found && safetensors_elements(found) == elements &&
               memcmp(tensor->data, found->data, (size_t)elements * sizeof(float)) == 0;
    }
    safetensors_close(a);
    safetensors_close(b);
    return same;
}

static void test_lowest(void)
{
    const char *folder = trained(60);
    check_best(folder, 40);
    struct checkpoint_best best;
    CHECK(checkpoint_read_best(folder, &config, &best, NULL) == ROTARY_OK);
    double best_loss = loss_of(folder, CHECKPOINT_BEST, ROTARY_OK, ""),
           last_loss = loss_of(folder, CHECKPOINT_LAST, ROTARY_OK, "");
    CHECK_NEAR(best_loss, best.loss, 1e-12);
    CHECK(last_loss > best_loss + 0.01);
    /* It has the parameters of step 40. */
    const char *forty = trained(40);
    CHECK(same_best(folder, forty));
    check_best(forty, 40);
    /* A run resumed at the best step, which is evaluated again or not, ends with the same files. */
    config.train.steps = 60;
    train_to_end(&config, 1, forty);
    CHECK(same_best(folder, forty));
    CHECK(same_file(folder, forty, MODEL));
}

/* What a run returns and what its last line says is the last evaluation, not the best one, when it was just
 * trained and when its lines are read back. */
static void test_last_is_returned(void)
{
    config.train.steps = 60;
    const char *folder = numbered("run");
    struct train_call call = {.config = &config, .backend = &backend, .folder = folder, .resume = true};
    for (int again = 0; again < 2; again++) {
        struct train_result result;
        check_about("%s", again ? "read back" : "just trained");
        CHECK(train_run(&call, &result, NULL) == ROTARY_OK);
        CHECK_NEAR(result.evaluation.loss, loss_of(folder, CHECKPOINT_LAST, ROTARY_OK, ""), 1e-8);
        CHECK(result.evaluation.loss > loss_of(folder, CHECKPOINT_BEST, ROTARY_OK, "") + 0.01);
    }
    check_about("%s", "");
}

/* Of equal losses the first is kept. */
static void test_ties(void)
{
    double kept = turning_loss;
    turning_loss = NAN;
    const char *folder = trained(20), *copy = copy_of(folder);
    config.train.steps = 60;
    train_to_end(&config, 1, folder);
    CHECK(same_file(folder, copy, BEST));
    check_best(folder, 20);
    turning_loss = kept;
}

static void test_mistaken(void)
{
    const char *folder = trained(40), *copy = copy_of(folder);
    check_about("the best in place of the last of the same step");
    copy_file(folder, BEST, copy, MODEL);
    check_refused(copy, MODEL " is the best checkpoint of a run, wanted the last one");
    loss_of(copy, CHECKPOINT_LAST, ROTARY_BAD_FILE, "is the best checkpoint of a run, wanted the last one");
    check_about("the last in place of the best");
    copy = copy_of(folder);
    copy_file(folder, MODEL, copy, BEST);
    check_refused(copy, BEST " is the last checkpoint of a run, wanted the best one");
    loss_of(copy, CHECKPOINT_BEST, ROTARY_BAD_FILE, "is the last checkpoint of a run, wanted the best one");
    check_about("the best of an earlier step");
    const char *twenty = trained(20);
    config.train.steps = 60;
    copy_file(twenty, BEST, copy, BEST);
    check_refused(copy, "it is not the best checkpoint of this run");
    check_about("the best of another run");
    copy = copy_of(folder);
    struct run_config mine = config;
    config.train.seed = 2;
    config.train.steps = 20;
    const char *other = trained(20);
    config = mine;
    copy_file(other, BEST, copy, BEST);
    check_refused(copy, "seed is 2 in ");
    check_about("%s", "");
}

/* A run killed before its first checkpoint begins again, but not for fewer steps than its best model has. */
static void test_fewer_steps(void)
{
    const char *folder = trained(40), *killed = new_folder("killed");
    copy_file(folder, "config.json", killed, "config.json");
    copy_file(folder, BEST, killed, BEST);
    config.train.steps = 30;
    check_not_resumed(killed, ROTARY_INVALID_ARGUMENT, BEST " is of step 40, past the 30 steps wanted");
    config.train.steps = 40;
    train_to_end(&config, 1, killed);
    CHECK(same_file(folder, killed, BEST));
    CHECK(same_file(folder, killed, MODEL));
}

static void test_damage(void)
{
    const char *folder = copy_of(trained(20));
    config.train.steps = 60;
    size_t count;
    char *bytes = read_file(folder, BEST, &count);
    for (size_t at = 0; at < count; at += 1 + count / 17) {
        check_about("another byte %zu", at);
        bytes[at] = (char)(bytes[at] ^ 0x10);
        write_file(folder, BEST, bytes, count);
        check_refused(folder, BEST);
        loss_of(folder, CHECKPOINT_BEST, ROTARY_BAD_FILE, BEST);
        bytes[at] = (char)(bytes[at] ^ 0x10);
    }
    free(bytes);
    check_about("%s", "");
}

/* Without the file a run resumes; only a loss below all recorded ones is the best. */
static void test_missing(void)
{
    const char *folder = trained(40), *twenty = trained(20);
    char path[600];
    snprintf(path, sizeof path, "%s/" BEST, folder);
    CHECK(remove(path) == 0);
    loss_of(folder, CHECKPOINT_BEST, ROTARY_INVALID_ARGUMENT, "holds no best checkpoint");
    config.train.steps = 60;
    train_to_end(&config, 1, folder);
    CHECK(!has_file(folder, BEST));
    snprintf(path, sizeof path, "%s/" BEST, twenty);
    CHECK(remove(path) == 0);
    train_to_end(&config, 1, twenty);
    check_best(twenty, 40);
    /* The losses 0.7, 0.9 and 1.2, and then 1: below the last, but not below all. */
    double kept = turning_loss;
    turning_loss = 4.4;
    folder = trained(60);
    check_best(folder, 20);
    snprintf(path, sizeof path, "%s/" BEST, folder);
    CHECK(remove(path) == 0);
    turning_loss = NAN;
    config.train.steps = 80;
    train_to_end(&config, 1, folder);
    CHECK(!has_file(folder, BEST));
    turning_loss = kept;
}

int main(void)
{
    tiny_config(&config);
    turning_loss = 3.4; /* the losses at steps 20, 40 and 60 are about 3.7, 3.5 and 3.2 */
    rotary_error error;
    CHECK(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, &error) == ROTARY_OK);
    test_lowest();
    test_last_is_returned();
    test_ties();
    test_mistaken();
    test_fewer_steps();
    test_damage();
    test_missing();
    backend_destroy(&backend);
    return check_report();
}
