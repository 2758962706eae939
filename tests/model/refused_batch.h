/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch that a transformer refuses.
 */
#ifndef REFUSED_BATCH_H
#define REFUSED_BATCH_H

#include "model/transformer.h"
#include "support/check.h"

#include <string.h>

/* Checks that transformer_run refuses the batch, and that the message has `message`. */
static inline void refuse_batch(struct transformer *transformer, const struct batch *batch,
                                const char *message)
{
    const struct transformer_call call = {.batch = batch};
    struct loss_sums loss = {0};
    rotary_error error = {0};
    CHECK(transformer_run(transformer, &call, &loss, &error) != ROTARY_OK);
    check_about("%s", error.message);
    CHECK(strstr(error.message, message));
    check_about("%s", "");
}

#endif
