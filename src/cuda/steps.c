/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/steps.h"

#include "base/arena.h"
#include "cuda/staged.h"

#include <stdlib.h>

enum {
    MAX_RECORDINGS = 8, /* graphs; the oldest one makes room */
    MAX_SHAPES = 64,    /* that are remembered */
    MAX_ATTEMPTS = 3,   /* to keep a step that something interrupts */
    MAX_LEFT = 2        /* steps, one after another, that were others than their graph */
};

struct kept {
    const void *identity;
    cudaError_t (*run)(const struct cuda *cuda, const void *arguments);
    size_t offset, bytes; /* of the arguments */
    cudaGraphNode_t node;
};

/* The items of a step, and the graph of them. */
struct recording {
    uint64_t shape;
    struct kept *items;
    int count, capacity, at; /* at: how many of them this step has had */
    unsigned char *arguments;
    size_t argument_bytes, argument_capacity;
    unsigned char *uploads; /* page-locked: what the host gave of this step */
    size_t upload_bytes, upload_capacity;
    cudaGraph_t graph;
    cudaGraphExec_t exec; /* NULL: there is none yet */
    cudaEvent_t launched; /* behind its last launch */
    int left;
};

struct shape {
    uint64_t key;
    int attempts;
    bool seen;
};

enum mode { STEP_PLAIN, STEP_RECORDS, STEP_REPEATS };

struct cuda_steps {
    enum mode mode;
    struct recording *now;
    struct recording recordings[MAX_RECORDINGS];
    struct shape shapes[MAX_SHAPES];
    int next_recording, next_shape;
};

rotary_status cuda_steps_create(struct cuda_steps **steps, rotary_error *error)
{
    *steps = calloc(1, sizeof **steps);
    return *steps ? ROTARY_OK : rotary_fail_memory(error, "for the graphs of steps");
}

static void forget(struct recording *of)
{
    if (of->launched) {
        (void)cudaEventSynchronize(of->launched);
        (void)cudaEventDestroy(of->launched);
    }
    if (of->exec)
        (void)cudaGraphExecDestroy(of->exec);
    if (of->graph)
        (void)cudaGraphDestroy(of->graph);
    (void)cudaFreeHost(of->uploads);
    free(of->items);
    free(of->arguments);
    *of = (struct recording){0};
}

void cuda_steps_destroy(struct cuda_steps *steps)
{
    for (int i = 0; steps && i < MAX_RECORDINGS; i++)
        forget(&steps->recordings[i]);
    free(steps);
}

/* ---- Items that are kept. ---- */

/* At least `bytes` bytes of an array that grows; false: there is no memory. */
static bool reserve(unsigned char **memory, size_t *capacity, size_t bytes)
{
    if (bytes <= *capacity)
        return true;
    const size_t wanted = 2 * bytes;
    unsigned char *grown = realloc(*memory, wanted);
    if (!grown)
        return false;
    *memory = grown;
    *capacity = wanted;
    return true;
}

static bool reserve_items(struct recording *of)
{
    if (of->count < of->capacity)
        return true;
    const int wanted = 2 * of->capacity + 64;
    struct kept *grown = realloc(of->items, (size_t)wanted * sizeof *grown);
    if (!grown)
        return false;
    of->items = grown;
    of->capacity = wanted;
    return true;
}

static bool keep(struct recording *of, const struct cuda_item *item)
{
    const size_t offset = rotary_align(of->argument_bytes);
    if (!reserve_items(of) || !reserve(&of->arguments, &of->argument_capacity, offset + item->bytes))
        return false;
    of->items[of->count++] =
        (struct kept){.identity = item->identity, .run = item->run, .offset = offset, .bytes = item->bytes};
    memcpy(of->arguments + offset, item->arguments, item->bytes);
    of->argument_bytes = offset + item->bytes;
    return true;
}

/* Whether the item is the next one of the graph, which then has its arguments. */
static bool repeat(struct recording *of, const struct cuda_item *item)
{
    if (of->at == of->count)
        return false;
    const struct kept *kept = &of->items[of->at];
    unsigned char *arguments = of->arguments + kept->offset;
    if (kept->run != item->run || kept->identity != item->identity || kept->bytes != item->bytes)
        return false;
    if (memcmp(arguments, item->arguments, item->bytes) != 0) {
        if (!item->update || item->update(of->exec, kept->node, item->arguments) != cudaSuccess) {
            (void)cudaGetLastError();
            return false;
        }
        memcpy(arguments, item->arguments, item->bytes);
    }
    of->at++;
    return true;
}

/* ---- What the host gives. ---- */

struct upload {
    void *to;
    const struct recording *of;
    size_t offset, bytes; /* in its uploads */
};

static cudaError_t run_upload(const struct cuda *cuda, const void *arguments)
{
    const struct upload *upload = arguments;
    return cudaMemcpyAsync(upload->to, upload->of->uploads + upload->offset, upload->bytes,
                           cudaMemcpyHostToDevice, cuda->stream);
}

static cudaError_t update_upload(cudaGraphExec_t graph, cudaGraphNode_t node, const void *arguments)
{
    const struct upload *upload = arguments;
    return cudaGraphExecMemcpyNodeSetParams1D(graph, node, upload->to, upload->of->uploads + upload->offset,
                                              upload->bytes, cudaMemcpyHostToDevice);
}

/* No copy from there is under way while a recording is made. */
static bool reserve_uploads(struct recording *of, size_t bytes)
{
    void *grown = NULL;
    if (bytes <= of->upload_capacity)
        return true;
    if (of->exec || cudaMallocHost(&grown, 2 * bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    if (of->upload_bytes > 0)
        memcpy(grown, of->uploads, of->upload_bytes);
    (void)cudaFreeHost(of->uploads);
    of->uploads = grown;
    of->upload_capacity = 2 * bytes;
    return true;
}

/* Copies what the host gives to where the graph of the recording finds it. */
static bool take_upload(struct recording *of, void *to, const void *host, size_t bytes, struct upload *upload)
{
    memset(upload, 0, sizeof *upload);
    upload->to = to;
    upload->of = of;
    upload->offset = rotary_align(of->upload_bytes);
    upload->bytes = bytes;
    if (!reserve_uploads(of, upload->offset + bytes))
        return false;
    memcpy(of->uploads + upload->offset, host, bytes);
    of->upload_bytes = upload->offset + bytes;
    return true;
}

/* ---- A step that has no graph. ---- */

static struct shape *find_shape(struct cuda_steps *steps, uint64_t key)
{
    for (int i = 0; i < MAX_SHAPES; i++)
        if (steps->shapes[i].seen && steps->shapes[i].key == key)
            return &steps->shapes[i];
    return NULL;
}

/* The step goes on without being kept. */
static void stop_recording(struct cuda_steps *steps)
{
    struct shape *shape = find_shape(steps, steps->now->shape);
    if (shape)
        shape->attempts++;
    forget(steps->now);
    steps->mode = STEP_PLAIN;
    steps->now = NULL;
}

/* What the graph had in the place of the stream runs now. */
static rotary_status leave_graph(const struct backend *backend, rotary_error *error)
{
    const struct cuda *cuda = cuda_of(backend);
    struct cuda_steps *steps = cuda->steps;
    struct recording *of = steps->now;
    steps->mode = STEP_PLAIN;
    steps->now = NULL;
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < of->at && status == cudaSuccess; i++)
        status = of->items[i].run(cuda, of->arguments + of->items[i].offset);
    if (status == cudaSuccess)
        status = cuda_staged_read(cuda);
    if (status == cudaSuccess)
        status = cudaEventRecord(of->launched, cuda->stream);
    if (++of->left == MAX_LEFT)
        forget(of);
    return cuda_check(status, "a step without its graph", error);
}

rotary_status cuda_steps_interrupt(const struct backend *backend, rotary_error *error)
{
    struct cuda_steps *steps = cuda_of(backend)->steps;
    if (steps->mode == STEP_RECORDS)
        stop_recording(steps);
    return steps->mode == STEP_REPEATS ? leave_graph(backend, error) : ROTARY_OK;
}

/* ---- Items of a step. ---- */

rotary_status cuda_submit(const struct backend *backend, const struct cuda_item *item, const char *what,
                          rotary_error *error)
{
    const struct cuda *cuda = cuda_of(backend);
    struct cuda_steps *steps = cuda->steps;
    if (steps->mode == STEP_REPEATS) {
        if (repeat(steps->now, item))
            return ROTARY_OK;
        rotary_status status = leave_graph(backend, error);
        if (status != ROTARY_OK)
            return status;
    }
    if (steps->mode == STEP_RECORDS && !keep(steps->now, item))
        stop_recording(steps);
    return cuda_check(item->run(cuda, item->arguments), what, error);
}

rotary_status cuda_submit_upload(const struct backend *backend, void *to, const void *host, size_t bytes,
                                 rotary_error *error)
{
    const struct cuda *cuda = cuda_of(backend);
    struct cuda_steps *steps = cuda->steps;
    struct upload upload;
    const struct cuda_item item = {
        .run = run_upload, .update = update_upload, .arguments = &upload, .bytes = sizeof upload};
    if (steps->mode == STEP_REPEATS) {
        if (take_upload(steps->now, to, host, bytes, &upload) && repeat(steps->now, &item))
            return ROTARY_OK;
        rotary_status status = leave_graph(backend, error);
        if (status != ROTARY_OK)
            return status;
    }
    if (steps->mode == STEP_RECORDS &&
        !(take_upload(steps->now, to, host, bytes, &upload) && keep(steps->now, &item)))
        stop_recording(steps);
    return cuda_check(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, cuda->stream),
                      "a copy to the device", error);
}

/* ---- Graphs. ---- */

/* The node that the item before this has become: the last of the one stream. */
static cudaError_t find_node(cudaStream_t stream, cudaGraphNode_t *node)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t *last = NULL;
    size_t count = 0;
    cudaError_t status = cudaStreamGetCaptureInfo(stream, &capture, NULL, NULL, &last, NULL, &count);
    if (status == cudaSuccess && (capture != cudaStreamCaptureStatusActive || count != 1))
        status = cudaErrorUnknown;
    if (status == cudaSuccess)
        *node = last[0];
    return status;
}

/* The stream captures what items put into it, and runs nothing of it. Other threads may allocate meanwhile. */
static cudaError_t capture(const struct cuda *cuda, struct recording *of)
{
    cudaError_t status = cudaStreamBeginCapture(cuda->stream, cudaStreamCaptureModeRelaxed);
    if (status != cudaSuccess)
        return status;
    for (int i = 0; i < of->count && status == cudaSuccess; i++) {
        status = of->items[i].run(cuda, of->arguments + of->items[i].offset);
        if (status == cudaSuccess)
            status = find_node(cuda->stream, &of->items[i].node);
    }
    const cudaError_t ended = cudaStreamEndCapture(cuda->stream, &of->graph);
    return status == cudaSuccess ? ended : status;
}

/* A step that the device cannot have as a graph stays one without. */
static void make_graph(const struct cuda *cuda)
{
    struct recording *of = cuda->steps->now;
    cudaError_t status = capture(cuda, of);
    if (status == cudaSuccess)
        status = cudaGraphInstantiate(&of->exec, of->graph, 0);
    if (status == cudaSuccess)
        status = cudaEventCreateWithFlags(&of->launched, cudaEventDisableTiming);
    cuda->steps->mode = STEP_PLAIN;
    if (status == cudaSuccess)
        return;
    (void)cudaGetLastError();
    stop_recording(cuda->steps);
}

static rotary_status launch(const struct cuda *cuda, rotary_error *error)
{
    struct recording *of = cuda->steps->now;
    of->left = 0;
    cudaError_t status = cudaGraphLaunch(of->exec, cuda->stream);
    cuda->steps->mode = STEP_PLAIN;
    if (status == cudaSuccess)
        status = cudaEventRecord(of->launched, cuda->stream);
    if (status == cudaSuccess)
        status = cuda_staged_read(cuda);
    return cuda_check(status, "the graph of a step", error);
}

/* ---- Steps. ---- */

static struct recording *find_recording(struct cuda_steps *steps, uint64_t shape)
{
    for (int i = 0; i < MAX_RECORDINGS; i++)
        if (steps->recordings[i].exec && steps->recordings[i].shape == shape)
            return &steps->recordings[i];
    return NULL;
}

static void begin_recording(struct cuda_steps *steps, uint64_t shape)
{
    steps->now = &steps->recordings[steps->next_recording];
    steps->next_recording = (steps->next_recording + 1) % MAX_RECORDINGS;
    forget(steps->now);
    steps->now->shape = shape;
    steps->mode = STEP_RECORDS;
}

/* Uploads of the step before have left the host's memory when its launch is over. */
static rotary_status begin_repeating(struct cuda_steps *steps, struct recording *of, rotary_error *error)
{
    steps->now = of;
    steps->mode = STEP_REPEATS;
    of->at = 0;
    of->upload_bytes = 0;
    return cuda_check(cudaEventSynchronize(of->launched), "the step before", error);
}

rotary_status cuda_step_begin(const struct backend *backend, uint64_t shape, rotary_error *error)
{
    struct cuda_steps *steps = cuda_of(backend)->steps;
    rotary_status status = cuda_steps_interrupt(backend, error);
    if (status != ROTARY_OK)
        return status;
    struct recording *found = find_recording(steps, shape);
    if (found)
        return begin_repeating(steps, found, error);
    const struct shape *seen = find_shape(steps, shape);
    if (seen && seen->attempts < MAX_ATTEMPTS)
        begin_recording(steps, shape);
    if (!seen) {
        steps->shapes[steps->next_shape] = (struct shape){.key = shape, .seen = true};
        steps->next_shape = (steps->next_shape + 1) % MAX_SHAPES;
    }
    return ROTARY_OK;
}

rotary_status cuda_step_end(const struct backend *backend, rotary_error *error)
{
    struct cuda *cuda = cuda_of(backend);
    struct cuda_steps *steps = cuda->steps;
    rotary_status status = ROTARY_OK;
    if (steps->mode == STEP_RECORDS)
        make_graph(cuda);
    else if (steps->mode == STEP_REPEATS)
        status = steps->now->at == steps->now->count ? launch(cuda, error) : leave_graph(backend, error);
    steps->now = NULL;
    return status;
}
