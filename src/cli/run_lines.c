/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_lines.h"

#include "base/fail.h"
#include "cli/output/result.h"
#include "cli/shell_words.h"
#include "file/file.h"

#include <rotary/types.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const stage_names[] = {"sweep", "until", "runs",
                                          "finished"}; /* of enum comparison_stage */

/* The lines as they come. */
struct run_lines {
    const struct run_lines_call *call;
    json_t *lines; /* NULL without memory */
};

static void add_word(json_t *words, const char *word)
{
    json_array_append_new(words, json_string(word));
}

static void add_changes(json_t *words, const json_t *changes)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)changes, key, value) { /* jansson's parameter is not const */
        char *text = file_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT);
        add_word(words, "--set");
        json_array_append_new(words, json_sprintf("%s=%s", key, text));
        free(text);
    }
}

/* The options of the comparison that each run has too. */
static void add_options(json_t *words, const struct run_lines_call *call)
{
    const struct common_options *common = &call->invocation->common;
    if (common->threads.given) {
        add_word(words, "--threads");
        json_array_append_new(words, json_sprintf("%lld", (long long)common->threads.value));
    }
    if (common->isa.given) {
        add_word(words, "--isa");
        add_word(words, isa_names[common->isa.value]);
    }
    if (common->device.given) {
        add_word(words, "--device");
        add_word(words, device_names[common->device.value]);
    }
    if (call->compare->tensorboard)
        add_word(words, "--tensorboard");
}

static char *join(const json_t *words)
{
    const size_t count = json_array_size(words);
    const char **texts = calloc(count, sizeof *texts);
    if (!texts)
        return NULL;
    for (size_t i = 0; i < count; i++)
        texts[i] = json_string_value(json_array_get(words, i));
    char *line = shell_words((int)count, texts);
    free(texts);
    return line;
}

static void add_line(void *argument, const struct run_left *left)
{
    struct run_lines *lines = argument;
    const struct invocation *invocation = lines->call->invocation;
    json_t *words =
        json_pack("[s, s, s, s]", invocation->program, "train", invocation->operands.items[0], "--resume");
    add_changes(words, left->changes);
    add_options(words, lines->call);
    add_word(words, "--out");
    add_word(words, left->folder);
    char *line = join(words);
    json_decref(words);
    file_json_append(&lines->lines, json_pack("{s:s, s:s, s:I, s:I, s:s}", "run", left->run->name, "arm",
                                              left->run->arm, "seed", (json_int_t)left->run->seed,
                                              "steps_left", (json_int_t)left->steps, "command", line));
    free(line);
}

static void print_lines(const json_t *lines)
{
    for (size_t i = 0; i < json_array_size(lines); i++)
        printf("%s\n", json_string_value(json_object_get(json_array_get(lines, i), "command")));
}

static void say_what_follows(enum comparison_stage stage, size_t count)
{
    const char *runs = count == 1 ? "run is" : "runs are";
    switch (stage) {
    case COMPARISON_SWEEP:
        fprintf(
            stderr,
            "%zu %s left of the sweep; when done, this command again: it lists those that follow from it\n",
            count, runs);
        return;
    case COMPARISON_UNTIL:
        fprintf(stderr,
                "%zu %s left; when done, this command again: it lists those of the next seed, or none\n",
                count, runs);
        return;
    case COMPARISON_RUNS:
        fprintf(stderr, "%zu %s left; when done, this command without --list shows the results\n", count,
                runs);
        return;
    case COMPARISON_FINISHED:
        fprintf(stderr, "no run is left; this command without --list shows the results\n");
        return;
    }
}

rotary_status run_lines_print(const struct run_lines_call *call, rotary_error *error)
{
    struct run_lines lines = {.call = call, .lines = json_array()};
    struct compare_call compare = *call->compare;
    compare.left = add_line;
    compare.argument = &lines;
    enum comparison_stage stage;
    rotary_status status = comparison_list(&compare, &stage, error);
    if (status == ROTARY_OK && !lines.lines)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s, or the program's name, is not UTF-8",
                             compare.plan.folder);
    if (status == ROTARY_OK)
        say_what_follows(stage, json_array_size(lines.lines));
    if (status == ROTARY_OK && call->invocation->common.json)
        status = result_print_json(json_pack("{s:s, s:s, s:O}", "folder", compare.plan.folder, "stage",
                                             stage_names[stage], "runs", lines.lines),
                                   error);
    else if (status == ROTARY_OK)
        print_lines(lines.lines);
    json_decref(lines.lines);
    return status;
}
