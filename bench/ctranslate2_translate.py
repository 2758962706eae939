"""Times CTranslate2 on what `rotary bench translate` times: a model of the same shape with random weights, sentences of the
same lengths, translations of equally many tokens.

    python3 bench/ctranslate2_translate.py [--beams 5] [--compute float32|int8|...] [--resident]

Which library multiplies is chosen when the process starts, by CT2_USE_MKL=0 or 1; and a process that computed in one type is
slower in another. Prints one JSON object, with --resident another one for each line on standard input.
"""
import argparse
import json
import os
import sys
import tempfile
import time

import ctranslate2
import numpy
from ctranslate2.specs import transformer_spec

WIDTH, LAYERS, HEADS, HIDDEN, VOCABULARY = 128, 4, 4, 256, 8000
random = numpy.random.default_rng(1)


def weights(*shape):
    return (0.05 * random.standard_normal(shape)).astype(numpy.float32)


def fill_linear(linear, outputs, inputs):
    linear.weight = weights(outputs, inputs)
    linear.bias = numpy.zeros(outputs, numpy.float32)


def fill_norm(norm):
    norm.gamma = numpy.ones(WIDTH, numpy.float32)
    norm.beta = numpy.zeros(WIDTH, numpy.float32)


def fill_layer(layer):
    fill_linear(layer.self_attention.linear[0], 3 * WIDTH, WIDTH)
    fill_linear(layer.self_attention.linear[1], WIDTH, WIDTH)
    fill_norm(layer.self_attention.layer_norm)
    fill_linear(layer.ffn.linear_0, HIDDEN, WIDTH)
    fill_linear(layer.ffn.linear_1, WIDTH, HIDDEN)
    fill_norm(layer.ffn.layer_norm)


def make_model():
    rotation = {"rotary_dim": WIDTH // HEADS, "rotary_interleave": False}
    encoder = transformer_spec.TransformerEncoderSpec(LAYERS, HEADS, **rotation)
    decoder = transformer_spec.TransformerDecoderSpec(LAYERS, HEADS, **rotation)
    table = weights(VOCABULARY, WIDTH)
    encoder.embeddings[0].weight = decoder.embeddings.weight = decoder.projection.weight = table
    encoder.scale_embeddings = decoder.scale_embeddings = True
    for part in encoder, decoder:
        fill_norm(part.layer_norm)
        for layer in part.layer:
            fill_layer(layer)
    for layer in decoder.layer:
        fill_linear(layer.attention.linear[0], WIDTH, WIDTH)
        fill_linear(layer.attention.linear[1], 2 * WIDTH, WIDTH)
        fill_linear(layer.attention.linear[2], WIDTH, WIDTH)
        fill_norm(layer.attention.layer_norm)
    model = transformer_spec.TransformerSpec(encoder, decoder)
    words = ["<unk>", "<s>", "</s>"] + [f"word{i}" for i in range(VOCABULARY - 3)]
    model.register_source_vocabulary(words)
    model.register_target_vocabulary(words)
    model.validate()
    return model


def seconds_of(translator, options):
    longest = options.source_tokens + options.source_tokens // 2
    shortest = 2 * options.source_tokens - longest
    draw = numpy.random.default_rng(2)
    sentences = [[f"word{i}" for i in draw.integers(0, VOCABULARY - 3, shortest + s % (longest - shortest + 1))]
                 for s in range(options.sentences)]

    def translate(some):
        return translator.translate_batch(some, beam_size=options.beams, max_batch_size=options.batch_size,
                                          min_decoding_length=options.tokens, max_decoding_length=options.tokens)

    translate(sentences[:8])
    begin = time.perf_counter()
    results = translate(sentences)
    seconds = time.perf_counter() - begin
    lengths = {len(result.hypotheses[0]) for result in results}
    assert lengths == {options.tokens}, f"translations of {lengths} tokens"
    return seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compute", default="float32")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--beams", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--source-tokens", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--resident", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        os.mkdir(path)
        make_model().save(path)
        translator = ctranslate2.Translator(path, device="cpu", compute_type=options.compute, inter_threads=1,
                                            intra_threads=options.threads)
    seconds_of(translator, options)
    while True:
        print(json.dumps({"peer": "CTranslate2 " + ctranslate2.__version__, "mode": options.compute, "beams": options.beams,
                          "median_seconds": seconds_of(translator, options)}), flush=True)
        if not options.resident or not sys.stdin.readline():
            return


if __name__ == "__main__":
    main()
