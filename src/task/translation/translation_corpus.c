/* SPDX-License-Identifier: Apache-2.0
 *
 * The corpus of the task translation: reading the files of a split, and encoding them.
 */
#include "base/fail.h"
#include "base/integer.h"
#include "file/file.h"
#include "task/corpus_folder.h"
#include "task/text/synthetic_sentences.h"
#include "task/translation/translation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_TOKENS = 1 << 12 };
static const int64_t max_file_bytes = (int64_t)1 << 32;

/* ---- files ---- */

/* <folder>/<split>.<language> */
static rotary_status side_path(char path[FILE_PATH_BYTES], const struct translation_options *options,
                               enum task_split split, int side, rotary_error *error)
{
    char name[2 * SETTING_TEXT_BYTES];
    snprintf(name, sizeof name, "%s.%s", options->splits[split],
             side == TRANSLATION_SOURCE ? options->source : options->target);
    return file_path(path, options->data, name, error);
}

static rotary_status check_languages(const struct translation_options *options, rotary_error *error)
{
    const bool from_german = strcmp(options->source, "de") == 0 && strcmp(options->target, "en") == 0,
               to_german = strcmp(options->source, "en") == 0 && strcmp(options->target, "de") == 0;
    if (from_german || to_german)
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "translation_source is %s and translation_target is %s: without translation_data wanted "
        "de and en, or en and de",
        options->source, options->target);
}

static rotary_status generate(struct parallel_text *text, const struct translation_options *options,
                              enum task_split split, rotary_error *error)
{
    const int german = strcmp(options->source, "de") == 0 ? TRANSLATION_SOURCE : TRANSLATION_TARGET;
    rotary_status status = check_languages(options, error);
    return status != ROTARY_OK
               ? status
               : synthetic_corpus(split, split == TASK_TRAINING ? options->pairs : options->held_out,
                                  &text->sides[german], &text->sides[1 - german], error);
}

rotary_status parallel_text_read(struct parallel_text *text, const struct translation_options *options,
                                 enum task_split split, rotary_error *error)
{
    if (!options->data[0])
        return generate(text, options, split, error);
    rotary_status status = corpus_folder_check(task_names[TASK_TRANSLATION], options->data, error);
    for (int side = 0; side < TRANSLATION_SIDES && status == ROTARY_OK; side++) {
        status = side_path(text->paths[side], options, split, side, error);
        if (status == ROTARY_OK)
            status = text_lines_read(&text->sides[side], text->paths[side], max_file_bytes, error);
    }
    if (status == ROTARY_OK)
        status = text_lines_check_aligned(&text->sides[TRANSLATION_SOURCE], &text->sides[TRANSLATION_TARGET],
                                          error);
    if (status != ROTARY_OK)
        parallel_text_free(text);
    return status;
}

rotary_status parallel_text_find(const struct translation_options *options, rotary_error *error)
{
    if (!options->data[0])
        return check_languages(options, error);
    rotary_status status = corpus_folder_check(task_names[TASK_TRANSLATION], options->data, error);
    if (status != ROTARY_OK)
        return status;
    for (int split = 0; split < TASK_SPLITS; split++)
        for (int side = 0; side < TRANSLATION_SIDES; side++) {
            char path[FILE_PATH_BYTES];
            bool found = false;
            status = side_path(path, options, (enum task_split)split, side, error);
            if (status == ROTARY_OK)
                status = file_find(path, &found, error);
            if (status != ROTARY_OK)
                return status;
            if (!found)
                return rotary_fail(error, ROTARY_IO_ERROR,
                                   "there is no %s: wanted the %s text of the task translation", path,
                                   task_split_names[split]);
        }
    return ROTARY_OK;
}

rotary_status parallel_text_hash(const struct translation_options *options, enum task_split split,
                                 uint64_t *hash, rotary_error *error)
{
    struct parallel_text text = {.paths = {""}};
    rotary_status status = parallel_text_read(&text, options, split, error);
    if (status != ROTARY_OK)
        return status;
    uint64_t sides[TRANSLATION_SIDES];
    for (int side = 0; side < TRANSLATION_SIDES; side++) {
        const struct text_lines *lines =
            &text.sides[side]; /* one after another, each with a zero behind it */
        sides[side] = rotary_hash(lines->text.bytes, (uint64_t)lines->text.count);
    }
    *hash = rotary_hash(sides, sizeof sides);
    parallel_text_free(&text);
    return ROTARY_OK;
}

void parallel_text_free(struct parallel_text *text)
{
    for (int side = 0; side < TRANSLATION_SIDES; side++)
        text_lines_free(&text->sides[side]);
}

/* ---- examples ---- */

/* Where the sequences of a split are encoded. */
struct encoder {
    const struct task *task;
    struct text_buffer line;
    struct token_list lists[TRANSLATION_SIDES]; /* of a pair, without begin and end */
};

static const struct tokenizer *side_tokenizer(const struct task *task, int side)
{
    return side == TRANSLATION_SOURCE ? task->source_tokenizer : task->tokenizer;
}

/* Encodes a line as far as it leaves room for its end, or for its begin. */
static rotary_status encode_side(struct encoder *encoder, const struct text_lines *lines, int64_t line,
                                 int side, rotary_error *error)
{
    const struct task *task = encoder->task;
    struct token_list *list = &encoder->lists[side];
    encoder->line.count = 0;
    list->count = list->left_out = 0;
    rotary_status status = translation_append(task_options(&task->config, TASK_TRANSLATION),
                                              text_lines_at(lines, line), &encoder->line, error);
    if (status == ROTARY_OK)
        status = tokenizer_encode(side_tokenizer(task, side), encoder->line.bytes, encoder->line.count, list,
                                  error);
    return status;
}

static bool reserve(struct token_corpus *corpus, int64_t used, int64_t wanted)
{
    if (used + wanted <= corpus->capacity)
        return true;
    const int64_t capacity = max_i64(max_i64(2 * corpus->capacity, FIRST_TOKENS), used + wanted);
    int32_t *tokens = realloc(corpus->tokens, (size_t)capacity * sizeof *tokens);
    if (!tokens)
        return false;
    corpus->tokens = tokens;
    corpus->capacity = capacity;
    return true;
}

/* Adds a sequence: the target's begins with the begin token; both end with the end token, but a target that
 * was cut does not. */
static bool add_sequence(struct token_corpus *corpus, int64_t index, const struct token_list *list,
                         const struct special_tokens *special, bool target)
{
    int64_t used = corpus->starts[index];
    if (!reserve(corpus, used, list->count + 2))
        return false;
    if (target)
        corpus->tokens[used++] = special->begin;
    memcpy(corpus->tokens + used, list->tokens, (size_t)list->count * sizeof *list->tokens);
    used += list->count;
    if (!target || list->left_out == 0)
        corpus->tokens[used++] = special->end;
    corpus->starts[index + 1] = used;
    return true;
}

/* Adds the pair that the encoder has as an example of `line`. */
static bool add_example(struct corpus_split *split, const struct encoder *encoder, int64_t line)
{
    for (int side = 0; side < TRANSLATION_SIDES; side++) {
        const struct special_tokens special = tokenizer_special(side_tokenizer(encoder->task, side));
        if (!add_sequence(&split->sides[side], split->examples, &encoder->lists[side], &special,
                          side == TRANSLATION_TARGET))
            return false;
    }
    struct task_counts *counts = &split->counts;
    const int64_t *sources = split->sides[TRANSLATION_SOURCE].starts + split->examples,
                  *targets = split->sides[TRANSLATION_TARGET].starts + split->examples;
    counts->source_tokens += sources[1] - sources[0];
    counts->target_tokens += targets[1] - targets[0] - 1;
    counts->longest_source = max_i64(counts->longest_source, sources[1] - sources[0]);
    counts->longest_target = max_i64(counts->longest_target, targets[1] - targets[0] - 1);
    split->lines[split->examples++] = line;
    return true;
}

static rotary_status add_line(struct corpus_split *split, struct encoder *encoder, int64_t line,
                              bool training, rotary_error *error)
{
    bool empty = false, too_long = false;
    for (int side = 0; side < TRANSLATION_SIDES; side++) {
        rotary_status status = encode_side(encoder, &split->text.sides[side], line, side, error);
        if (status != ROTARY_OK)
            return status;
        empty |= encoder->lists[side].count == 0;
        too_long |= encoder->lists[side].left_out > 0;
    }
    split->counts.empty += empty;
    split->counts.too_long += too_long;
    if (training && (empty || too_long))
        return ROTARY_OK;
    return add_example(split, encoder, line) ? ROTARY_OK : rotary_fail_memory(error, "for a corpus");
}

static bool allocate(struct corpus_split *split, struct encoder *encoder)
{
    const size_t pairs = (size_t)split->counts.pairs;
    const int64_t room = encoder->task->config.sequence_length - 1;
    split->lines = malloc((pairs + 1) * sizeof *split->lines);
    bool done = split->lines != NULL;
    for (int side = 0; side < TRANSLATION_SIDES; side++) {
        encoder->lists[side] =
            (struct token_list){.tokens = malloc((size_t)room * sizeof(int32_t)), .capacity = room};
        split->sides[side].starts = calloc(pairs + 1, sizeof(int64_t));
        done = done && encoder->lists[side].tokens && split->sides[side].starts;
    }
    return done;
}

static rotary_status check_examples(const struct corpus_split *split, enum task_split which, int64_t time,
                                    rotary_error *error)
{
    if (split->examples > 0)
        return ROTARY_OK;
    const struct task_counts *counts = &split->counts;
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s has no pair for %s: of %lld lines %lld are empty, and %lld have more tokens than "
                       "sequence_length %lld",
                       split->text.sides[TRANSLATION_SOURCE].path, task_split_names[which],
                       (long long)counts->pairs, (long long)counts->empty, (long long)counts->too_long,
                       (long long)time);
}

rotary_status corpus_split_create(struct corpus_split *split, const struct task *task, enum task_split which,
                                  rotary_error *error)
{
    struct encoder encoder = {.task = task};
    *split = (struct corpus_split){0};
    rotary_status status =
        parallel_text_read(&split->text, task_options(&task->config, TASK_TRANSLATION), which, error);
    if (status != ROTARY_OK)
        return status;
    split->counts.pairs = split->text.sides[TRANSLATION_SOURCE].count;
    if (!allocate(split, &encoder))
        status = rotary_fail_memory(error, "for a corpus");
    for (int64_t line = 0; line < split->counts.pairs && status == ROTARY_OK; line++)
        status = add_line(split, &encoder, line, which == TASK_TRAINING, error);
    if (status == ROTARY_OK)
        status = check_examples(split, which, task->config.sequence_length, error);
    text_buffer_free(&encoder.line);
    for (int side = 0; side < TRANSLATION_SIDES; side++)
        free(encoder.lists[side].tokens);
    if (status != ROTARY_OK)
        corpus_split_free(split);
    return status;
}

void corpus_split_free(struct corpus_split *split)
{
    parallel_text_free(&split->text);
    for (int side = 0; side < TRANSLATION_SIDES; side++) {
        free(split->sides[side].tokens);
        free(split->sides[side].starts);
    }
    free(split->lines);
    *split = (struct corpus_split){0};
}
