/* SPDX-License-Identifier: Apache-2.0 */
#include "emulated_fiber.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#endif

enum { STACK_BYTES = 256 << 10 };

void fiber_allocate(struct fiber *fiber)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *mapped = mmap(NULL, STACK_BYTES + page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED || mprotect(mapped, page, PROT_NONE) != 0) {
        perror("a stack of the emulated device");
        abort();
    }
    fiber->stack = (char *)mapped + page;
    fiber->bytes = STACK_BYTES;
}

/* ---- What AddressSanitizer wants to know of a switch. ---- */

#if defined(__SANITIZE_ADDRESS__)
static void announce(void **saved, const struct fiber *to)
{
    if (to->stack) {
        __sanitizer_start_switch_fiber(saved, to->stack, to->bytes);
        return;
    }
    pthread_attr_t attributes;
    void *stack = NULL;
    size_t bytes = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &stack, &bytes);
    pthread_attr_destroy(&attributes);
    __sanitizer_start_switch_fiber(saved, stack, bytes);
}

static void arrived(void *saved)
{
    __sanitizer_finish_switch_fiber(saved, NULL, NULL);
}
#else
static void announce(void **saved, const struct fiber *to)
{
    (void)saved;
    (void)to;
}

static void arrived(void *saved)
{
    (void)saved;
}
#endif

void fiber_begin(void)
{
    arrived(NULL);
}

/* ---- The switch. ---- */

#if defined(__x86_64__)
extern "C" void emulated_switch_stacks(void **save, void *load);
/* What a function keeps for its caller is pushed, the stacks are exchanged, and the other's is popped. */
__asm__(".text\n"
        ".globl emulated_switch_stacks\n"
        ".hidden emulated_switch_stacks\n"
        ".type emulated_switch_stacks, @function\n"
        "emulated_switch_stacks:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp, (%rdi)\n"
        "movq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\n"
        "ret\n"
        ".size emulated_switch_stacks, . - emulated_switch_stacks\n");

void fiber_prepare(struct fiber *fiber, void (*entry)(void))
{
    enum { REGISTERS = 6 };
    void **top = (void **)(fiber->stack + fiber->bytes);
    *--top = NULL; /* the entry's return address: it has none */
    *--top = (void *)(uintptr_t)entry;
    for (int i = 0; i < REGISTERS; i++)
        *--top = NULL;
    fiber->stack_pointer = top;
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
    void *saved = NULL;
    announce(&saved, to);
    emulated_switch_stacks(&from->stack_pointer, to->stack_pointer);
    arrived(saved);
}
#else
void fiber_prepare(struct fiber *fiber, void (*entry)(void))
{
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = fiber->bytes;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, entry, 0);
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
    void *saved = NULL;
    announce(&saved, to);
    swapcontext(&from->context, &to->context);
    arrived(saved);
}
#endif
