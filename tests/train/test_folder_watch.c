/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder that loses what it had while its run is trained: the next checkpoint notices it, and nothing is
 * written into another folder. The speed of a line of metrics is that of its own steps. And an instruction
 * set other than the run began with is said.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "base/isa.h"
#include "train/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { CHECKPOINT_EVERY = 5, STEPS = 12, AT = 7 };

static void small_config(struct run_config *config)
{
    run_config_default(config);
    set_option(config, "task=masked");
    set_option(config, "masked_documents=60");
    set_option(config, "masked_held_out=6");
    set_option(config, "architecture=encoder");
    config->task.sequence_length = 48;
    tiny_model(config, 1);
    config->train.steps = STEPS;
    config->train.batch_size = 2;
    config->train.log_every = 3;
    config->train.evaluate_every = 0;
    config->train.checkpoint_every = CHECKPOINT_EVERY;
    config->train.precision = PRECISION_F32;
    rotary_error error;
    if (!CHECK_INT(run_config_check(config, &error), ROTARY_OK))
        printf("%s\n", error.message);
}

/* What happens to the folder at a step. */
struct loss {
    const char *name;
    void (*happen)(const char *folder);
    rotary_status status;
    const char *words;
    int64_t saved; /* step of the checkpoint that is there afterwards; 0: the folder is elsewhere */
};

static void forget(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(remove(path) == 0);
}

static void lose_metrics(const char *folder)
{
    forget(folder, "metrics.jsonl");
}

static void replace_metrics(const char *folder)
{
    lose_metrics(folder);
    write_file(folder, "metrics.jsonl", "", 0);
}

static void lose_config(const char *folder)
{
    forget(folder, "config.json");
}

static void change_config(const char *folder)
{
    write_file(folder, "config.json", "{}", 2);
}

static void lose_vocabulary(const char *folder)
{
    forget(folder, "vocabulary.json");
}

static void change_vocabulary(const char *folder)
{
    write_file(folder, "vocabulary.json", "{}", 2);
}

static void add_vocabulary(const char *folder)
{
    write_file(folder, "source.json", "{}", 2);
}

static void move_folder(const char *folder)
{
    char moved[600];
    snprintf(moved, sizeof moved, "%s moved", folder);
    CHECK(rename(folder, moved) == 0);
}

static void replace_folder(const char *folder)
{
    move_folder(folder);
    CHECK(mkdir(folder, 0777) == 0);
}

static const struct loss losses[] = {
    {"metrics gone", lose_metrics, ROTARY_IO_ERROR, "metrics.jsonl was removed or replaced while", 10},
    {"metrics replaced", replace_metrics, ROTARY_IO_ERROR, "metrics.jsonl was removed or replaced while", 10},
    {"config gone", lose_config, ROTARY_IO_ERROR, "its configuration went away: cannot open ", 10},
    {"config changed", change_config, ROTARY_IO_ERROR, "config.json was changed while", 10},
    {"vocabulary gone", lose_vocabulary, ROTARY_BAD_FILE, "/vocabulary.json is gone, with which the run", 5},
    {"vocabulary changed", change_vocabulary, ROTARY_BAD_FILE, "/vocabulary.json is not the file", 5},
    {"vocabulary added", add_vocabulary, ROTARY_BAD_FILE, "/source.json was not there when", 5},
    {"folder moved", move_folder, ROTARY_IO_ERROR, "was removed, moved or replaced while", 0},
    {"folder replaced", replace_folder, ROTARY_IO_ERROR, "was removed, moved or replaced while", 0},
};

struct happening {
    const struct loss *loss;
    const char *folder;
    int64_t at;
};

static void happen(void *argument, const struct train_progress *progress)
{
    const struct happening *happening = argument;
    if (progress->step == happening->at)
        happening->loss->happen(happening->folder);
}

static int64_t saved_step(const char *folder)
{
    char path[700];
    struct safetensors *file;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (!CHECK_INT(safetensors_open(&file, path, NULL), ROTARY_OK))
        return -1;
    const int64_t step = atoll(safetensors_metadata(file, "step"));
    safetensors_close(file);
    return step;
}

/* at: the last step has no checkpoint after it, but the end of the run notices. */
static void check_loss(const struct run_config *config, const struct backend *backend,
                       const struct loss *loss, int64_t at)
{
    const char *folder = scratch_path(loss->name);
    char path[512], moved[600];
    snprintf(path, sizeof path, "%s at %d", folder, (int)at);
    snprintf(moved, sizeof moved, "%s moved", path);
    check_about("%s at step %d", loss->name, (int)at);
    struct happening happening = {.loss = loss, .folder = path, .at = at};
    struct train_call call = {
        .config = config, .backend = backend, .folder = path, .progress = happen, .argument = &happening};
    struct train_result result;
    rotary_error error = {0};
    CHECK_INT(train_run(&call, &result, &error), loss->status);
    if (!CHECK(strstr(error.message, loss->words) != NULL))
        printf("%s\n", error.message);
    if (at == STEPS)
        return;
    CHECK_INT(result.steps_done, 10);
    CHECK((strstr(error.message, "the weights of step 10 are saved") != NULL) == (loss->saved == 10));
    CHECK_INT(saved_step(loss->saved > 0 ? path : moved), loss->saved > 0 ? loss->saved : CHECKPOINT_EVERY);
    if (loss->saved == 0)
        CHECK(!has_file(path, "model.safetensors") && !has_file(path, "metrics.jsonl"));
}

/* The best model is not written into a folder that is not the run's any more: nothing but the evaluation at
 * which it would be comes between what happens and the check. */
static void check_best(struct run_config config, const struct backend *backend, const struct loss *loss)
{
    char name[64];
    snprintf(name, sizeof name, "best, %s", loss->name);
    const char *folder = scratch_path(name);
    check_about("%s", name);
    config.train.evaluate_every = AT + 1;
    config.train.checkpoint_every = 0;
    struct happening happening = {.loss = loss, .folder = folder, .at = AT};
    struct train_call call = {
        .config = &config, .backend = backend, .folder = folder, .progress = happen, .argument = &happening};
    struct train_result result;
    rotary_error error = {0};
    CHECK_INT(train_run(&call, &result, &error), loss->status);
    if (!CHECK(strstr(error.message, loss->words) != NULL))
        printf("%s\n", error.message);
    CHECK_INT(result.steps_done, AT + 1);
    CHECK(!has_file(folder, "best.safetensors"));
}

/* ---- the clock ---- */

static double seconds, seconds_per_call;
static bool faked;
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    if (!faked)
        return __real_clock_gettime(clock, time);
    seconds += seconds_per_call;
    time->tv_sec = (time_t)seconds;
    time->tv_nsec = (long)((seconds - (double)time->tv_sec) * 1e9);
    return 0;
}

static void slow_down(void *argument, const struct train_progress *progress)
{
    (void)argument;
    seconds_per_call = progress->step < 3 ? 1.0 : progress->step < 6 ? 0.25 : 4.0;
}

/* Steps of the first line take a second each, of the second a quarter, of the others four: each line has the
 * speed of its own steps. All have as many tokens. */
static void test_log_window(const struct backend *backend)
{
    static const double per_step[] = {1.0, 0.25, 4.0, 4.0};
    struct run_config config;
    tiny_config(&config);
    config.train.steps = STEPS;
    const char *folder = scratch_path("windows");
    const double tokens = (double)(config.train.batch_size * config.train.gradient_accumulation_steps *
                                   config.task.sequence_length);
    struct train_call call = {.config = &config, .backend = backend, .folder = folder, .progress = slow_down};
    struct train_result result;
    seconds_per_call = 1.0;
    faked = true;
    CHECK_INT(train_run(&call, &result, NULL), ROTARY_OK);
    faked = false;
    size_t count;
    char *text = read_file(folder, "metrics.jsonl", &count), *at = text;
    for (int line = 0; line < STEPS / 3; line++) {
        check_about("line %d", line);
        at = strstr(at, "\"tokens_per_second\":");
        if (!CHECK(at != NULL))
            break;
        at += strlen("\"tokens_per_second\":");
        CHECK_NEAR(strtod(at, NULL), tokens / per_step[line], 0.1);
    }
    free(text);
}

/* ---- instruction sets ---- */

static void keep_remark(void *argument, const struct train_progress *progress)
{
    char *remark = argument;
    if (progress->remark)
        snprintf(remark + strlen(remark), 512 - strlen(remark), "%s.", progress->remark);
}

static void train_with(struct run_config *config, rotary_isa isa, const char *folder, char remark[512])
{
    struct backend backend;
    struct train_result result;
    rotary_error error = {0};
    remark[0] = 0;
    CHECK_INT(backend_create(&backend, 1, isa, PRECISION_F32, NULL), ROTARY_OK);
    struct train_call call = {.config = config,
                              .backend = &backend,
                              .folder = folder,
                              .resume = true,
                              .progress = keep_remark,
                              .argument = remark};
    if (!CHECK_INT(train_run(&call, &result, &error), ROTARY_OK))
        printf("%s\n", error.message);
    backend_destroy(&backend);
    config->train.steps += 3;
}

static void test_isa(void)
{
    struct run_config config;
    char remark[512], wanted[128], kept[64];
    const rotary_isa best = rotary_isa_best();
    const char *folder = scratch_path("instruction sets");
    if (best == ROTARY_ISA_SCALAR)
        return;
    tiny_config(&config);
    config.train.steps = 3;
    check_about("instruction sets");
    train_with(&config, best, folder, remark);
    CHECK_TEXT(remark, "");
    train_with(&config, best, folder, remark);
    CHECK_TEXT(remark, "");
    train_with(&config, ROTARY_ISA_SCALAR, folder, remark);
    snprintf(wanted, sizeof wanted,
             "the run began with the instruction set %s and goes on with scalar: ", rotary_isa_name(best));
    CHECK(strncmp(remark, wanted, strlen(wanted)) == 0 && strchr(remark, '.') == remark + strlen(remark) - 1);
    snprintf(kept, sizeof kept, "; --isa %s keeps them.", rotary_isa_name(best));
    CHECK(strstr(remark, kept) != NULL);
    train_with(&config, ROTARY_ISA_SCALAR, folder, remark);
    CHECK(strncmp(remark, wanted, strlen(wanted)) == 0);
    train_with(&config, best, folder, remark);
    CHECK_TEXT(remark, "");
}

int main(void)
{
    struct run_config config;
    struct backend backend;
    CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK);
    small_config(&config);
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        check_loss(&config, &backend, &losses[i], AT);
        check_loss(&config, &backend, &losses[i], STEPS);
        if (losses[i].saved > 0)
            check_best(config, &backend, &losses[i]);
    }
    test_log_window(&backend);
    test_isa();
    backend_destroy(&backend);
    return check_report();
}
