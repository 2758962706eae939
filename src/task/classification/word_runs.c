/* SPDX-License-Identifier: Apache-2.0 */
#include "task/classification/word_runs.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

/* A run of words w has the hash Σ w[i] · FACTOR^(n − 1 − i), modulo 2^64: that of any run follows from two
 * hashes of prefixes. What has the same hash is compared word for word. */
static const uint64_t FACTOR = UINT64_C(0x9e3779b97f4a7c15);

/* ---- words ---- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next word at or after *begin; false if there is none. */
static bool next_word(const struct text_line *text, int64_t *begin, int64_t *end)
{
    while (*begin < text->count && is_space(text->bytes[*begin]))
        ++*begin;
    *end = *begin;
    while (*end < text->count && !is_space(text->bytes[*end]))
        ++*end;
    return *end > *begin;
}

static int64_t count_words(const struct text_line *text)
{
    int64_t words = 0;
    for (int64_t begin = 0, end; next_word(text, &begin, &end); begin = end)
        words++;
    return words;
}

static void hash_words(const struct text_line *text, uint64_t *words)
{
    for (int64_t begin = 0, end; next_word(text, &begin, &end); begin = end)
        *words++ = rotary_hash(text->bytes + begin, (uint64_t)(end - begin));
}

/* ---- runs ---- */

static int64_t length_of(const struct word_runs *runs, int64_t text)
{
    return runs->starts[text + 1] - runs->starts[text];
}

/* The hashes of the prefixes of a text: one more than it has words. */
static uint64_t *prefixes_of(const struct word_runs *runs, int64_t text)
{
    return runs->prefixes + runs->starts[text] + text;
}

static uint64_t run_hash(const struct word_runs *runs, int64_t text, int64_t first, int64_t count)
{
    const uint64_t *prefixes = prefixes_of(runs, text);
    return prefixes[first + count] - prefixes[first] * runs->powers[count];
}

static bool is_run(const struct word_runs *runs, int64_t text, int64_t first, int64_t part)
{
    return memcmp(runs->words + runs->starts[text] + first, runs->words + runs->starts[part],
                  (size_t)length_of(runs, part) * sizeof *runs->words) == 0;
}

/* The slot of the text that is `count` words of `text` from `first` on, or the free one where it would be. */
static struct hash_slot *find_slot(const struct word_runs *runs, int64_t text, int64_t first, int64_t count)
{
    struct hash_slot *slot =
        hash_table_find(&runs->texts, hash_table_key(run_hash(runs, text, first, count)));
    while (slot->value >= 0 &&
           !(length_of(runs, slot->value) == count && is_run(runs, text, first, slot->value)))
        slot = hash_table_next(&runs->texts, slot);
    return slot;
}

void word_runs_mark_parts(const struct word_runs *runs, int64_t whole, bool *marked)
{
    const int64_t length = length_of(runs, whole);
    for (int64_t count = 1; count < length; count++)
        for (int64_t first = 0; runs->has_length[count] && first + count <= length; first++) {
            const int64_t part = find_slot(runs, whole, first, count)->value;
            if (part >= 0)
                marked[part] = true;
        }
}

uint64_t word_runs_hash(const struct word_runs *runs, int64_t text)
{
    return rotary_hash(runs->words + runs->starts[text],
                       (uint64_t)length_of(runs, text) * sizeof *runs->words);
}

/* ---- creating ---- */

static bool allocate(struct word_runs *runs)
{
    const size_t words = (size_t)runs->starts[runs->count], texts = (size_t)runs->count;
    runs->words = malloc((words + 1) * sizeof *runs->words);
    runs->prefixes = malloc((words + texts + 1) * sizeof *runs->prefixes);
    runs->powers = malloc(((size_t)runs->longest + 1) * sizeof *runs->powers);
    runs->has_length = calloc((size_t)runs->longest + 1, sizeof *runs->has_length);
    runs->same = malloc((texts + 1) * sizeof *runs->same);
    return runs->words && runs->prefixes && runs->powers && runs->has_length && runs->same &&
           runs->count <= INT32_MAX && rotary_hash_table_empty(&runs->texts, runs->count);
}

static void add_text(struct word_runs *runs, const struct text_line *line, int64_t text)
{
    const int64_t length = length_of(runs, text);
    const uint64_t *words = runs->words + runs->starts[text];
    uint64_t *prefixes = prefixes_of(runs, text);
    hash_words(line, runs->words + runs->starts[text]);
    prefixes[0] = 0;
    for (int64_t i = 0; i < length; i++)
        prefixes[i + 1] = prefixes[i] * FACTOR + words[i];
    runs->has_length[length] = true;
    struct hash_slot *slot = find_slot(runs, text, 0, length);
    if (slot->value < 0)
        *slot = (struct hash_slot){hash_table_key(run_hash(runs, text, 0, length)), (int32_t)text};
    runs->same[text] = slot->value;
}

rotary_status word_runs_create(struct word_runs *runs, const struct text_line *texts, int64_t count,
                               rotary_error *error)
{
    *runs = (struct word_runs){.count = count, .starts = calloc((size_t)count + 1, sizeof *runs->starts)};
    for (int64_t i = 0; runs->starts && i < count; i++) {
        const int64_t words = count_words(&texts[i]);
        runs->starts[i + 1] = runs->starts[i] + words;
        runs->longest = max_i64(runs->longest, words);
    }
    if (!runs->starts || !allocate(runs)) {
        word_runs_free(runs);
        return rotary_fail_memory(error, "for the words of %lld texts", (long long)count);
    }
    runs->powers[0] = 1;
    for (int64_t i = 0; i < runs->longest; i++)
        runs->powers[i + 1] = runs->powers[i] * FACTOR;
    for (int64_t i = 0; i < count; i++)
        add_text(runs, &texts[i], i);
    return ROTARY_OK;
}

void word_runs_free(struct word_runs *runs)
{
    free(runs->words);
    free(runs->prefixes);
    free(runs->powers);
    free(runs->has_length);
    rotary_hash_table_free(&runs->texts);
    free(runs->same);
    free(runs->starts);
    *runs = (struct word_runs){0};
}
