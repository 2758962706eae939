/* SPDX-License-Identifier: Apache-2.0
 *
 * The perplexity of a text by position: figures of the page, and as tables, JSON and comma-separated values.
 */
#include "records/sample_runs.h"
#include "report/comparison_table.h"
#include "report/page_reader.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRAINED = 128, LONGER = 512, BINS = POSITION_BINS };

/* The loss in a bin of a run: roper ends at training's length, rope has a scaling, none no tokens in bin 3.
 */
static double loss_of(const struct record *record, bool scaled, int64_t length, int bin)
{
    const bool rope = strcmp(record->arm, "rope") == 0;
    const double base = (rope ? 1.0 : 1.2) + 0.01 * (double)record->seed + 0.003 * bin + (scaled ? 0.1 : 0.0);
    return base + (rope && !scaled && length == LONGER && bin > 24 ? 6.0 : 0.0);
}

static struct record_length score_of(const struct record *record, int64_t length, bool scaled)
{
    struct record_length score = {.length = length, .possible = true};
    double total = 0;
    int64_t counted = 0;
    if (strcmp(record->arm, "roper") == 0 && length > TRAINED)
        score.possible = false;
    if (scaled && strcmp(record->arm, "rope") != 0)
        score.possible = false;
    strcpy(score.scaling, scaled ? "yarn" : "none");
    if (!score.possible)
        return score;
    score.positions.length = length;
    for (int bin = 0; bin < BINS; bin++) {
        struct position_bin *at = &score.positions.bins[bin];
        at->counted = strcmp(record->arm, "none") == 0 && bin == 3 ? 0 : 10 + bin;
        at->total = loss_of(record, scaled, length, bin) * (double)at->counted;
        total += at->total;
        counted += at->counted;
    }
    score.loss = total / (double)counted;
    score.bits_per_byte = score.loss / 2;
    return score;
}

static void add_lengths(struct record *record)
{
    json_object_set_new(record->config, "sequence_length", json_integer(TRAINED));
    for (int i = 0; i < 4; i++) {
        const struct record_length score = score_of(record, i / 2 ? LONGER : TRAINED, i % 2);
        CHECK_INT(record_lengths_add(&record->lengths, &score, NULL), ROTARY_OK);
    }
}

/* The mean over the runs of an arm, which all have the same tokens. */
static double mean_of(const struct comparison *comparison, int arm, int64_t length, bool scaled, int bin)
{
    const struct comparison_arm *shown = &comparison->arms[arm];
    double sum = 0;
    for (int i = 0; i < shown->run_count; i++)
        sum += loss_of(&comparison->records[shown->runs[i]], scaled, length, bin);
    return sum / shown->run_count;
}

/* Every point of a curve that is in the frame is at the middle of its bin and at its perplexity. */
static void check_curve(const struct figure *figure, const struct comparison *comparison, int arm,
                        bool scaled, int colour, int skipped)
{
    char class[16];
    int curves = 0;
    struct element element;
    snprintf(class, sizeof class, "e%d", colour);
    for (const char *at = figure->begin; figure_next(figure, &at, "path", class, &element);) {
        curves++;
        CHECK_INT(element.points, BINS - (skipped >= 0));
        for (int i = 0; i < element.points; i++) {
            const int bin = i + (skipped >= 0 && i >= skipped);
            const double perplexity = exp(mean_of(comparison, arm, LONGER, scaled, bin));
            CHECK_NEAR(element.x[i], figure_x(figure, (bin + 0.5) * LONGER / BINS), 0.3);
            if (perplexity < 100)
                CHECK_NEAR(element.y[i], figure_y(figure, perplexity), 0.3);
            else
                CHECK(element.y[i] < figure_y(figure, 12));
        }
    }
    CHECK_INT(curves, 1);
}

/* The dotted line at the length of training. */
static void check_trained(const struct figure *figure)
{
    struct element element;
    const char *at = figure->begin;
    if (CHECK(figure_next(figure, &at, "line", "goal", &element)))
        CHECK_NEAR(element.x1, figure_x(figure, TRAINED), 0.3);
}

static void check_page(const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    const int rope = comparison_find(comparison, "rope"), none = comparison_find(comparison, "none");
    char *page = page_of(collection);
    const struct figure arms = figure_of(page, "Perplexity by position"),
                        scalings = figure_of(page, "Perplexity by position, rope");
    check_about("%s", "arms");
    check_curve(&arms, comparison, rope, false, rope, -1);
    check_curve(&arms, comparison, none, false, none, 3);
    check_trained(&arms);
    check_about("%s", "scalings");
    check_curve(&scalings, comparison, rope, false, 0, -1);
    check_curve(&scalings, comparison, rope, true, 1, -1);
    check_trained(&scalings);
    check_about("%s", "");
    CHECK(strstr(page, "Perplexity by position, roper") == NULL);
    CHECK(strstr(page, "the 128 tokens of training") != NULL);
    free(page);
}

/* The mean loss of an arm at a length. */
static double score_mean(const struct comparison *comparison, int arm, int64_t length, bool scaled)
{
    const struct comparison_arm *shown = &comparison->arms[arm];
    double sum = 0;
    for (int i = 0; i < shown->run_count; i++)
        sum += score_of(&comparison->records[shown->runs[i]], length, scaled).loss;
    return sum / shown->run_count;
}

/* The perplexity is that of the mean loss, beside bits per byte. */
static void check_tables(const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    const int rope = comparison_find(comparison, "rope");
    char *page = page_of(collection), *text = NULL;
    const double loss = score_mean(comparison, rope, LONGER, true);
    CHECK_NEAR(page_number(page, "Other lengths: mean validation loss", "512", "rope, yarn", NULL), loss,
               1e-4);
    CHECK_NEAR(page_number(page, "Other lengths: mean perplexity", "512", "rope, yarn", NULL), exp(loss),
               1e-3);
    CHECK_NEAR(page_number(page, "Other lengths: mean bits per byte", "512", "rope, yarn", NULL), loss / 2,
               1e-4);
    free(page);
    CHECK_INT(comparison_text(comparison, &text, NULL), ROTARY_OK);
    CHECK(strstr(text, "other lengths, mean perplexity") &&
          strstr(text, "other lengths, mean bits per byte"));
    free(text);
}

/* The validation loss in other units: of the last evaluation, not of the best. */
static void check_text_scores(const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    const int rope = comparison_find(comparison, "rope");
    const struct comparison_arm *arm = &comparison->arms[rope];
    double loss = 0;
    for (int i = 0; i < arm->run_count; i++)
        loss += record_last_evaluation(&comparison->records[arm->runs[i]])->loss / arm->run_count;
    char *page = page_of(collection), *text = NULL, line[64];
    CHECK_NEAR(page_number(page, "Loss of the text", "perplexity", "rope", NULL), exp(loss), 1e-3);
    CHECK_NEAR(page_number(page, "Loss of the text", "bits per byte", "rope", NULL), 1.25 * loss, 1e-4);
    free(page);
    CHECK_INT(comparison_text(comparison, &text, NULL), ROTARY_OK);
    snprintf(line, sizeof line, "\n%-5s  %10.3f  %13.4f\n", "rope", exp(loss), 1.25 * loss);
    CHECK(strstr(text, line) != NULL);
    free(text);
    json_t *object = NULL;
    CHECK_INT(comparison_json(comparison, &object, NULL), ROTARY_OK);
    const json_t *scores =
        json_object_get(json_array_get(json_object_get(object, "arms"), (size_t)rope), "text");
    CHECK_NEAR(json_real_value(json_object_get(scores, "perplexity")), exp(loss), 1e-9);
    CHECK_NEAR(json_real_value(json_object_get(scores, "bits_per_byte")), 1.25 * loss, 1e-9);
    json_decref(object);
}

static void check_json(const struct comparison *comparison)
{
    json_t *object = NULL;
    CHECK_INT(comparison_json(comparison, &object, NULL), ROTARY_OK);
    const int rope = comparison_find(comparison, "rope");
    const json_t *lengths =
        json_object_get(json_array_get(json_object_get(object, "arms"), (size_t)rope), "lengths");
    const json_t *last = json_array_get(lengths, json_array_size(lengths) - 1);
    CHECK_TEXT(json_string_value(json_object_get(last, "scaling")), "yarn");
    CHECK_INT(json_integer_value(json_object_get(last, "length")), LONGER);
    const double loss = score_mean(comparison, rope, LONGER, true);
    CHECK_NEAR(json_real_value(json_object_get(last, "perplexity")), exp(loss), 1e-9);
    CHECK_NEAR(json_real_value(json_object_get(last, "bits_per_byte")), loss / 2, 1e-9);
    const json_t *positions = json_object_get(last, "positions");
    CHECK_INT((int64_t)json_array_size(positions), BINS);
    for (int bin = 0; bin < BINS; bin++) {
        const json_t *one = json_array_get(positions, (size_t)bin);
        CHECK_INT(json_integer_value(json_object_get(one, "begin")), bin * LONGER / BINS);
        CHECK_INT(json_integer_value(json_object_get(one, "tokens")),
                  (10 + bin) * comparison->arms[rope].run_count);
        CHECK_NEAR(json_real_value(json_object_get(one, "loss")),
                   mean_of(comparison, rope, LONGER, true, bin), 1e-9);
    }
    json_decref(object);
}

static void check_csv(const struct collection *collection)
{
    char *text = NULL, line[256];
    const struct record *record = &collection->records[0];
    CHECK_TEXT(record->arm, "rope");
    CHECK_INT(comparison_csv(collection, CSV_POSITIONS, &text, NULL), ROTARY_OK);
    CHECK(strncmp(text, "arm,seed,scaling,length,begin,tokens,loss,perplexity\n", 53) == 0);
    snprintf(line, sizeof line, "\nrope,%d,yarn,512,32,12,", (int)record->seed);
    const char *row = strstr(text, line);
    double loss, perplexity;
    if (CHECK(row) && CHECK_INT(sscanf(row + strlen(line), "%lf,%lf", &loss, &perplexity), 2)) {
        CHECK_NEAR(loss, loss_of(record, true, LONGER, 2), 1e-9);
        CHECK_NEAR(perplexity, exp(loss), 1e-9);
    }
    CHECK(strstr(text, "none,1,none,512,48,0,,\n") != NULL);
    free(text);
    CHECK_INT(comparison_csv(collection, CSV_LENGTHS, &text, NULL), ROTARY_OK);
    CHECK(strncmp(text, "arm,seed,scaling,length,correct,problems,loss,perplexity,bits_per_byte\n", 71) == 0);
    CHECK(strstr(text, "\nroper,1,none,512,,,,,\n") != NULL);
    free(text);
}

int main(void)
{
    struct sample_run runs[MADE_EXAMPLE];
    struct collection collection;
    sample_example_without_problems(runs);
    sample_collection(&collection, runs, MADE_EXAMPLE, "validation_loss", (struct comparison_request){0});
    char *page = page_of(&collection);
    CHECK(strstr(page, "Perplexity by position") == NULL && strstr(page, "Loss of the text") == NULL);
    free(page);
    for (int i = 0; i < collection.record_count; i++)
        for (int64_t j = 0; j < collection.records[i].evaluation_count; j++)
            collection.records[i].evaluations[j].bits_per_byte =
                1.25 * collection.records[i].evaluations[j].loss;
    check_text_scores(&collection);
    for (int i = 0; i < collection.record_count; i++)
        add_lengths(&collection.records[i]);
    check_page(&collection);
    check_tables(&collection);
    check_json(collection.comparison);
    check_csv(&collection);
    collection_free(&collection);
    return check_report();
}
