/* SPDX-License-Identifier: Apache-2.0
 *
 * Masked language modelling: some tokens of a text are masked, and an encoder that sees the others before and
 * behind them is to predict them (Devlin et al., "BERT", 2019).
 *
 * A sequence is a document, or a part of a longer one, between the begin token ([CLS]) and the end token
 * ([SEP]). What is masked is drawn anew each time that a sequence is read (task/masking.h): in training from
 * the run's seed and the ordinal of the sequence among all that are read, else from the sequence alone, so
 * that every evaluation of every run has the same masks.
 */
#include "task/masked.h"

#include "base/fail.h"
#include "task/masking.h"
#include "task/permutation.h"
#include "text/sentencepiece.h"

#include <stdlib.h>
#include <string.h>

static const char *const tokenizers[] = {"words", "characters", "sentencepiece", "file", NULL};

#define MEMBER(member) offsetof(struct masked_options, member)
static const struct setting table[] = {
    {"masked_data", SETTING_TEXT, MEMBER(data),
     .help = "folder of the texts of the masked task; empty: English sentences are made up"},
    {"masked_cache", SETTING_TEXT, MEMBER(cache),
     .help = "folder of files with the text of the masked task as tokens; empty: beside the text"},
    {"masked_documents", SETTING_INTEGER, MEMBER(documents), 1, 1 << 24, NULL,
     .help = "documents to train on that the masked task makes up, of 4 to 11 sentences"},
    {"masked_held_out", SETTING_INTEGER, MEMBER(held_out), 1, 1 << 20, NULL,
     .help = "documents for validation, and as many for test, that the masked task makes up"},
    {"masked_train", SETTING_TEXT, MEMBER(splits[TASK_TRAINING]),
     .help = "files in masked_data to train on, separated by commas; of a folder all that it has"},
    {"masked_validation", SETTING_TEXT, MEMBER(splits[TASK_VALIDATION]),
     .help = "files to validate on; empty: one document in 50 is held out from training"},
    {"masked_test", SETTING_TEXT, MEMBER(splits[TASK_TEST]),
     .help = "files of the test set of the masked task; empty: there is none"},
    {"masked_boundary", SETTING_CHOICE, MEMBER(boundary), .choices = document_boundary_names,
     .help = "where documents of the masked task end: at blank lines, lines or files"},
    {"masked_tokenizer", SETTING_CHOICE, MEMBER(tokenizer), .choices = tokenizers,
     .help = "how the text of the masked task becomes tokens"},
    {"masked_vocabulary", SETTING_TEXT, MEMBER(vocabulary),
     .help = "file of the tokenizer of masked_tokenizer file; it has a mask"},
    {"masked_min_frequency", SETTING_INTEGER, MEMBER(min_frequency), 1, 1 << 20, NULL,
     .help = "occurrences in the training text that make a word part of the vocabulary of the masked task"},
    {"masked_model_type", SETTING_CHOICE, MEMBER(model), .choices = sentencepiece_model_names,
     .help = "SentencePiece model of the masked task"},
    {"masked_vocab_size", SETTING_INTEGER, MEMBER(vocab_size), 16, 1 << 20, NULL,
     .help = "tokens of a SentencePiece vocabulary of the masked task"},
    {"masked_probability", SETTING_REAL, MEMBER(probability), 0.001, 0.999, NULL,
     .help = "share of the tokens that are to be predicted"},
    {"masked_whole_words", SETTING_BOOLEAN, MEMBER(whole_words),
     .help = "all tokens of a word are to be predicted, or none"},
};
static const struct masked_options defaults = {
    .documents = 4000,
    .held_out = 200,
    .splits = {"train.txt", "valid.txt", ""},
    .boundary = DOCUMENT_BLANK_LINE,
    .tokenizer = MASKED_WORDS,
    .min_frequency = 2,
    .model = SENTENCEPIECE_BPE,
    .vocab_size = 8000,
    .probability = 0.15,
};

struct masked {
    struct masking *masking;
    struct masked_split splits[TASK_SPLITS];
};

static const struct masked_options *options_of(const struct task_config *config)
{
    return task_options(config, TASK_MASKED);
}

/* ---- settings ---- */

/* Keys of files, and of the text that is made up in their place. */
static const char *excluding_text(const struct masked_options *options, const char *key, const char **wanted)
{
    static const char *const of_files[] = {"masked_train",    "masked_validation", "masked_test",
                                           "masked_boundary", "masked_cache",      NULL},
                             *const of_made[] = {"masked_documents", "masked_held_out", NULL};
    const bool made = options->data[0] == '\0';
    if (!is_one_of(key, made ? of_files : of_made))
        return NULL;
    *wanted = made ? "a folder in masked_data" : "no masked_data";
    return "masked_data";
}

/* Keys of one kind of tokenizer. Words and characters are whole. */
static const char *excluding_tokenizer(const struct masked_options *options, const char *key,
                                       const char **wanted)
{
    enum {
        PIECES = 1U << MASKED_SENTENCEPIECE,
        COUNTED = 1U << MASKED_WORDS | 1U << MASKED_CHARACTERS,
        OF_A_FILE = 1U << MASKED_FILE
    };
    static const struct tokenizer_key rows[] = {
        {"masked_vocabulary", OF_A_FILE, "masked_tokenizer file"},
        {"masked_min_frequency", COUNTED, "masked_tokenizer words or characters"},
        {"masked_model_type", PIECES, "masked_tokenizer sentencepiece"},
        {"masked_vocab_size", PIECES, "masked_tokenizer sentencepiece"},
        {"masked_whole_words", PIECES | OF_A_FILE, "masked_tokenizer sentencepiece"}};
    return tokenizer_excluding_key("masked_tokenizer", rows, sizeof rows / sizeof *rows, options->tokenizer,
                                   key, wanted);
}

static const char *excluding_key(const struct task_config *config, const char *key, const char **wanted)
{
    const char *other = excluding_text(options_of(config), key, wanted);
    return other ? other : excluding_tokenizer(options_of(config), key, wanted);
}

static rotary_status check_options(const struct masked_options *options, rotary_error *error)
{
    if (options->data[0] && !options->splits[TASK_TRAINING][0])
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "masked_train is empty: wanted names of files in masked_data, which is %s",
                           options->data);
    if (options->tokenizer == MASKED_FILE && !options->vocabulary[0])
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "masked_vocabulary is empty: wanted the file of a tokenizer, as masked_tokenizer is "
            "file");
    return ROTARY_OK;
}

/* ---- creation ---- */

static rotary_status read_splits(struct task *task, struct masked *masked, rotary_error *error)
{
    const struct masked_options *options = options_of(&task->config);
    rotary_status status =
        masking_create(&masked->masking, task->tokenizer, options->probability, options->whole_words, error);
    int split = task->request.need == TASK_HELD_OUT ? TASK_VALIDATION : TASK_TRAINING;
    for (; split < TASK_SPLITS && status == ROTARY_OK; split++)
        status =
            masked_split_create(&masked->splits[split], task, masked->masking, (enum task_split)split, error);
    return status;
}

static rotary_status create(struct task *task, rotary_error *error)
{
    task->shape.lengths = true;
    rotary_status status = check_options(options_of(&task->config), error);
    if (status == ROTARY_OK)
        status = masked_vocabulary(task, error);
    if (status != ROTARY_OK || task->request.need > TASK_HELD_OUT)
        return status;
    struct masked *masked = calloc(1, sizeof *masked);
    if (!masked)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a corpus");
    task->data = masked;
    return read_splits(task, masked, error);
}

static void destroy(struct task *task)
{
    struct masked *masked = task->data;
    if (!masked)
        return;
    for (int split = 0; split < TASK_SPLITS; split++)
        masked_split_free(&masked->splits[split]);
    masking_destroy(masked->masking);
    free(masked);
}

/* ---- examples ---- */

static const struct masked_split *split_of(const struct task *task, enum task_split split)
{
    return &((const struct masked *)task->data)->splits[split];
}

static int64_t examples(const struct task *task, enum task_split split)
{
    return task->data ? split_of(task, split)->count : 0;
}

static struct task_example example(const struct task *task, enum task_split split, int64_t index)
{
    return (struct task_example){.target_count = split_of(task, split)->sequences[index].count + 2};
}

static void fill_example(const struct task *task, const struct example_place *place,
                         const struct example_row *row)
{
    const struct masked *masked = task->data;
    const struct token_span sequence = masked->splits[place->split].sequences[place->index];
    const struct special_tokens special = tokenizer_special(task->tokenizer);
    const bool training = place->split == TASK_TRAINING;
    const struct rotary_random_key key = {
        .seed = training ? place->seed : 0, .stream = ROTARY_STREAM_MASK, .step = (uint32_t)place->split};
    const uint64_t number = (uint64_t)(training ? place->ordinal : place->index);
    row->tokens[0] = special.begin;
    memcpy(row->tokens + 1, sequence.tokens, (size_t)sequence.count * sizeof *row->tokens);
    row->tokens[sequence.count + 1] = special.end;
    masking_apply(masked->masking, key, number * MASKING_BLOCKS, row->tokens, row->classes,
                  sequence.count + 2);
}

static void fill(const struct task *task, const struct task_place *place, const struct task_row *row)
{
    const int64_t count = examples(task, place->split);
    const bool training = place->split == TASK_TRAINING;
    const struct example_place read = {.split = place->split,
                                       .index = training ? corpus_training_example(place, count).index
                                                         : place->row % count,
                                       .seed = place->seed,
                                       .ordinal = place->ordinal};
    const int64_t length = example(task, place->split, read.index).target_count;
    const int32_t padding = tokenizer_special(task->tokenizer).padding;
    fill_example(task, &read, &(struct example_row){.tokens = row->tokens, .classes = row->classes});
    for (int64_t i = length; i < task->shape.time; i++) {
        row->tokens[i] = padding >= 0 ? padding : 0;
        row->classes[i] = BATCH_IGNORED;
    }
    *row->length = (int32_t)length;
}

static struct task_counts counts(const struct task *task, enum task_split split)
{
    return split_of(task, split)->counts;
}

static const char *const locations[] = {"masked_data", "masked_cache", NULL};

const struct kind kind_masked = {
    .settings = table,
    .setting_count = sizeof table / sizeof table[0],
    .options_bytes = sizeof defaults,
    .defaults = &defaults,
    .excluding_key = excluding_key,
    .create = create,
    .destroy = destroy,
    .fill = fill,
    .examples = examples,
    .example = example,
    .fill_example = fill_example,
    .counts = counts,
    .text_hash = masked_text_hash,
    .locations = locations,
    .encoder = true,
};
