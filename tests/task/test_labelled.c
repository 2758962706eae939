/* SPDX-License-Identifier: Apache-2.0
 *
 * Labelled corpora: each format of GLUE in files as it has them, classes and numbers, fresh splits, and the
 * messages about what is not as it should be.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "task/classification/labelled_corpus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOINED_BYTES = 2048 };

static void remove_files(const struct labelled_format *format)
{
    for (int split = 0; split < TASK_SPLITS; split++)
        if (format->files[split])
            scratch_remove(scratch_path(format->files[split]));
}

/* "first|second|class or value;" of every example of a split. */
static void join_split(const struct labelled_corpus *corpus, enum task_split split, char joined[JOINED_BYTES])
{
    size_t used = 0;
    joined[0] = '\0';
    for (int64_t i = 0; i < corpus->counts[split]; i++) {
        const struct labelled_example *example = &corpus->examples[split][i];
        used += (size_t)snprintf(joined + used, JOINED_BYTES - used, "%s|%s|", example->first.bytes,
                                 example->second.bytes ? example->second.bytes : "");
        if (corpus->classes > 0)
            used += (size_t)snprintf(joined + used, JOINED_BYTES - used, "%d;", (int)example->class);
        else
            used += (size_t)snprintf(joined + used, JOINED_BYTES - used, "%g;", example->value);
    }
}

/* ---- formats ---- */

/* Files with the headers and the columns that GLUE has; fields that are not read are short. */
struct dataset_case {
    enum labelled_dataset dataset;
    const char *files[TASK_SPLITS], *texts[TASK_SPLITS];
    const char *wanted[TASK_SPLITS]; /* as join_split */
    const char *classes;             /* each with '|' behind */
    enum label_score score;
};

static const struct dataset_case datasets[] = {
    {DATASET_COLA,
     {"train.tsv", "dev.tsv"},
     {"gj04\t1\t\tThey said \"no.\ngj04\t0\t*\tMe likes it.\n", "cj99\t0\t??\tOne, two.\n"},
     {"They said \"no.||1;Me likes it.||0;", "One, two.||0;", ""},
     "0|1|",
     LABEL_MATTHEWS},
    {DATASET_COLA,
     {"in_domain_train.tsv", "in_domain_dev.tsv", "out_of_domain_dev.tsv"},
     {"gj04\t1\t\tOne.\ngj04\t0\t*\tTwo.\n", "gj04\t1\t\tThree.\n", "w_80\t0\t*\tFour.\n"},
     {"One.||1;Two.||0;", "Three.||1;", "Four.||0;"},
     "0|1|",
     LABEL_MATTHEWS},
    {DATASET_SST2,
     {"train.tsv", "dev.tsv"},
     {"sentence\tlabel\nwell-made \t1\n`` bad '' \t0\n", "sentence\tlabel\nso so \t0\n"},
     {"well-made ||1;`` bad '' ||0;", "so so ||0;", ""},
     "0|1|",
     LABEL_ACCURACY},
    {DATASET_MRPC,
     {"train.tsv", "dev.tsv"},
     {"\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t#1 String\t#2 "
      "String\n1\t10\t11\t\"He left\", she said.\tHe left.\n"
      "0\t12\t13\t\"Yes.\tNo.\"\n",
      "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t1\t2\tA.\tB.\n"},
     {"\"He left\", she said.|He left.|1;\"Yes.|No.\"|0;", "A.|B.|0;", ""},
     "0|1|",
     LABEL_F1},
    {DATASET_STSB,
     {"train.tsv", "dev.tsv"},
     {"index\tgenre\tfilename\tyear\told_"
      "index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
      "0\tmain-captions\tMSRvid\t2012test\t0001\tnone\tnone\tA plane.\tA "
      "jet.\t4.750\n",
      "index\tgenre\tfilename\tyear\told_"
      "index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
      "0\tmain-news\theadlines\t2016\t7\tnone\tnone\tUp.\tDown.\t0.000\n"},
     {"A plane.|A jet.|4.75;", "Up.|Down.|0;", ""},
     "",
     LABEL_SPEARMAN},
    {DATASET_STSB,
     {"sts-train.tsv", "sts-dev.tsv", "sts-test.tsv"},
     {"main-captions\tMSRvid\t2012test\t0001\t5.000\tA plane.\tA jet.\n"
      "main-forum\tanswers\t2015\t2\t1.25\tA.\tB.\tLICENSE\tMORE\n",
      "main-news\tMSRpar\t2012test\t3\t3\tC.\tD.\n", "main-news\tMSRpar\t2012test\t4\t1e0\tE.\tF.\n"},
     {"A plane.|A jet.|5;A.|B.|1.25;", "C.|D.|3;", "E.|F.|1;"},
     "",
     LABEL_SPEARMAN},
    {DATASET_RTE,
     {"train.tsv", "dev.tsv"},
     {"index\tsentence1\tsentence2\tlabel\n0\tIt rains.\tIt is "
      "wet.\tentailment\n1\tA.\tB.\tnot_entailment\n",
      "index\tsentence1\tsentence2\tlabel\n0\tC.\tD.\tnot_entailment\n"},
     {"It rains.|It is wet.|0;A.|B.|1;", "C.|D.|1;", ""},
     "entailment|not_entailment|",
     LABEL_ACCURACY},
    {DATASET_QNLI,
     {"train.tsv", "dev.tsv"},
     {"index\tquestion\tsentence\tlabel\n0\tWho?\tNobody.\tnot_"
      "entailment\n1\tWhen?\tIn May.\tentailment\n",
      "index\tquestion\tsentence\tlabel\n0\tWhere?\tHere.\tentailment\n"},
     {"Who?|Nobody.|1;When?|In May.|0;", "Where?|Here.|0;", ""},
     "entailment|not_entailment|",
     LABEL_ACCURACY},
    {DATASET_QQP,
     {"train.tsv", "dev.tsv"},
     {"id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n133\t2\t3\tWhy?"
      "\tHow so?\t1\n134\t4\t5\tA?\tB?\t0\n",
      "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n201\t8\t9\tC?\tD?"
      "\t0\n"},
     {"Why?|How so?|1;A?|B?|0;", "C?|D?|0;", ""},
     "0|1|",
     LABEL_F1},
    {DATASET_MNLI,
     {"train.tsv", "dev_matched.tsv", "dev_mismatched.tsv"},
     {"index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_"
      "binary_parse\tsentence1_parse\t"
      "sentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label\n"
      "0\t1\t1n\tfiction\t( A )\t( B )\t(R A)\t(R "
      "B)\tA.\tB.\tneutral\tneutral\n"
      "1\t2\t2e\tfiction\t( C )\t( D )\t(R C)\t(R "
      "D)\tC.\tD.\tentailment\tentailment\n"
      "2\t3\t3c\tfiction\t( E )\t( F )\t(R E)\t(R "
      "F)\tE.\tF.\tcontradiction\tcontradiction\n",
      "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_"
      "binary_parse\tsentence1_parse\t"
      "sentence2_"
      "parse\tsentence1\tsentence2\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\tgol"
      "d_label\n"
      "0\t1\t1n\tslate\t( A )\t( B )\t(R A)\t(R "
      "B)\tG.\tH.\tneutral\tentailment\tentailment\tneutral\tentailment\t"
      "entailment\n",
      "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_"
      "binary_parse\tsentence1_parse\t"
      "sentence2_"
      "parse\tsentence1\tsentence2\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\tgol"
      "d_label\n"
      "0\t1\t1n\tverbatim\t( A )\t( B )\t(R A)\t(R "
      "B)\tI.\tJ.\tneutral\tneutral\tneutral\tneutral\tneutral\t"
      "neutral\n"},
     {"A.|B.|2;C.|D.|1;E.|F.|0;", "G.|H.|1;", "I.|J.|2;"},
     "contradiction|entailment|neutral|",
     LABEL_ACCURACY},
};

static void test_formats(void)
{
    for (size_t i = 0; i < sizeof datasets / sizeof datasets[0]; i++) {
        const struct dataset_case *one = &datasets[i];
        const struct labelled_format *format = NULL;
        struct labelled_corpus *corpus = malloc(sizeof *corpus);
        rotary_error error = {0};
        char joined[JOINED_BYTES] = "";
        check_about("%s, %s", dataset_names[one->dataset], one->files[0]);
        for (int split = 0; split < TASK_SPLITS; split++)
            if (one->files[split])
                scratch_write_text(one->files[split], one->texts[split]);
        CHECK_TEXT(dataset_find(one->dataset, scratch_folder(), &format, &error) ? error.message : "", "");
        if (!format || !corpus)
            abort();
        const struct labelled_request request = {.folder = scratch_folder(), .format = format};
        if (!CHECK_TEXT(labelled_corpus_read(corpus, &request, &error) ? error.message : "", ""))
            abort();
        for (int class = 0; class < corpus->classes; class ++)
            strcat(strcat(joined, corpus->names[class].bytes), "|");
        CHECK_TEXT(joined, one->classes);
        for (int split = 0; split < TASK_SPLITS; split++) {
            join_split(corpus, (enum task_split)split, joined);
            CHECK_TEXT(joined, one->wanted[split] ? one->wanted[split] : "");
        }
        CHECK_INT(format->score, one->score);
        labelled_corpus_free(corpus);
        free(corpus);
        remove_files(format);
    }
    check_about("%s", "");
}

/* ---- what is not as it should be ---- */

static const struct labelled_format single = {.files = {"train.csv", "dev.csv"},
                                              .format = TABLE_AUTO,
                                              .quoting = TABLE_QUOTING_AUTO,
                                              .header = true,
                                              .first = "text",
                                              .label = "label"};

static void refuse(const char *training, const char *validation, bool regression, double share,
                   const char *words)
{
    struct labelled_format format = single;
    format.regression = regression;
    scratch_write_text("train.csv", training);
    if (validation)
        scratch_write_text("dev.csv", validation);
    const struct labelled_request request = {
        .folder = scratch_folder(), .format = &format, .fresh_share = share};
    static struct labelled_corpus corpus;
    rotary_error error = {0};
    check_about("%s", words);
    CHECK(labelled_corpus_read(&corpus, &request, &error) != ROTARY_OK);
    CHECK_WORDS(error.message, words);
    remove_files(&single);
}

static void test_refused(void)
{
    const char *good = "label,text\n0,a\n1,b\n10,c\n9,d\n";
    refuse(good, "label,text\n1,a\n\n2,b\n", false, 0,
           "dev.csv, line 4, column 1 (label): |the label is \"2\", wanted "
           "\"0\", \"1\", \"9\" or \"10\"");
    refuse(good, "label,text\n01,a\n", false, 0, "dev.csv, line 2, column 1 (label): |the label is \"01\"");
    refuse(good, "label,text\nyes,a\n", false, 0, "dev.csv, line 2, |the label is \"yes\", wanted");
    refuse(good, "label,text\n,a\n", false, 0, "dev.csv, line 2, |the label is \"\", wanted");
    refuse(good, NULL, false, 0, "has no validation text: wanted dev.csv, or a fresh split");
    refuse("label,text\n1,a\n\n,b\n10,c\n", good, false, 0,
           "train.csv, line 4, column 1 (label): the label is \"\", wanted the name of a class");
    refuse("label,text\n1,a\n1,b\n", good, false, 0, "train.csv: all 2 labels are \"1\", wanted two classes");
    refuse("label,text\n1.5,a\nhigh,b\n", good, true, 0,
           "train.csv, line 3, column 1 (label): |\"high\", wanted a number");
    refuse("label,text\nnan,a\n", good, true, 0, "train.csv, line 2, |\"nan\", wanted a number");
    refuse("label,text\n1e999,a\n", good, true, 0, "train.csv, line 2, |\"1e999\", wanted a number");
    refuse("label,text\n0x10,a\n", good, true, 0, "train.csv, line 2, |\"0x10\", wanted a number");
    refuse("label,text\n,a\n", good, true, 0, "train.csv, line 2, |\"\", wanted a number");
    refuse("label,text\n1,a\n2,a b\n", NULL, false, 0.1, "train.csv|too few sentences");
    char *many = malloc(LABELLED_MAX_CLASSES * 16 + 64);
    if (!many)
        abort();
    size_t used = (size_t)sprintf(many, "label,text\n");
    for (int i = 0; i <= LABELLED_MAX_CLASSES; i++)
        used += (size_t)sprintf(many + used, "%d,a\n", i);
    refuse(many, good, false, 0, "train.csv has 1025 labels|\"0\"|at most 1024 classes, or a regression");
    free(many);
    const struct labelled_format *format;
    rotary_error error = {0};
    CHECK_INT(dataset_find(DATASET_MRPC, scratch_folder(), &format, &error), ROTARY_IO_ERROR);
    CHECK_WORDS(error.message, "no training text of mrpc|train.tsv or msr_paraphrase_train.txt");
    check_about("%s", "");
}

/* ---- hashes and fresh splits ---- */

static uint64_t hash_of(const char *training)
{
    static struct labelled_corpus corpus;
    const struct labelled_request request = {.folder = scratch_folder(), .format = &single};
    scratch_write_text("train.csv", training);
    scratch_write_text("dev.csv", "label,text\n0,x\n");
    CHECK_INT(labelled_corpus_read(&corpus, &request, NULL), ROTARY_OK);
    const uint64_t hash = labelled_corpus_hash(&corpus, TASK_TRAINING);
    CHECK(labelled_corpus_hash(&corpus, TASK_TEST) == 0);
    labelled_corpus_free(&corpus);
    remove_files(&single);
    return hash;
}

static void test_hash(void)
{
    const uint64_t hash = hash_of("label,text\n0,a\n1,b\n");
    CHECK(hash == hash_of("text,label\r\na,0\r\nb,1\r\n")); /* other columns are not read */
    CHECK(hash != hash_of("label,text\n1,a\n0,b\n"));
    CHECK(hash != hash_of("label,text\n0,b\n1,a\n"));
    CHECK(hash != hash_of("label,text\n0,a \n1,b\n"));
    CHECK(hash != hash_of("label,text\n0,a\n2,b\n"));
}

/* All files are one text; parts of what is held out are nowhere; labels stay with their texts. */
static void test_fresh(void)
{
    enum { SENTENCES = 200 };
    static struct labelled_corpus corpus;
    char *text = malloc(SENTENCES * 64);
    if (!text)
        abort();
    size_t used = (size_t)sprintf(text, "label,text\n");
    for (int i = 0; i < SENTENCES; i++)
        used += (size_t)sprintf(text + used, "%d,w%d u%d v%d\n%d,u%d v%d\n", i % 2, i, i, i, i % 2, i, i);
    scratch_write_text("train.csv", text);
    scratch_write_text("dev.csv", "label,text\n1,w0 u0\n0,w2 u2 v2\n");
    const struct labelled_request request = {
        .folder = scratch_folder(), .format = &single, .fresh_share = 0.2};
    CHECK_INT(labelled_corpus_read(&corpus, &request, NULL), ROTARY_OK);
    int64_t all = corpus.left_out, leaks;
    for (int split = 0; split < TASK_SPLITS; split++) {
        all += corpus.counts[split];
        CHECK(corpus.counts[split] > SENTENCES / 10);
        for (int64_t i = 0; i < corpus.counts[split]; i++) {
            const struct labelled_example *example = &corpus.examples[split][i];
            const char *number = strchr(example->first.bytes, 'u') + 1;
            if (strchr(example->first.bytes, 'v'))
                CHECK_INT(example->class, atoi(number) % 2);
            if (split != TASK_TRAINING)
                CHECK(example->first.bytes[0] == 'w' && strchr(example->first.bytes, 'v'));
        }
    }
    CHECK_INT(all, 2 * SENTENCES + 2);
    CHECK(corpus.left_out >= corpus.counts[TASK_VALIDATION] + corpus.counts[TASK_TEST]);
    CHECK_INT(labelled_corpus_leaks(&corpus, TASK_VALIDATION, &leaks, NULL), ROTARY_OK);
    CHECK_INT(leaks, 0);
    labelled_corpus_free(&corpus);
    const struct labelled_request files = {.folder = scratch_folder(), .format = &single};
    CHECK_INT(labelled_corpus_read(&corpus, &files, NULL), ROTARY_OK);
    CHECK_INT(labelled_corpus_leaks(&corpus, TASK_VALIDATION, &leaks, NULL), ROTARY_OK);
    CHECK_INT(leaks, 2);
    labelled_corpus_free(&corpus);
    free(text);
    remove_files(&single);
}

int main(void)
{
    test_formats();
    test_refused();
    test_hash();
    test_fresh();
    return check_report();
}
