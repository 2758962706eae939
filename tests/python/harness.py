# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share: a reference in double precision, numbers, the exit status."""
import importlib.util
import os
import pathlib
import sys
import tarfile
import unittest

import numpy


def unpacked(name):
    """The folder of an archive of results/, unpacked where the test may write."""
    scratch = pathlib.Path(os.environ["SCRATCH"])
    if not (scratch / name).exists():
        with tarfile.open(pathlib.Path(os.environ["ROTARY_SOURCE_DIR"]) / f"results/{name}.tar.gz") as tar:
            tar.extractall(scratch)  # the archives are our own
    return scratch / name


def has(*modules):
    """Whether these modules can be imported; they are not imported yet."""
    return all(importlib.util.find_spec(module) is not None for module in modules)


def numbers(seed, *shape, dtype="float32"):
    """Signed numbers of wide range."""
    generator = numpy.random.default_rng(seed)
    return (generator.standard_normal(shape) * 2.0 ** generator.integers(-4, 3, shape)).astype(dtype)


def swapped(x):
    """The same numbers in the other byte order."""
    return x.astype(x.dtype.newbyteorder())


def misaligned(x):
    """The same numbers at an address that is no multiple of their size."""
    memory = numpy.zeros(x.nbytes + 1, "uint8")
    y = memory[1:].view(x.dtype).reshape(x.shape)
    y[...] = x
    assert not y.flags.aligned
    return y


def rotated(x, frequencies, positions, pairing="half", start=0, inverse=False):
    """x [..., time, heads, channels] in double precision, rotated at positions that broadcast to [..., time]."""
    y = numpy.array(x, "float64")
    pairs = len(frequencies)
    first = start + (numpy.arange(pairs) if pairing == "half" else 2 * numpy.arange(pairs))
    second = first + (pairs if pairing == "half" else 1)
    angle = numpy.asarray(positions, "float64")[..., None, None] * frequencies * (-1 if inverse else 1)
    a, b = y[..., first], y[..., second]
    cosine, sine = numpy.cos(angle), numpy.sin(angle)
    y[..., first], y[..., second] = a * cosine - b * sine, a * sine + b * cosine
    return y


def largest(a, b):
    """The largest difference, relative to the largest number; NaN where one is there."""
    a, b = numpy.asarray(a, "float64"), numpy.asarray(b, "float64")
    assert a.shape == b.shape and a.size > 0, (a.shape, b.shape)
    return numpy.abs(a - b).max() / max(numpy.abs(b).max(), 1e-30)


class Case(unittest.TestCase):
    def close(self, got, wanted, bound):
        error = largest(got, wanted)
        self.assertTrue(error <= bound, f"the error is {error}, wanted at most {bound}")

    def refuses(self, kind, text, function, *arguments, **named):
        """The message says what is wrong."""
        with self.assertRaises(kind) as caught:
            function(*arguments, **named)
        self.assertIn(text, str(caught.exception))


def main():
    """Runs the tests of the calling script; exits with 77 if all were skipped."""
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    if result.wasSuccessful() and result.testsRun == len(result.skipped):
        print("skipped:", {reason for _, reason in result.skipped})
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
