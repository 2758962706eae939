/* SPDX-License-Identifier: Apache-2.0 */
#include "text/corpus/token_documents.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/random.h"
#include "base/threads.h"
#include "text/corpus/document_tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WAIT_NANOSECONDS = 100 * 1000 * 1000 };

struct token_documents {
    struct token_file file;
    bool cached;
    int64_t longest;
};

/* ---- the key and the name of a cache ---- */

/* Hashes the files one after another, as they are; where one ends counts, and how it is read, but not what it
 * is called. */
static rotary_status read_text(const struct text_files *files, const struct token_documents_request *request,
                               struct token_file_key *key, rotary_error *error)
{
    const char *field = text_feed_field(request->field);
    struct checksum all;
    checksum_start(&all);
    for (int64_t i = 0; i < files->count; i++) {
        struct mapped_file file;
        rotary_status status = mapped_file_open(&file, files->paths[i], error);
        if (status != ROTARY_OK)
            return status;
        enum compression compression;
        const uint64_t format = text_format_of(files->paths[i], &compression);
        const uint64_t part[] = {file.size, compression, format,
                                 block_checksum_of(file.bytes, file.size, request->threads, NULL, NULL)};
        checksum_add(&all, part, sizeof part);
        if (format == TEXT_JSONL)
            checksum_add(&all, field, strlen(field) + 1);
        key->text_bytes += file.size;
        mapped_file_close(&file);
    }
    key->text_checksum = checksum_finish(&all);
    return ROTARY_OK;
}

static rotary_status make_key(const struct token_documents_request *request, const struct text_files *files,
                              struct token_file_key *key, rotary_error *error)
{
    *key = (struct token_file_key){.vocabulary_size = tokenizer_size(request->tokenizer),
                                   .boundary = request->boundary};
    rotary_status status = tokenizer_checksum(request->tokenizer, &key->tokenizer_checksum, error);
    return status == ROTARY_OK ? read_text(files, request, key, error) : status;
}

/* The bytes of a path without slashes at its end. */
static int path_length(const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return (int)min_i64((int64_t)length, FILE_PATH_BYTES);
}

/* Where the last name of the path begins. */
static int name_at(const char *path, int length)
{
    int at = length;
    while (at > 0 && path[at - 1] != '/')
        at--;
    return at;
}

static uint64_t names_checksum(const struct token_documents_request *request)
{
    struct checksum names;
    const char *field = text_feed_field(request->field);
    checksum_start(&names);
    checksum_add(&names, field, strlen(field) + 1);
    for (int i = 0; i < request->count; i++) {
        const int length = path_length(request->paths[i]), at = name_at(request->paths[i], length);
        checksum_add(&names, request->paths[i] + at, (size_t)(length - at));
        checksum_add(&names, "", 1);
    }
    return checksum_finish(&names);
}

rotary_status token_documents_cache(const struct token_documents_request *request, char path[FILE_PATH_BYTES],
                                    rotary_error *error)
{
    const char *first = request->paths[0];
    const int length = path_length(first), name = name_at(first, length);
    uint64_t parts[3] = {(uint64_t)request->boundary, names_checksum(request)};
    rotary_status status = tokenizer_checksum(request->tokenizer, &parts[2], error);
    if (status != ROTARY_OK)
        return status;
    if (!request->cache && (name == length || strncmp(first + name, "..", (size_t)(length - name)) == 0))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "the folder %.350s has no name to call its tokens by: wanted a name for their file", first);
    const uint64_t hash = rotary_hash(parts, sizeof parts);
    const int written = request->cache ? snprintf(path, FILE_PATH_BYTES, "%s", request->cache)
                                       : snprintf(path, FILE_PATH_BYTES, "%.*s.%08x.tokens", length, first,
                                                  (unsigned)((hash ^ hash >> 32) & 0xffffffffu));
    if (written < 0 || written >= FILE_PATH_BYTES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the path %.80s... is too long: wanted below %d bytes", first,
                           (int)FILE_PATH_BYTES);
    return ROTARY_OK;
}

/* ---- opening ---- */

struct opening {
    const struct token_documents_request *request;
    struct text_files files;
    struct token_file_key key;
    char path[FILE_PATH_BYTES];
    struct token_documents *documents;
};

/* Opens the cache if it is there, whole, and that of this text: then *found is true. */
static rotary_status find_cache(struct opening *opening, bool *found, rotary_error *error)
{
    struct token_file_header header;
    bool foreign = false;
    rotary_status status = file_find(opening->path, found, error);
    if (status != ROTARY_OK || !*found)
        return status;
    status = token_file_read_header(opening->path, &header, &foreign, error);
    if (foreign)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%.350s is not a file of tokens, and would be replaced by one: wanted another name",
            opening->path);
    *found = status == ROTARY_OK && memcmp(&header.key, &opening->key, sizeof header.key) == 0;
    if (*found)
        status = token_file_open(&opening->documents->file, opening->path, opening->request->threads,
                                 &foreign, error);
    *found = *found && status == ROTARY_OK;
    return status == ROTARY_BAD_FILE ? ROTARY_OK : status; /* a damaged one is made anew */
}

/* The writer has the cache locked. Another may have finished it before. */
static rotary_status write_cache(struct opening *opening, struct token_writer *writer, bool *found,
                                 rotary_error *error)
{
    rotary_status status = find_cache(opening, found, error);
    if (status != ROTARY_OK || *found)
        return status;
    const struct document_tokens_call call = {
        .request = opening->request, .files = &opening->files, .key = &opening->key, .writer = writer};
    status = document_tokens_write(&call, error);
    return status == ROTARY_OK ? token_writer_finish(writer, error) : status;
}

static rotary_status wait_for_other(const struct opening *opening, rotary_error *error)
{
    const struct token_documents_request *request = opening->request;
    if (request->interrupted && atomic_load(request->interrupted))
        return rotary_fail(error, ROTARY_INTERRUPTED, "waiting for %.350s was interrupted", opening->path);
    if (request->progress)
        request->progress(request->argument, &(struct token_documents_progress){.waiting = true});
    nanosleep(&(struct timespec){.tv_nsec = WAIT_NANOSECONDS}, NULL);
    return ROTARY_OK;
}

static rotary_status find_or_write(struct opening *opening, rotary_error *error)
{
    bool found = false, busy = true;
    rotary_status status = find_cache(opening, &found, error);
    if (status != ROTARY_OK || found) {
        opening->documents->cached = found;
        return status;
    }
    struct token_writer *writer = malloc(sizeof *writer);
    if (!writer)
        return rotary_fail_memory(error, "to write %.350s", opening->path);
    for (;;) {
        status = token_writer_open(writer, opening->path, &busy, error);
        if (status != ROTARY_OK || !busy)
            break;
        status = wait_for_other(opening, error);
        if (status != ROTARY_OK)
            break;
    }
    if (!busy) {
        status = write_cache(opening, writer, &found, error);
        token_writer_close(writer, status == ROTARY_INTERRUPTED);
    }
    free(writer);
    opening->documents->cached = found;
    bool foreign;
    if (status == ROTARY_OK && !found)
        status = token_file_open(&opening->documents->file, opening->path, opening->request->threads,
                                 &foreign, error);
    return status;
}

static rotary_status prepare(struct opening *opening, rotary_error *error)
{
    const struct token_documents_request *request = opening->request;
    rotary_status status = rotary_check_threads(request->threads, error);
    if (status == ROTARY_OK && request->count < 1)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there is no text: wanted files or folders");
    if (status == ROTARY_OK)
        status = token_documents_cache(request, opening->path, error);
    if (status == ROTARY_OK)
        status = text_files_find(&opening->files, request->paths, request->count, error);
    if (status == ROTARY_OK)
        status = file_check_output(opening->path, (const char *const *)opening->files.paths,
                                   (int)opening->files.count, error);
    if (status == ROTARY_OK)
        status = make_key(request, &opening->files, &opening->key, error);
    return status;
}

rotary_status token_documents_open(struct token_documents **documents,
                                   const struct token_documents_request *request, rotary_error *error)
{
    struct opening opening = {.request = request};
    opening.documents = calloc(1, sizeof *opening.documents);
    if (!opening.documents)
        return rotary_fail_memory(error, "for a corpus of documents");
    rotary_status status = prepare(&opening, error);
    if (status == ROTARY_OK)
        status = find_or_write(&opening, error);
    text_files_free(&opening.files);
    if (status != ROTARY_OK) {
        token_documents_close(opening.documents);
        return status;
    }
    for (int64_t i = 0; i < opening.documents->file.header.contents.documents; i++)
        opening.documents->longest =
            max_i64(opening.documents->longest, token_documents_at(opening.documents, i).count);
    *documents = opening.documents;
    return ROTARY_OK;
}

void token_documents_close(struct token_documents *documents)
{
    if (documents)
        token_file_close(&documents->file);
    free(documents);
}

/* ---- reading ---- */

struct token_documents_totals token_documents_totals(const struct token_documents *documents)
{
    const struct token_file_contents *contents = &documents->file.header.contents;
    return (struct token_documents_totals){.documents = contents->documents,
                                           .tokens = contents->tokens,
                                           .bytes = contents->bytes,
                                           .longest = documents->longest,
                                           .cached = documents->cached};
}

int64_t token_documents_count(const struct token_documents *documents)
{
    return documents->file.header.contents.documents;
}

struct token_span token_documents_at(const struct token_documents *documents, int64_t index)
{
    const struct token_file_begin *starts = documents->file.starts + index;
    return (struct token_span){documents->file.tokens + starts[0].token, starts[1].token - starts[0].token};
}

int64_t token_documents_bytes(const struct token_documents *documents, int64_t index)
{
    const struct token_file_begin *starts = documents->file.starts + index;
    return starts[1].byte - starts[0].byte;
}
