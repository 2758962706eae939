/* SPDX-License-Identifier: Apache-2.0
 *
 * Configurations that are refused since what they say would be lost. One of which no channel rotates is not taken for
 * one of which all channels do, which is what 0 means to the library; two names of one thing have one value; and a key
 * stands where it is read.
 */
#include "file/file.h"
#include "huggingface/model_types.h"
#include "rope_config/rope_config.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *text, *message;
} cases[] = {
    {"{\"head_dim\": 8, \"partial_rotary_factor\": 0}", "\"partial_rotary_factor\" is 0, wanted"},
    {"{\"head_dim\": 8, \"rotary_pct\": 0.0}", "\"rotary_pct\" is 0.0, wanted"},
    {"{\"head_dim\": 8, \"rope_pct\": 0}", "\"rope_pct\" is 0, wanted"},
    {"{\"head_dim\": 8, \"rotary_emb_fraction\": 0}", "\"rotary_emb_fraction\" is 0, wanted"},
    {"{\"head_dim\": 8, \"partial_rotary_factor\": 0.1}", "0 of a head's 8 channels would rotate"},
    {"{\"head_dim\": 8, \"rotary_dim\": 0}", "\"rotary_dim\" is 0, wanted a whole number from 2 up"},
    {"{\"head_dim\": 8, \"rope_parameters\": {\"rope_type\": \"default\", \"partial_rotary_factor\": 0}}",
     "\"partial_rotary_factor\" is 0, wanted"},
    {"{\"head_dim\": 8, \"rope_parameters\": {\"rope_type\": \"proportional\", \"partial_rotary_factor\": "
     "0}}",
     "\"partial_rotary_factor\" is 0, wanted"},
    /* Heads of two parts. */
    {"{\"head_dim\": 8, \"qk_nope_head_dim\": 8, \"qk_rope_head_dim\": 0}",
     "\"qk_rope_head_dim\" is 0, wanted a whole number from 2 up: no channel rotates"},
    {"{\"model_type\": \"deepseek_v3\", \"qk_rope_head_dim\": 0}", "\"qk_rope_head_dim\" is 0, wanted"},
    {"{\"model_type\": \"deepseek_v3\", \"head_dim\": 8, \"qk_rope_head_dim\": 0, \"use_mla\": true}",
     "\"qk_rope_head_dim\" is 0, wanted"},
    /* Numbers of a scaling are read where it is, and where it has them. */
    {"{\"head_dim\": 8, \"factor\": 2, \"rope_scaling\": {\"type\": \"linear\"}}",
     "\"rope_scaling\" has no \"factor\", which rope_type linear needs"},
    {"{\"head_dim\": 8, \"low_freq_factor\": 2, \"high_freq_factor\": 9, \"rope_scaling\": {\"type\": "
     "\"llama3\", \"factor\": 8, \"original_max_position_embeddings\": 8192}}",
     "\"rope_scaling\" has no \"low_freq_factor\", which rope_type llama3 needs"},
    {"{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2, \"attention_factor\": "
     "2}}",
     "\"attention_factor\" is 2, wanted 1, or --ignore attention_factor: of yarn and longrope"},
    {"{\"head_dim\": 8, \"rope_parameters\": {\"rope_theta\": 9, \"attention_factor\": 0.5}}",
     "\"attention_factor\" is 0.5, wanted 1"},
    /* Two names of one thing, with two values. */
    {"{\"head_dim\": 8, \"partial_rotary_factor\": 0.25, \"rotary_pct\": 0.5}",
     "\"rotary_pct\" is 0.5, wanted the same as \"partial_rotary_factor\", or --ignore rotary_pct"},
    {"{\"head_dim\": 8, \"partial_rotary_factor\": 0.75, \"rotary_dim\": 4}",
     "\"rotary_dim\" is 4, wanted the channels that the share of a head beside it makes"},
    {"{\"model_type\": \"gpt_neox\", \"head_dim\": 8, \"rotary_emb_base\": 10000, \"rope_theta\": "
     "500000}",
     "\"rotary_emb_base\" is 10000, wanted the same as \"rope_theta\""},
    {"{\"head_dim\": 8, \"rope_scaling\": {\"rope_type\": \"default\", \"rotary_pct\": 0.5}}",
     "\"rope_scaling\" has the key \"rotary_pct\", which is not known"},
    /* Beside the parameters of layer types. */
    {"{\"head_dim\": 8, \"rope_parameters\": {\"full_attention\": {\"rope_theta\": 2}, \"rope_type\": "
     "\"yarn\", \"factor\": 8, \"original_max_position_embeddings\": 64}}",
     "\"rope_type\" is \"yarn\", wanted it among the parameters of each layer type"},
    {"{\"head_dim\": 8, \"rope_parameters\": {\"full_attention\": {}, \"rope_theta\": 99}}",
     "\"rope_theta\" is 99, wanted it among the parameters of each layer type, or --ignore rope_theta"},
    {"{\"head_dim\": 8, \"rope_type\": \"default\", \"partial_rotary_factor\": 0.5, \"rotary_pct\": 0.25}",
     "\"rotary_pct\" is 0.25, wanted the same as \"partial_rotary_factor\""},
    {"{\"head_dim\": 8, \"rope_type\": \"default\", \"rope_theta\": 5, \"rotary_emb_base\": 7}",
     "\"rotary_emb_base\" is 7, wanted the same as \"rope_theta\""},
    {"{\"model_type\": \"nemotron\", \"head_dim\": 16, \"rope_percent\": 0.25, \"partial_rotary_factor\": 1}",
     "\"rope_percent\" is 0.25, wanted the same as \"partial_rotary_factor\""},
};

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rope_config_request request = {.find_family = model_types_find};
        struct rope_config config = {0};
        rotary_error error = {0};
        json_t *object = NULL;
        check_about("%s", cases[i].text);
        if (!CHECK_INT(file_parse_json("the case", cases[i].text, strlen(cases[i].text), &object, &error),
                       ROTARY_OK))
            continue;
        CHECK_INT(rope_config_parse(object, "config.json", &request, &config, &error), ROTARY_BAD_FILE);
        if (!CHECK(strstr(error.message, cases[i].message)))
            printf("  %s\n", error.message);
        request.of_settings = true; /* which no option leaves out */
        CHECK_INT(rope_config_parse(object, "config.json", &request, &config, &error), ROTARY_BAD_FILE);
        CHECK(!strstr(error.message, "ignore"));
        json_decref(object);
    }
    return check_report();
}
