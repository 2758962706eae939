/* SPDX-License-Identifier: Apache-2.0
 *
 * A loaded model in the formats of other programs (huggingface/export_model.h).
 */
#ifndef ROTARY_INFERENCE_EXPORTED_MODEL_H
#define ROTARY_INFERENCE_EXPORTED_MODEL_H

#include "huggingface/export_model.h"
#include "inference/loaded_model.h"

struct exported_model {
    struct export_written written;
    char
        reason[EXPORT_REASON_BYTES]; /* why a file of GGUF has no tokenizer; "": it has one, or is a folder */
};

/* Whether the format has the model in the folder `where` of the call. It is known before weights are read. */
ROTARY_CHECKED rotary_status exported_model_check(const struct export_model_call *call, rotary_error *error);
/* Writes it. The call needs no configuration, parameters and vocabulary: those of the model are taken. */
ROTARY_CHECKED rotary_status exported_model_write(const struct export_model_call *call,
                                                  const struct loaded_model *model,
                                                  struct exported_model *result, rotary_error *error);

#endif
