/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary decay: how the bound on a score falls with distance, as numbers and as a picture.
 */
#include "base/fail.h"
#include "cli/result.h"
#include "cli/rotation_options.h"
#include "file/file.h"
#include "file/print.h"
#include "oracle/decay.h"
#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_DISTANCE = 1 << 24, DEFAULT_DISTANCE = 256, PICTURE_HEIGHT = 320, MAX_POINTS = 2048 };

struct decay_options {
    struct rotation_options rotation;
    struct option_integer distance;
    const char *picture;
};

static const struct setting decay_table[] = {
    ROTATION_OPTIONS("--config", "the rotation: a model's config.json (see rotary help frequencies)",
                     struct decay_options, rotation),
    {"--distance", SETTING_INTEGER, offsetof(struct decay_options, distance), .metavar = "N", .min = 1,
     .max = MAX_DISTANCE, .help = "the largest distance between query and key (default: 256)"},
    {"--picture", SETTING_TEXT, offsetof(struct decay_options, picture), .metavar = "FILE",
     .help = "draw the curve, as SVG (default: no picture)"},
};

/* ---- the picture ---- */

static const char picture_style[] =
    "<style>svg{background:#fff;font-family:system-ui,sans-serif}text{font-size:13px;fill:#5c6069}.grid{"
    "stroke:#e2e0d8}.curve{fill:none;stroke:#0072b2;stroke-width:1.8;stroke-linejoin:round}</style>\n";

static void draw(FILE *stream, const struct decay_curve *curve)
{
    struct svg_frame frame = {.left = 56, .right = SVG_WIDTH - 14, .top = 40, .bottom = PICTURE_HEIGHT - 56};
    double low = 0, high = 0;
    for (int64_t i = 0; i < curve->count; i++)
        high = fmax(high, curve->values[i]);
    svg_round_range(&low, &high);
    struct svg_scale across = {0, (double)(curve->count - 1), frame.left, frame.right};
    struct svg_scale up = {low, high, frame.bottom, frame.top};
    fprintf(stream,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-label=\"long-term decay\">\n%s",
            (int)SVG_WIDTH, (int)PICTURE_HEIGHT, picture_style);
    svg_axis_left(stream, frame, up, "", "mean of |S|: the bound on a score");
    svg_axis_below(stream, frame, across, "distance between query and key");
    /* At most MAX_POINTS points: the first of every `step`. */
    int64_t step = (curve->count + MAX_POINTS - 1) / MAX_POINTS;
    fprintf(stream, "<path class=\"curve\" d=\"");
    for (int64_t i = 0; i < curve->count; i += step)
        fprintf(stream, "%c%.2f %.2f", i == 0 ? 'M' : 'L', svg_place(across, (double)i),
                svg_place(up, curve->values[i]));
    fprintf(stream, "\"/>\n");
    svg_end(stream);
}

static rotary_status write_picture(const char *path, const struct decay_curve *curve, rotary_error *error)
{
    struct print print;
    rotary_status status = print_begin(&print, error);
    if (status != ROTARY_OK)
        return status;
    draw(print.stream, curve);
    return print_replace(&print, path, error);
}

/* ---- the command ---- */

static rotary_status print_curve(const struct invocation *invocation, const struct decay_curve *curve,
                                 rotary_error *error)
{
    if (!invocation->common.json) {
        for (int64_t i = 0; i < curve->count; i++)
            printf("%lld %.17g\n", (long long)i, curve->values[i]);
        return ROTARY_OK;
    }
    json_t *distances = json_array(), *values = json_array();
    for (int64_t i = 0; i < curve->count; i++) {
        json_array_append_new(distances, json_integer(i));
        json_array_append_new(values, json_real(curve->values[i]));
    }
    return result_print_json(json_pack("{s:o, s:o}", "distance", distances, "bound", values), error);
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct decay_options *options = invocation->options;
    rotary_error error = {0};
    if (!options->rotation.config) {
        (void)rotary_fail(&error, ROTARY_INVALID_ARGUMENT, "decay wants --config FILE");
        return command_refuse(invocation, &error);
    }
    if (options->picture &&
        file_check_output(options->picture, &options->rotation.config, 1, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    const struct rotation_request request = rotation_request(&options->rotation, &invocation->common);
    struct rotation rotation;
    struct decay_curve curve = {0};
    int64_t distance = options->distance.given ? options->distance.value : DEFAULT_DISTANCE;
    rotary_status status = rotation_make(&request, 0, &rotation, &error);
    if (status)
        return command_fail(&error);
    status = decay_make_curve(rotation.rope, distance, &curve, &error);
    if (!status && options->picture)
        status = write_picture(options->picture, &curve, &error);
    if (!status)
        status = print_curve(invocation, &curve, &error);
    free(curve.values);
    rotation_destroy(&rotation);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_decay = {
    .name = "decay",
    .operands = "",
    .summary = "shows how the bound on a score falls with the distance of query and key",
    .more = "The curve is that of section 3.4.3 of the RoFormer paper: the mean over the pairs of |S|, S "
            "being the sum of exp(i distance frequency) over a pair and those before it. A line for each "
            "distance, or with --json {\"distance\": [...], \"bound\": [...]}. Magnitudes are left out.",
    .example = "rotary decay --config config.json --distance 4096 --picture decay.svg\n"
               "prints the curve up to 4096 tokens apart, and draws it",
    .options = decay_table,
    .option_count = sizeof decay_table / sizeof decay_table[0],
    .options_size = sizeof(struct decay_options),
    .run = run,
};
