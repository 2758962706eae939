/* SPDX-License-Identifier: Apache-2.0 */
#include "text/loaded_tokenizer.h"

#include "support/check.h"

#include <stdio.h>

struct tokenizer *load_tokenizer(const char *path)
{
    struct tokenizer *tokenizer = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(tokenizer_load(&tokenizer, path, &error), ROTARY_OK))
        printf("%s\n", error.message);
    return tokenizer;
}
