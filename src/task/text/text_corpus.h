/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a task that learns from documents: files, or synthetic English sentences. The tasks that
 * have one share its settings, whose keys begin with the task's name.
 */
#ifndef ROTARY_TASK_TEXT_TEXT_CORPUS_H
#define ROTARY_TASK_TEXT_TEXT_CORPUS_H

#include "task/task.h"
#include "text/corpus/document_reader.h"

struct text_corpus_options {
    int64_t documents, held_out;                  /* of the synthetic text */
    char data[SETTING_TEXT_BYTES];                /* a folder; empty: the text is synthetic */
    char cache[SETTING_TEXT_BYTES];               /* a folder; empty: that of the text */
    char splits[TASK_SPLITS][SETTING_TEXT_BYTES]; /* names of files in it, separated by commas */
    char field[SETTING_TEXT_BYTES];               /* of records of JSON, which has the text */
    int boundary;                                 /* enum document_boundary */
};
#define TEXT_CORPUS_DEFAULTS                                                                                 \
    {                                                                                                        \
        .documents = 4000, .held_out = 200, .splits = {"train.txt", "valid.txt", ""}, .field = "text",       \
        .boundary = DOCUMENT_BLANK_LINE                                                                      \
    }

/* The rows of a task's table over a struct `type` whose member `corpus` is a text_corpus_options; `held` says
 * what is held out from training where there are no files of validation. */
#define TEXT_CORPUS_SETTINGS(task, type, held)                                                               \
    {task "_data", SETTING_TEXT, offsetof(type, corpus.data),                                                \
     .help = "folder of the texts of the " task " task; empty: synthetic English sentences"},                \
        {task "_cache", SETTING_TEXT, offsetof(type, corpus.cache),                                          \
         .help = "folder of files with the text of the " task " task as tokens; empty: beside the text"},    \
        {task "_documents",                                                                                  \
         SETTING_INTEGER,                                                                                    \
         offsetof(type, corpus.documents),                                                                   \
         1,                                                                                                  \
         1 << 24,                                                                                            \
         NULL,                                                                                               \
         .help = "synthetic documents of the " task " task to train on, of 4 to 11 sentences"},              \
        {task "_held_out",                                                                                   \
         SETTING_INTEGER,                                                                                    \
         offsetof(type, corpus.held_out),                                                                    \
         1,                                                                                                  \
         1 << 20,                                                                                            \
         NULL,                                                                                               \
         .help = "synthetic documents of the " task " task for validation, and as many for test"},           \
        {task "_train", SETTING_TEXT, offsetof(type, corpus.splits[TASK_TRAINING]),                          \
         .help = "files in " task "_data to train on, separated by commas; of a folder all that it has"},    \
        {task "_validation", SETTING_TEXT, offsetof(type, corpus.splits[TASK_VALIDATION]),                   \
         .help = "files to validate on; empty: " held " is held out from training"},                         \
        {task "_test", SETTING_TEXT, offsetof(type, corpus.splits[TASK_TEST]),                               \
         .help = "files of the test set of the " task " task; empty: there is none"},                        \
        {task "_boundary", SETTING_CHOICE, offsetof(type, corpus.boundary),                                  \
         .choices = document_boundary_names,                                                                 \
         .help = "where documents of the " task " task end: at blank lines, lines or files"},                \
    {                                                                                                        \
        task "_field", SETTING_TEXT, offsetof(type, corpus.field),                                           \
            .help = "of records of JSON (.jsonl) the field that has the text of the " task " task"           \
    }

/* Whose text it is. */
struct text_corpus {
    const char *task; /* its name */
    const struct text_corpus_options *options;
};

/* Answers as excluding_key of a task type, for keys of files and of the synthetic text in their place, and
 * for those of plain text and of records, where by their names all files are of the other kind. `data` and
 * `train` are the names of the settings text_corpus_options.data and splits[TASK_TRAINING]. */
const char *text_corpus_excluding(const struct text_corpus_options *options, const char *data,
                                  const char *train, const char *key, const char **wanted);
/* Checks that settings agree. */
ROTARY_CHECKED rotary_status text_corpus_check(struct text_corpus corpus, rotary_error *error);

/* ---- files ---- */

/* The files and folders of a split. */
struct text_paths {
    char **items; /* [count] */
    int count;
};
/* Whether the split has text: that of validation may be held out from training, and a test set may be absent.
 */
bool text_corpus_has_files(const struct text_corpus_options *options, enum task_split split);
/* Lists the files of a split, and checks that they are there. */
ROTARY_CHECKED rotary_status text_paths_find(struct text_paths *paths, struct text_corpus corpus,
                                             enum task_split split, rotary_error *error);
void text_paths_free(struct text_paths *paths); /* zeroed ones too */

/* ---- synthetic text ---- */

/* The document `index` of the synthetic text: a few English sentences with spaces between them. Returns its
 * bytes, which a zero follows. */
enum { SYNTHETIC_DOCUMENT_BYTES = 6144 };
int64_t synthetic_document(enum task_split split, int64_t index, char text[SYNTHETIC_DOCUMENT_BYTES]);
/* The number of synthetic documents of a split. */
int64_t synthetic_document_count(const struct text_corpus_options *options, enum task_split split);

/* ---- both ---- */

/* A hash of the text of a split: of the bytes of its files as they are. 0: it has none. */
ROTARY_CHECKED rotary_status text_corpus_hash(struct text_corpus corpus, enum task_split split,
                                              uint64_t *hash, rotary_error *error);

#endif
