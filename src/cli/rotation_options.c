/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rotation_options.h"

#include <stdio.h>

static void note_unknown(const char *config, const char *model_type)
{
    fprintf(stderr,
            "note: %s: nothing is known of model_type \"%s\": what the file does not say, the pairing too, "
            "is as in Llama (--ignore model_type says that it is meant so)\n",
            config, model_type);
}

bool rotation_options_given(const struct rotation_options *options)
{
    return options->layer_type || options->ignored.count > 0 || options->length.given ||
           options->compat.given;
}

struct rotation_request rotation_request(const struct rotation_options *options,
                                         const struct common_options *common)
{
    return (struct rotation_request){
        .config = options->config,
        .layer_type = options->layer_type,
        .ignored = options->ignored.items,
        .compat = (rotary_compat)options->compat.value,
        .sequence_length = options->length.value,
        .threads = (int)common->threads.value,
        .isa = (rotary_isa)common->isa.value,
        .note_unknown = note_unknown,
    };
}
