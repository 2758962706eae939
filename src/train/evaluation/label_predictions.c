/* SPDX-License-Identifier: Apache-2.0 */
#include "train/evaluation/label_predictions.h"

#include "base/fail.h"
#include "file/print.h"
#include "ranks/ranks.h"

#include <math.h>
#include <stdlib.h>

/* These are of all examples of a split; arrays of classes or of numbers. */
struct predictions {
    struct task_labels labels;
    int64_t count;
    int outputs;                    /* of the model, for an example */
    int32_t *wanted, *predicted;    /* [count]: classes */
    double *wanted_values, *values; /* [count]: numbers */
    float *logits;                  /* [count, outputs] */
};

static bool allocate(struct predictions *all)
{
    const size_t count = (size_t)all->count + 1;
    all->wanted = malloc(count * sizeof *all->wanted);
    all->predicted = malloc(count * sizeof *all->predicted);
    all->wanted_values = malloc(count * sizeof *all->wanted_values);
    all->values = malloc(count * sizeof *all->values);
    all->logits = malloc(count * (size_t)all->outputs * sizeof *all->logits);
    return all->wanted && all->predicted && all->wanted_values && all->values && all->logits;
}

static void free_predictions(struct predictions *all)
{
    free(all->wanted);
    free(all->predicted);
    free(all->wanted_values);
    free(all->values);
    free(all->logits);
}

/* ---- predicting ---- */

/* The class with the highest logit, and log Σ exp of all of them. */
static int32_t highest(const float *logits, int outputs, double *log_sum)
{
    int32_t best = 0;
    double sum = 0;
    for (int32_t k = 1; k < outputs; k++)
        if (logits[k] > logits[best])
            best = k;
    for (int k = 0; k < outputs; k++)
        sum += exp((double)logits[k] - (double)logits[best]);
    *log_sum = (double)logits[best] + log(sum);
    return best;
}

static void take_class(struct predictions *all, int64_t i, int32_t wanted, struct token_sums *sums)
{
    const float *logits = all->logits + i * all->outputs;
    double log_sum;
    all->wanted[i] = wanted;
    all->predicted[i] = highest(logits, all->outputs, &log_sum);
    sums->total += log_sum - (double)logits[wanted];
    sums->correct += all->predicted[i] == wanted;
    sums->counted++;
}

static void take_number(struct predictions *all, int64_t i, double wanted, struct token_sums *sums)
{
    const double difference = (double)all->logits[i] - wanted;
    all->wanted_values[i] = wanted;
    all->values[i] = (double)all->logits[i];
    sums->total += difference * difference;
    sums->counted++;
}

struct label_walk {
    const struct label_call *call;
    struct row_order order;
    struct batch_size size;
    struct predictions *all;
};

/* The logits of this rank's batches. */
static rotary_status predict_own(const struct label_walk *walk, rotary_error *error)
{
    const struct label_call *call = walk->call;
    int64_t first = 0, count;
    for (int64_t i = 0; (count = rows_within(&walk->order, walk->size, first)) > 0; i++, first += count) {
        if (i % ranks_count(call->ranks) != ranks_index(call->ranks))
            continue;
        if (call->interrupted && atomic_load(call->interrupted))
            return rotary_fail(error, ROTARY_INTERRUPTED, "interrupted while evaluating");
        const struct batch batch = batch_fill(call->memory, &walk->order, first, count, 1);
        rotary_status status = transformer_logits(call->transformer, &batch,
                                                  walk->all->logits + first * walk->all->outputs, error);
        if (status != ROTARY_OK)
            return status;
    }
    return ROTARY_OK;
}

/* Rank 0 gets all logits, and takes them in the order of the examples. */
static rotary_status take_all(const struct label_walk *walk, struct token_sums *sums, rotary_error *error)
{
    const struct label_call *call = walk->call;
    struct predictions *all = walk->all;
    rotary_status status = ROTARY_OK;
    int64_t first = 0, count;
    for (int64_t i = 0; status == ROTARY_OK && (count = rows_within(&walk->order, walk->size, first)) > 0;
         i++, first += count) {
        status = ranks_give(call->ranks, (int)(i % ranks_count(call->ranks)), 0,
                            all->logits + first * all->outputs,
                            (size_t)(count * all->outputs) * sizeof *all->logits, error);
        if (status != ROTARY_OK || ranks_index(call->ranks) > 0)
            continue;
        const struct batch batch = batch_fill(call->memory, &walk->order, first, count, 1);
        for (int64_t k = 0; k < count; k++)
            if (all->labels.regression)
                take_number(all, first + k, (double)batch.values[k], sums);
            else
                take_class(all, first + k, batch.classes[k], sums);
    }
    return status == ROTARY_OK ? ranks_share(call->ranks, sums, sizeof *sums, error) : status;
}

static rotary_status score(const struct predictions *all, struct label_scores *scores, rotary_error *error)
{
    scores->decides = all->labels.score;
    if (all->labels.regression)
        return label_scores_of_numbers(scores, all->wanted_values, all->values, all->count, error);
    return label_scores_of_classes(scores, all->labels.classes, all->wanted, all->predicted, all->count,
                                   error);
}

/* ---- the file ---- */

/* A name of a class, in which a separator would begin another column. */
static void print_name(FILE *stream, const struct text_line *name)
{
    for (int64_t i = 0; i < name->count; i++)
        putc((unsigned char)name->bytes[i] < ' ' ? ' ' : name->bytes[i], stream);
}

static void print_class(FILE *stream, const struct predictions *all, int64_t i)
{
    const float *logits = all->logits + i * all->outputs;
    double log_sum;
    const int32_t predicted = highest(logits, all->outputs, &log_sum);
    fprintf(stream, "%lld\t", (long long)i);
    print_name(stream, &all->labels.names[all->wanted[i]]);
    putc('\t', stream);
    print_name(stream, &all->labels.names[predicted]);
    for (int k = 0; k < all->outputs; k++)
        fprintf(stream, "\t%.6g", exp((double)logits[k] - log_sum));
    putc('\n', stream);
}

static rotary_status write_file(const char *path, const struct predictions *all, rotary_error *error)
{
    struct print print;
    rotary_status status = print_begin(&print, error);
    if (status != ROTARY_OK)
        return status;
    fprintf(print.stream, "index\tlabel\tprediction");
    for (int k = 0; k < all->labels.classes; k++) {
        fprintf(print.stream, "\tprobability of ");
        print_name(print.stream, &all->labels.names[k]);
    }
    putc('\n', print.stream);
    for (int64_t i = 0; i < all->count; i++)
        if (all->labels.regression)
            fprintf(print.stream, "%lld\t%.9g\t%.9g\n", (long long)i, all->wanted_values[i], all->values[i]);
        else
            print_class(print.stream, all, i);
    return print_replace(&print, path, error);
}

rotary_status label_predictions_run(const struct label_call *call, struct label_scores *scores,
                                    struct token_sums *sums, rotary_error *error)
{
    struct predictions all = {.labels = task_labels(call->task),
                              .count = task_examples(call->task, call->split)};
    all.outputs = all.labels.regression ? 1 : all.labels.classes;
    const struct label_walk walk = {.call = call,
                                    .order = {.task = call->task, .split = call->split},
                                    .size = {.tokens = call->tokens},
                                    .all = &all};
    rotary_status status = allocate(&all)
                               ? predict_own(&walk, error)
                               : rotary_fail_memory(error, "for %lld predictions", (long long)all.count);
    status = ranks_agree(call->ranks, status, error);
    if (status == ROTARY_OK)
        status = take_all(&walk, sums, error);
    if (status == ROTARY_OK && ranks_index(call->ranks) == 0)
        status = score(&all, scores, error);
    if (status == ROTARY_OK && call->file)
        status = write_file(call->file, &all, error);
    free_predictions(&all);
    return status;
}
