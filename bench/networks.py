"""The networks of make bench, what they are fed with, and the roofline bound of their steps."""

import random
import struct
import zlib

# kind of data, size of its images or steps of its rows, batches by default
NETWORKS = {
    "fashion-cnn": ("fashion", 28, [128, 32, 8, 1]),
    "mnist-cnn": ("fashion", 28, [128, 32, 8, 1]),
    "mlp": ("fashion", 28, [128]),
    "densenet40": ("fashion", 28, [32]),
    "resnet20": ("cifar", 32, [32]),
    "resnet50": ("cifar", 32, [32]),
    "resnet56": ("cifar", 32, [32]),
    "resnet56v2": ("cifar", 32, [32]),
    "squeezenet": ("images", 112, [16]),
    "googlenet": ("images", 112, [16]),
    "resnet34": ("images", 64, [16]),
    "resnet34-zerofill": ("images", 64, [16]),
    "vgg16e": ("images", 64, [16]),
    "ptb-small": ("text", 20, [20]),
    "ptb-medium": ("text", 35, [20]),
    "ptb-large": ("text", 35, [20]),
}
CLASSES, WORDS = 256, 10000

noise = random.Random(1)


def write_cifar(folder):
    for i in range(6):
        name = f"data_batch_{i + 1}.bin" if i < 5 else "test_batch.bin"
        records = (bytes([noise.randrange(10)]) + noise.randbytes(3 * 32 * 32) for _ in range(512))
        (folder / name).write_bytes(b"".join(records))


def png(size):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + noise.randbytes(3 * size) for _ in range(size))
    head = struct.pack(">2I5B", size, size, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 0)) +
            chunk(b"IEND", b""))


def write_images(folder, size):
    for part in ("train", "test"):
        for i in range(CLASSES):
            (folder / part / f"{i:03}").mkdir(parents=True)
            (folder / part / f"{i:03}" / "0.png").write_bytes(png(size))


def write_text(folder):
    """Words of which the k-th is there 1/k times as often as the first, after each once."""
    words = [f"w{i}" for i in range(WORDS - 1)]  # and the end of a sentence
    weights = [1 / (i + 1) for i in range(len(words))]
    for name, n in (("train.txt", 60000), ("test.txt", 2000)):
        text = (words if n > WORDS else []) + noise.choices(words, weights, k=n)
        lines = (" ".join(text[i : i + 20]) for i in range(0, len(text), 20))
        (folder / name).write_text("\n".join(lines) + "\n")


def dataset(network, scratch, fashion):
    """The job's spec.dataset; what has to be made is made once, of noise."""
    kind, size, _ = NETWORKS[network]
    folder = scratch / f"{kind}-{size}"
    made = folder.exists()
    folder.mkdir(exist_ok=True)
    if kind == "fashion":
        return {"name": "fashion-mnist", "path": str(fashion)}
    if kind == "cifar":
        if not made:
            write_cifar(folder)
        return {"name": "cifar10", "path": str(folder)}
    if kind == "images":
        if not made:
            write_images(folder, size)
        return {"name": "images", "path": str(folder), "imageSize": size}
    if not made:
        write_text(folder)
    return {"name": "text", "path": str(folder), "steps": size}


def fed_with(network):
    kind, size, _ = NETWORKS[network]
    return {"fashion": "1x28x28", "text": f"rows of {size} words"}.get(kind, f"3x{size}x{size}")


def parameters(layers):
    return sum(layer["parameters"] for layer in layers)


# Maps that a layer without sums has to read and write at least, forward and backward: of its
# inputs and of its output. ReLU and flatten belong to the layer before; what is added or put side by
# side has the gradient of the whole. A map is moved once in each pass, though no pass is
# fused with the next.
MAPS = {"batchnorm": (1, 1, 2, 1), "lrn": (1, 1, 2, 1), "add": (1, 1, 0, 0), "maxpool": (1, 1, 1, 1),
        "avgpool": (1, 1, 1, 1), "globalavgpool": (1, 1, 1, 1), "dropout": (1, 1, 1, 1)}


def pass_bound(layer, batch, floats, flops, bandwidth):
    """Seconds that one pass of a layer needs at least, which moves so many floats."""
    return max(batch * layer["flopsForward"] / flops, 4 * floats / bandwidth)


def convolutions(layers, batch, flops, bandwidth):
    """{name: (what it is, seconds of a pass at least)} of those with 16 channels in and out at least; of
    equal ones the first."""
    found = {}
    for layer in layers:
        (c, h, w), (k, oh, ow) = layer["in"], layer["out"]
        if layer["type"] != "conv" or min(c, k) < 16:
            continue
        (r, s), (down, right) = layer["kernel"], layer["stride"]
        said = f"{r}x{s} {c}-to-{k} at {h}x{w}" + (f", stride {down}" if max(down, right) > 1 else "")
        floats = batch * (c * h * w + k * oh * ow) + layer["parameters"]
        if said not in (what for what, _ in found.values()):
            found[layer["name"]] = said, pass_bound(layer, batch, floats, flops, bandwidth)
    return found


def bound(layers, batch, flops, bandwidth):
    """Seconds that a step needs at least: of each pass of a layer the longer of its arithmetic
    (flops: a second) and of the bytes that it moves (bandwidth: a second) where no map stays in a
    cache; and the update."""
    def floats(shape):
        return batch * shape[0] * shape[1] * shape[2]

    sizes = {layer["name"]: floats(layer["out"]) for layer in layers}
    seconds = 5 * 4 * parameters(layers) / bandwidth  # weight, gradient, velocity; two are written
    trained = set()
    for layer in layers:
        below = any(name in trained for name in layer["inputs"])
        into = sum(sizes.get(name, floats(layer["in"])) for name in layer["inputs"])
        out = sizes[layer["name"]]
        if below or layer["parameters"]:
            trained.add(layer["name"])
        if layer["flopsForward"]:
            moved = into + out + layer["parameters"]
            seconds += (2 + below) * pass_bound(layer, batch, moved, flops, bandwidth)
        elif layer["type"] in MAPS:
            ins, outs, back_ins, back_outs = MAPS[layer["type"]]
            moved = ins * into + outs * out
            if below:
                moved += back_ins * into + back_outs * out
            seconds += 4 * moved / bandwidth
    return seconds
