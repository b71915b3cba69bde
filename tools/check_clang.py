#!/usr/bin/env python3
"""Compiles every source with clang, warnings as errors, without making objects: check_clang.py [BUILD] [FOLDER...]. BUILD
is a configured build folder, build/dev by default; FOLDERs restrict what is looked at. CLANG names the compiler."""
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build/dev")
FOLDERS = sys.argv[2:] or [""]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wno-missing-field-initializers", "-Werror"]

checked = bad = 0
for entry in json.loads((BUILD / "compile_commands.json").read_text()):
    name = os.path.relpath(entry["file"], ROOT)
    if not name.startswith(tuple(FOLDERS)):
        continue
    words = shlex.split(entry["command"])
    kept = [word for i, word in enumerate(words)
            if word.startswith(("-I", "-D", "-std", "-isystem")) or (i and words[i - 1] == "-isystem")]
    result = subprocess.run([os.environ.get("CLANG", "clang++"), "-fsyntax-only", *WARNINGS, *kept, entry["file"]],
                            capture_output=True, text=True, cwd=entry["directory"])
    checked += 1
    if result.returncode:
        bad += 1
        print(f"{name}\n{result.stderr}", flush=True)
print(f"{checked} checked, {bad} with warnings or errors")
sys.exit(1 if bad or not checked else 0)
