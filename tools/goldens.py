#!/usr/bin/env python3
"""Runs the golden tests of a build folder, or with --update accepts what they give now.

    tools/goldens.py [--build DIR] [--update]

Afterwards `git diff -- '*.expected'` shows what changed.
"""
import argparse
import os
import pathlib
import subprocess
import sys


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/dev", help="build folder (default: build/dev)")
    parser.add_argument("--update", action="store_true", help="write the .expected files")
    options = parser.parse_args()

    environment = dict(os.environ)
    if options.update:
        environment["CODA_UPDATE_GOLDENS"] = "1"
    failed = 0
    programs = sorted(pathlib.Path(options.build, "tests").glob("test_*"))
    programs = [path for path in programs if path.is_file() and os.access(path, os.X_OK)]
    if not programs:
        print(f"no tests in {options.build}/tests: build them first", file=sys.stderr)
        return 1
    for program in programs:
        listing = subprocess.run([program, "--list-test-names-only", "[golden]"], capture_output=True, text=True)
        if not listing.stdout.strip():
            continue
        failed |= subprocess.run([program, "[golden]"], env=environment).returncode
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
