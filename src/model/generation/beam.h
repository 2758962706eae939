/* SPDX-License-Identifier: Apache-2.0
 *
 * The beam of one source: its unfinished and finished hypotheses. It knows no model: search.h says what it
 * computes. An unfinished hypothesis has a slot, which is its sequence in the model's cache. One that
 * continues another stays in that one's slot where it can, so that little of a cache is ever copied.
 */
#ifndef ROTARY_MODEL_GENERATION_BEAM_H
#define ROTARY_MODEL_GENERATION_BEAM_H

#include "base/arena.h"

enum { BEAM_MAX_SIZE = 256 };

struct beam_config {
    int64_t size;          /* slots, and finished hypotheses to keep: 1 ... BEAM_MAX_SIZE */
    int64_t capacity;      /* tokens of a hypothesis */
    double length_penalty; /* score = sum / length^length_penalty */
    int32_t end;           /* ends a hypothesis; -1: nothing does */
    bool independent;      /* each slot has a hypothesis of its own from the start (sampling) */
};

struct hypothesis {
    double sum;      /* of its tokens' log-probabilities */
    double score;    /* of a finished one */
    int64_t length;  /* tokens */
    int32_t *tokens; /* [capacity] */
};

struct beam {
    const struct beam_config *config; /* borrowed */
    int64_t source;                   /* its index, for whoever holds the beam */
    int64_t max_length;               /* 1 ... capacity: longer hypotheses are finished as they are */
    int64_t length;                   /* tokens of all unfinished hypotheses */
    int64_t live, kept;
    struct hypothesis *slots;    /* [size] */
    int32_t *order;              /* [live] slots, the most probable hypothesis first */
    struct hypothesis *finished; /* [kept] the best first */
    struct beam_choice *chosen;  /* [size] in one step */
};

/* Its memory, of which nothing is freed by itself. */
void beam_carve(struct beam *beam, const struct beam_config *config, struct rotary_arena *arena);
/* One empty hypothesis in slot 0; independent ones in every slot. */
void beam_start(struct beam *beam, int64_t source, int64_t max_length);

/* The next tokens of each slot's hypothesis: `candidates` of them, the most probable first. What is in empty
 * slots is not read. With independent slots there is one candidate, which is taken. */
struct beam_candidates {
    int64_t count;                  /* of each slot: 2 * size, unless the vocabulary has fewer */
    const float *log_probabilities; /* [size, count] */
    const int32_t *tokens;          /* [size, count] */
};
/* Adds a token to every hypothesis. parents [size] gets the slot whose hypothesis each slot continues: itself
 * where nothing moved. */
void beam_advance(struct beam *beam, const struct beam_candidates *candidates, int32_t *parents);

/* Whether nothing better can be expected: there is no unfinished hypothesis, or `size` are finished and the
 * score of the worst is at least that of the best unfinished one if that ended here. */
bool beam_is_done(const struct beam *beam);

#endif
