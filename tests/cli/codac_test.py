"""codac from outside: exit codes, messages, formatting, and every example at small and ragged sizes on the CPU.

Run as: codac_test.py CODAC SOURCE_DIR [unittest arguments]
"""
import itertools
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

CODAC, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
EXAMPLES = sorted((SOURCE / "examples").glob("*.coda"))


def codac(*arguments, **environment):
    return subprocess.run([CODAC, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "CODA_CACHE": "off", **environment})


def cases():
    """(name, file, kernel, small and ragged dimensions) of tools/gpu_cases.txt."""
    small = {"M": 37, "N": 72, "K": 40, "F": 45, "D": 40, "V": 301, "T": 37, "A": 24, "Hq": 2, "Hkv": 1, "Dh": 64, "H": 3,
             "B": 3, "S": 13}
    for line in (SOURCE / "tools/gpu_cases.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, file, kernel, main, others = (part.strip() for part in line.split("|"))
            sets = [dict(word.split("=") for word in dims.split()) for dims in others.split(";")]
            # What takes a GPU to be quick is cut down; the rest is run as it stands.
            sets = [{k: (min(int(v), small[k] * 3) if k in "MNFVTS" else int(v)) for k, v in dims.items()} for dims in sets]
            sets.append({k: small[k] for k in sets[0]})
            yield name, file, kernel, sets


def dims(values):
    return [word for name, value in values.items() for word in ("--dim", f"{name}={value}")]


def npy(path, code, shape, data):
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape!r}, }}"
    header = header.ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def read_npy_f32(path):
    content = path.read_bytes()
    size = struct.unpack("<H", content[8:10])[0]
    data = content[10 + size:]
    return struct.unpack(f"<{len(data) // 4}f", data)


class Commands(unittest.TestCase):
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

    def test_tune_keeps_the_fastest_and_run_and_build_take_it(self):
        driver = pathlib.Path(CODAC).parent / "tests/libcoda_fake_cuda.so"
        if not driver.exists():
            self.skipTest("no fake driver here")
        fake = dict(CODA_CUDA_DRIVER_PATH=str(driver))
        gemm, results = SOURCE / "examples/gemm.coda", self.tmp / "tuned.json"
        sizes = dims(dict(M=16, N=512, K=4096))
        out = codac("tune", gemm, *sizes, "--results", results, "--most", 3, "--repeat", 2, **fake)
        self.expect(out, 0, "gemm at K=4096 M=16 N=512 on Fake H200", "best: ", "1.5 ms")
        entry = json.loads(results.read_text())["entries"][0]
        self.assertEqual((entry["sizes"], entry["device"], entry["ms"]), ("K=4096 M=16 N=512", "Fake H200", 1.5))
        image = self.tmp / "gemm.bin"
        build = lambda: codac("build", gemm, *sizes, "--arch", "sm_90a", "--tuned", results, "-o", image)
        # Another schedule than the estimate's own shows that it is taken.
        content = dict(format="coda tuned schedules 1", entries=[dict(entry, schedule="64x64", split=3)])
        results.write_text(json.dumps(content))
        self.expect(build(), 0)
        self.assertIn(b"64x64", image.read_bytes())
        # What no longer holds, or belongs elsewhere, is said, and the estimate decides.
        for change, said in ((dict(schedule="8x8"), "can't be used"), (dict(schedule="pingpong-128x192"), "can't be used"),
                             (dict(sizes="M=1"), "no schedule"), (dict(compiler="another"), "no schedule")):
            content["entries"] = [dict(entry, schedule="64x64", split=3, **{}) | change]
            results.write_text(json.dumps(content))
            self.expect(build(), 0, said)
            self.assertNotIn(b"64x64", image.read_bytes())
        for text in ("{", "[]", '{"format": "coda tuned schedules 1"}',
                     '{"format": "coda tuned schedules 1", "entries": [{"program": "x"}]}'):
            results.write_text(text)
            self.expect(build(), 0, "no file of measured schedules")
            self.expect(codac("tune", gemm, *sizes, "--results", results, **fake), 2, "no file of measured schedules")
        self.expect(codac("tune", SOURCE / "examples/softmax.coda", "--results", self.tmp / "x.json", **fake), 2,
                    "only a kernel with a product")

    def test_examples_exist(self):
        self.assertGreaterEqual(len(EXAMPLES), 6)
        self.assertGreaterEqual(len(list(cases())), 6)

    def test_usage(self):
        self.expect(codac(), 2)
        self.expect(codac("nonsense"), 2)
        self.expect(codac("run"), 2, "FILE")
        self.expect(codac("--version"), 0, "codac", "LLVM 22")
        self.expect(codac("--help"), 0, "explain")
        for command in ("check", "fmt", "build", "explain", "grad", "run", "doctor", "cache", "doc-ops"):
            self.expect(codac(command, "--help"), 0, command)

    def test_bad_options(self):
        gemm = SOURCE / "examples/gemm.coda"
        self.expect(codac("run", gemm, "--dim", "M"), 2, "--dim M")
        self.expect(codac("run", gemm, "--dim", "M=-3"), 2, "--dim M=-3")
        self.expect(codac("run", gemm, "--dim", "M=3"), 2, "no value for dimension", "--dim")
        self.expect(codac("run", gemm, "--dim", "M=3", "--dim", "N=8", "--dim", "K=8", "--in", "q=1"), 2, "no such input")
        self.expect(codac("run", gemm, "--dim", "M=3", "--dim", "N=8", "--dim", "K=8", "--out", "q=q.npy"), 2, "no such output")
        self.expect(codac("build", gemm, "--emit", "soup"), 2, "soup")
        self.expect(codac("build", gemm), 2, "-o")
        self.expect(codac("build", gemm, "--arch", "sm_10", "-o", self.tmp / "x"), 2, "--arch")

    def test_errors_have_position_caret_and_code(self):
        path = self.write("kernel k(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n    y = x @ v.T\n}\n")
        result = codac("check", path)
        self.expect(result, 1, f"{path}:2:13", "error[E", "^")
        self.assertEqual(result.stdout, "")
        listed = codac("check", path, "--json")
        self.assertEqual(listed.returncode, 1)
        entries = json.loads(listed.stdout)
        self.assertTrue(entries[0]["id"].startswith("E"))

    def test_missing_file(self):
        for command in ("check", "run", "explain"):
            result = codac(command, self.tmp / "absent.coda")
            self.assertIn(result.returncode, (1, 4), result.stderr)
            self.assertIn("absent.coda", result.stderr)

    def test_unknown_kernel(self):
        self.expect(codac("run", SOURCE / "examples/gemm.coda", "nothere", "--dim", "M=1"), 1, "nothere")

    def test_check_and_fmt_examples(self):
        self.expect(codac("check", *EXAMPLES), 0)
        self.expect(codac("fmt", "--check", *EXAMPLES), 0)
        for path in EXAMPLES:
            copy = self.write(path.read_text().replace("    ", "  "), path.name)
            self.expect(codac("fmt", "-w", copy), 0)
            self.assertEqual(copy.read_text(), path.read_text())
        ugly = self.write("kernel k(x:bf16[M,K],w:bf16[N,K])->(y:bf16[M,N]){y=x@w.T}\n")
        self.expect(codac("fmt", "--check", ugly), 3, "canonical")
        self.expect(codac("fmt", self.write("kernel (", "broken.coda")), 1, "error[E")

    def test_stages(self):
        gemm = SOURCE / "examples/gemm.coda"
        for stage, text in (("ast", "gemm"), ("ir", "gemm"), ("epilogue", "region"), ("llvm", "define")):
            self.expect(codac("build", gemm, "--arch", "host", "--emit", stage), 0, text)
        self.expect(codac("build", gemm, "--arch", "sm_90a", "--emit", "ptx"), 0, ".target sm_90a", "wgmma")
        self.expect(codac("build", gemm, "--arch", "sm_90a", "--emit", "ast,ptx", "-o", self.tmp / "g"), 0)
        self.assertIn("wgmma", (self.tmp / "g.ptx").read_text())
        self.expect(codac("explain", gemm, "--dim", "M=8192", "--dim", "N=4096", "--dim", "K=4096"), 0,
                    "x: bf16[M, K]", "GFLOP", "stores")
        self.expect(codac("check", gemm, "--time-passes"), 0, "ms")

    def test_image_is_reused(self):
        gemm, image = SOURCE / "examples/gemm.coda", self.tmp / "gemm.bin"
        size = dims({"M": 5, "N": 7, "K": 9})
        self.expect(codac("build", gemm, "--arch", "host", "-o", image), 0)
        self.expect(codac("run", gemm, "--image", image, "--device", "host", "--verify", *size), 0, "verified")
        self.expect(codac("run", SOURCE / "examples/gate_up.coda", "--image", image, "--device", "host",
                          *dims({"M": 5, "F": 7, "K": 9})), 2, "another program")
        image.write_bytes(image.read_bytes()[:-3])
        self.expect(codac("run", gemm, "--image", image, "--device", "host", *size), 2)

    def test_examples_run_on_the_host(self):
        for name, file, kernel, sets in cases():
            for values in sets:
                with self.subTest(name=name, **values):
                    result = codac("run", SOURCE / "examples" / file, kernel, *dims(values), "--device", "host",
                                   "--verify")
                    self.expect(result, 0, "verified")

    def test_wrong_results_are_found(self):
        # With no slack at all for accumulation in f32, deep sums stored in f32 can't equal the f64 reference.
        path = self.write("kernel k(x: bf16[M, K], w: bf16[N, K]) -> (y: f32[M, N]) {\n    y = x @ w.T\n}\n")
        size = dims({"M": 8, "N": 16, "K": 4096})
        self.expect(codac("run", path, *size, "--device", "host", "--verify"), 0)
        self.expect(codac("run", path, *size, "--device", "host", "--verify", "--slack", "0"), 3, "WRONG")
        zero = codac("run", path, *size, "--device", "host", "--verify", "--in", "x=0")
        self.expect(zero, 3, "proves nothing")

    def test_files_in_and_out(self):
        gemm = SOURCE / "examples/gemm.coda"
        x, w, y = (self.tmp / f"{name}.npy" for name in "xwy")
        npy(x, "<f4", (2, 3), struct.pack("<6f", 1, 2, 3, 4, 5, 6))
        npy(w, "<f4", (2, 3), struct.pack("<6f", 1, 0, 0, 0, 1, 1))
        run = ["run", gemm, "--device", "host", "--in", f"x={x}", "--in", f"w={w}", "--out", f"y={y}", "--verify"]
        self.expect(codac(*run), 0)
        self.assertEqual(read_npy_f32(y), (1, 5, 4, 11))
        self.expect(codac(*run, "--dim", "K=4"), 2, "K")
        npy(x, "<f4", (2, 3), struct.pack("<6f", 1.001, 2, 3, 4, 5, 6))
        self.expect(codac(*run), 2, "--round-inputs")
        self.expect(codac(*run, "--round-inputs"), 0)
        npy(w, "<f4", (3,), struct.pack("<3f", 1, 0, 0))
        self.expect(codac(*run), 2, "w")

    def test_grad(self):
        for example in EXAMPLES:
            names = re.findall(r"^(?:kernel|block) (\w+)", example.read_text(), re.MULTILINE)
            for name, direction in itertools.product(names, ("both", "whole")):
                with self.subTest(example=example.name, name=name, direction=direction):
                    derived = self.expect(codac("grad", example, name, "--direction", direction), 0, "block ", " d_")
                    path = self.tmp / "derived.coda"
                    path.write_text(derived.stdout)
                    self.expect(codac("check", path), 0)
                    self.expect(codac("fmt", "--check", path), 0)
        self.expect(codac("grad", SOURCE / "examples/gemm.coda", "gem"), 1, "gem")
        path = self.tmp / "declared.coda"
        path.write_text((SOURCE / "examples/gemm.coda").read_text() + "\ngrad gemm wrt (w: f32 +=)\n")
        self.expect(codac("check", path), 0)
        derived = self.expect(codac("grad", path, "--direction", "backward"), 0, "inout d_w: f32[N, K]", "d_w += ")
        self.assertNotIn("d_x", derived.stdout)

    def test_doctor_and_tables(self):
        self.expect(codac("doctor"), 0, "LLVM 22", "cache")
        self.expect(codac("doctor", "--need", "cuda", "--quiet", CODA_CUDA_DRIVER_PATH="/nowhere/libcuda.so"), 4)
        self.expect(codac("doc-ops"), 0, "`g*r`", "`exp`", "logsumexp", "`bf16`")
        self.expect(codac("run", SOURCE / "examples/gemm.coda", *dims({"M": 1, "N": 1, "K": 1}), "--device", "cuda",
                          CODA_CUDA_DRIVER_PATH="/nowhere/libcuda.so"), 4, "--device cuda")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
