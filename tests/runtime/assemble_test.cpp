#include "runtime/assemble.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>

#include "runtime/process.h"
#include "tests/runtime/scratch_folder.h"

using namespace coda;
using testing::Environment;
using testing::ScratchFolder;

namespace {

const std::string kPtx =
    ".version 8.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry twice(.param .u64 p) {\n"
    "  .reg .b64 %rd<3>; .reg .f32 %f<3>;\n"
    "  ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1;\n"
    "  ld.global.f32 %f1, [%rd2]; add.f32 %f2, %f1, %f1; st.global.f32 [%rd2], %f2; ret;\n}\n";

/// A shell script in the place of ptxas.
std::string fake_assembler(const ScratchFolder& folder, const std::string& body) {
  const std::string path = folder / "ptxas";
  std::ofstream(path) << "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'release 1.0'; exit 0; fi\n" << body << "\n";
  chmod(path.c_str(), 0755);
  return path;
}

KernelImage image_of(const std::string& ptx) {
  KernelImage image;
  image.code_kind = CodeKind::Ptx;
  image.target = "sm_90a";
  image.code.assign(ptx.begin(), ptx.end());
  return image;
}

}  // namespace

TEST_CASE("ptxas assembles, and its report is read") {
  const auto assembler = find_assembler();
  if (!assembler) {
    std::puts("skipped: no ptxas");
    return;
  }
  const auto assembly = run_assembler(*assembler, kPtx, "sm_90a");
  INFO(assembly.status().message());
  REQUIRE(assembly.ok());
  CHECK(assembly->cubin.size() > 500);
  CHECK(std::string(assembly->cubin.begin() + 1, assembly->cubin.begin() + 4) == "ELF");
  CHECK(assembly->registers > 0);
  CHECK(assembly->spill_bytes == 0);
  const auto broken = run_assembler(*assembler, kPtx + "nonsense", "sm_90a");
  CHECK(broken.status().code() == Code::Driver);
  CHECK(broken.status().message().find("kernel.ptx, line") != std::string::npos);
  CHECK_FALSE(run_assembler(*assembler, kPtx, "sm_1; touch /tmp/x").ok());
}

TEST_CASE("the report's registers, spills and broken pipelines are found") {
  const std::string log =
      "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n"
      "ptxas info    : Function properties for gemm\n"
      "    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 5 barriers, 16 bytes cumulative stack size\n"
      "ptxas info    : Used 40 registers, used 1 barriers\n";
  Assembly assembly;
  read_assembler_log(log, assembly);
  CHECK(assembly.registers == 168);
  CHECK(assembly.spill_bytes == 32);
  CHECK(broken_pipeline_line(log).empty());
  const std::string line =
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized";
  CHECK(broken_pipeline_line(log + line + "\nmore\n") == line);
  CHECK(broken_pipeline_line("C75").empty());
  CHECK(broken_pipeline_line("the C75xx family").empty());
}

TEST_CASE("an assembler that fails, crashes or writes nothing is reported with its words") {
  const ScratchFolder folder;
  auto message = [&](const std::string& body) {
    const Assembler assembler{fake_assembler(folder, body), "1"};
    const auto assembly = run_assembler(assembler, kPtx, "sm_90a");
    CHECK_FALSE(assembly.ok());
    return assembly.status().message();
  };
  CHECK(message("echo 'no such thing' >&2; exit 3") == "ptxas failed with exit code 3:\nno such thing\n");
  CHECK(message("kill -9 $$").find("exit code 137") != std::string::npos);
  CHECK(message("echo done").find("ptxas wrote no code:\ndone") == 0);
  CHECK(message("echo '(C7514) serialized'; : > $5").find("(C7514) serialized") != std::string::npos);
  const Assembler missing{folder / "none", "1"};
  CHECK(run_assembler(missing, kPtx, "sm_90a").status().code() == Code::NotFound);
}

TEST_CASE("assembling goes through the cache and leaves no files") {
  const ScratchFolder folder, temp;
  const Environment cache("CODA_CACHE", "off"), dir("TMPDIR", temp.path());
  const std::string count = folder / "count";
  const Environment chosen("CODA_PTXAS",
                           fake_assembler(folder, "echo x >> " + count + "; cp $3 $5; echo 'Used 33 registers'"));
  const auto assembly = assemble(kPtx, "sm_90a");
  INFO(assembly.status().message());
  REQUIRE(assembly.ok());
  CHECK(std::string(assembly->cubin.begin(), assembly->cubin.end()) == kPtx);
  CHECK(assembly->registers == 33);
  CHECK(std::filesystem::is_empty(temp.path()));
  const auto code = device_code(image_of(kPtx));
  REQUIRE(code.ok());
  CHECK(std::string(code->begin(), code->end()) == kPtx);
}

TEST_CASE("without an assembler the driver gets the PTX, ended by a zero") {
  const Environment none("CODA_PTXAS", "driver");
  CHECK(find_assembler().status().code() == Code::NotFound);
  const auto code = device_code(image_of(kPtx));
  REQUIRE(code.ok());
  CHECK(std::string(code->begin(), code->end()) == kPtx + '\0');
  const Environment wrong("CODA_PTXAS", "/nonexistent/ptxas");
  CHECK(find_assembler().status().message().find("/nonexistent/ptxas") != std::string::npos);
  KernelImage host;
  CHECK_FALSE(device_code(host).ok());
}

TEST_CASE("processes run without a shell, are read whole and end in time") {
  const auto echo = run_process({"/bin/echo", "$HOME; a  b"}, std::chrono::seconds(10));
  REQUIRE(echo.ok());
  CHECK(echo->output == "$HOME; a  b\n");
  const auto much = run_process({"/bin/sh", "-c", "head -c 300000 /dev/zero; echo end >&2"}, std::chrono::seconds(10));
  REQUIRE(much.ok());
  CHECK(much->output.size() == 300004);
  const auto slow = run_process({"/bin/sleep", "100"}, std::chrono::seconds(1));
  CHECK(slow.status().message() == "'/bin/sleep' did not finish in 1 s");
  CHECK(run_process({"/bin/cat"}, std::chrono::seconds(10))->output.empty());
}
