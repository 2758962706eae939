/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects of JSON that carry a checksum (file/checksum/checksum.h) of what they say, as their member
 * "checksum": of the compact text of the others, sorted by their keys. White space, and the order of keys,
 * may change.
 */
#ifndef ROTARY_FILE_CHECKSUM_JSON_CHECKSUM_H
#define ROTARY_FILE_CHECKSUM_JSON_CHECKSUM_H

#include <jansson.h>
#include <rotary/status.h>

#define JSON_CHECKSUM "checksum"

/* Sets the member. */
void json_checksum_set(json_t *object);
/* Checks it in an object read from `path`, and removes it: ROTARY_BAD_FILE if it does not match. An object
 * without it, as earlier versions wrote them, is allowed. */
ROTARY_CHECKED rotary_status json_checksum_take(json_t *object, const char *path, rotary_error *error);

#endif
