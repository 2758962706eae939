/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the task translation, inside src/task: what its corpus and its vocabularies are made from.
 */
#ifndef ROTARY_TASK_TRANSLATION_TRANSLATION_H
#define ROTARY_TASK_TRANSLATION_TRANSLATION_H

#include "file/file.h"
#include "task/task_type.h"
#include "text/text_buffer.h"
#include "text/text_lines.h"

enum translation_tokenizer { TRANSLATION_WORDS, TRANSLATION_SENTENCEPIECE };

struct translation_options {
    int64_t pairs, held_out;                      /* of the synthetic corpus */
    char data[SETTING_TEXT_BYTES];                /* a folder; empty: the corpus is synthetic */
    char splits[TASK_SPLITS][SETTING_TEXT_BYTES]; /* names of files before the dot */
    char source[SETTING_TEXT_BYTES], target[SETTING_TEXT_BYTES]; /* and after it: languages */
    int tokenizer;                                               /* enum translation_tokenizer */
    int64_t min_frequency;                                       /* of words */
    int model;                                                   /* enum sentencepiece_model */
    int64_t vocab_size;                                          /* of SentencePiece */
    bool lowercase;
    bool shared_vocabulary;
};

/* ---- text ---- */

/* Appends a line as tokenizers read it, in lower case if so configured, and has room for a byte more. */
ROTARY_CHECKED rotary_status translation_append(const struct translation_options *options,
                                                struct text_line line, struct text_buffer *buffer,
                                                rotary_error *error);

/* ---- corpus ---- */

enum { TRANSLATION_SOURCE, TRANSLATION_TARGET, TRANSLATION_SIDES };

/* The two texts of a split, line i of one being a translation of line i of the other. */
struct parallel_text {
    struct text_lines sides[TRANSLATION_SIDES];
    char paths[TRANSLATION_SIDES][FILE_PATH_BYTES];
};
/* Reads the files of a split, or generates its text. The struct must not be moved afterwards. */
ROTARY_CHECKED rotary_status parallel_text_read(struct parallel_text *text,
                                                const struct translation_options *options,
                                                enum task_split split, rotary_error *error);
/* Checks that the files are there, without reading them, or that the languages are those of the synthetic
 * corpus. */
ROTARY_CHECKED rotary_status parallel_text_find(const struct translation_options *options,
                                                rotary_error *error);
/* A hash of all lines of a split. */
ROTARY_CHECKED rotary_status parallel_text_hash(const struct translation_options *options,
                                                enum task_split split, uint64_t *hash, rotary_error *error);
void parallel_text_free(struct parallel_text *text); /* zeroed ones too */

/* The sequences of one side of a split's examples, one after another. */
struct token_corpus {
    int32_t *tokens;
    int64_t *starts; /* [examples + 1] */
    int64_t capacity;
};
struct corpus_split {
    struct parallel_text text;
    struct token_corpus sides[TRANSLATION_SIDES]; /* as struct task_example has them */
    int64_t *lines;                               /* [examples]: of the text */
    int64_t examples;
    struct task_counts counts;
};
/* Reads a split and encodes it with the task's tokenizers. */
ROTARY_CHECKED rotary_status corpus_split_create(struct corpus_split *split, const struct task *task,
                                                 enum task_split which, rotary_error *error);
void corpus_split_free(struct corpus_split *split); /* zeroed ones too */

/* ---- vocabularies ---- */

/* Sets the tokenizers and the names of their files: loads them from the run's folder, or makes them from the
 * training text. */
ROTARY_CHECKED rotary_status translation_vocabularies(struct task *task, rotary_error *error);

#endif
