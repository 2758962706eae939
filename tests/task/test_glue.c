/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of GLUE that lie in ../shared beside the checkout, against the counts of
 * tests/golden/count_glue.py; without them the test is skipped. test_glue FOLDER
 */
#include "file/file.h"
#include "support/check.h"
#include "task/classification/labelled_corpus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts of training and validation as the files have them. */
static const struct {
    enum labelled_dataset dataset;
    const char *folder;
    bool fresh; /* there is no validation file: split anew */
    int64_t training, validation;
    int classes;
    int64_t of_last_class; /* in training; 0: regression */
    int64_t texts, leaks;  /* of validation, and those that training has */
} datasets[] = {
    {DATASET_COLA, "CoLA", false, 8551, 527, 2, 6023, 527, 11},
    {DATASET_SST2, "SST-2", false, 60614, 6735, 2, 33828, 6735, 5969},
    {DATASET_MRPC, "MRPC", true, 4076, 0, 2, 2753, 0, 0},
    {DATASET_STSB, "STS-B", false, 5749, 1500, 0, 0, 3000, 308},
    {DATASET_RTE, "RTE", false, 1244, 139, 2, 617, 278, 37},
};

static const struct labelled_format *format_of(size_t i, const char *glue, char folder[FILE_PATH_BYTES])
{
    const struct labelled_format *format = NULL;
    rotary_error error = {0};
    if (file_path(folder, glue, datasets[i].folder, &error) != ROTARY_OK ||
        dataset_find(datasets[i].dataset, folder, &format, &error) != ROTARY_OK) {
        printf("%s\n", error.message);
        exit(1);
    }
    return format;
}

static int64_t count_class(const struct labelled_corpus *corpus, int32_t class)
{
    int64_t count = 0;
    for (int split = 0; split < TASK_SPLITS; split++)
        for (int64_t i = 0; split != TASK_VALIDATION && i < corpus->counts[split]; i++)
            count += corpus->examples[split][i].class == class;
    return count;
}

static void check_values(const struct labelled_corpus *corpus)
{
    double min = INFINITY, max = -INFINITY;
    for (int64_t i = 0; i < corpus->counts[TASK_TRAINING]; i++) {
        min = fmin(min, corpus->examples[TASK_TRAINING][i].value);
        max = fmax(max, corpus->examples[TASK_TRAINING][i].value);
    }
    CHECK(min == 0 && max == 5);
}

static void test_files(const char *glue)
{
    static struct labelled_corpus corpus;
    for (size_t i = 0; i < sizeof datasets / sizeof datasets[0]; i++) {
        char folder[FILE_PATH_BYTES];
        const struct labelled_format *format = format_of(i, glue, folder);
        const struct labelled_request request = {
            .folder = folder, .format = format, .fresh_share = datasets[i].fresh ? 1e-9 : 0};
        rotary_error error = {0};
        int64_t leaks = -1;
        check_about("%s", datasets[i].folder);
        if (datasets[i].fresh)
            continue; /* test_fresh */
        if (!CHECK_TEXT(labelled_corpus_read(&corpus, &request, &error) ? error.message : "", ""))
            continue;
        CHECK_INT(corpus.counts[TASK_TRAINING], datasets[i].training);
        CHECK_INT(corpus.counts[TASK_VALIDATION], datasets[i].validation);
        CHECK_INT(corpus.classes, datasets[i].classes);
        if (corpus.classes > 0)
            CHECK_INT(count_class(&corpus, corpus.classes - 1), datasets[i].of_last_class);
        else
            check_values(&corpus);
        CHECK_INT(labelled_corpus_leaks(&corpus, TASK_VALIDATION, &leaks, NULL), ROTARY_OK);
        CHECK_INT(leaks, datasets[i].leaks);
        labelled_corpus_free(&corpus);
    }
    check_about("%s", "");
}

/* Of SST-2 the texts that are a part of no other are drawn: 6,885. */
static void test_fresh(const char *glue)
{
    enum { SST2 = 1, MRPC = 2, SENTENCES = 6885 };
    static struct labelled_corpus corpus;
    static const size_t fresh[] = {SST2, MRPC};
    const double share = 0.125;
    for (size_t i = 0; i < sizeof fresh / sizeof fresh[0]; i++) {
        char folder[FILE_PATH_BYTES];
        const struct labelled_format *format = format_of(fresh[i], glue, folder);
        const struct labelled_request request = {.folder = folder, .format = format, .fresh_share = share};
        rotary_error error = {0};
        check_about("%s, split anew", datasets[fresh[i]].folder);
        if (!CHECK_TEXT(labelled_corpus_read(&corpus, &request, &error) ? error.message : "", ""))
            continue;
        int64_t all = corpus.left_out, leaks = -1;
        const double drawn = share * (fresh[i] == SST2 ? SENTENCES : (double)datasets[MRPC].training);
        for (int split = 0; split < TASK_SPLITS; split++)
            all += corpus.counts[split];
        CHECK_INT(all, datasets[fresh[i]].training + datasets[fresh[i]].validation);
        for (int split = TASK_VALIDATION; split < TASK_SPLITS; split++) {
            CHECK_NEAR((double)corpus.counts[split], drawn, 5 * sqrt(drawn));
            CHECK_INT(labelled_corpus_leaks(&corpus, (enum task_split)split, &leaks, NULL), ROTARY_OK);
            /* A text of one pair may be a part of a text of another; it is never the same. */
            CHECK(fresh[i] == SST2 ? leaks == 0 : leaks < 10);
        }
        printf("%s: %lld for training, %lld for validation, %lld for test, %lld "
               "left out\n",
               datasets[fresh[i]].folder, (long long)corpus.counts[TASK_TRAINING],
               (long long)corpus.counts[TASK_VALIDATION], (long long)corpus.counts[TASK_TEST],
               (long long)corpus.left_out);
        labelled_corpus_free(&corpus);
    }
    check_about("%s", "");
}

int main(int count, char **arguments)
{
    const char *shared = getenv("ROTARY_SHARED");
    char glue[FILE_PATH_BYTES], path[FILE_PATH_BYTES];
    snprintf(path, sizeof path, "%s", shared ? shared : count > 1 ? arguments[1] : ".");
    if (file_path(glue, path, "data/glue", NULL) != ROTARY_OK || !file_exists(glue))
        check_skip("there is no data/glue in %s", path);
    test_files(glue);
    test_fresh(glue);
    return check_report();
}
