/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages by MPI: the one file that includes it. Several threads call MPI, one at a time: who computes, who sums
 * gradients meanwhile, and a watch that tells the neighbours of a rank that it lives, and listens for them. For MPI
 * itself waits forever for a host whose link is down. The watch also makes progress with messages and with the counter
 * while the others compute.
 */
#include "base/fail.h"
#include "ranks/transport.h"

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_MESSAGE = 1 << 30, /* bytes: MPI counts by int */
    TAG = 1,
    LOOK_MILLISECONDS = 100, /* from one look at messages to the next, of the watch */
    LOOKS_A_BEAT = 10,
    LOST_SECONDS = 30,
    NEIGHBOURS = 2,
};

/* A rank before or after this one, in a circle. */
struct neighbour {
    int rank;
    int silence; /* seconds in which this process ran and heard nothing; a stopped one counts none */
    char sent, received;
    MPI_Request send, receive;
};

struct mpi_state {
    struct ranks *ranks;
    char (*hosts)[RANKS_HOST_BYTES]; /* [ranks] */
    MPI_Comm messages, beats;
    MPI_Win window;
    int64_t *shown;                 /* its memory */
    const atomic_bool *interrupted; /* of this rank, during work; NULL: nobody can */
    atomic_bool stopped;            /* what the watch tells the neighbours, and hears of them */
    pthread_mutex_t lock;           /* of every call of MPI */
    pthread_t watch;
    atomic_bool ends; /* the watch */
    int neighbours;
    struct neighbour neighbour[NEIGHBOURS];
    ranks_lost *lost;
    void *argument;
};

static rotary_status check(int code, const char *what, rotary_error *error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code == MPI_SUCCESS)
        return ROTARY_OK;
    MPI_Error_string(code, text, &length);
    return rotary_fail(error, ROTARY_IO_ERROR, "%s: %.300s", what, text);
}

static void sleep_for(long microseconds)
{
    const struct timespec time = {.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000};
    nanosleep(&time, NULL);
}

/* ---- messages ---- */

/* Waits without keeping a processor busy for long: a partner may be evaluating, or share the processor. */
static int wait_for(struct mpi_state *state, MPI_Request requests[2])
{
    enum { BUSY_LOOKS = 2000, SHORT_LOOKS = 20000, SHORT = 50, LONG = 1000 };
    for (int64_t looks = 0;; looks++) {
        int done;
        pthread_mutex_lock(&state->lock);
        const int code = MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        pthread_mutex_unlock(&state->lock);
        if (code != MPI_SUCCESS || done)
            return code;
        if (looks < BUSY_LOOKS)
            sched_yield();
        else
            sleep_for(looks < SHORT_LOOKS ? SHORT : LONG);
    }
}

static int exchange_piece(struct mpi_state *state, const struct ranks_exchange *piece)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int code = MPI_SUCCESS;
    pthread_mutex_lock(&state->lock);
    if (piece->receive_bytes > 0)
        code = MPI_Irecv(piece->receive, (int)piece->receive_bytes, MPI_BYTE, piece->partner, TAG,
                         state->messages, &requests[0]);
    if (code == MPI_SUCCESS && piece->send_bytes > 0)
        code = MPI_Isend(piece->send, (int)piece->send_bytes, MPI_BYTE, piece->partner, TAG, state->messages,
                         &requests[1]);
    pthread_mutex_unlock(&state->lock);
    return code == MPI_SUCCESS ? wait_for(state, requests) : code;
}

static size_t piece_of(size_t bytes, size_t first)
{
    const size_t left = bytes > first ? bytes - first : 0;
    return left < MAX_MESSAGE ? left : MAX_MESSAGE;
}

static rotary_status mpi_exchange(void *argument, const struct ranks_exchange *all, rotary_error *error)
{
    struct mpi_state *state = argument;
    int code = MPI_SUCCESS;
    for (size_t first = 0; code == MPI_SUCCESS && (first < all->send_bytes || first < all->receive_bytes);
         first += MAX_MESSAGE) {
        const struct ranks_exchange piece = {.partner = all->partner,
                                             .send = (const char *)all->send + first,
                                             .send_bytes = piece_of(all->send_bytes, first),
                                             .receive = (char *)all->receive + first,
                                             .receive_bytes = piece_of(all->receive_bytes, first)};
        code = exchange_piece(state, &piece);
    }
    char what[RANKS_HOST_BYTES + 64];
    snprintf(what, sizeof what, "a message from or to rank %d on %s", all->partner,
             state->hosts[all->partner]);
    return check(code, what, error);
}

/* ---- work ---- */

enum { BOARD = sizeof(struct ranks_board) / sizeof(int64_t) };
static const char work_name[] = "the work of ranks";

/* A window of rank 0: the next number, and a board of each rank. */
static rotary_status mpi_work_begin(void *argument, const atomic_bool *interrupted, const atomic_bool **stop,
                                    rotary_error *error)
{
    struct mpi_state *state = argument;
    const int64_t numbers = state->ranks->index == 0 ? 1 + BOARD * (int64_t)state->ranks->count : 0;
    pthread_mutex_lock(&state->lock);
    int code = MPI_Win_allocate((MPI_Aint)numbers * (MPI_Aint)sizeof *state->shown, sizeof *state->shown,
                                MPI_INFO_NULL, state->messages, &state->shown, &state->window);
    if (code == MPI_SUCCESS) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, state->ranks->index, 0, state->window);
        for (int64_t i = 0; i < numbers; i++)
            state->shown[i] = 0;
        MPI_Win_unlock(state->ranks->index, state->window);
        code = MPI_Barrier(state->messages);
    }
    state->interrupted = interrupted;
    atomic_store(&state->stopped, false);
    pthread_mutex_unlock(&state->lock);
    *stop = &state->stopped;
    return check(code, work_name, error);
}

static rotary_status mpi_work_next(void *argument, int64_t *number, rotary_error *error)
{
    struct mpi_state *state = argument;
    const int64_t one = 1;
    pthread_mutex_lock(&state->lock);
    int code = MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, state->window);
    if (code == MPI_SUCCESS)
        code = MPI_Fetch_and_op(&one, number, MPI_INT64_T, 0, 0, MPI_SUM, state->window);
    if (code == MPI_SUCCESS)
        code = MPI_Win_unlock(0, state->window);
    pthread_mutex_unlock(&state->lock);
    return check(code, work_name, error);
}

static rotary_status mpi_work_show(void *argument, const struct ranks_board *own, rotary_error *error)
{
    struct mpi_state *state = argument;
    pthread_mutex_lock(&state->lock);
    int code = MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, state->window);
    if (code == MPI_SUCCESS)
        code = MPI_Accumulate(own->numbers, BOARD, MPI_INT64_T, 0, 1 + BOARD * state->ranks->index, BOARD,
                              MPI_INT64_T, MPI_REPLACE, state->window);
    if (code == MPI_SUCCESS)
        code = MPI_Win_unlock(0, state->window);
    pthread_mutex_unlock(&state->lock);
    return check(code, work_name, error);
}

static rotary_status mpi_work_look(void *argument, struct ranks_board *boards, rotary_error *error)
{
    struct mpi_state *state = argument;
    const int count = BOARD * state->ranks->count;
    pthread_mutex_lock(&state->lock);
    int code = MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, state->window);
    if (code == MPI_SUCCESS)
        code = MPI_Get(boards, count, MPI_INT64_T, 0, 1, count, MPI_INT64_T, state->window);
    if (code == MPI_SUCCESS)
        code = MPI_Win_unlock(0, state->window);
    pthread_mutex_unlock(&state->lock);
    return check(code, work_name, error);
}

static void mpi_work_stop(void *argument)
{
    atomic_store(&((struct mpi_state *)argument)->stopped, true);
}

static rotary_status mpi_work_end(void *argument, rotary_error *error)
{
    struct mpi_state *state = argument;
    pthread_mutex_lock(&state->lock);
    state->interrupted = NULL;
    const int code = MPI_Win_free(&state->window);
    pthread_mutex_unlock(&state->lock);
    return check(code, work_name, error);
}

/* ---- the watch ---- */

/* Looks at what came from a neighbour, and tells it that this rank lives, once a beat, and at once that it is to
 * stop. */
static void look_at(struct mpi_state *state, struct neighbour *neighbour, bool beats)
{
    int done = 0;
    if (neighbour->receive != MPI_REQUEST_NULL)
        MPI_Test(&neighbour->receive, &done, MPI_STATUS_IGNORE);
    if (done) {
        neighbour->silence = 0;
        if (neighbour->received)
            atomic_store(&state->stopped, true);
    }
    if (neighbour->receive == MPI_REQUEST_NULL)
        MPI_Irecv(&neighbour->received, 1, MPI_BYTE, neighbour->rank, TAG, state->beats, &neighbour->receive);
    neighbour->silence += beats;
    if (neighbour->send != MPI_REQUEST_NULL)
        MPI_Test(&neighbour->send, &done, MPI_STATUS_IGNORE);
    const char stops = atomic_load(&state->stopped);
    if (neighbour->send != MPI_REQUEST_NULL || (!beats && neighbour->sent == stops))
        return;
    neighbour->sent = stops;
    MPI_Isend(&neighbour->sent, 1, MPI_BYTE, neighbour->rank, TAG, state->beats, &neighbour->send);
}

/* MPI_Abort may wait for a host that is gone: after some seconds the process ends anyway. */
static void give_up(struct mpi_state *state, const struct neighbour *neighbour)
{
    enum { SECONDS = 5 };
    char message[2 * RANKS_HOST_BYTES + 256];
    snprintf(
        message, sizeof message,
        "rank %d on %s has heard nothing from rank %d on %s for %d seconds: the host, its network or the "
        "process is gone; what was saved before can be resumed, on any number of ranks",
        state->ranks->index, state->ranks->host, neighbour->rank, state->hosts[neighbour->rank],
        LOST_SECONDS);
    state->lost(state->argument, message);
    alarm(SECONDS);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static void *watch(void *argument)
{
    struct mpi_state *state = argument;
    for (int64_t looks = 0; !atomic_load(&state->ends); looks++) {
        pthread_mutex_lock(&state->lock);
        if (state->interrupted && atomic_load(state->interrupted))
            atomic_store(&state->stopped, true);
        for (int i = 0; i < state->neighbours; i++) {
            look_at(state, &state->neighbour[i], looks % LOOKS_A_BEAT == 0);
            if (state->neighbour[i].silence > LOST_SECONDS)
                give_up(state, &state->neighbour[i]);
        }
        pthread_mutex_unlock(&state->lock);
        sleep_for(LOOK_MILLISECONDS * 1000L);
    }
    return NULL;
}

static rotary_status start_watch(struct mpi_state *state, rotary_error *error)
{
    const int count = state->ranks->count, index = state->ranks->index;
    const int around[NEIGHBOURS] = {(index + 1) % count, (index + count - 1) % count};
    state->neighbours = around[0] == around[1] ? 1 : NEIGHBOURS;
    for (int i = 0; i < state->neighbours; i++)
        state->neighbour[i] =
            (struct neighbour){.rank = around[i], .send = MPI_REQUEST_NULL, .receive = MPI_REQUEST_NULL};
    if (pthread_create(&state->watch, NULL, watch, state) == 0)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no thread could be created to watch the other ranks");
}

/* All ranks are here: what was sent arrives, and what was not sent is not waited for. */
static void end_watch(struct mpi_state *state)
{
    atomic_store(&state->ends, true);
    pthread_join(state->watch, NULL);
    for (int i = 0; i < state->neighbours; i++) {
        MPI_Request *const requests[2] = {&state->neighbour[i].receive, &state->neighbour[i].send};
        for (int k = 0; k < 2; k++)
            if (*requests[k] != MPI_REQUEST_NULL) {
                MPI_Cancel(requests[k]);
                MPI_Request_free(requests[k]);
            }
    }
}

/* ---- beginning and end ---- */

static void mpi_end(void *argument)
{
    struct mpi_state *state = argument;
    end_watch(state);
    MPI_Finalize();
    pthread_mutex_destroy(&state->lock);
    free(state->hosts);
    free(state);
}

static const struct ranks_transport mpi_transport = {.exchange = mpi_exchange,
                                                     .work_begin = mpi_work_begin,
                                                     .work_next = mpi_work_next,
                                                     .work_show = mpi_work_show,
                                                     .work_look = mpi_work_look,
                                                     .work_stop = mpi_work_stop,
                                                     .work_end = mpi_work_end,
                                                     .end = mpi_end};

/* The processors that the ranks of this host may use, all together, are shared evenly. A rank that is bound to some
 * of them uses these. */
static int share_of_processors(void)
{
    cpu_set_t own, all;
    int ranks_here;
    MPI_Comm here;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof own, &own) != 0)
        return 1;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &ranks_here);
    MPI_Allreduce(&own, &all, sizeof own, MPI_BYTE, MPI_BOR, here);
    MPI_Comm_free(&here);
    const int share = CPU_COUNT(&all) / ranks_here, bound = CPU_COUNT(&own);
    return share < 1 ? 1 : share < bound ? share : bound;
}

static rotary_status create(struct mpi_state *state, rotary_error *error)
{
    struct ranks *ranks = state->ranks;
    int length;
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    MPI_Get_processor_name(name, &length);
    snprintf(ranks->host, sizeof ranks->host, "%s", name);
    state->hosts = calloc((size_t)ranks->count, sizeof *state->hosts);
    if (!state->hosts)
        return rotary_fail_memory(error, "for the names of hosts");
    MPI_Allgather(ranks->host, RANKS_HOST_BYTES, MPI_BYTE, state->hosts, RANKS_HOST_BYTES, MPI_BYTE,
                  MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &state->messages);
    MPI_Comm_dup(MPI_COMM_WORLD, &state->beats);
    MPI_Comm_set_errhandler(state->messages, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(state->beats, MPI_ERRORS_RETURN);
    ranks->threads = share_of_processors();
    pthread_mutex_init(&state->lock, NULL);
    return start_watch(state, error);
}

/* What started this process may be of another MPI than the one of this program. */
static rotary_status check_started(int count, int provided, rotary_error *error)
{
    if (count != ranks_started())
        return rotary_fail(
            error, ROTARY_UNSUPPORTED,
            "%d processes were started together, but the MPI of this program finds %d: wanted the "
            "mpirun of the MPI that rotary info names",
            ranks_started(), count);
    if (provided < MPI_THREAD_SERIALIZED)
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "the MPI of this program allows calls from one thread alone: wanted "
                           "MPI_THREAD_SERIALIZED");
    return ROTARY_OK;
}

/* Open MPI 4 takes a way to shared counters that fails between hosts that have TCP alone (MPI_ERR_WIN), unless a
 * user has chosen another one. */
static void choose_windows(void)
{
#if defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION < 5
    setenv("OMPI_MCA_osc", "^rdma", 0);
#endif
}

rotary_status ranks_transport_begin(struct ranks *ranks, ranks_lost *lost, void *argument,
                                    rotary_error *error)
{
    int provided, count;
    if (ranks_started() <= 1)
        return ROTARY_OK;
    choose_windows();
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS)
        return rotary_fail(error, ROTARY_UNSUPPORTED, "MPI does not begin");
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    rotary_status status = check_started(count, provided, error);
    if (status != ROTARY_OK)
        return status;
    struct mpi_state *state = calloc(1, sizeof *state);
    if (!state)
        return rotary_fail_memory(error, "for ranks");
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks->index);
    ranks->count = count;
    *state = (struct mpi_state){.ranks = ranks, .lost = lost, .argument = argument};
    ranks->transport = &mpi_transport;
    ranks->state = state;
    return create(state, error);
}

const char *ranks_transport_library(char text[RANKS_LIBRARY_BYTES])
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    const int first = (int)strcspn(version, ",\n");
    snprintf(text, RANKS_LIBRARY_BYTES, "%.*s", first < 100 ? first : 100, version);
    return text;
}
