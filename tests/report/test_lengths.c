/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores at other lengths, as text, as JSON and on the page.
 */
#include "records/sample_runs.h"
#include "report/comparison_table.h"
#include "report/page_reader.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTHS = 3, PROBLEMS = 128 };

static const int64_t lengths[LENGTHS] = {1024, 256, 512}; /* as a user may give them */
static const char *const ascending[LENGTHS] = {"256", "512", "1,024"};
static const int64_t ascending_lengths[LENGTHS] = {256, 512, 1024};

/* What a run answers; -1: it cannot. Arm `none` does not rotate, and roper ends at 512, where its scaled runs differ so
 * much that an interval without bounds would have more than 100%. */
static int64_t correct_of(const struct record *record, int64_t length, bool scaled)
{
    if ((scaled && strcmp(record->arm, "none") == 0) || (length > 512 && strcmp(record->arm, "roper") == 0))
        return -1;
    const bool rope = strcmp(record->arm, "rope") == 0;
    if (scaled && length == 512)
        return rope ? 1 : (record->seed % 3 ? PROBLEMS : 2);
    return (rope ? 60 : 30 + 4 * (record->seed % 2)) + 3 * record->seed - length / 64 + (scaled ? 7 : 0);
}

static void add_lengths(struct record *record)
{
    for (int i = 0; i < 2 * LENGTHS; i++) {
        const int64_t correct = correct_of(record, lengths[i / 2], i % 2);
        struct record_length length = {.length = lengths[i / 2], .possible = correct >= 0};
        strcpy(length.scaling, i % 2 ? "yarn" : "none");
        if (length.possible) {
            length.correct = correct;
            length.problems = PROBLEMS;
            length.loss = 1 + (double)correct / 100;
        }
        CHECK_INT(record_lengths_add(&record->lengths, &length, NULL), ROTARY_OK);
    }
}

/* In percent; NaN: none can. */
static double mean_of(const struct comparison *comparison, int arm, int64_t length, bool scaled)
{
    double sum = 0;
    const struct comparison_arm *shown = &comparison->arms[arm];
    for (int i = 0; i < shown->run_count; i++) {
        const int64_t correct = correct_of(&comparison->records[shown->runs[i]], length, scaled);
        sum += correct < 0 ? (double)NAN : 100.0 * (double)correct / PROBLEMS;
    }
    return sum / shown->run_count;
}

/* The paired differences of a contrast: as many as both arms can, their mean, and Student's interval, whose
 * standard error is that of the spread, or of the problems where that is larger. */
static void check_contrast(const struct comparison *comparison, const json_t *object, int index)
{
    const struct contrast *contrast = &comparison->contrasts[index];
    const json_t *list =
        json_object_get(json_array_get(json_object_get(object, "contrasts"), (size_t)index), "lengths");
    int wanted = 0;
    for (int i = 0; i < 2 * LENGTHS; i++) {
        double sum = 0, squares = 0, correct[2] = {0};
        int count = 0;
        for (int j = 0; j < contrast->pair_count; j++) {
            const int sides[2] = {contrast->pairs[j].arm, contrast->pairs[j].baseline};
            int64_t answers[2];
            for (int side = 0; side < 2; side++)
                answers[side] =
                    correct_of(&comparison->records[sides[side]], ascending_lengths[i / 2], i % 2);
            if (answers[0] < 0 || answers[1] < 0)
                continue;
            const double difference = 100.0 * (double)(answers[0] - answers[1]) / PROBLEMS;
            sum += difference;
            squares += difference * difference;
            correct[0] += (double)answers[0];
            correct[1] += (double)answers[1];
            count++;
        }
        if (count == 0)
            continue;
        const json_t *one = json_array_get(list, (size_t)wanted++);
        const double mean = sum / count, deviation = sqrt((squares - sum * mean) / (count - 1)), t = 2.570582;
        double noise = 0;
        for (int side = 0; side < 2; side++) {
            const double trials = (double)count * PROBLEMS + 4, share = (correct[side] + 2) / trials;
            noise += 1e4 * share * (1 - share) / trials;
        }
        check_about("contrast %d, %lld tokens", index, (long long)ascending_lengths[i / 2]);
        CHECK_INT(json_integer_value(json_object_get(one, "length")), ascending_lengths[i / 2]);
        CHECK_TEXT(json_string_value(json_object_get(one, "scaling")), i % 2 ? "yarn" : "none");
        CHECK_INT(json_integer_value(json_object_get(one, "pairs")), count);
        CHECK_INT(count, 6); /* of which t is the quantile */
        CHECK_NEAR(json_real_value(json_object_get(one, "mean")), mean, 1e-9);
        const double error = fmax(deviation / sqrt(count), sqrt(noise));
        CHECK_NEAR(json_real_value(json_object_get(one, "low")), fmax(mean - t * error, -100), 0.01 * error);
        CHECK_NEAR(json_real_value(json_object_get(one, "high")), fmin(mean + t * error, 100), 0.01 * error);
    }
    CHECK_INT((int64_t)json_array_size(list), wanted);
    check_about("%s", "");
}

static void check_text_and_json(const struct comparison *comparison)
{
    rotary_error error;
    char *text = NULL;
    json_t *object = NULL;
    CHECK_INT(comparison_text(comparison, &text, &error), ROTARY_OK);
    CHECK_INT(comparison_json(comparison, &object, &error), ROTARY_OK);
    const char *table = strstr(text, "\ntokens");
    if (!CHECK(table != NULL))
        return;
    CHECK(strncmp(table, "\ntokens            256       512      1024\nrope", 46) == 0);
    CHECK(strstr(table, "\nnone, yarn") == NULL);
    for (int arm = 0; arm < comparison->arm_count; arm++) {
        char line[128];
        const char *name = comparison->arms[arm].name;
        double values[2];
        snprintf(line, sizeof line, "\n%s ", name);
        const char *row = strstr(table, line);
        check_about("%s", name);
        if (!CHECK(row != NULL) ||
            !CHECK_INT(sscanf(row + strlen(line), "%lf %lf", &values[0], &values[1]), 2))
            continue;
        CHECK_NEAR(values[0], mean_of(comparison, arm, 256, false), 0.0501);
        CHECK_NEAR(values[1], mean_of(comparison, arm, 512, false), 0.0501);
        const json_t *list =
            json_object_get(json_array_get(json_object_get(object, "arms"), (size_t)arm), "lengths");
        CHECK_INT((int64_t)json_array_size(list), 2 * LENGTHS);
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *one = json_array_get(list, i), *mean = json_object_get(one, "mean");
            const bool scaled = strcmp(json_string_value(json_object_get(one, "scaling")), "yarn") == 0;
            const double wanted =
                mean_of(comparison, arm, json_integer_value(json_object_get(one, "length")), scaled);
            CHECK_INT(json_is_null(mean), isnan(wanted));
            if (!isnan(wanted))
                CHECK_NEAR(json_real_value(mean), wanted, 1e-9);
            CHECK_INT(json_integer_value(json_object_get(one, "runs")), comparison->arms[arm].run_count);
        }
    }
    check_about("%s", "");
    for (int i = 0; i < comparison->contrast_count; i++)
        check_contrast(comparison, object, i);
    free(text);
    json_decref(object);
}

/* Every arm has a marker at each of its means, and a thin curve where it is scaled. */
static void check_chart(const char *page, const struct comparison *comparison)
{
    const struct figure figure = figure_of(page, "Other lengths");
    for (int arm = 0; arm < comparison->arm_count; arm++) {
        struct element element;
        char class[16];
        int markers = 0, thin = 0;
        snprintf(class, sizeof class, "e%d", arm);
        check_about("the chart of %s", comparison->arms[arm].name);
        for (const char *at = figure.begin; figure_next(&figure, &at, "path", class, &element);) {
            thin += has_class(&element, "thin");
            if (has_class(&element, "curve"))
                continue;
            const double mean = mean_of(comparison, arm, ascending_lengths[markers], false);
            CHECK_NEAR(element.y1, figure_y(&figure, mean), 0.3);
            markers++;
        }
        CHECK_INT(markers, strcmp(comparison->arms[arm].name, "roper") == 0 ? 2 : 3);
        CHECK_INT(thin, strcmp(comparison->arms[arm].name, "none") != 0);
    }
    check_about("%s", "");
}

static void check_page(const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    char *page = page_of(collection);
    for (int arm = 0; arm < comparison->arm_count; arm++)
        for (int i = 0; i < LENGTHS; i++) {
            const double mean = mean_of(comparison, arm, ascending_lengths[i], false);
            char column[16], name[64];
            snprintf(column, sizeof column, "%lld", (long long)ascending_lengths[i]);
            check_about("%s at %s", comparison->arms[arm].name, ascending[i]);
            if (isnan(mean))
                CHECK_TEXT(page_cell(page, "Other lengths", column, comparison->arms[arm].name, NULL), "-");
            else
                CHECK_NEAR(page_number(page, "Other lengths", column, comparison->arms[arm].name, NULL), mean,
                           0.0501);
            if (strcmp(comparison->arms[arm].name, "rope") != 0)
                continue;
            snprintf(name, sizeof name, "%s, yarn", comparison->arms[arm].name);
            CHECK_NEAR(page_number(page, "Other lengths", column, name, NULL),
                       mean_of(comparison, arm, ascending_lengths[i], true), 0.0501);
        }
    check_chart(page, comparison);
    free(page);
}

int main(void)
{
    struct collection collection;
    sample_collection(&collection, sample_example, MADE_EXAMPLE, "exact_match",
                      (struct comparison_request){0});
    char *page = page_of(&collection);
    CHECK(strstr(page, "Other lengths") == NULL);
    free(page);
    for (int i = 0; i < collection.record_count; i++)
        add_lengths(&collection.records[i]);
    check_text_and_json(collection.comparison);
    check_page(&collection);
    collection_free(&collection);
    return check_report();
}
