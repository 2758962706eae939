/* SPDX-License-Identifier: Apache-2.0
 *
 * The worked example of docs/how-to/add-an-operation.md, "A backend operation": an operation that one line of
 * the list and one file for each backend add. Both backends compute the same, through the table.
 */
#include "backend/backend_pair.h"
#include "base/isa.h"
#include "scale_columns.h"
#include "support/check.h"

enum { ROWS = 41, COLUMNS = 23 };

static void test_scale_columns(struct pair *pair)
{
    const struct tensor *in = pair_storage(pair, ROWS, COLUMNS), *out = pair_storage(pair, ROWS, COLUMNS),
                        *scale = pair_floats(pair, 1, COLUMNS);
    for (int i = 0; i < SIDES; i++) {
        enum side side = (enum side)i;
        const struct backend *backend = &pair->backends[side];
        const struct backend_scale_columns call = {on(out, side), on(in, side), floats_on(scale, side)};
        CHECK_INT(backend->operations->scale_columns(backend, &call, NULL), ROTARY_OK);
    }
    pair_compare(pair, out, pair->backends[0].storage == ROTARY_BF16 ? 0x1p-8 : 1e-7, "scaled matrix");
    pair_clear(pair);
}

int main(void)
{
    static const rotary_dtype storages[] = {ROTARY_F32, ROTARY_BF16};
    for (int i = 0; i < 2; i++) {
        struct pair pair;
        rotary_error error = {0};
        rotary_status status = pair_create(&pair, ROTARY_ISA_AUTO, storages[i], &error);
        if (status == ROTARY_UNSUPPORTED)
            continue;
        if (!CHECK_INT(status, ROTARY_OK))
            continue;
        check_about("%s", rotary_dtype_name(storages[i]));
        test_scale_columns(&pair);
        pair_destroy(&pair);
    }
    check_about("%s", "");
    return check_report();
}
