#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the files of corpus/tokens as src/text/corpus/token_file.h describes them; the checksums are those of
src/file/checksum/checksum.h and src/file/checksum/block_checksum.h."""
import os
import struct

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "tokens")
MASK = (1 << 64) - 1
HEADER, BLOCK = 256, 1 << 20


def mix(lane, word):
    lane = (lane ^ word) * 0x9E3779B97F4A7C15 & MASK
    return lane ^ lane >> 32


def checksum(data):
    lanes = [1, 2, 3, 4]
    padded = data + bytes(-len(data) % 32)
    for i, word in enumerate(struct.unpack(f"<{len(padded) // 8}Q", padded)):
        lanes[i % 4] = mix(lanes[i % 4], word)
    result = len(data)
    for lane in lanes:
        result = mix(result, lane)
    return mix(result, 0)


def block_checksum(data):
    return checksum(b"".join(struct.pack("<Q", checksum(data[i:i + BLOCK])) for i in range(0, len(data), BLOCK)))


def write(name, documents, vocabulary):
    tokens = b"".join(struct.pack("<i", token) for document in documents for token in document)
    begins = [sum(len(document) for document in documents[:i]) for i in range(len(documents) + 1)]
    starts = b"".join(struct.pack("<qq", begin, 3 * begin) for begin in begins)  # tokens of three bytes
    # text bytes and checksum, checksum of the tokenizer, vocabulary, boundary; then the contents
    head = b"rotary tokens\n\x1a\0" + struct.pack(
        "<qQQQqqqqqQQ", 3, 77, 1234567, 7654321, vocabulary, 0, len(documents), begins[-1], 3 * begins[-1],
        block_checksum(tokens), block_checksum(starts))
    head += struct.pack("<Q", checksum(head))
    with open(os.path.join(folder, name), "wb") as file:
        file.write(head + bytes(HEADER - len(head)) + tokens + bytes(-len(tokens) % 8) + starts)


os.makedirs(folder, exist_ok=True)
write("one.tokens", [[0]], 1)
write("even.tokens", [[3, 1], [4], [1, 5, 9]], 10)
write("odd.tokens", [[2, 6], [5], [3, 5, 8], [9]], 259)
write("large.tokens", [[(i * j) % 1000 for j in range(i % 7 + 1)] for i in range(200)], 1000)
