/* SPDX-License-Identifier: Apache-2.0 */
#include "rope_config/rope_attention.h"

#include "base/fail.h"
#include "config/settings.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static bool is_ignored(const struct rope_reader *reader, const char *key)
{
    return rope_reader_is_among(key, reader->request->ignored);
}

/* ---- scales of queries ---- */

/* Llama 4's, whose class has the defaults. */
static rotary_status unrotated_query_scale(const struct rope_reader *reader, struct rope_query_scale *scale)
{
    const char *const keys[] = {"attn_temperature_tuning", "attn_scale", "floor_scale"};
    const json_t *values[3];
    bool known = reader->model_type && strncmp(reader->model_type, "llama4", 6) == 0, tuned = known;
    for (int i = 0; i < 3; i++)
        values[i] = json_field_value(reader->text_config, keys[i]);
    struct rope_query_scale made = {.beta = 0.1, .length = 8192, .offset = 1};
    rotary_status status = rope_reader_boolean(reader, keys[0], values[0], &tuned);
    if (!status)
        status = rope_reader_real(reader, keys[1], values[1], JSON_NOT_NEGATIVE, &made.beta);
    if (!status)
        status = rope_reader_real(reader, keys[2], values[2], JSON_POSITIVE, &made.length);
    if (!status && tuned && made.beta > 0)
        *scale = made;
    return status;
}

static rotary_status read_query_scale(const struct rope_reader *reader, struct rope_query_scale *scale)
{
    static const char key[] = "llama_4_scaling_beta", length[] = "original_max_position_embeddings";
    const json_t *beta = rope_reader_find(reader, key);
    struct rope_query_scale made = {0};
    if (reader->request->unrotated)
        return unrotated_query_scale(reader, scale);
    if (!beta || !reader->request->scales_queries || is_ignored(reader, key))
        return ROTARY_OK;
    rotary_status status = rope_reader_real(reader, key, beta, JSON_NOT_NEGATIVE, &made.beta);
    const json_t *context = rope_reader_find(reader, length);
    if (!status && made.beta > 0 && !context)
        return rope_reader_refuse_absent(reader, length, key);
    if (!status && made.beta > 0)
        status = rope_reader_real(reader, length, context, JSON_POSITIVE, &made.length);
    if (!status && made.beta > 0)
        *scale = made;
    return status;
}

/* ---- dual chunk attention ---- */

static const char chunks_key[] = "dual_chunk_attention_config";

/* Those of sparse attention are read where it is enabled alone. */
static const char *const keys_of_chunks[] = {"chunk_size",
                                             "local_size",
                                             "original_max_position_embeddings",
                                             "sparse_attention_enabled",
                                             "sparse_attention_config",
                                             "sparse_attention_threshold",
                                             "sparse_attention_last_q",
                                             NULL};

/* Refuses unknown keys, and sparse attention, which sees a part of the keys that no key of the file says. */
static rotary_status check_chunks(const struct rope_reader *reader, const json_t *object)
{
    json_t *entries = (json_t *)(uintptr_t)object; /* jansson cannot iterate over a const object */
    const char *key;
    json_t *entry;
    char option[ROPE_READER_OPTION_BYTES];
    json_object_foreach (entries, key, entry)
        if (!rope_reader_is_among(key, keys_of_chunks) && !json_is_null(entry) && !is_ignored(reader, key))
            return rotary_fail(reader->error, ROTARY_BAD_FILE,
                               "%s: \"%s\" has the key \"%.60s\", which is not known; wanted chunk_size, "
                               "local_size and original_max_position_embeddings%s",
                               reader->where, chunks_key, key, rope_reader_or_ignore(reader, key, option));
    const json_t *enabled = json_field_value(object, "sparse_attention_enabled"),
                 *pattern = json_field_value(object, "sparse_attention_config");
    const char *name = enabled ? "sparse_attention_enabled" : "sparse_attention_config";
    bool sparse = enabled ? json_is_true(enabled) : pattern != NULL;
    return sparse && !is_ignored(reader, name)
               ? rope_reader_refuse_value(
                     reader, name, enabled ? enabled : pattern,
                     enabled ? "false: which keys are seen depends on scores, and all would be"
                             : "null: which keys are seen depends on scores, and all would be")
               : ROTARY_OK;
}

/* Qwen 2.5 1M's; the defaults are vLLM's. */
static rotary_status read_chunks(const struct rope_reader *reader, struct rope_config *config)
{
    const json_t *object = json_field_value(reader->text_config, chunks_key);
    int64_t size = 8192, local = 1024, original = 0;
    if (!object || !reader->request->attends || is_ignored(reader, chunks_key))
        return ROTARY_OK;
    if (!json_is_object(object))
        return rope_reader_refuse(reader, chunks_key, object, "an object or null");
    rotary_status status = check_chunks(reader, object);
    if (!status)
        status = rope_reader_integer(reader, "chunk_size", json_field_value(object, "chunk_size"), 1, &size);
    if (!status)
        status = rope_reader_integer(reader, "local_size", json_field_value(object, "local_size"), 0, &local);
    if (!status)
        status =
            rope_reader_integer(reader, "original_max_position_embeddings",
                                json_field_value(object, "original_max_position_embeddings"), 0, &original);
    if (!status && local >= size)
        status = rotary_fail(reader->error, ROTARY_BAD_FILE,
                             "%s: \"local_size\" is %lld, wanted less than \"chunk_size\", %lld",
                             reader->where, (long long)local, (long long)size);
    if (!status && config->plan.scaling != ROTARY_SCALING_NONE)
        status =
            rotary_fail(reader->error, ROTARY_BAD_FILE,
                        "%s has rope_type %s beside \"%s\", wanted default: chunks keep positions within "
                        "the original context",
                        reader->where, config->rope_type, chunks_key);
    if (!status)
        config->chunks = (struct rope_chunks){size - local, size, original};
    return status;
}

/* ---- values ---- */

static rotary_status read_values(const struct rope_reader *reader, enum rope_values *values)
{
    static const char key[] = "rotary_value";
    bool rotates = false;
    rotary_status status =
        rope_reader_boolean(reader, key, json_field_value(reader->text_config, key), &rotates);
    if (reader->family.rotates_values && !is_ignored(reader, "model_type"))
        *values = ROPE_VALUES_AND_OUTPUTS;
    else if (rotates && !is_ignored(reader, key))
        *values = ROPE_VALUES_ROTATE;
    return status;
}

/* ---- magnitudes ---- */

/* Leaves YaRN's factor out of cosines and sines, in the way of the implementation that is followed. */
static void drop_magnitude(const struct rope_reader *reader, rotary_rope_config *plan)
{
    if (!reader->unit_magnitude || plan->scaling != ROTARY_SCALING_YARN || plan->attention_factor > 0)
        return;
    rotary_compat compat = reader->request->compat;
    bool multiplies = compat == ROTARY_COMPAT_GGML && plan->factor > 0;
    plan->attention_factor = multiplies ? 1 / (1 + 0.1 * log(plan->factor)) : 1;
    if (compat == ROTARY_COMPAT_VLLM) /* which has mscale 0, and so a factor of 1 / 1 */
        plan->mscale = plan->mscale_all_dim = DBL_MIN;
}

rotary_status rope_attention_read(const struct rope_reader *reader, struct rope_config *config)
{
    rotary_status status = read_query_scale(reader, &config->query_scale);
    drop_magnitude(reader, &config->plan);
    config->unit_scale = reader->family.unit_scale && !is_ignored(reader, "model_type");
    if (!status)
        status = read_values(reader, &config->values);
    return status ? status : read_chunks(reader, config);
}
