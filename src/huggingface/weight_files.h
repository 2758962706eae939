/* SPDX-License-Identifier: Apache-2.0
 *
 * The weights in a Hugging Face folder: model.safetensors, or the files that model.safetensors.index.json
 * names ("weight_map": which tensor is in which).
 */
#ifndef ROTARY_HUGGINGFACE_WEIGHT_FILES_H
#define ROTARY_HUGGINGFACE_WEIGHT_FILES_H

#include "file/safetensors.h"
#include "model/parameters_load.h"

enum { WEIGHT_FILES_MAX = 1024 };

struct weight_files {
    struct safetensors **files; /* [count], memory-mapped */
    int count;
};

/* Opens them all. Tensors are as many as the index names, each in the file that it says and in no other. A
 * folder without weights is ROTARY_INVALID_ARGUMENT; ROTARY_BAD_FILE says what is wrong. */
ROTARY_CHECKED rotary_status weight_files_open(struct weight_files *weights, const char *folder,
                                               rotary_error *error);
void weight_files_close(struct weight_files *weights); /* one that is zero is allowed */

/* model.safetensors.index.json, checked but for the files that it names. */
struct weight_index {
    json_t *object, *map; /* "weight_map", tensor: file; the object is the caller's to release */
    const char
        *names[WEIGHT_FILES_MAX]; /* [count] of the files, in the order in which they are first named */
    int count;
};
ROTARY_CHECKED rotary_status weight_index_read(struct weight_index *index, const char *path,
                                               rotary_error *error);

/* The tensor of that name in any of the files; NULL: there is none. */
const struct safetensor *weight_files_find(const struct weight_files *weights, const char *name);

/* Tensors that no part of a model uses: the name of the first, and how many there are. */
struct unused_tensors {
    char first[128];
    int count;
};

/* What is loaded, and which other tensors the files may have. Patterns are those of tensor_names_match. */
struct weight_files_call {
    const struct parameter_source *map; /* [count] */
    int count;
    const char *const *const *unused; /* [unused_count] lists of tensors that may be there */
    int unused_count;
    const char *const *heads;     /* likewise: those of other tasks, which are said; NULL: none */
    struct unused_tensors *found; /* gets those of heads */
    const char *model;            /* "a model of 2 layers", in messages */
};
/* Fills parameters, completely or in part. ROTARY_BAD_FILE names a tensor that a model as config.json has it
 * would not have: another layer, an adapter, scales of weights. */
ROTARY_CHECKED rotary_status weight_files_load(const struct weight_files *weights,
                                               const struct weight_files_call *call,
                                               struct parameters *parameters, rotary_error *error);

#endif
