/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary attend: attention evaluated in double by its equation, and how far librotary's kernel is from it.
 */
#include "base/fail.h"
#include "cli/reference_attention.h"
#include "cli/result.h"
#include "cli/rotation.h"
#include "cli/tensor.h"

#include <math.h>
#include <rotary/attention.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attend_options {
    struct rotation_options rotation;
    const char *query, *key, *value, *mask, *weights, *output;
    struct option_real scale, softcap;
    struct option_integer window, first_query;
    bool roper, causal;
};

#define MEMBER(member) offsetof(struct attend_options, member)
static const struct option attend_table[] = {
    {.name = "--query",
     .type = OPTION_TEXT,
     .value = "FILE",
     .offset = MEMBER(query),
     .help = "[T, H, D] or [B, T, H, D], not turned"},
    {.name = "--key",
     .type = OPTION_TEXT,
     .value = "FILE",
     .offset = MEMBER(key),
     .help = "[S, G, D] or [B, S, G, D], not turned; G divides H, and H / G query heads share a key head"},
    {.name = "--value",
     .type = OPTION_TEXT,
     .value = "FILE",
     .offset = MEMBER(value),
     .help = "[S, G, E] or [B, S, G, E]"},
    {.name = "--output",
     .type = OPTION_TEXT,
     .value = "FILE",
     .offset = MEMBER(output),
     .help = "where the result goes: [T, H, E] or [B, T, H, E], in the query's type"},
    {.name = "--weights",
     .type = OPTION_TEXT,
     .value = "FILE",
     .offset = MEMBER(weights),
     .help =
         "where the softmax's weights go: [H, T, S] or [B, H, T, S], in the query's type (default: nowhere)"},
    ROTATION_OPTIONS(
        "--rope",
        "turn queries and keys: a model's config.json (see rotary help frequencies; default: no turn)",
        struct attend_options, rotation),
    {.name = "--roper",
     .type = OPTION_FLAG,
     .offset = MEMBER(roper),
     .help = "turn values too, and the output back (RoPER)"},
    {.name = "--causal",
     .type = OPTION_FLAG,
     .offset = MEMBER(causal),
     .help = "a query sees keys at its own position and before"},
    {.name = "--window",
     .type = OPTION_INTEGER,
     .value = "W",
     .offset = MEMBER(window),
     .least = 1,
     .most = 0x1p53,
     .help = "with --causal, of these the last W only (default: all)"},
    {.name = "--mask",
     .type = OPTION_TEXT,
     .value = "FILE",
     .offset = MEMBER(mask),
     .help = "added to the scores; or bool, true where a query sees a key: [T, S], [H, T, S] or [B, H, T, "
             "S], each "
             "size that or 1"},
    {.name = "--scale",
     .type = OPTION_REAL,
     .value = "X",
     .offset = MEMBER(scale),
     .least = -1e30,
     .most = 1e30,
     .help = "scores are multiplied by X (default: 1 / sqrt(D))"},
    {.name = "--softcap",
     .type = OPTION_REAL,
     .value = "X",
     .offset = MEMBER(softcap),
     .least = 0,
     .most = 1e30,
     .help = "scores become X tanh(score / X), before the mask is added (default: 0, they stay)"},
    {.name = "--first-query",
     .type = OPTION_INTEGER,
     .value = "N",
     .offset = MEMBER(first_query),
     .least = -0x1p40,
     .most = 0x1p40,
     .help = "position of the first query; keys stand at 0 ... S - 1 (default: S - T, so that the last query "
             "stands with the last key)"},
};

struct work {
    struct tensor query, key, value, mask, output, weights;
    struct rotation rotation;
    struct reference_attention attention;
    int64_t blind;
};

/* ---- shapes ---- */

static rotary_status read_heads(const char *label, const char *wanted, struct tensor *tensor,
                                rotary_error *error)
{
    rotary_status status = tensor_read(label, tensor, error);
    if (status)
        return status;
    if (!tensor_is_float(tensor))
        return rotary_fail(error, ROTARY_BAD_FILE, "%s holds %s numbers, wanted f32, f16, bf16 or f64", label,
                           tensor_type_name(tensor->type));
    if (tensor->dimensions < 3 || tensor->dimensions > 4)
        return tensor_refuse_shape(tensor, wanted, error);
    return tensor->elements > 0 ? ROTARY_OK : tensor_refuse_shape(tensor, "no size to be 0", error);
}

/* The size that stands `from_end` before the last. */
static int64_t size_of(const struct tensor *tensor, int from_end)
{
    return tensor->shape[tensor->dimensions - 1 - from_end];
}

static rotary_status check_key_value(const struct work *work, rotary_error *error)
{
    const struct tensor *query = &work->query, *key = &work->key, *value = &work->value;
    char wanted[TENSOR_SHAPE_BYTES];
    bool batched = query->dimensions == 4;
    char batch[32] = "";
    if (batched)
        snprintf(batch, sizeof batch, "%lld, ", (long long)query->shape[0]);
    if (key->dimensions != query->dimensions || (batched && key->shape[0] != query->shape[0]) ||
        size_of(key, 0) != size_of(query, 0) || size_of(query, 1) % size_of(key, 1) != 0) {
        snprintf(wanted, sizeof wanted, "[%sS, G, %lld], G a divisor of %lld, to go with %.60s", batch,
                 (long long)size_of(query, 0), (long long)size_of(query, 1), query->label);
        return tensor_refuse_shape(key, wanted, error);
    }
    if (value->dimensions != query->dimensions || (batched && value->shape[0] != query->shape[0]) ||
        size_of(value, 2) != size_of(key, 2) || size_of(value, 1) != size_of(key, 1)) {
        snprintf(wanted, sizeof wanted, "[%s%lld, %lld, E], to go with %.60s", batch,
                 (long long)size_of(key, 2), (long long)size_of(key, 1), key->label);
        return tensor_refuse_shape(value, wanted, error);
    }
    return ROTARY_OK;
}

static rotary_status read_inputs(const struct attend_options *options, struct work *work, rotary_error *error)
{
    rotary_status status = read_heads(options->query, "[T, H, D] or [B, T, H, D]", &work->query, error);
    if (!status)
        status = read_heads(options->key, "[S, G, D] or [B, S, G, D]", &work->key, error);
    if (!status)
        status = read_heads(options->value, "[S, G, E] or [B, S, G, E]", &work->value, error);
    if (!status)
        status = check_key_value(work, error);
    if (status)
        return status;
    const struct tensor *query = &work->query, *key = &work->key;
    int64_t queries = size_of(query, 2), keys = size_of(key, 2);
    work->attention = (struct reference_attention){
        .batch = query->dimensions == 4 ? query->shape[0] : 1,
        .queries = queries,
        .keys = keys,
        .heads = size_of(query, 1),
        .key_value_heads = size_of(key, 1),
        .head_dim = size_of(query, 0),
        .value_dim = size_of(&work->value, 0),
        .first_query = options->first_query.given ? options->first_query.value : keys - queries,
        .scale = options->scale.given ? options->scale.value : 1.0 / sqrt((double)size_of(query, 0)),
        .softcap = options->softcap.value,
        .causal = options->causal,
        .window = options->window.value,
    };
    return ROTARY_OK;
}

/* Sizes are held against [batch, heads, queries, keys] from behind; a size of 1 holds for all. */
static rotary_status read_mask(const struct attend_options *options, struct work *work, rotary_error *error)
{
    struct tensor *mask = &work->mask;
    struct reference_attention *attention = &work->attention;
    const int64_t sizes[4] = {attention->batch, attention->heads, attention->queries, attention->keys};
    if (!options->mask)
        return ROTARY_OK;
    rotary_status status = tensor_read(options->mask, mask, error);
    if (status)
        return status;
    if (mask->type == TENSOR_INTEGER)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s holds whole numbers, wanted bool, or numbers that are added to the scores",
                           mask->label);
    bool fits = mask->dimensions >= 1 && mask->dimensions <= 4;
    int64_t stride = 1;
    for (int i = mask->dimensions - 1, axis = 3; fits && i >= 0; i--, axis--) {
        fits = mask->shape[i] == sizes[axis] || mask->shape[i] == 1;
        attention->mask.strides[axis] = mask->shape[i] == 1 ? 0 : stride;
        stride *= mask->shape[i];
    }
    if (!fits) {
        char wanted[TENSOR_SHAPE_BYTES];
        snprintf(wanted, sizeof wanted,
                 "[%lld, %lld], with [heads %lld] and [batch %lld] in front if it has them, each size that "
                 "or 1",
                 (long long)sizes[2], (long long)sizes[3], (long long)sizes[1], (long long)sizes[0]);
        return tensor_refuse_shape(mask, wanted, error);
    }
    attention->mask.values = mask->values;
    attention->mask.allows = mask->type == TENSOR_BOOL;
    return ROTARY_OK;
}

static rotary_status make_results(const struct attend_options *options, struct work *work,
                                  rotary_error *error)
{
    const struct reference_attention *attention = &work->attention;
    int dimensions = work->query.dimensions;
    int64_t shape[4] = {attention->batch, attention->queries, attention->heads, attention->value_dim};
    int64_t weights[4] = {attention->batch, attention->heads, attention->queries, attention->keys};
    int skipped = 4 - dimensions;
    rotary_status status =
        tensor_make(options->output, work->query.type, shape + skipped, dimensions, &work->output, error);
    if (!status && options->weights)
        status = tensor_make(options->weights, work->query.type, weights + skipped, dimensions,
                             &work->weights, error);
    return status;
}

static rotary_status make_rotation(const struct attend_options *options, const struct invocation *invocation,
                                   struct work *work, rotary_error *error)
{
    const struct reference_attention *attention = &work->attention;
    if (!options->rotation.config)
        return ROTARY_OK;
    if (options->roper && attention->value_dim != attention->head_dim)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s has heads of %lld channels, wanted %lld, as %s has, because --roper turns both",
            options->value, (long long)attention->value_dim, (long long)attention->head_dim, options->query);
    return rotation_make(&options->rotation, &invocation->common, attention->head_dim, &work->rotation,
                         error);
}

/* ---- librotary's kernel beside ---- */

static rotary_attention_const_view view_of(const void *data, int64_t time, int64_t heads, int64_t head_dim)
{
    return (rotary_attention_const_view){data, time * heads * head_dim, heads * head_dim, head_dim};
}

/* What of the kernel's call the caller gives back. */
struct kernel {
    rotary_attention *attention;
    void *query, *key, *value, *output, *workspace;
};

static rotary_status run_kernel(const struct attend_options *options, const struct invocation *invocation,
                                const struct work *work, struct kernel *kernel, rotary_error *error)
{
    const struct reference_attention *wanted = &work->attention;
    rotary_attention_config config;
    rotary_attention_config_default(&config);
    config.heads = wanted->heads;
    config.key_value_heads = wanted->key_value_heads;
    config.head_dim = wanted->head_dim;
    config.scale = (float)wanted->scale;
    config.causal = wanted->causal;
    config.window = wanted->window;
    config.softcap = (float)wanted->softcap;
    config.rope = work->rotation.rope;
    config.value_rope = options->roper ? work->rotation.rope : NULL;
    config.threads = (int)invocation->common.threads.value;
    config.isa = (rotary_isa)invocation->common.isa.value;
    rotary_status status = rotary_attention_create(&kernel->attention, &config, error);
    if (status)
        return status;
    rotary_attention_shape shape = {wanted->batch, wanted->queries, wanted->keys, wanted->first_query, 0};
    size_t bytes = rotary_attention_forward_bytes(kernel->attention, shape);
    kernel->workspace = aligned_alloc(64, (bytes + 127) / 64 * 64);
    kernel->query = tensor_pack(work->query.values, work->query.elements, ROTARY_F32);
    kernel->key = tensor_pack(work->key.values, work->key.elements, ROTARY_F32);
    kernel->value = tensor_pack(work->value.values, work->value.elements, ROTARY_F32);
    kernel->output = calloc((size_t)work->output.elements, sizeof(float));
    if (!kernel->workspace || !kernel->query || !kernel->key || !kernel->value || !kernel->output)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to run the kernel of librotary");
    int64_t heads = wanted->heads, pairs = wanted->key_value_heads, head_dim = wanted->head_dim;
    int64_t queries = wanted->queries;
    rotary_attention_forward_call call = {
        .struct_size = sizeof call,
        .shape = shape,
        .query = view_of(kernel->query, queries, heads, head_dim),
        .key = view_of(kernel->key, wanted->keys, pairs, head_dim),
        .value = view_of(kernel->value, wanted->keys, pairs, head_dim),
        .output = {kernel->output, queries * heads * head_dim, heads * head_dim, head_dim},
        .workspace = kernel->workspace,
    };
    return rotary_attention_forward(kernel->attention, &call, error);
}

/* Runs the kernel on what evaluate() is about to turn. What the kernel does not do is said in *error. */
static void try_kernel(const struct attend_options *options, const struct invocation *invocation,
                       const struct work *work, struct kernel *kernel, rotary_error *error)
{
    const struct reference_attention *wanted = &work->attention;
    const char *reason = options->mask        ? "it knows no mask"
                         : wanted->scale <= 0 ? "it wants a scale above 0"
                         : wanted->value_dim != wanted->head_dim
                             ? "it wants values with as many channels as queries"
                             : NULL;
    if (reason)
        (void)rotary_fail(error, ROTARY_UNSUPPORTED, "%s", reason);
    else
        (void)run_kernel(options, invocation, work, kernel, error);
}

/* How far the kernel's result, f32, is from the evaluated one. */
static json_t *describe_kernel(const struct invocation *invocation, const struct work *work,
                               const struct kernel *kernel, const rotary_error *wrong)
{
    if (wrong->status != ROTARY_OK)
        return json_pack("{s:n, s:s}", "largest_difference", "reason", wrong->message);
    const double *wanted = work->output.values;
    double largest = 0, size = 0;
    for (int64_t i = 0; i < work->output.elements; i++) {
        double difference = fabs((double)((const float *)kernel->output)[i] - wanted[i]);
        largest = difference <= largest ? largest : difference; /* a NaN stays */
        size = fmax(size, fabs(wanted[i]));
    }
    rotary_isa isa = (rotary_isa)invocation->common.isa.value;
    return json_pack("{s:o, s:o, s:s, s:s}", "largest_difference", result_number(largest), "largest_output",
                     result_number(size), "type", "f32", "isa",
                     rotary_isa_name(isa == ROTARY_ISA_AUTO ? rotary_isa_best() : isa));
}

static void free_kernel(struct kernel *kernel)
{
    free(kernel->output);
    free(kernel->value);
    free(kernel->key);
    free(kernel->query);
    free(kernel->workspace);
    rotary_attention_destroy(kernel->attention);
}

/* ---- evaluating ---- */

static rotary_status turn(const struct work *work, enum rotation_role role, bool inverse, int64_t first,
                          int64_t time, int64_t heads, double *values, rotary_error *error)
{
    const int64_t shape[4] = {work->attention.batch, time, heads, work->attention.head_dim};
    return rotation_turn(&work->rotation, role, inverse, first, shape, values, error);
}

static rotary_status evaluate(const struct attend_options *options, struct work *work, rotary_error *error)
{
    struct reference_attention *attention = &work->attention;
    int64_t first = attention->first_query, queries = attention->queries, keys = attention->keys;
    int64_t heads = attention->heads, shared = attention->key_value_heads;
    rotary_status status = ROTARY_OK;
    if (work->rotation.rope) {
        status = turn(work, ROTATION_QUERY, false, first, queries, heads, work->query.values, error);
        if (!status)
            status = turn(work, ROTATION_KEY, false, 0, keys, shared, work->key.values, error);
        if (!status && options->roper)
            status = turn(work, ROTATION_VALUE, false, 0, keys, shared, work->value.values, error);
    }
    attention->query = work->query.values;
    attention->key = work->key.values;
    attention->value = work->value.values;
    attention->output = work->output.values;
    attention->weights = work->weights.values;
    if (!status)
        status = reference_attention_run(attention, &work->blind, error);
    if (!status && options->roper)
        status = turn(work, ROTATION_VALUE, true, first, queries, heads, work->output.values, error);
    return status;
}

/* ---- the command ---- */

static rotary_status print_result(const struct invocation *invocation, const struct work *work,
                                  const struct kernel *kernel, const rotary_error *wrong, rotary_error *error)
{
    char shape[TENSOR_SHAPE_BYTES];
    const struct tensor *output = &work->output;
    const struct reference_attention *attention = &work->attention;
    if (!invocation->common.json) {
        printf("%s: %s %s", output->label, tensor_shape_text(output, shape), tensor_type_name(output->type));
        if (work->blind > 0)
            printf("; %lld rows are 0, because their query sees no key", (long long)work->blind);
        putchar('\n');
        return ROTARY_OK;
    }
    return result_print_json(
        json_pack("{s:s, s:o, s:s, s:f, s:I, s:I, s:o}", "output", output->label, "shape",
                  tensor_shape_json(output), "type", tensor_type_name(output->type), "scale",
                  attention->scale, "first_query", (json_int_t)attention->first_query, "rows_without_keys",
                  (json_int_t)work->blind, "librotary", describe_kernel(invocation, work, kernel, wrong)),
        error);
}

static rotary_status check_options(const struct attend_options *options, rotary_error *error)
{
    const char *wrong = NULL;
    if (!options->query || !options->key || !options->value || !options->output)
        wrong = "attend wants --query FILE, --key FILE, --value FILE and --output FILE";
    else if (options->roper && !options->rotation.config)
        wrong = "--roper wants --rope FILE, which says how to turn";
    else if (options->window.given && !options->causal)
        wrong = "--window wants --causal";
    if (wrong)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s", wrong);
    rotary_status status = tensor_check_output(options->output, error);
    return !status && options->weights ? tensor_check_output(options->weights, error) : status;
}

static rotary_status attend(const struct invocation *invocation, struct work *work, rotary_error *error)
{
    const struct attend_options *options = invocation->options;
    rotary_status status = read_inputs(options, work, error);
    if (!status)
        status = read_mask(options, work, error);
    if (!status)
        status = make_rotation(options, invocation, work, error);
    if (!status)
        status = make_results(options, work, error);
    if (status)
        return status;
    struct kernel kernel = {0};
    rotary_error wrong = {0};
    if (invocation->common.json)
        try_kernel(options, invocation, work, &kernel, &wrong);
    status = evaluate(options, work, error);
    if (!status && options->weights)
        status = tensor_write(&work->weights, error);
    if (!status)
        status = tensor_write(&work->output, error);
    if (!status)
        status = print_result(invocation, work, &kernel, &wrong, error);
    free_kernel(&kernel);
    return status;
}

static enum exit_status run(const struct invocation *invocation)
{
    rotary_error error = {0};
    if (check_options(invocation->options, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    struct work work = {0};
    rotary_status status = attend(invocation, &work, &error);
    rotation_destroy(&work.rotation);
    tensor_free(&work.weights);
    tensor_free(&work.output);
    tensor_free(&work.mask);
    tensor_free(&work.value);
    tensor_free(&work.key);
    tensor_free(&work.query);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_attend = {
    .name = "attend",
    .operands = "",
    .summary = "evaluates attention exactly, with RoPE, RoPER, masks and grouped queries",
    .more =
        "The equation is evaluated in double, one score after another: numbers to check an implementation\n"
        "with, not a fast way to have them. With --json the result says how far librotary's own kernel is\n"
        "from them. A query that sees no key gets zeros. Files are .npy, or safetensors files with the\n"
        "tensor's name behind a colon if there are several (cache.safetensors:layers.0.key).",
    .example =
        "rotary attend --query q.npy --key k.npy --value v.npy --rope config.json --causal --output o.npy\n"
        "what one layer of a model with that configuration attends to; a query of length 1 is a step of\n"
        "decoding over a cache of S keys",
    .options = attend_table,
    .option_count = sizeof attend_table / sizeof attend_table[0],
    .options_size = sizeof(struct attend_options),
    .least_operands = 0,
    .most_operands = 0,
    .run = run,
};
