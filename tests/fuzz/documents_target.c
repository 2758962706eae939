/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of tokens, texts read as documents in sections of a few bytes, compressed texts and records of JSON.
 */
#include "file/checksum/block_checksum.h"
#include "file/file.h"
#include "fuzz/target.h"
#include "text/corpus/section_tokens.h"
#include "text/corpus/text_feed.h"
#include "text/corpus/token_file.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- files of tokens ---- */

static void check_documents(const struct token_file *file)
{
    const struct token_file_header *header = &file->header;
    for (int64_t i = 0; i < header->contents.documents; i++) {
        const int64_t begin = file->starts[i].token, end = file->starts[i + 1].token;
        const int64_t first = file->starts[i].byte, last = file->starts[i + 1].byte;
        if (first < 0 || last < first || last > header->contents.bytes)
            fuzz_fail("document %lld has the bytes %lld to %lld", (long long)i, (long long)first,
                      (long long)last);
        if (begin < 0 || end <= begin || end > header->contents.tokens)
            fuzz_fail("document %lld has the tokens %lld to %lld", (long long)i, (long long)begin,
                      (long long)end);
        for (int64_t j = begin; j < end; j++)
            if (file->tokens[j] < 0 || file->tokens[j] >= header->key.vocabulary_size)
                fuzz_fail("token %lld is %d of %lld", (long long)j, (int)file->tokens[j],
                          (long long)header->key.vocabulary_size);
    }
}

static bool read_tokens(const char *path)
{
    rotary_error error = {0};
    struct token_file file;
    bool foreign;
    if (fuzz_refused(token_file_open(&file, path, 1, &foreign, &error), &error))
        return false;
    check_documents(&file);
    token_file_close(&file);
    return true;
}

/* Sets the checksums, and the number of tokens to what the size leaves for them. */
static void repair_tokens(unsigned char *bytes, size_t count)
{
    struct token_file_header header;
    const size_t begin = sizeof(struct token_file_begin), least = TOKEN_FILE_HEADER_BYTES + 2 * begin;
    if (count < least + sizeof(int64_t))
        return;
    memcpy(&header, bytes, sizeof header);
    const size_t words = (count - TOKEN_FILE_HEADER_BYTES) / sizeof(int64_t);
    struct token_file_contents *contents = &header.contents;
    if (contents->documents < 1 || 2 * (size_t)contents->documents > words - 3)
        contents->documents = 1;
    const size_t starts = ((size_t)contents->documents + 1) * begin,
                 tokens = words * sizeof(int64_t) - starts;
    const int64_t room = (int64_t)(tokens / sizeof(int32_t)); /* of which one may be padding */
    if (contents->tokens != room && contents->tokens != room - 1)
        contents->tokens = room;
    const unsigned char *at = bytes + TOKEN_FILE_HEADER_BYTES;
    contents->tokens_checksum =
        block_checksum_of(at, (size_t)contents->tokens * sizeof(int32_t), 1, NULL, NULL);
    contents->starts_checksum = block_checksum_of(at + tokens, starts, 1, NULL, NULL);
    token_file_header_make(&header, &header.key, contents);
    memcpy(bytes, &header, sizeof header);
}

static const char *const token_words[] = {"rotary tokens\n\032", "\1",   "\2",
                                          "\377\377\377\377",    "\177", NULL};

const struct fuzz_target fuzz_tokens = {
    .name = "tokens", .read = read_tokens, .repair = repair_tokens, .words = token_words};

/* ---- documents ---- */

enum { MAX_BYTES = 1 << 16 };

static void check_section(const struct section_tokens *tokens, const struct text_section *section)
{
    if (tokens->status != ROTARY_OK) {
        if (tokens->failed_byte < 0 || tokens->failed_byte >= section->count)
            fuzz_fail("byte %lld of %lld is said to be wrong", (long long)tokens->failed_byte,
                      (long long)section->count);
        return;
    }
    int64_t last = 0;
    for (int64_t i = 0; i < tokens->count; i++) {
        const struct section_document *document = &tokens->documents[i];
        if (document->token < last || document->token > tokens->list.count || document->line > tokens->lines)
            fuzz_fail("document %lld begins at token %lld, line %lld", (long long)i,
                      (long long)document->token, (long long)document->line);
        last = document->token;
    }
    /* Of the tokenizer of bytes. */
    if (tokens->list.count != tokens->bytes || tokens->bytes > section->count)
        fuzz_fail("%lld tokens of %lld bytes", (long long)tokens->list.count, (long long)tokens->bytes);
}

/* Returns how many tokens there are; -1 for what is no text. */
static int64_t read_sections(const char *text, int64_t count, int64_t size, enum document_boundary boundary,
                             const struct tokenizer *tokenizer)
{
    struct section_tokens tokens = {0};
    bool continues = false, next = false;
    int64_t sum = 0;
    for (int64_t begin = 0, end; begin < count && sum >= 0; begin = end, continues = next) {
        end = document_section_end(text, count, begin, size, boundary, &next);
        if (end <= begin || end > count || (end < count && end < begin + size))
            fuzz_fail("a section has the bytes %lld to %lld of %lld", (long long)begin, (long long)end,
                      (long long)count);
        const struct text_section section = {text + begin, end - begin, continues, boundary};
        section_tokens_encode(&tokens, &section, tokenizer);
        check_section(&tokens, &section);
        sum = tokens.status == ROTARY_OK ? sum + tokens.list.count : -1;
    }
    section_tokens_free(&tokens);
    return sum;
}

static bool read_documents(const char *path)
{
    static struct tokenizer *bytes; /* its memory is not charged to each input */
    rotary_error error = {0};
    char *text;
    size_t count;
    bool valid = true;
    if (!bytes && bytes_create(&bytes, NULL) != ROTARY_OK)
        fuzz_fail("there is no tokenizer");
    if (fuzz_refused(file_read(path, MAX_BYTES, &text, &count, &error), &error))
        return false;
    for (int boundary = 0; boundary <= DOCUMENT_RECORD && valid; boundary++) {
        const int64_t whole = read_sections(text, (int64_t)count, MAX_BYTES, boundary, bytes),
                      small = read_sections(text, (int64_t)count, 8, boundary, bytes);
        if ((whole < 0) != (small < 0) || (boundary == DOCUMENT_FILE && whole != small))
            fuzz_fail("%lld tokens in one section are %lld in many", (long long)whole, (long long)small);
        valid = whole >= 0;
    }
    free(text);
    return valid;
}

static const char *const document_words[] = {"\n",
                                             "\r\n",
                                             "\n\n",
                                             " ",
                                             "        ",
                                             "\t",
                                             "\r",
                                             "a",
                                             "\xc3\xa9",
                                             "\xff",
                                             "\xf0\x9f\x98\x80",
                                             "\xa9",
                                             "\xef\xbb\xbf",
                                             "abcdefghijklmnop",
                                             NULL};

const struct fuzz_target fuzz_documents = {
    .name = "documents", .read = read_documents, .words = document_words, .memory = 2};

/* ---- other files than plain texts ---- */

/* By how the file begins. */
static enum compression compression_found(const char *path)
{
    static const char *const starts[COMPRESSIONS] = {"", "\x1f\x8b", "\x28\xb5\x2f\xfd", "BZh"};
    char *bytes;
    size_t count;
    int compression = COMPRESSIONS - 1;
    if (file_read(path, MAX_BYTES, &bytes, &count, NULL) != ROTARY_OK)
        return COMPRESSION_NONE;
    while (compression > COMPRESSION_NONE &&
           (!compression_is_supported((enum compression)compression) ||
            strncmp(bytes, starts[compression], strlen(starts[compression])) != 0))
        compression--;
    free(bytes);
    return (enum compression)compression;
}

static bool read_feed(const char *path, enum text_format format)
{
    enum { MAX_TEXT = 1 << 22 }; /* little is much, decompressed */
    rotary_error error = {0};
    struct text_feed feed;
    struct text_buffer text = {0};
    bool more = true;
    int64_t total = 0;
    rotary_status status = text_feed_open(&feed, path, format, compression_found(path), "text", &error);
    while (status == ROTARY_OK && more && total < MAX_TEXT) {
        status = text_feed_add(&feed, &text, &more, &error);
        if (text.first > text.count || text.count > text.capacity)
            fuzz_fail("the bytes %lld to %lld of %lld", (long long)text.first, (long long)text.count,
                      (long long)text.capacity);
        total += text.count - text.first;
        if (status == ROTARY_OK && format != TEXT_PLAIN && text.count > text.first &&
            text.bytes[text.count - 1] != '\0')
            fuzz_fail("a record does not end with a zero byte");
        text.first = text.count;
    }
    text_buffer_free(&text);
    text_feed_close(&feed);
    return !fuzz_refused(status, &error);
}

static bool read_inputs(const char *path)
{
    const bool plain = read_feed(path, TEXT_PLAIN), records = read_feed(path, TEXT_JSONL);
    return plain && (records || compression_found(path) != COMPRESSION_NONE);
}

static const char *const input_words[] = {
    "{\"text\": \"", "\"}\n",   "\n",      "{",    "}",        "\"",   "\"text\"",
    "null",          "\\u0000", "\\ud800", "\xff", "\x1f\x8b", "BZh9", "\x28\xb5\x2f\xfd",
    "\xef\xbb\xbf",  NULL};

const struct fuzz_target fuzz_inputs = {.name = "inputs",
                                        .read = read_inputs,
                                        .words = input_words,
                                        .memory = 1000}; /* a byte of bzip2 may be as many */
