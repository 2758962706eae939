/* SPDX-License-Identifier: Apache-2.0 */
#include "train/train.h"

#include "backend/profile.h"
#include "base/clock.h"
#include "base/fail.h"
#include "cuda/device_backend.h"
#include "file/file.h"
#include "run_folder/folder.h"
#include "run_folder/folder_owner.h"
#include "run_folder/run_archive.h"
#include "train/divergence.h"
#include "train/evaluation/run_evaluation.h"
#include "train/folder/corpus_record.h"
#include "train/folder/folder_watch.h"
#include "train/folder/metrics.h"
#include "train/folder/provenance.h"
#include "train/follower.h"
#include "train/together.h"
#include "train/trainer.h"
#include "train/weights/average.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REMARK_BYTES = 256 };
static const char gradient_norm_name[] = "gradient norm";
enum { SAMPLES = 8 }; /* problems per evaluation that are recorded with the generated text */

/* One call of train_run(). */
struct session {
    const struct train_call *call;
    struct run_config config; /* the call's, borrowed, with `auto` precision resolved */
    int lock;
    struct folder_owner owner;
    bool resumes;       /* the folder has a run */
    bool writes_config; /* config.json is missing, or keys change that may, or what trains the run */
    json_t *provenance; /* that config.json is to have */
    struct trainer trainer;
    struct evaluation_sample samples[SAMPLES];
    struct metrics metrics;
    struct folder_watch watch;
    char remark[REMARK_BYTES]; /* "": there is none, or it was made */

    struct checkpoint_state state; /* current */
    struct checkpoint_best best;   /* the lowest validation loss so far */
    int64_t first_step;            /* steps done before this call */
    int64_t saved_step;            /* of the checkpoint in the folder; -1: none */
    bool evaluated_all;            /* this call made the last evaluation of the run */
    double start;                  /* time at which the first step began, for seconds_left */
    double stepping;               /* seconds spent in steps since the last line of metrics */
    int64_t tokens;                /* trained on since the last line of metrics */
};

static bool is_due(int64_t step, int64_t every)
{
    return every > 0 && step % every == 0;
}

static bool is_interrupted(const struct session *session)
{
    return session->call->interrupted && atomic_load(session->call->interrupted);
}

/* ---- setup ---- */

/* Replaces precision `auto` by that of `backend`; checks that any other agrees with it. */
static rotary_status resolve_precision(struct session *session, rotary_error *error)
{
    int used = session->call->backend->storage == ROTARY_BF16 ? PRECISION_BF16 : PRECISION_F32;
    int *wanted = &session->config.train.precision;
    if (*wanted != PRECISION_AUTO && *wanted != used)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "precision is %s, but the model would be computed in %s", precision_names[*wanted],
                           precision_names[used]);
    *wanted = used;
    return ROTARY_OK;
}

/* Locks the folder and checks that this call may train in it. */
static rotary_status enter_folder(struct session *session, rotary_error *error)
{
    const char *folder = session->call->folder;
    rotary_status status = run_archive_refuse(folder, error);
    if (status == ROTARY_OK)
        status = file_make_folder(folder, error);
    if (status == ROTARY_OK)
        status = folder_lock(folder, &session->lock, error);
    if (status == ROTARY_OK)
        status = folder_owner_take(&session->owner, folder, error);
    enum folder_state state;
    if (status == ROTARY_OK)
        status = folder_inspect(folder, &state, error);
    if (status != ROTARY_OK)
        return status;
    session->writes_config = true;
    if (state == FOLDER_INCOMPLETE)
        return folder_fail_incomplete(folder, error);
    if (state == FOLDER_EMPTY)
        return ROTARY_OK;
    if (!session->call->resume)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s holds a run already: wanted --resume, which goes on with it, or another folder by --out",
            folder);
    session->resumes = true;
    struct run_config recorded RUN_CONFIG_LOCAL = {0};
    char path[FILE_PATH_BYTES];
    status = run_read_config(folder, &recorded, error);
    if (status == ROTARY_OK)
        status = file_path(path, folder, FOLDER_CONFIG, error);
    if (status == ROTARY_OK)
        status = run_config_check_same(&session->config, &recorded, path, error);
    if (status == ROTARY_OK)
        status = run_config_check_steps(&session->config, &recorded, path, error);
    if (status == ROTARY_OK)
        session->writes_config = !run_config_equal(&session->config, &recorded);
    return status;
}

/* ---- one step ---- */

/* Records the divergence in metrics.jsonl, so that resuming is refused, and fails. The message names a tensor. */
static rotary_status fail_diverged(struct session *session, const char *what, double value, int64_t step,
                                   rotary_error *error)
{
    const bool has_loss = strcmp(what, gradient_norm_name) == 0;
    rotary_status status = metrics_write_divergence(&session->metrics, step, what, error);
    if (status == ROTARY_OK)
        status = metrics_sync(&session->metrics, error);
    if (status != ROTARY_OK)
        return status;
    char tensor[DIVERGENCE_BYTES];
    divergence_tensor(transformer_parameters(session->trainer.transformer), has_loss, tensor);
    const char *const before = tensor[0] ? "; " : "";
    if (session->saved_step < 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the %s is %g at step %lld: training diverged; try a lower learning_rate or more "
                           "warmup_steps%s%s",
                           what, value, (long long)step, before, tensor);
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "the %s is %g at step %lld: training diverged; the checkpoint of step %lld in %s is kept%s%s", what,
        value, (long long)step, (long long)session->saved_step, session->call->folder, before, tensor);
}

/* Allocates nothing after the first step. */
static rotary_status take_step(struct session *session, struct train_progress *progress, rotary_error *error)
{
    double begin = rotary_clock();
    int64_t step = session->state.step + 1;
    struct trainer_step taken;
    session->trainer.stops = is_interrupted(session);
    rotary_status status = trainer_step(&session->trainer, step, &taken, error);
    if (status != ROTARY_OK)
        return status;
    double mean = taken.loss.total / (double)taken.loss.counted;
    if (taken.diverged && !isfinite(mean))
        return fail_diverged(session, "loss", mean, step, error);
    if (taken.diverged)
        return fail_diverged(session, gradient_norm_name, taken.gradient_norm, step, error);
    session->state.step = step;
    session->state.loss_total += taken.loss.total;
    session->state.loss_counted += taken.loss.counted;
    session->state.loss_steps++;
    session->state.gradient_norm = taken.gradient_norm;
    session->tokens += taken.tokens;
    double end = rotary_clock();
    session->stepping += end - begin;
    int64_t steps = session->config.train.steps;
    *progress = (struct train_progress){
        .step = step,
        .steps = steps,
        .loss = mean,
        .learning_rate = taken.learning_rate,
        .gradient_norm = taken.gradient_norm,
        .tokens_per_second = (double)session->tokens / session->stepping,
        .seconds_left =
            (end - session->start) / (double)(step - session->first_step) * (double)(steps - step),
    };
    return ROTARY_OK;
}

/* ---- metrics, checkpoints, evaluations ---- */

/* Starts the mean loss of the next line. */
static void reset_loss_mean(struct session *session)
{
    session->state.loss_total = 0;
    session->state.loss_counted = 0;
    session->state.loss_steps = 0;
}

static rotary_status write_line(struct session *session, const struct train_progress *progress,
                                rotary_error *error)
{
    struct metrics_line line = {
        .step = progress->step,
        .loss = session->state.loss_total / (double)session->state.loss_counted,
        .learning_rate = progress->learning_rate,
        .gradient_norm = progress->gradient_norm,
        .tokens_per_second = progress->tokens_per_second,
    };
    reset_loss_mean(session);
    session->stepping = 0;
    session->tokens = 0;
    return metrics_write_line(&session->metrics, &line, error);
}

/* Keeps the weights of the checkpoint just written or loaded, if they will be averaged. */
static rotary_status keep_weights(struct session *session, rotary_error *error)
{
    return average_keep(session->call->folder, &session->config,
                        transformer_parameters(session->trainer.transformer), session->state.step, error);
}

/* Checks that no other process has taken the folder; `now`: as in folder_owner_keep(). */
static rotary_status keep_folder(struct session *session, bool now, rotary_error *error)
{
    bool usable;
    rotary_error gone;
    rotary_status status = folder_owner_keep(&session->owner, now, error);
    if (status != ROTARY_OK && folder_watch_check(&session->watch, &usable, &gone) != ROTARY_OK && !usable)
        status =
            rotary_fail(error, ROTARY_IO_ERROR, "%s", gone.message); /* there is no such folder any more */
    return status;
}

/* Writes a checkpoint, after all lines of metrics up to it are on the disk. Where another file than these
 * went away its weights are worth keeping. */
static rotary_status save(struct session *session, rotary_error *error)
{
    bool usable;
    rotary_error gone = {0};
    rotary_status status = trainer_collect(&session->trainer, error);
    if (status == ROTARY_OK)
        status = keep_folder(session, true, error);
    if (status != ROTARY_OK)
        return status;
    const rotary_status there = folder_watch_check(&session->watch, &usable, &gone);
    if (there != ROTARY_OK && !usable)
        return rotary_fail(error, there, "%s", gone.message);
    status = metrics_sync(&session->metrics, error);
    if (status == ROTARY_OK)
        status =
            checkpoint_write(session->call->folder, &session->config,
                             transformer_parameters(session->trainer.transformer), &session->state, error);
    if (status != ROTARY_OK)
        return status;
    session->saved_step = session->state.step;
    if (there != ROTARY_OK)
        return rotary_fail(error, there, "%.400s; the weights of step %lld are saved", gone.message,
                           (long long)session->state.step);
    return keep_weights(session, error);
}

/* What is not a checkpoint's is written only where the run is whole. */
static rotary_status check_folder(struct session *session, rotary_error *error)
{
    bool usable;
    rotary_status status = keep_folder(session, true, error);
    return status == ROTARY_OK ? folder_watch_check(&session->watch, &usable, error) : status;
}

/* Replaces the best checkpoint if the validation loss is lower than any before. This comes before the line of
 * metrics: a run that is killed between the two evaluates again when it resumes, and finds the same loss in
 * the best checkpoint. */
static rotary_status keep_best(struct session *session, double loss, rotary_error *error)
{
    if (!(loss < session->best.loss))
        return ROTARY_OK;
    const struct checkpoint_best best = {.step = session->state.step, .loss = loss};
    rotary_status status = check_folder(session, error);
    if (status == ROTARY_OK)
        status = checkpoint_write_best(session->call->folder, &session->config,
                                       transformer_parameters(session->trainer.transformer), &best, error);
    if (status == ROTARY_OK)
        session->best = best;
    return status;
}

/* Evaluates the trainer's model, which has the weights of the current step, as other ranks have, or the averaged
 * ones, which rank 0 has alone. */
static rotary_status evaluate(struct session *session, bool averaged, struct evaluation *evaluation,
                              rotary_error *error)
{
    const struct run_config *config = &session->config;
    const bool last =
        session->state.step == config->train.steps && averaged == (config->train.average_checkpoints > 0);
    const struct run_evaluation how = {.config = config,
                                       .ranks = averaged ? NULL : session->call->ranks,
                                       .folder = session->call->folder,
                                       .interrupted = session->call->interrupted,
                                       .last = last};
    *evaluation = (struct evaluation){.sample_count = SAMPLES, .samples = session->samples};
    struct profile *profile = session->call->backend->profile; /* measures steps, not evaluations */
    if (profile)
        profile->paused = true;
    session->trainer.stops = is_interrupted(session);
    rotary_status status = averaged ? ROTARY_OK : trainer_call_evaluation(&session->trainer, error);
    if (status == ROTARY_OK)
        status = run_evaluation(&how, session->trainer.task, session->trainer.transformer, evaluation, error);
    if (profile)
        profile->paused = false;
    if (status != ROTARY_OK)
        return status;
    if (!isfinite(evaluation->loss))
        return fail_diverged(session, "validation loss", evaluation->loss, session->state.step, error);
    evaluation->averaged = averaged;
    status = averaged ? ROTARY_OK : keep_best(session, evaluation->loss, error);
    if (status == ROTARY_OK)
        status = keep_folder(session, false, error);
    if (status == ROTARY_OK)
        status = metrics_write_evaluation(&session->metrics, session->state.step, evaluation, error);
    session->evaluated_all = last;
    return status;
}

/* ---- the loop ---- */

/* Whether this step, which is the last one now, was evaluated when it was not: without the test set. */
static bool lacks_test(const struct session *session)
{
    const struct evaluation *last = &session->metrics.evaluation;
    return !session->evaluated_all && session->config.train.average_checkpoints == 0 &&
           session->state.step == session->config.train.steps &&
           session->metrics.evaluated == session->state.step &&
           ((last->translated > 0 && last->test.translated == 0) ||
            (last->labels.examples > 0 && last->test.labels.examples == 0));
}

static bool evaluation_is_due(const struct session *session)
{
    const struct train_config *train = &session->config.train;
    int64_t step = session->state.step;
    return lacks_test(session) || (step > session->metrics.evaluated &&
                                   (step == train->steps || is_due(step, train->evaluate_every)));
}

static rotary_status stop(struct session *session, rotary_error *error)
{
    if (session->saved_step < session->state.step) {
        rotary_status status = trainer_collect(&session->trainer, error);
        if (status == ROTARY_OK || status == ROTARY_INTERRUPTED)
            status = save(session, error);
        if (status != ROTARY_OK)
            return status;
    }
    return rotary_fail(error, ROTARY_INTERRUPTED, "stopped after step %lld of %lld; resume it in %s",
                       (long long)session->state.step, (long long)session->config.train.steps,
                       session->call->folder);
}

static rotary_status evaluate_if_due(struct session *session, struct train_progress *progress,
                                     struct evaluation *evaluation, rotary_error *error)
{
    if (!evaluation_is_due(session) || is_interrupted(session))
        return ROTARY_OK;
    rotary_status status = evaluate(session, false, evaluation, error);
    if (status == ROTARY_OK)
        progress->evaluation = evaluation;
    return status;
}

static void report(struct session *session, struct train_progress *progress)
{
    progress->remark = session->remark[0] ? session->remark : NULL;
    if (session->call->progress)
        session->call->progress(session->call->argument, progress);
    session->remark[0] = 0;
}

/* Whether the last step is done but has no line: the run was stopped there when it had more steps. */
static bool line_is_due(const struct session *session)
{
    return session->state.step == session->config.train.steps && session->state.loss_counted > 0;
}

/* Writes the line and the evaluation of the current step if the run was stopped before them. */
static rotary_status catch_up(struct session *session, rotary_error *error)
{
    const struct train_progress last = {
        .step = session->state.step,
        .learning_rate = schedule_rate(&session->trainer.schedule, session->state.step),
        .gradient_norm = session->state.gradient_norm,
    };
    rotary_status status = ROTARY_OK;
    if (line_is_due(session))
        status = write_line(session, &last, error);
    struct train_progress progress = {.step = session->state.step, .steps = session->config.train.steps};
    struct evaluation evaluation;
    if (status == ROTARY_OK)
        status = evaluate_if_due(session, &progress, &evaluation, error);
    if (status == ROTARY_OK && progress.evaluation)
        report(session, &progress);
    return status;
}

/* Takes a step, then writes the line, checkpoint and evaluation that are due. The evaluation comes after the
 * checkpoint, so that a run stopped during it loses no step. */
static rotary_status advance(struct session *session, rotary_error *error)
{
    const struct train_config *train = &session->config.train;
    struct train_progress progress;
    rotary_status status = take_step(session, &progress, error);
    bool last = session->state.step == train->steps;
    if (status == ROTARY_OK)
        status = keep_folder(session, false, error);
    if (status == ROTARY_OK && (last || is_due(session->state.step, train->log_every)))
        status = write_line(session, &progress, error);
    if (status == ROTARY_OK && (last || is_due(session->state.step, train->checkpoint_every)))
        status = save(session, error);
    struct evaluation evaluation;
    if (status == ROTARY_OK)
        status = evaluate_if_due(session, &progress, &evaluation, error);
    if (status == ROTARY_OK)
        report(session, &progress);
    return status;
}

static bool average_is_due(const struct session *session)
{
    const struct train_config *train = &session->config.train;
    return train->average_checkpoints > 0 && train->steps > 0 && session->state.step == train->steps &&
           session->metrics.averaged < train->steps;
}

/* The end of a run that averages its checkpoints: from here on the trainer's model has the mean, which is
 * evaluated. */
static rotary_status average(struct session *session, rotary_error *error)
{
    struct train_progress progress = {.step = session->state.step, .steps = session->config.train.steps};
    struct evaluation evaluation;
    rotary_status status = check_folder(session, error);
    if (status == ROTARY_OK)
        status = average_finish(session->call->folder, &session->config,
                                transformer_parameters(session->trainer.transformer), error);
    if (status == ROTARY_OK)
        status = evaluate(session, true, &evaluation, error);
    progress.evaluation = &evaluation;
    if (status == ROTARY_OK)
        report(session, &progress);
    return status;
}

/* A run of no steps has nothing to do but to save its initial weights. */
static bool is_finished(const struct session *session)
{
    return session->state.step == session->config.train.steps && session->saved_step >= 0 &&
           !line_is_due(session) && !evaluation_is_due(session) && !average_is_due(session);
}

static rotary_status run(struct session *session, rotary_error *error)
{
    rotary_status status = session->saved_step >= 0 ? keep_weights(session, error) : ROTARY_OK;
    if (status == ROTARY_OK)
        status = catch_up(session, error);
    session->start = rotary_clock();
    while (status == ROTARY_OK && session->state.step < session->config.train.steps &&
           (session->call->ranks || !is_interrupted(session)))
        status = advance(session, error);
    if (status == ROTARY_OK && session->config.train.steps == 0)
        status = save(session, error);
    if (status == ROTARY_OK && average_is_due(session) && !is_interrupted(session))
        status = average(session, error);
    if (status == ROTARY_OK)
        status = check_folder(session, error);
    if (status == ROTARY_INTERRUPTED || (status == ROTARY_OK && !is_finished(session)))
        return stop(session, error);
    return status;
}

/* ---- train_run() ---- */

/* Checks that metrics.jsonl ends where the checkpoint expects it: at the line before loss_steps steps, or, if
 * catch_up() wrote one, at a line of the checkpoint's own step. */
static rotary_status check_metrics(struct session *session, rotary_error *error)
{
    int64_t step = session->state.step, wanted = step - session->state.loss_steps;
    if (session->metrics.diverged)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "training diverged at step %lld in %s and would again; try a lower learning_rate "
                           "or more warmup_steps in another folder by --out",
                           (long long)session->metrics.diverged, session->call->folder);
    if (session->metrics.logged == step) {
        reset_loss_mean(session);
        return ROTARY_OK;
    }
    if (session->metrics.logged == wanted)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s: the last complete line up to the checkpoint's step %lld is of step %lld; "
                       "wanted one of step %lld: lines are missing",
                       session->metrics.path, (long long)step, (long long)session->metrics.logged,
                       (long long)wanted);
}

/* Finds the best validation loss so far. Without a best checkpoint it is the lowest in metrics.jsonl, so that
 * a model is only ever called the best of its run if it is. */
static rotary_status find_best(struct session *session, rotary_error *error)
{
    struct checkpoint_best *best = &session->best;
    double lowest = session->metrics.lowest_loss;
    rotary_status status = checkpoint_read_best(session->call->folder, &session->config, best, error);
    if (status != ROTARY_OK)
        return status;
    if (best->step > session->config.train.steps)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT, "%s/" FOLDER_BEST " is of step %lld, past the %lld steps wanted",
            session->call->folder, (long long)best->step, (long long)session->config.train.steps);
    if (best->step == 0)
        best->loss = lowest;
    if (metrics_rounded(best->loss) <= lowest)
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_BAD_FILE,
        "%s/" FOLDER_BEST
        " is of step %lld and validation loss %.9g, but %s has an evaluation with a loss of %.9g: "
        "it is not the best checkpoint of this run",
        session->call->folder, (long long)best->step, best->loss, session->metrics.path, lowest);
}

/* Bits depend on the device: one that is another than the run began with is said. */
static void note_device(struct session *session, bool begins)
{
    const bool cuda = device_is_cuda(session->call->backend);
    const char *const begun = session->state.cuda ? "cuda" : "cpu";
    if (begins)
        session->state.cuda = cuda;
    else if (session->state.cuda != cuda)
        snprintf(session->remark, REMARK_BYTES,
                 "the run began on the device %s and goes on with %s: the last bits of its numbers will be "
                 "others than if it had not stopped; --device %s keeps them",
                 begun, cuda ? "cuda" : "cpu", begun);
}

/* And on the instruction set. */
static void note_isa(struct session *session)
{
    const rotary_isa isa = session->call->backend->isa;
    const char *const begun = rotary_isa_name(session->state.isa);
    if (session->state.isa == ROTARY_ISA_AUTO)
        session->state.isa = isa;
    else if (session->state.isa != isa)
        snprintf(session->remark, REMARK_BYTES,
                 "the run began with the instruction set %s and goes on with %s: the last bits of its "
                 "numbers will be others than if it had not stopped; --isa %s keeps them",
                 begun, rotary_isa_name(isa), begun);
}

/* A run whose weights were taken away, or that was killed before its first checkpoint, begins anew. */
static void note_beginning(struct session *session, const struct checkpoint *checkpoint)
{
    if (!checkpoint->model && session->metrics.dropped > 0)
        snprintf(session->remark, REMARK_BYTES,
                 FOLDER_METRICS " has lines up to step %lld, but there is no checkpoint: training begins at "
                                "the first step",
                 (long long)session->metrics.dropped);
}

/* Reads checkpoints and metrics, changing nothing except to finish an interrupted rename of a checkpoint. */
static rotary_status find_state(struct session *session, struct checkpoint *checkpoint, rotary_error *error)
{
    const char *folder = session->call->folder;
    rotary_status status = checkpoint_open(checkpoint, folder, &session->config, error);
    if (status != ROTARY_OK)
        return status;
    session->state = checkpoint->state;
    note_device(session, session->state.isa == ROTARY_ISA_AUTO);
    note_isa(session);
    session->first_step = checkpoint->state.step;
    session->saved_step = checkpoint->model ? checkpoint->state.step : -1;
    if (session->state.step > session->config.train.steps)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s is at step %lld already, past the %lld steps wanted", folder,
                           (long long)session->state.step, (long long)session->config.train.steps);
    if (session->resumes)
        status = run_check_unchanged(folder, error);
    if (status == ROTARY_OK)
        status = metrics_read(&session->metrics, folder, session->state.step, error);
    note_beginning(session, checkpoint);
    if (status == ROTARY_OK)
        status = check_metrics(session, error);
    if (status == ROTARY_OK)
        status = find_best(session, error);
    return status == ROTARY_OK ? average_check(folder, &session->config, session->state.step, error) : status;
}

/* Allocates everything, before anything in the folder changes. */
static rotary_status set_up(struct session *session, const struct checkpoint *checkpoint, rotary_error *error)
{
    const char *resumed = session->resumes ? session->call->folder : NULL;
    rotary_status status =
        resumed ? corpus_check_config(&session->config.task, TASK_TRAINING, resumed, error) : ROTARY_OK;
    if (status == ROTARY_OK)
        status = trainer_create_rank(&session->trainer, &session->config, resumed, session->call->backend,
                                     session->call->ranks, error);
    if (status == ROTARY_OK)
        status = checkpoint->model ? trainer_resume(&session->trainer, checkpoint, error)
                                   : trainer_begin(&session->trainer, error);
    return trainer_meet(&session->trainer, session->call->ranks, status, error);
}

/* Says in config.json what the run is, and what trains it from here on. */
static rotary_status describe(struct session *session, rotary_error *error)
{
    const struct provenance_call call = {.backend = session->call->backend,
                                         .commit = session->call->commit,
                                         .step = session->first_step,
                                         .folder = session->resumes ? session->call->folder : NULL};
    bool grown;
    rotary_status status = provenance_extend(&session->provenance, &grown, &call, error);
    if (status != ROTARY_OK || (!grown && !session->writes_config))
        return status;
    const struct run_record record = {
        .parameters = parameters_total(transformer_parameters(session->trainer.transformer)),
        .provenance = session->provenance};
    return run_write_config(session->call->folder, &session->config, session->trainer.task, &record, error);
}

static rotary_status begin_and_run(struct session *session, rotary_error *error)
{
    struct checkpoint checkpoint = {.model = NULL};
    rotary_status status = enter_folder(session, error);
    if (status == ROTARY_OK)
        status = find_state(session, &checkpoint, error);
    bool finished = status == ROTARY_OK && is_finished(session);
    struct follower_start start = {.finished = finished,
                                   .resumes = session->resumes,
                                   .saved = checkpoint.model != NULL,
                                   .step = session->state.step};
    status = follower_begin(session->call->ranks, &start, status, error);
    if (status == ROTARY_OK && !finished)
        status = set_up(session, &checkpoint, error);
    checkpoint_close(&checkpoint);
    if (status == ROTARY_OK && !finished)
        status = describe(session, error);
    if (status != ROTARY_OK || finished)
        return status;
    const struct train_beginning beginning = {
        .task = session->trainer.task, .done = session->first_step, .unused = &session->trainer.unused};
    if (session->call->begin)
        session->call->begin(session->call->argument, &beginning);
    status = metrics_open(&session->metrics, error);
    if (status == ROTARY_OK)
        status =
            metrics_open_events(&session->metrics, session->call->folder, session->call->tensorboard, error);
    session->watch = (struct folder_watch){.folder = session->call->folder,
                                           .metrics = session->metrics.path,
                                           .folder_file = session->lock,
                                           .metrics_file = session->metrics.file};
    if (status == ROTARY_OK)
        status = folder_watch_begin(&session->watch, error);
    if (status == ROTARY_OK)
        status = run(session, error);
    return status;
}

rotary_status train_run(const struct train_call *call, struct train_result *result, rotary_error *error)
{
    double begin = rotary_clock();
    struct session session = {.call = call,
                              .config = *call->config,
                              .lock = -1,
                              .saved_step = -1,
                              .metrics = {.file = -1, .loss = NAN},
                              .best = {.loss = INFINITY}};
    rotary_status status = resolve_precision(&session, error);
    if (status == ROTARY_OK)
        status = together_check_shards(call->ranks, &session.config, error);
    status = ranks_agree(call->ranks, status, error);
    if (status == ROTARY_OK)
        status = together_check_same(call->ranks, &session.config, call->backend, error);
    if (status == ROTARY_OK && ranks_index(call->ranks) > 0)
        return follower_run(call, &session.config, result, error);
    if (status == ROTARY_OK)
        status = begin_and_run(&session, error);
    trainer_leave(&session.trainer);
    status = ranks_agree(call->ranks, status, error);
    *result = (struct train_result){
        .steps_done = session.state.step,
        .first_step = session.first_step,
        .loss = session.metrics.loss,
        .seconds = rotary_clock() - begin,
        .evaluation = session.metrics.evaluation,
        .diverged = session.metrics.diverged,
    };
    folder_watch_end(&session.watch);
    metrics_close(&session.metrics);
    json_decref(session.provenance);
    trainer_destroy(&session.trainer);
    folder_owner_leave(&session.owner);
    folder_unlock(session.lock);
    return status;
}
