/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/mutate.h"

#include "base/random.h"

#include <stdio.h>
#include <string.h>

/* 0 ... bound - 1, and 0 for a bound of 0. */
static size_t below(struct rotary_random *random, size_t bound)
{
    return bound ? rotary_random_below(random, (uint32_t)bound) : 0;
}

/* Mostly short, sometimes long. */
static size_t draw_length(struct rotary_random *random, size_t max)
{
    size_t reach = (size_t)1 << below(random, 12);
    return below(random, (reach < max ? reach : max) + 1);
}

/* Makes room for `count` bytes in place of the `removed` ones at `at`; false: there is none. */
static bool make_room(struct fuzz_input *input, size_t at, size_t removed, size_t count)
{
    if (input->count - removed + count > FUZZ_MAX_BYTES)
        return false;
    memmove(input->bytes + at + count, input->bytes + at + removed, input->count - at - removed);
    input->count += count - removed;
    return true;
}

/* Replaces `removed` bytes at `at` by `count` bytes, which must not point into the input. */
static void replace(struct fuzz_input *input, size_t at, size_t removed, const void *bytes, size_t count)
{
    if (make_room(input, at, removed, count))
        memcpy(input->bytes + at, bytes, count);
}

static void replace_bits(struct fuzz_input *input, struct rotary_random *random)
{
    static const unsigned char values[] = {0, 1, 0x20, 0x22, 0x7f, 0x80, 0xfe, 0xff};
    if (input->count == 0)
        return;
    unsigned char *byte = &input->bytes[below(random, input->count)];
    switch (below(random, 3)) {
    case 0:
        *byte ^= (unsigned char)(1u << below(random, 8));
        return;
    case 1:
        *byte = values[below(random, sizeof values)];
        return;
    default:
        *byte = (unsigned char)below(random, 256);
    }
}

/* Replaces a run of digits by another number. */
static void replace_number(struct fuzz_input *input, struct rotary_random *random)
{
    static const char *const numbers[] = {"0",
                                          "-1",
                                          "1",
                                          "7",
                                          "255",
                                          "65536",
                                          "4294967295",
                                          "4294967296",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "18446744073709551616",
                                          "3037000500",
                                          "1e400",
                                          "0.1"};
    size_t at = below(random, input->count + 1), end;
    while (at < input->count && (input->bytes[at] < '0' || input->bytes[at] > '9'))
        at++;
    for (end = at; end < input->count && input->bytes[end] >= '0' && input->bytes[end] <= '9';)
        end++;
    const char *number = numbers[below(random, sizeof numbers / sizeof *numbers)];
    replace(input, at, end - at, number, strlen(number));
}

static void insert_word(const struct fuzz_target *target, struct fuzz_input *input,
                        struct rotary_random *random)
{
    size_t count = 0, at = below(random, input->count + 1);
    while (target->words[count])
        count++;
    const char *word = target->words[below(random, count)];
    size_t length = strlen(word), removed = below(random, 2) ? length : 0;
    replace(input, at, removed < input->count - at ? removed : input->count - at, word, length);
}

/* Inserts bytes of a file of the corpus, perhaps this one before it was damaged. */
static void splice(const struct fuzz_input *other, struct fuzz_input *input, struct rotary_random *random)
{
    size_t from = below(random, other->count + 1), at = below(random, input->count + 1);
    size_t length = draw_length(random, other->count - from);
    size_t removed = below(random, 2) ? draw_length(random, input->count - at) : 0;
    replace(input, at, removed, other->bytes + from, length);
}

/* Repeats a few bytes, which makes deep nesting and long names. */
static void repeat_bytes(struct fuzz_input *input, struct rotary_random *random)
{
    unsigned char bytes[8];
    size_t at = below(random, input->count + 1), left = input->count - at;
    size_t length = 1 + below(random, sizeof bytes), times = (size_t)1 << below(random, 13);
    if (length > left)
        return;
    memcpy(bytes, input->bytes + at, length);
    if (!make_room(input, at, 0, times * length)) /* once: moving is slow under a sanitizer */
        return;
    for (size_t i = 0; i < times; i++)
        memcpy(input->bytes + at + i * length, bytes, length);
}

static void damage(const struct fuzz_target *target, const struct fuzz_input *other, struct fuzz_input *input,
                   struct rotary_random *random)
{
    size_t at;
    switch (below(random, 16)) {
    case 0:
        input->count = below(random, input->count + 1);
        return;
    case 1:
    case 2:
        at = below(random, input->count + 1);
        replace(input, at, draw_length(random, input->count - at), "", 0);
        return;
    case 3:
    case 4:
        splice(other, input, random);
        return;
    case 5:
        repeat_bytes(input, random);
        return;
    case 6:
    case 7:
    case 8:
        replace_number(input, random);
        return;
    case 9:
    case 10:
    case 11:
        insert_word(target, input, random);
        return;
    default:
        replace_bits(input, random);
    }
}

void fuzz_mutate(const struct fuzz_target *target, const struct fuzz_input *corpus, int corpus_count,
                 uint64_t seed, uint32_t number, struct fuzz_input *made)
{
    struct rotary_random random = {.key = {.seed = seed, .stream = ROTARY_STREAM_TEST, .step = number}};
    const struct fuzz_input *first = &corpus[below(&random, (size_t)corpus_count)];
    memcpy(made->bytes, first->bytes, first->count);
    made->count = first->count;
    for (size_t i = 0, times = 1 + below(&random, 1 + below(&random, 6)); i < times; i++)
        damage(target, &corpus[below(&random, (size_t)corpus_count)], made, &random);
    if (target->repair && made->count > 16 && below(&random, 2))
        target->repair(made->bytes, made->count);
}
