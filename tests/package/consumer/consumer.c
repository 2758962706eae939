/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses the installed library and nothing of this tree: rotates a vector by an angle of 1 and
 * checks the result.
 */
#include <math.h>
#include <rotary/rotary.h>
#include <stdio.h>

int main(void)
{
    rotary_error error;
    rotary_rope_config config;
    rotary_rope_config_default(&config);
    config.head_dim = 2;
    rotary_rope *rope;
    if (rotary_rope_create(&rope, &config, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    float x[2] = {1, 0};
    rotary_rope_apply_call call = {
        .struct_size = sizeof call, .batch = 1, .time = 1, .positions = {.offset = 1}};
    call.query = (rotary_rope_tensor){.heads = 1, .input = {.data = x}, .output = {.data = x}};
    rotary_status status = rotary_rope_apply(rope, &call, &error);
    rotary_rope_destroy(rope);
    if (status) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("%.6f %.6f by %s\n", (double)x[0], (double)x[1], rotary_version());
    return fabs((double)x[0] - cos(1.0)) > 1e-6 || fabs((double)x[1] - sin(1.0)) > 1e-6 ||
           rotary_version_number() != ROTARY_VERSION_NUMBER;
}
