/* SPDX-License-Identifier: Apache-2.0
 *
 * The safetensors format: eight bytes of header length, a JSON header, the tensors' bytes. Ours also carry a hash of the
 * tensors' bytes in the metadata, so that a corrupted file is known as one.
 */
#ifndef ROTARY_FILE_SAFETENSORS_H
#define ROTARY_FILE_SAFETENSORS_H

#include <jansson.h>
#include <rotary/types.h>

enum { SAFETENSORS_DIMENSIONS = 8 };

struct safetensor {
    const char *name;
    rotary_dtype dtype;
    int dimensions;
    int64_t shape[SAFETENSORS_DIMENSIONS];
    const void *data;
};

/* Writes the tensors to `path` (not atomically: write beside, then file_rename) and syncs it. `metadata` is an object of
 * strings, or NULL. A full disk is ROTARY_IO_ERROR, with nothing left behind. */
ROTARY_CHECKED rotary_status safetensors_write(const char *path, const struct safetensor *tensors, int count,
                                               const json_t *metadata, rotary_error *error);

struct safetensors; /* an open file: memory-mapped, validated whole */
/* Every length, offset, shape and type is checked against the file before anything is believed; ROTARY_BAD_FILE says
 * what was wrong. If the metadata has our hash it is verified. */
ROTARY_CHECKED rotary_status safetensors_open(struct safetensors **file, const char *path, rotary_error *error);
void safetensors_close(struct safetensors *file);
int safetensors_count(const struct safetensors *file);
const struct safetensor *safetensors_at(const struct safetensors *file, int index);
/* NULL if there is none of that name. */
const struct safetensor *safetensors_find(const struct safetensors *file, const char *name);
/* A metadata string; NULL if absent. */
const char *safetensors_metadata(const struct safetensors *file, const char *key);

#endif
