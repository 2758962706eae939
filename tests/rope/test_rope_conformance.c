/* SPDX-License-Identifier: Apache-2.0
 *
 * Published test vectors, if their folder ../shared/conformance exists: the node tests of ONNX's
 * RotaryEmbedding operator, and the frequencies in the tests of Hugging Face's transformers.
 */
#include "rope/plans.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

enum { MAX_INPUTS = 4 };

static json_t *read_json(const char *name)
{
    char path[1024];
    json_error_t error;
    const char *source = getenv("ROTARY_SOURCE_DIR"), *folder = getenv("ROTARY_CONFORMANCE_DIR");
    if (folder)
        snprintf(path, sizeof path, "%s/%s", folder, name);
    else
        snprintf(path, sizeof path, "%s/../shared/conformance/%s", source ? source : ".", name);
    json_t *root = json_load_file(path, 0, &error);
    if (!root && json_error_code(&error) != json_error_cannot_open_file)
        CHECK(!"the file can be read, but not as JSON");
    return root;
}

static double number(const json_t *object, const char *name, double otherwise)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

static rotary_rope_config huggingface_config(const json_t *config)
{
    rotary_rope_config plan = plan_config((int64_t)number(config, "head_dim", 0));
    const char *type = json_string_value(json_object_get(config, "rope_type"));
    plan.base = number(config, "rope_theta", 10000);
    plan.max_positions = (int64_t)number(config, "max_position_embeddings", 0);
    plan.original_positions = (int64_t)number(config, "original_max_position_embeddings", 0);
    plan.factor = number(config, "factor", 0);
    plan.beta_fast = number(config, "beta_fast", 32);
    plan.beta_slow = number(config, "beta_slow", 1);
    plan.low_frequency_factor = number(config, "low_freq_factor", 1);
    plan.high_frequency_factor = number(config, "high_freq_factor", 4);
    plan.compat = ROTARY_COMPAT_HUGGINGFACE;
    static const struct {
        const char *name;
        rotary_scaling scaling;
    } types[] = {{"default", ROTARY_SCALING_NONE},
                 {"linear", ROTARY_SCALING_LINEAR},
                 {"dynamic", ROTARY_SCALING_DYNAMIC_NTK},
                 {"yarn", ROTARY_SCALING_YARN},
                 {"llama3", ROTARY_SCALING_LLAMA3}};
    bool known = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (type && strcmp(type, types[i].name) == 0) {
            plan.scaling = types[i].scaling;
            known = true;
        }
    CHECK(known);
    return plan;
}

static void test_huggingface_case(const json_t *item)
{
    check_about("Hugging Face, %s", json_string_value(json_object_get(item, "name")));
    rotary_rope_config config = huggingface_config(json_object_get(item, "config"));
    rotary_rope *rope = plan_make(&config);
    const json_t *scale = json_object_get(item, "attention_scale"),
                 *wanted = json_object_get(item, "inv_freq");
    double factor = json_is_number(scale) ? json_number_value(scale) : 0.1 * log(config.factor) + 1.0;
    CHECK_NEAR(rotary_rope_attention_factor(rope), factor, 1e-12);
    CHECK_INT(rotary_rope_pairs(rope), (int64_t)json_array_size(wanted));
    for (size_t pair = 0; pair < json_array_size(wanted); pair++) {
        double frequency = json_number_value(json_array_get(wanted, pair));
        /* The tests print five significant digits. */
        CHECK_NEAR(rotary_rope_inverse_frequencies(rope)[pair], frequency,
                   0.5e-4 * frequency + 1.3e-6 * frequency);
    }
    rotary_rope_destroy(rope);
}

/* A tensor of an ONNX test. */
struct tensor {
    int64_t dims[4], rank, count;
    float *floats;
    int64_t *integers;
};

static struct tensor read_tensor(const json_t *item)
{
    struct tensor tensor = {.count = 1};
    const json_t *dims = json_object_get(item, "dims"), *data = json_object_get(item, "data");
    tensor.rank = (int64_t)json_array_size(dims);
    for (int64_t i = 0; i < tensor.rank && i < 4; i++) {
        tensor.dims[i] = json_integer_value(json_array_get(dims, (size_t)i));
        tensor.count *= tensor.dims[i];
    }
    CHECK_INT((int64_t)json_array_size(data), tensor.count);
    tensor.floats = calloc((size_t)tensor.count + 1, sizeof *tensor.floats);
    tensor.integers = calloc((size_t)tensor.count + 1, sizeof *tensor.integers);
    for (int64_t i = 0; i < tensor.count; i++) {
        const json_t *value = json_array_get(data, (size_t)i);
        tensor.floats[i] = (float)json_number_value(value);
        tensor.integers[i] = json_integer_value(value);
    }
    return tensor;
}

static void free_tensor(struct tensor *tensor)
{
    free(tensor->floats);
    free(tensor->integers);
}

/* [batch, heads, time, head_dim], or [batch, time, heads * head_dim]. */
static rotary_rope_apply_call onnx_call(const struct tensor *x, float *output, int64_t heads)
{
    bool flat = x->rank == 3;
    int64_t time = flat ? x->dims[1] : x->dims[2], head_dim = flat ? x->dims[2] / heads : x->dims[3];
    rotary_rope_apply_call call = {.struct_size = sizeof call, .batch = x->dims[0], .time = time};
    call.query.heads = heads;
    call.query.input =
        (rotary_rope_const_view){x->floats, ROTARY_F32, heads * time * head_dim,
                                 flat ? heads * head_dim : head_dim, flat ? head_dim : time * head_dim};
    call.query.output = (rotary_rope_view){output, ROTARY_F32, call.query.input.batch_stride,
                                           call.query.input.time_stride, call.query.input.head_stride};
    return call;
}

static void test_onnx_case(const json_t *item)
{
    const json_t *node = json_array_get(json_object_get(item, "nodes"), 0),
                 *attributes = json_object_get(node, "attrs");
    const json_t *inputs = json_object_get(item, "inputs");
    struct tensor in[MAX_INPUTS] = {{{0}, 0, 0, NULL, NULL}};
    size_t count = json_array_size(inputs);
    check_about("ONNX, %s", json_string_value(json_object_get(item, "name")));
    if (!CHECK(count == 3 || count == 4))
        return;
    for (size_t i = 0; i < count; i++)
        in[i] = read_tensor(json_array_get(inputs, i));
    struct tensor wanted = read_tensor(json_array_get(json_object_get(item, "outputs"), 0));

    int64_t heads = in[0].rank == 3 ? (int64_t)number(attributes, "num_heads", 1) : in[0].dims[1];
    float *output = calloc((size_t)in[0].count, sizeof *output);
    rotary_rope_apply_call call = onnx_call(&in[0], output, heads);
    rotary_rope_config config = plan_config(in[0].rank == 3 ? in[0].dims[2] / heads : in[0].dims[3]);
    config.rotary_dim = (int64_t)number(attributes, "rotary_embedding_dim", 0);
    if (number(attributes, "interleaved", 0) != 0)
        config.pairing = ROTARY_PAIRING_INTERLEAVED;
    rotary_rope *rope = plan_make(&config);
    call.tables = (rotary_rope_tables){.cosine = in[1].floats, .sine = in[2].floats};
    if (count == 4) { /* caches looked up by position */
        call.tables.rows = in[1].dims[0];
        call.positions.array = in[3].integers;
        call.positions.array_type = ROTARY_POSITION_I64;
        call.positions.array_batch_stride = call.time;
    } else { /* a row for each token */
        call.tables.per_token = true;
        call.tables.batch_stride = call.time * rotary_rope_pairs(rope);
    }
    rotary_error error = {0};
    if (!CHECK(rotary_rope_apply(rope, &call, &error) == ROTARY_OK))
        printf("    %s\n", error.message);
    /* Both are f32, with an error of 3 units in the last place of products of size 1. */
    for (int64_t i = 0; i < wanted.count; i++)
        CHECK_NEAR((double)output[i], (double)wanted.floats[i], 12 * 0x1p-24);
    rotary_rope_destroy(rope);
    free(output);
    free_tensor(&wanted);
    for (size_t i = 0; i < count; i++)
        free_tensor(&in[i]);
}

/* The list of cases: the file itself or its member "cases" or "tests". */
static const json_t *cases_of(const json_t *root)
{
    const json_t *cases = json_object_get(root, "cases");
    return cases ? cases : json_is_array(root) ? root : json_object_get(root, "tests");
}

int main(void)
{
    json_t *onnx = read_json("onnx_rotary_embedding.json"),
           *huggingface = read_json("huggingface_inv_freq.json");
    if (!onnx && !huggingface)
        check_skip("no folder ../shared/conformance beside the sources, and no ROTARY_CONFORMANCE_DIR");
    size_t index;
    json_t *item;
    json_array_foreach (cases_of(onnx), index, item)
        test_onnx_case(item);
    json_array_foreach (cases_of(huggingface), index, item)
        test_huggingface_case(item);
    json_decref(onnx);
    json_decref(huggingface);
    return check_report();
}
