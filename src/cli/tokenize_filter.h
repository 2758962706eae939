/* SPDX-License-Identifier: Apache-2.0
 *
 * What rotary tokenize encode and decode and rotary fill and classify have in common: they read the standard
 * input line by line and print a line, or an entry of a JSON array, for each.
 */
#ifndef ROTARY_CLI_TOKENIZE_FILTER_H
#define ROTARY_CLI_TOKENIZE_FILTER_H

#include "cli/command.h"
#include "text/text_lines.h"
#include "text/tokenizer/tokenizer.h"

#include <stdio.h>

/* A context is the command's own, of `context_bytes`. */
struct tokenize_filter {
    const char *key; /* of the JSON array */
    size_t context_bytes;
    /* Prepares a context for the tokenizer read from `path`, which outlives the filter. */
    rotary_status (*start)(void *context, const struct tokenizer *tokenizer, const char *path,
                           rotary_error *error);
    /* Computes what becomes of a line, and prints it, without the end of the line. */
    rotary_status (*compute)(void *context, const struct text_line *line, rotary_error *error);
    void (*print)(const void *context, FILE *to, bool json);
    void (*finish)(void *context); /* frees what start and compute allocated, also of one not started */
    /* Adds what another context has counted, and prints the members of the JSON object that follow "lines";
     * NULL: none. */
    void (*add)(void *context, const void *other);
    void (*print_totals)(const void *context);
};

/* Runs it with the tokenizer that the first operand names. Each thread has a copy of `context`, and lines are
 * printed in their order. */
enum exit_status tokenize_filter_run(const struct invocation *invocation,
                                     const struct tokenize_filter *filter, const void *context);

/* Runs without a file of a tokenizer, line after line in `context` itself: neither `start` nor `finish` is
 * called. */
ROTARY_CHECKED rotary_status tokenize_filter_lines(const struct invocation *invocation,
                                                   const struct tokenize_filter *filter, void *context,
                                                   rotary_error *error);

/* Prints a text as a JSON string. What is not UTF-8 becomes a character U+0000 ... U+00FF for each byte. */
void tokenize_print_string(FILE *to, const char *text, int64_t bytes);

#endif
