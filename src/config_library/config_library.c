/* SPDX-License-Identifier: Apache-2.0 */
#include "config_library/config_library.h"

#include "base/fail.h"
#include "file/file.h"
#include "huggingface/model_types.h"
#include "rope_config/rope_reader.h"

#include <stdlib.h>

struct rotary_config_rotation {
    struct rope_config config;
};

/* The file of a model that is trained here has the keys of a rotation, though other encodings rotate nothing. */
static rotary_status check_position(const json_t *object, const rotary_config_source *source,
                                    rotary_error *error)
{
    static const char *const rotate[] = {"rope", "roper", "xpos", NULL};
    const json_t *position = json_field_value(object, "position");
    const char *name = json_string_value(position);
    if (!position || rope_reader_is_among("position", source->ignored) ||
        (name && rope_reader_is_among(name, rotate)))
        return ROTARY_OK;
    const struct json_source file = {.path = source->name};
    return json_field_fail(&file, "position", position,
                           "rope, roper or xpos, or ignore position: layers rotate nothing with others",
                           error);
}

static rotary_status read_rotation(const json_t *object, const rotary_config_source *source,
                                   struct rope_config *config, rotary_error *error)
{
    const struct rope_config_request request = {.layer_type = source->layer_type,
                                                .ignored = source->ignored,
                                                .compat = source->compat,
                                                .layer_type_option = "layer_type",
                                                .ignore_option = "ignore",
                                                .find_family = model_types_find};
    rotary_status status = check_position(object, source, error);
    return status ? status : rope_config_parse(object, source->name, &request, config, error);
}

rotary_status rotary_config_rotation_create(rotary_config_rotation **rotation,
                                            const rotary_config_source *source, rotary_error *error)
{
    rotary_config_rotation *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "to read %s", source->name);
    json_t *object = NULL;
    rotary_status status = file_parse_json(source->name, source->text, source->bytes, &object, error);
    if (!status)
        status = read_rotation(object, source, &made->config, error);
    json_decref(object);
    if (status) {
        free(made);
        return status;
    }
    *rotation = made;
    return ROTARY_OK;
}

void rotary_config_rotation_destroy(rotary_config_rotation *rotation)
{
    if (rotation)
        rope_config_free(&rotation->config);
    free(rotation);
}

const rotary_rope_config *rotary_config_rotation_plan(const rotary_config_rotation *rotation)
{
    return &rotation->config.plan;
}

const char *rotary_config_rotation_unknown_type(const rotary_config_rotation *rotation)
{
    return rotation->config.unknown_type;
}
