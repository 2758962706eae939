/* SPDX-License-Identifier: Apache-2.0 */
#include "report/synthetic_heatmaps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *memory)
{
    if (memory)
        return memory;
    perror("synthetic_heatmaps");
    exit(1);
}

static struct heatmap_text text_of(const struct synthetic_heatmaps *wanted, const char *prefix, int64_t count)
{
    static const char *const hostile[] = {"</script><b>", "\"&'<", "ü\x01", "]]>"};
    struct heatmap_text text = {.count = count, .labels = must(calloc((size_t)count, sizeof *text.labels))};
    for (int64_t i = 0; i < count; i++) {
        char label[64];
        snprintf(label, sizeof label, "%s%s%lld", wanted->hostile ? hostile[i % 4] : "", prefix,
                 (long long)i);
        text.labels[i] = must(strdup(label));
    }
    return text;
}

static struct attention_weights weights_of(enum attention_kind kind, int64_t queries, int64_t keys,
                                           double phase)
{
    struct attention_weights weights = {
        .layers = MADE_LAYERS, .heads = MADE_HEADS, .queries = queries, .keys = keys, .difference = 2.5e-7};
    int64_t rows = MADE_LAYERS * MADE_HEADS * queries;
    weights.weights = must(calloc((size_t)(rows * keys), sizeof *weights.weights));
    weights.visible = must(calloc((size_t)(MADE_LAYERS * queries), sizeof *weights.visible));
    for (int64_t row = 0; row < rows; row++) {
        int64_t query = row % queries, seen = kind == ATTENTION_DECODER ? query + 1 : keys;
        double sum = 0;
        for (int64_t key = 0; key < seen; key++)
            sum += pow(cos(0.7 * (double)(row * 31 + key * 7) + phase), 4);
        for (int64_t key = 0; key < seen; key++)
            weights.weights[row * keys + key] =
                (float)(pow(cos(0.7 * (double)(row * 31 + key * 7) + phase), 4) / sum);
        weights.visible[row / (MADE_HEADS * queries) * queries + query] = (int32_t)seen;
    }
    return weights;
}

static void add_numbers(struct heatmap_run *run, int kind, int64_t text,
                        const struct attention_weights *weights)
{
    struct heatmap_heads *heads = &run->kinds[kind];
    int64_t count = MADE_LAYERS * MADE_HEADS;
    if (!heads->numbers) {
        heads->layers = MADE_LAYERS;
        heads->heads = MADE_HEADS;
        heads->numbers = must(calloc((size_t)(MADE_TEXTS * count), sizeof *heads->numbers));
        heads->offsets = must(calloc((size_t)count, sizeof *heads->offsets));
    }
    for (int64_t i = 0; i < count; i++) {
        heads->numbers[text * count + i] = head_numbers_of(weights, i / MADE_HEADS, i % MADE_HEADS);
        head_offsets_add(&heads->offsets[i], weights, i / MADE_HEADS, i % MADE_HEADS);
    }
}

static void fill_run(struct heatmap_run *run, const struct synthetic_heatmaps *wanted, int side, int index)
{
    char folder[64];
    snprintf(folder, sizeof folder, "runs/made-%d-%d", side, index);
    *run = (struct heatmap_run){
        .folder = must(strdup(folder)), .seed = index + 1, .texts = MADE_TEXTS, .difference = 2.5e-7};
    run->examples = must(calloc(MADE_TEXTS, sizeof *run->examples));
    for (int64_t text = 0; text < MADE_TEXTS; text++) {
        struct heatmap_example *example = &run->examples[text];
        int64_t targets = wanted->tokens + text, sources = targets + 5;
        example->target = text_of(wanted, "t", targets);
        if (wanted->encoder)
            example->source = text_of(wanted, "s", sources);
        for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
            if (!wanted->encoder && kind != ATTENTION_DECODER)
                continue;
            struct attention_weights weights =
                weights_of((enum attention_kind)kind, kind == ATTENTION_ENCODER ? sources : targets,
                           kind == ATTENTION_DECODER ? targets : sources,
                           0.1 * (double)text + side + 10 * index + 0.3 * kind);
            add_numbers(run, kind, text, &weights);
            if (index == 0 && text + 1 < MADE_TEXTS) {
                example->weights[kind] = weights;
                continue;
            }
            free(weights.weights);
            free(weights.visible);
        }
    }
}

struct heatmaps synthetic_heatmaps(const struct synthetic_heatmaps *wanted)
{
    static const char *const names[] = {"sinusoidal", "rope"}, *const hostile[] = {"<i>a&b</i>",
                                                                                   "rope=\"0.5\""};
    struct heatmaps maps = {.task = must(strdup(wanted->encoder ? "translation" : "index")),
                            .texts = MADE_TEXTS,
                            .shown = MADE_TEXTS - 1,
                            .side_count = wanted->sides};
    for (int side = 0; side < wanted->sides; side++) {
        struct heatmap_side *of = &maps.sides[side];
        of->name = must(strdup(wanted->hostile ? hostile[side] : names[side]));
        of->run_count = wanted->runs;
        of->runs = must(calloc((size_t)wanted->runs, sizeof *of->runs));
        for (int i = 0; i < wanted->runs; i++)
            fill_run(&of->runs[i], wanted, side, i);
    }
    return maps;
}
