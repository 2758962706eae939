/* SPDX-License-Identifier: Apache-2.0 */
#include "task/labelled_made.h"

#include "base/fail.h"
#include "task/made_corpus.h"

#include <stdlib.h>
#include <string.h>

/* A word is a run of bytes of a sentence. */
struct word {
    int begin, length;
};

static int find_words(const struct sentence *sentence, struct word words[MADE_MAX_WORDS])
{
    int count = 0;
    for (int begin = 0, end; begin < sentence->length && count < MADE_MAX_WORDS; begin = end + 1) {
        for (end = begin; end < sentence->length && sentence->text[end] != ' ';)
            end++;
        words[count++] = (struct word){begin, end - begin};
    }
    return count;
}

static bool may_move(const struct sentence *sentence, const struct word *words, int count, int word)
{
    const char last = sentence->text[words[word].begin + words[word].length - 1];
    return word > 0 && word + 1 < count && last != ',';
}

static bool may_exchange(const struct sentence *sentence, const struct word *words, int count, int word)
{
    if (word + 1 >= count || !may_move(sentence, words, count, word) ||
        !may_move(sentence, words, count, word + 1))
        return false;
    return words[word].length != words[word + 1].length ||
           memcmp(sentence->text + words[word].begin, sentence->text + words[word + 1].begin,
                  (size_t)words[word].length) != 0;
}

/* Exchanges one of the pairs of neighbouring words that may be, by a random number. False if none may. */
static bool exchange_words(struct sentence *sentence, uint32_t random)
{
    struct word words[MADE_MAX_WORDS];
    const int count = find_words(sentence, words);
    int places[MADE_MAX_WORDS], found = 0;
    for (int word = 0; word < count; word++)
        if (may_exchange(sentence, words, count, word))
            places[found++] = word;
    if (found == 0)
        return false;
    const struct word *first = &words[places[random % (uint32_t)found]], *second = first + 1;
    char both[SENTENCE_BYTES];
    memcpy(both, sentence->text + second->begin, (size_t)second->length);
    both[second->length] = ' ';
    memcpy(both + second->length + 1, sentence->text + first->begin, (size_t)first->length);
    memcpy(sentence->text + first->begin, both, (size_t)(first->length + 1 + second->length));
    return true;
}

static bool add_field(struct table *table, int64_t *capacity, int64_t field, const char *text, int64_t count)
{
    const int64_t begin = table->begins[field], end = begin + count + 1;
    if (end > *capacity) {
        char *bytes = realloc(table->bytes, (size_t)(2 * end));
        if (!bytes)
            return false;
        table->bytes = bytes;
        *capacity = 2 * end;
    }
    memcpy(table->bytes + begin, text, (size_t)count);
    table->bytes[end - 1] = '\0';
    table->begins[field + 1] = end;
    return true;
}

static bool add_row(struct table *table, int64_t *capacity, enum task_split split, int64_t row)
{
    static const char *const labels[] = {"exchanged", "in order"};
    const struct rotary_random_key key = {.stream = ROTARY_STREAM_LABEL, .step = (uint32_t)split};
    struct sentence german, english;
    made_pair(split, row, &german, &english);
    const bool wanted = rotary_random_u32(key, 2 * (uint64_t)row) % 2 == 0,
               exchanged = wanted && exchange_words(&english, rotary_random_u32(key, 2 * (uint64_t)row + 1));
    const char *label = labels[!exchanged];
    table->lines[row] = row + 1;
    return add_field(table, capacity, 2 * row, label, (int64_t)strlen(label)) &&
           add_field(table, capacity, 2 * row + 1, english.text, english.length);
}

rotary_status labelled_made(struct table *table, enum task_split split, int64_t count, rotary_error *error)
{
    *table =
        (struct table){.path = "the made-up text", .rows = count, .columns = 2, .names = {"label", "text"}};
    int64_t capacity = 0;
    table->begins = calloc(2 * (size_t)count + 1, sizeof *table->begins);
    table->lines = malloc(((size_t)count + 1) * sizeof *table->lines);
    bool done = table->begins && table->lines;
    for (int64_t row = 0; row < count && done; row++)
        done = add_row(table, &capacity, split, row);
    if (done)
        return ROTARY_OK;
    table_free(table);
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %lld sentences", (long long)count);
}
