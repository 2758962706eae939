/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the page that are tables, and the models' answers.
 */
#include "report/comparison_table.h"
#include "report/html.h"
#include "report/page.h"
#include "report/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_name(FILE *stream, const struct comparison *comparison, int index)
{
    fprintf(stream, "<th scope=\"row\" class=\"%s\">", svg_arm_class(index));
    html_text(stream, comparison->arms[index].name);
    fputs("</th>", stream);
}

static void write_number(FILE *stream, double value, int decimals)
{
    char number[HTML_NUMBER_BYTES];
    fprintf(stream, "<td>%s</td>", html_number(number, value, decimals, 0));
}

void page_reached(FILE *stream, const struct reached *reached, int64_t steps)
{
    char number[HTML_NUMBER_BYTES];
    if (!reached->count)
        fputs("–", stream);
    else if (isinf(reached->median))
        fprintf(stream, "&gt; %s (%d of %d)", html_count(number, steps), reached->reached, reached->count);
    else
        fprintf(stream, "%s (%d of %d)", html_count(number, (int64_t)reached->median), reached->reached,
                reached->count);
}

static void write_difference(FILE *stream, const struct paired_difference *difference, int decimals)
{
    char number[HTML_NUMBER_BYTES];
    if (isnan(difference->mean)) {
        fputs("<td>–</td>", stream);
        return;
    }
    fprintf(stream, "<td>%s", html_number(number, difference->mean, decimals, 1));
    if (difference->count > 1) {
        fprintf(stream, " [%s", html_number(number, difference->low, decimals, 1));
        fprintf(stream, ", %s]", html_number(number, difference->high, decimals, 1));
    }
    fputs("</td>", stream);
}

void page_statistics(FILE *stream, const struct comparison *comparison, enum measure measure)
{
    int decimals = measure_descriptions[measure].decimals;
    char problems[HTML_NUMBER_BYTES];
    fputs("<div class=\"scroll\"><table class=\"sticky\">\n<caption>", stream);
    if (measure == MEASURE_EXACT_MATCH)
        fprintf(stream, "Exact match, %% of %s problems", html_count(problems, comparison->problems));
    else
        fputs("Validation loss, nats per token", stream);
    fprintf(stream,
            "</caption>\n"
            "<thead><tr><th>encoding</th><th>runs</th><th>mean</th><th>median</th>"
            "<th>st. dev.</th><th>min</th><th>max</th><th>w/o worst</th>%s%s</tr></thead>\n"
            "<tbody>\n",
            measure == MEASURE_EXACT_MATCH ? "<th>steps to 90%</th>" : "",
            comparison->arm_count > 1 ? "<th>difference [95% interval]</th>" : "");
    for (int i = 0; i < comparison->arm_count; i++) {
        const struct comparison_arm *arm = &comparison->arms[i];
        const struct statistics *statistics = &arm->statistics[measure];
        fputs("<tr>", stream);
        write_name(stream, comparison, i);
        fprintf(stream, "<td>%d</td>", statistics->count);
        write_number(stream, statistics->mean, decimals);
        write_number(stream, statistics->median, decimals);
        write_number(stream, statistics->deviation, decimals);
        write_number(stream, statistics->min, decimals);
        write_number(stream, statistics->max, decimals);
        write_number(stream, statistics->without_worst, decimals);
        if (measure == MEASURE_EXACT_MATCH) {
            fputs("<td>", stream);
            page_reached(stream, &arm->reached, comparison->steps);
            fputs("</td>", stream);
        }
        if (i > 0)
            write_difference(stream, &comparison_contrast(comparison, i)->difference[measure], decimals);
        else if (comparison->arm_count > 1)
            fputs("<td></td>", stream);
        fputs("</tr>\n", stream);
    }
    fputs("</tbody></table></div>\n", stream);
}

static void write_run(FILE *stream, const struct comparison *comparison, const struct record *record)
{
    const struct record_evaluation *last = record_last_evaluation(record);
    int64_t reached = record_steps_to(record, 0.9);
    char number[HTML_NUMBER_BYTES];
    fputs("<tr>", stream);
    write_name(stream, comparison, comparison_find(comparison, record->arm));
    fprintf(stream, "<td>%lld</td><td>%s</td>", (long long)record->seed, html_count(number, record->done));
    if (comparison->has_problems) {
        if (last)
            fprintf(stream, "<td>%lld</td><td>%s</td>", (long long)last->correct,
                    reached == NOT_REACHED ? "–" : html_count(number, reached));
        else
            fputs("<td>–</td><td>–</td>", stream);
    }
    write_number(stream, last ? last->loss : (double)NAN,
                 measure_descriptions[MEASURE_VALIDATION_LOSS].decimals);
    const char *end = record->diverged ? "diverged" : record_finished(record) ? "finished" : "unfinished";
    fprintf(stream, "<td>%s</td></tr>\n", end);
}

void page_runs(FILE *stream, const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    char problems[HTML_NUMBER_BYTES];
    fprintf(stream, "<details>\n"
                    "<summary>Every run</summary>\n"
                    "<div class=\"scroll\"><table class=\"sticky\">\n"
                    "<thead><tr><th>encoding</th><th>seed</th><th>steps</th>");
    if (comparison->has_problems)
        fprintf(stream, "<th>correct of %s</th><th>steps to 90%%</th>",
                html_count(problems, comparison->problems));
    fputs("<th>validation loss</th><th></th></tr></thead>\n<tbody>\n", stream);
    for (int i = 0; i < collection->record_count; i++)
        write_run(stream, comparison, &collection->records[i]);
    fputs("</tbody></table></div>\n</details>\n", stream);
}

/* The run of arm `name` with the seed of `first`: their answers are shown side by side. */
static const struct record *partner_of(const struct collection *collection, const struct record *first,
                                       const char *name)
{
    for (int i = 0; i < collection->record_count; i++) {
        const struct record *record = &collection->records[i];
        if (record->sample_count && record->seed == first->seed && strcmp(record->arm, name) == 0)
            return record;
    }
    return NULL;
}

static void write_answer(FILE *stream, const struct comparison *comparison, int index,
                         const struct record_sample *sample)
{
    fprintf(stream, "<p class=\"answer\"><span class=\"who %s\">", svg_arm_class(index));
    html_text(stream, comparison->arms[index].name);
    fputs(
        sample->correct
            ? "</span><b class=\"correct\" role=\"img\" aria-label=\"correct\">✓</b><code class=\"correct\">"
            : "</span><b class=\"incorrect\" role=\"img\" aria-label=\"incorrect\">✗</b><code "
              "class=\"incorrect\">",
        stream);
    html_text(stream, *sample->generated ? sample->generated : "(nothing)");
    fputs("</code></p>\n", stream);
}

static void write_sample(FILE *stream, const struct collection *collection, const struct record *first,
                         int64_t at)
{
    const struct comparison *comparison = collection->comparison;
    const struct record_sample *sample = &first->samples[at];
    fputs("<div class=\"card sample\">\n<p class=\"prompt\"><code>", stream);
    html_text(stream, sample->prompt);
    fputs("</code></p>\n<p class=\"answer reference\"><span>reference</span><b></b><code>", stream);
    html_text(stream, sample->answer);
    fputs("</code></p>\n", stream);
    for (int i = 0; i < comparison->arm_count; i++) {
        const struct record *record = partner_of(collection, first, comparison->arms[i].name);
        if (record && at < record->sample_count && strcmp(record->samples[at].prompt, sample->prompt) == 0)
            write_answer(stream, comparison, i, &record->samples[at]);
    }
    fputs("</div>\n", stream);
}

void page_samples(FILE *stream, const struct collection *collection)
{
    const struct record *first = NULL;
    for (int i = 0; i < collection->record_count && !first; i++)
        if (collection->records[i].sample_count)
            first = &collection->records[i];
    if (!first)
        return;
    fprintf(stream,
            "<h2>Problems and answers</h2>\n"
            "<p class=\"note\">The first problems of the last evaluation with seed %lld, and what the "
            "model%s generated.</p>\n"
            "<section class=\"grid2\">\n",
            (long long)first->seed, collection->comparison->arm_count > 1 ? "s" : "");
    for (int64_t i = 0; i < first->sample_count; i++)
        write_sample(stream, collection, first, i);
    fputs("</section>\n", stream);
}

/* Whether record `index` is the first with this value of the key. */
static bool is_new_value(const struct collection *collection, int index, const char *key, const json_t *value)
{
    for (int i = 0; i < index; i++)
        if (json_equal(json_object_get(collection->records[i].config, key), value))
            return false;
    return true;
}

/* The distinct values of a key over all runs. */
static void write_values(FILE *stream, const struct collection *collection, const char *key)
{
    const char *separator = "";
    for (int i = 0; i < collection->record_count; i++) {
        const json_t *value = json_object_get(collection->records[i].config, key);
        if (!value || !is_new_value(collection, i, key, value))
            continue;
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
        fputs(separator, stream);
        html_text(stream, json_is_string(value) ? json_string_value(value) : text ? text : "");
        free(text);
        separator = ", ";
    }
}

void page_configuration(FILE *stream, const struct collection *collection)
{
    if (!collection->record_count)
        return;
    json_t *config = collection->records[0].config, *value;
    const char *key;
    fputs("<details>\n"
          "<summary>Configuration</summary>\n"
          "<div class=\"scroll\"><table class=\"settings\"><tbody>\n",
          stream);
    json_object_foreach (config, key, value) {
        fputs("<tr><th scope=\"row\">", stream);
        html_text(stream, key);
        fputs("</th><td>", stream);
        write_values(stream, collection, key);
        fputs("</td></tr>\n", stream);
    }
    fputs("</tbody></table></div>\n</details>\n", stream);
}
