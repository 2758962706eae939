/* SPDX-License-Identifier: Apache-2.0 */
#include "emulated_races.h"

#include "emulated_block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <vector>

namespace
{

enum { WORD = 2, NOBODY = -1, SEVERAL = -2 }; /* a word is the smallest element: bf16 */

/* Accesses of one kind to a word by the threads of one warp. */
struct access {
    uint64_t epoch; /* of the block; 0: none ever */
    uint32_t warp_epoch;
    int thread; /* SEVERAL: more than one since the warp's last barrier */
    int line;
};

struct shared_memory {
    unsigned char *end; /* a page that nobody may access follows */
    unsigned char *data;
    size_t bytes;
    int warps;
    uint64_t epoch;             /* counts barriers of blocks, over all blocks */
    std::vector<access> reads;  /* [words][warps] */
    std::vector<access> writes; /* [words]: the last one */
};

shared_memory shared;

void reserve()
{
    enum { PAGE = 4096, MAPPED = (EMULATED_SHARED + PAGE - 1) / PAGE * PAGE };
    void *mapped = mmap(NULL, MAPPED + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED || mprotect((char *)mapped + MAPPED, PAGE, PROT_NONE) != 0) {
        perror("shared memory of the emulated device");
        abort();
    }
    shared.end = (unsigned char *)mapped + MAPPED;
}

/* The thread that accesses shared memory, looked up once per access. */
struct accessor {
    int thread, warp;
    uint32_t warp_epoch;

    accessor() : thread(emulated_thread()), warp(thread / EMULATED_WARP), warp_epoch(emulated_warp_epoch()) {}
};

/* Whether another access of this kind, by another thread, may be at the same time as one of this thread. */
bool races(const access &other, const accessor &own)
{
    if (other.epoch != shared.epoch || other.thread == own.thread)
        return false;
    const int warp = other.thread == SEVERAL ? own.warp : other.thread / EMULATED_WARP;
    return warp != own.warp || other.warp_epoch >= own.warp_epoch;
}

/* SEVERAL is of the warp whose record it is. */
bool read_races(const access &other, int warp, const accessor &own)
{
    if (warp != own.warp)
        return other.epoch == shared.epoch && other.thread != NOBODY;
    return races(other, own);
}

size_t word_of(const void *address, size_t bytes, const char *what, int line)
{
    const unsigned char *first = static_cast<const unsigned char *>(address);
    if (first < shared.data || bytes > shared.bytes || first > shared.data + shared.bytes - bytes)
        emulated_fault("%s %zu bytes at offset %td of %zu bytes of shared memory, in line %d", what, bytes,
                       first - shared.data, shared.bytes, line);
    if ((size_t)(first - shared.data) & (bytes - 1)) /* elements have 2^n bytes */
        emulated_fault("%s %zu bytes of shared memory at offset %td, which is no multiple, in line %d", what,
                       bytes, first - shared.data, line);
    return (size_t)(first - shared.data) / WORD;
}

void complain(const char *what, size_t word, const access &other, const char *before, int line)
{
    char who[32] = "several threads";
    if (other.thread != SEVERAL)
        snprintf(who, sizeof who, "thread %d", other.thread);
    emulated_fault(
        "%s byte %zu of shared memory in line %d, which %s %s in line %d: no barrier is between them", what,
        word * WORD, line, who, before, other.line);
}

} // namespace

void races_begin_block(size_t bytes, int warps)
{
    enum { ALIGNMENT = 128 };
    emulated_copy_begin_block();
    if (!shared.end)
        reserve();
    const size_t words = (bytes + WORD - 1) / WORD;
    shared.bytes = bytes;
    shared.data = shared.end - (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(shared.data, 0xff, (size_t)(shared.end - shared.data));
    shared.epoch++;
    if (shared.warps != warps || shared.writes.size() < words) {
        shared.warps = warps;
        shared.reads.assign(words * (size_t)warps, access{0, 0, NOBODY, 0});
        shared.writes.assign(words, access{0, 0, NOBODY, 0});
    }
}

void races_next_epoch(void)
{
    shared.epoch++;
}

unsigned char *emulated_shared(size_t offset, size_t bytes)
{
    if (bytes > shared.bytes || offset > shared.bytes - bytes)
        emulated_fault("%zu bytes at offset %zu of %zu bytes of shared memory", bytes, offset, shared.bytes);
    return shared.data + offset;
}

void emulated_shared_read(const void *address, size_t bytes, int line)
{
    const accessor own;
    size_t word = word_of(address, bytes, "reads", line);
    for (size_t end = word + (bytes + WORD - 1) / WORD; word < end; word++) {
        if (races(shared.writes[word], own))
            complain("reads", word, shared.writes[word], "wrote", line);
        access &mine = shared.reads[word * (size_t)shared.warps + (size_t)own.warp];
        const bool again = mine.epoch == shared.epoch && mine.warp_epoch == own.warp_epoch;
        mine = {shared.epoch, own.warp_epoch, again && mine.thread != own.thread ? SEVERAL : own.thread,
                line};
    }
}

void emulated_shared_write(void *address, size_t bytes, int line)
{
    const accessor own;
    size_t word = word_of(address, bytes, "writes", line);
    for (size_t end = word + (bytes + WORD - 1) / WORD; word < end; word++) {
        if (races(shared.writes[word], own))
            complain("writes", word, shared.writes[word], "wrote", line);
        for (int warp = 0; warp < shared.warps; warp++) {
            const access &other = shared.reads[word * (size_t)shared.warps + (size_t)warp];
            if (read_races(other, warp, own))
                complain("writes", word, other, "read", line);
        }
        shared.writes[word] = {shared.epoch, own.warp_epoch, own.thread, line};
    }
}
