/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of the programs and machines that trained the runs, on the page.
 */
#include "records/synthetic.h"
#include "support/check.h"
#include "support/scratch.h"

#include "file/file.h"
#include "report/made_by.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *by(int step, const char *commit, int threads)
{
    return json_pack("{s:i, s:s, s:s, s:s, s:i, s:s}", "step", step, "version", "9.8", "commit", commit,
                     "isa", "avx2", "threads", threads, "processor", "A & B");
}

/* Gives a run its provenance. */
static void set(const char *place, const char *name, json_t *list)
{
    const char *path = synthetic_path(synthetic_path(place, name), "config.json");
    json_t *object = NULL;
    CHECK_INT(file_read_json(path, &object, NULL), ROTARY_OK);
    json_object_set_new(object, "provenance", list);
    CHECK_INT(file_replace_json(path, object, NULL), ROTARY_OK);
    json_decref(object);
}

static char *list_of(const char *place)
{
    struct collection collection = synthetic_read(place);
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    CHECK(collection.unlike == NULL); /* runs may be trained by several */
    made_by_list(stream, collection.comparison);
    fclose(stream);
    collection_free(&collection);
    return text;
}

static int count(const char *text, const char *words)
{
    int found = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words))
        found++;
    return found;
}

int main(void)
{
    static const char *const names[] = {"rope", "roper"};
    const char *place = scratch_path("comparison");
    synthetic_comparison(place, &synthetic_quick, 2, 2, names, (double[]){450, 300});
    check_about("runs that say nothing");
    char *text = list_of(place);
    CHECK_TEXT(text, "");
    free(text);

    check_about("three programs");
    set(place, "rope-1", json_pack("[o]", by(0, "0123456789abcdef0123-dirty", 1)));
    set(place, "roper-1",
        json_pack("[o, o, o]", by(0, "0123456789abcdef0123-dirty", 1), by(3, "unknown", 2),
                  by(5, "0123456789abcdef0123-dirty", 1)));
    set(place, "rope-2", json_pack("[o]", by(0, "ffff", 1)));
    text = list_of(place);
    CHECK_INT(count(text, "<li>"), 3);
    CHECK_INT(count(text, "</li>"), 3);
    CHECK_WORDS(text,
                "<ul class=\"note\">\n<li>rotary 9.8, commit <span title=\"0123456789abcdef0123-dirty\">"
                "0123456789ab</span> with changes, avx2, 1 thread, A &amp; B: 2 runs</li>");
    CHECK_WORDS(text, ">unknown</span>, avx2, 2 threads, A &amp; B: 1 run</li>");
    CHECK_WORDS(text, ">ffff</span>, avx2, 1 thread, A &amp; B: 1 run</li>");
    free(text);

    check_about("days");
    json_t *days[2] = {by(0, "ffff", 1), by(0, "ffff", 1)};
    json_object_set_new(days[0], "date", json_string("2026-02-01"));
    json_object_set_new(days[1], "date", json_string("2026-01-31"));
    set(place, "rope-2", json_pack("[o]", days[0]));
    text = list_of(place);
    CHECK_WORDS(text, ">ffff</span>, avx2, 1 thread, A &amp; B, on 2026-02-01: 1 run</li>");
    free(text);
    set(place, "roper-2", json_pack("[o]", days[1]));
    text = list_of(place);
    CHECK_WORDS(text, ">ffff</span>, avx2, 1 thread, A &amp; B, on 2026-01-31 to 2026-02-01: 2 runs</li>");
    free(text);
    return check_report();
}
