/* SPDX-License-Identifier: Apache-2.0
 *
 * A run's folder: the names and the format of its files, what it holds, and a lock.
 */
#ifndef ROTARY_RUN_FOLDER_FOLDER_H
#define ROTARY_RUN_FOLDER_FOLDER_H

#include <rotary/status.h>

#define FOLDER_CONFIG       "config.json"
#define FOLDER_METRICS      "metrics.jsonl"
#define FOLDER_EVENTS       "events.out.tfevents.rotary" /* train/folder/event_file.h */
#define FOLDER_MODEL        "model.safetensors"
#define FOLDER_OPTIMIZER    "optimizer.safetensors"
#define FOLDER_BEST         "best.safetensors"
#define FOLDER_AVERAGE      "average.safetensors"
#define FOLDER_TRANSLATIONS "translations.txt"
#define FOLDER_PREDICTIONS  "predictions.tsv"
#define FOLDER_LENGTHS      "lengths.json"
#define FOLDER_DECAY        "decay.json"
#define FOLDER_LABELS       "labels.json"
#define FOLDER_OWNER        ".owner" /* folder_owner.h */
#define FOLDER_NEXT         ".next"  /* suffix of a file that will replace the one named without it */

/* Files of vocabularies: those of SentencePiece are in the second row, those of other tokenizers in the
 * first; each has that of a source, of a target, and of both where they share one. */
enum { VOCABULARY_KINDS = 2, VOCABULARY_FILES = 3 };
enum { SOURCE_VOCABULARY, TARGET_VOCABULARY, SHARED_VOCABULARY };
extern const char *const vocabulary_files[VOCABULARY_KINDS][VOCABULARY_FILES];

enum { RUN_FORMAT = 2 }; /* "format" in config.json and in checkpoints; other numbers are refused */

/* Keys of config.json beside "format" and the settings: train/folder/vocabulary.h,
 * train/folder/corpus_record.h, train/folder/provenance.h. */
#define RUN_VOCABULARY        "vocabulary"
#define RUN_SOURCE_VOCABULARY "source_vocabulary"
#define RUN_SPECIAL_TOKENS    "special_tokens"
#define RUN_VOCABULARY_HASH   "vocabulary_hash"
#define RUN_PROVENANCE        "provenance"
#define RUN_CORPUS            "corpus"
#define RUN_PARAMETERS        "parameters" /* how many numbers the model has that are trained */

enum folder_state {
    FOLDER_EMPTY,      /* no file of a run, or no folder yet */
    FOLDER_RUN,        /* a run: it has a config.json */
    FOLDER_INCOMPLETE, /* other files of a run, but no config.json */
};
ROTARY_CHECKED rotary_status folder_inspect(const char *folder, enum folder_state *state,
                                            rotary_error *error);

/* Says that `folder` is not that of a run, and why: it is not there, or holds runs, of which the
 * first by name is named. Returns ROTARY_INVALID_ARGUMENT. */
rotary_status folder_fail_no_run(const char *folder, rotary_error *error);
/* Says that no run may begin in a folder that is FOLDER_INCOMPLETE. Returns ROTARY_INVALID_ARGUMENT. */
rotary_status folder_fail_incomplete(const char *folder, rotary_error *error);

/* ROTARY_INVALID_ARGUMENT if `path`, by whatever name or link, is one of the files of the run in the folder:
 * no output replaces them. */
ROTARY_CHECKED rotary_status folder_refuse_output(const char *folder, const char *path, rotary_error *error);
/* Answers for the run, if any, in whose folder `path` is, links followed. */
ROTARY_CHECKED rotary_status folder_refuse_any(const char *path, rotary_error *error);

/* Locks the folder against training by other processes, until folder_unlock or the end of this process,
 * killed or not. On a file system without locks it does nothing. */
ROTARY_CHECKED rotary_status folder_lock(const char *folder, int *lock, rotary_error *error);
void folder_unlock(int lock);

#endif
