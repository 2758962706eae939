/* SPDX-License-Identifier: Apache-2.0
 *
 * The word tokenizer: words are what white space separates, and punctuation too if asked; or each character
 * is a word.
 */
#include "base/fail.h"
#include "base/hash_table.h"
#include "base/random.h"
#include "config/json_fields.h"
#include "text/tokenizer/tokenizer_type.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

/* The order of the annotated transformer, and a mask behind it where there is one. */
enum { BEGIN, END, PADDING, UNKNOWN, MASK, MAX_SPECIAL };
enum { MAX_WORDS = 1 << 24, FIRST_WORDS = 1 << 9 };

static const struct token_text special_text[MAX_SPECIAL] = {
    {"<s>", 3}, {"</s>", 4}, {"<blank>", 7}, {"<unk>", 5}, {"<mask>", 6}};

/* ---- a table of words ---- */

struct word {
    const char *bytes; /* not zero-terminated */
    int64_t length, frequency;
};

/* Words in the order in which they were added. */
struct word_table {
    struct word *words;
    struct hash_table places; /* of words, by their hash */
    int64_t count, capacity;
};

static void free_table(struct word_table *table)
{
    free(table->words);
    rotary_hash_table_free(&table->places);
}

static bool is_word(const struct word *word, const char *bytes, int64_t length)
{
    return word->length == length && memcmp(word->bytes, bytes, (size_t)length) == 0;
}

static uint32_t key_of(const char *bytes, int64_t length)
{
    return hash_table_key(rotary_hash(bytes, (uint64_t)length));
}

/* The slot that has the word whose key is given, or the free one in which it belongs. */
static struct hash_slot *find_slot(const struct word_table *table, uint32_t key, const char *bytes,
                                   int64_t length)
{
    struct hash_slot *slot = hash_table_find(&table->places, key);
    while (slot->value >= 0 && !is_word(&table->words[slot->value], bytes, length))
        slot = hash_table_next(&table->places, slot);
    return slot;
}

/* The index of the word; -1 if it is not in the table. */
static int32_t find(const struct word_table *table, const char *bytes, int64_t length)
{
    return find_slot(table, key_of(bytes, length), bytes, length)->value;
}

static bool make_room(struct word_table *table, int64_t count)
{
    struct word *words = realloc(table->words, (size_t)count * sizeof *words);
    if (!words)
        return false;
    table->words = words;
    table->capacity = count;
    return rotary_hash_table_grow(&table->places, count);
}

/* Adds `frequency` to that of a word, which is borrowed. False without memory. */
static bool count_word(struct word_table *table, const char *bytes, int64_t length, int64_t frequency)
{
    if (table->count == table->capacity &&
        !make_room(table, table->capacity > 0 ? 2 * table->capacity : FIRST_WORDS))
        return false;
    const uint32_t key = key_of(bytes, length);
    struct hash_slot *slot = find_slot(table, key, bytes, length);
    if (slot->value < 0) {
        *slot = (struct hash_slot){key, (int32_t)table->count};
        table->words[table->count++] = (struct word){bytes, length, 0};
    }
    table->words[slot->value].frequency += frequency;
    return true;
}

/* ---- text ---- */

static bool is_space(char letter)
{
    return letter == ' ' || (letter >= '\t' && letter <= '\r');
}

/* A character of a text; what is not UTF-8 is a letter of one byte. */
struct character {
    int64_t bytes; /* 0: behind the end */
    uint32_t point;
};

static struct character character_at(const char *text, int64_t bytes, int64_t at)
{
    if (at >= bytes)
        return (struct character){0, ' '};
    int64_t length = utf8_character_bytes(text + at, bytes - at);
    return length == 0 ? (struct character){1, 'a'}
                       : (struct character){length, utf8_code_point(text + at, length)};
}

static bool is_digit(uint32_t point)
{
    return point >= '0' && point <= '9';
}

/* Punctuation and symbols. */
static bool is_mark(uint32_t point)
{
    return unicode_is_punctuation(point) || unicode_is_symbol(point);
}

/* Whether a mark belongs to the word that it stands in: "don't", "well-known", "3.5", "10:30". */
static bool is_inner(uint32_t before, uint32_t mark, uint32_t after)
{
    if (mark == '\'' || mark == 0x2019 || mark == '-' || mark == 0x2010)
        return !is_mark(after) && after > ' ';
    return (mark == '.' || mark == ',' || mark == ':') && is_digit(before) && is_digit(after);
}

/* The end of the word that begins at `at` and ends before `end` at the latest. */
static int64_t end_of_word(const char *text, int64_t end, int64_t at)
{
    struct character character = character_at(text, end, at);
    if (is_mark(character.point))
        return at + character.bytes;
    while (character.bytes > 0) {
        at += character.bytes;
        struct character next = character_at(text, end, at);
        if (is_mark(next.point) &&
            !is_inner(character.point, next.point, character_at(text, end, at + next.bytes).point))
            break;
        character = next;
    }
    return at;
}

/* What a tokenizer is made by, besides its words. */
struct form {
    bool marks;      /* each punctuation mark is a word */
    bool characters; /* each character is */
    bool spaces;     /* white space too */
    bool mask;       /* there is a token <mask> */
};

/* The next word of the text from *at on, which is moved behind it; length 0: there is none. With `marks` each
 * mark is a word, but for inner ones. */
static struct word next_word(const char *text, int64_t bytes, struct form form, int64_t *at)
{
    while (*at < bytes && !form.spaces && is_space(text[*at]))
        ++*at;
    int64_t begin = *at, end = begin;
    if (form.characters) {
        *at += character_at(text, bytes, begin).bytes;
        return (struct word){text + begin, *at - begin, 0};
    }
    while (end < bytes && !is_space(text[end]))
        end++;
    *at = form.marks && begin < end ? end_of_word(text, end, begin) : end;
    return (struct word){text + begin, *at - begin, 0};
}

static int32_t special_count(struct form form)
{
    return form.mask ? MAX_SPECIAL : MASK;
}

static bool is_special(struct form form, const char *bytes, int64_t length)
{
    for (int token = 0; token < special_count(form); token++)
        if (is_word(&(struct word){special_text[token].bytes, special_text[token].count, 0}, bytes, length))
            return true;
    return false;
}

static rotary_status check_text(const char *text, int64_t bytes, rotary_error *error)
{
    int64_t valid = utf8_valid_bytes(text, bytes);
    if (valid == bytes)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "byte 0x%02x at position %lld of the text is not UTF-8 text",
                       (unsigned)(unsigned char)text[valid], (long long)valid + 1);
}

/* ---- the tokenizer ---- */

struct words {
    struct tokenizer tokenizer;
    struct form form;
    struct word_table table; /* word i is token special_count(form) + i */
    char *pool;              /* the bytes of the words */
};

static const struct words *of(const struct tokenizer *tokenizer)
{
    return (const struct words *)tokenizer;
}

static void destroy(struct tokenizer *tokenizer)
{
    struct words *words = (struct words *)tokenizer;
    free_table(&words->table);
    free(words->pool);
    free(words);
}

/* The tokenizer of `count` different words, which are copied. */
static rotary_status create(struct tokenizer **tokenizer, const struct word *list, int64_t count,
                            struct form form, rotary_error *error)
{
    struct words *words = calloc(1, sizeof *words);
    if (!words)
        return rotary_fail_memory(error, "for a vocabulary of words");
    words->tokenizer = (struct tokenizer){
        .type = &tokenizer_words,
        .size = special_count(form) + count,
        .special = {.padding = PADDING,
                    .unknown = UNKNOWN,
                    .begin = BEGIN,
                    .end = END,
                    .mask = form.mask ? MASK : -1},
        .spaces = form.spaces,
    };
    words->form = form;
    int64_t bytes = 0, used = 0;
    for (int64_t i = 0; i < count; i++)
        bytes += list[i].length;
    words->pool = malloc((size_t)bytes + 1);
    bool done = words->pool && make_room(&words->table, FIRST_WORDS);
    for (int64_t i = 0; i < count && done; i++) {
        memcpy(words->pool + used, list[i].bytes, (size_t)list[i].length);
        done = count_word(&words->table, words->pool + used, list[i].length, 1);
        used += list[i].length;
    }
    if (!done) {
        destroy(&words->tokenizer);
        return rotary_fail_memory(error, "for a vocabulary of words");
    }
    *tokenizer = &words->tokenizer;
    return ROTARY_OK;
}

/* More frequent words first, equally frequent ones in the order of their bytes. */
static int compare(const void *a, const void *b)
{
    const struct word *first = a, *second = b;
    if (first->frequency != second->frequency)
        return first->frequency > second->frequency ? -1 : 1;
    int64_t common = first->length < second->length ? first->length : second->length;
    int order = memcmp(first->bytes, second->bytes, (size_t)common);
    return order != 0 ? order : (first->length > second->length) - (first->length < second->length);
}

static rotary_status count_words(struct word_table *table, const char *text, int64_t bytes, struct form form,
                                 rotary_error *error)
{
    for (int64_t at = 0;;) {
        const struct word word = next_word(text, bytes, form, &at);
        if (word.length == 0)
            return ROTARY_OK;
        if (is_special(form, word.bytes, word.length))
            continue;
        if (!count_word(table, word.bytes, word.length, 1))
            return rotary_fail_memory(error, "for a vocabulary of words");
        if (table->count > MAX_WORDS)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "the text has more than %d different words, the maximum", MAX_WORDS);
    }
}

rotary_status words_configured_create(struct tokenizer **tokenizer, const char *text, int64_t bytes,
                                      const struct words_config *config, rotary_error *error)
{
    const struct form form = {.marks = config->punctuation,
                              .characters = config->characters,
                              .spaces = config->characters && config->spaces,
                              .mask = config->mask};
    rotary_status status = check_text(text, bytes, error);
    if (status != ROTARY_OK)
        return status;
    struct word_table table = {0};
    status = count_words(&table, text, bytes, form, error);
    if (status == ROTARY_OK) {
        int64_t kept = 0;
        if (table.count > 0)
            qsort(table.words, (size_t)table.count, sizeof *table.words, compare);
        while (kept < table.count && table.words[kept].frequency >= config->min_frequency)
            kept++;
        status = create(tokenizer, table.words, kept, form, error);
    }
    free_table(&table);
    return status;
}

rotary_status words_create(struct tokenizer **tokenizer, const char *text, int64_t bytes,
                           int64_t min_frequency, rotary_error *error)
{
    const struct words_config config = {.min_frequency = min_frequency};
    return words_configured_create(tokenizer, text, bytes, &config, error);
}

rotary_status words_and_punctuation_create(struct tokenizer **tokenizer, const char *text, int64_t bytes,
                                           int64_t min_frequency, rotary_error *error)
{
    const struct words_config config = {.min_frequency = min_frequency, .punctuation = true};
    return words_configured_create(tokenizer, text, bytes, &config, error);
}

static rotary_status encode(const struct tokenizer *tokenizer, const char *text, int64_t bytes,
                            struct token_list *list, rotary_error *error)
{
    (void)error;
    const struct words *words = of(tokenizer);
    const int32_t first = special_count(words->form);
    for (int64_t at = 0;;) {
        const struct word word = next_word(text, bytes, words->form, &at);
        if (word.length == 0)
            return ROTARY_OK;
        int32_t index = find(&words->table, word.bytes, word.length);
        token_list_append(list, index >= 0 ? first + index : UNKNOWN);
    }
}

static int64_t decode(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t count, char *text,
                      int64_t capacity)
{
    return tokenizer_join(tokenizer, of(tokenizer)->form.characters ? "" : " ", tokens, count, text,
                          capacity);
}

static struct token_text text_of(const struct tokenizer *tokenizer, int32_t token)
{
    const int32_t first = special_count(of(tokenizer)->form);
    if (token < first)
        return special_text[token];
    const struct word *word = &of(tokenizer)->table.words[token - first];
    return (struct token_text){word->bytes, word->length};
}

/* ---- files ---- */

static bool save(const struct tokenizer *tokenizer, json_t *object)
{
    const struct word_table *table = &of(tokenizer)->table;
    json_t *list = json_array();
    bool done = true;
    for (int64_t i = 0; i < table->count && done; i++)
        done = json_array_append_new(
                   list, json_stringn(table->words[i].bytes, (size_t)table->words[i].length)) == 0;
    json_object_set_new(object, "words", list);
    const struct form form = of(tokenizer)->form;
    if (form.marks)
        json_object_set_new(object, "punctuation", json_true());
    if (form.characters)
        json_object_set_new(object, "characters", json_true());
    if (form.spaces)
        json_object_set_new(object, "spaces", json_true());
    if (form.mask)
        json_object_set_new(object, "mask", json_true());
    return done;
}

/* Whether encoding the text gives it as one word. */
static bool is_valid(const char *text, int64_t length, struct form form)
{
    int64_t at = 0;
    const struct word word = next_word(text, length, form, &at);
    return length > 0 && word.bytes == text && word.length == length && !is_special(form, text, length);
}

/* Reads the words of a file, which borrow the memory of `list`. */
static rotary_status read_words(const json_t *list, struct form form, struct word_table *table,
                                const char *path, rotary_error *error)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *text = json_array_get(list, i);
        int64_t length = (int64_t)json_string_length(text);
        if (!json_is_string(text) || !is_valid(json_string_value(text), length, form))
            return rotary_fail(error, ROTARY_BAD_FILE,
                               "%s: entry %zu of \"words\" is not one word without white space", path, i + 1);
        if (!count_word(table, json_string_value(text), length, 1))
            return rotary_fail_memory(error, "for a vocabulary of words");
        if (table->count != (int64_t)i + 1)
            return rotary_fail(error, ROTARY_BAD_FILE,
                               "%s: entry %zu of \"words\", \"%.80s\", is there twice", path, i + 1,
                               json_string_value(text));
    }
    return ROTARY_OK;
}

/* Booleans that may be absent: false. */
static rotary_status read_form(struct form *form, const json_t *object, const char *path, rotary_error *error)
{
    const struct {
        const char *key;
        bool *flag;
    } rows[] = {{"punctuation", &form->marks},
                {"characters", &form->characters},
                {"spaces", &form->spaces},
                {"mask", &form->mask}};
    const struct json_source source = {.path = path};
    rotary_status status = ROTARY_OK;
    *form = (struct form){0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == ROTARY_OK; i++)
        status = json_field_boolean(&source, rows[i].key, json_field_value(object, rows[i].key), rows[i].flag,
                                    error);
    return status;
}

static rotary_status load(struct tokenizer **tokenizer, const json_t *object, const char *path,
                          rotary_error *error)
{
    const json_t *list = json_object_get(object, "words");
    if (!json_is_array(list) || json_array_size(list) > MAX_WORDS)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s has no valid \"words\": wanted a list of at most %d words", path, MAX_WORDS);
    struct form form;
    rotary_status status = read_form(&form, object, path, error);
    if (status != ROTARY_OK)
        return status;
    if (form.spaces && !form.characters)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s has \"spaces\" without \"characters\": wanted both, or neither", path);
    struct word_table table = {0};
    status = read_words(list, form, &table, path, error);
    if (status == ROTARY_OK)
        status = create(tokenizer, table.words, table.count, form, error);
    free_table(&table);
    return status;
}

const struct tokenizer_type tokenizer_words = {
    .encode = encode, .decode = decode, .text = text_of, .destroy = destroy, .save = save};
const struct tokenizer_format tokenizer_format_words = {.load = load};
