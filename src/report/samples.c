/* SPDX-License-Identifier: Apache-2.0
 *
 * Problems of the last evaluation, and the models' answers side by side.
 */
#include "report/chart/svg.h"
#include "report/html.h"
#include "report/page.h"

#include <string.h>

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
        comparison->scoring == SCORING_BLEU ? "</span><b></b><code>"
        : sample->correct
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

void page_open_samples(FILE *stream, const char *heading, bool folded)
{
    fprintf(stream,
            folded ? "<details class=\"samples\">\n<summary><h2>%s</h2></summary>\n" : "<h2>%s</h2>\n",
            heading);
}

void page_close_samples(FILE *stream, bool folded)
{
    fputs(folded ? "</section>\n</details>\n" : "</section>\n", stream);
}

void page_samples(FILE *stream, const struct collection *collection, bool folded)
{
    const struct record *first = NULL;
    for (int i = 0; i < collection->record_count && !first; i++)
        if (collection->records[i].sample_count)
            first = &collection->records[i];
    if (!first)
        return;
    page_open_samples(stream, "Problems and answers", folded);
    fprintf(stream,
            "<p class=\"note\">The first problems of the last evaluation with seed %lld, and what the "
            "model%s generated.</p>\n<section class=\"grid2\">\n",
            (long long)first->seed, collection->comparison->arm_count > 1 ? "s" : "");
    for (int64_t i = 0; i < first->sample_count; i++)
        write_sample(stream, collection, first, i);
    page_close_samples(stream, folded);
}
