# SPDX-License-Identifier: Apache-2.0
"""synthetic_encoders.py ROTARY: makes tiny models with transformers and compares the program with it."""
import os
import sys
import tempfile
import encoders
import make_encoders


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_encoders.make(folder, False)
        for name in make_encoders.CASES:
            if make_encoders.CASES[name][1] != "Model":
                encoders.compare(os.path.realpath(sys.argv[1]), os.path.join(folder, name))
    sys.exit(bool(encoders.failures))


main()
