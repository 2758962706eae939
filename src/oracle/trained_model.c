/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/trained_model.h"

#include "base/fail.h"
#include "model/encoding/model_encoding.h"
#include "rope_config/rope_reader.h"

rotary_status trained_model_read(const json_t *object, const char *where, const char *const *ignored,
                                 struct transformer_config *model, bool *trained_here, rotary_error *error)
{
    static const char *const keys[] = {"position", "rotate", "key_is_value", "value_fraction"};
    json_t *own = json_object();
    rotary_status status = own ? ROTARY_OK : rotary_fail_memory(error, "to read %s", where);
    for (size_t i = 0; !status && i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(object, keys[i]);
        if (value && !rope_reader_is_among(keys[i], ignored) && json_object_set(own, keys[i], value) != 0)
            status = rotary_fail_memory(error, "to read %s", where);
    }
    transformer_config_default(model);
    *trained_here = json_object_get(own, keys[0]) != NULL;
    struct settings settings[TRANSFORMER_SETTINGS];
    transformer_settings(model, settings);
    if (!status && *trained_here)
        status = settings_read(settings, TRANSFORMER_SETTINGS, own, where, error);
    json_decref(own);
    return status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status;
}

rotary_status trained_model_check(const json_t *object, const char *where, const char *const *ignored,
                                  rotary_error *error)
{
    bool trained_here;
    struct transformer_config model TRANSFORMER_CONFIG_LOCAL;
    rotary_status status = trained_model_read(object, where, ignored, &model, &trained_here, error);
    if (status || !trained_here || model_rotates(&model))
        return status;
    return rotary_fail(
        error, ROTARY_BAD_FILE,
        "%s: \"position\" is %s, with which layers rotate nothing; wanted one that rotates, or "
        "--ignore position",
        where, model_encoding_name(&model));
}
