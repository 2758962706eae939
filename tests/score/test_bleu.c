/* SPDX-License-Identifier: Apache-2.0
 *
 * BLEU, against cases worked out by hand.
 */
#include "score/bleu.h"
#include "support/check.h"

#include <math.h>
#include <string.h>

static struct text_line segment(const char *text)
{
    return (struct text_line){text, (int64_t)strlen(text)};
}

/* One translation and its references, NULL-terminated. */
static struct bleu_score score_one(const struct bleu_config *config, const char *hypothesis,
                                   const char *const *references)
{
    enum { MAX = 4 };
    struct text_line translation = segment(hypothesis), texts[MAX];
    const struct text_line *sides[MAX];
    int count = 0;
    for (; references[count] && count < MAX; count++) {
        texts[count] = segment(references[count]);
        sides[count] = &texts[count];
    }
    const struct segment_corpus corpus = {1, &translation, count, sides};
    struct bleu_score score = {.score = (double)NAN};
    rotary_error error = {0};
    CHECK_INT(bleu_corpus(config, &corpus, &score, &error), ROTARY_OK);
    return score;
}

/* Seven words, two of them twice as often as in any reference (Papineni et al., 2002, section 2.1). */
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

int main(void)
{
    test_clipping();
    return check_report();
}
