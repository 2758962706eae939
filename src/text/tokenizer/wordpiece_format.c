/* SPDX-License-Identifier: Apache-2.0
 *
 * How WordPiece is read: from a run's folder, vocab.txt and tokenizer.json.
 */
#include "base/fail.h"
#include "config/json_fields.h"
#include "text/tokenizer/special_tokens.h"
#include "text/tokenizer/tokenizer_type.h"
#include "text/tokenizer/wordpiece_file.h"

#include <stdlib.h>

static rotary_status read_config(struct wordpiece_config *config, const json_t *object, const char *path,
                                 rotary_error *error)
{
    struct bert_rules *rules = &config->rules;
    const struct {
        const char *key;
        bool *rule;
    } rows[] = {{"lower_case", &rules->lower_case},
                {"strip_accents", &rules->strip_accents},
                {"split_chinese", &rules->split_chinese}};
    const struct json_source source = {.path = path};
    rotary_status status = ROTARY_OK;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == ROTARY_OK; i++) {
        const json_t *value = json_object_get(object, rows[i].key);
        status = value ? json_field_boolean(&source, rows[i].key, value, rows[i].rule, error)
                       : json_field_fail(&source, rows[i].key, NULL, "true or false", error);
    }
    return status == ROTARY_OK ? special_tokens_read(&config->special, object, path, error) : status;
}

static rotary_status read_pieces(const json_t *list, struct token_text *pieces, const char *path,
                                 rotary_error *error)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *piece = json_array_get(list, i);
        if (!json_is_string(piece))
            return rotary_fail(error, ROTARY_BAD_FILE, "%s: entry %zu of \"pieces\" is no text", path, i + 1);
        pieces[i] = (struct token_text){json_string_value(piece), (int64_t)json_string_length(piece)};
    }
    return ROTARY_OK;
}

static rotary_status load(struct tokenizer **tokenizer, const json_t *object, const char *path,
                          rotary_error *error)
{
    if (wordpiece_is_object(object))
        return wordpiece_load_object(tokenizer, object, path, error);
    struct wordpiece_config config;
    rotary_status status = read_config(&config, object, path, error);
    if (status != ROTARY_OK)
        return status;
    const json_t *list = json_object_get(object, "pieces");
    if (!json_is_array(list) || json_array_size(list) > WORDPIECE_MAX_PIECES)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s has no valid \"pieces\": wanted a list of at most %d texts", path,
                           (int)WORDPIECE_MAX_PIECES);
    struct token_text *pieces = malloc((json_array_size(list) + 1) * sizeof *pieces);
    if (!pieces)
        return rotary_fail_memory(error, "to read %s", path);
    status = read_pieces(list, pieces, path, error);
    if (status == ROTARY_OK)
        status =
            wordpiece_create_from(tokenizer, &config, pieces, (int64_t)json_array_size(list), path, error);
    free(pieces);
    return status;
}

const struct tokenizer_format tokenizer_format_wordpiece = {.load = load,
                                                            .is_object = wordpiece_is_object,
                                                            .is_file = wordpiece_is_vocabulary,
                                                            .load_bytes = wordpiece_load_vocabulary};
