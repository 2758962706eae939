/* SPDX-License-Identifier: Apache-2.0
 *
 * A program without MPI works alone.
 */
#include "base/fail.h"
#include "ranks/transport.h"

rotary_status ranks_transport_begin(struct ranks *ranks, ranks_lost *lost, void *argument,
                                    rotary_error *error)
{
    (void)ranks;
    (void)lost;
    (void)argument;
    if (ranks_started() <= 1)
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_UNSUPPORTED,
        "%d processes were started together, but this program was built without MPI: wanted one "
        "process, or a program built where libopenmpi-dev or libmpich-dev is installed",
        ranks_started());
}

const char *ranks_transport_library(char text[RANKS_LIBRARY_BYTES])
{
    (void)text;
    return NULL;
}
