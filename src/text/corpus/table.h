/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of text, of which the wanted columns are read into memory:
 *
 *     tsv     fields separated by tabs
 *     csv     fields separated by commas
 *     jsonl   a JSON object on every line; its keys are the columns
 *
 * A field may be quoted as RFC 4180 has it: it begins and ends with ", a " within it is written twice, and it
 * may have separators and line ends, which are read as "\n". A " elsewhere is text. Without quoting, as in
 * the files of GLUE, a " is text everywhere. Empty lines are no rows. What text/text_lines.h says of lines
 * holds here too: a byte-order mark and "\r\n" are understood, and what is not UTF-8, zero bytes included, is
 * ROTARY_BAD_FILE. So are malformed rows; messages have file, line and column.
 */
#ifndef ROTARY_TEXT_CORPUS_TABLE_H
#define ROTARY_TEXT_CORPUS_TABLE_H

#include "text/text_lines.h"

enum table_format {
    TABLE_TSV,
    TABLE_CSV,
    TABLE_JSONL,
    TABLE_AUTO /* by the file's ending */
};
extern const char *const table_format_names[]; /* NULL-terminated, in the order of table_format */
enum table_quoting {
    TABLE_UNQUOTED,
    TABLE_QUOTED,
    TABLE_QUOTING_AUTO /* csv is quoted, tsv is not */
};
extern const char *const table_quoting_names[]; /* "none", "double", "auto", NULL */

enum { TABLE_MAX_COLUMNS = 8 };

struct table_request {
    const char *path; /* NULL: the standard input */
    enum table_format format;
    enum table_quoting quoting; /* of tsv and csv */
    bool header;                /* of tsv and csv: the first row has the names of the columns */
    /* The wanted columns: names, or numbers counted from 1. Numbers alone without a header, names alone in
     * jsonl. */
    const char *columns[TABLE_MAX_COLUMNS];
    int column_count;  /* at least 1 */
    int64_t max_bytes; /* of all wanted fields, with a byte for the end of each */
};

struct table {
    const char *path; /* as messages name it; borrowed from the request */
    int64_t rows;
    int columns;
    struct text_buffer text; /* the fields, row by row, each with a zero byte behind it */
    int64_t *starts;         /* [rows * columns + 1] in `text` */
    int64_t *lines;          /* [rows]: the line of the file on which a row begins, counted from 1 */
    const char *names[TABLE_MAX_COLUMNS]; /* as they were asked for; borrowed from the request */
    int64_t numbers[TABLE_MAX_COLUMNS];   /* of the columns in the file, counted from 1; 0 in jsonl */
};

/* Reads the wanted columns of all rows. With a header every row has as many fields as it; without one, as
 * many as the wanted columns need. In jsonl a wanted value is a text, a number (which is kept as it is
 * written in the shortest way), true or false. A column that is not there, or twice, a row with other fields
 * and a file without rows are ROTARY_BAD_FILE; a format that cannot be known from the ending and more than
 * TABLE_MAX_COLUMNS columns ROTARY_INVALID_ARGUMENT. */
ROTARY_CHECKED rotary_status table_read(struct table *table, const struct table_request *request,
                                        rotary_error *error);
/* Row 0 ... rows - 1, column 0 ... columns - 1; a zero byte is behind it. */
struct text_line table_at(const struct table *table, int64_t row, int column);
/* Whether all of a field is a finite decimal number ("-1.5e3"; no "nan", no hexadecimal, no spaces), which is
 * then *value. */
bool table_number(struct text_line field, double *value);
/* ROTARY_BAD_FILE: "PATH, line 7, column 4 (label): " and the formatted text.
 */
__attribute__((format(printf, 5, 6))) rotary_status table_refuse(const struct table *table, int64_t row,
                                                                 int column, rotary_error *error,
                                                                 const char *format, ...);
/* Appends a field, whose number is row * columns + column, after all before it. `starts` has room for it. */
ROTARY_CHECKED rotary_status table_append(struct table *table, int64_t field, struct text_line text,
                                          rotary_error *error);
void table_free(struct table *table); /* zeroed ones too */

/* The format that a file's ending stands for: .tsv and .txt, .csv, .jsonl, .ndjson and .json; else
 * TABLE_AUTO. */
enum table_format table_format_of(const char *path);

#endif
