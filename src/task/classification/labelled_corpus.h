/* SPDX-License-Identifier: Apache-2.0
 *
 * Labelled texts, single ones or pairs, of a task of classification or regression, read from tables; or texts
 * with choices, of which one is right.
 */
#ifndef ROTARY_TASK_CLASSIFICATION_LABELLED_CORPUS_H
#define ROTARY_TASK_CLASSIFICATION_LABELLED_CORPUS_H

#include "file/file.h"
#include "task/classification/labelled_format.h"

enum { LABELLED_MAX_CLASSES = 1024, LABELLED_MAX_CHOICES = 6, LABELLED_MAX_TEXTS = 1 + LABELLED_MAX_CHOICES };

struct labelled_example {
    struct text_line first, second;  /* second.bytes NULL: a single text, or ... */
    const struct text_line *choices; /* ... one with choices, [choices of the corpus]; NULL: it has none */
    int32_t class;                   /* -1 of a regression; with choices the one that is right */
    double value;                    /* NaN of a classification */
    int64_t line;                    /* of its file, counted from 1 */
};

struct labelled_request {
    const char *folder; /* NULL: sentences are synthetic (task/classification/labelled_synthetic.h), ... */
    int64_t synthetic[TASK_SPLITS]; /* ... so many of each split; the format is then not asked for more than
                                       score */
    const struct labelled_format *format;
    /* All files are one text, which is split anew by sentence (task/classification/fresh_split.h), validation
     * and test having this share of the sentences each; with choices by document
     * (task/classification/document_split.h), each having this share of the examples. 0: splits are as the
     * files have them. */
    double fresh_share;
};

struct labelled_corpus {
    struct table tables[TASK_SPLITS]; /* of the files, whatever the splits are */
    char paths[TASK_SPLITS][FILE_PATH_BYTES];
    int classes;             /* 0: regression */
    struct text_line *names; /* [classes]: the labels of the training file, in order: of numbers if all of
                                them are whole ones, else of bytes */
    bool integers;           /* they are whole numbers */
    bool labels;             /* the files have them; else the first choice is right */
    int choices;             /* of each example; 0: it has none */
    char choice_columns[SETTING_TEXT_BYTES];     /* their names, with a zero byte behind each */
    struct text_line *choice_texts[TASK_SPLITS]; /* [rows * choices] of the files */
    struct labelled_example *examples[TASK_SPLITS];
    int64_t counts[TASK_SPLITS];
    int64_t left_out; /* by a fresh split: parts of sentences of validation and test, and their copies; of
                         choices what has documents of two splits */
};

/* Reads the files that the format names. A validation file is wanted, unless the split is fresh; a test file
 * is read if it is there. A label of another file that the training file has not, or that is no number of a
 * regression, is ROTARY_BAD_FILE, and so are an empty label, and a training file whose labels are all the
 * same, or are more than LABELLED_MAX_CLASSES, or with choices are not as many as these: sorted, each stands
 * for a choice. Without a label the first choice is right. The choices are then put into an order that
 * follows from the texts alone, and is the same whichever of them is right, and classes are named "1", "2",
 * ... The struct must not be moved afterwards. */
ROTARY_CHECKED rotary_status labelled_corpus_read(struct labelled_corpus *corpus,
                                                  const struct labelled_request *request,
                                                  rotary_error *error);
/* The texts of an example: the first, and the second or the choices. Returns how many there are. */
int labelled_texts(const struct labelled_corpus *corpus, const struct labelled_example *example,
                   struct text_line texts[LABELLED_MAX_TEXTS]);
/* The number of columns in a list of them; 0: an empty one, or NULL. */
int labelled_choice_count(const char *columns);
/* A hash of all examples of a split: texts and labels. 0: there are none. */
uint64_t labelled_corpus_hash(const struct labelled_corpus *corpus, enum task_split split);
/* How many texts of a split, of which a pair has two, are a text of a training example, or a part of one
 * (fresh_leaks). */
ROTARY_CHECKED rotary_status labelled_corpus_leaks(const struct labelled_corpus *corpus,
                                                   enum task_split split, int64_t *leaks,
                                                   rotary_error *error);
void labelled_corpus_free(struct labelled_corpus *corpus); /* zeroed ones too */

/* The corpus of a task with labels, which lives as long as the task; NULL: it has none. */
const struct labelled_corpus *task_labelled(const struct task *task);

#endif
