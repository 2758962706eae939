/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/attend.h"

#include "base/fail.h"
#include "oracle/attend_chunks.h"
#include "oracle/attend_model.h"

#include <math.h>
#include <stdlib.h>

/* ---- results ---- */

rotary_status attend_check_outputs(const struct attend_config *config, rotary_error *error)
{
    const char *const outputs[] = {config->output, config->weights, config->scores, config->present_key,
                                   config->present_value};
    const char *const inputs[] = {
        config->query,       config->key,  config->value, config->past_key,        config->past_value,
        config->key_lengths, config->mask, config->sinks, config->rotation.config, config->key_positions};
    const int input_count = sizeof inputs / sizeof *inputs;
    rotary_status status = ROTARY_OK;
    for (size_t i = 0; !status && i < sizeof outputs / sizeof *outputs; i++)
        if (outputs[i])
            status = tensor_check_output(outputs[i], inputs, input_count, error);
    for (size_t i = 0; !status && i < sizeof outputs / sizeof *outputs; i++)
        if (outputs[i])
            status = tensor_check_output(outputs[i], config->position.files, FORMULA_PARAMETERS, error);
    for (size_t i = 0; !status && i < sizeof outputs / sizeof *outputs; i++)
        for (size_t j = 0; !status && j < i; j++)
            if (outputs[i] && outputs[j] && tensor_same_file(outputs[i], outputs[j]))
                status =
                    rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                                "two results would go to \"%.200s\", wanted a file for each", outputs[i]);
    return status;
}

/* [H, T, S] or [B, H, T, S], if it has a label. */
static rotary_status make_matrix(const char *label, const struct attend_work *work, struct tensor *matrix,
                                 rotary_error *error)
{
    const struct reference_attention *attention = &work->attention;
    const int64_t shape[4] = {attention->batch, attention->heads, attention->queries, attention->keys};
    int skipped = work->query.batched ? 0 : 1;
    return label ? tensor_make(label, work->query.tensor.type, shape + skipped, 4 - skipped, matrix, error)
                 : ROTARY_OK;
}

static rotary_status make_results(const struct attend_config *config, struct attend_work *work,
                                  rotary_error *error)
{
    const struct reference_attention *attention = &work->attention;
    struct heads_sizes sizes = {attention->queries, attention->heads, attention->value_dim};
    rotary_status status = heads_make(config->output, &work->query, sizes, &work->output, error);
    if (!status)
        status = make_matrix(config->weights, work, &work->weights, error);
    if (!status)
        status = make_matrix(config->scores, work, &work->scores, error);
    return status;
}

/* The cache's keys or values as they were read, in the layout of the past. */
static rotary_status write_present(const char *label, const struct heads *heads, rotary_error *error)
{
    struct heads present = *heads;
    present.tensor.label = label;
    if (present.layout == HEADS_FLAT)
        heads_set_layout(&present, HEADS_BEFORE_TIME);
    return label ? heads_write(&present, error) : ROTARY_OK;
}

static rotary_status write_results(const struct attend_work *work, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (work->weights.values)
        status = tensor_write(&work->weights, error);
    if (!status && work->scores.values)
        status = tensor_write(&work->scores, error);
    return status ? status : heads_write(&work->output, error);
}

/* ---- evaluating ---- */

/* Refuses a rotation that this attention does not go with. */
static rotary_status check_rotation(const struct attend_config *config, const struct attend_work *work,
                                    rotary_error *error)
{
    const struct rope_config *rotation = &work->rotation.config;
    const struct formula_encoding *encoding = config->position.encoding;
    const char *file = config->rotation.config;
    bool grows = rotation->plan.xpos_scale > 0;
    if (encoding && grows != (encoding->rotation == FORMULA_XPOS))
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has %s xpos_scale, wanted %s for --position %s", file,
                           grows ? "an" : "no", grows ? "none" : "one above 0", encoding->name);
    if (config->key_is_value && (grows || rotary_rope_attention_factor(work->rotation.rope) != 1.0))
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s multiplies keys by %s, and by --key-is-value they are the values too: wanted a "
            "rotation alone",
            file, grows ? "xPos's magnitudes" : "an attention factor");
    return attend_model_check(config, &work->rotation, error);
}

static rotary_status make_rotation(const struct attend_config *config, struct attend_work *work,
                                   rotary_error *error)
{
    const struct reference_attention *attention = &work->attention;
    if (!config->rotation.config)
        return ROTARY_OK;
    if ((config->rotate & ATTEND_VALUE_OUTPUT) && attention->value_dim != attention->head_dim)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s has heads of %lld channels, wanted %lld, as %s has, because the rotation is of such heads",
            config->value, (long long)attention->value_dim, (long long)attention->head_dim, config->query);
    rotary_status status = rotation_make(&config->rotation, attention->head_dim, &work->rotation, error);
    if (!status)
        status = check_rotation(config, work, error);
    if (!status && !config->scale && work->rotation.config.unit_scale)
        work->attention.scale = 1;
    if (!status && !config->scale && work->rotation.config.score_channels > 0)
        work->attention.scale = rotary_rope_softmax_factor(work->rotation.rope) /
                                sqrt((double)work->rotation.config.score_channels);
    return status ? status : attend_chunks_check(config, work, error);
}

/* Rotates [batch, time, heads, head_dim] as `role`: queries and outputs at the positions of the queries, keys
 * and values at theirs. */
static rotary_status rotate(const struct attend_work *work, struct rotation_target target, bool queries,
                            rotary_error *error)
{
    const struct reference_attention *attention = &work->attention;
    double *values = target.values;
    target.time = queries ? attention->queries : attention->keys;
    target.heads = queries ? attention->heads : attention->key_value_heads;
    target.positions = queries ? NULL : attention->key_positions;
    rotary_status status = ROTARY_OK;
    for (int64_t b = 0; !status && b < attention->batch; b++) {
        target.first = queries ? attention->sequences[b].first_query : 0;
        target.values = values + b * target.time * target.heads * attention->head_dim;
        status = rotation_apply(&work->rotation, &target, error);
    }
    return status;
}

/* Multiplies queries by the scale of their position, before the kernel too sees them. */
static void scale_queries(struct attend_work *work)
{
    const struct rope_query_scale *scale = &work->rotation.config.query_scale;
    const struct reference_attention *attention = &work->attention;
    const int64_t row = attention->heads * attention->head_dim;
    double *query = work->query.tensor.values;
    for (int64_t at = 0; scale->beta > 0 && at < attention->batch * attention->queries; at++) {
        int64_t position =
            attention->sequences[at / attention->queries].first_query + at % attention->queries;
        double blocks = floor(((double)position + scale->offset) / scale->length);
        for (int64_t i = 0; i < row; i++)
            query[at * row + i] *= 1.0 + scale->beta * log1p(fmax(blocks, 0.0));
    }
}

static rotary_status evaluate(const struct attend_config *config, struct attend_work *work,
                              rotary_error *error)
{
    struct reference_attention *attention = &work->attention;
    attention->query = work->query.tensor.values;
    attention->key = work->key.tensor.values;
    attention->value = config->key_is_value ? work->key.tensor.values : work->value.tensor.values;
    attention->output = work->output.tensor.values;
    attention->weights = work->weights.values;
    attention->scores = work->scores.values;
    struct rotation_target query = {.role = ROTARY_ROLE_QUERY, .values = work->query.tensor.values};
    struct rotation_target key = {.role = ROTARY_ROLE_KEY, .values = work->key.tensor.values};
    struct rotation_target value = {.role = ROTARY_ROLE_VALUE, .values = work->value.tensor.values};
    struct rotation_target output = {
        .role = ROTARY_ROLE_VALUE, .inverse = true, .values = work->output.tensor.values};
    bool chunks = attention->chunks.length > 0;
    unsigned rotated = work->rotation.rope && !chunks ? config->rotate : 0;
    if (config->key_is_value && (rotated & ROTARY_ROTATE_VALUE)) /* they are one */
        rotated |= ROTARY_ROTATE_KEY;
    rotary_status status = chunks ? attend_chunks_rotate(work, error) : ROTARY_OK;
    if ((rotated & ROTARY_ROTATE_QUERY) && !status)
        status = rotate(work, query, true, error);
    if ((rotated & ROTARY_ROTATE_KEY) && !status)
        status = rotate(work, key, false, error);
    if ((rotated & ROTARY_ROTATE_VALUE) && !config->key_is_value && !status)
        status = rotate(work, value, false, error);
    if (!status)
        status = reference_attention_run(attention, &work->masked_rows, error);
    if ((rotated & ROTARY_ROTATE_OUTPUT) && !status)
        status = rotate(work, output, true, error);
    return status;
}

/* Sets the reason why the largest difference is not finite. `beyond` is what attend_beyond_f32 returned. */
static void explain(const struct tensor *wanted, const char *beyond, rotary_error *reason)
{
    bool finite = true, fits = true;
    for (int64_t i = 0; i < wanted->elements; i++) {
        finite = finite && isfinite(wanted->values[i]);
        fits = fits && isfinite((float)wanted->values[i]);
    }
    const char *what = !finite  ? "the exact output has a number that is not finite"
                       : beyond ? beyond
                       : fits   ? "scores or sums overflow in f32"
                                : "the exact output has a number beyond f32";
    (void)rotary_fail(reason, ROTARY_UNSUPPORTED, "%s%s%s", what,
                      finite && beyond ? " has a number beyond f32" : "",
                      finite ? ", in which the kernel computes" : "");
}

static void compare(const float *kernel, const struct tensor *wanted, struct attend_kernel_result *result)
{
    for (int64_t i = 0; i < wanted->elements; i++) {
        double difference = fabs((double)kernel[i] - wanted->values[i]), largest = result->largest_difference;
        /* A NaN stays: no later difference replaces it. */
        result->largest_difference = isnan(largest) || difference <= largest ? largest : difference;
        result->largest_output = fmax(result->largest_output, fabs(wanted->values[i]));
    }
}

/* ---- reading, evaluating, writing ---- */

/* `kernel` is librotary's result, NULL if it has none. */
static rotary_status evaluate_and_write(const struct attend_config *config, const float *kernel,
                                        struct attend_work *work, rotary_error *error)
{
    const char *beyond = kernel ? attend_beyond_f32(work) : NULL;
    rotary_status status = write_present(config->present_key, &work->key, error);
    if (!status)
        status = write_present(config->present_value, &work->value, error);
    if (!status)
        status = evaluate(config, work, error);
    if (!status)
        status = write_results(work, error);
    if (!status && kernel)
        compare(kernel, &work->output.tensor, &work->kernel);
    if (!status && kernel && !isfinite(work->kernel.largest_difference))
        explain(&work->output.tensor, beyond, &work->kernel.reason);
    return status;
}

rotary_status attend_run(const struct attend_config *config, struct attend_work *work, rotary_error *error)
{
    float *kernel = NULL;
    rotary_status status = attend_read(config, work, error);
    if (!status)
        status = make_rotation(config, work, error);
    if (!status)
        status = attend_position_make(&config->position, &work->attention, &work->terms, error);
    if (!status)
        status = make_results(config, work, error);
    if (status)
        return status;
    scale_queries(work);
    /* Before the inputs are rotated in place. */
    if (config->run_kernel)
        work->kernel.ran = attend_kernel(config, work, &kernel, &work->kernel.reason) == ROTARY_OK;
    status = evaluate_and_write(config, kernel, work, error);
    free(kernel);
    return status;
}

void attend_free(struct attend_work *work)
{
    free(work->chunks);
    free(work->key_positions);
    free(work->sequences);
    attend_terms_free(&work->terms);
    rotation_destroy(&work->rotation);
    tensor_free(&work->scores);
    tensor_free(&work->weights);
    tensor_free(&work->sinks);
    tensor_free(&work->mask);
    heads_free(&work->output);
    heads_free(&work->value);
    heads_free(&work->key);
    heads_free(&work->query);
}
