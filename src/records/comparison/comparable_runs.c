/* SPDX-License-Identifier: Apache-2.0 */
#include "records/comparison/comparable_runs.h"

#include "base/fail.h"
#include "file/file.h"
#include "run_folder/folder.h"
#include "task/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sentence that grows with each difference. */
struct differences {
    char *text;
    size_t bytes;
    FILE *stream;
    int count;
};

enum { MAX_DIFFERENCES = 8 }; /* that are worth reading */

static bool is_one_of(const char *key, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(key, names[i]) == 0)
            return true;
    return false;
}

static bool may_differ(const char *key)
{
    static const char *const keys[] = {"format",           "seed",         "log_every",
                                       "checkpoint_every", RUN_VOCABULARY, RUN_SOURCE_VOCABULARY,
                                       RUN_SPECIAL_TOKENS};
    return is_one_of(key, keys, sizeof keys / sizeof keys[0]) || task_is_location(key);
}

/* What follows from the vocabulary. */
static bool is_vocabulary(const char *key)
{
    static const char *const keys[] = {"vocab_size", "source_vocab_size", RUN_VOCABULARY_HASH};
    return is_one_of(key, keys, sizeof keys / sizeof keys[0]);
}

/* Whether another value of a compared key may make another vocabulary: a setting of the task, or where
 * weights and vocabulary are from. */
static bool makes_vocabulary(const char *key, const char *task)
{
    const size_t length = strlen(task);
    return strcmp(key, "init") == 0 || is_vocabulary(key) ||
           (strncmp(key, task, length) == 0 && key[length] == '_');
}

static bool any_makes_vocabulary(const json_t *keys, const char *task)
{
    for (size_t i = 0; i < json_array_size(keys); i++)
        if (makes_vocabulary(json_string_value(json_array_get(keys, i)), task))
            return true;
    return false;
}

/* What runs of earlier versions have not recorded. */
static bool may_be_missing(const char *key)
{
    return strcmp(key, RUN_CORPUS) == 0 || is_vocabulary(key);
}

static rotary_status begin(struct differences *differences, rotary_error *error)
{
    *differences = (struct differences){0};
    differences->stream = open_memstream(&differences->text, &differences->bytes);
    return differences->stream ? ROTARY_OK : rotary_fail_memory(error, "to compare runs");
}

/* *text: what was found. */
static rotary_status end(struct differences *differences, char **text, rotary_error *error)
{
    if (differences->count > MAX_DIFFERENCES)
        fprintf(differences->stream, ", and %d more", differences->count - MAX_DIFFERENCES);
    bool failed = ferror(differences->stream) != 0;
    if (fclose(differences->stream) != 0 || failed) {
        free(differences->text);
        return rotary_fail_memory(error, "to compare runs");
    }
    *text = differences->count ? differences->text : NULL;
    if (!*text)
        free(differences->text);
    return ROTARY_OK;
}

static void write_value(FILE *stream, const json_t *value, const char *where)
{
    char *text = value ? file_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    fprintf(stream, "%.80s in %s", text ? text : "missing", where);
    free(text);
}

static void add(struct differences *differences, const char *key, const json_t *value, const char *where,
                const json_t *other, const char *other_where)
{
    if (differences->count++ >= MAX_DIFFERENCES)
        return;
    FILE *stream = differences->stream;
    fprintf(stream, "%s%s (", differences->count == 1 ? "the runs differ in " : ", in ", key);
    write_value(stream, value, where);
    fputs(", ", stream);
    write_value(stream, other, other_where);
    fputc(')', stream);
}

/* ---- plain runs ---- */

static bool has_text(const json_t *list, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), text) == 0)
            return true;
    return false;
}

/* Adds the first run that differs in the key from the first of all. Returns whether there is one. */
static bool compare_key(struct differences *differences, const struct record *records, int count,
                        const char *key)
{
    const json_t *first = json_object_get(records[0].config, key);
    for (int i = 1; i < count; i++) {
        const json_t *value = json_object_get(records[i].config, key);
        const bool unknown = (!first || !value) && may_be_missing(key);
        if ((first || value) && !unknown && !json_equal(first, value)) {
            add(differences, key, first, records[0].folder, value, records[i].folder);
            return true;
        }
    }
    return false;
}

rotary_status comparable_runs(char **text, const struct record *records, int count, const json_t *keys,
                              json_t *found, rotary_error *error)
{
    struct differences differences;
    rotary_status status = begin(&differences, error);
    if (status != ROTARY_OK)
        return status;
    json_t *all = json_object(); /* every key that a run has */
    for (int i = 0; i < count; i++)
        json_object_update(all, records[i].config);
    const bool vocabularies = count > 0 && any_makes_vocabulary(keys, records[0].task);
    const char *key;
    json_t *value;
    json_object_foreach (all, key, value)
        if (!may_differ(key) && !has_text(keys, key) && !(vocabularies && is_vocabulary(key)) &&
            compare_key(&differences, records, count, key))
            json_array_append_new(found, json_string(key));
    json_decref(all);
    return end(&differences, text, error);
}

/* ---- the runs of a comparison ---- */

static bool is_auto(const json_t *value)
{
    return json_is_string(value) && strcmp(json_string_value(value), "auto") == 0;
}

/* What a run recorded of its text and its vocabulary, which compare.json does not have. */
static void compare_recorded(struct differences *differences, const struct record *run,
                             const struct record *first, const char *key)
{
    const json_t *got = json_object_get(run->config, key), *of_first = json_object_get(first->config, key);
    if (got && of_first && !json_equal(got, of_first))
        add(differences, key, of_first, first->folder, got, run->folder);
}

static void compare_run(struct differences *differences, const struct record *run, json_t *wanted,
                        const struct record *first)
{
    const char *key;
    json_t *value;
    json_object_foreach (wanted, key, value) {
        const json_t *got = json_object_get(run->config, key);
        const char *where = "compare.json";
        if (strcmp(key, "precision") == 0 && is_auto(value)) {
            value = json_object_get(first->config, key);
            where = first->folder;
        }
        bool unfinished = (strcmp(key, "steps") == 0 || strcmp(key, "epochs") == 0) &&
                          json_integer_value(got) <= json_integer_value(value);
        if (got && value && !may_differ(key) && !unfinished && !json_equal(value, got))
            add(differences, key, value, where, got, run->folder);
    }
    compare_recorded(differences, run, first, RUN_CORPUS);
}

rotary_status comparable_with_comparison(char **text, const struct comparison_file *file,
                                         const struct record *records, const int *arms, int count,
                                         rotary_error *error)
{
    struct differences differences;
    rotary_status status = begin(&differences, error);
    for (int i = 0; status == ROTARY_OK && i < count; i++) {
        json_t *wanted = comparison_file_config(file, arms[i]);
        compare_run(&differences, &records[i], wanted, &records[0]);
        json_decref(wanted);
        if (!any_makes_vocabulary(json_object_get(file->object, "varied"), records[i].task))
            compare_recorded(&differences, &records[i], &records[0], RUN_VOCABULARY_HASH);
    }
    if (status == ROTARY_OK)
        return end(&differences, text, error);
    if (differences.stream) {
        fclose(differences.stream);
        free(differences.text);
    }
    return status;
}
