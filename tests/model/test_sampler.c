/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampler: scores equal those of transformers' logits processors; draws follow the scores; logits that are
 * not numbers; refusals.
 */
#include "sampler_goldens.h"
#include "support/check.h"

#include "base/random.h"
#include "model/generation/token_choice.h"

#include <math.h>
#include <string.h>

enum { GOLDENS = sizeof golden_scores / sizeof *golden_scores };

static void test_goldens(void)
{
    int left_out = 0, kept = 0;
    for (int i = 0; i < GOLDENS; i++) {
        float scores[GOLDEN_COUNT];
        int32_t scratch[GOLDEN_COUNT];
        memset(scratch, 0x55, sizeof scratch);
        memcpy(scores, golden_scores[i].logits, sizeof scores);
        const struct sampler_row row = {scores, GOLDEN_COUNT, golden_scores[i].text, GOLDEN_TEXT, scratch};
        sampler_process(&golden_scores[i].config, &row);
        check_about("case %d", i);
        for (int token = 0; token < GOLDEN_COUNT; token++) {
            float wanted = golden_scores[i].scores[token];
            CHECK((double)scores[token] == (double)wanted ||
                  fabs((double)scores[token] - (double)wanted) <= 1e-6 * fabs((double)wanted));
            left_out += isinf(scores[token]) != 0;
            kept += !isinf(scores[token]);
        }
    }
    check_about("%s", "");
    CHECK(left_out > 500);
    CHECK(kept > 500);
}

/* Greedy choice is the first of the largest scores, after the penalty. */
static void test_greedy(void)
{
    float logits[] = {1.0f, 3.0f, 2.9f, 3.0f};
    int32_t scratch[4];
    const int32_t text[] = {1, 1};
    const struct sampler_config plain = {0}, penalised = {.repetition_penalty = 1.05};
    const struct sampler_row row = {logits, 4, text, 2, scratch};
    CHECK_INT(sampler_choose(&plain, &row, 0.9), 1);
    CHECK_INT(sampler_choose(&penalised, &row, 0.0), 3);
}

/* Of equal scores top_k keeps all, and top_p the first. */
static void test_ties(void)
{
    float scores[] = {0.0f, 2.0f, 1.0f, 1.0f, 1.0f}, again[] = {0.0f, 2.0f, 1.0f, 1.0f, 1.0f};
    int32_t scratch[5];
    const struct sampler_config top_k = {.temperature = 1.0, .top_k = 2},
                                top_p = {.temperature = 1.0, .top_p = 0.6};
    sampler_process(&top_k, &(struct sampler_row){.logits = scores, .count = 5, .scratch = scratch});
    sampler_process(&top_p, &(struct sampler_row){.logits = again, .count = 5, .scratch = scratch});
    CHECK(isinf(scores[0]) && !isinf(scores[1]) && !isinf(scores[2]) && !isinf(scores[3]) &&
          !isinf(scores[4]));
    CHECK(isinf(again[0]) && !isinf(again[1]) && !isinf(again[2]) && isinf(again[3]) && isinf(again[4]));
}

/* Of four equal scores each has a quarter: a token before which there is all of top_p is left out. */
static void test_exact_top_p(void)
{
    for (int top_k = 0; top_k <= 4; top_k += 4)
        for (int quarters = 1; quarters < 4; quarters++) {
            float scores[4] = {1.0f, 1.0f, 1.0f, 1.0f};
            int32_t scratch[4];
            const struct sampler_config config = {
                .temperature = 1.0, .top_k = top_k, .top_p = quarters / 4.0};
            sampler_process(&config, &(struct sampler_row){.logits = scores, .count = 4, .scratch = scratch});
            check_about("top_k %d, top_p %g", top_k, config.top_p);
            for (int token = 0; token < 4; token++)
                CHECK_INT(isinf(scores[token]) == 0, token < quarters);
        }
    check_about("%s", "");
}

/* top_p is a share of what top_k left, not of all tokens: of 0.4, 0.3, 0.2 and 0.1 the first two have 4/7 and
 * 3/7. */
static void test_top_p_of_top_k(void)
{
    static const struct {
        double top_p;
        int kept;
    } cases[] = {{0.39, 1}, {0.5, 1}, {0.57, 1}, {0.58, 2}, {0.75, 2}, {0.99, 2}};
    const double probabilities[] = {0.2, 0.4, 0.1, 0.3};
    static const int rank[] = {2, 0, 3, 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float scores[4];
        int32_t scratch[4];
        for (int token = 0; token < 4; token++)
            scores[token] = (float)log(probabilities[token]);
        const struct sampler_config config = {.temperature = 1.0, .top_k = 2, .top_p = cases[i].top_p};
        sampler_process(&config, &(struct sampler_row){.logits = scores, .count = 4, .scratch = scratch});
        check_about("top_p %g", cases[i].top_p);
        for (int token = 0; token < 4; token++)
            CHECK_INT(isinf(scores[token]) == 0, rank[token] < cases[i].kept);
    }
    check_about("%s", "");
}

/* Equally spaced numbers draw each token as often as its score says, and none that is left out. */
static void test_draws(void)
{
    enum { COUNT = 6, DRAWS = 20000 };
    static const float logits[COUNT] = {0.5f, -1.0f, 2.0f, 1.5f, -3.0f, 1.0f};
    const struct sampler_config config = {.temperature = 0.9, .top_k = 4, .top_p = 0.95};
    int counts[COUNT] = {0};
    float scores[COUNT];
    int32_t scratch[COUNT];
    const struct sampler_row row = {.logits = scores, .count = COUNT, .scratch = scratch};
    for (int i = 0; i < DRAWS; i++) {
        memcpy(scores, logits, sizeof scores);
        counts[sampler_choose(&config, &row, (i + 0.5) / DRAWS)]++;
    }
    double sum = 0.0;
    for (int token = 0; token < COUNT; token++)
        sum += exp((double)scores[token]);
    for (int token = 0; token < COUNT; token++)
        CHECK_NEAR(counts[token], DRAWS * exp((double)scores[token]) / sum, 1.5);
    CHECK_INT(counts[1] + counts[4], 0);
    CHECK(counts[0] > 0);
}

/* A large vocabulary in any order: top_k keeps the k largest. */
static void test_large(void)
{
    enum { COUNT = 50000, K = 1000 };
    static float scores[COUNT];
    static int32_t scratch[COUNT];
    const struct rotary_random_key key = {.seed = 3, .stream = ROTARY_STREAM_TEST};
    for (int i = 0; i < COUNT; i++)
        scores[i] = (float)((i * 7919) % COUNT) * 1e-3f + rotary_random_uniform(key, (uint64_t)i) * 1e-4f;
    const struct sampler_config config = {.temperature = 1.0, .top_k = K};
    const struct sampler_row row = {.logits = scores, .count = COUNT, .scratch = scratch};
    sampler_process(&config, &row);
    int kept = 0, wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        kept += !isinf(scores[i]);
        wrong += !isinf(scores[i]) != ((i * 7919) % COUNT >= COUNT - K);
    }
    CHECK_INT(kept, K);
    CHECK_INT(wrong, 0);
}

/* One logit is enough that a row has no softmax, wherever it is; one that leaves a token out is a number. */
static void test_not_numbers(void)
{
    enum { COUNT = 37 };
    static const float wrong[] = {(float)NAN, INFINITY};
    float logits[COUNT];
    for (int place = 0; place < COUNT; place++) {
        for (int i = 0; i < COUNT; i++)
            logits[i] = (float)(i % 5) - 2.0f;
        logits[place] = -INFINITY;
        check_about("place %d", place);
        CHECK_INT(token_check_logits(logits, COUNT, NULL), ROTARY_OK);
        for (int i = 0; i < 2; i++) {
            rotary_error error = {0};
            logits[place] = wrong[i];
            CHECK_INT(token_check_logits(logits, COUNT, &error), ROTARY_INVALID_ARGUMENT);
            CHECK_TEXT(error.message, "the model's logits are not numbers");
        }
    }
    for (int i = 0; i < COUNT; i++)
        logits[i] = -INFINITY;
    check_about("none is left");
    CHECK_INT(token_check_logits(logits, COUNT, NULL), ROTARY_INVALID_ARGUMENT);
    check_about("%s", "");
}

static void test_refusals(void)
{
    static const struct {
        struct sampler_config config;
        const char *about;
    } refused[] = {{{.temperature = -0.1}, "temperature is -0.1"},
                   {{.temperature = NAN}, "temperature is"},
                   {{.temperature = INFINITY}, "temperature is"},
                   {{.temperature = 1e-9}, "temperature is 1e-09"},
                   {{.temperature = 1, .top_k = -1}, "top_k is -1"},
                   {{.temperature = 1, .top_p = 1.01}, "top_p is 1.01"},
                   {{.temperature = 1, .top_p = NAN}, "top_p is"},
                   {{.temperature = 1, .min_p = -0.5}, "min_p is -0.5"},
                   {{.temperature = 1, .repetition_penalty = -1}, "repetition_penalty is -1"},
                   {{.top_k = 3}, "top_k without a temperature"},
                   {{.top_p = 0.5}, "top_p without a temperature"},
                   {{.min_p = 0.5}, "min_p without a temperature"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        rotary_error error = {0};
        check_about("%s", refused[i].about);
        CHECK_INT(sampler_check(&refused[i].config, &error), ROTARY_INVALID_ARGUMENT);
        CHECK(strstr(error.message, refused[i].about) != NULL);
    }
    check_about("%s", "");
    const struct sampler_config all = {1.0, 5, 1.0, 1.0, 1.0},
                                greedy = {.repetition_penalty = 1.2, .top_p = 1.0};
    CHECK_INT(sampler_check(&all, NULL), ROTARY_OK);
    CHECK_INT(sampler_check(&greedy, NULL), ROTARY_OK);
}

int main(void)
{
    test_goldens();
    test_greedy();
    test_ties();
    test_exact_top_p();
    test_top_p_of_top_k();
    test_draws();
    test_large();
    test_not_numbers();
    test_refusals();
    return check_report();
}
