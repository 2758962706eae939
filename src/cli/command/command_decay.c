/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary decay: how scores fall with distance, as numbers and as a picture.
 */
#include "base/fail.h"
#include "cli/output/decay_runs.h"
#include "cli/output/result.h"
#include "cli/rotation_options.h"
#include "file/file.h"
#include "file/print.h"
#include "layer/encoding/encoding.h"
#include "model/encoding/decay.h"
#include "model/encoding/model_encoding.h"
#include "report/chart/decay_svg.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_DISTANCE = 1 << 24,
    DEFAULT_DISTANCE = 256,
    MAX_HEADS = 1024,
    DEFAULT_HEADS = 8,
    DEFAULT_CHANNELS = 128,
    MAX_SEQUENCES = 1 << 20,
    DEFAULT_SEQUENCES = 16
};

struct decay_options {
    struct rotation_options rotation;
    struct option_integer heads, channels, distance, sequences, scaling, by, measure, checkpoint;
    const char *position, *picture;
};

#define MEMBER(member) offsetof(struct decay_options, member)
static const struct setting decay_table[] = {
    ROTATION_OPTIONS("--config", "a rotation: a model's config.json (see rotary help frequencies)",
                     struct decay_options, rotation),
    {"--position", SETTING_TEXT, MEMBER(position), .metavar = "NAME",
     .help = "an encoding that rotates, or has a bias by distance that is not learned; or a file NAME.json "
             "of your own"},
    {"--heads", SETTING_INTEGER, MEMBER(heads), .metavar = "N", .min = 1, .max = MAX_HEADS,
     .help = "heads of a model whose bias it is (default: 8)"},
    {"--channels", SETTING_INTEGER, MEMBER(channels), .metavar = "N", .min = 2, .max = ENCODING_MAX_CHANNELS,
     .help = "channels of a head that --position rotates, or of sandwich's sinusoids; an even number "
             "(default: 128)"},
    {"--distance", SETTING_INTEGER, MEMBER(distance), .metavar = "N", .min = 1, .max = MAX_DISTANCE,
     .help = "the largest distance between query and key (default: 256; of a run any)"},
    {"--sequences", SETTING_INTEGER, MEMBER(sequences), .metavar = "N", .min = 1, .max = MAX_SEQUENCES,
     .help = "of a run: the first N validation sequences (default: 16)"},
    {"--scaling", SETTING_CHOICE, MEMBER(scaling), .metavar = "NAME", .choices = length_scaling_names,
     .help = "of a run with --length, how its rotation is scaled by length / trained length: none, linear, "
             "ntk, dynamic, yarn or llama3 (default: none)"},
    {"--by", SETTING_CHOICE, MEMBER(by), .metavar = "NAME", .choices = decay_axis_names,
     .help = "of a run, what the lines are by: distance, or query, the query's place (default: distance)"},
    {"--measure", SETTING_CHOICE, MEMBER(measure), .metavar = "NAME", .choices = decay_measure_names,
     .help = "of a run, what --picture draws: score, weight, bias, entropy, or output_norm (default: score)"},
    {"--picture", SETTING_TEXT, MEMBER(picture), .metavar = "FILE",
     .help = "draw the curves, as SVG (default: no picture)"},
};

/* ---- results ---- */

static struct decay_panel panel_of(const void *context, int64_t index)
{
    const struct decay_curves *curves = context;
    struct decay_panel panel = {.lines = curves->curves, .points = curves->count, .values = curves->values};
    (void)index;
    snprintf(panel.title, sizeof panel.title, "%s",
             curves->is_bound ? "mean of |S|: the bound on a score" : "bias: what is added to a score");
    return panel;
}

static rotary_status write_picture(const char *path, const struct decay_curves *curves, rotary_error *error)
{
    const struct decay_chart chart = {.label = "long-term decay",
                                      .panel = panel_of,
                                      .context = curves,
                                      .count = 1,
                                      .columns = 1,
                                      .alone = true};
    struct print print;
    rotary_status status = print_begin(&print, error);
    if (status != ROTARY_OK)
        return status;
    decay_svg(print.stream, &chart);
    return print_replace(&print, path, error);
}

static void print_columns(const struct decay_curves *curves)
{
    for (int64_t i = 0; i < curves->count; i++) {
        printf("%lld", (long long)i);
        for (int64_t curve = 0; curve < curves->curves; curve++)
            printf(" %.17g", curves->values[curve * curves->count + i]);
        putchar('\n');
    }
}

static json_t *curve_json(const struct decay_curves *curves, int64_t curve)
{
    json_t *values = json_array();
    for (int64_t i = 0; i < curves->count; i++)
        file_json_append(&values, json_real(curves->values[curve * curves->count + i]));
    return values;
}

static rotary_status print_curves(const struct invocation *invocation, const struct decay_curves *curves,
                                  rotary_error *error)
{
    if (!invocation->common.json) {
        print_columns(curves);
        return ROTARY_OK;
    }
    json_t *distances = json_array();
    for (int64_t i = 0; i < curves->count; i++)
        file_json_append(&distances, json_integer(i));
    if (curves->is_bound)
        return result_print_json(
            json_pack("{s:o, s:o}", "distance", distances, "bound", curve_json(curves, 0)), error);
    json_t *values = json_array();
    for (int64_t curve = 0; curve < curves->curves; curve++)
        file_json_append(&values, curve_json(curves, curve));
    return result_print_json(json_pack("{s:o, s:o}", "distance", distances, "bias", values), error);
}

/* ---- the command ---- */

/* Where the curves are from. */
enum origin { ORIGIN_CONFIG, ORIGIN_POSITION, ORIGIN_RUNS };

static enum origin origin_of(const struct invocation *invocation)
{
    const struct decay_options *options = invocation->options;
    if (invocation->operands.count > 0)
        return ORIGIN_RUNS;
    return options->position ? ORIGIN_POSITION : ORIGIN_CONFIG;
}

/* An option, and whether the origin has a use for it. */
struct option_use {
    const char *name;
    bool given, used;
};

/* The first option that is given and not used; NULL: there is none. */
static const char *unused_option(const struct decay_options *options, enum origin origin,
                                 const struct transformer_config *model)
{
    const struct rotation_options *rotation = &options->rotation;
    const bool config = origin == ORIGIN_CONFIG, named = origin == ORIGIN_POSITION,
               runs = origin == ORIGIN_RUNS;
    const struct encoding_keys *keys = named ? model_encoding(model)->keys : NULL;
    const bool rotates = named && (model_rotates(model) & ROTATE_QUERY_KEY);
    const struct option_use uses[] = {
        {"--layer-type", rotation->layer_type, config},
        {"--ignore", rotation->ignored.count > 0, config},
        {"--length", rotation->length.given, config || runs},
        {"--compat", rotation->compat.given, config},
        {"--heads", options->heads.given, named && !rotates},
        {"--channels", options->channels.given, rotates || (keys && keys->channels)},
        {"--sequences", options->sequences.given, runs},
        {"--checkpoint", options->checkpoint.given, runs},
        {"--scaling", options->scaling.given, runs},
        {"--by", options->by.given, runs},
        {"--measure", options->measure.given, runs},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (uses[i].given && !uses[i].used)
            return uses[i].name;
    return NULL;
}

/* `model`: is set of an encoding. */
static rotary_status check_options(const struct invocation *invocation, struct transformer_config *model,
                                   rotary_error *error)
{
    const struct decay_options *options = invocation->options;
    const char *config = options->rotation.config;
    const bool position = options->position, runs = invocation->operands.count > 0;
    if (!config && !position && !runs)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "decay wants --config FILE, --position NAME or DIR");
    if ((config && position) || (config && runs) || (position && runs))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s and %s are both given: wanted one",
                           config ? "--config" : "--position", runs ? "DIR" : "--position");
    const struct decay_encoding encoding = {
        .position = options->position,
        .heads = options->heads.given ? options->heads.value : DEFAULT_HEADS,
        .channels = options->channels.given ? options->channels.value : DEFAULT_CHANNELS};
    rotary_status status = position ? decay_config(&encoding, model, error) : ROTARY_OK;
    if (status != ROTARY_OK)
        return status;
    const char *unused = unused_option(options, origin_of(invocation), model);
    if (unused)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s changes nothing with %s%s: leave it out",
                           unused,
                           config     ? "--config"
                           : position ? "--position "
                                      : "a run",
                           position ? options->position : "");
    if (options->measure.given && !options->picture)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--measure wants --picture FILE");
    if (options->scaling.given && !options->rotation.length.given)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--scaling is about --length: give both");
    const int64_t length = options->rotation.length.value;
    if (runs && options->rotation.length.given && (length < LENGTH_MIN || length > LENGTH_MAX))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--length is %lld, wanted %d to %d tokens of a sequence", (long long)length,
                           LENGTH_MIN, LENGTH_MAX);
    if (options->channels.given && options->channels.value % 2 != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--channels is %lld, wanted an even number",
                           (long long)options->channels.value);
    if (!options->picture)
        return ROTARY_OK;
    const char *inputs[] = {config,
                            position && model->position == POSITION_CUSTOM ? options->position : NULL};
    return file_check_output(options->picture, inputs, 2, error);
}

static rotary_status make_curves(const struct invocation *invocation, const struct transformer_config *model,
                                 struct decay_curves *curves, rotary_error *error)
{
    const struct decay_options *options = invocation->options;
    const int64_t distance = options->distance.given ? options->distance.value : DEFAULT_DISTANCE;
    if (options->position)
        return decay_of_encoding(model, distance, curves, error);
    const struct rotation_request request = rotation_request(&options->rotation, &invocation->common);
    struct rotation rotation;
    rotary_status status = rotation_make(&request, 0, &rotation, error);
    if (status != ROTARY_OK)
        return status;
    status = decay_of_rotation(rotation.rope, rotation.config.plan.xpos_scale, distance, curves, error);
    rotation_destroy(&rotation);
    return status;
}

static rotary_status show_curves(const struct invocation *invocation, const struct transformer_config *model,
                                 rotary_error *error)
{
    const struct decay_options *options = invocation->options;
    struct decay_curves curves = {0};
    rotary_status status = make_curves(invocation, model, &curves, error);
    if (status == ROTARY_OK && options->picture)
        status = write_picture(options->picture, &curves, error);
    if (status == ROTARY_OK)
        status = print_curves(invocation, &curves, error);
    decay_curves_free(&curves);
    return status;
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct decay_options *options = invocation->options;
    rotary_error error = {0};
    struct transformer_config model = {0};
    if (check_options(invocation, &model, &error) != ROTARY_OK) {
        transformer_config_free(&model);
        return command_refuse(invocation, &error);
    }
    const struct decay_runs_call call = {.invocation = invocation,
                                         .sequences = options->sequences.given ? options->sequences.value
                                                                               : DEFAULT_SEQUENCES,
                                         .distance = options->distance.value,
                                         .length = options->rotation.length.value,
                                         .scaling = (enum length_scaling)options->scaling.value,
                                         .by = (enum decay_axis)options->by.value,
                                         .checkpoint = (enum checkpoint_kind)options->checkpoint.value,
                                         .picture = options->picture,
                                         .measure = (enum decay_measure)options->measure.value};
    const rotary_status status = origin_of(invocation) == ORIGIN_RUNS
                                     ? decay_runs(&call, &error)
                                     : show_curves(invocation, &model, &error);
    transformer_config_free(&model);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_decay = {
    .name = "decay",
    .operands = "[DIR...]",
    .summary = "shows how scores fall with the distance of query and key",
    .more =
        "Of --config or --position it is what the encoding's formula says. Of a rotation it is the bound of "
        "section 3.4.3 of the RoFormer paper: the mean over the pairs of |S|, S being the sum of exp(i "
        "distance frequency) over a pair and those before it, each times xPos's magnitude zeta^(distance / "
        "scale) where there is one. Of a bias by distance it is the bias, head by head. A line for each "
        "distance, or with --json {\"distance\": [...], \"bound\": [...]} or {\"distance\": [...], "
        "\"bias\": [[...], ...]}. "
        "DIR is a run's folder, or a comparison's, of which the first run of each arm counts: then it is "
        "measured over validation sequences, layer by layer and head by head. Distances are below 0 where "
        "the key comes after the query. The columns are the kind of self-attention, layer, head, distance, "
        "pairs of query and key, and means over these: of the score before the softmax, the weight after "
        "it, and the bias within the score. With --by query they are the query's place in its sequence, "
        "queries, and means over these: of the entropy of a query's weights, in nats, and of the norm of "
        "its head's output. --length measures sequences of another length than in training. All of it is "
        "kept in the run's folder, in decay.json, and rotary report draws the scores.",
    .example = "rotary decay --config config.json --distance 4096 --picture decay.svg\n"
               "prints the curve up to 4096 tokens apart, and draws it",
    .shared = {{checkpoint_option, 1, MEMBER(checkpoint)}},
    .options = decay_table,
    .option_count = sizeof decay_table / sizeof decay_table[0],
    .options_size = sizeof(struct decay_options),
    .max_operands = -1,
    .run = run,
};
