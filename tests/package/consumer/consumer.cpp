// SPDX-License-Identifier: Apache-2.0
//
// The same in C++11, with all headers and default structs: attention over one token gives its value.
#include <rotary/rotary.h>

#include <cstdio>
#include <vector>

int main()
{
    rotary_error error = {};
    rotary_rope_config rope_config;
    rotary_rope_config_default(&rope_config);
    rope_config.head_dim = 8;
    rotary_rope *rope = nullptr;
    if (rotary_rope_create(&rope, &rope_config, &error) != ROTARY_OK) {
        std::fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    rotary_attention_config config;
    rotary_attention_config_default(&config);
    config.heads = config.key_value_heads = 1;
    config.head_dim = 8;
    config.causal = true;
    config.rope = rope;
    rotary_attention *attention = nullptr;
    if (rotary_attention_create(&attention, &config, &error) != ROTARY_OK) {
        std::fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    float vector[8] = {1, -2, 3, -4, 5, -6, 7, -8}, output[8] = {};
    rotary_attention_forward_call call = {};
    call.struct_size = sizeof call;
    call.shape.batch = call.shape.queries = call.shape.keys = 1;
    call.query.data = call.key.data = call.value.data = vector;
    call.output.data = output;
    std::vector<unsigned char> memory(rotary_attention_forward_bytes(attention, call.shape) + 64);
    std::size_t address = reinterpret_cast<std::size_t>(memory.data());
    call.workspace = memory.data() + (64 - address % 64) % 64;
    rotary_status status = rotary_attention_forward(attention, &call, &error);
    rotary_attention_destroy(attention);
    rotary_rope_destroy(rope);
    if (status != ROTARY_OK) {
        std::fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    for (int i = 0; i < 8; i++)
        if (output[i] != vector[i])
            return 1;
    std::printf("attention over one token is its value\n");
    return 0;
}
