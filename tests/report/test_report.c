/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a report, then complete reports.
 */
#include "records/synthetic.h"
#include "report/chart/series.h"
#include "report/chart/svg.h"
#include "report/findings.h"
#include "report/html.h"
#include "report/report.h"
#include "support/check.h"
#include "support/scratch.h"

#include "file/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_written(void (*write)(FILE *stream, const char *text), const char *text, const char *wanted)
{
    char *got;
    size_t size;
    FILE *stream = open_memstream(&got, &size);
    write(stream, text);
    fclose(stream);
    CHECK_TEXT(got, wanted);
    free(got);
}

static void check_html(void)
{
    check_about("html");
    check_written(html_text, "a<b>&\"'\n\té", "a&lt;b&gt;&amp;&quot;&#39;\n\té");
    check_written(html_text, "\x01\x1b\x7f", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    check_written(html_sentence, "-1.5 of [-2, +3] (-4), a-1 <b> p <= 0.05, x - y, none-1",
                  "−1.5 of [−2, +3] (−4), a-1 &lt;b&gt; p ≤ 0.05, x - y, none-1");
    char number[HTML_NUMBER_BYTES];
    CHECK_TEXT(html_number(number, 12.345, 1, 1), "+12.3");
    CHECK_TEXT(html_number(number, -0.07, 2, 1), "−0.07");
    CHECK_TEXT(html_number(number, -0.04, 1, 1), "0.0"); /* no sign where nothing is left */
    CHECK_TEXT(html_number(number, (double)NAN, 1, 1), "–");
    CHECK_TEXT(html_count(number, 0), "0");
    CHECK_TEXT(html_count(number, 999), "999");
    CHECK_TEXT(html_count(number, 65000), "65,000");
    CHECK_TEXT(html_count(number, -1234567), "−1,234,567");
}

/* Ranges of every size and place: ticks are few, inside, and round. */
static void check_scales(void)
{
    for (uint64_t i = 0; i < 2000; i++) {
        double low = (double)check_random(1, 2 * i, 20), high = (double)check_random(1, 2 * i + 1, 20);
        if (high < low) {
            double swap = low;
            low = high;
            high = swap;
        }
        check_about("range %g %g", low, high);
        double from = low, to = high;
        svg_round_range(&low, &high);
        double room = high - low;
        CHECK(low <= from + 1e-5 * room && high >= to - 1e-5 * room && low < high);
        CHECK(room <= 1.51 * (to - from) || to - from < 1e-8 * fabs(to));
        struct svg_ticks ticks = svg_ticks_of(low, high, 5);
        CHECK(ticks.count >= 2 && ticks.count <= 7);
        double last = ticks.first + (ticks.count - 1) * ticks.distance;
        CHECK(ticks.first >= low - 1e-5 * room && last <= high + 1e-5 * room);
        double digit = ticks.distance / pow(10, floor(log10(ticks.distance) + 1e-9));
        CHECK(fmin(fabs(digit - 1), fmin(fabs(digit - 2), fabs(digit - 5))) < 1e-6);
        CHECK_NEAR(ticks.distance * pow(10, ticks.decimals), round(ticks.distance * pow(10, ticks.decimals)),
                   1e-6 * ticks.distance * pow(10, ticks.decimals));
        struct svg_scale scale = {low, high, 400, 10, false}; /* upwards, as the vertical one */
        CHECK_NEAR(svg_place(scale, low), 400, 0);
        CHECK_NEAR(svg_place(scale, (low + high) / 2), 205, 1e-9);
    }
    check_about("a logarithmic scale");
    const struct svg_scale log = {0.1, 1000, 400, 0, true};
    CHECK_NEAR(svg_place(log, 0.1), 400, 1e-9);
    CHECK_NEAR(svg_place(log, 10), 200, 1e-9);
    CHECK_NEAR(svg_place(log, 1000), 0, 1e-9);
    check_about("a range of one value");
    double low = 3, high = 3;
    svg_round_range(&low, &high);
    CHECK(low < 3 && high > 3);
    low = high = 0;
    svg_round_range(&low, &high);
    CHECK(low < 0 && high > 0);
}

static const char *const names[] = {"rope", "roper"};

static void check_series(const char *folder)
{
    struct collection collection = synthetic_read(folder);
    struct series series;
    rotary_error error;
    check_about("series of exact match");
    CHECK_INT(series_create(&series, &collection, SERIES_EXACT_MATCH, &error), ROTARY_OK);
    CHECK_INT(series.count, 8); /* six runs, two means */
    CHECK(series.curves[7].mean && series.curves[7].arm == 1 && !series.curves[5].mean);
    for (int i = 0; i < series.curves[7].count; i++) {
        double sum = 0;
        for (int j = 1; j < 6; j += 2)
            sum += series.curves[j].points[i].value;
        CHECK_NEAR(series.curves[7].points[i].value, sum / 3, 1e-12);
        CHECK_NEAR(series.curves[7].points[i].step, 100 * (i + 1), 0);
    }
    series_free(&series);

    check_about("series of losses");
    CHECK_INT(series_create(&series, &collection, SERIES_TRAINING_LOSS, &error), ROTARY_OK);
    CHECK_INT(series.curves[0].count, 60); /* fewer lines than bins: one point each */
    CHECK_NEAR(series.curves[0].points[7].value, collection.records[0].points[7].loss, 0);
    series_free(&series);

    check_about("a run that averaged its weights at its third evaluation, and one evaluated twice at a step");
    struct record *records = collection.records;
    const int64_t evaluations = records[0].evaluation_count;
    records[0].evaluations[2].averaged = true;
    records[0].evaluations[2].step = records[0].evaluations[1].step;
    records[1].evaluations[2].step = records[1].evaluations[1].step;
    CHECK_INT(series_create(&series, &collection, SERIES_VALIDATION_LOSS, &error), ROTARY_OK);
    CHECK_INT(series.curves[0].count, evaluations - 1);
    CHECK_INT(series.curves[1].count, evaluations - 1);
    CHECK_NEAR(series.curves[0].points[1].value, records[0].evaluations[1].loss, 0);
    CHECK_NEAR(series.curves[1].points[1].value, records[1].evaluations[2].loss, 0);
    series_free(&series);
    collection_free(&collection);

    check_about("series of many losses");
    struct synthetic_run run = synthetic_quick;
    run.position = "rope";
    run.steps = 12000;
    run.done = 9000;
    run.half = 5000;
    const char *place = synthetic_path(folder, "long");
    synthetic_run(place, &run);
    collection = synthetic_read(place);
    CHECK_INT(series_create(&series, &collection, SERIES_TRAINING_LOSS, &error), ROTARY_OK);
    CHECK_INT(series.count, 1); /* no mean of a single run */
    CHECK(!series.curves[0].finished);
    CHECK_INT(series.curves[0].count, SERIES_POINTS * 9000 / 12000);
    double sum = 0, shares = 0;
    for (int i = 0; i < 900; i++)
        sum += collection.records[0].points[i].loss;
    for (int i = 0; i < series.curves[0].count; i++)
        shares += series.curves[0].points[i].value; /* five lines each */
    CHECK_NEAR(5 * shares, sum, 1e-9);
    CHECK_NEAR(series.curves[0].points[0].step, 50, 0);
    series_free(&series);
    collection_free(&collection);
    scratch_remove(place);
}

/* The page of a folder; the caller frees it. */
static char *page_of(const char *folder)
{
    rotary_error error = {0};
    const char *path = synthetic_path(folder, "report.html");
    char *text = NULL;
    size_t count;
    struct collection collection = synthetic_read(folder);
    if (!CHECK_INT(report_write(&collection, path, NULL, &error), ROTARY_OK))
        printf("    %s\n", error.message);
    collection_free(&collection);
    CHECK_INT(file_read(path, 1 << 24, &text, &count, &error), ROTARY_OK);
    return text;
}

static int occurrences(const char *text, const char *word)
{
    int count = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        count++;
    return count;
}

/* Whether the page has the sentence, which is printed with ASCII signs. */
static void check_says(const char *page, const char *sentence)
{
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    html_sentence(stream, sentence);
    fclose(stream);
    CHECK(strstr(page, text) != NULL);
    free(text);
}

static void check_comparison(const char *folder)
{
    check_about("a comparison");
    char *page = page_of(folder), *again = page_of(folder);
    CHECK_TEXT(again, page); /* a function of the records alone */
    struct collection collection = synthetic_read(folder);
    rotary_error error;
    struct findings findings;
    CHECK_INT(findings_create(&findings, collection.comparison, &error), ROTARY_OK);
    check_says(page, findings.verdicts.items[0]);
    findings_free(&findings);
    CHECK(strstr(page, "by sign flips of the seeds, jointly for all differences") != NULL);
    CHECK(strstr(page, "rotary compare index --positions rope,roper") != NULL);
    CHECK(strstr(page, "<th scope=\"row\">seed</th><td>1, 2, 3</td>") != NULL);
    CHECK(strstr(page, "<th scope=\"row\">position</th><td>rope, roper</td>") != NULL);
    CHECK_INT(occurrences(page, "<figure"), 5);
    CHECK_INT(occurrences(page, "class=\"card sample\""), 6);
    CHECK_INT(occurrences(page, "aria-label=\"correct\"") + occurrences(page, "aria-label=\"incorrect\""),
              12);
    CHECK(occurrences(page, "aria-label=\"incorrect\"") > 0);
    CHECK(strstr(page, "runs are finished") == NULL);
    CHECK(strstr(page, "http") == NULL && strstr(page, "url(") == NULL);
    CHECK_INT(occurrences(page, "<script"), 1);
    CHECK(strstr(page, folder) == NULL);
    collection_free(&collection);
    free(page);
    free(again);
}

static void check_parts(const char *folder)
{
    check_about("a single run");
    char *page = page_of(synthetic_path(folder, "rope-1"));
    CHECK_INT(occurrences(page, "<figure"), 3); /* nothing to compare */
    CHECK(strstr(page, "One run of 600 steps.") != NULL && strstr(page, "difference") == NULL);
    free(page);

    check_about("an unfinished comparison");
    synthetic_stop(folder, 3, 210, false);
    page = page_of(folder);
    struct collection collection = synthetic_read(folder);
    struct series series;
    rotary_error error = {0};
    CHECK_INT(series_create(&series, &collection, SERIES_EXACT_MATCH, &error), ROTARY_OK);
    CHECK(series.curves[7].mean && series.curves[7].arm == 1 && series.curves[5].count == 2);
    CHECK_INT(series.curves[7].count, 6); /* of the two that are finished */
    CHECK_NEAR(series.curves[7].points[5].value,
               (series.curves[1].points[5].value + series.curves[3].points[5].value) / 2, 1e-12);
    series_free(&series);
    collection_free(&collection);
    CHECK(strstr(page, "5 of 6 runs are finished") != NULL);
    CHECK(strstr(page, "thin unfinished\"") != NULL && strstr(page, "roper, seed 3, unfinished") != NULL);
    free(page);

    check_about("a run that diverged");
    synthetic_stop(folder, 3, 210, true);
    page = page_of(folder);
    CHECK(strstr(page, "runs are finished") == NULL);
    CHECK(strstr(page, "roper: 1 of 3 runs diverged and has no score: seed 3 at step 211.") != NULL);
    CHECK_INT(occurrences(page, "<td>diverged</td>"), 1);
    free(page);

    check_about("damage");
    synthetic_append(synthetic_path(folder, "roper-3"), "metrics.jsonl", "no JSON\n{}\n");
    CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "metrics.jsonl, line ") != NULL);
    CHECK_INT(collection_read(&collection, &(const char *){"/no/such/folder"}, 1, &error), ROTARY_IO_ERROR);
    collection = synthetic_read(synthetic_path(folder, "rope-1"));
    CHECK_INT(report_write(&collection, "/no/such/folder/page.html", NULL, &error), ROTARY_IO_ERROR);
    collection_free(&collection);
}

static void check_hostile(const char *folder)
{
    check_about("hostile text");
    struct synthetic_run run = synthetic_quick;
    run.position = "</svg><b onclick=\"x\">";
    run.task = "<script>alert(1)</script>";
    run.prompt = "<img src=x onerror=alert(2)>\x01";
    run.half = 300;
    const char *place = synthetic_path(folder, "hostile");
    synthetic_run(place, &run);
    char *page = page_of(place);
    CHECK(strstr(page, "<script>alert") == NULL && strstr(page, "<img") == NULL &&
          strstr(page, "<b onclick") == NULL);
    CHECK(strchr(page, '\x01') == NULL);
    CHECK(strstr(page, "&lt;img src=x onerror=alert(2)&gt;") != NULL);
    CHECK(strstr(page, "&lt;/svg&gt;&lt;b onclick=&quot;x&quot;&gt;") != NULL);
    free(page);
}

int main(void)
{
    const char *folder = scratch_folder();
    synthetic_comparison(folder, &synthetic_quick, 3, 2, names, (double[]){530, 380});
    check_html();
    check_scales();
    check_series(folder);
    check_comparison(folder);
    check_parts(folder);
    check_hostile(folder);
    return check_report();
}
