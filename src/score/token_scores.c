/* SPDX-License-Identifier: Apache-2.0 */
#include "score/token_scores.h"

#include <math.h>

struct token_scores token_scores(struct token_sums sums)
{
    if (sums.counted <= 0)
        return (struct token_scores){NAN, NAN, NAN, 0};
    double loss = sums.total / (double)sums.counted;
    return (struct token_scores){
        .loss = loss,
        .perplexity = exp(loss),
        .accuracy = (double)sums.correct / (double)sums.counted,
        .bits_per_byte = sums.bytes > 0 ? sums.total / M_LN2 / (double)sums.bytes : 0,
    };
}
