/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor files: round trips; every changed byte and every truncation of a file with a checksum is refused;
 * invalid headers are refused with a reason.
 */
#include "support/check.h"
#include "support/scratch.h"

#include "base/fail.h"
#include "base/random.h"
#include "file/file.h"
#include "file/safetensors.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { ROWS = 5, COLUMNS = 7 };

static float matrix[ROWS * COLUMNS];
static uint16_t halves[3] = {0x3c00, 0x4000, 0xc200};
static float scalar = 2.5f;

static const struct safetensor samples[] = {
    {"halves", ROTARY_BF16, 1, {3}, halves, NULL, NULL, NULL},
    {"layers.0.weight", ROTARY_F32, 2, {ROWS, COLUMNS}, matrix, NULL, NULL, NULL},
    {"empty", ROTARY_F16, 2, {0, 4}, NULL, NULL, NULL, NULL},
    {"scalar \xc3\xa9", ROTARY_F32, 0, {0}, &scalar, NULL, NULL, NULL},
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

static void write_samples(const char *path)
{
    rotary_error error = {0};
    for (int i = 0; i < ROWS * COLUMNS; i++)
        matrix[i] = check_random(1, (uint64_t)i, 20);
    json_t *metadata = json_pack("{s:s, s:s}", "step", "1234", "format", "rotary");
    CHECK_INT(safetensors_write(path, samples, SAMPLES, metadata, &error), ROTARY_OK);
    json_decref(metadata);
}

static void check_samples(const struct safetensors *file)
{
    CHECK_INT(safetensors_count(file), SAMPLES);
    for (int i = 0; i < SAMPLES; i++) {
        const struct safetensor *tensor = safetensors_find(file, samples[i].name);
        if (!CHECK(tensor != NULL))
            continue;
        CHECK_INT(tensor->dtype, samples[i].dtype);
        CHECK_INT(tensor->dimensions, samples[i].dimensions);
        size_t bytes = rotary_dtype_size(tensor->dtype);
        for (int j = 0; j < tensor->dimensions; j++) {
            CHECK_INT(tensor->shape[j], samples[i].shape[j]);
            bytes *= (size_t)tensor->shape[j];
        }
        CHECK(bytes == 0 || memcmp(tensor->data, samples[i].data, bytes) == 0);
        CHECK_INT((int64_t)((uintptr_t)tensor->data % rotary_dtype_size(tensor->dtype)), 0);
    }
}

static void test_round_trip(void)
{
    const char *path = scratch_path("round.safetensors");
    rotary_error error = {0};
    struct safetensors *file = NULL;
    write_samples(path);
    if (!CHECK(safetensors_open(&file, path, &error) == ROTARY_OK))
        return;
    check_samples(file);
    CHECK(safetensors_verified(file));
    CHECK_TEXT(safetensors_metadata(file, "step"), "1234");
    CHECK(!safetensors_metadata(file, "absent"));
    CHECK(!safetensors_find(file, "absent"));
    CHECK(!safetensors_at(file, -1) && !safetensors_at(file, SAMPLES));
    CHECK_TEXT(safetensors_at(file, 0)->name, "layers.0.weight");
    CHECK_INT((int64_t)((uintptr_t)safetensors_at(file, 0)->data % 64), 0);
    safetensors_close(file);

    CHECK_INT(safetensors_write(path, NULL, 0, NULL, &error), ROTARY_OK);
    CHECK_INT(safetensors_open(&file, path, &error), ROTARY_OK);
    CHECK_INT(safetensors_count(file), 0);
    safetensors_close(file);
}

static void test_write_refused(void)
{
    const char *path = scratch_path("refused.safetensors");
    rotary_error error = {0};
    struct safetensor twice[2] = {samples[1], samples[1]};
    CHECK_INT(safetensors_write(path, twice, 2, NULL, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "layers.0.weight") != NULL);
    struct safetensor negative = {"x", ROTARY_F32, 1, {-1}, NULL, NULL, NULL, NULL};
    CHECK_INT(safetensors_write(path, &negative, 1, NULL, &error), ROTARY_INVALID_ARGUMENT);
    struct safetensor huge = {"x", ROTARY_F32, 2, {INT64_MAX, 4}, NULL, NULL, NULL, NULL};
    CHECK_INT(safetensors_write(path, &huge, 1, NULL, &error), ROTARY_INVALID_ARGUMENT);
    struct safetensor deep = {"x", ROTARY_F32, 9, {0}, NULL, NULL, NULL, NULL};
    CHECK_INT(safetensors_write(path, &deep, 1, NULL, &error), ROTARY_INVALID_ARGUMENT);
    json_t *metadata = json_pack("{s:i}", "step", 3);
    CHECK_INT(safetensors_write(path, samples, SAMPLES, metadata, &error), ROTARY_INVALID_ARGUMENT);
    json_decref(metadata);
    CHECK(!file_exists(path));
    CHECK_INT(safetensors_write(scratch_path("absent/x"), samples, SAMPLES, NULL, &error), ROTARY_IO_ERROR);
    CHECK_INT(safetensors_write("/dev/full", samples, 0, NULL, &error), ROTARY_IO_ERROR);
    CHECK(strstr(error.message, "/dev/full") && strstr(error.message, "No space left"));

    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limit = before;
    limit.rlim_cur = 500;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    rotary_status status = safetensors_write(path, samples, SAMPLES, NULL, &error);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK_INT(status, ROTARY_IO_ERROR);
    CHECK(strstr(error.message, path) != NULL);
    CHECK(!file_exists(path));
}

/* Opens bytes as a file; checks that an error names the file in one line. */
static rotary_status open_bytes(const char *path, const char *bytes, size_t count, struct safetensors **file,
                                rotary_error *error)
{
    scratch_write(path, bytes, count);
    *file = NULL;
    *error = (rotary_error){0};
    rotary_status status = safetensors_open(file, path, error);
    if (status != ROTARY_OK) {
        CHECK_INT(status, ROTARY_BAD_FILE);
        CHECK(strstr(error->message, path) && !strchr(error->message, '\n') && !*file);
    }
    return status;
}

/* Changes every byte and truncates at every length, one at a time. The file may open only if the change hides
 * the checksum, and then it is not verified. */
static void test_damage(void)
{
    const char *path = scratch_path("damaged.safetensors");
    rotary_error error;
    struct safetensors *file;
    char *bytes;
    size_t count;
    write_samples(path);
    CHECK_INT(file_read(path, 1 << 20, &bytes, &count, &error), ROTARY_OK);
    struct rotary_random random = {.key = {.seed = 3, .stream = ROTARY_STREAM_TEST}};
    int refused = 0;
    for (size_t i = 0; i < count; i++) {
        char kept = bytes[i];
        bytes[i] = (char)(kept ^ (char)(1 + rotary_random_below(&random, 255)));
        rotary_status status = open_bytes(path, bytes, count, &file, &error);
        refused += status != ROTARY_OK;
        if (status == ROTARY_OK) {
            CHECK(!safetensors_verified(file));
            safetensors_close(file);
        }
        bytes[i] = kept;
    }
    CHECK(refused + 12 >= (int)count);
    for (size_t length = 0; length < count; length++)
        CHECK_INT(open_bytes(path, bytes, length, &file, &error), ROTARY_BAD_FILE);
    char *longer = malloc(count + 1);
    memcpy(longer, bytes, count);
    longer[count] = 0;
    CHECK_INT(open_bytes(path, longer, count + 1, &file, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "1 bytes that belong to no tensor") != NULL);
    free(longer);
    CHECK_INT(open_bytes(path, bytes, count, &file, &error), ROTARY_OK);
    check_samples(file);
    safetensors_close(file);
    free(bytes);
}

/* The header, padded with spaces to a multiple of eight bytes as a writer would, and zeros. */
static rotary_status open_made(const char *header, size_t data_bytes, struct safetensors **file,
                               rotary_error *error)
{
    static char bytes[4096];
    size_t length = strlen(header), padded = (length + 7) / 8 * 8;
    memset(bytes, 0, sizeof bytes);
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)((uint64_t)padded >> 8 * i);
    memset(bytes + 8, ' ', padded);
    memcpy(bytes + 8, header, length);
    return open_bytes(scratch_path("made.safetensors"), bytes, 8 + padded + data_bytes, file, error);
}

/* Valid files of other programs, and invalid headers. */
static void test_headers(void)
{
    rotary_error error;
    struct safetensors *file;
    CHECK_INT(
        open_made("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}    ", 8, &file, &error),
        ROTARY_OK);
    CHECK(!safetensors_verified(file));
    CHECK_INT(safetensors_count(file), 1);
    safetensors_close(file);
    CHECK_INT(open_made("{}", 0, &file, &error), ROTARY_OK);
    safetensors_close(file);

    static const struct {
        const char *header;
        size_t data;
        const char *wanted;
    } wrong[] = {
        {"[]", 0, "no JSON object"},
        {"{", 0, "damaged"},
        {"{\"a\":3}", 0, "dtype, shape and data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "dtype, shape and data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":1}}", 8, "and nothing else"},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8, "its type is not F32"},
        {"{\"a\":{\"dtype\":5,\"shape\":[1],\"data_offsets\":[0,8]}}", 8, "its type is not F32"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, "from 0 up"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]}}", 8, "from 0 up"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}", 8,
         "8 dimensions"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}", 0,
         "do not agree"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387906],\"data_offsets\":[0,8]}}", 8,
         "do not agree"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8, "do not agree"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8, "data_offsets are not two"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-8,0]}}", 8, "data_offsets are not two"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,8]}}", 8, "data_offsets are not two"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,9223372036854775807]}}", 8,
         "truncated"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,99999999999999999999]}}", 8,
         "data_offsets are not two"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[NaN],\"data_offsets\":[0,8]}}", 8, "from 0 up"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}    ",
         12, "\"b\": its data overlaps"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[12,20]}}   ",
         20, "\"b\": there is a gap"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]},"
         "\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}} ",
         4, "duplicate"},
        {"{\"__metadata__\":3}", 0, "no JSON object"},
        {"{\"__metadata__\":{\"step\":3}}", 0, "\"step\" is not a string"},
        {"{\"__metadata__\":{\"content_hash\":\"0123456789abcdef\"}}", 0, "does not match"},
        {"{\"__metadata__\":{\"content_hash\":\"x\"}}", 0, "does not match"},
        {"{\"a\\nb\":3}", 0, "dtype"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        check_about("%s", wrong[i].header);
        CHECK_INT(open_made(wrong[i].header, wrong[i].data, &file, &error), ROTARY_BAD_FILE);
        if (!CHECK(strstr(error.message, wrong[i].wanted) != NULL))
            CHECK_TEXT(error.message, wrong[i].wanted);
    }
    check_about(" ");
    CHECK_INT(safetensors_open(&file, scratch_path("absent"), &error), ROTARY_IO_ERROR);
    CHECK_INT(safetensors_open(&file, scratch_folder(), &error), ROTARY_BAD_FILE);
    const char *pipe = scratch_path("pipe");
    CHECK_INT(mkfifo(pipe, 0600), 0);
    CHECK_INT(safetensors_open(&file, pipe, &error), ROTARY_BAD_FILE);
}

/* Headers of any length, as MLX writes them, and numbers behind an odd number of bytes: they come back
 * aligned where callers read them in place, and byte for byte where they do not. */
static void test_unaligned(void)
{
    static const char header[] = "{\"a\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[0,2]},"
                                 "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[2,10]}}";
    static const unsigned char data[10] = {0x80, 0x3f, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}; /* 1; 1, -2 */
    const char *path = scratch_path("unaligned.safetensors");
    rotary_error error = {0};
    for (size_t spaces = 0; spaces < 8; spaces++) {
        char bytes[256];
        const size_t length = strlen(header) + spaces;
        check_about("a header of %zu bytes", length);
        memset(bytes, ' ', sizeof bytes);
        for (int i = 0; i < 8; i++)
            bytes[i] = (char)((uint64_t)length >> 8 * i);
        memcpy(bytes + 8, header, strlen(header));
        memcpy(bytes + 8 + length, data, sizeof data);
        scratch_write(path, bytes, 8 + length + sizeof data);
        struct safetensors *file = NULL, *other = NULL;
        if (!CHECK_INT(safetensors_open(&file, path, &error), ROTARY_OK) ||
            !CHECK_INT(safetensors_open_any(&other, path, &error), ROTARY_OK))
            continue;
        const struct safetensor *a = safetensors_find(file, "a"), *b = safetensors_find(file, "b");
        CHECK((uintptr_t)a->data % 2 == 0 && (uintptr_t)b->data % 4 == 0);
        CHECK(memcmp(a->data, data, 2) == 0 && memcmp(b->data, data + 2, 8) == 0);
        CHECK(memcmp(safetensors_find(other, "b")->data, data + 2, 8) == 0);
        safetensors_close(file);
        safetensors_close(other);
    }
    check_about(" ");
}

/* Headers of random fragments of a valid one: an error or an open file, never a crash. */
static void test_shuffled_headers(void)
{
    static const char *const fragments[] = {"{",
                                            "}",
                                            "[",
                                            "]",
                                            ",",
                                            ":",
                                            "\"a\"",
                                            "\"dtype\":\"F32\"",
                                            "\"shape\":[2,1]",
                                            "\"data_offsets\":[0,8]",
                                            "\"__metadata__\":{\"content_hash\":\"",
                                            "0000000000000000\"}",
                                            "{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[0,8]}",
                                            "\"b\":",
                                            "\"c\":",
                                            "-1",
                                            "1e400",
                                            "null",
                                            "{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[8,12]}",
                                            "\\u0000"};
    struct rotary_random random = {.key = {.seed = 9, .stream = ROTARY_STREAM_TEST}};
    for (int i = 0; i < 1000; i++) {
        char header[2048] = "{";
        int count = 1 + (int)rotary_random_below(&random, 12);
        for (int j = 0; j < count; j++)
            strcat(header, fragments[rotary_random_below(&random, sizeof fragments / sizeof fragments[0])]);
        strcat(header, "}");
        struct safetensors *file;
        rotary_error error;
        if (open_made(header, 4 * rotary_random_below(&random, 4), &file, &error) == ROTARY_OK)
            safetensors_close(file);
    }
}

/* Types that only safetensors_open_any takes, each aligned to its elements, come back byte for byte. */
static void test_any_type(void)
{
    static const char *const types[] = {"I8",  "F64",     "U16",     "I64", "BOOL", "F8_E4M3", "U8",
                                        "I32", "F8_E5M2", "F8_E8M0", "U32", "C64",  "I16",     "U64"};
    enum { TYPES = sizeof types / sizeof types[0] };
    static const unsigned char bytes[24] = "three numbers of 8 byte";
    char names[TYPES][4];
    struct safetensor tensors[TYPES + 1];
    for (int i = 0; i < TYPES; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        tensors[i] = (struct safetensor){names[i], ROTARY_F32, 1, {3}, bytes, types[i], NULL, NULL};
    }
    tensors[TYPES] = samples[0];
    const char *path = scratch_path("any.safetensors");
    rotary_error error = {0};
    struct safetensors *file = NULL;
    CHECK_INT(safetensors_write(path, tensors, TYPES + 1, NULL, &error), ROTARY_OK);
    CHECK_INT(safetensors_open(&file, path, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "its type is not F32, F16 or BF16") != NULL);
    if (!CHECK_INT(safetensors_open_any(&file, path, &error), ROTARY_OK))
        return;
    CHECK_INT(safetensors_count(file), TYPES + 1);
    CHECK(safetensors_find(file, samples[0].name)->other_type == NULL);
    for (int i = 0; i < TYPES; i++) {
        const struct safetensor *tensor = safetensors_find(file, names[i]);
        check_about("%s", types[i]);
        if (!CHECK(tensor != NULL) || !CHECK_TEXT(tensor->other_type, types[i]))
            continue;
        size_t size = safetensors_element_bytes(tensor);
        CHECK(size >= 1 && size <= 8);
        CHECK((uintptr_t)tensor->data % size == 0);
        CHECK(memcmp(tensor->data, bytes, 3 * size) == 0);
    }
    safetensors_close(file);
    CHECK(safetensors_element_bytes(&(struct safetensor){.other_type = "F4"}) == 0);
    tensors[0].other_type = "F4";
    CHECK_INT(safetensors_write(path, tensors, 1, NULL, &error), ROTARY_INVALID_ARGUMENT);
}

/* Data that is not in memory as a whole, and how many times a block of it was fetched. */
struct remote {
    size_t fails_at; /* the first byte that cannot be had */
    int calls;
};

static unsigned char remote_byte(size_t at)
{
    return (unsigned char)(at * 31 + at / 1000);
}

static rotary_status fetch_remote(void *context, size_t first, void *to, size_t count, rotary_error *error)
{
    struct remote *remote = context;
    unsigned char *bytes = to;
    remote->calls++;
    if (first + count > remote->fails_at)
        return rotary_fail(error, ROTARY_IO_ERROR, "the backend is gone");
    for (size_t i = 0; i < count; i++)
        bytes[i] = remote_byte(first + i);
    return ROTARY_OK;
}

/* A tensor that is fetched in blocks gives the file that it gives from memory; if it cannot be fetched, no
 * file. */
static void test_fetched(void)
{
    enum { ELEMENTS = 700000 };
    const size_t bytes = ELEMENTS * sizeof(float);
    unsigned char *data = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        data[i] = remote_byte(i);
    struct remote remote = {.fails_at = bytes};
    struct safetensor tensors[2] = {samples[1], {.name = "far", .dimensions = 1, .shape = {ELEMENTS}}};
    tensors[1].data = data;
    const char *from_memory = scratch_path("memory.safetensors");
    CHECK_INT(safetensors_write(from_memory, tensors, 2, NULL, NULL), ROTARY_OK);
    tensors[1].data = NULL;
    tensors[1].fetch = fetch_remote;
    tensors[1].context = &remote;
    const char *fetched = scratch_path("fetched.safetensors");
    CHECK_INT(safetensors_write(fetched, tensors, 2, NULL, NULL), ROTARY_OK);
    CHECK(remote.calls > 2);
    char *first, *second;
    size_t first_count = 0, second_count = 1;
    CHECK_INT(file_read(from_memory, 1 << 24, &first, &first_count, NULL), ROTARY_OK);
    CHECK_INT(file_read(fetched, 1 << 24, &second, &second_count, NULL), ROTARY_OK);
    CHECK(first_count > bytes && first_count == second_count && memcmp(first, second, first_count) == 0);
    free(first);
    free(second);
    free(data);
    rotary_error error;
    remote.fails_at = bytes / 2;
    const char *failed = scratch_path("failed.safetensors");
    CHECK_INT(safetensors_write(failed, tensors, 2, NULL, &error), ROTARY_IO_ERROR);
    CHECK_TEXT(error.message, "the backend is gone");
    CHECK(!file_exists(failed));
}

int main(void)
{
    test_fetched();
    test_any_type();
    test_round_trip();
    test_write_refused();
    test_damage();
    test_headers();
    test_unaligned();
    test_shuffled_headers();
    return check_report();
}
