/* SPDX-License-Identifier: Apache-2.0 */
#include "study/heatmap_run.h"

#include "base/fail.h"
#include "model/attention_weights.h"
#include "model/generation/generation.h"
#include "model/generation/search.h"
#include "text/tokenizer/mask_text.h"
#include "text/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- labels ---- */

/* Appends a text to a label: white space and control characters as signs, other bytes as they are or, where
 * they are no UTF-8, as "\xNN". At most 4 bytes of label per byte. */
static void spell(char *label, struct token_text text)
{
    int64_t at = 0;
    char *end = label;
    while (at < text.count) {
        const unsigned char *byte = (const unsigned char *)text.bytes + at;
        int64_t length = utf8_character_bytes(text.bytes + at, text.count - at);
        if (*byte == ' ')
            end += sprintf(end, "\u2423");
        else if (*byte == '\n')
            end += sprintf(end, "\u21b5");
        else if (*byte < 0x20 || *byte == 0x7f || length < 1)
            end += sprintf(end, "\\x%02x", *byte);
        else
            end += sprintf(end, "%.*s", (int)length, text.bytes + at);
        at += length > 0 ? length : 1;
    }
    *end = 0;
}

static rotary_status label_tokens(struct heatmap_text *text, const struct tokenizer *tokenizer,
                                  const int32_t *tokens, int64_t count, rotary_error *error)
{
    text->labels = calloc((size_t)count, sizeof *text->labels);
    if (!text->labels)
        return rotary_fail_memory(error, "for attention weights of texts");
    text->count = count;
    for (int64_t i = 0; i < count; i++) {
        const struct token_text token = tokenizer_text(tokenizer, tokens[i]);
        text->labels[i] = malloc((size_t)token.count * 4 + 1);
        if (!text->labels[i])
            return rotary_fail_memory(error, "for attention weights of texts");
        spell(text->labels[i], token);
    }
    return ROTARY_OK;
}

/* ---- tokens ---- */

/* The work on one text: what encoder and decoder read. */
struct reading {
    struct transformer *transformer;
    const struct heatmap_request *request;
    int64_t text;
    int32_t *source, *target; /* [max_tokens] */
    int64_t source_count, target_count;
};

/* How a line becomes tokens: between `begin` and `end`, each unless it is below 0. */
struct encoding {
    const char *option; /* what gives the line where it is of no file */
    const struct tokenizer *tokenizer;
    const struct text_lines *lines;
    int32_t begin, end;
};

/* The tokens of a line as the task has it. */
static rotary_status tokenize(const struct reading *reading, const struct encoding *encoding,
                              struct token_list *list, rotary_error *error)
{
    const struct text_line line = text_lines_at(encoding->lines, reading->text);
    const struct task *task = reading->request->task;
    if (!task_source_tokenizer(task))
        return task_wants_encoder(task)
                   ? mask_text_encode(encoding->tokenizer, &line, list, NULL, NULL, error)
                   : tokenizer_encode(encoding->tokenizer, line.bytes, line.count, list, error);
    char *text;
    int64_t bytes;
    rotary_status status = task_source_line(task, line.bytes, line.count, &text, &bytes, error);
    if (status != ROTARY_OK)
        return status;
    status = tokenizer_encode(encoding->tokenizer, text, bytes, list, error);
    free(text);
    return status;
}

/* Puts the place of a text before the message. */
static rotary_status fail_at(const struct encoding *encoding, int64_t text, const rotary_error *inner,
                             rotary_error *error)
{
    if (!encoding->lines->path)
        return rotary_fail(error, inner->status, "%s: %.400s", encoding->option, inner->message);
    return rotary_fail(error, inner->status, "%.400s:%lld: %.400s", encoding->lines->path,
                       (long long)text + 1, inner->message);
}

static rotary_status encode(const struct reading *reading, const struct encoding *encoding, int32_t *tokens,
                            int64_t *count, rotary_error *error)
{
    int64_t first = encoding->begin >= 0, last = encoding->end >= 0, room = reading->request->max_tokens;
    struct token_list list = {.tokens = tokens + first, .capacity = room - first - last};
    rotary_error inner = {0};
    rotary_status status = tokenize(reading, encoding, &list, &inner);
    if (status == ROTARY_OK && list.left_out > 0)
        status = rotary_fail(&inner, ROTARY_INVALID_ARGUMENT,
                             "the text has %lld tokens, wanted at most %lld: the model's sequences and a "
                             "picture that can be read",
                             (long long)(first + list.count + list.left_out + last), (long long)room);
    if (status == ROTARY_OK && list.count == 0)
        status = rotary_fail(&inner, ROTARY_INVALID_ARGUMENT, "the text has no tokens, wanted at least one");
    if (status != ROTARY_OK)
        return fail_at(encoding, reading->text, &inner, error);
    if (first)
        tokens[0] = encoding->begin;
    if (last)
        tokens[first + list.count] = encoding->end;
    *count = first + list.count + last;
    return ROTARY_OK;
}

/* Appends the model's continuation. */
static rotary_status continue_text(struct reading *reading, rotary_error *error)
{
    const struct heatmap_request *request = reading->request;
    int64_t room = request->max_tokens - reading->target_count, generated = 0;
    const struct generate_config config = {.max_new_tokens =
                                               request->new_tokens < room ? request->new_tokens : room,
                                           .stop = task_stop(request->task)};
    if (config.max_new_tokens < 1)
        return ROTARY_OK;
    const int32_t *prompt = reading->target;
    int32_t *output = reading->target + reading->target_count;
    const struct generate_call call = {.count = 1,
                                       .prompts = &prompt,
                                       .lengths = &reading->target_count,
                                       .outputs = &output,
                                       .generated = &generated};
    rotary_status status = generation_run(reading->transformer, &config, &call, error);
    reading->target_count += generated;
    return status;
}

/* The model's greedy translation after its begin token, without its end. */
static rotary_status translate(struct reading *reading, rotary_error *error)
{
    const struct heatmap_request *request = reading->request;
    const struct special_tokens special = tokenizer_special(task_tokenizer(request->task));
    struct search_config config;
    search_config_default(&config);
    config.max_new_tokens = request->max_tokens - 1;
    config.begin = special.begin;
    config.end = special.end;
    config.padding = special.padding;
    config.unknown = special.unknown;
    const int32_t *source = reading->source;
    int32_t *output = reading->target + 1;
    int64_t generated = 0;
    const struct search_call call = {.count = 1,
                                     .sources = &source,
                                     .lengths = &reading->source_count,
                                     .outputs = &output,
                                     .generated = &generated};
    rotary_status status = search_run(reading->transformer, &config, &call, error);
    if (status != ROTARY_OK)
        return status;
    bool ended = generated > 0 && output[generated - 1] == special.end;
    reading->target[0] = special.begin;
    reading->target_count = 1 + generated - ended;
    return ROTARY_OK;
}

/* What encoder and decoder read of a pair of texts. */
static rotary_status read_pair(struct reading *reading, rotary_error *error)
{
    const struct heatmap_request *request = reading->request;
    const struct tokenizer *from = task_source_tokenizer(request->task), *to = task_tokenizer(request->task);
    const struct encoding source = {"--text", from, request->inputs, -1, tokenizer_special(from).end},
                          target = {"--target-text", to, request->targets, tokenizer_special(to).begin, -1};
    rotary_status status = encode(reading, &source, reading->source, &reading->source_count, error);
    if (status == ROTARY_OK && !request->targets)
        return translate(reading, error);
    return status == ROTARY_OK ? encode(reading, &target, reading->target, &reading->target_count, error)
                               : status;
}

static rotary_status read_text(struct reading *reading, rotary_error *error)
{
    const struct heatmap_request *request = reading->request;
    if (task_source_tokenizer(request->task))
        return read_pair(reading, error);
    const struct tokenizer *tokenizer = task_tokenizer(request->task);
    const bool encoder = task_wants_encoder(request->task);
    const struct encoding input = {"--text", tokenizer, request->inputs,
                                   encoder ? tokenizer_special(tokenizer).begin : task_begin(request->task),
                                   encoder ? tokenizer_special(tokenizer).end : -1};
    rotary_status status = encode(reading, &input, reading->target, &reading->target_count, error);
    return status == ROTARY_OK && !encoder ? continue_text(reading, error) : status;
}

static rotary_status check_request(const struct heatmap_request *request, rotary_error *error)
{
    bool has_encoder = task_source_tokenizer(request->task) != NULL;
    if (task_wants_encoder(request->task) && (request->targets || request->new_tokens > 0))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s: the model is an encoder alone, which reads --input or --text",
                           request->targets ? "--target" : "--max-new-tokens");
    if (!has_encoder && request->targets)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--target: the model is a decoder alone, which reads --input or --text");
    if (has_encoder && request->new_tokens > 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--max-new-tokens: the model has an encoder, whose decoder reads --target");
    return ROTARY_OK;
}

static rotary_status reading_create(struct reading *reading, rotary_error *error)
{
    size_t bytes = (size_t)reading->request->max_tokens * sizeof *reading->source;
    reading->source = malloc(bytes);
    reading->target = malloc(bytes);
    return reading->source && reading->target ? ROTARY_OK
                                              : rotary_fail_memory(error, "for attention weights of texts");
}

static void reading_free(struct reading *reading)
{
    free(reading->source);
    free(reading->target);
}

/* ---- numbers ---- */

static rotary_status heads_create(struct heatmap_heads *heads, const struct attention_weights *weights,
                                  int64_t texts, rotary_error *error)
{
    if (heads->numbers || weights->layers == 0)
        return ROTARY_OK;
    size_t count = (size_t)(weights->layers * weights->heads);
    heads->layers = weights->layers;
    heads->heads = weights->heads;
    heads->numbers = calloc((size_t)texts * count, sizeof *heads->numbers);
    heads->offsets = calloc(count, sizeof *heads->offsets);
    return heads->numbers && heads->offsets ? ROTARY_OK
                                            : rotary_fail_memory(error, "for attention weights of texts");
}

static rotary_status measure(struct heatmap_run *run, const struct attention_weights weights[ATTENTION_KINDS],
                             int64_t text, rotary_error *error)
{
    for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
        struct heatmap_heads *heads = &run->kinds[kind];
        rotary_status status = heads_create(heads, &weights[kind], run->texts, error);
        if (status != ROTARY_OK)
            return status;
        if (isnan(weights[kind].difference))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s: the model computes numbers that are not finite: it diverged",
                               run->folder);
        run->difference = fmax(run->difference, weights[kind].difference);
        for (int64_t layer = 0; layer < heads->layers; layer++)
            for (int64_t head = 0; head < heads->heads; head++) {
                int64_t at = layer * heads->heads + head;
                heads->numbers[text * heads->layers * heads->heads + at] =
                    head_numbers_of(&weights[kind], layer, head);
                head_offsets_add(&heads->offsets[at], &weights[kind], layer, head);
            }
    }
    return ROTARY_OK;
}

static rotary_status label_example(struct heatmap_example *example, const struct reading *reading,
                                   rotary_error *error)
{
    const struct task *task = reading->request->task;
    rotary_status status =
        label_tokens(&example->target, task_tokenizer(task), reading->target, reading->target_count, error);
    if (status != ROTARY_OK || reading->source_count == 0)
        return status;
    return label_tokens(&example->source, task_source_tokenizer(task), reading->source, reading->source_count,
                        error);
}

static rotary_status add_text(struct heatmap_run *run, struct reading *reading, rotary_error *error)
{
    struct heatmap_example *example = &run->examples[reading->text];
    struct attention_weights weights[ATTENTION_KINDS];
    rotary_status status = read_text(reading, error);
    if (status == ROTARY_OK)
        status = label_example(example, reading, error);
    if (status != ROTARY_OK)
        return status;
    const struct attention_weights_call call = {.tokens = reading->target,
                                                .count = reading->target_count,
                                                .source = reading->source_count > 0 ? reading->source : NULL,
                                                .source_count = reading->source_count};
    status = attention_weights_create(weights, reading->transformer, &call, error);
    if (status != ROTARY_OK)
        return status;
    status = measure(run, weights, reading->text, error);
    if (status == ROTARY_OK && reading->text < reading->request->shown)
        memcpy(example->weights, weights, sizeof weights);
    else
        attention_weights_free(weights);
    return status;
}

rotary_status heatmap_run_fill(struct heatmap_run *run, struct transformer *transformer,
                               const struct heatmap_request *request, rotary_error *error)
{
    struct reading reading = {.transformer = transformer, .request = request};
    rotary_status status = check_request(request, error);
    if (status != ROTARY_OK)
        return status;
    run->texts = request->inputs->count;
    run->examples = calloc((size_t)run->texts, sizeof *run->examples);
    status = run->examples ? reading_create(&reading, error)
                           : rotary_fail_memory(error, "for attention weights of texts");
    for (; status == ROTARY_OK && reading.text < run->texts; reading.text++)
        status = add_text(run, &reading, error);
    reading_free(&reading);
    return status;
}
