# SPDX-License-Identifier: Apache-2.0
"""mypy, strict, finds nothing in the package; ruff, where it is installed, nothing in package, tests and example."""
import os
import pathlib
import subprocess
import sys

from harness import Case, has, main

SOURCE = pathlib.Path(os.environ["ROTARY_SOURCE_DIR"])
SCRATCH = os.environ["SCRATCH"]
WRONG = """import rotary
rope = rotary.Rope(8, pairing="pairs")
rotary.attention(1, 2, 3, causal="yes")
"""


def run(*command):
    return subprocess.run([sys.executable, "-m", *command], cwd=SOURCE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


class Types(Case):
    def test_mypy(self):
        said = run("mypy", "--cache-dir", SCRATCH + "/cache")
        self.assertEqual(said.returncode, 0, said.stdout)

    def test_users_are_checked(self):
        path = pathlib.Path(SCRATCH) / "user.py"
        path.write_text(WRONG)
        said = run("mypy", "--cache-dir", SCRATCH + "/cache", str(path))
        self.assertIn("user.py:2: error", said.stdout)
        self.assertIn("user.py:3: error", said.stdout)

    def test_ruff(self):
        if not has("ruff"):
            self.skipTest("there is no ruff")
        said = run("ruff", "check", "--no-cache", "python", "tests/python", "examples/plot_comparison.py")
        self.assertEqual(said.returncode, 0, said.stdout)


if __name__ == "__main__":
    main()
