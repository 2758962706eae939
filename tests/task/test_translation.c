/* SPDX-License-Identifier: Apache-2.0
 *
 * The task translation on files: rows, what becomes of empty and of long lines, vocabularies, and what is
 * wrong with files.
 */
#include "support/scratch.h"
#include "task/text.h"
#include "text/text_lines.h"
#include "text/tokenizer/sentencepiece.h"

enum { TIME = 16 };

/* A file of the corpus in the scratch folder. */
/* Six pairs to train on, of which four are used; two to validate, three to test. */
static void write_corpus(void)
{
    scratch_write_text(
        "train.de", "der Hund schläft.\ndie Katze schläft.\n\nder Hund\na b a b a b a b a b a b a b a b\nder "
                    "Hund (groß) ruft: \"Hund!\"\n");
    scratch_write_text(
        "train.en",
        "the dog sleeps.\nthe cat sleeps.\nnothing\nthe dog\nthe dog\nthe dog (big) calls: \"dog!\"\n");
    scratch_write_text("val.de", "der Hund bellt.\n\n");
    scratch_write_text("val.en", "the dog barks.\nthe cat\n");
    scratch_write_text("test.de", "die Katze\nder\na b a b a b a b a b a b a b a b a\n");
    scratch_write_text("test.en", "the cat\nthe\na b a b a b a b a b a b a b a b a b\n");
}

static struct task_config corpus_config(void)
{
    struct task_config config = config_of(TASK_TRANSLATION);
    config.sequence_length = TIME;
    set_text(&config, "translation_data", scratch_folder());
    set_text(&config, "translation_test", "test");
    set_option(&config, "translation_min_frequency", 1);
    return config;
}

static void check_decoded(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t count,
                          const char *wanted)
{
    char text[512];
    tokenizer_decode(tokenizer, tokens, count, text, sizeof text);
    CHECK_TEXT(text, wanted);
}

static void check_counts(const struct task *task, enum task_split split, struct task_counts wanted)
{
    const struct task_counts got = task_counts(task, split);
    check_about("%s", task_split_names[split]);
    CHECK_INT(got.pairs, wanted.pairs);
    CHECK_INT(got.empty, wanted.empty);
    CHECK_INT(got.too_long, wanted.too_long);
    CHECK_INT(got.source_tokens, wanted.source_tokens);
    CHECK_INT(got.target_tokens, wanted.target_tokens);
    CHECK_INT(got.longest_source, wanted.longest_source);
    CHECK_INT(got.longest_target, wanted.longest_target);
    check_about("%s", "");
}

/* Examples begin and end as they should, and punctuation marks are words of their own. */
static void test_examples(void)
{
    const struct task_config config = corpus_config();
    struct task *task = task_of(&config);
    const struct tokenizer *target = task_tokenizer(task), *source = task_source_tokenizer(task);
    const struct special_tokens special = tokenizer_special(target), read = tokenizer_special(source);
    CHECK(source != target && !task_vocabulary(task).shared && !task_has_problems(task));
    CHECK_INT(task_vocabulary(task).target, tokenizer_size(target));
    CHECK_INT(task_vocabulary(task).source, tokenizer_size(source));
    CHECK_INT(tokenizer_size(source),
              4 + 15); /* the words of all lines of training, also of those left out */
    CHECK_INT(task_examples(task, TASK_TRAINING), 4);
    CHECK_INT(task_examples(task, TASK_VALIDATION), 2);
    CHECK_INT(task_examples(task, TASK_TEST), 3);

    struct task_example example = task_example(task, TASK_TRAINING, 3);
    check_decoded(source, example.source, example.source_count, "der Hund ( groß ) ruft : \" Hund ! \"");
    check_decoded(target, example.target, example.target_count, "the dog ( big ) calls : \" dog ! \"");
    CHECK_INT(example.source_count, 12);
    CHECK_INT(example.target_count, 12);
    CHECK_INT(example.source[11], read.end);
    CHECK_INT(example.target[0], special.begin);
    CHECK_INT(example.target[12], special.end);
    CHECK_TEXT(example.text.bytes, "der Hund (groß) ruft: \"Hund!\"");
    CHECK_TEXT(example.reference.bytes, "the dog (big) calls: \"dog!\"");

    example = task_example(task, TASK_VALIDATION, 0);
    check_decoded(source, example.source, example.source_count, "der Hund <unk> .");
    example = task_example(task, TASK_VALIDATION, 1); /* an empty line of the source is kept */
    CHECK_INT(example.source_count, 1);
    CHECK_INT(example.source[0], read.end);
    example = task_example(task, TASK_TEST, 2); /* a long pair is cut; the target has no end */
    CHECK_INT(example.source_count, TIME);
    CHECK_INT(example.source[TIME - 1], read.end);
    CHECK_INT(example.target_count, TIME - 1);
    CHECK(example.target[TIME - 1] != special.end);
    CHECK_TEXT(example.reference.bytes, "a b a b a b a b a b a b a b a b a b");

    check_counts(task, TASK_TRAINING,
                 (struct task_counts){.pairs = 6,
                                      .empty = 1,
                                      .too_long = 1,
                                      .source_tokens = 5 + 5 + 3 + 12,
                                      .target_tokens = 5 + 5 + 3 + 12,
                                      .longest_source = 12,
                                      .longest_target = 12});
    check_counts(task, TASK_VALIDATION,
                 (struct task_counts){.pairs = 2,
                                      .empty = 1,
                                      .source_tokens = 6,
                                      .target_tokens = 8,
                                      .longest_source = 5,
                                      .longest_target = 5});
    check_counts(task, TASK_TEST,
                 (struct task_counts){.pairs = 3,
                                      .too_long = 1,
                                      .source_tokens = 3 + 2 + TIME,
                                      .target_tokens = 3 + 2 + TIME - 1,
                                      .longest_source = TIME,
                                      .longest_target = TIME - 1});
    task_destroy(task);
}

/* One vocabulary of both texts; words below the minimum frequency are unknown. */
static void test_shared(void)
{
    struct task_config config = corpus_config();
    set_text(&config, "translation_shared_vocabulary", "true");
    set_option(&config, "translation_min_frequency", 3);
    struct task *task = task_of(&config);
    CHECK(task_tokenizer(task) == task_source_tokenizer(task) && task_vocabulary(task).shared);
    CHECK_TEXT(task_source_file(task), task_target_file(task));
    struct task_example example = task_example(task, TASK_TRAINING, 0);
    check_decoded(task_tokenizer(task), example.source, example.source_count, "der Hund <unk> .");
    check_decoded(task_tokenizer(task), example.target, example.target_count, "the dog <unk> .");
    task_destroy(task);
}

/* Lower case is that of Unicode, in the vocabulary and in what is translated; the reference keeps its case.
 */
static void test_lowercase(void)
{
    struct task_config config = corpus_config();
    set_text(&config, "translation_lowercase", "true");
    scratch_write_text("train.en", "THE Dog.\nÜber Ärzte\nnothing\nthe dog\nthe dog\nthe dog\n");
    struct task *task = task_of(&config);
    struct task_example example = task_example(task, TASK_TRAINING, 0);
    check_decoded(task_source_tokenizer(task), example.source, example.source_count, "der hund schläft .");
    check_decoded(task_tokenizer(task), example.target, example.target_count, "the dog .");
    CHECK_TEXT(example.reference.bytes, "THE Dog.");
    example = task_example(task, TASK_TRAINING, 1);
    check_decoded(task_tokenizer(task), example.target, example.target_count, "über ärzte");
    struct task_config cased_config = corpus_config();
    struct task *cased = task_of(&cased_config);
    static const char *const lines[][3] = {
        {"Hund!", "hund!", "Hund!"}, {"ÄÖ, 3.5", "äö, 3.5", "ÄÖ, 3.5"}, {"", "", ""}};
    for (int i = 0; i < 3; i++)
        for (int with_case = 0; with_case < 2; with_case++) {
            char *line = NULL;
            int64_t bytes;
            if (!CHECK_INT(task_source_line(with_case ? cased : task, lines[i][0],
                                            (int64_t)strlen(lines[i][0]), &line, &bytes, NULL),
                           ROTARY_OK))
                continue;
            CHECK_TEXT(line, lines[i][1 + with_case]);
            CHECK_INT(bytes, (int64_t)strlen(line));
            free(line);
        }
    task_destroy(task);
    task_destroy(cased);
    write_corpus();
}

/* A run's folder is enough for the tokenizers, and what they are saved from does not matter any more. */
static void test_saved(void)
{
    for (int shared = 0; shared < 2; shared++) {
        struct task_config config = corpus_config();
        set_text(&config, "translation_shared_vocabulary", shared ? "true" : "false");
        struct task *task = task_of(&config), *loaded = NULL;
        CHECK_INT(task_save(task, scratch_folder(), NULL), ROTARY_OK);
        set_text(&config, "translation_data", "nowhere");
        const struct task_request request = {.folder = scratch_folder(), .need = TASK_TOKENIZERS};
        rotary_error error = {0};
        if (!CHECK_INT(task_create(&loaded, &config, &request, &error), ROTARY_OK))
            fail_with(error.message);
        const struct tokenizer *const pairs[][2] = {
            {task_tokenizer(task), task_tokenizer(loaded)},
            {task_source_tokenizer(task), task_source_tokenizer(loaded)}};
        for (int side = 0; side < 2; side++) {
            CHECK_INT(tokenizer_size(pairs[side][0]), tokenizer_size(pairs[side][1]));
            for (int32_t token = 0; token < tokenizer_size(pairs[side][0]); token++) {
                const struct token_text a = tokenizer_text(pairs[side][0], token),
                                        b = tokenizer_text(pairs[side][1], token);
                CHECK(a.count == b.count && memcmp(a.bytes, b.bytes, (size_t)a.count) == 0);
            }
        }
        CHECK(task_vocabulary(loaded).shared == (shared == 1));
        task_destroy(task);
        task_destroy(loaded);
    }
}

/* Pieces are learned from both texts or from each; the same corpus gives the same ones. */
static void test_pieces(void)
{
    if (!sentencepiece_version()) {
        printf("SentencePiece is not in this program\n");
        return;
    }
    for (int shared = 0; shared < 2; shared++) {
        struct task_config config = corpus_config();
        config.sequence_length = 48;
        set_text(&config, "translation_tokenizer", "sentencepiece");
        set_text(&config, "translation_shared_vocabulary", shared ? "true" : "false");
        set_option(&config, "translation_vocab_size", 36);
        struct task *task = task_of(&config), *again = task_of(&config);
        CHECK_INT(task_vocabulary(task).target, 36);
        CHECK_INT(task_vocabulary(task).source, 36);
        CHECK_INT(task_counts(task, TASK_TRAINING).too_long, 0);
        const struct task_example example = task_example(task, TASK_TRAINING, 0);
        check_decoded(task_source_tokenizer(task), example.source, example.source_count, "der Hund schläft.");
        check_decoded(task_tokenizer(task), example.target, example.target_count, "the dog sleeps.");
        CHECK_INT(example.target[0], tokenizer_special(task_tokenizer(task)).begin);
        for (int32_t token = 0; token < 36; token++) {
            const struct token_text a = tokenizer_text(task_source_tokenizer(task), token),
                                    b = tokenizer_text(task_source_tokenizer(again), token);
            CHECK(a.count == b.count && memcmp(a.bytes, b.bytes, (size_t)a.count) == 0);
        }
        task_destroy(again);

        /* What a check of the configuration needs is no training, but the files must be there. */
        const struct task_request sizes = {.need = TASK_SIZES};
        CHECK_INT(task_create(&again, &config, &sizes, NULL), ROTARY_OK);
        CHECK(task_tokenizer(again) == NULL);
        CHECK_INT(task_vocabulary(again).target, 36);
        CHECK_INT(task_vocabulary(again).source, 36);
        CHECK(task_vocabulary(again).shared == (shared == 1));
        task_destroy(again);
        rotary_error error = {0};
        set_text(&config, "translation_test", "absent");
        CHECK_INT(task_create(&again, &config, &sizes, &error), ROTARY_IO_ERROR);
        CHECK_WORDS(error.message, "absent.de|test text");

        /* A run's folder has the model files. */
        CHECK_INT(task_save(task, scratch_folder(), NULL), ROTARY_OK);
        const struct task_request request = {.folder = scratch_folder(), .need = TASK_TOKENIZERS};
        CHECK_INT(task_create(&again, &config, &request, NULL), ROTARY_OK);
        CHECK_TEXT(task_target_file(again), shared ? "vocabulary.model" : "target.model");
        check_decoded(task_source_tokenizer(again), example.source, example.source_count,
                      "der Hund schläft.");
        task_destroy(again);
        task_destroy(task);
    }
}

/* A setting that does nothing with the others says which of them excludes it. */
static void test_excluded(void)
{
    struct task_config config = corpus_config();
    const char *wanted = NULL;
    CHECK_TEXT(task_excluding_key(&config, "translation_vocab_size", &wanted), "translation_tokenizer");
    CHECK_TEXT(wanted, "translation_tokenizer sentencepiece");
    CHECK(task_excluding_key(&config, "translation_min_frequency", &wanted) == NULL);
    CHECK_TEXT(task_excluding_key(&config, "index_letters", &wanted), "task");
    CHECK(task_excluding_key(&config, "hidden_size", &wanted) == NULL);
    set_text(&config, "translation_tokenizer", "sentencepiece");
    CHECK(task_excluding_key(&config, "translation_vocab_size", &wanted) == NULL);
    CHECK(task_excluding_key(&config, "translation_model_type", &wanted) == NULL);
    CHECK_TEXT(task_excluding_key(&config, "translation_min_frequency", &wanted), "translation_tokenizer");
}

/* Without a folder the corpus is synthetic, in both directions, and a run's settings say how much of it. */
static void test_synthetic(void)
{
    struct task_config config = config_of(TASK_TRANSLATION);
    config.sequence_length = 32;
    set_option(&config, "translation_pairs", 300);
    set_option(&config, "translation_held_out", 20);
    struct task *task = task_of(&config);
    CHECK_INT(task_examples(task, TASK_TRAINING), 300);
    CHECK_INT(task_examples(task, TASK_VALIDATION), 20);
    CHECK_INT(task_examples(task, TASK_TEST), 20);
    set_text(&config, "translation_source", "en");
    set_text(&config, "translation_target", "de");
    struct task *back = task_of(&config);
    for (int64_t i = 0; i < 300; i++)
        CHECK_TEXT(task_example(back, TASK_TRAINING, i).reference.bytes,
                   task_example(task, TASK_TRAINING, i).text.bytes);
    task_destroy(task);
    task_destroy(back);
    const char *wanted;
    CHECK_TEXT(task_excluding_key(&config, "translation_test", &wanted), "translation_data");
    CHECK(task_excluding_key(&config, "translation_pairs", &wanted) == NULL);
    set_text(&config, "translation_target", "fr");
    rotary_error error = {0};
    CHECK_INT(task_create(&task, &config, NULL, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "translation_source is en|translation_target is fr|wanted de and en");
    set_text(&config, "translation_data", "somewhere");
    CHECK_TEXT(task_excluding_key(&config, "translation_pairs", &wanted), "translation_data");
}

static void check_refused(rotary_status wanted, const char *words)
{
    const struct task_config config = corpus_config();
    struct task *task = NULL;
    rotary_error error = {0};
    CHECK_INT(task_create(&task, &config, NULL, &error), wanted);
    CHECK_WORDS(error.message, words);
    CHECK(task == NULL);
    write_corpus();
}

static void test_refused(void)
{
    scratch_remove(scratch_path("val.en"));
    check_refused(ROTARY_IO_ERROR, "val.en");
    scratch_write_text("val.en", "one\n");
    check_refused(ROTARY_BAD_FILE, "val.de has 2 lines|val.en 1");
    scratch_write_text("train.en", "the\nthe\n\xff\nthe\nthe\nthe\n");
    check_refused(ROTARY_BAD_FILE, "train.en|line 3");
    scratch_write_text("train.de", "\n\n\n\n\n\n");
    check_refused(ROTARY_BAD_FILE, "train.de|6 lines|6 are empty|0 have more");
    scratch_write_text("test.de", "");
    scratch_write_text("test.en", "");
    check_refused(ROTARY_BAD_FILE, "test.de|no pair for test");
}

int main(void)
{
    write_corpus();
    test_examples();
    test_shared();
    test_lowercase();
    test_saved();
    test_pieces();
    test_excluded();
    test_synthetic();
    test_refused();
    return check_report();
}
