"""Installs a build, and builds and runs the embedding examples against what was installed, by CMake and by pkg-config:
install_test.py BUILD SOURCE."""
import glob
import os
import re
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


def check_headers(include):
    """What is shown to others compiles by itself, is short, and needs neither LLVM nor a CUDA toolkit."""
    shown = glob.glob(os.path.join(include, "coda", "*.h"))
    compiler = [os.environ.get("CXX", "c++"), "-std=c++20"]
    if len(shown) < 3:
        sys.exit(f"{include} has but {shown}")
    for header in shown + glob.glob(os.path.join(include, "coda/runtime/**/*.h"), recursive=True):
        text = open(header).read()
        if header in shown and len(text.splitlines()) >= 300:
            sys.exit(f"{header} is too long to be read")
        for line in re.findall(r"#include.*", text):
            if re.search(r"llvm|cuda(_runtime)?[.]h|nlohmann", line):
                sys.exit(f"{header}: {line}")
        flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I", include, "-I", os.path.join(include, "coda")]
        run(*compiler, *flags, "-include", header, "-x", "c++", "/dev/null")
        if header.endswith("_c.h"):
            run(os.environ.get("CC", "cc"), "-std=c99", *flags, "-include", header, "-x", "c", "/dev/null")


def check_symbols(lib, include):
    """The whole C interface leaves the library, and beside it nothing but coda's own names."""
    declared = set(re.findall(r"\b(coda_\w+)\(", open(os.path.join(include, "coda/coda_c.h")).read()))
    with_compiler = {name for name in declared if name.startswith("coda_compil")}
    for name, expected in (("libcoda.so", declared), ("libcoda_runtime.so", declared - with_compiler)):
        listed = run("nm", "-D", "--defined-only", os.path.join(lib, name))
        symbols = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
        if expected - symbols:
            sys.exit(f"{name} lacks {sorted(expected - symbols)}")
        c_names = {symbol for symbol in symbols if not symbol.startswith("_Z")}
        if c_names - expected:
            sys.exit(f"{name} shows {sorted(c_names - expected)}")
        foreign = [s for s in run("c++filt", *sorted(symbols - c_names)).splitlines() if re.search(r"llvm::|CLI::", s)
                   and not re.search(r"coda::", s)]
        if foreign:
            sys.exit(f"{name} shows {foreign[:5]}")


def check_package(folder):
    """The Debian package, unpacked, is found by CMake and runs."""
    if not shutil.which("dpkg-deb"):
        return
    run("cpack", "-G", "DEB", "--config", os.path.join(build, "CPackConfig.cmake"), "-B", folder,
        "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", "-D", "CPACK_DEBIAN_PACKAGE_SHLIBDEPS=OFF")
    package, = glob.glob(os.path.join(folder, "*.deb"))
    root, work = os.path.join(folder, "root"), os.path.join(folder, "work")
    run("dpkg", "-x", package, root)
    prefix, = [os.path.join(root, path) for path in ("usr", "usr/local") if os.path.exists(os.path.join(root, path, "bin"))]
    run("cmake", "-G", "Ninja", "-S", os.path.join(source, "tests/install/consumer"), "-B", work,
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCODA_EXAMPLES={examples}", f"-DCODA_GENERATED={os.path.dirname(folder)}")
    run("cmake", "--build", work)
    check(run(os.path.join(work, "gate_up"), os.path.join(examples, "gate_up.coda")))
    run(os.path.join(prefix, "bin/codac"), "check", os.path.join(examples, "gate_up.coda"))


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

    check_headers(os.path.join(prefix, "include"))
    check_symbols(os.path.join(prefix, "lib"), os.path.join(prefix, "include"))
    os.mkdir(os.path.join(folder, "package"))
    check_package(os.path.join(folder, "package"))

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
