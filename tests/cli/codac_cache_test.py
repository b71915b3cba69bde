"""codac's cache from outside: what it lists, checks and removes, and that a cold build is cold.

Run as: codac_cache_test.py CODAC SOURCE_DIR [unittest arguments]
"""
import os
import sys
import unittest

from codac_case import GEMM, CodacTest, codac, dims


class Cache(CodacTest):
    def test_cache(self):
        plain, unmade, home = self.tmp / "plain", self.tmp / "unmade/cache", self.tmp / "home"
        plain.write_text("")
        entries = home / ".cache/coda/entries"
        entries.mkdir(parents=True)
        (home / ".cache/coda").chmod(0o700)
        entries.chmod(0o700)
        (entries / "kept").write_text("x")
        where = {"HOME": str(home), "XDG_CACHE_HOME": ""}
        self.expect(codac("cache", "clear", CODA_CACHE_DIR=str(plain), **where), 4, "nothing was removed")
        self.assertTrue((entries / "kept").exists())
        self.expect(codac("cache", CODA_CACHE_DIR=str(unmade), **where), 0, "empty")
        self.assertFalse(unmade.parent.exists())
        self.expect(codac("cache", **where, CODA_CACHE_DIR=""), 0, "1 entries")
        self.expect(codac("cache", "ls", **where, CODA_CACHE_DIR=""), 0, "kept", "corrupt", "1 entries")
        self.expect(codac("cache", "verify", **where, CODA_CACHE_DIR=""), 3, "kept", "corrupt")
        self.expect(codac("cache", "prune", "--to", "1", **where, CODA_CACHE_DIR=""), 0, "1 entries")
        self.expect(codac("cache", "clear", **where, CODA_CACHE_DIR=""), 0, "0 entries")
        self.expect(codac("cache", "verify", **where, CODA_CACHE_DIR=""), 0, "0 entries")
        self.expect(codac("cache", "verify", CODA_CACHE_DIR=str(plain), **where), 4, "plain")
        self.expect(codac("cache", "empty"), 2, "empty")
        assembler = self.tmp / "ptxas"
        assembler.write_text("#!/bin/sh\ncase $1 in --version) echo release 1;; *) while [ $# -gt 1 ]; do shift; done; echo code > $1;; esac\n")
        assembler.chmod(0o755)
        self.expect(codac("build", GEMM, "--arch", "sm_90a", "-o", self.tmp / "x", CODA_CACHE="on", CODA_PTXAS=str(assembler), **where,
                          CODA_CACHE_DIR=""), 0)
        self.expect(codac("cache", "ls", **where, CODA_CACHE_DIR=""), 0, "sm_90a gemm", "1 entries")
        self.expect(codac("cache", "verify", **where, CODA_CACHE_DIR=""), 0, "1 entries")

    def test_a_cold_build_is_cold_and_needs_no_driver(self):
        script, seen = self.tmp / "ptxas", self.tmp / "seen"
        script.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo release 1 && exit 0\necho \"<$CUDA_CACHE_DISABLE>\" >> {seen}\n"
                          "while [ $# -gt 1 ]; do shift; done; echo code > $1\n")
        script.chmod(0o755)
        os.environ.pop("CUDA_CACHE_DISABLE", None)
        where = {"CODA_CACHE_DIR": str(self.tmp / "cold"), "CODA_PTXAS": str(script), "CODA_CUDA_DRIVER_PATH": "libcoda_nowhere.so",
                 "LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(self.tmp / "loaded")}
        build = ["build", GEMM, "--arch", "sm_90a", "-o", self.tmp / "x"]

        def looked_for_a_driver():
            files = list(self.tmp.glob("loaded.*"))
            self.assertTrue(files)
            text = "".join(file.read_text(errors="replace") for file in files)
            for file in files:
                file.unlink()
            return "find library=libcoda_nowhere.so" in text

        for cache, ran, said in (("on", 1, "<>"), ("on", 1, "<>"), ("off", 2, "<1>"), ("off", 3, "<1>")):
            self.expect(codac(*build, CODA_CACHE=cache, **where), 0)
            self.assertFalse(looked_for_a_driver())
            lines = seen.read_text().split()
            self.assertEqual((len(lines), lines[-1]), (ran, said))
        for command in (["check", GEMM], ["explain", GEMM], ["run", GEMM, "--device", "host", *dims({"M": 3, "N": 4, "K": 5})]):
            self.expect(codac(*command, **where), 0)
            self.assertFalse(looked_for_a_driver(), command)
        self.expect(codac("doctor", **where), 0)
        self.assertTrue(looked_for_a_driver())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
