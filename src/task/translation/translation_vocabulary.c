/* SPDX-License-Identifier: Apache-2.0
 *
 * The vocabularies of the task translation, made from its training text or loaded from a run's folder.
 */
#include "base/fail.h"
#include "file/file.h"
#include "task/translation/translation.h"
#include "task/vocabulary_files.h"
#include "text/tokenizer/sentencepiece.h"
#include "text/unicode.h"

#include <stdlib.h>

/* ---- text ---- */

/* ---- vocabularies ---- */

/* The lines of the text that vocabularies are made from, as tokenizers read them. */
struct prepared {
    struct text_buffer text; /* lines, each with "\n" behind it */
    int64_t *starts;         /* [count + 1] */
    int64_t count;
};

static rotary_status prepare(struct prepared *prepared, const struct translation_options *options,
                             const struct parallel_text *text, int first, int last, rotary_error *error)
{
    struct text_buffer *buffer = &prepared->text;
    int64_t count = 0;
    for (int side = first; side <= last; side++)
        count += text->sides[side].count;
    prepared->starts = calloc((size_t)count + 1, sizeof *prepared->starts);
    if (!prepared->starts)
        return rotary_fail_memory(error, "for text");
    for (int side = first; side <= last; side++)
        for (int64_t i = 0; i < text->sides[side].count; i++) {
            rotary_status status =
                translation_append(options, text_lines_at(&text->sides[side], i), buffer, error);
            if (status != ROTARY_OK)
                return status;
            buffer->bytes[buffer->count++] = '\n'; /* translation_append made room for it */
            prepared->starts[++prepared->count] = buffer->count;
        }
    return ROTARY_OK;
}

static void free_prepared(struct prepared *prepared)
{
    text_buffer_free(&prepared->text);
    free(prepared->starts);
}

static rotary_status make_pieces(struct task *task, const struct translation_options *options,
                                 const struct prepared *prepared, struct tokenizer **tokenizer,
                                 rotary_error *error)
{
    struct sentencepiece_config config;
    sentencepiece_defaults(&config);
    config.model = (enum sentencepiece_model)options->model;
    config.vocabulary_size = options->vocab_size;
    config.character_coverage = 1.0;
    config.max_line_bytes = TEXT_LINE_BYTES;
    struct text_line *lines = calloc((size_t)prepared->count + 1, sizeof *lines);
    if (!lines)
        return rotary_fail_memory(error, "for text");
    for (int64_t i = 0; i < prepared->count; i++)
        lines[i] = (struct text_line){prepared->text.bytes + prepared->starts[i],
                                      prepared->starts[i + 1] - prepared->starts[i] - 1};
    rotary_status status = vocabulary_train_pieces(task, tokenizer, &config, lines, prepared->count, error);
    free(lines);
    return status;
}

/* The vocabulary of sides first ... TRANSLATION_SIDES - 1 of the training text, or of the first alone. */
static rotary_status make(struct task *task, const struct parallel_text *text, int first, bool both,
                          struct tokenizer **tokenizer, rotary_error *error)
{
    const struct translation_options *options = task_options(&task->config, TASK_TRANSLATION);
    const int last = both ? TRANSLATION_SIDES - 1 : first;
    struct prepared prepared = {0};
    rotary_status status = prepare(&prepared, options, text, first, last, error);
    if (status == ROTARY_OK && options->tokenizer == TRANSLATION_SENTENCEPIECE)
        status = make_pieces(task, options, &prepared, tokenizer, error);
    else if (status == ROTARY_OK)
        status = words_and_punctuation_create(tokenizer, prepared.text.bytes ? prepared.text.bytes : "",
                                              prepared.text.count, options->min_frequency, error);
    free_prepared(&prepared);
    return status;
}

static rotary_status make_all(struct task *task, const struct translation_options *options,
                              rotary_error *error)
{
    struct parallel_text *text = calloc(1, sizeof *text);
    if (!text)
        return rotary_fail_memory(error, "for a corpus");
    rotary_status status = parallel_text_read(text, options, TASK_TRAINING, error);
    if (status == ROTARY_OK)
        status = make(task, text, options->shared_vocabulary ? TRANSLATION_SOURCE : TRANSLATION_TARGET,
                      options->shared_vocabulary, &task->tokenizer, error);
    if (status == ROTARY_OK && !options->shared_vocabulary)
        status = make(task, text, TRANSLATION_SOURCE, false, &task->source_tokenizer, error);
    parallel_text_free(text);
    free(text);
    return status;
}

static rotary_status load(const struct task *task, const char *name, struct tokenizer **tokenizer,
                          rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, task->request.folder, name, error);
    if (status == ROTARY_OK)
        status = tokenizer_load(tokenizer, path, error);
    if (status != ROTARY_OK)
        return status;
    const struct special_tokens special = tokenizer_special(*tokenizer);
    if (special.begin >= 0 && special.end >= 0)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s has no tokens that begin and end a sentence: wanted a vocabulary with both", path);
}

static rotary_status load_all(struct task *task, rotary_error *error)
{
    rotary_status status = load(task, task->target_file, &task->tokenizer, error);
    if (status == ROTARY_OK && task->source_file != task->target_file)
        status = load(task, task->source_file, &task->source_tokenizer, error);
    return status;
}

static void name_files(struct task *task, const struct translation_options *options)
{
    const char *const *names = vocabulary_files[options->tokenizer];
    task->source_file = names[options->shared_vocabulary ? SHARED_VOCABULARY : SOURCE_VOCABULARY];
    task->target_file = names[options->shared_vocabulary ? SHARED_VOCABULARY : TARGET_VOCABULARY];
}

rotary_status translation_vocabularies(struct task *task, rotary_error *error)
{
    const struct translation_options *options = task_options(&task->config, TASK_TRANSLATION);
    name_files(task, options);
    rotary_status status;
    if (task->request.folder) {
        status = load_all(task, error);
    } else if (task->request.need == TASK_SIZES && options->tokenizer == TRANSLATION_SENTENCEPIECE) {
        task->vocabulary =
            (struct task_vocabulary){options->vocab_size, options->vocab_size, options->shared_vocabulary};
        return parallel_text_find(options, error);
    } else {
        status = make_all(task, options, error);
    }
    if (status == ROTARY_OK && options->shared_vocabulary)
        task->source_tokenizer = task->tokenizer;
    return status;
}
