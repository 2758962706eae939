/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameters from a file of another program: other names, other types, parts of a fused projection,
 * transposed matrices, and a subset. What does not fit is refused before anything is written.
 */
#include "support/check.h"
#include "support/parameter_copy.h"
#include "support/scratch.h"

#include "base/element.h"
#include "model/parameters_load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 6, VOCABULARY = 5, TENSORS = 6 };
enum { EMBEDDING, QKV, NORM, DOWN, ROWS };

#define ONE(file) ((const struct safetensors *const[]){file})

static struct backend backend;

static struct parameters make_table(void)
{
    static const struct parameter rows[ROWS] = {
        [EMBEDDING] = {.name = "embedding.weight", .rows = VOCABULARY, .columns = WIDTH},
        [QKV] = {.name = "attention.query_key_value.weight", .rows = 3 * WIDTH, .columns = WIDTH},
        [NORM] = {.name = "norm.weight", .rows = WIDTH},
        [DOWN] = {.name = "down.weight", .rows = WIDTH, .columns = 4}};
    struct parameters table = {.backend = &backend};
    int index;
    for (int i = 0; i < ROWS; i++)
        CHECK(parameters_add(&table, &rows[i], &index, NULL) == ROTARY_OK);
    CHECK(parameters_allocate(&table, false, NULL) == ROTARY_OK);
    float *values = parameter_copy(&table, PARAMETER_VALUES);
    for (int i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < parameter_elements(&table.rows[i]); j++)
            values[table.rows[i].offset + j] = -1000.0f;
    parameter_give(&table, PARAMETER_VALUES, values);
    return table;
}

/* Element j of tensor t: exact in bf16. */
static float number(int t, int64_t j)
{
    return (float)((t + 1) * (j % 2 ? -1 : 1)) * (float)(1 + j % 31);
}

static uint16_t *in_bf16(int t, int64_t count)
{
    uint16_t *halves = malloc((size_t)count * sizeof *halves);
    for (int64_t j = 0; j < count; j++)
        halves[j] = rotary_bf16_from_float(number(t, j));
    return halves;
}

static float *in_f32(int t, int64_t count)
{
    float *numbers = malloc((size_t)count * sizeof *numbers);
    for (int64_t j = 0; j < count; j++)
        numbers[j] = number(t, j);
    return numbers;
}

static const struct safetensor tensors[TENSORS] = {
    {.name = "wte", .dtype = ROTARY_F32, .dimensions = 2, .shape = {VOCABULARY, WIDTH}},
    {.name = "q", .dtype = ROTARY_BF16, .dimensions = 2, .shape = {WIDTH, WIDTH}},
    {.name = "k", .dtype = ROTARY_F32, .dimensions = 2, .shape = {WIDTH, WIDTH}},
    {.name = "v", .dtype = ROTARY_BF16, .dimensions = 2, .shape = {WIDTH, WIDTH}},
    {.name = "ln", .dtype = ROTARY_F32, .dimensions = 1, .shape = {WIDTH}},
    {.name = "down", .dtype = ROTARY_F32, .dimensions = 2, .shape = {4, WIDTH}},
};

static const struct parameter_source map[TENSORS] = {
    {.tensor = "wte", .parameter = "embedding.weight"},
    {.tensor = "q", .parameter = "attention.query_key_value.weight", .rows = WIDTH},
    {.tensor = "k", .parameter = "attention.query_key_value.weight", .first = WIDTH, .rows = WIDTH},
    {.tensor = "v", .parameter = "attention.query_key_value.weight", .first = 2 * WIDTH, .rows = WIDTH},
    {.tensor = "ln", .parameter = "norm.weight"},
    {.tensor = "down", .parameter = "down.weight", .transposed = true},
};

/* Writes the tensors, the first of which is called `first`. */
static struct safetensors *open_file(const char *first)
{
    struct safetensor written[TENSORS];
    for (int t = 0; t < TENSORS; t++) {
        written[t] = tensors[t];
        int64_t count = safetensors_elements(&tensors[t]);
        written[t].data =
            tensors[t].dtype == ROTARY_BF16 ? (void *)in_bf16(t, count) : (void *)in_f32(t, count);
    }
    written[0].name = first;
    const char *path = scratch_path("other.safetensors");
    CHECK(safetensors_write(path, written, TENSORS, NULL, NULL) == ROTARY_OK);
    for (int t = 0; t < TENSORS; t++)
        free((void *)(uintptr_t)written[t].data);
    struct safetensors *file = NULL;
    CHECK(safetensors_open(&file, path, NULL) == ROTARY_OK);
    return file;
}

static void check_values(const struct parameters *table, const bool wanted[ROWS])
{
    float *values = parameter_copy(table, PARAMETER_VALUES);
    for (int i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < parameter_elements(&table->rows[i]); j++) {
            float expected = -1000.0f;
            int64_t row = j / WIDTH;
            if (wanted[i])
                expected = i == EMBEDDING ? number(0, j)
                           : i == QKV     ? number(1 + (int)(row / WIDTH), j % (WIDTH * WIDTH))
                           : i == NORM    ? number(4, j)
                                          : number(5, j % 4 * WIDTH + j / 4);
            check_about("%s %lld", table->rows[i].name, (long long)j);
            CHECK(values[table->rows[i].offset + j] == expected);
        }
    check_about("%s", "");
    free(values);
}

static void test_all(void)
{
    struct safetensors *file = open_file("wte");
    struct parameters table = make_table();
    uint64_t version = table.rows[QKV].version;
    rotary_error error = {0};
    const struct parameters_load_call call = {
        .files = ONE(file), .file_count = 1, .map = map, .count = TENSORS};
    CHECK_INT(parameters_load(&table, &call, &error), ROTARY_OK);
    check_values(&table, (const bool[ROWS]){true, true, true, true});
    CHECK(table.rows[QKV].version > version);
    parameters_free(&table);
    safetensors_close(file);
}

/* Some sources alone; and tensors that have the names of parameters. */
static void test_part(void)
{
    struct safetensors *file = open_file("embedding.weight");
    rotary_error error = {0};
    for (int named = 0; named < 2; named++) {
        struct parameters table = make_table();
        uint64_t versions[] = {table.rows[NORM].version, table.rows[EMBEDDING].version};
        bool filled[ROWS], used[TENSORS];
        const struct parameters_load_call call = {.files = ONE(file),
                                                  .file_count = 1,
                                                  .map = named ? NULL : map + 2,
                                                  .count = 3,
                                                  .mode = PARAMETERS_PART,
                                                  .filled = filled,
                                                  .used = used};
        CHECK_INT(parameters_load(&table, &call, &error), ROTARY_OK);
        int count = 0;
        for (int t = 0; t < TENSORS; t++)
            count += used[t];
        CHECK_INT(count, named ? 1 : 3);
        CHECK(filled[EMBEDDING] == named && filled[NORM] == !named && !filled[QKV] && !filled[DOWN]);
        CHECK((table.rows[NORM].version > versions[0]) == !named);
        CHECK((table.rows[EMBEDDING].version > versions[1]) == named);
        if (named)
            check_values(&table, (const bool[ROWS]){[EMBEDDING] = true});
        parameters_free(&table);
    }
    safetensors_close(file);
}

/* `count` sources, of which the last is `bad`, are refused with these words, and nothing is written. */
static void refuse(struct parameter_source bad, int count, enum parameters_load_mode mode, const char *words)
{
    struct safetensors *file = open_file("wte");
    struct parameters table = make_table();
    struct parameter_source sources[TENSORS + 1];
    memcpy(sources, map, sizeof map);
    sources[count - 1] = bad;
    rotary_error error = {0};
    const struct parameters_load_call call = {
        .files = ONE(file), .file_count = 1, .map = sources, .count = count, .mode = mode};
    check_about("%s", words);
    CHECK(parameters_load(&table, &call, &error) != ROTARY_OK);
    if (!CHECK(strstr(error.message, words) != NULL))
        printf("%s\n", error.message);
    check_values(&table, (const bool[ROWS]){false});
    parameters_free(&table);
    safetensors_close(file);
}

static void test_refusals(void)
{
    const char *qkv = "attention.query_key_value.weight";
    enum parameters_load_mode part = PARAMETERS_PART;
    refuse((struct parameter_source){.tensor = "q", .parameter = "q"}, 2, part,
           "tensor q is to fill parameter q, which the model does not have");
    refuse((struct parameter_source){.tensor = "z", .parameter = qkv}, 2, part,
           "has no tensor z, for parameter attention.query_key_value.weight");
    refuse((struct parameter_source){.tensor = "q", .parameter = qkv}, 2, part,
           "tensor q has shape [6, 6], wanted [18, 6] for parameter");
    refuse((struct parameter_source){.tensor = "q", .parameter = qkv, .first = 13, .rows = WIDTH}, 2, part,
           "tensor q is to fill 6 rows from row 13 on of parameter attention.query_key_value.weight, which "
           "has 18");
    refuse((struct parameter_source){.tensor = "q", .parameter = qkv, .first = -1, .rows = WIDTH}, 2, part,
           "fill 6 rows from row -1 on");
    refuse((struct parameter_source){.tensor = "q", .parameter = qkv, .first = 1, .rows = INT64_MAX}, 2, part,
           "fill 9223372036854775807 rows from row 1 on");
    refuse((struct parameter_source){.tensor = "q", .parameter = qkv, .first = INT64_MAX, .rows = -1}, 2,
           part, "fill -1 rows from row 9223372036854775807 on");
    refuse(
        (struct parameter_source){.tensor = "v", .parameter = qkv, .first = 2, .rows = WIDTH}, 3, part,
        "row 2 of parameter attention.query_key_value.weight is filled by two tensors, the second being v");
    refuse((struct parameter_source){.tensor = "down", .parameter = "down.weight"}, 2, part,
           "tensor down has shape [4, 6], wanted [6, 4] for parameter down.weight");
    refuse((struct parameter_source){.tensor = "ln", .parameter = "norm.weight", .transposed = true}, 2, part,
           "the vector norm.weight transposed");
    refuse((struct parameter_source){.tensor = "q", .parameter = "norm.weight"}, 2, part,
           "tensor q has shape [6, 6], wanted [6] for parameter norm.weight");
    refuse(map[4], 5, PARAMETERS_ALL, "no tensor fills all of parameter down.weight");
    /* All parameters are filled, the norm by another tensor. */
    struct parameters table = make_table();
    struct safetensors *file = open_file("wte");
    rotary_error error = {0};
    struct parameters_load_call call = {.files = ONE(file), .file_count = 1, .mode = PARAMETERS_ALL};
    CHECK_INT(parameters_load(&table, &call, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "no tensor fills all of parameter embedding.weight") != NULL);
    table.count = 3;
    call.map = map;
    call.count = TENSORS - 1;
    CHECK_INT(parameters_load(&table, &call, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "tensor down is of no parameter") != NULL);
    parameters_free(&table);
    safetensors_close(file);
}

/* Tensors of more elements than are converted at once, of rows of one element and of long rows. */
static void test_large(void)
{
    enum { LARGE = 3, MANY = 600011, LONG = 300007 };
    static const struct parameter rows[LARGE] = {{.name = "vector", .rows = MANY},
                                                 {.name = "long", .rows = 2, .columns = LONG},
                                                 {.name = "high", .rows = LONG, .columns = 2}};
    struct parameters table = {.backend = &backend};
    struct safetensor written[LARGE];
    struct parameter_source sources[LARGE];
    for (int i = 0, index; i < LARGE; i++) {
        CHECK(parameters_add(&table, &rows[i], &index, NULL) == ROTARY_OK);
        int64_t columns = rows[i].columns;
        written[i] = (struct safetensor){.name = rows[i].name, .dimensions = columns ? 2 : 1};
        written[i].shape[0] = i == 2 ? columns : rows[i].rows;
        written[i].shape[1] = i == 2 ? rows[i].rows : columns;
        written[i].data = in_f32(i, parameter_elements(&rows[i]));
        sources[i] = (struct parameter_source){
            .tensor = rows[i].name, .parameter = rows[i].name, .transposed = i == 2};
    }
    const char *path = scratch_path("large.safetensors");
    CHECK(safetensors_write(path, written, LARGE, NULL, NULL) == ROTARY_OK);
    CHECK(parameters_allocate(&table, false, NULL) == ROTARY_OK);
    struct safetensors *file = NULL;
    CHECK(safetensors_open(&file, path, NULL) == ROTARY_OK);
    rotary_error error = {0};
    const struct parameters_load_call call = {
        .files = ONE(file), .file_count = 1, .map = sources, .count = LARGE};
    if (!CHECK_INT(parameters_load(&table, &call, &error), ROTARY_OK))
        printf("%s\n", error.message);
    float *values = parameter_copy(&table, PARAMETER_VALUES);
    for (int i = 0; i < LARGE; i++) {
        int64_t wrong = 0;
        for (int64_t j = 0; j < parameter_elements(&rows[i]); j++)
            wrong += values[table.rows[i].offset + j] != number(i, i == 2 ? j % 2 * LONG + j / 2 : j);
        check_about("%s", rows[i].name);
        CHECK_INT(wrong, 0);
        free((void *)(uintptr_t)written[i].data);
    }
    check_about("%s", "");
    free(values);
    parameters_free(&table);
    safetensors_close(file);
}

/* A tensor of a type that parameters cannot be made from. */
static void test_other_type(void)
{
    const char *path = scratch_path("integers.safetensors");
    const int64_t integers[WIDTH] = {1, 2, 3, 4, 5, 6};
    const struct safetensor written = {
        .name = "norm.weight", .other_type = "I64", .dimensions = 1, .shape = {WIDTH}, .data = integers};
    CHECK(safetensors_write(path, &written, 1, NULL, NULL) == ROTARY_OK);
    struct safetensors *file = NULL;
    CHECK(safetensors_open_any(&file, path, NULL) == ROTARY_OK);
    struct parameters table = make_table();
    rotary_error error = {0};
    const struct parameters_load_call call = {.files = ONE(file), .file_count = 1, .mode = PARAMETERS_PART};
    CHECK_INT(parameters_load(&table, &call, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "tensor norm.weight is I64, wanted F32, F16 or BF16") != NULL);
    check_values(&table, (const bool[ROWS]){false});
    parameters_free(&table);
    safetensors_close(file);
}

int main(void)
{
    CHECK(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL) == ROTARY_OK);
    test_all();
    test_part();
    test_refusals();
    test_large();
    test_other_type();
    backend_destroy(&backend);
    return check_report();
}
