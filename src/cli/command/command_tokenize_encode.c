/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary tokenize encode: a filter from lines of text to lines of tokens.
 */
#include "base/fail.h"
#include "cli/tokenize_filter.h"
#include "text/utf8.h"

#include <stdio.h>
#include <stdlib.h>

struct encode_options {
    bool pieces, begin, end;
};

#define MEMBER(member) offsetof(struct encode_options, member)
static const struct setting encode_table[] = {
    {"--pieces", SETTING_BOOLEAN, MEMBER(pieces), .help = "print the texts of the tokens, not their numbers"},
    {"--begin", SETTING_BOOLEAN, MEMBER(begin), .help = "put the tokenizer's begin token before each line"},
    {"--end", SETTING_BOOLEAN, MEMBER(end), .help = "put the tokenizer's end token behind each line"},
};

enum { FIRST_TOKENS = 1 << 10 };

struct encoder {
    const struct tokenizer *tokenizer;
    const struct encode_options *options;
    struct token_list list;
    int64_t tokens, unknown; /* of all lines */
};

static rotary_status start(void *context, const struct tokenizer *tokenizer, const char *path,
                           rotary_error *error)
{
    struct encoder *encoder = context;
    const struct special_tokens special = tokenizer_special(tokenizer);
    if (encoder->options->begin && special.begin < 0)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has no begin token, which --begin would print", path);
    if (encoder->options->end && special.end < 0)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has no end token, which --end would print", path);
    encoder->tokenizer = tokenizer;
    encoder->list =
        (struct token_list){.tokens = malloc(FIRST_TOKENS * sizeof(int32_t)), .capacity = FIRST_TOKENS};
    return encoder->list.tokens ? ROTARY_OK : rotary_fail_memory(error, "for tokens");
}

/* The tokens of a line, in a list that grows until they and the end fit. */
static rotary_status encode(void *context, const struct text_line *line, rotary_error *error)
{
    struct encoder *encoder = context;
    struct token_list *list = &encoder->list;
    const struct special_tokens special = tokenizer_special(encoder->tokenizer);
    for (;;) {
        list->count = list->left_out = 0;
        if (encoder->options->begin)
            list->tokens[list->count++] = special.begin;
        rotary_status status = tokenizer_encode(encoder->tokenizer, line->bytes, line->count, list, error);
        if (status != ROTARY_OK)
            return status;
        int64_t wanted = list->count + list->left_out + 1;
        if (wanted <= list->capacity)
            break;
        int32_t *larger = realloc(list->tokens, (size_t)wanted * 2 * sizeof *larger);
        if (!larger)
            return rotary_fail_memory(error, "for %lld tokens", (long long)wanted);
        list->tokens = larger;
        list->capacity = wanted * 2;
    }
    if (encoder->options->end)
        list->tokens[list->count++] = special.end;
    encoder->tokens += list->count;
    for (int64_t i = 0; i < list->count; i++)
        encoder->unknown += list->tokens[i] == special.unknown;
    return ROTARY_OK;
}

/* ---- results ---- */

/* Prints a piece as JSON, or with \x20 for white space, other control characters and bytes that are no UTF-8. */
static void print_piece(struct token_text text, FILE *to, bool json)
{
    if (json)
        tokenize_print_string(to, text.bytes, text.count);
    for (int64_t at = 0, length; !json && at < text.count; at += length) {
        const unsigned char byte = (unsigned char)text.bytes[at];
        length = utf8_character_bytes(text.bytes + at, text.count - at);
        if (length > 0 && byte > ' ' && byte != 0x7f) {
            fwrite(text.bytes + at, 1, (size_t)length, to);
        } else {
            fprintf(to, "\\x%02x", (unsigned)byte);
            length = 1;
        }
    }
}

/* Prints what fprintf does, in a third of its time: there is a number for every few bytes of text. A separator of zero
 * is none. */
static void print_number(char separator, int32_t token, FILE *to)
{
    char digits[12], *first = digits + sizeof digits;
    do
        *--first = (char)('0' + token % 10);
    while ((token /= 10) > 0);
    if (separator)
        *--first = separator;
    fwrite(first, 1, (size_t)(digits + sizeof digits - first), to);
}

static void print(const void *context, FILE *to, bool json)
{
    const struct encoder *encoder = context;
    fputs(json ? "[" : "", to);
    for (int64_t i = 0; i < encoder->list.count; i++) {
        const char separator = (char)(i == 0 ? 0 : json ? ',' : ' ');
        const int32_t token = encoder->list.tokens[i];
        if (!encoder->options->pieces) {
            print_number(separator, token, to);
            continue;
        }
        if (separator)
            putc(separator, to);
        print_piece(tokenizer_text(encoder->tokenizer, token), to, json);
    }
    fputs(json ? "]" : "", to);
}

static void finish(void *context)
{
    free(((struct encoder *)context)->list.tokens);
}

static void add(void *context, const void *other)
{
    struct encoder *encoder = context;
    encoder->tokens += ((const struct encoder *)other)->tokens;
    encoder->unknown += ((const struct encoder *)other)->unknown;
}

static void print_totals(const void *context)
{
    const struct encoder *encoder = context;
    printf(",\"tokens\":%lld,\"unknown\":%lld", (long long)encoder->tokens, (long long)encoder->unknown);
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct encoder encoder = {.options = invocation->options};
    const struct tokenize_filter filter = {.key = encoder.options->pieces ? "pieces" : "ids",
                                           .context_bytes = sizeof encoder,
                                           .start = start,
                                           .compute = encode,
                                           .print = print,
                                           .finish = finish,
                                           .add = add,
                                           .print_totals = print_totals};
    return tokenize_filter_run(invocation, &filter, &encoder);
}

const struct command command_tokenize_encode = {
    .name = "tokenize encode",
    .operands = "MODEL",
    .summary = "makes tokens of lines of text: standard input to standard output",
    .more = "MODEL is a tokenizer's file. Each line becomes a line of numbers, an empty line an empty one. A "
            "line "
            "that is not UTF-8 or has more than a mebibyte ends it with a message. White space and bytes "
            "that are no "
            "text are printed as \\x20.",
    .example = "rotary tokenize encode both.model --pieces < test.de\n"
               "shows which pieces the sentences of a file are made of",
    .options = encode_table,
    .option_count = sizeof encode_table / sizeof encode_table[0],
    .options_size = sizeof(struct encode_options),
    .min_operands = 1,
    .max_operands = 1,
    .stopping = "stopping after a whole line",
    .run = run,
};
