/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_json/text_normalizer.h"

#include "base/fail.h"
#include "text/tokenizer_json/character_map.h"
#include "text/tokenizer_json/json_part.h"
#include "text/tokenizer_json/pattern.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum step_kind {
    STEP_FORM,
    STEP_LOWERCASE,
    STEP_STRIP,
    STEP_STRIP_ACCENTS,
    STEP_PREPEND,
    STEP_REPLACE,
    STEP_MAP
};

struct normalizer_step {
    enum step_kind kind;
    enum unicode_form form;   /* of STEP_FORM */
    bool left, right;         /* the ends that STEP_STRIP strips */
    char *from, *to;          /* what STEP_REPLACE replaces, and by what; STEP_PREPEND has `to` */
    struct character_map map; /* of STEP_MAP */
    struct pattern *pattern;  /* instead of `from`; NULL: none */
};

/* A text becomes at most so many times as long, and as many bytes longer: NFKD makes of three bytes 33, and
 * without a limit a few replacements would fill any memory. */
enum { MAX_GROWTH = 64, MAX_ADDED = 1 << 16 };

/* ---- applying ---- */

/* The text whose steps are taken: each reads `text`, writes `scratch` and swaps them. */
struct work {
    struct text_buffer *text, *scratch;
};

static bool is_ascii(const struct text_buffer *text)
{
    for (int64_t i = 0; i < text->count; i++)
        if ((unsigned char)text->bytes[i] >= 0x80)
            return false;
    return true;
}

static rotary_status apply_form(const struct normalizer_step *step, struct work *work, rotary_error *error)
{
    char *normal;
    int64_t bytes;
    if (is_ascii(work->text))
        return ROTARY_OK;
    rotary_status status =
        unicode_normalize(step->form, work->text->bytes, work->text->count, &normal, &bytes, error);
    if (status != ROTARY_OK)
        return status;
    work->text->count = 0;
    status = text_buffer_append(work->text, normal, bytes, error);
    free(normal);
    return status;
}

/* The bytes of the character at `at`; what is none, as a zero byte, is one of a byte. */
static int64_t character_bytes(const struct text_buffer *text, int64_t at, uint32_t *point)
{
    int64_t length = utf8_character_bytes(text->bytes + at, text->count - at);
    *point = length > 0 ? utf8_code_point(text->bytes + at, length) : (unsigned char)text->bytes[at];
    return length > 0 ? length : 1;
}

static rotary_status apply_lowercase(struct work *work, rotary_error *error)
{
    const struct text_buffer *text = work->text;
    uint32_t point;
    rotary_status status = ROTARY_OK;
    for (int64_t at = 0; at < text->count && status == ROTARY_OK;) {
        uint32_t lower[UNICODE_LOWER_MAX];
        at += character_bytes(text, at, &point);
        int64_t count = unicode_lower_each(&point, 1, lower);
        status = text_buffer_reserve(work->scratch, 4 * count, error);
        if (status == ROTARY_OK)
            work->scratch->count += unicode_encode(lower, count, work->scratch->bytes + work->scratch->count);
    }
    text_buffer_swap(work->text, work->scratch);
    return status;
}

static rotary_status apply_strip_accents(struct work *work, rotary_error *error)
{
    const struct text_buffer *text = work->text;
    uint32_t point;
    rotary_status status = ROTARY_OK;
    for (int64_t at = 0, length; at < text->count && status == ROTARY_OK; at += length) {
        length = character_bytes(text, at, &point);
        if (!unicode_is_mark(point))
            status = text_buffer_append(work->scratch, text->bytes + at, length, error);
    }
    text_buffer_swap(work->text, work->scratch);
    return status;
}

/* The bytes of the white space that a text ends with. */
static int64_t space_at_end(const struct text_buffer *text)
{
    int64_t end = 0;
    uint32_t point;
    for (int64_t at = 0; at < text->count;) {
        at += character_bytes(text, at, &point);
        if (!unicode_is_white_space(point))
            end = at;
    }
    return text->count - end;
}

static rotary_status apply_strip(const struct normalizer_step *step, struct work *work, bool *stripped,
                                 rotary_error *error)
{
    const struct text_buffer *text = work->text;
    int64_t end = text->count - (step->right ? space_at_end(text) : 0), begin = 0, length;
    uint32_t point;
    while (step->left && begin < end &&
           (length = character_bytes(text, begin, &point), unicode_is_white_space(point)))
        begin += length;
    *stripped = *stripped || begin > 0;
    rotary_status status = text_buffer_append(work->scratch, text->bytes + begin, end - begin, error);
    text_buffer_swap(work->text, work->scratch);
    return status;
}

static rotary_status apply_prepend(const struct normalizer_step *step, struct work *work, rotary_error *error)
{
    rotary_status status = text_buffer_append(work->scratch, step->to, (int64_t)strlen(step->to), error);
    if (status == ROTARY_OK)
        status = text_buffer_append(work->scratch, work->text->bytes, work->text->count, error);
    text_buffer_swap(work->text, work->scratch);
    return status;
}

/* The next place of what is replaced: *begin is -1 if there is none. */
static rotary_status find(const struct normalizer_step *step, struct pattern_search *search,
                          const struct text_buffer *text, int64_t from, int64_t *begin, int64_t *end,
                          rotary_error *error)
{
    if (search)
        return pattern_find(search, text->bytes, text->count, from, begin, end, error);
    const char *found =
        memmem(text->bytes + from, (size_t)(text->count - from), step->from, strlen(step->from));
    *begin = found ? found - text->bytes : -1;
    *end = *begin + (int64_t)strlen(step->from);
    return ROTARY_OK;
}

static rotary_status replace(const struct normalizer_step *step, struct pattern_search *search,
                             struct work *work, rotary_error *error)
{
    const struct text_buffer *text = work->text;
    int64_t length = (int64_t)strlen(step->to), at = 0, begin = 0, end = 0;
    rotary_status status = ROTARY_OK;
    while (at < text->count && status == ROTARY_OK) {
        status = find(step, search, text, at, &begin, &end, error);
        if (status != ROTARY_OK || begin < 0)
            break;
        status = text_buffer_append(work->scratch, text->bytes + at, begin - at, error);
        if (status == ROTARY_OK)
            status = text_buffer_append(work->scratch, step->to, length, error);
        at = end;
    }
    if (status == ROTARY_OK)
        status = text_buffer_append(work->scratch, text->bytes + at, text->count - at, error);
    text_buffer_swap(work->text, work->scratch);
    return status;
}

static rotary_status apply_replace(const struct normalizer_step *step, struct work *work, rotary_error *error)
{
    struct pattern_search *search = step->pattern ? pattern_search_create(step->pattern) : NULL;
    if (step->pattern && !search)
        return rotary_fail_memory(error, "for a regular expression");
    rotary_status status = replace(step, search, work, error);
    pattern_search_destroy(search);
    return status;
}

static rotary_status apply_map(const struct normalizer_step *step, struct work *work, rotary_error *error)
{
    rotary_status status =
        character_map_apply(&step->map, work->text->bytes, work->text->count, work->scratch, error);
    text_buffer_swap(work->text, work->scratch);
    return status;
}

rotary_status text_normalizer_apply(const struct text_normalizer *normalizer, struct text_buffer *text,
                                    struct text_buffer *scratch, bool *stripped, rotary_error *error)
{
    struct work work = {text, scratch};
    const int64_t max = MAX_GROWTH * text->count + MAX_ADDED;
    rotary_status status = ROTARY_OK;
    *stripped = false;
    for (int64_t i = 0; i < normalizer->count && text->count > 0 && status == ROTARY_OK; i++) {
        const struct normalizer_step *step = &normalizer->steps[i];
        scratch->count = 0;
        switch (step->kind) {
        case STEP_FORM:
            status = apply_form(step, &work, error);
            break;
        case STEP_LOWERCASE:
            status = apply_lowercase(&work, error);
            break;
        case STEP_STRIP:
            status = apply_strip(step, &work, stripped, error);
            break;
        case STEP_STRIP_ACCENTS:
            status = apply_strip_accents(&work, error);
            break;
        case STEP_PREPEND:
            status = apply_prepend(step, &work, error);
            break;
        case STEP_REPLACE:
            status = apply_replace(step, &work, error);
            break;
        case STEP_MAP:
            status = apply_map(step, &work, error);
            break;
        }
        if (status == ROTARY_OK && text->count > max)
            status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                                 "normalizing makes %lld bytes of a text, wanted at most %lld",
                                 (long long)text->count, (long long)max);
    }
    return status;
}

/* ---- reading ---- */

static rotary_status keep(char **kept, const char *text, const struct json_part *part, rotary_error *error)
{
    *kept = strdup(text);
    return *kept ? ROTARY_OK : rotary_fail_memory(error, "to read %s", part->path);
}

static rotary_status read_strip(struct normalizer_step *step, const struct json_part *part,
                                rotary_error *error)
{
    rotary_status status = json_part_flag(part, "strip_left", &step->left, error);
    return status == ROTARY_OK ? json_part_flag(part, "strip_right", &step->right, error) : status;
}

static rotary_status read_prepend(struct normalizer_step *step, const struct json_part *part,
                                  rotary_error *error)
{
    const char *text = NULL;
    rotary_status status = json_part_text(part, "prepend", false, &text, error);
    return status == ROTARY_OK ? keep(&step->to, text, part, error) : status;
}

static rotary_status read_replace(struct normalizer_step *step, const struct json_part *part,
                                  rotary_error *error)
{
    const char *literal, *expression, *content = NULL;
    rotary_status status = json_part_pattern(part, &literal, &expression, error);
    if (status == ROTARY_OK)
        status = json_part_text(part, "content", false, &content, error);
    if (status == ROTARY_OK)
        status = keep(&step->to, content, part, error);
    if (status != ROTARY_OK)
        return status;
    return literal ? keep(&step->from, literal, part, error)
                   : json_part_compile(part, &step->pattern, expression, error);
}

static rotary_status read_map(struct normalizer_step *step, const struct json_part *part, rotary_error *error)
{
    const char *base64 = NULL;
    rotary_error reason;
    rotary_status status = json_part_text(part, "precompiled_charsmap", false, &base64, error);
    if (status != ROTARY_OK)
        return status;
    status = character_map_read(&step->map, base64, &reason);
    return status == ROTARY_INVALID_ARGUMENT
               ? json_part_fail(part, "precompiled_charsmap",
                                "SentencePiece's table of characters, in base64", error)
           : status != ROTARY_OK ? rotary_fail(error, status, "%s: %s", part->path, reason.message)
                                 : ROTARY_OK;
}

static const struct {
    const char *type;
    enum step_kind kind;
    enum unicode_form form;
    rotary_status (*read)(struct normalizer_step *step, const struct json_part *part, rotary_error *error);
} rows[] = {{"NFC", STEP_FORM, UNICODE_NFC, NULL},      {"NFD", STEP_FORM, UNICODE_NFD, NULL},
            {"NFKC", STEP_FORM, UNICODE_NFKC, NULL},    {"NFKD", STEP_FORM, UNICODE_NFKD, NULL},
            {"Lowercase", STEP_LOWERCASE, 0, NULL},     {"StripAccents", STEP_STRIP_ACCENTS, 0, NULL},
            {"Strip", STEP_STRIP, 0, read_strip},       {"Prepend", STEP_PREPEND, 0, read_prepend},
            {"Replace", STEP_REPLACE, 0, read_replace}, {"Precompiled", STEP_MAP, 0, read_map}};

static rotary_status read_step(void *context, const struct json_part *part, rotary_error *error)
{
    struct text_normalizer *normalizer = context;
    size_t row = 0, count = sizeof rows / sizeof rows[0];
    while (row < count && strcmp(json_part_type(part), rows[row].type) != 0)
        row++;
    if (row == count)
        return json_part_refuse(part, error);
    struct normalizer_step *step = &normalizer->steps[normalizer->count++];
    *step = (struct normalizer_step){.kind = rows[row].kind, .form = rows[row].form};
    return rows[row].read ? rows[row].read(step, part, error) : ROTARY_OK;
}

rotary_status text_normalizer_read(struct text_normalizer *normalizer, const json_t *object, const char *path,
                                   rotary_error *error)
{
    const struct json_part part = {object, "normalizer", path};
    *normalizer = (struct text_normalizer){.steps = calloc(JSON_PARTS_MAX, sizeof *normalizer->steps)};
    if (!normalizer->steps)
        return rotary_fail_memory(error, "to read %s", path);
    return json_part_each(&part, "normalizers", read_step, normalizer, error);
}

void text_normalizer_free(struct text_normalizer *normalizer)
{
    for (int64_t i = 0; i < normalizer->count; i++) {
        free(normalizer->steps[i].from);
        free(normalizer->steps[i].to);
        character_map_free(&normalizer->steps[i].map);
        pattern_destroy(normalizer->steps[i].pattern);
    }
    free(normalizer->steps);
    *normalizer = (struct text_normalizer){0};
}
