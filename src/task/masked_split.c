/* SPDX-License-Identifier: Apache-2.0
 *
 * The sequences of the task masked: documents as tokens, cut to the length of a sequence.
 */
#include "base/fail.h"
#include "base/integer.h"
#include "task/masked.h"
#include "task/masking.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SEQUENCES = 1 << 10, FIRST_TOKENS = 1 << 14 };
/* Without files of validation one document in so many is held out from training, by a hash of its tokens. */
enum { HELD_OUT_ONE_IN = 50 };

static rotary_status fail_memory(rotary_error *error)
{
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a corpus");
}

static bool is_held_out(struct token_span document)
{
    const uint64_t hash = rotary_hash(document.tokens, (uint64_t)document.count * sizeof *document.tokens);
    return (hash ^ hash >> 32) % HELD_OUT_ONE_IN == 0;
}

/* ---- cutting ---- */

static bool add_sequence(struct masked_split *split, struct token_span sequence)
{
    if (split->count == split->capacity) {
        const int64_t capacity = max_i64(2 * split->capacity, FIRST_SEQUENCES);
        struct token_span *sequences = realloc(split->sequences, (size_t)capacity * sizeof *sequences);
        if (!sequences)
            return false;
        split->sequences = sequences;
        split->capacity = capacity;
    }
    split->sequences[split->count++] = sequence;
    split->counts.target_tokens += sequence.count + 2;
    split->counts.longest_target = max_i64(split->counts.longest_target, sequence.count + 2);
    return true;
}

/* The tokens of the rest of a document that become a sequence: `room` of them, or fewer, so that it ends
 * where a word does. A word that fills the room is cut. */
static int64_t length_of(struct token_span rest, int64_t room, const struct masking *masking)
{
    if (rest.count <= room)
        return rest.count;
    int64_t length = room;
    while (length > 0 && !masking_begins_word(masking, rest.tokens[length]))
        length--;
    return length > 0 ? length : room;
}

static bool add_document(struct masked_split *split, struct token_span document, int64_t room,
                         const struct masking *masking)
{
    split->counts.pairs++;
    split->counts.too_long += document.count > room;
    while (document.count > 0) {
        const int64_t length = length_of(document, room, masking);
        if (!add_sequence(split, (struct token_span){document.tokens, length}))
            return false;
        document = (struct token_span){document.tokens + length, document.count - length};
    }
    return true;
}

/* ---- files ---- */

/* The cache has the name that it would have beside the text. */
static rotary_status find_cache(struct token_documents_request *request, const char *folder,
                                char path[FILE_PATH_BYTES], rotary_error *error)
{
    char beside[FILE_PATH_BYTES];
    rotary_status status = token_documents_cache(request, beside, error);
    if (status != ROTARY_OK)
        return status;
    const char *slash = strrchr(beside, '/');
    status = file_path(path, folder, slash ? slash + 1 : beside, error);
    if (status == ROTARY_OK)
        status = file_make_folder(folder, error);
    request->cache = path;
    return status;
}

static rotary_status open_files(struct masked_split *split, const struct task *task, enum task_split which,
                                rotary_error *error)
{
    const struct masked_options *options = task_options(&task->config, TASK_MASKED);
    struct masked_paths paths;
    rotary_status status = masked_paths_find(&paths, options, which, error);
    if (status != ROTARY_OK)
        return status;
    struct token_documents_request request = {.paths = (const char *const *)paths.items,
                                              .count = paths.count,
                                              .boundary = (enum document_boundary)options->boundary,
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
        status = token_documents_open(&split->documents, &request, error);
    masked_paths_free(&paths);
    return status;
}

/* `part`: of documents that validation is held out from. */
static rotary_status cut_files(struct masked_split *split, const struct task *task,
                               const struct masking *masking, enum task_split which, rotary_error *error)
{
    const struct masked_options *options = task_options(&task->config, TASK_MASKED);
    const bool divided = which != TASK_TEST && !masked_has_files(options, TASK_VALIDATION);
    rotary_status status = open_files(split, task, divided ? TASK_TRAINING : which, error);
    if (status != ROTARY_OK)
        return status;
    for (int64_t i = 0; i < token_documents_count(split->documents); i++) {
        const struct token_span document = token_documents_at(split->documents, i);
        if (divided && is_held_out(document) != (which == TASK_VALIDATION))
            continue;
        if (!add_document(split, document, task->config.sequence_length - 2, masking))
            return fail_memory(error);
    }
    return ROTARY_OK;
}

/* ---- made-up text ---- */

/* Appends a document; *count: its tokens. */
static rotary_status encode_made(struct masked_split *split, const struct task *task, enum task_split which,
                                 int64_t index, int64_t *count, rotary_error *error)
{
    char text[MASKED_DOCUMENT_BYTES];
    const int64_t bytes = masked_made_document(which, index, text), before = split->made.count;
    if (split->made.capacity - before <= bytes) { /* no text has more tokens than bytes and one */
        const int64_t capacity = max_i64(max_i64(2 * split->made.capacity, FIRST_TOKENS), before + bytes + 1);
        int32_t *tokens = realloc(split->made.tokens, (size_t)capacity * sizeof *tokens);
        if (!tokens)
            return fail_memory(error);
        split->made.tokens = tokens;
        split->made.capacity = capacity;
    }
    rotary_status status = tokenizer_encode(task->tokenizer, text, bytes, &split->made, error);
    *count = split->made.count - before;
    return status;
}

static rotary_status cut_made(struct masked_split *split, const struct task *task,
                              const struct masking *masking, enum task_split which, rotary_error *error)
{
    const int64_t documents = masked_made_count(task_options(&task->config, TASK_MASKED), which);
    int64_t *counts = malloc((size_t)documents * sizeof *counts);
    rotary_status status = counts ? ROTARY_OK : fail_memory(error);
    for (int64_t i = 0; i < documents && status == ROTARY_OK; i++)
        status = encode_made(split, task, which, i, &counts[i], error);
    const int32_t *next = split->made.tokens; /* which no longer moves */
    for (int64_t i = 0; i < documents && status == ROTARY_OK; i++) {
        if (!add_document(split, (struct token_span){next, counts[i]}, task->config.sequence_length - 2,
                          masking))
            status = fail_memory(error);
        next += counts[i];
    }
    free(counts);
    return status;
}

/* ---- splits ---- */

static rotary_status check_sequences(const struct masked_split *split, const struct task *task,
                                     enum task_split which, rotary_error *error)
{
    const struct masked_options *options = task_options(&task->config, TASK_MASKED);
    if (split->count > 0)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s in %s has no document for %s: one in %d is held out for validation; wanted more "
                       "documents, or masked_validation",
                       options->splits[TASK_TRAINING], options->data, task_split_names[which],
                       HELD_OUT_ONE_IN);
}

rotary_status masked_split_create(struct masked_split *split, const struct task *task,
                                  const struct masking *masking, enum task_split which, rotary_error *error)
{
    const struct masked_options *options = task_options(&task->config, TASK_MASKED);
    *split = (struct masked_split){0};
    if (which == TASK_TEST && options->data[0] && !masked_has_files(options, which))
        return ROTARY_OK;
    rotary_status status = options->data[0] ? cut_files(split, task, masking, which, error)
                                            : cut_made(split, task, masking, which, error);
    if (status == ROTARY_OK)
        status = check_sequences(split, task, which, error);
    if (status != ROTARY_OK)
        masked_split_free(split);
    return status;
}

void masked_split_free(struct masked_split *split)
{
    token_documents_close(split->documents);
    free(split->made.tokens);
    free(split->sequences);
    *split = (struct masked_split){0};
}
