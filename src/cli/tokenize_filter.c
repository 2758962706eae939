/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tokenize_filter.h"

#include "base/fail.h"
#include "text/utf8.h"

#include <stdio.h>

enum { WAIT_MILLISECONDS = 100 };

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

/* Takes the next line, for which it waits until it is interrupted. */
static rotary_status next_line(struct text_reader *reader, const atomic_bool *interrupted,
                               struct text_line *line, rotary_error *error)
{
    bool stops = atomic_load_explicit(interrupted, memory_order_relaxed);
    while (!stops && !text_reader_is_ready(reader, WAIT_MILLISECONDS))
        stops = atomic_load_explicit(interrupted, memory_order_relaxed);
    if (stops)
        return rotary_fail(error, ROTARY_INTERRUPTED, "interrupted after line %lld",
                           (long long)reader->number);
    return text_reader_next(reader, line, error);
}

/* Ends early if nothing can be printed any more. What is printed as JSON is valid however it ends. */
static rotary_status run_lines(const struct tokenize_filter *filter, const struct invocation *invocation,
                               void *context, struct text_reader *reader, rotary_error *error)
{
    bool json = invocation->common.json;
    int64_t lines = 0;
    rotary_status status = ROTARY_OK;
    reader->raw = true; /* as SentencePiece's own programs have it */
    if (json)
        printf("{\"%s\":[", filter->key);
    while (!ferror(stdout)) {
        struct text_line line;
        status = next_line(reader, invocation->interrupted, &line, error);
        if (status == ROTARY_OK && line.bytes)
            status = run_line(filter, context, reader, &line, error);
        if (status != ROTARY_OK || !line.bytes)
            break;
        if (json)
            fputs(lines > 0 ? ",\n" : "\n", stdout);
        filter->print(context, json);
        if (!json)
            putchar('\n');
        lines++;
        if (!text_reader_is_ahead(reader))
            fflush(stdout); /* before it waits for more */
    }
    if (!json)
        return status;
    printf("],\"lines\":%lld", (long long)lines);
    if (filter->print_totals)
        filter->print_totals(context);
    puts("}");
    return status;
}

rotary_status tokenize_filter_lines(const struct invocation *invocation, const struct tokenize_filter *filter,
                                    void *context, rotary_error *error)
{
    struct text_reader reader = {.input.descriptor = -1};
    rotary_status status = text_reader_open(&reader, NULL, error);
    if (status == ROTARY_OK)
        status = run_lines(filter, invocation, context, &reader, error);
    text_reader_close(&reader);
    return status;
}

enum exit_status tokenize_filter_run(const struct invocation *invocation,
                                     const struct tokenize_filter *filter, void *context)
{
    const char *path = invocation->operands.items[0];
    struct tokenizer *tokenizer = NULL;
    rotary_error error = {0};
    rotary_status status = tokenizer_load(&tokenizer, path, &error);
    if (status == ROTARY_OK)
        status = filter->start(context, tokenizer, path, &error);
    if (status == ROTARY_OK)
        status = tokenize_filter_lines(invocation, filter, context, &error);
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
