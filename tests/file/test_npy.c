/* SPDX-License-Identifier: Apache-2.0
 *
 * NumPy files: bytes as NumPy writes them, round trips, and damage.
 */
#include "support/check.h"
#include "support/scratch.h"

#include "base/random.h"
#include "file/file.h"
#include "file/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* np.save of np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32): the header, 128 bytes to the first number.
 */
static const char numpy_header[] =
    "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

static size_t numpy_file(char bytes[152])
{
    memset(bytes, ' ', 127);
    memcpy(bytes, numpy_header, sizeof numpy_header - 1);
    bytes[127] = '\n';
    for (int i = 0; i < 6; i++) {
        float value = (float)(i + 1);
        memcpy(bytes + 128 + 4 * i, &value, 4);
    }
    return 152;
}

static void test_numpy_bytes(void)
{
    const char *path = scratch_path("numpy.npy");
    char bytes[152], *written;
    size_t count = numpy_file(bytes);
    rotary_error error = {0};
    struct npy array;
    scratch_write(path, bytes, count);
    if (!CHECK(npy_read(path, &array, &error) == ROTARY_OK))
        return;
    CHECK_INT(array.type, NPY_F32);
    CHECK_INT(array.dimensions, 2);
    CHECK_INT(array.shape[0], 2);
    CHECK_INT(array.shape[1], 3);
    CHECK_INT(array.elements, 6);
    for (int i = 0; i < 6; i++)
        CHECK_NEAR((double)((float *)array.data)[i], i + 1, 0);
    CHECK_INT(npy_write(path, &array, &error), ROTARY_OK);
    npy_free(&array);
    CHECK_INT(file_read(path, 1000, &written, &count, &error), ROTARY_OK);
    CHECK_INT((int64_t)count, 128 + 24);
    CHECK(memcmp(written, bytes, count) == 0);
    free(written);
}

static void test_round_trips(void)
{
    static const int64_t shapes[][NPY_DIMENSIONS] = {{0},    {7},          {0},
                                                     {3, 4}, {2, 3, 1, 5}, {1, 1, 1, 1, 1, 1, 1, 2}};
    static const int dimensions[] = {0, 1, 1, 2, 4, 8};
    const char *path = scratch_path("round.npy");
    char data[512];
    rotary_error error = {0};
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 31);
    for (int type = NPY_F16; type <= NPY_BOOL; type++)
        for (size_t i = 0; i < sizeof dimensions / sizeof dimensions[0]; i++) {
            struct npy array = {.type = (enum npy_type)type, .dimensions = dimensions[i], .data = data}, read;
            memcpy(array.shape, shapes[i], sizeof array.shape);
            CHECK_INT(npy_write(path, &array, &error), ROTARY_OK);
            if (!CHECK(npy_read(path, &read, &error) == ROTARY_OK))
                continue;
            CHECK_INT(read.type, type);
            CHECK_INT(read.dimensions, dimensions[i]);
            int64_t elements = 1;
            for (int j = 0; j < dimensions[i]; j++) {
                CHECK_INT(read.shape[j], shapes[i][j]);
                elements *= shapes[i][j];
            }
            CHECK_INT(read.elements, elements);
            CHECK(memcmp(read.data, data, (size_t)elements * npy_size(read.type)) == 0);
            npy_free(&read);
        }
    struct npy negative = {.type = NPY_F32, .dimensions = 1, .shape = {-1}, .data = data};
    CHECK_INT(npy_write(path, &negative, &error), ROTARY_INVALID_ARGUMENT);
    struct npy deep = {.type = NPY_F32, .dimensions = 9, .data = data};
    CHECK_INT(npy_write(path, &deep, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_INT(npy_read(scratch_path("absent.npy"), &negative, &error), ROTARY_IO_ERROR);
}

static rotary_status read_made(const char *dictionary, size_t data_bytes, int version, struct npy *array,
                               rotary_error *error)
{
    const char *path = scratch_path("made.npy");
    char bytes[1024] = "\x93NUMPY";
    size_t length = strlen(dictionary), start = version == 1 ? 10 : 12;
    bytes[6] = (char)version;
    bytes[8] = (char)(length & 0xff);
    bytes[9] = (char)(length >> 8);
    memcpy(bytes + start, dictionary, length);
    scratch_write(path, bytes, start + length + data_bytes);
    return npy_read(path, array, error);
}

static void test_headers(void)
{
    struct npy array;
    rotary_error error = {0};
    static const char *const good[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{\"shape\":(2,3,),\"fortran_order\":False,\"descr\":\"<f4\"}   \n",
        "{'descr': '<f8', 'fortran_order': True, 'shape': (3,), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (3, 1)}",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        for (int version = 1; version <= 2; version++) {
            check_about("%s", good[i]);
            if (CHECK(read_made(good[i], 24, version, &array, &error) == ROTARY_OK))
                npy_free(&array);
        }
    static const struct {
        const char *dictionary, *wanted;
    } wrong[] = {
        {"", "header"},
        {"{}", "header"},
        {"{'descr': '<f4', 'fortran_order': False}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}", "header"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", "header"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6)}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [6]}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-6,)}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", "header"},
        {"{'descr': '<f4, 'fortran_order': False, 'shape': (2, 3)}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,2,3)}", "header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "header"},
        {"{'descr': '<f3', 'fortran_order': False, 'shape': (2, 4)}", "<f3"},
        {"{'descr': 'f4', 'fortran_order': False, 'shape': (2, 3)}", "\"f4\""},
        {"{'descr': '<V4', 'fortran_order': False, 'shape': (2, 3)}", "<V4"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", "<c8"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}", "|O"},
        {"{'descr': '>i2', 'fortran_order': True, 'shape': (2, 7)}", "want 28"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4)}", "want 32"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}", "want 16"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}", "too large"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        check_about("%s", wrong[i].dictionary);
        CHECK_INT(read_made(wrong[i].dictionary, 24, 1, &array, &error), ROTARY_BAD_FILE);
        CHECK(strstr(error.message, "made.npy") && strstr(error.message, wrong[i].wanted));
    }
    check_about("version");
    CHECK_INT(read_made(good[0], 24, 3, &array, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "version 3") != NULL);
    check_about(" ");
}

static void test_damage(void)
{
    const char *path = scratch_path("damaged.npy");
    char good[152], bytes[152];
    size_t count = numpy_file(good);
    struct npy array;
    rotary_error error = {0};
    for (size_t length = 0; length < count; length++) {
        scratch_write(path, good, length);
        CHECK_INT(npy_read(path, &array, &error), ROTARY_BAD_FILE);
        CHECK(strstr(error.message, path) != NULL);
    }
    struct rotary_random random = {.key = {.seed = 4, .stream = ROTARY_STREAM_TEST}};
    int refused = 0;
    for (int i = 0; i < 1000; i++) {
        memcpy(bytes, good, count);
        for (int j = 0; j < 1 + i % 3; j++)
            bytes[rotary_random_below(&random, 128)] = (char)rotary_random_below(&random, 256);
        scratch_write(path, bytes, count);
        rotary_status status = npy_read(path, &array, &error);
        CHECK(status == ROTARY_OK || status == ROTARY_BAD_FILE);
        refused += status != ROTARY_OK;
        if (status == ROTARY_OK) {
            CHECK_INT(array.elements * (int64_t)npy_size(array.type), 24);
            npy_free(&array);
        }
    }
    CHECK(refused > 500);
}

int main(void)
{
    test_numpy_bytes();
    test_round_trips();
    test_headers();
    test_damage();
    return check_report();
}
