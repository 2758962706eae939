/* SPDX-License-Identifier: Apache-2.0 */
#include "records/translated_runs.h"

#include "records/synthetic.h"
#include "support/check.h"

#include <stdio.h>

enum { MAX_WORDS = 9 };

const struct translated_run translated_runs[TRANSLATED_RUNS] = {
    {"sinusoidal", 3, 30}, {"rope", 1, 18},       {"sinusoidal", 1, 26}, {"rope", 3, 25},
    {"rope", 2, 33},       {"sinusoidal", 2, 31}, {"roper", 2, 31}};

void translated_text(struct translated_text *texts, int seed, int wrong)
{
    static const char *const words[] = {"The", "dog", "calls", "a", "Big", "tree", "and", "falls"};
    char *next = texts->text;
    unsigned state = (unsigned)seed * 7919u + 1;
    for (int line = 0; line < TRANSLATED_LINES; line++) {
        char *begin = next;
        const int count = 4 + line * 7 % MAX_WORDS;
        for (int word = 0; word < count; word++) {
            state = state * 1103515245u + 12345u;
            bool is_wrong = (int)(state >> 16) % 100 < wrong;
            next +=
                sprintf(next, "%s%s", word ? " " : "", is_wrong ? "<i>&x" : words[(line * 5 + word * 3) % 8]);
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

void translated_rows(const struct translated_text *text, int64_t rows[TRANSLATED_LINES * BLEU_STATISTICS])
{
    struct translated_text references;
    const struct bleu_config config = lower_case();
    translated_text(&references, 0, 0);
    const struct text_line *const all[] = {references.lines};
    const struct segment_corpus corpus = {TRANSLATED_LINES, text->lines, 1, all};
    CHECK_INT(bleu_count(&config, &corpus, rows, NULL), ROTARY_OK);
}

double translated_bleu(const struct translated_text *text)
{
    int64_t rows[TRANSLATED_LINES * BLEU_STATISTICS], sums[BLEU_STATISTICS];
    const struct bleu_config config = lower_case();
    translated_rows(text, rows);
    segments_sum(rows, TRANSLATED_LINES, BLEU_STATISTICS, sums);
    return bleu_of(&config, sums).score;
}

const char *translated_folder(const char *folder, int run)
{
    char name[64];
    snprintf(name, sizeof name, "%s-%d", translated_runs[run].arm, translated_runs[run].seed);
    return synthetic_path(folder, name);
}

void translated_of(struct translated_text *text, int run)
{
    translated_text(text, 10 + run, translated_runs[run].wrong);
}

void translated_write_run(const char *folder, int run)
{
    char text[2048];
    struct translated_text translations;
    translated_of(&translations, run);
    snprintf(text, sizeof text,
             "{\"format\":2,\"task\":\"translation\",\"position\":\"%s\",\"seed\":%d,\"steps\":9,"
             "\"hidden_size\":8,\"translation_data\":\"%s\",\"translation_test\":\"test\","
             "\"translation_lowercase\":true}",
             translated_runs[run].arm, translated_runs[run].seed, folder);
    const char *place = translated_folder(folder, run);
    synthetic_write(place, "config.json", text);
    snprintf(text, sizeof text,
             "{\"step\":9,\"evaluation\":{\"correct\":0,\"problems\":0,\"loss\":2.5,\"accuracy\":0.4,"
             "\"seconds\":1,"
             "\"bleu\":21.5,\"translated\":10,\"signature\":\"nrefs:1|case:lc\",\"test\":{\"bleu\":%.15g,"
             "\"translated\":%d}}}\n",
             translated_bleu(&translations), TRANSLATED_LINES);
    synthetic_write(place, "metrics.jsonl", text);
    synthetic_write(place, "translations.txt", translations.text);
}

void translated_write(const char *folder)
{
    struct translated_text references;
    translated_text(&references, 0, 0);
    synthetic_write(folder, "test.en", references.text);
    synthetic_write(folder, "test.de", references.text);
    for (int i = 0; i < TRANSLATED_RUNS; i++)
        translated_write_run(folder, i);
}

struct collection translated_read(const char *folder)
{
    const char *folders[TRANSLATED_RUNS];
    struct collection collection = {0};
    for (int i = 0; i < TRANSLATED_RUNS; i++)
        folders[i] = translated_folder(folder, i);
    CHECK_INT(collection_read(&collection, folders, TRANSLATED_RUNS, NULL), ROTARY_OK);
    CHECK_INT(collection_read_answers(&collection, NULL), ROTARY_OK);
    return collection;
}
