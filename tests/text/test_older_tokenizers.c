/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands beside the older files of tokenizers, vocab.json and merges.txt.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "text/loaded_tokenizer.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer_json/pattern.h"

#include <string.h>

/* Tokens that are in added_tokens.json alone, as CodeGen's runs of spaces, and names of special ones. */
static void test_added_file(void)
{
    static const char
        vocabulary[] = "{\"a\":0,\"b\":1,\"ab\":2,\"\\u0120\":3,\"<c>\":4}",
        merges[] = "a b\n", added[] = "{\"  \":5,\"<m>\":6}",
        config[] = "{\"tokenizer_class\":\"CodeGenTokenizer\",\"additional_special_tokens\":[\"<c>\"]}";
    char version[PATTERN_LIBRARY_BYTES];
    if (!pattern_library(version))
        return;
    check_about("added_tokens.json");
    scratch_write(scratch_path("vocab.json"), vocabulary, sizeof vocabulary - 1);
    scratch_write(scratch_path("merges.txt"), merges, sizeof merges - 1);
    scratch_write(scratch_path("tokenizer_config.json"), config, sizeof config - 1);
    scratch_write(scratch_path("added_tokens.json"), added, sizeof added - 1);
    struct tokenizer *tokenizer = load_tokenizer(scratch_path("vocab.json"));
    if (tokenizer) {
        static const int32_t wanted[] = {2, 5, 6, 3, 1, 4};
        int32_t tokens[8];
        struct token_list list = {.tokens = tokens, .capacity = 8};
        CHECK_INT(tokenizer_encode(tokenizer, "ab  <m> b<c>", 12, &list, NULL), ROTARY_OK);
        CHECK(list.count == 6 && memcmp(tokens, wanted, sizeof wanted) == 0);
    }
    tokenizer_destroy(tokenizer);
    scratch_remove(scratch_path("added_tokens.json"));
    scratch_remove(scratch_path("tokenizer_config.json"));
    check_about("%s", "");
}

/* The post-processor of RoBERTa's class has the ids that the vocabulary has. */
static void test_moved_frame(void)
{
    static const char vocabulary[] = "{\"a\":0,\"b\":1,\"ab\":2,\"<s>\":3,\"</s>\":4}", merges[] = "a b\n",
                      config[] = "{\"tokenizer_class\":\"RobertaTokenizer\"}";
    char version[PATTERN_LIBRARY_BYTES];
    if (!pattern_library(version))
        return;
    scratch_write(scratch_path("vocab.json"), vocabulary, sizeof vocabulary - 1);
    scratch_write(scratch_path("merges.txt"), merges, sizeof merges - 1);
    scratch_write(scratch_path("tokenizer_config.json"), config, sizeof config - 1);
    struct tokenizer *tokenizer = load_tokenizer(scratch_path("vocab.json"));
    if (tokenizer)
        CHECK(tokenizer_special(tokenizer).begin == 3 && tokenizer_special(tokenizer).end == 4 &&
              tokenizer_frame(tokenizer).begin && tokenizer_frame(tokenizer).end);
    tokenizer_destroy(tokenizer);
    scratch_remove(scratch_path("tokenizer_config.json"));
}

int main(void)
{
    test_added_file();
    test_moved_frame();
    return check_report();
}
