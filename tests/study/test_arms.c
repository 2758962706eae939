/* SPDX-License-Identifier: Apache-2.0
 *
 * Arms: their order, names and values, what follows from the values, and what cannot be varied.
 */
#include "support/check.h"

#include "layer/encoding/encoding.h"
#include "study/arms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_AXES = 3 };

/* "key=values" of up to three keys. */
static rotary_status make(struct arms *arms, const char *const axes[MAX_AXES], rotary_error *error)
{
    rotary_status status = arms_create(arms, error);
    for (int i = 0; status == ROTARY_OK && i < MAX_AXES && axes[i]; i++) {
        char key[64];
        const char *equals = strchr(axes[i], '=');
        snprintf(key, sizeof key, "%.*s", (int)(equals - axes[i]), axes[i]);
        status =
            arms_vary(arms, &(struct arm_axis){.option = "--vary", .key = key, .values = equals + 1}, error);
    }
    return status;
}

/* Every encoding, whatever their number. */
static void check_all_positions(void)
{
    struct arms arms;
    CHECK_INT(make(&arms, (const char *const[MAX_AXES]){"position=all"}, NULL), ROTARY_OK);
    if (CHECK_INT(arms.count, POSITIONS))
        for (int i = 0; i < POSITIONS; i++)
            CHECK_TEXT(arms.items[i].name, position_names[i]);
    arms_free(&arms);
}

static void check_names(void)
{
    static const struct {
        const char *axes[MAX_AXES], *names;
    } cases[] = {
        {{"position=rope,roper"}, "rope roper "},
        {{"value_fraction=0.5,1"}, "value_fraction=0.5 value_fraction=1.0 "},
        {{"position=rope,roper", "value_fraction=.5,1e0"},
         "rope,value_fraction=0.5 rope,value_fraction=1.0 roper,value_fraction=0.5 "
         "roper,value_fraction=1.0 "},
        {{"bias=true,false", "rope_theta=1e2,1e4", "norm=rms_norm"},
         "bias=true,rope_theta=1e2,norm=rms_norm bias=true,rope_theta=1e4,norm=rms_norm "
         "bias=false,rope_theta=1e2,norm=rms_norm bias=false,rope_theta=1e4,norm=rms_norm "},
        {{"norm_position=all"},
         "norm_position=pre norm_position=post norm_position=both norm_position=output "
         "norm_position=none "},
        {{"norm_position=both,all"},
         "norm_position=both norm_position=pre norm_position=post norm_position=output norm_position=none "},
        {{"norm=all", "bias=true,false"},
         "norm=layer_norm,bias=true norm=layer_norm,bias=false norm=rms_norm,bias=true "
         "norm=rms_norm,bias=false "},
        {{"hidden_size=64,128"}, "hidden_size=64 hidden_size=128 "},
        {{"init=runs/masked-rope,/a/b c//,", "position=rope,none"},
         "masked-rope,rope masked-rope,none b_c,rope b_c,none scratch,rope scratch,none "},
        {{"layer_types=[\"full_attention\",\"sliding_attention\"],null"},
         "layer_types=[full_attention,sliding_attention] layer_types=null "},
        {{"rope_scaling={\"rope_type\":\"yarn\",\"factor\":4},{\"rope_type\": \"a, b/c\"}"},
         "rope_scaling={rope_type:yarn,factor:4} rope_scaling={rope_type:a,_b_c} "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_about("%s", cases[i].axes[0]);
        struct arms arms;
        rotary_error error = {0};
        char names[512] = "";
        if (!CHECK_INT(make(&arms, cases[i].axes, &error), ROTARY_OK))
            printf("    %s\n", error.message);
        for (int j = 0; j < arms.count; j++)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s ", arms.items[j].name);
        CHECK_TEXT(names, cases[i].names);
        arms_free(&arms);
    }
}

static void check_refused(void)
{
    static const struct {
        const char *axes[MAX_AXES], *words;
    } cases[] = {
        {{"positon=rope"}, "--vary: there is no key \"positon\"; did you mean \"position\"?"},
        {{"position=rope,ropper"}, "did you mean \"roper\"?"},
        {{"position=rope,rope"}, "--vary names rope twice"},
        {{"position=all,rope"}, "--vary names rope twice"},
        {{"hidden_size=all"}, "\"hidden_size\""},
        {{"value_fraction=1,1.0"}, "--vary names 1.0 twice"},
        {{"value_fraction=1,"}, "\"value_fraction\" is"},
        {{"value_fraction=1,2"}, "\"value_fraction\" is 2"},
        {{"norm=rms_norm", "norm=layer_norm"}, "norm is varied already"},
        {{"seed=1,2"}, "seed cannot be varied: every arm has the same seeds"},
        {{"steps=1,2"}, "steps cannot be varied"},
        {{"precision=f32,bf16"}, "wanted --precision"},
        {{"evaluate_every=1,2"}, "it changes what is measured"},
        {{"log_every=1,2"}, "it changes no result"},
        {{"task=index,prefix"}, "each task has measures of its own"},
        {{"problems=1,2"}, "wanted --problems"},
        {{"primary_measure=exact_match,validation_loss"}, "it decides the comparison"},
        {{"init=a/b,c/b"}, "two arms have the name b: wanted each value once, and folders"},
        {{"init=a,a"}, "--vary names a twice"},
        {{"rope_scaling={\"a\":1},{\"a\":\"1\"}"}, "two arms have the name rope_scaling={a:1}"},
        {{"rope_scaling={\"a\":\"a name that is so long that no folder should have it, and that goes on and "
          "on "
          "for more than fits into the name of one\"}"},
         "too long for its folders"},
        {{"hidden_size=1,2,3,4,5,6,7,8,9,10,11", "num_attention_heads=1,2,3,4,5,6,7,8,9,10"},
         "more than 100 arms"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_about("%s", cases[i].axes[0]);
        struct arms arms;
        rotary_error error = {0};
        CHECK_INT(make(&arms, cases[i].axes, &error), ROTARY_INVALID_ARGUMENT);
        CHECK_WORDS(error.message, cases[i].words);
        arms_free(&arms);
    }
}

/* What a draft leaves open follows from each arm's own values. */
static void check_configs(void)
{
    check_about("configurations");
    struct run_config base, *configs = NULL;
    run_config_default(&base);
    base.task.task = TASK_INDEX;
    base.task.sequence_length = 64;
    struct arms arms;
    rotary_error error = {0};
    CHECK_INT(make(&arms, (const char *const[MAX_AXES]){"position=rope,roper", "hidden_size=64,128"}, &error),
              ROTARY_OK);
    if (CHECK_INT(arms_configs(&arms, &base, 7, &configs, &error), ROTARY_OK))
        for (int i = 0; i < 4; i++) {
            int64_t width = i % 2 ? 128 : 64;
            CHECK_INT(configs[i].model.hidden_size, width);
            CHECK_INT(configs[i].model.intermediate_size, 4 * width);
            CHECK_INT(configs[i].model.position, i < 2 ? POSITION_ROPE : POSITION_ROPER);
            CHECK_INT(configs[i].train.seed, 7);
        }
    else
        printf("    %s\n", error.message);
    free(configs);
    configs = NULL;
    arms_free(&arms);

    check_about("configurations that are the same");
    CHECK_INT(make(&arms, (const char *const[MAX_AXES]){"intermediate_size=0,512"}, &error), ROTARY_OK);
    base.model.hidden_size = 128;
    CHECK_INT(arms_configs(&arms, &base, 7, &configs, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "intermediate_size=0 and intermediate_size=512 are the same configuration");
    base.train.steps = 0;
    CHECK_INT(arms_configs(&arms, &base, 7, &configs, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "steps is 0, wanted at least 1");
    arms_free(&arms);

    check_about("what was chosen for an arm");
    CHECK_INT(make(&arms, (const char *const[MAX_AXES]){"position=rope,roper"}, &error), ROTARY_OK);
    base.train.steps = 5;
    arms.items[1].chosen = json_pack("{s:f}", "learning_rate", 0.125);
    if (CHECK_INT(arms_configs(&arms, &base, 7, &configs, &error), ROTARY_OK)) {
        CHECK_NEAR(configs[0].train.learning_rate, base.train.learning_rate, 0);
        CHECK_NEAR(configs[1].train.learning_rate, 0.125, 0);
    }
    free(configs);
    arms_free(&arms);
}

int main(void)
{
    check_names();
    check_all_positions();
    check_refused();
    check_configs();
    return check_report();
}
