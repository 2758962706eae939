/* SPDX-License-Identifier: Apache-2.0 */
#include "records/records.h"

#include "base/fail.h"
#include "config/json_fields.h"
#include "file/checksum/json_checksum.h"
#include "file/checksum/line_checksum.h"
#include "file/file.h"
#include "file/input.h"
#include "run_folder/folder.h"
#include "statistics/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METRICS_MAX_BYTES = 1 << 30 };

/* One line of metrics.jsonl being read. */
struct line {
    struct json_source source;
    json_t *object;
};

/* A line that was changed since it was written. Lines of earlier versions have no checksum. */
static rotary_status check_line(const struct line *line, const char *text, size_t bytes, rotary_error *error)
{
    if (line_checksum_check(text, bytes) != LINE_CHECKSUM_BAD)
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_BAD_FILE,
        "%s, line %lld: it does not match its checksum: it was changed: wanted the line as the run "
        "wrote it",
        line->source.path, (long long)line->source.line);
}

/* A line that is no JSON object. */
static rotary_status fail_line(const struct line *line, const char *fault, rotary_error *error)
{
    return rotary_fail(error, ROTARY_BAD_FILE, "%s, line %lld: %s: wanted a JSON object", line->source.path,
                       (long long)line->source.line, fault);
}

/* BLEU is there where sentences were translated. */
static rotary_status read_bleu(const struct line *line, const json_t *object, int64_t *translated,
                               double *bleu, rotary_error *error)
{
    if (!json_object_get(object, "bleu"))
        return ROTARY_OK;
    rotary_status status = json_field_measured(&line->source, object, "bleu", bleu, error);
    return status == ROTARY_OK ? json_field_count(&line->source, object, "translated", translated, error)
                               : status;
}

/* Scores of labels are there where labels were predicted; one without a value is absent. */
static rotary_status read_labels(const struct line *line, const json_t *object, struct label_scores *scores,
                                 rotary_error *error)
{
    const json_t *labels = json_object_get(object, "labels"), *decides = json_object_get(labels, "score");
    const char *name = json_string_value(decides);
    if (!labels)
        return ROTARY_OK;
    struct label_scores read = {.decides = LABEL_SCORES};
    rotary_status status = json_field_count(&line->source, labels, "examples", &read.examples, error);
    for (int i = 0; status == ROTARY_OK && i < LABEL_SCORES; i++) {
        read.values[i] = (double)NAN;
        if (json_object_get(labels, label_score_names[i]))
            status = json_field_measured(&line->source, labels, label_score_names[i], &read.values[i], error);
        if (name && strcmp(name, label_score_names[i]) == 0)
            read.decides = (enum label_score)i;
    }
    if (status == ROTARY_OK && read.decides == LABEL_SCORES)
        return json_field_fail(&line->source, "score", decides, "the name of a score of labels", error);
    if (status == ROTARY_OK)
        *scores = read;
    return status;
}

/* How BLEU was computed. */
static rotary_status read_signature(struct record *record, const struct line *line, const json_t *object,
                                    rotary_error *error)
{
    const json_t *signature = json_object_get(object, "signature");
    if (!signature)
        return ROTARY_OK;
    if (!json_is_string(signature))
        return json_field_fail(&line->source, "signature", signature, "a text", error);
    char *copy = strdup(json_string_value(signature));
    if (!copy)
        return rotary_fail_memory(error, "for the records in %s", line->source.path);
    free(record->signature);
    record->signature = copy;
    return ROTARY_OK;
}

/* Makes room for one more element; doubles the array when the count is a power of two. */
static void *grow(void *array, int64_t count, size_t size)
{
    if (count & (count - 1))
        return array;
    return realloc(array, (count ? (size_t)count * 2 : 1) * size);
}

static rotary_status add_point(struct record *record, const struct line *line, int64_t step,
                               rotary_error *error)
{
    struct record_point point = {.step = step};
    rotary_status status = json_field_measured(&line->source, line->object, "loss", &point.loss, error);
    const json_t *speed = json_object_get(line->object, "tokens_per_second");
    point.tokens_per_second = json_is_number(speed) ? json_number_value(speed) : (double)NAN;
    if (status != ROTARY_OK)
        return status;
    struct record_point *points = grow(record->points, record->point_count, sizeof *points);
    if (!points)
        return rotary_fail_memory(error, "for the records in %s", line->source.path);
    record->points = points;
    record->points[record->point_count++] = point;
    return ROTARY_OK;
}

static rotary_status add_evaluation(struct record *record, const struct line *line, int64_t step,
                                    rotary_error *error)
{
    const json_t *object = json_object_get(line->object, "evaluation");
    if (!json_is_object(object))
        return json_field_fail(&line->source, "evaluation", object, "an object", error);
    struct record_evaluation evaluation = {.step = step};
    rotary_status status = json_field_count(&line->source, object, "problems", &evaluation.problems, error);
    if (status == ROTARY_OK)
        status = json_field_count(&line->source, object, "correct", &evaluation.correct, error);
    if (status == ROTARY_OK && evaluation.correct > evaluation.problems)
        status = json_field_fail(&line->source, "correct", json_object_get(object, "correct"),
                                 "at most \"problems\"", error);
    if (status == ROTARY_OK)
        status = json_field_measured(&line->source, object, "loss", &evaluation.loss, error);
    if (status == ROTARY_OK && json_object_get(object, "bits_per_byte"))
        status =
            json_field_measured(&line->source, object, "bits_per_byte", &evaluation.bits_per_byte, error);
    if (status == ROTARY_OK && json_object_get(object, "frequency_loss"))
        status =
            json_field_measured(&line->source, object, "frequency_loss", &evaluation.frequency_loss, error);
    if (status == ROTARY_OK)
        status = read_bleu(line, object, &evaluation.translated, &evaluation.bleu, error);
    if (status == ROTARY_OK)
        status = read_bleu(line, json_object_get(object, "test"), &evaluation.test_translated,
                           &evaluation.test_bleu, error);
    if (status == ROTARY_OK)
        status = read_labels(line, object, &evaluation.labels, error);
    if (status == ROTARY_OK)
        status = read_labels(line, json_object_get(object, "test"), &evaluation.test_labels, error);
    if (status == ROTARY_OK)
        status = read_signature(record, line, object, error);
    evaluation.averaged = json_object_get(object, "checkpoint") != NULL;
    if (status != ROTARY_OK)
        return status;
    struct record_evaluation *evaluations =
        grow(record->evaluations, record->evaluation_count, sizeof *evaluations);
    if (!evaluations)
        return rotary_fail_memory(error, "for the records in %s", line->source.path);
    record->evaluations = evaluations;
    record->evaluations[record->evaluation_count++] = evaluation;
    return ROTARY_OK;
}

/* The samples of this line replace those of an earlier line. */
static rotary_status read_samples(struct record *record, const struct line *line, rotary_error *error)
{
    json_t *lines = json_object_get(line->object, "samples");
    if (!json_is_array(lines))
        return json_field_fail(&line->source, "samples", lines, "an array", error);
    size_t count = json_array_size(lines);
    struct record_sample *samples = calloc(count + 1, sizeof *samples);
    if (!samples)
        return rotary_fail_memory(error, "for the records in %s", line->source.path);
    for (size_t i = 0; i < count; i++) {
        const json_t *sample = json_array_get(lines, i), *correct = json_object_get(sample, "correct");
        samples[i] =
            (struct record_sample){.prompt = json_string_value(json_object_get(sample, "prompt")),
                                   .answer = json_string_value(json_object_get(sample, "answer")),
                                   .generated = json_string_value(json_object_get(sample, "generated")),
                                   .correct = json_is_true(correct)};
        if (!samples[i].prompt || !samples[i].answer || !samples[i].generated || !json_is_boolean(correct)) {
            free(samples);
            return json_field_fail(&line->source, "samples", lines,
                                   "objects of prompt, answer, generated (text) and correct (boolean)",
                                   error);
        }
    }
    free(record->samples);
    json_decref(record->sample_lines);
    record->samples = samples;
    record->sample_count = (int64_t)count;
    record->sample_lines = json_incref(lines);
    return ROTARY_OK;
}

static rotary_status read_line(struct record *record, const struct line *line, rotary_error *error)
{
    if (!json_is_object(line->object))
        return fail_line(line, "not a line of metrics", error);
    int64_t step = 0;
    rotary_status status = json_field_count(&line->source, line->object, "step", &step, error);
    if (status != ROTARY_OK)
        return status;
    if (step < record->done)
        return json_field_fail(&line->source, "step", json_object_get(line->object, "step"),
                               "lines in ascending order of their steps", error);
    if (record->diverged)
        return json_field_fail(&line->source, "step", json_object_get(line->object, "step"),
                               "no line after the one with \"diverged\"", error);
    record->done = step;
    if (json_is_string(json_object_get(line->object, "diverged"))) {
        record->diverged = step;
        return ROTARY_OK;
    }
    bool evaluation = json_object_get(line->object, "evaluation") != NULL;
    if (!evaluation)
        return add_point(record, line, step, error);
    status = add_evaluation(record, line, step, error);
    if (status == ROTARY_OK && json_object_get(line->object, "samples"))
        status = read_samples(record, line, error);
    return status;
}

static rotary_status read_metrics(struct record *record, const char *path, rotary_error *error)
{
    struct lines lines;
    rotary_status status = lines_open(&lines, path, METRICS_MAX_BYTES, error);
    if (status != ROTARY_OK)
        return status;
    struct line line = {.source = {.path = path}};
    const char *text = path;
    size_t bytes;
    /* A rest without a newline is the line of a run killed while writing it. */
    while (status == ROTARY_OK && text) {
        status = lines_next(&lines, &text, &bytes, error);
        if (status != ROTARY_OK || !text)
            break;
        line.source.line = lines.number;
        json_error_t fault;
        line.object = json_loadb(text, bytes, 0, &fault);
        status = check_line(&line, text, bytes, error);
        if (status == ROTARY_OK && !line.object)
            status = fail_line(&line, fault.text, error);
        else if (status == ROTARY_OK)
            status = read_line(record, &line, error);
        json_decref(line.object);
    }
    lines_close(&lines);
    return status;
}

/* Sets the median of the lines' tokens_per_second. */
static rotary_status find_speed(struct record *record, rotary_error *error)
{
    double *speeds = malloc(((size_t)record->point_count + 1) * sizeof *speeds);
    int count = 0;
    if (!speeds)
        return rotary_fail_memory(error, "for the records in %s", record->folder);
    for (int64_t i = 0; i < record->point_count; i++)
        if (record->points[i].tokens_per_second > 0)
            speeds[count++] = record->points[i].tokens_per_second;
    struct statistics statistics;
    statistics_of(&statistics, speeds, count, HIGHER_IS_BETTER);
    record->tokens_per_second = statistics.median;
    free(speeds);
    return ROTARY_OK;
}

static rotary_status read_config(struct record *record, const char *path, rotary_error *error)
{
    rotary_status status = file_read_json(path, &record->config, error);
    if (status != ROTARY_OK)
        return status;
    status = file_check_format(path, record->config, RUN_FORMAT, error);
    if (status == ROTARY_OK)
        status = json_checksum_take(record->config, path, error);
    if (status != ROTARY_OK)
        return status;
    json_object_del(record->config, RUN_VOCABULARY); /* these follow from the task */
    json_object_del(record->config, RUN_SPECIAL_TOKENS);
    record->parameters = json_integer_value(json_object_get(record->config, RUN_PARAMETERS));
    json_object_del(record->config, RUN_PARAMETERS);
    record->provenance = json_incref(json_object_get(record->config, RUN_PROVENANCE));
    json_object_del(record->config, RUN_PROVENANCE);
    record->task = json_string_value(json_object_get(record->config, "task"));
    record->position = file_json_name(json_object_get(record->config, "position"));
    const json_t *seed = json_object_get(record->config, "seed"),
                 *steps = json_object_get(record->config, "steps");
    if (!record->task || !record->position || !json_is_integer(seed) || !json_is_integer(steps))
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s is not a run's configuration: wanted task and position (names), seed and steps (whole "
            "numbers)",
            path);
    record->seed = json_integer_value(seed);
    record->steps = json_integer_value(steps);
    record->averages = json_integer_value(json_object_get(record->config, "average_checkpoints")) > 0;
    return ROTARY_OK;
}

rotary_status record_read(struct record *record, const char *folder, rotary_error *error)
{
    *record = (struct record){0};
    char config[FILE_PATH_BYTES], metrics[FILE_PATH_BYTES];
    rotary_status status = file_path(config, folder, FOLDER_CONFIG, error);
    if (status == ROTARY_OK)
        status = file_path(metrics, folder, FOLDER_METRICS, error);
    if (status == ROTARY_OK && !(record->folder = strdup(folder)))
        status = rotary_fail_memory(error, "for the records in %s", folder);
    if (status == ROTARY_OK)
        status = read_config(record, config, error);
    if (status == ROTARY_OK && !(record->arm = strdup(record->position)))
        status = rotary_fail_memory(error, "for the records in %s", folder);
    if (status == ROTARY_OK && file_exists(metrics))
        status = read_metrics(record, metrics, error);
    if (status == ROTARY_OK)
        status = find_speed(record, error);
    if (status == ROTARY_OK)
        status = record_lengths_read(&record->lengths, folder, error);
    if (record->lengths.step != record->done) /* the run went on since */
        record_lengths_free(&record->lengths);
    if (status != ROTARY_OK)
        record_free(record);
    return status;
}

void record_free(struct record *record)
{
    free(record->folder);
    free(record->unpacked);
    free(record->arm);
    json_decref(record->config);
    json_decref(record->provenance);
    free(record->points);
    free(record->evaluations);
    free(record->samples);
    json_decref(record->sample_lines);
    free(record->signature);
    record_lengths_free(&record->lengths);
    *record = (struct record){0};
}

const char *record_place(const struct record *record)
{
    return record->unpacked ? record->unpacked : record->folder;
}

const struct record_evaluation *record_last_evaluation(const struct record *record)
{
    return record->evaluation_count ? &record->evaluations[record->evaluation_count - 1] : NULL;
}

bool record_finished(const struct record *record)
{
    const struct record_evaluation *last = record_last_evaluation(record);
    return record->diverged || (last && last->step >= record->steps && last->averaged >= record->averages);
}

int64_t record_steps_to(const struct record *record, double fraction)
{
    for (int64_t i = 0; i < record->evaluation_count; i++) {
        const struct record_evaluation *evaluation = &record->evaluations[i];
        /* A quotient, not a product, so that 99 of 110 is exactly 0.9. */
        if (evaluation->problems && (double)evaluation->correct / (double)evaluation->problems >= fraction)
            return evaluation->step;
    }
    return NOT_REACHED;
}

/* The mean height of the curve of validation losses, by trapezoids. Averaged weights are not on it: a run
 * that goes on does not go on from them. */
static double loss_area(const struct record *record)
{
    const struct record_evaluation *first = NULL, *before = NULL;
    double area = 0;
    for (int64_t i = 0; i < record->evaluation_count; i++) {
        const struct record_evaluation *here = &record->evaluations[i];
        if (here->averaged)
            continue;
        if (before)
            area += (here->loss + before->loss) / 2 * (double)(here->step - before->step);
        first = first ? first : here;
        before = here;
    }
    if (!before)
        return (double)NAN;
    return before->step > first->step ? area / (double)(before->step - first->step) : before->loss;
}

const struct label_scores *record_labels(const struct record_evaluation *evaluation)
{
    return evaluation->test_labels.examples > 0 ? &evaluation->test_labels
           : evaluation->labels.examples > 0    ? &evaluation->labels
                                                : NULL;
}

enum scoring record_scoring(const struct record *record)
{
    const struct record_evaluation *last = record_last_evaluation(record);
    if (!last)
        return SCORING_LOSS;
    if (last->problems > 0)
        return SCORING_EXACT_MATCH;
    if (record_labels(last))
        return measure_descriptions[measure_of_label(record_labels(last)->decides)].scoring;
    return last->translated > 0 || last->test_translated > 0 ? SCORING_BLEU : SCORING_LOSS;
}

enum measure record_usual_measure(const struct record *record)
{
    const struct record_evaluation *last = record_last_evaluation(record);
    const struct label_scores *labels = last ? record_labels(last) : NULL;
    return labels ? measure_of_label(labels->decides) : measure_usual(record_scoring(record));
}

double record_measure(const struct record *record, enum measure measure)
{
    const struct record_evaluation *last = record_last_evaluation(record);
    if (!last || !measure_fits(measure, record_scoring(record)))
        return (double)NAN;
    switch (measure) {
    case MEASURE_VALIDATION_LOSS:
        return last->loss;
    case MEASURE_VALIDATION_LOSS_AREA:
        return loss_area(record);
    case MEASURE_BITS_PER_BYTE:
        return last->bits_per_byte > 0 ? last->bits_per_byte : (double)NAN;
    case MEASURE_EXACT_MATCH:
        return 100.0 * (double)last->correct / (double)last->problems;
    case MEASURE_STEPS_TO_90: {
        int64_t steps = record_steps_to(record, 0.9);
        return (double)(steps == NOT_REACHED ? last->step : steps);
    }
    case MEASURE_BLEU:
        return last->test_translated > 0 ? last->test_bleu : last->bleu;
    case MEASURE_ACCURACY:
    case MEASURE_F1:
    case MEASURE_MACRO_F1:
    case MEASURE_MATTHEWS:
    case MEASURE_PEARSON:
    case MEASURE_SPEARMAN:
        return 100.0 * record_labels(last)->values[measure_label(measure)];
    case MEASURES:
        break;
    }
    return (double)NAN;
}

/* The first of what was trained on: it had not been seen before. */
static double loss_before_training(const struct record *record)
{
    if (record->evaluation_count && record->evaluations[0].step == 0)
        return record->evaluations[0].loss;
    for (int64_t i = 0; i < record->point_count; i++)
        if (isfinite(record->points[i].loss))
            return record->points[i].loss;
    return (double)NAN;
}

/* A run's bits per byte are its loss times the tokens of a byte, which are the same for all evaluations. */
static double bits_before_training(const struct record *record)
{
    for (int64_t i = 0; i < record->evaluation_count; i++) {
        const struct record_evaluation *evaluation = &record->evaluations[i];
        if (evaluation->bits_per_byte > 0 && isfinite(evaluation->loss))
            return loss_before_training(record) * evaluation->bits_per_byte / evaluation->loss;
    }
    return (double)NAN;
}

double record_worst(const struct record *record, enum measure measure)
{
    const struct measure_description *description = &measure_descriptions[measure];
    if (measure_is_bounded(measure))
        return description->better == HIGHER_IS_BETTER ? description->low : description->high;
    if (measure == MEASURE_BITS_PER_BYTE)
        return bits_before_training(record);
    return measure == MEASURE_STEPS_TO_90 ? (double)record->steps : loss_before_training(record);
}
