/* SPDX-License-Identifier: Apache-2.0
 *
 * How labelled texts stand in files: the formats of GLUE (Wang et al., "GLUE: a multi-task benchmark and
 * analysis platform for natural language understanding", ICLR 2019), those of the corpora that some of its
 * parts are made from, and of CAIL2019-SCM (Xiao et al., 2019), similar cases: of the two others in a row the
 * second column's is the one that is like the first's.
 */
#ifndef ROTARY_TASK_CLASSIFICATION_LABELLED_FORMAT_H
#define ROTARY_TASK_CLASSIFICATION_LABELLED_FORMAT_H

#include "score/label_scores.h"
#include "task/task.h"
#include "text/corpus/table.h"

struct labelled_format {
    const char *files[TASK_SPLITS]; /* names in the folder; NULL: there is none */
    enum table_format format;
    enum table_quoting quoting;
    bool header;
    const char *first, *second; /* columns of the texts; second NULL: single texts */
    const char *choices;    /* columns, separated by commas, in the place of `second`; NULL: there are none */
    const char *label;      /* column; NULL: of the choices the first is right */
    bool regression;        /* labels are numbers, not names of classes */
    enum label_score score; /* the one that decides, as GLUE has it */
};

enum labelled_dataset {
    DATASET_COLA,
    DATASET_SST2,
    DATASET_MRPC,
    DATASET_STSB,
    DATASET_RTE,
    DATASET_QNLI,
    DATASET_QQP,
    DATASET_MNLI,
    DATASET_SCM,
    DATASETS,
    DATASET_TABLE = DATASETS /* any other: its format is configured */
};
extern const char *const dataset_names[]; /* NULL-terminated, in the order of labelled_dataset */

/* The formats of a dataset: GLUE's own first. The number of them is *count. */
const struct labelled_format *dataset_formats(enum labelled_dataset dataset, int *count);
/* The format whose training file `folder` has. ROTARY_IO_ERROR names the files that were looked for. */
ROTARY_CHECKED rotary_status dataset_find(enum labelled_dataset dataset, const char *folder,
                                          const struct labelled_format **format, rotary_error *error);

#endif
