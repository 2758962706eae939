/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary tokenize train: a tokenizer from lines of text.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/output/progress.h"
#include "cli/output/result.h"
#include "file/file.h"
#include "run_folder/folder.h"
#include "text/tokenizer/sentencepiece.h"

#include <stdlib.h>
#include <string.h>

enum train_type { TYPE_UNIGRAM = SENTENCEPIECE_UNIGRAM, TYPE_BPE = SENTENCEPIECE_BPE, TYPE_WORDS };
static const char *const type_names[] = {"unigram", "bpe", "words", NULL};

enum { MAX_TEXT_BYTES = 1 << 30, MAX_VOCABULARY = 1 << 20, MAX_FREQUENCY = 1 << 30 };

struct tokenize_options {
    struct option_list input;
    const char *model;
    struct option_integer type, vocabulary_size, min_frequency, max_line_bytes;
    struct option_real coverage;
    bool byte_fallback, punctuation, mask;
};

#define MEMBER(member) offsetof(struct tokenize_options, member)
static const struct setting tokenize_table[] = {
    {"--input", SETTING_LIST, MEMBER(input), .metavar = "FILE",
     .help = "lines of text; may be given again (default: standard input)"},
    {"--model", SETTING_TEXT, MEMBER(model), .metavar = "FILE",
     .help = "write the tokenizer to FILE, of SentencePiece a .model; required"},
    {"--type", SETTING_CHOICE, MEMBER(type), .metavar = "NAME", .choices = type_names,
     .help =
         "unigram or bpe, models of SentencePiece; or words, separated by white space (default: unigram)"},
    {"--vocab-size", SETTING_INTEGER, MEMBER(vocabulary_size), .metavar = "N", .min = 5,
     .max = MAX_VOCABULARY,
     .help = "pieces of a SentencePiece model, special tokens included (default: 8000)"},
    {"--character-coverage", SETTING_REAL, MEMBER(coverage), .metavar = "X", .min = 0.98, .max = 1,
     .help = "share of the text's characters that a SentencePiece model has pieces for (default: 0.9995)"},
    {"--byte-fallback", SETTING_BOOLEAN, MEMBER(byte_fallback),
     .help = "a SentencePiece model makes bytes of other characters, not the unknown token"},
    {"--max-line-bytes", SETTING_INTEGER, MEMBER(max_line_bytes), .metavar = "N", .min = 10,
     .max = TEXT_LINE_BYTES,
     .help = "leave longer lines out of the training of a SentencePiece model (default: 4192)"},
    {"--min-frequency", SETTING_INTEGER, MEMBER(min_frequency), .metavar = "N", .min = 1,
     .max = MAX_FREQUENCY, .help = "keep words that occur at least so often (default: 2)"},
    {"--punctuation", SETTING_BOOLEAN, MEMBER(punctuation),
     .help = "punctuation and symbols are words of their own, as they are in text that was tokenised"},
    {"--mask", SETTING_BOOLEAN, MEMBER(mask),
     .help = "with a special token <mask>, 4, for models that fill masks"},
};

/* ---- text ---- */

/* The lines of all files. */
struct corpus {
    struct text_lines *files; /* [file_count] */
    int file_count;
    struct text_line *lines; /* [count] */
    int64_t count, bytes;
};

static void free_corpus(struct corpus *corpus)
{
    for (int i = 0; i < corpus->file_count; i++)
        text_lines_free(&corpus->files[i]);
    free(corpus->files);
    free(corpus->lines);
}

static rotary_status list_lines(struct corpus *corpus, rotary_error *error)
{
    int64_t next = 0;
    corpus->lines = calloc((size_t)corpus->count + 1, sizeof *corpus->lines);
    if (!corpus->lines)
        return rotary_fail_memory(error, "for %lld lines", (long long)corpus->count);
    for (int i = 0; i < corpus->file_count; i++)
        for (int64_t line = 0; line < corpus->files[i].count; line++)
            corpus->lines[next++] = text_lines_at(&corpus->files[i], line);
    return ROTARY_OK;
}

static rotary_status read_corpus(struct corpus *corpus, const struct option_list *input,
                                 struct progress *progress, rotary_error *error)
{
    int count = input->count > 0 ? input->count : 1;
    corpus->files = calloc((size_t)count, sizeof *corpus->files);
    if (!corpus->files)
        return rotary_fail_memory(error, "for a list of files");
    for (; corpus->file_count < count; corpus->file_count++) {
        struct text_lines *file = &corpus->files[corpus->file_count];
        const char *path = input->items[corpus->file_count];
        progress_show(progress, "reading %s", path ? path : "standard input");
        rotary_status status = text_lines_read(file, path, MAX_TEXT_BYTES - corpus->bytes, error);
        if (status != ROTARY_OK)
            return status;
        corpus->count += file->count;
        corpus->bytes += file->starts[file->count];
    }
    return list_lines(corpus, error);
}

/* The file and the number, from 1, of a line of the corpus. */
static const char *find_line(const struct corpus *corpus, int64_t line, int64_t *number)
{
    int file = 0;
    while (line >= corpus->files[file].count)
        line -= corpus->files[file++].count;
    *number = line + 1;
    return corpus->files[file].path;
}

/* ---- training ---- */

static rotary_status check_options(const struct tokenize_options *options, rotary_error *error)
{
    bool words = options->type.value == TYPE_WORDS;
    const struct {
        const char *name;
        bool given, of_words;
    } rows[] = {{"--vocab-size", options->vocabulary_size.given, false},
                {"--character-coverage", options->coverage.given, false},
                {"--byte-fallback", options->byte_fallback, false},
                {"--max-line-bytes", options->max_line_bytes.given, false},
                {"--min-frequency", options->min_frequency.given, true},
                {"--punctuation", options->punctuation, true}};
    if (!options->model || !options->model[0])
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "tokenize train wants --model FILE, a place for the tokenizer");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given && rows[i].of_words != words)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s with --type %s, which does not use it: leave it out", rows[i].name,
                               type_names[options->type.value]);
    rotary_status status =
        file_check_output(options->model, options->input.items, options->input.count, error);
    return status == ROTARY_OK ? folder_refuse_any(options->model, error) : status;
}

/* Before any text is read. */
static rotary_status check_files(const struct tokenize_options *options, rotary_error *error)
{
    rotary_status status = file_check_writable(options->model, error);
    for (int i = 0; status == ROTARY_OK && i < options->input.count; i++)
        status = file_check_readable(options->input.items[i], error);
    return status;
}

static rotary_status train_words(struct tokenizer **tokenizer, const struct tokenize_options *options,
                                 const struct corpus *corpus, rotary_error *error)
{
    char *text = malloc((size_t)corpus->bytes + 1), *next = text;
    if (!text)
        return rotary_fail_memory(error, "for %lld bytes of text", (long long)corpus->bytes);
    for (int64_t i = 0; i < corpus->count; i++) {
        next = mempcpy(next, corpus->lines[i].bytes, (size_t)corpus->lines[i].count);
        *next++ = '\n';
    }
    int64_t frequency = options->min_frequency.given ? options->min_frequency.value : 2;
    const struct words_config config = {
        .min_frequency = frequency, .punctuation = options->punctuation, .mask = options->mask};
    rotary_status status = words_configured_create(tokenizer, text, next - text, &config, error);
    free(text);
    if (status != ROTARY_OK)
        return status;
    const struct special_tokens special = tokenizer_special(*tokenizer);
    if (tokenizer_size(*tokenizer) == (options->mask ? special.mask : special.unknown) + 1) /* these alone */
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "no word occurs at least %lld time%s in %lld lines: wanted one that does%s",
                           (long long)frequency, frequency == 1 ? "" : "s", (long long)corpus->count,
                           frequency > 1 ? ", or --min-frequency 1" : "");
    return ROTARY_OK;
}

static rotary_status make_tokenizer(struct tokenizer **tokenizer, const struct tokenize_options *options,
                                    const struct corpus *corpus, struct sentencepiece_counts *counts,
                                    rotary_error *error)
{
    if (options->type.value == TYPE_WORDS)
        return train_words(tokenizer, options, corpus, error);
    struct sentencepiece_config config;
    sentencepiece_defaults(&config);
    config.model = (enum sentencepiece_model)options->type.value;
    config.byte_fallback = options->byte_fallback;
    config.mask = options->mask;
    if (options->vocabulary_size.given)
        config.vocabulary_size = options->vocabulary_size.value;
    if (options->coverage.given)
        config.character_coverage = options->coverage.value;
    if (options->max_line_bytes.given)
        config.max_line_bytes = options->max_line_bytes.value;
    return sentencepiece_train(tokenizer, &config, corpus->lines, corpus->count, counts, error);
}

/* ---- results ---- */

static void print_left_out(const struct corpus *corpus, const struct sentencepiece_counts *counts)
{
    int64_t number;
    if (counts->empty > 0)
        printf("left out, for being empty: %lld\n", (long long)counts->empty);
    if (counts->too_long > 0) {
        const char *file = find_line(corpus, counts->first_too_long, &number);
        printf("left out, for their length: %lld, the first of them line %lld of %s\n",
               (long long)counts->too_long, (long long)number, file);
    }
    if (counts->reserved > 0)
        printf("left out, for the character U+2585: %lld\n", (long long)counts->reserved);
}

static rotary_status print_result(const struct invocation *invocation, const struct tokenizer *tokenizer,
                                  const struct corpus *corpus, const struct sentencepiece_counts *counts,
                                  rotary_error *error)
{
    const struct tokenize_options *options = invocation->options;
    bool words = options->type.value == TYPE_WORDS;
    int64_t size = tokenizer_size(tokenizer);
    if (invocation->common.json) {
        json_t *object = json_pack("{s:s, s:s, s:I, s:I}", "model", options->model, "type",
                                   type_names[options->type.value], "tokens", (json_int_t)size, "lines",
                                   (json_int_t)corpus->count);
        if (!words)
            json_object_set_new(object, "left_out",
                                json_pack("{s:I, s:I, s:I}", "empty", (json_int_t)counts->empty, "too_long",
                                          (json_int_t)counts->too_long, "reserved",
                                          (json_int_t)counts->reserved));
        return result_print_json(object, error);
    }
    printf("%s: %lld tokens (%s) from %lld lines\n", options->model, (long long)size,
           type_names[options->type.value], (long long)(words ? corpus->count : counts->used));
    print_left_out(corpus, counts);
    return ROTARY_OK;
}

static rotary_status train_and_save(const struct invocation *invocation, struct corpus *corpus,
                                    struct progress *progress, rotary_error *error)
{
    const struct tokenize_options *options = invocation->options;
    struct sentencepiece_counts counts = {0};
    struct tokenizer *tokenizer = NULL;
    rotary_status status = read_corpus(corpus, &options->input, progress, error);
    if (status != ROTARY_OK)
        return status;
    progress_show(progress, "training a tokenizer (%s) on %lld lines", type_names[options->type.value],
                  (long long)corpus->count);
    status = make_tokenizer(&tokenizer, options, corpus, &counts, error);
    progress_end(progress);
    if (status == ROTARY_OK)
        status = tokenizer_save(tokenizer, options->model, error);
    if (status == ROTARY_OK)
        status = print_result(invocation, tokenizer, corpus, &counts, error);
    tokenizer_destroy(tokenizer);
    return status;
}

static enum exit_status run(const struct invocation *invocation)
{
    rotary_error error = {0};
    struct progress progress;
    struct corpus corpus = {0};
    if (check_options(invocation->options, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    progress_start(&progress);
    rotary_status status = check_files(invocation->options, &error);
    if (status == ROTARY_OK)
        status = train_and_save(invocation, &corpus, &progress, &error);
    progress_end(&progress);
    free_corpus(&corpus);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_tokenize_train = {
    .name = "tokenize train",
    .operands = "",
    .summary = "makes a tokenizer from lines of text",
    .more =
        "A line is a sentence, in UTF-8. SentencePiece's models normalise it (NFKC, white space) and keep "
        "its case; the same lines give the same model. Their special tokens are <pad>, <unk>, <s> and </s>, "
        "0 to "
        "3. Words are what white space separates, the most frequent first, after <s>, </s>, <blank> and "
        "<unk>.",
    .example = "rotary tokenize train --input train.de --input train.en --type bpe --model both.model\n"
               "learns 8,000 pieces for two languages together",
    .options = tokenize_table,
    .option_count = sizeof tokenize_table / sizeof tokenize_table[0],
    .options_size = sizeof(struct tokenize_options),
    .run = run,
};
