/* SPDX-License-Identifier: Apache-2.0
 *
 * What carries messages between ranks: a table of functions, of which tests have one for threads.
 */
#ifndef ROTARY_RANKS_TRANSPORT_H
#define ROTARY_RANKS_TRANSPORT_H

#include "ranks/ranks.h"

/* What two ranks give each other at the same time; either may have 0 bytes. The two memories do not overlap. */
struct ranks_exchange {
    int partner;
    const void *send;
    size_t send_bytes;
    void *receive;
    size_t receive_bytes;
};

struct ranks_transport {
    /* Returns when both have what they get. Waits for the partner for as long as it lives. */
    rotary_status (*exchange)(void *state, const struct ranks_exchange *exchange, rotary_error *error);
    /* As ranks_work_...; all ranks are there when work_begin and work_end are called. */
    rotary_status (*work_begin)(void *state, const atomic_bool *interrupted, const atomic_bool **stop,
                                rotary_error *error);
    rotary_status (*work_next)(void *state, int64_t *number, rotary_error *error);
    rotary_status (*work_show)(void *state, const struct ranks_board *own, rotary_error *error);
    rotary_status (*work_look)(void *state, struct ranks_board *boards, rotary_error *error);
    void (*work_stop)(void *state);
    rotary_status (*work_end)(void *state, rotary_error *error);
    /* After all ranks have agreed to end. */
    void (*end)(void *state);
};

enum { RANKS_HOST_BYTES = 256 };
struct ranks {
    const struct ranks_transport *transport;
    void *state;
    int index, count, threads;
    char host[RANKS_HOST_BYTES];
};

/* Fills in ranks, whose members are zero; count stays 0 if this process was not started with others. */
ROTARY_CHECKED rotary_status ranks_transport_begin(struct ranks *ranks, ranks_lost *lost, void *argument,
                                                   rotary_error *error);
const char *ranks_transport_library(char text[RANKS_LIBRARY_BYTES]);

#endif
