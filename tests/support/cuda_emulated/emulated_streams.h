/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams, events and graphs of the emulated device. A copy or a graph is done as late as may be: when its stream
 * has other work, when somebody waits for the stream, or for an event recorded behind it. Whoever lacks a wait
 * finds what was there before. Copies from pages of the host that are not locked have left them at once.
 */
#ifndef CUDA_EMULATED_STREAMS_H
#define CUDA_EMULATED_STREAMS_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus
#include <functional>

/* Work that is neither a kernel nor a copy: it is done now, or is a node of the graph that the stream captures. */
void emulated_submit(cudaStream_t stream, const std::function<void()> &work);
/* All that any stream has. */
void emulated_finish(void);

extern "C" {
#endif

/* For tests: how many graphs were launched, and how many nodes of them got other parameters. */
struct emulated_graph_counts {
    size_t launches, updates;
};
struct emulated_graph_counts emulated_graph_counted(void);

#ifdef __cplusplus
}
#endif

#endif
