/* SPDX-License-Identifier: Apache-2.0 */
#include "task/classification/label_names.h"

#include "base/fail.h"
#include "file/file.h"
#include "run_folder/folder.h"
#include "task/classification/labelled_corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char labels_key[] = "labels", pairs_key[] = "pairs", score_key[] = "score";

static json_t *names_json(const struct task_labels *labels)
{
    if (labels->regression)
        return json_null();
    json_t *names = json_array();
    for (int i = 0; i < labels->classes; i++)
        json_array_append_new(names, json_stringn(labels->names[i].bytes, (size_t)labels->names[i].count));
    return names;
}

rotary_status label_names_save(const struct task_labels *labels, bool pairs, const char *folder,
                               rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_output_path(path, folder, FOLDER_LABELS, error);
    if (status != ROTARY_OK)
        return status;
    json_t *names = names_json(labels);
    const size_t wanted = labels->regression ? 0 : (size_t)labels->classes;
    json_t *object = json_array_size(names) == wanted
                         ? json_pack("{s:O, s:b, s:s}", labels_key, names, pairs_key, (int)pairs, score_key,
                                     label_score_names[labels->score])
                         : NULL;
    status = object ? file_replace_json(path, object, error) : rotary_fail_memory(error, "to write %s", path);
    json_decref(names);
    json_decref(object);
    return status;
}

/* ---- reading ---- */

/* The classes of an array of texts, each once; false: it is something else. */
static bool read_classes(struct label_names *names, const json_t *list)
{
    const size_t count = json_array_size(list);
    if (count < 2 || count > LABELLED_MAX_CLASSES)
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *name = json_array_get(list, i);
        if (!json_is_string(name))
            return false;
        names->names[i] = (struct text_line){json_string_value(name), (int64_t)json_string_length(name)};
        for (size_t j = 0; j < i; j++)
            if (json_equal(json_array_get(list, j), name))
                return false;
    }
    names->labels.names = names->names;
    names->labels.classes = (int)count;
    return true;
}

static bool read_score(struct label_names *names, const json_t *score)
{
    const char *name = json_string_value(score);
    for (int i = 0; name && i < LABEL_SCORES; i++)
        if (strcmp(name, label_score_names[i]) == 0) {
            names->labels.score = (enum label_score)i;
            return label_score_fits(names->labels.score, names->labels.classes);
        }
    return false;
}

static rotary_status read_own(struct label_names *names, const char *path, rotary_error *error)
{
    rotary_status status = file_read_json(path, &names->object, error);
    if (status != ROTARY_OK)
        return status;
    const json_t *list = json_object_get(names->object, labels_key),
                 *pairs = json_object_get(names->object, pairs_key);
    names->labels.regression = json_is_null(list);
    names->pairs = json_is_true(pairs);
    if (!names->labels.regression && !read_classes(names, list))
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s: \"%s\" is no list of 2 to %d different texts, and not null", path, labels_key,
                           (int)LABELLED_MAX_CLASSES);
    if (!json_is_boolean(pairs))
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: \"%s\" is not true or false", path, pairs_key);
    if (!read_score(names, json_object_get(names->object, score_key)))
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: \"%s\" is no score of such labels", path, score_key);
    return ROTARY_OK;
}

/* ---- of transformers ---- */

/* Label i of `map`, which has keys "0", "1" ...; NULL: there is none. */
static const json_t *label_of(const json_t *map, size_t i)
{
    char key[32];
    snprintf(key, sizeof key, "%zu", i);
    return json_object_get(map, key);
}

/* Whether every label is LABEL_i, their names in transformers where nobody gave them others. */
static bool are_unnamed(const json_t *map)
{
    bool unnamed = true;
    for (size_t i = 0; i < json_object_size(map) && unnamed; i++) {
        const char *name = json_string_value(label_of(map, i));
        char usual[32];
        snprintf(usual, sizeof usual, "LABEL_%zu", i);
        unnamed = name && strcmp(name, usual) == 0;
    }
    return unnamed;
}

/* The labels of "id2label" as the array that a run has; NULL without memory. */
static json_t *list_labels(const json_t *map)
{
    const bool unnamed = are_unnamed(map);
    json_t *list = json_array();
    for (size_t i = 0; list && i < json_object_size(map); i++) {
        const json_t *label = label_of(map, i);
        char number[32];
        snprintf(number, sizeof number, "%zu", i);
        file_json_append(&list, unnamed ? json_string(number) : label ? json_deep_copy(label) : json_null());
    }
    return list;
}

/* Reads "id2label", which is left out where there are two labels that nobody named. */
static rotary_status read_labels(struct label_names *names, const json_t *config, const char *path,
                                 rotary_error *error)
{
    const json_t *map = json_object_get(config, "id2label");
    const bool regression = json_object_size(map) == 1;
    names->labels.regression = regression;
    names->labels.pairs_unknown = true;
    names->labels.score = regression ? LABEL_SPEARMAN : LABEL_ACCURACY;
    names->object = regression ? json_null() : map ? list_labels(map) : json_pack("[s, s]", "0", "1");
    if (!names->object)
        return rotary_fail_memory(error, "for the labels of %s", path);
    if (!regression && !read_classes(names, names->object))
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s: \"id2label\" does not have 2 to %d different texts at \"0\", \"1\" ...", path,
                           (int)LABELLED_MAX_CLASSES);
    return ROTARY_OK;
}

/* Reads them from config.json, where a folder has no labels.json. */
static rotary_status read_transformers(struct label_names *names, const char *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    json_t *config = NULL;
    rotary_status status = file_path(path, folder, "config.json", error);
    if (status == ROTARY_OK)
        status = file_read_json(path, &config, error);
    if (status != ROTARY_OK)
        return status;
    if (json_object_get(config, "model_type"))
        status = read_labels(names, config, path, error);
    else
        status = rotary_fail(error, ROTARY_BAD_FILE, "%s has no " FOLDER_LABELS, folder);
    json_decref(config);
    return status;
}

rotary_status label_names_load(struct label_names *names, const char *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    bool found = false;
    struct label_names read = {.names = malloc(LABELLED_MAX_CLASSES * sizeof *read.names)};
    rotary_status status = file_path(path, folder, FOLDER_LABELS, error);
    if (!read.names)
        status = rotary_fail_memory(error, "for the names of labels");
    if (status == ROTARY_OK)
        status = file_find(path, &found, error);
    if (status == ROTARY_OK)
        status = found ? read_own(&read, path, error) : read_transformers(&read, folder, error);
    if (status == ROTARY_OK)
        *names = read;
    else
        label_names_free(&read);
    return status;
}

void label_names_free(struct label_names *names)
{
    free(names->names);
    json_decref(names->object);
    *names = (struct label_names){0};
}
