/* SPDX-License-Identifier: Apache-2.0
 *
 * make_pages DIR: pages of made-up runs, for whoever wants to look at them: people, parsers, browsers.
 *
 *     quick.html       three seeds of two encodings
 *     many.html        ten seeds of five encodings, of a task without problems
 *     unfinished.html  a comparison that was stopped on its way
 *     empty.html       one that has not begun
 *     single.html      one run
 *     hostile.html     records full of markup and control characters
 */
#include "report/report.h"
#include "study/synthetic.h"
#include "support/scratch.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {"rope", "roper", "none", "learned", "sinusoidal"};
static const double halves[] = {530, 380, 900, 700, 600};
static int failed;

static void make(const char *output, const char *name, const char *folder)
{
    char path[2 * SYNTHETIC_PATH];
    rotary_error error = {0};
    snprintf(path, sizeof path, "%s/%s.html", output, name);
    struct collection collection;
    if (collection_read(&collection, &folder, 1, &error) != ROTARY_OK ||
        report_write(&collection, path, &error) != ROTARY_OK) {
        printf("%s: %s\n", name, error.message);
        failed = 1;
    }
    collection_free(&collection);
}

int main(int count, char **arguments)
{
    if (count != 2) {
        printf("usage: make_pages DIR\n");
        return 2;
    }
    const char *output = arguments[1];
    const char *folder = scratch_folder();
    char place[2 * SYNTHETIC_PATH];
    struct synthetic_run run = {
        .task = "index", .seed = 1, .steps = 600, .done = 600, .evaluate_every = 50, .problems = 128};
    synthetic_comparison(folder, &run, 3, 2, names, halves);
    make(output, "quick", folder);
    snprintf(place, sizeof place, "%s/roper-2", folder);
    make(output, "single", place);

    run.position = "roper";
    run.seed = 3;
    run.half = 380;
    run.done = 320;
    snprintf(place, sizeof place, "%s/roper-3", folder);
    synthetic_run(place, &run);
    make(output, "unfinished", folder);

    for (int i = 0; i < 6; i++) {
        snprintf(place, sizeof place, "%s/%s-%d", folder, names[i % 2], 1 + i / 2);
        scratch_remove(place);
    }
    make(output, "empty", folder);

    struct synthetic_run prefix = {
        .task = "prefix", .seed = 1, .steps = 13000, .done = 13000, .evaluate_every = 1000};
    double late[5];
    for (int i = 0; i < 5; i++)
        late[i] = 12 * halves[i];
    synthetic_comparison(folder, &prefix, 10, 5, names, late);
    make(output, "many", folder);

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
    snprintf(place, sizeof place, "%s/hostile", folder);
    synthetic_run(place, &hostile);
    make(output, "hostile", place);
    return failed;
}
