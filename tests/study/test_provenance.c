/* SPDX-License-Identifier: Apache-2.0
 *
 * What comparison_run() trains of what was asked for: values of any key, a sweep before them, seeds until
 * there is a verdict; and what compare.json says of it. Models are tiny.
 */
#include "records/synthetic.h"
#include "support/check.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "file/checksum/json_checksum.h"
#include "file/file.h"
#include "layer/encoding/encoding.h"
#include "records/comparison/sweep_text.h"
#include "statistics/sequential.h"
#include "study/comparison_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct backend backend;

static struct run_config small_config(void)
{
    struct run_config config;
    run_config_default(&config);
    config.task.task = TASK_PREFIX;
    config.task.sequence_length = 48;
    config.model.hidden_size = 16;
    config.model.num_hidden_layers = 1;
    config.model.num_attention_heads = 2;
    config.train.steps = 4;
    config.train.batch_size = 2;
    config.train.evaluate_every = 2;
    config.train.validation_sequences = 2;
    config.train.precision =
        PRECISION_F32; /* also where auto is bf16: runs are trained by two programs here */
    return config;
}

static struct arms arms_of(const char *key, const char *values)
{
    struct arms arms;
    rotary_error error = {0};
    if (!CHECK_INT(arms_create(&arms, &error), ROTARY_OK) ||
        !CHECK_INT(arms_vary(&arms, &(struct arm_axis){"--vary", key, values}, &error), ROTARY_OK))
        printf("    %s\n", error.message);
    return arms;
}

struct counts {
    int trained, estimates;
};

static void count_runs(void *argument, const struct run_progress *progress)
{
    struct counts *counts = argument;
    counts->trained += progress->train && progress->train->step == progress->train->steps;
}

static void count_estimates(void *argument, const struct run_list_estimate *estimate)
{
    struct counts *counts = argument;
    CHECK(estimate->work.runs > 0);
    counts->estimates++;
}

static struct compare_call call_of(const struct comparison_plan_call *plan, struct counts *counts)
{
    *counts = (struct counts){0};
    return (struct compare_call){
        .plan = *plan, .backend = &backend, .progress = count_runs, .argument = counts};
}

/* Returns how many runs were trained; words: of the refusal, NULL for none. */
static int compared(const struct comparison_plan_call *plan, const char *words)
{
    struct counts counts;
    rotary_error error = {0};
    struct compare_call call = call_of(plan, &counts);
    rotary_status status = comparison_run(&call, &error);
    if (!CHECK_INT(status, words ? ROTARY_INVALID_ARGUMENT : ROTARY_OK))
        printf("    %s\n", error.message);
    if (words)
        CHECK_WORDS(error.message, words);
    return counts.trained;
}

static json_t *description_of(const char *place)
{
    json_t *object = NULL;
    CHECK_INT(file_read_json(synthetic_path(place, "compare.json"), &object, NULL), ROTARY_OK);
    return object;
}

/* A part of compare.json, compact. The caller frees it. */
static void check_part(const char *place, const char *key, const char *wanted)
{
    json_t *object = description_of(place);
    char *text =
        json_dumps(json_object_get(object, key), JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    CHECK_TEXT(text ? text : "", wanted);
    free(text);
    json_decref(object);
}

static const int64_t seeds[] = {3, 9, 4, 5, 6, 7, 8, 9};

static void check_vary(const char *place)
{
    struct run_config config = small_config();
    struct arms arms = arms_of("hidden_size", "16,32"), more = arms_of("hidden_size", "32,8");
    struct comparison_plan_call plan = {.config = &config,
                                        .arms = &arms,
                                        .seeds = seeds,
                                        .seed_count = 2,
                                        .folder = place,
                                        .command = "first"};
    check_about("two widths");
    CHECK_INT(compared(&plan, NULL), 4);
    check_part(place, "varied", "[\"hidden_size\"]");
    check_part(place, "arms",
               "[{\"name\":\"hidden_size=16\",\"set\":{\"hidden_size\":16},"
               "\"derived\":{\"head_dim\":8,\"intermediate_size\":64}},"
               "{\"name\":\"hidden_size=32\",\"set\":{\"hidden_size\":32},"
               "\"derived\":{\"head_dim\":16,\"intermediate_size\":128}}]");
    check_part(place, "seeds", "[3,9]");
    check_part(place, "looks",
               "[{\"arms\":[\"hidden_size=16\",\"hidden_size=32\"],\"seeds\":[3,9],\"steps\":4}]");
    struct collection collection = synthetic_read(place);
    CHECK(collection.unlike == NULL);
    CHECK_TEXT(collection.varied, "hidden_size");
    CHECK_INT(collection.comparison->contrasts[0].pair_count, 2);
    CHECK_INT(collection.records[1].seed, 3);
    CHECK_INT(json_integer_value(json_object_get(collection.records[1].config, "intermediate_size")), 128);
    collection_free(&collection);

    check_about("the same again, by other words");
    struct stat before, after;
    CHECK_INT(stat(synthetic_path(place, "compare.json"), &before), 0);
    plan.command = "second";
    CHECK_INT(compared(&plan, NULL), 0);
    plan.keep_arms = plan.keep_seeds = true;
    plan.seed_count = 7;
    plan.arms = &more;
    CHECK_INT(compared(&plan, NULL), 0);
    CHECK_INT(stat(synthetic_path(place, "compare.json"), &after), 0);
    CHECK(before.st_ino == after.st_ino && before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
          before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);

    check_about("one more width and seed");
    plan.keep_arms = plan.keep_seeds = false;
    plan.seeds = seeds + 1;
    plan.seed_count = 2;
    plan.command = "third";
    CHECK_INT(compared(&plan, NULL), 5); /* 3 and 9 of the new width, 4 of all */
    check_part(place, "seeds", "[3,9,4]");
    collection = synthetic_read(place);
    CHECK_INT(collection.comparison->arm_count, 3);
    CHECK_INT(collection.record_count, 9);
    CHECK(collection.unlike == NULL);
    CHECK_INT(comparison_seen_before(collection.comparison), 2);
    const json_t *commands = json_object_get(collection.description, "commands");
    CHECK_INT((int64_t)json_array_size(commands), 2);
    CHECK_TEXT(json_string_value(json_object_get(json_array_get(commands, 1), "command")), "third");
    char *added = json_dumps(json_object_get(json_array_get(commands, 1), "added"), JSON_COMPACT);
    CHECK_TEXT(added, "{\"arms\":[\"hidden_size=8\"],\"seeds\":[4]}");
    free(added);
    collection_free(&collection);

    check_about("a run that is not the one that compare.json says");
    const char *run = synthetic_path(place, "hidden_size=32-9");
    json_t *object;
    CHECK_INT(file_read_json(synthetic_path(run, "config.json"), &object, NULL), ROTARY_OK);
    json_object_set_new(object, "log_every", json_integer(77)); /* this one may */
    json_object_set_new(object, "weight_decay", json_real(0.5));
    CHECK_INT(json_checksum_take(object, "config.json", NULL), ROTARY_BAD_FILE);
    json_checksum_set(object); /* as if a run had been trained so */
    CHECK_INT(file_replace_json(synthetic_path(run, "config.json"), object, NULL), ROTARY_OK);
    json_decref(object);
    collection = synthetic_read(place);
    CHECK_WORDS(collection.unlike ? collection.unlike : "", "weight_decay (0.0 in compare.json, 0.5 in ");
    CHECK(!collection.unlike || !strstr(collection.unlike, "log_every"));
    CHECK_INT(collection.comparison->contrasts[0].pair_count, 0);
    CHECK(comparison_decide(collection.comparison, &collection.comparison->contrasts[0]) == VERDICT_TOO_FEW);
    collection_free(&collection);
    compared(&plan, "weight_decay is 0.5 in ");
    arms_free(&arms);
    arms_free(&more);
}

/* What `rotary train --out DIR/ARM-SEED` left. */
static void check_trained_beforehand(const char *place)
{
    struct run_config config = small_config(), one;
    struct arms arms = arms_of("position", "rope,roper");
    struct comparison_plan_call plan = {
        .config = &config, .arms = &arms, .seeds = seeds, .seed_count = 1, .folder = place, .command = ""};
    check_about("a run that was trained beforehand");
    CHECK_INT(arm_config(&arms, 1, &config, 3, &one, NULL), ROTARY_OK);
    one.train.evaluate_every = 1;
    train_to_end(&one, 1, synthetic_path(place, "roper-3"));
    compared(&plan, "evaluate_every is 1 in ");
    CHECK(!file_exists(synthetic_path(place, "compare.json")));
    CHECK(!file_exists(synthetic_path(place, "rope-3")));
    config.train.evaluate_every = 1;
    config.train.learning_rate *= 2;
    compared(&plan, "learning_rate is ");
    config.train.learning_rate /= 2;
    CHECK_INT(compared(&plan, NULL), 1);
    struct collection collection = synthetic_read(place);
    CHECK_INT(collection.comparison->contrasts[0].pair_count, 1);
    collection_free(&collection);

    check_about("seeds that nobody began");
    plan.seeds = seeds + 1;
    plan.seed_count = 3;
    atomic_bool interrupted = true;
    struct counts counts;
    rotary_error error = {0};
    struct compare_call call = call_of(&plan, &counts);
    call.interrupted = &interrupted;
    CHECK_INT(comparison_run(&call, &error), ROTARY_INTERRUPTED);
    check_part(place, "seeds", "[3,9,4,5]");
    plan.seed_count = 1;
    CHECK_INT(compared(&plan, NULL), 2);
    check_part(place, "seeds", "[3,9]");
    check_part(place, "looks",
               "[{\"arms\":[\"rope\",\"roper\"],\"seeds\":[3],\"steps\":4},"
               "{\"arms\":[\"rope\",\"roper\"],\"seeds\":[3,9],\"steps\":4}]");
    arms_free(&arms);
}

static void check_sweep(const char *place)
{
    struct run_config config = small_config();
    struct arms arms = arms_of("position", "rope,none"), more = arms_of("position", "roper");
    struct sweep sweep = {.candidates = arms_of("learning_rate", "1e-9,0.01,1e5"), .runs = 2};
    struct comparison_plan_call plan = {.config = &config,
                                        .arms = &arms,
                                        .seeds = seeds,
                                        .seed_count = 1,
                                        .sweep = &sweep,
                                        .folder = place,
                                        .command = ""};
    check_about("a sweep");
    CHECK_INT(compared(&plan, NULL), 2 * 2 * 2 + 2); /* and four that diverge */
    json_t *object = description_of(place);
    for (size_t arm = 0; arm < 2; arm++) {
        const json_t *chosen =
            json_object_get(json_array_get(json_object_get(object, "arms"), arm), "chosen");
        CHECK_NEAR(json_real_value(json_object_get(chosen, "learning_rate")), 0.01, 0);
    }
    const json_t *measure = json_object_get(json_object_get(object, "sweep"), "measure"),
                 *scores = json_object_get(json_object_get(object, "sweep"), "scores");
    CHECK_TEXT(json_string_value(measure), "validation_loss");
    CHECK_INT((int64_t)json_array_size(scores), 6);
    CHECK(json_is_null(json_object_get(json_array_get(scores, 2), "mean")));
    CHECK_INT(json_integer_value(json_object_get(json_array_get(scores, 2), "diverged")), 2);
    double mean = 0;
    for (int run = 0; run < 2; run++) {
        struct collection one = synthetic_read(synthetic_path(
            place, run ? "sweep/none,learning_rate=0.01-1000002" : "sweep/none,learning_rate=0.01-1000001"));
        mean += record_measure(&one.records[0], MEASURE_VALIDATION_LOSS) / 2;
        collection_free(&one);
    }
    CHECK_NEAR(json_number_value(json_object_get(json_array_get(scores, 4), "mean")), mean, 1e-12);
    json_decref(object);
    struct collection collection = synthetic_read(place);
    CHECK(collection.unlike == NULL);
    CHECK_NEAR(json_number_value(json_object_get(collection.records[1].config, "learning_rate")), 0.01, 0);
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    sweep_write(stream, collection.description);
    fclose(stream);
    CHECK_WORDS(text, "none at learning_rate=0.01, the best by validation_loss: ");
    CHECK(!strstr(text, "may be better")); /* not the first, nor the last */
    free(text);
    collection_free(&collection);

    check_about("a choice that was made");
    CHECK_INT(compared(&plan, NULL), 0);
    scratch_remove(synthetic_path(place, "sweep/rope,learning_rate=0.01-1000001"));
    plan.sweep = NULL;
    plan.seed_count = 2;
    CHECK_INT(compared(&plan, NULL), 2); /* the sweep's runs are not needed any more */
    plan.arms = &more;
    compared(&plan, "chose values by a sweep, and roper has none yet");
    sweep.runs = 1;
    plan.sweep = &sweep;
    compared(&plan, "has a sweep of other values or runs");
    sweep.runs = 2;
    CHECK_INT(compared(&plan, NULL), 2 * 2 + 2);
    plan.seeds = (const int64_t[]){SWEEP_SEED};
    plan.seed_count = 1;
    compared(&plan, "seeds from 1000001 on are those of the sweep");
    plan.seeds = seeds;
    plan.arms = &sweep.candidates;
    plan.folder = scratch_path("swept");
    compared(&plan, "learning_rate is compared: wanted another key for the sweep");
    CHECK(!file_exists(plan.folder));
    arms_free(&arms);
    arms_free(&more);
    arms_free(&sweep.candidates);
}

static void check_until(const char *place)
{
    static const int64_t first_twelve[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct run_config config = small_config();
    struct arms arms = arms_of("learning_rate", "1e-9,0.01");
    struct comparison_plan_call plan = {.config = &config,
                                        .arms = &arms,
                                        .seeds = first_twelve,
                                        .seed_count = 12,
                                        .until = true,
                                        .folder = place,
                                        .command = ""};
    /* With the weights of another run: after eight steps none that begins with random ones has begun to
     * learn, and there is no verdict. */
    const char *first = new_folder("first");
    struct run_config begin = config;
    CHECK_INT(run_config_check(&begin, NULL), ROTARY_OK);
    train_to_end(&begin, 1, first);
    config.train.steps = 8;
    snprintf(config.train.init, sizeof config.train.init, "%s", first);
    check_about("until a verdict");
    int trained = compared(&plan, NULL), looked = sequential_first_look(12, comparison_alpha);
    struct collection collection = synthetic_read(place);
    CHECK_INT(collection.comparison->max_pairs, 12);
    CHECK_INT(collection.comparison->contrasts[0].pair_count, trained / 2);
    CHECK(trained / 2 >= looked && trained / 2 < 12);
    CHECK(comparison_decide(collection.comparison, &collection.comparison->contrasts[0]) == VERDICT_BETTER);
    collection_free(&collection);
    CHECK_INT(compared(&plan, NULL), 0);
    plan.until = false;
    plan.keep_seeds = true; /* the folder's rule */
    CHECK_INT(compared(&plan, NULL), 0);

    check_about("another rule");
    plan.until = true;
    plan.keep_seeds = false;
    plan.seed_count = 11;
    compared(&plan, "goes on until at most 12 seeds from 1 on");
    plan.seed_count = 12;
    plan.all_pairs = true;
    compared(&plan, "goes on until at most 12 seeds");
    plan.all_pairs = false;
    plan.folder = scratch_path("until");
    plan.seed_count = 5;
    compared(&plan, "5 seeds cannot give a verdict on 2 arms");
    CHECK(!file_exists(plan.folder));

    check_about("no verdict: every seed is trained, one at a time");
    config.train.init[0] = 0;
    struct arms same = arms_of("value_fraction", "0,1"); /* of an encoding that does not rotate values */
    plan.arms = &same;
    plan.seed_count = 8;
    plan.folder = scratch_path("same");
    config.train.steps = 1;
    config.model.position = POSITION_ROPER;
    config.model.num_hidden_layers = 1;
    config.train.learning_rate = 0;
    struct counts counts;
    rotary_error error = {0};
    struct compare_call call = call_of(&plan, &counts);
    call.jobs = RUN_LIST_AUTO;
    call.estimated = count_estimates;
    CHECK_INT(comparison_run(&call, &error), ROTARY_OK);
    CHECK_INT(counts.trained, 14 + 2);
    CHECK_INT(counts.estimates, 1); /* not for every seed */
    collection = synthetic_read(plan.folder);
    CHECK_INT(collection.file.seed_count, 8);
    collection_free(&collection);
    plan.until = false;
    plan.seed_count = 9;
    plan.seeds = (const int64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 88};
    CHECK_INT(compared(&plan, NULL), 2);
    collection = synthetic_read(plan.folder);
    CHECK_INT(collection.comparison->max_pairs, 0); /* more than the rule allowed */
    CHECK_INT(comparison_seen_before(collection.comparison), 8);
    collection_free(&collection);

    check_about("a comparison that began with fixed seeds");
    plan.folder = scratch_path("fixed");
    plan.seed_count = 1;
    CHECK_INT(compared(&plan, NULL), 2);
    plan.until = true;
    plan.seed_count = 7;
    compared(&plan, "was begun with fixed seeds");
    arms_free(&same);
    arms_free(&arms);
}

int main(void)
{
    rotary_error error = {0};
    if (!CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK))
        return check_report();
    check_vary(scratch_path("widths"));
    check_trained_beforehand(new_folder("beforehand"));
    check_sweep(scratch_path("sweep"));
    check_until(scratch_path("verdict"));
    backend_destroy(&backend);
    return check_report();
}
