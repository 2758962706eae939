/* SPDX-License-Identifier: Apache-2.0 */
#include "inference/translation_batch.h"

#include "base/fail.h"
#include "base/integer.h"
#include "model/unknown_words.h"
#include "text/decoded_text.h"

#include <stdlib.h>
#include <string.h>

rotary_status translation_batch_create(struct translation_batch *batch, int64_t capacity, rotary_error *error)
{
    size_t outputs = (size_t)(capacity * batch->search.n_best);
    batch->capacity = capacity;
    batch->sources = calloc((size_t)capacity, sizeof *batch->sources);
    batch->found = calloc(outputs, (size_t)batch->search.max_new_tokens * sizeof *batch->found);
    batch->generated = calloc(outputs, sizeof *batch->generated);
    batch->scores = calloc(outputs, sizeof *batch->scores);
    if (batch->sources && batch->found && batch->generated && batch->scores)
        return ROTARY_OK;
    translation_batch_free(batch);
    return rotary_fail_memory(error, "for lines to translate");
}

void translation_batch_clear(struct translation_batch *batch)
{
    for (int64_t i = 0; i < batch->count; i++)
        free(batch->sources[i].text);
    batch->count = batch->token_count = batch->done = 0;
}

void translation_batch_free(struct translation_batch *batch)
{
    translation_batch_clear(batch);
    free(batch->sources);
    free(batch->tokens);
    free(batch->found);
    free(batch->generated);
    free(batch->scores);
}

/* ---- Lines. ---- */

/* Room for a source as long as the model reads any. */
static rotary_status reserve(struct translation_batch *batch, int64_t longest, rotary_error *error)
{
    if (batch->token_count + longest <= batch->token_capacity)
        return ROTARY_OK;
    int64_t capacity = max_i64(2 * batch->token_capacity, batch->token_count + longest);
    int32_t *tokens = realloc(batch->tokens, (size_t)capacity * sizeof *tokens);
    if (!tokens)
        return rotary_fail_memory(error, "for lines to translate");
    batch->tokens = tokens;
    batch->token_capacity = capacity;
    return ROTARY_OK;
}

/* Appends the tokens of a text and the end token. */
static rotary_status encode(struct translation_batch *batch, const char *text, int64_t bytes,
                            int64_t *left_out, rotary_error *error)
{
    const struct tokenizer *tokenizer = task_source_tokenizer(batch->model->task);
    int64_t longest = task_shape(batch->model->task).source_time;
    rotary_status status = reserve(batch, longest, error);
    if (status != ROTARY_OK)
        return status;
    struct token_list list = {.tokens = batch->tokens + batch->token_count, .capacity = longest - 1};
    status = tokenizer_encode(tokenizer, text, bytes, &list, error);
    if (status != ROTARY_OK || list.count == 0)
        return status;
    list.tokens[list.count] = tokenizer_special(tokenizer).end;
    batch->token_count += list.count + 1;
    *left_out = list.left_out;
    return ROTARY_OK;
}

rotary_status translation_batch_add(struct translation_batch *batch, const struct text_line *line,
                                    int64_t number, int64_t *left_out, rotary_error *error)
{
    struct translation_source source = {.number = number, .first = batch->token_count};
    int64_t bytes;
    *left_out = 0;
    rotary_status status =
        task_source_line(batch->model->task, line->bytes, line->count, &source.text, &bytes, error);
    if (status != ROTARY_OK)
        return status;
    status = encode(batch, source.text, bytes, left_out, error);
    if (status != ROTARY_OK) {
        free(source.text);
        return status;
    }
    source.count = batch->token_count - source.first;
    batch->sources[batch->count++] = source;
    return ROTARY_OK;
}

/* ---- Translation. ---- */

/* The lines that have words, as a search takes them. */
struct selection {
    int64_t count;
    int64_t *lines;          /* [count] */
    const int32_t **sources; /* [count] */
    int64_t *lengths;        /* [count] */
    int32_t **outputs;       /* [count * n_best] */
    int64_t *generated;      /* [count * n_best] */
    double *scores;          /* [count * n_best] */
};

static rotary_status selection_create(struct selection *selection, const struct translation_batch *batch,
                                      rotary_error *error)
{
    size_t count = (size_t)batch->count + 1, outputs = count * (size_t)batch->search.n_best;
    selection->lines = calloc(count, sizeof *selection->lines);
    selection->sources = calloc(count, sizeof *selection->sources);
    selection->lengths = calloc(count, sizeof *selection->lengths);
    selection->outputs = calloc(outputs, sizeof *selection->outputs);
    selection->generated = calloc(outputs, sizeof *selection->generated);
    selection->scores = calloc(outputs, sizeof *selection->scores);
    return selection->lines && selection->sources && selection->lengths && selection->outputs &&
                   selection->generated && selection->scores
               ? ROTARY_OK
               : rotary_fail_memory(error, "for lines to translate");
}

static void selection_free(struct selection *selection)
{
    free(selection->lines);
    free(selection->sources);
    free(selection->lengths);
    free(selection->outputs);
    free(selection->generated);
    free(selection->scores);
}

static void select_lines(struct selection *selection, const struct translation_batch *batch)
{
    int64_t n_best = batch->search.n_best;
    for (int64_t i = 0; i < batch->count; i++) {
        const struct translation_source *source = &batch->sources[i];
        if (source->count == 0)
            continue;
        int64_t at = selection->count++;
        selection->lines[at] = i;
        selection->sources[at] = batch->tokens + source->first;
        selection->lengths[at] = source->count;
        for (int64_t j = 0; j < n_best; j++) {
            selection->outputs[at * n_best + j] =
                batch->found + (i * n_best + j) * batch->search.max_new_tokens;
            selection->generated[at * n_best + j] = BATCH_UNSEARCHED;
        }
    }
}

/* Takes what was found, and counts the lines up to the first one that is not done. */
static void take_results(struct translation_batch *batch, const struct selection *selection)
{
    int64_t n_best = batch->search.n_best;
    memset(batch->generated, 0, (size_t)(batch->count * n_best) * sizeof *batch->generated);
    memset(batch->scores, 0, (size_t)(batch->count * n_best) * sizeof *batch->scores);
    for (int64_t i = 0; i < selection->count; i++)
        for (int64_t j = 0; j < n_best; j++) {
            batch->generated[selection->lines[i] * n_best + j] = selection->generated[i * n_best + j];
            batch->scores[selection->lines[i] * n_best + j] = selection->scores[i * n_best + j];
        }
    while (batch->done < batch->count && batch->generated[batch->done * n_best] != BATCH_UNSEARCHED)
        batch->done++;
}

rotary_status translation_batch_run(struct translation_batch *batch, rotary_error *error)
{
    struct selection selection = {0};
    rotary_status status = selection_create(&selection, batch, error);
    if (status == ROTARY_OK) {
        select_lines(&selection, batch);
        const struct search_call call = {.count = selection.count,
                                         .sources = selection.sources,
                                         .lengths = selection.lengths,
                                         .outputs = selection.outputs,
                                         .generated = selection.generated,
                                         .scores = selection.scores,
                                         .interrupted = batch->interrupted};
        status = search_run(batch->model->transformer, &batch->search, &call, error);
        take_results(batch, &selection);
    }
    selection_free(&selection);
    return status;
}

/* ---- Text of translations. ---- */

/* Word `index` of a text whose words are separated by white space, as the tokenizer of words has it. */
static struct token_text word_at(const char *text, int64_t index)
{
    static const char white[] = " \t\n\v\f\r";
    for (const char *word = text + strspn(text, white);; word += strspn(word, white)) {
        size_t bytes = strcspn(word, white);
        if (index-- == 0 || bytes == 0)
            return (struct token_text){word, (int64_t)bytes};
        word += bytes;
    }
}

/* The words of an output, unknown ones replaced by those of the source at `from`; separated by a space. */
static rotary_status join_words(const struct translation_batch *batch,
                                const struct translation_source *source,
                                const struct unknown_words_call *call, char **text, rotary_error *error)
{
    const struct tokenizer *tokenizer = task_tokenizer(batch->model->task);
    size_t bytes = 0, size = 0;
    char *made = NULL;
    for (int pass = 0; pass < 2; pass++) {
        bytes = 0;
        for (int64_t i = 0; i < call->count; i++) {
            struct token_text word = call->from[i] >= 0 ? word_at(source->text, call->from[i])
                                                        : tokenizer_text(tokenizer, call->output[i]);
            if (made && i > 0)
                made[bytes] = ' ';
            bytes += i > 0;
            if (made)
                memcpy(made + bytes, word.bytes, (size_t)word.count);
            bytes += (size_t)word.count;
        }
        if (!made && !(made = calloc(size = bytes + 1, 1)))
            return rotary_fail_memory(error, "for lines to translate");
    }
    *text = made;
    return ROTARY_OK;
}

static rotary_status copy_unknown(const struct translation_batch *batch,
                                  const struct translation_source *source, const int32_t *output,
                                  int64_t count, char **text, rotary_error *error)
{
    const struct tokenizer *tokenizer = task_tokenizer(batch->model->task);
    int64_t *from = calloc((size_t)count + 1, sizeof *from);
    if (!from)
        return rotary_fail_memory(error, "for lines to translate");
    const struct unknown_words_call call = {.source = batch->tokens + source->first,
                                            .source_count = source->count,
                                            .output = output,
                                            .count = count,
                                            .begin = batch->search.begin,
                                            .unknown = tokenizer_special(tokenizer).unknown,
                                            .from = from};
    rotary_status status = unknown_words(batch->model->transformer, &call, error);
    if (status == ROTARY_OK)
        status = join_words(batch, source, &call, text, error);
    free(from);
    return status;
}

rotary_status translation_batch_text(const struct translation_batch *batch, int64_t line, int64_t output,
                                     char **text, double *score, rotary_error *error)
{
    const struct tokenizer *tokenizer = task_tokenizer(batch->model->task);
    const struct translation_source *source = &batch->sources[line];
    int64_t at = line * batch->search.n_best + output, count = batch->generated[at];
    const int32_t *tokens = batch->found + at * batch->search.max_new_tokens;
    *text = NULL;
    *score = batch->scores[at];
    if (count < 0)
        return ROTARY_OK;
    if (count > 0 && tokens[count - 1] == batch->search.end)
        count--;
    if (batch->copy_unknown)
        return copy_unknown(batch, source, tokens, count, text, error);
    struct text_buffer made = {0};
    rotary_status status = decoded_text_append(tokenizer, tokens, count, &made, error);
    if (status == ROTARY_OK)
        *text = made.bytes;
    else
        text_buffer_free(&made);
    return status;
}
