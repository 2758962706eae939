/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tokenize_filter.h"

#include "base/fail.h"
#include "text/utf8.h"

#include <stdio.h>

static rotary_status run_line(const struct tokenize_filter *filter, void *context,
                              const struct text_reader *reader, const struct text_line *line,
                              rotary_error *error)
{
    rotary_error reason;
    rotary_status status = filter->compute(context, line, &reason);
    if (status == ROTARY_OK)
        return status;
    return rotary_fail(error, status, "%s, line %lld: %s", reader->input.path, (long long)reader->number,
                       reason.message);
}

/* Ends early if nothing can be printed any more. */
static rotary_status run_lines(const struct tokenize_filter *filter, void *context, bool json,
                               struct text_reader *reader, rotary_error *error)
{
    reader->raw = true; /* as SentencePiece's own programs have it */
    if (json)
        printf("{\"%s\":[", filter->key);
    while (!ferror(stdout)) {
        struct text_line line;
        rotary_status status = text_reader_next(reader, &line, error);
        if (status == ROTARY_OK && line.bytes)
            status = run_line(filter, context, reader, &line, error);
        if (status != ROTARY_OK)
            return status;
        if (!line.bytes)
            break;
        if (json)
            fputs(reader->number > 1 ? ",\n" : "\n", stdout);
        filter->print(context, json);
        if (!json)
            putchar('\n');
        if (!text_reader_is_ahead(reader))
            fflush(stdout); /* before it waits for more */
    }
    if (!json)
        return ROTARY_OK;
    printf("],\"lines\":%lld", (long long)reader->number);
    if (filter->print_totals)
        filter->print_totals(context);
    puts("}");
    return ROTARY_OK;
}

enum exit_status tokenize_filter_run(const struct invocation *invocation,
                                     const struct tokenize_filter *filter, void *context)
{
    const char *path = invocation->operands.items[0];
    struct tokenizer *tokenizer = NULL;
    struct text_reader reader = {.input.descriptor = -1};
    rotary_error error = {0};
    rotary_status status = tokenizer_load(&tokenizer, path, &error);
    if (status == ROTARY_OK)
        status = filter->start(context, tokenizer, path, &error);
    if (status == ROTARY_OK)
        status = text_reader_open(&reader, NULL, &error);
    if (status == ROTARY_OK)
        status = run_lines(filter, context, invocation->common.json, &reader, &error);
    text_reader_close(&reader);
    tokenizer_destroy(tokenizer);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

void tokenize_print_string(const char *text, int64_t bytes)
{
    bool utf8 = utf8_valid_bytes(text, bytes) == bytes;
    putchar('"');
    for (int64_t i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte < ' ' || (!utf8 && byte >= 0x7f))
            printf("\\u%04x", (unsigned)byte);
        else
            printf("%s%c", byte == '"' || byte == '\\' ? "\\" : "", byte);
    }
    putchar('"');
}
