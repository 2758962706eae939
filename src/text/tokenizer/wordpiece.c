/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/wordpiece.h"

#include "base/fail.h"
#include "file/file.h"
#include "text/tokenizer/piece_trie.h"
#include "text/tokenizer/special_tokens.h"
#include "text/tokenizer/tokenizer_type.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { CONTINUATION_BYTES = 2 }; /* of "##" */

struct wordpiece {
    struct tokenizer tokenizer;
    struct bert_rules rules;
    struct piece_trie trie;
    char *pool;      /* the bytes of the pieces */
    int64_t *starts; /* [size + 1] in `pool` */
};

static const struct wordpiece *of(const struct tokenizer *tokenizer)
{
    return (const struct wordpiece *)tokenizer;
}

void wordpiece_defaults(struct wordpiece_config *config)
{
    *config = (struct wordpiece_config){
        .rules = {.lower_case = true, .strip_accents = true, .split_chinese = true},
        .special = {.padding = -1, .unknown = -1, .begin = -1, .end = -1, .mask = -1}};
}

/* ---- pieces ---- */

static void destroy(struct tokenizer *tokenizer)
{
    struct wordpiece *wordpiece = (struct wordpiece *)tokenizer;
    piece_trie_free(&wordpiece->trie);
    free(wordpiece->pool);
    free(wordpiece->starts);
    free(wordpiece);
}

static struct token_text text_of(const struct tokenizer *tokenizer, int32_t token)
{
    const int64_t *begin = of(tokenizer)->starts + token;
    return (struct token_text){of(tokenizer)->pool + begin[0], begin[1] - begin[0]};
}

static bool has_continuation(struct token_text piece)
{
    return piece.count > CONTINUATION_BYTES && memcmp(piece.bytes, "##", CONTINUATION_BYTES) == 0;
}

static bool continues_word(const struct tokenizer *tokenizer, int32_t token)
{
    return has_continuation(text_of(tokenizer, token));
}

static bool is_special(const struct special_tokens *special, int32_t token)
{
    return token == special->padding || token == special->unknown || token == special->begin ||
           token == special->end || token == special->mask;
}

static rotary_status check_special(const struct special_tokens *special, int64_t size, rotary_error *error)
{
    const int32_t ids[] = {special->unknown, special->padding, special->begin, special->end, special->mask};
    bool valid = ids[0] >= 0;
    for (int i = 0; i < 5; i++) {
        valid = valid && ids[i] >= -1 && ids[i] < size;
        for (int j = 0; j < i; j++)
            valid = valid && (ids[i] < 0 || ids[i] != ids[j]);
    }
    if (valid)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "special tokens are %d (padding), %d (unknown), %d (begin), %d (end) and %d (mask): "
                       "wanted different ids below %lld, or -1, but for unknown",
                       (int)special->padding, (int)special->unknown, (int)special->begin, (int)special->end,
                       (int)special->mask, (long long)size);
}

/* Checks the pieces, and counts their bytes. */
static rotary_status measure(const struct token_text *pieces, int64_t count, int64_t *bytes,
                             rotary_error *error)
{
    *bytes = 0;
    if (count > WORDPIECE_MAX_PIECES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there are %lld pieces, wanted at most %d",
                           (long long)count, (int)WORDPIECE_MAX_PIECES);
    for (int64_t i = 0; i < count; i++) {
        if (utf8_valid_bytes(pieces[i].bytes, pieces[i].count) < pieces[i].count)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "piece %lld is not UTF-8 text",
                               (long long)i + 1);
        *bytes += pieces[i].count;
        if (*bytes > PIECE_TRIE_MAX_BYTES)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the pieces have more than %d bytes",
                               (int)PIECE_TRIE_MAX_BYTES);
    }
    return ROTARY_OK;
}

/* Copies the pieces, and adds those to the trie that words are made of. */
static void fill(struct wordpiece *wordpiece, const struct token_text *pieces, int64_t count)
{
    int64_t used = 0;
    for (int64_t i = 0; i < count; i++) {
        const struct token_text piece = pieces[i];
        int64_t mark = has_continuation(piece) ? CONTINUATION_BYTES : 0;
        wordpiece->starts[i] = used;
        if (piece.count > 0 && !is_special(&wordpiece->tokenizer.special, (int32_t)i))
            piece_trie_add(&wordpiece->trie, mark > 0 ? PIECE_CONTINUING : PIECE_FIRST, piece.bytes + mark,
                           piece.count - mark, (int32_t)i);
        if (piece.count > 0)
            memcpy(wordpiece->pool + used, piece.bytes, (size_t)piece.count);
        used += piece.count;
    }
    wordpiece->starts[count] = used;
}

rotary_status wordpiece_create(struct tokenizer **tokenizer, const struct wordpiece_config *config,
                               const struct token_text *pieces, int64_t count, rotary_error *error)
{
    int64_t bytes;
    rotary_status status = measure(pieces, count, &bytes, error);
    if (status == ROTARY_OK)
        status = check_special(&config->special, count, error);
    if (status != ROTARY_OK)
        return status;
    struct wordpiece *made = calloc(1, sizeof *made);
    if (made) {
        made->tokenizer =
            (struct tokenizer){.type = &tokenizer_wordpiece, .size = count, .special = config->special};
        made->rules = config->rules;
        made->pool = malloc((size_t)bytes + 1);
        made->starts = malloc(((size_t)count + 1) * sizeof *made->starts);
    }
    if (!made || !made->pool || !made->starts || !piece_trie_create(&made->trie, bytes)) {
        if (made)
            destroy(&made->tokenizer);
        return rotary_fail_memory(error, "for %lld pieces of words", (long long)count);
    }
    fill(made, pieces, count);
    *tokenizer = &made->tokenizer;
    return ROTARY_OK;
}

/* ---- encoding ---- */

struct encoding {
    const struct wordpiece *wordpiece;
    struct token_list *list;
};

static void encode_word(void *context, const char *word, int64_t bytes)
{
    const struct encoding *encoding = context;
    const struct wordpiece *wordpiece = encoding->wordpiece;
    int32_t pieces[BERT_WORD_CHARACTERS];
    int count = 0;
    for (int64_t at = 0, length = 0; at < bytes; at += length) {
        pieces[count] = piece_trie_longest(&wordpiece->trie, at == 0 ? PIECE_FIRST : PIECE_CONTINUING,
                                           word + at, bytes - at, &length);
        if (pieces[count++] < 0) {
            count = 0;
            break;
        }
    }
    for (int i = 0; i < count; i++)
        token_list_append(encoding->list, pieces[i]);
    if (count == 0)
        token_list_append(encoding->list, wordpiece->tokenizer.special.unknown);
}

static rotary_status encode(const struct tokenizer *tokenizer, const char *text, int64_t bytes,
                            struct token_list *list, rotary_error *error)
{
    int64_t valid = utf8_valid_bytes(text, bytes);
    if (valid < bytes)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "byte 0x%02x at position %lld of the text is not UTF-8 text",
                           (unsigned)(unsigned char)text[valid], (long long)valid + 1);
    struct encoding encoding = {of(tokenizer), list};
    bert_split(&of(tokenizer)->rules, text, bytes, encode_word, &encoding);
    return ROTARY_OK;
}

static int64_t decode(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t count, char *text,
                      int64_t capacity)
{
    return tokenizer_join(tokenizer, " ", tokens, count, text, capacity);
}

static bool save(const struct tokenizer *tokenizer, json_t *object)
{
    const struct bert_rules *rules = &of(tokenizer)->rules;
    json_t *pieces = json_array();
    for (int64_t i = 0; i < tokenizer->size; i++) {
        const struct token_text piece = text_of(tokenizer, (int32_t)i);
        file_json_append(&pieces, json_stringn(piece.bytes, (size_t)piece.count));
    }
    json_t *keys = json_pack("{s:b, s:b, s:b, s:o, s:o}", "lower_case", rules->lower_case, "strip_accents",
                             rules->strip_accents, "split_chinese", rules->split_chinese, "special_tokens",
                             special_tokens_object(&tokenizer->special), "pieces", pieces);
    bool done = keys && json_object_update(object, keys) == 0;
    json_decref(keys);
    return done;
}

const struct tokenizer_type tokenizer_wordpiece = {.encode = encode,
                                                   .decode = decode,
                                                   .text = text_of,
                                                   .continues_word = continues_word,
                                                   .continuation_bytes = CONTINUATION_BYTES,
                                                   .destroy = destroy,
                                                   .save = save};
