/* SPDX-License-Identifier: Apache-2.0 */
#include "task/text/synthetic_sentences.h"

#include "base/fail.h"
#include "task/text/synthetic_grammar.h"

#include <stdlib.h>
#include <string.h>

enum { HELD_OUT_ONE_IN = 24 }; /* of so many meanings one is for validation and one for test */

/* Meanings that are said alike in either language, but for the order of words, have one plain English
 * sentence. */
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
    return sentence->words >= SYNTHETIC_MIN_WORDS && sentence->words <= SYNTHETIC_MAX_WORDS;
}

void synthetic_pair(enum task_split split, int64_t index, struct sentence *german, struct sentence *english)
{
    struct rotary_random random = {.key = {.stream = ROTARY_STREAM_CORPUS, .step = (uint32_t)split},
                                   .next = (uint64_t)index << 32};
    struct meaning meaning;
    do {
        synthetic_meaning(&meaning, &random);
        german_sentence(german, &meaning);
        english_sentence(english, &meaning, false);
    } while (!has_length(german) || !has_length(english) || split_of(&meaning) != split);
}

/* ---- whole splits ---- */

static rotary_status append(struct text_lines *lines, const struct sentence *sentence, rotary_error *error)
{
    rotary_status status = text_buffer_append(&lines->text, sentence->text, sentence->length + 1, error);
    lines->starts[++lines->count] = lines->text.count;
    return status;
}

rotary_status synthetic_corpus(enum task_split split, int64_t count, struct text_lines *german,
                               struct text_lines *english, rotary_error *error)
{
    static const char path[] = "the synthetic corpus";
    *german = (struct text_lines){.path = path, .starts = calloc((size_t)count + 1, sizeof(int64_t))};
    *english = (struct text_lines){.path = path, .starts = calloc((size_t)count + 1, sizeof(int64_t))};
    rotary_status status = german->starts && english->starts
                               ? ROTARY_OK
                               : rotary_fail_memory(error, "for a corpus of %lld pairs", (long long)count);
    for (int64_t i = 0; i < count && status == ROTARY_OK; i++) {
        struct sentence source, target;
        synthetic_pair(split, i, &source, &target);
        status = append(german, &source, error);
        if (status == ROTARY_OK)
            status = append(english, &target, error);
    }
    if (status != ROTARY_OK) {
        text_lines_free(german);
        text_lines_free(english);
    }
    return status;
}
