/* SPDX-License-Identifier: Apache-2.0 */
#include "model/encoding/decay.h"

#include "base/fail.h"
#include "model/encoding/model_encoding.h"
#include "model/encoding/rotation_config.h"

#include <math.h>
#include <stdlib.h>

void decay_curves_free(struct decay_curves *curves)
{
    free(curves->values);
    *curves = (struct decay_curves){0};
}

enum { MAX_NUMBERS = 1 << 26 };

static rotary_status allocate(struct decay_curves *curves, rotary_error *error)
{
    if (curves->count > MAX_NUMBERS / curves->curves)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%lld heads of %lld distances: wanted at most %d numbers",
                           (long long)curves->curves, (long long)curves->count, (int)MAX_NUMBERS);
    curves->values = calloc((size_t)(curves->curves * curves->count), sizeof *curves->values);
    return curves->values ? ROTARY_OK
                          : rotary_fail_memory(error, "for %lld curves of %lld distances",
                                               (long long)curves->curves, (long long)curves->count);
}

/* ---- rotations ---- */

/* By how much xPos multiplies the product of query and key in a pair, for each token between them. */
static double shrink_of(double xpos_scale, int64_t pair, int64_t pairs)
{
    if (xpos_scale == 0.0)
        return 1.0;
    double channels = 2.0 * (double)pairs, zeta = (2.0 * (double)pair + 0.4 * channels) / (1.4 * channels);
    return pow(zeta, 1.0 / xpos_scale);
}

static double mean_of_sums(const rotary_rope *rope, const double *shrinks, double distance)
{
    const double *frequencies = rotary_rope_inverse_frequencies(rope);
    int64_t pairs = rotary_rope_pairs(rope);
    double real = 0, imaginary = 0, total = 0;
    for (int64_t pair = 0; pair < pairs; pair++) {
        double magnitude = pow(shrinks[pair], distance);
        real += magnitude * cos(distance * frequencies[pair]);
        imaginary += magnitude * sin(distance * frequencies[pair]);
        total += hypot(real, imaginary);
    }
    return total / (double)pairs;
}

rotary_status decay_of_rotation(const rotary_rope *rope, double xpos_scale, int64_t distance,
                                struct decay_curves *curves, rotary_error *error)
{
    struct decay_curves made = {.is_bound = true, .curves = 1, .count = distance + 1};
    int64_t pairs = rotary_rope_pairs(rope);
    double *shrinks = malloc((size_t)pairs * sizeof *shrinks);
    rotary_status status =
        shrinks ? allocate(&made, error) : rotary_fail_memory(error, "for %lld pairs", (long long)pairs);
    for (int64_t pair = 0; status == ROTARY_OK && pair < pairs; pair++)
        shrinks[pair] = shrink_of(xpos_scale, pair, pairs);
    for (int64_t i = 0; status == ROTARY_OK && i < made.count; i++)
        made.values[i] = mean_of_sums(rope, shrinks, (double)i);
    free(shrinks);
    if (status == ROTARY_OK)
        *curves = made;
    return status;
}

/* ---- encodings ---- */

static rotary_status rotation_of_encoding(const struct transformer_config *config, int64_t distance,
                                          struct decay_curves *curves, rotary_error *error)
{
    struct rotation_config rotation;
    rotary_rope *rope = NULL;
    rotary_status status = rotation_config_read(config, "full_attention", &rotation, error);
    if (status != ROTARY_OK)
        return status;
    rotation.rope.plan.table_positions = 0;
    status = rotary_rope_create(&rope, &rotation.rope.plan, error);
    if (status == ROTARY_OK)
        status = decay_of_rotation(rope, rotation.rope.plan.xpos_scale, distance, curves, error);
    rotary_rope_destroy(rope);
    rotation_config_free(&rotation);
    return status;
}

/* Biases of keys before the query, of which the first entry is the farthest; a -0 is a 0. */
static rotary_status biases_of_encoding(const struct transformer_config *config,
                                        const struct model_encoding *encoding, int64_t distance,
                                        struct decay_curves *curves, rotary_error *error)
{
    struct decay_curves made = {.curves = config->num_attention_heads, .count = distance + 1};
    const struct distance_bias_shape shape = {.heads = made.curves,
                                              .distances = made.count,
                                              .first = -distance,
                                              .causal = true,
                                              .settings = model_encoding_bias_settings(config, encoding)};
    float *bias;
    rotary_status status = allocate(&made, error);
    if (status != ROTARY_OK)
        return status;
    bias = malloc((size_t)(made.curves * made.count) * sizeof *bias);
    if (!bias) {
        decay_curves_free(&made);
        return rotary_fail_memory(error, "for biases");
    }
    encoding->terms->distance_bias->fill(&shape, NULL, bias);
    for (int64_t i = 0; i < made.curves * made.count; i++) {
        made.values[i] = (double)bias[i / made.count * made.count + distance - i % made.count] + 0.0;
        if (status == ROTARY_OK && !isfinite(made.values[i]))
            status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                                 "the bias of head %lld at distance %lld is not a finite number",
                                 (long long)(i / made.count), (long long)(i % made.count));
    }
    free(bias);
    if (status == ROTARY_OK)
        *curves = made;
    else
        decay_curves_free(&made);
    return status;
}

rotary_status decay_config(const struct decay_encoding *encoding, struct transformer_config *config,
                           rotary_error *error)
{
    transformer_config_default(config);
    struct settings settings[TRANSFORMER_SETTINGS];
    transformer_settings(config, settings);
    rotary_status status =
        settings_set(settings, TRANSFORMER_SETTINGS, "--position", "position", encoding->position, error);
    const struct encoding_keys *keys = model_encoding(config)->keys;
    config->num_attention_heads = config->num_key_value_heads = encoding->heads;
    config->head_dim = encoding->channels;
    if (status == ROTARY_OK && keys && keys->channels) {
        json_t *object = json_pack("{s:I}", keys->channels, (json_int_t)encoding->channels);
        status = settings_read(settings, TRANSFORMER_SETTINGS, object, "--channels", error);
        json_decref(object);
    }
    config->hidden_size = encoding->heads * encoding->channels;
    config->max_position_embeddings = 1; /* no frequency depends on it; xPos's magnitudes are products here */
    return status;
}

static rotary_status curves_of(const struct transformer_config *config, const struct model_encoding *encoding,
                               int64_t distance, struct decay_curves *curves, rotary_error *error)
{
    const struct distance_bias_function *bias = encoding->terms->distance_bias;
    if ((model_rotates(config) & ROTATE_QUERY_KEY) == ROTATE_QUERY_KEY)
        return rotation_of_encoding(config, distance, curves, error);
    if (bias && !bias->gradient)
        return biases_of_encoding(config, encoding, distance, curves, error);
    if (bias)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the bias of %s is learned: rotary decay DIR shows that of a trained run",
                           model_encoding_name(config));
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "nothing in the scores of %s depends on the distance alone: rotary decay DIR measures "
                       "those of a trained run",
                       model_encoding_name(config));
}

rotary_status decay_of_encoding(const struct transformer_config *config, int64_t distance,
                                struct decay_curves *curves, rotary_error *error)
{
    struct model_encoding encoding;
    rotary_status status = model_encoding_create(config, &encoding, error);
    if (status != ROTARY_OK)
        return status;
    status = curves_of(config, &encoding, distance, curves, error);
    model_encoding_free(&encoding);
    return status;
}
