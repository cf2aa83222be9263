#!/usr/bin/env python3
"""Times PyTorch's Gloo all-reduce: gloo.py RANKS ROUNDS BYTES..., lines as allreduce.c's."""

import os
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as processes


def measure(rank, ranks, rounds, sizes, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    for size in sizes:
        values = torch.zeros(size // 4)
        times = min(50, max(1, (16 << 20) // size))
        for i in range(rounds):
            dist.all_reduce(values)
            dist.barrier()
            start = time.perf_counter()
            for _ in range(times):
                dist.all_reduce(values)
            mine = torch.tensor([(time.perf_counter() - start) / times], dtype=torch.float64)
            dist.all_reduce(mine, op=dist.ReduceOp.MAX)
            if rank == 0:
                print(f"gloo,{ranks},{size},{i},{mine.item():.9f}", flush=True)


if __name__ == "__main__":
    ranks, rounds, *sizes = map(int, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        processes.spawn(measure, (ranks, rounds, sizes, store), nprocs=ranks)
