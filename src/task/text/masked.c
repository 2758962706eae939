/* SPDX-License-Identifier: Apache-2.0
 *
 * Masked language modelling: some tokens of a text are masked, and an encoder that sees the others before and
 * behind them is to predict them (Devlin et al., "BERT", 2019).
 *
 * A sequence is a document, or a part of a longer one, between the begin token ([CLS]) and the end token
 * ([SEP]). What is masked is drawn anew each time that a sequence is read (task/text/masking.h): in training
 * from the run's seed and the ordinal of the sequence among all that are read, else from the sequence alone,
 * so that every evaluation of every run has the same masks.
 */
#include "task/text/masked.h"

#include "base/fail.h"
#include "task/text/masking.h"

#include <stdlib.h>
#include <string.h>

static const char *const tokenizers[] = {"words", "characters", "sentencepiece", "file", NULL};

#define MEMBER(member) offsetof(struct masked_options, member)
static const struct setting table[] = {
    TEXT_CORPUS_SETTINGS("masked", struct masked_options, "one document in 50"),
    TEXT_VOCABULARY_SETTINGS("masked", struct masked_options, tokenizers, "a mask"),
    {"masked_probability", SETTING_REAL, MEMBER(probability), 0.001, 0.999, NULL,
     .help = "share of the tokens that are to be predicted"},
    {"masked_whole_words", SETTING_BOOLEAN, MEMBER(whole_words),
     .help = "all tokens of a word are to be predicted, or none"},
};
static const struct masked_options defaults = {
    .corpus = TEXT_CORPUS_DEFAULTS,
    .vocabulary = {.tokenizer = TEXT_WORDS,
                   .min_frequency = 2,
                   .model = SENTENCEPIECE_BPE,
                   .vocab_size = 8000},
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

/* Words and characters are whole. */
static const char *excluding_words(const struct masked_options *options, const char *key, const char **wanted)
{
    const int tokenizer = options->vocabulary.tokenizer;
    const bool whole = tokenizer == TEXT_WORDS || tokenizer == TEXT_CHARACTERS;
    if (strcmp(key, "masked_whole_words") != 0 || !whole)
        return NULL;
    *wanted = "the tokenizer sentencepiece";
    return "masked_tokenizer";
}

static const char *excluding_key(const struct task_config *config, const char *key, const char **wanted)
{
    const struct masked_options *options = options_of(config);
    const char *other = text_corpus_excluding(&options->corpus, "masked_data", "masked_train", key, wanted);
    if (!other)
        other = text_vocabulary_excluding(&options->vocabulary, "masked_tokenizer", key, wanted);
    return other ? other : excluding_words(options, key, wanted);
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
    const struct text_vocabulary_call vocabulary = {.corpus = masked_corpus(&task->config),
                                                    .options = &options_of(&task->config)->vocabulary,
                                                    .mask = true};
    rotary_status status = text_corpus_check(vocabulary.corpus, error);
    if (status == ROTARY_OK)
        status = text_vocabulary_find(task, &vocabulary, error);
    if (status != ROTARY_OK || task->request.need > TASK_HELD_OUT)
        return status;
    struct masked *masked = calloc(1, sizeof *masked);
    if (!masked)
        return rotary_fail_memory(error, "for a corpus");
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

static void fill(const struct task *task, const struct task_place *place, const struct task_row *row)
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

static struct task_counts counts(const struct task *task, enum task_split split)
{
    return split_of(task, split)->counts;
}

static rotary_status text_hash(const struct task_config *config, enum task_split split, uint64_t *hash,
                               rotary_error *error)
{
    return text_corpus_hash(masked_corpus(config), split, hash, error);
}

static const char *const locations[] = {"masked_data", "masked_cache", NULL};

static const char *const vocabulary_keys[] = {VOCABULARY_KEYS("masked"), NULL};

const struct task_type task_type_masked = {
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
    .encoder = true,
};
