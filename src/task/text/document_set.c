/* SPDX-License-Identifier: Apache-2.0 */
#include "task/text/document_set.h"

#include "base/fail.h"
#include "base/integer.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_TOKENS = 1 << 14 };

/* ---- files ---- */

/* The cache has the name that it would have beside the text. */
static rotary_status find_cache(struct token_documents_request *request, const char *folder,
                                char path[FILE_PATH_BYTES], rotary_error *error)
{
    char beside[FILE_PATH_BYTES];
    rotary_status status = token_documents_cache(request, beside, error);
    if (status != ROTARY_OK)
        return status;
    status = file_path(path, folder, file_name_of(beside), error);
    if (status == ROTARY_OK)
        status = file_make_folder(folder, error);
    request->cache = path;
    return status;
}

static rotary_status open_files(struct document_set *set, const struct task *task, struct text_corpus corpus,
                                enum task_split split, rotary_error *error)
{
    const struct text_corpus_options *options = corpus.options;
    struct text_paths paths;
    rotary_status status = text_paths_find(&paths, corpus, split, error);
    if (status != ROTARY_OK)
        return status;
    struct token_documents_request request = {.paths = (const char *const *)paths.items,
                                              .count = paths.count,
                                              .boundary = (enum document_boundary)options->boundary,
                                              .field = options->field,
                                              .tokenizer = task->tokenizer};
    const struct task_watch *watch = task->config.watch;
    if (watch) {
        request.progress = watch->tokenised;
        request.argument = watch->argument;
        request.interrupted = watch->interrupted;
    }
    char cache[FILE_PATH_BYTES];
    status = options->cache[0] ? find_cache(&request, options->cache, cache, error) : ROTARY_OK;
    if (status == ROTARY_OK)
        status = token_documents_open(&set->documents, &request, error);
    text_paths_free(&paths);
    if (status == ROTARY_OK)
        set->count = token_documents_count(set->documents);
    return status;
}

/* ---- synthetic text ---- */

/* Appends a document, which begins at set->starts[index]. */
static rotary_status encode_synthetic(struct document_set *set, const struct task *task,
                                      enum task_split split, int64_t index, rotary_error *error)
{
    char text[SYNTHETIC_DOCUMENT_BYTES];
    const int64_t bytes = synthetic_document(split, index, text), before = set->synthetic.count;
    if (set->synthetic.capacity - before <= bytes) { /* no text has more tokens than bytes and one */
        const int64_t capacity =
            max_i64(max_i64(2 * set->synthetic.capacity, FIRST_TOKENS), before + bytes + 1);
        int32_t *tokens = realloc(set->synthetic.tokens, (size_t)capacity * sizeof *tokens);
        if (!tokens)
            return rotary_fail_memory(error, "for a corpus");
        set->synthetic.tokens = tokens;
        set->synthetic.capacity = capacity;
    }
    rotary_status status = tokenizer_encode(task->tokenizer, text, bytes, &set->synthetic, error);
    set->starts[index + 1] = (struct token_file_begin){set->synthetic.count, set->starts[index].byte + bytes};
    return status;
}

static rotary_status make_documents(struct document_set *set, const struct task *task,
                                    struct text_corpus corpus, enum task_split split, rotary_error *error)
{
    const int64_t documents = synthetic_document_count(corpus.options, split);
    set->starts = calloc((size_t)documents + 1, sizeof *set->starts);
    rotary_status status = set->starts ? ROTARY_OK : rotary_fail_memory(error, "for a corpus");
    for (int64_t i = 0; i < documents && status == ROTARY_OK; i++)
        status = encode_synthetic(set, task, split, i, error);
    set->count = documents;
    return status;
}

/* ---- either ---- */

rotary_status document_set_open(struct document_set *set, const struct task *task, struct text_corpus corpus,
                                enum task_split split, rotary_error *error)
{
    const struct text_corpus_options *options = corpus.options;
    *set = (struct document_set){0};
    if (split == TASK_TEST && options->data[0] && !text_corpus_has_files(options, split))
        return ROTARY_OK;
    set->divided = options->data[0] && split != TASK_TEST && !text_corpus_has_files(options, TASK_VALIDATION);
    rotary_status status = options->data[0]
                               ? open_files(set, task, corpus, set->divided ? TASK_TRAINING : split, error)
                               : make_documents(set, task, corpus, split, error);
    if (status != ROTARY_OK)
        document_set_close(set);
    return status;
}

void document_set_close(struct document_set *set)
{
    token_documents_close(set->documents);
    free(set->synthetic.tokens);
    free(set->starts);
    *set = (struct document_set){0};
}

struct token_span document_set_at(const struct document_set *set, int64_t index)
{
    if (set->documents)
        return token_documents_at(set->documents, index);
    const struct token_file_begin *starts = set->starts + index;
    return (struct token_span){set->synthetic.tokens + starts[0].token, starts[1].token - starts[0].token};
}

int64_t document_set_bytes(const struct document_set *set, int64_t index)
{
    if (set->documents)
        return token_documents_bytes(set->documents, index);
    return set->starts[index + 1].byte - set->starts[index].byte;
}

static bool is_held_out(struct token_span document)
{
    const uint64_t hash = rotary_hash(document.tokens, (uint64_t)document.count * sizeof *document.tokens);
    return (hash ^ hash >> 32) % DOCUMENTS_HELD_OUT_ONE_IN == 0;
}

bool document_set_has(const struct document_set *set, int64_t index, enum task_split split)
{
    return !set->divided || is_held_out(document_set_at(set, index)) == (split == TASK_VALIDATION);
}

rotary_status document_set_check(struct text_corpus corpus, enum task_split split, int64_t count,
                                 rotary_error *error)
{
    const struct text_corpus_options *options = corpus.options;
    if (count > 0 || (split == TASK_TEST && options->data[0] && !text_corpus_has_files(options, split)))
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s in %s has no document for %s: one in %d is held out for validation; wanted more "
                       "documents, or %s_validation",
                       options->splits[TASK_TRAINING], options->data, task_split_names[split],
                       DOCUMENTS_HELD_OUT_ONE_IN, corpus.task);
}
