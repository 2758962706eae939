/* SPDX-License-Identifier: Apache-2.0
 *
 * The sequences of the task classification.
 */
#include "base/fail.h"
#include "base/integer.h"
#include "task/classification/classification.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_TOKENS = 1 << 14 };

struct pair_lengths classification_cut(struct pair_lengths tokens, int64_t room)
{
    const int64_t more = tokens.first + tokens.second - room, longer = llabs(tokens.first - tokens.second);
    if (more <= 0)
        return tokens;
    /* First the longer text is cut to the length of the other, then one token of either in alternation, the
     * second text's first. */
    const int64_t rest = more - min_i64(more, longer);
    if (tokens.first > tokens.second)
        tokens.first -= min_i64(more, longer);
    else
        tokens.second -= min_i64(more, longer);
    tokens.second -= (rest + 1) / 2;
    tokens.first -= rest / 2;
    return tokens;
}

/* Where examples are encoded. */
struct encoder {
    const struct task *task;
    struct token_list first, second; /* of an example, without special tokens */
};

static rotary_status encode_text(const struct encoder *encoder, const struct text_line *text,
                                 struct token_list *list, rotary_error *error)
{
    list->count = list->left_out = 0;
    if (!text->bytes)
        return ROTARY_OK;
    return tokenizer_encode(encoder->task->tokenizer, text->bytes, text->count, list, error);
}

static bool reserve(struct classification_split_tokens *split, int64_t wanted)
{
    if (wanted <= split->capacity)
        return true;
    const int64_t capacity = max_i64(max_i64(2 * split->capacity, FIRST_TOKENS), wanted);
    int32_t *tokens = realloc(split->tokens, (size_t)capacity * sizeof *tokens);
    if (!tokens)
        return false;
    split->tokens = tokens;
    split->capacity = capacity;
    return true;
}

static int64_t append(int32_t *tokens, int64_t used, const struct token_list *list, int64_t count,
                      int32_t end)
{
    memcpy(tokens + used, list->tokens, (size_t)count * sizeof *tokens);
    tokens[used + count] = end;
    return used + count + 1;
}

/* Adds the example that the encoder has. */
static bool add_sequence(struct classification_split_tokens *split, const struct encoder *encoder, bool pair)
{
    const struct special_tokens special = tokenizer_special(encoder->task->tokenizer);
    const int64_t room = encoder->task->config.sequence_length - (pair ? 3 : 2);
    const struct pair_lengths whole = {encoder->first.count + encoder->first.left_out,
                                       encoder->second.count + encoder->second.left_out},
                              cut = classification_cut(whole, room);
    const int64_t begin = split->starts[split->count];
    if (!reserve(split, begin + room + 3))
        return false;
    int32_t *tokens = split->tokens + begin;
    int64_t used = 1;
    tokens[0] = special.begin;
    used = append(tokens, used, &encoder->first, cut.first, special.end);
    split->seconds[split->count] = used;
    if (pair)
        used = append(tokens, used, &encoder->second, cut.second, special.end);
    split->starts[++split->count] = begin + used;
    split->counts.pairs++;
    split->counts.empty += whole.first == 0 || (pair && whole.second == 0);
    split->counts.too_long += cut.first < whole.first || cut.second < whole.second;
    split->counts.target_tokens += used;
    split->counts.longest_target = max_i64(split->counts.longest_target, used);
    return true;
}

/* Adds a sequence of an example, or one for each of its choices. */
static rotary_status encode_example(struct classification_split_tokens *split, struct encoder *encoder,
                                    const struct labelled_example *example, rotary_error *error)
{
    const int choices = encoder->task->shape.choices;
    const struct text_line *seconds = choices > 0 ? example->choices : &example->second;
    rotary_status status = encode_text(encoder, &example->first, &encoder->first, error);
    for (int64_t i = 0; i < max_i64(choices, 1) && status == ROTARY_OK; i++) {
        status = encode_text(encoder, &seconds[i], &encoder->second, error);
        if (status == ROTARY_OK && !add_sequence(split, encoder, seconds[i].bytes != NULL))
            status = rotary_fail_memory(error, "for a corpus");
    }
    return status;
}

static rotary_status encode_all(struct classification_split_tokens *split, struct encoder *encoder,
                                const struct labelled_example *examples, int64_t count, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int64_t i = 0; i < count && status == ROTARY_OK; i++)
        status = encode_example(split, encoder, &examples[i], error);
    return status;
}

rotary_status classification_tokens(struct classification_split_tokens *split, const struct task *task,
                                    const struct labelled_example *examples, int64_t count,
                                    rotary_error *error)
{
    const int64_t room = task->config.sequence_length, sequences = count * max_i64(task->shape.choices, 1);
    struct encoder encoder = {.task = task,
                              .first = {.tokens = malloc((size_t)room * sizeof(int32_t)), .capacity = room},
                              .second = {.tokens = malloc((size_t)room * sizeof(int32_t)), .capacity = room}};
    *split = (struct classification_split_tokens){
        .starts = calloc((size_t)sequences + 1, sizeof *split->starts),
        .seconds = calloc((size_t)sequences + 1, sizeof *split->seconds),
    };
    rotary_status status = encoder.first.tokens && encoder.second.tokens && split->starts && split->seconds
                               ? encode_all(split, &encoder, examples, count, error)
                               : rotary_fail_memory(error, "for a corpus");
    free(encoder.first.tokens);
    free(encoder.second.tokens);
    if (status != ROTARY_OK)
        classification_tokens_free(split);
    return status;
}

void classification_tokens_free(struct classification_split_tokens *split)
{
    free(split->tokens);
    free(split->starts);
    free(split->seconds);
    *split = (struct classification_split_tokens){0};
}
