/* SPDX-License-Identifier: Apache-2.0
 *
 * Permuting the rows of a projection from one pairing to the other.
 */
#include "base/fail.h"
#include "base/sized.h"
#include "kernel/rope/rope_kernels.h"
#include "rope/rope_plan.h"

#include <string.h>

int64_t rotary_rope_pair_channel(rotary_pairing pairing, int64_t pairs, int64_t pair, int member)
{
    return pairing == ROTARY_PAIRING_HALF ? pair + member * pairs : 2 * pair + member;
}

static rotary_status check(const rotary_rope *rope, const rotary_rope_permute_call *call, rotary_error *error)
{
    if (!call->input || !call->output || call->input == call->output)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s; wanted two buffers that do not overlap",
                           !call->input    ? "input is NULL"
                           : !call->output ? "output is NULL"
                                           : "input and output are one buffer");
    if (call->heads < 1 || call->row_bytes < 1 ||
        call->row_bytes > SIZE_MAX / (size_t)rope->span.head_dim / (size_t)call->heads)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "heads is %lld and row_bytes %zu; wanted at least 1 each, and fewer bytes in "
                           "total than can be addressed",
                           (long long)call->heads, call->row_bytes);
    if ((unsigned)call->from >= ROTARY_PAIRINGS || (unsigned)call->to >= ROTARY_PAIRINGS)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "from is %d and to is %d; wanted ROTARY_PAIRING_HALF or ROTARY_PAIRING_INTERLEAVED",
            (int)call->from, (int)call->to);
    return ROTARY_OK;
}

rotary_status rotary_rope_permute(const rotary_rope *rope, const rotary_rope_permute_call *given,
                                  rotary_error *error)
{
    rotary_rope_permute_call known = {0}, *call = &known;
    rotary_status status = rotary_copy_sized(&known, sizeof known, given, "rotary_rope_permute_call", error);
    if (status)
        return status;
    status = check(rope, call, error);
    if (status)
        return status;
    const struct rotary_span *span = &rope->span;
    const char *input = call->input;
    char *output = call->output;
    size_t head_bytes = (size_t)span->head_dim * call->row_bytes;
    for (int64_t head = 0; head < call->heads; head++, input += head_bytes, output += head_bytes) {
        size_t before = (size_t)span->start, after = (size_t)(span->start + span->dim);
        memcpy(output, input, before * call->row_bytes);
        for (int64_t pair = 0; pair < rope->pairs; pair++)
            for (int member = 0; member < 2; member++) {
                size_t from =
                    before + (size_t)rotary_rope_pair_channel(call->from, rope->pairs, pair, member);
                size_t to = before + (size_t)rotary_rope_pair_channel(call->to, rope->pairs, pair, member);
                memcpy(output + to * call->row_bytes, input + from * call->row_bytes, call->row_bytes);
            }
        memcpy(output + after * call->row_bytes, input + after * call->row_bytes,
               head_bytes - after * call->row_bytes);
    }
    return ROTARY_OK;
}
