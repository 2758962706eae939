/* SPDX-License-Identifier: Apache-2.0
 *
 * Which runs have begun to learn, and what is said of arms that have not: no order of them.
 */
#include "records/synthetic.h"
#include "support/check.h"
#include "support/scratch.h"

#include "report/comparison_table.h"
#include "report/findings.h"
#include "task/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 6, MAX_ARMS_HERE = 3, SEQUENCES = 4, STEPS = 20 };

/* The lowest of an evaluation before the last, and the last, in parts of the reference. */
struct losses {
    double before, last;
};

static double reference(int64_t seed)
{
    struct task_config config;
    struct task *task = NULL;
    task_config_default(&config);
    config.task = TASK_INDEX;
    config.sequence_length = 256;
    if (!CHECK_INT(task_create(&task, &config, NULL, NULL), ROTARY_OK))
        exit(1);
    const double loss = task_uncopied_loss(task, (uint64_t)seed, SEQUENCES);
    task_destroy(task);
    return loss;
}

static const char indexing[] =
    "\"task\":\"index\",\"sequence_length\":256,\"index_letters\":13,\"validation_sequences\":4";

/* Writes the run of an arm and a seed. `extra`: of its last evaluation. */
static const char *write_run(int arm, int64_t seed, const char *config, struct losses losses, double correct,
                             const char *extra)
{
    static const char *const names[] = {"rope", "roper", "none"};
    char name[64], text[1024];
    snprintf(name, sizeof name, "%s-%d", names[arm], (int)seed);
    const char *folder = scratch_path(name);
    snprintf(text, sizeof text, "{\"format\":2,%s,\"position\":\"%s\",\"seed\":%d,\"steps\":%d}\n", config,
             names[arm], (int)seed, STEPS);
    synthetic_write(folder, "config.json", text);
    const int problems = strstr(config, "index") ? 128 : 0;
    snprintf(
        text, sizeof text,
        "{\"step\":10,\"evaluation\":{\"correct\":0,\"problems\":%d,\"accuracy\":0.5,\"loss\":%.9g}}\n"
        "{\"step\":20,\"evaluation\":{\"correct\":%.0f,\"problems\":%d,\"accuracy\":0.5,\"loss\":%.9g%s}}\n",
        problems, losses.before, problems ? correct : 0, problems, losses.last, extra);
    synthetic_write(folder, "metrics.jsonl", text);
    return folder;
}

/* Arms of SEEDS runs of the index task: of arm i the first begun[i] have begun. */
static struct collection read_index(const int *begun, int arms)
{
    static char paths[SEEDS * MAX_ARMS_HERE][4096];
    const char *folders[SEEDS * MAX_ARMS_HERE];
    int count = 0;
    for (int seed = 1; seed <= SEEDS; seed++)
        for (int arm = 0; arm < arms; arm++) {
            const bool has = seed <= begun[arm];
            const double part = has ? 0.7 : 1.0 + 0.002 * arm, loss = part * reference(seed);
            snprintf(paths[count], sizeof paths[count], "%s",
                     write_run(arm, seed, indexing, (struct losses){2.5, loss},
                               has ? 100 - arm + seed : 0.3 * seed + arm, ""));
            folders[count] = paths[count];
            count++;
        }
    struct collection collection;
    rotary_error error = {0};
    if (CHECK_INT(collection_read(&collection, folders, count, &error), ROTARY_OK))
        return collection;
    printf("    %s\n", error.message);
    exit(1);
}

static char *table_of(const struct comparison *comparison)
{
    char *text = NULL;
    rotary_error error = {0};
    CHECK_INT(comparison_text(comparison, &text, &error), ROTARY_OK);
    return text;
}

static void check_arms(void)
{
    check_about("an arm that has not begun beside one that has");
    struct collection collection = read_index((const int[]){6, 0, 0}, 3);
    const struct comparison *comparison = collection.comparison;
    struct findings findings;
    rotary_error error = {0};
    CHECK_INT(comparison->arms[1].unlearned, 6);
    CHECK(!comparison->arms[0].too_short && comparison->arms[1].too_short && comparison->arms[2].too_short);
    CHECK(comparison_decide(comparison, &comparison->contrasts[0]) == VERDICT_WORSE);
    CHECK_INT(findings_create(&findings, comparison, &error), ROTARY_OK);
    CHECK_WORDS(findings.verdicts.items[0], "roper worse than rope");
    CHECK_WORDS(findings.verdicts.items[0], "; roper is trained too short to rank");
    CHECK_INT(findings.notes.count, 2);
    char words[64];
    double low = INFINITY, high = 0;
    for (int seed = 1; seed <= SEEDS; seed++) {
        low = fmin(low, reference(seed));
        high = fmax(high, reference(seed));
    }
    snprintf(words, sizeof words, "a model that copies nothing has %.3f to %.3f", low, high);
    CHECK_WORDS(
        findings.notes.items[0],
        "roper is trained too short to rank: 6 of 6 runs have not begun to learn, with a lowest loss of ");
    CHECK_WORDS(findings.notes.items[0], words);
    findings_free(&findings);
    collection_free(&collection);

    check_about("two that have not");
    collection = read_index((const int[]){0, 0}, 2);
    comparison = collection.comparison;
    CHECK(comparison_decide(comparison, &comparison->contrasts[0]) == VERDICT_TOO_SHORT);
    char *table = table_of(comparison);
    CHECK_WORDS(table, "roper and rope are trained too short to rank: neither has begun to learn");
    CHECK(!strstr(table, "better than") && !strstr(table, "worse than"));
    free(table);
    collection_free(&collection);

    check_about("half of the runs");
    static const struct {
        int begun[2];
        bool too_short[2];
    } halves[] = {
        {{6, 3}, {false, false}}, {{6, 2}, {false, true}}, {{3, 3}, {false, false}}, {{2, 1}, {true, true}}};
    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++) {
        collection = read_index(halves[i].begun, 2);
        for (int arm = 0; arm < 2; arm++) {
            CHECK_INT(collection.comparison->arms[arm].unlearned, SEEDS - halves[i].begun[arm]);
            CHECK(collection.comparison->arms[arm].too_short == halves[i].too_short[arm]);
        }
        CHECK((comparison_decide(collection.comparison, &collection.comparison->contrasts[0]) ==
               VERDICT_TOO_SHORT) == (halves[i].too_short[0] && halves[i].too_short[1]));
        collection_free(&collection);
    }
}

/* One run: its reference, and whether it has begun. */
static void check_run(const char *what, const char *config, struct losses losses, const char *extra,
                      enum learned_reference kind, double wanted, bool begun)
{
    check_about("%s", what);
    struct record record;
    struct learned learned;
    rotary_error error = {0};
    if (!CHECK_INT(record_read(&record, write_run(0, 1, config, losses, 3, extra), &error), ROTARY_OK)) {
        printf("    %s\n", error.message);
        return;
    }
    learned_judge(&learned, &record, 1);
    CHECK_INT(learned.kind, kind);
    if (kind != LEARNED_UNKNOWN) {
        CHECK_NEAR(learned.reference, wanted, 1e-6);
        CHECK_NEAR(learned.lowest, fmin(losses.before, losses.last), 1e-6);
    }
    CHECK_INT(learned.begun, begun);
    record_free(&record);
}

static void check_runs(void)
{
    static const char text[] = "\"task\":\"language\",\"sequence_length\":128,\"vocab_size\":4000",
                      fine_tuned[] = "\"task\":\"language\",\"vocab_size\":4000,\"init\":\"runs/first\"",
                      short_strings[] = "\"task\":\"index\",\"sequence_length\":256,\"index_letters\":4,"
                                        "\"validation_sequences\":4",
                      labels[] = "\"task\":\"classification\",\"vocab_size\":4000",
                      scores[] = ",\"labels\":{\"examples\":9,\"score\":\"accuracy\",\"accuracy\":0.5}";
    const double of_index = reference(1), guess = log(4000);
    check_run("at the reference", indexing, (struct losses){3, of_index}, "", LEARNED_UNCOPIED, of_index,
              false);
    check_run("within its noise", indexing, (struct losses){3, 0.991 * of_index}, "", LEARNED_UNCOPIED,
              of_index, false);
    check_run("below it", indexing, (struct losses){3, 0.989 * of_index}, "", LEARNED_UNCOPIED, of_index,
              true);
    check_run("once below it", indexing, (struct losses){0.8 * of_index, 1.2 * of_index}, "",
              LEARNED_UNCOPIED, of_index, true);
    struct task_config config;
    struct task *task = NULL;
    struct settings settings[TASK_SETTINGS];
    task_config_default(&config);
    config.sequence_length = 256;
    task_settings(&config, settings);
    CHECK_INT(settings_assign(settings, TASK_SETTINGS, "index_letters=4", NULL), ROTARY_OK);
    if (CHECK_INT(task_create(&task, &config, NULL, NULL), ROTARY_OK)) {
        const double loss = task_uncopied_loss(task, 1, SEQUENCES);
        CHECK(fabs(loss - of_index) > 0.05);
        check_run("other strings", short_strings, (struct losses){3, loss}, "", LEARNED_UNCOPIED, loss,
                  false);
        task_destroy(task);
    }
    check_run("frequencies", text, (struct losses){7, 6.2}, ",\"frequency_loss\":6.25", LEARNED_FREQUENCY,
              6.25, false);
    check_run("more than frequencies", text, (struct losses){7, 6.1}, ",\"frequency_loss\":6.25",
              LEARNED_FREQUENCY, 6.25, true);
    check_run("a guess", text, (struct losses){9, guess}, "", LEARNED_GUESS, guess, false);
    check_run("more than a guess", text, (struct losses){9, 0.98 * guess}, "", LEARNED_GUESS, guess, true);
    check_run("weights of another run", fine_tuned, (struct losses){9, 9}, "", LEARNED_UNKNOWN, 0, true);
    check_run("labels", labels, (struct losses){9, 9}, scores, LEARNED_UNKNOWN, 0, true);
    check_run("a configuration that does not say", "\"task\":\"index\"", (struct losses){9, 9}, "",
              LEARNED_UNKNOWN, 0, true);
    check_run("a task that this program does not have",
              "\"task\":\"sorting\",\"sequence_length\":256,"
              "\"validation_sequences\":4",
              (struct losses){9, 9}, "", LEARNED_UNKNOWN, 0, true);
}

int main(void)
{
    check_runs();
    check_arms();
    return check_report();
}
