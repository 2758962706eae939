/* SPDX-License-Identifier: Apache-2.0
 *
 * test_decoders FOLDER...: logits of Hugging Face decoders, in one pass and token by token through a
 * cache, beside those that transformers computed of the same sequences: expected.json of each folder, an
 * object with "sequences" [n][tokens] and "logits" [n][tokens][vocabulary]. A sequence may be shorter than
 * others.
 */
#include "support/check.h"

#include "file/file.h"
#include "huggingface/decoder_config.h"
#include "huggingface/decoder_weights.h"
#include "model/transformer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a logit, relative to the largest of its model: sums of f32 in another order. */
#define BOUND 1e-5

struct folder {
    const char *path;
    json_t *config, *expected, *family;
    struct transformer_config model;
    struct transformer *transformer;
    double largest; /* logit that is expected */
};

static bool load(struct folder *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, folder->path, "expected.json", error);
    if (status == ROTARY_OK)
        status = file_read_long_json(path, 64 << 20, &folder->expected, error);
    if (status == ROTARY_OK)
        status = file_path(path, folder->path, "config.json", error);
    if (status == ROTARY_OK)
        status = file_read_json(path, &folder->config, error);
    if (status == ROTARY_OK)
        status = decoder_config_read(folder->config, path, &folder->model, &folder->family, error);
    if (status == ROTARY_OK)
        decoder_weights_settle(folder->path, folder->family, &folder->model);
    return status == ROTARY_OK;
}

/* The model of sequences of so many tokens: scalings by length are for these, as transformers has them. */
static bool create(struct folder *folder, int64_t tokens, bool stored, const struct backend *backend)
{
    const struct transformer_limits limits = {.batch = 1, .time = tokens, .stored = stored};
    const struct decoder_weights_call weights = {
        .folder = folder->path, .family = folder->family, .model = &folder->model};
    rotary_error error = {0};
    folder->model.rope_sequence_length = tokens;
    rotary_status status =
        transformer_create(&folder->transformer, backend, &folder->model, limits, 1, &error);
    if (status == ROTARY_OK)
        status = decoder_weights_load(transformer_parameters(folder->transformer), &weights, &error);
    if (!CHECK(status == ROTARY_OK))
        printf("%s\n", error.message);
    return status == ROTARY_OK;
}

static void unload(struct folder *folder)
{
    transformer_destroy(folder->transformer);
    transformer_config_free(&folder->model);
    json_decref(folder->config);
    json_decref(folder->expected);
    json_decref(folder->family);
}

static double find_largest(const json_t *logits)
{
    double largest = 0;
    for (size_t i = 0; i < json_array_size(logits); i++)
        for (size_t t = 0; t < json_array_size(json_array_get(logits, i)); t++) {
            const json_t *row = json_array_get(json_array_get(logits, i), t);
            for (size_t c = 0; c < json_array_size(row); c++)
                largest = fmax(largest, fabs(json_number_value(json_array_get(row, c))));
        }
    return largest;
}

static double compare_row(const struct folder *folder, const json_t *wanted, const float *got)
{
    double worst = 0;
    CHECK_INT((int64_t)json_array_size(wanted), folder->model.vocab_size);
    for (size_t c = 0; c < json_array_size(wanted); c++) {
        const double number = json_number_value(json_array_get(wanted, c));
        CHECK_NEAR(got[c], number, BOUND * folder->largest);
        worst = fmax(worst, fabs((double)got[c] - number) / folder->largest);
    }
    return worst;
}

/* The second half of the tokens one by one, after the first half at once. A model whose tokens see all others
 * has no such cache. */
static void compare_decoding(const struct folder *folder, const int32_t *tokens, int64_t count,
                             const json_t *wanted)
{
    const struct transformer_cache_shape shape = {.batch = 1, .capacity = count};
    struct transformer_cache *cache = NULL;
    rotary_error error = {0};
    float *logits = calloc((size_t)folder->model.vocab_size, sizeof *logits);
    const bool sees_all = folder->model.architecture == ARCHITECTURE_ENCODER;
    if (!CHECK_INT(transformer_cache_create(&cache, folder->transformer, &shape, &error),
                   sees_all ? ROTARY_UNSUPPORTED : ROTARY_OK) ||
        sees_all) {
        free(logits);
        return;
    }
    for (int64_t done = 0, time = count / 2 > 0 ? count / 2 : 1; done < count; done += time, time = 1) {
        const struct transformer_decode_call call = {.time = time, .tokens = tokens + done, .logits = logits};
        CHECK_INT(transformer_decode(folder->transformer, cache, &call, &error), ROTARY_OK);
        compare_row(folder, json_array_get(wanted, (size_t)(done + time - 1)), logits);
    }
    transformer_cache_destroy(cache);
    free(logits);
}

static double compare_sequence(const struct folder *folder, const json_t *sequence, const json_t *wanted)
{
    const int64_t count = (int64_t)json_array_size(sequence);
    int32_t *tokens = calloc((size_t)count, sizeof *tokens);
    float *logits = calloc((size_t)(count * folder->model.vocab_size), sizeof *logits);
    double worst = 0;
    rotary_error error = {0};
    for (int64_t i = 0; i < count; i++)
        tokens[i] = (int32_t)json_integer_value(json_array_get(sequence, (size_t)i));
    const struct batch batch = {.input = {.batch = 1, .time = count, .tokens = tokens}};
    CHECK_INT((int64_t)json_array_size(wanted), count);
    if (!CHECK_INT(transformer_logits(folder->transformer, &batch, logits, &error), ROTARY_OK))
        printf("%s\n", error.message);
    for (int64_t i = 0; i < count; i++)
        worst = fmax(worst, compare_row(folder, json_array_get(wanted, (size_t)i),
                                        logits + i * folder->model.vocab_size));
    compare_decoding(folder, tokens, count, wanted);
    free(tokens);
    free(logits);
    return worst;
}

static void compare(const char *path, bool stored, const struct backend *backend)
{
    struct folder folder = {.path = path};
    rotary_error error = {0};
    check_about("%s%s", path, stored ? ", weights in their file" : "");
    if (!CHECK(load(&folder, &error))) {
        printf("%s\n", error.message);
        unload(&folder);
        return;
    }
    const json_t *sequences = json_object_get(folder.expected, "sequences"),
                 *logits = json_object_get(folder.expected, "logits");
    double worst = 0;
    folder.largest = find_largest(logits);
    CHECK(json_array_size(sequences) > 0 && folder.largest > 0);
    for (size_t i = 0; i < json_array_size(sequences); i++) {
        const json_t *sequence = json_array_get(sequences, i);
        if (create(&folder, (int64_t)json_array_size(sequence), stored, backend))
            worst = fmax(worst, compare_sequence(&folder, sequence, json_array_get(logits, i)));
        transformer_destroy(folder.transformer);
        folder.transformer = NULL;
    }
    printf("%s: logits up to %.3g, the largest difference is %.2g of that\n", path, folder.largest, worst);
    unload(&folder);
}

int main(int count, char **arguments)
{
    struct backend backend;
    rotary_error error = {0};
    if (count < 2)
        check_skip("no folders to compare");
    if (!CHECK_INT(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK))
        return check_report();
    for (int i = 1; i < count; i++)
        for (int stored = 0; stored < 2; stored++)
            compare(arguments[i], stored, &backend);
    backend_destroy(&backend);
    return check_report();
}
