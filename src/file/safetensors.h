/* SPDX-License-Identifier: Apache-2.0
 *
 * The safetensors format: eight bytes of header length, a JSON header, the tensors' bytes. Files written here
 * also have a checksum of the whole file in the metadata (key "content_hash", the first of the header), which
 * detects corruption. It covers every byte; its own sixteen hexadecimal digits count as zeros.
 */
#ifndef ROTARY_FILE_SAFETENSORS_H
#define ROTARY_FILE_SAFETENSORS_H

#include "file/file.h"

#include <rotary/types.h>

enum { SAFETENSORS_DIMENSIONS = 8 };

struct safetensor {
    const char *name;
    rotary_dtype dtype;
    int dimensions;
    int64_t shape[SAFETENSORS_DIMENSIONS];
    const void *data; /* NULL when written: fetched, block by block, with `fetch` (file/file.h) */
    /* The format's name of a type that is not a rotary_dtype, such as "I8"; dtype is ignored then. NULL: the
     * type is dtype. */
    const char *other_type;
    file_fetch *fetch;
    void *context;
};

/* The format's name of its type: "F32", "I8". */
const char *safetensors_type(const struct safetensor *tensor);
/* Bytes of an element; 0 for an other_type that is unknown or has no whole number of bytes. */
size_t safetensors_element_bytes(const struct safetensor *tensor);
/* The number of elements. The shape must be valid, as it is for every tensor of an open file. */
int64_t safetensors_elements(const struct safetensor *tensor);

/* Writes the tensors to `path` and syncs it; not atomically, so write to another name and file_rename.
 * `metadata` is an object of strings, or NULL. A failure, such as a full disk, is ROTARY_IO_ERROR and leaves
 * no file at `path`. */
ROTARY_CHECKED rotary_status safetensors_write(const char *path, const struct safetensor *tensors, int count,
                                               const json_t *metadata, rotary_error *error);
/* Writes it atomically. */
ROTARY_CHECKED rotary_status safetensors_replace(const char *path, const struct safetensor *tensors,
                                                 int count, const json_t *metadata, rotary_error *error);

struct safetensors; /* an open file, memory-mapped and validated */
/* Opens `path` and checks every length, offset, shape and type; ROTARY_BAD_FILE says what is wrong. A
 * checksum is verified if the file has one. Data are aligned to their elements. */
ROTARY_CHECKED rotary_status safetensors_open(struct safetensors **file, const char *path,
                                              rotary_error *error);
/* Opens files with tensors of any type, for callers that copy tensors or read their numbers wherever they
 * lie: the format does not align data, and they stay in the file. Only files opened by this function have
 * tensors with an other_type. */
ROTARY_CHECKED rotary_status safetensors_open_any(struct safetensors **file, const char *path,
                                                  rotary_error *error);
void safetensors_close(struct safetensors *file);
/* The path given to open it, for messages. */
const char *safetensors_path(const struct safetensors *file);
/* Whether the file has a checksum, which was verified: files written here do, other programs' do not. */
bool safetensors_verified(const struct safetensors *file);
/* Number of tensors. Their indices are in order of their offsets in the file. */
int safetensors_count(const struct safetensors *file);
const struct safetensor *safetensors_at(const struct safetensors *file, int index);
/* The tensor of that name, or NULL. */
const struct safetensor *safetensors_find(const struct safetensors *file, const char *name);
/* A metadata string; NULL if absent. */
const char *safetensors_metadata(const struct safetensors *file, const char *key);
/* All metadata except the checksum, as safetensors_write takes it; the caller owns it. NULL without memory.
 */
json_t *safetensors_copy_metadata(const struct safetensors *file);

#endif
