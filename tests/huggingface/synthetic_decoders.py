# SPDX-License-Identifier: Apache-2.0
"""synthetic_decoders.py TEST_DECODERS: makes tiny decoders with transformers, for test_decoders to compare its logits with."""
import os
import subprocess
import sys
import tempfile
import make_decoders


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_decoders.make(folder, False)
        folders = [os.path.join(folder, name) for name in make_decoders.CASES]
        sys.exit(subprocess.run([os.path.realpath(sys.argv[1]), *folders], check=False).returncode)


main()
