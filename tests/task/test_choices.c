/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts with choices: their sequences, the order of the choices where the first is right, splits by document,
 * settings that do nothing, and what is wrong with files.
 */
#include "support/scratch.h"
#include "task/classification/classification.h"
#include "task/text.h"

#include <math.h>

enum { TIME = 12, CHOICES = 3, ROWS = 2000, LINE_BYTES = 64 };

static struct task_config files_config(void)
{
    struct task_config config = config_of(TASK_CLASSIFICATION);
    config.sequence_length = TIME;
    set_text(&config, "classification_data", scratch_folder());
    set_text(&config, "classification_text", "a");
    set_text(&config, "classification_choices", "b,c");
    set_text(&config, "classification_label", "");
    set_option(&config, "classification_min_frequency", 1);
    return config;
}

/* ---- sequences ---- */

static const char *names_of(const struct task *task, const int32_t *tokens, int64_t count, char *text)
{
    text[0] = '\0';
    for (int64_t i = 0; i < count; i++) {
        const struct token_text name = tokenizer_text(task_tokenizer(task), tokens[i]);
        sprintf(text + strlen(text), "%s%.*s", i > 0 ? " " : "", (int)name.count, name.bytes);
    }
    return text;
}

/* Three choices with a label: a sequence for each, of which every one is cut by itself. */
static void test_sequences(void)
{
    struct task_config config = files_config();
    int32_t tokens[CHOICES * TIME], segments[CHOICES * TIME], class = -1;
    char text[1024];
    set_text(&config, "classification_choices", "b,c,d");
    set_text(&config, "classification_label", "right");
    scratch_write_text("train.tsv", "a\tb\tc\td\tright\nx y\tu\tv w\t\tB\nx\tu\tv\tw\tC\nx\tu\tv\tw\tA\n");
    scratch_write_text("dev.tsv", "a\tb\tc\td\tright\nx x x x x x x x\tu u u u u\tv\tu u u u u u\tC\n");
    struct task *task = task_of(&config);
    CHECK_INT(task_choices(&config), CHOICES);
    CHECK_INT(task_shape(task).choices, CHOICES);
    CHECK_INT(task_shape(task).time, CHOICES * TIME);
    CHECK(task_shape(task).segments && task_shape(task).labels && !task_shape(task).values);
    CHECK_INT(task_labels(task).classes, CHOICES);
    CHECK_TEXT(task_labels(task).names[1].bytes, "B");
    CHECK_INT(task_examples(task, TASK_TRAINING), 3);
    const struct task_example example = task_example(task, TASK_TRAINING, 0);
    static const int64_t starts[] = {0, 6, 13, 18};
    CHECK_INT(example.target_count, starts[CHOICES]);
    for (int i = 0; i <= CHOICES; i++)
        CHECK_INT(example.starts[i] - example.starts[0], starts[i]);
    task_fill(task, &(struct task_place){.split = TASK_TRAINING},
              &(struct task_row){.tokens = tokens, .classes = &class, .segments = segments});
    CHECK_TEXT(names_of(task, tokens, example.target_count, text),
               "<s> x y </s> u </s> <s> x y </s> v w </s> <s> x y </s> </s>");
    CHECK_INT(class, 1);
    static const int32_t types[] = {0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1};
    for (int i = 0; i < 18; i++)
        CHECK_INT(segments[i], types[i]);
    const int64_t length = task_example(task, TASK_VALIDATION, 0).target_count;
    task_fill(task, &(struct task_place){.split = TASK_VALIDATION},
              &(struct task_row){.tokens = tokens, .classes = &class, .segments = segments});
    CHECK_TEXT(names_of(task, tokens, length, text),
               "<s> x x x x x </s> u u u u </s> <s> x x x x x x x x </s> v </s> "
               "<s> x x x x x </s> u u u u </s>");
    CHECK_INT(class, 2);
    static const int begin_of_second[] = {0, 7, 12, 22, 24, 31, 36}; /* and of the next first */
    for (int i = 0; i < length; i++) {
        int firsts = 0;
        for (int j = 1; j < 7; j++)
            firsts += i >= begin_of_second[j];
        CHECK_INT(segments[i], firsts % 2);
    }
    CHECK_INT(task_counts(task, TASK_VALIDATION).too_long, 2);
    task_destroy(task);
}

/* ---- the order of choices ---- */

/* Rows whose right choice is `right`, else `wrong`, which name the row or a few documents. */
static void write_rows(const char *name, bool swapped)
{
    FILE *file = fopen(scratch_path(name), "w");
    if (!file)
        exit(1);
    fprintf(file, "a\tb\tc\n");
    for (int i = 0; i < ROWS; i++) {
        char right[LINE_BYTES], wrong[LINE_BYTES];
        snprintf(right, sizeof right, "document %d", i % 7);
        snprintf(wrong, sizeof wrong, "document %d", 7 + i % 11);
        fprintf(file, "text %d\t%s\t%s\n", i, swapped ? wrong : right, swapped ? right : wrong);
    }
    fclose(file);
}

static void read_corpus(struct labelled_corpus *corpus)
{
    const struct task_config config = files_config();
    enum label_score score;
    rotary_error error = {0};
    CHECK_TEXT(classification_corpus(corpus, &score, classification_options(&config), &error) ? error.message
                                                                                              : "",
               "");
    CHECK_INT(score, LABEL_ACCURACY);
}

/* The text alone says in which order its choices are, whichever of them is right: so neither always saying
 * the first, nor the place of a document, nor anything else of the order helps. */
static void test_order(void)
{
    static struct labelled_corpus given, swapped;
    int64_t firsts = 0, of_document[18] = {0}, seen[18] = {0};
    write_rows("train.tsv", false);
    write_rows("dev.tsv", false);
    read_corpus(&given);
    write_rows("train.tsv", true);
    read_corpus(&swapped);
    CHECK_INT(given.classes, 2);
    CHECK_TEXT(given.names[0].bytes, "1");
    for (int64_t i = 0; i < ROWS; i++) {
        const struct labelled_example *one = &given.examples[TASK_TRAINING][i],
                                      *other = &swapped.examples[TASK_TRAINING][i];
        const int document = atoi(strchr(one->choices[one->class].bytes, ' '));
        firsts += one->class == 0;
        of_document[document] += one->class == 0;
        seen[document]++;
        CHECK(document == i % 7);
        CHECK_TEXT(one->choices[0].bytes, other->choices[0].bytes);
        CHECK_TEXT(one->choices[1].bytes, other->choices[1].bytes);
        CHECK_INT(one->class, 1 - other->class);
    }
    CHECK_NEAR((double)firsts, ROWS / 2.0, 5 * 0.5 * sqrt(ROWS));
    for (int i = 0; i < 7; i++)
        CHECK_NEAR((double)of_document[i], (double)seen[i] / 2, 5 * 0.5 * sqrt((double)seen[i]));
    CHECK(labelled_corpus_hash(&given, TASK_TRAINING) != labelled_corpus_hash(&swapped, TASK_TRAINING));
    labelled_corpus_free(&given);
    labelled_corpus_free(&swapped);
}

/* Of equal choices either is right, and the first as often as not. */
static void test_equal(void)
{
    static struct labelled_corpus corpus;
    FILE *file = fopen(scratch_path("train.tsv"), "w");
    int64_t firsts = 0;
    for (int i = -1; file && i < 200; i++)
        fprintf(file, i < 0 ? "a\tb\tc\n" : "text %d\tsame\tsame\n", i);
    if (file)
        fclose(file);
    read_corpus(&corpus);
    for (int64_t i = 0; i < 200; i++)
        firsts += corpus.examples[TASK_TRAINING][i].class == 0;
    CHECK_NEAR((double)firsts, 100, 36);
    labelled_corpus_free(&corpus);
}

/* ---- datasets and splits ---- */

/* CAIL2019-SCM: one file without a header, split anew. No text of validation or test is in training. */
static void test_scm(void)
{
    struct task_config config = config_of(TASK_CLASSIFICATION);
    FILE *file = fopen(scratch_path("triplets.tsv"), "w");
    for (int i = 0; file && i < 300; i++)
        fprintf(file, "d%d\td%d\td%d\n", i % 90, (i * 7 + 1) % 90 + 90, (i * i + i / 90) % 90 + 180);
    if (file)
        fclose(file);
    config.sequence_length = TIME;
    set_text(&config, "classification_data", scratch_folder());
    set_text(&config, "classification_dataset", "scm");
    set_text(&config, "classification_split", "sentences");
    set_option(&config, "classification_min_frequency", 1);
    struct task *task = task_of(&config);
    const struct labelled_corpus *corpus = task_labelled(task);
    CHECK_INT(task_choices(&config), 2);
    CHECK(task_examples(task, TASK_VALIDATION) >= 38 && task_examples(task, TASK_TEST) >= 38);
    CHECK(task_examples(task, TASK_TRAINING) > 0 && corpus->left_out > 0);
    for (int split = TASK_VALIDATION; split < TASK_SPLITS; split++) {
        int64_t leaks = -1;
        CHECK_INT(labelled_corpus_leaks(corpus, (enum task_split)split, &leaks, NULL), ROTARY_OK);
        CHECK_INT(leaks, 0);
    }
    for (int64_t i = 0; i < corpus->counts[TASK_TRAINING]; i++) { /* what was right is still */
        const struct labelled_example *example = &corpus->examples[TASK_TRAINING][i];
        const int right = atoi(example->choices[example->class].bytes + 1);
        CHECK(right >= 90 && right < 180);
    }
    task_destroy(task);
    scratch_remove(scratch_path("triplets.tsv"));
}

/* ---- settings and files ---- */

static void check_excluded(const struct task_config *config, const char *key, const char *other)
{
    const char *wanted = NULL, *found = task_excluding_key(config, key, &wanted);
    check_about("%s", key);
    CHECK_TEXT(found ? found : "", other);
    check_about("%s", "");
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

static void test_settings(void)
{
    struct task_config config = files_config(), made = config_of(TASK_CLASSIFICATION);
    check_excluded(&config, "classification_pair", "classification_choices");
    check_excluded(&config, "classification_regression", "classification_choices");
    check_excluded(&config, "classification_choices", "");
    check_excluded(&made, "classification_choices", "classification_data");
    CHECK_INT(task_choices(&made), 0);
    scratch_write_text("train.tsv", "a\tb\tc\tlabel\nx\tu\tv\tB\ny\tu\tv\tB\n");
    scratch_write_text("dev.tsv", "a\tb\tc\tlabel\nx\tu\tv\tB\n");
    set_text(&config, "classification_choices", "b");
    refuse(&config, "classification_choices is \"b\": wanted 2 to 6 columns, separated by commas");
    set_text(&config, "classification_choices", "b,,c");
    refuse(&config, "classification_choices is \"b,,c\"");
    set_text(&config, "classification_choices", "b,d");
    refuse(&config, "train.tsv, line 1: |no column \"d\"");
    set_text(&config, "classification_choices", "b,c");
    set_text(&config, "classification_label", "label");
    refuse(&config, "train.tsv has 1 labels, wanted 2, one for each choice");
    set_text(&config, "classification_label", "");
    set_text(&config, "classification_score", "spearman");
    refuse(&config, "classification_score is spearman");
}

int main(void)
{
    test_sequences();
    test_order();
    test_equal();
    test_scm();
    test_settings();
    scratch_remove(scratch_path("train.tsv"));
    scratch_remove(scratch_path("dev.tsv"));
    return check_report();
}
