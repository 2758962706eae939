/* SPDX-License-Identifier: Apache-2.0
 *
 * The vocabulary of the task classification: from a run's folder, from a file, or made from the training
 * texts.
 */
#include "base/fail.h"
#include "task/classification/classification.h"
#include "task/vocabulary_files.h"
#include "text/text_buffer.h"

#include <stdlib.h>

/* ---- made from the training texts ---- */

/* The texts, each with "\n" behind it. */
struct joined {
    struct text_buffer text;
    struct text_line *lines; /* in `text` once all are there; before: without a place */
    int64_t line_count;
};

static rotary_status add_text(struct joined *joined, const struct text_line *text, rotary_error *error)
{
    joined->lines[joined->line_count++].count = text->count;
    rotary_status status = text_buffer_append(&joined->text, text->bytes, text->count, error);
    return status == ROTARY_OK ? text_buffer_append(&joined->text, "\n", 1, error) : status;
}

static rotary_status join_texts(struct joined *joined, const struct labelled_corpus *corpus,
                                rotary_error *error)
{
    const int64_t examples = corpus->counts[TASK_TRAINING];
    joined->lines = calloc(LABELLED_MAX_TEXTS * (size_t)examples + 1, sizeof *joined->lines);
    if (!joined->lines)
        return rotary_fail_memory(error, "for text");
    rotary_status status = ROTARY_OK;
    for (int64_t i = 0; i < examples && status == ROTARY_OK; i++) {
        struct text_line texts[LABELLED_MAX_TEXTS];
        const int count = labelled_texts(corpus, &corpus->examples[TASK_TRAINING][i], texts);
        for (int j = 0; j < count && status == ROTARY_OK; j++)
            status = add_text(joined, &texts[j], error);
    }
    const char *at = joined->text.bytes;
    for (int64_t i = 0; i < joined->line_count && status == ROTARY_OK; i++) {
        joined->lines[i].bytes = at;
        at += joined->lines[i].count + 1;
    }
    return status;
}

static rotary_status make_pieces(struct task *task, const struct joined *joined, rotary_error *error)
{
    const struct classification_options *options = classification_options(&task->config);
    struct sentencepiece_config config;
    sentencepiece_defaults(&config);
    config.model = (enum sentencepiece_model)options->model;
    config.vocabulary_size = options->vocab_size;
    config.max_line_bytes = TEXT_LINE_BYTES;
    return vocabulary_train_pieces(task, &task->tokenizer, &config, joined->lines, joined->line_count, error);
}

static rotary_status make(struct task *task, const struct labelled_corpus *corpus, rotary_error *error)
{
    const struct classification_options *options = classification_options(&task->config);
    const struct words_config words = {.min_frequency = options->min_frequency,
                                       .punctuation = true,
                                       .characters = options->tokenizer == CLASSIFICATION_CHARACTERS};
    struct joined joined = {0};
    rotary_status status = join_texts(&joined, corpus, error);
    if (status == ROTARY_OK && options->tokenizer == CLASSIFICATION_SENTENCEPIECE)
        status = make_pieces(task, &joined, error);
    else if (status == ROTARY_OK)
        status = words_configured_create(&task->tokenizer, joined.text.bytes ? joined.text.bytes : "",
                                         joined.text.count, &words, error);
    text_buffer_free(&joined.text);
    free(joined.lines);
    return status;
}

/* ---- loaded ---- */

static rotary_status load(struct task *task, const char *path, rotary_error *error)
{
    rotary_status status = vocabulary_load(task, path, error);
    if (status != ROTARY_OK)
        return status;
    const struct special_tokens special = tokenizer_special(task->tokenizer);
    if (special.begin >= 0 && special.end >= 0)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s has no tokens that begin and end a text: wanted a vocabulary with both", path);
}

static rotary_status load_saved(struct task *task, const char *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = vocabulary_find_saved(path, folder, error);
    return status == ROTARY_OK ? load(task, path, error) : status;
}

static rotary_status load_named(struct task *task, const char *path, rotary_error *error)
{
    rotary_status status = vocabulary_check_named(task_names[TASK_CLASSIFICATION], path, error);
    return status == ROTARY_OK ? load(task, path, error) : status;
}

rotary_status classification_vocabulary(struct task *task, const struct labelled_corpus *corpus,
                                        rotary_error *error)
{
    const struct classification_options *options = classification_options(&task->config);
    task->target_file =
        vocabulary_files[options->tokenizer == CLASSIFICATION_SENTENCEPIECE][SHARED_VOCABULARY];
    if (task->request.folder)
        return load_saved(task, task->request.folder, error);
    if (options->tokenizer == CLASSIFICATION_FILE)
        return load_named(task, options->vocabulary, error);
    if (options->tokenizer == CLASSIFICATION_SENTENCEPIECE && task->request.need == TASK_SIZES) {
        task->vocabulary.target = options->vocab_size;
        return ROTARY_OK;
    }
    return make(task, corpus, error);
}
