/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include "base/fail.h"
#include "file/date.h"
#include "file/file.h"
#include "file/print.h"
#include "records/comparison/sweep_text.h"
#include "report/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_page(struct page *page)
{
    findings_free(&page->findings);
    arm_decays_free(&page->decays);
    free(page->choices);
    series_free(&page->scores);
    series_free(&page->validation);
    series_free(&page->training);
}

static rotary_status describe_sweep(struct page *page, rotary_error *error)
{
    struct print print;
    rotary_status status = print_begin(&print, error);
    if (status != ROTARY_OK)
        return status;
    sweep_write(print.stream, page->collection->description);
    status = print_end(&print, error);
    if (status == ROTARY_OK)
        page->choices = print.text;
    return status;
}

static rotary_status create_scores(struct page *page, rotary_error *error)
{
    switch (page->collection->comparison->scoring) {
    case SCORING_EXACT_MATCH:
        return series_create(&page->scores, page->collection, SERIES_EXACT_MATCH, error);
    case SCORING_BLEU:
        return series_create(&page->scores, page->collection, SERIES_BLEU, error);
    case SCORING_CLASSES:
    case SCORING_NUMBERS:
        return comparison_label_measure(page->collection->comparison) == MEASURES
                   ? ROTARY_OK
                   : series_create(&page->scores, page->collection, SERIES_LABELS, error);
    case SCORING_LOSS:
        break;
    }
    return ROTARY_OK;
}

static rotary_status fill_page(struct page *page, rotary_error *error)
{
    rotary_status status = findings_create(&page->findings, page->collection->comparison, error);
    if (status == ROTARY_OK)
        status = describe_sweep(page, error);
    if (status == ROTARY_OK)
        status = create_scores(page, error);
    if (status == ROTARY_OK)
        status = series_create(&page->validation, page->collection, SERIES_VALIDATION_LOSS, error);
    if (status == ROTARY_OK)
        status = series_create(&page->training, page->collection, SERIES_TRAINING_LOSS, error);
    if (status == ROTARY_OK)
        status = arm_decays_read(&page->decays, page->collection->comparison, error);
    if (status != ROTARY_OK)
        run_archives_name(&page->collection->archives, error);
    return status;
}

/* What lies beside the page. `folder`: where it lies, which the page borrows. */
static rotary_status look_beside(struct page *page, const char *path, char folder[FILE_PATH_BYTES],
                                 rotary_error *error)
{
    char heatmap[FILE_PATH_BYTES], description[FILE_PATH_BYTES];
    rotary_status status = file_folder_of(path, folder, error);
    if (status == ROTARY_OK)
        status = file_path(heatmap, folder, PAGE_HEATMAP, error);
    if (status == ROTARY_OK)
        status = file_path(description, folder, "compare.json", error);
    if (status != ROTARY_OK)
        return status;
    page->has_heatmap = file_exists(heatmap);
    page->folder = page->collection->description && file_exists(description) ? folder : NULL;
    return ROTARY_OK;
}

rotary_status report_write(const struct collection *collection, const char *path, const char *commit,
                           rotary_error *error)
{
    char folder[FILE_PATH_BYTES], date[DATE_BYTES];
    struct page page = {.collection = collection, .commit = commit, .date = date_today(date)};
    struct print print;
    rotary_status status = look_beside(&page, path, folder, error);
    if (status == ROTARY_OK)
        status = fill_page(&page, error);
    if (status == ROTARY_OK)
        status = print_begin(&print, error);
    if (status == ROTARY_OK) {
        page_write(print.stream, &page);
        status = print_replace(&print, path, error);
    }
    free_page(&page);
    return status;
}

/* ---- for papers ---- */

struct figure_folder {
    const char *path;
    char (*ids)[FIGURE_ID_BYTES]; /* of the figures so far */
    int count;
    rotary_error *error;
    rotary_status status; /* the first that is not ROTARY_OK */
};

/* Adds an id; *times: so many have it now. */
static rotary_status add_id(struct figure_folder *folder, const char *title, int *times)
{
    char(*ids)[FIGURE_ID_BYTES] = realloc(folder->ids, (size_t)(folder->count + 1) * sizeof *ids);
    if (!ids)
        return rotary_fail_memory(folder->error, "for the names of figures");
    folder->ids = ids;
    figure_id(ids[folder->count++], title);
    *times = 0;
    for (int i = 0; i < folder->count; i++)
        *times += strcmp(ids[i], ids[folder->count - 1]) == 0;
    return ROTARY_OK;
}

/* "loss.svg"; a second one of that name is "loss-2.svg". */
static rotary_status write_figure(const struct page_figure *figure, struct figure_folder *folder)
{
    char name[FIGURE_ID_BYTES + 32], path[FILE_PATH_BYTES];
    struct print print;
    int times = 0;
    rotary_error *error = folder->error;
    rotary_status status = add_id(folder, figure->title, &times);
    if (status != ROTARY_OK)
        return status;
    const char *id = folder->ids[folder->count - 1];
    if (times > 1)
        snprintf(name, sizeof name, "%s-%d.svg", id, times);
    else
        snprintf(name, sizeof name, "%s.svg", id);
    status = file_output_path(path, folder->path, name, error);
    if (status == ROTARY_OK)
        status = print_begin(&print, error);
    if (status != ROTARY_OK)
        return status;
    figure->draw(print.stream, figure->argument, (struct svg_look){.alone = true});
    return print_replace(&print, path, error);
}

static void take_figure(void *context, const struct page_figure *figure)
{
    struct figure_folder *folder = context;
    if (folder->status == ROTARY_OK)
        folder->status = write_figure(figure, folder);
}

rotary_status report_figures(const struct collection *collection, const char *folder, rotary_error *error)
{
    struct page page = {.collection = collection};
    struct figure_folder figures = {.path = folder, .error = error, .status = ROTARY_OK};
    rotary_status status = fill_page(&page, error);
    if (status == ROTARY_OK)
        status = file_make_folder(folder, error);
    if (status == ROTARY_OK) {
        page_figures(&(struct figure_taker){take_figure, &figures}, &page);
        status = figures.status;
    }
    free(figures.ids);
    free_page(&page);
    return status;
}

rotary_status report_latex(const struct collection *collection, char **text, rotary_error *error)
{
    struct print print;
    rotary_status status = print_begin(&print, error);
    if (status != ROTARY_OK)
        return status;
    struct page_table table = {.stream = print.stream, .latex = true};
    fputs("% \\usepackage{booktabs}\n\n", print.stream);
    if (page_has_pairs(collection->comparison))
        page_verdicts(&table, collection->comparison);
    page_tables(&table, collection);
    status = print_end(&print, error);
    *text = print.text;
    return status;
}
