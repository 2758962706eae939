/* SPDX-License-Identifier: Apache-2.0
 *
 * Plain runs that are compared: what they may differ in, what is said of the rest, and by which keys they are
 * grouped.
 */
#include "records/synthetic.h"
#include "support/check.h"
#include "support/scratch.h"

#include "file/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 6 };
static const char *folders[RUNS];

/* rope-1, roper-1, rope-2, ... */
static void make_runs(const char *place)
{
    static const char *const names[] = {"rope", "roper"};
    static char paths[RUNS][4096];
    synthetic_comparison(place, &synthetic_quick, RUNS / 2, 2, names, (double[]){450, 300});
    for (int i = 0; i < RUNS; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s-%d", names[i % 2], i / 2 + 1);
        snprintf(paths[i], sizeof paths[i], "%s", synthetic_path(place, name));
        folders[i] = paths[i];
    }
}

/* Sets a key of a run's configuration, or removes it for NULL. */
static void set(int run, const char *key, json_t *value)
{
    const char *path = synthetic_path(folders[run], "config.json");
    json_t *object = NULL;
    CHECK_INT(file_read_json(path, &object, NULL), ROTARY_OK);
    if (value)
        json_object_set_new(object, key, value);
    else
        json_object_del(object, key);
    CHECK_INT(file_replace_json(path, object, NULL), ROTARY_OK);
    json_decref(object);
}

static struct collection read_by(const char *vary, bool all_pairs)
{
    struct collection collection;
    rotary_error error = {0};
    const struct collection_options options = {.vary = vary, .all_pairs = all_pairs};
    if (!CHECK_INT(collection_read_with(&collection, folders, RUNS, &options, &error), ROTARY_OK))
        printf("    %s\n", error.message);
    return collection;
}

/* words: of what the runs differ in; NULL: they are alike, and there are three pairs. */
static void check_alike(const char *what, const char *const words[3])
{
    check_about("%s", what);
    struct collection collection = read_by(NULL, false);
    const struct comparison *comparison = collection.comparison;
    int runs = 0; /* shown, whatever they differ in */
    for (int i = 0; i < comparison->arm_count; i++)
        runs += comparison->arms[i].run_count;
    CHECK_INT(runs, RUNS);
    CHECK_INT(words[0] ? comparison->arm_count > 2 : comparison->arm_count == 2, 1);
    CHECK_INT(comparison->contrasts[0].pair_count, words[0] ? 0 : 3);
    CHECK((comparison->unlike == NULL) == (words[0] == NULL));
    for (int i = 0; i < 3 && words[i] && comparison->unlike; i++)
        CHECK_WORDS(comparison->unlike, words[i]);
    enum verdict verdict = comparison_decide(comparison, &comparison->contrasts[0]);
    if (words[0])
        CHECK(verdict == VERDICT_TOO_FEW);
    collection_free(&collection);
}

static void check_differences(const char *place)
{
    make_runs(place);
    check_alike("alike", (const char *const[3]){NULL});
    set(3, "log_every", json_integer(7));
    set(4, "checkpoint_every", json_integer(7));
    check_alike("other logs", (const char *const[3]){NULL});

    set(3, "learning_rate", json_real(0.5));
    check_alike("another learning rate", (const char *const[3]){"the runs differ in learning_rate (0.001 in ",
                                                                "rope-1, 0.5 in ", "roper-2)"});
    set(0, "dropout", json_real(0.25));
    check_alike("and another dropout",
                (const char *const[3]){"learning_rate (", ", in dropout (0.25 in ", "rope-1, 0.0 in "});

    make_runs(place);
    set(1, "vocab_size", json_integer(77));
    check_alike("a vocabulary that others have not recorded", (const char *const[3]){NULL});
    set(0, "vocab_size", json_integer(76));
    check_alike("vocabularies of other sizes", (const char *const[3]){"vocab_size (76 in ", "77 in "});
    set(0, "vocab_size", json_integer(77));
    set(0, "source_vocab_size", json_integer(78));
    set(5, "source_vocab_size", json_integer(79));
    check_alike("of the source", (const char *const[3]){"source_vocab_size (78 in ", "79 in "});
    make_runs(place);
    for (int i = 0; i < RUNS; i++)
        set(i, "vocabulary_hash", json_string(i == 3 ? "00ff" : "00fe"));
    check_alike("vocabularies of other contents",
                (const char *const[3]){"vocabulary_hash (\"00fe\" in ", "\"00ff\" in ", "roper-2"});
    make_runs(place);
    set(0, "corpus", json_pack("{s:s}", "test", "00ff"));
    check_alike("a corpus that others have not recorded", (const char *const[3]){NULL});
    set(4, "corpus", json_pack("{s:s}", "test", "00fe"));
    check_alike("another corpus", (const char *const[3]){"corpus ({\"test\":\"00ff\"} in ", "\"00fe\"} in "});

    make_runs(place);
    set(5, "steps", json_integer(599));
    check_alike("other steps", (const char *const[3]){"steps (600 in ", "599 in "});
    make_runs(place);
    set(5, "evaluate_every", json_integer(101));
    check_alike("other evaluations", (const char *const[3]){"evaluate_every (100 in "});
    make_runs(place);
    set(2, "precision", json_string("bf16"));
    check_alike("another precision",
                (const char *const[3]){"precision (missing in ", "rope-1, \"bf16\" in "});
    make_runs(place);
    set(0, "norm", NULL);
    check_alike("a key that one run lacks",
                (const char *const[3]){"norm (missing in ", "\"layer_norm\" in "});
}

static void check_vary(const char *place)
{
    check_about("by another key");
    make_runs(place);
    for (int i = 0; i < RUNS; i++) {
        set(i, "position", json_string("rope"));
        set(i, "dropout", json_real(i % 2 ? 0.5 : 0));
    }
    struct collection collection = read_by("dropout", false);
    CHECK(collection.unlike == NULL);
    CHECK_TEXT(collection.comparison->varied, "dropout");
    CHECK_TEXT(collection.comparison->arms[0].name, "dropout=0.0");
    CHECK_TEXT(collection.comparison->arms[1].name, "dropout=0.5");
    CHECK_INT(collection.comparison->contrasts[0].pair_count, 3);
    collection_free(&collection);

    check_about("by two keys");
    for (int i = 0; i < RUNS; i++)
        set(i, "norm", json_string(i == 5 ? "rms_norm" : "layer_norm"));
    collection = read_by("dropout,norm", false);
    CHECK(collection.unlike == NULL);
    CHECK_TEXT(collection.comparison->varied, "dropout, norm");
    CHECK_INT(collection.comparison->arm_count, 3);
    CHECK_TEXT(collection.comparison->arms[2].name, "dropout=0.5,norm=rms_norm");
    CHECK_INT(collection.comparison->contrast_count, 2);
    collection_free(&collection);
    collection = read_by("dropout,norm", true);
    CHECK_INT(collection.comparison->contrast_count, 3);
    collection_free(&collection);

    check_about("by a key that makes vocabularies, and by one that does not");
    for (int i = 0; i < RUNS; i++) {
        set(i, "index_letters", json_integer(10 + i % 2));
        set(i, "vocab_size", json_integer(40 + i % 2));
        set(i, "vocabulary_hash", json_string(i % 2 ? "00ff" : "00fe"));
        set(i, "norm", json_string("layer_norm"));
        set(i, "dropout", json_real(0));
    }
    collection = read_by("index_letters", false);
    CHECK(collection.unlike == NULL);
    collection_free(&collection);
    collection = read_by("norm,index_letters", false);
    CHECK(collection.unlike == NULL);
    collection_free(&collection);
    collection = read_by("norm", false);
    CHECK_WORDS(collection.unlike ? collection.unlike : "", "vocabulary_hash (");
    collection_free(&collection);

    make_runs(place);
    for (int i = 0; i < RUNS; i++) {
        set(i, "position", json_string("rope"));
        set(i, "dropout", json_real(i % 2 ? 0.5 : 0));
        set(i, "norm", json_string(i == 5 ? "rms_norm" : "layer_norm"));
    }
    check_about("runs of one seed that are not alike");
    set(0, "seed", json_integer(2));
    collection = read_by("norm", false); /* dropout is not declared */
    CHECK_WORDS(collection.unlike ? collection.unlike : "", "dropout (0.0 in ");
    CHECK_TEXT(collection.comparison->arms[0].name, "norm=layer_norm,dropout=0.0"); /* one configuration */
    CHECK_INT(collection.comparison->arms[0].run_count, 3);
    collection_free(&collection);

    check_about("runs that differ in too much for a name");
    char text[300];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    set(0, "hidden_act", json_string(text));
    collection = read_by("norm", false);
    CHECK_TEXT(collection.comparison->arms[0].name, folders[0]);
    CHECK_INT(collection.comparison->arms[0].run_count, 1);
    collection_free(&collection);

    check_about("keys that are none");
    static const char *const wrong[] = {"nrom", "norm,", ",norm", "", "norm,,dropout", "norm,dropout,norm",
                                        "seed"};
    static const char *const words[] = {"has no key \"nrom\"",
                                        "wanted keys with commas between them",
                                        "commas between them",
                                        "commas between them",
                                        "commas between them",
                                        "--vary names norm twice",
                                        "--vary names seed, by which runs are paired"};
    rotary_error error = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct collection_options options = {.vary = wrong[i]};
        CHECK_INT(collection_read_with(&collection, folders, RUNS, &options, &error),
                  ROTARY_INVALID_ARGUMENT);
        CHECK_WORDS(error.message, words[i]);
    }
    CHECK_INT(
        collection_read_with(&collection, &place, 1, &(struct collection_options){.vary = "norm"}, &error),
        ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "is a comparison, which says what it varies");
}

/* The runs of a comparison are those of its compare.json. */
static void check_comparison(const char *place)
{
    make_runs(place);
    check_about("a comparison");
    struct collection collection = synthetic_read(place);
    CHECK(collection.unlike == NULL);
    collection_free(&collection);

    set(1, "hidden_size", json_integer(256));
    set(2, "log_every", json_integer(3));
    collection = synthetic_read(place);
    CHECK_WORDS(collection.unlike ? collection.unlike : "",
                "the runs differ in hidden_size (128 in compare.json, 256 in ");
    CHECK(!collection.unlike || !strstr(collection.unlike, "log_every"));
    CHECK_INT(collection.comparison->contrasts[0].pair_count, 0);
    collection_free(&collection);

    check_about("another vocabulary in one run");
    make_runs(place);
    set(0, "vocabulary_hash", json_string("00fe"));
    set(1, "vocabulary_hash", json_string("00fe"));
    collection = synthetic_read(place);
    CHECK(collection.unlike == NULL);
    collection_free(&collection);
    set(1, "vocabulary_hash", json_string("00ff"));
    collection = synthetic_read(place);
    CHECK_WORDS(collection.unlike ? collection.unlike : "",
                "the runs differ in vocabulary_hash (\"00fe\" in ");
    collection_free(&collection);

    check_about("all runs alike, but not what compare.json says");
    make_runs(place);
    for (int i = 0; i < RUNS; i++)
        set(i, "hidden_size", json_integer(256));
    collection = synthetic_read(place);
    CHECK_WORDS(collection.unlike ? collection.unlike : "", "hidden_size (128 in compare.json");
    collection_free(&collection);

    check_about("encodings in each other's folders");
    make_runs(place);
    set(0, "position", json_string("roper"));
    set(1, "position", json_string("rope"));
    collection = synthetic_read(place);
    CHECK_WORDS(collection.unlike ? collection.unlike : "",
                "position (\"rope\" in compare.json, \"roper\" in ");
    collection_free(&collection);

    check_about("another seed than the folder's name says");
    make_runs(place);
    set(3, "seed", json_integer(3));
    rotary_error error = {0};
    CHECK_INT(collection_read(&collection, &place, 1, &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, "roper-2/config.json has seed 3, wanted 2");
}

int main(void)
{
    check_differences(scratch_path("runs"));
    check_vary(scratch_path("keys"));
    check_comparison(scratch_path("comparison"));
    return check_report();
}
