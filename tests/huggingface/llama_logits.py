# SPDX-License-Identifier: Apache-2.0
"""Exported files of GGUF, read by llama.cpp: its logits must be those of the program that wrote them.

    llama_logits.py PROGRAM        PROGRAM is make_exports

Wants a library of llama.cpp: that of the package llama_cpp or xllamacpp, or the file that LLAMA_LIBRARY names.
"""
import ctypes
import glob
import importlib.util
import os
import subprocess
import sys
import tempfile

import numpy as np

# Logits are 5 at most. Matrices of bfloat16 and float16 are multiplied with activations of that type; GELU is a table of f16.
BOUNDS = {"llama_bf16": 0.2, "llama_f16": 2e-2, "neox": 5e-3, "neox_tanh": 5e-3, "gemma2": 5e-3, "neox_sequential": 5e-3}
BOUND = 5e-5


def find_library():
    names = [os.environ["LLAMA_LIBRARY"]] if "LLAMA_LIBRARY" in os.environ else []
    for package in ("llama_cpp", "xllamacpp"):
        spec = importlib.util.find_spec(package)
        for folder in spec.submodule_search_locations if spec else []:
            names += glob.glob(folder + "/**/libllama.so", recursive=True) + glob.glob(folder + "/*llama*.so")
    for name in names:
        library = ctypes.CDLL(name)
        if hasattr(library, "llama_model_load_from_file"):
            return library
    print("skipped: there is no library of llama.cpp")
    sys.exit(77)


class Parameters(ctypes.Structure):
    """Either struct of parameters, whose members differ between versions, and room for more: it is passed on the stack, of
    which a function reads as much as it knows."""
    _fields_ = [("bytes", ctypes.c_uint64 * 128)]


class Batch(ctypes.Structure):
    _fields_ = [("n_tokens", ctypes.c_int32), ("token", ctypes.c_void_p), ("embd", ctypes.c_void_p), ("pos", ctypes.c_void_p),
                ("n_seq_id", ctypes.c_void_p), ("seq_id", ctypes.c_void_p), ("logits", ctypes.c_void_p)]


LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


class Llama:
    def __init__(self, library):
        self.library = library
        for name in ("llama_model_load_from_file", "llama_init_from_model", "llama_model_get_vocab"):
            getattr(library, name).restype = ctypes.c_void_p
        for name in ("llama_model_default_params", "llama_context_default_params"):
            getattr(library, name).restype = Parameters
        library.llama_get_logits.restype = ctypes.POINTER(ctypes.c_float)
        library.llama_decode.argtypes = [ctypes.c_void_p, Batch]
        library.llama_init_from_model.argtypes = [ctypes.c_void_p, Parameters]
        library.llama_model_load_from_file.argtypes = [ctypes.c_char_p, Parameters]
        for name in ("llama_get_logits", "llama_free", "llama_model_free", "llama_model_get_vocab", "llama_vocab_n_tokens"):
            getattr(library, name).argtypes = [ctypes.c_void_p]
        self.messages = []
        self.log = LOG(lambda level, text, data: self.messages.append(text.decode(errors="replace")))
        library.llama_log_set(self.log, None)
        library.llama_backend_init()

    def context_parameters(self):
        """The defaults, but without flash attention, and for a cache of f32. Their places: -1 four times are the types of
        scaling, pooling and attention, and flash attention; and 1 twice (f16) between pointers that are NULL, those of keys
        and values."""
        parameters = self.library.llama_context_default_params()
        words = np.frombuffer(parameters, np.int32)
        pattern = lambda wanted: [i for i in range(2, 64) if (words[i:i + len(wanted)] == wanted).all()]
        unset, types = pattern([-1] * 4), pattern([0, 0, 0, 0, 1, 1, 0, 0, 0, 0])
        assert len(unset) == 1 and len(types) == 1, (unset, types)
        words[unset[0] + 3] = 0
        words[types[0] + 4:types[0] + 6] = 0
        return parameters

    def load(self, path):
        self.messages.clear()
        model = self.library.llama_model_load_from_file(path.encode(), self.library.llama_model_default_params())
        assert model, "".join(self.messages[-8:])
        return model

    def logits(self, path, tokens):
        model = self.load(path)
        context = self.library.llama_init_from_model(model, self.context_parameters())
        assert context, "".join(self.messages[-8:])
        tokens = np.ascontiguousarray(tokens, np.int32)
        flags = np.ones(len(tokens), np.int8)
        positions = np.arange(len(tokens), dtype=np.int32)
        batch = Batch(len(tokens), tokens.ctypes.data, None, positions.ctypes.data, None, None, flags.ctypes.data)
        status = self.library.llama_decode(context, batch)
        assert status == 0, status
        vocabulary = self.library.llama_vocab_n_tokens(self.library.llama_model_get_vocab(model))
        got = np.ctypeslib.as_array(self.library.llama_get_logits(context), (len(tokens), vocabulary)).copy()
        self.library.llama_free(context)
        self.library.llama_model_free(model)
        return got


def main():
    llama = Llama(find_library())
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True, stdout=subprocess.DEVNULL)
        tokens = np.load(folder + "/tokens.npy")
        compared, wrong = 0, []
        for path in sorted(glob.glob(folder + "/*.gguf")):
            name = os.path.basename(path)[:-5]
            ours, theirs = np.load(path[:-5] + ".npy"), llama.logits(path, tokens)
            error = float(np.abs(ours - theirs).max()) if ours.shape == theirs.shape else np.inf
            print(f"{name:20s} largest {np.abs(ours).max():.2f} error {error:.2e}")
            if not error <= BOUNDS.get(name, BOUND):
                wrong.append(name)
            compared += 1
    assert compared >= 20
    sys.exit(f"logits differ: {' '.join(wrong)}" if wrong else 0)


if __name__ == "__main__":
    main()
