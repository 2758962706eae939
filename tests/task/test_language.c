/* SPDX-License-Identifier: Apache-2.0
 *
 * The task language on files and on synthetic text: how documents become sequences, and a stream windows;
 * what is held out; tokenizers; the bytes that a text has; and what is wrong with files.
 */
#include "support/scratch.h"
#include "task/text.h"
#include "task/text/language.h"

#include <sys/stat.h>

enum { TIME = 16, DOCUMENTS = 40 };

/* ---- texts ---- */

static void write_text(const char *name, const char *text)
{
    scratch_write(scratch_path(name), text, strlen(text));
}

/* Word `i` of document `number`, which has as many words as its number. */
static int word_of(int number, int i)
{
    return (number * 3 + i * (1 + number % 4)) % 10;
}

/* Documents of first, first + 1, ... words "w0" ... "w9"; some of their spaces are line ends. Returns their
 * bytes. */
static int64_t write_documents(const char *name, int first, int count)
{
    FILE *file = fopen(scratch_path(name), "w");
    int64_t bytes = 0;
    if (!CHECK(file != NULL))
        exit(1);
    for (int number = first; number < first + count; number++) {
        for (int i = 0; i < number; i++)
            bytes += fprintf(file, "%sw%d", i == 0 ? "" : i % 6 == 0 ? "\n" : " ", word_of(number, i));
        fprintf(file, "\n\n");
    }
    fclose(file);
    return bytes;
}

static struct task_config corpus_config(const char *windows, const char *tokenizer)
{
    struct task_config config = config_of(TASK_LANGUAGE);
    config.sequence_length = TIME;
    set_text(&config, "language_data", scratch_folder());
    set_text(&config, "language_windows", windows);
    set_text(&config, "language_tokenizer", tokenizer);
    return config;
}

/* ---- reading ---- */

struct reading {
    int32_t tokens[TIME], classes[TIME];
    int64_t count;
};

static struct reading read_at(const struct task *task, const struct task_place *place)
{
    struct reading reading = {.count = task_example(task, place->split, place->index).target_count};
    CHECK(reading.count >= 1 && reading.count <= TIME);
    memset(reading.tokens, 0x55, sizeof reading.tokens);
    memset(reading.classes, 0x55, sizeof reading.classes);
    task_fill(task, place, &(struct task_row){.tokens = reading.tokens, .classes = reading.classes});
    /* What is read is what was to be predicted, a token later. */
    CHECK(memcmp(reading.tokens + 1, reading.classes,
                 (size_t)(reading.count - 1) * sizeof *reading.classes) == 0);
    return reading;
}

static bool is_word(const struct tokenizer *tokenizer, int32_t token, int word)
{
    const struct token_text text = tokenizer_text(tokenizer, token);
    const char wanted[] = {'w', (char)('0' + word), '\0'};
    return text.count == 2 && memcmp(text.bytes, wanted, 2) == 0;
}

/* ---- documents ---- */

/* Each word and each end is predicted once, in order, and a document begins with the begin token. */
static void test_documents(void)
{
    const struct task_config config = corpus_config("documents", "words");
    struct task *task = task_of(&config);
    const struct tokenizer *tokenizer = task_tokenizer(task);
    const struct special_tokens special = tokenizer_special(tokenizer);
    int64_t index = 0, tokens = 0;
    CHECK(!task_has_problems(task) && task_scoring(task) == SCORING_LOSS && !task_wants_encoder(task));
    CHECK_INT(task_vocabulary(task).target, 4 + 10);
    for (int number = 1; number <= DOCUMENTS; number++) {
        int predicted = 0;
        while (predicted <= number) {
            check_about("document %d from %d", number, predicted);
            const struct reading reading = read_at(task, &(struct task_place){.index = index++});
            const int rest = number + 1 - predicted;
            CHECK_INT(reading.count, rest < TIME ? rest : TIME);
            if (predicted == 0)
                CHECK_INT(reading.tokens[0], special.begin);
            else
                CHECK(is_word(tokenizer, reading.tokens[0], word_of(number, predicted - 1)));
            for (int64_t i = 0; i < reading.count; i++, predicted++)
                CHECK(predicted == number
                          ? reading.classes[i] == special.end
                          : is_word(tokenizer, reading.classes[i], word_of(number, predicted)));
            tokens += reading.count;
        }
    }
    check_about("%s", "");
    CHECK_INT(index, task_examples(task, TASK_TRAINING));
    const struct task_counts counts = task_counts(task, TASK_TRAINING);
    CHECK_INT(counts.pairs, DOCUMENTS);
    CHECK_INT(counts.too_long, DOCUMENTS - (TIME - 1));
    CHECK_INT(counts.target_tokens, tokens);
    CHECK_INT(counts.longest_target, TIME);
    CHECK_INT(counts.text_bytes, write_documents("train.txt", 1, DOCUMENTS));
    CHECK_INT(task_counts(task, TASK_VALIDATION).text_bytes, write_documents("valid.txt", 2, 20));
    CHECK_INT(task_examples(task, TASK_TEST), 0);
    task_destroy(task);
}

/* ---- windows ---- */

/* The stream as it should be: the words of all documents, with the end token between documents. */
struct stream {
    int words[1024]; /* -1: the end token */
    int count;
};

static struct stream stream_of(int first, int documents)
{
    struct stream stream = {.count = 0};
    for (int number = first; number < first + documents; number++) {
        if (number > first)
            stream.words[stream.count++] = -1;
        for (int i = 0; i < number; i++)
            stream.words[stream.count++] = word_of(number, i);
    }
    return stream;
}

static bool is_of_stream(const struct task *task, const struct stream *stream, int64_t position,
                         int32_t token)
{
    const struct tokenizer *tokenizer = task_tokenizer(task);
    return stream->words[position] < 0 ? token == tokenizer_special(tokenizer).end
                                       : is_word(tokenizer, token, stream->words[position]);
}

/* The windows of a split follow one another in the stream from `first` to `end` - 1. */
static void check_consecutive(const struct task *task, enum task_split split, const struct stream *stream,
                              int64_t first, int64_t end)
{
    int64_t position = first;
    for (int64_t i = 0; i < task_examples(task, split); i++) {
        const struct reading reading = read_at(task, &(struct task_place){.split = split, .index = i});
        check_about("window %lld of %s", (long long)i, task_split_names[split]);
        CHECK(is_of_stream(task, stream, position, reading.tokens[0]));
        for (int64_t j = 0; j < reading.count && position + 1 < end; j++)
            CHECK(is_of_stream(task, stream, ++position, reading.classes[j]));
    }
    check_about("%s", "");
    CHECK_INT(position, end - 1);
    CHECK_INT(task_counts(task, split).target_tokens, end - 1 - first);
}

static void test_consecutive(void)
{
    const struct task_config config = corpus_config("consecutive", "words");
    struct task *task = task_of(&config);
    const struct stream training = stream_of(1, DOCUMENTS), validation = stream_of(2, 20);
    CHECK_INT(training.count, DOCUMENTS * (DOCUMENTS + 1) / 2 + DOCUMENTS - 1);
    check_consecutive(task, TASK_TRAINING, &training, 0, training.count);
    check_consecutive(task, TASK_VALIDATION, &validation, 0, validation.count);
    CHECK_INT(task_counts(task, TASK_VALIDATION).pairs, 20);
    task_destroy(task);
}

/* Without a file of validation its windows are those of the last tenth, and its bytes theirs. */
static void test_last_tenth(void)
{
    struct task_config config = corpus_config("consecutive", "words");
    set_text(&config, "language_validation", "");
    struct task *task = task_of(&config);
    const struct stream stream = stream_of(1, DOCUMENTS);
    const int64_t trained = stream.count * 9 / 10, bytes = write_documents("train.txt", 1, DOCUMENTS);
    check_consecutive(task, TASK_TRAINING, &stream, 0, trained);
    check_consecutive(task, TASK_VALIDATION, &stream, trained, stream.count);
    int64_t words = 0;
    for (int64_t i = trained; i < stream.count; i++)
        words += stream.words[i] >= 0;
    /* Two letters a word, and a space between two of a document, which the cut document loses at most once.
     */
    const int64_t documents = task_counts(task, TASK_VALIDATION).pairs,
                  held = task_counts(task, TASK_VALIDATION).text_bytes;
    CHECK(documents >= 2 && documents <= 3);
    CHECK(held >= 3 * words - documents - 1 && held <= 3 * words - documents + 1);
    CHECK_INT(task_counts(task, TASK_TRAINING).text_bytes / 2, (bytes - held) / 2);
    task_destroy(task);
}

/* In training windows begin anywhere; where follows from seed and ordinal. Every stretch of this text is
 * there once, so that a window tells where it begins. */
static void test_random(void)
{
    enum { NUMBERS = 300, BYTES = 5 * NUMBERS };
    struct task_config config = corpus_config("random", "bytes");
    char text[BYTES + 1];
    for (int i = 0; i < NUMBERS; i++)
        snprintf(text + 5 * i, 6, "%d ", 1000 + i);
    write_text("numbers.txt", text);
    set_text(&config, "language_train", "numbers.txt");
    set_text(&config, "language_validation", "numbers.txt");
    set_text(&config, "language_boundary", "file");
    struct task *task = task_of(&config), *again = task_of(&config);
    const int64_t count = task_examples(task, TASK_TRAINING), draws = 20 * BYTES;
    bool begun[BYTES] = {false};
    int64_t starts = 0, reseeded = 0;
    CHECK_INT(count, (BYTES - 1 + TIME - 1) / TIME);
    for (int64_t i = 0; i < draws; i++) {
        const struct task_place place = {.index = i % count, .seed = 3, .ordinal = i},
                                other = {.index = (i + 1) % count, .seed = 3, .ordinal = i},
                                seed = {.index = i % count, .seed = 4, .ordinal = i};
        const struct reading a = read_at(task, &place), b = read_at(again, &other), c = read_at(task, &seed);
        char window[TIME + 2] = "";
        CHECK_INT(a.count, TIME);
        CHECK(memcmp(&a, &b, sizeof a) == 0);
        reseeded += memcmp(&a, &c, sizeof a) != 0;
        for (int j = 0; j < TIME; j++)
            window[j] = (char)a.tokens[j];
        window[TIME] = (char)a.classes[TIME - 1];
        const char *found = strstr(text, window);
        if (!CHECK(found != NULL))
            break;
        starts += !begun[found - text];
        begun[found - text] = true;
    }
    CHECK(reseeded > draws * 9 / 10);
    CHECK_INT(starts, BYTES - TIME); /* each: the chance to miss one is 1e-6 */
    /* Validation is the same, in order. */
    int64_t position = 0;
    for (int64_t i = 0; i < task_examples(task, TASK_VALIDATION); i++) {
        const struct reading reading =
            read_at(task, &(struct task_place){.split = TASK_VALIDATION, .index = i, .ordinal = 77});
        for (int64_t j = 0; j < reading.count; j++)
            CHECK_INT(reading.classes[j], text[++position]);
    }
    CHECK_INT(position, BYTES - 1);
    CHECK_INT(task_counts(task, TASK_VALIDATION).text_bytes, BYTES);
    task_destroy(again);
    task_destroy(task);
}

/* A text shorter than a window is one window. */
static void test_short(void)
{
    struct task_config config = corpus_config("random", "bytes");
    write_text("short.txt", "abcdef");
    set_text(&config, "language_train", "short.txt");
    set_text(&config, "language_validation", "short.txt");
    set_text(&config, "language_boundary", "file");
    struct task *task = task_of(&config);
    CHECK_INT(task_examples(task, TASK_TRAINING), 1);
    for (int64_t i = 0; i < 9; i++) {
        const struct reading reading = read_at(task, &(struct task_place){.ordinal = i});
        CHECK_INT(reading.count, 5);
        CHECK(reading.tokens[0] == 'a' && reading.classes[4] == 'f');
    }
    task_destroy(task);
}

/* ---- what is held out ---- */

/* One document in 50, by its tokens: none of validation is in training. */
static void test_held_out(void)
{
    enum { COUNT = 600 };
    FILE *file = fopen(scratch_path("whole.txt"), "w");
    for (int i = 0; i < COUNT; i++)
        fprintf(file, "%d\n\n", 1000 + i);
    fclose(file);
    struct task_config config = corpus_config("documents", "bytes");
    set_text(&config, "language_train", "whole.txt");
    set_text(&config, "language_validation", "");
    struct task *task = task_of(&config);
    const int64_t trained = task_examples(task, TASK_TRAINING), held = task_examples(task, TASK_VALIDATION);
    CHECK_INT(trained + held, COUNT);
    CHECK(held >= 3 && held <= 30);
    for (int64_t i = 0; i < held; i++) {
        const struct reading a = read_at(task, &(struct task_place){.split = TASK_VALIDATION, .index = i});
        for (int64_t j = 0; j < trained; j++) {
            const struct reading b = read_at(task, &(struct task_place){.index = j});
            CHECK(memcmp(&a, &b, sizeof a) != 0);
        }
    }
    CHECK_INT(task_counts(task, TASK_VALIDATION).text_bytes, 4 * held);
    task_destroy(task);
}

/* ---- tokenizers ---- */

/* What a split's first sequence reads, as text. */
static void check_tokenizer(const char *tokenizer, const char *wanted, int64_t size)
{
    struct task_config config = corpus_config("documents", tokenizer);
    set_text(&config, "language_train", "umlauts.txt");
    set_text(&config, "language_validation", "umlauts.txt");
    set_text(&config, "language_boundary", "file");
    config.sequence_length = 64;
    struct task *task = task_of(&config);
    int32_t tokens[64], classes[64];
    char text[256];
    const int64_t count = task_example(task, TASK_TRAINING, 0).target_count;
    check_about("%s", tokenizer);
    task_fill(task, &(struct task_place){.index = 0},
              &(struct task_row){.tokens = tokens, .classes = classes});
    tokenizer_decode(task_tokenizer(task), classes, count - 1, text, sizeof text);
    CHECK_TEXT(text, wanted);
    CHECK_INT(task_vocabulary(task).target, size);
    check_about("%s", "");
    task_destroy(task);
}

static void test_tokenizers(void)
{
    static const char text[] = "Bären\n\n sägen. \n";
    write_text("umlauts.txt", text);
    check_tokenizer("characters", text, 4 + 10); /* B ä r e n \n space s g . */
    check_tokenizer("bytes", text, 259);
    check_tokenizer("words", "Bären sägen .", 4 + 3);
}

static void check_vocabulary(struct tokenizer *tokenizer, rotary_status wanted, const char *words)
{
    struct task_config config = corpus_config("consecutive", "file");
    const char *path = scratch_path("mine.json");
    struct task *task = NULL;
    rotary_error error = {0};
    write_text("letters.txt", "abc");
    set_text(&config, "language_train", "letters.txt");
    set_text(&config, "language_validation", "letters.txt");
    set_text(&config, "language_vocabulary", path);
    CHECK_INT(tokenizer_save(tokenizer, path, NULL), ROTARY_OK);
    CHECK_INT(task_create(&task, &config, NULL, &error), wanted);
    if (words)
        CHECK_WORDS(error.message, words);
    task_destroy(task);
    tokenizer_destroy(tokenizer);
}

static void test_vocabulary_files(void)
{
    struct tokenizer *tokenizer = NULL;
    CHECK_INT(characters_create(&tokenizer, "abc", NULL), ROTARY_OK);
    check_vocabulary(tokenizer, ROTARY_BAD_FILE, "mine.json|no token that begins or ends a document");
    CHECK_INT(bytes_create(&tokenizer, NULL), ROTARY_OK);
    check_vocabulary(tokenizer, ROTARY_OK, NULL);
}

/* A run's folder carries its tokenizer. */
static void test_saved(void)
{
    struct task_config config = corpus_config("documents", "characters");
    struct task *task = task_of(&config), *loaded = NULL;
    CHECK_INT(task_save(task, scratch_folder(), NULL), ROTARY_OK);
    const struct task_request request = {.folder = scratch_folder(), .need = TASK_HELD_OUT};
    CHECK_INT(task_create(&loaded, &config, &request, NULL), ROTARY_OK);
    CHECK_INT(task_examples(loaded, TASK_TRAINING), 0);
    for (int64_t i = 0; i < task_examples(task, TASK_VALIDATION); i++) {
        const struct task_place place = {.split = TASK_VALIDATION, .index = i};
        const struct reading a = read_at(task, &place), b = read_at(loaded, &place);
        CHECK(memcmp(&a, &b, sizeof a) == 0);
    }
    task_destroy(loaded);
    task_destroy(task);
    scratch_remove(scratch_path("vocabulary.json"));
}

/* ---- other texts ---- */

static void test_records(void)
{
    struct task_config config = corpus_config("documents", "bytes");
    write_text("train.jsonl", "{\"body\": \"one\", \"text\": \"x\"}\n{\"body\": \"two\\nlines\"}\n");
    set_text(&config, "language_train", "train.jsonl");
    set_text(&config, "language_validation", "train.jsonl");
    set_text(&config, "language_field", "body");
    struct task *task = task_of(&config);
    CHECK_INT(task_examples(task, TASK_TRAINING), 2);
    CHECK_INT(task_counts(task, TASK_TRAINING).text_bytes, 3 + 9);
    task_destroy(task);
}

/* Without a folder sentences are synthetic, others for each split. */
static void test_synthetic(void)
{
    struct task_config config = config_of(TASK_LANGUAGE);
    config.sequence_length = 48;
    set_option(&config, "language_documents", 60);
    set_option(&config, "language_held_out", 7);
    struct task *task = task_of(&config);
    int64_t bytes = 0;
    for (int64_t i = 0; i < 7; i++) {
        char text[SYNTHETIC_DOCUMENT_BYTES];
        bytes += synthetic_document(TASK_TEST, i, text);
    }
    CHECK_INT(task_counts(task, TASK_TRAINING).pairs, 60);
    CHECK_INT(task_counts(task, TASK_TEST).pairs, 7);
    CHECK_INT(task_counts(task, TASK_TEST).text_bytes, bytes);
    CHECK_INT(task_counts(task, TASK_TEST).target_tokens, bytes + 7); /* and an end each */
    task_destroy(task);
    set_text(&config, "language_windows", "consecutive");
    task = task_of(&config);
    CHECK_INT(task_counts(task, TASK_TEST).target_tokens, bytes + 6 - 1);
    task_destroy(task);
}

/* ---- what is wrong ---- */

static void test_excluded(void)
{
    static const struct {
        const char *set, *value, *key, *other;
    } rows[] = {
        {"language_data", "", "language_train", "language_data"},
        {"language_data", "", "language_field", "language_data"},
        {"language_data", "x", "language_documents", "language_data"},
        {"language_data", "x", "language_boundary", NULL},
        {"language_tokenizer", "bytes", "language_vocab_size", "language_tokenizer"},
        {"language_tokenizer", "bytes", "language_min_frequency", "language_tokenizer"},
        {"language_tokenizer", "characters", "language_min_frequency", NULL},
        {"language_tokenizer", "sentencepiece", "language_model_type", NULL},
        {"language_tokenizer", "file", "language_vocabulary", NULL},
        {"language_tokenizer", "words", "language_windows", NULL},
        {"language_tokenizer", "words", "problems", "task"},
        {"language_tokenizer", "words", "masked_train", "task"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct task_config config = config_of(TASK_LANGUAGE);
        const char *wanted = NULL;
        set_text(&config, rows[i].set, rows[i].value);
        const char *other = task_excluding_key(&config, rows[i].key, &wanted);
        check_about("%s with %s %s", rows[i].key, rows[i].set, rows[i].value);
        if (CHECK((other == NULL) == (rows[i].other == NULL)) && other)
            CHECK_TEXT(other, rows[i].other);
    }
    check_about("%s", "");
}

/* Records have no boundaries, plain text has no fields. The name of a folder, or of nothing, does not say
 * which there are. */
static void test_excluded_by_format(void)
{
    static const struct {
        const char *train, *validation, *test;
        bool boundary, field; /* whether the key does nothing */
    } rows[] = {
        {"plain.txt", "", "", false, true},
        {"plain.txt,letters", "plain.txt", "letters", false, true},
        {"records.jsonl", "", "", true, false},
        {"records.jsonl,more.NDJSON.gz", "records.jsonl", "more.NDJSON.gz", true, false},
        {"records.jsonl,plain.txt", "", "", false, false},
        {"plain.txt", "records.jsonl", "", false, false},
        {"records.jsonl", "records.jsonl", "plain.txt", false, false},
        {"folder", "plain.txt", "", false, false},
        {"records.jsonl", "folder.jsonl", "", false, false},
        {"plain.txt", "absent.txt", "", false, false},
        {"records.jsonl,", "", "", false, false},
    };
    write_text("plain.txt", "a");
    write_text("letters", "a");
    write_text("records.jsonl", "{}");
    write_text("more.NDJSON.gz", "");
    mkdir(scratch_path("folder"), 0777);
    mkdir(scratch_path("folder.jsonl"), 0777);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct task_config config = corpus_config("documents", "bytes");
        const char *wanted = NULL;
        set_text(&config, "language_train", rows[i].train);
        set_text(&config, "language_validation", rows[i].validation);
        set_text(&config, "language_test", rows[i].test);
        check_about("%s; %s; %s", rows[i].train, rows[i].validation, rows[i].test);
        const char *boundary = task_excluding_key(&config, "language_boundary", &wanted);
        CHECK_TEXT(boundary ? boundary : "", rows[i].boundary ? "language_train" : "");
        const char *field = task_excluding_key(&config, "language_field", &wanted);
        CHECK_TEXT(field ? field : "", rows[i].field ? "language_train" : "");
        CHECK(task_excluding_key(&config, "language_cache", &wanted) == NULL);
    }
    check_about("%s", "");
}

static void check_refused(const char *windows, const char *key, const char *value, rotary_status wanted,
                          const char *words)
{
    struct task_config config = corpus_config(windows, "bytes");
    struct task *task = NULL;
    rotary_error error = {0};
    set_text(&config, key, value);
    CHECK_INT(task_create(&task, &config, NULL, &error), wanted);
    CHECK_WORDS(error.message, words);
    CHECK(task == NULL);
    write_documents("train.txt", 1, DOCUMENTS);
}

static void test_refused(void)
{
    check_refused("documents", "language_train", "absent.txt", ROTARY_IO_ERROR,
                  "absent.txt|training text of the task language");
    check_refused("documents", "language_train", "", ROTARY_INVALID_ARGUMENT, "language_train is empty");
    check_refused("documents", "language_field", "", ROTARY_INVALID_ARGUMENT, "language_field is empty");
    check_refused("documents", "language_tokenizer", "file", ROTARY_INVALID_ARGUMENT,
                  "language_vocabulary is empty");
    write_text("train.txt", "a");
    check_refused("random", "language_boundary", "file", ROTARY_BAD_FILE, "training has 1 tokens|at least 2");
    write_text("train.txt", "one document\n");
    check_refused("documents", "language_validation", "", ROTARY_BAD_FILE,
                  "no document for|language_validation");
    write_text("train.txt", "abc \xff\n");
    check_refused("documents", "language_boundary", "line", ROTARY_BAD_FILE, "train.txt|line 1|UTF-8");
}

int main(void)
{
    write_documents("train.txt", 1, DOCUMENTS);
    write_documents("valid.txt", 2, 20);
    test_documents();
    test_consecutive();
    test_last_tenth();
    test_random();
    test_short();
    test_held_out();
    test_tokenizers();
    test_vocabulary_files();
    test_saved();
    test_records();
    test_synthetic();
    test_excluded();
    test_excluded_by_format();
    test_refused();
    return check_report();
}
