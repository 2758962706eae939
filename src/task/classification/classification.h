/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the task classification, inside src/task: its labelled texts, its vocabulary, and the
 * sequences of a split.
 */
#ifndef ROTARY_TASK_CLASSIFICATION_CLASSIFICATION_H
#define ROTARY_TASK_CLASSIFICATION_CLASSIFICATION_H

#include "task/classification/labelled_corpus.h"
#include "task/task_type.h"

enum classification_tokenizer {
    CLASSIFICATION_WORDS,
    CLASSIFICATION_CHARACTERS,
    CLASSIFICATION_SENTENCEPIECE,
    CLASSIFICATION_FILE,
    CLASSIFICATION_TOKENIZERS
};
enum classification_split { CLASSIFICATION_FILES, CLASSIFICATION_SENTENCES };

struct classification_options {
    char data[SETTING_TEXT_BYTES]; /* a folder; empty: the texts are synthetic */
    int64_t examples, held_out;    /* of the synthetic texts */
    int dataset;                   /* enum labelled_dataset */
    int split;                     /* enum classification_split */
    double held_out_share;         /* of a split by sentence */
    /* The format of DATASET_TABLE. */
    char splits[TASK_SPLITS][SETTING_TEXT_BYTES]; /* names of files */
    int format, quoting;                          /* enum table_format, enum table_quoting */
    bool header;
    char text[SETTING_TEXT_BYTES], pair[SETTING_TEXT_BYTES], label[SETTING_TEXT_BYTES]; /* columns */
    char choices[SETTING_TEXT_BYTES]; /* columns, separated by commas */
    bool regression;
    int score; /* enum label_score; LABEL_SCORES: the dataset's */

    int tokenizer;                       /* enum classification_tokenizer */
    char vocabulary[SETTING_TEXT_BYTES]; /* the file of CLASSIFICATION_FILE */
    int64_t min_frequency;               /* of words, or characters */
    int model;                           /* enum sentencepiece_model */
    int64_t vocab_size;                  /* of SentencePiece */
};

static inline const struct classification_options *classification_options(const struct task_config *config)
{
    return task_options(config, TASK_CLASSIFICATION);
}

/* Reads the labelled texts, or makes them up; *score: what predictions are scored by. The struct must not be
 * moved afterwards. */
ROTARY_CHECKED rotary_status classification_corpus(struct labelled_corpus *corpus, enum label_score *score,
                                                   const struct classification_options *options,
                                                   rotary_error *error);

/* The choices of each example; 0: it has none. */
int classification_choices(const struct classification_options *options);

/* Sets the tokenizer and the name of its file: loads it from the run's folder, or from a file of its own, or
 * makes it from the training texts. */
ROTARY_CHECKED rotary_status classification_vocabulary(struct task *task,
                                                       const struct labelled_corpus *corpus,
                                                       rotary_error *error);

/* ---- sequences ---- */

/* The sequences of a split, one after another: [CLS] a [SEP], or [CLS] a [SEP] b [SEP], of which an example
 * with choices has one for each. */
struct classification_split_tokens {
    int32_t *tokens;
    int64_t *starts;  /* [count + 1] in `tokens` */
    int64_t *seconds; /* [count]: where b begins in its sequence; its length for a single text */
    int64_t count, capacity;
    struct task_counts counts;
};
/* Encodes examples, which have the choices of the task. Of a sequence with too many tokens the end of a text
 * is cut off; of a pair that of the text which is then longer, token by token (as BERT does). */
ROTARY_CHECKED rotary_status classification_tokens(struct classification_split_tokens *split,
                                                   const struct task *task,
                                                   const struct labelled_example *examples, int64_t count,
                                                   rotary_error *error);
void classification_tokens_free(struct classification_split_tokens *split); /* zeroed ones too */

/* The tokens that are left of two texts which may have `room` together. second 0: a single text. */
struct pair_lengths {
    int64_t first, second;
};
struct pair_lengths classification_cut(struct pair_lengths tokens, int64_t room);

#endif
