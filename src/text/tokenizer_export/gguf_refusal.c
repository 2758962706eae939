/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_export/gguf_rule.h"

#include <stdarg.h>
#include <stdio.h>

bool gguf_rule_refuse(char reason[TOKENIZER_REASON_BYTES], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, TOKENIZER_REASON_BYTES, format, arguments);
    va_end(arguments);
    return false;
}
