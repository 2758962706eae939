/* SPDX-License-Identifier: Apache-2.0 */
#include "inference/exported_vocabulary.h"

#include "base/fail.h"
#include "text/tokenizer_export/gguf_rule.h"
#include "text/tokenizer_export/tokenizer_export.h"

#include <stdio.h>

_Static_assert((int)EXPORT_REASON_BYTES == (int)TOKENIZER_REASON_BYTES, "a reason must fit");

/* Sets the text of a token, or null. */
static bool set_token(json_t *object, const char *key, const struct tokenizer *tokenizer, int32_t token)
{
    if (token < 0)
        return json_object_set_new(object, key, json_null()) == 0;
    const struct token_text text = tokenizer_text(tokenizer, token);
    return json_object_set_new(object, key, json_stringn(text.bytes, (size_t)text.count)) == 0;
}

/* tokenizer_config.json: of a class that reads tokenizer.json, or SentencePiece's file. NULL without memory.
 */
static json_t *make_config(const struct tokenizer *tokenizer, const struct export_vocabulary *vocabulary,
                           const char *class)
{
    json_t *object =
        json_pack("{s:s, s:b, s:b, s:b, s:b}", "tokenizer_class", class, "legacy", 0, "add_bos_token",
                  vocabulary->begin >= 0, "add_eos_token", 0, "clean_up_tokenization_spaces", 0);
    bool done = object && set_token(object, "unk_token", tokenizer, tokenizer_special(tokenizer).unknown) &&
                set_token(object, "bos_token", tokenizer, vocabulary->begin) &&
                set_token(object, "eos_token", tokenizer, vocabulary->end) &&
                set_token(object, "pad_token", tokenizer, vocabulary->padding);
    if (done)
        return object;
    json_decref(object);
    return NULL;
}

static void add_file(struct export_vocabulary *vocabulary, struct export_file file)
{
    vocabulary->files[vocabulary->file_count++] = file;
}

/* The files of a folder: none for a tokenizer that neither SentencePiece nor tokenizers has. */
static rotary_status add_files(struct export_vocabulary *vocabulary, const struct tokenizer *tokenizer,
                               rotary_error *error)
{
    const struct token_text file = tokenizer_model_file(tokenizer);
    json_t *object = NULL;
    rotary_status status = tokenizer_export_json(tokenizer, vocabulary->begin, &object, error);
    if (status != ROTARY_OK || (!object && file.count == 0))
        return status;
    if (object)
        add_file(vocabulary, (struct export_file){.name = "tokenizer.json", .object = object});
    if (file.count > 0)
        add_file(vocabulary, (struct export_file){.name = "tokenizer.model",
                                                  .bytes = file.bytes,
                                                  .count = (size_t)file.count});
    json_t *config = make_config(tokenizer, vocabulary, "PreTrainedTokenizerFast");
    add_file(vocabulary, (struct export_file){.name = "tokenizer_config.json", .object = config});
    return config ? ROTARY_OK : rotary_fail_memory(error, "to export a vocabulary");
}

static rotary_status add_metadata(struct export_vocabulary *vocabulary,
                                  const struct exported_vocabulary_call *call, rotary_error *error)
{
    const struct tokenizer_gguf_call gguf = {.size = call->size, .begin = call->begin, .end = call->end};
    rotary_status status = ROTARY_OK;
    if (call->tokenizer) {
        status =
            tokenizer_export_gguf(call->tokenizer, &gguf, &vocabulary->metadata, vocabulary->reason, error);
    } else {
        vocabulary->metadata = json_pack("{s:s}", "tokenizer.ggml.model", "no_vocab");
        snprintf(vocabulary->reason, sizeof vocabulary->reason, "the model has no tokenizer");
    }
    if (status == ROTARY_OK && !vocabulary->reason[0] && gguf_rule_changes_name(call->name))
        json_object_set_new(vocabulary->metadata, "general.name", json_string("model"));
    if (status != ROTARY_OK || vocabulary->metadata)
        return status;
    return rotary_fail_memory(error, "to export a vocabulary");
}

rotary_status exported_vocabulary_make(struct export_vocabulary *vocabulary,
                                       const struct exported_vocabulary_call *call, rotary_error *error)
{
    struct export_vocabulary made = {
        .begin = call->begin, .end = call->end, .padding = -1, .ends = call->ends};
    rotary_status status = ROTARY_OK;
    if (call->tokenizer)
        made.padding = tokenizer_special(call->tokenizer).padding;
    if (call->format == EXPORT_GGUF)
        status = add_metadata(&made, call, error);
    else if (call->tokenizer)
        status = add_files(&made, call->tokenizer, error);
    if (status == ROTARY_OK)
        *vocabulary = made;
    else
        export_vocabulary_free(&made);
    return status;
}
