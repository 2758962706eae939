/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include "base/fail.h"
#include "file/print.h"
#include "report/comparison_table.h"
#include "report/page.h"

#include <stdlib.h>

static void free_page(struct page *page)
{
    for (int i = 1; page->verdicts && i < page->collection->comparison->arm_count; i++)
        free(page->verdicts[i - 1]);
    free(page->verdicts);
    series_free(&page->exact_match);
    series_free(&page->validation);
    series_free(&page->training);
}

static rotary_status fill_page(struct page *page, rotary_error *error)
{
    const struct comparison *comparison = page->collection->comparison;
    page->verdicts = calloc((size_t)comparison->arm_count + 1, sizeof *page->verdicts);
    if (!page->verdicts)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a report");
    rotary_status status = series_create(&page->exact_match, page->collection, SERIES_EXACT_MATCH, error);
    if (status == ROTARY_OK)
        status = series_create(&page->validation, page->collection, SERIES_VALIDATION_LOSS, error);
    if (status == ROTARY_OK)
        status = series_create(&page->training, page->collection, SERIES_TRAINING_LOSS, error);
    for (int i = 1; status == ROTARY_OK && i < comparison->arm_count; i++)
        status = comparison_verdict(comparison, i, &page->verdicts[i - 1], error);
    return status;
}

rotary_status report_write(const struct collection *collection, const char *path, rotary_error *error)
{
    struct page page = {.collection = collection};
    struct print print;
    rotary_status status = fill_page(&page, error);
    if (status == ROTARY_OK)
        status = print_begin(&print, error);
    if (status == ROTARY_OK) {
        page_write(print.stream, &page);
        status = print_replace(&print, path, error);
    }
    free_page(&page);
    return status;
}
