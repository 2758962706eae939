/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_export/tokenizer_export.h"

#include "base/fail.h"
#include "text/tokenizer/sentencepiece_pieces.h"
#include "text/tokenizer/tokenizer_type.h"
#include "text/tokenizer_export/tokenizer_merges.h"
#include "text/tokenizer_json/byte_characters.h"

#include <string.h>

struct token_text tokenizer_model_file(const struct tokenizer *tokenizer)
{
    return tokenizer->type == &tokenizer_sentencepiece ? tokenizer->type->file_bytes(tokenizer)
                                                       : (struct token_text){NULL, 0};
}

/* ---- parts of a tokenizer.json ---- */

static bool is_special(const struct tokenizer *tokenizer, int32_t token)
{
    const struct special_tokens special = tokenizer->special;
    return token == special.padding || token == special.unknown || token == special.begin ||
           token == special.end || token == special.mask;
}

/* The text of a token in the vocabulary. */
static json_t *vocabulary_key(const struct tokenizer *tokenizer, int32_t token, bool by_byte)
{
    const struct token_text text = tokenizer_text(tokenizer, token);
    char character[BYTE_CHARACTER_BYTES];
    if (!by_byte || is_special(tokenizer, token))
        return json_stringn(text.bytes, (size_t)text.count);
    byte_characters_write((unsigned char)text.bytes[0], character);
    return json_string(character);
}

/* {text: id, ...}; NULL if a text is not UTF-8. */
static json_t *make_vocabulary(const struct tokenizer *tokenizer, bool by_byte)
{
    json_t *vocabulary = json_object();
    bool done = true;
    for (int32_t token = 0; token < tokenizer->size && done; token++) {
        json_t *key = vocabulary_key(tokenizer, token, by_byte);
        done = key && json_object_set_new(vocabulary, json_string_value(key), json_integer(token)) == 0;
        json_decref(key);
    }
    if (done)
        return vocabulary;
    json_decref(vocabulary);
    return NULL;
}

/* The special tokens; NULL without memory. */
static json_t *make_added(const struct tokenizer *tokenizer)
{
    json_t *list = json_array();
    for (int32_t token = 0; token < tokenizer->size; token++) {
        const struct token_text text = tokenizer_text(tokenizer, token);
        if (is_special(tokenizer, token))
            json_array_append_new(list, json_pack("{s:i, s:s%, s:b, s:b, s:b, s:b, s:b}", "id", (int)token,
                                                  "content", text.bytes, (size_t)text.count, "single_word", 0,
                                                  "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1));
    }
    return list;
}

/* Every match of a regular expression is a word, and what is between them is none. */
static json_t *cut_by(const char *pattern)
{
    return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", pattern, "behavior",
                     "Removed", "invert", 1);
}

/* Every byte becomes a letter: a pre_tokenizer and a decoder. */
static json_t *byte_level(void)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 0,
                     "use_regex", 0);
}

/* White space is that of C. A mark is a word, unless it is an inner one (text/tokenizer/words.c). */
#define SPACE "\\x09-\\x0d "
#define MARK  "\\p{P}\\p{S}"
static const char words_pattern[] = "[^" SPACE "]+", characters_pattern[] = "[^" SPACE "]",
                  marks_pattern[] =
                      "[" MARK "]|[^" MARK SPACE "](?:[^" MARK SPACE "]|['\\x{2019}\\-\\x{2010}](?=[^" MARK
                      "\\x00-\\x20])|(?<=[0-9])[.,:](?=[0-9]))*";

/* What the file of a tokenizer of words says of them. */
static bool has_flag(const struct tokenizer *tokenizer, const char *flag)
{
    json_t *object = json_object();
    bool has = tokenizer->type->save(tokenizer, object) && json_is_true(json_object_get(object, flag));
    json_decref(object);
    return has;
}

/* ---- the file ---- */

/* Letters of bytes are pieces that nothing merges. */
static json_t *make_bytes(const struct tokenizer *tokenizer, json_t *post_processor)
{
    return json_pack("{s:s, s:n, s:n, s:o, s:n, s:o, s:o, s:o, s:{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, "
                     "s:o, s:[]}}",
                     "version", "1.0", "truncation", "padding", "added_tokens", make_added(tokenizer),
                     "normalizer", "pre_tokenizer", byte_level(), "post_processor", post_processor, "decoder",
                     byte_level(), "model", "type", "BPE", "dropout", "unk_token",
                     "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0,
                     "ignore_merges", 0, "vocab", make_vocabulary(tokenizer, true), "merges");
}

static json_t *make_words(const struct tokenizer *tokenizer, json_t *post_processor)
{
    const bool characters = has_flag(tokenizer, "characters");
    const char *pattern = characters                           ? characters_pattern
                          : has_flag(tokenizer, "punctuation") ? marks_pattern
                                                               : words_pattern;
    /* Without a decoder there are spaces between words. */
    json_t *decoder = characters ? json_pack("{s:s}", "type", "Fuse") : json_null();
    return json_pack("{s:s, s:n, s:n, s:o, s:n, s:o, s:o, s:o, s:{s:s, s:o, s:s}}", "version", "1.0",
                     "truncation", "padding", "added_tokens", make_added(tokenizer), "normalizer",
                     "pre_tokenizer", cut_by(pattern), "post_processor", post_processor, "decoder", decoder,
                     "model", "type", "WordLevel", "vocab", make_vocabulary(tokenizer, false), "unk_token",
                     "<unk>");
}

/* What puts the begin token before a text; null where there is none. */
static json_t *make_template(const struct tokenizer *tokenizer, int32_t first)
{
    if (first < 0)
        return json_null();
    const struct token_text text = tokenizer_text(tokenizer, first);
    json_t *name = json_stringn(text.bytes, (size_t)text.count), *special = json_object();
    json_object_set_new(special, json_string_value(name),
                        json_pack("{s:O, s:[i], s:[O]}", "id", name, "ids", (int)first, "tokens", name));
    json_t *made = json_pack(
        "{s:s, s:[{s:{s:O, s:i}}, {s:{s:s, s:i}}], s:[{s:{s:O, s:i}}, {s:{s:s, s:i}}, {s:{s:s, s:i}}], s:o}",
        "type", "TemplateProcessing", "single", "SpecialToken", "id", name, "type_id", 0, "Sequence", "id",
        "A", "type_id", 0, "pair", "SpecialToken", "id", name, "type_id", 0, "Sequence", "id", "A", "type_id",
        0, "Sequence", "id", "B", "type_id", 1, "special_tokens", special);
    json_decref(name);
    return made;
}

/* A tokenizer.json that was read is kept as it was. */
static rotary_status copy_file(const struct tokenizer *tokenizer, json_t **object, rotary_error *error)
{
    json_t *saved = json_object();
    if (tokenizer->type->save(tokenizer, saved))
        *object = json_incref(json_object_get(saved, "file"));
    json_decref(saved);
    return *object ? ROTARY_OK : rotary_fail_memory(error, "to export a tokenizer");
}

/* tokenizers cuts added tokens out before it puts U+2581 before a text, so the rest of a text would get
 * another one, and it has no type of piece that encoding leaves out. */
static rotary_status check_types(const struct sentencepiece_pieces *pieces, rotary_error *error)
{
    for (int64_t i = 0; i < pieces->count; i++) {
        const int type = pieces->pieces[i].type;
        if (type == PIECE_USER_DEFINED || type == PIECE_UNUSED)
            return rotary_fail(
                error, ROTARY_UNSUPPORTED,
                "piece %lld of the SentencePiece model is %s, for which a tokenizer.json would give "
                "other tokens; wanted a model without such pieces, or --format gguf",
                (long long)i, type == PIECE_UNUSED ? "unused" : "user-defined");
    }
    return ROTARY_OK;
}

/* Exports those of SentencePiece. */
static rotary_status make_pieces(struct token_text file, json_t *post_processor, json_t **object,
                                 rotary_error *error)
{
    struct sentencepiece_pieces pieces;
    rotary_status status = sentencepiece_pieces_read(&pieces, file.bytes, file.count, error);
    if (status != ROTARY_OK) {
        json_decref(post_processor);
        return status;
    }
    status = check_types(&pieces, error);
    if (status == ROTARY_OK)
        *object = tokenizer_merges_json(&pieces, post_processor);
    else
        json_decref(post_processor);
    sentencepiece_pieces_free(&pieces);
    return status;
}

rotary_status tokenizer_export_json(const struct tokenizer *tokenizer, int32_t begin, json_t **object,
                                    rotary_error *error)
{
    const struct tokenizer_type *type = tokenizer->type;
    rotary_status status = ROTARY_OK;
    *object = NULL;
    if (type == &tokenizer_wordpiece)
        return ROTARY_OK;
    if (type == &tokenizer_huggingface)
        return copy_file(tokenizer, object, error);
    json_t *post_processor = make_template(tokenizer, begin);
    if (type == &tokenizer_sentencepiece)
        status = make_pieces(tokenizer_model_file(tokenizer), post_processor, object, error);
    else
        *object = type == &tokenizer_words ? make_words(tokenizer, post_processor)
                                           : make_bytes(tokenizer, post_processor);
    if (status != ROTARY_OK || *object)
        return status;
    return rotary_fail_memory(error, "to export a tokenizer");
}
