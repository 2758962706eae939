# SPDX-License-Identifier: Apache-2.0
"""The other side of test_exchange: reads the files of the C code with NumPy and by the safetensors format, and writes
files for the C code to read. `exchange.py FOLDER`; exits 77 where NumPy is missing."""
import json
import struct
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(77)

folder = sys.argv[1]

def stored(numbers, name, dtype):
    """Numbers as stored in the file; bf16 as ml_dtypes saves it, an untyped value of two bytes."""
    if name == "bf16":
        return (numbers.astype("<f4").view("<u4") >> 16).astype("<u2").view("V2")
    return numbers.astype(dtype)


kinds = ["f2", "f4", "f8", "V2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"]
for name, kind in zip(["f16", "f32", "f64", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"], kinds):
    numbers = np.arange(24).reshape(2, 3, 4) - 7
    array = np.load(f"{folder}/c_{name}.npy")
    wanted = stored(numbers, name, "<" + kind)
    assert array.dtype == wanted.dtype and array.shape == (2, 3, 4) and (array == wanted).all(), name
    reversed_axis = wanted[::-1]
    np.save(f"{folder}/python_{name}.npy", np.ascontiguousarray(reversed_axis))
    np.save(f"{folder}/fortran_{name}.npy", np.asfortranarray(reversed_axis))
    swapped = reversed_axis if kind == "V2" else reversed_axis.astype(">" + kind)
    np.save(f"{folder}/big_{name}.npy", swapped)
    np.save(f"{folder}/both_{name}.npy", np.asfortranarray(swapped))

with open(f"{folder}/c.safetensors", "rb") as file:
    content = file.read()
(length,) = struct.unpack("<Q", content[:8])
header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
assert header["__metadata__"]["step"] == "17"
assert header["weight"]["dtype"] == "F32" and header["weight"]["shape"] == [2, 3]
begin, end = header["weight"]["data_offsets"]
assert (np.frombuffer(data[begin:end], "<f4") == np.arange(6) - 2.5).all()
begin, end = header["half"]["data_offsets"]
assert header["half"]["dtype"] == "BF16" and data[begin:end] == bytes([0x80, 0x3F, 0x00, 0xC0])

# The checksum, from its description in src/file/checksum/checksum.h.
def mix(lane, word):
    lane = ((lane ^ word) * 0x9E3779B97F4A7C15) % 2**64
    return lane ^ lane >> 32

written = header["__metadata__"]["content_hash"].encode()
zeroed = content.replace(written, b"0" * 16, 1)
padded = zeroed + bytes(-len(zeroed) % 32)
lanes = [1, 2, 3, 4]
for block in range(0, len(padded), 32):
    for lane, word in enumerate(struct.unpack("<4Q", padded[block : block + 32])):
        lanes[lane] = mix(lanes[lane], word)
result = len(zeroed)
for lane in lanes:
    result = mix(result, lane)
assert b"%016x" % mix(result, 0) == written

weight = (np.arange(6, dtype="<f4") * 0.5).tobytes()
header = json.dumps({"weight": {"dtype": "F32", "shape": [3, 2], "data_offsets": [0, 24]},
                     "__metadata__": {"format": "pt"}}).encode()
header += b" " * (-len(header) % 8)
with open(f"{folder}/python.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header + weight)
