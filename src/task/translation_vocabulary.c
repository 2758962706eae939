/* SPDX-License-Identifier: Apache-2.0
 *
 * The vocabularies of the task translation, made from its training text or loaded from a run's folder.
 */
#include "base/fail.h"
#include "base/integer.h"
#include "file/file.h"
#include "task/translation.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 1 << 10 };

/* ---- text ---- */

static rotary_status reserve(struct text_buffer *buffer, int64_t wanted, rotary_error *error)
{
    if (buffer->count + wanted <= buffer->capacity)
        return ROTARY_OK;
    const int64_t capacity = max_i64(max_i64(2 * buffer->capacity, FIRST_BYTES), buffer->count + wanted);
    char *bytes = realloc(buffer->bytes, (size_t)capacity);
    if (!bytes)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for text");
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return ROTARY_OK;
}

static bool is_mark(char letter)
{
    return letter != '\0' && strchr(".,;:!?()\"", letter) != NULL;
}

static bool is_space(char letter)
{
    return letter == ' ' || (letter >= '\t' && letter <= '\r');
}

/* Appends a word without white space, the marks before and after it apart from it. There is room. */
static void append_word(const char *word, int64_t count, struct text_buffer *buffer)
{
    int64_t begin = 0, end = count;
    while (begin < end && is_mark(word[begin]))
        begin++;
    while (end > begin && is_mark(word[end - 1]))
        end--;
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && (i <= begin || i >= end))
            buffer->bytes[buffer->count++] = ' ';
        buffer->bytes[buffer->count++] = word[i];
    }
}

static rotary_status append_cased(const struct translation_options *options, struct text_line line,
                                  struct text_buffer *buffer, rotary_error *error)
{
    rotary_status status = reserve(buffer, 2 * line.count + 1, error);
    for (int64_t i = 0, end; i < line.count && status == ROTARY_OK; i = end) {
        end = i + 1;
        if (options->tokenizer != TRANSLATION_WORDS || is_space(line.bytes[i])) {
            buffer->bytes[buffer->count++] = line.bytes[i];
            continue;
        }
        while (end < line.count && !is_space(line.bytes[end]))
            end++;
        append_word(line.bytes + i, end - i, buffer);
    }
    return status;
}

rotary_status translation_append(const struct translation_options *options, struct text_line line,
                                 struct text_buffer *buffer, rotary_error *error)
{
    if (!options->lowercase)
        return append_cased(options, line, buffer, error);
    char *lower;
    int64_t bytes;
    rotary_status status = unicode_lowercase(line.bytes, line.count, &lower, &bytes, error);
    if (status != ROTARY_OK)
        return status;
    status = append_cased(options, (struct text_line){lower, bytes}, buffer, error);
    free(lower);
    return status;
}

/* ---- vocabularies ---- */

static rotary_status append_lines(const struct translation_options *options, const struct text_lines *lines,
                                  struct text_buffer *buffer, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int64_t i = 0; i < lines->count && status == ROTARY_OK; i++) {
        status = translation_append(options, text_lines_at(lines, i), buffer, error);
        if (status == ROTARY_OK)
            buffer->bytes[buffer->count++] = '\n'; /* translation_append made room for it */
    }
    return status;
}

/* The vocabulary of sides first ... last of the training text. */
static rotary_status make(const struct translation_options *options, const struct parallel_text *text,
                          int first, int last, struct tokenizer **tokenizer, rotary_error *error)
{
    struct text_buffer buffer = {0};
    rotary_status status = ROTARY_OK;
    for (int side = first; side <= last && status == ROTARY_OK; side++)
        status = append_lines(options, &text->sides[side], &buffer, error);
    if (status == ROTARY_OK)
        status = words_create(tokenizer, buffer.bytes ? buffer.bytes : "", buffer.count,
                              options->min_frequency, error);
    free(buffer.bytes);
    return status;
}

static rotary_status make_all(struct task *task, rotary_error *error)
{
    const struct translation_options *options = task_options(&task->config, TASK_TRANSLATION);
    struct parallel_text *text = calloc(1, sizeof *text);
    if (!text)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a corpus");
    rotary_status status = parallel_text_read(text, options, TASK_TRAINING, error);
    if (status == ROTARY_OK)
        status = make(options, text, options->shared_vocabulary ? TRANSLATION_SOURCE : TRANSLATION_TARGET,
                      TRANSLATION_TARGET, &task->tokenizer, error);
    if (status == ROTARY_OK && !options->shared_vocabulary)
        status = make(options, text, TRANSLATION_SOURCE, TRANSLATION_SOURCE, &task->source_tokenizer, error);
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

rotary_status translation_vocabularies(struct task *task, rotary_error *error)
{
    const struct translation_options *options = task_options(&task->config, TASK_TRANSLATION);
    task->target_file = options->shared_vocabulary ? "vocabulary.json" : "target.json";
    task->source_file = options->shared_vocabulary ? task->target_file : "source.json";
    rotary_status status = task->request.folder ? load_all(task, error) : make_all(task, error);
    if (status == ROTARY_OK && options->shared_vocabulary)
        task->source_tokenizer = task->tokenizer;
    return status;
}
