/* SPDX-License-Identifier: Apache-2.0
 *
 * A tokenizer as the metadata of GGUF.
 */
#include "text/tokenizer_export/tokenizer_gguf.h"
#include "base/fail.h"
#include "file/gguf.h"
#include "text/tokenizer/tokenizer_type.h"
#include "text/tokenizer_export/gguf_rule.h"

#include <stdio.h>

#define GGML "tokenizer.ggml."

/* ---- SentencePiece ---- */

static json_t *describe_pieces(const struct sentencepiece_pieces *pieces, struct gguf_tokens *tokens)
{
    json_t *metadata =
        json_pack("{s:s, s:o, s:o, s:o, s:b, s:b}", GGML "model", pieces->bpe ? "llama" : "t5", GGML "tokens",
                  tokens->texts, GGML "scores", tokens->scores, GGML "token_type", tokens->types,
                  GGML "add_space_prefix", (int)pieces->add_dummy_prefix, GGML "remove_extra_whitespaces",
                  (int)pieces->remove_extra_whitespaces);
    if (!pieces->bpe && pieces->charsmap_count > 0)
        json_object_set_new(metadata, GGML "precompiled_charsmap",
                            gguf_bytes(pieces->charsmap, (size_t)pieces->charsmap_count));
    return metadata;
}

static json_t *make_pieces(const struct sentencepiece_pieces *pieces, int64_t size, char *reason)
{
    struct gguf_tokens tokens;
    if (!gguf_rule_pieces(pieces, reason))
        return NULL;
    gguf_tokens_start(&tokens);
    for (int64_t i = 0; i < pieces->count; i++) {
        const struct sentencepiece_piece *piece = &pieces->pieces[i];
        gguf_tokens_add(&tokens, json_stringn(piece->bytes, (size_t)piece->count), (double)piece->score,
                        piece->type);
    }
    gguf_tokens_add_unused(&tokens, size);
    if (gguf_rule_tokens(&tokens, size, reason))
        return describe_pieces(pieces, &tokens);
    gguf_tokens_drop(&tokens);
    return NULL;
}

static rotary_status read_pieces(struct token_text file, int64_t size, json_t **metadata, char *reason,
                                 rotary_error *error)
{
    struct sentencepiece_pieces pieces = {0};
    rotary_status status = sentencepiece_pieces_read(&pieces, file.bytes, file.count, error);
    if (status == ROTARY_OK)
        *metadata = make_pieces(&pieces, size, reason);
    sentencepiece_pieces_free(&pieces);
    return status;
}

/* ---- others ---- */

static json_t *make_file(const struct tokenizer *tokenizer, int64_t size, char *reason)
{
    json_t *saved = json_object(), *metadata = NULL;
    if (tokenizer->type->save(tokenizer, saved))
        metadata = tokenizer_gguf_bpe(json_object_get(saved, "file"), size, reason);
    json_decref(saved);
    return metadata;
}

/* A character that the vocabulary lacks is <unk>, and nothing to llama.cpp. */
static void refuse_words(const struct tokenizer *tokenizer, char *reason)
{
    json_t *saved = json_object();
    const bool characters =
        tokenizer->type->save(tokenizer, saved) && json_is_true(json_object_get(saved, "characters"));
    json_decref(saved);
    gguf_rule_refuse(reason, characters
                                 ? "characters that are not in its vocabulary are <unk>, and llama.cpp "
                                   "has no tokenizer of characters with such a token"
                                 : "llama.cpp has no tokenizer of words");
}

/* What a text begins and ends with: the call says it, or the file of the tokenizer. */
struct ends {
    int32_t begin, end;
    bool adds_begin, adds_end;
};

static struct ends ends_of(const struct tokenizer *tokenizer, const struct tokenizer_gguf_call *call)
{
    const bool says = tokenizer->type == &tokenizer_huggingface;
    return (struct ends){.begin = call->begin >= 0 ? call->begin : tokenizer->special.begin,
                         .end = call->end,
                         .adds_begin = call->begin >= 0 || (says && tokenizer->frame.begin),
                         .adds_end = says && tokenizer->frame.end};
}

/* Without an end llama.cpp takes token 2 or 11 for it, and it has one end alone, which it puts behind texts.
 */
static bool check_ends(const struct tokenizer *tokenizer, const struct ends *ends, char *reason)
{
    if (ends->end < 0)
        return gguf_rule_refuse(reason, "no token ends a text, and llama.cpp would take some other for it");
    return !ends->adds_end || ends->end == tokenizer->special.end ||
           gguf_rule_refuse(reason, "its post_processor puts token %d behind a text, and token %d ends one",
                            (int)tokenizer->special.end, (int)ends->end);
}

static rotary_status make(const struct tokenizer *tokenizer, int64_t size, json_t **metadata, char *reason,
                          rotary_error *error)
{
    const struct tokenizer_type *type = tokenizer->type;
    if (type == &tokenizer_sentencepiece)
        return read_pieces(tokenizer_model_file(tokenizer), size, metadata, reason, error);
    if (type == &tokenizer_characters || type == &tokenizer_bytes)
        *metadata = tokenizer_gguf_bytes(tokenizer, size, reason);
    else if (type == &tokenizer_huggingface)
        *metadata = make_file(tokenizer, size, reason);
    else if (type == &tokenizer_words)
        refuse_words(tokenizer, reason);
    else
        gguf_rule_refuse(reason, "it is WordPiece, which is not exported");
    return ROTARY_OK;
}

static void set_special(json_t *metadata, const char *key, int32_t token)
{
    if (token >= 0)
        json_object_set_new(metadata, key, json_integer(token));
}

rotary_status tokenizer_export_gguf(const struct tokenizer *tokenizer, const struct tokenizer_gguf_call *call,
                                    json_t **metadata, char reason[TOKENIZER_REASON_BYTES],
                                    rotary_error *error)
{
    const struct ends ends = ends_of(tokenizer, call);
    rotary_status status = ROTARY_OK;
    *metadata = NULL;
    reason[0] = '\0';
    if (check_ends(tokenizer, &ends, reason))
        status = make(tokenizer, call->size, metadata, reason, error);
    if (status != ROTARY_OK)
        return status;
    if (!*metadata)
        *metadata = json_pack("{s:s}", GGML "model", "no_vocab");
    set_special(*metadata, GGML "bos_token_id", ends.begin);
    set_special(*metadata, GGML "eos_token_id", ends.end);
    set_special(*metadata, GGML "unknown_token_id", tokenizer->special.unknown);
    set_special(*metadata, GGML "padding_token_id", tokenizer->special.padding);
    json_object_set_new(*metadata, GGML "add_bos_token", json_boolean(ends.adds_begin));
    json_object_set_new(*metadata, GGML "add_eos_token", json_boolean(ends.adds_end));
    return *metadata ? ROTARY_OK : rotary_fail_memory(error, "to export a tokenizer");
}
