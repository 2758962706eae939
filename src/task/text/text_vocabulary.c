/* SPDX-License-Identifier: Apache-2.0 */
#include "task/text/text_vocabulary.h"

#include "base/fail.h"
#include "file/file.h"
#include "task/vocabulary_files.h"
#include "text/corpus/text_sections.h"
#include "text/text_buffer.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

/* A vocabulary is made from so much text. Of more, lines are taken that are spread over all of it. */
enum { SAMPLE_BYTES = 16 << 20 };

/* ---- a sample of the training text ---- */

/* Lines, each with "\n" behind it. */
struct sample {
    struct text_buffer text;
    int64_t lines;
    double seen;   /* bytes of the files that were read, ... */
    int64_t total; /* ... and all of them */
    int64_t line;  /* of the file that is read, from 1 */
};

static rotary_status add_line(struct sample *sample, struct text_line line, rotary_error *error)
{
    rotary_status status = text_buffer_append(&sample->text, line.bytes, line.count, error);
    if (status == ROTARY_OK)
        status = text_buffer_append(&sample->text, "\n", 1, error);
    sample->lines += status == ROTARY_OK;
    return status;
}

/* Whether the sample has less of what is read than its share. */
static bool takes_line(const struct sample *sample)
{
    return (double)sample->text.count * (double)sample->total < sample->seen * SAMPLE_BYTES;
}

static rotary_status measure_file(struct sample *sample, const char *path, rotary_error *error)
{
    struct input input;
    rotary_status status = input_open(&input, path, error);
    if (status != ROTARY_OK)
        return status;
    sample->total += (int64_t)input.size;
    input_close(&input);
    return ROTARY_OK;
}

/* Adds the lines of a section; `from` and `to`: bytes of the files read before it and with it. */
static rotary_status sample_section(struct sample *sample, const struct text_section *section, int64_t from,
                                    int64_t to, rotary_error *error)
{
    const char *end = section->bytes + section->count, *next;
    rotary_status status = ROTARY_OK;
    for (const char *at = section->bytes; at < end && status == ROTARY_OK; at = next) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end,
                   *record = memchr(at, '\0', (size_t)(stop - at));
        stop = record ? record : stop;
        next = stop < end ? stop + 1 : end;
        sample->line += next > stop;
        sample->seen =
            (double)from + (double)(to - from) * (double)(next - section->bytes) / (double)section->count;
        const int64_t count = stop - at - (stop > at && stop[-1] == '\r'),
                      valid = utf8_valid_bytes(at, count);
        if (valid < count)
            return rotary_fail(error, ROTARY_BAD_FILE, "line %lld: byte 0x%02x is not UTF-8 text",
                               (long long)sample->line, (unsigned)(unsigned char)at[valid]);
        if (takes_line(sample))
            status = add_line(sample, (struct text_line){at, count}, error);
    }
    return status;
}

static rotary_status sample_text(struct sample *sample, const struct text_files *files,
                                 const struct text_corpus_options *options, rotary_error *error)
{
    struct text_sections sections;
    struct text_section section = {.bytes = ""};
    int64_t file = 0, last = 0;
    rotary_status status = ROTARY_OK;
    text_sections_start(&sections, files, (enum document_boundary)options->boundary, options->field);
    while (status == ROTARY_OK && section.bytes) {
        const int64_t before = sections.bytes;
        status = text_sections_next(&sections, &section, &file, error);
        sample->line = file == last ? sample->line : 0;
        last = file;
        if (status == ROTARY_OK && section.bytes) {
            rotary_error reason = {0};
            status = sample_section(sample, &section, before, sections.bytes, &reason);
            if (status != ROTARY_OK)
                (void)!rotary_fail(error, status, "%.300s, %s", files->paths[file], reason.message);
        }
        text_sections_release(&sections);
    }
    text_sections_close(&sections);
    return status;
}

static rotary_status sample_files(struct sample *sample, struct text_corpus corpus, rotary_error *error)
{
    struct text_paths named;
    struct text_files files = {0};
    rotary_status status = text_paths_find(&named, corpus, TASK_TRAINING, error);
    if (status != ROTARY_OK)
        return status;
    status = text_files_find(&files, (const char *const *)named.items, named.count, error);
    for (int64_t i = 0; i < files.count && status == ROTARY_OK; i++)
        status = measure_file(sample, files.paths[i], error);
    if (status == ROTARY_OK)
        status = sample_text(sample, &files, corpus.options, error);
    text_files_free(&files);
    text_paths_free(&named);
    return status;
}

static rotary_status sample_made(struct sample *sample, const struct text_corpus_options *options,
                                 rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int64_t i = 0; i < synthetic_document_count(options, TASK_TRAINING) && status == ROTARY_OK; i++) {
        char text[SYNTHETIC_DOCUMENT_BYTES];
        const int64_t bytes = synthetic_document(TASK_TRAINING, i, text);
        if (sample->text.count < SAMPLE_BYTES)
            status = add_line(sample, (struct text_line){text, bytes}, error);
    }
    return status;
}

/* ---- making ---- */

static rotary_status make_pieces(struct task *task, const struct text_vocabulary_call *call,
                                 const struct sample *sample, rotary_error *error)
{
    struct sentencepiece_config config;
    sentencepiece_defaults(&config);
    config.model = (enum sentencepiece_model)call->options->model;
    config.vocabulary_size = call->options->vocab_size;
    config.mask = call->mask;
    config.byte_fallback = call->spaces;
    config.max_line_bytes = TEXT_LINE_BYTES;
    struct text_line *lines = calloc((size_t)sample->lines + 1, sizeof *lines);
    if (!lines)
        return rotary_fail_memory(error, "for text");
    const char *at = sample->text.bytes, *const last = at + sample->text.count;
    for (int64_t i = 0; i < sample->lines; i++) {
        const char *end = memchr(at, '\n', (size_t)(last - at));
        lines[i] = (struct text_line){at, end - at};
        at = end + 1;
    }
    rotary_status status =
        vocabulary_train_pieces(task, &task->tokenizer, &config, lines, sample->lines, error);
    free(lines);
    return status;
}

static rotary_status make(struct task *task, const struct text_vocabulary_call *call, rotary_error *error)
{
    const struct text_vocabulary_options *options = call->options;
    const bool characters = options->tokenizer == TEXT_CHARACTERS;
    const struct words_config words = {.min_frequency = options->min_frequency,
                                       .punctuation = true,
                                       .characters = characters,
                                       .spaces = characters && call->spaces,
                                       .mask = call->mask};
    struct sample sample = {0};
    rotary_status status = call->corpus.options->data[0] ? sample_files(&sample, call->corpus, error)
                                                         : sample_made(&sample, call->corpus.options, error);
    if (status == ROTARY_OK && options->tokenizer == TEXT_SENTENCEPIECE)
        status = make_pieces(task, call, &sample, error);
    else if (status == ROTARY_OK)
        status = words_configured_create(&task->tokenizer, sample.text.bytes ? sample.text.bytes : "",
                                         sample.text.count, &words, error);
    text_buffer_free(&sample.text);
    return status;
}

/* ---- loading ---- */

static rotary_status load(struct task *task, const struct text_vocabulary_call *call, const char *path,
                          rotary_error *error)
{
    rotary_status status = vocabulary_load(task, path, error);
    if (status != ROTARY_OK)
        return status;
    const struct special_tokens special = tokenizer_special(task->tokenizer);
    if (!call->mask && special.begin < 0 && special.end < 0)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s has no token that begins or ends a document: wanted one of them", path);
    const char *missing = !call->mask         ? NULL
                          : special.begin < 0 ? "begin"
                          : special.end < 0   ? "end"
                          : special.mask < 0  ? "mask"
                                              : NULL;
    if (!missing)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s has no %s token: wanted a vocabulary with begin, end and mask, as rotary "
                       "tokenize train --mask makes it",
                       path, missing);
}

static rotary_status load_saved(struct task *task, const struct text_vocabulary_call *call,
                                rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = vocabulary_find_saved(path, task->request.folder, error);
    return status == ROTARY_OK ? load(task, call, path, error) : status;
}

static rotary_status load_named(struct task *task, const struct text_vocabulary_call *call,
                                rotary_error *error)
{
    const char *path = call->options->vocabulary;
    rotary_status status = vocabulary_check_named(call->corpus.task, path, error);
    return status == ROTARY_OK ? load(task, call, path, error) : status;
}

/* Without a vocabulary: its size, as far as it is known, and whether the text is there. */
static rotary_status find_size(struct task *task, const struct text_vocabulary_call *call,
                               rotary_error *error)
{
    struct text_paths paths;
    task->vocabulary.target = call->options->vocab_size;
    if (!call->corpus.options->data[0])
        return ROTARY_OK;
    rotary_status status = text_paths_find(&paths, call->corpus, TASK_TRAINING, error);
    if (status == ROTARY_OK)
        text_paths_free(&paths);
    return status;
}

rotary_status text_vocabulary_find(struct task *task, const struct text_vocabulary_call *call,
                                   rotary_error *error)
{
    const struct text_vocabulary_options *options = call->options;
    task->target_file = vocabulary_files[options->tokenizer == TEXT_SENTENCEPIECE][SHARED_VOCABULARY];
    if (task->request.folder)
        return load_saved(task, call, error);
    if (options->tokenizer == TEXT_FILE)
        return load_named(task, call, error);
    if (options->tokenizer == TEXT_BYTES)
        return bytes_create(&task->tokenizer, error);
    if (options->tokenizer == TEXT_SENTENCEPIECE && task->request.need == TASK_SIZES)
        return find_size(task, call, error);
    return make(task, call, error);
}

/* ---- settings ---- */

const char *text_vocabulary_excluding(const struct text_vocabulary_options *options, const char *tokenizer,
                                      const char *key, const char **wanted)
{
    enum { COUNTED = 1U << TEXT_WORDS | 1U << TEXT_CHARACTERS, PIECES = 1U << TEXT_SENTENCEPIECE };
    static const struct tokenizer_key rows[] = {
        {"_vocabulary", 1U << TEXT_FILE, "the tokenizer file"},
        {"_min_frequency", COUNTED, "the tokenizer words or characters"},
        {"_model_type", PIECES, "the tokenizer sentencepiece"},
        {"_vocab_size", PIECES, "the tokenizer sentencepiece"}};
    const size_t length = strlen(tokenizer) - strlen("_tokenizer");
    if (strncmp(key, tokenizer, length) != 0)
        return NULL;
    return tokenizer_excluding_key(tokenizer, rows, sizeof rows / sizeof *rows, options->tokenizer,
                                   key + length, wanted);
}
