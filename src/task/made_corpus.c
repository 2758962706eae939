/* SPDX-License-Identifier: Apache-2.0 */
#include "task/made_corpus.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

enum { HELD_OUT_ONE_IN = 24 }; /* of so many meanings one is for validation and one for test */

/* Two meanings with the same sentences in either language have the same plain English sentence. */
static enum task_split split_of(const struct meaning *meaning)
{
    struct sentence plain;
    english_sentence(&plain, meaning, true);
    const uint64_t hash = rotary_hash(plain.text, (uint64_t)plain.length);
    const uint64_t remainder = (hash ^ hash >> 32) % HELD_OUT_ONE_IN;
    return remainder == 0 ? TASK_VALIDATION : remainder == 1 ? TASK_TEST : TASK_TRAINING;
}

static bool has_length(const struct sentence *sentence)
{
    return sentence->words >= MADE_MIN_WORDS && sentence->words <= MADE_MAX_WORDS;
}

void made_pair(enum task_split split, int64_t index, struct sentence *german, struct sentence *english)
{
    struct rotary_random random = {.key = {.stream = ROTARY_STREAM_CORPUS, .step = (uint32_t)split},
                                   .next = (uint64_t)index << 32};
    struct meaning meaning;
    do {
        meaning_draw(&meaning, &random);
        german_sentence(german, &meaning);
        english_sentence(english, &meaning, false);
    } while (!has_length(german) || !has_length(english) || split_of(&meaning) != split);
}

/* ---- whole splits ---- */

static bool reserve(struct text_lines *lines, int64_t *capacity, int64_t wanted)
{
    if (wanted <= *capacity)
        return true;
    const int64_t larger = 2 * wanted;
    char *bytes = realloc(lines->bytes, (size_t)larger);
    if (!bytes)
        return false;
    lines->bytes = bytes;
    *capacity = larger;
    return true;
}

static bool append(struct text_lines *lines, int64_t *capacity, const struct sentence *sentence)
{
    const int64_t used = lines->begins[lines->count], end = used + sentence->length + 1;
    if (!reserve(lines, capacity, end))
        return false;
    memcpy(lines->bytes + used, sentence->text, (size_t)sentence->length + 1);
    lines->begins[++lines->count] = end;
    return true;
}

rotary_status made_corpus(enum task_split split, int64_t count, struct text_lines *german,
                          struct text_lines *english, rotary_error *error)
{
    static const char path[] = "the made-up corpus";
    int64_t german_bytes = 0, english_bytes = 0;
    *german = (struct text_lines){.path = path, .begins = calloc((size_t)count + 1, sizeof(int64_t))};
    *english = (struct text_lines){.path = path, .begins = calloc((size_t)count + 1, sizeof(int64_t))};
    bool done = german->begins && english->begins;
    for (int64_t i = 0; i < count && done; i++) {
        struct sentence source, target;
        made_pair(split, i, &source, &target);
        done = append(german, &german_bytes, &source) && append(english, &english_bytes, &target);
    }
    if (done)
        return ROTARY_OK;
    text_lines_free(german);
    text_lines_free(english);
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a corpus of %lld pairs", (long long)count);
}
