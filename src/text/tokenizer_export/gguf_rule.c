/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_export/gguf_rule.h"

#include "text/tokenizer_json/byte_characters.h"
#include "text/tokenizer_json/json_part.h"

#include <string.h>

const char gguf_rule_bytes_cut[] = "qwen2";

static bool is_type(const json_t *object, const char *wanted)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    return type && strcmp(type, wanted) == 0;
}

static bool is_set(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return value && !json_is_null(value) && !json_is_false(value);
}

/* ---- parts of a tokenizer.json ---- */

/* The first part that is no sequence; NULL: there is none. */
static const json_t *first_part(const json_t *part, const char *key)
{
    while (is_type(part, "Sequence"))
        part = json_array_get(json_object_get(part, key), 0);
    return json_is_object(part) ? part : NULL;
}

static bool check_decoder(const json_t *file, char *reason)
{
    return is_type(json_object_get(file, "decoder"), "ByteLevel") ||
           gguf_rule_refuse(reason, "its decoder is not ByteLevel");
}

static bool check_normalizer(const json_t *file, char *reason)
{
    const json_t *part = first_part(json_object_get(file, "normalizer"), "normalizers");
    const char *type = json_string_value(json_object_get(part, "type"));
    return !part || gguf_rule_refuse(
                        reason, "its normalizer (%.40s) changes text, which llama.cpp does not do for BPE",
                        type ? type : "");
}

/* How text is cut into words before merging, and llama.cpp's names for it: with "ignore_merges", and without.
 */
static const struct cut {
    const char *ignoring, *merging;
    const char *pattern; /* NULL: that of ByteLevel */
} cuts[] = {
    {NULL, "gpt-2", NULL},
    {"llama-bpe", "smaug-bpe",
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
     "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {NULL, "qwen2",
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
     "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
};

/* Whether the part is ByteLevel without a space before the text, which cuts words itself or not. */
static bool is_byte_level(const json_t *part, bool cuts_words)
{
    return is_type(part, "ByteLevel") && json_is_false(json_object_get(part, "add_prefix_space")) &&
           json_is_false(json_object_get(part, "use_regex")) == !cuts_words;
}

/* The cut of a pre_tokenizer: ByteLevel, or a Split that isolates what its pattern finds, and ByteLevel.
 * NULL: it is none of llama.cpp's. */
static const struct cut *find_cut(const json_t *pre_tokenizer)
{
    const json_t *list = json_object_get(pre_tokenizer, "pretokenizers"), *split = json_array_get(list, 0);
    const char *pattern = json_string_value(json_object_get(json_object_get(split, "pattern"), "Regex")),
               *behavior = json_string_value(json_object_get(split, "behavior"));
    if (is_byte_level(pre_tokenizer, true))
        return &cuts[0];
    if (!is_type(pre_tokenizer, "Sequence") || json_array_size(list) != 2 || !is_type(split, "Split") ||
        !pattern || !behavior || strcmp(behavior, "Isolated") != 0 || is_set(split, "invert") ||
        !is_byte_level(json_array_get(list, 1), false))
        return NULL;
    for (size_t i = 1; i < sizeof cuts / sizeof cuts[0]; i++)
        if (strcmp(pattern, cuts[i].pattern) == 0)
            return &cuts[i];
    return NULL;
}

/* Whether each byte is a token by itself, wherever text is cut. */
static bool merges_nothing(const json_t *file)
{
    const json_t *model = json_object_get(file, "model");
    return json_array_size(json_object_get(model, "merges")) == 0 && !is_set(model, "ignore_merges") &&
           !is_set(model, "unk_token");
}

static bool check_cut(const json_t *file, const char **cut, char *reason)
{
    const struct cut *found = find_cut(json_object_get(file, "pre_tokenizer"));
    const bool ignores = is_set(json_object_get(file, "model"), "ignore_merges");
    if (!found)
        return gguf_rule_refuse(reason,
                                "its pre_tokenizer cuts text otherwise than that of GPT-2, Llama 3 or "
                                "Qwen 2 does, which llama.cpp has");
    *cut = ignores ? found->ignoring : found->merging;
    return *cut || gguf_rule_refuse(reason, "its \"ignore_merges\" is true, which llama.cpp has with the "
                                            "pre_tokenizer of Llama 3 alone");
}

/* ---- the model of a tokenizer.json ---- */

static bool check_model(const json_t *model, char *reason)
{
    static const char *const keys[] = {"dropout", "byte_fallback"}, *const texts[] = {
                                                                        "continuing_subword_prefix",
                                                                        "end_of_word_suffix"};
    if (strcmp(json_model_type(model), "BPE") != 0)
        return gguf_rule_refuse(reason, "its model is %.40s, wanted BPE on ByteLevel",
                                json_model_type(model));
    for (int i = 0; i < 2; i++) {
        const char *text = json_string_value(json_object_get(model, texts[i]));
        const json_t *value = json_object_get(model, keys[i]);
        if (is_set(model, keys[i]) && !(json_is_number(value) && json_number_value(value) == 0))
            return gguf_rule_refuse(reason, "its model has \"%s\", which llama.cpp has not for BPE", keys[i]);
        if (text && text[0])
            return gguf_rule_refuse(reason, "its model has \"%s\", which llama.cpp has not for BPE",
                                    texts[i]);
    }
    return true;
}

/* Where a byte has no piece `tokenizers` merges what is on both sides, or writes the unknown token; llama.cpp
 * leaves it out. */
static bool check_letters(const json_t *vocabulary, char *reason)
{
    for (int byte = 0; byte < 256; byte++) {
        char character[BYTE_CHARACTER_BYTES];
        byte_characters_write((unsigned char)byte, character);
        if (!json_object_get(vocabulary, character))
            return gguf_rule_refuse(reason, "the byte 0x%02x has no piece in its vocabulary", (unsigned)byte);
    }
    return true;
}

static bool check_words(const json_t *file, const char **cut, char *reason)
{
    const json_t *pre_tokenizer = json_object_get(file, "pre_tokenizer");
    *cut = gguf_rule_bytes_cut;
    if (merges_nothing(file) && (is_byte_level(pre_tokenizer, true) || is_byte_level(pre_tokenizer, false)))
        return true;
    return check_cut(file, cut, reason) &&
           check_letters(json_object_get(json_object_get(file, "model"), "vocab"), reason);
}

/* A merge as GGUF has it; NULL: a piece has a space in it, so that nobody knows where the second begins. */
static json_t *merge_text(const json_t *merge)
{
    const char *both = json_string_value(merge), *left = json_string_value(json_array_get(merge, 0)),
               *right = json_string_value(json_array_get(merge, 1)), *space = both ? strchr(both, ' ') : NULL;
    if (both)
        return space && !strchr(space + 1, ' ') ? json_string(both) : NULL;
    return left && right && !strchr(left, ' ') && !strchr(right, ' ') ? json_sprintf("%s %s", left, right)
                                                                      : NULL;
}

/* Where a merge is there twice llama.cpp takes the first, and `tokenizers` the last. */
static bool check_merges(const json_t *merges, char *reason)
{
    json_t *seen = json_object();
    bool alike = true;
    for (size_t i = 0; i < json_array_size(merges) && alike; i++) {
        json_t *text = merge_text(json_array_get(merges, i));
        alike = text && !json_object_get(seen, json_string_value(text)) &&
                json_object_set_new(seen, json_string_value(text), json_true()) == 0;
        if (!alike)
            gguf_rule_refuse(reason, "merge %zu is there twice, or has a space in a piece", i + 1);
        json_decref(text);
    }
    json_decref(seen);
    return alike;
}

bool gguf_rule_file(const json_t *file, const char **cut, char reason[TOKENIZER_REASON_BYTES])
{
    const json_t *model = json_object_get(file, "model");
    if (is_set(file, "truncation") || is_set(file, "padding"))
        return gguf_rule_refuse(reason, "it has \"%s\", which llama.cpp has not",
                                is_set(file, "truncation") ? "truncation" : "padding");
    return check_model(model, reason) && check_decoder(file, reason) && check_normalizer(file, reason) &&
           check_words(file, cut, reason) && check_merges(json_object_get(model, "merges"), reason) &&
           gguf_rule_added(json_object_get(file, "added_tokens"), json_object_get(model, "vocab"), reason);
}

/* ---- SentencePiece ---- */

static int64_t count_type(const struct sentencepiece_pieces *pieces, int type)
{
    int64_t count = 0;
    for (int64_t i = 0; i < pieces->count; i++)
        count += pieces->pieces[i].type == type;
    return count;
}

static bool check_bpe(const struct sentencepiece_pieces *pieces, char *reason)
{
    if (pieces->charsmap_count > 0 || pieces->remove_extra_whitespaces)
        return gguf_rule_refuse(reason,
                                "its text is normalised (%s), which llama.cpp does for unigram models alone",
                                pieces->charsmap_count > 0 ? "characters" : "white space");
    return count_type(pieces, PIECE_BYTE) == 256 ||
           gguf_rule_refuse(reason,
                            "it has no pieces of bytes, without which llama.cpp ends at a character that is "
                            "no piece");
}

static bool check_unigram(const struct sentencepiece_pieces *pieces, char *reason)
{
    if (pieces->byte_fallback || count_type(pieces, PIECE_BYTE) > 0)
        return gguf_rule_refuse(reason, "it has pieces of bytes, which llama.cpp has for BPE alone");
    return (pieces->remove_extra_whitespaces && pieces->add_dummy_prefix) ||
           gguf_rule_refuse(reason,
                            "it keeps white space as it is, or puts none before a text, which llama.cpp does "
                            "otherwise for unigram models");
}

bool gguf_rule_pieces(const struct sentencepiece_pieces *pieces, char reason[TOKENIZER_REASON_BYTES])
{
    if (count_type(pieces, PIECE_USER_DEFINED) > 0)
        return gguf_rule_refuse(reason,
                                "it has user-defined pieces, around which llama.cpp puts other spaces");
    if (count_type(pieces, PIECE_UNUSED) > 0)
        return gguf_rule_refuse(reason, "it has unused pieces, which llama.cpp uses");
    return pieces->bpe ? check_bpe(pieces, reason) : check_unigram(pieces, reason);
}

/* ---- all tokens ---- */

/* Tokens with these texts are special to llama.cpp, whatever their type; each ends with a zero byte. */
#define BAR "\xef\xbd\x9c" /* U+FF5C */
#define LOW "\xe2\x96\x81" /* U+2581 */
static const char reserved[] =
    "<|eot_id|>\0<|im_end|>\0<|end|>\0<end_of_turn>\0<|endoftext|>\0<|end_of_text|>\0<EOT>\0_<EOT>\0[EOT]\0"
    "<" BAR "end" LOW "of" LOW "sentence" BAR ">\0<end_of_utterance>\0<|eom_id|>\0<|fim_prefix|>\0"
    "<fim-prefix>\0<fim_prefix>\0<" BAR "fim" LOW "begin" BAR ">\0<PRE>\0" LOW
    "<PRE>\0<|code_prefix|>\0<|prefix|>\0"
    "<|fim_suffix|>\0<fim-suffix>\0<fim_suffix>\0<" BAR "fim" LOW "hole" BAR ">\0<SUF>\0" LOW "<SUF>\0"
    "<|code_suffix|>\0<|suffix|>\0<|fim_middle|>\0<fim-middle>\0<fim_middle>\0<" BAR "fim" LOW "end" BAR ">\0"
    "<MID>\0" LOW "<MID>\0<|code_middle|>\0<|middle|>\0<|fim_pad|>\0<fim-pad>\0<fim_pad>\0<PAD>\0[PAD]\0"
    "<|fim_repo|>\0<|repo_name|>\0<fim-repo>\0<REPO>\0<reponame>\0<|file_sep|>\0<|return|>\0<|call|>\0"
    "<|flush|>\0<|calls|>\0</s>\0[EOS]\0<eos>\0<tu\x72n|>\0<|tool_response>\0[e~[\0<|channel|>\0"
    "<|message|>\0<|start|>\0<|constrain|>\0";

static bool is_reserved(const char *text)
{
    for (const char *name = reserved; *name; name += strlen(name) + 1)
        if (strcmp(text, name) == 0)
            return true;
    return false;
}

static bool check_token(const struct gguf_tokens *tokens, size_t id, json_t *seen, char *reason)
{
    const char *text = json_string_value(json_array_get(tokens->texts, id));
    const json_int_t type = json_integer_value(json_array_get(tokens->types, id));
    if (!text || !text[0])
        return gguf_rule_refuse(reason, "token %zu has no text", id);
    if (json_object_get(seen, text))
        return gguf_rule_refuse(reason, "the tokens %lld and %zu have the same text",
                                (long long)json_integer_value(json_object_get(seen, text)), id);
    if (type == PIECE_NORMAL && is_reserved(text))
        return gguf_rule_refuse(reason, "its piece \"%s\" is no added token, but one to llama.cpp", text);
    return json_object_set_new(seen, text, json_integer((json_int_t)id)) == 0;
}

bool gguf_rule_tokens(const struct gguf_tokens *tokens, int64_t size, char reason[TOKENIZER_REASON_BYTES])
{
    const int64_t count = (int64_t)json_array_size(tokens->texts);
    json_t *seen = json_object();
    bool alike = count == size || gguf_rule_refuse(reason, "it has %lld tokens, and the model has %lld",
                                                   (long long)count, (long long)size);
    for (size_t i = 0; (int64_t)i < count && alike; i++)
        alike = check_token(tokens, i, seen, reason);
    if (alike && json_object_get(seen, "<|tool_response>") && json_object_get(seen, "</s>"))
        alike = gguf_rule_refuse(reason, "beside \"<|tool_response>\", \"</s>\" is no token to llama.cpp");
    json_decref(seen);
    return alike;
}

bool gguf_rule_changes_name(const char *name)
{
    static const char *const parts[] = {"phi-3", "phi3", "modern-bert"};
    bool changes = false;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        changes = changes || strcasestr(name, parts[i]) != NULL;
    return changes;
}
