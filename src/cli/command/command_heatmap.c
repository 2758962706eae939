/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary heatmap: what the heads of trained models look at.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/output/result.h"
#include "cli/run_plan.h"
#include "file/file.h"
#include "report/heatmap/heatmap_files.h"
#include "report/heatmap/heatmap_names.h"
#include "report/heatmap/heatmap_page.h"
#include "report/interval_text.h"
#include "run_folder/folder.h"
#include "study/heatmap_run.h"
#include "study/heatmap_sides.h"
#include "text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 256, MAX_TEXTS = 10000, DEFAULT_SHOWN = 8, MAX_INPUT_BYTES = 64 << 20 };

struct heatmap_options {
    const char *input, *text, *target, *target_text, *output, *arms;
    struct option_integer shown, max_new_tokens, checkpoint;
};

#define MEMBER(member) offsetof(struct heatmap_options, member)
static const struct setting heatmap_table[] = {
    {"--input", SETTING_TEXT, MEMBER(input), .metavar = "FILE",
     .help = "a file with a text in each line: what the encoder reads, or a decoder alone"},
    {"--text", SETTING_TEXT, MEMBER(text), .metavar = "TEXT", .help = "instead of --input, one text"},
    {"--target", SETTING_TEXT, MEMBER(target), .metavar = "FILE",
     .help = "what the decoder of an encoder-decoder reads, line by line as --input (default: the "
             "model's greedy translation)"},
    {"--target-text", SETTING_TEXT, MEMBER(target_text), .metavar = "TEXT",
     .help = "instead of --target, one text"},
    {"--max-new-tokens", SETTING_INTEGER, MEMBER(max_new_tokens), .metavar = "N", .min = 0, .max = MAX_TOKENS,
     .help = "continue each text greedily by up to N tokens; of a decoder alone (default: 0)"},
    {"--arms", SETTING_TEXT, MEMBER(arms), .metavar = "NAME,...",
     .help = "which arms of a comparison, the baseline first (default: all)"},
    {"--shown", SETTING_INTEGER, MEMBER(shown), .metavar = "N", .min = 1, .max = 1000,
     .help = "texts in the page and in files, the first ones; all count in the numbers (default: 8)"},
    {"--output", SETTING_TEXT, MEMBER(output), .metavar = "FOLDER",
     .help = "where to write the files (default: heatmap in the first folder)"},
};

/* ---- texts ---- */

/* One line, as if it were a file's. */
static rotary_status one_line(struct text_lines *lines, const char *option, const char *text,
                              rotary_error *error)
{
    int64_t bytes = (int64_t)strlen(text);
    if (utf8_valid_bytes(text, bytes) < bytes)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s is not UTF-8 text", option);
    *lines = (struct text_lines){.count = 1, .starts = calloc(2, sizeof *lines->starts)};
    rotary_status status = lines->starts ? text_buffer_append(&lines->text, text, bytes + 1, error)
                                         : rotary_fail_memory(error, "for %s", option);
    if (status == ROTARY_OK)
        lines->starts[1] = bytes + 1;
    else
        text_lines_free(lines);
    return status;
}

/* The lines of a file. */
static rotary_status read_texts(struct text_lines *lines, const char *option, const char *path,
                                rotary_error *error)
{
    if (!file_exists(path))
        return rotary_fail(error, ROTARY_IO_ERROR, "%s: there is no file %.400s; a text is given with %s",
                           option, path, strcmp(option, "--input") == 0 ? "--text" : "--target-text");
    rotary_status status = text_lines_read(lines, path, MAX_INPUT_BYTES, error);
    if (status != ROTARY_OK || (lines->count >= 1 && lines->count <= MAX_TEXTS))
        return status;
    status = rotary_fail(error, ROTARY_BAD_FILE, "%s has %lld lines, wanted 1 to %d", path,
                         (long long)lines->count, (int)MAX_TEXTS);
    text_lines_free(lines);
    return status;
}

struct texts {
    struct text_lines inputs, targets; /* targets without lines: there are none */
};

static rotary_status texts_read(struct texts *texts, const struct heatmap_options *options,
                                rotary_error *error)
{
    *texts = (struct texts){0};
    rotary_status status = options->text ? one_line(&texts->inputs, "--text", options->text, error)
                                         : read_texts(&texts->inputs, "--input", options->input, error);
    if (status != ROTARY_OK || (!options->target && !options->target_text))
        return status;
    status = options->target_text ? one_line(&texts->targets, "--target-text", options->target_text, error)
                                  : read_texts(&texts->targets, "--target", options->target, error);
    if (status == ROTARY_OK && texts->inputs.count != texts->targets.count)
        status =
            rotary_fail(error, ROTARY_BAD_FILE, "%s has %lld lines and %s %lld, wanted as many",
                        options->text ? "--text" : "--input", (long long)texts->inputs.count,
                        options->target_text ? "--target-text" : "--target", (long long)texts->targets.count);
    return status;
}

static void texts_free(struct texts *texts)
{
    text_lines_free(&texts->inputs);
    text_lines_free(&texts->targets);
}

/* ---- models ---- */

static rotary_status fill_run(const struct invocation *invocation, const struct texts *texts,
                              struct heatmap_run *run, int64_t shown, rotary_error *error)
{
    const struct heatmap_options *options = invocation->options;
    struct loaded_model model;
    /* The texts are given: data that the model was trained on need not be here. */
    const struct loaded_model_call call = {.folder = run->folder,
                                           .checkpoint = (enum checkpoint_kind)options->checkpoint.value,
                                           .backend = plan_model_backend(&invocation->common),
                                           .need = TASK_TOKENIZERS};
    rotary_status status = plan_open_model(&call, &model, error);
    if (status != ROTARY_OK)
        return status;
    int64_t positions = model.config.task.sequence_length;
    const struct heatmap_request request = {.task = model.task,
                                            .inputs = &texts->inputs,
                                            .targets = texts->targets.count > 0 ? &texts->targets : NULL,
                                            .max_tokens = positions < MAX_TOKENS ? positions : MAX_TOKENS,
                                            .new_tokens = options->max_new_tokens.value,
                                            .shown = shown};
    status = heatmap_run_fill(run, model.transformer, &request, error);
    loaded_model_close(&model);
    return status;
}

/* Only the first run of each side is shown: heads of different runs have nothing to do with each other. */
static rotary_status fill_sides(const struct invocation *invocation, const struct texts *texts,
                                struct heatmaps *maps, rotary_error *error)
{
    const struct heatmap_options *options = invocation->options;
    int64_t shown = options->shown.given ? options->shown.value : DEFAULT_SHOWN;
    rotary_status status = ROTARY_OK;
    maps->texts = texts->inputs.count;
    maps->shown = shown < maps->texts ? shown : maps->texts;
    for (int side = 0; side < maps->side_count; side++)
        for (int i = 0; status == ROTARY_OK && i < maps->sides[side].run_count; i++)
            status = fill_run(invocation, texts, &maps->sides[side].runs[i], i == 0 ? maps->shown : 0, error);
    return status;
}

/* ---- results ---- */

static rotary_status check_output(void *context, const char *path, rotary_error *error)
{
    const struct heatmap_options *options = context;
    const char *inputs[] = {options->input, options->target};
    rotary_status status = file_check_output(path, inputs, 2, error);
    return status == ROTARY_OK ? folder_refuse_any(path, error) : status;
}

static rotary_status write_files(const struct invocation *invocation, const struct heatmaps *maps,
                                 json_t *written, rotary_error *error)
{
    const struct heatmap_options *options = invocation->options;
    char folder[FILE_PATH_BYTES];
    struct heatmap_options context = *options;
    rotary_status status = ROTARY_OK;
    if (!options->output)
        status = file_path(folder, invocation->operands.items[0], "heatmap", error);
    const struct heatmap_files files = {
        .folder = options->output ? options->output : folder, .check = check_output, .context = &context};
    if (status == ROTARY_OK)
        status = file_make_folder(files.folder, error);
    return status == ROTARY_OK ? heatmap_files_write(maps, &files, written, error) : status;
}

static void print_interval(struct interval interval, bool sign)
{
    printf(sign ? "%+.3f" : "%.3f", interval.mean);
    char text[INTERVAL_BYTES];
    if (interval.low <= interval.high)
        printf(" %s", interval_text(text, interval.low, interval.high, 3, sign));
}

/* The widest column of names of sides. */
static int name_width(const struct heatmaps *maps)
{
    int width = 0;
    for (int side = 0; side < maps->side_count; side++) {
        int length = (int)strlen(maps->sides[side].name);
        width = length > width ? length : width;
    }
    return width;
}

/* A line for each side: its entropy, and the difference from the first. */
static void print_layer(const struct heatmaps *maps, const char *name, struct heatmap_choice choice)
{
    for (int side = 0; side < maps->side_count; side++) {
        const int64_t layers = maps->sides[side].runs[0].kinds[choice.kind].layers;
        if (layers == 0 || choice.layer >= layers) /* runs of different depths */
            continue;
        printf("  %-22s %-*s  ", side == 0 ? name : "", name_width(maps), maps->sides[side].name);
        print_interval(heatmap_layer(maps, side, choice), false);
        if (heatmap_comparable(maps, side, choice.kind)) {
            printf("  difference ");
            print_interval(heatmap_contrast(maps, side, choice), true);
        }
        putchar('\n');
    }
}

/* Entropy by layer, as many as the first side has. */
static void print_layers(const struct heatmaps *maps, enum attention_kind kind)
{
    int64_t layers = maps->sides[0].runs[0].kinds[kind].layers;
    if (layers == 0)
        return;
    printf("%s, entropy in nats with 95%% intervals over %lld %s\n",
           heatmap_kind_title(kind, heatmap_has_encoder(maps)),
           (long long)(heatmap_units_are_runs(maps) ? maps->sides[0].run_count : maps->texts),
           heatmap_units_are_runs(maps) ? "runs, differences paired by seed" : "texts");
    for (int64_t layer = 0; layer <= layers; layer++) {
        char name[HEATMAP_LAYERS_BYTES];
        struct heatmap_choice choice = {kind, layer < layers ? layer : HEATMAP_DEEPER_HALF, HEAD_ENTROPY};
        snprintf(name, sizeof name, "layer %lld", (long long)layer + 1);
        print_layer(maps, layer < layers ? name : heatmap_deeper_half(name, layers), choice);
    }
}

static rotary_status print_results(const struct invocation *invocation, const struct heatmaps *maps,
                                   json_t *written, rotary_error *error)
{
    if (invocation->common.json) {
        json_t *object;
        rotary_status status = heatmap_json(maps, &object, error);
        if (status != ROTARY_OK)
            return status;
        json_object_set(object, "files", written);
        return result_print_json(object, error);
    }
    for (int kind = 0; kind < ATTENTION_KINDS; kind++)
        print_layers(maps, (enum attention_kind)kind);
    printf("%s and %zu other files\n", json_string_value(json_array_get(written, 0)),
           json_array_size(written) - 1);
    return ROTARY_OK;
}

/* A file or a text; for the target also neither. */
static rotary_status check_options(const struct heatmap_options *options, rotary_error *error)
{
    if ((!options->input && !options->text) || (options->text && !options->text[0]))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "heatmap wants --input FILE or --text TEXT");
    if (options->input && options->text)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--input and --text are both given: wanted one");
    if (options->target && options->target_text)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--target and --target-text are both given: wanted one");
    return ROTARY_OK;
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct heatmap_options *options = invocation->options;
    const struct operands *folders = &invocation->operands;
    rotary_error error = {0};
    struct texts texts;
    struct heatmaps maps = {0};
    if (check_options(options, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    json_t *written = json_array();
    rotary_status status = texts_read(&texts, options, &error);
    if (status == ROTARY_OK)
        status = heatmap_sides_read(&maps, folders->items, folders->count, options->arms, &error);
    if (status == ROTARY_OK)
        status = fill_sides(invocation, &texts, &maps, &error);
    if (status == ROTARY_OK)
        status = write_files(invocation, &maps, written, &error);
    if (status == ROTARY_OK)
        status = print_results(invocation, &maps, written, &error);
    json_decref(written);
    heatmaps_free(&maps);
    texts_free(&texts);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_heatmap = {
    .name = "heatmap",
    .operands = "DIR [DIR]",
    .summary = "shows what the heads of attention look at",
    .more =
        "DIR is a run's folder, or that of a Hugging Face model; with two, both are shown side by side on "
        "the same texts. Or DIR is a comparison's folder: its arms side by side, with the runs "
        "of the seeds that all have finished. Writes one HTML page that loads nothing else, in which one "
        "chooses text, layer and head and reads the weights; an SVG picture of every layer; and the weights "
        "as .npy, f32 [layers, heads, queries, keys]; and heatmap.json with the numbers. Prints the entropy "
        "of the weights by layer, and differences from the first side with intervals: over runs paired by "
        "seed, or with one run a side over texts. A text has at most 256 tokens. Of the tasks masked and "
        "classification it stands between the tokens that it was trained with, and masks are written as "
        "the vocabulary has them.",
    .example = "rotary heatmap runs/mine --text \"?s='dyjeofuxvejmg'; s[8:]==\" --max-new-tokens 8\n"
               "writes runs/mine/heatmap/heatmap.html: what a model trained on the task index looks at",
    .shared = {{checkpoint_option, 1, MEMBER(checkpoint)}},
    .options = heatmap_table,
    .option_count = sizeof heatmap_table / sizeof heatmap_table[0],
    .options_size = sizeof(struct heatmap_options),
    .min_operands = 1,
    .max_operands = 2,
    .run = run,
};
