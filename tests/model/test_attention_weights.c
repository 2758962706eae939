/* SPDX-License-Identifier: Apache-2.0
 *
 * The weights of attention: those of the formula, for which attention's own output is the witness.
 */
#include "backend/every_backend.h"
#include "base/fail.h"
#include "support/check.h"

#include "model/attention_weights.h"
#include "model/model_keys.h"
#include "support/parameter_copy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 3, HEADS = 4, HEAD_DIM = 8, VOCABULARY = 11, TIME = 12, WINDOW = 5, SOURCE = 9 };

static struct transformer *create(const struct backend *backend, const char *settings)
{
    struct transformer_config config TRANSFORMER_CONFIG_LOCAL = {0};
    transformer_config_default(&config);
    config.vocab_size = VOCABULARY;
    config.hidden_size = HEADS * HEAD_DIM;
    config.num_hidden_layers = LAYERS;
    config.num_attention_heads = HEADS;
    config.max_position_embeddings = 64;
    config.initializer_range = 0.5;
    config.initialisation = 1;
    json_t *object = json_loads(settings, 0, NULL);
    struct transformer *transformer = NULL;
    struct transformer_limits limits = {.batch = 2, .time = TIME};
    rotary_error error = {0};
    bool read = CHECK(object) && model_read(&config, object);
    if (read && transformer_has_encoder(&config))
        limits.source_time = SOURCE;
    if (!read ||
        !CHECK_INT(transformer_create(&transformer, backend, &config, limits, 5, &error), ROTARY_OK)) {
        printf("%s: %s\n", settings, error.message);
        exit(1);
    }
    json_decref(object);
    return transformer;
}

static const int32_t tokens[TIME] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8},
                     source[SOURCE] = {2, 7, 1, 8, 2, 8, 1, 8, 2};

/* The number of tokens that a query of a causal layer sees, of which its own is the last. */
static int64_t visible_of(int64_t query, int64_t window)
{
    return window > 0 && query + 1 > window ? window : query + 1;
}

static void check_causal_rows(const struct attention_weights *weights, const int64_t *windows)
{
    for (int64_t i = 0; i < weights->layers * weights->heads * weights->queries; i++) {
        const float *row = weights->weights + i * weights->keys;
        int64_t layer = i / (weights->heads * weights->queries), query = i % weights->queries,
                visible = visible_of(query, windows[layer]);
        double sum = 0;
        bool outside = false;
        for (int64_t key = 0; key < weights->keys; key++) {
            sum += (double)row[key];
            outside |= (key > query || key + visible <= query) && row[key] != 0.0f;
        }
        CHECK_NEAR(sum, 1, 1e-6);
        CHECK(!outside);
        CHECK_INT(weights->visible[layer * weights->queries + query], visible);
    }
}

/* Rows of attention that is not causal. */
static void check_full_rows(const struct attention_weights *weights, int64_t queries)
{
    CHECK_INT(weights->layers, LAYERS);
    CHECK_INT(weights->heads, HEADS);
    CHECK_INT(weights->queries, queries);
    CHECK_INT(weights->keys, SOURCE);
    for (int64_t i = 0; i < weights->layers * weights->heads * weights->queries; i++) {
        double sum = 0;
        for (int64_t key = 0; key < weights->keys; key++)
            sum += (double)weights->weights[i * weights->keys + key];
        CHECK_NEAR(sum, 1, 1e-6);
    }
    for (int64_t i = 0; i < weights->layers * weights->queries; i++)
        CHECK_INT(weights->visible[i], SOURCE);
}

/* Attention's own output is what the weights give. Kernels with products of bf16 round rotated queries and
 * keys too: their outputs were off by up to 0.017, others by less than 0.015. */
static void check_difference(const struct attention_weights *weights, const struct backend *backend)
{
    CHECK(weights->difference > 0);
    CHECK_NEAR(weights->difference, 0, backend->storage == ROTARY_F32 ? 4e-6 : 2.5e-2);
}

/* The weights of two layers differ, and so do neighbours in a row. */
static void check_unlike(const struct attention_weights *weights)
{
    const float *first = attention_weights_head(weights, 0, 0),
                *second = attention_weights_head(weights, 1, 0);
    double layers = 0, neighbours = 0;
    for (int64_t i = 1; i < weights->queries * weights->keys; i++) {
        layers += fabs((double)(first[i] - second[i]));
        neighbours += fabs((double)(first[i] - first[i - 1]));
    }
    CHECK(layers > 0.5);
    CHECK(neighbours > 0.5);
}

/* ---- row by row ---- */

/* What attention_rows is held against. */
struct row_check {
    const struct attention_weights *weights; /* [ATTENTION_KINDS] */
    int64_t count[ATTENTION_KINDS];          /* rows seen */
    bool alibi;
};

/* Of HEADS heads, Press et al. 2022; other encodings of the examples have none, or a learned one. */
static double alibi_of(int64_t head, int64_t distance)
{
    return -exp2(-8.0 * (double)(head + 1) / HEADS) * fabs((double)distance);
}

static rotary_status check_row(void *context, const struct attention_row *row, rotary_error *error)
{
    struct row_check *check = context;
    const struct attention_weights *of = &check->weights[row->kind];
    const float *wanted = attention_weights_head(of, row->layer, row->head) + row->query * of->keys;
    double max = -INFINITY, sum = 0;
    CHECK_INT(row->heads, of->heads);
    CHECK_INT((row->layer * of->heads + row->head) * of->queries + row->query, check->count[row->kind]++);
    CHECK_INT(row->end - row->first, of->visible[row->layer * of->queries + row->query]);
    CHECK(memcmp(row->weights, wanted, (size_t)of->keys * sizeof *wanted) == 0);
    for (int64_t key = row->first; key < row->end; key++)
        max = fmax(max, row->scores[key]);
    for (int64_t key = row->first; key < row->end; key++)
        sum += exp(row->scores[key] - max);
    for (int64_t key = row->first; key < row->end; key++) {
        CHECK_NEAR(exp(row->scores[key] - max) / sum, (double)row->weights[key], 1e-7);
        if (check->alibi && row->kind != ATTENTION_CROSS)
            CHECK_NEAR(row->biases[key], alibi_of(row->head, row->query - key), 1e-6);
    }
    (void)error;
    return ROTARY_OK;
}

static rotary_status refuse_row(void *context, const struct attention_row *row, rotary_error *error)
{
    (void)context;
    (void)row;
    return rotary_fail(error, ROTARY_INTERRUPTED, "enough");
}

/* Rows have the weights that are kept, of all queries in order, and scores that these are the softmax of. */
static void check_rows(struct transformer *transformer, const struct attention_weights_call *call,
                       const struct attention_weights *weights, bool alibi)
{
    struct row_check check = {.weights = weights, .alibi = alibi};
    struct attention_row_observer observer = {.see = check_row, .context = &check};
    rotary_error error = {0};
    CHECK_INT(attention_rows(transformer, call, &observer, &error), ROTARY_OK);
    for (int kind = 0; kind < ATTENTION_KINDS; kind++)
        CHECK_INT(check.count[kind], weights[kind].layers * weights[kind].heads * weights[kind].queries);
    observer.see = refuse_row;
    CHECK_INT(attention_rows(transformer, call, &observer, &error), ROTARY_INTERRUPTED);
}

struct example {
    const char *settings;
    int64_t windows[LAYERS];
};

static const struct example examples[] = {
    {"{\"position\": \"none\"}", {0}},
    {"{\"position\": \"learned\"}", {0}},
    {"{\"position\": \"sinusoidal\"}", {0}},
    {"{\"position\": \"rope\"}", {0}},
    {"{\"position\": \"roper\"}", {0}},
    {"{\"position\": \"alibi\"}", {0}},
    {"{\"position\": \"t5\"}", {0}},
    {"{\"position\": \"kerple\"}", {0}},
    {"{\"position\": \"sandwich\"}", {0}},
    {"{\"position\": \"shaw\", \"max_relative_position\": 4}", {0}},
    {"{\"position\": \"shaw\", \"num_key_value_heads\": 2, \"sliding_window\": 5}", {WINDOW, WINDOW, WINDOW}},
    {"{\"position\": \"xpos\", \"xpos_scale\": 4, \"num_key_value_heads\": 2}", {0}},
    {"{\"position\": \"transformer-xl\", \"num_key_value_heads\": 2}", {0}},
    {"{\"position\": \"deberta\", \"num_key_value_heads\": 2}", {0}},
    {"{\"position\": \"fire\", \"fire_length\": 6}", {0}},
    {"{\"position\": \"rope\", \"num_key_value_heads\": 2, \"pairing\": \"interleaved\"}", {0}},
    {"{\"position\": \"roper\", \"num_key_value_heads\": 1, \"value_fraction\": 0.5}", {0}},
    {"{\"position\": \"rope\", \"rotate\": \"kv\"}", {0}},
    {"{\"position\": \"rope\", \"rotate\": \"qo\", \"value_fraction\": 0.5}", {0}},
    {"{\"position\": \"rope\", \"query_key_norm\": \"head\", \"norm\": \"rms_norm\"}", {0}},
    {"{\"position\": \"roper\", \"query_key_norm\": \"all\"}", {0}},
    {"{\"position\": \"rope\", \"sliding_window\": 5}", {WINDOW, WINDOW, WINDOW}},
    {"{\"position\": \"roper\", \"sliding_window\": 5, \"rope_local_base_freq\": 100, \"layer_types\": "
     "[\"full_attention\", \"sliding_attention\", \"full_attention\"]}",
     {0, WINDOW, 0}},
    {"{\"position\": \"alibi\", \"sliding_window\": 5}", {WINDOW, WINDOW, WINDOW}},
    {"{\"position\": \"rope\", \"no_rope_layers\": [1, 0, 1]}", {0}},
    /* Magnitudes of queries and keys. */
    {"{\"position\": \"rope\", \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4, "
     "\"original_max_position_embeddings\": 16, \"mscale\": 0.7, \"mscale_all_dim\": 1.3}}",
     {0}},
};

static void test_example(const struct backend *backend, const struct example *example)
{
    struct transformer *transformer = create(backend, example->settings);
    struct attention_weights weights[ATTENTION_KINDS];
    rotary_error error = {0};
    check_about("%s, %s", example->settings, backend_about(backend));
    const struct attention_weights_call call = {.tokens = tokens, .count = TIME};
    if (CHECK_INT(attention_weights_create(weights, transformer, &call, &error), ROTARY_OK)) {
        const struct attention_weights *decoder = &weights[ATTENTION_DECODER];
        CHECK_INT(weights[ATTENTION_ENCODER].layers, 0);
        CHECK_INT(weights[ATTENTION_CROSS].layers, 0);
        CHECK_INT(decoder->layers, LAYERS);
        CHECK_INT(decoder->heads, HEADS);
        CHECK_INT(decoder->queries, TIME);
        CHECK_INT(decoder->keys, TIME);
        check_causal_rows(decoder, example->windows);
        check_unlike(decoder);
        check_difference(decoder, backend);
        check_rows(transformer, &call, weights, strstr(example->settings, "alibi"));
        attention_weights_free(weights);
        CHECK(!weights[ATTENTION_DECODER].weights);
    } else {
        printf("%s\n", error.message);
    }
    transformer_destroy(transformer);
}

/* Encoder-decoders: bidirectional self-attention, and attention to the encoder's output. */
static const char *const pairs[] = {
    "{\"position\": \"none\"}",
    "{\"position\": \"sinusoidal\", \"num_key_value_heads\": 2}",
    "{\"position\": \"alibi\", \"num_key_value_heads\": 2}",
    "{\"position\": \"t5\"}",
    "{\"position\": \"kerple\", \"kerple_kernel\": \"power\"}",
    "{\"position\": \"shaw\", \"num_key_value_heads\": 2, \"max_relative_position\": 4}",
    "{\"position\": \"transformer-xl\", \"query_key_norm\": \"head\"}",
    "{\"position\": \"deberta\", \"max_relative_position\": 4}",
    "{\"position\": \"fire\", \"num_key_value_heads\": 2, \"fire_length\": 6}",
    "{\"position\": \"rope\"}",
    "{\"position\": \"rope\", \"cross_rotary\": true, \"pairing\": \"interleaved\"}",
    "{\"position\": \"rope\", \"rotate\": \"kvo\", \"cross_rotary\": true}",
    "{\"position\": \"roper\", \"cross_rotary\": true, \"num_key_value_heads\": 1}",
    "{\"position\": \"roper\", \"query_key_norm\": \"head\", \"norm_position\": \"post\"}",
    "{\"position\": \"xpos\", \"cross_rotary\": true}",
};

static void test_pair(const struct backend *backend, const char *settings)
{
    char text[512];
    snprintf(text, sizeof text, "{\"architecture\": \"encoder_decoder\", \"source_vocab_size\": %d, %s",
             (int)VOCABULARY, settings + 1);
    struct transformer *transformer = create(backend, text);
    struct attention_weights weights[ATTENTION_KINDS];
    rotary_error error = {0};
    check_about("%s, %s", text, backend_about(backend));
    const struct attention_weights_call call = {
        .tokens = tokens, .count = TIME, .source = source, .source_count = SOURCE};
    if (CHECK_INT(attention_weights_create(weights, transformer, &call, &error), ROTARY_OK)) {
        check_full_rows(&weights[ATTENTION_ENCODER], SOURCE);
        check_full_rows(&weights[ATTENTION_CROSS], TIME);
        check_causal_rows(&weights[ATTENTION_DECODER], (const int64_t[LAYERS]){0});
        for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
            check_unlike(&weights[kind]);
            check_difference(&weights[kind], backend);
        }
        check_rows(transformer, &call, weights, strstr(settings, "alibi"));
        attention_weights_free(weights);
    } else {
        printf("%s\n", error.message);
    }
    transformer_destroy(transformer);
}

static void test_examples(const struct backend *backend)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        test_example(backend, &examples[i]);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        test_pair(backend, pairs[i]);
}

/* ---- PyTorch ---- */

enum { GOLDEN_LAYERS = 2, GOLDEN_PROBES = GOLDEN_LAYERS * HEADS };
struct golden_case {
    const char *settings;
    double probes[ATTENTION_KINDS][GOLDEN_PROBES];
};
#include "attention_weights_goldens.h"

static double probe(const float *weights, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)weights[i] * cos(0.9 * (double)i + 0.5);
    return sum;
}

/* f32: a head's weights are a hundred numbers, each within a few 1e-6 of PyTorch's. bf16 keeps 8 bits of
 * activations; that these weights are attention's own there is what test_examples shows. */
static void test_golden(const struct backend *backend, const struct golden_case *golden)
{
    char text[512];
    bool pair = strstr(golden->settings, "encoder_decoder");
    snprintf(text, sizeof text, "{\"num_hidden_layers\": %d, \"intermediate_size\": 40, %s%s",
             (int)GOLDEN_LAYERS, pair ? "\"source_vocab_size\": 11, " : "", golden->settings + 1);
    struct transformer *transformer = create(backend, text);
    struct attention_weights weights[ATTENTION_KINDS];
    rotary_error error = {0};
    check_about("%s, %s", text, backend_about(backend));
    parameter_fill(transformer_parameters(transformer));
    const struct attention_weights_call call = {
        .tokens = tokens, .count = TIME, .source = pair ? source : NULL, .source_count = pair ? SOURCE : 0};
    if (CHECK_INT(attention_weights_create(weights, transformer, &call, &error), ROTARY_OK)) {
        for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
            const struct attention_weights *of = &weights[kind];
            CHECK_INT(of->layers, pair || kind == ATTENTION_DECODER ? GOLDEN_LAYERS : 0);
            for (int64_t i = 0; i < of->layers * of->heads; i++)
                CHECK_NEAR(probe(of->weights + i * of->queries * of->keys, of->queries * of->keys),
                           golden->probes[kind][i], 1e-5);
        }
        attention_weights_free(weights);
    } else {
        printf("%s\n", error.message);
    }
    transformer_destroy(transformer);
}

static void test_goldens(const struct backend *backend)
{
    for (size_t i = 0; backend->storage == ROTARY_F32 && i < sizeof goldens / sizeof *goldens; i++)
        test_golden(backend, &goldens[i]);
}

static void test_refusals(const struct backend *backend)
{
    struct transformer *transformer = create(backend, "{\"position\": \"rope\"}");
    struct attention_weights weights[ATTENTION_KINDS];
    rotary_error error = {0};
    check_about("refusals, %s", backend_about(backend));
    const struct attention_weights_call longer = {.tokens = tokens, .count = TIME + 1},
                                        with_source = {.tokens = tokens,
                                                       .count = TIME,
                                                       .source = source,
                                                       .source_count = SOURCE};
    CHECK_INT(attention_weights_create(weights, transformer, &longer, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "13 tokens|at most 2 of 12");
    CHECK_INT(attention_weights_create(weights, transformer, &with_source, &error), ROTARY_UNSUPPORTED);
    CHECK_WORDS(error.message, "source|without an encoder");
    transformer_destroy(transformer);
}

int main(void)
{
    on_every_backend(test_examples);
    on_every_backend(test_goldens);
    on_every_backend(test_refusals);
    return check_report();
}
