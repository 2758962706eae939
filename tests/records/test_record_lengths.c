/* SPDX-License-Identifier: Apache-2.0
 *
 * lengths.json: written and read back, absent, and damaged in every key.
 */
#include "records/record_lengths.h"
#include "records/synthetic.h"
#include "support/check.h"
#include "support/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct record_length known[] = {
    {.length = 256, .scaling = "none", .possible = true, .correct = 12, .problems = 128, .loss = 1.25},
    {.length = 512,
     .scaling = "none",
     .possible = true,
     .loss = 2.5,
     .bits_per_byte = 3.25,
     .positions = {.length = 512, .bins = {{.total = 12, .counted = 8}, {0}, {.total = 7, .counted = 4}}}},
    {.length = 512, .scaling = "yarn", .possible = true, .correct = 3, .problems = 128, .loss = (double)NAN},
    {.length = 1024, .scaling = "none"},
};
enum { KNOWN = sizeof known / sizeof *known };

static void test_round_trip(void)
{
    const char *folder = scratch_path("run");
    struct record_lengths made = {.step = 600}, read;
    rotary_error error = {0};
    synthetic_write(folder, "config.json", "{}");
    CHECK_INT(record_lengths_read(&read, folder, &error), ROTARY_OK);
    CHECK_INT(read.count, 0);
    for (int i = 0; i < KNOWN; i++)
        CHECK_INT(record_lengths_add(&made, &known[i], &error), ROTARY_OK);
    CHECK_INT(record_lengths_write(&made, folder, &error), ROTARY_OK);
    CHECK_INT(record_lengths_read(&read, folder, &error), ROTARY_OK);
    CHECK_INT(read.step, 600);
    CHECK_INT(read.count, KNOWN);
    for (int i = 0; i < read.count; i++) {
        const struct record_length *found = &read.items[i];
        CHECK_INT(found->length, known[i].length);
        CHECK_TEXT(found->scaling, known[i].scaling);
        CHECK_INT(found->possible, known[i].possible);
        CHECK_INT(found->correct, known[i].correct);
        CHECK_INT(found->problems, known[i].problems);
        CHECK(found->loss == known[i].loss || (isnan(found->loss) && isnan(known[i].loss)));
        CHECK_NEAR(found->bits_per_byte, known[i].bits_per_byte, 0);
        CHECK_INT(found->positions.length, known[i].positions.length);
        for (int bin = 0; bin < POSITION_BINS; bin++) {
            CHECK_NEAR(found->positions.bins[bin].total, known[i].positions.bins[bin].total, 0);
            CHECK_INT(found->positions.bins[bin].counted, known[i].positions.bins[bin].counted);
        }
        CHECK(record_lengths_find(&read, known[i].length, known[i].scaling) == found);
    }
    /* The same length and scaling is the same score, with a new value. */
    CHECK_INT(record_lengths_add(&read, &(struct record_length){.length = 512, .scaling = "yarn"}, &error),
              ROTARY_OK);
    CHECK_INT(read.count, KNOWN);
    CHECK(!read.items[2].possible);
    CHECK(record_lengths_find(&read, 1024, "yarn") == NULL);
    CHECK(record_lengths_find(&read, 257, "none") == NULL);
    record_lengths_free(&read);
    record_lengths_free(&made);
}

static void test_damaged(void)
{
#define BIN(begin, tokens) "{\"begin\":" #begin ",\"tokens\":" #tokens ",\"loss\":1}"
#define SCORES             "\"correct\":1,\"problems\":2,\"loss\":1"
    static const struct {
        const char *text, *key;
    } damaged[] = {
        {"{\"lengths\":[]}", "step"},
        {"{\"step\":-1,\"lengths\":[]}", "step"},
        {"{\"step\":1}", "lengths"},
        {"{\"step\":1,\"lengths\":{}}", "lengths"},
        {"{\"step\":1,\"lengths\":[7]}", "length"},
        {"{\"step\":1,\"lengths\":[{\"scaling\":\"none\"," SCORES "}]}", "length"},
        {"{\"step\":1,\"lengths\":[{\"length\":64," SCORES "}]}", "scaling"},
        {"{\"step\":1,\"lengths\":[{\"length\":64,\"scaling\":\"a name that is too long\"," SCORES "}]}",
         "scaling"},
        {"{\"step\":1,\"lengths\":[{\"length\":64,\"scaling\":\"none\",\"problems\":2,\"loss\":1}]}",
         "correct"},
        {"{\"step\":1,\"lengths\":[{\"length\":64,\"scaling\":\"none\",\"correct\":3,\"problems\":2,\"loss\":"
         "1}]}",
         "correct"},
        {"{\"step\":1,\"lengths\":[{\"length\":64,\"scaling\":\"none\",\"correct\":1,\"loss\":1}]}",
         "problems"},
        {"{\"step\":1,\"lengths\":[{\"length\":64,\"scaling\":\"none\",\"correct\":1,\"problems\":2}]}",
         "loss"},
        {"{\"step\":1,\"lengths\":[{\"length\":64,\"scaling\":\"none\"," SCORES ",\"bits_per_byte\":true}]}",
         "bits_per_byte"},
        {"{\"step\":1,\"lengths\":[{\"length\":2,\"scaling\":\"none\"," SCORES ",\"positions\":{}}]}",
         "positions"},
        {"{\"step\":1,\"lengths\":[{\"length\":2,\"scaling\":\"none\"," SCORES
         ",\"positions\":[" BIN(0, 3) "]}]}",
         "positions"},
        {"{\"step\":1,\"lengths\":[{\"length\":2,\"scaling\":\"none\"," SCORES
         ",\"positions\":[" BIN(0, 3) "," BIN(2, 3) "]}]}",
         "begin"},
        {"{\"step\":1,\"lengths\":[{\"length\":2,\"scaling\":\"none\"," SCORES
         ",\"positions\":[" BIN(0, 3) "," BIN(1, -3) "]}]}",
         "tokens"},
        {"{\"step\":1,\"lengths\":[{\"length\":0,\"scaling\":\"none\"," SCORES ",\"positions\":[]}]}",
         "positions"},
        {"[]", "lengths.json"},
        {"{", "lengths.json"},
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        const char *folder = scratch_path("damaged");
        struct record_lengths read;
        rotary_error error = {0};
        synthetic_write(folder, "lengths.json", damaged[i].text);
        check_about("%s", damaged[i].text);
        CHECK_INT(record_lengths_read(&read, folder, &error), ROTARY_BAD_FILE);
        CHECK(strstr(error.message, damaged[i].key) && strstr(error.message, "lengths.json"));
        CHECK_INT(read.count, 0);
    }
    check_about("%s", "");
}

/* Scores of other steps than the run has are none of its own. */
static void test_record(void)
{
    const char *folder = scratch_path("600");
    struct synthetic_run run = synthetic_quick;
    struct record record;
    run.position = "rope";
    run.half = 300;
    synthetic_run(folder, &run);
    struct record_lengths made = {.step = run.steps};
    CHECK_INT(record_lengths_add(&made, &known[0], NULL), ROTARY_OK);
    CHECK_INT(record_lengths_write(&made, folder, NULL), ROTARY_OK);
    CHECK_INT(record_read(&record, folder, NULL), ROTARY_OK);
    CHECK_INT(record.lengths.count, 1);
    record_free(&record);
    made.step--;
    CHECK_INT(record_lengths_write(&made, folder, NULL), ROTARY_OK);
    CHECK_INT(record_read(&record, folder, NULL), ROTARY_OK);
    CHECK_INT(record.lengths.count, 0);
    record_free(&record);
    record_lengths_free(&made);
}

int main(void)
{
    test_round_trip();
    test_damaged();
    test_record();
    return check_report();
}
