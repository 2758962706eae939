# SPDX-License-Identifier: Apache-2.0
"""rotary.runs: published archives, and a small run of the program where it is built (ROTARY)."""
import io
import json
import os
import pathlib
import shutil
import subprocess
import tarfile

import numpy

from harness import Case, has, main, unpacked
from rotary import runs

SOURCE = pathlib.Path(os.environ["ROTARY_SOURCE_DIR"])
SCRATCH = pathlib.Path(os.environ["SCRATCH"])


class Folders(Case):
    def test_a_run(self):
        run = runs.Run(unpacked("prefix-quick") / "rope-1")
        self.assertEqual((run.config["task"], run.config["position"]), ("prefix", "rope"))
        lines = (run.folder / "metrics.jsonl").read_text().splitlines()
        wanted = [json.loads(line) for line in lines]
        self.assertEqual({len(line.pop("checksum")) for line in wanted}, {16})
        self.assertEqual(run.lines(), wanted)
        self.assertIsNone(run.diverged)
        self.assertIn("prefix-quick/rope-1", repr(run))
        packed = runs.Run(SOURCE / "results/prefix-quick.tar.gz/rope-1")
        self.assertEqual((packed.config, packed.lines()), (run.config, wanted))
        self.assertIn("prefix-quick.tar.gz/rope-1", repr(packed))

    def test_tables(self):
        if not has("pandas"):
            self.skipTest("there is no pandas")
        comparison = runs.Comparison(SOURCE / "results/prefix-quick.tar.gz")
        self.assertEqual((comparison.arms, comparison.seeds), (["rope", "roper"], [1, 2, 3, 4, 5, 6]))
        self.assertEqual(len(comparison.runs), 12)
        losses, evaluations = comparison.losses(), comparison.evaluations()
        last = evaluations[evaluations.step == evaluations.step.max()]
        # As README.md has them.
        for arm, loss in (("rope", 0.844), ("roper", 0.451)):
            self.assertTrue(abs(last[last.arm == arm].loss.mean() - loss) <= 0.0005)
        self.assertEqual(list(losses.columns),
                         ["arm", "seed", "step", "loss", "learning_rate", "gradient_norm", "tokens_per_second"])
        lines = [line for run in comparison.runs.values() for line in run.lines()]
        self.assertEqual(len(losses), sum("loss" in line for line in lines))
        self.assertEqual(len(evaluations), sum("evaluation" in line for line in lines))
        differences = comparison.differences()
        last = differences[differences.step == differences.step.max()]
        self.assertEqual((set(last.arm), sorted(last.seed)), ({"roper"}, [1, 2, 3, 4, 5, 6]))
        self.assertTrue(abs(last.difference.mean() + 0.3931) <= 0.0001)
        other = comparison.differences(baseline="roper")
        self.assertTrue(abs(other[other.step == other.step.max()].difference.mean() - 0.3931) <= 0.0001)
        self.refuses(ValueError, "'alibi', wanted one of rope, roper", comparison.differences, baseline="alibi")

    def test_nested_scores(self):
        if not has("pandas"):
            self.skipTest("there is no pandas")
        table = runs.Comparison(SOURCE / "results/translation-multi30k.tar.gz").evaluations()
        self.assertTrue({"bleu", "test.bleu", "test.loss"} <= set(table.columns))
        self.assertTrue((table["test.bleu"].dropna() > 20).any())

    def test_refusals(self):
        folder = SCRATCH / "run"
        shutil.copytree(unpacked("prefix-quick") / "rope-1", folder)
        metrics = folder / "metrics.jsonl"
        whole = metrics.read_text()
        metrics.write_text(whole + '{"step": 7, "lo')  # just being written
        self.assertEqual(len(runs.Run(folder).lines()), len(whole.splitlines()))
        metrics.write_text(whole + '{"step": 7, "lo\n')
        self.refuses(ValueError, f"line {len(whole.splitlines()) + 1}: not a line of metrics", runs.Run(folder).lines)
        metrics.write_text('[1]\n')
        self.refuses(ValueError, "line 1: not a line of metrics", runs.Run(folder).lines)
        # As the program writes it; and with another digit.
        metrics.write_text('{"step":3,"diverged":"loss","checksum":"393f7cf460c8207a"}\n')
        self.assertEqual(runs.Run(folder).lines(), [{"step": 3, "diverged": "loss"}])
        metrics.write_text('{"step":2,"diverged":"loss","checksum":"393f7cf460c8207a"}\n')
        self.refuses(ValueError, "line 1: not a line of metrics, or not as the run wrote it", runs.Run(folder).lines)
        metrics.write_text('{"step":3,"diverged":"loss"}\n')
        self.assertEqual(runs.Run(folder).diverged, "loss")
        for text, message in (("{", "is not JSON"), ("[]", "wanted an object"), ('{"format": 1}', "wanted 2")):
            (folder / "config.json").write_text(text)
            self.refuses(ValueError, message, runs.Run, folder)
        self.assertRaises(FileNotFoundError, runs.Run, SCRATCH / "nothing")
        (folder / "compare.json").write_text('{"format": 3, "arms": [{}], "seeds": [1]}')
        self.refuses(ValueError, 'no "arms" with a "name"', runs.Comparison, folder)


class Archives(Case):
    def pack(self, name, files):
        path = SCRATCH / name
        with tarfile.open(path, "w:gz") as tar:
            for file, text in files.items():
                member = tarfile.TarInfo(file)
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text))
        return path

    def test_a_run(self):
        config, line = b'{"format": 2, "seed": 7}', b'{"step": 1, "loss": 2.5}\n'
        files = {"mine/config.json": config, "mine/metrics.jsonl": line}
        for path in (self.pack("mine.tar.gz", files), self.pack("two.tar.gz", {**files, "other/x": b""}) / "mine",
                     self.pack("flat.tar.gz", {"config.json": config, "./metrics.jsonl": line})):
            run = runs.Run(path)
            self.assertEqual((run.config["seed"], run.lines()), (7, [{"step": 1, "loss": 2.5}]))
        path = self.pack("mine.tar.gz", {**files, "mine/config.json": b'{"format": 2, "seed": 8, "task": "copy"}'})
        self.assertEqual(runs.Run(path).config["seed"], 8)

    def test_refusals(self):
        self.assertRaises(FileNotFoundError, runs.Run, self.pack("none.tar.gz", {"a/b": b""}))
        whole = self.pack("whole.tar.gz", {"a/config.json": bytes(range(256)) * 9}).read_bytes()
        for damaged in (whole[:100], whole[:-9] + b"wrong" + whole[-4:], b"text"):
            path = SCRATCH / "damaged.tar.gz"
            path.write_bytes(damaged)
            self.refuses(ValueError, "damaged.tar.gz is not an archive of runs, or it is damaged", runs.Run, path)


class Program(Case):
    """What the program writes now."""

    def setUp(self):
        self.program = os.environ.get("ROTARY", "")
        if not os.access(self.program, os.X_OK):
            self.skipTest("the program is not built")

    def test_a_small_comparison(self):
        folder = SCRATCH / "comparison"
        command = [self.program, "compare", "index", "--positions", "rope,roper", "--runs", "2", "--steps", "4",
                   "--jobs", "1", "--threads", "1", "--out", str(folder)]
        for setting in ("hidden_size=32", "num_attention_heads=4", "num_hidden_layers=1", "sequence_length=64",
                        "batch_size=2", "warmup_steps=2", "validation_sequences=1", "problems=1", "log_every=1",
                        "evaluate_every=2"):
            command += ["--set", setting]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        comparison = runs.Comparison(folder)
        self.assertEqual(sorted(comparison.runs), [("rope", 1), ("rope", 2), ("roper", 1), ("roper", 2)])
        for (arm, seed), run in comparison.runs.items():
            self.assertEqual((run.config["position"], run.config["seed"]), (arm, seed))
            self.assertEqual([line["step"] for line in run.lines() if "loss" in line], [1, 2, 3, 4])
        if not has("safetensors"):
            self.skipTest("there is no safetensors")
        run = comparison.runs["rope", 1]
        weights, metadata = run.weights(), run.metadata()
        self.assertEqual(weights["embedding.weight"].shape, (run.config["vocab_size"], 32))
        self.assertEqual(weights["layers.0.attention.query_key_value.weight"].shape, (96, 32))
        self.assertTrue(all(numpy.isfinite(x).all() for x in weights.values()))
        self.assertEqual((metadata["step"], metadata["task"], metadata["seed"]), ("4", "index", "1"))
        moments = run.weights("optimizer")
        self.assertEqual(moments["moment1.embedding.weight"].shape, weights["embedding.weight"].shape)


if __name__ == "__main__":
    main()
