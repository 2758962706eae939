/* SPDX-License-Identifier: Apache-2.0 */
#include "file/rope_keys.h"

#include "base/fail.h"
#include "file/settings.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What rope_config.c reads, wherever it stands. */
static const char *const read_keys[] = {
    "rope_type",
    "type",
    "rope_theta",
    "factor",
    "alpha",
    "attention_factor",
    "beta_fast",
    "beta_slow",
    "mscale",
    "mscale_all_dim",
    "short_mscale",
    "long_mscale",
    "low_freq_factor",
    "high_freq_factor",
    "original_max_position_embeddings",
    "max_position_embeddings",
    "n_positions",
    "truncate",
    "short_factor",
    "long_factor",
    "partial_rotary_factor",
    "rotary_pct",
    "rope_pct",
    "rotary_emb_fraction",
    "mrope_section",
    "mrope_interleaved",
    /* ours */
    "pairing",
    "span",
    "angles",
    "tables",
    "axes",
    "pair_factors",
    "inverse_frequencies",
    "xpos_scale",
    "xpos_origin",
    /* Known to change no angle: whether the model was tuned with its scaling, and what Mistral multiplies its
     * queries by, position by position, after the turn. */
    "finetuned",
    "llama_4_scaling_beta",
    NULL,
};

/* What is read beside the parameters only, and begins as if it were one of them. */
static const char *const read_beside[] = {
    "rope_scaling",           "rope_parameters", "rope_local_base_freq",
    "rope_interleave",        "rope_ratio",      "rotary_emb_base",
    "rotary_emb_interleaved", "rotary_dim",      NULL,
};

static bool is_among(const char *key, const char *const *keys)
{
    for (; *keys; keys++)
        if (strcmp(key, *keys) == 0)
            return true;
    return false;
}

static rotary_status refuse(const struct rope_reader *reader, const char *within, const char *key)
{
    const char *nearest = settings_nearest(key, read_keys);
    return rotary_fail(
        reader->error, ROTARY_BAD_FILE,
        "%s: %s%s%s has the key \"%.60s\", which is not known and may change the angles%s%s%s; "
        "wanted one that is known, or --ignore %.60s",
        reader->where, within ? "\"" : "the model", within ? within : "", within ? "\"" : "", key,
        nearest ? " (did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?)" : "", key);
}

rotary_status rope_keys_check(const struct rope_reader *reader, const char *const *ignored, int ignored_count)
{
    const json_t *const objects[] = {reader->top, reader->rope == reader->top ? NULL : reader->rope};
    for (int i = 0; i < 2; i++) {
        json_t *entries = (json_t *)(uintptr_t)objects[i]; /* jansson goes through none that is const */
        const char *key;
        json_t *value;
        json_object_foreach (entries, key, value) {
            bool beside = i == 0;
            bool concerns = !beside || strncmp(key, "rope", 4) == 0 || strncmp(key, "rotary", 6) == 0;
            bool known = is_among(key, read_keys) || (beside && is_among(key, read_beside));
            for (int j = 0; !known && j < ignored_count; j++)
                known = strcmp(key, ignored[j]) == 0;
            if (concerns && !known && !json_is_null(value))
                return refuse(reader, beside ? NULL : reader->rope_key, key);
        }
    }
    return ROTARY_OK;
}

/* As transformers, or the model's own code, turns its heads. */
static const char *const interleaved_types[] = {
    "gptj",          "codegen",       "roformer",    "chatglm",      "glm",          "glm4",
    "cohere",        "cohere2",       "ernie4_5",    "ernie4_5_moe", "helium",       "llama4",
    "llama4_text",   "deepseek_v2",   "deepseek_v3", "kimi_k2",      "deepseek_v32", "glm_moe_dsa",
    "glm4_moe_lite", "longcat_flash", "mistral4",    "youtu",        "glm4v",        "glm4v_text",
    "glm_ocr",       "glm_ocr_text",  NULL,
};

bool rope_keys_interleaved(const json_t *model_type)
{
    const char *name = json_string_value(model_type);
    return name && is_among(name, interleaved_types);
}

/* What the classes of these models take where the file is silent: Gemma 3's files have neither a head_dim nor
 * a rope_theta, and ChatGLM's code turns half a head whatever they say. */
static const struct rope_keys_defaults defaults[] = {
    {"chatglm", 0, 0, 0.5},       {"ernie4_5", 0, 5e5, 0},        {"gemma", 256, 0, 0},
    {"gemma2", 256, 0, 0},        {"gemma3", 256, 1e6, 0},        {"gemma3_text", 256, 1e6, 0},
    {"gemma3n", 256, 1e6, 0},     {"gemma3n_text", 256, 1e6, 0},  {"glm", 0, 0, 0.5},
    {"glm4", 0, 0, 0.5},          {"glm4_moe", 0, 0, 0.5},        {"gpt_neox", 0, 0, 0.25},
    {"gpt_oss", 64, 150000, 0},   {"helium", 0, 1e5, 0},          {"llama4_text", 0, 5e5, 0},
    {"mixtral", 0, 1e6, 0},       {"nemotron", 0, 0, 0.5},        {"persimmon", 0, 25000, 0.5},
    {"phi", 0, 0, 0.5},           {"phimoe", 0, 1e6, 0},          {"qwen2_vl", 0, 1e6, 0},
    {"qwen2_vl_text", 0, 1e6, 0}, {"qwen2_5_vl", 0, 1e6, 0},      {"qwen2_5_vl_text", 0, 1e6, 0},
    {"qwen3_next", 0, 0, 0.25},   {"recurrent_gemma", 0, 0, 0.5}, {"smollm3", 0, 2e6, 0},
    {"stablelm", 0, 0, 0.25},
};

struct rope_keys_defaults rope_keys_defaults_of(const json_t *model_type)
{
    const char *name = json_string_value(model_type);
    for (size_t i = 0; name && i < sizeof defaults / sizeof defaults[0]; i++)
        if (strcmp(name, defaults[i].model_type) == 0)
            return defaults[i];
    return (struct rope_keys_defaults){NULL, 0, 0, 0};
}
