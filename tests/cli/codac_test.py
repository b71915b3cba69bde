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
import unittest

from codac_case import CODAC, GEMM, SOURCE, CodacTest, codac, dims

EXAMPLES = sorted((SOURCE / "examples").glob("*.coda"))
SIZE = ["--dim", "M=3", "--dim", "N=8", "--dim", "K=8"]


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


def npy(path, code, shape, data):
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape!r}, }}"
    header = header.ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def read_npy_f32(path):
    content = path.read_bytes()
    size = struct.unpack("<H", content[8:10])[0]
    data = content[10 + size:]
    return struct.unpack(f"<{len(data) // 4}f", data)


class Commands(CodacTest):
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
        for command in ("check", "run", "explain", "fmt", "grad", "build"):
            more = ("--emit", "ir") if command == "build" else ()
            self.expect(codac(command, self.tmp / "absent.coda", *more), 4, "absent.coda")
        self.expect(codac("run", GEMM, *SIZE, "--in", f"x={self.tmp}/absent.npy"), 4, "absent.npy")
        self.expect(codac("run", GEMM, *SIZE, "--image", self.tmp / "absent.bin"), 4, "absent.bin")

    def test_what_does_not_fit_the_program(self):
        self.expect(codac("run", GEMM, "nothere", "--dim", "M=1"), 2, "nothere")
        path = self.write("kernel k(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) where K % 8 == 0 {\n    y = x @ w.T\n}\n")
        for command in ("check", "run", "explain", "grad"):
            self.expect(codac(command, path, "--dim", "K=7"), 2, "E0236")
        self.expect(codac("run", path, "--dim", "Q=7"), 2, "E0206")
        npy(self.tmp / "x.npy", "<f4", (2, 3), bytes(24))
        self.expect(codac("run", path, "--dim", "N=8", "--in", f"x={self.tmp}/x.npy"), 2, "E0236")
        self.expect(codac("build", path, "--arch", "host", "-o", self.tmp / "k.bin"), 0)
        self.expect(codac("run", path, "M=3"), 2, "M=3 is no kernel name; write --dim M=3")

    def test_numbers_of_options(self):
        for value in ("17592186044416m", "9223372036854775808", "9223372036854775807k", "1.5", "3x", "-1", "+3"):
            self.expect(codac("check", GEMM, "--dim", f"M={value}"), 2, f"--dim M={value}")
        self.expect(codac("check", GEMM, "--dim", "M=3", "--dim", "M=4"), 2, "twice")
        run = ["run", GEMM, *SIZE, "--device", "host"]
        self.expect(codac(*run, "--in", "x=1", "--in", "x=2"), 2, "twice")
        self.expect(codac(*run, "--out", "y=a.npy", "--out", "y=b.npy"), 2, "twice")
        for slack in ("-1", "nan", "inf", "x"):
            self.expect(codac(*run, "--slack", slack), 2, "--slack")
        self.expect(codac(*run, "--rows", "0"), 2, "--rows")
        for value in ("normal(0,-1)", "normal(0)", "uniform(2,1)", "normal(0, nan)"):
            self.expect(codac(*run, "--in", f"x={value}"), 2, "expected")
        self.expect(codac(*run, "--in", "x=1e39"), 2, "does not fit bf16")
        self.expect(codac(*run, "--graph"), 2, "--bench")
        self.expect(codac(*run, "--graph", "--bench"), 2, "CUDA graphs")
        self.expect(codac("ruin"), 2, "no command `ruin`; did you mean `run`?")
        self.expect(codac(*run, "--json"), 2, "--json")
        both = codac("check", "--json", GEMM, self.tmp / "absent.coda")
        self.assertEqual(both.returncode, 4)
        self.assertEqual([entry["id"] for entry in json.loads(both.stdout)], ["E0501"])

    def test_whole_numbers_are_exact(self):
        path = self.write("kernel k(x: i64[N], s: i64) -> (y: i64[N]) {\n    y = x + s\n}\n")
        odd = 2 ** 53 + 1
        x, y = self.tmp / "x.npy", self.tmp / "y.npy"
        npy(x, "<i8", (3,), struct.pack("<3q", odd, -odd, 5))
        run = ["run", path, "--device", "host", "--in", f"x={x}", "--out", f"y={y}"]
        self.expect(codac(*run, "--in", "s=0", "--verify"), 0, "beyond 2^53")
        self.assertEqual(y.read_bytes()[-24:], struct.pack("<3q", odd, -odd, 5))
        self.expect(codac(*run, "--in", f"s={odd}"), 0)
        self.assertEqual(y.read_bytes()[-24:], struct.pack("<3q", 2 * odd, 0, odd + 5))
        for value in ("0.7", "nan", str(2 ** 63), "normal"):
            self.expect(codac(*run, "--in", f"s={value}"), 2, "--in s")
        narrow = self.write("kernel k(x: f32[N], k: i32) -> (y: f32[N]) {\n    y = x * k\n}\n", "narrow.coda")
        self.expect(codac("run", narrow, "--device", "host", "--dim", "N=3", "--in", "k=99999999999"), 2, "does not fit i32")

    def test_elements_of_files(self):
        x, w = self.tmp / "x.npy", self.tmp / "w.npy"
        npy(w, "<V2", (2, 3), struct.pack("<6H", *[0x3f80] * 6))
        run = ["run", GEMM, "--device", "host", "--in", f"x={x}", "--in", f"w={w}", "--verify"]
        npy(x, "<f8", (2, 3), struct.pack("<6d", 1, 2, 3, 4, 5, 6))
        self.expect(codac(*run), 0)
        npy(x, "<f8", (2, 3), struct.pack("<6d", 0.1, 2, 3, 4, 5, 6))
        self.expect(codac(*run), 2, "f64", "--round-inputs")
        self.expect(codac(*run, "--round-inputs"), 0)
        npy(x, "<V1", (2, 3), bytes([0x38] * 6))
        self.expect(codac(*run), 2, "does not say what they mean", ".npy:e4m3")
        run[5] = f"x={x}:e4m3"
        self.expect(codac(*run), 0)
        run[5] = f"x={x}:e4m4"
        self.expect(codac(*run), 2, "e4m4")
        run[5] = f"x={x}:f16"
        self.expect(codac(*run), 2, "f16")

    def test_outputs_are_checked_before_the_run(self):
        path = self.tmp / "gemm.coda"
        path.write_text(GEMM.read_text())
        run = ["run", path, "--device", "host", "--dim", "M=1000000", "--dim", "N=1000000", "--dim", "K=1000000"]
        w = self.tmp / "w.npy"
        npy(w, "<f4", (2, 3), bytes(24))
        (self.tmp / "link.npy").symlink_to(w)
        (self.tmp / "closed.npy").write_text("")
        (self.tmp / "closed.npy").chmod(0o444)
        (self.tmp / "folder.npy").mkdir()
        for name, file, text in (("y", "y.txt", "neither"), ("q", "q.npy", "no such output (there are: y)"),
                                 ("y", "absent/y.npy", "absent"), ("y", "closed.npy", "read-only"),
                                 ("y", "folder.npy", "a folder")):
            self.expect(codac(*run, "--out", f"{name}={self.tmp / file}"), 2 if text[:2] in ("ne", "no") else 4, text)
        self.expect(codac("run", path, "--in", f"w={w}", "--dim", "M=2", "--out", f"y={self.tmp}/link.npy"), 2,
                    "which --in w reads")
        self.assertEqual(w.stat().st_size, 128 + 24)
        image, header = self.tmp / "gemm.bin", self.tmp / "gemm.h"
        self.expect(codac("build", path, "-o", path), 2, "which FILE reads")
        self.expect(codac("build", path, "-o", image, "--header", path), 2, "which FILE reads")
        self.expect(codac("build", path, "-o", image, "--header", image), 2, "which -o writes")
        self.expect(codac("build", path, "--emit", "ir", "-o", path), 2, "which FILE reads")
        self.assertEqual(path.read_text(), GEMM.read_text())
        self.assertFalse(image.exists() or header.exists())

    def test_what_an_output_replaces_stays_what_it_is(self):
        ugly, pretty = "kernel k(x:bf16[M,K],w:bf16[N,K])->(y:bf16[M,N]){y=x@w.T}\n", None
        path = self.write(ugly)
        path.chmod(0o640)
        link, twin = self.tmp / "link.coda", self.tmp / "twin.coda"
        link.symlink_to("program.coda")
        self.expect(codac("fmt", "-w", link), 0)
        pretty = path.read_text()
        self.assertNotEqual(pretty, ugly)
        self.assertTrue(link.is_symlink())
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        path.write_text(ugly)
        os.link(path, twin)
        self.expect(codac("fmt", "-w", path), 0)
        self.assertEqual((path.read_text(), twin.read_text(), path.stat().st_nlink), (pretty, pretty, 2))
        twin.unlink()
        path.write_text(ugly)
        path.chmod(0o444)
        self.expect(codac("fmt", "-w", path), 4, "read-only")
        self.assertEqual(path.read_text(), ugly)
        fifo = self.tmp / "pipe"
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.expect(codac("build", GEMM, "--emit", "ir", "-o", fifo), 0)
        self.assertIn(b"gemm", os.read(reader, 1 << 16))
        os.close(reader)
        self.assertTrue(fifo.is_fifo())
        self.expect(codac("build", GEMM, "--emit", "ir", "-o", "/dev/null"), 0)
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())
        self.assertEqual([p.name for p in self.tmp.iterdir() if p.name.startswith(".coda")], [])

    def test_only_regular_files_are_read(self):
        fifo = self.tmp / "fifo.npy"
        os.mkfifo(fifo)
        self.expect(codac("run", GEMM, *SIZE, "--in", f"x={fifo}"), 4, "not a regular file")
        for name in (fifo, "/dev/zero", "/proc/self/maps", self.tmp):
            self.expect(codac("check", name), 4, "can't be read")
            path = self.write(f'import "{name}"\n\nkernel k(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {{\n    y = x @ w.T\n}}\n')
            self.expect(codac("check", path), 1, "E0203")

    def test_a_failed_write_is_an_error(self):
        with open("/dev/full", "w") as full:
            for arguments in (["fmt", GEMM], ["--help"], ["doc-ops"]):
                result = subprocess.run([CODAC, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(result.returncode, 4, arguments)
                self.assertIn("cannot write to stdout", result.stderr)

    def test_large_files_and_odd_names(self):
        x = self.tmp / "x.npy"
        npy(x, "<f4", (1 << 20, 1 << 13), b"")
        os.truncate(x, 128 + (1 << 35))
        limited = ["bash", "-c", 'ulimit -v 8000000; exec "$@"', "limited", CODAC]
        result = subprocess.run([*limited, "run", GEMM, "--device", "host", "--dim", "N=8", "--in", f"x={x}"],
                                capture_output=True, text=True, timeout=60)
        self.expect(result, 4, "codac: ", "memory")
        odd = os.path.join(os.fsencode(self.tmp), b"\xff.coda")
        with open(odd, "w") as file:
            file.write((SOURCE / "examples/llama_block.coda").read_text())
        result = subprocess.run([CODAC, "explain", odd, "--format", "json", "--dim", "Dh=64"], capture_output=True, timeout=60)
        self.assertIn(result.returncode, (0, 4))
        self.assertEqual(result.returncode == 0, result.stderr == b"")
        self.assertTrue(result.returncode == 0 or result.stderr.startswith(b"codac: "))

    def test_explain_of_a_plan_that_is_refused(self):
        file = pathlib.Path(self.folder.name) / "wide.coda"
        file.write_text("block wide(x: f32[M, K], w: f32[N, K]) -> (y: f32[M, M as P]) {\n"
                        "    let h = relu(x @ w.T)\n    y = h @ f32(h[M as P]).T\n}\n")
        refused = codac("explain", file)
        self.expect(refused, 1, "E0361")
        self.assertIn("plan wide: 2 kernels", refused.stdout)
        self.expect(codac("explain", file, "--arch", "host"), 0, "plan wide: 2 kernels")

    def test_explain_formats(self):
        block = SOURCE / "examples/llama_block.coda"
        self.expect(codac("explain", GEMM, "--format", "json"), 2, "gemm is a kernel")
        self.expect(codac("explain", GEMM, "--verify"), 2, "gemm is a kernel")
        text = codac("explain", block, "--dim", "Dh=64", "--arch", "host")
        sizes = dims({"T": 8192, "D": 4096, "A": 4096, "F": 14336, "Hq": 32, "Hkv": 8, "Dh": 128})
        self.expect(codac("explain", block, "--verify", *sizes), 0, "T = 8192", "h = x + attn @ wo.T")
        self.expect(codac("explain", block, "--without-law", "pairing", *sizes), 1, "can't be left out")
        self.expect(codac("explain", block, "--without-law", "factor ot", *sizes), 1, "did you mean `factor out`?")
        self.expect(text, 0, "taken as 4096 for want of --dim: ", "attn @ wo.T")
        plan = json.loads(codac("explain", block, "--dim", "Dh=64", "--dim", "T=128", "--format", "json").stdout)
        self.assertEqual(plan["assumed_sizes"]["D"], 4096)
        self.assertNotIn("T", plan["assumed_sizes"])

    def test_check_says_what_it_checked(self):
        fine = self.write("kernel k(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n    y = x @ w.T\n}\n")
        self.expect(codac("check", fine), 0, "1 routine: names, types and shapes are right", "--arch says")
        self.expect(codac("check", fine, "--arch", "host,sm_90a"), 0, "there is code for host and sm_90a")
        wide = self.write("kernel k(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n    y = softmax(x @ w.T)\n}\n",
                          "wide.coda")
        self.expect(codac("check", wide), 0)
        self.expect(codac("check", wide, "--arch", "host"), 1, "E0320")
        heads = self.write("kernel k(x: bf16[M, K], w: bf16[H*Dh, K]) -> (s: f32[M, H]) {\n"
                           "    s = sum(group(x @ w.T, Dh), over = Dh)\n}\n" + fine.read_text().replace("k(", "l("), "heads.coda")
        self.expect(codac("check", heads, "--arch", "host", "--dim", "Dh=64"), 0, "2 routines")
        found = codac("check", wide, "--arch", "host", "--json")
        self.assertEqual([entry["id"] for entry in json.loads(found.stdout)], ["E0320"])

    def test_schedules_mean_nothing_on_the_host(self):
        image = self.tmp / "gemm.bin"
        self.expect(codac("build", GEMM, "--arch", "host", "-o", image, "--schedule", "tile_n=128"), 0,
                    "--schedule means nothing on the host")
        self.expect(codac("run", GEMM, *SIZE, "--device", "host", "--schedule", "64x64"), 0,
                    "--schedule means nothing on the host")
        self.assertNotIn("--schedule", codac("build", GEMM, "--arch", "host", "-o", image).stderr)

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
        twisted = self.write(GEMM.read_text().replace("x @ w.T", "-(x @ w.T)"))
        self.assertNotEqual(twisted.read_text(), GEMM.read_text())
        self.expect(codac("run", twisted, "--image", image, "--device", "host", *size), 2, "another program")
        twisted.write_text("// a comment\n" + GEMM.read_text())
        self.expect(codac("run", twisted, "--image", image, "--device", "host", *size), 0)
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
        y = self.tmp / "y.npy"
        zero = codac("run", path, *size, "--device", "host", "--verify", "--in", "x=0", "--out", f"y={y}")
        self.expect(zero, 3, "proves nothing", "wrong result is in", "y.npy")
        self.assertEqual(len(read_npy_f32(y)), 8 * 16)

    def test_masks_of_infinities_are_verified(self):
        path = self.write("kernel k(x: f32[M, N], m: f32[M, N]) -> (y: f32[M, N]) {\n    y = x + m\n}\n")
        mask = self.tmp / "m.npy"
        npy(mask, "<f4", (2, 4), struct.pack("<8f", 0, *[float("-inf")] * 5, 0, float("-inf")))
        self.expect(codac("run", path, "--device", "host", "--verify", "--in", f"m={mask}"), 0, "verified")

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
        self.expect(codac("grad", SOURCE / "examples/gemm.coda", "gem"), 2, "gem")
        path = self.tmp / "declared.coda"
        path.write_text((SOURCE / "examples/gemm.coda").read_text() + "\ngrad gemm wrt (w: f32 +=)\n")
        self.expect(codac("check", path), 0)
        derived = self.expect(codac("grad", path, "--direction", "backward"), 0, "inout d_w: f32[N, K]", "d_w += ")
        self.assertNotIn("d_x", derived.stdout)

    def test_doctor_and_tables(self):
        self.expect(codac("doctor"), 0, "LLVM 22", "cache")
        self.expect(codac("doctor", "--need", "cuda", "--quiet", CODA_CUDA_DRIVER_PATH="/nowhere/libcuda.so"), 4)
        printed = self.expect(codac("doc-ops"), 0, "`g*r`", "`exp`", "logsumexp", "`bf16`", "`silu(x)`", "`tile_n`")
        self.assertEqual(printed.stdout, (SOURCE / "docs/functions.md").read_text(), "docs/functions.md is `codac doc-ops`")
        self.expect(codac("run", SOURCE / "examples/gemm.coda", *dims({"M": 1, "N": 1, "K": 1}), "--device", "cuda",
                          CODA_CUDA_DRIVER_PATH="/nowhere/libcuda.so"), 4, "--device cuda")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
