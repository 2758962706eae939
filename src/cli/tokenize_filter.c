/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines are taken in batches: all those that were read already, so that nobody waits for a line whose end is
 * still to come. A batch is cut into parts of lines that follow one another. Threads compute the parts and
 * print each into memory, and what they printed goes out in order.
 */
#include "cli/tokenize_filter.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/threads.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
    WAIT_MILLISECONDS = 100,
    BATCH_LINES = 1 << 12,
    BATCH_BYTES = 1 << 20,
    READ_BYTES = 1 << 18,
    PARTS_PER_THREAD = 4
};

/* A part of a batch, and what became of it. */
struct part {
    int64_t begin, end; /* lines of the batch; after a failure `end` is the line that failed */
    char *printed;
    size_t bytes;
    rotary_status status;
    rotary_error error;
};

struct filtering {
    const struct tokenize_filter *filter;
    char *contexts; /* one for each thread */
    int threads;
    int64_t max_lines; /* of a batch */
    bool json;
    struct text_reader reader;
    int64_t done;            /* lines of the batches before */
    struct text_buffer text; /* the lines of the batch, each with a zero byte behind it */
    int64_t starts[BATCH_LINES + 1], lines;
    struct part *parts; /* [threads * PARTS_PER_THREAD] */
};

/* ---- reading ---- */

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

/* Waits for a line and takes those that are there behind it. Without any the input has ended; lines before a
 * failure are in the batch all the same. */
static rotary_status read_batch(struct filtering *filtering, const atomic_bool *interrupted,
                                rotary_error *error)
{
    filtering->text.count = filtering->lines = 0;
    do {
        struct text_line line;
        rotary_status status = next_line(&filtering->reader, interrupted, &line, error);
        if (status != ROTARY_OK || !line.bytes)
            return status;
        filtering->starts[filtering->lines] = filtering->text.count;
        status = text_buffer_append(&filtering->text, line.bytes, line.count + 1, error);
        if (status != ROTARY_OK)
            return status;
        filtering->starts[++filtering->lines] = filtering->text.count;
    } while (filtering->lines < filtering->max_lines && filtering->text.count < BATCH_BYTES &&
             text_reader_has_line(&filtering->reader));
    return ROTARY_OK;
}

/* ---- computing ---- */

static void print_line(const struct filtering *filtering, const void *context, int64_t line, FILE *to)
{
    if (filtering->json)
        fputs(filtering->done + line > 0 ? ",\n" : "\n", to);
    filtering->filter->print(context, to, filtering->json);
    if (!filtering->json)
        putc('\n', to);
}

static void run_lines(const struct filtering *filtering, void *context, struct part *part, FILE *to)
{
    for (int64_t i = part->begin; i < part->end; i++) {
        const struct text_line line = {filtering->text.bytes + filtering->starts[i],
                                       filtering->starts[i + 1] - filtering->starts[i] - 1};
        part->status = filtering->filter->compute(context, &line, &part->error);
        if (part->status == ROTARY_OK)
            print_line(filtering, context, i, to);
        else
            part->end = i;
    }
}

static void run_part(void *argument, int64_t index, int worker)
{
    struct filtering *filtering = argument;
    struct part *part = &filtering->parts[index];
    FILE *to = open_memstream(&part->printed, &part->bytes);
    part->status = ROTARY_OK;
    if (to)
        run_lines(filtering, filtering->contexts + (size_t)worker * filtering->filter->context_bytes, part,
                  to);
    if (!to || ferror(to) || fclose(to) != 0) {
        part->end = part->begin;
        part->bytes = 0;
        part->status = rotary_fail_memory(&part->error, "to print a line");
    }
}

/* Cuts the batch into parts of as many lines, and computes them. Returns how many there are. */
static int64_t run_parts(struct filtering *filtering)
{
    const int64_t parts = min_i64((int64_t)filtering->threads * PARTS_PER_THREAD, filtering->lines);
    for (int64_t i = 0; i < parts; i++)
        filtering->parts[i] =
            (struct part){.begin = filtering->lines * i / parts, .end = filtering->lines * (i + 1) / parts};
    rotary_parallel_for(filtering->threads, parts, run_part, filtering);
    return parts;
}

/* Prints what became of the batch, to the end or to the line that failed. */
static rotary_status run_batch(struct filtering *filtering, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    const int64_t parts = run_parts(filtering);
    int64_t lines = 0;
    for (int64_t i = 0; i < parts; i++) {
        const struct part *part = &filtering->parts[i];
        if (status == ROTARY_OK) {
            fwrite(part->printed, 1, part->bytes, stdout);
            lines = part->end;
            status = part->status;
            if (status != ROTARY_OK)
                status = rotary_fail(error, status, "%s, line %lld: %s", filtering->reader.input.path,
                                     (long long)(filtering->done + lines + 1), part->error.message);
        }
        free(part->printed);
    }
    filtering->done += lines;
    return status;
}

/* Ends early if nothing can be printed any more. */
static rotary_status run_batches(struct filtering *filtering, const atomic_bool *interrupted,
                                 rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    while (status == ROTARY_OK && !ferror(stdout)) {
        rotary_error reason;
        const rotary_status read = read_batch(filtering, interrupted, &reason);
        status = run_batch(filtering, error);
        if (status == ROTARY_OK && read != ROTARY_OK)
            status = rotary_fail(error, read, "%s", reason.message);
        if (filtering->lines == 0)
            break;
        if (!text_reader_is_ahead(&filtering->reader))
            fflush(stdout); /* before it waits for more */
    }
    return status;
}

static void print_totals(const struct filtering *filtering)
{
    const struct tokenize_filter *filter = filtering->filter;
    for (int i = 1; filter->add && i < filtering->threads; i++)
        filter->add(filtering->contexts, filtering->contexts + (size_t)i * filter->context_bytes);
    printf("],\"lines\":%lld", (long long)filtering->done);
    if (filter->print_totals)
        filter->print_totals(filtering->contexts);
    puts("}");
}

static rotary_status filter_lines(struct filtering *filtering, const struct invocation *invocation,
                                  rotary_error *error)
{
    const bool json = filtering->json = invocation->common.json;
    filtering->parts = malloc((size_t)filtering->threads * PARTS_PER_THREAD * sizeof *filtering->parts);
    filtering->reader.input.descriptor = -1;
    rotary_status status = filtering->parts ? text_reader_open(&filtering->reader, NULL, error)
                                            : rotary_fail_memory(error, "for %d threads", filtering->threads);
    if (status == ROTARY_OK) /* a batch is what one reading finds */
        status = text_buffer_reserve(&filtering->reader.text, READ_BYTES, error);
    filtering->reader.raw = true; /* as SentencePiece's own programs have it */
    if (status == ROTARY_OK) {    /* what is printed as JSON is valid however it ends */
        if (json)
            printf("{\"%s\":[", filtering->filter->key);
        status = run_batches(filtering, invocation->interrupted, error);
        if (json)
            print_totals(filtering);
    }
    text_reader_close(&filtering->reader);
    text_buffer_free(&filtering->text);
    free(filtering->parts);
    return status;
}

rotary_status tokenize_filter_lines(const struct invocation *invocation, const struct tokenize_filter *filter,
                                    void *context, rotary_error *error)
{
    struct filtering filtering = {.filter = filter, .contexts = context, .threads = 1, .max_lines = 1};
    return filter_lines(&filtering, invocation, error);
}

/* Runs with copies of a context for all threads. */
static rotary_status run_copies(const struct invocation *invocation, const struct tokenize_filter *filter,
                                const void *context, const struct tokenizer *tokenizer, rotary_error *error)
{
    const char *path = invocation->operands.items[0];
    const int threads =
        invocation->common.threads.value > 0 ? (int)invocation->common.threads.value : rotary_processors();
    char *contexts = calloc((size_t)threads, filter->context_bytes);
    if (!contexts)
        return rotary_fail_memory(error, "for %d threads", threads);
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < threads; i++)
        memcpy(contexts + (size_t)i * filter->context_bytes, context, filter->context_bytes);
    for (int i = 0; i < threads && status == ROTARY_OK; i++)
        status = filter->start(contexts + (size_t)i * filter->context_bytes, tokenizer, path, error);
    struct filtering filtering = {
        .filter = filter, .contexts = contexts, .threads = threads, .max_lines = BATCH_LINES};
    if (status == ROTARY_OK)
        status = filter_lines(&filtering, invocation, error);
    for (int i = 0; i < threads; i++)
        filter->finish(contexts + (size_t)i * filter->context_bytes);
    free(contexts);
    return status;
}

enum exit_status tokenize_filter_run(const struct invocation *invocation,
                                     const struct tokenize_filter *filter, const void *context)
{
    const char *path = invocation->operands.items[0];
    struct tokenizer *tokenizer = NULL;
    rotary_error error = {0};
    rotary_status status = tokenizer_load(&tokenizer, path, &error);
    if (status == ROTARY_OK)
        status = run_copies(invocation, filter, context, tokenizer, &error);
    tokenizer_destroy(tokenizer);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

void tokenize_print_string(FILE *to, const char *text, int64_t bytes)
{
    bool utf8 = utf8_valid_bytes(text, bytes) == bytes;
    putc('"', to);
    for (int64_t i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte < ' ' || (!utf8 && byte >= 0x7f))
            fprintf(to, "\\u%04x", (unsigned)byte);
        else
            fprintf(to, "%s%c", byte == '"' || byte == '\\' ? "\\" : "", byte);
    }
    putc('"', to);
}
