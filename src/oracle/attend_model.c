/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/attend_model.h"

#include "base/fail.h"
#include "layer/sublayer.h"
#include "model/encoding/model_encoding.h"
#include "oracle/trained_model.h"
#include "rope_config/rope_reader.h"

/* Values that are keys rotate with them. */
static unsigned as_rotated(unsigned rotate, bool key_is_value)
{
    const unsigned both = ROTARY_ROTATE_KEY | ROTARY_ROTATE_VALUE;
    return key_is_value && (rotate & both) ? rotate | both : rotate;
}

static rotary_status check_rotated(const struct attend_config *config, unsigned wanted, const char *key,
                                   rotary_error *error)
{
    if (as_rotated(config->rotate, config->key_is_value) == as_rotated(wanted, config->key_is_value))
        return ROTARY_OK;
    if (wanted == 0)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s: layers of this model rotate nothing; wanted no --rope, or --ignore %s",
                           config->rotation.config, key);
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s: layers of this model rotate %s; wanted --rotate %s, or --ignore %s",
                       config->rotation.config, rotate_names[wanted], rotate_names[wanted], key);
}

/* ---- models that are trained here ---- */

static bool is_ignored(const struct attend_config *config, const char *key)
{
    return rope_reader_is_among(key, config->rotation.ignored);
}

static rotary_status check_shared(const struct attend_config *config, const struct transformer_config *model,
                                  rotary_error *error)
{
    const bool rotated = model->key_is_value == KEY_IS_VALUE_ROTATED;
    if (is_ignored(config, "key_is_value") || rotated == config->key_is_value)
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_BAD_FILE, "%s: values of this model are %s; wanted %s, or --ignore key_is_value",
        config->rotation.config,
        rotated ? "its rotated keys"
                : (model->key_is_value == KEY_IS_VALUE_UNROTATED ? "its keys before they rotate"
                                                                 : "not its keys"),
        rotated ? "--key-is-value" : "--value FILE");
}

/* Values rotate here as many channels as queries do. */
static rotary_status check_fraction(const struct attend_config *config,
                                    const struct transformer_config *model, const rotary_rope_config *plan,
                                    rotary_error *error)
{
    const int64_t channels = rope_config_channels(plan->head_dim, model->value_fraction);
    if (!(config->rotate & ATTEND_VALUE_OUTPUT) || is_ignored(config, "value_fraction") ||
        channels == plan->rotary_dim)
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_BAD_FILE,
        "%s: \"value_fraction\" %g rotates %lld channels of values, wanted %lld, as of queries, "
        "or --ignore value_fraction",
        config->rotation.config, model->value_fraction, (long long)channels, (long long)plan->rotary_dim);
}

static rotary_status check_trained(const struct attend_config *config, const struct rotation *rotation,
                                   rotary_error *error)
{
    bool trained_here;
    struct transformer_config model TRANSFORMER_CONFIG_LOCAL;
    rotary_status status = trained_model_read(rotation->object, rotation->path, config->rotation.ignored,
                                              &model, &trained_here, error);
    if (status || !trained_here)
        return status;
    if (!config->rotation.unrotated)
        status = check_rotated(config, model_rotates(&model), model.rotate ? "rotate" : "position", error);
    if (!status)
        status = check_shared(config, &model, error);
    return status ? status : check_fraction(config, &model, &rotation->config.plan, error);
}

rotary_status attend_model_check(const struct attend_config *config, const struct rotation *rotation,
                                 rotary_error *error)
{
    if (rotation->config.values == ROPE_VALUES_STAY)
        return check_trained(config, rotation, error);
    if (rotation->config.values == ROPE_VALUES_ROTATE)
        return check_rotated(config, ATTEND_QUERY_KEY | ROTARY_ROTATE_VALUE, "rotary_value", error);
    return check_rotated(config, ATTEND_QUERY_KEY | ATTEND_VALUE_OUTPUT, "model_type", error);
}
