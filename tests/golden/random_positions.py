# SPDX-License-Identifier: Apache-2.0
"""Randomised positions as src/model/encoding/random_positions.h has them, for the scripts beside this one."""

STREAM = 12


def philox(seed, counter):
    """Philox-4x32-10."""
    c, key = list(counter), [seed % 2**32, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ key[0], b % 2**32, a >> 32 ^ c[3] ^ key[1], a % 2**32]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return c


def drawn(positions, longest, count, sequence, seed=0, step=0):
    """The first `count` of an ordered random subset of `longest` of 0 ... positions - 1."""
    subset = []
    for position in range(positions):
        block = (sequence << 30) + position // 4
        word = philox(seed, (block % 2**32, block >> 32, STREAM, step))[position % 4]
        if word * (positions - position) >> 32 < longest - len(subset):
            subset.append(position)
    assert len(subset) == longest
    return subset[:count]
