/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary info: the machine, the kernels in use, and what is linked.
 */
#include "backend/matmul.h"
#include "backend/onednn.h"
#include "base/isa.h"
#include "base/threads.h"
#include "cli/command.h"
#include "cli/output/result.h"
#include "cli/program.h"
#include "cli/run_plan.h"
#include "cuda/device_backend.h"
#include "file/compressed/decompressed.h"
#include "file/memory.h"
#include "file/processor.h"
#include "kernel/attention/attention_kernels.h"
#include "kernel/layer/layer_kernels.h"
#include "kernel/rope/rope_kernels.h"
#include "ranks/ranks.h"
#include "text/tokenizer/sentencepiece.h"
#include "text/tokenizer_json/pattern.h"
#include "text/unicode.h"

#include <rotary/version.h>
#include <stdio.h>
#include <string.h>

static const void *rope_table(rotary_isa isa)
{
    return rotary_rope_kernels(isa);
}

static const void *attention_f32_table(rotary_isa isa)
{
    return rotary_attention_kernels(isa, ROTARY_F32);
}

static const void *attention_bf16_table(rotary_isa isa)
{
    return rotary_attention_kernels(isa, ROTARY_BF16);
}

static const void *layer_table(rotary_isa isa)
{
    return layer_kernels_for(isa);
}

static const struct {
    const char *name;
    const void *(*table)(rotary_isa isa);
} groups[] = {
    {"rotation", rope_table},
    {"attention f32", attention_f32_table},
    {"attention bf16", attention_bf16_table},
    {"layers", layer_table},
};
enum { GROUPS = sizeof groups / sizeof groups[0] };

/* The instruction set whose kernels a group uses for `isa`: the lowest with the same table. */
static const char *group_isa(int group, rotary_isa isa)
{
    for (int i = 1; rotary_isa_order[i] != isa; i++)
        if (rotary_isa_available(rotary_isa_order[i]) &&
            groups[group].table(rotary_isa_order[i]) == groups[group].table(isa))
            return rotary_isa_name(rotary_isa_order[i]);
    return rotary_isa_name(isa);
}

enum { LIBRARY_BYTES = 128 };

struct about {
    char processor[PROCESSOR_NAME_BYTES], matmul[LIBRARY_BYTES];
    struct backend backend;
    bool chosen; /* the precision is that of `auto` */
};

/* Why `auto` selected the precision of the backend. */
static const char *precision_reason(const struct backend *backend)
{
    if (backend->storage == ROTARY_BF16)
        return ", faster than f32 here";
    return matmul_bf16_isa() == ROTARY_ISA_SCALAR ? ", without instructions for bf16"
                                                  : ", faster than bf16 here";
}

static json_t *list_isas(void)
{
    json_t *list = json_array();
    for (int i = 1; i < ROTARY_ISAS; i++)
        if (rotary_isa_available(rotary_isa_order[i]))
            json_array_append_new(list, json_string(rotary_isa_name(rotary_isa_order[i])));
    return list;
}

static rotary_status print_json(const struct about *about, rotary_error *error)
{
    json_t *kernels = json_object();
    for (int i = 0; i < GROUPS; i++)
        json_object_set_new(kernels, groups[i].name, json_string(group_isa(i, about->backend.isa)));
    char unicode[UNICODE_LIBRARY_BYTES], pattern[PATTERN_LIBRARY_BYTES];
    char ranks[RANKS_LIBRARY_BYTES], device[DEVICE_TEXT_BYTES];
    json_t *libraries =
        json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:s?}", "oneDNN", about->matmul, "jansson",
                  jansson_version_str(), "libunistring", unicode_library(unicode), "SentencePiece",
                  sentencepiece_version(), "PCRE2", pattern_library(pattern), "MPI", ranks_library(ranks));
    json_object_set_new(libraries, "CUDA", device_library() ? json_string(device_library()) : json_null());
    for (int i = COMPRESSION_NONE + 1; i < COMPRESSIONS; i++) {
        const char *version = compression_version((enum compression)i);
        json_object_set_new(libraries, compression_library((enum compression)i),
                            version ? json_string(version) : json_null());
    }
    return result_print_json(
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:o, s:o, s:s, s:o, s:I, s:I}", "version",
                  rotary_version(), "commit", program_commit(), "backend", about->backend.operations->name,
                  "cuda_device", device_text(device), "processor", about->processor, "processors",
                  rotary_processors(), "threads", about->backend.threads, "isa",
                  rotary_isa_name(about->backend.isa), "isas", list_isas(), "kernels", kernels, "precision",
                  rotary_dtype_name(about->backend.storage), "libraries", libraries, "memory_bytes",
                  (json_int_t)memory_limit(), "memory_available_bytes", (json_int_t)memory_available()),
        error);
}

static void print_library(const char *name, const char *version)
{
    printf("  %-15s %s\n", name, version ? version : "not in this program");
}

static void print_text(const struct about *about)
{
    printf("rotary %s\n\n", rotary_version());
    printf("commit            %s\n", program_commit());
    printf("processor         %s\n", about->processor);
    printf("backend           %s\n", about->backend.operations->name);
    char device[DEVICE_TEXT_BYTES];
    printf("CUDA device       %s\n", device_text(device));
    printf("threads           %d of %d processors\n", about->backend.threads, rotary_processors());
    printf("memory            %.1f GiB, %.1f GiB available\n", (double)memory_limit() / 0x1p30,
           (double)memory_available() / 0x1p30);
    printf("instruction sets ");
    for (int i = 1; i < ROTARY_ISAS; i++)
        if (rotary_isa_available(rotary_isa_order[i]))
            printf(" %s", rotary_isa_name(rotary_isa_order[i]));
    printf("\nprecision         %s%s\n\nkernels in use:\n", rotary_dtype_name(about->backend.storage),
           about->chosen ? precision_reason(&about->backend) : "");
    for (int i = 0; i < GROUPS; i++)
        printf("  %-15s %s\n", groups[i].name, group_isa(i, about->backend.isa));
    printf("  %-15s %s\n\nlinked:\n", "matmul", about->matmul);
    print_library("jansson", jansson_version_str());
    print_library("SentencePiece", sentencepiece_version());
    char unicode[UNICODE_LIBRARY_BYTES], pattern[PATTERN_LIBRARY_BYTES];
    print_library("libunistring", unicode_library(unicode));
    print_library("PCRE2", pattern_library(pattern));
    char ranks[RANKS_LIBRARY_BYTES];
    print_library("MPI", ranks_library(ranks));
    print_library("CUDA", device_library());
    for (int i = COMPRESSION_NONE + 1; i < COMPRESSIONS; i++)
        print_library(compression_library((enum compression)i), compression_version((enum compression)i));
}

static enum exit_status run(const struct invocation *invocation)
{
    rotary_error error = {0};
    int precision = (int)invocation->common.precision.value;
    struct about about = {.chosen = precision == PRECISION_AUTO};
    if (plan_backend(&invocation->common, precision, &about.backend, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    processor_name(about.processor);
    gemm_library(about.matmul, sizeof about.matmul);
    rotary_status status = ROTARY_OK;
    if (invocation->common.json)
        status = print_json(&about, &error);
    else
        print_text(&about);
    backend_destroy(&about.backend);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_info = {
    .name = "info",
    .operands = "",
    .summary = "shows the processor, the kernels in use, and what is linked",
    .example = "rotary info --isa avx2\n"
               "shows which kernels a processor without AVX-512 would use",
    .on_device = true,
    .run = run,
};
