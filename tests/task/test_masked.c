/* SPDX-License-Identifier: Apache-2.0
 *
 * The task masked on files and on synthetic text: how documents become sequences, what is held out, which
 * masks change and which do not, vocabularies, and what is wrong with files.
 */
#include "support/scratch.h"
#include "task/text.h"
#include "task/text/masked.h"
#include "text/tokenizer/sentencepiece.h"

enum { TIME = 16, ROOM = TIME - 2 };

/* Words "w0" ... "w9" in an order of their own, so that documents differ; w0 w1 ... would be one word more.
 */
static void write_document(FILE *file, int number, int words)
{
    for (int i = 0; i < words; i++)
        fprintf(file, "%sw%d",
                i == 0       ? ""
                : i % 6 == 0 ? "\n"
                             : " ",
                (number * 3 + i * (1 + number % 4)) % 10);
    fprintf(file, "\n\n");
}

/* Documents of 1, 2, ... words. */
static void write_documents(const char *name, int first, int count)
{
    FILE *file = fopen(scratch_path(name), "w");
    if (!CHECK(file != NULL))
        exit(1);
    for (int i = 0; i < count; i++)
        write_document(file, first + i, first + i);
    fclose(file);
}

static void write_corpus(void)
{
    write_documents("train.txt", 1, 40);
    write_documents("more.txt", 3, 2);
    write_documents("valid.txt", 2, 20);
    write_documents("test.txt", 5, 3);
}

static struct task_config corpus_config(void)
{
    struct task_config config = config_of(TASK_MASKED);
    config.sequence_length = TIME;
    set_text(&config, "masked_data", scratch_folder());
    set_option(&config, "masked_min_frequency", 1);
    return config;
}

/* What a sequence is when it is read at a place. */
struct reading {
    int32_t tokens[TIME], classes[TIME];
    int64_t count;
};

static struct reading read_at(const struct task *task, const struct task_place *place)
{
    struct reading reading = {.count = task_example(task, place->split, place->index).target_count};
    CHECK(reading.count >= 3 && reading.count <= TIME);
    memset(reading.tokens, 0x55, sizeof reading.tokens);
    memset(reading.classes, 0x55, sizeof reading.classes);
    task_fill(task, place, &(struct task_row){.tokens = reading.tokens, .classes = reading.classes});
    return reading;
}

/* The tokens before they were masked. */
static void unmask(struct reading *reading)
{
    for (int64_t i = 0; i < reading->count; i++)
        if (reading->classes[i] != BATCH_IGNORED)
            reading->tokens[i] = reading->classes[i];
}

static bool same_reading(const struct reading *a, const struct reading *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* The text of a document, word by word, across its sequences. */
static void test_sequences(void)
{
    const struct task_config config = corpus_config();
    struct task *task = task_of(&config);
    const struct tokenizer *tokenizer = task_tokenizer(task);
    const struct special_tokens special = tokenizer_special(tokenizer);
    CHECK(!task_has_problems(task) && task_scoring(task) == SCORING_LOSS && task_wants_encoder(task));
    CHECK_INT(task_shape(task).source_time, 0);
    CHECK(task_source_tokenizer(task) == NULL);
    CHECK_INT(task_vocabulary(task).target, 5 + 10);
    CHECK_INT(task_examples(task, TASK_TEST), 0);
    int64_t index = 0, tokens = 0;
    for (int number = 1; number <= 40; number++) {
        int word = 0;
        for (int begin = 0; begin < number; begin += ROOM, index++) {
            const int count = number - begin < ROOM ? number - begin : ROOM;
            struct reading reading = read_at(task, &(struct task_place){.index = index});
            unmask(&reading);
            check_about("document %d from %d", number, begin);
            CHECK_INT(reading.count, count + 2);
            CHECK_INT(reading.tokens[0], special.begin);
            CHECK_INT(reading.tokens[count + 1], special.end);
            CHECK(reading.classes[0] == BATCH_IGNORED && reading.classes[count + 1] == BATCH_IGNORED);
            for (int i = 1; i <= count; i++, word++) {
                char wanted[8];
                snprintf(wanted, sizeof wanted, "w%d", (number * 3 + word * (1 + number % 4)) % 10);
                const struct token_text text = tokenizer_text(tokenizer, reading.tokens[i]);
                CHECK(text.count == 2 && memcmp(text.bytes, wanted, 2) == 0);
            }
            tokens += reading.count;
        }
    }
    check_about("%s", "");
    CHECK_INT(index, task_examples(task, TASK_TRAINING));
    const struct task_counts counts = task_counts(task, TASK_TRAINING);
    CHECK_INT(counts.pairs, 40);
    CHECK_INT(counts.too_long, 40 - ROOM);
    CHECK_INT(counts.target_tokens, tokens);
    CHECK_INT(counts.longest_target, TIME);
    CHECK_INT(task_counts(task, TASK_VALIDATION).pairs, 20);
    task_destroy(task);
}

/* Training masks by seed and ordinal, whatever else; validation and test by the sequence alone. */
static void test_masks(void)
{
    struct task_config config = corpus_config();
    set_text(&config, "masked_test", "test.txt");
    struct task *task = task_of(&config), *again = task_of(&config);
    const int64_t count = task_examples(task, TASK_TRAINING);
    int64_t changed = 0, reseeded = 0;
    for (int64_t i = 0; i < count; i++) {
        const struct task_place first = {.index = i, .seed = 3, .ordinal = i},
                                later = {.index = i, .seed = 3, .ordinal = i + count},
                                other = {.index = i, .seed = 4, .ordinal = i};
        struct reading a = read_at(task, &first), b = read_at(again, &first), c = read_at(task, &later),
                       d = read_at(task, &other);
        CHECK(same_reading(&a, &b));
        changed += !same_reading(&a, &c);
        reseeded += !same_reading(&a, &d);
        unmask(&a);
        unmask(&c);
        CHECK(memcmp(a.tokens, c.tokens, sizeof a.tokens) == 0);
    }
    CHECK(changed > count * 3 / 4);
    CHECK(reseeded > count * 3 / 4);
    for (int split = TASK_VALIDATION; split <= TASK_TEST; split++) {
        CHECK(task_examples(task, (enum task_split)split) >= 3);
        for (int64_t i = 0; i < task_examples(task, (enum task_split)split); i++) {
            const struct task_place first = {.split = (enum task_split)split, .index = i, .seed = 3},
                                    later = {.split = (enum task_split)split,
                                             .index = i,
                                             .seed = 4,
                                             .ordinal = 77};
            const struct reading a = read_at(task, &first), b = read_at(again, &later);
            CHECK(same_reading(&a, &b));
        }
    }
    task_destroy(again);
    task_destroy(task);
}

/* A hash of a sequence's words. */
static uint64_t hash_at(const struct task *task, enum task_split split, int64_t index)
{
    struct reading reading = read_at(task, &(struct task_place){.split = split, .index = index});
    unmask(&reading);
    return rotary_hash(reading.tokens, (uint64_t)reading.count * sizeof *reading.tokens);
}

/* Without a validation file some documents are held out: they are in no sequence of training, and together
 * with those they are all. Which ones does not depend on the others. */
static void test_held_out(void)
{
    enum { DOCUMENTS = 600 };
    FILE *file = fopen(scratch_path("whole.txt"), "w");
    for (int i = 0; i < DOCUMENTS; i++) { /* each its own words */
        for (int digit = i + DOCUMENTS; digit > 0; digit /= 5)
            fprintf(file, "w%d ", digit % 5);
        fprintf(file, "\n\n");
    }
    fclose(file);
    struct task_config config = corpus_config();
    set_text(&config, "masked_train", "whole.txt");
    set_text(&config, "masked_validation", "");
    struct task *task = task_of(&config);
    const int64_t trained = task_examples(task, TASK_TRAINING), held = task_examples(task, TASK_VALIDATION);
    CHECK_INT(trained + held, DOCUMENTS);
    CHECK(held >= 3 && held <= 30);
    for (int64_t i = 0; i < held; i++)
        for (int64_t j = 0; j < trained; j++)
            CHECK(hash_at(task, TASK_VALIDATION, i) != hash_at(task, TASK_TRAINING, j));
    uint64_t hash;
    CHECK_INT(task_text_hash(&config, TASK_VALIDATION, &hash, NULL), ROTARY_OK);
    CHECK(hash == 0);
    CHECK_INT(task_text_hash(&config, TASK_TRAINING, &hash, NULL), ROTARY_OK);
    CHECK(hash != 0);
    task_destroy(task);
}

/* Several files, other boundaries, and a cache elsewhere. */
static void test_files(void)
{
    struct task_config config = corpus_config();
    set_text(&config, "masked_train", "train.txt,more.txt");
    set_text(&config, "masked_cache", scratch_path("cache"));
    struct task *task = task_of(&config);
    CHECK_INT(task_counts(task, TASK_TRAINING).pairs, 42);
    task_destroy(task);
    set_text(&config, "masked_boundary", "file");
    task = task_of(&config);
    CHECK_INT(task_counts(task, TASK_TRAINING).pairs, 2);
    CHECK_INT(task_counts(task, TASK_VALIDATION).pairs, 1);
    task_destroy(task);
    set_text(&config, "masked_boundary", "line");
    set_text(&config, "masked_train", "more.txt");
    task = task_of(&config);
    CHECK_INT(task_counts(task, TASK_TRAINING).pairs, 2);
    task_destroy(task);
    uint64_t hashes[3];
    for (int i = 0; i < 3; i++) {
        CHECK_INT(task_text_hash(&config, TASK_TRAINING, &hashes[i], NULL), ROTARY_OK);
        set_text(&config, "masked_train", i == 0 ? "train.txt" : "more.txt");
    }
    CHECK(hashes[0] != hashes[1] && hashes[0] == hashes[2]);
    CHECK(task_is_location("masked_data") && task_is_location("masked_cache") &&
          !task_is_location("masked_train"));
}

/* Long documents of pieces are cut where words end, unless a word is longer than a sequence. */
static void test_pieces(void)
{
    if (!sentencepiece_version()) {
        printf("SentencePiece is not in this program\n");
        return;
    }
    struct task_config config = corpus_config();
    set_text(&config, "masked_tokenizer", "sentencepiece");
    set_text(&config, "masked_whole_words", "true");
    set_option(&config, "masked_vocab_size", 18);
    const struct task_request sizes = {.need = TASK_SIZES};
    struct task *task = NULL;
    FILE *file = fopen(scratch_path("train.txt"), "a");
    fprintf(file, "w1w2w3w4w5w6w7w8w9w0w1w2w3w4w5w6w7w8w9w1w2w3w4w5\n\n");
    fclose(file);
    CHECK_INT(task_create(&task, &config, &sizes, NULL), ROTARY_OK);
    CHECK_INT(task_vocabulary(task).target, 18);
    CHECK(task_tokenizer(task) == NULL);
    task_destroy(task);
    task = task_of(&config);
    const struct tokenizer *tokenizer = task_tokenizer(task);
    CHECK_INT(task_vocabulary(task).target, 18);
    CHECK_TEXT(task_target_file(task), "vocabulary.model");
    int64_t count = task_examples(task, TASK_TRAINING), inside = 0;
    CHECK(task_counts(task, TASK_TRAINING).too_long > 10);
    for (int64_t i = 0; i < count; i++) {
        struct reading reading = read_at(task, &(struct task_place){.index = i, .ordinal = i});
        for (int64_t j = 2; j < reading.count - 1; j++) { /* a word is masked whole, or not at all */
            const int32_t token =
                reading.classes[j] != BATCH_IGNORED ? reading.classes[j] : reading.tokens[j];
            if (tokenizer_continues_word(tokenizer, token))
                CHECK((reading.classes[j] == BATCH_IGNORED) == (reading.classes[j - 1] == BATCH_IGNORED));
        }
        unmask(&reading);
        inside += tokenizer_continues_word(tokenizer, reading.tokens[1]);
    }
    CHECK(inside >= 1 && inside <= 4); /* of the long word */
    CHECK_INT(task_save(task, scratch_folder(), NULL), ROTARY_OK);
    struct task *loaded = NULL;
    const struct task_request request = {.folder = scratch_folder(), .need = TASK_DATA};
    CHECK_INT(task_create(&loaded, &config, &request, NULL), ROTARY_OK);
    for (int64_t i = 0; i < count; i++) {
        const struct task_place place = {.index = i, .ordinal = i};
        const struct reading a = read_at(task, &place), b = read_at(loaded, &place);
        CHECK(same_reading(&a, &b));
    }
    task_destroy(loaded);
    task_destroy(task);
    scratch_remove(scratch_path("vocabulary.model"));
    write_corpus();
}

/* A vocabulary of its own, and one that is no use. */
static void test_vocabulary_file(void)
{
    struct task_config config = corpus_config();
    struct task *task = NULL;
    struct tokenizer *tokenizer = NULL;
    rotary_error error = {0};
    const char *path = scratch_path("mine.json");
    set_text(&config, "masked_tokenizer", "file");
    CHECK_INT(task_create(&task, &config, NULL, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "masked_vocabulary is empty");
    set_text(&config, "masked_vocabulary", path);
    CHECK_INT(words_create(&tokenizer, "w1 w2 w3", 8, 1, NULL), ROTARY_OK);
    CHECK_INT(tokenizer_save(tokenizer, path, NULL), ROTARY_OK);
    tokenizer_destroy(tokenizer);
    CHECK_INT(task_create(&task, &config, NULL, &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, "mine.json|no mask token|--mask");
    const struct words_config words = {.min_frequency = 1, .mask = true};
    CHECK_INT(words_configured_create(&tokenizer, "w1 w2 w3", 8, &words, NULL), ROTARY_OK);
    CHECK_INT(tokenizer_save(tokenizer, path, NULL), ROTARY_OK);
    tokenizer_destroy(tokenizer);
    task = task_of(&config);
    CHECK_INT(task_vocabulary(task).target, 8);
    CHECK_INT(task_save(task, scratch_folder(), NULL), ROTARY_OK);
    CHECK_TEXT(task_target_file(task), "vocabulary.json");
    task_destroy(task);
    scratch_remove(path); /* the run has its own */
    const struct task_request request = {.folder = scratch_folder(), .need = TASK_TOKENIZERS};
    CHECK_INT(task_create(&task, &config, &request, NULL), ROTARY_OK);
    CHECK_INT(task_vocabulary(task).target, 8);
    task_destroy(task);
    scratch_remove(scratch_path("vocabulary.json"));
}

/* Without a folder sentences are synthetic, others for each split. */
static void test_synthetic(void)
{
    struct task_config config = config_of(TASK_MASKED);
    config.sequence_length = 48;
    set_option(&config, "masked_documents", 60);
    set_option(&config, "masked_held_out", 7);
    struct task *task = task_of(&config);
    static const int64_t documents[TASK_SPLITS] = {60, 7, 7};
    uint64_t hashes[TASK_SPLITS];
    for (int split = 0; split < TASK_SPLITS; split++) {
        const struct task_counts counts = task_counts(task, (enum task_split)split);
        CHECK_INT(counts.pairs, documents[split]);
        CHECK(task_examples(task, (enum task_split)split) >= documents[split]);
        CHECK(counts.target_tokens > 30 * documents[split] && counts.longest_target <= 48);
        CHECK_INT(task_text_hash(&config, (enum task_split)split, &hashes[split], NULL), ROTARY_OK);
    }
    CHECK(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != 0);
    char text[SYNTHETIC_DOCUMENT_BYTES];
    const int64_t bytes = synthetic_document(TASK_TRAINING, 3, text);
    CHECK(bytes == (int64_t)strlen(text) && bytes > 80 && text[bytes - 1] != ' ');
    int stops = 0;
    for (int64_t i = 0; i < bytes; i++)
        stops += text[i] == '.' || text[i] == '?' || text[i] == '!';
    CHECK(stops >= 4 && stops <= 11);
    task_destroy(task);
}

static void test_excluded(void)
{
    static const struct {
        const char *set, *value, *key, *other;
    } rows[] = {
        {"masked_data", "", "masked_train", "masked_data"},
        {"masked_data", "", "masked_boundary", "masked_data"},
        {"masked_data", "", "masked_cache", "masked_data"},
        {"masked_data", "", "masked_documents", NULL},
        {"masked_data", "x", "masked_documents", "masked_data"},
        {"masked_data", "x", "masked_held_out", "masked_data"},
        {"masked_data", "x", "masked_test", NULL},
        {"masked_tokenizer", "words", "masked_vocab_size", "masked_tokenizer"},
        {"masked_tokenizer", "words", "masked_whole_words", "masked_tokenizer"},
        {"masked_tokenizer", "words", "masked_vocabulary", "masked_tokenizer"},
        {"masked_tokenizer", "words", "masked_min_frequency", NULL},
        {"masked_tokenizer", "sentencepiece", "masked_min_frequency", "masked_tokenizer"},
        {"masked_tokenizer", "sentencepiece", "masked_whole_words", NULL},
        {"masked_tokenizer", "sentencepiece", "masked_model_type", NULL},
        {"masked_tokenizer", "file", "masked_whole_words", NULL},
        {"masked_tokenizer", "file", "masked_vocab_size", "masked_tokenizer"},
        {"masked_tokenizer", "file", "masked_vocabulary", NULL},
        {"masked_tokenizer", "file", "masked_probability", NULL},
        {"masked_tokenizer", "file", "problems", "task"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct task_config config = config_of(TASK_MASKED);
        const char *wanted = NULL;
        set_text(&config, rows[i].set, rows[i].value);
        const char *other = task_excluding_key(&config, rows[i].key, &wanted);
        check_about("%s with %s %s", rows[i].key, rows[i].set, rows[i].value);
        if (CHECK((other == NULL) == (rows[i].other == NULL)) && other)
            CHECK_TEXT(other, rows[i].other);
    }
    check_about("%s", "");
}

/* Files that are all there, of which none has records, or each has. */
static void test_excluded_by_format(void)
{
    struct task_config config = corpus_config();
    const char *wanted = NULL;
    CHECK(task_excluding_key(&config, "masked_boundary", &wanted) == NULL);
    CHECK_TEXT(task_excluding_key(&config, "masked_field", &wanted), "masked_train");
    CHECK_TEXT(wanted, "a file of records (.jsonl)");
    scratch_write_text("records.jsonl", "{}");
    set_text(&config, "masked_train", "records.jsonl");
    CHECK(task_excluding_key(&config, "masked_field", &wanted) == NULL);
    set_text(&config, "masked_validation", "");
    CHECK(task_excluding_key(&config, "masked_field", &wanted) == NULL);
    CHECK_TEXT(task_excluding_key(&config, "masked_boundary", &wanted), "masked_train");
    CHECK_TEXT(wanted, "a file of plain text");
}

static void check_refused(const char *key, const char *value, rotary_status wanted, const char *words)
{
    struct task_config config = corpus_config();
    struct task *task = NULL;
    rotary_error error = {0};
    set_text(&config, key, value);
    CHECK_INT(task_create(&task, &config, NULL, &error), wanted);
    CHECK_WORDS(error.message, words);
    CHECK(task == NULL);
    write_corpus();
}

static void test_refused(void)
{
    check_refused("masked_train", "absent.txt", ROTARY_IO_ERROR, "absent.txt|training text");
    check_refused("masked_test", "absent.txt", ROTARY_IO_ERROR, "absent.txt|test text");
    check_refused("masked_train", "train.txt,", ROTARY_INVALID_ARGUMENT, "train.txt,|comma");
    check_refused("masked_train", "", ROTARY_INVALID_ARGUMENT, "masked_train is empty");
    scratch_write(scratch_path("train.txt"), "a b\n\xff\n", 6);
    check_refused("masked_boundary", "line", ROTARY_BAD_FILE, "train.txt|line 2");
    scratch_write(scratch_path("valid.txt"), "\n \n", 3);
    check_refused("masked_boundary", "line", ROTARY_BAD_FILE, "valid.txt");
    scratch_write(scratch_path("train.txt"), "one document\n", 13);
    check_refused("masked_validation", "", ROTARY_BAD_FILE, "train.txt|no document for");
}

int main(void)
{
    write_corpus();
    test_sequences();
    test_masks();
    test_held_out();
    test_files();
    test_pieces();
    test_vocabulary_file();
    test_synthetic();
    test_excluded();
    test_excluded_by_format();
    test_refused();
    return check_report();
}
