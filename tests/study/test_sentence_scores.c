/* SPDX-License-Identifier: Apache-2.0
 *
 * The paired bootstrap over sentences of runs in folders, against one of the same samples that is computed
 * here from the texts that were written; which runs and sentences are shown; and what is said of runs whose
 * translations are not those of their records.
 */
#include "study/collection.h"
#include "study/synthetic.h"
#include "support/check.h"
#include "support/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINES = 40, WORDS = 9, RUNS = 7, TEXT_BYTES = 8192, ARMS = 3 };

/* In the order in which they are given: seeds are not. Of `wrong` in 100 words each is another. */
static const struct {
    const char *arm;
    int seed, wrong;
} runs[RUNS] = {{"sinusoidal", 3, 30}, {"rope", 1, 18},       {"sinusoidal", 1, 26}, {"rope", 3, 25},
                {"rope", 2, 33},       {"sinusoidal", 2, 31}, {"roper", 2, 31}};

struct texts {
    char text[TEXT_BYTES];
    struct text_line lines[LINES];
};
static struct texts references, translations[RUNS];

/* Line `line` has 4 to 12 words; word `word` of it is another where `wrong` says so. */
static void make_text(struct texts *texts, int seed, int wrong)
{
    static const char *const words[] = {"The", "dog", "calls", "a", "Big", "tree", "and", "falls"};
    char *next = texts->text;
    unsigned state = (unsigned)seed * 7919u + 1;
    for (int line = 0; line < LINES; line++) {
        char *begin = next;
        const int count = 4 + line * 7 % WORDS;
        for (int word = 0; word < count; word++) {
            state = state * 1103515245u + 12345u;
            bool is_wrong = (int)(state >> 16) % 100 < wrong;
            next += sprintf(next, "%s%s", word ? " " : "", is_wrong ? "x" : words[(line * 5 + word * 3) % 8]);
        }
        texts->lines[line] = (struct text_line){begin, next - begin};
        *next++ = '\n';
    }
    *next = '\0';
}

static struct bleu_config lower_case(void)
{
    struct bleu_config config;
    bleu_config_default(&config);
    config.lowercase = true;
    return config;
}

static void count_rows(const struct texts *texts, int64_t *rows)
{
    const struct bleu_config config = lower_case();
    const struct text_line *const all[] = {references.lines};
    const struct segment_corpus corpus = {LINES, texts->lines, 1, all};
    CHECK_INT(bleu_count(&config, &corpus, rows, NULL), ROTARY_OK);
}

static double score_of(const struct texts *texts)
{
    int64_t rows[LINES * BLEU_STATISTICS], sums[BLEU_STATISTICS];
    const struct bleu_config config = lower_case();
    count_rows(texts, rows);
    segments_sum(rows, LINES, BLEU_STATISTICS, sums);
    return bleu_of(&config, sums).score;
}

static const char *folder_of(int run)
{
    static char name[64];
    snprintf(name, sizeof name, "%s-%d", runs[run].arm, runs[run].seed);
    return scratch_path(name);
}

static void write_run(int run, double bleu)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"format\":2,\"task\":\"translation\",\"position\":\"%s\",\"seed\":%d,\"steps\":9,\"hidden_"
             "size\":8,"
             "\"translation_data\":\"%s\",\"translation_test\":\"test\",\"translation_lowercase\":true}",
             runs[run].arm, runs[run].seed, scratch_folder());
    synthetic_write(folder_of(run), "config.json", text);
    snprintf(text, sizeof text,
             "{\"step\":9,\"evaluation\":{\"correct\":0,\"problems\":0,\"loss\":2.5,\"accuracy\":0.4,"
             "\"seconds\":1,"
             "\"bleu\":21.5,\"translated\":10,\"signature\":\"nrefs:1|case:lc\",\"test\":{\"bleu\":%.15g,"
             "\"translated\":%d}}}\n",
             bleu, LINES);
    synthetic_write(folder_of(run), "metrics.jsonl", text);
    synthetic_write(folder_of(run), "translations.txt", translations[run].text);
}

static void write_all(void)
{
    make_text(&references, 0, 0);
    synthetic_write(scratch_folder(), "test.en", references.text);
    synthetic_write(scratch_folder(), "test.de", references.text);
    for (int i = 0; i < RUNS; i++) {
        make_text(&translations[i], 10 + i, runs[i].wrong);
        write_run(i, score_of(&translations[i]));
    }
}

static struct collection read_all(void)
{
    char paths[RUNS][4096];
    const char *folders[RUNS];
    struct collection collection = {0};
    for (int i = 0; i < RUNS; i++) {
        snprintf(paths[i], sizeof paths[i], "%s", folder_of(i));
        folders[i] = paths[i];
    }
    CHECK_INT(collection_read(&collection, folders, RUNS, NULL), ROTARY_OK);
    CHECK_INT(collection_read_sentences(&collection, NULL), ROTARY_OK);
    if (!CHECK(collection.sentences != NULL))
        exit(check_report());
    return collection;
}

/* ---- the bootstrap ---- */

static double *sampled_scores(void)
{
    static int64_t rows[RUNS][LINES * BLEU_STATISTICS];
    const int64_t *systems[RUNS];
    static struct bleu_config config;
    config = lower_case();
    for (int i = 0; i < RUNS; i++) {
        count_rows(&translations[i], rows[i]);
        systems[i] = rows[i];
    }
    const struct resampling resampling = {.metric = bleu_metric(&config),
                                          .segments = LINES,
                                          .systems = RUNS,
                                          .rows = systems,
                                          .samples = SENTENCE_SAMPLES,
                                          .seed = SENTENCE_SEED};
    double *scores = NULL;
    CHECK_INT(resample_scores(&resampling, &scores, NULL), ROTARY_OK);
    return scores;
}

static int ascending(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* The mean over pairs of runs[arms[i]] - runs[baselines[i]]. */
static void check_difference(const struct resampled_difference *found, const double *scores, const int *arms,
                             const int *baselines, int count)
{
    double values[SENTENCE_SAMPLES] = {0}, mean = 0;
    for (int i = 0; i < count; i++) {
        mean += score_of(&translations[arms[i]]) - score_of(&translations[baselines[i]]);
        for (int j = 0; j < SENTENCE_SAMPLES; j++)
            values[j] +=
                (scores[arms[i] * SENTENCE_SAMPLES + j] - scores[baselines[i] * SENTENCE_SAMPLES + j]);
    }
    mean /= count;
    int further = 0;
    for (int j = 0; j < SENTENCE_SAMPLES; j++) {
        values[j] /= count;
        further += fabs(values[j] - mean) >= fabs(mean);
    }
    qsort(values, SENTENCE_SAMPLES, sizeof *values, ascending);
    CHECK_NEAR(found->mean, mean, 1e-9);
    CHECK_NEAR(found->low, values[25], 1e-9);
    CHECK_NEAR(found->high, values[974], 1e-9);
    CHECK_NEAR(found->p, (further + 1.0) / (SENTENCE_SAMPLES + 1.0), 1e-12);
    CHECK(found->low < found->mean && found->mean < found->high);
}

static void check_bootstrap(void)
{
    struct collection collection = read_all();
    const struct sentence_scores *sentences = collection.sentences;
    CHECK(sentences->fault == NULL && collection.comparison->sentences == sentences);
    CHECK_INT(sentences->count, LINES);
    CHECK_TEXT(sentences->split, "test");
    CHECK(strstr(sentences->signature, "nrefs:1|bs:1000|seed:1|case:lc|eff:no|tok:13a") != NULL);
    double *scores = sampled_scores();
    /* By seed, whatever the order of the folders. */
    static const int ropes[] = {1, 4, 3}, baselines[] = {2, 5, 0}, roper = 6, its_baseline = 5;
    if (CHECK_INT(collection.comparison->contrast_count, 2) &&
        CHECK_INT(collection.comparison->contrasts[0].pair_count, 3) &&
        CHECK_INT(collection.comparison->contrasts[1].pair_count, 1)) {
        const struct sentence_contrast *rope = &sentences->contrasts[0];
        for (int i = 0; i < 3; i++) {
            check_about("seed %d", i + 1);
            check_difference(&rope->pairs[i], scores, &ropes[i], &baselines[i], 1);
        }
        check_about("%s", "the mean of three pairs");
        check_difference(&rope->mean, scores, ropes, baselines, 3);
        check_about("%s", "one pair");
        check_difference(&sentences->contrasts[1].mean, scores, &roper, &its_baseline, 1);
    }
    check_about("%s", "");
    free(scores);
    collection_free(&collection);
}

/* ---- what is shown ---- */

static void check_shown(void)
{
    struct collection collection = read_all();
    const struct sentence_scores *sentences = collection.sentences;
    const struct comparison *comparison = collection.comparison;
    for (int i = 0; i < ARMS; i++) {
        int lower = 0, higher = 0;
        const struct sentence_run *shown = &sentences->runs[sentences->shown[i]];
        for (int j = 0; j < comparison->arms[i].run_count; j++) {
            lower += comparison->arms[i].values[MEASURE_BLEU][j] < shown->bleu - 1e-9;
            higher += comparison->arms[i].values[MEASURE_BLEU][j] > shown->bleu + 1e-9;
        }
        check_about("arm %d", i);
        CHECK_INT(lower, (comparison->arms[i].run_count - 1) / 2);
        CHECK_INT(higher, comparison->arms[i].run_count / 2);
        CHECK_TEXT(comparison->records[sentences->shown[i]].arm, comparison->arms[i].name);
    }
    check_about("%s", "the sentences");
    if (!CHECK_INT(sentences->choice_count, SENTENCE_SHOWN))
        return;
    /* No other sentence differs more than those that were chosen for it. */
    double least = 100;
    int differing = 0;
    int64_t shortest = 1000, longest = 0;
    bool chosen[LINES] = {false};
    for (int i = 0; i < SENTENCE_SHOWN; i++) {
        const struct sentence_choice *choice = &sentences->choices[i];
        CHECK(i == 0 || choice->line > sentences->choices[i - 1].line);
        chosen[choice->line] = true;
        differing += choice->differs;
        const int64_t length = references.lines[choice->line].count;
        shortest = length < shortest && !choice->differs ? length : shortest;
        longest = length > longest && !choice->differs ? length : longest;
    }
    CHECK_INT(differing, SENTENCE_SHOWN / 2);
    double spreads[LINES];
    for (int line = 0; line < LINES; line++) {
        double low = 100, high = 0;
        for (int i = 0; i < ARMS; i++) {
            const double bleu = sentence_bleu(sentences, sentences->shown[i], line);
            low = fmin(low, bleu);
            high = fmax(high, bleu);
        }
        spreads[line] = high - low;
    }
    for (int i = 0; i < SENTENCE_SHOWN; i++)
        if (sentences->choices[i].differs)
            least = fmin(least, spreads[sentences->choices[i].line]);
    for (int line = 0; line < LINES; line++)
        CHECK(chosen[line] || spreads[line] <= least);
    CHECK(shortest < 25 && longest > 40);
    check_about("%s", "");
    collection_free(&collection);
}

/* ---- faults ---- */

static void check_fault(const char *wanted)
{
    struct collection collection = read_all();
    check_about("the fault \"%s\"", wanted);
    if (CHECK(collection.sentences->fault != NULL))
        CHECK(strstr(collection.sentences->fault, wanted) != NULL);
    CHECK_INT(collection.sentences->count, 0);
    collection_free(&collection);
    check_about("%s", "");
}

static void check_faults(void)
{
    struct texts other;
    make_text(&other, 99, 20);
    synthetic_write(folder_of(3), "translations.txt", other.text);
    check_fault("rope-3/translations.txt is ");
    check_fault("it, or the test set, has changed since");
    *strrchr(other.text, '\n') = '\0';
    *strrchr(other.text, '\n') = '\0';
    synthetic_write(folder_of(3), "translations.txt", other.text);
    check_fault("has 39 lines, wanted 40, as many as the test set");
    CHECK_INT(unlink(synthetic_path(folder_of(3), "translations.txt")), 0);
    check_fault("rope-3/translations.txt");
    write_run(3, score_of(&translations[3]));
    make_text(&other, 5, 10);
    synthetic_write(scratch_folder(), "test.en", other.text);
    check_fault("has changed since");
    CHECK_INT(unlink(scratch_path("test.en")), 0);
    check_fault("test.en");
}

/* Of one arm all sentences are spread over the lengths. */
static void check_one_arm(void)
{
    struct collection collection;
    const char *folder = folder_of(1);
    write_all();
    CHECK_INT(collection_read(&collection, &folder, 1, NULL), ROTARY_OK);
    CHECK_INT(collection_read_sentences(&collection, NULL), ROTARY_OK);
    CHECK(collection.sentences->fault == NULL);
    CHECK_INT(collection.sentences->choice_count, SENTENCE_SHOWN);
    for (int i = 0; i < SENTENCE_SHOWN; i++)
        CHECK(!collection.sentences->choices[i].differs);
    collection_free(&collection);
}

int main(void)
{
    write_all();
    check_bootstrap();
    check_shown();
    check_faults();
    check_one_arm();
    return check_report();
}
