/* SPDX-License-Identifier: Apache-2.0 */
#include "support/thread_ranks.h"

#include "ranks/transport.h"
#include "support/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What one rank has sent to another, until it is received. */
struct mail {
    void *data; /* NULL: nothing */
    size_t bytes;
};

struct post {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct mail mail[THREAD_RANKS][THREAD_RANKS];
    int64_t counter;
    struct ranks_board boards[THREAD_RANKS];
    atomic_bool stopped;
    thread_rank_work *work;
    void *argument;
};

struct rank_thread {
    struct post *post;
    struct ranks ranks;
    pthread_t thread;
};

static void send_mail(struct post *post, struct mail *mail, const void *data, size_t bytes)
{
    while (mail->data)
        pthread_cond_wait(&post->changed, &post->lock);
    mail->data = malloc(bytes);
    if (!mail->data)
        abort();
    memcpy(mail->data, data, bytes);
    mail->bytes = bytes;
    pthread_cond_broadcast(&post->changed);
}

static void receive_mail(struct post *post, struct mail *mail, void *data, size_t bytes)
{
    while (!mail->data)
        pthread_cond_wait(&post->changed, &post->lock);
    if (mail->bytes != bytes) /* the two do not call the same: nothing can be compared any more */
        abort();
    memcpy(data, mail->data, bytes);
    free(mail->data);
    mail->data = NULL;
    pthread_cond_broadcast(&post->changed);
}

static rotary_status thread_exchange(void *state, const struct ranks_exchange *exchange, rotary_error *error)
{
    (void)error;
    struct rank_thread *thread = state;
    struct post *post = thread->post;
    const int own = thread->ranks.index;
    pthread_mutex_lock(&post->lock);
    if (exchange->send_bytes > 0)
        send_mail(post, &post->mail[own][exchange->partner], exchange->send, exchange->send_bytes);
    if (exchange->receive_bytes > 0)
        receive_mail(post, &post->mail[exchange->partner][own], exchange->receive, exchange->receive_bytes);
    pthread_mutex_unlock(&post->lock);
    return ROTARY_OK;
}

static rotary_status thread_work_begin(void *state, const atomic_bool *interrupted, const atomic_bool **stop,
                                       rotary_error *error)
{
    (void)interrupted;
    (void)error;
    *stop = &((struct rank_thread *)state)->post->stopped;
    return ROTARY_OK;
}

static rotary_status thread_work_next(void *state, int64_t *number, rotary_error *error)
{
    (void)error;
    struct post *post = ((struct rank_thread *)state)->post;
    pthread_mutex_lock(&post->lock);
    *number = post->counter++;
    pthread_mutex_unlock(&post->lock);
    return ROTARY_OK;
}

static rotary_status thread_work_show(void *state, const struct ranks_board *own, rotary_error *error)
{
    (void)error;
    struct rank_thread *thread = state;
    pthread_mutex_lock(&thread->post->lock);
    thread->post->boards[thread->ranks.index] = *own;
    pthread_mutex_unlock(&thread->post->lock);
    return ROTARY_OK;
}

static rotary_status thread_work_look(void *state, struct ranks_board *boards, rotary_error *error)
{
    (void)error;
    struct rank_thread *thread = state;
    pthread_mutex_lock(&thread->post->lock);
    memcpy(boards, thread->post->boards, (size_t)thread->ranks.count * sizeof *boards);
    pthread_mutex_unlock(&thread->post->lock);
    return ROTARY_OK;
}

static void thread_work_stop(void *state)
{
    atomic_store(&((struct rank_thread *)state)->post->stopped, true);
}

/* All are here: the next list begins anew. */
static rotary_status thread_work_end(void *state, rotary_error *error)
{
    (void)error;
    struct rank_thread *thread = state;
    if (thread->ranks.index > 0)
        return ROTARY_OK;
    pthread_mutex_lock(&thread->post->lock);
    memset(thread->post->boards, 0, sizeof thread->post->boards);
    thread->post->counter = 0;
    pthread_mutex_unlock(&thread->post->lock);
    return ROTARY_OK;
}

static const struct ranks_transport thread_transport = {.exchange = thread_exchange,
                                                        .work_begin = thread_work_begin,
                                                        .work_next = thread_work_next,
                                                        .work_show = thread_work_show,
                                                        .work_look = thread_work_look,
                                                        .work_stop = thread_work_stop,
                                                        .work_end = thread_work_end};

static void *run_rank(void *argument)
{
    struct rank_thread *thread = argument;
    struct post *post = thread->post;
    post->work(post->argument, thread->ranks.count > 1 ? &thread->ranks : NULL);
    return NULL;
}

void thread_ranks_run(int count, thread_rank_work *work, void *argument)
{
    struct post post = {.work = work, .argument = argument};
    struct rank_thread threads[THREAD_RANKS];
    pthread_mutex_init(&post.lock, NULL);
    pthread_cond_init(&post.changed, NULL);
    for (int i = 0; i < count; i++) {
        threads[i] = (struct rank_thread){.post = &post,
                                          .ranks = {.transport = &thread_transport,
                                                    .state = &threads[i],
                                                    .index = i,
                                                    .count = count,
                                                    .threads = 1,
                                                    .host = "here"}};
        if (pthread_create(&threads[i].thread, NULL, run_rank, &threads[i]) != 0)
            abort();
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i].thread, NULL);
    for (int from = 0; from < count; from++)
        for (int to = 0; to < count; to++)
            CHECK(!post.mail[from][to].data);
    pthread_cond_destroy(&post.changed);
    pthread_mutex_destroy(&post.lock);
}
