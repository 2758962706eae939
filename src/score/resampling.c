/* SPDX-License-Identifier: Apache-2.0 */
#include "score/resampling.h"

#include "base/fail.h"
#include "base/random.h"
#include "base/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 40 }; /* the 95% interval leaves one sample of 40 out at either end */

double resample_score(const struct resampling *resampling, int system, const uint32_t *chosen)
{
    if (resampling->score)
        return resampling->score(resampling->context, system, chosen);
    int width = resampling->metric.width;
    int64_t sums[SEGMENT_MAX_STATISTICS] = {0};
    for (int64_t i = 0; i < resampling->segments; i++) {
        const int64_t *row = resampling->rows[system] + (int64_t)chosen[i] * width;
        for (int j = 0; j < width; j++)
            sums[j] += row[j];
    }
    return resampling->metric.score(resampling->metric.config, sums);
}

double resample_difference(const struct resampling *resampling, int system, const uint32_t *swapped)
{
    int width = resampling->metric.width;
    int64_t first[SEGMENT_MAX_STATISTICS] = {0}, second[SEGMENT_MAX_STATISTICS] = {0};
    for (int64_t i = 0; i < resampling->segments; i++) {
        bool swap = swapped[i / 32] >> (i % 32) & 1;
        const int64_t *a = resampling->rows[swap ? system : 0] + i * width;
        const int64_t *b = resampling->rows[swap ? 0 : system] + i * width;
        for (int j = 0; j < width; j++) {
            first[j] += a[j];
            second[j] += b[j];
        }
    }
    const struct segment_metric *metric = &resampling->metric;
    return metric->score(metric->config, first) - metric->score(metric->config, second);
}

/* ---- summaries ---- */

static double mean_of(const double *values, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

static int compare_values(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* The p value of as many samples as reach further than the corpus. One is added, so that p is never 0. */
static double p_of(int64_t further, int64_t samples)
{
    return (double)(further + 1) / (double)(samples + 1);
}

static double bootstrap_p(const double *baseline, const double *system, int64_t samples, double difference)
{
    double mean = 0;
    int64_t further = 0;
    for (int64_t i = 0; i < samples; i++)
        mean += fabs(system[i] - baseline[i]);
    mean /= (double)samples;
    for (int64_t i = 0; i < samples; i++)
        further += fabs(system[i] - baseline[i]) - mean > difference;
    return p_of(further, samples);
}

void resample_none(const struct resampling *resampling, struct resampled *results)
{
    const struct segment_metric *metric = &resampling->metric;
    for (int i = 0; i < resampling->systems; i++) {
        int64_t sums[SEGMENT_MAX_STATISTICS];
        segments_sum(resampling->rows[i], resampling->segments, metric->width, sums);
        results[i] =
            (struct resampled){metric->score(metric->config, sums), (double)NAN, (double)NAN, (double)NAN};
    }
}

void resample_summary(const struct resampling *resampling, double *scores, struct resampled *results)
{
    int64_t samples = resampling->samples, left_out = samples / PLACES;
    resample_none(resampling, results);
    for (int i = 1; i < resampling->systems; i++)
        results[i].p =
            bootstrap_p(scores, scores + i * samples, samples, fabs(results[i].score - results[0].score));
    for (int i = 0; i < resampling->systems; i++) {
        double *own = scores + i * samples;
        results[i].mean = mean_of(own, samples);
        qsort(own, (size_t)samples, sizeof *own, compare_values);
        results[i].interval = 0.5 * (own[samples - 1 - left_out] - own[left_out]);
    }
}

void resample_trials_summary(const struct resampling *resampling, const double *differences,
                             struct resampled *results)
{
    int64_t trials = resampling->samples;
    resample_none(resampling, results);
    for (int i = 1; i < resampling->systems; i++) {
        double difference = fabs(results[i].score - results[0].score);
        int64_t further = 0;
        for (int64_t j = 0; j < trials; j++)
            further += fabs(differences[i * trials + j]) > difference;
        results[i].p = p_of(further, trials);
    }
}

rotary_status resample_difference_of(const struct resampled_pairs *pairs, int64_t samples,
                                     struct resampled_difference *difference, rotary_error *error)
{
    double *values = malloc((size_t)samples * sizeof *values), found = 0;
    if (!values)
        return rotary_fail_memory(error, "for %lld differences", (long long)samples);
    int64_t further = 0, left_out = samples / PLACES;
    for (int i = 0; i < pairs->count; i++)
        found += (pairs->corpus[pairs->systems[i]] - pairs->corpus[pairs->baselines[i]]) / pairs->count;
    if (isnan(found)) {
        free(values);
        *difference = (struct resampled_difference){found, found, found, found};
        return ROTARY_OK;
    }
    for (int64_t j = 0; j < samples; j++) {
        values[j] = 0;
        for (int i = 0; i < pairs->count; i++)
            values[j] += (pairs->scores[pairs->systems[i] * samples + j] -
                          pairs->scores[pairs->baselines[i] * samples + j]) /
                         pairs->count;
        further += fabs(values[j] - found) >= fabs(found);
    }
    qsort(values, (size_t)samples, sizeof *values, compare_values);
    *difference = (struct resampled_difference){found, values[left_out], values[samples - 1 - left_out],
                                                p_of(further, samples)};
    free(values);
    return ROTARY_OK;
}

/* ---- drawing ---- */

struct work {
    const struct resampling *resampling;
    double *values;  /* [systems][samples]: scores, or differences from the baseline */
    uint32_t *drawn; /* [threads][segments] */
};

static struct rotary_random_key key_of(const struct work *work, int64_t sample)
{
    return (struct rotary_random_key){(uint64_t)work->resampling->seed, ROTARY_STREAM_RESAMPLING,
                                      (uint32_t)sample};
}

static void resample(void *argument, int64_t sample, int worker)
{
    const struct work *work = argument;
    const struct resampling *resampling = work->resampling;
    uint32_t *chosen = work->drawn + worker * resampling->segments;
    struct rotary_random random = {.key = key_of(work, sample)};
    for (int64_t i = 0; i < resampling->segments; i++)
        chosen[i] = rotary_random_below(&random, (uint32_t)resampling->segments);
    for (int i = 0; i < resampling->systems; i++)
        work->values[i * resampling->samples + sample] = resample_score(resampling, i, chosen);
}

static void swap_randomly(void *argument, int64_t trial, int worker)
{
    const struct work *work = argument;
    const struct resampling *resampling = work->resampling;
    uint32_t *swapped = work->drawn + worker * resampling->segments;
    for (int64_t i = 0; i < (resampling->segments + 31) / 32; i++)
        swapped[i] = rotary_random_u32(key_of(work, trial), (uint64_t)i);
    for (int i = 1; i < resampling->systems; i++)
        work->values[i * resampling->samples + trial] = resample_difference(resampling, i, swapped);
}

static rotary_status draw(const struct resampling *resampling, rotary_work *sample, double **values,
                          rotary_error *error)
{
    int threads = resampling->threads > 0 ? resampling->threads : rotary_processors();
    size_t numbers = (size_t)resampling->systems * (size_t)resampling->samples;
    struct work work = {.resampling = resampling,
                        .values = malloc(numbers * sizeof *work.values),
                        .drawn = malloc((size_t)threads * (size_t)resampling->segments * sizeof *work.drawn)};
    bool enough = work.values && work.drawn;
    if (enough)
        rotary_parallel_for(threads, resampling->samples, sample, &work);
    free(work.drawn);
    if (!enough) {
        free(work.values);
        return rotary_fail_memory(error, "for %lld samples of %lld segments", (long long)resampling->samples,
                                  (long long)resampling->segments);
    }
    *values = work.values;
    return ROTARY_OK;
}

rotary_status resample_scores(const struct resampling *resampling, double **scores, rotary_error *error)
{
    return draw(resampling, resample, scores, error);
}

rotary_status resample_bootstrap(const struct resampling *resampling, struct resampled *results,
                                 rotary_error *error)
{
    double *scores = NULL;
    rotary_status status = resample_scores(resampling, &scores, error);
    if (status != ROTARY_OK)
        return status;
    resample_summary(resampling, scores, results);
    free(scores);
    return ROTARY_OK;
}

rotary_status resample_trials(const struct resampling *resampling, struct resampled *results,
                              rotary_error *error)
{
    double *differences = NULL;
    rotary_status status = draw(resampling, swap_randomly, &differences, error);
    if (status != ROTARY_OK)
        return status;
    resample_trials_summary(resampling, differences, results);
    free(differences);
    return ROTARY_OK;
}
