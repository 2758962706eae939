/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin that uses the library is unloaded while workers of its threads sleep.
 */
#include "support/check.h"
#include "support/thread_list.h"

#include <rotary/rotary.h>

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

enum { TIME = 4096, HEADS = 8, HEAD_DIM = 64, THREADS = 4 };

struct plugin {
    void *library;
    rotary_status (*create)(rotary_rope **, const rotary_rope_config *, rotary_error *);
    void (*config)(rotary_rope_config *, size_t);
    rotary_status (*apply)(const rotary_rope *, const rotary_rope_apply_call *, rotary_error *);
    void (*destroy)(rotary_rope *);
};

static bool load(struct plugin *plugin, const char *path)
{
    plugin->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin->library)
        return false;
    /* POSIX lets a pointer to an object be read as one to a function. */
    *(void **)&plugin->create = dlsym(plugin->library, "rotary_rope_create");
    *(void **)&plugin->config = dlsym(plugin->library, "rotary_rope_config_default_sized");
    *(void **)&plugin->apply = dlsym(plugin->library, "rotary_rope_apply");
    *(void **)&plugin->destroy = dlsym(plugin->library, "rotary_rope_destroy");
    return plugin->create && plugin->config && plugin->apply && plugin->destroy;
}

static rotary_status rotate(const struct plugin *plugin)
{
    static float query[TIME][HEADS][HEAD_DIM];
    const rotary_rope_apply_call call = {
        .struct_size = sizeof call,
        .batch = 1,
        .time = TIME,
        .query = {.heads = HEADS,
                  .input = {.data = query, .time_stride = HEADS * HEAD_DIM, .head_stride = HEAD_DIM},
                  .output = {.data = query, .time_stride = HEADS * HEAD_DIM, .head_stride = HEAD_DIM}}};
    rotary_rope_config config;
    rotary_rope *rope;
    plugin->config(&config, sizeof config);
    config.head_dim = HEAD_DIM;
    config.threads = THREADS;
    rotary_status status = plugin->create(&rope, &config, NULL);
    if (status != ROTARY_OK)
        return status;
    status = plugin->apply(rope, &call, NULL);
    plugin->destroy(rope);
    return status;
}

static void *use_and_unload(void *path)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    struct plugin plugin = {0};
    long threads[THREAD_LIST];
    if (CHECK(load(&plugin, path))) {
        CHECK_INT(rotate(&plugin), ROTARY_OK);
        CHECK(thread_list(threads) >= 1 + THREADS); /* this one, the main one, and workers */
        CHECK_INT(dlclose(plugin.library), 0);
        nanosleep(&pause, NULL);
    }
    return NULL; /* which ends the workers */
}

int main(int count, char **arguments)
{
    pthread_t user;
    if (!CHECK_INT(count, 2))
        return check_report();
    for (int i = 0; i < 3; i++) {
        CHECK_INT(pthread_create(&user, NULL, use_and_unload, arguments[1]), 0);
        pthread_join(user, NULL);
    }
    return check_report();
}
