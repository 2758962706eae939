/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics.jsonl: lines written are read back; later and unfinished lines are truncated.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "file/checksum/line_checksum.h"
#include "train/folder/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void open_at(struct metrics *metrics, const char *folder, int64_t step)
{
    rotary_error error = {0};
    if (!CHECK(metrics_read(metrics, folder, step, &error) == ROTARY_OK) ||
        !CHECK(metrics_open(metrics, &error) == ROTARY_OK))
        printf("%s\n", error.message);
}

static void write_steps(struct metrics *metrics, int64_t first, int64_t last)
{
    static struct evaluation_sample samples[2] = {
        {.problem = {.prompt = "?s='ab\"c'; s[1:]==", .answer = "'b\"c'"},
         .generated = "'b\"c'#",
         .answer = "'b\"c'",
         .correct = true},
        {.problem = {.prompt = "?", .answer = "'c'"}, .generated = "\\\n", .answer = ""},
    };
    for (int64_t step = first; step <= last; step++) {
        struct metrics_line line = {.step = step,
                                    .loss = 1.0 / (double)step,
                                    .learning_rate = 2.5e-4,
                                    .gradient_norm = 1e-30,
                                    .tokens_per_second = 123456.78};
        CHECK(metrics_write_line(metrics, &line, NULL) == ROTARY_OK);
        struct evaluation evaluation = {.correct = step,
                                        .problems = 20,
                                        .loss = 0.25,
                                        .accuracy = 0.5,
                                        .seconds = 1.5,
                                        .sample_count = 2,
                                        .samples = samples};
        if (step % 4 == 0)
            CHECK(metrics_write_evaluation(metrics, step, &evaluation, NULL) == ROTARY_OK);
    }
    CHECK(metrics_sync(metrics, NULL) == ROTARY_OK);
    metrics_close(metrics);
}

static void test_lines(void)
{
    const char *folder = new_folder("lines");
    struct metrics metrics;
    open_at(&metrics, folder, 0);
    CHECK(isnan(metrics.loss));
    CHECK_INT(metrics.evaluated, 0);
    write_steps(&metrics, 3, 4);
    CHECK_NEAR(metrics.loss, 0.25, 0.0);
    CHECK_INT(metrics.evaluated, 4);
    size_t count;
    char *text = read_file(folder, "metrics.jsonl", &count);
    CHECK_TEXT(text,
               "{\"step\":3,\"loss\":0.333333333,\"learning_rate\":0.00025,\"gradient_norm\":1e-30,"
               "\"tokens_per_second\":123456.8,\"checksum\":\"f560fccba873a7a3\"}\n"
               "{\"step\":4,\"loss\":0.25,\"learning_rate\":0.00025,\"gradient_norm\":1e-30,"
               "\"tokens_per_second\":123456.8,\"checksum\":\"a0dcaa6d01b318d7\"}\n"
               "{\"step\":4,\"evaluation\":{\"correct\":4,\"problems\":20,\"loss\":0.25,\"accuracy\":0.5,"
               "\"seconds\":1.5},\"samples\":[{\"prompt\":\"?s='ab\\\"c'; s[1:]==\",\"answer\":\"'b\\\"c'\","
               "\"generated\":\"'b\\\"c'#\",\"correct\":true},{\"prompt\":\"?\",\"answer\":\"'c'\","
               "\"generated\":\"\\\\\\n\",\"correct\":false}],\"checksum\":\"ef5739c59d986b39\"}\n");
    free(text);
}

/* However far a killed process got, resuming from an earlier step ends with the same file. */
static void test_cut(void)
{
    const char *reference = new_folder("whole");
    struct metrics metrics;
    open_at(&metrics, reference, 0);
    write_steps(&metrics, 1, 9);
    size_t count;
    char *text = read_file(reference, "metrics.jsonl", &count);
    const char *folder = new_folder("cut");
    for (int64_t step = 0; step <= 9; step++) {
        /* The shortest file with all lines up to `step`. */
        size_t min = 0, length = 0;
        for (char *line = text; *line; line += length) {
            length = strcspn(line, "\n") + 1;
            long long of = 0;
            sscanf(line, "{\"step\":%lld", &of);
            if (of <= step)
                min = (size_t)(line - text) + length;
        }
        for (size_t written = min; written <= count; written += 29) {
            check_about("step %lld of %zu bytes", (long long)step, written);
            write_file(folder, "metrics.jsonl", text, written);
            open_at(&metrics, folder, step);
            CHECK_INT(metrics.evaluated, step / 4 * 4);
            CHECK_INT(metrics.evaluation.correct, step / 4 * 4);
            if (step > 0)
                CHECK_NEAR(metrics.loss, 1.0 / (double)step, 1e-9);
            write_steps(&metrics, step + 1, 9);
            CHECK(same_file(reference, folder, "metrics.jsonl"));
        }
    }
    check_about("%s", "");
    free(text);
}

static void test_damaged(void)
{
    const char *folder = new_folder("damaged");
#define REST "\"learning_rate\":0.1,\"gradient_norm\":1,\"tokens_per_second\":3.5}\n"
    char good[128] = "{\"step\":2,\"loss\":2.5," REST, last[128] = "{\"step\":3,\"loss\":1.5," REST;
    line_checksum_add(good, strlen(good));
    line_checksum_add(last, strlen(last));
    static const char *const bad[] = {
        "nonsense\n",
        "{\"step\":\"2\",\"loss\":1," REST,
        "{\"step\":2}\n",
        "\n",
        "{\"step\":2,\"loss\":1}\n",
        "{\"step\":2,\"loss\":\"1\"," REST,
        "{\"step\":0,\"loss\":1," REST,
        "{\"step\":1,\"loss\":1," REST, /* an earlier step */
        "{\"step\":2,\"evaluation\":3}\n",
        "{\"step\":2,\"evaluation\":{\"correct\":1,\"problems\":2,\"loss\":1}}\n",
        "[2]\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        check_about("%s", bad[i]);
        char text[512], line[256] = "";
        /* Damage before valid lines is an error; at the end it is what a crash leaves. */
        snprintf(line, sizeof line, "%s", bad[i]);
        if (strchr(line, '}'))
            line_checksum_add(line, strlen(line));
        snprintf(text, sizeof text, "%s%s%s", good, line, last);
        write_file(folder, "metrics.jsonl", text, strlen(text));
        struct metrics metrics;
        rotary_error error = {0};
        CHECK_INT(metrics_read(&metrics, folder, 3, &error), ROTARY_BAD_FILE);
        CHECK(strstr(error.message, "metrics.jsonl, line 2") != NULL);
        open_at(&metrics, folder, 2);
        metrics_close(&metrics);
        size_t count;
        char *left = read_file(folder, "metrics.jsonl", &count);
        CHECK_TEXT(left, good);
        free(left);
    }
    check_about("%s", "");
#undef REST
}

/* A line that a program of no checksums wrote, and one that was changed in any of its bits: resuming refuses
 * both. */
static void test_changed(void)
{
    const char *folder = new_folder("changed");
    struct metrics metrics;
    open_at(&metrics, folder, 0);
    write_steps(&metrics, 1, 9);
    size_t count;
    char *text = read_file(folder, "metrics.jsonl", &count), *last = text + count - 1;
    while (last > text && last[-1] != '\n')
        last--;
    /* Without the newline before it the last line is lost with the one before, as after a crash. */
    for (char *byte = text; byte + 1 < last; byte += 3) {
        rotary_error error = {0};
        const int bit = (int)((byte - text) / 3 % 8);
        check_about("byte %d, bit %d", (int)(byte - text), bit);
        *byte = (char)(*byte ^ 1 << bit);
        write_file(folder, "metrics.jsonl", text, count);
        CHECK_INT(metrics_read(&metrics, folder, 9, &error), ROTARY_BAD_FILE);
        CHECK(strstr(error.message, "metrics.jsonl, line ") != NULL);
        *byte = (char)(*byte ^ 1 << bit);
    }
    check_about("the last line, of the checkpoint's own step");
    rotary_error changed = {0};
    char *digit = strstr(last, "\"loss\":") + 7;
    ++*digit;
    write_file(folder, "metrics.jsonl", text, count);
    CHECK_INT(metrics_read(&metrics, folder, 9, &changed), ROTARY_BAD_FILE);
    CHECK(strstr(changed.message, "it does not match its checksum") != NULL);
    CHECK_INT(metrics_read(&metrics, folder, 8, &changed), ROTARY_OK);
    --*digit;
    check_about("no checksum");
    rotary_error error = {0};
    char *member = strstr(text, ",\"checksum\"");
    memmove(member, member + LINE_CHECKSUM_BYTES, strlen(member + LINE_CHECKSUM_BYTES) + 1);
    write_file(folder, "metrics.jsonl", text, count - LINE_CHECKSUM_BYTES);
    CHECK_INT(metrics_read(&metrics, folder, 9, &error), ROTARY_BAD_FILE);
    CHECK(strstr(error.message, "metrics.jsonl, line 1: it has no checksum") != NULL);
    check_about("%s", "");
    free(text);
}

/* The line of divergence is read whatever step a run resumes from. */
static void test_divergence(void)
{
    const char *folder = new_folder("diverged");
    struct metrics metrics;
    open_at(&metrics, folder, 0);
    CHECK_INT(metrics.diverged, 0);
    write_steps(&metrics, 1, 3);
    open_at(&metrics, folder, 3);
    CHECK(metrics_write_divergence(&metrics, 7, "gradient norm", NULL) == ROTARY_OK);
    CHECK_INT(metrics.diverged, 7);
    metrics_close(&metrics);
    for (int64_t step = 0; step <= 3; step++) {
        CHECK(metrics_read(&metrics, folder, step, NULL) == ROTARY_OK);
        CHECK_INT(metrics.diverged, 7);
        CHECK_INT(metrics.logged, step);
    }
}

static void test_unwritable(void)
{
    struct metrics metrics;
    rotary_error error = {0};
    CHECK(metrics_read(&metrics, scratch_path("not/there"), 0, &error) == ROTARY_OK);
    CHECK_INT(metrics_open(&metrics, &error), ROTARY_IO_ERROR);
    CHECK(strstr(error.message, "not/there/metrics.jsonl") != NULL);
    metrics_close(&metrics);
    /* A full disk. */
    const char *folder = new_folder("full");
    char path[600];
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    open_at(&metrics, folder, 0);
    metrics_close(&metrics);
    FILE *full = fopen("/dev/full", "w");
    if (full) {
        metrics.file = fileno(full);
        struct metrics_line line = {.step = 1};
        CHECK_INT(metrics_write_line(&metrics, &line, &error), ROTARY_IO_ERROR);
        CHECK(strstr(error.message, "No space left") != NULL);
        fclose(full);
    }
}

int main(void)
{
    test_lines();
    test_cut();
    test_damaged();
    test_changed();
    test_divergence();
    test_unwritable();
    return check_report();
}
