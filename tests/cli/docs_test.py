"""The documents' programs compile and their commands work: every ```coda block is checked by codac, and every line of a
```sh block that starts with `codac` is run in a folder that holds the examples. A block after `<!-- not run -->` is left
out.

Run as: docs_test.py CODAC SOURCE_DIR
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

CODAC, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
DOCUMENTS = [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md")), *sorted((SOURCE / "grammar").glob("*.md"))]
BLOCK = re.compile(r"(?P<mark><!-- not run -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(kind):
    for document in DOCUMENTS:
        for match in BLOCK.finditer(document.read_text() if document.exists() else ""):
            if match["kind"] == kind and not match["mark"]:
                line = document.read_text()[:match.start()].count("\n") + 2
                yield f"{document.relative_to(SOURCE)}:{line}", match["text"]


class Documents(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tmp = pathlib.Path(self.folder.name)
        shutil.copytree(SOURCE / "examples", self.tmp / "examples")
        for program in (SOURCE / "examples").glob("*.coda"):
            shutil.copy(program, self.tmp)

    def tearDown(self):
        self.folder.cleanup()

    def test_programs_compile(self):
        found = 0
        for where, text in blocks("coda"):
            with self.subTest(where=where):
                path = self.tmp / "block.coda"
                path.write_text(text)
                result = subprocess.run([CODAC, "check", path], capture_output=True, text=True, timeout=60)
                self.assertEqual(result.returncode, 0, result.stderr)
            found += 1
        self.assertGreater(found, 0)

    def test_commands_work(self):
        found = 0
        for where, text in blocks("sh"):
            for line in text.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if not words or pathlib.Path(words[0]).name != "codac":
                    continue
                with self.subTest(where=where, command=line):
                    result = subprocess.run([CODAC, *words[1:]], cwd=self.tmp, capture_output=True, text=True,
                                            timeout=300, env={**os.environ, "CODA_CACHE_DIR": str(self.tmp / "cache")})
                    self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                found += 1
        self.assertGreater(found, 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
