/* SPDX-License-Identifier: Apache-2.0
 *
 * Exported models against transformers: the bytes of the files are those that exports.py compared, and the
 * logits of the models are those that transformers computed from them. And what is refused.
 */
#include "backend/backend.h"
#include "file/file.h"
#include "huggingface/decoder_config.h"
#include "huggingface/decoder_weights.h"
#include "huggingface/export_cases.h"
#include "support/check.h"
#include "support/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct export_golden {
    const char *name;
    uint64_t folder, gguf;
    double logits[16];
};
#include "huggingface/export_goldens.h"

enum { SHOWN = sizeof export_goldens[0].logits / sizeof export_goldens[0].logits[0] };

static struct backend backend;

static void require(rotary_status status, const rotary_error *error)
{
    if (!CHECK(status == ROTARY_OK))
        printf("%s\n", error->message);
}

static const struct export_golden *golden_of(const char *name)
{
    for (size_t i = 0; i < sizeof export_goldens / sizeof export_goldens[0]; i++)
        if (strcmp(export_goldens[i].name, name) == 0)
            return &export_goldens[i];
    return NULL;
}

/* ---- what is written ---- */

static void check_checksum(const char *path, uint64_t wanted)
{
    uint64_t sum = 0;
    rotary_error error = {0};
    require(export_case_checksum(path, &sum, &error), &error);
    CHECK(sum == wanted);
}

/* ---- reading it back ---- */

/* The folder as this program reads Hugging Face decoders. */
static rotary_status read_back(const char *folder, struct export_model *model, rotary_error *error)
{
    const struct transformer_limits limits = {.batch = 1, .time = EXPORT_TIME};
    char path[300];
    json_t *object = NULL, *family = NULL;
    snprintf(path, sizeof path, "%s/config.json", folder);
    rotary_status status = file_read_json(path, &object, error);
    if (status == ROTARY_OK)
        status = decoder_config_read(object, path, &model->config, &family, error);
    json_decref(object);
    model->config.rope_sequence_length = EXPORT_TIME; /* as transformers scales them */
    if (status == ROTARY_OK)
        status = transformer_create(&model->transformer, &backend, &model->config, limits, 2, error);
    const struct decoder_weights_call call = {.folder = folder, .family = family, .model = &model->config};
    if (status == ROTARY_OK)
        status = decoder_weights_load(transformer_parameters(model->transformer), &call, error);
    json_decref(family);
    return status;
}

/* Logits of the folder's model are those of the model that was exported, but for rounded weights. */
static void check_read_back(const struct export_case *row, const struct export_model *model,
                            const char *folder)
{
    float wanted[EXPORT_TIME * EXPORT_VOCABULARY], got[EXPORT_TIME * EXPORT_VOCABULARY];
    struct export_model back = {0};
    rotary_error error = {0};
    rotary_status status = read_back(folder, &back, &error);
    require(status, &error);
    if (status != ROTARY_OK)
        return;
    require(export_case_logits(model, wanted, &error), &error);
    require(export_case_logits(&back, got, &error), &error);
    for (int i = 0; i < EXPORT_TIME * EXPORT_VOCABULARY; i++)
        CHECK_NEAR(got[i], wanted[i], row->dtype == ROTARY_BF16 ? 0.1 : 3e-5);
    transformer_destroy(back.transformer);
    transformer_config_free(&back.config);
}

static void check_files(const struct export_case *row, const struct export_model *model,
                        const struct export_golden *golden)
{
    char folder[256], name[300];
    rotary_error error = {0};
    snprintf(folder, sizeof folder, "%s", scratch_path(row->name));
    require(export_case_write(row, model, EXPORT_HUGGINGFACE, folder, &error), &error);
    snprintf(name, sizeof name, "%s/model.safetensors", folder);
    check_checksum(name, golden->folder);
    check_read_back(row, model, folder);
    snprintf(name, sizeof name, "%s.next", folder);
    CHECK(!file_exists(name));
    CHECK(export_case_write(row, model, EXPORT_HUGGINGFACE, folder, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "is there already|wanted a name for a folder that is not");
    snprintf(name, sizeof name, "%s.gguf", folder);
    rotary_status status = export_case_write(row, model, EXPORT_GGUF, name, &error);
    if (row->gguf) {
        require(status, &error);
        check_checksum(name, golden->gguf);
    } else {
        CHECK(status == ROTARY_UNSUPPORTED && golden->gguf == 0);
    }
}

/* Gains of bfloat16 are rounded, which the model that was exported does not see. */
static void check_logits(const struct export_case *row, const struct export_model *model,
                         const struct export_golden *golden)
{
    float logits[EXPORT_TIME * EXPORT_VOCABULARY];
    rotary_error error = {0};
    require(export_case_logits(model, logits, &error), &error);
    for (int i = 0; i < SHOWN; i++)
        CHECK_NEAR(logits[(EXPORT_TIME - 1) * EXPORT_VOCABULARY + i], golden->logits[i],
                   row->dtype == ROTARY_BF16 ? 0.1 : 5e-5);
}

static void test_case(const struct export_case *row)
{
    const struct export_golden *golden = golden_of(row->name);
    struct export_model model;
    rotary_error error = {0};
    check_about("%s", row->name);
    if (!CHECK(golden != NULL))
        return;
    require(export_case_make(row, &backend, &model, &error), &error);
    check_logits(row, &model, golden);
    check_files(row, &model, golden);
    transformer_destroy(model.transformer);
    transformer_config_free(&model.config);
}

/* ---- what is refused ---- */

struct refusal {
    const char *settings;
    enum export_format format;
    const char *words; /* of the message */
};
#define GEMMA2 "\"norm_position\":\"both\",\"hidden_act\":\"geglu_tanh\",\"scale_embedding\":true"
#define GEMMA3 GEMMA2 ",\"query_key_norm\":\"head\""
#define MIXED  "\"layer_types\":[\"full_attention\",\"sliding_attention\"],\"sliding_window\":8"
static const struct refusal refusals[] = {
    {"{\"position\":\"roper\"}", EXPORT_HUGGINGFACE,
     "case: position is \"roper\"|Hugging Face|wanted \"rope\""},
    {"{\"position\":\"roper\"}", EXPORT_GGUF, "case: position is \"roper\"|llama.cpp|wanted \"rope\""},
    {"{\"position\":\"shaw\"}", EXPORT_HUGGINGFACE, "position is \"shaw\""},
    {"{\"position\":\"learned\"}", EXPORT_GGUF, "position is \"learned\""},
    {"{\"position\":\"none\"}", EXPORT_HUGGINGFACE, "position is \"none\""},
    {"{\"position\":{\"name\":\"mine\",\"rotate\":[\"query\",\"key\"]}}", EXPORT_HUGGINGFACE,
     "position is {|wanted \"rope\""},
    {"{\"architecture\":\"encoder\"}", EXPORT_HUGGINGFACE, "architecture is \"encoder\"|decoders alone"},
    {"{\"norm\":\"layer_norm\"}", EXPORT_HUGGINGFACE, "norm is \"layer_norm\"|wanted \"rms_norm\""},
    {"{\"norm_position\":\"post\"}", EXPORT_HUGGINGFACE, "norm_position is \"post\"|wanted \"pre\""},
    {"{\"hidden_act\":\"relu\"}", EXPORT_GGUF, "hidden_act is \"relu\"|wanted \"swiglu\""},
    {"{\"output_bias\":\"true\"}", EXPORT_HUGGINGFACE, "output_bias is true|wanted false"},
    {"{\"partial_rotary_factor\":0.5,\"attention_bias\":\"true\"}", EXPORT_HUGGINGFACE,
     "partial_rotary_factor is 0.5|wanted 1"},
    {"{\"scale_embedding\":true}", EXPORT_HUGGINGFACE, "scale_embedding is true|wanted false"},
    {"{\"attention_sinks\":true}", EXPORT_HUGGINGFACE, "attention_sinks is true|wanted false"},
    {"{\"attention_sinks\":true}", EXPORT_GGUF, "attention_sinks is true|wanted false"},
    {"{\"key_is_value\":true}", EXPORT_HUGGINGFACE, "key_is_value is \"true\"|wanted \"false\""},
    {"{\"key_is_value\":true}", EXPORT_GGUF, "key_is_value is \"true\"|wanted \"false\""},
    {"{\"randomized_positions\":128}", EXPORT_HUGGINGFACE, "randomized_positions is 128|wanted 0"},
    {"{\"no_rope_layers\":[1,0]}", EXPORT_HUGGINGFACE, "no_rope_layers is [1, 0]|wanted null"},
    {"{\"layer_types\":[\"full_attention\",\"sliding_attention\"],\"sliding_window\":8}", EXPORT_HUGGINGFACE,
     "layer_types is [\"full_attention\""},
    {"{\"sliding_window\":8}", EXPORT_GGUF, "sliding_window is 8|llama.cpp|wanted 0"},
    {"{\"attention_output_bias\":\"true\"}", EXPORT_HUGGINGFACE,
     "attention_output_bias is true|wanted false"},
    {"{\"hidden_size\":30,\"head_dim\":8}", EXPORT_HUGGINGFACE,
     "hidden_size is 30|wanted a multiple of num_attention_heads"},
    {"{\"norm\":\"layer_norm\",\"hidden_act\":\"gelu\",\"bias\":true,\"output_bias\":\"false\"}", EXPORT_GGUF,
     "num_key_value_heads is 2|wanted num_attention_heads"},
    {"{\"norm_position\":\"both\",\"hidden_act\":\"geglu_tanh\",\"scale_embedding\":true,\"tie_word_"
     "embeddings\":true,"
     "\"attn_logit_softcapping\":2.0,\"final_logit_softcapping\":3.0}",
     EXPORT_GGUF, "layer_types is null|every other layer|wanted sliding_attention, full_attention and so on"},
    {"{\"norm_position\":\"both\",\"hidden_act\":\"geglu_tanh\",\"scale_embedding\":true,\"query_pre_attn_"
     "scalar\":"
     "5.5}",
     EXPORT_HUGGINGFACE, "query_pre_attn_scalar is 5.5|wanted a whole number"},
    {"{" GEMMA3 "}", EXPORT_GGUF,
     "case: a model of type gemma3_text is not exported to llama.cpp|wanted --format huggingface"},
    {"{" GEMMA3 ",\"attn_logit_softcapping\":2.0,\"rope_local_base_freq\":500.0," MIXED "}",
     EXPORT_HUGGINGFACE, "attn_logit_softcapping is 2|wanted 0"},
    {"{" GEMMA3 "," MIXED ",\"rope_parameters\":{\"full_attention\":{\"rope_theta\":1e4},"
     "\"sliding_attention\":null}}",
     EXPORT_HUGGINGFACE, "case: nothing is rotated, wanted a rotation of all layers"},
    {"{" GEMMA3 "," MIXED ",\"rope_parameters\":{\"full_attention\":{\"rope_theta\":1e4},"
     "\"sliding_attention\":{\"rope_theta\":1e4,\"pairing\":\"interleaved\"}}}",
     EXPORT_HUGGINGFACE,
     "case: rope_parameters of full_attention and of sliding_attention differ in the channels"},
    {"{" GEMMA2 "," MIXED ",\"rope_parameters\":{\"full_attention\":{\"rope_theta\":1e4},"
     "\"sliding_attention\":{\"rope_theta\":5e2}}}",
     EXPORT_HUGGINGFACE,
     "case: rope_parameters of full_attention and of sliding_attention differ, which|type gemma2|the same "
     "for both"},
    {"{\"rope_parameters\":{\"rope_theta\":1e4,\"partial_rotary_factor\":0.5},\"attention_bias\":\"true\"}",
     EXPORT_HUGGINGFACE, "partial_rotary_factor is 0.5|wanted 1"},
    {"{\"rope_scaling\":{\"rope_type\":\"proportional\",\"factor\":2.0}}", EXPORT_HUGGINGFACE,
     "case: rope_type is proportional"},
    {"{\"rope_parameters\":{\"rope_theta\":1e4,\"pair_factors\":[1.0,2.0,3.0,4.0]}}", EXPORT_GGUF,
     "pair_factors"},
};

/* Models of this type have no factors of frequencies in llama.cpp. */
static void test_factors(void)
{
    const struct export_case row = {
        .name = "case",
        .settings =
            "{\"attention_bias\":\"true\",\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8.0,"
            "\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,\"original_max_position_embeddings\":32}}"};
    struct export_model model;
    rotary_error error = {0};
    check_about("factors");
    require(export_case_make(&row, &backend, &model, &error), &error);
    CHECK(export_case_write(&row, &model, EXPORT_GGUF, scratch_path("factors.gguf"), &error) ==
          ROTARY_UNSUPPORTED);
    CHECK_WORDS(error.message,
                "case: rope_type is llama3|models of type qwen2|wanted linear, dynamic, or yarn");
    CHECK(!file_exists(scratch_path("factors.gguf")));
    transformer_destroy(model.transformer);
    transformer_config_free(&model.config);
}

static void test_refusal(const struct refusal *refusal)
{
    const struct export_case row = {.name = "case", .settings = refusal->settings};
    struct transformer_config config TRANSFORMER_CONFIG_LOCAL = {0};
    rotary_error error = {0};
    check_about("%s", refusal->settings);
    require(export_case_configure(&row, &config, &error), &error);
    const struct export_model_call call = {
        .where = "case", .path = "unused", .name = "case", .format = refusal->format, .config = &config};
    CHECK(export_model_check(&call, &error) == ROTARY_UNSUPPORTED);
    CHECK_WORDS(error.message, refusal->words);
}

/* Layers that are all of one type are as if no type was given. */
static void test_layer_types(void)
{
    static const char *const settings[] = {
        "{\"layer_types\":[\"sliding_attention\",\"sliding_attention\"],\"sliding_window\":7}",
        "{\"layer_types\":[\"full_attention\",\"full_attention\"],\"sliding_window\":0}"};
    for (int i = 0; i < 2; i++) {
        const struct export_case row = {.name = "case", .settings = settings[i]};
        struct transformer_config config TRANSFORMER_CONFIG_LOCAL = {0};
        rotary_error error = {0};
        check_about("%s", settings[i]);
        require(export_case_configure(&row, &config, &error), &error);
        const struct export_model_call call = {
            .where = "case", .path = "unused", .name = "case", .config = &config};
        require(export_model_check(&call, &error), &error);
    }
}

int main(void)
{
    rotary_error error = {0};
    require(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, &error), &error);
    CHECK_INT(sizeof export_goldens / sizeof export_goldens[0], export_case_count);
    for (int i = 0; i < export_case_count; i++)
        test_case(&export_cases[i]);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        test_refusal(&refusals[i]);
    test_factors();
    test_layer_types();
    backend_destroy(&backend);
    return check_report();
}
