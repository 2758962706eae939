/* SPDX-License-Identifier: Apache-2.0
 *
 * A file as a table, in one of the ways in which tables of tsv and csv are read, and as JSON Lines.
 */
#include "fuzz/target.h"

#include "base/random.h"
#include "file/file.h"
#include "text/corpus/table.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 16 };

/* Every field ends with a zero byte and has no other; rows are in the order of their lines. */
static void check_table(const struct table *table)
{
    for (int64_t row = 0; row < table->rows; row++) {
        if (table->lines[row] <= (row > 0 ? table->lines[row - 1] : 0))
            fuzz_fail("row %lld is on line %lld", (long long)row, (long long)table->lines[row]);
        for (int column = 0; column < table->columns; column++) {
            const struct text_line field = table_at(table, row, column);
            if (field.count < 0 || (int64_t)strlen(field.bytes) != field.count)
                fuzz_fail("field %d of row %lld has %lld bytes", column, (long long)row,
                          (long long)field.count);
        }
    }
}

static bool read_as(const struct table_request *request)
{
    rotary_error error = {0};
    struct table table;
    if (fuzz_refused(table_read(&table, request, &error), &error))
        return false;
    check_table(&table);
    table_free(&table);
    return true;
}

static bool read_table(const char *path)
{
    rotary_error error = {0};
    char *bytes;
    size_t count;
    if (fuzz_refused(file_read(path, MAX_BYTES, &bytes, &count, &error), &error))
        return false;
    const uint64_t choice = rotary_hash(bytes, count) >> 20;
    free(bytes);
    const bool header = choice % 2, quoted = choice / 2 % 2;
    const struct table_request separated = {
        .path = path,
        .format = choice / 4 % 2 ? TABLE_CSV : TABLE_TSV,
        .quoting = quoted ? TABLE_QUOTED : TABLE_UNQUOTED,
        .header = header,
        .columns = {header ? "label" : "2", "1"},
        .column_count = 2,
        .max_bytes = MAX_BYTES,
    };
    const struct table_request objects = {.path = path,
                                          .format = TABLE_JSONL,
                                          .columns = {"label", "text"},
                                          .column_count = 2,
                                          .max_bytes = MAX_BYTES};
    const bool read = read_as(&separated);
    return read_as(&objects) || read;
}

static const char *const table_words[] = {"\t",      ",",          "\n",
                                          "\r\n",    "\"",         "\"\"",
                                          "\",\"",   "\"\n\"",     "label",
                                          "text",    "\"label\":", "{",
                                          "}",       "[",          "]",
                                          "\\u0000", "null",       "1e309",
                                          "true",    "0.5",        "\xef\xbb\xbf",
                                          "\xff",    "\xc3\xa9",   "{\"label\": 1, \"text\": \"a\"}\n",
                                          NULL};

const struct fuzz_target fuzz_table = {.name = "table", .read = read_table, .words = table_words};
