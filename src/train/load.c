/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading a trained model for inference.
 */
#include "train/checkpoint.h"
#include "train/memory.h"
#include "train/train.h"

static rotary_status create_model(const char *folder, const struct compute *compute,
                                  struct decoder_limits limits, const struct run_config *config,
                                  struct decoder **decoder, rotary_error *error)
{
    size_t bytes;
    rotary_status status = decoder_bytes(compute, &config->model, limits, &bytes, error);
    if (status == ROTARY_OK)
        status = memory_check(bytes, "the model", error);
    if (status == ROTARY_OK)
        status =
            decoder_create(decoder, compute, &config->model, limits, (uint64_t)config->train.seed, error);
    if (status != ROTARY_OK)
        return status;
    status = checkpoint_load_model(folder, config, decoder_parameters(*decoder), error);
    if (status == ROTARY_OK)
        status = decoder_prepare(*decoder, error);
    if (status != ROTARY_OK)
        decoder_destroy(*decoder);
    return status;
}

rotary_status train_load(const char *folder, const struct compute *compute, struct decoder_limits limits,
                         struct run_config *config, struct decoder **decoder, struct task **task,
                         rotary_error *error)
{
    struct run_config read;
    rotary_status status = run_read_config(folder, &read, error);
    if (status != ROTARY_OK)
        return status;
    struct task *made_task;
    status = task_create(&made_task, &read.task, error);
    if (status != ROTARY_OK)
        return status;
    struct decoder *made_decoder;
    status = create_model(folder, compute, limits, &read, &made_decoder, error);
    if (status != ROTARY_OK) {
        task_destroy(made_task);
        return status;
    }
    *config = read;
    *decoder = made_decoder;
    *task = made_task;
    return ROTARY_OK;
}
