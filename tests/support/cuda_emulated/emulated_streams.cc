/* SPDX-License-Identifier: Apache-2.0 */
#include "emulated_streams.h"

#include "cuda_runtime.h"
#include "emulated_memory.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdlib.h>
#include <vector>

/* emulated_block.cc has these. */
bool emulated_fits(const cudaLaunchConfig_t *config, const void *kernel);
void emulated_run(const cudaLaunchConfig_t *config, const emulated_kernel &kernel, void *const *parameters);

enum node_kind { NODE_KERNEL, NODE_COPY, NODE_OTHER };

struct emulated_node {
    node_kind kind;
    size_t index; /* in its graph */
    const char *name;
    cudaLaunchConfig_t config;
    emulated_kernel kernel;
    std::vector<std::vector<unsigned char>> parameters;
    void *to;
    const void *from;
    size_t bytes;
    cudaMemcpyKind direction;
    std::function<void()> work;
};

struct emulated_graph {
    std::vector<std::unique_ptr<emulated_node>> nodes;
    cudaGraphNode_t last;
};

struct emulated_exec {
    std::vector<emulated_node> nodes;
};

/* What a stream has to do, counted; `done` of it is done. */
struct queue {
    std::deque<std::function<void()>> pending;
    size_t submitted, done;
};

struct emulated_stream {
    std::shared_ptr<queue> work;
    std::unique_ptr<emulated_graph> captured; /* NULL: what is called runs */
};

struct emulated_event {
    std::shared_ptr<queue> work; /* NULL: never recorded */
    size_t place;
};

namespace
{

struct streams {
    std::recursive_mutex mutex;
    std::set<emulated_stream *> all;
    std::map<const unsigned char *, size_t> locked; /* pages of the host */
    emulated_graph_counts counts;
};

streams &every()
{
    static streams *made = new streams();
    return *made;
}

typedef std::lock_guard<std::recursive_mutex> lock_guard;

void flush(queue &work, size_t place)
{
    while (work.done < place && !work.pending.empty()) {
        const std::function<void()> next = work.pending.front();
        work.pending.pop_front();
        work.done++;
        next();
    }
}

void flush_all(queue &work)
{
    flush(work, work.submitted);
}

/* The stream without a number does at once what it is given. */
void defer(cudaStream_t stream, const std::function<void()> &work)
{
    if (!stream)
        return work();
    stream->work->pending.push_back(work);
    stream->work->submitted++;
}

void add_node(cudaStream_t stream, std::unique_ptr<emulated_node> node)
{
    emulated_graph &graph = *stream->captured;
    node->index = graph.nodes.size();
    node->name = emulated_kernel_named();
    graph.last = node.get();
    graph.nodes.push_back(std::move(node));
}

bool is_locked(const void *memory)
{
    const auto &locked = every().locked;
    const unsigned char *at = static_cast<const unsigned char *>(memory);
    auto next = locked.upper_bound(at);
    return next != locked.begin() && at < (--next)->first + next->second;
}

/* ---- What nodes do. ---- */

void copy_now(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    emulated_kernel_name("of a copy");
    if (kind != cudaMemcpyDeviceToHost)
        emulated_memory_check(to, bytes, "destination of a copy");
    if (kind != cudaMemcpyHostToDevice)
        emulated_memory_check(from, bytes, "source of a copy");
    emulated_memory_open();
    if (bytes)
        memcpy(to, from, bytes);
    emulated_memory_close();
}

void run_node(const emulated_node &node)
{
    std::vector<void *> parameters;
    if (node.kind == NODE_COPY)
        return copy_now(node.to, node.from, node.bytes, node.direction);
    if (node.kind == NODE_OTHER)
        return node.work();
    for (const auto &parameter : node.parameters)
        parameters.push_back(const_cast<unsigned char *>(parameter.data()));
    emulated_kernel_name(node.name);
    emulated_run(&node.config, node.kernel, parameters.data());
}

void set_parameters(emulated_node &node, void *const *parameters)
{
    node.parameters.clear();
    for (size_t i = 0; i < node.kernel.count; i++) {
        const unsigned char *from = static_cast<const unsigned char *>(parameters[i]);
        node.parameters.emplace_back(from, from + node.kernel.sizes[i]);
    }
}

} // namespace

void emulated_submit(cudaStream_t stream, const std::function<void()> &work)
{
    lock_guard lock(every().mutex);
    if (stream && stream->captured) {
        std::unique_ptr<emulated_node> node(new emulated_node());
        node->kind = NODE_OTHER;
        node->work = work;
        return add_node(stream, std::move(node));
    }
    if (stream)
        flush_all(*stream->work);
    work();
}

void emulated_finish(void)
{
    lock_guard lock(every().mutex);
    for (emulated_stream *stream : every().all)
        flush_all(*stream->work);
}

cudaError_t emulated_launch(const cudaLaunchConfig_t *config, const emulated_kernel &kernel,
                            void *const *parameters)
{
    lock_guard lock(every().mutex);
    if (!emulated_fits(config, kernel.kernel))
        return cudaErrorInvalidConfiguration;
    if (config->stream && config->stream->captured) {
        std::unique_ptr<emulated_node> node(new emulated_node());
        node->kind = NODE_KERNEL;
        node->config = *config;
        node->kernel = kernel;
        set_parameters(*node, parameters);
        add_node(config->stream, std::move(node));
        return cudaSuccess;
    }
    const char *name = emulated_kernel_named();
    if (config->stream)
        flush_all(*config->stream->work);
    emulated_kernel_name(name);
    emulated_run(config, kernel, parameters);
    return cudaSuccess;
}

extern "C" {

emulated_graph_counts emulated_graph_counted(void)
{
    return every().counts;
}

/* ---- Streams and events. ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    lock_guard lock(every().mutex);
    *stream = new emulated_stream();
    (*stream)->work = std::make_shared<queue>();
    every().all.insert(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    lock_guard lock(every().mutex);
    flush_all(*stream->work);
    every().all.erase(stream);
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    lock_guard lock(every().mutex);
    if (stream && stream->captured)
        emulated_fault("somebody waits for a stream that captures");
    if (stream)
        flush_all(*stream->work);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    *event = new emulated_event();
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    lock_guard lock(every().mutex);
    event->work = stream->work;
    event->place = stream->work->submitted;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    lock_guard lock(every().mutex);
    if (event->work)
        flush(*event->work, event->place);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    lock_guard lock(every().mutex);
    const emulated_event at = *event;
    if (at.work)
        defer(stream, [at]() { flush(*at.work, at.place); });
    return cudaSuccess;
}

/* ---- Copies. ---- */

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    lock_guard lock(every().mutex);
    *memory = malloc(bytes);
    if (!*memory)
        return cudaErrorMemoryAllocation;
    every().locked[static_cast<unsigned char *>(*memory)] = bytes;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory)
{
    emulated_finish();
    lock_guard lock(every().mutex);
    every().locked.erase(static_cast<unsigned char *>(memory));
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    lock_guard lock(every().mutex);
    if (stream && stream->captured) {
        std::unique_ptr<emulated_node> node(new emulated_node());
        node->kind = NODE_COPY;
        node->to = to;
        node->from = from;
        node->bytes = bytes;
        node->direction = kind;
        add_node(stream, std::move(node));
        return cudaSuccess;
    }
    if (kind == cudaMemcpyHostToDevice && !is_locked(from)) {
        const unsigned char *first = static_cast<const unsigned char *>(from);
        const std::vector<unsigned char> taken(first, first + bytes);
        defer(stream, [=]() { copy_now(to, taken.data(), bytes, kind); });
    } else {
        defer(stream, [=]() { copy_now(to, from, bytes, kind); });
    }
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    emulated_submit(stream, [=]() {
        emulated_kernel_name("of a memset");
        emulated_memory_check(to, bytes, "memory to set");
        emulated_memory_open();
        if (bytes)
            memset(to, value, bytes);
        emulated_memory_close();
    });
    return cudaSuccess;
}

/* ---- Graphs. ---- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    (void)mode;
    lock_guard lock(every().mutex);
    if (stream->captured)
        return cudaErrorInvalidValue;
    stream->captured.reset(new emulated_graph());
    return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **last,
                                     const cudaGraphEdgeData **edges, size_t *count)
{
    (void)id;
    (void)edges;
    lock_guard lock(every().mutex);
    *status = stream->captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    if (!stream->captured)
        return cudaSuccess;
    if (graph)
        *graph = stream->captured.get();
    *last = &stream->captured->last;
    *count = stream->captured->nodes.empty() ? 0 : 1;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    lock_guard lock(every().mutex);
    *graph = stream->captured.release();
    return *graph ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    (void)flags;
    *exec = new emulated_exec();
    for (const auto &node : graph->nodes)
        (*exec)->nodes.push_back(*node);
    return cudaSuccess;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams *params)
{
    lock_guard lock(every().mutex);
    emulated_node &of = exec->nodes.at(node->index);
    cudaLaunchConfig_t config = of.config;
    config.gridDim = params->gridDim;
    config.blockDim = params->blockDim;
    config.dynamicSmemBytes = params->sharedMemBytes;
    if (of.kind != NODE_KERNEL || params->func != of.kernel.kernel ||
        !emulated_fits(&config, of.kernel.kernel))
        return cudaErrorGraphExecUpdateFailure;
    every().counts.updates++;
    of.config = config;
    set_parameters(of, params->kernelParams);
    return cudaSuccess;
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                               const void *from, size_t bytes, cudaMemcpyKind kind)
{
    lock_guard lock(every().mutex);
    emulated_node &of = exec->nodes.at(node->index);
    if (of.kind != NODE_COPY || of.direction != kind)
        return cudaErrorGraphExecUpdateFailure;
    every().counts.updates++;
    of.to = to;
    of.from = from;
    of.bytes = bytes;
    return cudaSuccess;
}

/* With the parameters that nodes have now. */
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    lock_guard lock(every().mutex);
    const std::vector<emulated_node> nodes = exec->nodes;
    every().counts.launches++;
    defer(stream, [nodes]() {
        for (const emulated_node &node : nodes)
            run_node(node);
    });
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    delete exec;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}
}
