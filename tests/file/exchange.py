# SPDX-License-Identifier: Apache-2.0
"""The other side of test_exchange: reads what the C code wrote with NumPy and the format's own words, and writes files
for the C code to read. `exchange.py FOLDER`; exits 77 where NumPy is missing."""
import json
import struct
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(77)

folder = sys.argv[1]

for name, dtype in [("f16", "<f2"), ("f32", "<f4"), ("f64", "<f8"), ("i32", "<i4"), ("i64", "<i8"), ("bool", "|b1")]:
    array = np.load(f"{folder}/c_{name}.npy")
    wanted = (np.arange(24).reshape(2, 3, 4) - 7).astype(dtype)
    assert array.dtype == np.dtype(dtype) and array.shape == (2, 3, 4) and (array == wanted).all(), name
    np.save(f"{folder}/python_{name}.npy", wanted[::-1])

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

# The checksum, from its description in src/file/checksum.h.
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
