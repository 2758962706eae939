/* SPDX-License-Identifier: Apache-2.0
 *
 * The task classification: sequences, targets and token types, what is cut off, synthetic texts,
 * settings that do nothing, and what is wrong with files.
 */
#include "support/scratch.h"
#include "task/classification/classification.h"
#include "task/text.h"
#include "task/text/synthetic_sentences.h"

#include <math.h>

enum { TIME = 16, MAX_WORDS = 40 };

static struct task_config files_config(void)
{
    struct task_config config = config_of(TASK_CLASSIFICATION);
    config.sequence_length = TIME;
    set_text(&config, "classification_data", scratch_folder());
    set_text(&config, "classification_train", "train.csv");
    set_text(&config, "classification_validation", "dev.csv");
    set_text(&config, "classification_text", "a");
    set_option(&config, "classification_min_frequency", 1);
    return config;
}

/* ---- sequences ---- */

struct reading {
    int32_t tokens[TIME], segments[TIME], class;
    float value;
    int64_t count;
};

static struct reading read_example(const struct task *task, enum task_split split, int64_t index)
{
    const struct task_place place = {.split = split, .index = index};
    struct reading reading = {.count = task_example(task, split, index).target_count, .value = 77};
    CHECK(reading.count >= 2 && reading.count <= TIME);
    memset(reading.segments, 0x55, sizeof reading.segments);
    task_fill(task, &place,
              &(struct task_row){.tokens = reading.tokens,
                                 .classes = &reading.class,
                                 .segments = task_shape(task).segments ? reading.segments : NULL,
                                 .value = task_shape(task).values ? &reading.value : NULL});
    return reading;
}

/* "<s> the words </s>", as the names of all tokens. */
static const char *names_of(const struct task *task, const struct reading *reading, char text[1024])
{
    text[0] = '\0';
    for (int64_t i = 0; i < reading->count; i++) {
        const struct token_text name = tokenizer_text(task_tokenizer(task), reading->tokens[i]);
        sprintf(text + strlen(text), "%s%.*s", i > 0 ? " " : "", (int)name.count, name.bytes);
    }
    return text;
}

static void check_example(const struct task *task, enum task_split split, int64_t index, const char *names,
                          int32_t class)
{
    char text[1024];
    const struct reading reading = read_example(task, split, index);
    CHECK_TEXT(names_of(task, &reading, text), names);
    CHECK_INT(reading.class, class);
}

static void test_single(void)
{
    struct task_config config = files_config();
    scratch_write_text("train.csv",
                       "a,label\none two,no\n\"three, one\",yes\n,no\n"
                       "one one one one one one one one one one one one one one one one one one,yes\n");
    scratch_write_text("dev.csv", "label,a\nyes,two four\n");
    struct task *task = task_of(&config);
    CHECK(!task_has_problems(task) && task_wants_encoder(task) && task_source_tokenizer(task) == NULL);
    CHECK(!task_shape(task).segments && !task_shape(task).values && task_shape(task).labels);
    const struct task_labels labels = task_labels(task);
    CHECK_INT(labels.classes, 2);
    CHECK(!labels.regression);
    CHECK_TEXT(labels.names[0].bytes, "no");
    CHECK_TEXT(labels.names[1].bytes, "yes");
    CHECK_INT(task_vocabulary(task).target, 4 + 4); /* special tokens; one two three and the comma */
    CHECK_INT(task_examples(task, TASK_TRAINING), 4);
    CHECK_INT(task_examples(task, TASK_VALIDATION), 1);
    CHECK_INT(task_examples(task, TASK_TEST), 0);
    check_example(task, TASK_TRAINING, 0, "<s> one two </s>", 0);
    check_example(task, TASK_TRAINING, 1, "<s> three , one </s>", 1);
    check_example(task, TASK_TRAINING, 2, "<s> </s>", 0);
    check_example(task, TASK_TRAINING, 3, "<s> one one one one one one one one one one one one one one </s>",
                  1);
    check_example(task, TASK_VALIDATION, 0, "<s> two <unk> </s>", 1);
    const struct task_counts counts = task_counts(task, TASK_TRAINING);
    CHECK_INT(counts.pairs, 4);
    CHECK_INT(counts.empty, 1);
    CHECK_INT(counts.too_long, 1);
    CHECK_INT(counts.longest_target, TIME);
    CHECK_INT(counts.target_tokens, 4 + 5 + 2 + 16);
    task_destroy(task);
}

/* The second text and its end are of type 1, the rest of type 0. */
static void test_pair(void)
{
    struct task_config config = files_config();
    set_text(&config, "classification_pair", "b");
    scratch_write_text("train.csv", "label,a,b\n0,one two,three\n1,,one\n0,one,\n2,"
                                    "a a a a a a a a a,b b b b b b b\n");
    scratch_write_text("dev.csv", "label,a,b\n2,one,one\n");
    struct task *task = task_of(&config);
    CHECK(task_shape(task).segments && !task_shape(task).values);
    CHECK_INT(task_labels(task).classes, 3);
    check_example(task, TASK_TRAINING, 0, "<s> one two </s> three </s>", 0);
    check_example(task, TASK_TRAINING, 1, "<s> </s> one </s>", 1);
    check_example(task, TASK_TRAINING, 2, "<s> one </s> </s>", 0);
    check_example(task, TASK_TRAINING, 3, "<s> a a a a a a a </s> b b b b b b </s>", 2);
    check_example(task, TASK_VALIDATION, 0, "<s> one </s> one </s>", 2);
    const struct reading reading = read_example(task, TASK_TRAINING, 0);
    static const int32_t types[] = {0, 0, 0, 0, 1, 1};
    for (int i = 0; i < 6; i++)
        CHECK_INT(reading.segments[i], types[i]);
    CHECK_INT(task_counts(task, TASK_TRAINING).empty, 2);
    task_destroy(task);
}

static void test_regression(void)
{
    struct task_config config = files_config();
    set_text(&config, "classification_regression", "true");
    scratch_write_text("train.csv", "label,a\n2.5,one two\n-1e2,three\n");
    scratch_write_text("dev.csv", "label,a\n7,one\n");
    struct task *task = task_of(&config);
    CHECK(task_shape(task).values && !task_shape(task).segments);
    CHECK(task_labels(task).regression && task_labels(task).classes == 0);
    check_example(task, TASK_TRAINING, 1, "<s> three </s>", 0);
    CHECK(read_example(task, TASK_TRAINING, 0).value == 2.5F);
    CHECK(read_example(task, TASK_TRAINING, 1).value == -100);
    CHECK(read_example(task, TASK_VALIDATION, 0).value == 7);
    task_destroy(task);
}

/* Against the loop of BERT: as long as there are too many, the longer text loses its last token, of equally
 * long ones the second. */
static void test_cut(void)
{
    for (int64_t first = 0; first < 30; first++)
        for (int64_t second = 0; second < 30; second++)
            for (int64_t room = 0; room < 40; room += 3) {
                struct pair_lengths wanted = {first, second};
                while (wanted.first + wanted.second > room)
                    if (wanted.first > wanted.second)
                        wanted.first--;
                    else
                        wanted.second--;
                const struct pair_lengths got =
                    classification_cut((struct pair_lengths){first, second}, room);
                CHECK(got.first == wanted.first && got.second == wanted.second);
            }
}

/* ---- synthetic texts ---- */

static int split_words(char *text, char *words[MAX_WORDS])
{
    int count = 0;
    for (char *word = strtok(text, " "); word && count < MAX_WORDS; word = strtok(NULL, " "))
        words[count++] = word;
    return count;
}

/* The number of words from the first that differs to the last, if they are those of the sentence in reverse
 * order; -1 if they are not. */
static int reversed_words(const char *text, const char *sentence)
{
    char first[SENTENCE_BYTES], second[SENTENCE_BYTES], *a[MAX_WORDS], *b[MAX_WORDS];
    snprintf(first, sizeof first, "%s", text);
    snprintf(second, sizeof second, "%s", sentence);
    const int count = split_words(first, a);
    int begin = 0, end = split_words(second, b);
    while (begin < end && strcmp(a[begin], b[begin]) == 0)
        begin++;
    while (begin < end && strcmp(a[end - 1], b[end - 1]) == 0)
        end--;
    for (int i = begin; i < end; i++)
        if (strcmp(a[i], b[begin + end - 1 - i]) != 0)
            return -1;
    return begin > 0 && end < count ? end - begin : begin == end ? 0 : -1;
}

static void test_synthetic(void)
{
    enum { MADE = 600 };
    struct task_config config = config_of(TASK_CLASSIFICATION);
    set_option(&config, "classification_examples", MADE);
    set_option(&config, "classification_held_out", MADE / 4);
    struct labelled_corpus *corpus = malloc(sizeof *corpus);
    enum label_score score;
    if (!corpus ||
        !CHECK_INT(classification_corpus(corpus, &score, classification_options(&config), NULL), ROTARY_OK))
        exit(1);
    CHECK_INT(score, LABEL_ACCURACY);
    CHECK_INT(corpus->classes, 2);
    CHECK_TEXT(corpus->names[0].bytes, "in order");
    CHECK_TEXT(corpus->names[1].bytes, "reversed");
    int64_t labelled = 0, long_runs = 0;
    for (int split = 0; split < TASK_SPLITS; split++) {
        CHECK_INT(corpus->counts[split], split == TASK_TRAINING ? MADE : MADE / 4);
        for (int64_t i = 0; i < corpus->counts[split]; i++) {
            const struct labelled_example *example = &corpus->examples[split][i];
            struct sentence german, english;
            synthetic_pair((enum task_split)split, i, &german, &english);
            check_about("%s", example->first.bytes);
            const int reversed = reversed_words(example->first.bytes, english.text);
            CHECK(example->class == 1 ? reversed >= 2 : reversed == 0);
            long_runs += reversed >= 4;
            labelled += example->class;
        }
    }
    check_about("%s", "");
    CHECK_NEAR((double)labelled, 0.5 * 1050, 5 * 0.5 * sqrt(1050)); /* few have no words to reverse */
    CHECK(4 * long_runs > 3 * labelled);
    CHECK(labelled_corpus_hash(corpus, TASK_VALIDATION) != labelled_corpus_hash(corpus, TASK_TEST));
    labelled_corpus_free(corpus);
    free(corpus);
}

/* ---- settings and files ---- */

static void check_excluded(const struct task_config *config, const char *key, const char *other)
{
    const char *wanted = NULL, *found = task_excluding_key(config, key, &wanted);
    check_about("%s", key);
    CHECK_TEXT(found ? found : "", other);
    check_about("%s", "");
}

static void test_settings(void)
{
    struct task_config made = config_of(TASK_CLASSIFICATION), files = files_config(), glue = files_config();
    set_text(&glue, "classification_dataset", "rte");
    set_text(&glue, "classification_split", "sentences");
    set_text(&glue, "classification_tokenizer", "sentencepiece");
    check_excluded(&made, "classification_examples", "");
    check_excluded(&made, "classification_dataset", "classification_data");
    check_excluded(&made, "classification_text", "classification_data");
    check_excluded(&made, "classification_held_out_share", "classification_data");
    check_excluded(&files, "classification_examples", "classification_data");
    check_excluded(&files, "classification_text", "");
    check_excluded(&files, "classification_held_out_share", "classification_split");
    check_excluded(&files, "classification_vocab_size", "classification_tokenizer");
    check_excluded(&files, "classification_min_frequency", "");
    check_excluded(&glue, "classification_text", "classification_dataset");
    check_excluded(&glue, "classification_held_out_share", "");
    check_excluded(&glue, "classification_vocab_size", "");
    check_excluded(&glue, "classification_min_frequency", "classification_tokenizer");
    check_excluded(&glue, "masked_data", "task");
    CHECK(task_is_location("classification_data"));
}

/* A header and quotes around fields are of tables that are no records. */
static void test_records_excluded(void)
{
    static const char header[] = "classification_header", quoting[] = "classification_quoting";
    struct task_config config = files_config();
    check_excluded(&config, header, "");
    check_excluded(&config, quoting, "");
    set_text(&config, "classification_train", "train.jsonl");
    check_excluded(&config, header, "");
    set_text(&config, "classification_validation", "dev.ndjson");
    check_excluded(&config, header, "classification_train");
    check_excluded(&config, quoting, "classification_train");
    check_excluded(&config, "classification_text", "");
    check_excluded(&config, "classification_format", "");
    set_text(&config, "classification_test", "test.data");
    check_excluded(&config, header, "");
    set_text(&config, "classification_format", "jsonl");
    check_excluded(&config, header, "classification_format");
    check_excluded(&config, quoting, "classification_format");
    set_text(&config, "classification_test", "");
    set_text(&config, "classification_format", "csv");
    check_excluded(&config, header, "");
    set_text(&config, "classification_format", "auto");
    set_text(&config, "classification_dataset", "rte");
    check_excluded(&config, header, "classification_dataset");
}

static void refuse(const struct task_config *config, const char *words)
{
    struct task *task = NULL;
    rotary_error error = {0};
    check_about("%s", words);
    CHECK(task_create(&task, config, NULL, &error) != ROTARY_OK);
    CHECK_WORDS(error.message, words);
    check_about("%s", "");
}

static void test_refused(void)
{
    struct task_config config = files_config();
    scratch_write_text("train.csv", "label,a\n0,one two\n1,three\n");
    scratch_write_text("dev.csv", "label,a\n1,one\n2,two\n");
    refuse(&config, "dev.csv, line 3, column 1 (label): |the label is \"2\", wanted \"0\" or \"1\"");
    scratch_write_text("dev.csv", "label,a\n1,one\n");
    set_text(&config, "classification_label", "");
    refuse(&config, "classification_label is empty");
    config = files_config();
    set_text(&config, "classification_text", "b");
    refuse(&config, "train.csv, line 1: |no column \"b\", wanted one of \"label\", \"a\"");
    config = files_config();
    set_text(&config, "classification_score", "spearman");
    refuse(&config, "classification_score is spearman|accuracy, f1, macro_f1 or matthews");
    set_text(&config, "classification_regression", "true");
    set_text(&config, "classification_score", "f1");
    refuse(&config, "classification_score is f1|pearson or spearman");
    config = files_config();
    set_text(&config, "classification_tokenizer", "file");
    refuse(&config, "classification_vocabulary is empty");
    config = files_config();
    set_text(&config, "classification_dataset", "mnli");
    refuse(&config, "no training text of mnli: wanted a file train.tsv");
    config = files_config();
    scratch_write_text("train.csv", "label,a\n0,one two\n1,three\n2,four\n");
    set_text(&config, "classification_score", "f1");
    refuse(&config, "f1, which is of two classes, and there are 3");
}

static void test_hash(void)
{
    struct task_config config = files_config();
    uint64_t first = 0, second = 0, test = 1;
    scratch_write_text("train.csv", "label,a\n0,one two\n1,three\n");
    scratch_write_text("dev.csv", "label,a\n1,one\n");
    CHECK_INT(task_text_hash(&config, TASK_TRAINING, &first, NULL), ROTARY_OK);
    CHECK_INT(task_text_hash(&config, TASK_TEST, &test, NULL), ROTARY_OK);
    scratch_write_text("train.csv", "label,a\n1,one two\n0,three\n");
    CHECK_INT(task_text_hash(&config, TASK_TRAINING, &second, NULL), ROTARY_OK);
    CHECK(first != 0 && second != 0 && first != second && test == 0);
}

int main(void)
{
    test_single();
    test_pair();
    test_regression();
    test_cut();
    test_synthetic();
    test_settings();
    test_records_excluded();
    test_refused();
    test_hash();
    return check_report();
}
