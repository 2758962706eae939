/* SPDX-License-Identifier: Apache-2.0 */
#include "records/heatmaps.h"

#include "statistics/student.h"

#include <math.h>
#include <stdlib.h>

const char *const head_number_names[] = {"entropy", "normalised_entropy", "distance", NULL};

static void free_text(struct heatmap_text *text)
{
    for (int64_t i = 0; text->labels && i < text->count; i++)
        free(text->labels[i]);
    free(text->labels);
}

void heatmap_run_free(struct heatmap_run *run)
{
    for (int64_t i = 0; run->examples && i < run->texts; i++) {
        struct heatmap_example *example = &run->examples[i];
        free_text(&example->source);
        free_text(&example->target);
        for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
            free(example->weights[kind].weights);
            free(example->weights[kind].visible);
        }
    }
    for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
        free(run->kinds[kind].numbers);
        free(run->kinds[kind].offsets);
    }
    free(run->examples);
    free(run->folder);
    *run = (struct heatmap_run){0};
}

void heatmaps_free(struct heatmaps *maps)
{
    for (int side = 0; side < HEATMAP_SIDES; side++) {
        struct heatmap_side *of = &maps->sides[side];
        for (int i = 0; of->runs && i < of->run_count; i++)
            heatmap_run_free(&of->runs[i]);
        free(of->runs);
        free(of->name);
    }
    free(maps->task);
    *maps = (struct heatmaps){0};
}

static double number_of(const struct head_numbers *numbers, enum head_number number)
{
    return number == HEAD_ENTROPY      ? numbers->entropy
           : number == HEAD_NORMALISED ? numbers->normalised
                                       : numbers->distance;
}

static const struct head_numbers *numbers_at(const struct heatmap_heads *heads, int64_t text, int64_t layer,
                                             int64_t head)
{
    return &heads->numbers[(text * heads->layers + layer) * heads->heads + head];
}

/* Mean and sum of squared distances from it, one value after another (Welford 1962). */
struct values {
    int64_t count;
    double mean, squares;
};

static void add(struct values *values, double value)
{
    if (isnan(value))
        return;
    double distance = value - values->mean;
    values->count++;
    values->mean += distance / (double)values->count;
    values->squares += distance * (value - values->mean);
}

static struct interval interval_of(const struct values *values)
{
    struct interval interval = {values->count, values->count > 0 ? values->mean : (double)NAN, (double)NAN,
                                (double)NAN};
    if (values->count < 2 || !(values->squares > 0))
        return interval;
    double count = (double)values->count, error = sqrt(values->squares / (count - 1) / count),
           margin = student_quantile(0.95, (int)values->count - 1) * error;
    interval.low = interval.mean - margin;
    interval.high = interval.mean + margin;
    return interval;
}

struct interval heatmap_head(const struct heatmap_run *run, enum attention_kind kind, int64_t layer,
                             int64_t head, enum head_number number)
{
    struct values values = {0};
    for (int64_t text = 0; text < run->texts; text++)
        add(&values, number_of(numbers_at(&run->kinds[kind], text, layer, head), number));
    return interval_of(&values);
}

/* The mean over the heads of the layers, for one text. */
static double of_text(const struct heatmap_run *run, struct heatmap_choice choice, int64_t text)
{
    const struct heatmap_heads *heads = &run->kinds[choice.kind];
    bool half = choice.layer == HEATMAP_DEEPER_HALF;
    int64_t first = half ? heads->layers / 2 : choice.layer, end = half ? heads->layers : choice.layer + 1;
    double sum = 0;
    for (int64_t layer = first; layer < end; layer++)
        for (int64_t head = 0; head < heads->heads; head++)
            sum += number_of(numbers_at(heads, text, layer, head), choice.number);
    return sum / (double)((end - first) * heads->heads);
}

/* The mean over the texts. */
static double of_run(const struct heatmap_run *run, struct heatmap_choice choice)
{
    struct values values = {0};
    for (int64_t text = 0; text < run->texts; text++)
        add(&values, of_text(run, choice, text));
    return interval_of(&values).mean;
}

bool heatmap_units_are_runs(const struct heatmaps *maps)
{
    return maps->sides[0].run_count > 1;
}

static int64_t units_of(const struct heatmaps *maps)
{
    return heatmap_units_are_runs(maps) ? maps->sides[0].run_count : maps->texts;
}

static double of_unit(const struct heatmaps *maps, int side, struct heatmap_choice choice, int64_t unit)
{
    const struct heatmap_run *runs = maps->sides[side].runs;
    return heatmap_units_are_runs(maps) ? of_run(&runs[unit], choice) : of_text(&runs[0], choice, unit);
}

struct interval heatmap_layer(const struct heatmaps *maps, int side, struct heatmap_choice choice)
{
    struct values values = {0};
    for (int64_t unit = 0; unit < units_of(maps); unit++)
        add(&values, of_unit(maps, side, choice, unit));
    return interval_of(&values);
}

struct interval heatmap_contrast(const struct heatmaps *maps, int side, struct heatmap_choice choice)
{
    struct values values = {0};
    for (int64_t unit = 0; unit < units_of(maps); unit++)
        add(&values, of_unit(maps, side, choice, unit) - of_unit(maps, 0, choice, unit));
    return interval_of(&values);
}

bool heatmap_comparable(const struct heatmaps *maps, int side, enum attention_kind kind)
{
    const int64_t layers = maps->sides[0].runs[0].kinds[kind].layers;
    return side > 0 && layers > 0 && maps->sides[side].runs[0].kinds[kind].layers == layers;
}
