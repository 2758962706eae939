/* SPDX-License-Identifier: Apache-2.0
 *
 * The speed of translation by search, in sentences per second.
 */
#ifndef ROTARY_BENCHMARK_TRANSLATE_BENCHMARK_H
#define ROTARY_BENCHMARK_TRANSLATE_BENCHMARK_H

#include "benchmark/limits.h"
#include "model/config_check.h"

struct translate_benchmark {
    /* Inputs: sentences, of source_tokens / 2 to source_tokens * 3 / 2 tokens, evenly; tokens of every
     * translation; hypotheses of a search; sentences at once. */
    int64_t sentences, source_tokens, tokens, beams, batch_size;
    double seconds;         /* of all searches, including the allocation of caches */
    double startup_seconds; /* to create the model and to translate a first sentence */
    double parameters;      /* of the model */
    struct limits limits;
};

/* Translates once, with an encoder-decoder of `config`, which is checked, with initial weights drawn from
 * `seed`, and no end token. A profile of `backend` measures the searches alone. */
ROTARY_CHECKED rotary_status benchmark_translate(struct translate_benchmark *benchmark,
                                                 const struct transformer_config *config, uint64_t seed,
                                                 const struct backend *backend, rotary_error *error);

#endif
