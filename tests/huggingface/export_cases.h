/* SPDX-License-Identifier: Apache-2.0
 *
 * Small models of every kind that is exported, whose weights are exact in every type and the same on every
 * machine.
 */
#ifndef TESTS_HUGGINGFACE_EXPORT_CASES_H
#define TESTS_HUGGINGFACE_EXPORT_CASES_H

#include "huggingface/export_model.h"
#include "model/transformer.h"

enum { EXPORT_TIME = 24, EXPORT_VOCABULARY = 40 };

struct export_case {
    const char *name, *settings; /* beyond those that all have: an object */
    rotary_dtype dtype;
    bool gguf; /* llama.cpp has the model too */
};
extern const struct export_case export_cases[];
extern const int export_case_count;

/* The checked configuration of a case, of which the name and the settings are read. */
ROTARY_CHECKED rotary_status export_case_configure(const struct export_case *row,
                                                   struct transformer_config *config, rotary_error *error);

struct export_model {
    struct transformer_config config;
    struct transformer *transformer;
};
/* Makes the model of a case, with weights of 256ths; the caller destroys the transformer. */
ROTARY_CHECKED rotary_status export_case_make(const struct export_case *row, const struct backend *backend,
                                              struct export_model *model, rotary_error *error);
/* The tokens of the one sequence that is compared. */
void export_case_tokens(int32_t tokens[EXPORT_TIME]);
/* Logits, [EXPORT_TIME, EXPORT_VOCABULARY]. */
ROTARY_CHECKED rotary_status export_case_logits(const struct export_model *model, float *logits,
                                                rotary_error *error);
/* Writes the model to `path`. */
ROTARY_CHECKED rotary_status export_case_write(const struct export_case *row,
                                               const struct export_model *model, enum export_format format,
                                               const char *path, rotary_error *error);
/* The same with a vocabulary. */
ROTARY_CHECKED rotary_status export_case_write_vocabulary(const struct export_case *row,
                                                          const struct export_model *model,
                                                          enum export_format format, const char *path,
                                                          const struct export_vocabulary *vocabulary,
                                                          rotary_error *error);
/* Of the bytes of a file. */
ROTARY_CHECKED rotary_status export_case_checksum(const char *path, uint64_t *checksum, rotary_error *error);

#endif
