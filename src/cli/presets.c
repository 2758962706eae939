/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/presets.h"

#include "file/file.h"

#include <stdio.h>
#include <string.h>

rotary_status preset_parse(const struct preset *preset, char where[PRESET_WHERE_BYTES], json_t **object,
                           rotary_error *error)
{
    snprintf(where, PRESET_WHERE_BYTES, "preset %s/%s", preset->task, preset->name);
    return file_parse_json(where, preset->text, strlen(preset->text), object, error);
}
