/* SPDX-License-Identifier: Apache-2.0
 *
 * Classification and regression of texts and of pairs of texts (Devlin et al., "BERT", 2019): a sequence is
 * the begin token ([CLS]), the text and the end token ([SEP]), and of a pair the second text and another end
 * token. What is to be predicted is one class, or one number, of the sequence. A text with choices has a
 * sequence with each of them, and what is to be predicted is which of these is right.
 */
#include "task/classification/classification.h"

#include "base/fail.h"
#include "base/integer.h"
#include "run_folder/folder.h"
#include "task/classification/label_names.h"
#include "text/tokenizer/sentencepiece.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const tokenizers[] = {"words", "characters", "sentencepiece", "file", NULL},
                         *const splits[] = {"files", "sentences", NULL};

#define MEMBER(member) offsetof(struct classification_options, member)
static const struct setting table[] = {
    {"classification_data", SETTING_TEXT, MEMBER(data),
     .help = "folder of the labelled texts of the classification task; empty: synthetic sentences"},
    {"classification_examples", SETTING_INTEGER, MEMBER(examples), 1, 1 << 24, NULL,
     .help = "synthetic sentences of the classification task to train on"},
    {"classification_held_out", SETTING_INTEGER, MEMBER(held_out), 1, 1 << 20, NULL,
     .help = "synthetic sentences of the classification task for validation, and as many for test"},
    {"classification_dataset", SETTING_CHOICE, MEMBER(dataset), .choices = dataset_names,
     .help = "dataset whose files the folder has, of GLUE or scm, or table: files as the next settings say"},
    {"classification_split", SETTING_CHOICE, MEMBER(split), .choices = splits,
     .help =
         "as the files are split, or all of them anew by sentence, or by document where they have choices"},
    {"classification_held_out_share", SETTING_REAL, MEMBER(held_out_share), 0.001, 0.45, NULL,
     .help = "of the sentences: for validation, and as many for test, where they are split anew"},
    {"classification_train", SETTING_TEXT, MEMBER(splits[TASK_TRAINING]), .help = "file to train on"},
    {"classification_validation", SETTING_TEXT, MEMBER(splits[TASK_VALIDATION]),
     .help = "file to validate on"},
    {"classification_test", SETTING_TEXT, MEMBER(splits[TASK_TEST]),
     .help = "file of the test set of the classification task; empty: there is none"},
    {"classification_format", SETTING_CHOICE, MEMBER(format), .choices = table_format_names,
     .help = "format of the files; auto: by their ending"},
    {"classification_quoting", SETTING_CHOICE, MEMBER(quoting), .choices = table_quoting_names,
     .help = "quotes around fields: none; double, as CSV has them; auto: in csv alone"},
    {"classification_header", SETTING_BOOLEAN, MEMBER(header),
     .help = "the first row has the names of the columns"},
    {"classification_text", SETTING_TEXT, MEMBER(text),
     .help = "column of the text, or the first text of a pair: its name, or its number from 1"},
    {"classification_pair", SETTING_TEXT, MEMBER(pair),
     .help = "column of the second text; empty: there is none"},
    {"classification_choices", SETTING_TEXT, MEMBER(choices),
     .help = "columns of the choices of a text, separated by commas, of which one is right; empty: none"},
    {"classification_label", SETTING_TEXT, MEMBER(label),
     .help = "column of the label; empty: the first of the choices is right, and they are shuffled"},
    {"classification_regression", SETTING_BOOLEAN, MEMBER(regression),
     .help = "labels are numbers to be predicted, not names of classes"},
    {"classification_score", SETTING_CHOICE, MEMBER(score), .choices = label_score_names,
     .help = "score that decides: accuracy, f1, ...; auto: that of the dataset"},
    {"classification_tokenizer", SETTING_CHOICE, MEMBER(tokenizer), .choices = tokenizers,
     .help = "how the texts of the classification task become tokens"},
    {"classification_vocabulary", SETTING_TEXT, MEMBER(vocabulary),
     .help = "file of the tokenizer of classification_tokenizer file"},
    {"classification_min_frequency", SETTING_INTEGER, MEMBER(min_frequency), 1, 1 << 20, NULL,
     .help = "occurrences in the training texts that make a word or character part of the vocabulary"},
    {"classification_model_type", SETTING_CHOICE, MEMBER(model), .choices = sentencepiece_model_names,
     .help = "SentencePiece model of the classification task"},
    {"classification_vocab_size", SETTING_INTEGER, MEMBER(vocab_size), 16, 1 << 20, NULL,
     .help = "tokens of a SentencePiece vocabulary of the classification task"},
};
static const struct classification_options defaults = {
    .examples = 20000,
    .held_out = 1000,
    .dataset = DATASET_TABLE,
    .held_out_share = 0.125,
    .splits = {"train.tsv", "dev.tsv", ""},
    .format = TABLE_AUTO,
    .quoting = TABLE_QUOTING_AUTO,
    .header = true,
    .text = "sentence",
    .label = "label",
    .score = LABEL_SCORES,
    .min_frequency = 2,
    .model = SENTENCEPIECE_BPE,
    .vocab_size = 8000,
};

/* ---- settings ---- */

static const char *excluding_text(const struct classification_options *options, const char *key,
                                  const char **wanted)
{
    static const char *const of_files[] = {"classification_dataset", "classification_split", NULL},
                             *const of_synthetic[] = {"classification_examples", "classification_held_out",
                                                      NULL},
                             *const of_tables[] = {"classification_train",      "classification_validation",
                                                   "classification_test",       "classification_format",
                                                   "classification_quoting",    "classification_header",
                                                   "classification_text",       "classification_pair",
                                                   "classification_choices",    "classification_label",
                                                   "classification_regression", NULL},
                             *const of_no_choices[] = {"classification_pair", "classification_regression",
                                                       NULL};
    const bool synthetic = options->data[0] == '\0', of_table = is_one_of(key, of_tables),
               of_share = strcmp(key, "classification_held_out_share") == 0;
    if (synthetic ? of_table || of_share || is_one_of(key, of_files) : is_one_of(key, of_synthetic)) {
        *wanted = synthetic ? "a folder in classification_data" : "no classification_data";
        return "classification_data";
    }
    if (of_table && options->dataset != DATASET_TABLE) {
        *wanted = "classification_dataset table";
        return "classification_dataset";
    }
    if (options->choices[0] && is_one_of(key, of_no_choices)) {
        *wanted = "no classification_choices";
        return "classification_choices";
    }
    if (!of_share || options->split == CLASSIFICATION_SENTENCES)
        return NULL;
    *wanted = "classification_split sentences";
    return "classification_split";
}

/* The setting that says that the files are records of JSON: their format, or where that follows from the
 * endings of all their names, the first of these. NULL: some are none, or nothing says what they are. */
static const char *setting_of_records(const struct classification_options *options)
{
    if (options->format != TABLE_AUTO)
        return options->format == TABLE_JSONL ? "classification_format" : NULL;
    for (int split = 0; split < TASK_SPLITS; split++)
        if (options->splits[split][0] && table_format_of(options->splits[split]) != TABLE_JSONL)
            return NULL;
    return options->splits[TASK_TRAINING][0] ? "classification_train" : NULL;
}

/* Records have neither a header nor quotes around fields. */
static const char *excluding_format(const struct classification_options *options, const char *key,
                                    const char **wanted)
{
    static const char *const of_fields[] = {"classification_quoting", "classification_header", NULL};
    *wanted = "a table of tsv or csv";
    return is_one_of(key, of_fields) ? setting_of_records(options) : NULL;
}

static const char *excluding_tokenizer(const struct classification_options *options, const char *key,
                                       const char **wanted)
{
    enum {
        PIECES = 1U << CLASSIFICATION_SENTENCEPIECE,
        COUNTED = 1U << CLASSIFICATION_WORDS | 1U << CLASSIFICATION_CHARACTERS,
        OF_A_FILE = 1U << CLASSIFICATION_FILE
    };
    static const struct tokenizer_key rows[] = {
        {"classification_vocabulary", OF_A_FILE, "classification_tokenizer file"},
        {"classification_min_frequency", COUNTED, "classification_tokenizer words or characters"},
        {"classification_model_type", PIECES, "classification_tokenizer sentencepiece"},
        {"classification_vocab_size", PIECES, "classification_tokenizer sentencepiece"}};
    return tokenizer_excluding_key("classification_tokenizer", rows, sizeof rows / sizeof *rows,
                                   options->tokenizer, key, wanted);
}

static const char *excluding_key(const struct task_config *config, const char *key, const char **wanted)
{
    const struct classification_options *options = classification_options(config);
    const char *other = excluding_text(options, key, wanted);
    if (!other)
        other = excluding_format(options, key, wanted);
    return other ? other : excluding_tokenizer(options, key, wanted);
}

/* ---- creation ---- */

struct classification {
    struct labelled_corpus corpus;
    enum label_score score;
    struct label_names saved; /* of a run's folder, in place of the corpus; else all 0 */
    struct classification_split_tokens splits[TASK_SPLITS];
};

static bool has_pairs(const struct labelled_corpus *corpus)
{
    return corpus->choices > 0 ||
           (corpus->counts[TASK_TRAINING] > 0 && corpus->examples[TASK_TRAINING][0].second.bytes);
}

static rotary_status encode_splits(struct task *task, struct classification *own, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int split = 0; split < TASK_SPLITS && status == ROTARY_OK; split++)
        status = classification_tokens(&own->splits[split], task, own->corpus.examples[split],
                                       own->corpus.counts[split], error);
    return status;
}

static struct task_labels labels_of(const struct classification *own)
{
    if (own->saved.object)
        return own->saved.labels;
    return (struct task_labels){.classes = own->corpus.classes,
                                .names = own->corpus.names,
                                .regression = own->corpus.classes == 0,
                                .score = own->score};
}

/* The labels of a run's folder are those of its corpus, whose text may be another by now. */
static rotary_status check_saved(const struct classification *own, const struct label_names *saved,
                                 const char *folder, rotary_error *error)
{
    const struct task_labels labels = labels_of(own);
    const char *path = own->corpus.paths[TASK_TRAINING];
    bool same = labels.classes == saved->labels.classes;
    for (int i = 0; same && i < labels.classes; i++)
        same =
            labels.names[i].count == saved->labels.names[i].count &&
            memcmp(labels.names[i].bytes, saved->labels.names[i].bytes, (size_t)labels.names[i].count) == 0;
    return same ? ROTARY_OK
                : rotary_fail(error, ROTARY_BAD_FILE,
                              "%s: the labels of its model are other ones than those of %s: wanted the same",
                              folder, path[0] ? path : "the synthetic sentences");
}

/* With choices a label is one of them. */
static rotary_status check_saved_choices(const struct task *task, const struct label_names *saved,
                                         rotary_error *error)
{
    const int choices = classification_choices(classification_options(&task->config));
    if (choices == 0 || saved->labels.classes == choices)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s: its " FOLDER_LABELS " has %d labels, wanted %d, one for each choice",
                       task->request.folder, saved->labels.classes, choices);
}

/* The labelled texts; of a run's own folder the names of its labels, where they are enough. */
static rotary_status read_labels(struct classification *own, const struct task *task, rotary_error *error)
{
    const struct task_request *request = &task->request;
    struct label_names saved = {0};
    rotary_status status = ROTARY_OK;
    if (request->own)
        status = label_names_load(&saved, request->folder, error);
    if (request->own && request->need >= TASK_TOKENIZERS) {
        own->saved = saved;
        return status == ROTARY_OK ? check_saved_choices(task, &saved, error) : status;
    }
    if (status == ROTARY_OK)
        status =
            classification_corpus(&own->corpus, &own->score, classification_options(&task->config), error);
    if (status == ROTARY_OK && request->own)
        status = check_saved(own, &saved, request->folder, error);
    label_names_free(&saved);
    return status;
}

static rotary_status create(struct task *task, rotary_error *error)
{
    struct classification *own = calloc(1, sizeof *own);
    if (!own)
        return rotary_fail_memory(error, "for a corpus");
    task->data = own;
    rotary_status status = read_labels(own, task, error);
    if (status != ROTARY_OK)
        return status;
    task->shape.segments = own->saved.object ? own->saved.pairs : has_pairs(&own->corpus);
    task->shape.labels = true;
    task->shape.values = labels_of(own).regression;
    task->shape.choices = classification_choices(classification_options(&task->config));
    task->shape.time *= max_i64(task->shape.choices, 1);
    status = classification_vocabulary(task, &own->corpus, error);
    if (status == ROTARY_OK && task->request.need <= TASK_HELD_OUT)
        status = encode_splits(task, own, error);
    return status;
}

static void destroy(struct task *task)
{
    struct classification *own = task->data;
    if (!own)
        return;
    for (int split = 0; split < TASK_SPLITS; split++)
        classification_tokens_free(&own->splits[split]);
    labelled_corpus_free(&own->corpus);
    label_names_free(&own->saved);
    free(own);
}

static rotary_status save(const struct task *task, const char *folder, rotary_error *error)
{
    const struct task_labels labels = labels_of(task->data);
    return label_names_save(&labels, task->shape.segments, folder, error);
}

/* ---- examples ---- */

/* The sequences of an example. */
static int64_t sequences_of(const struct task *task)
{
    return max_i64(task->shape.choices, 1);
}

static const struct classification *data_of(const struct task *task)
{
    return task->data;
}

static int64_t examples(const struct task *task, enum task_split split)
{
    return data_of(task)->splits[split].count / sequences_of(task);
}

static struct task_example example(const struct task *task, enum task_split split, int64_t index)
{
    const int64_t sequences = sequences_of(task);
    const int64_t *starts = data_of(task)->splits[split].starts + index * sequences;
    return (struct task_example){.target_count = starts[sequences] - starts[0],
                                 .starts = task->shape.choices > 0 ? starts : NULL};
}

static void fill(const struct task *task, const struct task_place *place, const struct task_row *row)
{
    const struct classification *own = data_of(task);
    const struct classification_split_tokens *split = &own->splits[place->split];
    const struct labelled_example *labelled = &own->corpus.examples[place->split][place->index];
    const int64_t first = place->index * sequences_of(task), end = first + sequences_of(task),
                  begin = split->starts[first];
    memcpy(row->tokens, split->tokens + begin, (size_t)(split->starts[end] - begin) * sizeof *row->tokens);
    row->classes[0] = own->corpus.classes > 0 ? labelled->class : 0;
    for (int64_t s = first; row->segments && s < end; s++)
        for (int64_t i = split->starts[s]; i < split->starts[s + 1]; i++)
            row->segments[i - begin] = i - split->starts[s] >= split->seconds[s];
    if (row->value)
        *row->value = (float)labelled->value;
}

static struct task_counts counts(const struct task *task, enum task_split split)
{
    return data_of(task)->splits[split].counts;
}

static struct task_labels labels(const struct task *task)
{
    return labels_of(data_of(task));
}

static int choices(const struct task_config *config)
{
    return classification_choices(classification_options(config));
}

const struct labelled_corpus *task_labelled(const struct task *task)
{
    return task->type == &task_type_classification ? &data_of(task)->corpus : NULL;
}

static rotary_status text_hash(const struct task_config *config, enum task_split split, uint64_t *hash,
                               rotary_error *error)
{
    struct labelled_corpus *corpus = malloc(sizeof *corpus);
    enum label_score score;
    if (!corpus)
        return rotary_fail_memory(error, "for a corpus");
    rotary_status status = classification_corpus(corpus, &score, classification_options(config), error);
    if (status == ROTARY_OK) {
        *hash = labelled_corpus_hash(corpus, split);
        labelled_corpus_free(corpus);
    }
    free(corpus);
    return status;
}

static const char *const locations[] = {"classification_data", NULL};

static const char *const vocabulary_keys[] = {VOCABULARY_KEYS("classification"), NULL};

const struct task_type task_type_classification = {
    .settings = table,
    .setting_count = sizeof table / sizeof table[0],
    .options_bytes = sizeof defaults,
    .defaults = &defaults,
    .excluding_key = excluding_key,
    .vocabulary_keys = vocabulary_keys,
    .create = create,
    .destroy = destroy,
    .save = save,
    .examples = examples,
    .example = example,
    .fill = fill,
    .choices = choices,
    .labels = labels,
    .counts = counts,
    .text_hash = text_hash,
    .locations = locations,
    .encoder = true,
};
