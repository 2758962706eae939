/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_json/huggingface_tokenizer.h"

#include "base/fail.h"
#include "file/json_numbers.h"
#include "text/tokenizer/special_tokens.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

static const struct huggingface_tokenizer *of(const struct tokenizer *tokenizer)
{
    return (const struct huggingface_tokenizer *)tokenizer;
}

void huggingface_tokenizer_destroy(struct tokenizer *tokenizer)
{
    struct huggingface_tokenizer *made = (struct huggingface_tokenizer *)tokenizer;
    text_normalizer_free(&made->normalizer);
    pre_tokenizer_free(&made->pre_tokenizer);
    added_tokens_free(&made->added);
    piece_decoder_free(&made->decoder);
    piece_table_free(&made->pieces);
    bpe_model_destroy(made->bpe);
    unigram_model_destroy(made->unigram);
    wordpiece_model_destroy(made->wordpiece);
    text_buffer_free(&made->texts);
    text_buffer_free(&made->file);
    free(made->text_starts);
    free(made->flags);
    free(made);
}

/* ---- encoding ---- */

struct encoding {
    const struct huggingface_tokenizer *tokenizer;
    struct token_list *list;
    struct split_workspace splits;
    struct bpe_workspace merges;
    struct unigram_workspace ways;
    struct text_buffer normal, scratch;
};

static rotary_status encode_word(void *context, const char *word, int64_t bytes, rotary_error *error)
{
    struct encoding *encoding = context;
    const struct huggingface_tokenizer *from = encoding->tokenizer;
    if (from->bpe)
        return bpe_model_encode(from->bpe, &encoding->merges, word, bytes, encoding->list, error);
    if (from->unigram)
        return unigram_model_encode(from->unigram, &encoding->ways, word, bytes, encoding->list, error);
    if (from->wordpiece) {
        wordpiece_model_encode(from->wordpiece, word, bytes, encoding->list);
        return ROTARY_OK;
    }
    const int32_t token = piece_table_find(&from->pieces, word, bytes);
    token_list_append(encoding->list, token >= 0 ? token : from->unknown_word);
    return ROTARY_OK;
}

/* `first` is whether a section begins the text. */
typedef rotary_status encode_section(struct encoding *encoding, const struct token_text *section, bool first,
                                     rotary_error *error);

/* Appends the added tokens of a text, and calls section() for what is between them. */
static rotary_status encode_added(struct encoding *encoding, bool normalized, const struct token_text *text,
                                  bool first, encode_section *section, rotary_error *error)
{
    int64_t taken = 0, from = 0;
    for (;;) {
        const struct added_place place =
            added_tokens_find(&encoding->tokenizer->added, normalized, text, from, taken);
        rotary_status status = ROTARY_OK;
        if (place.begin > taken) {
            const struct token_text between = {text->bytes + taken, place.begin - taken};
            status = section(encoding, &between, first && taken == 0, error);
        }
        if (status != ROTARY_OK || !place.token)
            return status;
        token_list_append(encoding->list, place.token->token);
        taken = place.end;
        from = place.next;
    }
}

static rotary_status encode_normal(struct encoding *encoding, const struct token_text *section, bool first,
                                   rotary_error *error)
{
    return pre_tokenizer_split(&encoding->tokenizer->pre_tokenizer, &encoding->splits, section, first,
                               encode_word, encoding, error);
}

static rotary_status encode_raw(struct encoding *encoding, const struct token_text *section, bool first,
                                rotary_error *error)
{
    const struct text_normalizer *normalizer = &encoding->tokenizer->normalizer;
    bool stripped = false;
    if (normalizer->count == 0)
        return encode_added(encoding, true, section, first, encode_normal, error);
    encoding->normal.count = 0;
    rotary_status status = text_buffer_append(&encoding->normal, section->bytes, section->count, error);
    if (status == ROTARY_OK)
        status = text_normalizer_apply(normalizer, &encoding->normal, &encoding->scratch, &stripped, error);
    if (status != ROTARY_OK)
        return status;
    const struct token_text normal = {encoding->normal.bytes, encoding->normal.count};
    return encode_added(encoding, true, &normal, first && !stripped, encode_normal, error);
}

/* A zero byte is a character like any other here. */
static rotary_status check_text(const char *text, int64_t bytes, rotary_error *error)
{
    int64_t valid = utf8_valid_bytes(text, bytes);
    while (valid < bytes && text[valid] == '\0')
        valid += 1 + utf8_valid_bytes(text + valid + 1, bytes - valid - 1);
    if (valid == bytes)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "byte 0x%02x at position %lld of the text is not UTF-8 text",
                       (unsigned)(unsigned char)text[valid], (long long)valid + 1);
}

static rotary_status encode(const struct tokenizer *tokenizer, const char *text, int64_t bytes,
                            struct token_list *list, rotary_error *error)
{
    const struct token_list before = *list;
    struct encoding encoding = {.tokenizer = of(tokenizer), .list = list};
    const struct token_text whole = {text, bytes};
    rotary_status status = check_text(text, bytes, error);
    if (status == ROTARY_OK)
        status = split_workspace_create(&encoding.splits, &of(tokenizer)->pre_tokenizer, error);
    if (status == ROTARY_OK)
        status = encode_added(&encoding, false, &whole, true, encode_raw, error);
    split_workspace_free(&encoding.splits);
    bpe_workspace_free(&encoding.merges);
    unigram_workspace_free(&encoding.ways);
    text_buffer_free(&encoding.normal);
    text_buffer_free(&encoding.scratch);
    if (status != ROTARY_OK)
        *list = before;
    return status;
}

/* ---- decoding ---- */

static struct token_text text_of(const struct tokenizer *tokenizer, int32_t token)
{
    const struct huggingface_tokenizer *from = of(tokenizer);
    int64_t begin = from->text_starts[token];
    return (struct token_text){from->texts.bytes + begin, from->text_starts[token + 1] - begin};
}

static bool continues_word(const struct tokenizer *tokenizer, int32_t token)
{
    return (of(tokenizer)->flags[token] & TOKEN_CONTINUES) != 0;
}

/* A text of which only what fits is kept, and what its beginning is still to lose. */
struct decoding {
    char *text;
    int64_t capacity, bytes;
    char stripped;
    int64_t strip_count;
};

static void add_byte(struct decoding *decoding, char byte)
{
    if (decoding->strip_count > 0 && byte == decoding->stripped) {
        decoding->strip_count--;
        return;
    }
    decoding->strip_count = 0;
    if (decoding->bytes < decoding->capacity - 1)
        decoding->text[decoding->bytes] = byte;
    decoding->bytes++;
}

static void add_text(struct decoding *decoding, const char *bytes, int64_t count, bool without_spaces)
{
    for (int64_t i = 0; i < count; i++)
        if (!without_spaces || bytes[i] != ' ')
            add_byte(decoding, bytes[i]);
}

static int64_t decode(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t count, char *text,
                      int64_t capacity)
{
    const struct huggingface_tokenizer *from = of(tokenizer);
    const struct piece_decoder *decoder = &from->decoder;
    struct decoding decoding = {text, capacity, 0, decoder->stripped, decoder->strip_count};
    bool first = true;
    for (int64_t i = 0; i < count; i++) {
        const unsigned char flags = from->flags[tokens[i]];
        if ((flags & TOKEN_SPECIAL) && tokens[i] != tokenizer->special.unknown)
            continue;
        const struct token_text piece = text_of(tokenizer, tokens[i]);
        if (!first && !(flags & TOKEN_JOINS))
            add_text(&decoding, decoder->separator, (int64_t)strlen(decoder->separator), false);
        if (first && (flags & TOKEN_LACKS_PREFIX))
            add_text(&decoding, decoder->prefix, (int64_t)strlen(decoder->prefix), false);
        add_text(&decoding, piece.bytes, piece.count,
                 first && decoder->drops_first_mark && !(flags & TOKEN_KEEPS_SPACES));
        first = false;
    }
    if (capacity > 0)
        text[decoding.bytes < capacity ? decoding.bytes : capacity - 1] = '\0';
    return decoding.bytes;
}

/* ---- files ---- */

static bool save(const struct tokenizer *tokenizer, json_t *object)
{
    const struct text_buffer *file = &of(tokenizer)->file;
    json_t *keys = json_pack("{s:o, s:o}", "special_tokens", special_tokens_object(&tokenizer->special),
                             "file", json_numbers_load(file->bytes, (size_t)file->count, 0, false, NULL));
    bool done = keys && json_object_update(object, keys) == 0;
    json_decref(keys);
    return done;
}

const struct tokenizer_type tokenizer_huggingface = {.encode = encode,
                                                     .decode = decode,
                                                     .text = text_of,
                                                     .continues_word = continues_word,
                                                     .destroy = huggingface_tokenizer_destroy,
                                                     .save = save};
