/* SPDX-License-Identifier: Apache-2.0 */
#include "text/corpus/table.h"

#include "base/fail.h"
#include "base/integer.h"
#include "file/file.h"
#include "file/json_numbers.h"
#include "text/corpus/table_record.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const table_format_names[] = {"tsv", "csv", "jsonl", "auto", NULL};
const char *const table_quoting_names[] = {"none", "double", "auto", NULL};

enum { FIRST_ROWS = 1 << 8, PLACE_BYTES = 160, REASON_BYTES = 320 };

enum table_format table_format_of(const char *path)
{
    static const struct {
        const char *ending;
        enum table_format format;
    } endings[] = {{".tsv", TABLE_TSV},     {".txt", TABLE_TSV},      {".csv", TABLE_CSV},
                   {".jsonl", TABLE_JSONL}, {".ndjson", TABLE_JSONL}, {".json", TABLE_JSONL}};
    const char *ending = strrchr(path, '.');
    for (size_t i = 0; ending && i < sizeof endings / sizeof endings[0]; i++)
        if (strcmp(ending, endings[i].ending) == 0)
            return endings[i].format;
    return TABLE_AUTO;
}

/* ---- messages ---- */

/* "column 4 (label)", "column 4" or, without numbers, "label". */
static void describe_column(const struct table *table, int column, char text[PLACE_BYTES])
{
    const char *name = table->names[column];
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)table->numbers[column]);
    if (table->numbers[column] == 0)
        snprintf(text, PLACE_BYTES, "\"%.*s\"", PLACE_BYTES / 2, name);
    else if (strcmp(name, number) == 0)
        snprintf(text, PLACE_BYTES, "column %s", number);
    else
        snprintf(text, PLACE_BYTES, "column %s (%.*s)", number, PLACE_BYTES / 2, name);
}

rotary_status table_refuse(const struct table *table, int64_t row, int column, rotary_error *error,
                           const char *format, ...)
{
    char place[PLACE_BYTES], reason[REASON_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    describe_column(table, column, place);
    return rotary_fail(error, ROTARY_BAD_FILE, "%s, line %lld, %s: %s", table->path,
                       (long long)table->lines[row], place, reason);
}

/* ---- growing ---- */

rotary_status table_append(struct table *table, int64_t field, struct text_line text, rotary_error *error)
{
    rotary_status status = text_buffer_append(&table->text, text.bytes, text.count, error);
    if (status == ROTARY_OK)
        status = text_buffer_append(&table->text, "", 1, error);
    table->starts[field + 1] = table->text.count;
    return status;
}

/* A table that is read. */
struct reading {
    struct table *table;
    const struct table_request *request;
    int64_t row_capacity;
};

/* Begins a row: has room for it. */
static rotary_status begin_row(struct reading *reading, int64_t line, rotary_error *error)
{
    struct table *table = reading->table;
    if (table->rows == reading->row_capacity || !table->lines) {
        const int64_t capacity = max_i64(2 * reading->row_capacity, FIRST_ROWS);
        int64_t *starts =
            realloc(table->starts, ((size_t)capacity * (size_t)table->columns + 1) * sizeof *starts);
        if (starts)
            table->starts = starts;
        int64_t *lines = starts ? realloc(table->lines, (size_t)capacity * sizeof *lines) : NULL;
        if (!lines)
            return rotary_fail_memory(error, "to read %s", table->path);
        table->lines = lines;
        reading->row_capacity = capacity;
    }
    table->lines[table->rows] = line;
    table->starts[table->rows * table->columns] = table->text.count;
    return ROTARY_OK;
}

/* Adds the next field of the row that was begun. */
static rotary_status add_field(struct reading *reading, int column, struct text_line field,
                               rotary_error *error)
{
    struct table *table = reading->table;
    if (table->text.count + field.count + 1 > reading->request->max_bytes)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s, line %lld: the wanted columns have more than %lld "
                           "bytes, the maximum",
                           table->path, (long long)table->lines[table->rows],
                           (long long)reading->request->max_bytes);
    return table_append(table, table->rows * table->columns + column, field, error);
}

/* ---- tsv and csv ---- */

/* The number that a column's name is, or 0. */
static int64_t column_number(const char *name)
{
    int64_t number = 0;
    for (const char *c = name; *c; c++) {
        if (*c < '0' || *c > '9' || number > TEXT_LINE_BYTES)
            return 0;
        number = 10 * number + (*c - '0');
    }
    return number;
}

/* The number of the field with this name in the header, counted from 1; 0: there is none; -1: two. */
static int64_t find_name(const struct record_reader *header, const char *name)
{
    int64_t found = 0;
    for (int64_t i = 0; i < header->count; i++) {
        const struct text_line field = record_field(header, i);
        if ((size_t)field.count != strlen(name) || memcmp(field.bytes, name, strlen(name)) != 0)
            continue;
        if (found > 0)
            return -1;
        found = i + 1;
    }
    return found;
}

/* The names in the header, for a message. */
static void list_names(const struct record_reader *header, char text[REASON_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < header->count && used < REASON_BYTES / 2; i++) {
        const struct text_line field = record_field(header, i);
        used += (size_t)snprintf(text + used, REASON_BYTES - used, "%s\"%.*s\"", i > 0 ? ", " : "",
                                 (int)min_i64(field.count, 40), field.bytes);
    }
}

/* Finds the wanted columns, by the header if there is one. */
static rotary_status find_columns(struct table *table, const struct record_reader *header,
                                  rotary_error *error)
{
    char names[REASON_BYTES];
    for (int i = 0; i < table->columns; i++) {
        const char *name = table->names[i];
        int64_t number = header ? find_name(header, name) : 0;
        if (number < 0)
            return rotary_fail(error, ROTARY_BAD_FILE, "%s, line %lld: two columns are named \"%s\"",
                               table->path, (long long)header->line, name);
        table->numbers[i] = number > 0 ? number : column_number(name);
        if (table->numbers[i] > 0 && (!header || table->numbers[i] <= header->count))
            continue;
        if (!header)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s has no header: the column \"%s\" was asked for, "
                               "wanted a number from 1",
                               table->path, name);
        list_names(header, names);
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s, line %lld: there is no column \"%s\", wanted one of %s", table->path,
                           (long long)header->line, name, names);
    }
    return ROTARY_OK;
}

static rotary_status add_record(struct reading *reading, const struct record_reader *record, int64_t wanted,
                                rotary_error *error)
{
    struct table *table = reading->table;
    const bool header = reading->request->header;
    if (header ? record->count != wanted : record->count < wanted)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s, line %lld: it has %lld column%s, wanted %s%lld%s",
                           table->path, (long long)record->line, (long long)record->count,
                           record->count == 1 ? "" : "s", header ? "" : "at least ", (long long)wanted,
                           header ? ", as the header has" : "");
    rotary_status status = begin_row(reading, record->line, error);
    for (int i = 0; i < table->columns && status == ROTARY_OK; i++)
        status = add_field(reading, i, record_field(record, table->numbers[i] - 1), error);
    table->rows += status == ROTARY_OK;
    return status;
}

static rotary_status read_records(struct reading *reading, struct record_reader *record, rotary_error *error)
{
    struct table *table = reading->table;
    bool more = true;
    int64_t wanted = 0;
    rotary_status status = ROTARY_OK;
    if (reading->request->header)
        status = record_next(record, &more, error);
    if (status == ROTARY_OK && more)
        status = find_columns(table, reading->request->header ? record : NULL, error);
    if (reading->request->header)
        wanted = record->count;
    else
        for (int i = 0; i < table->columns; i++)
            wanted = max_i64(wanted, table->numbers[i]);
    while (status == ROTARY_OK && more) {
        status = record_next(record, &more, error);
        if (status == ROTARY_OK && more)
            status = add_record(reading, record, wanted, error);
    }
    return status;
}

static rotary_status read_separated(struct reading *reading, enum table_format format, rotary_error *error)
{
    const enum table_quoting quoting = reading->request->quoting;
    const bool quoted = quoting == TABLE_QUOTING_AUTO ? format == TABLE_CSV : quoting == TABLE_QUOTED;
    struct record_reader record;
    rotary_status status =
        record_reader_open(&record, reading->request->path, format == TABLE_CSV ? ',' : '\t', quoted, error);
    if (status != ROTARY_OK)
        return status;
    reading->table->path = record.lines.input.path;
    status = read_records(reading, &record, error);
    record_reader_close(&record);
    return status;
}

/* ---- jsonl ---- */

/* Adds a value as text. */
static rotary_status add_value(struct reading *reading, int column, const json_t *value, rotary_error *error)
{
    if (json_is_string(value))
        return add_field(reading, column,
                         (struct text_line){json_string_value(value), (int64_t)json_string_length(value)},
                         error);
    const char *digits = json_numbers_integer(value), *no_double = json_numbers_float(value);
    if (digits)
        return add_field(reading, column, (struct text_line){digits, (int64_t)strlen(digits)}, error);
    if (no_double)
        return table_refuse(reading->table, reading->table->rows, column, error,
                            "it is %.60s, wanted a number that a double holds", no_double);
    if (!json_is_number(value) && !json_is_boolean(value))
        return table_refuse(reading->table, reading->table->rows, column, error,
                            "%s, wanted a text, a number, true or false",
                            !value                  ? "it is not there"
                            : json_is_null(value)   ? "it is null"
                            : json_is_object(value) ? "it is an object"
                                                    : "it is a list");
    char *text = file_json_text(value, JSON_ENCODE_ANY);
    if (!text)
        return rotary_fail_memory(error, "to read %s", reading->table->path);
    rotary_status status = add_field(reading, column, (struct text_line){text, (int64_t)strlen(text)}, error);
    free(text);
    return status;
}

static rotary_status parse_object(const struct table *table, const struct text_line *line, int64_t number,
                                  json_t **object, rotary_error *error)
{
    json_error_t wrong;
    *object = json_numbers_load(line->bytes, (size_t)line->count, JSON_REJECT_DUPLICATES, true, &wrong);
    if (!*object)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s, line %lld, byte %d: %s", table->path,
                           (long long)number, wrong.position, wrong.text);
    if (json_is_object(*object))
        return ROTARY_OK;
    json_decref(*object);
    return rotary_fail(error, ROTARY_BAD_FILE, "%s, line %lld: it is a list, wanted a JSON object",
                       table->path, (long long)number);
}

static rotary_status add_object(struct reading *reading, const struct text_line *line, int64_t number,
                                rotary_error *error)
{
    struct table *table = reading->table;
    json_t *object;
    rotary_status status = parse_object(table, line, number, &object, error);
    if (status != ROTARY_OK)
        return status;
    status = begin_row(reading, number, error);
    for (int i = 0; i < table->columns && status == ROTARY_OK; i++)
        status = add_value(reading, i, json_object_get(object, table->names[i]), error);
    table->rows += status == ROTARY_OK;
    json_decref(object);
    return status;
}

static rotary_status read_objects(struct reading *reading, rotary_error *error)
{
    struct text_reader reader;
    struct text_line line = {"", 0};
    rotary_status status = text_reader_open(&reader, reading->request->path, error);
    if (status != ROTARY_OK)
        return status;
    reading->table->path = reader.input.path;
    while (status == ROTARY_OK && line.bytes) {
        status = text_reader_next(&reader, &line, error);
        if (status == ROTARY_OK && line.bytes && line.count > 0)
            status = add_object(reading, &line, reader.number, error);
    }
    text_reader_close(&reader);
    return status;
}

/* ---- tables ---- */

static rotary_status check_request(const struct table_request *request, enum table_format *format,
                                   rotary_error *error)
{
    *format = request->format;
    if (request->column_count < 1 || request->column_count > TABLE_MAX_COLUMNS)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%d columns of a table, wanted 1 to %d",
                           request->column_count, (int)TABLE_MAX_COLUMNS);
    if (*format == TABLE_AUTO && request->path)
        *format = table_format_of(request->path);
    if (*format != TABLE_AUTO)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "the ending of %s does not say its format: wanted .tsv, "
                       ".csv or .jsonl, or the format",
                       request->path ? request->path : "the standard input");
}

rotary_status table_read(struct table *table, const struct table_request *request, rotary_error *error)
{
    struct reading reading = {.table = table, .request = request};
    enum table_format format;
    *table = (struct table){.path = request->path, .columns = request->column_count};
    rotary_status status = check_request(request, &format, error);
    if (status != ROTARY_OK)
        return status;
    for (int i = 0; i < table->columns; i++)
        table->names[i] = request->columns[i];
    status = format == TABLE_JSONL ? read_objects(&reading, error) : read_separated(&reading, format, error);
    if (status == ROTARY_OK && table->rows == 0)
        status = rotary_fail(error, ROTARY_BAD_FILE, "%s has no rows%s", table->path,
                             format != TABLE_JSONL && request->header ? " after the header" : "");
    if (status != ROTARY_OK)
        table_free(table);
    return status;
}

struct text_line table_at(const struct table *table, int64_t row, int column)
{
    const int64_t *begin = table->starts + row * table->columns + column;
    return (struct text_line){table->text.bytes + begin[0], begin[1] - begin[0] - 1};
}

bool table_number(struct text_line field, double *value)
{
    char *end;
    const double read = strtod(field.bytes, &end);
    if (field.count == 0 || end != field.bytes + field.count || !isfinite(read) ||
        strspn(field.bytes, "+-.0123456789eE") != (size_t)field.count)
        return false;
    *value = read;
    return true;
}

void table_free(struct table *table)
{
    text_buffer_free(&table->text);
    free(table->starts);
    free(table->lines);
    *table = (struct table){0};
}
