/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/tokenizer_checks.h"

#include "fuzz/target.h"
#include "text/tokenizer/tokenizer_type.h"

#include <string.h>

static volatile unsigned summed; /* so that nothing decoded is optimised away */

bool fuzz_encode(const struct tokenizer *tokenizer, struct token_text text, struct fuzz_encoded *encoded)
{
    struct token_list list = {.tokens = encoded->tokens, .capacity = FUZZ_TOKENS};
    rotary_error error = {0};
    if (fuzz_refused(tokenizer_encode(tokenizer, text.bytes, text.count, &list, &error), &error)) {
        if (list.count > 0 || list.left_out > 0)
            fuzz_fail("a text that is refused has %lld tokens", (long long)list.count);
        return false;
    }
    for (int64_t i = 0; i < list.count; i++)
        if (list.tokens[i] < 0 || list.tokens[i] >= tokenizer_size(tokenizer))
            fuzz_fail("token %d of %lld", (int)list.tokens[i], (long long)tokenizer_size(tokenizer));
    encoded->count = list.count;
    encoded->bytes = tokenizer_decode(tokenizer, list.tokens, list.count, encoded->decoded, FUZZ_TEXT_BYTES);
    if (tokenizer_decode(tokenizer, list.tokens, list.count, NULL, 0) != encoded->bytes)
        fuzz_fail("a text has another length without room");
    for (int64_t i = 0; i < encoded->bytes && i < FUZZ_TEXT_BYTES; i++)
        summed += (unsigned char)encoded->decoded[i];
    return true;
}

#define FORMAT_ROW(NAME, name) &tokenizer_format_##name,
static const struct tokenizer_format *const formats[] = {ROTARY_TOKENIZERS(FORMAT_ROW)};

void fuzz_check_saved(const struct tokenizer *tokenizer)
{
    rotary_error error = {0};
    struct tokenizer *again = NULL;
    json_t *object = json_object();
    if (!object || !tokenizer->type->save(tokenizer, object) ||
        formats[tokenizer_kind(tokenizer)]->load(&again, object, "what was saved", &error) != ROTARY_OK)
        fuzz_fail("an accepted tokenizer cannot be read back: %s", error.message);
    if (tokenizer_size(again) != tokenizer_size(tokenizer))
        fuzz_fail("%lld tokens become %lld", (long long)tokenizer_size(tokenizer),
                  (long long)tokenizer_size(again));
    for (int32_t token = 0; token < tokenizer_size(again); token++) {
        const struct token_text a = tokenizer_text(tokenizer, token), b = tokenizer_text(again, token);
        if (a.count != b.count || memcmp(a.bytes, b.bytes, (size_t)a.count) != 0)
            fuzz_fail("token %d is another when read back", (int)token);
    }
    json_decref(object);
    tokenizer_destroy(again);
}
