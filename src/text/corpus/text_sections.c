/* SPDX-License-Identifier: Apache-2.0 */
#include "text/corpus/text_sections.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

void text_sections_start(struct text_sections *sections, const struct text_files *files,
                         enum document_boundary boundary, const char *field)
{
    *sections = (struct text_sections){.files = files, .boundary = boundary, .field = field, .at = -1};
}

static const char *path_of(const struct text_sections *sections)
{
    return sections->files->paths[sections->file];
}

/* Room for one element more of `size` bytes; NULL without memory, and the block stays. */
static void *grown(void *block, int64_t count, int64_t *capacity, size_t size)
{
    enum { FIRST = 16 };
    if (count < *capacity)
        return block;
    const int64_t larger = *capacity > 0 ? 2 * *capacity : FIRST;
    void *made = realloc(block, (size_t)larger * size);
    if (made)
        *capacity = larger;
    return made;
}

/* A text that begins with a byte-order mark begins behind it. */
static int64_t mark_bytes(const char *text, int64_t count)
{
    return count >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static void end_file(struct text_sections *sections)
{
    sections->file++;
    sections->begun = sections->continues = false;
}

/* ---- plain text: sections in the map ---- */

static rotary_status open_map(struct text_sections *sections, rotary_error *error)
{
    struct mapped_file *larger =
        grown(sections->maps, sections->map_count, &sections->map_capacity, sizeof *larger);
    if (!larger)
        return rotary_fail_memory(error, "to read %s", path_of(sections));
    sections->maps = larger;
    struct mapped_file *map = &sections->maps[sections->map_count];
    rotary_status status = mapped_file_open(map, path_of(sections), error);
    if (status != ROTARY_OK)
        return status;
    sections->map_count++;
    sections->at = mark_bytes((const char *)map->bytes, (int64_t)map->size);
    sections->bytes += sections->at;
    return ROTARY_OK;
}

static rotary_status next_mapped(struct text_sections *sections, struct text_section *section,
                                 rotary_error *error)
{
    rotary_status status = sections->at < 0 ? open_map(sections, error) : ROTARY_OK;
    if (status != ROTARY_OK)
        return status;
    const struct mapped_file *map = &sections->maps[sections->map_count - 1];
    const char *text = (const char *)map->bytes;
    const int64_t count = (int64_t)map->size, begin = sections->at;
    bool continues;
    const int64_t end =
        document_section_end(text, count, begin, TEXT_SECTION_BYTES, sections->boundary, &continues);
    *section = (struct text_section){text + begin, end - begin, sections->continues, sections->boundary};
    sections->bytes += end - begin;
    sections->at = end < count ? end : -1;
    sections->continues = continues;
    if (end == count)
        end_file(sections);
    return ROTARY_OK;
}

/* ---- other files: copies of the text ---- */

static rotary_status open_feed(struct text_sections *sections, rotary_error *error)
{
    enum compression compression;
    const enum text_format format = text_format_of(path_of(sections), &compression);
    rotary_status status =
        text_feed_open(&sections->feed, path_of(sections), format, compression, sections->field, error);
    sections->fed = sections->more = true;
    sections->text.first = sections->text.count = sections->consumed = 0;
    return status;
}

/* Reads on until there is as much text as decides where the next section ends. */
static rotary_status feed_text(struct text_sections *sections, rotary_error *error)
{
    struct text_buffer *text = &sections->text;
    rotary_status status = ROTARY_OK;
    while (status == ROTARY_OK && sections->more && text->count - text->first < 2 * TEXT_SECTION_BYTES + 3)
        status = text_feed_add(&sections->feed, text, &sections->more, error);
    if (status != ROTARY_OK)
        return status;
    if (!sections->begun && sections->feed.format == TEXT_PLAIN)
        text->first += mark_bytes(text->bytes + text->first, text->count - text->first);
    sections->begun = true;
    sections->bytes += sections->feed.file.consumed - sections->consumed;
    sections->consumed = sections->feed.file.consumed;
    return ROTARY_OK;
}

static rotary_status copy_section(struct text_sections *sections, struct text_section *section,
                                  rotary_error *error)
{
    char **larger = grown(sections->copies, sections->copy_count, &sections->copy_capacity, sizeof *larger);
    if (!larger)
        return rotary_fail_memory(error, "to read %s", path_of(sections));
    sections->copies = larger;
    char *copy = malloc((size_t)section->count + 1);
    if (!copy)
        return rotary_fail_memory(error, "to read %s", path_of(sections));
    if (section->count > 0)
        memcpy(copy, section->bytes, (size_t)section->count);
    sections->copies[sections->copy_count++] = copy;
    section->bytes = copy;
    return ROTARY_OK;
}

static rotary_status next_fed(struct text_sections *sections, struct text_section *section,
                              rotary_error *error)
{
    rotary_status status = sections->fed ? ROTARY_OK : open_feed(sections, error);
    if (status == ROTARY_OK)
        status = feed_text(sections, error);
    if (status != ROTARY_OK)
        return status;
    struct text_buffer *text = &sections->text;
    const char *begin = text->bytes + text->first;
    const enum document_boundary boundary =
        sections->feed.format == TEXT_PLAIN ? sections->boundary : DOCUMENT_RECORD;
    bool continues;
    const int64_t count =
        document_section_end(begin, text->count - text->first, 0, TEXT_SECTION_BYTES, boundary, &continues);
    *section = (struct text_section){begin, count, sections->continues, boundary};
    status = copy_section(sections, section, error);
    text->first += count;
    sections->continues = continues;
    if (status == ROTARY_OK && !sections->more && text->first == text->count) {
        text_feed_close(&sections->feed);
        sections->fed = false;
        end_file(sections);
    }
    return status;
}

/* ---- any file ---- */

rotary_status text_sections_next(struct text_sections *sections, struct text_section *section, int64_t *file,
                                 rotary_error *error)
{
    *section = (struct text_section){.bytes = NULL};
    *file = sections->file;
    if (sections->file == sections->files->count)
        return ROTARY_OK;
    enum compression compression;
    const bool plain =
        text_format_of(path_of(sections), &compression) == TEXT_PLAIN && compression == COMPRESSION_NONE;
    return plain ? next_mapped(sections, section, error) : next_fed(sections, section, error);
}

void text_sections_release(struct text_sections *sections)
{
    const int64_t kept = sections->at >= 0; /* the next section is of the last map */
    for (int64_t i = 0; i < sections->map_count - kept; i++)
        mapped_file_close(&sections->maps[i]);
    if (kept)
        sections->maps[0] = sections->maps[sections->map_count - 1];
    sections->map_count = kept;
    for (int64_t i = 0; i < sections->copy_count; i++)
        free(sections->copies[i]);
    sections->copy_count = 0;
}

void text_sections_close(struct text_sections *sections)
{
    sections->at = -1;
    text_sections_release(sections);
    if (sections->fed)
        text_feed_close(&sections->feed);
    text_buffer_free(&sections->text);
    free(sections->maps);
    free(sections->copies);
    *sections = (struct text_sections){.at = -1};
}
