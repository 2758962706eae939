/* SPDX-License-Identifier: Apache-2.0
 *
 * Which pairing the projections of a model were trained in: rotary permute --detect.
 */
#ifndef ROTARY_CLI_DETECT_H
#define ROTARY_CLI_DETECT_H

#include "cli/command.h"
#include "cli/projections.h"

/* Prints what each layer of the safetensors file `path` says, and all together; *told is whether that names a
 * pairing. */
ROTARY_CHECKED rotary_status pairing_detect(const struct invocation *invocation,
                                            const struct rotation *rotation,
                                            const struct projections *projections, const char *path,
                                            bool *told, rotary_error *error);

#endif
