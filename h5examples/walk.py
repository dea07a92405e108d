#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""walk.py FILE STEPS - serial.c in Python: h5py keeps its state in one file, and goes on from it.

It knows nothing of h5veloc. With HDF5_VOL_CONNECTOR=veloc the plug-in must be that of
the HDF5 that h5py is built with.
"""
import sys

import h5py

EVERY = 100


def load(name):
    try:
        with h5py.File(name, "r") as file:
            return int(file.attrs["step"]), int(file["at"][()])
    except FileNotFoundError:
        return 0, 0


def save(name, step, at):
    with h5py.File(name, "w") as file:
        file.attrs["step"] = step
        file.create_dataset("at", data=at, dtype="u8")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: walk.py FILE STEPS")
    name, steps = sys.argv[1], int(sys.argv[2])
    step, at = load(name)
    print(f"begins at step {step}")
    while step < steps:
        at = (at * 6364136223846793005 + 1442695040888963407) % 2**64
        step += 1
        if step % EVERY == 0 or step == steps:
            save(name, step, at)
    print(f"step {step} is at {at:016x}")


main()
