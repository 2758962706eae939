/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/result.h"

#include "base/fail.h"
#include "file/file.h"
#include "layer/encoding/encoding.h"
#include "layer/sublayer.h"
#include "model/encoding/model_encoding.h"
#include "records/record_positions.h"
#include "score/proportion.h"

#include "train/folder/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static rotary_status print_json(json_t *object, size_t flags, rotary_error *error)
{
    char *text = object ? file_json_text(object, flags) : NULL;
    json_decref(object);
    if (!text)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY,
                           "the result as JSON: a name that is not UTF-8, or a number that is not finite");
    fputs(text, stdout);
    free(text);
    return ROTARY_OK;
}

rotary_status result_print_json(json_t *object, rotary_error *error)
{
    rotary_status status = print_json(object, JSON_INDENT(2), error);
    if (status == ROTARY_OK)
        putchar('\n');
    return status;
}

rotary_status result_print_json_member(json_t *object, rotary_error *error)
{
    return print_json(object, JSON_COMPACT, error);
}

json_t *result_shape(const struct tensor *tensor)
{
    json_t *shape = json_array();
    for (int i = 0; i < tensor->dimensions; i++)
        json_array_append_new(shape, json_integer(tensor->shape[i]));
    return shape;
}

json_t *result_evaluation_json(const struct evaluation *evaluation)
{
    json_t *object = json_object();
    metrics_to_json(object, METRICS_ALWAYS, evaluation);
    if (evaluation->problems > 0) {
        const struct proportion_interval interval =
            proportion_wilson(evaluation->correct, evaluation->problems);
        json_object_set_new(
            object, "interval",
            json_pack("{s:f, s:f, s:f}", "level", 0.95, "low", interval.low, "high", interval.high));
    }
    if (evaluation->bits_per_byte > 0) {
        json_object_set_new(object, "perplexity", file_json_number(exp(evaluation->loss)));
        metrics_to_json(object, METRICS_BITS_PER_BYTE, evaluation);
    }
    if (evaluation->positions.length > 0)
        json_object_set_new(object, "positions", record_positions_json(&evaluation->positions));
    metrics_of_data_json(object, evaluation);
    if (evaluation->sample_count == 0)
        return object;
    json_t *samples = json_array();
    for (int64_t i = 0; i < evaluation->sample_count; i++) {
        const struct evaluation_sample *sample = &evaluation->samples[i];
        json_array_append_new(samples, json_pack("{s:s, s:s, s:s, s:b}", "prompt", sample->problem.prompt,
                                                 "answer", sample->problem.answer, "generated",
                                                 sample->generated, "correct", sample->correct));
    }
    json_object_set_new(object, "samples", samples);
    return object;
}

/* The scores that there are, that which decides first. */
static void print_labels(const char *split, const struct label_scores *scores)
{
    printf("%s %.2f", label_score_titles[scores->decides], 100 * scores->values[scores->decides]);
    for (int i = 0; i < LABEL_SCORES; i++)
        if (i != (int)scores->decides && !isnan(scores->values[i]))
            printf(", %s %.2f", label_score_titles[i], 100 * scores->values[i]);
    printf(" (in hundredths) of %lld %s examples, ", (long long)scores->examples, split);
}

void result_print_evaluation(const struct evaluation *evaluation, const char *split)
{
    if (evaluation->problems > 0) {
        const struct proportion_interval interval =
            proportion_wilson(evaluation->correct, evaluation->problems);
        printf("%lld of %lld correct (%.1f%%, 95%% interval %.1f to %.1f%%), ",
               (long long)evaluation->correct, (long long)evaluation->problems,
               100.0 * (double)evaluation->correct / (double)evaluation->problems, 100.0 * interval.low,
               100.0 * interval.high);
    }
    if (evaluation->labels.examples > 0) {
        print_labels(split, &evaluation->labels);
        if (evaluation->test.labels.examples > 0)
            print_labels("test", &evaluation->test.labels);
        printf("%s loss %.4f\n", split, evaluation->loss);
        return;
    }
    if (evaluation->test.translated > 0)
        printf("BLEU %.2f of %lld test sentences, ", evaluation->test.bleu,
               (long long)evaluation->test.translated);
    if (evaluation->translated > 0)
        printf("BLEU %.2f of %lld sentences, ", evaluation->bleu, (long long)evaluation->translated);
    printf("%s loss %.4f, ", split, evaluation->loss);
    if (evaluation->bits_per_byte > 0)
        printf("perplexity %.4g, %.4f bits per byte, ", exp(evaluation->loss), evaluation->bits_per_byte);
    printf("%.1f%% of tokens correct\n", 100.0 * evaluation->accuracy);
}

rotary_status result_print_comparison(const struct comparison *comparison, const char *page,
                                      rotary_error *error)
{
    char *text;
    rotary_status status = comparison_text(comparison, &text, error);
    if (status != ROTARY_OK)
        return status;
    printf("%s\n%s\n", text, page);
    free(text);
    return ROTARY_OK;
}

/* compare.json's "sweep" and, of each arm, what is "chosen" for it; null without a sweep. */
static json_t *sweep_json(const json_t *description)
{
    json_t *sweep = json_copy(json_object_get(description, "sweep")), *chosen = json_object();
    const json_t *arms = json_object_get(description, "arms");
    for (size_t i = 0; i < json_array_size(arms); i++) {
        const json_t *arm = json_array_get(arms, i);
        const char *name = json_string_value(json_object_get(arm, "name"));
        json_object_set(chosen, name ? name : "", json_object_get(arm, "chosen"));
    }
    json_object_set(sweep, "chosen", chosen);
    json_decref(chosen);
    return sweep ? sweep : json_null();
}

rotary_status result_print_comparison_json(const struct collection *collection, const char *folder,
                                           const char *page, rotary_error *error)
{
    json_t *object;
    rotary_status status = comparison_json(collection->comparison, &object, error);
    if (status != ROTARY_OK)
        return status;
    json_object_set_new(object, "sweep", sweep_json(collection->description));
    if (folder)
        json_object_set_new(object, "folder", json_string(folder));
    json_object_set_new(object, "report", json_string(page));
    return result_print_json(object, error);
}

void result_print_encoding(const struct transformer_config *model)
{
    printf("%s", model_encoding_name(model));
    if (model->rotate)
        printf(", rotate %s", rotate_names[model->rotate]);
    if (model->key_is_value != KEY_IS_VALUE_NO)
        printf(", %skeys as values", model->key_is_value == KEY_IS_VALUE_UNROTATED ? "unrotated " : "");
}
