/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/sentencepiece_normalizer.h"

#include "text/utf8.h"

#include <string.h>

enum { HEAD_BYTES = 4, SPACE_BYTES = 3 };
static const char space[] = "\xe2\x96\x81"; /* U+2581 */

void sentencepiece_normalizer_start(struct sentencepiece_normalizer *normalizer,
                                    const struct sentencepiece_pieces *pieces,
                                    const struct piece_trie *defined)
{
    *normalizer = (struct sentencepiece_normalizer){
        .prefix = pieces->add_dummy_prefix, .squeeze = pieces->remove_extra_whitespaces, .defined = defined};
    if (pieces->charsmap_count == 0)
        return;
    const int64_t bytes = protobuf_four_bytes(pieces->charsmap);
    normalizer->table = (struct double_array){pieces->charsmap + HEAD_BYTES, bytes / 4};
    normalizer->texts = (const char *)pieces->charsmap + HEAD_BYTES + bytes;
}

/* What a beginning of the text becomes. */
struct replaced {
    const char *text;
    int64_t bytes, from; /* of the text it replaces */
};

/* Replaces the longest beginning of the text that the table has; without one its first character stays. */
static struct replaced replace(const struct sentencepiece_normalizer *normalizer, const char *text,
                               int64_t bytes)
{
    const struct double_array *table = &normalizer->table;
    int64_t longest = 0, value = 0, place;
    if (piece_trie_longest(normalizer->defined, PIECE_CONTINUING, text, bytes, &longest) >= 0)
        return (struct replaced){text, longest, longest};
    place = double_array_root(table);
    for (int64_t i = 0; i < bytes; i++) {
        const uint32_t unit = double_array_step(table, &place, (unsigned char)text[i]);
        if (unit == 0)
            break;
        if (double_array_has_leaf(unit)) {
            longest = i + 1;
            value = double_array_value(table, place);
        }
    }
    if (longest > 0)
        return (struct replaced){normalizer->texts + value, (int64_t)strlen(normalizer->texts + value),
                                 longest};
    longest = utf8_character_bytes(text, bytes);
    return (struct replaced){text, longest, longest};
}

static bool is_space(const struct replaced *replaced)
{
    return replaced->bytes == 1 && replaced->text[0] == ' ';
}

/* Appends text with U+2581 for each space. */
static rotary_status append(struct text_buffer *to, const char *text, int64_t bytes, rotary_error *error)
{
    rotary_status status = text_buffer_reserve(to, SPACE_BYTES * bytes, error);
    if (status != ROTARY_OK)
        return status;
    for (int64_t i = 0; i < bytes; i++) {
        if (text[i] == ' ') {
            memcpy(to->bytes + to->count, space, SPACE_BYTES);
            to->count += SPACE_BYTES;
        } else {
            to->bytes[to->count++] = text[i];
        }
    }
    return ROTARY_OK;
}

/* Takes the spaces from the end of what was appended from `begin` on. */
static void trim(struct text_buffer *to, int64_t begin)
{
    while (to->count - begin >= SPACE_BYTES &&
           memcmp(to->bytes + to->count - SPACE_BYTES, space, SPACE_BYTES) == 0)
        to->count -= SPACE_BYTES;
}

rotary_status sentencepiece_normalize(const struct sentencepiece_normalizer *normalizer, const char *text,
                                      int64_t bytes, struct text_buffer *to, rotary_error *error)
{
    const int64_t begin = to->count;
    int64_t at = 0;
    rotary_status status = ROTARY_OK;
    bool behind_space = normalizer->squeeze;
    struct replaced next;
    while (normalizer->squeeze && at < bytes &&
           (next = replace(normalizer, text + at, bytes - at), is_space(&next)))
        at += next.from;
    if (at < bytes && normalizer->prefix)
        status = append(to, " ", 1, error);
    for (; at < bytes && status == ROTARY_OK; at += next.from) {
        next = replace(normalizer, text + at, bytes - at);
        while (behind_space && next.bytes > 0 && next.text[0] == ' ') {
            next.text++;
            next.bytes--;
        }
        if (next.bytes > 0) {
            status = append(to, next.text, next.bytes, error);
            behind_space = normalizer->squeeze && next.text[next.bytes - 1] == ' ';
        }
    }
    if (status == ROTARY_OK && normalizer->squeeze)
        trim(to, begin);
    return status;
}
