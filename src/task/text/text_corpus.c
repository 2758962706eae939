/* SPDX-License-Identifier: Apache-2.0 */
#include "task/text/text_corpus.h"

#include "base/fail.h"
#include "config/comma_list.h"
#include "file/checksum/checksum.h"
#include "file/file.h"
#include "task/corpus_folder.h"
#include "task/task_type.h"
#include "task/text/synthetic_sentences.h"
#include "text/corpus/text_feed.h"
#include "text/corpus/text_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HASH_BLOCK = 1 << 18 };
/* A synthetic document has so many. */
enum { MIN_SENTENCES = 4, MAX_SENTENCES = 11 };

/* ---- settings ---- */

/* The rest of a key behind the task's name: of "masked_train" with "masked_data" it is "_train". */
static const char *behind_task(const char *data, const char *key)
{
    const size_t length = strlen(data) - strlen("_data");
    return strncmp(data, key, length) == 0 ? key + length : "";
}

/* The formats that the files of all splits have by their names, a bit 1 << enum text_format for each. 0: names
 * do not say it, as one of them is that of a folder, which may have files of any format, or of nothing. */
static unsigned named_formats(const struct text_corpus_options *options)
{
    unsigned formats = 0;
    for (int split = 0; split < TASK_SPLITS; split++) {
        if (!text_corpus_has_files(options, (enum task_split)split))
            continue;
        const char *rest = options->splits[split];
        for (struct comma_item item; comma_list_next(&rest, &item);) {
            char path[FILE_PATH_BYTES], copy[SETTING_TEXT_BYTES];
            struct stat about;
            enum compression compression;
            comma_item_copy(&item, copy, sizeof copy);
            if (file_path(path, options->data, copy, NULL) != ROTARY_OK || stat(path, &about) != 0 ||
                S_ISDIR(about.st_mode))
                return 0;
            formats |= 1U << text_format_of(path, &compression);
        }
    }
    return formats;
}

/* Whether the format of the files makes a key do nothing: records end where they end, and only they have
 * fields. `rest` is the key without the task's name. */
static bool excluded_by_format(const struct text_corpus_options *options, const char *rest,
                               const char **wanted)
{
    const bool boundary = strcmp(rest, "_boundary") == 0;
    if (!boundary && strcmp(rest, "_field") != 0)
        return false;
    const unsigned formats = named_formats(options), records = 1U << TEXT_JSONL;
    *wanted = boundary ? "a file of plain text" : "a file of records (.jsonl)";
    return formats != 0 && (boundary ? formats == records : (formats & records) == 0);
}

const char *text_corpus_excluding(const struct text_corpus_options *options, const char *data,
                                  const char *train, const char *key, const char **wanted)
{
    static const char *const of_files[] = {"_train", "_validation", "_test", "_boundary",
                                           "_cache", "_field",      NULL},
                             *const of_synthetic[] = {"_documents", "_held_out", NULL};
    const bool synthetic = options->data[0] == '\0';
    const char *rest = behind_task(data, key);
    if (is_one_of(rest, synthetic ? of_files : of_synthetic)) {
        *wanted = synthetic ? "a folder of texts" : "no folder of texts";
        return data;
    }
    return excluded_by_format(options, rest, wanted) ? train : NULL;
}

rotary_status text_corpus_check(struct text_corpus corpus, rotary_error *error)
{
    const struct text_corpus_options *options = corpus.options;
    if (options->data[0] && !options->splits[TASK_TRAINING][0])
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s_train is empty: wanted names of files in %s_data, which is %s", corpus.task,
                           corpus.task, options->data);
    if (!options->field[0])
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s_field is empty: wanted the name of a field of records", corpus.task);
    return ROTARY_OK;
}

/* ---- files ---- */

bool text_corpus_has_files(const struct text_corpus_options *options, enum task_split split)
{
    return options->data[0] != '\0' && options->splits[split][0] != '\0';
}

void text_paths_free(struct text_paths *paths)
{
    for (int i = 0; i < paths->count; i++)
        free(paths->items[i]);
    free(paths->items);
    *paths = (struct text_paths){0};
}

/* Without a text of validation a part of that of training is held out, if one says so. */
static rotary_status fail_missing(struct text_corpus corpus, enum task_split split, const char *path,
                                  rotary_error *error)
{
    rotary_status status = corpus_folder_check(corpus.task, corpus.options->data, error);
    if (status != ROTARY_OK)
        return status;
    char instead[SETTING_TEXT_BYTES] = "";
    if (split == TASK_VALIDATION)
        snprintf(instead, sizeof instead, ", or --set %s_validation= to hold a part of the training text out",
                 corpus.task);
    return rotary_fail(error, ROTARY_IO_ERROR, "there is no %s: wanted the %s text of the task %s%s", path,
                       task_split_names[split], corpus.task, instead);
}

/* Adds the file of the folder that the item names. */
static rotary_status add_path(struct text_paths *paths, struct text_corpus corpus, enum task_split split,
                              const struct comma_item *item, rotary_error *error)
{
    const struct text_corpus_options *options = corpus.options;
    char path[FILE_PATH_BYTES], copy[SETTING_TEXT_BYTES];
    bool found = false;
    if (item->length == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "\"%s\" names no file before a comma or behind it: wanted names of files in %s, "
                           "separated by commas",
                           options->splits[split], options->data);
    rotary_status status = file_path(path, options->data, comma_item_copy(item, copy, sizeof copy), error);
    if (status == ROTARY_OK)
        status = file_find(path, &found, error);
    if (status != ROTARY_OK)
        return status;
    if (!found)
        return fail_missing(corpus, split, path, error);
    paths->items[paths->count] = strdup(path);
    if (!paths->items[paths->count])
        return rotary_fail_memory(error, "for a list of files");
    paths->count++;
    return ROTARY_OK;
}

rotary_status text_paths_find(struct text_paths *paths, struct text_corpus corpus, enum task_split split,
                              rotary_error *error)
{
    const char *rest = corpus.options->splits[split];
    *paths = (struct text_paths){.items = calloc((size_t)comma_list_count(rest), sizeof *paths->items)};
    if (!paths->items)
        return rotary_fail_memory(error, "for a list of files");
    rotary_status status = ROTARY_OK;
    for (struct comma_item item; status == ROTARY_OK && comma_list_next(&rest, &item);)
        status = add_path(paths, corpus, split, &item, error);
    if (status != ROTARY_OK)
        text_paths_free(paths);
    return status;
}

/* ---- synthetic text ---- */

int64_t synthetic_document_count(const struct text_corpus_options *options, enum task_split split)
{
    return split == TASK_TRAINING ? options->documents : options->held_out;
}

int64_t synthetic_document(enum task_split split, int64_t index, char text[SYNTHETIC_DOCUMENT_BYTES])
{
    const struct rotary_random_key key = {.stream = ROTARY_STREAM_DOCUMENT, .step = (uint32_t)split};
    const int64_t sentences =
        MIN_SENTENCES + rotary_random_u32(key, (uint64_t)index) % (MAX_SENTENCES - MIN_SENTENCES + 1);
    int64_t bytes = 0;
    for (int64_t i = 0; i < sentences; i++) {
        struct sentence german, english;
        synthetic_pair(split, index * MAX_SENTENCES + i, &german, &english);
        if (bytes > 0)
            text[bytes++] = ' ';
        memcpy(text + bytes, english.text, (size_t)english.length);
        bytes += english.length;
    }
    text[bytes] = '\0';
    return bytes;
}

/* ---- hashes ---- */

static uint64_t hash_synthetic(const struct text_corpus_options *options, enum task_split split)
{
    uint64_t hash = 0;
    for (int64_t i = 0; i < synthetic_document_count(options, split); i++) {
        char text[SYNTHETIC_DOCUMENT_BYTES];
        const int64_t bytes = synthetic_document(split, i, text);
        const uint64_t both[] = {hash, rotary_hash(text, (uint64_t)bytes)};
        hash = rotary_hash(both, sizeof both);
    }
    return hash;
}

static rotary_status add_file(struct checksum *checksum, const char *path, char *block, rotary_error *error)
{
    struct input input = {.descriptor = -1};
    size_t got = 1;
    rotary_status status = input_open(&input, path, error);
    while (status == ROTARY_OK && got > 0) {
        status = input_read_some(&input, block, HASH_BLOCK, &got, error);
        if (status == ROTARY_OK)
            checksum_add(checksum, block, got);
    }
    input_close(&input);
    return status;
}

/* Hashes the bytes of all files, one after another. */
static rotary_status hash_files(const struct text_files *files, uint64_t *hash, rotary_error *error)
{
    struct checksum checksum;
    char *block = malloc(HASH_BLOCK);
    rotary_status status = block ? ROTARY_OK : rotary_fail_memory(error, "to read a text");
    checksum_start(&checksum);
    for (int64_t i = 0; i < files->count && status == ROTARY_OK; i++)
        status = add_file(&checksum, files->paths[i], block, error);
    free(block);
    *hash = checksum_finish(&checksum);
    if (*hash == 0) /* stands for no text */
        *hash = 1;
    return status;
}

rotary_status text_corpus_hash(struct text_corpus corpus, enum task_split split, uint64_t *hash,
                               rotary_error *error)
{
    *hash = 0;
    if (!corpus.options->data[0]) {
        *hash = hash_synthetic(corpus.options, split);
        return ROTARY_OK;
    }
    if (!text_corpus_has_files(corpus.options, split))
        return ROTARY_OK;
    struct text_paths paths;
    rotary_status status = text_paths_find(&paths, corpus, split, error);
    if (status != ROTARY_OK)
        return status;
    struct text_files files = {0};
    status = text_files_find(&files, (const char *const *)paths.items, paths.count, error);
    if (status == ROTARY_OK)
        status = hash_files(&files, hash, error);
    text_files_free(&files);
    text_paths_free(&paths);
    return status;
}
