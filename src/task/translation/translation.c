/* SPDX-License-Identifier: Apache-2.0
 *
 * Translation: sentences and their translations, from two text files a split that are aligned line by line:
 *
 *     <translation_data>/<translation_train>.<translation_source>     ein Mann schläft in einem grünen Raum
 *     <translation_data>/<translation_train>.<translation_target>     a man sleeping in a green room
 *
 * A row: the encoder reads the source and an end token; the decoder reads a begin token and the target, and
 * is to predict the target and an end token.
 */
#include "task/translation/translation.h"

#include "base/fail.h"
#include "text/tokenizer/sentencepiece.h"

#include <stdlib.h>
#include <string.h>

static const char *const tokenizers[] = {"words", "sentencepiece", NULL};

#define MEMBER(member) offsetof(struct translation_options, member)
static const struct setting table[] = {
    {"translation_data", SETTING_TEXT, MEMBER(data),
     .help = "folder of the files of the translation task; empty: synthetic German and English sentences"},
    {"translation_pairs", SETTING_INTEGER, MEMBER(pairs), 1, 1 << 24, NULL,
     .help = "synthetic pairs of sentences of the translation task to train on"},
    {"translation_held_out", SETTING_INTEGER, MEMBER(held_out), 1, 1 << 20, NULL,
     .help = "synthetic pairs of the translation task for validation, and as many for test"},
    {"translation_train", SETTING_TEXT, MEMBER(splits[TASK_TRAINING]),
     .help = "name of the training files of the translation task, before the dot and the language"},
    {"translation_validation", SETTING_TEXT, MEMBER(splits[TASK_VALIDATION]),
     .help = "name of the validation files of the translation task"},
    {"translation_test", SETTING_TEXT, MEMBER(splits[TASK_TEST]),
     .help = "name of the test files of the translation task"},
    {"translation_source", SETTING_TEXT, MEMBER(source), .help = "language that is translated from: de"},
    {"translation_target", SETTING_TEXT, MEMBER(target), .help = "language that is translated to: en"},
    {"translation_lowercase", SETTING_BOOLEAN, MEMBER(lowercase),
     .help = "the text of the translation task is made lower case"},
    {"translation_tokenizer", SETTING_CHOICE, MEMBER(tokenizer), .choices = tokenizers,
     .help = "how the text of the translation task becomes tokens"},
    {"translation_model_type", SETTING_CHOICE, MEMBER(model), .choices = sentencepiece_model_names,
     .help = "SentencePiece model of the translation task"},
    {"translation_vocab_size", SETTING_INTEGER, MEMBER(vocab_size), 16, 1 << 20, NULL,
     .help = "tokens of a SentencePiece vocabulary of the translation task"},
    {"translation_min_frequency", SETTING_INTEGER, MEMBER(min_frequency), 1, 1 << 20, NULL,
     .help = "occurrences in the training text that make a word part of the vocabulary"},
    {"translation_shared_vocabulary", SETTING_BOOLEAN, MEMBER(shared_vocabulary),
     .help = "source and target have one vocabulary"},
};
static const struct translation_options defaults = {
    .pairs = 20000,
    .held_out = 1000,
    .splits = {"train", "val", "test_2016_flickr"},
    .source = "de",
    .target = "en",
    .tokenizer = TRANSLATION_WORDS,
    .min_frequency = 2,
    .model = SENTENCEPIECE_BPE,
    .vocab_size = 8000,
};

struct translation {
    struct corpus_split splits[TASK_SPLITS];
};

static const struct corpus_split *split_of(const struct task *task, enum task_split split)
{
    return &((const struct translation *)task->data)->splits[split];
}

/* The keys of one kind of tokenizer do nothing with the other, and those of files nothing without a folder.
 */
static const char *excluding_key(const struct task_config *config, const char *key, const char **wanted)
{
    static const char *const of_files[] = {"translation_train", "translation_validation", "translation_test",
                                           NULL},
                             *const of_synthetic[] = {"translation_pairs", "translation_held_out", NULL};
    const struct translation_options *options = task_options(config, TASK_TRANSLATION);
    if (is_one_of(key, of_files) || is_one_of(key, of_synthetic)) {
        const bool synthetic = options->data[0] == '\0';
        *wanted = synthetic ? "a folder in translation_data" : "no translation_data";
        return is_one_of(key, synthetic ? of_files : of_synthetic) ? "translation_data" : NULL;
    }
    const bool words = options->tokenizer == TRANSLATION_WORDS,
               of_words = strcmp(key, "translation_min_frequency") == 0,
               of_pieces =
                   strcmp(key, "translation_model_type") == 0 || strcmp(key, "translation_vocab_size") == 0;
    *wanted = of_words ? "translation_tokenizer words" : "translation_tokenizer sentencepiece";
    return (of_words && !words) || (of_pieces && words) ? "translation_tokenizer" : NULL;
}

static rotary_status read_splits(struct task *task, rotary_error *error)
{
    struct translation *translation = calloc(1, sizeof *translation);
    if (!translation)
        return rotary_fail_memory(error, "for a corpus");
    task->data = translation;
    rotary_status status = ROTARY_OK;
    int split = task->request.need == TASK_HELD_OUT ? TASK_VALIDATION : TASK_TRAINING;
    for (; split < TASK_SPLITS && status == ROTARY_OK; split++)
        status = corpus_split_create(&translation->splits[split], task, (enum task_split)split, error);
    return status;
}

static rotary_status create(struct task *task, rotary_error *error)
{
    task->shape.source_time = task->config.sequence_length;
    task->lowercase =
        ((const struct translation_options *)task_options(&task->config, TASK_TRANSLATION))->lowercase;
    rotary_status status = translation_vocabularies(task, error);
    if (status == ROTARY_OK && task->request.need <= TASK_HELD_OUT)
        status = read_splits(task, error);
    return status;
}

static void destroy(struct task *task)
{
    struct translation *translation = task->data;
    for (int split = 0; translation && split < TASK_SPLITS; split++)
        corpus_split_free(&translation->splits[split]);
    free(translation);
}

static rotary_status source_line(const struct task *task, const char *text, int64_t bytes, char **line,
                                 int64_t *line_bytes, rotary_error *error)
{
    struct text_buffer buffer = {0};
    rotary_status status = translation_append(task_options(&task->config, TASK_TRANSLATION),
                                              (struct text_line){text, bytes}, &buffer, error);
    if (status != ROTARY_OK) {
        text_buffer_free(&buffer);
        return status;
    }
    buffer.bytes[buffer.count] = '\0';
    *line = buffer.bytes;
    *line_bytes = buffer.count;
    return ROTARY_OK;
}

static int64_t examples(const struct task *task, enum task_split split)
{
    return split_of(task, split)->examples;
}

static struct token_text line_text(const struct corpus_split *split, int side, int64_t index)
{
    const struct text_line line = text_lines_at(&split->text.sides[side], split->lines[index]);
    return (struct token_text){line.bytes, line.count};
}

static struct task_example example(const struct task *task, enum task_split which, int64_t index)
{
    const struct corpus_split *split = split_of(task, which);
    const struct token_corpus *source = &split->sides[TRANSLATION_SOURCE],
                              *target = &split->sides[TRANSLATION_TARGET];
    return (struct task_example){
        .source = source->tokens + source->starts[index],
        .target = target->tokens + target->starts[index],
        .source_count = source->starts[index + 1] - source->starts[index],
        .target_count = target->starts[index + 1] - target->starts[index] - 1,
        .text = line_text(split, TRANSLATION_SOURCE, index),
        .reference = line_text(split, TRANSLATION_TARGET, index),
    };
}

static struct task_counts counts(const struct task *task, enum task_split split)
{
    return split_of(task, split)->counts;
}

static rotary_status text_hash(const struct task_config *config, enum task_split split, uint64_t *hash,
                               rotary_error *error)
{
    return parallel_text_hash(task_options(config, TASK_TRANSLATION), split, hash, error);
}

static const char *const locations[] = {"translation_data", NULL};

/* The tokenizer, and whether there is one vocabulary, say which files the folder has them in. */
static const char *const vocabulary_keys[] = {"translation_model_type", "translation_vocab_size",
                                              "translation_min_frequency", NULL};

const struct task_type task_type_translation = {
    .settings = table,
    .setting_count = sizeof table / sizeof table[0],
    .options_bytes = sizeof defaults,
    .defaults = &defaults,
    .excluding_key = excluding_key,
    .vocabulary_keys = vocabulary_keys,
    .create = create,
    .destroy = destroy,
    .source_line = source_line,
    .examples = examples,
    .example = example,
    .counts = counts,
    .text_hash = text_hash,
    .locations = locations,
};
