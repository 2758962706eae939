/* SPDX-License-Identifier: Apache-2.0
 *
 * Detecting instruction sets. The processor must have one (CPUID) and the operating system must save its
 * registers (XCR0). AMX tiles also need a permission from Linux, which is requested only if amx may be used.
 * The permission holds for the whole process, and a repeated request changes nothing.
 *
 * With AMX emulation (ROTARY_EMULATE_AMX) amx is available wherever AVX512-BF16 is.
 */
#include "base/isa.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };

static uint64_t saved_registers(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool has(uint64_t set, uint64_t wanted)
{
    return (set & wanted) == wanted;
}

#ifdef ROTARY_EMULATE_AMX
static bool may_use_amx(uint32_t features)
{
    (void)features;
    return true;
}
#else
/* `features` is edx of CPUID leaf 7. */
static bool may_use_amx(uint32_t features)
{
    const uint32_t amx_bf16 = 1u << 22, amx_tile = 1u << 24;
    return has(features, amx_bf16 | amx_tile) && has(saved_registers(), 0x60000) &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}
#endif

/* The best instruction set; the best without AMX unless `amx`. */
static rotary_isa detect(bool amx)
{
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return ROTARY_ISA_SCALAR;
    const uint32_t fma = 1u << 12, osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29;
    if (!has(c, fma | osxsave | avx | f16c) || !has(saved_registers(), 0x6))
        return ROTARY_ISA_SCALAR;
    uint32_t b7, c7, d7;
    if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7) || !has(b7, 1u << 5))
        return ROTARY_ISA_SCALAR;
    const uint32_t f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31;
    if (!has(b7, f | dq | bw | vl) || !has(saved_registers(), 0xe6))
        return ROTARY_ISA_AVX2;
    const uint32_t avx512_bf16 = 1u << 5;
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !has(a, avx512_bf16))
        return ROTARY_ISA_AVX512;
    return amx && may_use_amx(d7) ? ROTARY_ISA_AMX : ROTARY_ISA_AVX512BF16;
}

void rotary_processor_vendor(char vendor[ROTARY_VENDOR_BYTES])
{
    uint32_t a, words[3] = {0}; /* CPUID gives the first four letters in ebx, then edx, then ecx */
    if (!__get_cpuid(0, &a, &words[0], &words[2], &words[1]))
        memset(words, 0, sizeof words);
    memcpy(vendor, words, sizeof words);
    vendor[sizeof words] = 0;
}
#else
static rotary_isa detect(bool amx)
{
    (void)amx;
#if defined(__aarch64__)
    return ROTARY_ISA_NEON;
#else
    return ROTARY_ISA_SCALAR;
#endif
}

void rotary_processor_vendor(char vendor[ROTARY_VENDOR_BYTES])
{
    vendor[0] = 0;
}
#endif

static const char *const names[ROTARY_ISAS] = {
    [ROTARY_ISA_AUTO] = "auto", [ROTARY_ISA_SCALAR] = "scalar", [ROTARY_ISA_NEON] = "neon",
    [ROTARY_ISA_AVX2] = "avx2", [ROTARY_ISA_AVX512] = "avx512", [ROTARY_ISA_AVX512BF16] = "avx512bf16",
    [ROTARY_ISA_AMX] = "amx"};

const rotary_isa rotary_isa_order[ROTARY_ISAS] = {ROTARY_ISA_AUTO, ROTARY_ISA_SCALAR, ROTARY_ISA_NEON,
                                                  ROTARY_ISA_AVX2, ROTARY_ISA_AVX512, ROTARY_ISA_AVX512BF16,
                                                  ROTARY_ISA_AMX};

static int rank_of(rotary_isa isa)
{
    int rank = 0;
    while (rank < ROTARY_ISAS && rotary_isa_order[rank] != isa)
        rank++;
    return rank;
}

const char *rotary_isa_name(rotary_isa isa)
{
    return (unsigned)isa < ROTARY_ISAS ? names[isa] : "unknown";
}

rotary_status rotary_isa_from_name(rotary_isa *isa, const char *name, rotary_error *error)
{
    for (int i = 0; i < ROTARY_ISAS; i++)
        if (strcmp(name, names[i]) == 0) {
            *isa = (rotary_isa)i;
            return ROTARY_OK;
        }
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "unknown instruction set \"%s\"; known are auto, scalar, neon, avx2, avx512, "
                       "avx512bf16, amx",
                       name);
}

bool rotary_isa_available(rotary_isa isa)
{
    rotary_isa best = detect(isa == ROTARY_ISA_AMX);
    if (isa == ROTARY_ISA_AUTO || isa == ROTARY_ISA_SCALAR || isa == best)
        return true;
    int rank = rank_of(isa), max = rank_of(best), neon = rank_of(ROTARY_ISA_NEON);
    return rank > neon && max > neon && rank < max;
}

rotary_isa rotary_isa_best(void)
{
    rotary_isa limit;
    const char *name = getenv("ROTARY_ISA");
    if (name && rotary_isa_from_name(&limit, name, NULL) == ROTARY_OK && limit != ROTARY_ISA_AUTO &&
        rotary_isa_available(limit))
        return limit;
    return detect(true);
}

rotary_status rotary_isa_resolve(rotary_isa *isa, rotary_error *error)
{
    if (!rotary_isa_available(*isa))
        return rotary_fail(error, ROTARY_UNSUPPORTED, "this machine cannot run %s; its best is %s",
                           rotary_isa_name(*isa), rotary_isa_name(rotary_isa_best()));
    if (*isa == ROTARY_ISA_AUTO)
        *isa = rotary_isa_best();
    return ROTARY_OK;
}

size_t rotary_dtype_size(rotary_dtype dtype)
{
    return dtype == ROTARY_F32 ? 4 : 2;
}

const char *rotary_dtype_name(rotary_dtype dtype)
{
    switch (dtype) {
    case ROTARY_F32:
        return "f32";
    case ROTARY_F16:
        return "f16";
    case ROTARY_BF16:
        return "bf16";
    }
    return "unknown";
}
