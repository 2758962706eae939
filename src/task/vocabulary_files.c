/* SPDX-License-Identifier: Apache-2.0 */
#include "task/vocabulary_files.h"

#include "base/fail.h"
#include "file/file.h"
#include "task/tokenizer_cache.h"

rotary_status vocabulary_load(struct task *task, const char *path, rotary_error *error)
{
    rotary_status status = tokenizer_load(&task->tokenizer, path, error);
    if (status == ROTARY_OK)
        task->target_file =
            vocabulary_files[tokenizer_kind(task->tokenizer) == TOKENIZER_SENTENCEPIECE][SHARED_VOCABULARY];
    return status;
}

rotary_status vocabulary_check_named(const char *task, const char *path, rotary_error *error)
{
    if (path[0])
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "%s_vocabulary is empty: wanted the file of a tokenizer, as %s_tokenizer is file",
                       task, task);
}

rotary_status vocabulary_find(char *path, const char *folder, bool *found, rotary_error *error)
{
    /* The last three are those of Hugging Face models, in the order in which it looks for them. */
    const char *const names[] = {vocabulary_files[1][SHARED_VOCABULARY],
                                 vocabulary_files[0][SHARED_VOCABULARY], "tokenizer.json", "tokenizer.model",
                                 "vocab.txt"};
    rotary_status status = ROTARY_OK;
    *found = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && status == ROTARY_OK && !*found; i++) {
        status = file_path(path, folder, names[i], error);
        if (status == ROTARY_OK)
            status = file_find(path, found, error);
    }
    return status;
}

rotary_status vocabulary_find_saved(char *path, const char *folder, rotary_error *error)
{
    bool found;
    rotary_status status = vocabulary_find(path, folder, &found, error);
    if (status == ROTARY_OK && !found)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s has no vocabulary: wanted the %s or %s of a run, or the tokenizer.json, "
                           "tokenizer.model or vocab.txt of a Hugging Face model",
                           folder, vocabulary_files[0][SHARED_VOCABULARY],
                           vocabulary_files[1][SHARED_VOCABULARY]);
    return status;
}

rotary_status vocabulary_train_pieces(struct task *task, struct tokenizer **tokenizer,
                                      const struct sentencepiece_config *config,
                                      const struct text_line *lines, int64_t count, rotary_error *error)
{
    struct tokenizer_cache *cache = task->config.tokenizers;
    task->borrows_tokenizers = cache != NULL;
    return cache ? tokenizer_cache_train(cache, tokenizer, config, lines, count, error)
                 : sentencepiece_train(tokenizer, config, lines, count, NULL, error);
}
