/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether attention rotates what the model does whose config.json has the rotation.
 */
#ifndef ROTARY_ORACLE_ATTEND_MODEL_H
#define ROTARY_ORACLE_ATTEND_MODEL_H

#include "oracle/attend.h"

/* ROTARY_BAD_FILE if it does not, and the key that says so is not ignored: "model_type" of DeepSeek-V4, "rotary_value" of
 * RoFormer; "rotate" and "position", "key_is_value" and "value_fraction" of models that are trained here, which have a
 * "position". */
ROTARY_CHECKED rotary_status attend_model_check(const struct attend_config *config,
                                                const struct rotation *rotation, rotary_error *error);

#endif
