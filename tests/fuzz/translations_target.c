/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of text as translations: the first half of them, with the second half and themselves as references.
 */
#include "base/integer.h"
#include "base/random.h"
#include "fuzz/target.h"
#include "score/translation/bleu.h"
#include "score/translation/chrf.h"

#include <stdlib.h>

enum { MAX_BYTES = 1 << 16, REFERENCES = 2 };

static void check_score(const char *metric, double score)
{
    if (!(score >= 0 && score <= 100 + 1e-9))
        fuzz_fail("%s is %g", metric, score);
}

/* What is a reference too matches in all its n-grams. */
static void check_bleu(const struct segment_corpus *corpus, uint64_t choice, int64_t *rows)
{
    rotary_error error = {0};
    struct bleu_config config;
    bleu_config_default(&config);
    config.tokenizer = (enum bleu_tokenizer)(choice % BLEU_TOKENIZERS);
    config.smoothing = (enum bleu_smoothing)(choice / 4 % BLEU_SMOOTHINGS);
    config.smoothing_value = bleu_smoothing_default(config.smoothing);
    config.lowercase = choice / 16 % 2;
    config.effective_order = choice / 32 % 2;
    if (fuzz_refused(bleu_count(&config, corpus, rows, &error), &error))
        return;
    for (int64_t i = 0; i < corpus->count; i++) {
        const int64_t *row = rows + i * BLEU_STATISTICS;
        if (row[BLEU_HYPOTHESIS_LENGTH] != row[BLEU_REFERENCE_LENGTH])
            fuzz_fail("line %lld is not as long as itself", (long long)i + 1);
        for (int n = 0; n < BLEU_ORDER; n++)
            if (row[BLEU_CORRECT + n] != row[BLEU_TOTAL + n] || row[BLEU_TOTAL + n] < 0)
                fuzz_fail("line %lld has %lld %d-grams of %lld", (long long)i + 1,
                          (long long)row[BLEU_CORRECT + n], n + 1, (long long)row[BLEU_TOTAL + n]);
        check_score("BLEU", bleu_of(&config, row).score);
    }
}

static void check_chrf(const struct segment_corpus *corpus, uint64_t choice, int64_t *rows)
{
    rotary_error error = {0};
    struct chrf_config config = {.char_order = (int)(choice % 4) + 1,
                                 .word_order = (int)(choice / 4 % 3),
                                 .beta = (int)(choice / 12 % 4),
                                 .lowercase = choice / 48 % 2,
                                 .whitespace = choice / 96 % 2,
                                 .eps_smoothing = choice / 192 % 2};
    int width = chrf_width(&config);
    if (fuzz_refused(chrf_count(&config, corpus, rows, &error), &error))
        return;
    for (int64_t i = 0; i < corpus->count; i++) {
        const int64_t *row = rows + i * width;
        for (int j = 0; j < width; j += 3)
            if (row[j + 2] < 0 || row[j + 2] > min_i64(row[j], row[j + 1]))
                fuzz_fail("line %lld has %lld matches of %lld and %lld", (long long)i + 1,
                          (long long)row[j + 2], (long long)row[j], (long long)row[j + 1]);
        check_score("chrF", chrf_of(&config, row));
    }
}

static bool read_translations(const char *path)
{
    rotary_error error = {0};
    struct text_lines file;
    if (fuzz_refused(text_lines_read(&file, path, MAX_BYTES, &error), &error))
        return false;
    int64_t half = file.count / 2;
    struct text_line *lines = malloc(((size_t)file.count + 1) * sizeof *lines);
    int64_t *rows = malloc(((size_t)half + 1) * SEGMENT_MAX_STATISTICS * sizeof *rows);
    if (lines && rows) {
        for (int64_t i = 0; i < file.count; i++)
            lines[i] = text_lines_at(&file, i);
        uint64_t choice = rotary_hash(file.text.bytes, (uint64_t)file.text.count) >> 20; /* of options */
        const struct text_line *references[REFERENCES] = {lines + half, lines};
        const struct segment_corpus corpus = {half, lines, REFERENCES, references};
        check_bleu(&corpus, choice, rows);
        check_chrf(&corpus, choice, rows);
    }
    free(rows);
    free(lines);
    text_lines_free(&file);
    return true;
}

static const char *const translation_words[] = {"\n",
                                                "\r\n",
                                                " ",
                                                ".",
                                                ",",
                                                "-",
                                                "-\n",
                                                "1",
                                                "a",
                                                "<skipped>",
                                                "&amp;",
                                                "&lt;",
                                                "\xce\xa3",
                                                "\xc4\xb0",
                                                "\xe2\x80\xa8",
                                                "\xc2\xa0",
                                                "\xef\xbb\xbf",
                                                "\xed\xa0\x80",
                                                "\xf0\x9f\x98\x80",
                                                "\xff",
                                                "\x1c",
                                                NULL};

const struct fuzz_target fuzz_translations = {
    .name = "translations",
    .read = read_translations,
    .words = translation_words,
    .memory = 4}; /* a byte is a character of six n-grams, in as many texts as it is a reference of */
