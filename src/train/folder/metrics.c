/* SPDX-License-Identifier: Apache-2.0 */
#include "train/folder/metrics.h"

#include "base/fail.h"
#include "file/checksum/line_checksum.h"
#include "file/input.h"
#include "run_folder/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIGITS = 9 };                /* of the numbers of an evaluation */
#define CHECKPOINT_KEY "checkpoint" /* of evaluations that are not of the last one */

/* The values of one line. */
struct line {
    int64_t step;
    bool evaluated, diverged;
    double loss;
    struct evaluation evaluation;
};

/* ---- the numbers of an evaluation ---- */

struct metric {
    const char *name;
    size_t offset; /* in struct evaluation */
    enum { COUNT, REAL } type;
};

#define METRIC(name, member, type)                                                                           \
    {                                                                                                        \
        name, offsetof(struct evaluation, member), type                                                      \
    }
enum { MAX_METRICS = 5 };
static const struct metric groups[METRIC_GROUPS][MAX_METRICS + 1] = {
    [METRICS_ALWAYS] = {METRIC("correct", correct, COUNT), METRIC("problems", problems, COUNT),
                        METRIC("loss", loss, REAL), METRIC("accuracy", accuracy, REAL),
                        METRIC("seconds", seconds, REAL)},
    [METRICS_BITS_PER_BYTE] = {METRIC("bits_per_byte", bits_per_byte, REAL)},
    [METRICS_FREQUENCY_LOSS] = {METRIC("frequency_loss", frequency_loss, REAL)},
    [METRICS_TRANSLATION] = {METRIC("bleu", bleu, REAL), METRIC("translated", translated, COUNT)},
    [METRICS_TEST_TRANSLATION] = {METRIC("bleu", test.bleu, REAL),
                                  METRIC("translated", test.translated, COUNT),
                                  METRIC("loss", test.loss, REAL), METRIC("accuracy", test.accuracy, REAL)},
    [METRICS_TEST_LABELS] = {METRIC("loss", test.loss, REAL)},
};

void metrics_to_json(json_t *object, enum metric_group group, const struct evaluation *evaluation)
{
    for (const struct metric *metric = groups[group]; metric->name; metric++) {
        const char *member = (const char *)evaluation + metric->offset;
        json_object_set_new(object, metric->name,
                            metric->type == COUNT ? json_integer(*(const int64_t *)member)
                                                  : file_json_number(*(const double *)member));
    }
}

/* Sets the members of a group; those that the object has no number for are 0. */
static void read_metrics(const json_t *object, enum metric_group group, struct evaluation *evaluation)
{
    for (const struct metric *metric = groups[group]; metric->name; metric++) {
        const json_t *value = json_object_get(object, metric->name);
        char *member = (char *)evaluation + metric->offset;
        if (metric->type == COUNT)
            *(int64_t *)member = json_integer_value(value);
        else
            *(double *)member = json_number_value(value);
    }
}

static bool has_metrics(const json_t *object, enum metric_group group)
{
    const struct metric *metric = groups[group];
    while (metric->name && json_is_number(json_object_get(object, metric->name)))
        metric++;
    return !metric->name;
}

static bool has_numbers(const json_t *object, const char *const *keys)
{
    while (*keys && json_is_number(json_object_get(object, *keys)))
        keys++;
    return !*keys;
}

json_t *metrics_labels_json(const struct label_scores *scores)
{
    json_t *object = json_pack("{s:I, s:s}", "examples", (json_int_t)scores->examples, "score",
                               label_score_names[scores->decides]);
    for (int i = 0; i < LABEL_SCORES; i++)
        if (!isnan(scores->values[i]))
            json_object_set_new(object, label_score_names[i], json_real(scores->values[i]));
    return object;
}

struct label_scores metrics_labels_read(const json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "score"));
    struct label_scores scores = {.examples = json_integer_value(json_object_get(object, "examples")),
                                  .decides = LABEL_SCORES};
    for (int i = 0; i < LABEL_SCORES; i++) {
        const json_t *value = json_object_get(object, label_score_names[i]);
        scores.values[i] = json_is_number(value) ? json_number_value(value) : (double)NAN;
        if (name && strcmp(name, label_score_names[i]) == 0)
            scores.decides = (enum label_score)i;
    }
    if (scores.decides == LABEL_SCORES)
        scores.examples = 0;
    return scores;
}

/* Parses a line; false if it is not a line of metrics. */
static bool read_line(const char *text, size_t length, struct line *line)
{
    static const char *const of_step[] = {"loss", "learning_rate", "gradient_norm", "tokens_per_second",
                                          NULL};
    json_t *object = json_loadb(text, length, 0, NULL);
    const json_t *step = json_object_get(object, "step");
    const json_t *evaluation = json_object_get(object, "evaluation"),
                 *test = json_object_get(evaluation, "test");
    bool good = json_is_integer(step) && json_integer_value(step) > 0;
    *line = (struct line){.step = json_integer_value(step), .evaluated = evaluation};
    line->diverged = json_is_string(json_object_get(object, "diverged"));
    if (line->diverged) {
        /* there is only its step */
    } else if (evaluation) {
        good = good && has_metrics(evaluation, METRICS_ALWAYS);
        line->evaluation = (struct evaluation){
            .labels = metrics_labels_read(json_object_get(evaluation, "labels")),
            .test.labels = metrics_labels_read(json_object_get(test, "labels")),
            .averaged = json_object_get(evaluation, CHECKPOINT_KEY) != NULL,
        };
        for (int group = METRICS_ALWAYS; group < METRIC_GROUPS; group++)
            read_metrics(group < METRICS_TEST_TRANSLATION ? evaluation : test, (enum metric_group)group,
                         &line->evaluation);
    } else {
        good = good && has_numbers(object, of_step);
        line->loss = json_number_value(json_object_get(object, "loss"));
    }
    json_decref(object);
    return good;
}

/* Keeps what an evaluation found; its samples are the caller's. */
static void take_evaluation(struct metrics *metrics, int64_t step, const struct evaluation *evaluation)
{
    metrics->evaluation = *evaluation;
    metrics->evaluation.samples = NULL;
    metrics->evaluation.sample_count = 0;
    if (evaluation->averaged) {
        metrics->averaged = step;
        return;
    }
    metrics->evaluated = step;
    metrics->lowest_loss = fmin(metrics->lowest_loss, evaluation->loss);
}

/* Keeps what a valid line says. */
static void take_line(struct metrics *metrics, const struct line *line, uint64_t end)
{
    metrics->valid_bytes = end;
    if (line->diverged) {
        metrics->diverged = line->step;
    } else if (line->evaluated) {
        take_evaluation(metrics, line->step, &line->evaluation);
    } else {
        metrics->logged = line->step;
        metrics->loss = line->loss;
    }
}

/* What is wrong with a line by itself; NULL: nothing. *changed: it is one, but not as it was written. */
static const char *find_fault(const char *text, size_t count, struct line *line, bool *changed)
{
    const enum line_checksum checksum = line_checksum_check(text, count);
    *changed = false;
    if (!read_line(text, count, line))
        return "not a line of metrics";
    *changed = checksum != LINE_CHECKSUM_GOOD;
    return checksum == LINE_CHECKSUM_ABSENT ? "it has no checksum"
           : checksum == LINE_CHECKSUM_BAD  ? "it does not match its checksum: it was changed"
                                            : NULL;
}

/* Reads the lines up to the last one whose step is at most `step`. */
static rotary_status read_lines(struct metrics *metrics, struct lines *lines, int64_t step,
                                rotary_error *error)
{
    const char *fault = NULL;     /* of the first line that has one, ... */
    int64_t bad = 0, reached = 0; /* ... and its number */
    for (;;) {
        const char *text;
        size_t count;
        rotary_status status = lines_next(lines, &text, &count, error);
        if (status != ROTARY_OK || !text)
            return status;
        struct line line;
        bool changed;
        const char *found = find_fault(text, count, &line, &changed);
        if (!found && line.step < reached)
            found = "it is of an earlier step than the line before it";
        const bool good = !found;
        if (found && !fault) {
            fault = found;
            bad = lines->number;
        }
        if (good)
            reached = line.step;
        if (good && line.step > step && !line.diverged)
            metrics->dropped = line.step;
        /* What a crash leaves behind the lines up to `step`, which are on the disk, is no line of such a
         * step. */
        if ((!good && !(changed && line.step <= step)) || (line.step > step && !line.diverged))
            continue;
        if (fault)
            return rotary_fail(error, ROTARY_BAD_FILE,
                               "%s, line %lld: %s: wanted the line as the run wrote it", metrics->path,
                               (long long)bad, fault);
        take_line(metrics, &line, lines->taken);
    }
}

rotary_status metrics_read(struct metrics *metrics, const char *folder, int64_t step, rotary_error *error)
{
    *metrics = (struct metrics){.file = -1, .events.file = -1, .loss = NAN, .lowest_loss = INFINITY};
    rotary_status status = file_output_path(metrics->path, folder, FOLDER_METRICS, error);
    if (status != ROTARY_OK || !file_exists(metrics->path))
        return status;
    struct lines lines;
    status = lines_open(&lines, metrics->path, UINT64_MAX, error);
    if (status != ROTARY_OK)
        return status;
    status = read_lines(metrics, &lines, step, error);
    lines_close(&lines);
    return status;
}

rotary_status metrics_open(struct metrics *metrics, rotary_error *error)
{
    metrics->file = open(metrics->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    /* A crash leaves the old length or the new one. Both are valid: metrics_read ignores what is truncated.
     */
    if (metrics->file < 0 || ftruncate(metrics->file, (off_t)metrics->valid_bytes) != 0)
        return rotary_fail(error, ROTARY_IO_ERROR, "cannot write %s: %s", metrics->path, strerror(errno));
    return ROTARY_OK;
}

rotary_status metrics_open_events(struct metrics *metrics, const char *folder, bool wanted,
                                  rotary_error *error)
{
    bool found = false;
    rotary_status status = event_file_find(folder, &found, error);
    if (status != ROTARY_OK || (!wanted && !found))
        return status;
    return event_file_open(&metrics->events, folder, metrics->path, metrics->valid_bytes, error);
}

void metrics_close(struct metrics *metrics)
{
    event_file_close(&metrics->events);
    if (metrics->file >= 0)
        close(metrics->file);
    metrics->file = -1;
}

/* `text` has room for LINE_CHECKSUM_BYTES behind the line's newline. */
static rotary_status append(struct metrics *metrics, char *text, size_t count, rotary_error *error)
{
    count = line_checksum_add(text, count);
    for (size_t at = 0; at < count;) {
        ssize_t written = write(metrics->file, text + at, count - at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return rotary_fail(error, ROTARY_IO_ERROR, "cannot write to %s: %s", metrics->path,
                               strerror(errno));
        at += (size_t)written;
    }
    return metrics->events.file >= 0 ? event_file_add(&metrics->events, text, count, error) : ROTARY_OK;
}

rotary_status metrics_write_line(struct metrics *metrics, const struct metrics_line *line,
                                 rotary_error *error)
{
    char text[256 + LINE_CHECKSUM_BYTES];
    int count = snprintf(text, 256,
                         "{\"step\":%lld,\"loss\":%.9g,\"learning_rate\":%.9g,\"gradient_norm\":%.9g,"
                         "\"tokens_per_second\":%.1f}\n",
                         (long long)line->step, line->loss, line->learning_rate, line->gradient_norm,
                         line->tokens_per_second);
    rotary_status status = append(metrics, text, (size_t)count, error);
    if (status == ROTARY_OK) {
        metrics->logged = line->step;
        metrics->loss = line->loss;
    }
    return status;
}

rotary_status metrics_write_divergence(struct metrics *metrics, int64_t step, const char *what,
                                       rotary_error *error)
{
    char text[128 + LINE_CHECKSUM_BYTES];
    int count = snprintf(text, 128, "{\"step\":%lld,\"diverged\":\"%s\"}\n", (long long)step, what);
    rotary_status status = append(metrics, text, (size_t)count, error);
    if (status == ROTARY_OK)
        metrics->diverged = step;
    return status;
}

static json_t *samples_array(const struct evaluation *evaluation)
{
    json_t *samples = json_array();
    for (int64_t i = 0; samples && i < evaluation->sample_count; i++) {
        const struct evaluation_sample *sample = &evaluation->samples[i];
        json_t *object = json_pack("{s:s, s:s, s:s, s:b}", "prompt", sample->problem.prompt, "answer",
                                   sample->problem.answer, "generated", sample->generated, "correct",
                                   (int)sample->correct);
        if (json_array_append_new(samples, object) != 0) {
            json_decref(samples);
            samples = NULL;
        }
    }
    return samples;
}

void metrics_of_data_json(json_t *object, const struct evaluation *evaluation)
{
    json_t *test = json_object();
    if (evaluation->translated > 0) {
        metrics_to_json(object, METRICS_TRANSLATION, evaluation);
        json_object_set_new(object, "signature", json_string(evaluation->signature));
    }
    if (evaluation->labels.examples > 0)
        json_object_set_new(object, "labels", metrics_labels_json(&evaluation->labels));
    if (evaluation->test.translated > 0)
        metrics_to_json(test, METRICS_TEST_TRANSLATION, evaluation);
    if (evaluation->test.labels.examples > 0) {
        json_object_set_new(test, "labels", metrics_labels_json(&evaluation->test.labels));
        metrics_to_json(test, METRICS_TEST_LABELS, evaluation);
    }
    if (json_object_size(test) > 0)
        json_object_set(object, "test", test);
    json_decref(test);
}

static json_t *evaluation_object(int64_t step, const struct evaluation *evaluation)
{
    json_t *scores = json_object();
    metrics_to_json(scores, METRICS_ALWAYS, evaluation);
    if (evaluation->bits_per_byte > 0)
        metrics_to_json(scores, METRICS_BITS_PER_BYTE, evaluation);
    if (evaluation->frequency_loss > 0)
        metrics_to_json(scores, METRICS_FREQUENCY_LOSS, evaluation);
    metrics_of_data_json(scores, evaluation);
    if (evaluation->averaged)
        json_object_set_new(scores, CHECKPOINT_KEY, json_string("average"));
    return json_pack("{s:I, s:o, s:o}", "step", (json_int_t)step, "evaluation", scores, "samples",
                     samples_array(evaluation));
}

rotary_status metrics_write_evaluation(struct metrics *metrics, int64_t step,
                                       const struct evaluation *evaluation, rotary_error *error)
{
    if (!isfinite(evaluation->loss) || !isfinite(evaluation->test.loss))
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "%s: the loss of the evaluation of step %lld is not finite", metrics->path,
                           (long long)step);
    json_t *object = evaluation_object(step, evaluation);
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS)) : NULL;
    const size_t count = text ? strlen(text) : 0;
    char *line = text ? realloc(text, count + 1 + LINE_CHECKSUM_BYTES) : NULL;
    json_decref(object);
    if (!line) {
        free(text);
        return rotary_fail_memory(error, "to write an evaluation");
    }
    line[count] = '\n'; /* replaces the final zero byte, so that one system call writes the line */
    rotary_status status = append(metrics, line, count + 1, error);
    free(line);
    if (status == ROTARY_OK)
        take_evaluation(metrics, step, evaluation);
    return status;
}

double metrics_rounded(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.*g", DIGITS, value);
    return strtod(text, NULL);
}

rotary_status metrics_sync(struct metrics *metrics, rotary_error *error)
{
    if (fsync(metrics->file) != 0)
        return rotary_fail(error, ROTARY_IO_ERROR, "cannot write %s to the disk: %s", metrics->path,
                           strerror(errno));
    return ROTARY_OK;
}
