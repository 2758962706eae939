/* SPDX-License-Identifier: Apache-2.0
 *
 * What arms cost, as text, as JSON and on the page.
 */
#include "records/sample_runs.h"
#include "report/comparison_table.h"
#include "report/page_reader.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The made runs log 100 + 4 seed tokens per second of rope, 110 + 4 seed of roper and 100 of none. The seeds
 * that rope and another arm both have finished are 1, 2, 3, 5, 7 and 8: the median is the mean of those of 3
 * and 5. */
static const double times[] = {1, (112.0 / 122 + 120.0 / 130) / 2, 1.16};

/* By their validation loss. */
static const char *const best_first[] = {"roper", "rope", "none"};

static void check_printed(const struct comparison *comparison)
{
    rotary_error error;
    char *text = NULL;
    CHECK_INT(comparison_text(comparison, &text, &error), ROTARY_OK);
    const char *table = strstr(text, "\ncost");
    if (!CHECK(table != NULL))
        return;
    for (int i = 0; i < 3; i++) {
        char name[8] = "";
        double mean, time;
        long long parameters;
        table = strchr(table + 1, '\n');
        CHECK_INT(sscanf(table, " %7s %lf %lld %lf", name, &mean, &parameters, &time), 4);
        CHECK_TEXT(name, best_first[i]);
        const int index = comparison_find(comparison, best_first[i]);
        const struct comparison_arm *arm = &comparison->arms[index];
        CHECK_NEAR(mean, arm->statistics[MEASURE_VALIDATION_LOSS].mean, 1e-4);
        CHECK_INT(parameters, sample_parameters(name));
        CHECK_NEAR(time, times[index], 0.00501);
    }
    free(text);
}

static void check_json(const struct comparison *comparison)
{
    rotary_error error;
    json_t *object;
    if (!CHECK_INT(comparison_json(comparison, &object, &error), ROTARY_OK))
        return;
    for (size_t i = 0; i < 3; i++) {
        const json_t *arm = json_array_get(json_object_get(object, "arms"), i),
                     *cost = json_object_get(arm, "cost");
        CHECK_INT(json_integer_value(json_object_get(cost, "parameters")),
                  sample_parameters(json_string_value(json_object_get(arm, "name"))));
        CHECK_NEAR(json_real_value(json_object_get(cost, "time")), times[i], 1e-12);
    }
    json_decref(object);
}

/* Every arm has its marker at its cost and mean score, and its name, which a line leads to. */
static void check_chart(const char *page, const struct comparison *comparison, const char *title,
                        const double cost[3])
{
    const struct figure figure = figure_of(page, title);
    for (int i = 0; i < 3; i++) {
        const double y = figure_y(&figure, comparison->arms[i].statistics[MEASURE_VALIDATION_LOSS].mean);
        struct element marker, name, line;
        char class[4];
        double name_y = 0;
        bool found = false, led = false;
        snprintf(class, sizeof class, "e%d", i);
        check_about("%s of %s", title, comparison->arms[i].name);
        for (const char *at = figure.begin; figure_next(&figure, &at, "path", class, &marker);) {
            found = true;
            char wanted[64];
            snprintf(wanted, sizeof wanted, "%s: %.4f, ", comparison->arms[i].name,
                     comparison->arms[i].statistics[MEASURE_VALIDATION_LOSS].mean);
            CHECK(strncmp(marker.text, wanted, strlen(wanted)) == 0);
            CHECK_NEAR(marker.x1, figure_x(&figure, cost[i]), 0.3);
            CHECK_NEAR(marker.y1, y, 0.3);
        }
        for (const char *at = figure.begin; figure_next(&figure, &at, "text", class, &name);)
            name_y = strcmp(name.text, comparison->arms[i].name) == 0 ? name.y1 - 4.5 : name_y;
        for (const char *at = figure.begin; figure_next(&figure, &at, "line", "leader", &line);)
            led = led || (fabs(line.x1 - figure_x(&figure, cost[i])) < 0.3 && fabs(line.y1 - y) < 0.3 &&
                          fabs(line.y2 - name_y) < 0.3);
        CHECK(found);
        CHECK(led);
    }
}

static void check_page(const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    char *page = page_of(collection);
    for (int i = 0; i < 3; i++) {
        const struct comparison_arm *arm = &comparison->arms[i];
        check_about("the cost of %s", arm->name);
        CHECK_NEAR(page_number(page, "Cost", "mean, validation loss, nats per token", arm->name, NULL),
                   arm->statistics[MEASURE_VALIDATION_LOSS].mean, 1e-4);
        CHECK_NEAR(page_number(page, "Cost", "parameters", arm->name, NULL),
                   (double)sample_parameters(arm->name), 0);
        CHECK_NEAR(page_number(page, "Cost", "time", arm->name, NULL), times[i], 0.00501);
    }
    double parameters[3];
    for (int i = 0; i < 3; i++)
        parameters[i] = (double)sample_parameters(comparison->arms[i].name);
    check_chart(page, comparison, "Score and time", times);
    check_chart(page, comparison, "Score and parameters", parameters);
    free(page);
}

int main(void)
{
    struct collection collection;
    sample_collection(&collection, sample_example, MADE_EXAMPLE, "validation_loss",
                      (struct comparison_request){0});
    check_printed(collection.comparison);
    check_json(collection.comparison);
    check_page(&collection);

    check_about("no parameters are recorded");
    char *text = NULL;
    for (int i = 0; i < 3; i++)
        collection.comparison->arms[i].cost.parameters = 0;
    CHECK_INT(comparison_text(collection.comparison, &text, NULL), ROTARY_OK);
    CHECK(strstr(text, "\ncost") == NULL);
    free(text);
    char *page = page_of(&collection);
    CHECK(strstr(page, "Score and time") == NULL && strstr(page, "Cost") == NULL);
    free(page);
    collection_free(&collection);
    return check_report();
}
