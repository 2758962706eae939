/* SPDX-License-Identifier: Apache-2.0
 *
 * The safetensors format: eight bytes of header length, a JSON header, the tensors' bytes. Ours also carry a
 * checksum of the whole file in the metadata (key "content_hash", the header's first), so that a corrupted
 * file is known as one. It is taken over every byte, its own sixteen hexadecimal digits read as zeros.
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
    /* The format's name of a type that is none of librotary's, such as "I8"; dtype is not looked at then.
     * NULL: dtype it is. */
    const char *other_type;
};

/* The format's name of its type: "F32", "I8". */
const char *safetensors_type(const struct safetensor *tensor);
/* Bytes of one of its elements; 0 for an other_type that the format does not have or that is not whole bytes.
 */
size_t safetensors_element_bytes(const struct safetensor *tensor);
/* Its elements; its shape must fit, as that of every tensor of an open file does. */
int64_t safetensors_elements(const struct safetensor *tensor);

/* Writes the tensors to `path` (not atomically: write beside, then file_rename) and syncs it. `metadata` is
 * an object of strings, or NULL. A failure, such as a full disk, is ROTARY_IO_ERROR and leaves no file at
 * `path`. */
ROTARY_CHECKED rotary_status safetensors_write(const char *path, const struct safetensor *tensors, int count,
                                               const json_t *metadata, rotary_error *error);
/* The same, atomically. */
ROTARY_CHECKED rotary_status safetensors_replace(const char *path, const struct safetensor *tensors,
                                                 int count, const json_t *metadata, rotary_error *error);

struct safetensors; /* an open file: memory-mapped, validated whole */
/* Every length, offset, shape and type is checked against the file before anything is believed;
 * ROTARY_BAD_FILE says what was wrong. If the file has our checksum it is verified. */
ROTARY_CHECKED rotary_status safetensors_open(struct safetensors **file, const char *path,
                                              rotary_error *error);
/* The same, of files whose tensors may be of any type: for those who move numbers and do not read them. Only
 * such a file has tensors with an other_type. */
ROTARY_CHECKED rotary_status safetensors_open_any(struct safetensors **file, const char *path,
                                                  rotary_error *error);
void safetensors_close(struct safetensors *file);
/* As it was opened: for messages. */
const char *safetensors_path(const struct safetensors *file);
/* Whether the file carries our checksum, which then held: every file of ours does, another program's does
 * not. */
bool safetensors_verified(const struct safetensors *file);
/* Tensors, in the order of their place in the file. */
int safetensors_count(const struct safetensors *file);
const struct safetensor *safetensors_at(const struct safetensors *file, int index);
/* NULL if there is none of that name. */
const struct safetensor *safetensors_find(const struct safetensors *file, const char *name);
/* A metadata string; NULL if absent. */
const char *safetensors_metadata(const struct safetensors *file, const char *key);
/* All metadata but our checksum, as safetensors_write takes it; the caller drops it. NULL: no memory. */
json_t *safetensors_copy_metadata(const struct safetensors *file);

#endif
