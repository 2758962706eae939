/* SPDX-License-Identifier: Apache-2.0
 *
 * Language modelling: a decoder predicts each token of a text from those before it.
 *
 * By documents a sequence is a document between the begin token and the end token, or a part of a longer one,
 * and attention crosses no document's boundary. By windows all documents are one stream, as in nanoGPT
 * (Karpathy, 2022), and a sequence is a window of it.
 */
#include "task/text/language.h"

#include "base/fail.h"

#include <stdlib.h>

static const char *const tokenizers[] = {"words", "characters", "sentencepiece", "file", "bytes", NULL};
static const char *const windows[] = {"documents", "consecutive", "random", NULL};

static const struct setting table[] = {
    TEXT_CORPUS_SETTINGS("language", struct language_options,
                         "one document in 50, or of windows the last tenth,"),
    TEXT_VOCABULARY_SETTINGS("language", struct language_options, tokenizers,
                             "a token that begins or ends a document"),
    {"language_windows", SETTING_CHOICE, offsetof(struct language_options, windows), .choices = windows,
     .help = "what sequences of the language task are: documents, cut where they are longer, or windows of "
             "all text as one stream, consecutive or random ones"},
};
static const struct language_options defaults = {
    .corpus = TEXT_CORPUS_DEFAULTS,
    .vocabulary = {.tokenizer = TEXT_CHARACTERS,
                   .min_frequency = 1,
                   .model = SENTENCEPIECE_BPE,
                   .vocab_size = 8000},
    .windows = WINDOWS_OF_DOCUMENTS,
};

struct language {
    struct language_split splits[TASK_SPLITS];
};

static const struct language_options *options_of(const struct task_config *config)
{
    return task_options(config, TASK_LANGUAGE);
}

static const char *excluding_key(const struct task_config *config, const char *key, const char **wanted)
{
    const struct language_options *options = options_of(config);
    const char *other =
        text_corpus_excluding(&options->corpus, "language_data", "language_train", key, wanted);
    return other ? other : text_vocabulary_excluding(&options->vocabulary, "language_tokenizer", key, wanted);
}

/* ---- creation ---- */

static rotary_status read_splits(struct task *task, struct language *language, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    int split = task->request.need == TASK_HELD_OUT ? TASK_VALIDATION : TASK_TRAINING;
    for (; split < TASK_SPLITS && status == ROTARY_OK; split++)
        status = language_split_create(&language->splits[split], task, (enum task_split)split, error);
    return status;
}

static rotary_status create(struct task *task, rotary_error *error)
{
    const struct text_vocabulary_call vocabulary = {.corpus = language_corpus(&task->config),
                                                    .options = &options_of(&task->config)->vocabulary,
                                                    .spaces = true};
    rotary_status status = text_corpus_check(vocabulary.corpus, error);
    if (status == ROTARY_OK)
        status = text_vocabulary_find(task, &vocabulary, error);
    /* Where only its size is asked for, SentencePiece has no tokenizer yet. */
    if (status == ROTARY_OK && task->tokenizer && options_of(&task->config)->windows == WINDOWS_OF_DOCUMENTS)
        task->begin = tokenizer_begin(task->tokenizer);
    if (status != ROTARY_OK || task->request.need > TASK_HELD_OUT)
        return status;
    struct language *language = calloc(1, sizeof *language);
    if (!language)
        return rotary_fail_memory(error, "for a corpus");
    task->data = language;
    return read_splits(task, language, error);
}

static void destroy(struct task *task)
{
    struct language *language = task->data;
    if (!language)
        return;
    for (int split = 0; split < TASK_SPLITS; split++)
        language_split_free(&language->splits[split]);
    free(language);
}

/* ---- examples ---- */

static const struct language_split *split_of(const struct task *task, enum task_split split)
{
    return &((const struct language *)task->data)->splits[split];
}

static int64_t examples(const struct task *task, enum task_split split)
{
    return task->data ? split_of(task, split)->count : 0;
}

static struct task_example example(const struct task *task, enum task_split split, int64_t index)
{
    return (struct task_example){.target_count = language_split_length(split_of(task, split), index)};
}

static void fill(const struct task *task, const struct task_place *place, const struct task_row *row)
{
    language_split_read(split_of(task, place->split), place, row->tokens, row->classes);
}

static struct task_counts counts(const struct task *task, enum task_split split)
{
    return task->data ? split_of(task, split)->counts : (struct task_counts){0};
}

static rotary_status text_hash(const struct task_config *config, enum task_split split, uint64_t *hash,
                               rotary_error *error)
{
    return text_corpus_hash(language_corpus(config), split, hash, error);
}

static const char *const locations[] = {"language_data", "language_cache", NULL};

static const char *const vocabulary_keys[] = {VOCABULARY_KEYS("language"), NULL};

const struct task_type task_type_language = {
    .settings = table,
    .setting_count = sizeof table / sizeof table[0],
    .options_bytes = sizeof defaults,
    .defaults = &defaults,
    .excluding_key = excluding_key,
    .vocabulary_keys = vocabulary_keys,
    .create = create,
    .destroy = destroy,
    .examples = examples,
    .example = example,
    .fill = fill,
    .counts = counts,
    .text_hash = text_hash,
    .locations = locations,
    .cuts = true,
};
