/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/label_data.h"

#include "cli/output/result.h"
#include "file/file.h"
#include "task/classification/label_baselines.h"
#include "task/classification/labelled_corpus.h"
#include "train/folder/metrics.h"

#include <math.h>
#include <stdio.h>

rotary_status label_data_find(struct label_data *data, const struct task *task, rotary_error *error)
{
    *data = (struct label_data){.task = task};
    rotary_status status = ROTARY_OK;
    for (int split = TASK_VALIDATION; split < TASK_SPLITS && status == ROTARY_OK; split++)
        status =
            labelled_corpus_leaks(task_labelled(task), (enum task_split)split, &data->leaks[split], error);
    return status;
}

/* ---- labels ---- */

static int64_t count_class(const struct labelled_corpus *corpus, int split, int32_t class)
{
    int64_t count = 0;
    for (int64_t i = 0; i < corpus->counts[split]; i++)
        count += corpus->examples[split][i].class == class;
    return count;
}

struct range {
    double min, max, mean;
};

static struct range range_of(const struct labelled_corpus *corpus, int split)
{
    struct range range = {INFINITY, -INFINITY, 0};
    for (int64_t i = 0; i < corpus->counts[split]; i++) {
        const double value = corpus->examples[split][i].value;
        range.min = fmin(range.min, value);
        range.max = fmax(range.max, value);
        range.mean += value / (double)corpus->counts[split];
    }
    return range;
}

static void print_labels(const struct labelled_corpus *corpus, int split)
{
    enum { SHOWN = 12 };
    if (corpus->classes == 0) {
        const struct range range = range_of(corpus, split);
        printf("labels from %g to %g, their mean %.4g", range.min, range.max, range.mean);
        return;
    }
    for (int class = 0; class < corpus->classes && class < SHOWN; class ++)
        printf("%s%lld \"%s\"", class > 0 ? ", " : "", (long long)count_class(corpus, split, class),
               corpus->names[class].bytes);
    if (corpus->classes > SHOWN)
        printf(" and %d other labels", corpus->classes - SHOWN);
}

void label_data_print(const struct label_data *data)
{
    const struct labelled_corpus *corpus = task_labelled(data->task);
    const struct task_shape shape = task_shape(data->task);
    const bool pairs = shape.segments && shape.choices == 0;
    const int texts = shape.choices > 0 ? 1 + shape.choices : pairs ? 2 : 1;
    for (int split = 0; split < TASK_SPLITS; split++) {
        const struct task_counts counts = task_counts(data->task, (enum task_split)split);
        if (corpus->counts[split] == 0)
            continue;
        printf("%s: %lld %s: ", task_split_names[split], (long long)corpus->counts[split],
               shape.choices > 0 ? "texts with choices"
               : pairs           ? "pairs"
                                 : "texts");
        print_labels(corpus, split);
        printf("; %lld %slonger than a sequence and cut; %lld tokens (longest %lld)\n",
               (long long)counts.too_long, shape.choices > 0 ? "choices " : "",
               (long long)counts.target_tokens, (long long)counts.longest_target);
        if (split != TASK_TRAINING)
            printf("  of %lld texts %lld stand in training, as they are or in a longer one\n",
                   (long long)corpus->counts[split] * texts, (long long)data->leaks[split]);
    }
    if (corpus->left_out > 0)
        printf("left out: %lld texts, %s\n", (long long)corpus->left_out,
               shape.choices > 0 ? "which share one with validation or test, and have another"
                                 : "copies and parts of those of validation and test");
    printf("vocabulary: %lld tokens\n", (long long)task_vocabulary(data->task).target);
}

static json_t *labels_json(const struct labelled_corpus *corpus, int split)
{
    if (corpus->classes == 0) {
        const struct range range = range_of(corpus, split);
        return json_pack("{s:o, s:o, s:o}", "min", file_json_number(range.min), "max",
                         file_json_number(range.max), "mean", file_json_number(range.mean));
    }
    json_t *object = json_object();
    for (int class = 0; class < corpus->classes; class ++)
        json_object_set_new(object, corpus->names[class].bytes,
                            json_integer((json_int_t)count_class(corpus, split, class)));
    return object;
}

json_t *label_data_json(const struct label_data *data, enum task_split split)
{
    const struct labelled_corpus *corpus = task_labelled(data->task);
    const struct task_counts counts = task_counts(data->task, split);
    json_t *object =
        json_pack("{s:I, s:o, s:I, s:I, s:I}", "examples", (json_int_t)corpus->counts[split], "labels",
                  labels_json(corpus, (int)split), "cut", (json_int_t)counts.too_long, "tokens",
                  (json_int_t)counts.target_tokens, "longest", (json_int_t)counts.longest_target);
    if (object && split != TASK_TRAINING)
        json_object_set_new(object, "leaks", json_integer((json_int_t)data->leaks[split]));
    return object;
}

/* ---- baselines ---- */

static void print_scores(const char *name, const struct label_scores *scores)
{
    printf("  %-16s", name);
    const char *separator = "";
    for (int i = 0; i < LABEL_SCORES; i++)
        if (!isnan(scores->values[i])) {
            printf("%s%s %.2f", separator, label_score_titles[i], 100 * scores->values[i]);
            separator = ", ";
        }
    puts(separator[0] ? "" : "no score: all predictions are one number");
}

static void report_baselines(const struct label_baselines *found, const struct label_baselines_call *call,
                             json_t *all)
{
    const bool choices = call->corpus->choices > 0;
    const enum task_split split = call->split;
    if (!all)
        printf("baselines on %lld %s examples, in hundredths\n", (long long)found->scores[0].examples,
               task_split_names[split]);
    else
        json_object_set_new(all, task_split_names[split], json_object());
    for (int i = 0; i < LABEL_BASELINES; i++)
        if (all)
            json_object_set_new(json_object_get(all, task_split_names[split]),
                                label_baseline_name(i, choices), metrics_labels_json(&found->scores[i]));
        else
            print_scores(label_baseline_title(i, choices), &found->scores[i]);
}

rotary_status label_data_baselines(const struct task *task, json_t *object, rotary_error *error)
{
    const struct labelled_corpus *corpus = task_labelled(task);
    json_t *all = object ? json_object() : NULL;
    rotary_status status = ROTARY_OK;
    for (int split = TASK_VALIDATION; split < TASK_SPLITS && status == ROTARY_OK; split++) {
        const struct label_baselines_call call = {corpus, task_labels(task).score, (enum task_split)split};
        struct label_baselines found;
        if (corpus->counts[split] == 0)
            continue;
        status = label_baselines_run(&found, &call, error);
        if (status != ROTARY_OK)
            break;
        report_baselines(&found, &call, all);
        label_baselines_free(&found);
    }
    if (object)
        json_object_set_new(object, "baselines", all);
    return status;
}
