/* SPDX-License-Identifier: Apache-2.0 */
#include "score/exact_match.h"

#include <string.h>

bool exact_match(const char *answer, const char *reference)
{
    return answer[0] != '\0' && strcmp(answer, reference) == 0;
}
