/* SPDX-License-Identifier: Apache-2.0
 *
 * The descriptions of encodings that come with the program: presets/encodings/<name>.json, embedded by
 * cmake/encodings.cmake.
 */
#ifndef ROTARY_MODEL_ENCODING_SHIPPED_ENCODINGS_H
#define ROTARY_MODEL_ENCODING_SHIPPED_ENCODINGS_H

/* In alphabetical order, and the files; NULL-terminated. */
extern const char *const shipped_encoding_names[], *const shipped_encoding_texts[];

#endif
