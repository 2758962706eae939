/* SPDX-License-Identifier: Apache-2.0
 *
 * What `auto` precision selects: the decision, for every instruction set and vendor, and that a backend takes
 * what was decided for this machine.
 */
#include "backend/auto_precision.h"
#include "backend/backend.h"
#include "backend/matmul.h"
#include "backend/onednn.h"
#include "base/isa.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

static void test_decision(void)
{
    static const char *const vendors[] = {"GenuineIntel", "AuthenticAMD", "CentaurHauls", ""};
    for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++)
        for (int isa = 0; isa < ROTARY_ISAS; isa++) {
            bool amd = strcmp(vendors[i], "AuthenticAMD") == 0;
            check_about("%s, \"%s\"", rotary_isa_name((rotary_isa)isa), vendors[i]);
            CHECK_INT(bf16_is_faster((rotary_isa)isa, vendors[i]),
                      isa == ROTARY_ISA_AMX || (isa == ROTARY_ISA_AVX512BF16 && amd));
        }
    check_about("%s", "");
}

/* /proc/cpuinfo has the vendor too. */
static void test_vendor(void)
{
    char vendor[ROTARY_VENDOR_BYTES], line[256], said[64];
    memset(vendor, 'x', sizeof vendor);
    rotary_processor_vendor(vendor);
    CHECK(memchr(vendor, 0, sizeof vendor) != NULL);
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "vendor_id : %63s", said) == 1) {
            CHECK_TEXT(vendor, said);
            break;
        }
    if (file)
        fclose(file);
}

static void test_backend(void)
{
    struct backend backend;
    rotary_error error = {0};
    char vendor[ROTARY_VENDOR_BYTES];
    rotary_processor_vendor(vendor);
    if (!CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_AUTO, &error), ROTARY_OK))
        return;
    bool bf16 = bf16_is_faster(matmul_bf16_isa(), vendor);
    CHECK_INT(backend.storage, bf16 ? ROTARY_BF16 : ROTARY_F32);
    backend_destroy(&backend);
    /* oneDNN uses what the library does: but it knows nothing of emulated AMX. Plain loops use nothing. */
    char library[128];
    gemm_library(library, sizeof library);
    rotary_isa best = rotary_isa_best();
    if (best < ROTARY_ISA_AMX || strncmp(library, "oneDNN", strlen("oneDNN")) != 0)
        CHECK_INT(matmul_bf16_isa(), ROTARY_ISA_SCALAR);
    else
        CHECK(matmul_bf16_isa() == best || best == ROTARY_ISA_AMX);
}

int main(void)
{
    test_decision();
    test_vendor();
    test_backend();
    return check_report();
}
