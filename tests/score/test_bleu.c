/* SPDX-License-Identifier: Apache-2.0
 *
 * BLEU, against cases worked out by hand and against sacreBLEU's tokens and scores.
 */
#include "score/bleu_goldens.h"
#include "score/translation/bleu.h"
#include "support/check.h"
#include "text/unicode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REFERENCES = 4, MAX_BYTES = 4096 };

static struct text_line line(const char *text)
{
    return (struct text_line){text, (int64_t)strlen(text)};
}

/* The score of one translation and its references, which end with NULL. */
static struct bleu_score score_one(const struct bleu_config *config, const char *hypothesis,
                                   const char *const *references)
{
    struct text_line translation = line(hypothesis), texts[MAX_REFERENCES];
    const struct text_line *sides[MAX_REFERENCES];
    int count = 0;
    for (; references[count] && count < MAX_REFERENCES; count++) {
        texts[count] = line(references[count]);
        sides[count] = &texts[count];
    }
    const struct segment_corpus corpus = {1, &translation, count, sides};
    struct bleu_score score = {.score = (double)NAN};
    rotary_error error = {0};
    CHECK_INT(bleu_corpus(config, &corpus, &score, &error), ROTARY_OK);
    return score;
}

/* ---- by hand ---- */

/* Papineni et al., 2002, section 2.1: "the" is seven times in the translation, at most twice in a reference.
 */
static void test_clipping(void)
{
    struct bleu_config config;
    bleu_config_default(&config);
    config.smoothing = BLEU_FLOOR;
    config.smoothing_value = 0.5;
    static const char *const references[] = {"the cat is on the mat", "there is a cat on the mat", NULL};
    struct bleu_score score = score_one(&config, "the the the the the the the", references);
    CHECK_NEAR(score.precisions[0], 200.0 / 7, 1e-12);
    CHECK_NEAR(score.precisions[1], 50.0 / 6, 1e-12);
    CHECK_NEAR(score.precisions[2], 50.0 / 5, 1e-12);
    CHECK_NEAR(score.precisions[3], 50.0 / 4, 1e-12);
    CHECK_INT(score.hypothesis_length, 7);
    CHECK_INT(score.reference_length, 7);
    CHECK_NEAR(score.brevity_penalty, 1, 0);
    CHECK_NEAR(score.score, 100 * pow(2.0 / 7 * 0.5 / 6 * 0.5 / 5 * 0.5 / 4, 0.25), 1e-12);
}

/* Five of six words in order: 5/5, 4/4, 3/3, 2/2 and a penalty of exp(1 - 6/5). */
static void test_brevity(void)
{
    struct bleu_config config;
    bleu_config_default(&config);
    static const char *const references[] = {"a b c d e f", NULL};
    struct bleu_score score = score_one(&config, "a b c d e", references);
    CHECK_NEAR(score.brevity_penalty, exp(-0.2), 1e-15);
    CHECK_NEAR(score.score, 100 * exp(-0.2), 1e-12);
    CHECK_NEAR(score.ratio, 5.0 / 6, 1e-15);
    CHECK_NEAR(score_one(&config, "a b c d e f", references).score, 100, 1e-12);
    CHECK_NEAR(score_one(&config, "", references).score, 0, 0);
    CHECK_NEAR(score_one(&config, "", references).brevity_penalty, 0, 0);
    char text[BLEU_TEXT_BYTES];
    CHECK_TEXT(bleu_text(&score, text),
               "100.0/100.0/100.0/100.0 (BP = 0.819 ratio = 0.833 hyp_len = 5 ref_len = 6)");
}

/* Of references as near as each other the shorter counts; else the nearer, in any order. */
static void test_nearest_reference(void)
{
    struct bleu_config config;
    bleu_config_default(&config);
    static const char *const shorter_last[] = {"a b c d e f", "a b c d", NULL},
                             *const longer_last[] = {"a b", "a b c d e f", NULL},
                             *const shorter_first[] = {"a b c d", "a b c d e f", NULL};
    CHECK_INT(score_one(&config, "a b c d e", shorter_last).reference_length, 4);
    CHECK_INT(score_one(&config, "a b c d e", shorter_first).reference_length, 4);
    CHECK_INT(score_one(&config, "a b c d e", longer_last).reference_length, 6);
}

/* "a b c d e": precisions 3/4, 1/3, then nothing of 2 and of 1. */
static void test_smoothing(void)
{
    static const char *const references[] = {"a b x d e", NULL};
    static const struct {
        enum bleu_smoothing smoothing;
        double value, precisions[BLEU_ORDER];
    } cases[] = {
        {BLEU_EXP, 0, {75, 100.0 / 3, 25, 25}},
        {BLEU_FLOOR, 0.1, {75, 100.0 / 3, 5, 10}},
        {BLEU_ADD_K, 1, {75, 50, 100.0 / 3, 50}},
        {BLEU_UNSMOOTHED, 0, {75, 100.0 / 3, 0, 0}},
    };
    for (int i = 0; i < 4; i++) {
        struct bleu_config config;
        bleu_config_default(&config);
        config.smoothing = cases[i].smoothing;
        config.smoothing_value = cases[i].value;
        struct bleu_score score = score_one(&config, "a b c d", references);
        double product = 1;
        check_about("smoothing %s", bleu_smoothing_names[i]);
        for (int n = 0; n < BLEU_ORDER; n++) {
            CHECK_NEAR(score.precisions[n], cases[i].precisions[n], 1e-12);
            product *= cases[i].precisions[n];
        }
        CHECK_NEAR(score.score, exp(-0.25) * pow(product, 0.25), 1e-12);
    }
    check_about("%s", "");
}

/* Two words have no trigrams: with all lengths the score is 0, with the effective ones the mean is over two.
 */
static void test_effective_order(void)
{
    struct bleu_config config;
    bleu_config_default(&config);
    static const char *const references[] = {"a b", NULL};
    CHECK_NEAR(score_one(&config, "a b", references).score, 0, 0);
    config.effective_order = true;
    CHECK_NEAR(score_one(&config, "a b", references).score, 100, 1e-12);
    CHECK_NEAR(score_one(&config, "x y", references).score, 0, 0);
}

static void test_signatures(void)
{
    struct bleu_config config;
    bleu_config_default(&config);
    char text[SIGNATURE_BYTES], wanted[SIGNATURE_BYTES], version[SIGNATURE_VERSION_BYTES];
    CHECK(strncmp(segments_version(version), "2.6.0+rotary.", 13) == 0);
    snprintf(wanted, sizeof wanted, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:%s", version);
    CHECK_TEXT(bleu_signature(&config, 1, NULL, text), wanted);
    config = (struct bleu_config){BLEU_INTL, BLEU_ADD_K, 0.125, true, true};
    const struct segment_sampling bootstrap = {.bootstrap = 1000, .seed = 7},
                                  trials = {.trials = 99, .seed = 0};
    snprintf(wanted, sizeof wanted,
             "nrefs:3|bs:1000|seed:7|case:lc|eff:yes|tok:intl|smooth:add-k[0.12]|version:%s", version);
    CHECK_TEXT(bleu_signature(&config, 3, &bootstrap, text), wanted);
    struct chrf_config chrf;
    chrf_config_default(&chrf);
    snprintf(wanted, sizeof wanted, "nrefs:2|ar:99|seed:0|case:mixed|eff:yes|nc:6|nw:0|space:no|version:%s",
             version);
    CHECK_TEXT(chrf_signature(&chrf, 2, &trials, text), wanted);
    CHECK_TEXT(chrf_name(&chrf, text), "chrF2");
    chrf = (struct chrf_config){4, 2, 3, true, true, true};
    snprintf(wanted, sizeof wanted, "nrefs:1|case:lc|eff:no|nc:4|nw:2|space:yes|version:%s", version);
    CHECK_TEXT(chrf_signature(&chrf, 1, NULL, text), wanted);
    CHECK_TEXT(chrf_name(&chrf, text), "chrF3++");
}

/* ---- against sacreBLEU ---- */

/* The tokens of a text, with a space between any two. */
static void tokens_of(enum bleu_tokenizer tokenizer, const char *text, char tokens[MAX_BYTES])
{
    struct points points = {0}, scratch = {0};
    struct text_line segment = line(text);
    rotary_error error = {0};
    char *to = tokens;
    CHECK_INT(points_read(&points, &segment, false, &scratch, &error), ROTARY_OK);
    points_trim(&points);
    CHECK_INT(bleu_tokenize(tokenizer, &points, &scratch, &error), ROTARY_OK);
    for (int64_t begin = 0, end; points_word(&points, &begin, &end); begin = end) {
        if (to > tokens)
            *to++ = ' ';
        to += unicode_encode(points.at + begin, end - begin, to);
    }
    *to = 0;
    points_free(&points);
    points_free(&scratch);
}

static void test_tokens(void)
{
    for (size_t i = 0; i < sizeof golden_tokens / sizeof golden_tokens[0]; i++) {
        char tokens[MAX_BYTES];
        check_about("text %d, %s", (int)i, bleu_tokenizer_names[golden_tokens[i].tokenizer]);
        tokens_of(golden_tokens[i].tokenizer, golden_tokens[i].text, tokens);
        CHECK_TEXT(tokens, golden_tokens[i].tokens);
    }
    check_about("%s", "");
}

struct golden_corpus {
    struct text_line hypotheses[GOLDEN_SEGMENTS], references[GOLDEN_REFERENCES][GOLDEN_SEGMENTS];
    const struct text_line *sides[GOLDEN_REFERENCES];
};

static struct segment_corpus read_goldens(struct golden_corpus *goldens, int references)
{
    for (int i = 0; i < GOLDEN_SEGMENTS; i++) {
        goldens->hypotheses[i] = line(golden_hypotheses[i]);
        for (int j = 0; j < GOLDEN_REFERENCES; j++)
            goldens->references[j][i] = line(golden_references[j][i]);
    }
    for (int j = 0; j < GOLDEN_REFERENCES; j++)
        goldens->sides[j] = goldens->references[j];
    return (struct segment_corpus){GOLDEN_SEGMENTS, goldens->hypotheses, references, goldens->sides};
}

static void check_scores(const struct segment_metric *metric, const int64_t *rows,
                         const double wanted[GOLDEN_SEGMENTS + 1])
{
    int64_t sums[SEGMENT_MAX_STATISTICS];
    for (int i = 0; i < GOLDEN_SEGMENTS; i++)
        CHECK_NEAR(metric->score(metric->config, rows + i * metric->width), wanted[i], 1e-9);
    segments_sum(rows, GOLDEN_SEGMENTS, metric->width, sums);
    CHECK_NEAR(metric->score(metric->config, sums), wanted[GOLDEN_SEGMENTS], 1e-9);
}

static void test_scores(void)
{
    static struct golden_corpus goldens;
    static int64_t rows[GOLDEN_SEGMENTS * SEGMENT_MAX_STATISTICS];
    rotary_error error = {0};
    for (size_t i = 0; i < sizeof golden_bleu / sizeof golden_bleu[0]; i++) {
        struct segment_corpus corpus = read_goldens(&goldens, golden_bleu[i].references);
        struct segment_metric metric = bleu_metric(&golden_bleu[i].config);
        check_about("BLEU %d", (int)i);
        CHECK_INT(bleu_count(&golden_bleu[i].config, &corpus, rows, &error), ROTARY_OK);
        check_scores(&metric, rows, golden_bleu[i].scores);
    }
    for (size_t i = 0; i < sizeof golden_chrf / sizeof golden_chrf[0]; i++) {
        struct segment_corpus corpus = read_goldens(&goldens, golden_chrf[i].references);
        struct segment_metric metric = chrf_metric(&golden_chrf[i].config);
        check_about("chrF %d", (int)i);
        CHECK_INT(chrf_count(&golden_chrf[i].config, &corpus, rows, &error), ROTARY_OK);
        check_scores(&metric, rows, golden_chrf[i].scores);
    }
    check_about("%s", "");
}

/* The F1 score of words. */
static double word_score(const char *hypothesis, const char *reference)
{
    const struct chrf_config config = {.word_order = 1, .beta = 1};
    const struct text_line translation = line(hypothesis), text = line(reference), *side = &text;
    const struct segment_corpus corpus = {1, &translation, 1, &side};
    int64_t row[SEGMENT_MAX_STATISTICS];
    rotary_error error = {0};
    CHECK_INT(chrf_count(&config, &corpus, row, &error), ROTARY_OK);
    return chrf_of(&config, row);
}

/* One mark of ASCII is split off a word of chrF++: the last, or else the first. The scores are those of
 * sacreBLEU 2.6. */
static void test_chrf_marks(void)
{
    static const struct {
        const char *hypothesis, *reference;
        double score;
    } rows[] = {{"(a", "( a", 100},  {"a)", "a )", 100},    {"(a)", "( a )", 40}, {"(a)", "x )", 50},
                {"((a", "( (a", 40}, {"a))", "a) )", 40},   {"a(b", "a ( b", 0},  {"\u00aba", "\u00ab a", 0},
                {"((", "( (", 100},  {"'tis", "' tis", 100}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_about("%s", rows[i].hypothesis);
        CHECK_NEAR(word_score(rows[i].hypothesis, rows[i].reference), rows[i].score, 1e-9);
    }
    for (char mark = '!'; mark <= '~'; mark++) {
        const bool splits = strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", mark) != NULL;
        char first[8], apart[8];
        check_about("%c", mark);
        snprintf(first, sizeof first, "%cxx", mark);
        snprintf(apart, sizeof apart, "%c xx", mark);
        CHECK_NEAR(word_score(first, apart), splits ? 100 : 0, 1e-9);
        snprintf(first, sizeof first, "xx%c", mark);
        snprintf(apart, sizeof apart, "xx %c", mark);
        CHECK_NEAR(word_score(first, apart), splits ? 100 : 0, 1e-9);
    }
    check_about("%s", "");
}

int main(void)
{
    test_clipping();
    test_brevity();
    test_nearest_reference();
    test_smoothing();
    test_effective_order();
    test_signatures();
    test_tokens();
    test_scores();
    test_chrf_marks();
    return check_report();
}
