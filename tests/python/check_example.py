# SPDX-License-Identifier: Apache-2.0
"""examples/plot_comparison.py: its intervals are those that the program reports (README.md), and it draws."""
import os
import pathlib
import subprocess
import sys

from harness import Case, main

SOURCE = pathlib.Path(os.environ["ROTARY_SOURCE_DIR"])
SCRATCH = pathlib.Path(os.environ["SCRATCH"])


def plot(*arguments):
    command = [sys.executable, str(SOURCE / "examples/plot_comparison.py"), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, "MPLCONFIGDIR": str(SCRATCH)})


class Example(Case):
    def test_curves(self):
        picture = SCRATCH / "curves.svg"
        said = plot(str(SOURCE / "results/prefix-quick.tar.gz"), "--output", str(picture))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("roper - rope: -0.3931 [-0.4693, -0.3168] at step 400, 6 of 6 seeds\n", said.stdout)
        self.assertIn("rope: 0.8443 [", said.stdout)
        self.assertGreater(picture.read_text().count("<path"), 10)

    def test_options(self):
        folder = str(SOURCE / "results/prefix-all.tar.gz")
        said = plot(folder, "--arms", "alibi,t5", "--baseline", "none", "--measure", "accuracy", "--from-step", "200",
                    "--output", str(SCRATCH / "some.png"))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("t5 - none: ", said.stdout)
        self.assertNotIn("roper", said.stdout)
        for arguments, text in (((folder, "--arms", "alibi,what"), "'what'"), ((folder, "--measure", "joy"), "'joy'"),
                                ((str(SCRATCH),), "compare.json")):
            said = plot(*arguments)
            self.assertEqual(said.returncode, 2)
            self.assertIn(text, said.stderr)


if __name__ == "__main__":
    main()
