# SPDX-License-Identifier: Apache-2.0
"""make_rounded_goldens.py > tests/oracle/rounded_goldens.h: rotations computed by PyTorch in 16 bits.

The code is that of Hugging Face's models. "f32 angles": inverse frequencies, positions and angles are f32, cosine and
sine are rounded to the type of the activations, and every product and sum is in that type. "16-bit angles": inverse
frequencies and positions are cast to that type with the rest of the model, and so is everything computed from them.
"""
import torch

HEAD_DIM, HEADS = 16, 2
POSITIONS = [0, 1, 3, 100, 255, 257, 4095, 15962]
FACTOR = 1.25  # the attention factor, which multiplies cosine and sine
types = {"ROTARY_BF16": torch.bfloat16, "ROTARY_F16": torch.float16}


def rotate_half(x, interleaved):
    if interleaved:
        return torch.stack((-x[..., 1::2], x[..., 0::2]), -1).flatten(-2)
    return torch.cat((-x[..., HEAD_DIM // 2:], x[..., :HEAD_DIM // 2]), -1)


def rotated(x, dtype, interleaved, angles_16):
    frequencies = 1.0 / (10000.0 ** (torch.arange(0, HEAD_DIM, 2, dtype=torch.int64).float() / HEAD_DIM))
    positions = torch.tensor(POSITIONS).float()
    if angles_16:
        frequencies, positions = frequencies.to(dtype), positions.to(dtype)
    angles = positions[:, None] * frequencies[None, :]
    angles = angles.repeat_interleave(2, -1) if interleaved else torch.cat((angles, angles), -1)
    cosine = ((angles.float().cos().to(dtype) if angles_16 else angles.cos()) * FACTOR).to(dtype)
    sine = ((angles.float().sin().to(dtype) if angles_16 else angles.sin()) * FACTOR).to(dtype)
    cosine, sine = cosine[:, None, :], sine[:, None, :]
    return (x * cosine) + (rotate_half(x, interleaved) * sine)


def bits(tensor):
    numbers = tensor.contiguous().view(torch.int16).flatten().tolist()
    numbers = [n & 0xffff for n in numbers]
    return ",\n    ".join(", ".join(f"0x{n:04x}" for n in numbers[i:i + 16]) for i in range(0, len(numbers), 16))


torch.manual_seed(7)
print("/* SPDX-License-Identifier: Apache-2.0\n *\n * Made by tests/golden/make_rounded_goldens.py with PyTorch "
      f"{torch.__version__.split('+')[0]}: do not edit. */")
print("#ifndef TESTS_ORACLE_ROUNDED_GOLDENS_H\n#define TESTS_CLI_ROUNDED_GOLDENS_H\n\n#include <rotary/rope.h>\n")
print("/* clang-format off */")
print(f"enum {{ GOLDEN_HEAD_DIM = {HEAD_DIM}, GOLDEN_HEADS = {HEADS}, GOLDEN_TIME = {len(POSITIONS)},\n"
      "       GOLDEN_NUMBERS = GOLDEN_HEAD_DIM * GOLDEN_HEADS * GOLDEN_TIME };")
print(f"static const int64_t golden_positions[] = {{{', '.join(map(str, POSITIONS))}}};")
print(f"static const double golden_factor = {FACTOR};\n")
rows = []
for name, dtype in types.items():
    x = (torch.randn(len(POSITIONS), HEADS, HEAD_DIM) * 2.0 ** torch.randint(-4, 5, (len(POSITIONS), HEADS, HEAD_DIM)))
    x = x.to(dtype)
    print(f"static const uint16_t input_{name}[] = {{\n    {bits(x)}}};\n")
    for interleaved in (False, True):
        for angles_16 in (False, True):
            label = f"rotated_{name}_{int(interleaved)}{int(angles_16)}"
            print(f"static const uint16_t {label}[] = {{\n    {bits(rotated(x, dtype, interleaved, angles_16))}}};\n")
            pairing = "ROTARY_PAIRING_INTERLEAVED" if interleaved else "ROTARY_PAIRING_HALF"
            rows.append(f"    {{{name}, {pairing}, {'true' if angles_16 else 'false'}, input_{name}, {label}}},")
print("static const struct golden {\n    rotary_dtype dtype;\n    rotary_pairing pairing;\n    bool angles_16;\n"
      "    const uint16_t *input, *rotated;\n} goldens[] = {\n" + "\n".join(rows) + "\n};")
print("/* clang-format on */\n\n#endif")
