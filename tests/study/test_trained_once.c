/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison on SentencePiece vocabularies trains each of them once, however many arms and runs it has,
 * also side by side; and two that differ are two.
 */
#include "support/check.h"
#include "train/runs.h"

#include "study/comparison_run.h"
#include "task/tokenizer_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 4 };

static atomic_int trained;

rotary_status __real_sentencepiece_train(struct tokenizer **tokenizer,
                                         const struct sentencepiece_config *config,
                                         const struct text_line *lines, int64_t count,
                                         struct sentencepiece_counts *counts, rotary_error *error);
rotary_status __wrap_sentencepiece_train(struct tokenizer **tokenizer,
                                         const struct sentencepiece_config *config,
                                         const struct text_line *lines, int64_t count,
                                         struct sentencepiece_counts *counts, rotary_error *error);
rotary_status __wrap_sentencepiece_train(struct tokenizer **tokenizer,
                                         const struct sentencepiece_config *config,
                                         const struct text_line *lines, int64_t count,
                                         struct sentencepiece_counts *counts, rotary_error *error)
{
    atomic_fetch_add(&trained, 1);
    return __real_sentencepiece_train(tokenizer, config, lines, count, counts, error);
}

static struct run_config pieces_config(struct tokenizer_cache *cache)
{
    struct run_config config;
    run_config_default(&config);
    set_option(&config, "task=translation");
    set_option(&config, "translation_pairs=200");
    set_option(&config, "translation_held_out=5");
    set_option(&config, "translation_tokenizer=sentencepiece");
    set_option(&config, "translation_vocab_size=150");
    set_option(&config, "architecture=encoder_decoder");
    config.task.sequence_length = 64;
    config.task.problems = 2;
    config.task.tokenizers = cache;
    config.model.hidden_size = 16;
    config.model.num_hidden_layers = 1;
    config.model.num_attention_heads = 2;
    config.model.intermediate_size = 16;
    config.train.epochs = 1;
    config.train.batch_tokens = 4000;
    config.train.evaluate_every = 0;
    config.train.checkpoint_every = 0;
    return config;
}

/* The vocabularies of the two languages, trained by one comparison of two arms from two seeds. */
static void test_comparison(struct tokenizer_cache *cache)
{
    struct run_config config = pieces_config(cache);
    struct backend backend;
    struct arms arms;
    static const int64_t seeds[] = {1, 2};
    rotary_error error = {0};
    if (!CHECK_INT(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK))
        return;
    const struct arm_axis axis = {"--positions", "position", "rope,sinusoidal"};
    CHECK_INT(arms_create(&arms, &error), ROTARY_OK);
    CHECK_INT(arms_vary(&arms, &axis, &error), ROTARY_OK);
    const struct compare_call call = {.plan = {.config = &config,
                                               .arms = &arms,
                                               .seeds = seeds,
                                               .seed_count = 2,
                                               .folder = new_folder("pieces"),
                                               .command = "rotary compare translation"},
                                      .backend = &backend,
                                      .jobs = 2};
    atomic_store(&trained, 0);
    if (!CHECK_INT(comparison_run(&call, &error), ROTARY_OK))
        printf("    %s\n", error.message);
    CHECK_INT(atomic_load(&trained), 2);
    arms_free(&arms);
    backend_destroy(&backend);
}

struct wanted {
    struct tokenizer_cache *cache;
    struct tokenizer *tokenizer;
    int64_t size;
    const char *word;
};

static void *train_pieces(void *argument)
{
    struct wanted *wanted = argument;
    const struct text_line lines[] = {{"ab ab abc abd abe abf", 21}, {wanted->word, 3}};
    struct sentencepiece_config config;
    sentencepiece_defaults(&config);
    config.model = SENTENCEPIECE_BPE;
    config.vocabulary_size = wanted->size;
    CHECK_INT(tokenizer_cache_train(wanted->cache, &wanted->tokenizer, &config, lines, 2, NULL), ROTARY_OK);
    return NULL;
}

/* Four threads that want the same have one; other lines and another size are others. */
static void test_cache(struct tokenizer_cache *cache)
{
    struct wanted wanted[THREADS];
    pthread_t threads[THREADS];
    atomic_store(&trained, 0);
    for (int i = 0; i < THREADS; i++) {
        wanted[i] = (struct wanted){.cache = cache, .size = 14, .word = "abg"};
        CHECK_INT(pthread_create(&threads[i], NULL, train_pieces, &wanted[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(wanted[i].tokenizer == wanted[0].tokenizer);
    }
    CHECK_INT(atomic_load(&trained), 1);
    struct wanted larger = {.cache = cache, .size = 15, .word = "abg"},
                  other = {.cache = cache, .size = 14, .word = "agb"};
    train_pieces(&larger);
    train_pieces(&other);
    CHECK_INT(atomic_load(&trained), 3);
    CHECK_INT(tokenizer_size(larger.tokenizer), 15);
    CHECK(other.tokenizer != wanted[0].tokenizer);
}

int main(void)
{
    if (!sentencepiece_version()) {
        printf("without SentencePiece\n");
        return 77;
    }
    struct tokenizer_cache *cache;
    if (!CHECK_INT(tokenizer_cache_create(&cache, NULL), ROTARY_OK))
        return check_report();
    test_cache(cache);
    test_comparison(cache);
    tokenizer_cache_destroy(cache);
    return check_report();
}
