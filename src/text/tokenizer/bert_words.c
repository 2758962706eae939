/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/bert_words.h"

#include "text/unicode.h"
#include "text/utf8.h"

/* A word that is being made. Of the marks that follow a character NFD changes the order, so they wait until
 * the next character that is none. Only marks that take up space ever wait: the others are stripped. */
struct splitter {
    const struct bert_rules *rules;
    bert_take_word *take;
    void *context;
    char word[BERT_WORD_CHARACTERS * 4];
    int64_t bytes, characters; /* of the word; those that have no room are counted */
    struct waiting_mark {
        uint32_t point;
        int class;
    } marks[BERT_WORD_CHARACTERS + 1];
    int mark_count;
};

static bool is_letter_or_digit(uint32_t point)
{
    return (point >= '0' && point <= '9') || (point >= 'A' && point <= 'Z') || (point >= 'a' && point <= 'z');
}

static bool is_punctuation(uint32_t point)
{
    if (point < 0x80)
        return point > ' ' && point < 0x7f && !is_letter_or_digit(point);
    return unicode_is_punctuation(point);
}

bool bert_is_chinese(uint32_t point)
{
    static const struct {
        uint32_t first, last;
    } blocks[] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
                  {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
    for (size_t i = 0; point >= blocks[0].first && i < sizeof blocks / sizeof blocks[0]; i++)
        if (point >= blocks[i].first && point <= blocks[i].last)
            return true;
    return false;
}

static bool is_space(uint32_t point)
{
    return point == ' ' || point == '\t' || point == '\n' || point == '\r';
}

/* ---- a word ---- */

static void end_word(struct splitter *splitter)
{
    if (splitter->characters > 0)
        splitter->take(splitter->context, splitter->word,
                       splitter->characters <= BERT_WORD_CHARACTERS ? splitter->bytes : 0);
    splitter->bytes = splitter->characters = 0;
}

static void append(struct splitter *splitter, uint32_t point)
{
    bool alone = is_punctuation(point);
    if (alone)
        end_word(splitter);
    if (splitter->characters++ < BERT_WORD_CHARACTERS)
        splitter->bytes += unicode_encode(&point, 1, splitter->word + splitter->bytes);
    if (alone)
        end_word(splitter);
}

static void append_lower(struct splitter *splitter, uint32_t point)
{
    uint32_t lower[UNICODE_LOWER_MAX];
    if (!splitter->rules->lower_case) {
        append(splitter, point);
    } else if (point < 0x80) {
        append(splitter, point >= 'A' && point <= 'Z' ? point + ('a' - 'A') : point);
    } else {
        int64_t count = unicode_lower(&point, 1, lower);
        for (int64_t i = 0; i < count; i++)
            append(splitter, lower[i]);
    }
}

/* ---- accents ---- */

static void append_marks(struct splitter *splitter)
{
    for (int i = 0; i < splitter->mark_count; i++)
        append_lower(splitter, splitter->marks[i].point);
    splitter->mark_count = 0;
}

/* Keeps a mark behind those of its class and of lower ones. A mark too many is forgotten: with the others its
 * word is too long, whatever their order. */
static void keep_mark(struct splitter *splitter, uint32_t point, int class)
{
    int at = splitter->mark_count;
    if (at > BERT_WORD_CHARACTERS)
        return;
    for (; at > 0 && splitter->marks[at - 1].class > class; at--)
        splitter->marks[at] = splitter->marks[at - 1];
    splitter->marks[at] = (struct waiting_mark){point, class};
    splitter->mark_count++;
}

static void append_stripped(struct splitter *splitter, uint32_t point)
{
    uint32_t parts[UNICODE_PARTS_MAX];
    int count = unicode_decompose(point, parts);
    for (int i = 0; i < count; i++) {
        if (unicode_is_nonspacing_mark(parts[i]))
            continue;
        int class = unicode_combining_class(parts[i]);
        if (class > 0) {
            keep_mark(splitter, parts[i], class);
        } else {
            append_marks(splitter);
            append_lower(splitter, parts[i]);
        }
    }
}

static void add(struct splitter *splitter, uint32_t point)
{
    if (!splitter->rules->strip_accents) {
        append_lower(splitter, point);
    } else if (point < 0x80) {
        append_marks(splitter);
        append_lower(splitter, point);
    } else {
        append_stripped(splitter, point);
    }
}

/* ---- a text ---- */

static void end_all(struct splitter *splitter)
{
    append_marks(splitter);
    end_word(splitter);
}

static void add_character(struct splitter *splitter, uint32_t point)
{
    if (is_space(point)) {
        end_all(splitter);
    } else if (point > ' ' && point < 0x7f) {
        add(splitter, point);
    } else if (point == UNICODE_REPLACEMENT || unicode_is_control(point)) {
        return;
    } else if (unicode_is_space(point)) {
        end_all(splitter);
    } else if (splitter->rules->split_chinese && bert_is_chinese(point)) {
        end_all(splitter);
        add(splitter, point);
        end_all(splitter);
    } else {
        add(splitter, point);
    }
}

void bert_split(const struct bert_rules *rules, const char *text, int64_t bytes, bert_take_word *take,
                void *context)
{
    struct splitter splitter = {.rules = rules, .take = take, .context = context};
    for (int64_t i = 0, step; i < bytes; i += step) {
        step = utf8_character_bytes(text + i, bytes - i);
        if (step == 0)
            break;
        add_character(&splitter, utf8_code_point(text + i, step));
    }
    end_all(&splitter);
}
