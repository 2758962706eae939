/* SPDX-License-Identifier: Apache-2.0
 *
 * Files exchanged with Python: exchange.py reads the files of this test, and writes files that this test
 * reads.
 */
#include "support/check.h"
#include "support/scratch.h"

#include "base/half.h"
#include "file/npy.h"
#include "file/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char *const names[] = {
    [NPY_F16] = "f16", [NPY_F32] = "f32", [NPY_F64] = "f64",  [NPY_BF16] = "bf16", [NPY_I8] = "i8",
    [NPY_I16] = "i16", [NPY_I32] = "i32", [NPY_I64] = "i64",  [NPY_U8] = "u8",     [NPY_U16] = "u16",
    [NPY_U32] = "u32", [NPY_U64] = "u64", [NPY_BOOL] = "bool"};

static void store(enum npy_type type, void *data, int index, int value)
{
    float number = (float)value;
    int64_t integer =
        value; /* little-endian: its first bytes are those of the smaller types, signed or not */
    uint16_t half = type == NPY_F16 ? rotary_f16_from_float(number) : rotary_bf16_from_float(number);
    double wide = value;
    bool truth = value != 0;
    const void *bytes = type == NPY_F16 || type == NPY_BF16 ? (const void *)&half
                        : type == NPY_F32                   ? (const void *)&number
                        : type == NPY_F64                   ? (const void *)&wide
                        : type == NPY_BOOL                  ? (const void *)&truth
                                                            : (const void *)&integer;
    memcpy((char *)data + (size_t)index * npy_size(type), bytes, npy_size(type));
}

/* Element 12 * i + j holds 12 * i + j - 7; with `reversed`, the first axis, of size two, is reversed. */
static void fill(enum npy_type type, void *data, bool reversed)
{
    for (int i = 0; i < 24; i++)
        store(type, data, i, (reversed ? (i + 12) % 24 : i) - 7);
}

static void write_all(void)
{
    double block[24];
    rotary_error error = {0};
    for (int type = NPY_F16; type <= NPY_BOOL; type++) {
        char name[32];
        snprintf(name, sizeof name, "c_%s.npy", names[type]);
        fill((enum npy_type)type, block, false);
        struct npy array = {.type = (enum npy_type)type, .dimensions = 3, .shape = {2, 3, 4}, .data = block};
        CHECK_INT(npy_write(scratch_path(name), &array, &error), ROTARY_OK);
    }
    float weight[6];
    for (int i = 0; i < 6; i++)
        weight[i] = (float)i - 2.5f;
    uint16_t half[2] = {0x3f80, 0xc000};
    struct safetensor tensors[] = {{"half", ROTARY_BF16, 1, {2}, half, NULL, NULL, NULL},
                                   {"weight", ROTARY_F32, 2, {2, 3}, weight, NULL, NULL, NULL}};
    json_t *metadata = json_pack("{s:s}", "step", "17");
    CHECK_INT(safetensors_write(scratch_path("c.safetensors"), tensors, 2, metadata, &error), ROTARY_OK);
    json_decref(metadata);
}

/* A file of NumPy's, in C or Fortran order and either byte order. */
static void read_array(enum npy_type type, const char *how)
{
    double block[24];
    char name[64];
    rotary_error error = {0};
    struct npy array;
    snprintf(name, sizeof name, "%s_%s.npy", how, names[type]);
    check_about("%s", name);
    if (!CHECK(npy_read(scratch_path(name), &array, &error) == ROTARY_OK))
        return;
    CHECK_INT(array.type, type);
    CHECK(array.dimensions == 3 && array.shape[0] == 2 && array.shape[1] == 3 && array.shape[2] == 4);
    fill(type, block, true);
    CHECK(memcmp(array.data, block, 24 * npy_size(array.type)) == 0);
    npy_free(&array);
}

static void read_all(void)
{
    static const char *const orders[] = {"python", "fortran", "big", "both"};
    rotary_error error = {0};
    for (int type = NPY_F16; type <= NPY_BOOL; type++)
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
            read_array((enum npy_type)type, orders[i]);
    struct safetensors *file;
    if (!CHECK(safetensors_open(&file, scratch_path("python.safetensors"), &error) == ROTARY_OK))
        return;
    CHECK(!safetensors_verified(file));
    CHECK_TEXT(safetensors_metadata(file, "format"), "pt");
    const struct safetensor *weight = safetensors_find(file, "weight");
    if (CHECK(weight && weight->dimensions == 2 && weight->shape[0] == 3 && weight->shape[1] == 2))
        for (int i = 0; i < 6; i++)
            CHECK_NEAR((double)((const float *)weight->data)[i], 0.5 * i, 0);
    safetensors_close(file);
}

int main(int count, char **arguments)
{
    if (count != 2)
        return 2;
    write_all();
    /* The first Python in the path may have no NumPy while the system's has. */
    static const char *const pythons[] = {"python3", "/usr/bin/python3"};
    int status = 0;
    for (int i = 0; i < 2; i++) {
        char command[1024];
        snprintf(command, sizeof command, "%s '%s' '%s'", pythons[i], arguments[1], scratch_folder());
        status = system(command);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            break;
    }
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127))
        check_skip("python3 with NumPy is not there");
    CHECK_INT(status, 0);
    read_all();
    return check_report();
}
