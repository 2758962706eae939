/* SPDX-License-Identifier: Apache-2.0
 *
 * A configuration of which no channel rotates, by whatever key, is refused: it is not taken for one of which
 * all channels do, which is what 0 means to the library.
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
};

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rope_config_request request = {.find_family = model_types_find};
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
        json_decref(object);
    }
    return check_report();
}
