#!/usr/bin/env python3
"""model_stream.py JOB.json MODEL.safetensors [FIELD=VALUE...]: the stream of `paceline-agent model`
(docs/reference/agent-programs.md) on standard output, with other fields in its head. The digest is computed here, apart
from our own code."""
import json
import struct
import sys

MASK = (1 << 64) - 1


def mix(h, word):
    h = ((h ^ word) * 0xD6E8FEB86659FD93) & MASK
    return h ^ h >> 32


def digest(data):
    h = mix(0x9E3779B97F4A7C15, len(data))
    whole = len(data) // 8
    for word in struct.unpack_from(f"<{whole}Q", data):
        h = mix(h, word)
    return f"{mix(h, int.from_bytes(data[8 * whole:], 'little')):016x}"


def main():
    job, model = (open(path, "rb").read() for path in sys.argv[1:3])
    head = {"version": 1, "job": "small", "uid": "u", "generation": 1, "step": 64, "accuracy": 0.5,
            "digest": "00112233aabbccdd", "jobBytes": len(job), "modelBytes": len(model),
            "modelDigest": digest(model), "later": "ignored"}
    for override in sys.argv[3:]:
        key, _, value = override.partition("=")
        head[key] = json.loads(value)
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n" + job + model)


main()
