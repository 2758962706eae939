/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a model as a Hugging Face folder or as a file of GGUF.
 */
#ifndef ROTARY_HUGGINGFACE_EXPORT_MODEL_H
#define ROTARY_HUGGINGFACE_EXPORT_MODEL_H

#include "backend/parameters.h"
#include "huggingface/export_family.h"
#include "huggingface/generation_ends.h"

#include <rotary/types.h>

/* A file of a folder: JSON, or bytes. */
struct export_file {
    const char *name;
    json_t *object;    /* NULL: it is bytes */
    const void *bytes; /* borrowed */
    size_t count;
};

enum { EXPORT_FILES = 4, EXPORT_REASON_BYTES = 256 };

/* What the files say of a vocabulary. */
struct export_vocabulary {
    int32_t begin, end, padding; /* tokens; -1: there is none */
    /* Borrowed: the tokens that end what is generated; NULL: `end` does. */
    const struct generation_ends *ends;
    struct export_file files[EXPORT_FILES];
    int file_count;
    json_t *metadata;                 /* "tokenizer.ggml..." of GGUF; NULL: no file of GGUF is written */
    char reason[EXPORT_REASON_BYTES]; /* why it has no tokenizer; "": it has one */
};
void export_vocabulary_free(struct export_vocabulary *vocabulary);

struct export_model_call {
    const char *where; /* the run's folder, for messages */
    const char *path;  /* what is written: a folder that is not there yet, or a file */
    const char *name;  /* of the model */
    enum export_format format;
    rotary_dtype dtype; /* of the tensors; vectors of GGUF are f32 */
    const struct transformer_config *config;
    const struct parameters *parameters;
    const struct export_vocabulary *vocabulary;
};

struct export_written {
    char model_type[64];    /* "llama" */
    int64_t tensors, bytes; /* of the tensors */
};

/* Checks that the format has such a model, without its parameters and vocabulary, which are ignored.
 * ROTARY_UNSUPPORTED names the key of what it has not (huggingface/export_family.h, export_rotation.h). */
ROTARY_CHECKED rotary_status export_model_check(const struct export_model_call *call, rotary_error *error);
/* Writes it. A folder appears complete, under its name, or not at all: it is made as PATH.next, and then
 * renamed. One that is there is refused, unless it is empty. A file is replaced atomically. */
ROTARY_CHECKED rotary_status export_model_write(const struct export_model_call *call,
                                                struct export_written *written, rotary_error *error);

#endif
