/* SPDX-License-Identifier: Apache-2.0 */
#include "report/made_by.h"

#include "report/html.h"

#include <string.h>

static const char *text_of(const json_t *by, const char *key)
{
    const char *text = json_string_value(json_object_get(by, key));
    return text ? text : "unknown";
}

/* Whether both are one program on one machine, from whichever step on. */
static bool is_same(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"version", "commit", "isa", "threads", "processor"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *first = json_object_get(a, keys[i]), *second = json_object_get(b, keys[i]);
        if (first != second && !json_equal(first, second))
            return false;
    }
    return true;
}

/* Whether the run has it among the first `count` of its list. */
static bool has(const struct record *record, const json_t *by, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_same(json_array_get(record->provenance, i), by))
            return true;
    return false;
}

/* Whether an earlier run has it, or an earlier item of this one. */
static bool is_known(const struct comparison *comparison, int run, size_t item, const json_t *by)
{
    for (int i = 0; i < run; i++)
        if (has(&comparison->records[i], by, json_array_size(comparison->records[i].provenance)))
            return true;
    return has(&comparison->records[run], by, item);
}

void made_by_commit(FILE *stream, const char *commit)
{
    enum { COMMIT_DIGITS = 12 };
    fputs("<span title=\"", stream);
    html_text(stream, commit);
    fputs("\">", stream);
    for (int i = 0; i < COMMIT_DIGITS && commit[i]; i++)
        html_text(stream, (const char[]){commit[i], 0});
    fprintf(stream, "</span>%s", strstr(commit, "-dirty") ? " with changes" : "");
}

/* ", on 2026-01-30 to 2026-01-31": when it began to train the first and the last of its runs; nothing where
 * no run says. */
static void write_dates(FILE *stream, const struct comparison *comparison, const json_t *by)
{
    const char *first = NULL, *last = NULL;
    for (int i = 0; i < comparison->record_count; i++) {
        const json_t *list = comparison->records[i].provenance;
        for (size_t item = 0; item < json_array_size(list); item++) {
            const json_t *other = json_array_get(list, item);
            const char *date = json_string_value(json_object_get(other, "date"));
            if (!date || !is_same(other, by))
                continue;
            first = !first || strcmp(date, first) < 0 ? date : first;
            last = !last || strcmp(date, last) > 0 ? date : last;
        }
    }
    if (!first)
        return;
    fputs(", on ", stream);
    html_text(stream, first);
    if (strcmp(first, last) != 0) {
        fputs(" to ", stream);
        html_text(stream, last);
    }
}

static void write_item(FILE *stream, const struct comparison *comparison, const json_t *by)
{
    const json_int_t threads = json_integer_value(json_object_get(by, "threads"));
    int runs = 0;
    for (int i = 0; i < comparison->record_count; i++)
        runs += has(&comparison->records[i], by, json_array_size(comparison->records[i].provenance));
    fputs("<li>rotary ", stream);
    html_text(stream, text_of(by, "version"));
    fputs(", commit ", stream);
    made_by_commit(stream, text_of(by, "commit"));
    fputs(", ", stream);
    html_text(stream, text_of(by, "isa"));
    fprintf(stream, ", %lld thread%s, ", (long long)threads, threads == 1 ? "" : "s");
    html_text(stream, text_of(by, "processor"));
    write_dates(stream, comparison, by);
    fprintf(stream, ": %d run%s</li>\n", runs, runs == 1 ? "" : "s");
}

void made_by_list(FILE *stream, const struct comparison *comparison)
{
    bool open = false;
    for (int run = 0; run < comparison->record_count; run++) {
        const json_t *list = comparison->records[run].provenance;
        for (size_t item = 0; item < json_array_size(list); item++) {
            const json_t *by = json_array_get(list, item);
            if (is_known(comparison, run, item, by))
                continue;
            if (!open)
                fputs("<p>Trained by:</p>\n<ul class=\"note\">\n", stream);
            open = true;
            write_item(stream, comparison, by);
        }
    }
    if (open)
        fputs("</ul>\n", stream);
}
