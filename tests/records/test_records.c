/* SPDX-License-Identifier: Apache-2.0
 *
 * Records read back, valid and damaged; comparisons of them.
 */
#include "records/synthetic.h"
#include "support/check.h"
#include "support/scratch.h"

#include "file/checksum/line_checksum.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char config[] =
    "{\"format\":2,\"parameters\":1234,\"task\":\"index\",\"position\":\"rope\",\"seed\":3,\"steps\":30}";
static const char metrics[] =
    "{\"step\":10,\"loss\":2.5,\"learning_rate\":0.001,\"gradient_norm\":0.7,\"tokens_per_second\":9}\n"
    "{\"step\":20,\"loss\":1.5,\"learning_rate\":0.001,\"gradient_norm\":0.7,\"tokens_per_second\":4}\n"
    "{\"step\":20,\"evaluation\":{\"correct\":115,\"problems\":128,\"loss\":1.4,\"accuracy\":0.9,\"seconds\":"
    "1}"
    ","
    "\"samples\":[{\"prompt\":\"a\",\"answer\":\"b\",\"generated\":\"c\",\"correct\":false}]}\n"
    "{\"step\":30,\"loss\":1.25,\"learning_rate\":0.001,\"gradient_norm\":0.7,\"tokens_per_second\":5}\n"
    "{\"step\":30,\"evaluation\":{\"correct\":116,\"problems\":128,\"loss\":1.3,\"accuracy\":0.9,\"seconds\":"
    "1}"
    ","
    "\"samples\":[{\"prompt\":\"p\",\"answer\":\"q\",\"generated\":\"q#\",\"correct\":true}]}\n";

static const char translated[] =
    "{\"format\":2,\"task\":\"translation\",\"position\":\"rope\",\"seed\":3,\"steps\":20,"
    "\"average_checkpoints\":2}";
static const char translations[] =
    "{\"step\":10,\"evaluation\":{\"correct\":0,\"problems\":0,\"loss\":2.5,\"accuracy\":0.4,\"seconds\":1,"
    "\"bleu\":21.5,\"translated\":100,\"signature\":\"s\"}}\n"
    "{\"step\":20,\"evaluation\":{\"correct\":0,\"problems\":0,\"loss\":2.25,\"accuracy\":0.5,\"seconds\":1,"
    "\"bleu\":24.5,\"translated\":100,\"signature\":\"s\"}}\n";
static const char averaged[] =
    "{\"step\":20,\"evaluation\":{\"correct\":0,\"problems\":0,\"loss\":2.125,\"accuracy\":0.5,\"seconds\":2,"
    "\"bleu\":26.5,\"translated\":1014,\"signature\":\"s\",\"test\":{\"bleu\":27.25,\"translated\":1000,"
    "\"loss\":2.0,\"accuracy\":0.5},\"checkpoint\":\"average\"}}\n";

static const char continued[] =
    "{\"step\":40,\"evaluation\":{\"correct\":0,\"problems\":0,\"loss\":2.0,\"accuracy\":0.5,\"seconds\":1,"
    "\"bleu\":25.5,\"translated\":100,\"signature\":\"s\"}}\n";

/* A run that averages its checkpoints is finished when their mean was evaluated, and judged by that: by BLEU
 * of the test set. */
static void check_translations(void)
{
    struct record record;
    char text[2048];
    const char *folder = scratch_path("translated");
    CHECK(mkdir(folder, 0777) == 0);
    scratch_write(synthetic_path(folder, "config.json"), translated, sizeof translated - 1);
    scratch_write(synthetic_path(folder, "metrics.jsonl"), translations, sizeof translations - 1);
    CHECK_INT(record_read(&record, folder, NULL), ROTARY_OK);
    CHECK(!record_finished(&record));
    CHECK_INT(record_scoring(&record), SCORING_BLEU);
    CHECK_NEAR(record_measure(&record, MEASURE_BLEU), 24.5, 0);
    CHECK(isnan(record_measure(&record, MEASURE_EXACT_MATCH)));
    record_free(&record);
    snprintf(text, sizeof text, "%s%s", translations, averaged);
    scratch_write(synthetic_path(folder, "metrics.jsonl"), text, strlen(text));
    CHECK_INT(record_read(&record, folder, NULL), ROTARY_OK);
    CHECK(record_finished(&record));
    CHECK_INT(record.evaluation_count, 3);
    CHECK_NEAR(record_measure(&record, MEASURE_BLEU), 27.25, 0);
    CHECK_NEAR(record_measure(&record, MEASURE_VALIDATION_LOSS), 2.125, 0);
    CHECK_NEAR(record_last_evaluation(&record)->bleu, 26.5, 0);
    CHECK_NEAR(record_measure(&record, MEASURE_VALIDATION_LOSS_AREA), 2.375, 1e-12);
    record_free(&record);
    /* It goes on from its own weights: the curve does not touch the mean's loss. */
    snprintf(text, sizeof text, "%s%s%s", translations, averaged, continued);
    scratch_write(synthetic_path(folder, "metrics.jsonl"), text, strlen(text));
    CHECK_INT(record_read(&record, folder, NULL), ROTARY_OK);
    CHECK_NEAR(record_measure(&record, MEASURE_VALIDATION_LOSS_AREA), 66.25 / 30, 1e-12);
    record_free(&record);
}

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
    CHECK_INT(record.parameters, 1234);
    CHECK(json_object_get(record.config, "parameters") == NULL);
    CHECK(isnan(record.tokens_per_second));
    CHECK(!record_finished(&record) && record_last_evaluation(&record) == NULL);
    record_free(&record);

    check_about("a finished run");
    synthetic_write(folder, "metrics.jsonl", metrics);
    CHECK_INT(record_read(&record, folder, &error), ROTARY_OK);
    CHECK_TEXT(record.task, "index");
    CHECK_TEXT(record.position, "rope");
    CHECK_INT(record.seed, 3);
    CHECK_INT(record.steps, 30);
    CHECK_INT(record.done, 30);
    CHECK_INT(record.point_count, 3);
    CHECK_NEAR(record.tokens_per_second, 5, 0); /* the median of 9, 4 and 5 */
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

/* What counts at the end is the last evaluation, though one before it was better in everything. */
static void check_last_evaluation(const char *folder)
{
    struct record record;
    check_about("a run that gets worse");
    synthetic_write(folder, "metrics.jsonl", metrics);
    synthetic_append(folder, "metrics.jsonl",
                     "{\"step\":40,\"evaluation\":{\"correct\":77,\"problems\":128,\"loss\":1.9,"
                     "\"accuracy\":0.5,\"seconds\":1}}\n");
    if (!CHECK_INT(record_read(&record, folder, NULL), ROTARY_OK))
        return;
    CHECK_INT(record.evaluation_count, 3);
    CHECK_INT(record_last_evaluation(&record)->step, 40);
    CHECK_INT(record_last_evaluation(&record)->correct, 77);
    CHECK_NEAR(record_last_evaluation(&record)->loss, 1.9, 0);
    record_free(&record);
}

/* `line` after valid ones is refused, with its number and `why` in the message. */
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
    check_damage(folder, "{\"loss\":1}",
                 "\"step\" is missing, wanted a whole number from 0 to 9007199254740991");
    check_damage(folder, "{\"step\":-1}", "\"step\" is -1, wanted a whole number");
    check_damage(folder, "{\"step\":9007199254740992,\"loss\":1}", "\"step\" is 9007199254740992, wanted");
    check_damage(folder, "{\"step\":20}", "\"step\" is 20, wanted lines in ascending order");
    check_damage(folder, "{\"step\":40,\"loss\":\"low\"}", "\"loss\" is \"low\", wanted a number");
    check_damage(folder, "{\"step\":40,\"evaluation\":[]}", "\"evaluation\" is [], wanted an object");
    check_damage(folder,
                 "{\"step\":40,\"evaluation\":{\"problems\":0,\"correct\":0,\"loss\":1,\"labels\":{"
                 "\"examples\":3,\"score\":\"bleu\"}}}",
                 "\"score\" is \"bleu\", wanted the name of a score of labels");
    check_damage(folder,
                 "{\"step\":40,\"evaluation\":{\"problems\":0,\"correct\":0,\"loss\":1,\"test\":{\"labels\":{"
                 "\"examples\":3,\"score\":\"f1\",\"f1\":\"high\"}}}}",
                 "\"f1\" is \"high\", wanted a number");
    check_damage(folder, "{\"step\":40,\"evaluation\":{\"problems\":4,\"correct\":5}}",
                 "\"correct\" is 5, wanted at most \"problems\"");
    check_damage(
        folder,
        "{\"step\":40,\"evaluation\":{\"problems\":4,\"correct\":4,\"loss\":1,\"accuracy\":1,\"seconds\":1},"
        "\"samples\":[{}]}",
        "\"samples\" is [{}], wanted objects");
    struct record record;
    rotary_error error;
    check_about("a configuration of something else");
    synthetic_write(folder, "config.json", "{\"task\":\"index\"}");
    CHECK_INT(record_read(&record, folder, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "config.json has no valid \"format\": wanted 2") != NULL);
    synthetic_write(folder, "config.json", "{\"format\":2,\"task\":\"index\"}");
    CHECK_INT(record_read(&record, folder, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "is not a run's configuration: wanted task and position") != NULL);
    check_about("another version's run");
    synthetic_write(folder, "config.json",
                    "{\"format\":1,\"task\":\"index\",\"position\":\"rope\",\"seed\":3,\"steps\":30}");
    CHECK_INT(record_read(&record, folder, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "config.json has format 1, of another version of this program") != NULL);
}

static const char *const names[] = {"rope", "roper"};

static void check_comparison(const char *folder)
{
    check_about("three runs of two arms");
    synthetic_comparison(folder, &synthetic_quick, 3, 2, names, (double[]){450, 300});
    CHECK(comparison_file_exists(folder));
    struct collection collection = synthetic_read(folder);
    CHECK_INT(collection.record_count, 6);
    CHECK_TEXT(collection.records[1].position, "roper"); /* seed by seed */
    CHECK_INT(collection.records[1].seed, 1);
    const struct comparison *comparison = collection.comparison;
    CHECK_INT(comparison->arm_count, 2);
    CHECK_INT(comparison->problems, 128);
    CHECK_INT(comparison->steps, 600);
    CHECK_INT(comparison->unfinished, 0);
    const struct comparison_arm *rope = &comparison->arms[0], *roper = &comparison->arms[1];
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        const struct record *record = &collection.records[rope->runs[i]];
        CHECK_INT(record->seed, i + 1);
        double correct = (double)record_last_evaluation(record)->correct / 1.28;
        CHECK_NEAR(rope->values[MEASURE_EXACT_MATCH][i], correct, 1e-12);
        CHECK_NEAR(rope->values[MEASURE_VALIDATION_LOSS][i], record_last_evaluation(record)->loss, 0);
        sum += roper->values[MEASURE_EXACT_MATCH][i] - correct;
    }
    CHECK_NEAR(comparison->contrasts[0].difference[MEASURE_EXACT_MATCH].mean, sum / 3, 1e-12);
    CHECK(roper->statistics[MEASURE_EXACT_MATCH].mean > rope->statistics[MEASURE_EXACT_MATCH].mean + 5);
    CHECK_INT(roper->reached.reached, 3);
    CHECK(roper->reached.median < rope->reached.median);
    collection_free(&collection);
}

/* Runs that diverged are finished without a score, and count as slower than any other. */
static void check_diverged(const char *folder)
{
    check_about("roper-2 diverged");
    synthetic_comparison(folder, &synthetic_quick, 3, 2, names, (double[]){450, 300});
    synthetic_stop(folder, 2, 510, true);
    struct collection collection = synthetic_read(folder);
    const struct comparison *comparison = collection.comparison;
    const struct comparison_arm *roper = &comparison->arms[1];
    CHECK_INT(collection.records[3].diverged, 511);
    CHECK(record_finished(&collection.records[3]));
    CHECK_INT(comparison->unfinished, 0);
    CHECK_INT(comparison->diverged, 1);
    CHECK_INT(roper->run_count, 2);
    CHECK_INT(roper->diverged_count, 1);
    CHECK_INT(collection.records[roper->runs[2]].seed, 2);
    CHECK_INT(roper->steps_to_90[2], NOT_REACHED);
    CHECK_INT(roper->reached.count, 3);
    /* In its pair it counts with the worst score. */
    const struct contrast *contrast = &comparison->contrasts[0];
    const struct record *baseline = &collection.records[contrast->pairs[1].baseline];
    CHECK_INT(contrast->difference[MEASURE_EXACT_MATCH].count, 3);
    CHECK_INT(contrast->pairs[1].seed, 2);
    CHECK(contrast->pairs[1].diverged && !contrast->pairs[0].diverged && !contrast->pairs[2].diverged);
    CHECK_NEAR(contrast->differences[MEASURE_EXACT_MATCH][1], -record_measure(baseline, MEASURE_EXACT_MATCH),
               1e-12);
    CHECK_NEAR(contrast->differences[MEASURE_STEPS_TO_90][1],
               600 - record_measure(baseline, MEASURE_STEPS_TO_90), 1e-12);
    CHECK_NEAR(contrast->differences[MEASURE_VALIDATION_LOSS][1],
               collection.records[3].points[0].loss - record_measure(baseline, MEASURE_VALIDATION_LOSS),
               1e-12);
    const struct statistics *correct = &roper->statistics[MEASURE_EXACT_MATCH];
    CHECK_INT(correct->count, 2);
    CHECK_NEAR(correct->without_worst, correct->mean, 0); /* the worst is the one that diverged */
    collection_free(&collection);

    check_about("roper-1 diverged too");
    synthetic_stop(folder, 1, 20, true);
    collection = synthetic_read(folder);
    roper = &collection.comparison->arms[1];
    CHECK_INT(roper->diverged_count, 2);
    CHECK(isnan(roper->statistics[MEASURE_EXACT_MATCH].without_worst));
    CHECK(isinf(roper->reached.median));
    collection_free(&collection);

    check_about("all of roper diverged");
    synthetic_stop(folder, 3, 0, true);
    collection = synthetic_read(folder);
    CHECK_INT(collection.comparison->arms[1].run_count, 0);
    collection_free(&collection);

    check_about("a line behind the last");
    synthetic_append(synthetic_path(folder, "roper-3"), "metrics.jsonl",
                     "{\"step\":5,\"diverged\":\"loss\"}\n");
    rotary_error error = {0};
    CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, "line 2: \"step\" is 5, wanted no line after the one with");
}

#define HEAD "{\"format\":3,\"config\":{},\"commands\":[{\"command\":\"\"}],"
#define ARM  "\"arms\":[{\"name\":\"a\",\"set\":{}}],"

static void check_unfinished(const char *folder)
{
    check_about("roper-2 half done, seed 3 not begun");
    synthetic_stop(folder, 2, 310, false);
    scratch_remove(synthetic_path(folder, "rope-3"));
    scratch_remove(synthetic_path(folder, "roper-3"));
    struct collection collection = synthetic_read(folder);
    CHECK_INT(collection.record_count, 4);
    CHECK_INT(collection.planned, 6);
    CHECK_INT(collection.comparison->unfinished, 3);
    CHECK_INT(collection.comparison->arms[0].run_count, 2);
    CHECK_INT(collection.comparison->arms[1].run_count, 1);
    CHECK_INT(collection.comparison->contrasts[0].difference[MEASURE_EXACT_MATCH].count, 1);
    collection_free(&collection);

    check_about("nothing finished yet");
    static const char *const finished[] = {"rope-1", "roper-1", "rope-2"};
    for (int i = 0; i < 3; i++)
        scratch_remove(synthetic_path(folder, finished[i]));
    collection = synthetic_read(folder);
    CHECK_INT(collection.comparison->problems, 128); /* known from an unfinished run */
    collection_free(&collection);

    check_about("nothing begun yet");
    scratch_remove(synthetic_path(folder, "roper-2"));
    collection = synthetic_read(folder);
    CHECK_INT(collection.record_count, 0);
    CHECK_INT(collection.comparison->steps, 600);
    collection_free(&collection);

    rotary_error error = {0};
    check_about("another version's comparison");
    synthetic_write(folder, "compare.json", "{\"format\":99}");
    CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "format 99") != NULL);
    static const struct {
        const char *text, *words;
    } wrong[] = {
        {"{\"arms\":[],\"seeds\":[1]}", "compare.json has no valid \"format\": wanted 3"},
        {"{\"format\":2,\"positions\":[\"rope\"],\"runs\":2}", "has format 2, of another version"},
        {"{\"format\":3,\"arms\":[],\"seeds\":[1]}", "\"config\": wanted an object"},
        {"{\"format\":3,\"config\":{},\"commands\":[{}]}", "\"commands\": wanted a list of objects"},
        {HEAD "\"arms\":[]}", "\"arms\": wanted a list of 1 to 100 arms"},
        {HEAD "\"arms\":[{\"name\":\"a/b\",\"set\":{}}]}", "a name without /"},
        {HEAD "\"arms\":[{\"name\":\"..\",\"set\":{}}]}", "a name without /"},
        {HEAD "\"arms\":[{\"name\":\"a\",\"set\":3}]}", "an object \"set\""},
        {HEAD "\"arms\":[{\"name\":\"a\",\"set\":{}},{\"name\":\"a\",\"set\":{}}]}", "names that differ"},
        {HEAD ARM "\"seeds\":[]}", "\"seeds\": wanted"},
        {HEAD ARM "\"seeds\":[1,2,1]}", "each once"},
        {HEAD ARM "\"seeds\":[1.5]}", "\"seeds\": wanted a list of whole numbers"},
        {HEAD ARM "\"seeds\":[-1]}", "\"seeds\": wanted"},
        {HEAD ARM "\"seeds\":[1]}", "\"varied\": wanted a list of keys"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        synthetic_write(folder, "compare.json", wrong[i].text);
        CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_BAD_FILE);
        CHECK_WORDS(error.message, wrong[i].words);
    }
}

static void check_plain_runs(const char *folder)
{
    const char *folders[4];
    static const char *const runs[] = {"run-0", "run-1", "run-2", "run-3"};
    for (int i = 0; i < 4; i++)
        folders[i] = synthetic_path(folder, runs[i]);
    struct synthetic_run run = {.task = "prefix",
                                .position = "rope",
                                .seed = 1,
                                .steps = 100,
                                .done = 100,
                                .evaluate_every = 50,
                                .half = 80};
    for (int i = 0; i < 3; i++) {
        run.position = i == 1 ? "none" : "rope";
        run.seed = i / 2;
        synthetic_run(folders[i], &run);
    }
    struct collection collection;
    rotary_error error = {0};
    check_about("runs of a task without problems");
    CHECK_INT(collection_read(&collection, folders, 3, &error), ROTARY_OK);
    CHECK(collection.comparison->measures[0] == MEASURE_VALIDATION_LOSS);
    CHECK_TEXT(collection.comparison->arms[0].name, "rope");
    CHECK_INT(collection.comparison->arms[0].run_count, 2);
    collection_free(&collection);

    check_about("runs that share one seed of two");
    run.seed = 3;
    run.position = "none";
    synthetic_run(folders[2], &run);
    run.seed = 0;
    run.position = "rope";
    synthetic_run(folders[1], &run);

    run.seed = 3;
    synthetic_run(folders[3], &run);
    CHECK_INT(
        collection_read(&collection, (const char *const[]){folders[1], folders[2], folders[3]}, 3, &error),
        ROTARY_OK);
    const struct contrast *contrast = &collection.comparison->contrasts[0];
    CHECK_INT(contrast->difference[MEASURE_VALIDATION_LOSS].count, 1);
    CHECK_INT(contrast->pairs[0].seed, 3);
    CHECK_NEAR(contrast->differences[MEASURE_VALIDATION_LOSS][0],
               record_last_evaluation(&collection.records[1])->loss -
                   record_last_evaluation(&collection.records[2])->loss,
               0);
    collection_free(&collection);

    check_about("scored on different numbers of problems");
    run.problems = 64;
    synthetic_run(folders[3], &run);
    CHECK_INT(collection_read(&collection, (const char *const[]){folders[1], folders[3]}, 2, &error),
              ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "scored on 64 problems") != NULL);
    run.problems = 0;

    check_about("runs that do not compare");
    run.seed = 0;
    synthetic_run(folders[0], &run);
    synthetic_run(folders[1], &run);
    folders[2] = folders[0];
    CHECK_INT(collection_read(&collection, folders, 3, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "both rope with seed 0") != NULL);
    run.task = "index";
    synthetic_run(folders[1], &run);
    CHECK_INT(collection_read(&collection, folders, 2, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "wanted runs of one task") != NULL);
    CHECK_INT(collection_read(&collection, folders, 0, &error), ROTARY_INVALID_ARGUMENT);
}

/* The lines of a text, each with its checksum. */
static size_t add_checksums(char *to, const char *lines)
{
    size_t used = 0;
    for (const char *line = lines, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        memcpy(to + used, line, (size_t)(end + 1 - line));
        used += line_checksum_add(to + used, (size_t)(end + 1 - line));
    }
    return used;
}

static bool same_numbers(const struct record *a, const struct record *b)
{
    bool same = a->done == b->done && a->point_count == b->point_count &&
                a->evaluation_count == b->evaluation_count && a->sample_count == b->sample_count;
    for (int64_t i = 0; same && i < a->point_count; i++)
        same = a->points[i].step == b->points[i].step && a->points[i].loss == b->points[i].loss &&
               a->points[i].tokens_per_second == b->points[i].tokens_per_second;
    for (int64_t i = 0; same && i < a->evaluation_count; i++)
        same = a->evaluations[i].step == b->evaluations[i].step &&
               a->evaluations[i].loss == b->evaluations[i].loss &&
               a->evaluations[i].correct == b->evaluations[i].correct;
    for (int64_t i = 0; same && i < a->sample_count; i++)
        same = strcmp(a->samples[i].prompt, b->samples[i].prompt) == 0;
    return same;
}

/* No bit of a line that has a checksum can change and be believed: the line is refused, or what it says is
 * the same, as where the checksum's name is another. Without its last newline a line is that of a run that
 * was killed. */
static void check_checksums(void)
{
    char text[2048];
    const char *folder = scratch_path("checked");
    struct record whole, changed;
    rotary_error error = {0};
    CHECK(mkdir(folder, 0777) == 0);
    scratch_write(synthetic_path(folder, "config.json"), config, sizeof config - 1);
    const size_t count = add_checksums(text, metrics);
    int refused = 0;
    scratch_write(synthetic_path(folder, "metrics.jsonl"), text, count);
    if (!CHECK_INT(record_read(&whole, folder, &error), ROTARY_OK))
        return;
    CHECK_INT(whole.done, 30);
    for (size_t i = 0; i + 1 < count; i++) {
        check_about("byte %zu, bit %zu", i, i % 8);
        text[i] = (char)(text[i] ^ 1 << i % 8);
        scratch_write(synthetic_path(folder, "metrics.jsonl"), text, count);
        const rotary_status status = record_read(&changed, folder, &error);
        CHECK(status == ROTARY_BAD_FILE || (status == ROTARY_OK && same_numbers(&changed, &whole)));
        if (status == ROTARY_OK)
            record_free(&changed);
        else
            CHECK(strstr(error.message, "metrics.jsonl, line ") != NULL);
        refused += status != ROTARY_OK;
        text[i] = (char)(text[i] ^ 1 << i % 8);
    }
    check_about("changed bits");
    CHECK(refused > (int)count * 7 / 8);
    *strstr(text, "1.5") = '7';
    scratch_write(synthetic_path(folder, "metrics.jsonl"), text, count);
    CHECK_INT(record_read(&changed, folder, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "metrics.jsonl, line 2: it does not match its checksum") != NULL);
    record_free(&whole);
}

/* What a run that diverged counts as, where it has logged something. */
static void check_worst(void)
{
    check_about("the worst of each measure");
    struct record_point points[] = {{.step = 10, .loss = (double)NAN}, {.step = 20, .loss = 4}};
    struct record_evaluation evaluations[] = {{.step = 30, .loss = 2, .bits_per_byte = 0.75}};
    struct record record = {
        .points = points, .point_count = 2, .evaluations = evaluations, .evaluation_count = 1, .steps = 600};
    CHECK_NEAR(record_worst(&record, MEASURE_VALIDATION_LOSS), 4, 0);
    CHECK_NEAR(record_worst(&record, MEASURE_VALIDATION_LOSS_AREA), 4, 0);
    CHECK_NEAR(record_worst(&record, MEASURE_BITS_PER_BYTE), 1.5, 1e-15);
    CHECK_NEAR(record_worst(&record, MEASURE_STEPS_TO_90), 600, 0);
    CHECK_NEAR(record_worst(&record, MEASURE_EXACT_MATCH), 0, 0);
    CHECK_NEAR(record_worst(&record, MEASURE_BLEU), 0, 0);
    CHECK_NEAR(record_worst(&record, MEASURE_F1), 0, 0);
    CHECK_NEAR(record_worst(&record, MEASURE_MATTHEWS), -100, 0);
    CHECK_NEAR(record_worst(&record, MEASURE_SPEARMAN), -100, 0);
    evaluations[0].step = 0; /* before training */
    CHECK_NEAR(record_worst(&record, MEASURE_VALIDATION_LOSS), 2, 0);
    record.point_count = record.evaluation_count = 0;
    CHECK(isnan(record_worst(&record, MEASURE_VALIDATION_LOSS)));
    CHECK(isnan(record_worst(&record, MEASURE_BITS_PER_BYTE)));
}

int main(void)
{
    check_worst();
    const char *run = scratch_path("run"), *compared = scratch_path("compare"),
               *plain = scratch_path("plain");
    check_record(run);
    check_translations();
    check_last_evaluation(run);
    check_damages(run);
    check_checksums();
    check_comparison(compared);
    check_unfinished(compared);
    check_diverged(scratch_path("diverged"));
    synthetic_write(plain, "nothing", "");
    check_plain_runs(plain);
    return check_report();
}
