/* SPDX-License-Identifier: Apache-2.0
 *
 * Translation by an encoder–decoder: the most probable outputs of a source by beam search; by greedy search,
 * which is a beam of 1; or outputs drawn at random.
 *
 * The score of an output y of the source x is the sum of log p(y_t | y_1 ... y_{t-1}, x) over its tokens, the
 * end among them, divided by length^length_penalty, as in fairseq (Ott et al., 2019) and CTranslate2.
 * Probabilities are the model's, of all tokens. Sums are in double.
 *
 * A beam of k keeps k unfinished outputs. Each step takes the 2k best of their continuations. Of the first k,
 * those that end are finished; the first k that do not end are the next beam. A source is done when it has k
 * finished outputs, none of which is worse than the best unfinished one is at its present length.
 */
#ifndef ROTARY_MODEL_GENERATION_SEARCH_H
#define ROTARY_MODEL_GENERATION_SEARCH_H

#include "model/transformer.h"

#include <stdatomic.h>

struct search_config {
    int64_t max_new_tokens; /* of every output, its end among them; at least 1 */
    /* An output also has at most length_factor * tokens of its source + length_constant tokens, but at least
     * 1. length_factor 0: no such limit. */
    float length_factor;
    int64_t length_constant;
    int64_t beams;        /* 1, which is greedy, to BEAM_MAX_SIZE (model/generation/beam.h) */
    int64_t n_best;       /* outputs of each source, 1 ... beams */
    float length_penalty; /* 0: none. At least 0 */
    int32_t begin;        /* the first token that the decoder reads; never an output's */
    int32_t end;          /* ends an output; -1: none does */
    int32_t padding;      /* never an output's; -1: there is none */
    int32_t unknown;      /* never an output's; -1: there is none, or it may be */
    /* 0: search. Else tokens are drawn from softmax(logits / temperature): `beams` outputs of each source. */
    float temperature;
    int64_t top_k; /* draws among so many most probable tokens alone; 0: among all */
    uint64_t seed; /* of drawing */
};
/* Greedy, without a length penalty, special tokens of -1, as many tokens as the source has twice and ten. */
void search_config_default(struct search_config *config);

/* Sources and outputs. Those of a source are in the order of their scores, the best first. */
struct search_call {
    int64_t count;                 /* sources */
    const int32_t *const *sources; /* [count]: source i has lengths[i] tokens, at least 1 */
    const int64_t *lengths;        /* [count] */
    int32_t *const *outputs;       /* [count * n_best], room for max_new_tokens each: gets the tokens, without
                                      begin, with the end unless the length ended the output */
    int64_t *generated;            /* [count * n_best] gets the number of their tokens; -1: fewer outputs than
                                      n_best were found */
    double *scores;                /* [count * n_best] gets the scores; may be NULL */
    const atomic_bool *interrupted; /* once true, search_run() returns ROTARY_INTERRUPTED soon; may be NULL */
    /* Called whenever sources are done, with their number so far; may be NULL. */
    void (*progress)(void *context, int64_t done);
    void *context;
};

/* Searches from every source. Sources of similar lengths are searched together. An output depends on neither
 * its neighbours nor the number of threads. Of equally probable tokens the first is taken. Uses the limits
 * that the transformer was created with: batch * time rows at once, and `batch` sources of source_time, packed.
 * ROTARY_INVALID_ARGUMENT if a source, or the beams of one, do not fit them. */
ROTARY_CHECKED rotary_status search_run(struct transformer *transformer, const struct search_config *config,
                                        const struct search_call *call, rotary_error *error);

#endif
