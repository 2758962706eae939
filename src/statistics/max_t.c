/* SPDX-License-Identifier: Apache-2.0 */
#include "statistics/max_t.h"

#include "base/fail.h"
#include "base/random.h"
#include "statistics/selection.h"
#include "statistics/sign_flip.h"

#include <math.h>
#include <stdlib.h>

enum { GROUP = 8, ENTRIES = 1 << GROUP };

/* Shares (share_of) that differ by less are equal. */
static const double rounding = 1e-10;

struct moments {
    int count; /* pairs */
    double mean, error;
    /* The largest magnitude that the sum can have with these squares; the second of differences less their
     * mean, 0 if they are equal but for rounding. */
    double norms[2];
    double found; /* the share of the pattern found */
};

/* The two largest shares of a pattern, and which contrast has the first. */
struct largest {
    double first, second;
    int at;
};

/* Sums are looked up: seeds are taken in groups, and each contrast has a table of the sums of every group
 * under every pattern of its signs. */
struct flips {
    const struct max_t_call *call;
    int groups, patterns;
    bool centred_now;        /* the tables are of differences less their means */
    int allowed;             /* the patterns that may reach what is found if p is to be at most alpha */
    double freedom;          /* the most degrees of freedom that a contrast has */
    unsigned char *signs;    /* [patterns][groups]; a bit that is set flips a seed. The first flips none */
    unsigned char *mask;     /* [contrasts][groups] of the seeds with a pair */
    double *tables;          /* [contrasts][groups][ENTRIES] */
    struct moments *moments; /* [contrasts] */
    int *order;              /* [contrasts], the largest t first */
    struct largest *raw, *centred; /* [patterns], of differences as found and less their means */
    double *reach;                 /* [patterns], scratch */
};

static bool has_pair(const struct max_t_contrast *contrast, int seed)
{
    return !isnan(contrast->differences[seed]);
}

/* ---- memory, patterns ---- */

static int count_patterns(const struct max_t_call *call)
{
    const int drawn = call->max_patterns ? call->max_patterns : SIGN_FLIP_SAMPLES + 1;
    if (call->seed_count > SIGN_FLIP_EXACT)
        return drawn;
    const int all = 1 << (call->seed_count - 1);
    return call->max_patterns && all > drawn ? drawn : all;
}

/* Exact ones leave the first seed as it is. Drawn ones are those of sign_flip_p. */
static void set_signs(struct flips *flips)
{
    const int seeds = flips->call->seed_count;
    const bool exact = seeds <= SIGN_FLIP_EXACT && flips->patterns == 1 << (seeds - 1);
    struct rotary_random random = {.key = {.stream = ROTARY_STREAM_SIGN_FLIP}};
    for (int i = 1; i < flips->patterns; i++) {
        unsigned char *signs = flips->signs + (size_t)i * (size_t)flips->groups;
        uint32_t bits = (uint32_t)i << 1;
        for (int seed = 0; seed < seeds; seed++, bits >>= 1) {
            if (!exact && seed % 32 == 0)
                bits = ~rotary_random_next(&random);
            signs[seed / GROUP] = (unsigned char)(signs[seed / GROUP] | (bits & 1) << seed % GROUP);
        }
    }
}

static void destroy(struct flips *flips)
{
    free(flips->signs);
    free(flips->mask);
    free(flips->tables);
    free(flips->moments);
    free(flips->order);
    free(flips->raw);
    free(flips->centred);
    free(flips->reach);
}

static rotary_status create(struct flips *flips, const struct max_t_call *call, rotary_error *error)
{
    const int groups = (call->seed_count + GROUP - 1) / GROUP, patterns = count_patterns(call);
    const size_t contrasts = (size_t)call->contrast_count, count = (size_t)patterns;
    *flips = (struct flips){.call = call,
                            .groups = groups,
                            .patterns = patterns,
                            .signs = calloc(count, (size_t)groups),
                            .mask = calloc(contrasts, (size_t)groups),
                            .tables = calloc(contrasts * (size_t)groups, ENTRIES * sizeof(double)),
                            .moments = calloc(contrasts, sizeof(struct moments)),
                            .order = calloc(contrasts, sizeof(int)),
                            .raw = calloc(count, sizeof(struct largest)),
                            .centred = calloc(count, sizeof(struct largest)),
                            .reach = calloc(count, sizeof(double))};
    if (!flips->signs || !flips->mask || !flips->tables || !flips->moments || !flips->order || !flips->raw ||
        !flips->centred || !flips->reach) {
        destroy(flips);
        return rotary_fail_memory(error, "for %d sign patterns of %d contrasts", patterns,
                                  call->contrast_count);
    }
    set_signs(flips);
    while ((flips->allowed + 1) / (double)patterns <= call->alpha)
        flips->allowed++;
    return ROTARY_OK;
}

/* ---- sums, shares ---- */

/* With the means subtracted, or not. */
static void fill_tables(struct flips *flips, bool centre)
{
    flips->centred_now = centre;
    for (int i = 0; i < flips->call->contrast_count; i++) {
        const struct max_t_contrast *contrast = &flips->call->contrasts[i];
        const double shift = centre ? flips->moments[i].mean : 0;
        for (int group = 0; group < flips->groups; group++) {
            double *table = flips->tables + ((size_t)i * (size_t)flips->groups + (size_t)group) * ENTRIES,
                   differences[GROUP] = {0};
            table[0] = 0;
            for (int j = 0; j < GROUP && group * GROUP + j < flips->call->seed_count; j++)
                if (has_pair(contrast, group * GROUP + j)) {
                    differences[j] = contrast->differences[group * GROUP + j] - shift;
                    table[0] += differences[j];
                }
            for (int j = 0; j < GROUP && group * GROUP + j < flips->call->seed_count; j++)
                for (int entry = 0; entry < 1 << j; entry++)
                    table[(1 << j) + entry] = table[entry] - 2 * differences[j];
        }
    }
}

static double sum_of(const struct flips *flips, int contrast, int pattern)
{
    const unsigned char *signs = flips->signs + (size_t)pattern * (size_t)flips->groups;
    const double *table = flips->tables + (size_t)contrast * (size_t)flips->groups * ENTRIES;
    double sum = 0;
    for (int group = 0; group < flips->groups; group++, table += ENTRIES)
        sum += table[signs[group]];
    return sum;
}

/* t / √(freedom + t²), which grows with t from 0 to 1. Of n pairs with the sum S and squares that add up to Q
 * the share a = S / √(nQ) is t / √(n - 1 + t²); contrasts with fewer pairs than others are brought to the
 * same scale. */
static double share_of(const struct flips *flips, int contrast, double sum)
{
    const struct moments *moments = &flips->moments[contrast];
    const double norm = moments->norms[flips->centred_now];
    if (!(norm > 0))
        return 0;
    const double share = fmin(fabs(sum) / norm, 1), freedom = moments->count - 1;
    if (freedom >= flips->freedom)
        return share;
    return share * sqrt(freedom / (flips->freedom + (freedom - flips->freedom) * share * share));
}

static double t_of_share(const struct flips *flips, double share)
{
    return share < 1 - rounding ? sqrt(flips->freedom) * share / sqrt(1 - share * share) : (double)INFINITY;
}

static void set_moments(struct flips *flips)
{
    for (int i = 0; i < flips->call->contrast_count; i++) {
        const double *differences = flips->call->contrasts[i].differences;
        struct moments *moments = &flips->moments[i];
        double sum = 0, squares = 0, deviations = 0;
        for (int seed = 0; seed < flips->call->seed_count; seed++) {
            if (!has_pair(&flips->call->contrasts[i], seed))
                continue;
            unsigned char *mask = &flips->mask[(size_t)i * (size_t)flips->groups + (size_t)(seed / GROUP)];
            *mask = (unsigned char)(*mask | 1 << seed % GROUP);
            moments->count++;
            sum += differences[seed];
        }
        moments->mean = sum / moments->count;
        for (int seed = 0; seed < flips->call->seed_count; seed++) {
            if (!has_pair(&flips->call->contrasts[i], seed))
                continue;
            const double deviation = differences[seed] - moments->mean;
            squares += differences[seed] * differences[seed];
            deviations += deviation * deviation;
        }
        moments->norms[0] = sqrt(moments->count * squares);
        moments->norms[1] = sqrt(moments->count * deviations);
        if (moments->norms[1] <= rounding * moments->norms[0])
            moments->norms[1] = 0;
        moments->error = moments->count > 1 ? sqrt(deviations / (moments->count - 1.0) / moments->count) : 0;
        flips->freedom = fmax(flips->freedom, moments->count - 1);
    }
}

static void widen(struct largest *largest, double share, int at)
{
    if (share > largest->first) {
        largest->second = largest->first;
        largest->first = share;
        largest->at = at;
    } else {
        largest->second = fmax(largest->second, share);
    }
}

/* ---- the test ---- */

/* Sets the shares found, and the order of the contrasts; equal ones keep theirs. */
static void set_order(struct flips *flips)
{
    for (int i = 0; i < flips->call->contrast_count; i++) {
        flips->moments[i].found = share_of(flips, i, sum_of(flips, i, 0));
        int place = i;
        while (place > 0 && flips->moments[flips->order[place - 1]].found < flips->moments[i].found) {
            flips->order[place] = flips->order[place - 1];
            place--;
        }
        flips->order[place] = i;
    }
}

/* Counts in p the patterns that reach what was found. */
static void count_reaching(struct flips *flips)
{
    for (int pattern = 0; pattern < flips->patterns; pattern++) {
        double largest = 0;
        for (int rank = flips->call->contrast_count - 1; rank >= 0; rank--) {
            const int contrast = flips->order[rank];
            const double share = share_of(flips, contrast, sum_of(flips, contrast, pattern));
            largest = fmax(largest, share);
            flips->call->contrasts[contrast].p += largest >= flips->moments[contrast].found - rounding;
            widen(&flips->raw[pattern], share, contrast);
        }
    }
}

static void set_p(struct flips *flips)
{
    double before = 0;
    for (int i = 0; i < flips->call->contrast_count; i++)
        flips->call->contrasts[i].p = 0;
    count_reaching(flips);
    for (int rank = 0; rank < flips->call->contrast_count; rank++) {
        double *p = &flips->call->contrasts[flips->order[rank]].p;
        *p = before = fmax(before, *p / flips->patterns);
    }
}

/* ---- the intervals ---- */

static void find_centred(struct flips *flips)
{
    for (int pattern = 0; pattern < flips->patterns; pattern++)
        for (int i = 0; i < flips->call->contrast_count; i++)
            widen(&flips->centred[pattern], share_of(flips, i, sum_of(flips, i, pattern)), i);
}

static int count_flipped(const struct flips *flips, int contrast, int pattern)
{
    const unsigned char *signs = flips->signs + (size_t)pattern * (size_t)flips->groups,
                        *mask = flips->mask + (size_t)contrast * (size_t)flips->groups;
    int count = 0;
    for (int group = 0; group < flips->groups; group++)
        count += __builtin_popcount(signs[group] & mask[group]);
    return count;
}

/* How far from the mean, to the side of `sign`, a value is for which the pattern still reaches the t found.
 * If F is what the pattern flips, the contrast's own t does so up to the mean over F or over the others,
 * whichever is farther to that side; the largest t of the other contrasts does up to that many errors. */
static double reach_of(const struct flips *flips, int contrast, int pattern, int sign,
                       const struct largest *largest)
{
    const struct moments *moments = &flips->moments[contrast];
    const int flipped = count_flipped(flips, contrast, pattern), kept = moments->count - flipped;
    const double others = largest->at == contrast ? largest->second : largest->first,
                 t = t_of_share(flips, others);
    if (flipped == 0 || kept == 0 || isinf(t))
        return (double)INFINITY;
    const double half = sign * sum_of(flips, contrast, pattern) / 2;
    return fmax(fmax(half / kept, -half / flipped), t * moments->error);
}

/* An end: the value for which so many patterns reach the t found that p is above alpha. */
static double find_end(struct flips *flips, int contrast, int sign, const struct largest *largest)
{
    for (int i = 0; i < flips->patterns; i++)
        flips->reach[i] = reach_of(flips, contrast, i, sign, &largest[i]);
    if (flips->allowed >= flips->patterns)
        return flips->moments[contrast].mean;
    return flips->moments[contrast].mean +
           sign * selection_largest(flips->reach, flips->patterns, flips->allowed);
}

/* Makes the intervals at least as wide as they are with these others. */
static void widen_intervals(struct flips *flips, const struct largest *largest)
{
    for (int i = 0; i < flips->call->contrast_count; i++) {
        struct max_t_contrast *contrast = &flips->call->contrasts[i];
        contrast->low = fmin(contrast->low, find_end(flips, i, -1, largest));
        contrast->high = fmax(contrast->high, find_end(flips, i, 1, largest));
    }
}

static void set_intervals(struct flips *flips)
{
    for (int i = 0; i < flips->call->contrast_count; i++)
        flips->call->contrasts[i].low = flips->call->contrasts[i].high = flips->moments[i].mean;
    fill_tables(flips, true);
    widen_intervals(flips, flips->raw);
    if (flips->call->others_as_found || flips->call->contrast_count == 1)
        return;
    find_centred(flips);
    widen_intervals(flips, flips->centred);
}

rotary_status max_t_test(const struct max_t_call *call, rotary_error *error)
{
    struct flips flips;
    rotary_status status = create(&flips, call, error);
    if (status != ROTARY_OK)
        return status;
    set_moments(&flips);
    fill_tables(&flips, false);
    set_order(&flips);
    set_p(&flips);
    set_intervals(&flips);
    destroy(&flips);
    return ROTARY_OK;
}
