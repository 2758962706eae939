/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include "base/fail.h"
#include "file/file.h"
#include "report/page.h"

#include <stdlib.h>

static rotary_status no_memory(rotary_error *error)
{
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "out of memory for a report");
}

static void free_page(struct page *page)
{
    for (int i = 1; page->verdicts && i < page->collection->comparison->encoding_count; i++)
        free(page->verdicts[i - 1]);
    free(page->verdicts);
    series_free(&page->right);
    series_free(&page->held_out);
    series_free(&page->training);
}

static rotary_status fill_page(struct page *page, rotary_error *error)
{
    const struct comparison *comparison = page->collection->comparison;
    page->verdicts = calloc((size_t)comparison->encoding_count + 1, sizeof *page->verdicts);
    if (!page->verdicts)
        return no_memory(error);
    rotary_status status = series_create(&page->right, page->collection, SERIES_RIGHT, error);
    if (status == ROTARY_OK)
        status = series_create(&page->held_out, page->collection, SERIES_HELD_OUT_LOSS, error);
    if (status == ROTARY_OK)
        status = series_create(&page->training, page->collection, SERIES_TRAINING_LOSS, error);
    for (int i = 1; status == ROTARY_OK && i < comparison->encoding_count; i++)
        status = comparison_verdict(comparison, i, &page->verdicts[i - 1], error);
    return status;
}

/* The page as text; the caller frees *text. */
static rotary_status print_page(const struct page *page, char **text, size_t *count, rotary_error *error)
{
    *text = NULL;
    FILE *stream = open_memstream(text, count);
    if (!stream)
        return no_memory(error);
    page_write(stream, page);
    bool failed = ferror(stream) != 0;
    if (fclose(stream) == 0 && !failed)
        return ROTARY_OK;
    free(*text);
    return no_memory(error);
}

rotary_status report_write(const struct collection *collection, const char *path, rotary_error *error)
{
    struct page page = {.collection = collection};
    char *text = NULL;
    size_t bytes = 0;
    rotary_status status = fill_page(&page, error);
    if (status == ROTARY_OK)
        status = print_page(&page, &text, &bytes, error);
    if (status == ROTARY_OK) {
        status = file_replace(path, text, bytes, error);
        free(text);
    }
    free_page(&page);
    return status;
}
