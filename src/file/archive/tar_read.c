/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fail.h"
#include "file/archive/tar_header.h"

#include <string.h>

#define AS_PACKED "files as `tar --format=ustar` packs them"
enum { MAX_EXTENDED_BYTES = 1 << 14, OCTAL = 8 };

static rotary_status fail(const struct tar_reader *reader, const char *fault, rotary_error *error)
{
    return rotary_fail(error, ROTARY_BAD_FILE, "%s %s", reader->path, fault);
}

static rotary_status fail_truncated(const struct tar_reader *reader, rotary_error *error)
{
    return fail(reader, "is truncated: wanted a tar archive with its end", error);
}

rotary_status tar_open(struct tar_reader *reader, const char *path, rotary_error *error)
{
    size_t length;
    *reader = (struct tar_reader){.path = path};
    return decompressed_open(&reader->file, path, compression_of(path, &length), error);
}

void tar_close(struct tar_reader *reader)
{
    decompressed_close(&reader->file);
}

/* Reads a whole block. */
static rotary_status read_block(struct tar_reader *reader, void *block, rotary_error *error)
{
    size_t got;
    rotary_status status = decompressed_read(&reader->file, block, TAR_BLOCK, &got, error);
    if (status != ROTARY_OK || got == TAR_BLOCK)
        return status;
    return reader->begun ? fail_truncated(reader, error)
                         : fail(reader, "is not an archive of runs: wanted one of tar", error);
}

rotary_status tar_read(struct tar_reader *reader, void *bytes, size_t count, size_t *got, rotary_error *error)
{
    const size_t wanted = count < reader->left ? count : (size_t)reader->left;
    rotary_status status = decompressed_read(&reader->file, bytes, wanted, got, error);
    if (status != ROTARY_OK)
        return status;
    reader->left -= *got;
    return *got == wanted ? ROTARY_OK : fail_truncated(reader, error);
}

/* Skips the rest of the member, with what fills its last block. */
static rotary_status skip_rest(struct tar_reader *reader, rotary_error *error)
{
    unsigned char block[1 << 13];
    rotary_status status = ROTARY_OK;
    reader->left += reader->padding;
    reader->padding = 0;
    while (status == ROTARY_OK && reader->left > 0) {
        size_t got;
        status = tar_read(reader, block, sizeof block, &got, error);
    }
    return status;
}

static bool is_zero(const unsigned char *block)
{
    return block[0] == 0 && memcmp(block, block + 1, TAR_BLOCK - 1) == 0;
}

/* The end is two blocks of zeros, and as many more as fill what a tape writes at once. */
static rotary_status check_end(struct tar_reader *reader, rotary_error *error)
{
    unsigned char block[TAR_BLOCK];
    rotary_status status = read_block(reader, block, error);
    for (size_t got = TAR_BLOCK; status == ROTARY_OK && got > 0;) {
        memset(block + got, 0, TAR_BLOCK - got);
        if (!is_zero(block))
            return fail(reader, "has bytes after its end: wanted one archive alone", error);
        status = decompressed_read(&reader->file, block, TAR_BLOCK, &got, error);
    }
    return status;
}

/* Octal digits, with spaces or zero bytes about them. */
static bool read_number(const char *field, size_t bytes, uint64_t *number)
{
    size_t i = 0, digits = 0;
    *number = 0;
    while (i < bytes && field[i] == ' ')
        i++;
    for (; i < bytes && field[i] >= '0' && field[i] < '0' + OCTAL; i++, digits++)
        *number = *number * OCTAL + (uint64_t)(field[i] - '0');
    for (; i < bytes; i++)
        if (field[i] != ' ' && field[i] != 0)
            return false;
    return digits > 0;
}

/* Whether every part of a path is a name: it is relative, and leads nowhere else. */
static bool is_inside(const char *name)
{
    for (;; name++) {
        const size_t length = strcspn(name, "/");
        const bool dots = name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.'));
        if (length == 0 || dots)
            return false;
        name += length;
        if (*name == 0)
            return true;
    }
}

/* "./a/b/" is a/b, and "./" is empty: the folder that was packed. */
static void set_name(struct tar_member *member, const struct tar_header *header)
{
    char whole[TAR_NAME_BYTES];
    const size_t prefix = strnlen(header->prefix, sizeof header->prefix),
                 name = strnlen(header->name, sizeof header->name);
    /* What GNU's tar has in the place of a prefix are times; its magic ends in a space. */
    const bool prefixed = prefix > 0 && header->magic[sizeof header->magic - 1] == 0;
    size_t count = 0;
    if (prefixed) {
        memcpy(whole, header->prefix, prefix);
        whole[prefix] = '/';
        count = prefix + 1;
    }
    memcpy(whole + count, header->name, name);
    whole[count + name] = 0;
    const char *first = whole;
    while (first[0] == '.' && first[1] == '/')
        first += 2;
    size_t length = strlen(strcmp(first, ".") == 0 ? first + 1 : first);
    while (member->folder && length > 1 && first[length - 1] == '/')
        length--;
    memcpy(member->name, first, length);
    member->name[length] = 0;
}

static bool has(const char *text, size_t bytes, const char *key)
{
    return memmem(text, bytes, key, strlen(key)) != NULL;
}

/* An extended header says more of the next member, or of all: times and comments, which are left out, or what
 * the plain one has no room for. */
static rotary_status skip_extended(struct tar_reader *reader, rotary_error *error)
{
    char text[MAX_EXTENDED_BYTES];
    size_t got = 0;
    const bool fits = reader->left <= sizeof text;
    rotary_status status = fits ? tar_read(reader, text, sizeof text, &got, error) : ROTARY_OK;
    if (status != ROTARY_OK)
        return status;
    if (fits && !has(text, got, " path=") && !has(text, got, " size=") && !has(text, got, " GNU.sparse"))
        return ROTARY_OK;
    return fail(reader, "has a name or a size that wants an extended header: wanted " AS_PACKED, error);
}

static rotary_status check_header(const struct tar_reader *reader, const struct tar_header *header,
                                  rotary_error *error)
{
    uint64_t sum;
    if (memcmp(header->magic, "ustar", 5) != 0)
        return fail(reader,
                    reader->begun ? "is damaged: a header within it is not one of tar"
                                  : "is not an archive of runs: wanted one of tar",
                    error);
    if (!read_number(header->checksum, sizeof header->checksum, &sum) || sum != tar_checksum(header))
        return fail(reader, "is damaged: a header does not match its checksum", error);
    return ROTARY_OK;
}

/* Reads what a header says of its member. */
static rotary_status read_header(struct tar_reader *reader, const struct tar_header *header,
                                 struct tar_member *member, rotary_error *error)
{
    rotary_status status = check_header(reader, header, error);
    if (status != ROTARY_OK)
        return status;
    *member = (struct tar_member){.folder = header->type == TAR_FOLDER};
    set_name(member, header);
    if (!read_number(header->size, sizeof header->size, &member->size))
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: the size of %s is no octal number", reader->path,
                           member->name);
    reader->left = member->folder ? 0 : member->size;
    reader->padding = (unsigned)(-reader->left % TAR_BLOCK);
    if (header->type == TAR_EXTENDED || header->type == TAR_GLOBAL)
        return skip_extended(reader, error);
    if (header->type != TAR_FILE && header->type != TAR_OLD_FILE && !member->folder)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s: %s is neither a file nor a folder (its type is \"%c\"): wanted " AS_PACKED,
                           reader->path, member->name, header->type);
    if (member->folder && member->name[0] == 0)
        return ROTARY_OK;
    return is_inside(member->name)
               ? ROTARY_OK
               : rotary_fail(
                     error, ROTARY_BAD_FILE,
                     "%s: \"%s\" is no name within a folder: wanted one without .. or a slash before it",
                     reader->path, member->name);
}

rotary_status tar_next(struct tar_reader *reader, struct tar_member *member, bool *found, rotary_error *error)
{
    union {
        struct tar_header header;
        unsigned char bytes[TAR_BLOCK];
    } block;
    bool skipped = true;
    *found = false;
    while (skipped) {
        rotary_status status = skip_rest(reader, error);
        if (status == ROTARY_OK)
            status = read_block(reader, &block, error);
        if (status != ROTARY_OK)
            return status;
        if (is_zero(block.bytes))
            return check_end(reader, error);
        status = read_header(reader, &block.header, member, error);
        if (status != ROTARY_OK)
            return status;
        reader->begun = true;
        skipped =
            block.header.type == TAR_EXTENDED || block.header.type == TAR_GLOBAL || member->name[0] == 0;
    }
    *found = true;
    return ROTARY_OK;
}
