/* SPDX-License-Identifier: Apache-2.0
 *
 * Records read back, damaged and not; runs put side by side; the table, the verdicts, the JSON.
 */
#include "study/synthetic.h"
#include "support/check.h"
#include "support/scratch.h"

#include "report/comparison_table.h"
#include "study/collection.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char config[] =
    "{\"format\":2,\"task\":\"index\",\"position\":\"rope\",\"seed\":3,\"steps\":30}";
static const char metrics[] =
    "{\"step\":10,\"loss\":2.5,\"learning_rate\":0.001,\"gradient_norm\":0.7,\"tokens_per_second\":9}\n"
    "{\"step\":20,\"loss\":1.5,\"learning_rate\":0.001,\"gradient_norm\":0.7,\"tokens_per_second\":9}\n"
    "{\"step\":20,\"evaluation\":{\"correct\":115,\"problems\":128,\"loss\":1.4,\"accuracy\":0.9,\"seconds\":"
    "1}"
    ","
    "\"samples\":[{\"prompt\":\"a\",\"answer\":\"b\",\"generated\":\"c\",\"correct\":false}]}\n"
    "{\"step\":30,\"loss\":1.25,\"learning_rate\":0.001,\"gradient_norm\":0.7,\"tokens_per_second\":9}\n"
    "{\"step\":30,\"evaluation\":{\"correct\":116,\"problems\":128,\"loss\":1.3,\"accuracy\":0.9,\"seconds\":"
    "1}"
    ","
    "\"samples\":[{\"prompt\":\"p\",\"answer\":\"q\",\"generated\":\"q#\",\"correct\":true}]}\n";

static void check_record(const char *folder)
{
    struct record record;
    rotary_error error;
    check_about("no folder");
    CHECK_INT(record_read(&record, folder, &error), ROTARY_IO_ERROR);

    check_about("a run at step 0");
    synthetic_write(folder, "config.json", config);
    CHECK_INT(record_read(&record, folder, &error), ROTARY_OK);
    CHECK_INT(record.done, 0);
    CHECK(!record_finished(&record) && record_last_evaluation(&record) == NULL);
    record_free(&record);

    check_about("a whole run");
    synthetic_write(folder, "metrics.jsonl", metrics);
    CHECK_INT(record_read(&record, folder, &error), ROTARY_OK);
    CHECK_TEXT(record.task, "index");
    CHECK_TEXT(record.position, "rope");
    CHECK_INT(record.seed, 3);
    CHECK_INT(record.steps, 30);
    CHECK_INT(record.done, 30);
    CHECK_INT(record.point_count, 3);
    CHECK_NEAR(record.points[1].loss, 1.5, 0);
    CHECK_INT(record.evaluation_count, 2);
    CHECK_INT(record_last_evaluation(&record)->correct, 116);
    CHECK(record_finished(&record));
    CHECK_INT(record_steps_to(&record, 0.9), 30); /* 115 of 128 is 89.8%, 116 is 90.6% */
    CHECK_INT(record_steps_to(&record, 0.89), 20);
    CHECK_INT(record_steps_to(&record, 0.95), NOT_REACHED);
    record.evaluations[0].correct = 99;
    record.evaluations[0].problems = 110;
    CHECK_INT(record_steps_to(&record, 0.9), 20); /* exactly */
    CHECK_INT(record.sample_count, 1);
    CHECK_TEXT(record.samples[0].prompt, "p");
    CHECK(record.samples[0].correct);
    record_free(&record);

    check_about("killed while writing a line");
    synthetic_append(folder, "metrics.jsonl", "{\"step\":40,\"lo");
    CHECK_INT(record_read(&record, folder, &error), ROTARY_OK);
    CHECK_INT(record.done, 30);
    record_free(&record);
}

/* `line` behind good ones is refused, by number, with `why` in the sentence. */
static void check_damage(const char *folder, const char *line, const char *why)
{
    struct record record;
    rotary_error error = {0};
    check_about("damage %s", line);
    synthetic_write(folder, "metrics.jsonl", metrics);
    synthetic_append(folder, "metrics.jsonl", line);
    synthetic_append(folder, "metrics.jsonl", "\n");
    CHECK_INT(record_read(&record, folder, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "metrics.jsonl, line 6: ") != NULL);
    if (!CHECK(strstr(error.message, why) != NULL))
        printf("    %s\n", error.message);
    CHECK(record.folder == NULL && record.points == NULL); /* nothing left behind */
}

static void check_damages(const char *folder)
{
    check_damage(folder, "{\"step\":40,\"lo", "wanted a JSON object");
    check_damage(folder, "", "wanted a JSON object");
    check_damage(folder, "[]", "wanted a JSON object");
    check_damage(folder, "{\"loss\":1}", "step: wanted a whole number from 0 to 9007199254740991");
    check_damage(folder, "{\"step\":-1}", "step: wanted a whole number");
    check_damage(folder, "{\"step\":9007199254740992,\"loss\":1}", "step: wanted a whole number");
    check_damage(folder, "{\"step\":20}", "step: wanted lines in the order");
    check_damage(folder, "{\"step\":40,\"loss\":\"low\"}", "loss: wanted a number");
    check_damage(folder, "{\"step\":40,\"evaluation\":[]}", "evaluation: wanted an object");
    check_damage(folder, "{\"step\":40,\"evaluation\":{\"problems\":4,\"correct\":5}}",
                 "no more right answers");
    check_damage(
        folder,
        "{\"step\":40,\"evaluation\":{\"problems\":4,\"correct\":4,\"loss\":1,\"accuracy\":1,\"seconds\":1},"
        "\"samples\":[{}]}",
        "samples: wanted objects");
    struct record record;
    rotary_error error;
    check_about("a configuration of something else");
    synthetic_write(folder, "config.json", "{\"task\":\"index\"}");
    CHECK_INT(record_read(&record, folder, &error), ROTARY_BAD_FILE);
}

static const char *const names[] = {"rope", "roper"};

static const struct synthetic_run quick = {
    .task = "index", .seed = 1, .steps = 600, .done = 600, .evaluate_every = 100, .problems = 128};

static void check_comparison(const char *folder)
{
    struct collection collection;
    rotary_error error = {0};
    check_about("three runs of two encodings");
    synthetic_comparison(folder, &quick, 3, 2, names, (double[]){450, 300});
    CHECK(collection_is_comparison(folder));
    CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_OK);
    CHECK_INT(collection.record_count, 6);
    CHECK_TEXT(collection.records[1].position, "roper"); /* seed by seed */
    CHECK_INT(collection.records[1].seed, 1);
    const struct comparison *comparison = collection.comparison;
    CHECK_INT(comparison->encoding_count, 2);
    CHECK_INT(comparison->problems, 128);
    CHECK_INT(comparison->steps, 600);
    CHECK_INT(comparison->unfinished, 0);
    const struct comparison_encoding *rope = &comparison->encodings[0], *roper = &comparison->encodings[1];
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        const struct record *record = &collection.records[rope->runs[i]];
        CHECK_INT(record->seed, i + 1);
        double correct = (double)record_last_evaluation(record)->correct / 1.28;
        CHECK_NEAR(rope->values[MEASURE_EXACT_MATCH][i], correct, 1e-12);
        CHECK_NEAR(rope->values[MEASURE_LOSS][i], record_last_evaluation(record)->loss, 0);
        sum += roper->values[MEASURE_EXACT_MATCH][i] - correct;
    }
    CHECK_NEAR(roper->difference[MEASURE_EXACT_MATCH].mean, sum / 3, 1e-12);
    CHECK(roper->statistics[MEASURE_EXACT_MATCH].mean > rope->statistics[MEASURE_EXACT_MATCH].mean + 5);
    CHECK_INT(roper->reached.reached, 3);
    CHECK(roper->reached.median < rope->reached.median);

    char *text, *sentence;
    json_t *object;
    CHECK_INT(comparison_verdict(comparison, 1, &sentence, &error), ROTARY_OK);
    CHECK(strncmp(sentence, "no difference shown between roper and rope: +", 45) == 0 &&
          strstr(sentence, " holds zero, 3 pairs") != NULL);
    CHECK_INT(comparison_text(comparison, &text, &error), ROTARY_OK);
    CHECK(strstr(text, sentence) != NULL);
    CHECK(strstr(text, "right answers, % of 128 problems\nencoding  runs") == text);
    CHECK_INT(comparison_json(comparison, &object, &error), ROTARY_OK);
    json_t *encoding = json_array_get(json_object_get(object, "encodings"), 1);
    CHECK_TEXT(json_string_value(json_object_get(encoding, "position")), "roper");
    CHECK_NEAR(json_real_value(json_object_get(json_object_get(encoding, "exact_match_percent"), "mean")),
               roper->statistics[MEASURE_EXACT_MATCH].mean, 0);
    CHECK_INT((int64_t)json_array_size(json_object_get(encoding, "runs")), 3);
    json_decref(object);
    free(text);
    free(sentence);
    collection_free(&collection);
}

/* Makes a run of the comparison one that got to step `done` and diverged at the next. */
static void diverge(const char *folder, const char *position, int64_t seed, int64_t done)
{
    struct synthetic_run run = quick;
    run.position = position;
    run.seed = seed;
    run.done = done;
    run.half = 300;
    char place[2 * SYNTHETIC_PATH], line[64];
    snprintf(place, sizeof place, "%s/%s-%lld", folder, position, (long long)seed);
    synthetic_run(place, &run);
    snprintf(line, sizeof line, "{\"step\":%lld,\"diverged\":\"loss\"}\n", (long long)done + 1);
    synthetic_append(place, "metrics.jsonl", line);
}

/* Runs that diverged are finished, without a score: said, counted as slower than any, and left out of the
 * rest. */
static void check_diverged(const char *folder)
{
    struct collection collection;
    rotary_error error = {0};
    check_about("roper-2 diverged");
    synthetic_comparison(folder, &quick, 3, 2, names, (double[]){450, 300});
    diverge(folder, "roper", 2, 510);
    CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_OK);
    const struct comparison *comparison = collection.comparison;
    const struct comparison_encoding *roper = &comparison->encodings[1];
    CHECK_INT(collection.records[3].diverged, 511);
    CHECK(record_finished(&collection.records[3]));
    CHECK_INT(comparison->unfinished, 0);
    CHECK_INT(comparison->diverged, 1);
    CHECK_INT(roper->run_count, 2);
    CHECK_INT(roper->diverged_count, 1);
    CHECK_INT(collection.records[roper->runs[2]].seed, 2);
    CHECK_INT(roper->steps_to_90[2], NOT_REACHED);
    CHECK_INT(roper->reached.count, 3);
    CHECK_INT(roper->difference[MEASURE_EXACT_MATCH].count, 2);
    CHECK_INT(roper->pair_seeds[0], 1);
    CHECK_INT(roper->pair_seeds[1], 3);
    const struct statistics *correct = &roper->statistics[MEASURE_EXACT_MATCH];
    CHECK_INT(correct->count, 2);
    CHECK_NEAR(correct->without_worst, correct->mean, 0); /* the worst is the one that diverged */
    char *text;
    json_t *object;
    CHECK_INT(comparison_text(comparison, &text, &error), ROTARY_OK);
    CHECK(strstr(text, "\nroper: 1 of 3 runs diverged and has no score: seed 2 at step 511\n") != NULL);
    CHECK(strstr(text, " pairs; 1 run diverged\n") != NULL);
    free(text);
    CHECK_INT(comparison_json(comparison, &object, &error), ROTARY_OK);
    json_t *diverged = json_object_get(json_array_get(json_object_get(object, "encodings"), 1), "diverged");
    CHECK_INT((int64_t)json_array_size(diverged), 1);
    CHECK_INT(json_integer_value(json_object_get(json_array_get(diverged, 0), "step")), 511);
    json_decref(object);
    collection_free(&collection);

    check_about("roper-1 diverged too");
    diverge(folder, "roper", 1, 20);
    CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_OK);
    roper = &collection.comparison->encodings[1];
    CHECK_INT(roper->diverged_count, 2);
    CHECK(isnan(roper->statistics[MEASURE_EXACT_MATCH].without_worst));
    CHECK(isinf(roper->reached.median));
    CHECK_INT(comparison_text(collection.comparison, &text, &error), ROTARY_OK);
    CHECK(strstr(text, "2 of 3 runs diverged and have no score: seed 1 at step 21, seed 2 at step 511\n") !=
          NULL);
    free(text);
    collection_free(&collection);

    check_about("all of roper diverged");
    diverge(folder, "roper", 3, 0);
    CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_OK);
    CHECK_INT(collection.comparison->encodings[1].run_count, 0);
    CHECK_INT(comparison_text(collection.comparison, &text, &error), ROTARY_OK);
    CHECK(strstr(text,
                 "nothing to say of roper and rope yet: no seed is finished with both; 3 runs diverged\n"));
    free(text);
    collection_free(&collection);

    check_about("a line behind the last");
    char place[2 * SYNTHETIC_PATH];
    snprintf(place, sizeof place, "%s/roper-3", folder);
    synthetic_append(place, "metrics.jsonl", "{\"step\":5,\"diverged\":\"loss\"}\n");
    CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "line 2: step: wanted nothing after the line") != NULL);
}

static void check_unfinished(const char *folder)
{
    struct collection collection;
    rotary_error error = {0};
    check_about("roper-2 half done, seed 3 not begun");
    char place[2 * SYNTHETIC_PATH];
    struct synthetic_run half = quick;
    half.position = "roper";
    half.seed = 2;
    half.done = 310;
    half.half = 300;
    snprintf(place, sizeof place, "%s/roper-2", folder);
    synthetic_run(place, &half);
    snprintf(place, sizeof place, "%s/rope-3", folder);
    scratch_remove(place);
    snprintf(place, sizeof place, "%s/roper-3", folder);
    scratch_remove(place);
    CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_OK);
    CHECK_INT(collection.record_count, 4);
    CHECK_INT(collection.wanted, 6);
    CHECK_INT(collection.comparison->unfinished, 1);
    CHECK_INT(collection.comparison->encodings[0].run_count, 2);
    CHECK_INT(collection.comparison->encodings[1].run_count, 1);
    CHECK_INT(collection.comparison->encodings[1].difference[MEASURE_EXACT_MATCH].count, 1);
    char *text;
    CHECK_INT(comparison_text(collection.comparison, &text, &error), ROTARY_OK);
    CHECK(strstr(text, "1 unfinished run not counted\ntoo few runs to tell roper from rope: ") != NULL);
    CHECK(strstr(text, " over 1 pair\n") != NULL);
    free(text);
    collection_free(&collection);

    check_about("nothing finished yet");
    static const char *const finished[] = {"rope-1", "roper-1", "rope-2"};
    for (int i = 0; i < 3; i++) {
        snprintf(place, sizeof place, "%s/%s", folder, finished[i]);
        scratch_remove(place);
    }
    CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_OK);
    CHECK_INT(collection.comparison->problems, 128); /* known from an unfinished run */
    CHECK_INT(comparison_text(collection.comparison, &text, &error), ROTARY_OK);
    CHECK(strstr(text, "nothing to say of roper and rope yet") != NULL);
    free(text);
    collection_free(&collection);

    check_about("nothing begun yet");
    snprintf(place, sizeof place, "%s/roper-2", folder);
    scratch_remove(place);
    CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_OK);
    CHECK_INT(collection.record_count, 0);
    CHECK_INT(collection.comparison->steps, 600);
    collection_free(&collection);

    check_about("another version's comparison");
    synthetic_write(folder, "compare.json", "{\"format\":99}");
    CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "format 99") != NULL);
    synthetic_write(folder, "compare.json", "{\"format\":2,\"positions\":[1],\"runs\":2}");
    CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_BAD_FILE);
    synthetic_write(folder, "compare.json",
                    "{\"format\":2,\"positions\":[\"rope\"],\"runs\":2,\"command\":\"\","
                    "\"config\":{\"seed\":9223372036854775807}}");
    CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_BAD_FILE);
}

static void check_plain_runs(const char *folder)
{
    char paths[4][2 * SYNTHETIC_PATH];
    const char *folders[4] = {paths[0], paths[1], paths[2], paths[3]};
    struct synthetic_run run = {.task = "prefix",
                                .position = "rope",
                                .seed = 1,
                                .steps = 100,
                                .done = 100,
                                .evaluate_every = 50,
                                .half = 80};
    snprintf(paths[3], sizeof paths[3], "%s/run-3", folder);
    for (int i = 0; i < 3; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/run-%d", folder, i);
        run.position = i == 1 ? "none" : "rope";
        run.seed = i / 2;
        synthetic_run(paths[i], &run);
    }
    struct collection collection;
    rotary_error error = {0};
    check_about("runs of a task without problems");
    CHECK_INT(collection_read(&collection, folders, 3, &error), ROTARY_OK);
    CHECK(comparison_measure(collection.comparison) == MEASURE_LOSS);
    CHECK_TEXT(collection.comparison->encodings[0].name, "rope");
    CHECK_INT(collection.comparison->encodings[0].run_count, 2);
    char *text;
    CHECK_INT(comparison_text(collection.comparison, &text, &error), ROTARY_OK);
    CHECK(strstr(text, "right answers") == NULL && strstr(text, "held-out loss") == text);
    free(text);
    collection_free(&collection);

    check_about("runs that share one seed of two");
    run.seed = 3;
    run.position = "none";
    synthetic_run(paths[2], &run);
    run.seed = 0;
    run.position = "rope";
    synthetic_run(paths[1], &run);

    run.seed = 3;
    synthetic_run(paths[3], &run);
    CHECK_INT(collection_read(&collection, (const char *const[]){paths[1], paths[2], paths[3]}, 3, &error),
              ROTARY_OK);
    const struct comparison_encoding *none = &collection.comparison->encodings[1];
    CHECK_INT(none->difference[MEASURE_LOSS].count, 1);
    CHECK_INT(none->pair_seeds[0], 3);
    CHECK_NEAR(none->differences[MEASURE_LOSS][0],
               record_last_evaluation(&collection.records[1])->loss -
                   record_last_evaluation(&collection.records[2])->loss,
               0);
    collection_free(&collection);

    check_about("scored on different numbers of problems");
    run.problems = 64;
    synthetic_run(paths[3], &run);
    CHECK_INT(collection_read(&collection, (const char *const[]){paths[1], paths[3]}, 2, &error),
              ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "scored on 64 problems") != NULL);
    run.problems = 0;

    check_about("runs that do not compare");
    run.seed = 0;
    synthetic_run(paths[0], &run);
    synthetic_run(paths[1], &run);
    folders[2] = paths[0];
    CHECK_INT(collection_read(&collection, folders, 3, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "both rope with seed 0") != NULL);
    run.task = "index";
    synthetic_run(paths[1], &run);
    CHECK_INT(collection_read(&collection, folders, 2, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "only runs of one task") != NULL);
    CHECK_INT(collection_read(&collection, folders, 0, &error), ROTARY_INVALID_ARGUMENT);
}

/* The sentence for differences made to order. */
static void check_wording(double mean, double low, double high, int pairs, bool correct, const char *wanted)
{
    struct comparison_encoding encodings[2] = {{.name = "rope"}, {.name = "roper"}};
    encodings[1].difference[correct ? MEASURE_EXACT_MATCH : MEASURE_LOSS] =
        (struct paired_difference){.count = pairs, .mean = mean, .low = low, .high = high};
    struct comparison comparison = {.encodings = encodings, .encoding_count = 2, .has_problems = correct};
    char *sentence;
    rotary_error error;
    CHECK_INT(comparison_verdict(&comparison, 1, &sentence, &error), ROTARY_OK);
    CHECK_TEXT(sentence, wanted);
    free(sentence);
}

int main(void)
{
    const char *run = scratch_path("run"), *compared = scratch_path("compare"),
               *plain = scratch_path("plain");
    check_record(run);
    check_damages(run);
    check_comparison(compared);
    check_unfinished(compared);
    check_diverged(scratch_path("diverged"));
    synthetic_write(plain, "nothing", "");
    check_plain_runs(plain);

    check_about("wording");
    double nan = (double)NAN;
    check_wording(
        20.04, 10.16, 40.6, 3, true,
        "roper better than rope by 20.0 points of right answers: 95% interval [10.2, 40.6], 3 pairs");
    check_wording(
        -20.04, -40.6, -10.16, 3, true,
        "roper worse than rope by 20.0 points of right answers: 95% interval [10.2, 40.6], 3 pairs");
    check_wording(
        -0.0078, -0.0123, -0.0011, 9, false,
        "roper better than rope by 0.0078 nats of held-out loss: 95% interval [0.0011, 0.0123], 9 pairs");
    check_wording(
        1.2, -3, 5.1, 5, true,
        "no difference shown between roper and rope: +1.2 points of right answers, 95% interval [-3.0, 5.1] "
        "holds zero, 5 pairs");
    check_wording(3, 2, 4, 2, true,
                  "too few runs to tell roper from rope: +3.0 points of right answers over 2 pairs");
    check_wording(nan, nan, nan, 0, true,
                  "nothing to say of roper and rope yet: no seed is finished with both");
    check_wording(nan, nan, nan, 4, false, "no verdict on roper and rope: the loss of a run is not a number");
    return check_report();
}
