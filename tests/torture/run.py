#!/usr/bin/env python3
"""Runs programs again and again while one of their fallible calls fails: the first, the second, and so on.

Usage: run.py --library FAIL_NTH.SO [--most N] [--seconds S] PROGRAM...

Of a program with more than N calls, N are tried, spread evenly. A program may end as it likes, with the words that
it likes, but not by a signal, and not later than S seconds. Prints one line per program; exit status 1 when one of
them did not hold.
"""
import argparse
import concurrent.futures
import os
import signal
import subprocess
import sys
import tempfile


def run(arguments, program, at, folder):
    count = os.path.join(folder, f"count-{at}")
    env = dict(os.environ, LD_PRELOAD=os.path.abspath(arguments.library), FAIL_AT=str(at), FAIL_COUNT=count)
    try:
        with subprocess.Popen(
            [program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env,
            start_new_session=True,
        ) as process:
            try:
                words = process.communicate(timeout=arguments.seconds)[1]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return "did not end", b""
    except OSError as error:
        return f"cannot be started: {error}", b""
    if process.returncode < 0:
        return f"ended by {signal.Signals(-process.returncode).name}", words
    if at == 0:
        with open(count, encoding="ascii") as f:
            return int(f.read()), words
    return None, words


def torture(arguments, program, pool, folder):
    calls, words = run(arguments, program, 0, folder)
    if not isinstance(calls, int):
        return [f"{program} {calls} where nothing failed: {words.decode(errors='replace')[-300:]}"], 0, 0
    step = max(1, -(-calls // arguments.most))
    tried = range(1, calls + 1, step)
    findings = []
    for at, (ending, words) in zip(tried, pool.map(lambda at: run(arguments, program, at, folder), tried)):
        if ending:
            last = words.decode(errors="replace").strip().splitlines()[-1:]
            findings.append(f"{program} {ending} where call {at} of {calls} failed {last}")
    return findings, len(tried), calls


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--most", type=int, default=1 << 30)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("programs", nargs="+")
    arguments = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for program in arguments.programs:
            findings, tried, calls = torture(arguments, program, pool, folder)
            for finding in findings[:10]:
                print(finding)
            print(f"{os.path.basename(program)}: {tried} of {calls} calls failed, {len(findings)} findings")
            failed |= bool(findings) or calls == 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
