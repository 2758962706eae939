/* SPDX-License-Identifier: Apache-2.0 */
#include "text/corpus/section_tokens.h"

#include "base/fail.h"
#include "base/integer.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_TOKENS = 1 << 14, FIRST_DOCUMENTS = 1 << 8, BYTES_PER_TOKEN = 4 };

/* ---- memory ---- */

static void fail_memory(struct section_tokens *tokens)
{
    tokens->status = rotary_fail_memory(&tokens->error, "for the tokens of a text");
}

/* Room for `wanted` elements of `size` bytes in a block of *capacity elements, which doubles. Returns the
 * block; NULL without memory, and the block stays. */
static void *grown(void *block, int64_t *capacity, int64_t wanted, int64_t first, size_t size)
{
    if (wanted <= *capacity)
        return block;
    const int64_t larger = max_i64(max_i64(2 * *capacity, wanted), first);
    void *made = realloc(block, (size_t)larger * size);
    if (made)
        *capacity = larger;
    return made;
}

static bool reserve_tokens(struct section_tokens *tokens, int64_t wanted)
{
    struct token_list *list = &tokens->list;
    int32_t *larger = grown(list->tokens, &list->capacity, wanted, FIRST_TOKENS, sizeof *larger);
    if (larger)
        list->tokens = larger;
    else
        fail_memory(tokens);
    return larger != NULL;
}

/* ---- lines ---- */

/* What ends a line of the section, or a record. */
static char line_end(const struct text_section *section)
{
    return section->boundary == DOCUMENT_RECORD ? '\0' : '\n';
}

/* Counts those of the section's bytes from ... to - 1. */
static int64_t count_lines(const struct text_section *section, int64_t from, int64_t to)
{
    int64_t lines = 0;
    const char *end = section->bytes + to, *newline;
    for (const char *at = section->bytes + from;
         (newline = memchr(at, line_end(section), (size_t)(end - at))); at = newline + 1)
        lines++;
    return lines;
}

/* Counts, of the first `bytes` of the section, those behind the last line end. */
static int64_t behind_last_line(const struct text_section *section, int64_t bytes)
{
    const char *newline = memrchr(section->bytes, line_end(section), (size_t)bytes);
    return newline ? section->bytes + bytes - newline - 1 : bytes;
}

/* The bytes before the first that is no text, and is not what ends a record. */
static int64_t valid_bytes(const struct text_section *section)
{
    int64_t valid = 0;
    for (;;) {
        valid += utf8_valid_bytes(section->bytes + valid, section->count - valid);
        if (valid == section->count || section->bytes[valid] != '\0' || section->boundary != DOCUMENT_RECORD)
            return valid;
        valid++;
    }
}

static bool check_text(struct section_tokens *tokens, const struct text_section *section)
{
    const int64_t valid = valid_bytes(section);
    tokens->failed_byte = -1;
    if (valid == section->count)
        return true;
    tokens->failed_line = count_lines(section, 0, valid);
    tokens->failed_byte = behind_last_line(section, valid);
    tokens->status =
        rotary_fail(&tokens->error, ROTARY_BAD_FILE, "byte 0x%02x", (unsigned char)section->bytes[valid]);
    return false;
}

/* ---- documents ---- */

/* The part with "\n" in the place of "\r\n"; its `bytes` are NULL without memory. */
static struct document_part without_carriages(struct section_tokens *tokens, const struct document_part *part)
{
    struct document_part plain = *part;
    const char *end = part->bytes + part->count, *from = part->bytes;
    if (!memmem(part->bytes, (size_t)part->count, "\r\n", 2))
        return plain;
    char *copy = grown(tokens->copy, &tokens->copy_capacity, part->count, FIRST_TOKENS, 1);
    if (copy)
        tokens->copy = copy;
    plain.bytes = copy;
    if (!copy)
        return plain;
    plain.count = 0;
    while (from < end) {
        const char *carriage = memmem(from, (size_t)(end - from), "\r\n", 2), *to = carriage ? carriage : end;
        memcpy(copy + plain.count, from, (size_t)(to - from));
        plain.count += to - from;
        from = carriage ? carriage + 1 : end;
    }
    return plain;
}

/* Encodes again, with room for all tokens, if some did not fit. */
static void encode(struct section_tokens *tokens, const struct document_part *part,
                   const struct tokenizer *tokenizer)
{
    struct token_list *list = &tokens->list;
    const int64_t before = list->count;
    if (!reserve_tokens(tokens, before + part->count / BYTES_PER_TOKEN + 1))
        return;
    for (;;) {
        list->left_out = 0;
        tokens->status = tokenizer_encode(tokenizer, part->bytes, part->count, list, &tokens->error);
        if (tokens->status != ROTARY_OK || list->left_out == 0)
            return;
        const int64_t wanted = list->count + list->left_out;
        list->count = before;
        if (!reserve_tokens(tokens, wanted))
            return;
    }
}

static bool begin_document(struct section_tokens *tokens, int64_t line)
{
    struct section_document *larger =
        grown(tokens->documents, &tokens->capacity, tokens->count + 1, FIRST_DOCUMENTS, sizeof *larger);
    if (!larger) {
        fail_memory(tokens);
        return false;
    }
    tokens->documents = larger;
    tokens->documents[tokens->count++] = (struct section_document){tokens->list.count, tokens->bytes, line};
    return true;
}

static void add_part(struct section_tokens *tokens, const struct document_part *part, int64_t line,
                     const struct tokenizer *tokenizer)
{
    if (!part->continues && !begin_document(tokens, line))
        return;
    const struct document_part plain = without_carriages(tokens, part);
    if (!plain.bytes) {
        fail_memory(tokens);
        return;
    }
    tokens->continues |= part->continues;
    tokens->open = part->open;
    tokens->bytes += plain.count;
    encode(tokens, &plain, tokenizer);
    if (tokens->status == ROTARY_INVALID_ARGUMENT)
        tokens->status = tokens->error.status = ROTARY_BAD_FILE;
    tokens->failed_line = line;
}

void section_tokens_encode(struct section_tokens *tokens, const struct text_section *section,
                           const struct tokenizer *tokenizer)
{
    tokens->list.count = tokens->count = tokens->bytes = 0;
    tokens->continues = tokens->open = false;
    tokens->status = ROTARY_OK;
    if (!check_text(tokens, section))
        return;
    struct document_reader reader = {.section = section};
    struct document_part part;
    int64_t lines = 0, counted = 0;
    while (tokens->status == ROTARY_OK && document_reader_next(&reader, &part)) {
        const int64_t begin = part.bytes - section->bytes;
        lines += count_lines(section, counted, begin);
        counted = begin;
        add_part(tokens, &part, lines, tokenizer);
    }
    tokens->lines = lines + count_lines(section, counted, section->count);
    tokens->rest = behind_last_line(section, section->count);
}

void section_tokens_free(struct section_tokens *tokens)
{
    free(tokens->list.tokens);
    free(tokens->documents);
    free(tokens->copy);
    *tokens = (struct section_tokens){0};
}
