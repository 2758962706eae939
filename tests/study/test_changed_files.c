/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of a run in which any bit has changed is refused, or changes nothing: what is loaded, resumed or
 * reported is what it was. Bits of whole files are changed at steps, which are coarser for what takes longer.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "records/records.h"
#include "train/train.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 4, PATH_BYTES = 700 };

static struct backend backend;

static void small_config(struct run_config *config)
{
    run_config_default(config);
    set_option(config, "task=classification");
    set_option(config, "classification_examples=40");
    set_option(config, "classification_held_out=8");
    set_option(config, "architecture=encoder");
    config->task.sequence_length = 32;
    tiny_model(config, 1);
    config->train.steps = STEPS;
    config->train.batch_size = 4;
    config->train.log_every = 2;
    config->train.evaluate_every = 2;
    config->train.checkpoint_every = 2;
    config->train.precision = PRECISION_F32;
    rotary_error error;
    if (!CHECK_INT(run_config_check(config, &error), ROTARY_OK))
        printf("%s\n", error.message);
}

static void copy_folder(const char *from, const char *to)
{
    DIR *entries = opendir(from);
    if (!CHECK(entries != NULL))
        return;
    for (struct dirent *entry; (entry = readdir(entries));)
        if (entry->d_type == DT_REG)
            copy_file(from, entry->d_name, to, entry->d_name);
    closedir(entries);
}

/* What a run is without changes. */
struct whole {
    const char *folder, *resumed; /* resumed: the same after two more steps */
    struct record record;
    struct trained_model model;
};

static bool load(const char *folder, struct trained_model *model)
{
    const struct train_load_call call = {
        .folder = folder, .need = TASK_HELD_OUT, .backend = &backend, .limits = {.batch = 4, .time = 32}};
    return train_load(&call, model, NULL) == ROTARY_OK;
}

static void unload(struct trained_model *model)
{
    transformer_destroy(model->transformer);
    task_destroy(model->task);
}

/* The checkpoint has all settings but those that may change, by which nothing is computed. */
static bool same_model(const struct whole *whole, struct trained_model *model)
{
    struct run_config was = whole->model.config, is = model->config;
    run_config_keep_fixed(&was);
    run_config_keep_fixed(&is);
    const struct tokenizer *a = task_tokenizer(whole->model.task), *b = task_tokenizer(model->task);
    bool same = run_config_equal(&was, &is) && model->step == whole->model.step &&
                tokenizer_size(a) == tokenizer_size(b);
    for (int32_t i = 0; same && i < tokenizer_size(a); i++) {
        const struct token_text one = tokenizer_text(a, i), other = tokenizer_text(b, i);
        same = one.count == other.count && memcmp(one.bytes, other.bytes, (size_t)one.count) == 0;
    }
    const struct task_labels labels = task_labels(whole->model.task), others = task_labels(model->task);
    same = same && labels.classes == others.classes && labels.score == others.score;
    for (int i = 0; same && i < labels.classes; i++)
        same = labels.names[i].count == others.names[i].count &&
               memcmp(labels.names[i].bytes, others.names[i].bytes, (size_t)labels.names[i].count) == 0;
    return same;
}

/* Whether one has all members of the other. A member more, as a checksum of another name is, says nothing. */
static bool has_members(const json_t *object, json_t *members)
{
    const char *key;
    json_t *value;
    bool has = true;
    json_object_foreach (members, key, value)
        has = has && json_equal(json_object_get(object, key), value);
    return has;
}

static bool same_record(const struct record *a, const struct record *b)
{
    const struct record_evaluation *one = record_last_evaluation(a), *other = record_last_evaluation(b);
    return a->done == b->done && a->seed == b->seed && a->steps == b->steps &&
           a->parameters == b->parameters && a->averages == b->averages && a->diverged == b->diverged &&
           strcmp(a->arm, b->arm) == 0 && has_members(b->config, a->config) &&
           a->point_count == b->point_count && a->evaluation_count == b->evaluation_count &&
           one->loss == other->loss &&
           one->labels.values[one->labels.decides] == other->labels.values[other->labels.decides];
}

static void check_folder(const struct whole *whole, const char *folder, bool resumes)
{
    struct trained_model model;
    struct record record;
    if (load(folder, &model)) {
        CHECK(same_model(whole, &model));
        unload(&model);
    }
    if (record_read(&record, folder, NULL) == ROTARY_OK) {
        CHECK(same_record(&whole->record, &record));
        record_free(&record);
    }
    struct run_config config = whole->model.config;
    config.train.steps = STEPS + 2;
    const struct train_call call = {.config = &config, .backend = &backend, .folder = folder, .resume = true};
    struct train_result result;
    if (resumes && train_run(&call, &result, NULL) == ROTARY_OK)
        CHECK(same_file(folder, whole->resumed, "model.safetensors"));
}

static void check_file(const struct whole *whole, const char *name, size_t step, size_t resume_step)
{
    static int number;
    char folder[64];
    size_t count;
    snprintf(folder, sizeof folder, "changed %d", number++);
    const char *changed = new_folder(folder);
    char *bytes = read_file(whole->folder, name, &count);
    bool copied = true;
    int tried = 0;
    /* A last line without its newline is that of a run that was killed. */
    for (size_t i = 0; i + 1 < count; i += step, tried++) {
        const bool resumes = (i / step) % (resume_step / step) == 0;
        check_about("%s, byte %zu", name, i);
        if (copied)
            copy_folder(whole->folder, changed);
        copied = resumes; /* which changes other files too */
        bytes[i] = (char)(bytes[i] ^ 1 << i / step % 8);
        write_file(changed, name, bytes, count);
        check_folder(whole, changed, resumes);
        bytes[i] = (char)(bytes[i] ^ 1 << i / step % 8);
    }
    CHECK(tried > 10);
    free(bytes);
}

int main(void)
{
    struct run_config config;
    struct whole whole = {.folder = scratch_path("whole"), .resumed = scratch_path("resumed")};
    CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK);
    small_config(&config);
    train_to_end(&config, 1, whole.folder);
    config.train.steps = STEPS + 2;
    train_to_end(&config, 1, whole.resumed);
    if (!CHECK(load(whole.folder, &whole.model)) ||
        !CHECK_INT(record_read(&whole.record, whole.folder, NULL), ROTARY_OK))
        return check_report();
    check_file(&whole, "vocabulary.json", 13, 130);
    check_file(&whole, "labels.json", 3, 30);
    check_file(&whole, "config.json", 17, 340);
    check_file(&whole, "metrics.jsonl", 7, 140);
    check_file(&whole, "model.safetensors", 997, 3988);
    check_file(&whole, "optimizer.safetensors", 1999, 3998);
    unload(&whole.model);
    record_free(&whole.record);
    backend_destroy(&backend);
    return check_report();
}
