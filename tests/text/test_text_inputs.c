/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents of compressed texts, beside those of the text, and of records of JSON, beside those that were
 * written. The texts are compressed by the programs gzip, zstd and bzip2.
 */
#include "file/compressed/decompressed.h"
#include "file/file.h"
#include "support/check.h"
#include "support/scratch.h"
#include "text/corpus/token_documents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nothing is synced, which would wait for the disk. */
int __wrap_fsync(int descriptor);
int __wrap_fsync(int descriptor)
{
    (void)descriptor;
    return 0;
}

static struct tokenizer *bytes;

/* Runs a command in the scratch folder; false if it fails, as where a program is missing. */
static bool runs(const char *command)
{
    char line[1024];
    snprintf(line, sizeof line, "cd %s && { %s; } 2>/dev/null", scratch_folder(), command);
    return system(line) == 0;
}

static struct token_documents *opened(const char *path, enum document_boundary boundary, const char *field,
                                      rotary_error *error)
{
    static int next;
    char name[32];
    snprintf(name, sizeof name, "cache%d", next++);
    const struct token_documents_request request = {.paths = &path,
                                                    .count = 1,
                                                    .boundary = boundary,
                                                    .field = field,
                                                    .tokenizer = bytes,
                                                    .cache = scratch_path(name),
                                                    .threads = 2};
    struct token_documents *documents = NULL;
    *error = (rotary_error){0};
    if (token_documents_open(&documents, &request, error) != ROTARY_OK)
        return NULL;
    unlink(request.cache); /* it stays in its map */
    return documents;
}

static void check_refused(const char *name, rotary_status status, const char *said)
{
    rotary_error error;
    check_about("%s", name);
    CHECK(opened(scratch_path(name), DOCUMENT_LINE, NULL, &error) == NULL);
    CHECK_INT(error.status, status);
    CHECK_WORDS(error.message, said);
    check_about("%s", "");
}

static bool is_span(const struct token_span span, const char *text, int64_t count)
{
    bool same = span.count == count;
    for (int64_t i = 0; same && i < count; i++)
        same = span.tokens[i] == (unsigned char)text[i];
    return same;
}

/* ---- compressed texts ---- */

/* Lines of many lengths, documents of one line to a million bytes, and a byte-order mark. */
static void write_text(void)
{
    FILE *file = fopen(scratch_path("plain.txt"), "w");
    fputs("\xef\xbb\xbf", file);
    for (int i = 0; i < 90000; i++) {
        const int words = 1 + (i * 7919) % 23;
        for (int j = 0; j < words; j++)
            fprintf(file, "%x%s ", i * (j + 3) % 4096, j % 5 == 0 ? "\xc3\xa9" : "");
        fputs(i % 11 == 0 ? "\r\n" : "\n", file);
        if (i % 17 == 0 && (i < 20000 || i > 60000))
            fputs(i % 3 == 0 ? "\n" : " \t\n\n", file);
    }
    fclose(file);
}

static void check_alike(const char *name)
{
    for (int boundary = 0; boundary < DOCUMENT_BOUNDARIES; boundary++) {
        rotary_error error;
        struct token_documents *plain = opened(scratch_path("plain.txt"), (enum document_boundary)boundary,
                                               NULL, &error),
                               *other =
                                   opened(scratch_path(name), (enum document_boundary)boundary, NULL, &error);
        check_about("%s by %s: %s", name, document_boundary_names[boundary], error.message);
        if (CHECK(plain && other) && CHECK_INT(token_documents_count(other), token_documents_count(plain))) {
            bool same = true;
            for (int64_t i = 0; same && i < token_documents_count(plain); i++) {
                const struct token_span one = token_documents_at(plain, i),
                                        two = token_documents_at(other, i);
                same = one.count == two.count &&
                       memcmp(one.tokens, two.tokens, (size_t)one.count * sizeof *one.tokens) == 0;
            }
            CHECK(same);
        }
        token_documents_close(plain);
        token_documents_close(other);
    }
    check_about("%s", "");
}

/* Two compressed parts are one file. */
static void test_compressed(void)
{
    static const struct {
        enum compression compression;
        const char *suffix, *program;
    } cases[] = {{COMPRESSION_GZIP, ".gz", "gzip"},
                 {COMPRESSION_ZSTD, ".zst", "zstd -q"},
                 {COMPRESSION_BZIP2, ".bz2", "bzip2"}};
    write_text();
    CHECK(runs("head -c 1234567 plain.txt >first && tail -c +1234568 plain.txt >second"));
    for (int i = 0; i < 3; i++) {
        char command[512], name[64];
        snprintf(name, sizeof name, "text.txt%s", cases[i].suffix);
        snprintf(
            command, sizeof command,
            "%s -c first >%s && %s -c second >>%s && head -c 300000 %s >cut%s && "
            "{ head -c 100000 %s; printf 'xxxx'; tail -c +100005 %s; } >damaged%s && cp plain.txt false%s",
            cases[i].program, name, cases[i].program, name, name, cases[i].suffix, name, name,
            cases[i].suffix, cases[i].suffix);
        if (!runs(command)) {
            printf("there is no %s\n", cases[i].program);
            continue;
        }
        if (!compression_is_supported(cases[i].compression)) {
            check_refused(name, ROTARY_UNSUPPORTED, "this program was built without |install ");
            continue;
        }
        check_alike(name);
        snprintf(name, sizeof name, "cut%s", cases[i].suffix);
        check_refused(name, ROTARY_BAD_FILE, "is truncated");
        snprintf(name, sizeof name, "damaged%s", cases[i].suffix);
        check_refused(name, ROTARY_BAD_FILE, "is damaged");
        snprintf(name, sizeof name, "false%s", cases[i].suffix);
        check_refused(name, ROTARY_BAD_FILE, "is damaged");
    }
}

/* ---- paddings and windows ---- */

/* The lines of a file are two documents. */
static void check_two(const char *name)
{
    rotary_error error;
    struct token_documents *documents = opened(scratch_path(name), DOCUMENT_LINE, NULL, &error);
    check_about("%s: %s", name, error.message);
    if (CHECK(documents) && CHECK_INT(token_documents_count(documents), 2))
        CHECK(is_span(token_documents_at(documents, 0), "alpha", 5) &&
              is_span(token_documents_at(documents, 1), "beta", 4));
    token_documents_close(documents);
    check_about("%s", "");
}

/* Zero bytes behind a part of gzip are no part; before the first, or with something else behind them, they
 * are damage. */
static void test_padded(void)
{
    if (!compression_is_supported(COMPRESSION_GZIP) ||
        !runs("echo alpha >alpha && echo beta >beta && head -c 100000 /dev/zero >zeros && "
              "gzip -c alpha >alpha.gz && gzip -c beta >beta.gz && cat alpha.gz beta.gz zeros >padded.gz && "
              "cat alpha.gz zeros beta.gz >between.gz && cat zeros alpha.gz >before.gz && "
              "{ cat padded.gz && echo x; } >behind.gz"))
        return;
    check_two("padded.gz");
    check_two("between.gz");
    check_refused("before.gz", ROTARY_BAD_FILE, "is damaged");
    check_refused("behind.gz", ROTARY_BAD_FILE, "is damaged");
}

/* A frame that says that its window has 2^log bytes, with two lines as they are. */
static void write_frame(const char *name, int log)
{
    unsigned char frame[] = "\x28\xb5\x2f\xfd\x00?\x59\x00\x00" /* 11 bytes, in the last block */
                            "alpha\nbeta\n";
    frame[5] = (unsigned char)((log - 10) << 3);
    scratch_write(scratch_path(name), (const char *)frame, sizeof frame - 1);
}

static void test_windows(void)
{
    static const int logs[] = {20, 27, 28, 31};
    if (!compression_is_supported(COMPRESSION_ZSTD))
        return;
    for (int i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "window%d.zst", logs[i]);
        write_frame(name, logs[i]);
        check_two(name);
    }
    write_frame("window32.zst", 32);
    check_refused("window32.zst", ROTARY_UNSUPPORTED, "window32.zst cannot be|a window of more than 2 GiB");
}

/* The line of a mistake is that of the text. */
static void test_lines(void)
{
    if (!compression_is_supported(COMPRESSION_GZIP) ||
        !runs("{ cat plain.txt; printf 'a\\nb\\377\\n'; } >late && wc -l <late >lines && gzip -c late "
              ">late.gz"))
        return;
    char wanted[64];
    int lines = 0;
    FILE *file = fopen(scratch_path("lines"), "r");
    CHECK(fscanf(file, "%d", &lines) == 1 && lines > 90000);
    fclose(file);
    snprintf(wanted, sizeof wanted, "late.gz, line %d: byte 0xff at position 2 ", lines);
    check_refused("late.gz", ROTARY_BAD_FILE, wanted);
}

static void interrupt(void *argument, const struct token_documents_progress *progress)
{
    (void)progress;
    atomic_store((atomic_bool *)argument, true);
}

static void note_first(void *argument, const struct token_documents_progress *progress)
{
    int64_t *first = argument;
    *first = *first > 0 ? *first : progress->done;
}

/* Where a compressed text is gone on with, the documents are the same. */
static void test_resumed(void)
{
    if (!compression_is_supported(COMPRESSION_GZIP) || !runs("gzip -c plain.txt >again.gz"))
        return;
    char cache[FILE_PATH_BYTES], path[FILE_PATH_BYTES];
    snprintf(cache, sizeof cache, "%s", scratch_path("again.tokens"));
    snprintf(path, sizeof path, "%s", scratch_path("again.gz"));
    const char *paths[] = {path};
    atomic_bool interrupted = false;
    int64_t first[2] = {0, 0};
    struct token_documents_request request = {.paths = paths,
                                              .count = 1,
                                              .tokenizer = bytes,
                                              .cache = cache,
                                              .threads = 1,
                                              .progress = interrupt,
                                              .argument = &interrupted,
                                              .interrupted = &interrupted};
    struct token_documents *documents = NULL;
    CHECK_INT(token_documents_open(&documents, &request, NULL), ROTARY_INTERRUPTED);
    request.interrupted = NULL;
    request.progress = note_first;
    char *made[2] = {NULL, NULL};
    size_t counts[2] = {0, 1};
    for (int i = 0; i < 2; i++) {
        request.argument = &first[i];
        if (CHECK_INT(token_documents_open(&documents, &request, NULL), ROTARY_OK))
            token_documents_close(documents);
        CHECK_INT(file_read(cache, 1 << 30, &made[i], &counts[i], NULL), ROTARY_OK);
        unlink(cache);
    }
    CHECK(first[0] > first[1] && first[1] > 0); /* the second time from the begin */
    CHECK(counts[0] == counts[1] && memcmp(made[0], made[1], counts[0]) == 0);
    free(made[0]);
    free(made[1]);
}

/* ---- records ---- */

enum { RECORDS = 3000 };

/* Text with what JSON escapes, of which record 1000 has more than a section. */
static char *record_text(int record, int64_t *count)
{
    static const char *const some[] = {
        "word ", "\n", "\n\n", "\"quoted\" ", "\\ ", "\t", "\xc3\xa9", "\xf0\x9f\x98\x80", "/", "\r\n"};
    const int length = record == 1000 ? 300000 : 1 + record * 31 % 400;
    char *text = malloc((size_t)length * 16 + 16);
    *count = sprintf(text, "%d: ", record);
    for (int i = 0; i < length; i++)
        *count += sprintf(text + *count, "%s", some[((unsigned)i * (unsigned)i + (unsigned)record) % 10]);
    return text;
}

static void write_records(void)
{
    FILE *file = fopen(scratch_path("records.jsonl"), "w");
    for (int i = 0; i < RECORDS; i++) {
        int64_t count;
        char *text = record_text(i, &count);
        json_t *object = json_pack("{s:i, s:s, s:s%}", "id", i, "text", i % 2 ? "other" : "another",
                                   "content", text, (size_t)count);
        json_dumpf(object, file, i % 3 == 0 ? JSON_ENSURE_ASCII : 0);
        fputs(i % 5 == 0 ? "\r\n" : i % 7 == 0 ? "\n\n" : "\n", file);
        json_decref(object);
        free(text);
    }
    fputs("{\"content\": \" \", \"text\": \"last\"}\n", file);
    fclose(file);
}

/* Lines end with "\n", as in any text. */
static int64_t without_carriages(char *text, int64_t count)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++)
        if (text[i] != '\r' || i + 1 == count || text[i + 1] != '\n')
            text[kept++] = text[i];
    return kept;
}

static void check_records(const char *name)
{
    rotary_error error;
    struct token_documents *documents = opened(scratch_path(name), DOCUMENT_BLANK_LINE, "content", &error);
    check_about("%s: %s", name, error.message);
    if (CHECK(documents) && CHECK_INT(token_documents_count(documents), RECORDS + 1)) {
        CHECK(is_span(token_documents_at(documents, RECORDS), " ", 1));
        for (int i = 0; i < RECORDS; i++) {
            int64_t count;
            char *text = record_text(i, &count);
            count = without_carriages(text, count);
            check_about("%s, record %d", name, i);
            CHECK(is_span(token_documents_at(documents, i), text, count));
            free(text);
        }
    }
    token_documents_close(documents);
    check_about("%s", "");
}

static void test_records(void)
{
    write_records();
    check_records("records.jsonl");
    if (compression_is_supported(COMPRESSION_GZIP) && runs("gzip -c records.jsonl >records.JSONL.gz"))
        check_records("records.JSONL.gz");
    /* Another field is another text: the cache is made anew. */
    char cache[FILE_PATH_BYTES], path[FILE_PATH_BYTES];
    snprintf(cache, sizeof cache, "%s", scratch_path("field.tokens"));
    snprintf(path, sizeof path, "%s", scratch_path("records.jsonl"));
    const char *paths[] = {path};
    struct token_documents_request request = {.paths = paths, .count = 1, .tokenizer = bytes, .cache = cache};
    for (int i = 0; i < 4; i++) {
        struct token_documents *documents = NULL;
        request.field = i % 2 ? "content" : NULL;
        CHECK_INT(token_documents_open(&documents, &request, NULL), ROTARY_OK);
        if (documents && CHECK_INT(token_documents_count(documents), RECORDS + 1))
            CHECK_INT(is_span(token_documents_at(documents, 1), "other", 5), i % 2 == 0);
        token_documents_close(documents);
    }
}

/* Mark-up would be learned as if it were text. */
static void test_xml_refused(void)
{
    static const char *const names[] = {"articles.xml", "articles.XML"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        scratch_write(scratch_path(names[i]), "<page/>\n", 8);
        check_refused(names[i], ROTARY_UNSUPPORTED, "articles.|XML is not read as text|JSON lines");
    }
}

/* Numbers that C does not have, beside the text. */
static void test_record_numbers(void)
{
    static const char text[] = "{\"text\": \"alpha\", \"simhash\": 18329103420363166823}\n"
                               "{\"score\": NaN, \"text\": \"beta\", \"weights\": [1e999, -Infinity]}\n";
    scratch_write(scratch_path("numbers.jsonl"), text, sizeof text - 1);
    rotary_error error;
    struct token_documents *documents =
        opened(scratch_path("numbers.jsonl"), DOCUMENT_BLANK_LINE, "text", &error);
    check_about("%s", error.message);
    if (CHECK(documents) && CHECK_INT(token_documents_count(documents), 2)) {
        CHECK(is_span(token_documents_at(documents, 0), "alpha", 5));
        CHECK(is_span(token_documents_at(documents, 1), "beta", 4));
    }
    token_documents_close(documents);
    check_about("%s", "");
}

static void test_records_refused(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"{\"text\": \"a\"}\n\n{\"text\": \"b\"\n", "bad.jsonl, line 3: |expected"},
        {"{\"text\": \"a\"}\n{\"content\": \"b\"}\n", "bad.jsonl, line 2: |object with a text \"text\""},
        {"{\"text\": \"a\"}\n{\"text\": [\"b\"]}\n", "bad.jsonl, line 2: |object with a text \"text\""},
        {"{\"text\": NaN}\n", "bad.jsonl, line 1: |object with a text \"text\""},
        {"{\"text\": 18329103420363166823}\n", "bad.jsonl, line 1: |object with a text \"text\""},
        {"[1]\n", "bad.jsonl, line 1: |object with a text \"text\""},
        {"{\"text\": \"a\xff\"}\n", "bad.jsonl, line 1: |byte 0xff"},
        {"{\"text\": \"a\\u0000\"}\n", "bad.jsonl, line 1: |"},
        {"a\n", "bad.jsonl, line 1: |"},
        {"\n\n{\"text\": \"\"}\n", "bad.jsonl, line 3: the text \"text\" is empty, wanted"},
        {"{\"text\": \"a\"}\n{\"text\": \"\"}\n{\"text\": \"b\"}\n",
         "bad.jsonl, line 2: the text \"text\" is empty"},
        {"\n \n", "bad.jsonl has no document"},
        {"", "bad.jsonl has no document"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        scratch_write(scratch_path("bad.jsonl"), cases[i].text, strlen(cases[i].text));
        check_refused("bad.jsonl", ROTARY_BAD_FILE, cases[i].words);
    }
    /* The record that a tokenizer cannot encode is named by its line. */
    struct tokenizer *all = bytes;
    const char text[] =
        "{\"text\": \"a\"}\n\n{\"text\": \"\\n\"}\n{\"text\": \"a\\na\"}\n{\"text\": \"a\\nb\"}\n";
    CHECK_INT(characters_create(&bytes, "a\n", NULL), ROTARY_OK);
    scratch_write(scratch_path("bad.jsonl"), text, sizeof text - 1);
    check_refused("bad.jsonl", ROTARY_BAD_FILE, "bad.jsonl, document of line 5: ");
    tokenizer_destroy(bytes);
    /* So is the one of which it makes no token, wherever that stands. */
    static const char *const blank[] = {"{\"text\": \"a\"}\n\n{\"text\": \" \\t\"}\n{\"text\": \"a\"}\n",
                                        "{\"text\": \"a\"}\n{\"text\": \"a\"}\n{\"text\": \"\\n \"}"};
    CHECK_INT(words_create(&bytes, "a", 1, 1, NULL), ROTARY_OK);
    for (int i = 0; i < 2; i++) {
        scratch_write(scratch_path("bad.jsonl"), blank[i], strlen(blank[i]));
        check_refused("bad.jsonl", ROTARY_BAD_FILE,
                      "bad.jsonl, line 3: the document that begins here has no token");
    }
    tokenizer_destroy(bytes);
    bytes = all;
}

int main(void)
{
    CHECK_INT(bytes_create(&bytes, NULL), ROTARY_OK);
    test_compressed();
    test_padded();
    test_windows();
    test_lines();
    test_resumed();
    test_records();
    test_record_numbers();
    test_records_refused();
    test_xml_refused();
    tokenizer_destroy(bytes);
    return check_report();
}
