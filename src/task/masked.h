/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the task masked, inside src/task: its text, its vocabulary, and the sequences of a split.
 */
#ifndef ROTARY_TASK_MASKED_H
#define ROTARY_TASK_MASKED_H

#include "file/file.h"
#include "task/kind.h"
#include "text/text_lines.h"
#include "text/token_documents.h"

enum masked_tokenizer { MASKED_WORDS, MASKED_CHARACTERS, MASKED_SENTENCEPIECE, MASKED_FILE };

struct masked_options {
    int64_t documents, held_out;                  /* of the made-up text */
    char data[SETTING_TEXT_BYTES];                /* a folder; empty: the text is made up */
    char cache[SETTING_TEXT_BYTES];               /* a folder; empty: that of the text */
    char splits[TASK_SPLITS][SETTING_TEXT_BYTES]; /* names of files in it, separated by commas */
    int boundary;                                 /* enum document_boundary */
    int tokenizer;                                /* enum masked_tokenizer */
    char vocabulary[SETTING_TEXT_BYTES];          /* the file of MASKED_FILE */
    int64_t min_frequency;                        /* of words, or characters */
    int model;                                    /* enum sentencepiece_model */
    int64_t vocab_size;                           /* of SentencePiece */
    double probability;
    bool whole_words;
};

/* ---- text ---- */

/* The files of a split. */
struct masked_paths {
    char **items; /* [count] */
    int count;
};
/* Whether the split has text: that of validation may be held out from training, and a test set may be absent.
 */
bool masked_has_files(const struct masked_options *options, enum task_split split);
/* Lists the files of a split, and checks that they are there. */
ROTARY_CHECKED rotary_status masked_paths_find(struct masked_paths *paths,
                                               const struct masked_options *options, enum task_split split,
                                               rotary_error *error);
void masked_paths_free(struct masked_paths *paths); /* zeroed ones too */

/* The document `index` of the made-up text: a few English sentences with spaces between them. Returns its
 * bytes, which a zero follows. */
enum { MASKED_DOCUMENT_BYTES = 12288 };
int64_t masked_made_document(enum task_split split, int64_t index, char text[MASKED_DOCUMENT_BYTES]);
/* The number of documents that are made up for a split. */
int64_t masked_made_count(const struct masked_options *options, enum task_split split);

/* A hash of the text of a split. */
ROTARY_CHECKED rotary_status masked_text_hash(const struct task_config *config, enum task_split split,
                                              uint64_t *hash, rotary_error *error);

/* ---- vocabulary ---- */

/* Sets the tokenizer and the name of its file: loads it from the run's folder, or from a file of its own, or
 * makes it from the training text. */
ROTARY_CHECKED rotary_status masked_vocabulary(struct task *task, rotary_error *error);

/* ---- sequences ---- */

struct masking;

/* Sequences of at most sequence_length - 2 tokens, into which the documents of a split are cut. */
struct masked_split {
    struct token_documents *documents; /* NULL: there are no files */
    struct token_list made;            /* the made-up documents, one after another */
    struct token_span *sequences;      /* [count] */
    int64_t count, capacity;
    struct task_counts counts;
};
/* Cuts at words where one ends. */
ROTARY_CHECKED rotary_status masked_split_create(struct masked_split *split, const struct task *task,
                                                 const struct masking *masking, enum task_split which,
                                                 rotary_error *error);
void masked_split_free(struct masked_split *split); /* zeroed ones too */

#endif
