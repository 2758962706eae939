/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/export_cases.h"

#include "base/fail.h"
#include "file/checksum/checksum.h"
#include "file/file.h"

#include <stdlib.h>

#define NEOX                                                                                                 \
    "\"norm\":\"layer_norm\",\"bias\":true,\"output_bias\":false,"                                           \
    "\"num_key_value_heads\":4"
#define GEMMA                                                                                                \
    "\"norm_position\":\"both\",\"hidden_act\":\"geglu_tanh\",\"scale_embedding\":true,"                     \
    "\"tie_word_embeddings\":true"
#define GEMMA3                                                                                               \
    "\"norm_position\":\"both\",\"hidden_act\":\"geglu_tanh\",\"scale_embedding\":true,"                     \
    "\"query_key_norm\":\"head\""
#define IRREGULAR                                                                                            \
    "\"num_hidden_layers\":4,\"sliding_window\":5,\"layer_types\":[\"sliding_attention\","                   \
    "\"full_attention\",\"sliding_attention\",\"sliding_attention\"]"
#define LISTS                                                                                                \
    "\"short_factor\":[1.0,1.25,1.5,2.0],\"long_factor\":[1.0,2.0,4.0,8.0],"                                 \
    "\"original_max_position_embeddings\":16"

const struct export_case export_cases[] = {
    {"llama", "{}", ROTARY_F32, true},
    {"llama_interleaved", "{\"pairing\":\"interleaved\",\"tie_word_embeddings\":true}", ROTARY_F32, true},
    {"llama_heads", "{\"num_key_value_heads\":4,\"head_dim\":16,\"rope_theta\":500.0}", ROTARY_F32, true},
    {"llama_bias", "{\"attention_bias\":\"true\",\"attention_output_bias\":\"true\",\"mlp_bias\":\"true\"}",
     ROTARY_F32, true},
    {"llama_bf16", "{\"pairing\":\"interleaved\"}", ROTARY_BF16, true},
    {"llama_f16", "{}", ROTARY_F16, true},
    {"linear", "{\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":4.0}}", ROTARY_F32, true},
    {"ntk", "{\"rope_scaling\":{\"rope_type\":\"ntk\",\"factor\":4.0}}", ROTARY_F32, true},
    {"dynamic", "{\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":4.0}}", ROTARY_F32, true},
    {"dynamic_longer",
     "{\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":4.0,\"original_max_position_embeddings\":16}}",
     ROTARY_F32, true},
    {"yarn",
     "{\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4.0,\"original_max_position_embeddings\":16}}",
     ROTARY_F32, true},
    {"yarn_own",
     "{\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4.0,\"original_max_position_embeddings\":16,"
     "\"beta_fast\":4.0,\"beta_slow\":0.5,\"attention_factor\":1.5,\"truncate\":false}}",
     ROTARY_F32, true},
    {"longrope", "{\"rope_scaling\":{\"rope_type\":\"longrope\"," LISTS "}}", ROTARY_F32, true},
    {"longrope_short",
     "{\"max_position_embeddings\":32,\"rope_scaling\":{\"rope_type\":\"longrope\",\"short_factor\":[1.0,1."
     "25,1.5,2.0],\"long_factor\":[1.0,2.0,4.0,8.0],\"original_max_position_embeddings\":32}}",
     ROTARY_F32, true},
    {"longrope_length",
     "{\"rope_sequence_length\":24,\"rope_scaling\":{\"rope_type\":\"longrope\",\"short_factor\":[1.0,1.25,1."
     "5,2.0],"
     "\"long_factor\":[1.0,2.0,4.0,8.0],\"original_max_position_embeddings\":32}}",
     ROTARY_F32, true},
    {"llama3",
     "{\"rope_theta\":100.0,\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8.0,\"low_freq_factor\":1."
     "0,\"high_freq_factor\":4.0,\"original_max_position_embeddings\":32}}",
     ROTARY_F32, true},
    {"rope_parameters",
     "{\"pairing\":\"interleaved\",\"rope_parameters\":{\"rope_type\":\"linear\",\"factor\":2.0,"
     "\"rope_theta\":123.0}}",
     ROTARY_F32, true},
    {"parameters_pairing",
     "{\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":123.0,\"pairing\":\"interleaved\"}}",
     ROTARY_F32, true},
    {"mistral", "{\"sliding_window\":7}", ROTARY_F32, false},
    {"qwen2", "{\"attention_bias\":\"true\"}", ROTARY_F32, true},
    {"qwen2_interleaved", "{\"attention_bias\":\"true\",\"pairing\":\"interleaved\"}", ROTARY_F32, true},
    {"qwen3", "{\"query_key_norm\":\"head\",\"pairing\":\"interleaved\",\"head_dim\":16}", ROTARY_F32, true},
    {"olmo2", "{\"query_key_norm\":\"all\",\"norm_position\":\"output\",\"pairing\":\"interleaved\"}",
     ROTARY_F32, true},
    {"phi3", "{\"partial_rotary_factor\":0.5}", ROTARY_F32, true},
    {"parameters_partial", "{\"rope_parameters\":{\"rope_theta\":123.0,\"partial_rotary_factor\":0.5}}",
     ROTARY_F32, true},
    {"phi3_longrope",
     "{\"partial_rotary_factor\":0.5,\"rope_scaling\":{\"rope_type\":\"longrope\",\"short_factor\":[1.0,1.25]"
     ","
     "\"long_factor\":[1.0,4.0],\"original_max_position_embeddings\":16}}",
     ROTARY_F32, true},
    {"phi3_llama3",
     "{\"partial_rotary_factor\":0.75,\"pairing\":\"interleaved\",\"rope_scaling\":{\"rope_type\":"
     "\"llama3\",\"factor\":8.0,\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,"
     "\"original_max_position_embeddings\":32}}",
     ROTARY_F32, true},
    {"gemma2",
     "{" GEMMA ",\"layer_types\":[\"sliding_attention\",\"full_attention\"],\"sliding_window\":7,"
     "\"attn_logit_softcapping\":2.0,\"final_logit_softcapping\":3.0}",
     ROTARY_F32, true},
    {"gemma2_full", "{" GEMMA ",\"query_pre_attn_scalar\":5.0}", ROTARY_F32, false},
    {"gemma3",
     "{" GEMMA3 "," IRREGULAR ",\"tie_word_embeddings\":true,\"query_pre_attn_scalar\":24.0,\"head_dim\":16,"
     "\"rope_theta\":90000.0,\"rope_local_base_freq\":500.0,"
     "\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":8.0}}",
     ROTARY_F32, false},
    {"gemma3_bf16",
     "{" GEMMA3 "," IRREGULAR
     ",\"tie_word_embeddings\":true,\"pairing\":\"interleaved\",\"rope_parameters\":{"
     "\"full_attention\":{\"rope_type\":\"linear\",\"factor\":8.0,\"rope_theta\":90000.0},"
     "\"sliding_attention\":{\"rope_type\":\"default\",\"rope_theta\":500.0}}}",
     ROTARY_BF16, false},
    {"gemma3_scalings",
     "{" GEMMA3 "," IRREGULAR ",\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"longrope\"," LISTS
     ",\"rope_theta\":90000.0},\"sliding_attention\":{\"rope_type\":\"yarn\",\"factor\":4.0,"
     "\"original_max_position_embeddings\":16,\"rope_theta\":500.0}}}",
     ROTARY_F32, false},
    {"gemma3_full",
     "{" GEMMA3
     ",\"final_logit_softcapping\":3.0,\"attention_bias\":\"true\",\"attention_output_bias\":\"true\","
     "\"rope_parameters\":{\"full_attention\":{\"rope_theta\":123.0}}}",
     ROTARY_F32, false},
    {"gemma3_sliding",
     "{" GEMMA3 ",\"sliding_window\":7,\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":4.0}}",
     ROTARY_F32, false},
    {"gemma3_one", "{" GEMMA3 "," IRREGULAR ",\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":4.0}}",
     ROTARY_F32, false},
    {"qwen2_yarn",
     "{\"attention_bias\":\"true\",\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4.0,"
     "\"original_max_position_embeddings\":16}}",
     ROTARY_F32, true},
    {"yarn_mscale",
     "{\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4.0,\"original_max_position_embeddings\":16,"
     "\"mscale\":0.7,\"mscale_all_dim\":1.5}}",
     ROTARY_F32, true},
    {"neox",
     "{" NEOX ",\"hidden_act\":\"gelu\",\"parallel_residual\":\"two_norms\",\"partial_rotary_factor\":0.5}",
     ROTARY_F32, true},
    {"neox_tanh", "{" NEOX ",\"hidden_act\":\"gelu_tanh\"}", ROTARY_F32, true},
    {"neox_sequential", "{" NEOX ",\"hidden_act\":\"gelu\",\"pairing\":\"interleaved\",\"rope_theta\":123.0}",
     ROTARY_F32, true},
};
const int export_case_count = sizeof export_cases / sizeof export_cases[0];

rotary_status export_case_configure(const struct export_case *row, struct transformer_config *config,
                                    rotary_error *error)
{
    static const char common[] =
        "{\"vocab_size\":40,\"hidden_size\":32,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
        "\"num_key_value_heads\":2,\"intermediate_size\":48,\"max_position_embeddings\":64,"
        "\"norm\":\"rms_norm\",\"hidden_act\":\"swiglu\",\"bias\":false}";
    const char *const texts[] = {common, row->settings};
    transformer_config_default(config);
    struct settings settings[TRANSFORMER_SETTINGS];
    transformer_settings(config, settings);
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < 2 && status == ROTARY_OK; i++) {
        json_t *object = json_loads(texts[i], 0, NULL);
        status = settings_read(settings, TRANSFORMER_SETTINGS, object, row->name, error);
        json_decref(object);
    }
    return status == ROTARY_OK ? transformer_config_check(config, error) : status;
}

/* 256ths from -0.5 to 0.5, of gains around 1, by a congruential generator. */
static rotary_status fill(struct parameters *parameters, rotary_error *error)
{
    uint32_t state = 1;
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < parameters->count && status == ROTARY_OK; i++) {
        const struct parameter *row = &parameters->rows[i];
        const int64_t count = parameter_elements(row);
        const float middle = row->initial == INITIAL_ONE ? 1.0f : 0.0f;
        float *values = malloc((size_t)count * sizeof *values);
        for (int64_t j = 0; values && j < count; j++) {
            state = state * 1664525u + 1013904223u;
            values[j] = middle + ((float)(state >> 24) - 128.0f) / 256.0f;
        }
        status = values ? parameters_write(parameters, parameter_range(parameters, PARAMETER_VALUES, i),
                                           values, error)
                        : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a parameter");
        free(values);
    }
    return status;
}

rotary_status export_case_make(const struct export_case *row, const struct backend *backend,
                               struct export_model *model, rotary_error *error)
{
    const struct transformer_limits limits = {.batch = 1, .time = EXPORT_TIME};
    rotary_status status = export_case_configure(row, &model->config, error);
    if (status == ROTARY_OK)
        status = transformer_create(&model->transformer, backend, &model->config, limits, 1, error);
    if (status != ROTARY_OK)
        return status;
    status = fill(transformer_parameters(model->transformer), error);
    if (status != ROTARY_OK)
        transformer_destroy(model->transformer);
    return status;
}

void export_case_tokens(int32_t tokens[EXPORT_TIME])
{
    for (int i = 0; i < EXPORT_TIME; i++)
        tokens[i] = (7 * i + i * i) % EXPORT_VOCABULARY;
}

rotary_status export_case_logits(const struct export_model *model, float *logits, rotary_error *error)
{
    int32_t tokens[EXPORT_TIME];
    export_case_tokens(tokens);
    const struct batch batch = {.input = {.batch = 1, .time = EXPORT_TIME, .tokens = tokens}};
    return transformer_logits(model->transformer, &batch, logits, error);
}

rotary_status export_case_write_vocabulary(const struct export_case *row, const struct export_model *model,
                                           enum export_format format, const char *path,
                                           const struct export_vocabulary *vocabulary, rotary_error *error)
{
    struct export_written written;
    const struct export_model_call call = {.where = row->name,
                                           .path = path,
                                           .name = row->name,
                                           .format = format,
                                           .dtype = row->dtype,
                                           .config = &model->config,
                                           .parameters = transformer_parameters(model->transformer),
                                           .vocabulary = vocabulary};
    return export_model_write(&call, &written, error);
}

rotary_status export_case_write(const struct export_case *row, const struct export_model *model,
                                enum export_format format, const char *path, rotary_error *error)
{
    struct export_vocabulary vocabulary = {.begin = 1, .end = 2, .padding = -1};
    if (format == EXPORT_GGUF)
        vocabulary.metadata = json_pack("{s:s}", "tokenizer.ggml.model", "no_vocab");
    rotary_status status = export_case_write_vocabulary(row, model, format, path, &vocabulary, error);
    export_vocabulary_free(&vocabulary);
    return status;
}

rotary_status export_case_checksum(const char *path, uint64_t *checksum, rotary_error *error)
{
    char *bytes;
    size_t count;
    struct checksum sum;
    rotary_status status = file_read(path, 1 << 24, &bytes, &count, error);
    if (status != ROTARY_OK)
        return status;
    checksum_start(&sum);
    checksum_add(&sum, bytes, count);
    *checksum = checksum_finish(&sum);
    free(bytes);
    return ROTARY_OK;
}
