/* SPDX-License-Identifier: Apache-2.0
 *
 * A tokenizer as the metadata of GGUF.
 */
#include "text/tokenizer_gguf.h"
#include "base/fail.h"
#include "file/gguf.h"
#include "text/tokenizer_export.h"
#include "text/tokenizer_type.h"

#include <stdio.h>

#define GGML "tokenizer.ggml."

static void add_token(struct tokenizer_gguf_lists *lists, json_t *text, double score, int type)
{
    json_array_append_new(lists->tokens, text);
    json_array_append_new(lists->scores, json_real(score));
    json_array_append_new(lists->types, json_integer(type));
}

void tokenizer_gguf_add_unused(struct tokenizer_gguf_lists *lists, int64_t size)
{
    for (int64_t i = (int64_t)json_array_size(lists->tokens); i < size; i++) {
        char text[32];
        snprintf(text, sizeof text, "[UNUSED%lld]", (long long)i);
        add_token(lists, json_string(text), 0, PIECE_UNUSED);
    }
}

static json_t *make_lists(struct tokenizer_gguf_lists *lists, const char *model, int64_t size)
{
    tokenizer_gguf_add_unused(lists, size);
    return json_pack("{s:s, s:o, s:o, s:o}", GGML "model", model, GGML "tokens", lists->tokens, GGML "scores",
                     lists->scores, GGML "token_type", lists->types);
}

static void start_lists(struct tokenizer_gguf_lists *lists)
{
    *lists = (struct tokenizer_gguf_lists){json_array(), json_array(), json_array()};
}

/* ---- SentencePiece ---- */

static json_t *make_pieces(const struct sentencepiece_pieces *pieces, int64_t size)
{
    struct tokenizer_gguf_lists lists;
    start_lists(&lists);
    for (int64_t i = 0; i < pieces->count; i++) {
        const struct sentencepiece_piece *piece = &pieces->pieces[i];
        add_token(&lists, json_stringn(piece->bytes, (size_t)piece->count), (double)piece->score,
                  piece->type);
    }
    json_t *metadata = make_lists(&lists, pieces->bpe ? "llama" : "t5", size);
    json_object_set_new(metadata, GGML "add_space_prefix", json_boolean(pieces->add_dummy_prefix));
    json_object_set_new(metadata, GGML "remove_extra_whitespaces",
                        json_boolean(pieces->remove_extra_whitespaces));
    if (!pieces->bpe && pieces->charsmap_count > 0)
        json_object_set_new(metadata, GGML "precompiled_charsmap",
                            gguf_bytes(pieces->charsmap, (size_t)pieces->charsmap_count));
    return metadata;
}

/* ---- characters and bytes ---- */

/* llama.cpp writes a space as U+2581. A byte that is no character of ASCII is a piece of its own type. */
static void add_character(struct tokenizer_gguf_lists *lists, unsigned char byte)
{
    char text[8];
    const bool plain = byte > ' ' && byte < 0x7f;
    if (byte == ' ')
        snprintf(text, sizeof text, "\xe2\x96\x81");
    else
        snprintf(text, sizeof text, plain ? "%c" : "<0x%02X>", byte);
    add_token(lists, json_string(text), 0, plain || byte == ' ' ? PIECE_NORMAL : PIECE_BYTE);
}

static json_t *make_characters(const struct tokenizer *tokenizer, int64_t size)
{
    struct tokenizer_gguf_lists lists;
    start_lists(&lists);
    for (int32_t token = 0; token < tokenizer->size; token++) {
        const struct token_text text = tokenizer_text(tokenizer, token);
        if (text.count == 1)
            add_character(&lists, (unsigned char)text.bytes[0]);
        else
            add_token(&lists, json_stringn(text.bytes, (size_t)text.count), 0, PIECE_CONTROL);
    }
    json_t *metadata = make_lists(&lists, "llama", size);
    json_object_set_new(metadata, GGML "add_space_prefix", json_false());
    return metadata;
}

/* ---- either ---- */

/* A tokenizer.json, or none. */
static json_t *make_file(const struct tokenizer *tokenizer, int64_t size)
{
    json_t *saved = json_object(), *metadata = NULL;
    if (tokenizer->type == &tokenizer_huggingface && tokenizer->type->save(tokenizer, saved))
        metadata = tokenizer_gguf_bpe(json_object_get(saved, "file"), size);
    json_decref(saved);
    return metadata ? metadata : json_pack("{s:s}", GGML "model", "no_vocab");
}

static void set_special(json_t *metadata, const char *key, int32_t token)
{
    if (token >= 0)
        json_object_set_new(metadata, key, json_integer(token));
}

rotary_status tokenizer_export_gguf(const struct tokenizer *tokenizer, const struct tokenizer_gguf_call *call,
                                    json_t **metadata, rotary_error *error)
{
    const struct token_text file = tokenizer_model_file(tokenizer);
    const struct special_tokens special = tokenizer->special;
    /* Without an end llama.cpp takes token 2 for it, which would be a character. */
    const bool by_byte =
        (tokenizer->type == &tokenizer_characters || tokenizer->type == &tokenizer_bytes) && call->end >= 0;
    struct sentencepiece_pieces pieces = {0};
    rotary_status status =
        file.count > 0 ? sentencepiece_pieces_read(&pieces, file.bytes, file.count, error) : ROTARY_OK;
    if (status != ROTARY_OK)
        return status;
    *metadata = file.count > 0 ? make_pieces(&pieces, call->size)
                : by_byte      ? make_characters(tokenizer, call->size)
                               : make_file(tokenizer, call->size);
    sentencepiece_pieces_free(&pieces);
    set_special(*metadata, GGML "bos_token_id", call->begin >= 0 ? call->begin : special.begin);
    set_special(*metadata, GGML "eos_token_id", call->end);
    set_special(*metadata, GGML "unknown_token_id", special.unknown);
    set_special(*metadata, GGML "padding_token_id", special.padding);
    json_object_set_new(*metadata, GGML "add_bos_token", json_boolean(call->begin >= 0));
    json_object_set_new(*metadata, GGML "add_eos_token", json_false());
    return *metadata ? ROTARY_OK
                     : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to export a tokenizer");
}
