/* SPDX-License-Identifier: Apache-2.0 */
#include "task/classification/labelled_synthetic.h"

#include "base/fail.h"
#include "task/text/synthetic_sentences.h"

#include <stdlib.h>
#include <string.h>

/* A word is a run of bytes of a sentence. */
struct word {
    int begin, length;
};

static int find_words(const struct sentence *sentence, struct word words[SYNTHETIC_MAX_WORDS])
{
    int count = 0;
    for (int begin = 0, end; begin < sentence->length && count < SYNTHETIC_MAX_WORDS; begin = end + 1) {
        for (end = begin; end < sentence->length && sentence->text[end] != ' ';)
            end++;
        words[count++] = (struct word){begin, end - begin};
    }
    return count;
}

/* Writes the words of a run from the last to the first. False if that is the sentence as it was. */
static bool reverse_run(struct sentence *sentence, const struct word *words, int first, int count)
{
    char reversed[SENTENCE_BYTES];
    int used = 0;
    const int begin = words[first].begin,
              end = words[first + count - 1].begin + words[first + count - 1].length;
    for (int i = count - 1; i >= 0; i--) {
        const struct word *word = &words[first + i];
        memcpy(reversed + used, sentence->text + word->begin, (size_t)word->length);
        used += word->length;
        if (i > 0)
            reversed[used++] = ' ';
    }
    if (memcmp(reversed, sentence->text + begin, (size_t)(end - begin)) == 0)
        return false;
    memcpy(sentence->text + begin, reversed, (size_t)(end - begin));
    return true;
}

/* Reverses a run of words, but not the first word of the sentence and the last, by two random numbers. */
static bool reverse_words(struct sentence *sentence, uint32_t length, uint32_t place)
{
    enum { MIN_RUN = 4 };
    struct word words[SYNTHETIC_MAX_WORDS];
    const int inner = find_words(sentence, words) - 2;
    if (inner < 2)
        return false;
    const int count = inner <= MIN_RUN ? inner : MIN_RUN + (int)(length % (uint32_t)(inner - MIN_RUN + 1));
    return reverse_run(sentence, words, 1 + (int)(place % (uint32_t)(inner - count + 1)), count);
}

static rotary_status add_row(struct table *table, enum task_split split, int64_t row, rotary_error *error)
{
    static const char *const labels[] = {"in order", "reversed"};
    const struct rotary_random_key key = {.stream = ROTARY_STREAM_LABEL, .step = (uint32_t)split};
    struct sentence german, english;
    synthetic_pair(split, row, &german, &english);
    uint32_t numbers[4];
    rotary_random_block(key, (uint64_t)row, numbers);
    const char *label = labels[numbers[0] % 2 == 0 && reverse_words(&english, numbers[1], numbers[2])];
    table->lines[row] = row + 1;
    rotary_status status =
        table_append(table, 2 * row, (struct text_line){label, (int64_t)strlen(label)}, error);
    return status == ROTARY_OK
               ? table_append(table, 2 * row + 1, (struct text_line){english.text, english.length}, error)
               : status;
}

rotary_status labelled_synthetic(struct table *table, enum task_split split, int64_t count,
                                 rotary_error *error)
{
    *table =
        (struct table){.path = "the synthetic text", .rows = count, .columns = 2, .names = {"label", "text"}};
    table->starts = calloc(2 * (size_t)count + 1, sizeof *table->starts);
    table->lines = malloc(((size_t)count + 1) * sizeof *table->lines);
    rotary_status status = table->starts && table->lines
                               ? ROTARY_OK
                               : rotary_fail_memory(error, "for %lld sentences", (long long)count);
    for (int64_t row = 0; row < count && status == ROTARY_OK; row++)
        status = add_row(table, split, row, error);
    if (status != ROTARY_OK)
        table_free(table);
    return status;
}
