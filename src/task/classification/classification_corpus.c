/* SPDX-License-Identifier: Apache-2.0
 *
 * The labelled texts of the task classification, as its settings say where they are.
 */
#include "base/fail.h"
#include "config/comma_list.h"
#include "task/classification/classification.h"
#include "task/corpus_folder.h"

#include <string.h>

static const char *text_or_null(const char *text)
{
    return text[0] ? text : NULL;
}

/* Whether the list has two columns or more, and none is empty. */
static rotary_status check_choices(const char *columns, rotary_error *error)
{
    const int count = labelled_choice_count(columns);
    bool empty = false;
    struct comma_item item;
    for (const char *rest = columns; comma_list_next(&rest, &item);)
        empty = empty || item.length == 0;
    if (count == 0 || (count >= 2 && count <= LABELLED_MAX_CHOICES && !empty))
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "classification_choices is \"%s\": wanted 2 to %d columns, separated by commas",
                       columns, (int)LABELLED_MAX_CHOICES);
}

/* The format that the settings of DATASET_TABLE describe. */
static rotary_status table_format(const struct classification_options *options,
                                  struct labelled_format *format, rotary_error *error)
{
    rotary_status status = check_choices(options->choices, error);
    if (status != ROTARY_OK)
        return status;
    *format = (struct labelled_format){.format = (enum table_format)options->format,
                                       .quoting = (enum table_quoting)options->quoting,
                                       .header = options->header,
                                       .first = options->text,
                                       .second = text_or_null(options->choices[0] ? "" : options->pair),
                                       .choices = text_or_null(options->choices),
                                       .label = text_or_null(options->label),
                                       .regression = options->regression && !options->choices[0],
                                       .score = options->regression && !options->choices[0] ? LABEL_SPEARMAN
                                                                                            : LABEL_ACCURACY};
    for (int split = 0; split < TASK_SPLITS; split++)
        format->files[split] = text_or_null(options->splits[split]);
    const char *missing = !options->text[0]                            ? "classification_text"
                          : !options->label[0] && !options->choices[0] ? "classification_label"
                                                                       : NULL;
    if (!missing)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "%s is empty: wanted the name of a column of the files, or its number from 1",
                       missing);
}

int classification_choices(const struct classification_options *options)
{
    int count;
    if (options->data[0] == '\0')
        return 0;
    return labelled_choice_count(
        options->dataset == DATASET_TABLE
            ? options->choices
            : dataset_formats((enum labelled_dataset)options->dataset, &count)->choices);
}

static rotary_status check_score(enum label_score score, int classes, rotary_error *error)
{
    if (label_score_fits(score, classes))
        return ROTARY_OK;
    if (score == LABEL_F1 && classes > 0)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "classification_score is f1, which is of two classes, and there are %d: wanted macro_f1",
            classes);
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "classification_score is %s: wanted %s",
                       label_score_names[score],
                       classes == 0 ? "pearson or spearman, as labels are numbers"
                                    : "accuracy, f1, macro_f1 or matthews, as labels are classes");
}

rotary_status classification_corpus(struct labelled_corpus *corpus, enum label_score *score,
                                    const struct classification_options *options, rotary_error *error)
{
    const bool synthetic = options->data[0] == '\0', known = !synthetic && options->dataset != DATASET_TABLE;
    struct labelled_format own;
    const struct labelled_format *format = &own;
    struct labelled_request request = {
        .folder = options->data,
        .synthetic = {options->examples, options->held_out, options->held_out},
        .fresh_share = options->split == CLASSIFICATION_SENTENCES ? options->held_out_share : 0};
    rotary_status status =
        synthetic ? ROTARY_OK : corpus_folder_check(task_names[TASK_CLASSIFICATION], options->data, error);
    if (status != ROTARY_OK)
        return status;
    if (synthetic)
        own = (struct labelled_format){.first = "text", .label = "label"};
    else if (known)
        status = dataset_find((enum labelled_dataset)options->dataset, options->data, &format, error);
    else
        status = table_format(options, &own, error);
    if (status != ROTARY_OK)
        return status;
    if (synthetic)
        request.folder = NULL;
    request.format = format;
    *score = options->score < LABEL_SCORES ? (enum label_score)options->score : format->score;
    status = labelled_corpus_read(corpus, &request, error);
    if (status != ROTARY_OK)
        return status;
    status = check_score(*score, corpus->classes, error);
    if (status != ROTARY_OK)
        labelled_corpus_free(corpus);
    return status;
}
