/* SPDX-License-Identifier: Apache-2.0 */
#include "task/label_names.h"

#include "base/fail.h"
#include "file/file.h"
#include "task/labelled_corpus.h"

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
    rotary_status status = file_path(path, folder, LABEL_NAMES_FILE, error);
    if (status != ROTARY_OK)
        return status;
    json_t *names = names_json(labels);
    const size_t wanted = labels->regression ? 0 : (size_t)labels->classes;
    json_t *object = json_array_size(names) == wanted
                         ? json_pack("{s:O, s:b, s:s}", labels_key, names, pairs_key, (int)pairs, score_key,
                                     label_score_names[labels->score])
                         : NULL;
    status = object ? file_replace_json(path, object, error)
                    : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to write %s", path);
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

static rotary_status read_object(struct label_names *names, const char *path, rotary_error *error)
{
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

rotary_status label_names_load(struct label_names *names, const char *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    struct label_names read = {.names = malloc(LABELLED_MAX_CLASSES * sizeof *read.names)};
    rotary_status status = file_path(path, folder, LABEL_NAMES_FILE, error);
    if (!read.names)
        status = rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the names of labels");
    if (status == ROTARY_OK)
        status = file_read_json(path, &read.object, error);
    if (status == ROTARY_OK)
        status = read_object(&read, path, error);
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
