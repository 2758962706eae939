/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables: records against those of Python's csv, columns by name and by number, JSON Lines, and the messages
 * about what is no table.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "text/corpus/table.h"
#include "text/corpus/table_record.h"
#include "text/table_goldens.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 24, JOINED_BYTES = 4096 };

static const char *file_of(const char *name, const char *text)
{
    const char *path = scratch_path(name);
    scratch_write(path, text, strlen(text));
    return path;
}

/* ---- records ---- */

static void join_record(const struct record_reader *reader, char *joined)
{
    for (int64_t i = 0; i < reader->count; i++) {
        const struct text_line field = record_field(reader, i);
        CHECK_INT((int64_t)strlen(field.bytes), field.count);
        strcat(strcat(joined, field.bytes), "\037");
    }
    strcat(joined, "\036");
}

static void test_golden_records(void)
{
    for (size_t i = 0; i < sizeof golden_tables / sizeof golden_tables[0]; i++) {
        char joined[JOINED_BYTES] = "";
        struct record_reader reader;
        rotary_error error = {0};
        bool more = true;
        check_about("table %zu", i);
        if (!CHECK_INT(record_reader_open(&reader, file_of("records", golden_tables[i].text),
                                          golden_tables[i].separator, golden_tables[i].quoted, &error),
                       ROTARY_OK))
            continue;
        rotary_status status = ROTARY_OK;
        while (status == ROTARY_OK && more) {
            status = record_next(&reader, &more, &error);
            if (status == ROTARY_OK && more)
                join_record(&reader, joined);
        }
        if (golden_tables[i].records)
            CHECK_TEXT(status == ROTARY_OK ? joined : error.message, golden_tables[i].records);
        else
            CHECK_INT(status, ROTARY_BAD_FILE);
        record_reader_close(&reader);
    }
    check_about("%s", "");
}

/* ---- tables ---- */

struct table_case {
    const char *name, *text; /* of the file */
    bool header;
    const char *columns[TABLE_MAX_COLUMNS];
    const char *wanted; /* fields with '|' behind each, rows with their line and '/' before */
};

static struct table_request request_of(const struct table_case *one)
{
    struct table_request request = {.path = file_of(one->name, one->text),
                                    .format = TABLE_AUTO,
                                    .quoting = TABLE_QUOTING_AUTO,
                                    .header = one->header,
                                    .max_bytes = MAX_BYTES};
    for (; request.column_count < TABLE_MAX_COLUMNS && one->columns[request.column_count];)
        request.columns[request.column_count] = one->columns[request.column_count], request.column_count++;
    return request;
}

static void join_table(const struct table *table, char joined[JOINED_BYTES])
{
    joined[0] = '\0';
    for (int64_t row = 0; row < table->rows; row++) {
        sprintf(joined + strlen(joined), "%lld/", (long long)table->lines[row]);
        for (int column = 0; column < table->columns; column++) {
            const struct text_line field = table_at(table, row, column);
            CHECK_INT((int64_t)strlen(field.bytes), field.count);
            strcat(strcat(joined, field.bytes), "|");
        }
    }
}

static void test_columns(void)
{
    static const struct table_case cases[] = {
        {"a.tsv",
         "id\tlabel\ttext\n1\tyes\tone\n2\tno\ttwo\n",
         true,
         {"text", "label"},
         "2/one|yes|3/two|no|"},
        {"a.tsv", "id\tlabel\ttext\n1\tyes\tone\n2\tno\ttwo", true, {"3", "2"}, "2/one|yes|3/two|no|"},
        {"a.tsv", "1\tyes\tone\n2\tno\ttwo\n", false, {"3", "2", "3"}, "1/one|yes|one|2/two|no|two|"},
        /* a name that is a number is a name first */
        {"a.tsv", "2\t1\na\tb\n", true, {"1", "2"}, "2/b|a|"},
        /* without a header rows may go on, as in STS-B */
        {"a.txt", "a\tb\nc\td\te\n", false, {"2"}, "1/b|2/d|"},
        {"a.tsv",
         "\xef\xbb\xbfQuality\t#1 String\r\n1\t\"quoted\r\n\r\n0\t\r\n",
         true,
         {"#1 String", "Quality"},
         "2/\"quoted|1|4/|0|"},
        {"a.csv",
         "text,label\n\"one, \"\"two\"\"\nthree\",1\nfour,0\n",
         true,
         {"label", "text"},
         "2/1|one, \"two\"\nthree|4/0|four|"},
        {"a.csv", "\"te,xt\",label\n1,2\n", true, {"te,xt"}, "2/1|"},
        {"a.jsonl",
         "{\"s\": \"a\\nb\", \"label\": 1}\n\n{\"label\": 2.5, \"s\": \"\", "
         "\"more\": [1]}\n",
         true,
         {"label", "s"},
         "1/1|a\nb|3/2.5||"},
        /* Numbers that C does not have: digits are kept, and what is not asked for does not matter. */
        {"a.jsonl",
         "{\"label\": 18329103420363166823, \"x\": NaN}\n{\"label\": -9223372036854775809, \"x\": 1e999}\n",
         true,
         {"label"},
         "1/18329103420363166823|2/-9223372036854775809|"},
        {"a.json", "{\"label\": true}\r\n{\"label\": -3e100}\n", false, {"label"}, "1/true|2/-3e100|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct table_request request = request_of(&cases[i]);
        struct table table;
        rotary_error error = {0};
        char joined[JOINED_BYTES];
        check_about("case %zu", i);
        if (!CHECK_TEXT(table_read(&table, &request, &error) == ROTARY_OK ? "" : error.message, ""))
            continue;
        join_table(&table, joined);
        CHECK_TEXT(joined, cases[i].wanted);
        table_free(&table);
    }
    check_about("%s", "");
}

/* What was asked for is chosen over the file's ending. */
static void test_choices(void)
{
    struct table_request request = {.path = file_of("a.data", "\"a\tb\"\tc\n"),
                                    .format = TABLE_TSV,
                                    .quoting = TABLE_QUOTED,
                                    .columns = {"2", "1"},
                                    .column_count = 2,
                                    .max_bytes = MAX_BYTES};
    struct table table;
    char joined[JOINED_BYTES];
    CHECK_INT(table_read(&table, &request, NULL), ROTARY_OK);
    join_table(&table, joined);
    CHECK_TEXT(joined, "1/c|a\tb|");
    table_free(&table);
    request.quoting = TABLE_UNQUOTED;
    CHECK_INT(table_read(&table, &request, NULL), ROTARY_OK);
    join_table(&table, joined);
    CHECK_TEXT(joined, "1/b\"|\"a|");
    table_free(&table);
}

static void test_refused(void)
{
    static const struct table_case cases[] = {
        {"a.tsv", "a\tb\n1\t2\n1\n", true, {"b"}, "a.tsv, line 3: |1 column, |wanted 2, as the header has"},
        {"a.tsv", "a\tb\n1\t2\t3\n", true, {"b"}, "a.tsv, line 2: |3 columns, |wanted 2, as the header has"},
        {"a.tsv", "1\t2\n\n1\n", false, {"2"}, "a.tsv, line 3: |1 column, |wanted at least 2"},
        {"a.tsv", "a\tb\n1\t2\n", true, {"c"}, "a.tsv, line 1: |no column \"c\"|\"a\", \"b\""},
        {"a.tsv", "a\tb\n1\t2\n", true, {"3"}, "a.tsv, line 1: |no column \"3\"|\"a\", \"b\""},
        {"a.tsv", "a\tb\ta\n1\t2\t3\n", true, {"b", "a"}, "a.tsv, line 1: |two columns are named \"a\""},
        {"a.tsv", "1\t2\n", false, {"b"}, "a.tsv has no header|\"b\"|a number from 1"},
        {"a.tsv", "1\t2\n", false, {"0"}, "a.tsv has no header|\"0\"|a number from 1"},
        {"a.tsv", "1\t2\n", false, {"99999999999999999999"}, "a.tsv has no header|a number from 1"},
        {"a.tsv", "", false, {"1"}, "a.tsv has no rows"},
        {"a.tsv", "a\tb\n\n", true, {"a"}, "a.tsv has no rows after the header"},
        {"a.tsv", "a\tb\nx\t\xff\n", true, {"a"}, "a.tsv, line 2: |0xff|not UTF-8"},
        {"a.csv", "a,b\n1,2\n\"x\"y,3\n", true, {"a"}, "a.csv, line 3, column 1: |closing quote|a comma"},
        {"a.csv", "a,b\n1,\"2\n3,4\n", true, {"a"}, "a.csv, line 2, column 2: |not closed|end of the file"},
        {"a.dat", "a,b\n", true, {"a"}, "a.dat|.tsv, .csv or .jsonl"},
        {"a.jsonl", "{\"a\": 1}\n{\"a\": }\n", true, {"a"}, "a.jsonl, line 2, byte 7: "},
        {"a.jsonl",
         "{\"a\": 1}\n{\"b\": 1}\n",
         true,
         {"a"},
         "a.jsonl, line 2, \"a\": it is not there, wanted a text"},
        {"a.jsonl", "{\"a\": null}\n", true, {"a"}, "a.jsonl, line 1, \"a\": it is null"},
        {"a.jsonl", "{\"a\": {}}\n", true, {"a"}, "line 1, \"a\": it is an object"},
        {"a.jsonl",
         "{\"a\": -Infinity}\n",
         true,
         {"a"},
         "line 1, \"a\": it is -Infinity, wanted a number that"},
        {"a.jsonl", "{\"a\": 1e999}\n", true, {"a"}, "line 1, \"a\": it is 1e999, wanted"},
        {"a.jsonl", "{\"a\": []}\n", true, {"a"}, "line 1, \"a\": it is a list"},
        {"a.jsonl", "[1]\n", true, {"a"}, "line 1: it is a list, wanted a JSON object"},
        {"a.jsonl", "{\"a\": 1, \"a\": 2}\n", true, {"a"}, "a.jsonl, line 1, "},
        {"a.jsonl", "{\"a\": \"\\u0000\"}\n", true, {"a"}, "a.jsonl, line 1, "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct table_request request = request_of(&cases[i]);
        struct table table;
        rotary_error error = {0};
        check_about("refused %zu", i);
        CHECK(table_read(&table, &request, &error) != ROTARY_OK);
        CHECK_WORDS(error.message, cases[i].wanted);
        CHECK(!table.text.bytes && !table.starts && !table.lines);
    }
    check_about("%s", "");
}

static void test_limits(void)
{
    char *text = malloc(3 << 20);
    if (!text)
        abort();
    memset(text, 'x', 3 << 20);
    for (int i = 1000; i < 3 << 20; i += 1000)
        text[i] = '\n';
    memcpy(text, "a,\"", 3); /* a quote that is never closed, in short lines */
    text[(3 << 20) - 1] = '\0';
    const struct table_case open = {.name = "a.csv", .text = text, .columns = {"1"}};
    struct table_request request = request_of(&open);
    struct table table;
    rotary_error error = {0};
    CHECK_INT(table_read(&table, &request, &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, "a.csv, line 1, column 2: |not closed|million");
    free(text);
    const struct table_case small = {.name = "a.csv", .text = "abc,de\nfgh,ij\n", .columns = {"1", "2"}};
    request = request_of(&small);
    request.max_bytes = 14; /* two rows of 4 + 3 bytes */
    CHECK_INT(table_read(&table, &request, &error), ROTARY_OK);
    table_free(&table);
    request.max_bytes = 13;
    CHECK_INT(table_read(&table, &request, &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, "a.csv, line 2: |13 bytes");
    request.column_count = 0;
    CHECK_INT(table_read(&table, &request, &error), ROTARY_INVALID_ARGUMENT);
    request.column_count = TABLE_MAX_COLUMNS + 1;
    CHECK_INT(table_read(&table, &request, &error), ROTARY_INVALID_ARGUMENT);
}

static void test_message(void)
{
    const struct table_case by_name = {"a.tsv", "id\tlabel\n1\tx\n2\ty\n", true, {"label", "1"}, NULL};
    const struct table_request request = request_of(&by_name);
    struct table table;
    rotary_error error = {0};
    CHECK_INT(table_read(&table, &request, &error), ROTARY_OK);
    CHECK_INT(table_refuse(&table, 1, 0, &error, "it is %s", "y\n"), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, "a.tsv, line 3, column 2 (label): it is y?");
    CHECK_INT(table_refuse(&table, 0, 1, &error, "no"), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, "a.tsv, line 2, column 1: no");
    table_free(&table);
}

static void test_numbers(void)
{
    static const struct {
        const char *text;
        double value; /* NaN: it is no number */
    } cases[] = {{"0", 0},    {"-1.5e3", -1500}, {"+2", 2},    {".5", 0.5},    {"", NAN},      {" 1", NAN},
                 {"1 ", NAN}, {"0x10", NAN},     {"nan", NAN}, {"inf", NAN},   {"1e999", NAN}, {"1,5", NAN},
                 {"1e", NAN}, {"--1", NAN},      {"4.", 4},    {"1e-400", 0.0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct text_line field = {cases[i].text, (int64_t)strlen(cases[i].text)};
        double value = 7;
        check_about("\"%s\"", cases[i].text);
        CHECK_INT(table_number(field, &value), !isnan(cases[i].value));
        CHECK(value == (isnan(cases[i].value) ? 7 : cases[i].value));
    }
    check_about("%s", "");
}

int main(void)
{
    test_golden_records();
    test_columns();
    test_choices();
    test_refused();
    test_limits();
    test_message();
    test_numbers();
    return check_report();
}
