// Host kernels touch nothing outside of their tensors: every example runs with each tensor against a page that may not
// be touched, once behind it and once before it.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <utility>

#include "runtime/kernel.h"
#include "tests/codegen/example_list.h"
#include "tools/codac/arguments.h"
#include "tools/codac/elements.h"

using namespace coda;

namespace {

enum class Against { End, Start };

/// A copy of a row-major tensor, with its last or its first byte beside a page without access.
class Guarded {
 public:
  Guarded(const HostTensor& tensor, Against side) : view_(tensor.view()) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const auto used = static_cast<size_t>(tensor.bytes());
    const size_t room = (used + page - 1) / page * page;
    bytes_ = room + 2 * page;
    auto* const pages = static_cast<uint8_t*>(mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(pages != MAP_FAILED);
    pages_ = pages;
    if (room > 0) REQUIRE(mprotect(pages + page, room, PROT_READ | PROT_WRITE) == 0);
    view_.data = pages + page + (side == Against::End ? room - used : 0);
    if (used > 0) std::memcpy(view_.data, tensor.view().data, used);
  }
  Guarded(Guarded&& other) noexcept
      : view_(other.view_), pages_(std::exchange(other.pages_, nullptr)), bytes_(other.bytes_) {}
  ~Guarded() {
    if (pages_ != nullptr) munmap(pages_, bytes_);
  }
  const TensorView& view() const { return view_; }

 private:
  TensorView view_;
  void* pages_ = nullptr;
  size_t bytes_ = 0;
};

Argument scalar(const HostTensor& tensor) {
  if (info(tensor.view().dtype).num_class == NumClass::Real) return get(tensor, 0);
  return static_cast<int64_t>(get_exact(tensor, 0));
}

/// False where a parameter's memory is laid out in another way than row-major.
bool launched(Kernel& kernel, const Arguments& arguments, Against side) {
  std::vector<Guarded> memory;
  std::vector<Argument> call;
  const auto& params = kernel.signature().params;
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].layout != ParamLayout::RowMajor) return false;
    if (params[i].role == ParamSpec::Role::Scalar) {
      call.push_back(scalar(arguments.tensors[i]));
      continue;
    }
    memory.emplace_back(arguments.tensors[i], side);
    call.push_back(memory.back().view());
  }
  const Status status = kernel.launch(call, nullptr);
  INFO(status.message());
  CHECK(status.ok());
  return true;
}

}  // namespace

TEST_CASE("the pages beside a guarded tensor may not be touched") {
  const auto tensor = HostTensor::create(DType::BF16, {3, 5});
  for (const Against side : {Against::End, Against::Start}) {
    const Guarded guarded(*tensor, side);
    const pid_t child = fork();
    if (child == 0) {
      for (const int signal_number : {SIGSEGV, SIGBUS}) signal(signal_number, SIG_DFL);
      auto* const data = static_cast<volatile uint8_t*>(guarded.view().data);
      data[0] = 1;  // its own, as the next
      data[29] = 1;
      data[side == Against::End ? 30 : -1] = 1;
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS)));
  }
}

TEST_CASE("host kernels touch nothing outside of their tensors") {
  int runs = 0;
  for (const test::Example& example : test::listed_examples()) {
    INFO(example.file);
    CompileRequest request{.path = example.file, .text = example.text, .bindings = example.bound, .target = "host"};
    Compilation compilation = compile(request);
    if (!compilation.ok()) continue;  // several kernels in one file; what is refused is another test's
    const Program& program = *compilation.program;
    const auto image = std::make_shared<const Image>(*compilation.take_image());
    auto kernel = prepare(image, kHostDevice);
    REQUIRE(kernel.ok());
    Bindings dims = example.sizes;
    dims.insert(example.bound.begin(), example.bound.end());
    dims.insert(program.bound.begin(), program.bound.end());
    auto inputs = InputFiles::read({});
    auto arguments = inputs->make(program, problem_of(compilation, dims), dims, {});
    INFO(arguments.status().message());
    REQUIRE(arguments.ok());
    for (const Against side : {Against::End, Against::Start}) runs += launched(**kernel, *arguments, side);
  }
  CHECK(runs > 200);
}
