/* SPDX-License-Identifier: Apache-2.0
 *
 * tests_FOLDER TEST ARGUMENTS...: runs one of the tests of a folder, as if it were a program of its own. The build
 * renames each test's main (cmake/tests.cmake), and calls it as a program is called: with arguments, whether it
 * declares them or not.
 */
#include <stdio.h>
#include <string.h>

#define TEST(name) int name##_main(int count, char **arguments);
#include "test_list.h"
#undef TEST

static const struct {
    const char *name;
    int (*run)(int count, char **arguments);
} tests[] = {
#define TEST(name) {#name, name##_main},
#include "test_list.h"
#undef TEST
};

int main(int count, char **arguments)
{
    for (size_t i = 0; count > 1 && i < sizeof tests / sizeof *tests; i++)
        if (strcmp(arguments[1], tests[i].name) == 0)
            return tests[i].run(count - 1, arguments + 1);
    fprintf(stderr, "usage: %s TEST ARGUMENTS..., where TEST is one of\n", arguments[0]);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        fprintf(stderr, "  %s\n", tests[i].name);
    return 2;
}
