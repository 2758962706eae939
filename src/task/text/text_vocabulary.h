/* SPDX-License-Identifier: Apache-2.0
 *
 * The vocabulary of a task that learns from documents: from the run's folder, from a file, or made from the
 * training text. The tasks that have one share its settings, whose keys begin with the task's name.
 */
#ifndef ROTARY_TASK_TEXT_TEXT_VOCABULARY_H
#define ROTARY_TASK_TEXT_TEXT_VOCABULARY_H

#include "task/text/text_corpus.h"
#include "text/tokenizer/sentencepiece.h"

enum text_tokenizer { TEXT_WORDS, TEXT_CHARACTERS, TEXT_SENTENCEPIECE, TEXT_FILE, TEXT_BYTES };

struct text_vocabulary_options {
    int tokenizer;                       /* enum text_tokenizer */
    char vocabulary[SETTING_TEXT_BYTES]; /* the file of TEXT_FILE */
    int64_t min_frequency;               /* of words, or characters */
    int model;                           /* enum sentencepiece_model */
    int64_t vocab_size;                  /* of SentencePiece */
};

/* The rows of a task's table over a struct `type` whose member `vocabulary` is a text_vocabulary_options;
 * `names` are those of the tokenizers that the task has, in the order of the enum; `needs` says what a
 * tokenizer of a file must have. */
#define TEXT_VOCABULARY_SETTINGS(task, type, names, needs)                                                   \
    {task "_tokenizer", SETTING_CHOICE, offsetof(type, vocabulary.tokenizer), .choices = names,              \
     .help = "how the text of the " task " task becomes tokens"},                                            \
        {task "_vocabulary", SETTING_TEXT, offsetof(type, vocabulary.vocabulary),                            \
         .help = "file of the tokenizer of " task "_tokenizer file; it has " needs},                         \
        {task "_min_frequency",                                                                              \
         SETTING_INTEGER,                                                                                    \
         offsetof(type, vocabulary.min_frequency),                                                           \
         1,                                                                                                  \
         1 << 20,                                                                                            \
         NULL,                                                                                               \
         .help = "occurrences in the training text that make a word part of the vocabulary of the " task     \
                 " task"},                                                                                   \
        {task "_model_type", SETTING_CHOICE, offsetof(type, vocabulary.model),                               \
         .choices = sentencepiece_model_names, .help = "SentencePiece model of the " task " task"},          \
    {                                                                                                        \
        task "_vocab_size", SETTING_INTEGER, offsetof(type, vocabulary.vocab_size), 16, 1 << 20, NULL,       \
            .help = "tokens of a SentencePiece vocabulary of the " task " task"                              \
    }

/* Answers as excluding_key of a task type, for keys of one kind of tokenizer. `tokenizer` is the name of the
 * setting text_vocabulary_options.tokenizer. */
const char *text_vocabulary_excluding(const struct text_vocabulary_options *options, const char *tokenizer,
                                      const char *key, const char **wanted);

/* What a task wants of its vocabulary. */
struct text_vocabulary_call {
    struct text_corpus corpus;
    const struct text_vocabulary_options *options;
    bool mask;   /* there is a mask; else there is an end of documents, by a token "end" or "begin" */
    bool spaces; /* white space is characters too, and what is out of the vocabulary has bytes */
};
/* Sets the tokenizer and the name of its file: loads it from the run's folder, or from a file of its own, or
 * makes it from the training text. */
ROTARY_CHECKED rotary_status text_vocabulary_find(struct task *task, const struct text_vocabulary_call *call,
                                                  rotary_error *error);

#endif
