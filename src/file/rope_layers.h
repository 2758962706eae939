/* SPDX-License-Identifier: Apache-2.0
 *
 * Which part of a configuration describes the rotation that is meant: the text among several parts, and the
 * layers of one type where types turn differently.
 */
#ifndef ROTARY_FILE_ROPE_LAYERS_H
#define ROTARY_FILE_ROPE_LAYERS_H

#include "file/rope_reader.h"

/* Finds the text in reader->root, its type and what models of it take. *parameters, which the reader points
 * into, is the caller's to give back, whatever is returned. */
ROTARY_CHECKED rotary_status rope_layers_find_model(struct rope_reader *reader, json_t **parameters);

/* Finds the parameters of the rotation, of reader->layer_type where types of layers turn differently: the
 * file's, or the model's where the file has none. */
ROTARY_CHECKED rotary_status rope_layers_find_parameters(struct rope_reader *reader);

/* The key that holds a base of their own for layers of this type, or of any for NULL; NULL if there is none.
 */
const char *rope_layers_local_base(const struct rope_reader *reader, const char *layer_type);

#endif
