/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and replacing whole files, JSON files, the checksum; a full disk.
 */
#include "support/check.h"
#include "support/scratch.h"

#include "base/random.h"
#include "file/checksum/checksum.h"
#include "file/checksum/file_checksum.h"
#include "file/checksum/json_checksum.h"
#include "file/file.h"
#include "file/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_replace_and_read(void)
{
    const char *path = scratch_path("whole");
    rotary_error error = {0};
    char *bytes = NULL;
    size_t count = 0;
    CHECK(!file_exists(path));
    CHECK_INT(file_replace(path, "one\0two", 7, &error), ROTARY_OK);
    CHECK(file_exists(path));
    CHECK_INT(file_read(path, 7, &bytes, &count, &error), ROTARY_OK);
    CHECK_INT((int64_t)count, 7);
    CHECK(memcmp(bytes, "one\0two\0", 8) == 0);
    free(bytes);
    CHECK_INT(file_read(path, 6, &bytes, &count, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, path) && strstr(error.message, "7 bytes"));

    CHECK_INT(file_replace(path, "", 0, &error), ROTARY_OK);
    CHECK_INT(file_read(path, 100, &bytes, &count, &error), ROTARY_OK);
    CHECK_INT((int64_t)count, 0);
    CHECK_INT(bytes[0], 0);
    free(bytes);

    /* A file whose size stat does not say: the buffer grows, up to the limit. */
    CHECK_INT(file_read("/proc/self/status", 10, &bytes, &count, &error), ROTARY_BAD_FILE);
    CHECK_INT(file_read("/proc/self/status", 200000, &bytes, &count, &error), ROTARY_OK);
    CHECK(count > 0 && strncmp(bytes, "Name:", 5) == 0);
    free(bytes);
}

static bool is(const char *path, mode_t type)
{
    struct stat about;
    return lstat(path, &about) == 0 && (about.st_mode & S_IFMT) == type;
}

/* The pipe stands for devices, which must not be replaced by a file. */
static void test_links_and_pipes(void)
{
    rotary_error error = {0};
    char text[8] = "", *bytes;
    size_t count;
    const char *pipe = scratch_path("pipe"), *link = scratch_path("link"), *target = scratch_path("target");
    CHECK(mkfifo(pipe, 0666) == 0 && symlink("target", link) == 0);
    int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    CHECK_INT(file_replace(pipe, "sent", 4, &error), ROTARY_OK);
    CHECK_INT(read(reader, text, sizeof text - 1), 4);
    CHECK_TEXT(text, "sent");
    CHECK(is(pipe, S_IFIFO));
    close(reader);
    CHECK_INT(file_replace(target, "old", 3, &error), ROTARY_OK);
    CHECK_INT(file_replace(link, "new", 3, &error), ROTARY_OK);
    CHECK(is(link, S_IFLNK) && is(target, S_IFREG));
    CHECK_INT(file_read(target, 100, &bytes, &count, &error), ROTARY_OK);
    CHECK_TEXT(bytes, "new");
    free(bytes);

    check_about("a link where a file is written that will be renamed");
    const char *partial = scratch_path("victim.partial"), *victim = scratch_path("victim");
    CHECK(symlink("target", partial) == 0);
    CHECK_INT(file_replace(victim, "other", 5, &error), ROTARY_IO_ERROR);
    CHECK(strstr(error.message, "victim.partial is a symbolic link"));
    CHECK_INT(file_read(target, 100, &bytes, &count, &error), ROTARY_OK);
    CHECK_TEXT(bytes, "new");
    free(bytes);
    char path[FILE_PATH_BYTES];
    CHECK_INT(file_output_path(path, scratch_folder(), "link", &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "link is a symbolic link"));
    CHECK_INT(file_output_path(path, scratch_folder(), "target", &error), ROTARY_OK);
    CHECK_INT(file_output_path(path, scratch_folder(), "new", &error), ROTARY_OK);
}

static void test_failures(void)
{
    rotary_error error = {0};
    char *bytes;
    size_t count;
    CHECK_INT(file_read(scratch_path("absent"), 10, &bytes, &count, &error), ROTARY_IO_ERROR);
    CHECK(strstr(error.message, "absent") && strstr(error.message, "No such file"));
    CHECK_INT(file_read(scratch_folder(), 10, &bytes, &count, &error), ROTARY_IO_ERROR);
    CHECK(strstr(error.message, "is a folder, wanted a file"));
    CHECK_INT(file_replace(scratch_path("no/such/folder"), "x", 1, &error), ROTARY_IO_ERROR);
    CHECK(strstr(error.message, "no/such/folder"));
    CHECK_INT(file_replace("/proc/rotary", "x", 1, &error), ROTARY_IO_ERROR);
    CHECK_INT(file_replace(scratch_folder(), "x", 1, &error), ROTARY_IO_ERROR);
    char long_path[9000];
    memset(long_path, 'a', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = 0;
    CHECK_INT(file_replace(long_path, "x", 1, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_INT(file_make_folder(long_path, &error), ROTARY_INVALID_ARGUMENT);
}

/* rename() to a file that is a mount point fails. */
static bool busy;
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    if (!busy)
        return __real_rename(from, to);
    errno = EBUSY;
    return -1;
}

static void test_busy(void)
{
    rotary_error error = {0};
    const char *path = scratch_path("busy");
    CHECK_INT(file_replace(path, "x", 1, &error), ROTARY_OK);
    busy = true;
    CHECK_INT(file_replace(path, "y", 1, &error), ROTARY_IO_ERROR);
    busy = false;
    CHECK(strstr(error.message, "busy: Device or resource busy"));
    CHECK(file_exists(path) && !file_exists(scratch_path("busy.partial")));
}

static void test_folders(void)
{
    rotary_error error = {0};
    const char *deep = scratch_path("a/b//c");
    CHECK_INT(file_make_folder(deep, &error), ROTARY_OK);
    CHECK_INT(file_make_folder(deep, &error), ROTARY_OK);
    CHECK_INT(file_replace(scratch_path("a/b/c/file"), "x", 1, &error), ROTARY_OK);
    CHECK_INT(file_make_folder(scratch_path("a/b/c/file"), &error), ROTARY_IO_ERROR);
    CHECK(strstr(error.message, "a/b/c/file"));
    CHECK_INT(file_make_folder(scratch_path("a/b/c/file/more"), &error), ROTARY_IO_ERROR);
    CHECK(strstr(error.message, "Not a directory"));
    CHECK_INT(file_make_folder("/proc/rotary", &error), ROTARY_IO_ERROR);
    CHECK(strstr(error.message, "/proc/rotary"));
    CHECK_INT(file_make_folder("", &error), ROTARY_INVALID_ARGUMENT);
    CHECK_INT(file_rename(scratch_path("a/b/c/file"), scratch_path("moved"), &error), ROTARY_OK);
    CHECK(file_exists(scratch_path("moved")) && !file_exists(scratch_path("a/b/c/file")));
    CHECK_INT(file_rename(scratch_path("a/b/c/file"), scratch_path("moved"), &error), ROTARY_IO_ERROR);
    CHECK(file_exists(scratch_path("moved")));
}

/* With a limit on the size of files, a write fails in the middle as it does on a full disk. */
static void test_full(void)
{
    const char *path = scratch_path("full");
    enum { LIMIT = 64 * 1024, LARGE = 200 * 1024 };
    char *large = calloc(1, LARGE), *bytes;
    size_t count;
    rotary_error error = {0};
    CHECK_INT(file_replace(path, "old", 3, &error), ROTARY_OK);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limit = before;
    limit.rlim_cur = LIMIT;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    rotary_status status = file_replace(path, large, LARGE, &error);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK_INT(status, ROTARY_IO_ERROR);
    CHECK(strstr(error.message, path) && strstr(error.message, "File too large"));
    CHECK(!file_exists(scratch_path("full.partial")));
    CHECK_INT(file_read(path, 100, &bytes, &count, &error), ROTARY_OK);
    CHECK_TEXT(bytes, "old");
    free(bytes);

    struct file_part part = {.bytes = large, .count = LARGE};
    CHECK_INT(file_write_parts("/dev/full", &part, 1, &error), ROTARY_IO_ERROR);
    CHECK(strstr(error.message, "No space left"));
    CHECK(file_exists("/dev/full"));
    free(large);
}

static void write_text(const char *path, const char *text)
{
    scratch_write(path, text, strlen(text));
}

static void test_lines(void)
{
    const char *path = scratch_path("lines"), *text;
    char *large = malloc(3 * LINES_MAX_BYTES);
    rotary_error error = {0};
    struct lines lines;
    size_t count;
    write_text(path, "one\n\nthree\nrest");
    CHECK_INT(lines_open(&lines, path, 100, &error), ROTARY_OK);
    static const char *const wanted[] = {"one\n", "\n", "three\n"};
    for (int i = 0; i < 3; i++) {
        CHECK_INT(lines_next(&lines, &text, &count, &error), ROTARY_OK);
        CHECK(text && count == strlen(wanted[i]) && memcmp(text, wanted[i], count) == 0);
        CHECK_INT(lines.number, i + 1);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_INT(lines_next(&lines, &text, &count, &error), ROTARY_OK);
        CHECK(!text && lines.number == 3 && lines.taken == 11);
    }
    lines_close(&lines);
    CHECK_INT(lines_open(&lines, path, 10, &error), ROTARY_BAD_FILE);
    CHECK_INT(lines_open(&lines, scratch_folder(), 10, &error), ROTARY_IO_ERROR);
    CHECK_INT(lines_open(&lines, scratch_path("pipe"), 10, &error), ROTARY_IO_ERROR);

    /* Of the largest size, which is that of the block, after a short one; and of one byte more. */
    memset(large, 'x', 3 * LINES_MAX_BYTES);
    large[4] = large[4 + LINES_MAX_BYTES] = '\n';
    scratch_write(path, large, 3 * LINES_MAX_BYTES);
    CHECK_INT(lines_open(&lines, path, UINT64_MAX, &error), ROTARY_OK);
    CHECK_INT(lines_next(&lines, &text, &count, &error), ROTARY_OK);
    CHECK_INT(lines_next(&lines, &text, &count, &error), ROTARY_OK);
    CHECK(text && count == LINES_MAX_BYTES && text[count - 1] == '\n');
    CHECK_INT(lines_next(&lines, &text, &count, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, path) && strstr(error.message, "line 3"));
    lines_close(&lines);
    free(large);
}

static void test_json(void)
{
    const char *path = scratch_path("some.json");
    rotary_error error = {0};
    json_t *object = NULL, *again = NULL;
    write_text(path, "{\"rate\": 0.00025, \"third\": 0.33333333333333331, \"steps\": 500, \"deep\": [1, "
                     "{\"x\": 1e-300}]}");
    CHECK_INT(file_read_json(path, &object, &error), ROTARY_OK);
    CHECK_INT(file_replace_json(path, object, &error), ROTARY_OK);
    CHECK_INT(file_read_json(path, &again, &error), ROTARY_OK);
    CHECK(json_equal(object, again));
    json_decref(object);
    json_decref(again);
    object = json_pack("{s:f, s:f}", "a", 0.00025, "b", 0.9);
    char *text = file_json_text(object, JSON_COMPACT);
    CHECK_TEXT(text, "{\"a\":0.00025,\"b\":0.9}");
    free(text);
    json_decref(object);

    static const struct {
        const char *text, *wanted;
    } wrong[] = {
        {"", " is empty, wanted a JSON object"},
        {"{\"a\": 1,\n\"b\": }", "line 2"},
        {"[1]", "no JSON object"},
        {"{\"a\":1}x", "line 1"},
        {"{\"a\":1,\"a\":2}", "duplicate"},
        {"{\"a\":1e999,\n\"b\":}", "line 2"},
        {"{\"a\":\"\xff\"}", "line 1"},
        {"{\"a\":99999999999999999999,\n}", "line 2"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        check_about("%s", wrong[i].text);
        write_text(path, wrong[i].text);
        CHECK_INT(file_read_json(path, &object, &error), ROTARY_BAD_FILE);
        CHECK(strstr(error.message, path) && strstr(error.message, wrong[i].wanted));
    }
    /* Numbers that C does not have (test_json_numbers.c). */
    write_text(path, "{\"a\":[1e999,99999999999999999999]}");
    if (CHECK_INT(file_read_json(path, &object, &error), ROTARY_OK))
        json_decref(object);
    /* Nested deep enough to overflow the stack. */
    char *deep = malloc(200001);
    memset(deep, '[', 200000);
    deep[200000] = 0;
    write_text(path, deep);
    free(deep);
    CHECK_INT(file_read_json(path, &object, &error), ROTARY_BAD_FILE);

    /* A damaged file is an error or another object, never a crash. */
    static const char good[] =
        "{\"name\": \"x\\u00e9\", \"steps\": 500, \"real\": -1.5e-3, \"list\": [true, null]}";
    struct rotary_random random = {.key = {.seed = 5, .stream = ROTARY_STREAM_TEST}};
    int refused = 0;
    check_about(" ");
    for (int i = 0; i < 400; i++) {
        char damaged[sizeof good];
        memcpy(damaged, good, sizeof good);
        size_t length =
            rotary_random_below(&random, 3) ? sizeof good - 1 : rotary_random_below(&random, sizeof good);
        for (int j = 0; j < 2 && length > 0; j++)
            damaged[rotary_random_below(&random, (uint32_t)length)] = (char)rotary_random_below(&random, 256);
        scratch_write(path, damaged, length);
        rotary_status status = file_read_json(path, &object, &error);
        CHECK(status == ROTARY_OK || (status == ROTARY_BAD_FILE && strstr(error.message, path)));
        refused += status != ROTARY_OK;
        if (status == ROTARY_OK)
            json_decref(object);
    }
    CHECK(refused > 200);
}

static uint64_t checksum_of(const unsigned char *bytes, size_t count, size_t block)
{
    struct checksum checksum;
    checksum_start(&checksum);
    for (size_t at = 0; at < count; at += block)
        checksum_add(&checksum, bytes + at, count - at < block ? count - at : block);
    return checksum_finish(&checksum);
}

/* The result does not depend on the split into calls; any flipped bit and zeros at the end change it. One
 * value is pinned, because files contain checksums. */
static void test_checksum(void)
{
    unsigned char bytes[301];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 3);
    for (size_t count = 0; count <= sizeof bytes; count += 43) {
        uint64_t expected = checksum_of(bytes, count, sizeof bytes);
        for (size_t block = 1; block < 70; block++)
            CHECK(checksum_of(bytes, count, block) == expected);
    }
    uint64_t expected = checksum_of(bytes, sizeof bytes, sizeof bytes);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        CHECK(checksum_of(bytes, sizeof bytes, sizeof bytes) != expected);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    static const unsigned char zeros[100];
    for (size_t count = 0; count < 100; count++)
        CHECK(checksum_of(zeros, count, 100) != checksum_of(zeros, count + 1, 101));
    CHECK(checksum_of((const unsigned char *)"rotary", 6, 6) == UINT64_C(0x25a5c83cd20e19fa));
}

/* A file has the checksum of all its bytes, however many blocks it is read in. */
static void test_file_checksum(void)
{
    enum { BYTES = 3 << 16 };
    static const size_t counts[] = {0, 1, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, BYTES - 1, BYTES};
    static unsigned char bytes[BYTES];
    const char *path = scratch_path("blocks");
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 3);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char digits[CHECKSUM_TEXT_BYTES], wanted[CHECKSUM_TEXT_BYTES];
        scratch_write(path, bytes, counts[i]);
        CHECK_INT(file_checksum(path, digits, NULL), ROTARY_OK);
        snprintf(wanted, sizeof wanted, "%016" PRIx64, checksum_of(bytes, counts[i], BYTES));
        CHECK_TEXT(digits, wanted);
    }
}

/* An object with the checksum that was written, with another text, and with what is no text. */
static void test_json_checksum(void)
{
    rotary_error error;
    json_t *object = json_pack("{s:i, s:f}", "seed", 3, "rate", 0.1);
    json_checksum_set(object);
    json_t *whole = json_deep_copy(object);
    CHECK_INT(json_checksum_take(object, "a.json", &error), ROTARY_OK);
    CHECK(json_object_get(object, JSON_CHECKSUM) == NULL);
    CHECK_INT(json_checksum_take(object, "a.json", &error), ROTARY_OK); /* earlier versions wrote none */
    json_t *const wrong[] = {json_integer(5), json_null(), json_string(""), json_string("0123456789abcdef")};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_t *copy = json_deep_copy(whole);
        json_object_set_new(copy, JSON_CHECKSUM, wrong[i]);
        CHECK_INT(json_checksum_take(copy, "a.json", &error), ROTARY_BAD_FILE);
        CHECK_WORDS(error.message, "a.json does not match");
        json_decref(copy);
    }
    json_decref(whole);
    json_decref(object);
}

int main(void)
{
    test_replace_and_read();
    test_links_and_pipes();
    test_failures();
    test_busy();
    test_folders();
    test_full();
    test_lines();
    test_json();
    test_checksum();
    test_file_checksum();
    test_json_checksum();
    return check_report();
}
