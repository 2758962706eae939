/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/sublayer.h"

#include "base/fail.h"
#include "layer/sublayer_list.h"

#include <string.h>

#define DECLARE(name) extern const struct sublayer_type name##_sublayer;
ROTARY_SUBLAYERS(DECLARE)
#undef DECLARE

#define ROW(name) &name##_sublayer,
static const struct sublayer_type *const types[] = {ROTARY_SUBLAYERS(ROW)};
#undef ROW

rotary_status sublayer_create(struct sublayer **sublayer, const char *type, const struct backend *backend,
                              const struct sublayer_config *config, struct parameters *parameters,
                              rotary_error *error)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i]->name, type) != 0)
            continue;
        struct sublayer *made;
        rotary_status status = types[i]->create(&made, backend, config, parameters, error);
        if (status != ROTARY_OK)
            return status;
        made->type = types[i];
        made->backend = backend;
        made->config = *config;
        made->config.name = NULL;
        *sublayer = made;
        return ROTARY_OK;
    }
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there is no type of sublayer called \"%s\"", type);
}
