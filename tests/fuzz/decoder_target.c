/* SPDX-License-Identifier: Apache-2.0
 *
 * The config.json of a Hugging Face decoder, and the index of its weights.
 */
#include "file/file.h"
#include "fuzz/target.h"
#include "huggingface/decoder_config.h"
#include "huggingface/weight_files.h"
#include "model/config_check.h"

#include <string.h>

static bool read_decoder(const char *path)
{
    rotary_error error = {0};
    json_t *object, *family;
    struct transformer_config model;
    if (fuzz_refused(file_read_json(path, &object, &error), &error))
        return false;
    const bool accepted = !fuzz_refused(decoder_config_read(object, path, &model, &family, &error), &error);
    if (accepted != (accepted && decoder_config_is(object)))
        fuzz_fail("what is read as a decoder is none");
    json_decref(object);
    if (!accepted)
        return false;
    struct settings settings[TRANSFORMER_SETTINGS];
    transformer_settings(&model, settings);
    if (settings_check(settings, TRANSFORMER_SETTINGS, NULL, &error) != ROTARY_OK ||
        transformer_config_check(&model, &error) != ROTARY_OK)
        fuzz_fail("an accepted decoder is no model: %s", error.message);
    if (!json_is_object(json_object_get(family, "tensors")))
        fuzz_fail("a family without names of its tensors");
    json_decref(family);
    transformer_config_free(&model);
    return true;
}

static const char *const decoder_words[] = {"\"model_type\"",
                                            "\"llama\"",
                                            "\"mistral\"",
                                            "\"qwen2\"",
                                            "\"gemma3_text\"",
                                            "\"gpt_neox\"",
                                            "\"phi3\"",
                                            "\"architectures\"",
                                            "\"hidden_size\"",
                                            "\"num_hidden_layers\"",
                                            "\"num_key_value_heads\"",
                                            "\"hidden_act\"",
                                            "\"silu\"",
                                            "\"layer_types\"",
                                            "\"sliding_attention\"",
                                            "\"sliding_window\"",
                                            "\"sliding_window_pattern\"",
                                            "\"use_sliding_window\"",
                                            "\"max_window_layers\"",
                                            "\"rope_scaling\"",
                                            "\"rope_parameters\"",
                                            "\"rope_type\"",
                                            "\"longrope\"",
                                            "\"original_max_position_embeddings\"",
                                            "\"quantization_config\"",
                                            "16777216",
                                            "1e-6",
                                            "null",
                                            "true",
                                            "false",
                                            "{",
                                            "}",
                                            "[",
                                            "]",
                                            ":",
                                            ",",
                                            NULL};

const struct fuzz_target fuzz_decoder = {.name = "decoder", .read = read_decoder, .words = decoder_words};

static bool read_index(const char *path)
{
    rotary_error error = {0};
    struct weight_index index;
    if (fuzz_refused(weight_index_read(&index, path, &error), &error))
        return false;
    for (int i = 0; i < index.count; i++)
        if (strchr(index.names[i], '/'))
            fuzz_fail("an index names a file of another folder: %s", index.names[i]);
    if (index.count < 1 || (size_t)index.count > json_object_size(index.map))
        fuzz_fail("an index of %d files", index.count);
    json_decref(index.object);
    return true;
}

static const char *const index_words[] = {
    "\"weight_map\"", "\"metadata\"", ".safetensors", "/", "..", "{", "}", ":", ",", "null", NULL};

const struct fuzz_target fuzz_shards = {.name = "shards", .read = read_index, .words = index_words};
