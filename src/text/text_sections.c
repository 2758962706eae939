/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_sections.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

void text_sections_start(struct text_sections *sections, const struct text_files *files,
                         enum document_boundary boundary)
{
    *sections = (struct text_sections){.files = files, .boundary = boundary, .at = -1};
}

static rotary_status open_next(struct text_sections *sections, rotary_error *error)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (sections->map_count == sections->map_capacity) {
        const int64_t capacity = sections->map_capacity > 0 ? 2 * sections->map_capacity : 16;
        struct mapped_file *larger = realloc(sections->maps, (size_t)capacity * sizeof *larger);
        if (!larger)
            return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to read %s",
                               sections->files->paths[sections->file]);
        sections->maps = larger;
        sections->map_capacity = capacity;
    }
    struct mapped_file *map = &sections->maps[sections->map_count];
    rotary_status status = mapped_file_open(map, sections->files->paths[sections->file], error);
    if (status != ROTARY_OK)
        return status;
    sections->map_count++;
    sections->at = map->size >= 3 && memcmp(map->bytes, mark, 3) == 0 ? 3 : 0;
    sections->continues = false;
    return ROTARY_OK;
}

rotary_status text_sections_next(struct text_sections *sections, struct text_section *section, int64_t *file,
                                 rotary_error *error)
{
    *section = (struct text_section){NULL, 0, false};
    *file = sections->file;
    if (sections->file == sections->files->count)
        return ROTARY_OK;
    rotary_status status = sections->at < 0 ? open_next(sections, error) : ROTARY_OK;
    if (status != ROTARY_OK)
        return status;
    const struct mapped_file *map = &sections->maps[sections->map_count - 1];
    const char *text = (const char *)map->bytes;
    const int64_t count = (int64_t)map->size;
    bool continues;
    const int64_t end =
        document_section_end(text, count, sections->at, TEXT_SECTION_BYTES, sections->boundary, &continues);
    *section = (struct text_section){text + sections->at, end - sections->at, sections->continues};
    sections->at = end < count ? end : -1;
    sections->file += end == count;
    sections->continues = continues;
    return ROTARY_OK;
}

void text_sections_release(struct text_sections *sections)
{
    const int64_t kept = sections->at >= 0; /* the next section is of the last map */
    for (int64_t i = 0; i < sections->map_count - kept; i++)
        mapped_file_close(&sections->maps[i]);
    if (kept)
        sections->maps[0] = sections->maps[sections->map_count - 1];
    sections->map_count = kept;
}

void text_sections_close(struct text_sections *sections)
{
    sections->at = -1;
    text_sections_release(sections);
    free(sections->maps);
    *sections = (struct text_sections){0};
}
