/* SPDX-License-Identifier: Apache-2.0 */
#include "text/corpus/document_tokens.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/threads.h"
#include "text/corpus/section_tokens.h"

#include <stdlib.h>

/* A round has so many. More sections leave threads less to wait for one another at its end; fewer take less
 * memory. */
enum { SECTIONS_PER_THREAD = 8, MAX_SECTIONS = 1024 };

struct slot {
    struct text_section section;
    int64_t file, bytes; /* of the files, up to the section's end */
    struct section_tokens tokens;
};

struct tokenisation {
    const struct document_tokens_call *call;
    struct text_sections sections;
    struct slot *slots;
    int64_t slot_count, used;
    struct token_place place;
};

static const char *path_of(const struct tokenisation *run, int64_t file)
{
    return run->call->files->paths[file];
}

static bool is_interrupted(const struct tokenisation *run)
{
    const atomic_bool *interrupted = run->call->request->interrupted;
    return interrupted && atomic_load(interrupted);
}

/* ---- in order ---- */

static rotary_status fail_section(const struct tokenisation *run, const struct section_tokens *tokens,
                                  rotary_error *error)
{
    const char *path = path_of(run, run->place.file);
    const long long line = (long long)(run->place.line + tokens->failed_line + 1);
    if (tokens->failed_byte >= 0) {
        const long long position = (tokens->failed_line == 0 ? run->place.rest : 0) + tokens->failed_byte + 1;
        return rotary_fail(error, ROTARY_BAD_FILE, "%s, line %lld: %s at position %lld is not UTF-8 text",
                           path, line, tokens->error.message, position);
    }
    if (tokens->status != ROTARY_BAD_FILE)
        return rotary_fail(error, tokens->status, "%s: %s", path, tokens->error.message);
    return rotary_fail(error, ROTARY_BAD_FILE, "%s, document of line %lld: %s", path, line,
                       tokens->error.message);
}

/* The last document is complete. */
static rotary_status end_document(const struct tokenisation *run, int64_t token, rotary_error *error)
{
    if (run->call->writer->contents.documents == 0 || token > run->place.document_token)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE, "%s, line %lld: the document that begins here has no token",
                       path_of(run, run->place.document_file), (long long)run->place.document_line + 1);
}

static rotary_status begin_document(struct tokenisation *run, const struct section_document *document,
                                    rotary_error *error)
{
    struct token_writer *writer = run->call->writer;
    const int64_t token = writer->contents.tokens + document->token;
    rotary_status status = end_document(run, token, error);
    if (status != ROTARY_OK)
        return status;
    run->place.document_file = run->place.file;
    run->place.document_line = run->place.line + document->line;
    run->place.document_token = token;
    return token_writer_begin(writer, (struct token_file_begin){document->token, document->byte}, error);
}

/* A section may continue what is no document: the rest of a line that began with very many spaces. */
static bool begins_with_document(const struct tokenisation *run, const struct section_tokens *tokens)
{
    const int64_t first = tokens->count > 0 ? tokens->documents[0].token : tokens->list.count;
    return tokens->continues && !run->place.open && first > 0;
}

static rotary_status add_section(struct tokenisation *run, const struct slot *slot, rotary_error *error)
{
    const struct section_tokens *tokens = &slot->tokens;
    if (slot->file != run->place.file)
        run->place.line = run->place.rest = run->place.open = 0;
    run->place.file = slot->file;
    if (tokens->status != ROTARY_OK)
        return fail_section(run, tokens, error);
    rotary_status status = ROTARY_OK;
    const bool starts = begins_with_document(run, tokens);
    if (starts)
        status = begin_document(run, &(struct section_document){0, 0, 0}, error);
    for (int64_t i = 0; i < tokens->count && status == ROTARY_OK; i++)
        status = begin_document(run, &tokens->documents[i], error);
    if (status == ROTARY_OK)
        status = token_writer_add(run->call->writer, tokens->list.tokens, tokens->list.count, error);
    run->call->writer->contents.bytes += tokens->bytes;
    run->place.bytes = slot->bytes;
    run->place.rest = tokens->lines > 0 ? tokens->rest : run->place.rest + slot->section.count;
    run->place.line += tokens->lines;
    run->place.open = tokens->open && (starts || tokens->count > 0 || run->place.open);
    run->place.sections++;
    return status;
}

/* ---- rounds ---- */

static void encode_slot(void *argument, int64_t index, int worker)
{
    (void)worker;
    struct tokenisation *run = argument;
    struct slot *slot = &run->slots[index];
    if (is_interrupted(run)) /* the whole round is lost */
        return;
    section_tokens_encode(&slot->tokens, &slot->section, run->call->request->tokenizer);
}

static rotary_status fill_round(struct tokenisation *run, rotary_error *error)
{
    text_sections_release(&run->sections);
    for (run->used = 0; run->used < run->slot_count; run->used++) {
        struct slot *slot = &run->slots[run->used];
        rotary_status status = text_sections_next(&run->sections, &slot->section, &slot->file, error);
        if (status != ROTARY_OK || !slot->section.bytes)
            return status;
        slot->bytes = run->sections.bytes;
    }
    return ROTARY_OK;
}

static rotary_status run_round(struct tokenisation *run, rotary_error *error)
{
    rotary_status status = fill_round(run, error);
    if (status != ROTARY_OK)
        return status;
    rotary_parallel_for(run->call->request->threads, run->used, encode_slot, run);
    if (is_interrupted(run))
        return rotary_fail(error, ROTARY_INTERRUPTED, "tokenising %s was interrupted", path_of(run, 0));
    for (int64_t i = 0; i < run->used && status == ROTARY_OK; i++)
        status = add_section(run, &run->slots[i], error);
    return status;
}

static void show_progress(const struct tokenisation *run)
{
    const struct token_documents_request *request = run->call->request;
    const struct token_file_contents *contents = &run->call->writer->contents;
    if (request->progress)
        request->progress(request->argument,
                          &(struct token_documents_progress){.done = run->place.bytes,
                                                             .bytes = (int64_t)run->call->key->text_bytes,
                                                             .documents = contents->documents,
                                                             .tokens = contents->tokens});
}

/* Goes to the place where an earlier writer left off. */
static rotary_status skip_sections(struct tokenisation *run, rotary_error *error)
{
    const struct token_place *place = &run->place;
    int64_t file = 0, sections = 0;
    struct text_section section = {.bytes = ""};
    for (; sections < place->sections && section.bytes; sections++) {
        rotary_status status = text_sections_next(&run->sections, &section, &file, error);
        if (status != ROTARY_OK)
            return status;
        text_sections_release(&run->sections);
    }
    if (!section.bytes || run->sections.bytes != place->bytes || file != place->file ||
        place->document_file < 0 || place->document_file > file)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s is damaged: it goes on where the text does not",
                           run->call->writer->tokens.path);
    return ROTARY_OK;
}

static rotary_status run_rounds(struct tokenisation *run, rotary_error *error)
{
    struct token_writer *writer = run->call->writer;
    rotary_status status = token_writer_start(writer, run->call->key, &run->place, error);
    if (status == ROTARY_OK)
        status = skip_sections(run, error);
    do {
        if (status == ROTARY_OK)
            status = run_round(run, error);
        if (status == ROTARY_OK)
            status = token_writer_note(writer, &run->place, error);
        if (status == ROTARY_OK)
            show_progress(run);
    } while (status == ROTARY_OK && run->used > 0);
    if (status != ROTARY_OK)
        return status;
    if (writer->contents.documents == 0)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has no document: its text is blank", path_of(run, 0));
    return end_document(run, writer->contents.tokens, error);
}

rotary_status document_tokens_write(const struct document_tokens_call *call, rotary_error *error)
{
    const int threads = call->request->threads > 0 ? call->request->threads : rotary_processors();
    struct tokenisation run = {.call = call,
                               .slot_count = min_i64((int64_t)threads * SECTIONS_PER_THREAD, MAX_SECTIONS)};
    text_sections_start(&run.sections, call->files, call->request->boundary, call->request->field);
    run.slots = calloc((size_t)run.slot_count, sizeof *run.slots);
    rotary_status status =
        run.slots ? run_rounds(&run, error)
                  : rotary_fail_memory(error, "for %lld sections of a text", (long long)run.slot_count);
    for (int64_t i = 0; run.slots && i < run.slot_count; i++)
        section_tokens_free(&run.slots[i].tokens);
    free(run.slots);
    text_sections_close(&run.sections);
    return status;
}
