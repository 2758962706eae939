/* SPDX-License-Identifier: Apache-2.0
 *
 * What scores are set beside each other: losses per token only of one vocabulary, BLEU and labels only of one
 * set of texts.
 */
#include "records/synthetic.h"
#include "support/check.h"
#include "support/scratch.h"

#include "report/findings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 6, RUNS = 2 * SEEDS };

/* One run, as text: what its config.json has beside task, seed and steps, and its last evaluation. */
struct written {
    const char *task, *config;
    char evaluation[512];
};

static void write_run(const char *folder, const struct written *run, int64_t seed)
{
    char text[1024];
    snprintf(text, sizeof text,
             "{\"format\":2,\"task\":\"%s\",\"position\":\"rope\",\"seed\":%d,\"steps\":4%s}\n", run->task,
             (int)seed, run->config);
    synthetic_write(folder, "config.json", text);
    snprintf(text, sizeof text,
             "{\"step\":4,\"evaluation\":{\"correct\":0,\"problems\":0,\"accuracy\":0.5,%s}}\n",
             run->evaluation);
    synthetic_write(folder, "metrics.jsonl", text);
}

/* Reads two arms of SEEDS runs by the keys; evaluations have what `evaluate` writes for an arm and a seed. */
static struct collection read_arms(const char *task, const char *const configs[2], const char *vary,
                                   void (*evaluate)(char text[512], int arm, int seed))
{
    static char paths[RUNS][4096];
    const char *folders[RUNS];
    for (int i = 0; i < RUNS; i++) {
        struct written run = {.task = task, .config = configs[i % 2]};
        char name[64];
        snprintf(name, sizeof name, "%s-%d-%d", task, i % 2, i / 2 + 1);
        snprintf(paths[i], sizeof paths[i], "%s", scratch_path(name));
        evaluate(run.evaluation, i % 2, i / 2 + 1);
        write_run(paths[i], &run, i / 2 + 1);
        folders[i] = paths[i];
    }
    struct collection collection;
    rotary_error error = {0};
    const struct collection_options options = {.vary = vary};
    if (CHECK_INT(collection_read_with(&collection, folders, RUNS, &options, &error), ROTARY_OK))
        return collection;
    printf("    %s\n", error.message);
    exit(1);
}

/* The second arm has fewer tokens: each costs more, and the text less. */
static void losses(char text[512], int arm, int seed)
{
    snprintf(text, 512, "\"loss\":%.3f", 4.0 + arm + 0.01 * seed * (1 + arm));
}

static void losses_and_bytes(char text[512], int arm, int seed)
{
    snprintf(text, 512, "\"loss\":%.3f,\"bits_per_byte\":%.3f", 4.0 + arm + 0.01 * seed * (1 + arm),
             2.0 - 0.1 * arm + 0.001 * seed * (1 + arm));
}

static void bytes_of_one(char text[512], int arm, int seed)
{
    if (arm == 0)
        losses(text, arm, seed);
    else
        losses_and_bytes(text, arm, seed);
}

static const char small[] = ",\"vocab_size\":1000,\"language_vocab_size\":1000,\"vocabulary_hash\":\"0a\"",
                  large[] = ",\"vocab_size\":4000,\"language_vocab_size\":4000,\"vocabulary_hash\":\"0b\"";

/* words: of why nothing is decided; NULL: `primary` decides. */
static void check_measure(const struct collection *collection, enum measure primary, const char *words)
{
    const struct comparison *comparison = collection->comparison;
    const struct contrast *contrast = &comparison->contrasts[0];
    CHECK_TEXT(measure_names[comparison->measures[0]], measure_names[primary]);
    if (words) {
        CHECK_WORDS(comparison->unlike ? comparison->unlike : "", words);
        CHECK_INT(contrast->pair_count, 0);
        CHECK(comparison_decide(comparison, contrast) == VERDICT_TOO_FEW);
        return;
    }
    CHECK(comparison->unlike == NULL);
    CHECK_INT(contrast->pair_count, SEEDS);
    for (int i = 0; i < comparison->measure_count && comparison->vocabularies_differ; i++)
        CHECK(!measure_is_per_token(comparison->measures[i]));
}

static bool has_note(const struct comparison *comparison, const char *words)
{
    struct findings findings;
    rotary_error error = {0};
    bool found = false;
    CHECK_INT(findings_create(&findings, comparison, &error), ROTARY_OK);
    for (int i = 0; i < findings.notes.count; i++)
        found = found || strstr(findings.notes.items[i], words);
    findings_free(&findings);
    return found;
}

static void check_vocabularies(void)
{
    static const char note[] = "the vocabularies differ, so that losses per token do not compare";
    const char *const other[2] = {small, large};
    check_about("one vocabulary");
    struct collection collection =
        read_arms("language",
                  (const char *const[2]){",\"vocab_size\":1000,\"dropout\":0.0,\"vocabulary_hash\":\"0a\"",
                                         ",\"vocab_size\":1000,\"dropout\":0.5,\"vocabulary_hash\":\"0a\""},
                  "dropout", losses_and_bytes);
    check_measure(&collection, MEASURE_VALIDATION_LOSS, NULL);
    CHECK(comparison_decide(collection.comparison, &collection.comparison->contrasts[0]) == VERDICT_WORSE);
    CHECK(!has_note(collection.comparison, note));
    collection_free(&collection);

    check_about("two sizes, of runs that recorded no hash");
    collection = read_arms("language",
                           (const char *const[2]){",\"vocab_size\":1000,\"language_vocab_size\":1000",
                                                  ",\"vocab_size\":4000,\"language_vocab_size\":4000"},
                           "language_vocab_size", losses_and_bytes);
    check_measure(&collection, MEASURE_BITS_PER_BYTE, NULL);
    CHECK(has_note(collection.comparison, note));
    collection_free(&collection);

    check_about("two vocabularies");
    collection = read_arms("language", other, "language_vocab_size", losses_and_bytes);
    check_measure(&collection, MEASURE_BITS_PER_BYTE, NULL);
    CHECK(comparison_decide(collection.comparison, &collection.comparison->contrasts[0]) == VERDICT_BETTER);
    CHECK_NEAR(collection.comparison->contrasts[0].differences[MEASURE_BITS_PER_BYTE][1], -0.098, 1e-9);
    CHECK(has_note(collection.comparison, note));
    collection_free(&collection);

    check_about("two vocabularies, without bytes");
    collection = read_arms("language", other, "language_vocab_size", losses);
    check_measure(&collection, MEASURE_VALIDATION_LOSS,
                  "have other vocabularies, so that their losses per token");
    collection_free(&collection);
    collection = read_arms("language", other, "language_vocab_size", bytes_of_one);
    check_measure(&collection, MEASURE_VALIDATION_LOSS, "no bits per byte are known of them all");
    collection_free(&collection);

    check_about("other contents at one path");
    const char *const contents[2] = {",\"language_vocabulary\":\"v.json\",\"vocabulary_hash\":\"0a\"",
                                     ",\"language_vocabulary\":\"v.json\",\"vocabulary_hash\":\"0b\""};
    collection = read_arms("language", contents, NULL, losses_and_bytes);
    check_measure(&collection, MEASURE_BITS_PER_BYTE, "vocabulary_hash (\"0a\" in ");
    collection_free(&collection);
    collection = read_arms("language", contents, "vocabulary_hash", losses_and_bytes);
    check_measure(&collection, MEASURE_BITS_PER_BYTE, NULL);
    collection_free(&collection);

    check_about("padding of one vocabulary");
    collection = read_arms("language",
                           (const char *const[2]){",\"vocab_size\":1000,\"vocabulary_hash\":\"0a\"",
                                                  ",\"vocab_size\":1024,\"vocabulary_hash\":\"0a\""},
                           "vocab_size", losses);
    check_measure(&collection, MEASURE_VALIDATION_LOSS, NULL);
    collection_free(&collection);
}

static void bleu_of_validation(char text[512], int arm, int seed)
{
    snprintf(text, 512, "\"loss\":1.5,\"bleu\":%.2f,\"translated\":100,\"signature\":\"nrefs:1|tok:13a\"",
             30 + 0.1 * seed * (1 + arm));
}

static void bleu_of_both(char text[512], int arm, int seed)
{
    snprintf(text, 512,
             "\"loss\":1.5,\"bleu\":%.2f,\"translated\":100,\"signature\":\"nrefs:1|tok:13a\",\"test\":{"
             "\"bleu\":%.2f,"
             "\"translated\":200}",
             30 + 0.1 * seed, 40 + 0.1 * seed * (1 + arm));
}

static void bleu_of_test_of_one(char text[512], int arm, int seed)
{
    if (arm == 0)
        bleu_of_validation(text, arm, seed);
    else
        bleu_of_both(text, arm, seed);
}

static void bleu_of_one_run(char text[512], int arm, int seed)
{
    if (arm == 1 && seed == SEEDS)
        bleu_of_validation(text, arm, seed);
    else
        bleu_of_both(text, arm, seed);
}

static void bleu_of_other_numbers(char text[512], int arm, int seed)
{
    snprintf(text, 512, "\"loss\":1.5,\"bleu\":%.2f,\"translated\":%d", 30 + 0.1 * seed, 100 + arm);
}

static void bleu_of_fewer(char text[512], int arm, int seed)
{
    snprintf(text, 512, "\"loss\":1.5,\"bleu\":%.2f,\"translated\":%d", 30 + 0.1 * seed, 100 - arm);
}

static void bleu_by_other_tokens(char text[512], int arm, int seed)
{
    snprintf(text, 512, "\"loss\":1.5,\"bleu\":%.2f,\"translated\":100,\"signature\":\"nrefs:1|tok:%s\"",
             30 + 0.1 * seed, arm ? "intl" : "13a");
}

static void labels_of_test_of_one(char text[512], int arm, int seed)
{
    static const char labels[] = "\"labels\":{\"examples\":50,\"score\":\"accuracy\",\"accuracy\":0.5}";
    snprintf(text, 512, "\"loss\":%.3f,%s%s%s%s", 0.5 + 0.01 * seed, labels, arm ? ",\"test\":{" : "",
             arm ? labels : "", arm ? "}" : "");
}

static void check_sets(void)
{
    const char *const arms[2] = {",\"dropout\":0.0", ",\"dropout\":0.5"};
    static const struct {
        const char *what, *task;
        void (*evaluate)(char text[512], int arm, int seed);
        enum measure measure;
        const char *words;
    } cases[] = {
        {"BLEU of validation sets", "translation", bleu_of_validation, MEASURE_BLEU, NULL},
        {"BLEU of test sets", "translation", bleu_of_both, MEASURE_BLEU, NULL},
        {"BLEU of a validation set beside that of a test set", "translation", bleu_of_test_of_one,
         MEASURE_BLEU, "the scores are of 100 sentences of the validation set in "},
        {"in one run", "translation", bleu_of_one_run, MEASURE_BLEU, "of 200 sentences of the test set in "},
        {"other numbers of sentences", "translation", bleu_of_other_numbers, MEASURE_BLEU,
         ", and of 101 sentences of the validation set in "},
        {"fewer sentences", "translation", bleu_of_fewer, MEASURE_BLEU,
         ", and of 99 sentences of the validation set in "},
        {"other signatures", "translation", bleu_by_other_tokens, MEASURE_BLEU, " by nrefs:1|tok:intl"},
        {"labels", "classification", labels_of_test_of_one, MEASURE_ACCURACY,
         "the scores are of 50 examples of the validation set in "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_about("%s", cases[i].what);
        struct collection collection = read_arms(cases[i].task, arms, "dropout", cases[i].evaluate);
        check_measure(&collection, cases[i].measure, cases[i].words);
        collection_free(&collection);
    }
}

int main(void)
{
    check_vocabularies();
    check_sets();
    return check_report();
}
