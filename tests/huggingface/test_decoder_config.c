/* SPDX-License-Identifier: Apache-2.0
 *
 * config.json of Hugging Face decoders: the model that each describes, and what is refused, in one line.
 */
#include "support/check.h"

#include "huggingface/decoder_config.h"

#include <stdio.h>
#include <string.h>

#define SIZES                                                                                                \
    "\"vocab_size\":11,\"hidden_size\":16,\"num_hidden_layers\":3,\"num_attention_heads\":4,"                \
    "\"intermediate_size\":24"
#define MODEL(type) "{\"model_type\":\"" type "\"," SIZES

/* Reads a config.json; the settings of the model, which the caller releases, NULL where it is refused. */
static json_t *read_settings(const char *text, rotary_error *error)
{
    struct transformer_config model TRANSFORMER_CONFIG_LOCAL = {0};
    json_t *object = json_loads(text, 0, NULL), *family = NULL, *settings = NULL;
    if (!CHECK(object != NULL))
        return NULL;
    if (decoder_config_read(object, "config.json", &model, &family, error) == ROTARY_OK) {
        struct settings tables[TRANSFORMER_SETTINGS];
        transformer_settings(&model, tables);
        settings = json_object();
        CHECK_INT(settings_write(tables, TRANSFORMER_SETTINGS, settings, NULL), ROTARY_OK);
    }
    json_decref(family);
    json_decref(object);
    return settings;
}

/* Keys of this program's models, and the JSON of their values. */
struct wanted {
    const char *config;
    struct {
        const char *key, *value;
    } keys[6];
};
static const struct wanted accepted[] = {
    {MODEL("llama") "}",
     {{"norm_epsilon", "1e-6"},
      {"hidden_act", "\"swiglu\""},
      {"num_key_value_heads", "4"},
      {"attention_bias", "\"false\""},
      {"sliding_window", "0"},
      {"tie_word_embeddings", "false"}}},
    {MODEL("llama") ",\"rms_norm_eps\":1e-5,\"head_dim\":8,\"attention_bias\":true,\"rope_theta\":5e5,"
                    "\"architectures\":[\"LlamaForCausalLM\"],\"quantization_config\":null}",
     {{"norm_epsilon", "1e-5"},
      {"head_dim", "8"},
      {"attention_bias", "\"true\""},
      {"attention_output_bias", "\"true\""},
      {"rope_theta", "5e5"}}},
    {MODEL("mistral") ",\"sliding_window\":5,\"num_key_value_heads\":2}",
     {{"layer_types", "[\"sliding_attention\",\"sliding_attention\",\"sliding_attention\"]"},
      {"sliding_window", "5"},
      {"num_key_value_heads", "2"}}},
    {MODEL("mistral") ",\"sliding_window\":null,\"num_key_value_heads\":2}",
     {{"layer_types", "null"}, {"sliding_window", "0"}, {"norm_epsilon", "1e-6"}}},
    {MODEL("qwen2") ",\"num_key_value_heads\":4,\"sliding_window\":5}",
     {{"layer_types", "null"},
      {"sliding_window", "0"},
      {"attention_bias", "\"true\""},
      {"attention_output_bias", "\"bias\""},
      {"bias", "false"}}},
    {MODEL("qwen2") ",\"num_key_value_heads\":4,\"sliding_window\":5,\"use_sliding_window\":true,"
                    "\"max_window_layers\":2}",
     {{"layer_types", "[\"full_attention\",\"full_attention\",\"sliding_attention\"]"},
      {"sliding_window", "5"}}},
    {MODEL("gpt_neox") ",\"num_attention_heads\":2}",
     {{"partial_rotary_factor", "0.25"},
      {"parallel_residual", "\"two_norms\""},
      {"hidden_act", "\"gelu\""},
      {"norm", "\"layer_norm\""},
      {"output_bias", "\"false\""},
      {"attention_bias", "\"true\""}}},
    /* The length before scaling, beside the parameters and within them. */
    {MODEL("llama") ",\"original_max_position_embeddings\":64,\"rope_scaling\":{\"rope_type\":\"yarn\","
                    "\"factor\":2,"
                    "\"original_max_position_embeddings\":128}}",
     {{"rope_scaling", "{\"rope_type\":\"yarn\",\"factor\":2,\"original_max_position_embeddings\":64}"}}},
    {MODEL("llama") ",\"original_max_position_embeddings\":64,\"rope_scaling\":{\"type\":\"dynamic\","
                    "\"factor\":2,"
                    "\"original_max_position_embeddings\":128}}",
     {{"rope_scaling", "{\"type\":\"dynamic\",\"factor\":2}"}}},
    {MODEL("phi3") ",\"rope_scaling\":{\"type\":\"su\",\"original_max_position_embeddings\":128,"
                   "\"short_factor\":[1,1],\"long_factor\":[2,2]}}",
     {{"rope_scaling", "{\"type\":\"su\",\"original_max_position_embeddings\":4096,\"short_factor\":[1,1],"
                       "\"long_factor\":[2,2]}"}}},
    /* By layer type, "truncate" is read beside them, the length within them, and Gemma 3 has two bases. */
    {MODEL(
         "gemma3_text") ",\"head_dim\":4,\"num_key_value_heads\":2,\"sliding_window\":8,"
                        "\"original_max_position_embeddings\":64,\"rope_parameters\":{\"sliding_attention\":"
                        "null,\"rope_theta\":null,\"full_attention\":{\"rope_type\":\"yarn\",\"factor\":2,"
                        "\"truncate\":false}}}",
     {{"rope_parameters", "{\"sliding_attention\":{\"rope_theta\":1e4},\"rope_theta\":null,"
                          "\"full_attention\":{\"rope_type\":\"yarn\",\"factor\":2,\"rope_theta\":1e6}}"}}},
    /* Keys that transformers does not look at in this family. */
    {MODEL("gpt_neox") ",\"num_attention_heads\":2,\"rope_theta\":5.0,\"partial_rotary_factor\":0.5}",
     {{"rope_theta", "10000.0"}, {"partial_rotary_factor", "0.25"}}},
    {MODEL("gemma2") ",\"head_dim\":4,\"num_key_value_heads\":2,\"sliding_window_pattern\":3}",
     {{"layer_types", "[\"sliding_attention\",\"full_attention\",\"sliding_attention\"]"}}},
    {MODEL("gemma2") ",\"head_dim\":4,\"num_key_value_heads\":2,\"rope_local_base_freq\":50.0}",
     {{"rope_local_base_freq", "0"}}},
    {MODEL("mistral") ",\"num_key_value_heads\":2,\"sliding_window\":5,\"rope_local_base_freq\":50.0}",
     {{"rope_local_base_freq", "0"}}},
    {MODEL("gemma3_text") ",\"head_dim\":4,\"num_key_value_heads\":2,\"rope_local_base_freq\":50.0}",
     {{"rope_local_base_freq", "50.0"}}},
    {MODEL("gemma3_text") ",\"head_dim\":4,\"num_key_value_heads\":2,\"sliding_window_pattern\":3}",
     {{"layer_types", "[\"sliding_attention\",\"sliding_attention\",\"full_attention\"]"}}},
    /* Tokens see all others. */
    {MODEL("llama") ",\"is_causal\":false}", {{"architecture", "\"encoder\""}, {"position", "\"rope\""}}},
    {MODEL("llama") ",\"is_causal\":null}", {{"architecture", "\"encoder\""}}},
    {MODEL("llama") ",\"is_causal\":true}", {{"architecture", "\"decoder\""}}},
    {MODEL("qwen2") ",\"num_key_value_heads\":4,\"is_causal\":false}", {{"architecture", "\"encoder\""}}},
    {MODEL("gpt_neox") ",\"use_parallel_residual\":false,\"rotary_pct\":0.5,\"rotary_emb_base\":500}",
     {{"partial_rotary_factor", "0.5"}, {"parallel_residual", "\"no\""}, {"rope_theta", "500.0"}}},
};

static void test_accepted(void)
{
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        rotary_error error = {0};
        json_t *settings = read_settings(accepted[i].config, &error);
        check_about("%s", accepted[i].config);
        if (!CHECK(settings != NULL)) {
            printf("%s\n", error.message);
            continue;
        }
        for (int k = 0; k < 6 && accepted[i].keys[k].key; k++) {
            json_t *wanted = json_loads(accepted[i].keys[k].value, JSON_DECODE_ANY, NULL);
            json_t *got = json_object_get(settings, accepted[i].keys[k].key);
            bool same = json_is_number(wanted) ? json_number_value(got) == json_number_value(wanted)
                                               : json_equal(got, wanted);
            if (!CHECK(wanted && same))
                printf("%s\n", accepted[i].keys[k].key);
            json_decref(wanted);
        }
        json_decref(settings);
    }
}

static const struct {
    const char *config, *words;
    rotary_status status;
} refused[] = {
    {"{\"model_type\":\"mamba\"," SIZES "}", "config.json|\"model_type\" is mamba, wanted|llama",
     ROTARY_UNSUPPORTED},
    {"{" SIZES "}", "\"model_type\" is not there, wanted", ROTARY_UNSUPPORTED},
    {"{\"model_type\":\"gpt_oss\",\"num_local_experts\":32}",
     "\"model_type\" is gpt_oss, a mixture of experts (\"num_local_experts\" is 32), wanted a dense model: "
     "|llama",
     ROTARY_UNSUPPORTED},
    {"{\"model_type\":\"deepseek_v2\",\"n_routed_experts\":64}",
     "deepseek_v2, a mixture of experts (\"n_routed_experts\" is 64), wanted a dense model",
     ROTARY_UNSUPPORTED},
    {"{\"model_type\":\"deepseek_v3\",\"n_routed_experts\":256}",
     "deepseek_v3, a mixture of experts (\"n_routed_experts\" is 256), wanted a dense model",
     ROTARY_UNSUPPORTED},
    {"{\"model_type\":\"deepseek_v4\",\"n_routed_experts\":256}",
     "deepseek_v4, a mixture of experts (\"n_routed_experts\" is 256), wanted a dense model",
     ROTARY_UNSUPPORTED},
    {"{\"model_type\":\"llama4\",\"text_config\":{\"num_local_experts\":16}}",
     "llama4, a mixture of experts (\"num_local_experts\" is 16), wanted a dense model", ROTARY_UNSUPPORTED},
    {"{\"model_type\":\"deepseek_v2\",\"n_routed_experts\":null}",
     "\"model_type\" is deepseek_v2, wanted llama", ROTARY_UNSUPPORTED},
    {MODEL("llama") ",\"architectures\":[\"LlamaForSequenceClassification\"]}",
     "LlamaForSequenceClassification, wanted LlamaForCausalLM", ROTARY_UNSUPPORTED},
    {MODEL("llama") ",\"quantization_config\":{\"quant_method\":\"gptq\"}}",
     "quantised (gptq), wanted F32, F16 or BF16", ROTARY_UNSUPPORTED},
    {MODEL("llama") ",\"hidden_act\":\"relu\"}", "\"hidden_act\" is relu", ROTARY_UNSUPPORTED},
    {MODEL("llama") ",\"hidden_act\":3}", "\"hidden_act\" is no text", ROTARY_UNSUPPORTED},
    {MODEL("llama") ",\"num_key_value_heads\":3}", "config.json|num_key_value_heads 3", ROTARY_BAD_FILE},
    {MODEL("llama") ",\"head_dim\":\"8\"}", "config.json|\"head_dim\" is \"8\"", ROTARY_BAD_FILE},
    {MODEL("llama") ",\"rms_norm_eps\":-1}", "config.json: \"rms_norm_eps\" is -1", ROTARY_BAD_FILE},
    {MODEL("llama") ",\"rms_norm_eps\":0}", "config.json: \"rms_norm_eps\" is 0, wanted a number from",
     ROTARY_BAD_FILE},
    {MODEL("gpt_neox") ",\"layer_norm_eps\":0}", "\"layer_norm_eps\" is 0, wanted", ROTARY_BAD_FILE},
    {MODEL("gpt_neox") ",\"rotary_pct\":2}", "\"rotary_pct\" is 2, wanted", ROTARY_BAD_FILE},
    {MODEL("llama") ",\"is_causal\":0}", "\"is_causal\" is no boolean", ROTARY_BAD_FILE},
    {MODEL("mistral") ",\"num_key_value_heads\":4,\"is_causal\":false,\"sliding_window\":8}",
     "\"is_causal\" is false|\"sliding_window\" null", ROTARY_UNSUPPORTED},
    {MODEL("llama") ",\"partial_rotary_factor\":0.5}",
     "\"partial_rotary_factor\" is 0.5: models of this type rotate heads completely, wanted 1",
     ROTARY_UNSUPPORTED},
    {MODEL("gemma3_text") ",\"rope_parameters\":{\"full_attention\":{\"partial_rotary_factor\":0.5}}}",
     "\"partial_rotary_factor\" is 0.5", ROTARY_UNSUPPORTED},
    {MODEL("gemma3_text") ",\"rope_parameters\":{\"rope_type\":\"linear\",\"factor\":2}}",
     "\"rope_parameters\" has one rotation for all layers|an object for each layer type", ROTARY_UNSUPPORTED},
    {MODEL("llama") ",\"rope_parameters\":{\"full_attention\":{\"rope_theta\":5.0}}}",
     "\"rope_parameters\" has parameters by layer type", ROTARY_UNSUPPORTED},
    {MODEL("gemma2") ",\"use_bidirectional_attention\":true}", "\"use_bidirectional_attention\" is true",
     ROTARY_UNSUPPORTED},
    {MODEL("llama") ",\"per_layer_config\":{\"0\":{\"num_key_value_heads\":2}}}",
     "\"per_layer_config\" is {|layers have other sizes", ROTARY_UNSUPPORTED},
    {MODEL("qwen2") ",\"num_key_value_heads\":4,\"dual_chunk_attention_config\":{\"chunk_size\":4}}",
     "\"dual_chunk_attention_config\" is {", ROTARY_UNSUPPORTED},
    {MODEL("llama") ",\"rope_parameters\":{\"llama_4_scaling_beta\":0.1}}",
     "\"llama_4_scaling_beta\" is 0.1, wanted 0", ROTARY_BAD_FILE},
    {MODEL("phi3") ",\"num_key_value_heads\":4,\"sliding_window\":8,\"layer_types\":[\"full_attention\","
                   "\"sliding_attention\",\"sliding_attention\"]}",
     "\"layer_types\" has other layers than sliding_attention", ROTARY_UNSUPPORTED},
    {MODEL("llama") ",\"rope_scaling\":{\"rope_type\":\"spiral\"}}", "config.json|spiral", ROTARY_BAD_FILE},
    {MODEL("llama") ",\"rope_scaling\":[1]}", "config.json|\"rope_scaling\" is [1]", ROTARY_BAD_FILE},
    {MODEL("mistral") ",\"num_key_value_heads\":4,\"layer_types\":[\"sliding_attention\"]}",
     "layer_types has 1 entries, wanted 3", ROTARY_BAD_FILE},
    {MODEL("mistral") ",\"num_key_value_heads\":4,\"layer_types\":\"sliding_attention\"}", "\"layer_types\"",
     ROTARY_BAD_FILE},
    {MODEL("mistral") ",\"num_key_value_heads\":4,\"sliding_window\":-1}", "\"sliding_window\" is -1",
     ROTARY_BAD_FILE},
    {"{\"model_type\":\"llama\",\"hidden_size\":16}", "has no \"vocab_size\"", ROTARY_BAD_FILE},
    {"{\"model_type\":\"llama\",\"vocab_size\":11,\"hidden_size\":16,\"num_hidden_layers\":2000000000000,"
     "\"num_attention_heads\":4,\"intermediate_size\":24}",
     "\"num_hidden_layers\" is 2000000000000", ROTARY_BAD_FILE},
};

static void test_refused(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        rotary_error error = {0};
        json_t *settings = read_settings(refused[i].config, &error);
        check_about("%s", refused[i].config);
        CHECK(settings == NULL);
        CHECK_INT(error.status, refused[i].status);
        CHECK_WORDS(error.message, refused[i].words);
        CHECK(!strchr(error.message, '\n'));
        json_decref(settings);
    }
}

static void test_is(void)
{
    static const char *const others[] = {"{}", "{\"model_type\":\"bert\"}", "{\"model_type\":1}"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        json_t *object = json_loads(others[i], 0, NULL);
        check_about("%s", others[i]);
        CHECK(!decoder_config_is(object));
        json_decref(object);
    }
    json_t *object = json_loads(MODEL("llama") "}", 0, NULL);
    CHECK(decoder_config_is(object));
    json_decref(object);
}

int main(void)
{
    test_accepted();
    test_refused();
    test_is();
    return check_report();
}
