/* SPDX-License-Identifier: Apache-2.0
 *
 * What config.json says a run was trained by: the program and the machine, once for each that trained it.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "base/isa.h"
#include "file/checksum/json_checksum.h"
#include "file/file.h"
#include "file/processor.h"
#include "records/records.h"

#include <rotary/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void train_by(const struct run_config *config, int threads, rotary_isa isa, const char *commit,
                     const char *folder)
{
    struct backend backend;
    struct train_result result;
    rotary_error error = {0};
    CHECK_INT(backend_create(&backend, threads, isa, PRECISION_F32, &error), ROTARY_OK);
    const struct train_call call = {
        .config = config, .backend = &backend, .folder = folder, .resume = true, .commit = commit};
    if (!CHECK_INT(train_run(&call, &result, &error), ROTARY_OK))
        printf("    %s\n", error.message);
    backend_destroy(&backend);
}

/* The list in config.json, which the caller releases. */
static json_t *list_of(const char *folder)
{
    char path[FILE_PATH_BYTES];
    json_t *object = NULL;
    CHECK_INT(file_path(path, folder, "config.json", NULL), ROTARY_OK);
    CHECK_INT(file_read_json(path, &object, NULL), ROTARY_OK);
    json_t *list = json_incref(json_object_get(object, "provenance"));
    json_decref(object);
    return list;
}

/* Item `index` of so many. */
static void check_item(const char *folder, size_t count, size_t index, int64_t step, int threads,
                       const char *isa, const char *commit)
{
    char name[PROCESSOR_NAME_BYTES];
    json_t *list = list_of(folder);
    const json_t *item = json_array_get(list, index);
    CHECK_INT((int64_t)json_array_size(list), (int64_t)count);
    CHECK_INT(json_integer_value(json_object_get(item, "step")), step);
    CHECK_INT(json_integer_value(json_object_get(item, "threads")), threads);
    const char *const texts[][2] = {
        {"version", rotary_version()}, {"commit", commit}, {"isa", isa}, {"processor", processor_name(name)}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *text = json_string_value(json_object_get(item, texts[i][0]));
        CHECK_TEXT(text ? text : "", texts[i][1]);
    }
    json_decref(list);
}

/* The day of the first item; valid until the next call. */
static const char *first_date(const char *folder)
{
    static char date[16];
    json_t *list = list_of(folder);
    const char *text = json_string_value(json_object_get(json_array_get(list, 0), "date"));
    snprintf(date, sizeof date, "%s", text ? text : "");
    json_decref(list);
    return date;
}

static void delete_key(const char *folder, const char *key)
{
    char path[FILE_PATH_BYTES];
    json_t *object = NULL;
    CHECK_INT(file_path(path, folder, "config.json", NULL), ROTARY_OK);
    CHECK_INT(file_read_json(path, &object, NULL), ROTARY_OK);
    json_object_del(object, key);
    json_object_del(object, JSON_CHECKSUM); /* earlier versions wrote none */
    CHECK_INT(file_replace_json(path, object, NULL), ROTARY_OK);
    json_decref(object);
}

static atomic_bool interrupted;

static void interrupt(void *argument, const struct train_progress *progress)
{
    (void)argument;
    if (progress->step == 3)
        atomic_store(&interrupted, true);
}

/* A run that was stopped goes on with the same configuration: that alone changes config.json. */
static void check_stopped(const struct run_config *config, const char *isa, const char *folder)
{
    struct backend backend;
    struct train_result result;
    rotary_error error = {0};
    check_about("a run that was stopped");
    CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK);
    const struct train_call call = {.config = config,
                                    .backend = &backend,
                                    .folder = folder,
                                    .commit = "00ff",
                                    .progress = interrupt,
                                    .interrupted = &interrupted};
    CHECK_INT(train_run(&call, &result, &error), ROTARY_INTERRUPTED);
    backend_destroy(&backend);
    train_by(config, 1, ROTARY_ISA_AUTO, "00fe", folder);
    check_item(folder, 2, 0, 0, 1, isa, "00ff");
    check_item(folder, 2, 1, 3, 1, isa, "00fe");
}

/* The hash of the vocabulary of a run that makes none into a file, which the caller frees. */
static char *hash_of(const struct run_config *config, const char *folder)
{
    char path[FILE_PATH_BYTES];
    json_t *object = NULL;
    train_by(config, 1, ROTARY_ISA_AUTO, "00ff", folder);
    CHECK_INT(file_path(path, folder, "config.json", NULL), ROTARY_OK);
    CHECK_INT(file_read_json(path, &object, NULL), ROTARY_OK);
    const char *text = json_string_value(json_object_get(object, "vocabulary_hash"));
    char *copy = strdup(text ? text : "");
    json_decref(object);
    return copy;
}

/* The alphabets of two tasks are two vocabularies. */
static void check_alphabets(const struct run_config *config)
{
    struct run_config other = *config;
    set_option(&other, "task=copy");
    set_option(&other, "copy_letters=8");
    check_about("alphabets");
    char *index = hash_of(config, new_folder("index")), *copy = hash_of(&other, new_folder("copy"));
    CHECK_INT((int64_t)strlen(index), 16);
    CHECK(strcmp(index, copy) != 0);
    free(index);
    free(copy);
}

int main(void)
{
    struct run_config config, read;
    rotary_error error = {0};
    const char *folder = new_folder("run"), *old = new_folder("old"), *best = "";
    struct backend backend;
    setenv("SOURCE_DATE_EPOCH", "86400", true);
    tiny_config(&config);
    config.train.precision = PRECISION_F32;
    CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK);
    best = rotary_isa_name(backend.isa);
    backend_destroy(&backend);

    check_about("one program");
    config.train.steps = 5;
    train_by(&config, 1, ROTARY_ISA_AUTO, "00ff", folder);
    check_item(folder, 1, 0, 0, 1, best, "00ff");
    CHECK_TEXT(first_date(folder), "1970-01-02");
    /* Another day is no other program: the list keeps the day on which it began. */
    setenv("SOURCE_DATE_EPOCH", "172800", true);
    config.train.steps = 6;
    train_by(&config, 1, ROTARY_ISA_AUTO, "00ff", folder);
    check_item(folder, 1, 0, 0, 1, best, "00ff");

    CHECK_TEXT(first_date(folder), "1970-01-02");

    check_about("a finished run, which another program only looks at");
    train_by(&config, 2, ROTARY_ISA_AUTO, "00fe", folder);
    check_item(folder, 1, 0, 0, 1, best, "00ff");

    check_about("other programs and machines");
    config.train.steps = 7;
    train_by(&config, 1, ROTARY_ISA_AUTO, "00fe", folder);
    check_item(folder, 2, 1, 6, 1, best, "00fe");
    config.train.steps = 8;
    train_by(&config, 2, ROTARY_ISA_AUTO, "00fe", folder);
    check_item(folder, 3, 2, 7, 2, best, "00fe");
    config.train.steps = 9;
    train_by(&config, 2, ROTARY_ISA_SCALAR, "00fe", folder);
    check_item(folder, 4, 3, 8, 2, "scalar", "00fe");
    check_item(folder, 4, 0, 0, 1, best, "00ff");

    check_about("the first program again");
    config.train.steps = 10;
    train_by(&config, 1, ROTARY_ISA_AUTO, "00ff", folder);
    check_item(folder, 5, 4, 9, 1, best, "00ff");

    check_about("who reads it");
    struct record record;
    CHECK_INT(run_read_config(folder, &read, &error), ROTARY_OK);
    CHECK(run_config_equal(&read, &config));
    if (CHECK_INT(record_read(&record, folder, &error), ROTARY_OK)) {
        CHECK_INT((int64_t)json_array_size(record.provenance), 5);
        CHECK(json_object_get(record.config, "provenance") == NULL);
        CHECK(json_is_string(json_object_get(record.config, "vocabulary_hash")));
        record_free(&record);
    }

    check_about("a run of an earlier version, which recorded nothing");
    config.train.steps = 5;
    train_by(&config, 1, ROTARY_ISA_AUTO, NULL, old);
    check_item(old, 1, 0, 0, 1, best, "unknown");
    delete_key(old, "provenance");
    delete_key(old, "vocabulary_hash");
    CHECK_INT(run_read_config(old, &read, &error), ROTARY_OK);
    config.train.steps = 10;
    train_by(&config, 1, ROTARY_ISA_AUTO, "00ff", old);
    check_item(old, 1, 0, 5, 1, best, "00ff");
    config.train.steps = 6;
    check_stopped(&config, best, new_folder("stopped"));
    check_alphabets(&config);
    return check_report();
}
