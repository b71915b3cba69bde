"""Installs a build, and builds and runs the embedding examples against what was installed, by CMake and by pkg-config:
install_test.py BUILD SOURCE."""
import os
import shutil
import subprocess
import sys
import tempfile

build, source = map(os.path.abspath, sys.argv[1:3])
examples = os.path.join(source, "examples")
expected = "silu(2) * 2 = 3.51562"


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    if result.returncode:
        sys.exit(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
    return result.stdout


def check(output):
    if output.strip() != expected:
        sys.exit(f"expected {expected!r}, got {output!r}")


with tempfile.TemporaryDirectory() as folder:
    prefix, work = os.path.join(folder, "usr"), os.path.join(folder, "work")
    run("cmake", "--install", build, "--prefix", prefix, "--component", "product")
    image = os.path.join(folder, "gate_up.coda.bin")
    program = os.path.join(examples, "gate_up.coda")
    codac = os.path.join(prefix, "bin", "codac")
    run(codac, "build", program, "--arch", "host", "-o", image)
    fat, other = os.path.join(folder, "gate_up.fat"), os.path.join(folder, "other.bin")
    run(codac, "build", program, "--arch", "sm_90a,host", "-o", fat, "--header", os.path.join(folder, "gate_up.h"))
    run(codac, "build", os.path.join(examples, "gemm.coda"), "--arch", "host", "-o", other)

    run("cmake", "-G", "Ninja", "-S", os.path.join(source, "tests/install/consumer"), "-B", work,
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCODA_EXAMPLES={examples}", f"-DCODA_GENERATED={folder}")
    run("cmake", "--build", work)
    check(run(os.path.join(work, "gate_up"), program))
    check(run(os.path.join(work, "load_image"), image))
    check(run(os.path.join(work, "load_image"), fat))
    check(run(os.path.join(work, "typed"), fat))
    check(run(os.path.join(work, "typed"), image))
    wrong = subprocess.run([os.path.join(work, "typed"), other], capture_output=True, text=True)
    if wrong.returncode != 1 or "but this header is for gate_up(in x: bf16[M, K]" not in wrong.stderr:
        sys.exit(f"an artefact of another program must be refused by name: {wrong.stderr!r}")
    needed = run("objdump", "-p", os.path.join(work, "load_image"))
    if "libcoda_runtime.so" not in needed or "libcoda.so" in needed:
        sys.exit("load_image must need the runtime alone")

    # The runtime configures where there is no LLVM.
    run("cmake", "-G", "Ninja", "-S", source, "-B", os.path.join(folder, "runtime"), "-DCODA_COMPILER=OFF",
        "-DCODA_LLVM_DIR=/nowhere")

    if shutil.which("pkg-config"):
        environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(prefix, "lib/pkgconfig"),
                           LD_LIBRARY_PATH=os.path.join(prefix, "lib"))
        flags = run("pkg-config", "--cflags", "--libs", "coda", env=environment).split()
        by_hand = os.path.join(folder, "by_hand")
        run(os.environ.get("CXX", "c++"), "-std=c++20", os.path.join(examples, "embed/gate_up.cpp"), "-o", by_hand, *flags)
        check(run(by_hand, program, env=environment))
print("ok")
