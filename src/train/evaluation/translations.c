/* SPDX-License-Identifier: Apache-2.0 */
#include "train/evaluation/translations.h"

#include "base/arena.h"
#include "base/fail.h"
#include "file/file.h"
#include "model/generation/search.h"
#include "score/translation/bleu.h"
#include "task/translation/split_text.h"
#include "text/decoded_text.h"
#include "text/unicode.h"
#include "train/evaluation/evaluation_shares.h"

#include <stdlib.h>
#include <string.h>

/* The sentences of a split, and their translations. */
struct sentences {
    const struct task *task;
    enum task_split split;
    int64_t count, max_tokens; /* max_tokens: of a translation */
    struct rotary_arena arena;
    const int32_t **sources;                   /* [count] */
    int32_t **outputs;                         /* [count], of max_tokens each */
    int64_t *lengths, *generated;              /* [count] */
    struct text_line *hypotheses, *references; /* [count] */
    int32_t *tokens;
    struct text_buffer text; /* the translations, each in a line */
};

static void carve(struct sentences *sentences)
{
    struct rotary_arena *arena = &sentences->arena;
    const int64_t count = sentences->count;
    sentences->sources = rotary_arena_push(arena, count, sizeof *sentences->sources);
    sentences->outputs = rotary_arena_push(arena, count, sizeof *sentences->outputs);
    sentences->lengths = rotary_arena_push(arena, count, sizeof *sentences->lengths);
    sentences->generated = rotary_arena_push(arena, count, sizeof *sentences->generated);
    sentences->hypotheses = rotary_arena_push(arena, count, sizeof *sentences->hypotheses);
    sentences->references = rotary_arena_push(arena, count, sizeof *sentences->references);
    sentences->tokens = rotary_arena_push(arena, count * sentences->max_tokens, sizeof *sentences->tokens);
}

static void take_examples(const struct sentences *sentences)
{
    for (int64_t i = 0; i < sentences->count; i++) {
        const struct task_example example = task_example(sentences->task, sentences->split, i);
        sentences->sources[i] = example.source;
        sentences->lengths[i] = example.source_count;
        sentences->outputs[i] = sentences->tokens + i * sentences->max_tokens;
        sentences->references[i] = (struct text_line){example.reference.bytes, example.reference.count};
    }
}

/* Translates a range of them. */
static rotary_status translate_range(const struct sentences *sentences, struct transformer *transformer,
                                     const atomic_bool *interrupted, struct item_range range,
                                     rotary_error *error)
{
    const struct special_tokens special = tokenizer_special(task_tokenizer(sentences->task));
    struct search_config config;
    search_config_default(&config);
    config.max_new_tokens = sentences->max_tokens;
    config.begin = special.begin;
    config.end = special.end;
    config.padding = special.padding;
    const struct search_call call = {.count = range.end - range.first,
                                     .sources = sentences->sources + range.first,
                                     .lengths = sentences->lengths + range.first,
                                     .outputs = sentences->outputs + range.first,
                                     .generated = sentences->generated + range.first,
                                     .interrupted = interrupted};
    return search_run(transformer, &config, &call, error);
}

/* Rank 0 has all translations then. */
static rotary_status translate(const struct sentences *sentences, struct transformer *transformer,
                               const struct evaluation_config *config, rotary_error *error)
{
    const struct item_range groups = evaluation_groups(config, ranks_index(config->ranks));
    const struct generated_tokens all = {.count = sentences->count,
                                         .stride = sentences->max_tokens,
                                         .tokens = sentences->tokens,
                                         .generated = sentences->generated};
    rotary_status status = ROTARY_OK;
    for (int64_t group = groups.first; status == ROTARY_OK && group < groups.end; group++) {
        const struct item_range range = evaluation_group(config, sentences->count, group);
        if (range.end > range.first)
            status = translate_range(sentences, transformer, config->interrupted, range, error);
    }
    status = ranks_agree(config->ranks, status, error);
    return status == ROTARY_OK ? evaluation_collect_tokens(config, &all, error) : status;
}

static rotary_status write_lines(struct sentences *sentences, rotary_error *error)
{
    struct text_buffer *text = &sentences->text;
    const struct tokenizer *tokenizer = task_tokenizer(sentences->task);
    rotary_status status = text_buffer_reserve(text, 1, error);
    for (int64_t i = 0; i < sentences->count && status == ROTARY_OK; i++) {
        const int64_t before = text->count;
        status = decoded_text_append(tokenizer, sentences->outputs[i], sentences->generated[i], text, error);
        sentences->hypotheses[i].count = text->count - before;
        if (status == ROTARY_OK)
            status = text_buffer_append(text, "\n", 1, error);
    }
    const char *next = text->bytes;
    for (int64_t i = 0; i < sentences->count && status == ROTARY_OK; i++) {
        sentences->hypotheses[i].bytes = next;
        next += sentences->hypotheses[i].count + 1;
    }
    return status;
}

static rotary_status score(const struct sentences *sentences, struct evaluation *evaluation,
                           rotary_error *error)
{
    const struct text_line *const references = sentences->references;
    const struct segment_corpus corpus = {.count = sentences->count,
                                          .hypotheses = sentences->hypotheses,
                                          .reference_count = 1,
                                          .references = &references};
    const struct bleu_config config = split_text_bleu(task_lowercase(sentences->task));
    struct bleu_score found;
    rotary_status status = bleu_corpus(&config, &corpus, &found, error);
    if (status != ROTARY_OK)
        return status;
    evaluation->bleu = found.score;
    bleu_signature(&config, 1, NULL, evaluation->signature);
    return ROTARY_OK;
}

/* Copies as much of a text as there is room for, without half a character; what is not UTF-8 is U+FFFD. */
static void copy_text(char to[TASK_TEXT_BYTES], const char *text, int64_t bytes)
{
    enum { POINT_BYTES = 4 };
    uint32_t points[TASK_TEXT_BYTES];
    int64_t used = 0;
    if (bytes >= TASK_TEXT_BYTES)
        for (bytes = TASK_TEXT_BYTES - 1; bytes > 0 && ((unsigned char)text[bytes] & 0xc0) == 0x80; bytes--)
            continue;
    const int64_t count = unicode_decode(text, bytes, points);
    for (int64_t i = 0; i < count; i++) {
        char point[POINT_BYTES];
        const int64_t more = unicode_encode(&points[i], 1, point);
        if (used + more >= TASK_TEXT_BYTES)
            break;
        memcpy(to + used, point, (size_t)more);
        used += more;
    }
    to[used] = '\0';
}

static void keep_samples(const struct sentences *sentences, struct evaluation *evaluation)
{
    if (evaluation->sample_count > sentences->count)
        evaluation->sample_count = sentences->count;
    for (int64_t i = 0; i < evaluation->sample_count; i++) {
        struct evaluation_sample *sample = &evaluation->samples[i];
        const struct token_text text = task_example(sentences->task, sentences->split, i).text;
        copy_text(sample->problem.prompt, text.bytes, text.count);
        copy_text(sample->problem.answer, sentences->references[i].bytes, sentences->references[i].count);
        copy_text(sample->generated, sentences->hypotheses[i].bytes, sentences->hypotheses[i].count);
        memcpy(sample->answer, sample->generated, sizeof sample->answer);
        sample->correct = strcmp(sample->generated, sample->problem.answer) == 0;
    }
}

/* Scores and keeps the translations. */
static rotary_status finish(struct sentences *sentences, const struct evaluation_config *config,
                            struct evaluation *evaluation, rotary_error *error)
{
    rotary_status status = write_lines(sentences, error);
    if (status == ROTARY_OK)
        status = score(sentences, evaluation, error);
    if (status == ROTARY_OK)
        keep_samples(sentences, evaluation);
    if (status == ROTARY_OK && config->translations)
        status =
            file_replace(config->translations, sentences->text.bytes, (size_t)sentences->text.count, error);
    return status;
}

rotary_status translations_run(const struct task *task, struct transformer *transformer,
                               const struct evaluation_config *config, struct evaluation *evaluation,
                               rotary_error *error)
{
    struct sentences sentences = {.task = task,
                                  .split = config->test ? TASK_TEST : TASK_VALIDATION,
                                  .count = evaluation->translated,
                                  .max_tokens = task_shape(task).time};
    carve(&sentences);
    rotary_status status = rotary_arena_allocate(&sentences.arena, "translations", error);
    status = ranks_agree(config->ranks, status, error);
    if (status != ROTARY_OK) {
        rotary_arena_free(&sentences.arena);
        return status;
    }
    carve(&sentences);
    take_examples(&sentences);
    status = translate(&sentences, transformer, config, error);
    if (status == ROTARY_OK && ranks_index(config->ranks) == 0)
        status = finish(&sentences, config, evaluation, error);
    status = ranks_agree(config->ranks, status, error);
    text_buffer_free(&sentences.text);
    rotary_arena_free(&sentences.arena);
    return status;
}
