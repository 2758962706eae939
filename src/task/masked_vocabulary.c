/* SPDX-License-Identifier: Apache-2.0
 *
 * The vocabulary of the task masked: from the run's folder, from a file, or made from the training text.
 */
#include "base/fail.h"
#include "base/integer.h"
#include "task/masked.h"
#include "task/vocabulary_files.h"
#include "text/text_files.h"

#include <stdlib.h>
#include <string.h>

/* A vocabulary is made from so much text. Of more, lines are taken that are spread over all of it. */
enum { SAMPLE_BYTES = 16 << 20, FIRST_BYTES = 1 << 16 };

/* ---- a sample of the training text ---- */

/* Lines, each with "\n" behind it. */
struct sample {
    char *bytes;
    int64_t count, capacity;
    int64_t lines;
    int64_t seen, total; /* bytes of the text, read and in all */
};

static rotary_status add_line(struct sample *sample, struct text_line line, rotary_error *error)
{
    const int64_t wanted = sample->count + line.count + 1;
    if (wanted > sample->capacity) {
        const int64_t capacity = max_i64(max_i64(2 * sample->capacity, FIRST_BYTES), wanted);
        char *bytes = realloc(sample->bytes, (size_t)capacity);
        if (!bytes)
            return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for text");
        sample->bytes = bytes;
        sample->capacity = capacity;
    }
    memcpy(sample->bytes + sample->count, line.bytes, (size_t)line.count);
    sample->count = wanted;
    sample->bytes[wanted - 1] = '\n';
    sample->lines++;
    return ROTARY_OK;
}

/* Whether the sample has less of what is read than its share. */
static bool takes_line(const struct sample *sample)
{
    return sample->total <= SAMPLE_BYTES ||
           (double)sample->count * (double)sample->total < (double)sample->seen * SAMPLE_BYTES;
}

static rotary_status sample_file(struct sample *sample, const char *path, rotary_error *error)
{
    struct text_reader reader;
    rotary_status status = text_reader_open(&reader, path, error);
    while (status == ROTARY_OK) {
        struct text_line line;
        status = text_reader_next(&reader, &line, error);
        if (status != ROTARY_OK || !line.bytes)
            break;
        sample->seen += line.count + 1;
        if (takes_line(sample))
            status = add_line(sample, line, error);
    }
    text_reader_close(&reader);
    return status;
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

static rotary_status sample_files(struct sample *sample, const struct masked_options *options,
                                  rotary_error *error)
{
    struct masked_paths named;
    struct text_files files = {0};
    rotary_status status = masked_paths_find(&named, options, TASK_TRAINING, error);
    if (status != ROTARY_OK)
        return status;
    status = text_files_find(&files, (const char *const *)named.items, named.count, error);
    for (int64_t i = 0; i < files.count && status == ROTARY_OK; i++)
        status = measure_file(sample, files.paths[i], error);
    for (int64_t i = 0; i < files.count && status == ROTARY_OK; i++)
        status = sample_file(sample, files.paths[i], error);
    text_files_free(&files);
    masked_paths_free(&named);
    return status;
}

static rotary_status sample_made(struct sample *sample, const struct masked_options *options,
                                 rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int64_t i = 0; i < masked_made_count(options, TASK_TRAINING) && status == ROTARY_OK; i++) {
        char text[MASKED_DOCUMENT_BYTES];
        const int64_t bytes = masked_made_document(TASK_TRAINING, i, text);
        if (sample->count < SAMPLE_BYTES)
            status = add_line(sample, (struct text_line){text, bytes}, error);
    }
    return status;
}

/* ---- making ---- */

static rotary_status make_pieces(struct task *task, const struct masked_options *options,
                                 const struct sample *sample, rotary_error *error)
{
    struct sentencepiece_config config;
    sentencepiece_defaults(&config);
    config.model = (enum sentencepiece_model)options->model;
    config.vocabulary_size = options->vocab_size;
    config.mask = true;
    config.max_line_bytes = TEXT_LINE_BYTES;
    struct text_line *lines = calloc((size_t)sample->lines + 1, sizeof *lines);
    if (!lines)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for text");
    const char *at = sample->bytes;
    for (int64_t i = 0; i < sample->lines; i++) {
        const char *end = memchr(at, '\n', (size_t)(sample->bytes + sample->count - at));
        lines[i] = (struct text_line){at, end - at};
        at = end + 1;
    }
    rotary_status status =
        vocabulary_train_pieces(task, &task->tokenizer, &config, lines, sample->lines, error);
    free(lines);
    return status;
}

static rotary_status make(struct task *task, const struct masked_options *options, rotary_error *error)
{
    const struct words_config words = {.min_frequency = options->min_frequency,
                                       .punctuation = true,
                                       .characters = options->tokenizer == MASKED_CHARACTERS,
                                       .mask = true};
    struct sample sample = {0};
    rotary_status status =
        options->data[0] ? sample_files(&sample, options, error) : sample_made(&sample, options, error);
    if (status == ROTARY_OK && options->tokenizer == MASKED_SENTENCEPIECE)
        status = make_pieces(task, options, &sample, error);
    else if (status == ROTARY_OK)
        status = words_configured_create(&task->tokenizer, sample.bytes ? sample.bytes : "", sample.count,
                                         &words, error);
    free(sample.bytes);
    return status;
}

/* ---- loading ---- */

static rotary_status load(struct task *task, const char *path, rotary_error *error)
{
    rotary_status status = vocabulary_load(task, path, error);
    if (status != ROTARY_OK)
        return status;
    const struct special_tokens special = tokenizer_special(task->tokenizer);
    const char *missing = special.begin < 0  ? "begin"
                          : special.end < 0  ? "end"
                          : special.mask < 0 ? "mask"
                                             : NULL;
    if (!missing)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s has no %s token: wanted a vocabulary with begin, end and mask, as rotary "
                       "tokenize train --mask makes it",
                       path, missing);
}

static rotary_status load_saved(struct task *task, const char *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = vocabulary_find_saved(path, folder, error);
    return status == ROTARY_OK ? load(task, path, error) : status;
}

/* Without a vocabulary: its size, as far as it is known, and whether the text is there. */
static rotary_status find_size(struct task *task, const struct masked_options *options, rotary_error *error)
{
    struct masked_paths paths;
    task->vocabulary.target = options->vocab_size;
    if (!options->data[0])
        return ROTARY_OK;
    rotary_status status = masked_paths_find(&paths, options, TASK_TRAINING, error);
    if (status == ROTARY_OK)
        masked_paths_free(&paths);
    return status;
}

rotary_status masked_vocabulary(struct task *task, rotary_error *error)
{
    const struct masked_options *options = task_options(&task->config, TASK_MASKED);
    task->target_file = vocabulary_files[options->tokenizer == MASKED_SENTENCEPIECE][SHARED_VOCABULARY];
    if (task->request.folder)
        return load_saved(task, task->request.folder, error);
    if (options->tokenizer == MASKED_FILE)
        return load(task, options->vocabulary, error);
    if (options->tokenizer == MASKED_SENTENCEPIECE && task->request.need == TASK_SIZES)
        return find_size(task, options, error);
    return make(task, options, error);
}
