/* SPDX-License-Identifier: Apache-2.0
 *
 * The config.json of a Hugging Face BERT or RoFormer.
 */
#include "file/file.h"
#include "fuzz/target.h"
#include "huggingface/encoder_config.h"
#include "model/config_check.h"

static bool read_encoder(const char *path)
{
    rotary_error error = {0};
    json_t *object;
    struct encoder_config config;
    struct transformer_config model;
    if (fuzz_refused(file_read_json(path, &object, &error), &error))
        return false;
    const bool accepted = encoder_config_is(object) &&
                          !fuzz_refused(encoder_config_read(&config, object, path, &error), &error);
    json_decref(object);
    if (!accepted)
        return false;
    encoder_config_model(&config, &model);
    const bool heads_fit = config.hidden_size / config.num_attention_heads <= TRANSFORMER_MAX_HEAD_DIM;
    if (transformer_config_check(&model, &error) != ROTARY_OK && heads_fit)
        fuzz_fail("an accepted encoder is no model: %s", error.message);
    return true;
}

static const char *const encoder_words[] = {"\"model_type\"",
                                            "\"bert\"",
                                            "\"roformer\"",
                                            "\"architectures\"",
                                            "\"BertForSequenceClassification\"",
                                            "\"id2label\"",
                                            "\"problem_type\"",
                                            "\"regression\"",
                                            "\"hidden_act\"",
                                            "\"relu\"",
                                            "\"hidden_size\"",
                                            "\"num_attention_heads\"",
                                            "\"rotary_value\"",
                                            "\"layer_norm_eps\"",
                                            "1e-12",
                                            "16777216",
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

const struct fuzz_target fuzz_huggingface = {
    .name = "huggingface", .read = read_encoder, .words = encoder_words};
