/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "backend/profile.h"
#include "base/fail.h"
#include "base/integer.h"
#include "base/random.h"
#include "file/memory.h"
#include "model/stack.h"
#include "train/batch_size.h"
#include "train/together.h"
#include "train/weights/initial_weights.h"
#include "train/weights/lora_targets.h"

#include <math.h>

struct schedule trainer_schedule(const struct run_config *config)
{
    const struct train_config *train = &config->train;
    return (struct schedule){
        .kind = (enum schedule_kind)train->schedule,
        .rate = train->learning_rate,
        .minimum = train->minimum_learning_rate,
        .warmup = train->warmup_steps,
        .steps = train->steps,
        .width = config->model.hidden_size,
    };
}

static void plan_updates(struct trainer *trainer)
{
    const struct train_config *train = &trainer->config->train;
    trainer->schedule = trainer_schedule(trainer->config);
    trainer->optimizer = (struct optimizer){
        .kind = (enum optimizer_kind)train->optimizer,
        .beta1 = train->beta1,
        .beta2 = train->beta2,
        .epsilon = train->epsilon,
        .weight_decay = train->weight_decay,
        .max_grad_norm = train->max_grad_norm,
    };
}

static struct transformer_limits limits_of(const struct run_config *config, int64_t tokens, bool training)
{
    const int64_t time = config->task.sequence_length;
    return (struct transformer_limits){.batch = divide_up(max_i64(tokens, run_example_tokens(config)), time),
                                       .time = time,
                                       .source_time = transformer_has_encoder(&config->model) ? time : 0,
                                       .training = training,
                                       .gradients_later = training && config->train.lora_rank > 0,
                                       .packed = task_has_examples(&config->task)};
}

struct transformer_limits trainer_limits(const struct run_config *config)
{
    return limits_of(config, run_batch_size(config).tokens, false);
}

/* A number of examples has at most so many times the tokens of the longest one. Without the corpus it may be
 * as long as a sequence. A shard of a number of tokens may have all of them. */
static void set_sizes(struct trainer *trainer)
{
    const struct run_config *config = trainer->config;
    struct batch_size *size = &trainer->size;
    *size = run_batch_size(config);
    if (size->rows > 0) {
        const bool read = task_examples(trainer->task, TASK_TRAINING) > 0;
        const int64_t longest = read ? examples_longest(trainer->task).tokens : run_example_tokens(config);
        size->tokens = size->rows * longest;
        trainer->shard_tokens = divide_up(size->rows, config->train.shards) * longest;
    } else {
        trainer->shard_tokens = size->tokens;
    }
}

/* Whether batches of the next step are made while a step runs. */
static bool works_ahead(const struct trainer *trainer)
{
    return trainer->backend->operations->stage;
}

static void carve_step(struct trainer *trainer, struct step_data *data)
{
    const int64_t count = trainer->shards * trainer->config->train.gradient_accumulation_steps;
    struct rotary_arena *arena = &trainer->arena;
    data->batches = rotary_arena_push(arena, count, sizeof *data->batches);
    data->begins = rotary_arena_push(arena, count, sizeof *data->begins);
    data->memory = rotary_arena_push(arena, count, sizeof *data->memory);
    const size_t before = arena->used;
    data->first = arena->memory ? arena->memory + before : NULL;
    for (int64_t i = 0; i < count; i++) {
        struct batch_memory memory;
        batch_carve(&memory, trainer->task, trainer->shard_tokens, arena);
        if (data->memory)
            data->memory[i] = memory;
    }
    data->bytes = arena->used - before;
}

static void carve_batches(struct trainer *trainer)
{
    if (trainer->ranks)
        trainer->pieces = rotary_arena_push(&trainer->arena, TOGETHER_PIECES, sizeof *trainer->pieces);
    carve_step(trainer, &trainer->data[0]);
    trainer->data[1] = trainer->data[0];
    if (works_ahead(trainer))
        carve_step(trainer, &trainer->data[1]);
}

/* Bytes of the gradients of shards: of the three arrays that training adds to the values one, for each level
 * of the tree. */
static rotary_status count_shard_bytes(const struct trainer *trainer, size_t with, double *bytes,
                                       rotary_error *error)
{
    const struct run_config *config = trainer->config;
    struct transformer_limits limits = limits_of(config, trainer->shard_tokens, true);
    size_t without;
    *bytes = 0.0;
    if (trainer->shards == 1)
        return ROTARY_OK;
    limits.gradients_later = !limits.gradients_later;
    rotary_status status = transformer_bytes(trainer->backend, &config->model, limits, &without, error);
    *bytes = fabs((double)with - (double)without) / 3.0 * shard_levels(trainer->shards);
    return status;
}

/* Creates the task, and counts the bytes of its batch and of the model. */
static rotary_status count_bytes(struct trainer *trainer, const struct task_request *request, size_t *bytes,
                                 rotary_error *error)
{
    const struct run_config *config = trainer->config;
    rotary_status status = task_create(&trainer->task, &config->task, request, error);
    if (status != ROTARY_OK)
        return status;
    set_sizes(trainer);
    carve_batches(trainer);
    status = transformer_bytes(trainer->backend, &config->model,
                               limits_of(config, trainer->shard_tokens, true), bytes, error);
    double shards = 0.0;
    if (status == ROTARY_OK)
        status = count_shard_bytes(trainer, *bytes, &shards, error);
    const size_t others =
        trainer->arena.used + (size_t)shards +
        (size_t)lora_bytes(&config->model, config->train.lora_rank, config->train.lora_targets);
    if (status == ROTARY_OK && __builtin_add_overflow(*bytes, others, bytes))
        *bytes = SIZE_MAX;
    return status;
}

rotary_status trainer_bytes(const struct run_config *config, const struct backend *backend, size_t *bytes,
                            rotary_error *error)
{
    struct trainer trainer = {.config = config, .backend = backend, .shards = config->train.shards};
    const bool reads = task_has_examples(&config->task) && config->train.batch_tokens == 0;
    const struct task_request request = {.folder = run_vocabulary_folder(config, NULL),
                                         .need = reads ? TASK_DATA : TASK_SIZES};
    rotary_status status = count_bytes(&trainer, &request, bytes, error);
    trainer_destroy(&trainer);
    return status;
}

static rotary_status create_model(struct trainer *trainer, const char *folder, rotary_error *error)
{
    const struct run_config *config = trainer->config;
    const struct task_request request = {.folder = run_vocabulary_folder(config, folder)};
    size_t bytes;
    rotary_status status = count_bytes(trainer, &request, &bytes, error);
    if (status == ROTARY_OK)
        status = memory_check(bytes, "training", error);
    if (status == ROTARY_OK)
        status = rotary_arena_allocate(&trainer->arena, "the data of a step", error);
    if (status != ROTARY_OK)
        return status;
    carve_batches(trainer);
    return transformer_create(&trainer->transformer, trainer->backend, &config->model,
                              limits_of(config, trainer->shard_tokens, true), (uint64_t)config->train.seed,
                              error);
}

rotary_status trainer_create(struct trainer *trainer, const struct run_config *config, const char *folder,
                             const struct backend *backend, rotary_error *error)
{
    return trainer_create_rank(trainer, config, folder, backend, NULL, error);
}

rotary_status trainer_create_rank(struct trainer *trainer, const struct run_config *config,
                                  const char *folder, const struct backend *backend,
                                  const struct ranks *ranks, rotary_error *error)
{
    *trainer = (struct trainer){.config = config, .backend = backend, .ranks = ranks};
    trainer->shards = config->train.shards / ranks_count(ranks);
    trainer->first_shard = ranks_index(ranks) * trainer->shards;
    plan_updates(trainer);
    rotary_status status = create_model(trainer, folder, error);
    if (status != ROTARY_OK)
        trainer_destroy(trainer);
    return status;
}

rotary_status trainer_begin(struct trainer *trainer, rotary_error *error)
{
    struct parameters *parameters = transformer_parameters(trainer->transformer);
    return trainer->config->train.lora_rank > 0
               ? lora_begin(&trainer->lora, trainer->config, parameters, &trainer->unused, error)
               : initial_weights_load(trainer->config, parameters, &trainer->unused, error);
}

rotary_status trainer_resume(struct trainer *trainer, const struct checkpoint *checkpoint,
                             rotary_error *error)
{
    struct parameters *parameters = transformer_parameters(trainer->transformer);
    return trainer->config->train.lora_rank > 0
               ? lora_resume(&trainer->lora, trainer->config, parameters, checkpoint, error)
               : checkpoint_load(checkpoint, parameters, error);
}

rotary_status trainer_meet(struct trainer *trainer, const struct ranks *ranks, rotary_status status,
                           rotary_error *error)
{
    status = ranks_agree(ranks, status, error);
    if (status == ROTARY_OK) {
        struct parameters *parameters = transformer_parameters(trainer->transformer);
        rank_update_begin(&trainer->update, trainer->ranks, parameters,
                          transformer_sublayer_rows(trainer->transformer));
        status = together_share_parameters(trainer->ranks, parameters, error);
    }
    if (status == ROTARY_OK)
        status = rank_update_give_moments(&trainer->update, error);
    trainer->expected = status == ROTARY_OK && trainer->ranks;
    return status;
}

/* Where all ranks meet: before each step, and where rank 0 has something to say. Where one stops rank 0 may save. */
static rotary_status exchange_counts(struct trainer *trainer, struct together_counts *counts,
                                     rotary_error *error)
{
    struct together_counts own = *counts;
    rotary_status status = ROTARY_OK;
    own.stops = trainer->ranks && trainer->stops;
    trainer->expected = false;
    do {
        *counts = own;
        status = together_count(trainer->ranks, counts, error);
        if (status == ROTARY_OK && (counts->stops > 0 || counts->collects > 0))
            status = rank_update_collect_moments(&trainer->update, error);
    } while (status == ROTARY_OK && counts->stops == 0 && counts->collects > own.collects);
    if (status != ROTARY_OK)
        return status;
    if (counts->stops > 0)
        return rotary_fail(error, ROTARY_INTERRUPTED, "another rank stops");
    trainer->expected = trainer->ranks;
    return ROTARY_OK;
}

rotary_status trainer_call_evaluation(struct trainer *trainer, rotary_error *error)
{
    struct together_counts counts = {.evaluates = 1};
    return trainer->ranks ? exchange_counts(trainer, &counts, error) : ROTARY_OK;
}

rotary_status trainer_collect(struct trainer *trainer, rotary_error *error)
{
    struct together_counts counts = {.collects = 1};
    return trainer->expected && trainer->update.share.scattered ? exchange_counts(trainer, &counts, error)
                                                                : ROTARY_OK;
}

rotary_status trainer_wait(struct trainer *trainer, bool *evaluates, rotary_error *error)
{
    struct together_counts counts = {.evaluates = 0};
    const rotary_status status = exchange_counts(trainer, &counts, error);
    *evaluates = counts.evaluates > 0;
    return status;
}

void trainer_leave(struct trainer *trainer)
{
    struct together_counts counts = {.targets = 0};
    trainer->stops = true;
    if (trainer->expected)
        (void)!exchange_counts(trainer, &counts, NULL);
}

void trainer_destroy(struct trainer *trainer)
{
    rank_update_end(&trainer->update);
    for (int slot = 0; trainer->backend && works_ahead(trainer) && slot < 2; slot++)
        (void)!trainer->backend->operations->stage(trainer->backend, slot, NULL, 0, NULL);
    shard_sums_free(&trainer->sums, trainer->backend);
    lora_destroy(trainer->lora);
    transformer_destroy(trainer->transformer);
    task_destroy(trainer->task);
    rotary_arena_free(&trainer->arena);
    *trainer = (struct trainer){0};
}

/* ---- a step ---- */

/* What is run of a step. */
struct shard_pass {
    int64_t step, shard, targets; /* targets: of the step */
    const struct gradient_watch *watch;
};

static int64_t batch_of(const struct trainer *trainer, int64_t shard, int64_t micro)
{
    return shard * trainer->config->train.gradient_accumulation_steps + micro;
}

/* What comes before row `row` of the micro-batch from `ordinal` on. */
static struct batch_begin begin_at(const struct row_order *order, int64_t ordinal, int64_t row)
{
    struct batch_begin begin = {.sequences = row * max_i64(task_shape(order->task).choices, 1)};
    for (int64_t i = 0; i < row; i++) {
        const struct task_example example = example_at(order, ordinal + i);
        begin.tokens += example.target_count;
        begin.source_tokens += example.source_count;
    }
    return begin;
}

/* Fills the shards of this rank of micro-batch `micro`, of `rows` rows from where the cursor is. All shards are
 * cut as evenly as it goes. */
static void fill_shards(struct trainer *trainer, const struct row_order *order, int64_t micro, int64_t rows,
                        struct step_data *data)
{
    const int64_t ordinal = trainer->cursor.ordinal;
    struct together_counts *counts = &data->counts;
    const int64_t shards = trainer->config->train.shards;
    for (int64_t k = 0; k < trainer->shards; k++) {
        const int64_t shard = trainer->first_shard + k, first = rows * shard / shards,
                      end = rows * (shard + 1) / shards, i = batch_of(trainer, k, micro);
        data->batches[i] =
            batch_fill(&data->memory[i], order, ordinal + first, end - first, trainer->backend->threads);
        data->begins[i] = begin_at(order, ordinal, first);
        counts->targets += batch_targets(trainer->task, &data->batches[i]);
        counts->tokens += token_rows(&data->batches[i].input);
        counts->sequences += end - first;
    }
}

static struct step_data *data_of(struct trainer *trainer, int64_t step)
{
    return &trainer->data[step % 2];
}

/* Fills the micro-batches of a step, and counts what they have. */
static void fill_step(struct trainer *trainer, int64_t step)
{
    struct step_data *data = data_of(trainer, step);
    const double begin = profile_begin(trainer->backend->profile);
    const int64_t batches = trainer->config->train.gradient_accumulation_steps;
    const struct row_order order = run_training_order(trainer->config, trainer->task);
    struct row_cursor *cursor = &trainer->cursor;
    data->step = step;
    data->counts = (struct together_counts){.evaluates = 0};
    row_cursor_move(cursor, &order, trainer->size, (step - 1) * batches);
    for (int64_t i = 0; i < batches; i++, cursor->batch++) {
        const int64_t rows = rows_within(&order, trainer->size, cursor->ordinal);
        fill_shards(trainer, &order, i, rows, data);
        cursor->ordinal += rows;
    }
    profile_end(trainer->backend->profile, begin, "data", "batch", 0.0, 0.0);
}

/* Fills a step and begins to copy it to the device, where it goes before the step itself. */
static rotary_status make_data(struct trainer *trainer, int64_t step, rotary_error *error)
{
    const struct step_data *data = data_of(trainer, step);
    const struct backend *backend = trainer->backend;
    fill_step(trainer, step);
    return works_ahead(trainer)
               ? backend->operations->stage(backend, (int)(step % 2), data->first, data->bytes, error)
               : ROTARY_OK;
}

/* Fills the step, of which all ranks then know the same. Where none takes it the next one begins as it does. */
static rotary_status prepare(struct trainer *trainer, int64_t step, struct together_counts *counts,
                             rotary_error *error)
{
    const struct row_cursor cursor = trainer->cursor;
    rotary_status status = ROTARY_OK;
    if (data_of(trainer, step)->step != step || !works_ahead(trainer))
        status = make_data(trainer, step, error);
    *counts = data_of(trainer, step)->counts;
    if (status == ROTARY_OK)
        status = exchange_counts(trainer, counts, error);
    if (status != ROTARY_OK || counts->evaluates > 0) {
        trainer->cursor = cursor;
        return status;
    }
    if (counts->targets > 0)
        return ROTARY_OK;
    trainer->expected = false;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "the %lld sequences of step %lld have no targets: wanted at least one",
                       (long long)counts->sequences, (long long)step);
}

/* Forward and backward passes of a shard; its losses are read where there are several. A shard may have no
 * rows. watch: of the last micro-batch, after which its gradients are complete. */
static rotary_status run_shard(struct trainer *trainer, const struct shard_pass *pass,
                               struct loss_sums *losses, rotary_error *error)
{
    const struct train_config *train = &trainer->config->train;
    const int64_t micro_batches = train->gradient_accumulation_steps;
    const struct step_data *data = data_of(trainer, pass->step);
    rotary_status status = ROTARY_OK;
    for (int64_t micro = 0; status == ROTARY_OK && micro < micro_batches; micro++) {
        const int64_t i = batch_of(trainer, pass->shard, micro);
        struct loss_sums sums = {0};
        const struct transformer_call call = {
            .batch = &data->batches[i],
            .backward = true,
            .gradient_scale = (float)(1.0 / (double)pass->targets),
            .seed = (uint64_t)train->seed,
            .micro_step = (uint32_t)((pass->step - 1) * micro_batches + micro),
            .begin = data->begins[i],
            .watch = micro == micro_batches - 1 ? pass->watch : NULL,
        };
        if (data->batches[i].input.batch > 0)
            status = transformer_run(trainer->transformer, &call, losses ? &sums : NULL, error);
        if (losses)
            *losses = loss_sums_add(*losses, sums);
    }
    return status;
}

/* Ranks sum what the last shard adds while its backward pass runs. */
static rotary_status run_last_shard(struct trainer *trainer, struct shard_pass *pass,
                                    struct loss_sums *losses, rotary_error *error)
{
    const struct gradient_watch watch = {rank_update_complete, &trainer->update};
    pass->watch = &watch;
    rank_update_start_sums(&trainer->update, &trainer->sums, trainer->pieces);
    const rotary_status status = run_shard(trainer, pass, losses, error);
    shard_sums_add_last(&trainer->sums, losses);
    return status;
}

/* The sums of this rank's shards. */
static rotary_status run_own_shards(struct trainer *trainer, int64_t step, int64_t targets,
                                    struct loss_sums *losses, rotary_error *error)
{
    struct parameters *parameters = transformer_parameters(trainer->transformer);
    rotary_status status = ROTARY_OK;
    if (trainer->sums.levels != shard_levels(trainer->shards))
        status = shard_sums_create(&trainer->sums, parameters, shard_levels(trainer->shards), error);
    trainer->sums.leaves = 0;
    for (int64_t shard = 0; status == ROTARY_OK && shard < trainer->shards; shard++) {
        struct shard_pass pass = {.step = step, .targets = targets, .shard = shard};
        *losses = (struct loss_sums){0};
        if (trainer->update.ranks && shard == trainer->shards - 1)
            return run_last_shard(trainer, &pass, losses, error);
        status = run_shard(trainer, &pass, losses, error);
        if (status == ROTARY_OK)
            status = shard_sums_add(&trainer->sums, parameters, losses, error);
    }
    return status;
}

/* Gradients of all ranks, which exchange them even where one has failed: the others do not know. */
static rotary_status sum_ranks(struct trainer *trainer, struct together_losses *losses, rotary_status status,
                               rotary_error *error)
{
    rotary_error talk_error = {0};
    rotary_status talk = ROTARY_OK;
    losses->failed = status != ROTARY_OK;
    if (trainer->update.ranks)
        talk = rank_update_finish_sums(&trainer->update, trainer->pieces, &talk_error);
    if (talk == ROTARY_OK)
        talk = together_sum_losses(trainer->ranks, losses, &talk_error);
    if (talk == ROTARY_OK && losses->failed == 0)
        return trainer->update.ranks
                   ? ROTARY_OK
                   : together_sum_gradients(trainer->ranks, transformer_parameters(trainer->transformer),
                                            trainer->pieces, error);
    trainer->expected = false;
    if (talk != ROTARY_OK && error)
        *error = talk_error;
    return talk != ROTARY_OK ? talk : ranks_agree(trainer->ranks, status, error);
}

/* The sums of all shards. */
static rotary_status run_shards(struct trainer *trainer, int64_t step, int64_t targets, rotary_error *error)
{
    struct together_losses losses = {.failed = 0};
    rotary_status status = run_own_shards(trainer, step, targets, &losses.sums, error);
    if (trainer->ranks) {
        const double begin = profile_begin(trainer->backend->profile);
        status = sum_ranks(trainer, &losses, status, error);
        profile_end(trainer->backend->profile, begin, "ranks", "waiting, sums of gradients", 0.0, 0.0);
    }
    return status == ROTARY_OK
               ? parameters_write_losses(transformer_parameters(trainer->transformer), &losses.sums, error)
               : status;
}

/* The loss is the mean over the targets of the step, however many of them a micro-batch has: so all are
 * counted before the first backward pass, and every micro-batch has the same gradient_scale. */
static rotary_status run_batches(struct trainer *trainer, int64_t step, int64_t targets, rotary_error *error)
{
    const struct shard_pass whole = {.step = step, .targets = targets};
    return trainer->config->train.shards > 1 ? run_shards(trainer, step, targets, error)
                                             : run_shard(trainer, &whole, NULL, error);
}

static rotary_status gather(struct trainer *trainer, bool diverged, rotary_error *error)
{
    const double begin = profile_begin(trainer->backend->profile);
    const rotary_status status = rank_update_gather(&trainer->update, diverged, error);
    if (trainer->update.ranks)
        profile_end(trainer->backend->profile, begin, "ranks", "waiting, weights", 0.0, 0.0);
    return status;
}

/* A number for the shapes of a step's batches. */
static uint64_t step_shape(const struct trainer *trainer, int64_t step)
{
    const struct step_data *data = &trainer->data[step % 2];
    const int64_t count = trainer->shards * trainer->config->train.gradient_accumulation_steps;
    uint64_t shape = (uint64_t)(uintptr_t)trainer->transformer;
    for (int64_t i = 0; i < count; i++) {
        const struct batch *batch = &data->batches[i];
        const int64_t sizes[] = {batch->input.batch, token_rows(&batch->input), batch->source.batch,
                                 token_rows(&batch->source)};
        shape = shape * 31 + rotary_hash(sizes, sizeof sizes);
    }
    return shape;
}

/* A step with shards reads the losses of each. */
static bool is_one_graph(const struct trainer *trainer)
{
    return trainer->backend->operations->step_begin && trainer->config->train.shards == 1;
}

/* The update of what is trained, from the gradients of the model. */
static rotary_status update(struct trainer *trainer, int64_t step, double learning_rate, rotary_error *error)
{
    struct parameters *parameters = transformer_parameters(trainer->transformer);
    rotary_status status = trainer->lora ? lora_gradients(trainer->lora, error) : ROTARY_OK;
    int64_t elements = 0;
    for (const struct parameters *table = parameters; table; table = table->adapter)
        elements += table->share ? table->share->elements : table->trained_elements;
    const double begin = profile_begin(trainer->backend->profile);
    if (status == ROTARY_OK)
        status = optimizer_step(&trainer->optimizer, parameters, step, learning_rate, error);
    /* Bytes: the norm reads the gradients; the update reads and writes values, gradients and two moments. */
    profile_end(trainer->backend->profile, begin, "update", "gradient norm, Adam", 0.0,
                9.0 * sizeof(float) * (double)elements);
    return status;
}

/* All that a backend computes of a step. It may hold it back and do it at once. */
static rotary_status compute(struct trainer *trainer, int64_t step, int64_t targets, double learning_rate,
                             rotary_error *error)
{
    const struct backend *backend = trainer->backend;
    const bool whole = is_one_graph(trainer);
    rotary_error unheard = {0};
    rotary_status ended = ROTARY_OK, status = ROTARY_OK;
    if (whole)
        status = backend->operations->step_begin(backend, step_shape(trainer, step), error);
    if (status == ROTARY_OK)
        status = parameters_clear_statistics(transformer_parameters(trainer->transformer), error);
    if (status == ROTARY_OK)
        status = run_batches(trainer, step, targets, error);
    if (status == ROTARY_OK)
        status = update(trainer, step, learning_rate, error);
    if (whole)
        ended = backend->operations->step_end(backend, status == ROTARY_OK ? error : &unheard);
    return status == ROTARY_OK ? ended : status;
}

/* While the step runs. */
static rotary_status make_next_data(struct trainer *trainer, int64_t step, rotary_error *error)
{
    return works_ahead(trainer) && !trainer->ranks && step < trainer->config->train.steps
               ? make_data(trainer, step + 1, error)
               : ROTARY_OK;
}

rotary_status trainer_step(struct trainer *trainer, int64_t step, struct trainer_step *result,
                           rotary_error *error)
{
    *result = (struct trainer_step){.learning_rate = schedule_rate(&trainer->schedule, step)};
    struct parameters *parameters = transformer_parameters(trainer->transformer);
    struct together_counts counts;
    rotary_status status = prepare(trainer, step, &counts, error);
    result->evaluates = status == ROTARY_OK && counts.evaluates > 0;
    if (result->evaluates)
        return ROTARY_OK;
    if (status == ROTARY_OK)
        status = compute(trainer, step, counts.targets, result->learning_rate, error);
    if (status == ROTARY_OK)
        status = make_next_data(trainer, step, error);
    struct step_statistics statistics;
    if (status == ROTARY_OK)
        status = parameters_read_statistics(parameters, &statistics, error);
    if (status == ROTARY_OK)
        status = gather(trainer, statistics.diverged, error);
    if (status == ROTARY_OK && trainer->lora)
        status = lora_merge(trainer->lora, error);
    if (status != ROTARY_OK)
        return status;
    result->loss = statistics.loss;
    result->tokens = counts.tokens;
    result->gradient_norm = statistics.gradient_norm;
    result->diverged = statistics.diverged != 0;
    return ROTARY_OK;
}
