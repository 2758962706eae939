/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tokenising.h"

#include "base/clock.h"
#include "text/corpus/documents_request.h"

static void show(void *argument, const struct token_documents_progress *now)
{
    struct progress *progress = &((struct tokenising *)argument)->progress;
    if (now->waiting)
        progress_at_times(progress, "waiting for another process that tokenises this text");
    else if (now->done < now->bytes)
        progress_at_times(progress, "tokenising: %.0f%% of %.1f MB, %lld documents, %lld tokens",
                          100 * (double)now->done / (double)now->bytes, 1e-6 * (double)now->bytes,
                          (long long)now->documents, (long long)now->tokens);
    else
        progress_end(progress);
}

void tokenising_start(struct tokenising *tokenising, const atomic_bool *interrupted)
{
    progress_start(&tokenising->progress);
    tokenising->progress.last = rotary_clock(); /* a text that takes no time is not worth a line */
    tokenising->watch =
        (struct task_watch){.tokenised = show, .argument = tokenising, .interrupted = interrupted};
}
