/* SPDX-License-Identifier: Apache-2.0
 *
 * Corpora of documents: their tokens beside those that the text was made of, caches that are used, outdated,
 * damaged or foreign, mistakes in texts, and processes that are killed, interrupted or start together.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "text/corpus/token_documents.h"
#include "text/corpus/token_file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Hundreds of caches are not synced, which would wait for the disk, but counted. */
static int synced;
int __wrap_fsync(int descriptor);
int __wrap_fsync(int descriptor)
{
    (void)descriptor;
    synced++;
    return 0;
}

static struct tokenizer *bytes, *words;
static char *cache, *large_path, *other_path; /* files in the scratch folder */

static const char *file_of(const char *name, const char *text)
{
    const char *path = scratch_path(name);
    scratch_write(path, text, strlen(text));
    return path;
}

static struct token_documents_request request_of(const char *const *paths, int count,
                                                 enum document_boundary boundary)
{
    return (struct token_documents_request){.paths = paths,
                                            .count = count,
                                            .boundary = boundary,
                                            .tokenizer = bytes,
                                            .cache = cache,
                                            .threads = 2};
}

static struct token_documents *opened(const struct token_documents_request *request, bool cached)
{
    struct token_documents *documents = NULL;
    rotary_error error = {0};
    rotary_status status = token_documents_open(&documents, request, &error);
    if (!CHECK_INT(status, ROTARY_OK))
        check_about("%s", error.message);
    if (documents)
        CHECK_INT(token_documents_totals(documents).cached, cached);
    return documents;
}

static void check_refused(const struct token_documents_request *request, rotary_status wanted,
                          const char *said)
{
    struct token_documents *documents = NULL;
    rotary_error error = {0};
    CHECK_INT(token_documents_open(&documents, request, &error), wanted);
    CHECK_WORDS(error.message, said);
    CHECK(documents == NULL);
    CHECK_INT(error.status, wanted);
}

static char *read_whole(const char *path, size_t *count)
{
    char *content = NULL;
    CHECK_INT(file_read(path, 1 << 30, &content, count, NULL), ROTARY_OK);
    return content;
}

/* ---- small texts ---- */

/* `wanted` has the documents with a '|' behind each. */
static void check_documents(const struct token_documents *documents, const char *wanted)
{
    char joined[1024] = "";
    struct token_documents_totals totals = token_documents_totals(documents);
    int64_t count = 0, tokens = 0, longest = 0;
    CHECK_INT(totals.documents, token_documents_count(documents));
    for (int64_t i = 0; i < totals.documents; i++) {
        const struct token_span span = token_documents_at(documents, i);
        count +=
            tokenizer_decode(bytes, span.tokens, span.count, joined + count, (int64_t)sizeof joined - count);
        joined[count++] = '|';
        joined[count] = '\0';
        tokens += span.count;
        longest = span.count > longest ? span.count : longest;
    }
    CHECK_TEXT(joined, wanted);
    CHECK_INT(totals.tokens, tokens);
    CHECK_INT(totals.longest, longest);
    CHECK_INT(totals.bytes, tokens);
}

static void check_split(const char *text, enum document_boundary boundary, const char *wanted)
{
    const char *path = file_of("text", text);
    struct token_documents_request request = request_of(&path, 1, boundary);
    check_about("\"%s\" by %s", text, document_boundary_names[boundary]);
    scratch_remove(request.cache);
    for (int time = 0; time < 2; time++) {
        struct token_documents *documents = opened(&request, time > 0);
        if (documents)
            check_documents(documents, wanted);
        token_documents_close(documents);
    }
    check_about("%s", "");
}

static void test_small(void)
{
    check_split("a b\nc\n\n \nd\r\ne\r\n", DOCUMENT_BLANK_LINE, "a b\nc|d\ne|");
    check_split("\xef\xbb\xbf"
                "a b\nc\n\nd\r\n",
                DOCUMENT_LINE, "a b|c|d|");
    check_split("\xef\xbb\xbf"
                "a\n\nb\r\n",
                DOCUMENT_FILE, "a\n\nb\n|");
    check_split("\xc3\xa9", DOCUMENT_LINE, "\xc3\xa9|");
}

static void test_folders(void)
{
    mkdir(scratch_path("folder"), 0777);
    mkdir(scratch_path("folder/b"), 0777);
    file_of("folder/c", "3\n");
    file_of("folder/b/2", "2");
    file_of("folder/a", "1");
    file_of("folder/.hidden", "4");
    file_of("folder/old.tokens", "\xff");
    file_of("folder/old.tokens.partial", "\xff");
    const char *paths[] = {scratch_path("folder/"), file_of("0", "0\n")};
    struct token_documents_request request = request_of(paths, 2, DOCUMENT_LINE);
    scratch_remove(request.cache);
    struct token_documents *documents = opened(&request, false);
    if (documents)
        check_documents(documents, "1|2|3|0|");
    token_documents_close(documents);
    /* The name of the cache is that of the folder. */
    char named[FILE_PATH_BYTES];
    request.cache = NULL;
    CHECK_INT(token_documents_cache(&request, named, NULL), ROTARY_OK);
    CHECK(strncmp(named, scratch_path("folder."), strlen(scratch_path("folder."))) == 0);
    CHECK_TEXT(named + strlen(named) - 7, ".tokens");
    paths[0] = "..";
    CHECK_INT(token_documents_cache(&request, named, NULL), ROTARY_INVALID_ARGUMENT);
}

/* ---- caches ---- */

static void test_outdated(void)
{
    const char *path = file_of("text", "a b\n\nc\n");
    struct token_documents_request request = request_of(&path, 1, DOCUMENT_BLANK_LINE);
    scratch_remove(request.cache);
    token_documents_close(opened(&request, false));
    file_of("text", "a b\n\nd\n"); /* of the same size */
    struct token_documents *documents = opened(&request, false);
    if (documents)
        check_documents(documents, "a b|d|");
    token_documents_close(documents);
    const int before = synced;
    token_documents_close(opened(&request, true));
    CHECK_INT(synced, before);
    request.boundary = DOCUMENT_LINE;
    token_documents_close(opened(&request, false));
    CHECK_INT(synced, before + 2); /* the file and its folder */
    request.tokenizer = words;
    documents = opened(&request, false);
    if (documents)
        CHECK_INT(token_documents_totals(documents).tokens, 3);
    token_documents_close(documents);
    struct tokenizer *others; /* as many words */
    CHECK_INT(words_create(&others, "a b c e", 7, 1, NULL), ROTARY_OK);
    request.tokenizer = others;
    token_documents_close(opened(&request, false));
    tokenizer_destroy(others);
    /* A cache without a name of its own is another for each. */
    char caches[3][FILE_PATH_BYTES];
    request.cache = NULL;
    request.tokenizer = words;
    CHECK_INT(token_documents_cache(&request, caches[0], NULL), ROTARY_OK);
    request.tokenizer = bytes;
    CHECK_INT(token_documents_cache(&request, caches[1], NULL), ROTARY_OK);
    request.boundary = DOCUMENT_FILE;
    CHECK_INT(token_documents_cache(&request, caches[2], NULL), ROTARY_OK);
    CHECK(strcmp(caches[0], caches[1]) != 0 && strcmp(caches[1], caches[2]) != 0);
    token_documents_close(opened(&request, false));
    CHECK(file_exists(caches[2]) && !file_exists(caches[1]));
}

/* Whichever byte of a cache is another one, it is made anew, and is what it was. */
static void test_damaged(void)
{
    const char *path = file_of("text", "a b\n\ncde\n");
    struct token_documents_request request = request_of(&path, 1, DOCUMENT_BLANK_LINE);
    scratch_remove(request.cache);
    token_documents_close(opened(&request, false));
    size_t count, again;
    char *good = read_whole(request.cache, &count);
    enum { MAGIC = 16, PADDING = TOKEN_FILE_HEADER_BYTES - sizeof(struct token_file_header) };
    for (size_t at = MAGIC; at < count; at++) {
        check_about("byte %zu", at);
        const bool used = at < sizeof(struct token_file_header) || at >= TOKEN_FILE_HEADER_BYTES;
        good[at] ^= 1;
        scratch_write(request.cache, good, count);
        good[at] ^= 1;
        token_documents_close(opened(&request, !used));
        char *made = read_whole(request.cache, &again);
        CHECK(!used || (again == count && memcmp(made, good, count) == 0));
        free(made);
    }
    for (size_t size = MAGIC; size < count; size += 7) {
        check_about("%zu bytes", size);
        scratch_write(request.cache, good, size);
        token_documents_close(opened(&request, false));
    }
    check_about("%s", "");
    free(good);
}

/* What is no cache stays. */
static void test_foreign(void)
{
    const char *path = file_of("text", "a b\n");
    struct token_documents_request request = request_of(&path, 1, DOCUMENT_LINE);
    request.cache = file_of("letter", "Dear Sir or Madam, ...\n");
    check_refused(&request, ROTARY_BAD_FILE, "letter|not a file of tokens");
    size_t count;
    char *letter = read_whole(request.cache, &count);
    CHECK_TEXT(letter, "Dear Sir or Madam, ...\n");
    free(letter);
    request.cache = path;
    check_refused(&request, ROTARY_INVALID_ARGUMENT, "text would replace");
    request.cache = scratch_path("nowhere/cache");
    check_refused(&request, ROTARY_IO_ERROR, "nowhere/cache");
}

/* ---- mistakes ---- */

static void test_refused(void)
{
    static const struct {
        const char *text;
        enum document_boundary boundary;
        const char *words;
    } cases[] = {
        {"a\n\nb\xff\n", DOCUMENT_BLANK_LINE, "text, line 3: |byte 0xff at position 2 is not UTF-8"},
        {"a\n\n\xc3", DOCUMENT_LINE, "text, line 3: |byte 0xc3 at position 1 is"},
        {"", DOCUMENT_BLANK_LINE, "text has no document"},
        {" \n\n\t\n", DOCUMENT_LINE, "text has no document"},
        {"", DOCUMENT_FILE, "text, line 1: |no token"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = file_of("text", cases[i].text);
        struct token_documents_request request = request_of(&path, 1, cases[i].boundary);
        check_about("case %zu", i);
        scratch_remove(request.cache);
        check_refused(&request, ROTARY_BAD_FILE, cases[i].words);
        CHECK(!file_exists(request.cache) && !file_exists(scratch_path("cache.partial")));
        CHECK(!file_exists(scratch_path("cache.starts.partial")));
    }
    check_about("%s", "");
    const char *path = scratch_path("missing");
    struct token_documents_request request = request_of(&path, 1, DOCUMENT_LINE);
    check_refused(&request, ROTARY_IO_ERROR, "missing");
    mkdir(scratch_path("empty"), 0777);
    path = scratch_path("empty");
    check_refused(&request, ROTARY_BAD_FILE, "empty has no file");
    request.count = 0;
    check_refused(&request, ROTARY_INVALID_ARGUMENT, "no text");
    struct tokenizer *letters;
    CHECK_INT(characters_create(&letters, "ab\n", NULL), ROTARY_OK);
    path = file_of("text", "a\nb\n\na\nbxa\n");
    request = request_of(&path, 1, DOCUMENT_BLANK_LINE);
    request.tokenizer = letters;
    check_refused(&request, ROTARY_BAD_FILE, "text, document of line 4: |x");
    tokenizer_destroy(letters);
}

/* ---- a large text ---- */

enum { LARGE = 6 << 20, MAX_DOCUMENTS = 1 << 16 };

struct large {
    char *text, *documents; /* as in the file, and one after another */
    int64_t bytes, used, count;
    int64_t starts[MAX_DOCUMENTS + 1]; /* in `documents` */
};

static void add(struct large *large, const char *text)
{
    const size_t length = strlen(text);
    memcpy(large->text + large->bytes, text, length);
    large->bytes += (int64_t)length;
}

/* A document of `lines` lines. */
static void add_document(struct large *large, uint64_t seed, int64_t lines)
{
    static const char *const some[] = {"an ", "entirely ", "\xc3\xa9\xf0\x9f\x98\x80 ",
                                       "b",   "  ",        "very-long-words-"};
    large->starts[large->count++] = large->used;
    for (int64_t line = 0; line < lines; line++) {
        const int64_t begin = large->bytes;
        const int length = 1 + (int)(check_random(seed, (uint64_t)line, 0) * 1e6f) % 20;
        add(large, "x");
        for (int i = 0; i < (length < 0 ? -length : length); i++)
            add(large, some[(uint64_t)(line + i * (line % 7)) % 6]);
        memcpy(large->documents + large->used, large->text + begin, (size_t)(large->bytes - begin));
        large->used += large->bytes - begin;
        if (line < lines - 1)
            large->documents[large->used++] = '\n';
        add(large, seed % 5 == 0 ? "\r\n" : "\n");
    }
    large->starts[large->count] = large->used;
}

/* Documents of one line to more than a section has. */
static struct large *make_large(void)
{
    struct large *large = calloc(1, sizeof *large);
    large->text = malloc(LARGE + (4 << 20));
    large->documents = malloc(LARGE + (4 << 20));
    for (uint64_t seed = 0; large->bytes < LARGE; seed++) {
        add_document(large, seed, seed % 400 == 250 ? 20000 : seed % 50 == 7 ? 500 : 1 + (int64_t)(seed % 9));
        add(large, seed % 3 == 0 ? "\n" : seed % 3 == 1 ? " \r\n\n" : "\n\t\n");
    }
    scratch_write(large_path, large->text, (size_t)large->bytes);
    return large;
}

static void free_large(struct large *large)
{
    free(large->text);
    free(large->documents);
    free(large);
}

static void check_large(const struct large *large, const struct token_documents *documents)
{
    CHECK_INT(token_documents_count(documents), large->count);
    for (int64_t i = 0; i < large->count && i < token_documents_count(documents); i++) {
        const struct token_span span = token_documents_at(documents, i);
        const char *wanted = large->documents + large->starts[i];
        bool same = span.count == large->starts[i + 1] - large->starts[i] &&
                    token_documents_bytes(documents, i) == span.count;
        for (int64_t j = 0; same && j < span.count; j++)
            same = span.tokens[j] == (unsigned char)wanted[j];
        check_about("document %lld", (long long)i);
        if (!CHECK(same))
            break;
    }
    check_about("%s", "");
}

/* The same file with any number of threads. */
static void test_large(const struct large *large)
{
    static const int threads[] = {1, 2, 5};
    const char *path = large_path;
    char *first = NULL;
    size_t count = 0, again;
    CHECK(large->count > 1000);
    for (int i = 0; i < 3; i++) {
        struct token_documents_request request = request_of(&path, 1, DOCUMENT_BLANK_LINE);
        request.threads = threads[i];
        scratch_remove(request.cache);
        struct token_documents *documents = opened(&request, false);
        if (documents && i == 0)
            check_large(large, documents);
        token_documents_close(documents);
        char *made = read_whole(request.cache, first ? &again : &count);
        CHECK(!first || (again == count && memcmp(made, first, count) == 0));
        if (first)
            free(made);
        else
            first = made;
    }
    free(first);
}

/* A mistake far behind: its line is counted over sections, and the first one is named. */
static void test_large_refused(struct large *large)
{
    const char *path = other_path;
    int64_t line = 1, position = 1, at = LARGE - 1000;
    for (int64_t i = 0; i < at; i++) {
        line += large->text[i] == '\n';
        position = large->text[i] == '\n' ? 1 : position + 1;
    }
    const char kept[] = {large->text[at], large->text[at + 900]};
    large->text[at] = large->text[at + 900] = '\xff';
    scratch_write(path, large->text, (size_t)large->bytes);
    large->text[at] = kept[0];
    large->text[at + 900] = kept[1];
    for (int threads = 1; threads < 4; threads++) {
        char wanted[128];
        struct token_documents_request request = request_of(&path, 1, DOCUMENT_LINE);
        request.threads = threads;
        snprintf(wanted, sizeof wanted, "other, line %lld: |0xff at position %lld ", (long long)line,
                 (long long)position);
        check_refused(&request, ROTARY_BAD_FILE, wanted);
    }
}

/* One line of a file as large: cut before spaces, it is one document, and what is wrong is at its place. */
static void test_long_line(struct large *large)
{
    const char *path = other_path;
    for (int64_t i = 0; i < large->bytes; i++)
        if (large->text[i] == '\n' || large->text[i] == '\r')
            large->text[i] = ' ';
    scratch_write(path, large->text, (size_t)large->bytes);
    for (int boundary = 0; boundary < DOCUMENT_BOUNDARIES; boundary++) {
        struct token_documents_request request = request_of(&path, 1, (enum document_boundary)boundary);
        struct token_documents *documents = opened(&request, false);
        if (documents) {
            const struct token_span span = token_documents_at(documents, 0);
            CHECK_INT(token_documents_count(documents), 1);
            bool same = span.count == large->bytes;
            for (int64_t i = 0; same && i < span.count; i++)
                same = span.tokens[i] == (unsigned char)large->text[i];
            CHECK(same);
        }
        token_documents_close(documents);
    }
    large->text[LARGE - 5] = '\xfe';
    scratch_write(path, large->text, (size_t)large->bytes);
    struct token_documents_request request = request_of(&path, 1, DOCUMENT_LINE);
    char wanted[128];
    snprintf(wanted, sizeof wanted, "other, line 1: |0xfe at position %d ", LARGE - 4);
    check_refused(&request, ROTARY_BAD_FILE, wanted);
}

/* A line that begins with more spaces than a section has: what it continues with is a document of its own. */
static void test_spaces(void)
{
    enum { SPACES = 1 << 20 };
    const char *path = other_path;
    char *text = malloc(SPACES + 64);
    int64_t count = sprintf(text, "a\n");
    memset(text + count, ' ', SPACES);
    count += SPACES + sprintf(text + count + SPACES, "b c\n\nd\n");
    scratch_write(path, text, (size_t)count);
    free(text);
    struct token_documents_request request = request_of(&path, 1, DOCUMENT_LINE);
    request.tokenizer = words;
    struct token_documents *documents = opened(&request, false);
    if (documents && CHECK_INT(token_documents_count(documents), 3)) {
        CHECK_INT(token_documents_at(documents, 0).count, 1);
        CHECK_INT(token_documents_at(documents, 1).count, 2);
        CHECK_INT(token_documents_at(documents, 2).count, 1);
    }
    token_documents_close(documents);
}

/* ---- processes ---- */

struct stopping {
    int left; /* calls of progress before the end; below 0: none */
    bool kill;
    atomic_bool interrupted;
    int64_t first; /* bytes done at the first call */
};

static void stop(void *argument, const struct token_documents_progress *progress)
{
    struct stopping *stopping = argument;
    stopping->first = stopping->first > 0 ? stopping->first : progress->done;
    if (progress->waiting || stopping->left < 0 || stopping->left-- > 0)
        return;
    if (stopping->kill)
        raise(SIGKILL);
    atomic_store(&stopping->interrupted, true);
}

static void check_same_as(const char *path, const char *wanted, size_t count)
{
    size_t again = 0;
    char *made = read_whole(path, &again);
    CHECK(made && again == count && memcmp(made, wanted, count) == 0);
    free(made);
}

/* Opens the documents in a process that is killed after `rounds` rounds. */
static void kill_after(struct token_documents_request request, int rounds)
{
    struct stopping stopping = {.left = rounds - 1, .kill = true};
    scratch_remove(request.cache);
    const pid_t child = fork();
    if (child == 0) {
        struct token_documents *documents;
        request.progress = stop;
        request.argument = &stopping;
        _exit(token_documents_open(&documents, &request, NULL) == ROTARY_OK ? 1 : 2);
    }
    int ended = 0;
    waitpid(child, &ended, 0);
    CHECK(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
    CHECK(file_exists(scratch_path("cache.partial")) && !file_exists(request.cache));
}

/* Opens them, and returns how many bytes were done after the first round. */
static int64_t first_progress(struct token_documents_request request)
{
    struct stopping stopping = {.left = -1};
    request.progress = stop;
    request.argument = &stopping;
    token_documents_close(opened(&request, false));
    CHECK(!file_exists(scratch_path("cache.partial")) && !file_exists(scratch_path("cache.starts.partial")));
    return stopping.first;
}

/* What was killed or interrupted is gone on with, and gives the file that nobody disturbed. */
static void test_stopped(int64_t size)
{
    const char *path = large_path;
    struct token_documents_request request = request_of(&path, 1, DOCUMENT_BLANK_LINE);
    request.threads = 1;
    scratch_remove(request.cache);
    const int64_t round = first_progress(request);
    size_t count = 0;
    char *wanted = read_whole(request.cache, &count);
    CHECK(round > 0 && round < size / 2);
    for (int rounds = 1; rounds <= 3; rounds++) {
        kill_after(request, rounds);
        request.threads = rounds;
        const int64_t first = first_progress(request);
        CHECK(first > rounds * round || first == size);
        request.threads = 1;
        check_same_as(request.cache, wanted, count);
    }
    struct stopping stopping = {.left = 1};
    scratch_remove(request.cache);
    request.progress = stop;
    request.argument = &stopping;
    request.interrupted = &stopping.interrupted;
    check_refused(&request, ROTARY_INTERRUPTED, "interrupted");
    CHECK(!file_exists(request.cache));
    request.interrupted = NULL;
    CHECK(first_progress(request) > 2 * round);
    check_same_as(request.cache, wanted, count);
    free(wanted);
}

/* What is left of another text or tokenizer, and what is damaged, is begun anew. */
static void test_left(void)
{
    enum { NOTE = 100 }; /* within the note */
    const char *path = large_path;
    struct token_documents_request request = request_of(&path, 1, DOCUMENT_BLANK_LINE);
    request.threads = 1;
    scratch_remove(request.cache);
    const int64_t round = first_progress(request);
    size_t count = 0, left_count = 0;
    char *wanted = read_whole(request.cache, &count);
    static const char *const names[] = {"cache.partial", "cache.partial", "cache.starts.partial"};
    for (int i = 0; i < 3; i++) {
        kill_after(request, 2);
        char *left = read_whole(scratch_path(names[i]), &left_count);
        left[i == 0 ? NOTE : left_count / 2] ^= 4;
        scratch_write(scratch_path(names[i]), left, left_count);
        CHECK_INT(first_progress(request), round);
        check_same_as(request.cache, wanted, count);
        free(left);
    }
    kill_after(request, 2);
    CHECK(truncate(scratch_path("cache.partial"), (off_t)left_count) == 0);
    CHECK_INT(first_progress(request), round);
    check_same_as(request.cache, wanted, count);
    kill_after(request, 2);
    request.boundary = DOCUMENT_LINE;
    CHECK(first_progress(request) < 2 * round);
    request.boundary = DOCUMENT_BLANK_LINE;
    kill_after(request, 2);
    request.tokenizer = words;
    CHECK_INT(first_progress(request), round);
    free(wanted);
}

/* The line of a mistake is right when what was before it is not read again. */
static void test_left_refused(struct large *large)
{
    const char *path = other_path;
    int64_t line = 1;
    const int64_t at = large->bytes - 100;
    for (int64_t i = 0; i < at; i++)
        line += large->text[i] == '\n';
    const char kept = large->text[at];
    large->text[at] = '\xff';
    scratch_write(path, large->text, (size_t)large->bytes);
    large->text[at] = kept;
    struct token_documents_request request = request_of(&path, 1, DOCUMENT_BLANK_LINE);
    request.threads = 1;
    kill_after(request, 2);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "other, line %lld: |0xff", (long long)line);
    check_refused(&request, ROTARY_BAD_FILE, wanted);
}

/* Of several processes that start together one tokenises, and all have the same documents. */
static void test_together(const struct large *large)
{
    enum { PROCESSES = 4 };
    const char *path = large_path;
    struct token_documents_request request = request_of(&path, 1, DOCUMENT_BLANK_LINE);
    request.threads = 1;
    scratch_remove(request.cache);
    pid_t children[PROCESSES];
    int tokenised = 0;
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct token_documents *documents;
            if (token_documents_open(&documents, &request, NULL) != ROTARY_OK)
                _exit(2);
            _exit(token_documents_count(documents) != large->count
                      ? 3
                      : token_documents_totals(documents).cached);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int ended = 0;
        waitpid(children[i], &ended, 0);
        CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) <= 1);
        tokenised += WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
    }
    CHECK_INT(tokenised, 1);
}

int main(void)
{
    static const char vocabulary[] = "a b c d";
    cache = strdup(scratch_path("cache"));
    large_path = strdup(scratch_path("large"));
    other_path = strdup(scratch_path("other"));
    CHECK_INT(bytes_create(&bytes, NULL), ROTARY_OK);
    CHECK_INT(words_create(&words, vocabulary, (int64_t)strlen(vocabulary), 1, NULL), ROTARY_OK);
    test_small();
    test_folders();
    test_outdated();
    test_damaged();
    test_foreign();
    test_refused();
    struct large *large = make_large();
    test_large(large);
    test_large_refused(large);
    test_stopped(large->bytes);
    test_left();
    test_left_refused(large);
    test_together(large);
    test_long_line(large);
    test_spaces();
    free_large(large);
    tokenizer_destroy(bytes);
    tokenizer_destroy(words);
    free(cache);
    free(large_path);
    free(other_path);
    return check_report();
}
