/* SPDX-License-Identifier: Apache-2.0 */
#include "text/corpus/token_file.h"

#include "base/fail.h"
#include "base/integer.h"
#include "file/checksum/block_checksum.h"

#include <stdatomic.h>
#include <string.h>

static const char magic[16] = "rotary tokens\n\032";

_Static_assert(sizeof(struct token_file_header) <= TOKEN_FILE_HEADER_BYTES, "the header has room");

static uint64_t header_checksum(const struct token_file_header *header)
{
    struct checksum checksum;
    checksum_start(&checksum);
    checksum_add(&checksum, header, offsetof(struct token_file_header, checksum));
    return checksum_finish(&checksum);
}

void token_file_header_make(struct token_file_header *header, const struct token_file_key *key,
                            const struct token_file_contents *contents)
{
    memset(header, 0, sizeof *header);
    memcpy(header->magic, magic, sizeof magic);
    header->format = TOKEN_FILE_FORMAT;
    header->key = *key;
    header->contents = *contents;
    header->checksum = header_checksum(header);
}

int64_t token_file_begins_at(int64_t tokens)
{
    return TOKEN_FILE_HEADER_BYTES + round_up(tokens * (int64_t)sizeof(int32_t), sizeof(int64_t));
}

/* ---- reading ---- */

static rotary_status fail_damaged(const char *path, const char *what, rotary_error *error)
{
    return rotary_fail(error, ROTARY_BAD_FILE, "%s is damaged: %s", path, what);
}

static rotary_status check_size(const char *path, const struct token_file_header *header, size_t size,
                                rotary_error *error)
{
    const struct token_file_contents *contents = &header->contents;
    /* Both are below the file's size, so that the product does not overflow. */
    if (contents->tokens < 1 || contents->documents < 1 || contents->documents > contents->tokens ||
        (uint64_t)contents->tokens > size || header->key.vocabulary_size < 1)
        return fail_damaged(path, "its header has counts that cannot be", error);
    const uint64_t wanted = (uint64_t)token_file_begins_at(contents->tokens) +
                            ((uint64_t)contents->documents + 1) * sizeof(struct token_file_begin);
    if (wanted != size)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s is damaged: it has %zu bytes, wanted %llu", path, size,
                           (unsigned long long)wanted);
    return ROTARY_OK;
}

static rotary_status check_header(const char *path, const struct mapped_file *map,
                                  struct token_file_header *header, bool *foreign, rotary_error *error)
{
    *foreign = map->size < sizeof magic || memcmp(map->bytes, magic, sizeof magic) != 0;
    if (*foreign)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s is not a file of tokens", path);
    if (map->size < TOKEN_FILE_HEADER_BYTES)
        return fail_damaged(path, "it ends in its header", error);
    memcpy(header, map->bytes, sizeof *header);
    if (header->format != TOKEN_FILE_FORMAT)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has format %lld, wanted %d", path,
                           (long long)header->format, TOKEN_FILE_FORMAT);
    if (header->checksum != header_checksum(header))
        return fail_damaged(path, "its header has another checksum", error);
    return check_size(path, header, map->size, error);
}

struct inspection {
    int64_t vocabulary_size;
    atomic_bool outside;
};

static void inspect_tokens(void *argument, const void *bytes, size_t count)
{
    struct inspection *inspection = argument;
    const int32_t *tokens = bytes;
    bool outside = false;
    for (size_t i = 0; i < count / sizeof *tokens; i++)
        outside |= tokens[i] < 0 || tokens[i] >= inspection->vocabulary_size;
    if (outside)
        atomic_store(&inspection->outside, true);
}

static bool are_rising(const struct token_file_begin *starts, const struct token_file_contents *contents)
{
    const struct token_file_begin end = starts[contents->documents];
    bool rising = starts[0].token == 0 && starts[0].byte >= 0 && end.token == contents->tokens &&
                  end.byte == contents->bytes;
    for (int64_t i = 0; i < contents->documents && rising; i++)
        rising = starts[i].token < starts[i + 1].token && starts[i].byte <= starts[i + 1].byte;
    return rising;
}

static rotary_status check_contents(const struct token_file *file, const char *path, int threads,
                                    rotary_error *error)
{
    const struct token_file_contents *contents = &file->header.contents;
    struct inspection inspection = {.vocabulary_size = file->header.key.vocabulary_size};
    const uint64_t tokens = block_checksum_of(file->tokens, (size_t)contents->tokens * sizeof *file->tokens,
                                              threads, inspect_tokens, &inspection);
    if (tokens != contents->tokens_checksum)
        return fail_damaged(path, "its tokens have another checksum", error);
    if (atomic_load(&inspection.outside))
        return fail_damaged(path, "it has a token that is not in the vocabulary", error);
    const uint64_t starts = block_checksum_of(
        file->starts, ((size_t)contents->documents + 1) * sizeof *file->starts, threads, NULL, NULL);
    if (starts != contents->starts_checksum || !are_rising(file->starts, contents))
        return fail_damaged(path, "its documents do not begin where they should", error);
    return ROTARY_OK;
}

rotary_status token_file_open(struct token_file *file, const char *path, int threads, bool *foreign,
                              rotary_error *error)
{
    *file = (struct token_file){.tokens = NULL};
    *foreign = false;
    rotary_status status = mapped_file_open(&file->map, path, error);
    if (status == ROTARY_OK)
        status = check_header(path, &file->map, &file->header, foreign, error);
    if (status == ROTARY_OK) {
        const unsigned char *bytes = file->map.bytes;
        file->tokens = (const int32_t *)(const void *)(bytes + TOKEN_FILE_HEADER_BYTES);
        file->starts =
            (const struct token_file_begin *)(const void *)(bytes + token_file_begins_at(
                                                                        file->header.contents.tokens));
        status = check_contents(file, path, threads, error);
    }
    if (status != ROTARY_OK)
        token_file_close(file);
    return status;
}

rotary_status token_file_read_header(const char *path, struct token_file_header *header, bool *foreign,
                                     rotary_error *error)
{
    struct mapped_file map;
    *foreign = false;
    rotary_status status = mapped_file_open(&map, path, error);
    if (status != ROTARY_OK)
        return status;
    status = check_header(path, &map, header, foreign, error);
    mapped_file_close(&map);
    return status;
}

void token_file_close(struct token_file *file)
{
    mapped_file_close(&file->map);
    *file = (struct token_file){.tokens = NULL};
}
