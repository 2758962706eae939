/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_json/piece_decoder.h"

#include "base/fail.h"
#include "text/tokenizer_json/byte_characters.h"
#include "text/tokenizer_json/json_part.h"

#include <stdlib.h>
#include <string.h>

enum decode_kind { DECODE_BYTE_LEVEL, DECODE_BYTE_FALLBACK, DECODE_REPLACE };

struct decode_step {
    enum decode_kind kind;
    char *from, *to; /* of DECODE_REPLACE */
};

/* ---- applying ---- */

static rotary_status apply_byte_level(struct text_buffer *piece, struct text_buffer *scratch,
                                      rotary_error *error)
{
    bool complete;
    rotary_status status = byte_characters_append(piece->bytes, piece->count, scratch, &complete, error);
    if (complete)
        text_buffer_swap(piece, scratch);
    return status;
}

/* The value of a hexadecimal digit; -1: it is none. */
static int digit_of(char character)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *found = character ? strchr(digits, character) : NULL;
    return found ? (int)(found - digits) % 16 : -1;
}

/* <0x41> */
static void apply_byte_fallback(struct text_buffer *piece)
{
    const char *bytes = piece->bytes;
    if (piece->count != 6 || memcmp(bytes, "<0x", 3) != 0 || bytes[5] != '>' || digit_of(bytes[3]) < 0 ||
        digit_of(bytes[4]) < 0)
        return;
    piece->bytes[0] = (char)(16 * digit_of(bytes[3]) + digit_of(bytes[4]));
    piece->count = 1;
}

static rotary_status apply_replace(const struct decode_step *step, struct text_buffer *piece,
                                   struct text_buffer *scratch, rotary_error *error)
{
    const int64_t from = (int64_t)strlen(step->from), to = (int64_t)strlen(step->to);
    rotary_status status = ROTARY_OK;
    for (int64_t at = 0; at < piece->count && status == ROTARY_OK;) {
        const char *next = memmem(piece->bytes + at, (size_t)(piece->count - at), step->from, (size_t)from);
        const int64_t end = next ? next - piece->bytes : piece->count;
        status = text_buffer_append(scratch, piece->bytes + at, end - at, error);
        if (status == ROTARY_OK && next)
            status = text_buffer_append(scratch, step->to, to, error);
        at = end + from;
    }
    text_buffer_swap(piece, scratch);
    return status;
}

bool piece_decoder_has_prefix(const struct piece_decoder *decoder, const char *piece)
{
    return decoder->prefix && strncmp(piece, decoder->prefix, strlen(decoder->prefix)) == 0;
}

bool piece_decoder_joins(const struct piece_decoder *decoder, const char *piece)
{
    static const char *const clean[] = {".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re"};
    bool joins = piece_decoder_has_prefix(decoder, piece);
    for (size_t i = 0; i < sizeof clean / sizeof clean[0] && decoder->cleans; i++)
        joins = joins || strncmp(piece, clean[i], strlen(clean[i])) == 0;
    return joins;
}

/* Leaves out the prefix. */
static void apply_prefix(const struct piece_decoder *decoder, struct text_buffer *piece)
{
    const int64_t length = decoder->prefix ? (int64_t)strlen(decoder->prefix) : 0;
    if (length == 0 || piece->count < length || memcmp(piece->bytes, decoder->prefix, (size_t)length) != 0)
        return;
    memmove(piece->bytes, piece->bytes + length, (size_t)(piece->count - length));
    piece->count -= length;
}

rotary_status piece_decoder_apply(const struct piece_decoder *decoder, struct text_buffer *piece,
                                  struct text_buffer *scratch, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    apply_prefix(decoder, piece);
    for (int64_t i = 0; i < decoder->count && piece->count > 0 && status == ROTARY_OK; i++) {
        const struct decode_step *step = &decoder->steps[i];
        scratch->count = 0;
        switch (step->kind) {
        case DECODE_BYTE_LEVEL:
            status = apply_byte_level(piece, scratch, error);
            break;
        case DECODE_BYTE_FALLBACK:
            apply_byte_fallback(piece);
            break;
        case DECODE_REPLACE:
            status = apply_replace(step, piece, scratch, error);
            break;
        }
    }
    return status;
}

/* ---- reading ---- */

static rotary_status add_step(struct piece_decoder *decoder, const struct json_part *part,
                              enum decode_kind kind, const char *from, const char *to, rotary_error *error)
{
    struct decode_step *step = &decoder->steps[decoder->count++];
    *step = (struct decode_step){.kind = kind, .from = strdup(from), .to = strdup(to)};
    return step->from && step->to ? ROTARY_OK : rotary_fail_memory(error, "to read %s", part->path);
}

/* A part that works on pieces must come before those that work on bytes or on the complete text. */
static rotary_status check_order(const struct piece_decoder *decoder, const struct json_part *part,
                                 bool fuses, rotary_error *error)
{
    bool bytes = decoder->count > 0 && decoder->steps[decoder->count - 1].kind != DECODE_REPLACE;
    if (!decoder->fused && (fuses || !bytes))
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE, "%s: a %s of type \"%.80s\" at this place is not supported",
                       part->path, part->what, json_part_type(part));
}

static rotary_status read_byte_level(struct piece_decoder *decoder, const struct json_part *part,
                                     rotary_error *error)
{
    rotary_status status = check_order(decoder, part, false, error);
    decoder->fused = true;
    return status == ROTARY_OK ? add_step(decoder, part, DECODE_BYTE_LEVEL, "", "", error) : status;
}

static rotary_status read_byte_fallback(struct piece_decoder *decoder, const struct json_part *part,
                                        rotary_error *error)
{
    rotary_status status = check_order(decoder, part, false, error);
    return status == ROTARY_OK ? add_step(decoder, part, DECODE_BYTE_FALLBACK, "", "", error) : status;
}

static rotary_status read_replace(struct piece_decoder *decoder, const struct json_part *part,
                                  rotary_error *error)
{
    const char *literal, *expression, *content = NULL;
    rotary_status status = check_order(decoder, part, false, error);
    if (status == ROTARY_OK)
        status = json_part_pattern(part, &literal, &expression, error);
    if (status == ROTARY_OK && expression)
        status = json_part_fail(part, "pattern", "{\"String\": text}", error);
    if (status == ROTARY_OK)
        status = json_part_text(part, "content", false, &content, error);
    return status == ROTARY_OK ? add_step(decoder, part, DECODE_REPLACE, literal, content, error) : status;
}

static rotary_status read_metaspace(struct piece_decoder *decoder, const struct json_part *part,
                                    rotary_error *error)
{
    const char *mark = NULL, *scheme = "always";
    bool prefix = true;
    rotary_status status = check_order(decoder, part, false, error);
    if (status == ROTARY_OK)
        status = json_part_text(part, "replacement", false, &mark, error);
    if (status == ROTARY_OK && !mark[0])
        status = json_part_fail(part, "replacement", "one character", error);
    if (status == ROTARY_OK)
        status = json_part_text(part, "prepend_scheme", true, &scheme, error);
    if (status == ROTARY_OK)
        status = json_part_flag(part, "add_prefix_space", &prefix, error);
    decoder->drops_first_mark = prefix && strcmp(scheme, "never") != 0;
    return status == ROTARY_OK ? add_step(decoder, part, DECODE_REPLACE, mark, " ", error) : status;
}

static rotary_status read_fuse(struct piece_decoder *decoder, const struct json_part *part,
                               rotary_error *error)
{
    rotary_status status = check_order(decoder, part, true, error);
    decoder->fused = true;
    return status;
}

static rotary_status read_strip(struct piece_decoder *decoder, const struct json_part *part,
                                rotary_error *error)
{
    const json_t *start = json_object_get(part->object, "start"),
                 *stop = json_object_get(part->object, "stop");
    const char *content = NULL;
    rotary_status status = json_part_text(part, "content", false, &content, error);
    if (status != ROTARY_OK)
        return status;
    if (!decoder->fused || decoder->prefix || decoder->strip_count > 0)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s: a %s of type \"Strip\" is supported once, and behind \"Fuse\" alone",
                           part->path, part->what);
    if (strlen(content) != 1)
        return json_part_fail(part, "content", "one byte", error);
    if (!json_is_integer(start) || json_integer_value(start) < 0)
        return json_part_fail(part, "start", "a number", error);
    if (!json_is_integer(stop) || json_integer_value(stop) != 0)
        return json_part_fail(part, "stop", "0", error);
    decoder->stripped = content[0];
    decoder->strip_count = json_integer_value(start);
    return ROTARY_OK;
}

/* It stands alone: what it puts between pieces is text that no other part may change. */
static rotary_status read_wordpiece(struct piece_decoder *decoder, const struct json_part *part,
                                    rotary_error *error)
{
    const char *prefix = NULL;
    rotary_status status = check_order(decoder, part, true, error);
    if (status == ROTARY_OK && decoder->count > 0)
        status = json_part_refuse(part, error);
    decoder->fused = true;
    decoder->separator = " ";
    if (status == ROTARY_OK)
        status = json_part_text(part, "prefix", false, &prefix, error);
    if (status == ROTARY_OK)
        status = json_part_flag(part, "cleanup", &decoder->cleans, error);
    if (status != ROTARY_OK)
        return status;
    decoder->prefix = strdup(prefix);
    return decoder->prefix ? ROTARY_OK : rotary_fail_memory(error, "to read %s", part->path);
}

static const struct {
    const char *type;
    rotary_status (*read)(struct piece_decoder *decoder, const struct json_part *part, rotary_error *error);
} rows[] = {{"ByteLevel", read_byte_level}, {"ByteFallback", read_byte_fallback}, {"Replace", read_replace},
            {"Metaspace", read_metaspace},  {"WordPiece", read_wordpiece},        {"Fuse", read_fuse},
            {"Strip", read_strip}};

static rotary_status read_step(void *context, const struct json_part *part, rotary_error *error)
{
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
        if (strcmp(json_part_type(part), rows[row].type) == 0)
            return rows[row].read(context, part, error);
    return json_part_refuse(part, error);
}

rotary_status piece_decoder_read(struct piece_decoder *decoder, const json_t *object, const char *path,
                                 rotary_error *error)
{
    const struct json_part part = {object, "decoder", path};
    *decoder = (struct piece_decoder){.steps = calloc(JSON_PARTS_MAX, sizeof *decoder->steps),
                                      .separator = object && !json_is_null(object) ? "" : " "};
    if (!decoder->steps)
        return rotary_fail_memory(error, "to read %s", path);
    return json_part_each(&part, "decoders", read_step, decoder, error);
}

void piece_decoder_free(struct piece_decoder *decoder)
{
    for (int64_t i = 0; i < decoder->count; i++) {
        free(decoder->steps[i].from);
        free(decoder->steps[i].to);
    }
    free(decoder->steps);
    free(decoder->prefix);
    *decoder = (struct piece_decoder){0};
}
