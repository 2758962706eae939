/* SPDX-License-Identifier: Apache-2.0
 *
 * make_pages DIR: reports of made-up runs, for people, parsers and browsers to look at.
 *
 *     quick.html       three seeds of two arms, with scores by distance
 *     many.html        ten seeds of five arms, of a task without problems
 *     lengths.html     the same, scored at other lengths, by position
 *     unfinished.html  a comparison that was interrupted
 *     empty.html       a comparison that has not begun
 *     single.html      one run
 *     varied.html      values of two keys, each with every other, after an earlier look
 *     fourteen.html    six seeds of fourteen arms, which learn differently fast
 *     translated.html  three arms that translated, beside a page of heatmaps
 *     hostile.html     records full of markup and control characters
 *
 * and in DIR/figures what `rotary report --svg` makes of quick.html.
 */
#include "records/measured_decay.h"
#include "records/sample_runs.h"
#include "records/synthetic.h"
#include "records/translated_runs.h"
#include "report/report.h"
#include "support/check.h"
#include "support/scratch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {"rope", "roper", "none", "learned", "sinusoidal"};
static const double halves[] = {530, 380, 900, 700, 600};

/* Frees the collection. */
static void write_page(const char *output, const char *name, struct collection *collection)
{
    rotary_error error = {0};
    check_about("%s", name);
    if (!CHECK_INT(report_write(collection, synthetic_path(output, name), NULL, &error), ROTARY_OK))
        printf("    %s\n", error.message);
    collection_free(collection);
}

static void make(const char *output, const char *name, const char *folder)
{
    struct collection collection = synthetic_read(folder);
    write_page(output, name, &collection);
}

static void make_figures(const char *output, const char *folder)
{
    struct collection collection = synthetic_read(folder);
    rotary_error error = {0};
    CHECK_INT(report_figures(&collection, output, &error), ROTARY_OK);
    collection_free(&collection);
}

static void make_fourteen(const char *output)
{
    static const char *const arms[] = {"rope", "none",           "learned", "sinusoidal", "roper",
                                       "xpos", "alibi",          "t5",      "kerple",     "sandwich",
                                       "shaw", "transformer-xl", "deberta", "fire"};
    const char *folder = scratch_path("fourteen");
    struct synthetic_run run = synthetic_quick;
    double ends[14];
    for (int i = 0; i < 14; i++)
        ends[i] = 300 + 45.0 * (i * 5 % 14);
    run.evaluate_every = 50;
    synthetic_comparison(folder, &run, 6, 14, arms, ends);
    make(output, "fourteen.html", folder);
}

static void make_varied(const char *output)
{
    static const char *const arms[] = {"norm=layer_norm,value_fraction=0.5",
                                       "norm=layer_norm,value_fraction=1.0",
                                       "norm=rms_norm,value_fraction=0.5"};
    struct sample_run runs[MADE_EXAMPLE];
    sample_example_without_problems(runs);
    for (int i = 0; i < MADE_EXAMPLE; i++)
        runs[i].arm = arms[strcmp(runs[i].arm, "rope") == 0 ? 0 : strcmp(runs[i].arm, "roper") == 0 ? 1 : 2];
    const struct looks looks = {.seeds = (const int[]){3}, .count = 1};
    struct collection collection;
    sample_collection(
        &collection, runs, MADE_EXAMPLE, "validation_loss_area",
        (struct comparison_request){.all_pairs = true, .varied = "norm, value_fraction", .looks = &looks});
    write_page(output, "varied.html", &collection);
}

static void make_translated(const char *output)
{
    const char *folder = scratch_path("translated");
    translated_write(folder);
    struct collection collection = translated_read(folder);
    CHECK(collection.sentences && !collection.sentences->fault);
    synthetic_write(synthetic_path(output, "heatmap"), "heatmap.html", "");
    write_page(output, "translated.html", &collection);
    scratch_remove(synthetic_path(output, "heatmap"));
}

/* Scores of runs of a text at two lengths, with scalings; behind the trained length the perplexity rises. */
static void add_lengths(struct collection *collection)
{
    static const char *const scalings[] = {"none", "linear", "dynamic", "yarn"};
    for (int i = 0; i < collection->record_count; i++) {
        struct record *record = &collection->records[i];
        json_object_set_new(record->config, "sequence_length", json_integer(256));
        for (int64_t j = 0; j < record->evaluation_count; j++)
            record->evaluations[j].bits_per_byte = 2;
        for (int j = 0; j < 8; j++) {
            const int64_t length = j < 4 ? 256 : 1024;
            struct record_length scored = {.length = length,
                                           .possible = true,
                                           .loss = 1.5,
                                           .bits_per_byte = 2,
                                           .positions.length = length};
            snprintf(scored.scaling, sizeof scored.scaling, "%s", scalings[j % 4]);
            for (int64_t position = 0; position < length; position++)
                position_losses_add(
                    &scored.positions, position,
                    1.2 + 0.1 * (j % 4) + 3 / (double)(8 + position) +
                        (j % 4 == 0 && position > 256 ? 0.004 * (double)(position - 256) : 0));
            CHECK_INT(record_lengths_add(&record->lengths, &scored, NULL), ROTARY_OK);
        }
    }
}

/* Scores by distance of a run: two layers of ten heads in encoder and decoder. */
static void make_decay(const char *folder)
{
    struct measured_decay decay = {.position = "rope",
                                   .checkpoint = "best",
                                   .step = 600,
                                   .seed = 1,
                                   .sequences = 1234,
                                   .scaling = "none"};
    rotary_error error = {0};
    for (int i = ATTENTION_ENCODER; i <= ATTENTION_DECODER; i++) {
        struct decay_kind *kind = &decay.kinds[i];
        const struct decay_kind sizes = {
            .layers = 2,
            .heads = 10,
            .axes = {{i == ATTENTION_ENCODER ? -50 : 0, 300, NULL}, {0, 300, NULL}}};
        CHECK_INT(decay_kind_create(kind, &sizes, &error), ROTARY_OK);
        for (int64_t j = 0; j < 2 * 300; j++)
            kind->axes[DECAY_BY_DISTANCE].counts[j] = 300 - j % 300;
        for (int64_t j = 0; j < 2 * 10 * 300; j++)
            kind->means[DECAY_SCORE][j] =
                (double)(j / 300 % 10) * sin(0.02 * (double)j) - 0.01 * (double)(j % 300);
    }
    CHECK_INT(measured_decay_write(&decay, folder, &error), ROTARY_OK);
    measured_decay_free(&decay);
}

int main(int count, char **arguments)
{
    if (count != 2) {
        printf("usage: make_pages DIR\n");
        return 2;
    }
    const char *output = arguments[1];
    const char *folder = scratch_folder();
    struct synthetic_run run = synthetic_quick;
    run.evaluate_every = 50;
    synthetic_comparison(folder, &run, 3, 2, names, halves);
    make_decay(synthetic_path(folder, "rope-1"));
    make(output, "quick.html", folder);
    make_figures(synthetic_path(output, "figures"), folder);
    make(output, "single.html", synthetic_path(folder, "roper-2"));

    run.position = "roper";
    run.seed = 3;
    run.half = 380;
    run.done = 320;
    synthetic_run_of(folder, &run);
    make(output, "unfinished.html", folder);

    static const char *const runs[] = {"rope-1", "roper-1", "rope-2", "roper-2", "rope-3", "roper-3"};
    for (int i = 0; i < 6; i++)
        scratch_remove(synthetic_path(folder, runs[i]));
    make(output, "empty.html", folder);

    struct synthetic_run prefix = {
        .task = "prefix", .seed = 1, .steps = 13000, .done = 13000, .evaluate_every = 1000};
    double late[5];
    for (int i = 0; i < 5; i++)
        late[i] = 12 * halves[i];
    synthetic_comparison(folder, &prefix, 10, 5, names, late);
    make(output, "many.html", folder);

    struct collection texts = synthetic_read(folder);
    add_lengths(&texts);
    write_page(output, "lengths.html", &texts);

    make_fourteen(output);
    make_varied(output);
    make_translated(output);

    struct synthetic_run hostile = {
        .task = "<script>alert('task')</script>",
        .position = "</svg><b onclick=\"x\">&amp;",
        .seed = 1,
        .steps = 100,
        .done = 100,
        .evaluate_every = 20,
        .problems = 4,
        .half = 60,
        .prompt = "<img src=x onerror=alert(1)> & \"quoted\" 'too' \x01\x1b[31m ]]> <!-- é"};
    const char *place = synthetic_path(folder, "hostile");
    synthetic_run(place, &hostile);
    make(output, "hostile.html", place);
    return check_report();
}
