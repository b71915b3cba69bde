"""What tests of codac from outside share: running it, a folder of their own, and looking at what it said."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CODAC, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
GEMM = SOURCE / "examples/gemm.coda"


def codac(*arguments, **environment):
    return subprocess.run([CODAC, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "CODA_CACHE": "off", **environment})


def dims(values):
    return [word for name, value in values.items() for word in ("--dim", f"{name}={value}")]


class CodacTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tmp = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, text, name="program.coda"):
        path = self.tmp / name
        path.write_text(text)
        return path

    def expect(self, result, code, *texts):
        output = result.stdout + result.stderr
        self.assertEqual(result.returncode, code, output)
        for text in texts:
            self.assertIn(text, output)
        return result
