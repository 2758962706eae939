/* SPDX-License-Identifier: Apache-2.0
 *
 * RoPE in twenty lines: makes a plan and rotates three tokens of one head in place.
 */
#include <rotary/rotary.h>
#include <stdio.h>

int main(void)
{
    rotary_error error;
    rotary_rope_config config;
    rotary_rope_config_default(&config);
    config.head_dim = 4; /* two pairs: channels 0 and 2, channels 1 and 3 */
    rotary_rope *rope;
    if (rotary_rope_create(&rope, &config, &error))
        return fprintf(stderr, "%s\n", error.message), 1;

    float query[3][4] = {{1, 1, 0, 0}, {1, 1, 0, 0}, {1, 1, 0, 0}}; /* [time, head_dim] */
    rotary_rope_apply_call call = {.struct_size = sizeof call, .batch = 1, .time = 3};
    call.query = (rotary_rope_tensor){
        .heads = 1, .input = {.data = query, .time_stride = 4}, .output = {.data = query, .time_stride = 4}};
    if (rotary_rope_apply(rope, &call, &error))
        return fprintf(stderr, "%s\n", error.message), 1;

    for (int position = 0; position < 3; position++)
        printf("position %d: %8.5f %8.5f %8.5f %8.5f\n", position, (double)query[position][0],
               (double)query[position][1], (double)query[position][2], (double)query[position][3]);
    rotary_rope_destroy(rope);
    return 0;
}
