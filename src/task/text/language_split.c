/* SPDX-License-Identifier: Apache-2.0
 *
 * The sequences of the task language: parts of documents, or windows of the stream of all of them.
 */
#include "base/fail.h"
#include "base/integer.h"
#include "task/text/language.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SEQUENCES = 1 << 10 };
/* A stream without files of validation is trained on so many tokens of HELD_OUT_OF, and the last ones are held
 * out, as nanoGPT does. */
enum { TRAINED = 9, HELD_OUT_OF = 10 };

struct text_corpus language_corpus(const struct task_config *config)
{
    const struct language_options *options = task_options(config, TASK_LANGUAGE);
    return (struct text_corpus){task_names[TASK_LANGUAGE], &options->corpus};
}

/* ---- documents ---- */

static bool add_sequence(struct language_split *split, struct language_sequence sequence)
{
    if (split->count == split->capacity) {
        const int64_t capacity = max_i64(2 * split->capacity, FIRST_SEQUENCES);
        struct language_sequence *sequences = realloc(split->sequences, (size_t)capacity * sizeof *sequences);
        if (!sequences)
            return false;
        split->sequences = sequences;
        split->capacity = capacity;
    }
    split->sequences[split->count++] = sequence;
    split->counts.target_tokens += sequence.count;
    split->counts.longest_target = max_i64(split->counts.longest_target, sequence.count);
    return true;
}

/* A document's tokens and its end are predicted, `room` of them in a sequence. */
static bool add_document(struct language_split *split, struct token_span document, int64_t room)
{
    const int64_t targets = document.count + 1;
    split->counts.pairs++;
    split->counts.too_long += targets > room;
    for (int64_t first = 0; first < targets; first += room) {
        const int64_t count = min_i64(room, targets - first);
        const struct language_sequence sequence = {.tokens = document.tokens + first,
                                                   .count = (int32_t)count,
                                                   .starts = first == 0,
                                                   .ends = first + count == targets};
        if (!add_sequence(split, sequence))
            return false;
    }
    return true;
}

static rotary_status cut_documents(struct language_split *split, const struct task *task,
                                   enum task_split which, rotary_error *error)
{
    for (int64_t i = 0; i < split->set.count; i++) {
        if (!document_set_has(&split->set, i, which))
            continue;
        split->counts.text_bytes += document_set_bytes(&split->set, i);
        if (!add_document(split, document_set_at(&split->set, i), task->config.sequence_length))
            return rotary_fail_memory(error, "for a corpus");
    }
    return document_set_check(language_corpus(&task->config), which, split->count, error);
}

static void read_document(const struct language_split *split, const struct language_sequence *sequence,
                          int32_t *tokens, int32_t *classes)
{
    const int64_t count = sequence->count;
    const size_t bytes = (size_t)(count - 1) * sizeof *tokens;
    tokens[0] = sequence->starts ? split->begin : sequence->tokens[-1];
    memcpy(tokens + 1, sequence->tokens, bytes);
    memcpy(classes, sequence->tokens, bytes);
    classes[count - 1] = sequence->ends ? split->end : sequence->tokens[count - 1];
}

/* ---- the stream ---- */

/* Where a document begins in the stream. Its tokens stand behind those of the documents before it. */
static int64_t begin_of(const struct document_set *set, int64_t index)
{
    return document_set_at(set, index).tokens - document_set_at(set, 0).tokens + index;
}

/* The document that has the token at `position`, or is before the end token there. */
static int64_t document_at(const struct document_set *set, int64_t position)
{
    int64_t low = 0, high = set->count;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (begin_of(set, middle) <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void copy_stream(const struct language_split *split, int64_t position, int64_t count, int32_t *tokens)
{
    int64_t document = document_at(&split->set, position);
    while (count > 0) {
        const struct token_span span = document_set_at(&split->set, document);
        const int64_t from = position - begin_of(&split->set, document),
                      taken = min_i64(count, span.count - from);
        if (taken > 0)
            memcpy(tokens, span.tokens + from, (size_t)taken * sizeof *tokens);
        position += taken;
        tokens += taken;
        count -= taken;
        if (count > 0) {
            *tokens++ = split->end;
            position++;
            count--;
        }
        document++;
    }
}

/* The share of a document's bytes that its tokens from `from` on, `count` of them, stand for. */
static int64_t share_of(const struct language_split *split, const struct tokenizer *tokenizer, int64_t index,
                        int64_t from, int64_t count)
{
    const struct token_span span = document_set_at(&split->set, index);
    const int64_t bytes = document_set_bytes(&split->set, index);
    if (count == span.count)
        return bytes;
    const double all = (double)tokenizer_decode(tokenizer, span.tokens, span.count, NULL, 0),
                 some = (double)tokenizer_decode(tokenizer, span.tokens + from, count, NULL, 0);
    return all > 0 ? llround((double)bytes * some / all) : 0;
}

static void count_stream(struct language_split *split, const struct tokenizer *tokenizer)
{
    const struct language_stream *stream = &split->stream;
    const int64_t end = stream->first + stream->count;
    for (int64_t i = document_at(&split->set, stream->first);
         i < split->set.count && begin_of(&split->set, i) < end; i++) {
        const int64_t begin = begin_of(&split->set, i), count = document_set_at(&split->set, i).count,
                      from = max_i64(stream->first - begin, 0), to = min_i64(end - begin, count);
        if (from >= to)
            continue;
        split->counts.pairs++;
        split->counts.too_long += to - from > stream->length;
        split->counts.text_bytes += share_of(split, tokenizer, i, from, to - from);
    }
    split->counts.target_tokens = stream->count - 1;
    split->counts.longest_target = min_i64(stream->length, stream->count - 1);
}

static rotary_status find_stream(struct language_split *split, const struct task *task, enum task_split which,
                                 rotary_error *error)
{
    const struct document_set *set = &split->set;
    struct language_stream *stream = &split->stream;
    if (set->count == 0)
        return document_set_check(language_corpus(&task->config), which, 0, error);
    const int64_t all = begin_of(set, set->count - 1) + document_set_at(set, set->count - 1).count,
                  trained = all / HELD_OUT_OF * TRAINED + all % HELD_OUT_OF * TRAINED / HELD_OUT_OF;
    *stream = (struct language_stream){.count = all, .length = task->config.sequence_length};
    if (set->divided && which == TASK_TRAINING)
        stream->count = trained;
    else if (set->divided)
        *stream = (struct language_stream){trained, all - trained, stream->length};
    if (stream->count < 2)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "the text for %s has %lld tokens: wanted at least 2, so that one can be predicted",
                           task_split_names[which], (long long)stream->count);
    split->count = divide_up(stream->count - 1, stream->length);
    count_stream(split, task->tokenizer);
    return ROTARY_OK;
}

/* Where a window begins in the split's part of the stream. */
static int64_t window_at(const struct language_split *split, const struct task_place *place)
{
    const struct language_stream *stream = &split->stream;
    if (split->windows != WINDOWS_RANDOM || place->split != TASK_TRAINING)
        return place->index * stream->length;
    const struct rotary_random_key key = {.seed = place->seed, .stream = ROTARY_STREAM_WINDOW};
    uint32_t words[4];
    rotary_random_block(key, (uint64_t)place->ordinal, words);
    const uint64_t drawn = (uint64_t)words[0] << 32 | words[1];
    return (int64_t)(drawn % (uint64_t)(stream->count - language_split_length(split, 0)));
}

static void read_window(const struct language_split *split, const struct task_place *place, int32_t *tokens,
                        int32_t *classes)
{
    const int64_t count = language_split_length(split, place->index),
                  position = split->stream.first + window_at(split, place);
    copy_stream(split, position, count, tokens);
    memcpy(classes, tokens + 1, (size_t)(count - 1) * sizeof *classes);
    copy_stream(split, position + count, 1, classes + count - 1);
}

/* ---- either ---- */

int64_t language_split_length(const struct language_split *split, int64_t index)
{
    const struct language_stream *stream = &split->stream;
    if (split->sequences)
        return split->sequences[index].count;
    /* Windows that begin anywhere have one length. */
    const int64_t begin = split->windows == WINDOWS_RANDOM ? 0 : index * stream->length;
    return min_i64(stream->length, stream->count - 1 - begin);
}

void language_split_read(const struct language_split *split, const struct task_place *place, int32_t *tokens,
                         int32_t *classes)
{
    if (split->sequences)
        read_document(split, &split->sequences[place->index], tokens, classes);
    else
        read_window(split, place, tokens, classes);
}

/* A tokenizer may have one token for the begin and the end of documents. Where texts begin with none, the end
 * of another document is before the first token. */
static void find_ends(struct language_split *split, const struct tokenizer *tokenizer)
{
    const struct special_tokens special = tokenizer_special(tokenizer);
    const int32_t begin = tokenizer_begin(tokenizer);
    split->end = special.end >= 0 ? special.end : special.begin;
    split->begin = begin >= 0 ? begin : split->end;
}

rotary_status language_split_create(struct language_split *split, const struct task *task,
                                    enum task_split which, rotary_error *error)
{
    const struct language_options *options = task_options(&task->config, TASK_LANGUAGE);
    *split = (struct language_split){.windows = options->windows};
    if (which != TASK_TRAINING && split->windows == WINDOWS_RANDOM)
        split->windows = WINDOWS_CONSECUTIVE;
    find_ends(split, task->tokenizer);
    rotary_status status = document_set_open(&split->set, task, language_corpus(&task->config), which, error);
    if (status == ROTARY_OK)
        status = split->windows == WINDOWS_OF_DOCUMENTS ? cut_documents(split, task, which, error)
                                                        : find_stream(split, task, which, error);
    if (status != ROTARY_OK)
        language_split_free(split);
    return status;
}

void language_split_free(struct language_split *split)
{
    document_set_close(&split->set);
    free(split->sequences);
    *split = (struct language_split){0};
}
