/* SPDX-License-Identifier: Apache-2.0 */
#include "task/classification/labelled_format.h"

#include "base/fail.h"
#include "file/file.h"

#include <stdio.h>

const char *const dataset_names[] = {"cola", "sst2", "mrpc", "stsb",  "rte", "qnli",
                                     "qqp",  "mnli", "scm",  "table", NULL};

/* Tabs separate fields, and quotes are text. The files that GLUE has for its test sets have no labels; test
 * files here are those of the corpora before GLUE, and of MNLI the validation set of other genres. */
#define TSV .format = TABLE_TSV, .quoting = TABLE_UNQUOTED
static const struct labelled_format cola[] = {
    /* source, label, the author's mark, sentence */
    {{"train.tsv", "dev.tsv"}, TSV, .first = "4", .label = "2", .score = LABEL_MATTHEWS},
    {{"in_domain_train.tsv", "in_domain_dev.tsv", "out_of_domain_dev.tsv"},
     TSV,
     .first = "4",
     .label = "2",
     .score = LABEL_MATTHEWS},
};
static const struct labelled_format sst2[] = {
    {{"train.tsv", "dev.tsv"}, TSV, .header = true, .first = "sentence", .label = "label"},
};
static const struct labelled_format mrpc[] = {
    {{"train.tsv", "dev.tsv"},
     TSV,
     .header = true,
     .first = "#1 String",
     .second = "#2 String",
     .label = "Quality",
     .score = LABEL_F1},
    {{"msr_paraphrase_train.txt", NULL, "msr_paraphrase_test.txt"},
     TSV,
     .header = true,
     .first = "#1 String",
     .second = "#2 String",
     .label = "Quality",
     .score = LABEL_F1},
};
static const struct labelled_format stsb[] = {
    {{"train.tsv", "dev.tsv"},
     TSV,
     .header = true,
     .first = "sentence1",
     .second = "sentence2",
     .label = "score",
     .regression = true,
     .score = LABEL_SPEARMAN},
    /* genre, file, year, index, score, two sentences, and in some rows where
     *        these are from */
    {{"sts-train.tsv", "sts-dev.tsv", "sts-test.tsv"},
     TSV,
     .first = "6",
     .second = "7",
     .label = "5",
     .regression = true,
     .score = LABEL_SPEARMAN},
};
static const struct labelled_format rte[] = {
    {{"train.tsv", "dev.tsv"},
     TSV,
     .header = true,
     .first = "sentence1",
     .second = "sentence2",
     .label = "label"},
};
static const struct labelled_format qnli[] = {
    {{"train.tsv", "dev.tsv"},
     TSV,
     .header = true,
     .first = "question",
     .second = "sentence",
     .label = "label"},
};
static const struct labelled_format qqp[] = {
    {{"train.tsv", "dev.tsv"},
     TSV,
     .header = true,
     .first = "question1",
     .second = "question2",
     .label = "is_duplicate",
     .score = LABEL_F1},
};
static const struct labelled_format mnli[] = {
    {{"train.tsv", "dev_matched.tsv", "dev_mismatched.tsv"},
     TSV,
     .header = true,
     .first = "sentence1",
     .second = "sentence2",
     .label = "gold_label"},
};
static const struct labelled_format scm[] = {
    {{"triplets.tsv"}, TSV, .first = "1", .choices = "2,3"},
};
#undef TSV

#define FORMATS(list)                                                                                        \
    {                                                                                                        \
        list, sizeof list / sizeof list[0]                                                                   \
    }
static const struct {
    const struct labelled_format *formats;
    int count;
} datasets[DATASETS] = {
    [DATASET_COLA] = FORMATS(cola), [DATASET_SST2] = FORMATS(sst2), [DATASET_MRPC] = FORMATS(mrpc),
    [DATASET_STSB] = FORMATS(stsb), [DATASET_RTE] = FORMATS(rte),   [DATASET_QNLI] = FORMATS(qnli),
    [DATASET_QQP] = FORMATS(qqp),   [DATASET_MNLI] = FORMATS(mnli), [DATASET_SCM] = FORMATS(scm),
};
#undef FORMATS

const struct labelled_format *dataset_formats(enum labelled_dataset dataset, int *count)
{
    *count = datasets[dataset].count;
    return datasets[dataset].formats;
}

rotary_status dataset_find(enum labelled_dataset dataset, const char *folder,
                           const struct labelled_format **format, rotary_error *error)
{
    int count;
    const struct labelled_format *formats = dataset_formats(dataset, &count);
    char names[160] = "";
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        char path[FILE_PATH_BYTES];
        bool found = false;
        rotary_status status = file_path(path, folder, formats[i].files[TASK_TRAINING], error);
        if (status == ROTARY_OK)
            status = file_find(path, &found, error);
        if (status != ROTARY_OK)
            return status;
        if (found) {
            *format = &formats[i];
            return ROTARY_OK;
        }
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? " or " : "",
                                 formats[i].files[TASK_TRAINING]);
    }
    return rotary_fail(error, ROTARY_IO_ERROR, "%s has no training text of %s: wanted a file %s", folder,
                       dataset_names[dataset], names);
}
