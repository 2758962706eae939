/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary frequencies: the inverse frequencies of a configuration.
 */
#include "base/fail.h"
#include "cli/output/result.h"
#include "cli/rotation_options.h"

struct frequencies_options {
    struct rotation_options rotation;
};

static const struct setting frequencies_table[] = {
    ROTATION_OPTIONS("--config", "the configuration: a model's config.json", struct frequencies_options,
                     rotation),
};

static json_t *list_axes(const rotary_rope *rope)
{
    json_t *axes = json_array();
    for (int64_t pair = 0; pair < rotary_rope_pairs(rope); pair++)
        json_array_append_new(axes, json_integer(rotary_rope_axis(rope, pair)));
    return axes;
}

static rotary_status print_frequencies(const struct rotation *rotation, rotary_error *error)
{
    const rotary_rope *rope = rotation->rope;
    const rotary_rope_config *plan = &rotation->config.plan;
    struct rotary_span span = rotary_rope_span(rope);
    json_t *frequencies = json_array();
    for (int64_t pair = 0; pair < rotary_rope_pairs(rope); pair++)
        json_array_append_new(frequencies, json_real(rotary_rope_inverse_frequencies(rope)[pair]));
    json_t *object =
        json_pack("{s:o, s:f, s:f, s:s, s:I, s:I, s:I, s:s, s:s, s:s, s:s}", "inv_freq", frequencies,
                  "attention_factor", rotary_rope_attention_factor(rope), "softmax_factor",
                  rotary_rope_softmax_factor(rope), "rope_type", rotation->config.rope_type, "head_dim",
                  (json_int_t)plan->head_dim, "rotary_dim", (json_int_t)span.dim, "rotary_start",
                  (json_int_t)span.start, "pairing", rope_config_pairings[plan->pairing], "pairing_from",
                  rotation->config.pairing_from, "angles", plan->angles_f32 ? "f32" : "f64", "compat",
                  rotation_compats[plan->compat]);
    if (object && rotary_rope_axes(rope) > 1)
        json_object_set_new(object, "axes", list_axes(rope));
    const struct rope_query_scale *scale = &rotation->config.query_scale;
    if (object && scale->beta > 0)
        json_object_set_new(object, "query_scale",
                            json_pack("{s:f, s:f, s:f}", "beta", scale->beta, "length", scale->length,
                                      "offset", scale->offset));
    return result_print_json(object, error);
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct frequencies_options *options = invocation->options;
    rotary_error error = {0};
    if (!options->rotation.config) {
        (void)rotary_fail(&error, ROTARY_INVALID_ARGUMENT, "frequencies wants --config FILE");
        return command_refuse(invocation, &error);
    }
    struct rotation_request request = rotation_request(&options->rotation, &invocation->common);
    request.scales_queries = true;
    struct rotation rotation;
    rotary_status status = rotation_make(&request, 0, &rotation, &error);
    if (status)
        return command_fail(&error);
    status = print_frequencies(&rotation, &error);
    rotation_destroy(&rotation);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_frequencies = {
    .name = "frequencies",
    .operands = "",
    .summary = "shows the inverse frequencies and the attention factor of a RoPE configuration",
    .more =
        "The result is one JSON object: inv_freq, radians per position of each rotated pair of channels; "
        "attention_factor, which multiplies cosines and sines of queries and keys; softmax_factor, by "
        "which DeepSeek-V2 and V3 also multiply their softmax scale, as attend does; query_scale, where "
        "a query at position p is multiplied by 1 + beta ln(1 + floor((p + offset) / length)); and the other "
        "settings that were read. A configuration is a model's config.json (rope_theta, rope_scaling, "
        "rope_parameters, ...), and "
        "our own keys: \"pairing\" half or interleaved, \"span\" front or back, \"angles\" f64 or f32.",
    .example = "rotary frequencies --config config.json --length 32768\n"
               "shows the frequencies for a sequence of 32768 tokens",
    .options = frequencies_table,
    .option_count = sizeof frequencies_table / sizeof frequencies_table[0],
    .options_size = sizeof(struct frequencies_options),
    .run = run,
};
