// Kernels that may begin before the one in front of them has ended: on no path do they touch, before they have waited,
// what another kernel may write.
#include <algorithm>
#include <catch2/catch.hpp>

#include "compiler/codegen/sm90.h"
#include "compiler/codegen/sm90_schedule.h"
#include "dsl/diagnostics.h"
#include "ptx_paths.h"
#include "rowwise_forms.h"
#include "sm90_programs.h"

namespace coda {
namespace {

Sm90Result compiled(const EpilogueProgram& epilogue, const Sm90Options& options) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  auto result = compile_sm90(epilogue, options, diagnostics);
  for (const auto& d : diagnostics.all()) UNSCOPED_INFO(d.message);
  REQUIRE(result);
  return std::move(*result);
}

test::PtxPrefix prefix(const Sm90Result& result) {
  const test::PtxPrefix before = test::ptx_before_wait(result.ptx);
  INFO(before.unknown);
  CHECK(before.unknown.empty());
  return before;
}

/// The first schedules of each kind: in turn, shared, one consumer.
std::vector<std::string> some_schedules(const EpilogueProgram& epilogue) {
  std::vector<std::string> some;
  for (const std::string& name : sm90_schedules_for(epilogue, {})) {
    const Sm90Schedule& s = *find_sm90_schedule(name);
    const auto kind = [](const Sm90Schedule& of) { return of.alternate ? 0 : of.consumers; };
    const bool known = std::any_of(some.begin(), some.end(), [&](const std::string& other) {
      return kind(*find_sm90_schedule(other)) == kind(s);
    });
    if (!known) some.push_back(name);
  }
  return some;
}

/// Maps of the image over parameters that are constant.
std::set<int> constant_maps(const Sm90Result& result, const std::vector<bool>& constant) {
  std::set<int> maps;
  for (size_t i = 0; i < result.image.tensor_maps.size(); ++i) {
    if (constant[static_cast<size_t>(result.image.tensor_maps[i].param)]) maps.insert(static_cast<int>(i));
  }
  return maps;
}

}  // namespace

TEST_CASE("the walk over PTX sees what comes before a wait") {
  const auto walk = [](const std::string& body) {
    return test::ptx_before_wait(".visible .entry k(\n.param .align 64 .b8 k_param_0[128]\n)\n{\n.reg .b32 %r<9>;\n" +
                                 body + "\n}\n");
  };
  const auto late = walk("ld.param.b64 %rd1, [k_param_1];\ngriddepcontrol.wait;\nld.global.u16 %rs1, [%rd1];\nret;");
  CHECK(late.touches.empty());
  CHECK(late.waits == 1);
  CHECK(late.unknown.empty());
  const auto side = walk(
      "@%p1 bra $L1;\ngriddepcontrol.wait;\n$L1:\n{\n  @!%p2 bra.uni narrow;\n  bra.uni done;\nnarrow:\n"
      "  st.global.v2.b32 [%rd1], {%r1, %r2};\ndone:\n}\nret;");
  CHECK(side.touches == std::vector<std::string>{"st.global.v2.b32 [%rd1], {%r1, %r2}"});
  const auto copies = walk(
      "mov.b64 %rd1, k_param_3;\ncvta.param.u64 %rd2, %rd1;\nselp.b64 %rd4, %rd2, %rd3, %p1;\nmov.b64 %rd3, "
      "k_param_0;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd4, {%r2, %r3}], [%r4];\n"
      "griddepcontrol.launch_dependents;\ngriddepcontrol.wait;\nret;");
  CHECK(copies.maps == std::set<int>{0, 3});
  CHECK(copies.allows == 1);
  CHECK(copies.touches.empty());
  CHECK_FALSE(walk("cp.async.bulk.tensor.2d.x [%r1], [%rd9, {%r2}], [%r4];\nret;").unknown.empty());
}

TEST_CASE("a dependent kernel copies constants alone before it has waited", "[dependent]") {
  size_t ahead = 0;
  for (const test::Sm90Program& program : test::sm90_programs()) {
    std::string report;
    const auto epilogue = test::lower_text(program, report);
    INFO(program.name << "\n" << report);
    REQUIRE(epilogue);
    const std::vector<std::string> schedules = some_schedules(*epilogue);
    for (const std::string& schedule : schedules) {
      INFO(schedule);
      for (const int dependent : {1, 2}) {
        if (dependent == 2 && schedule != schedules[0]) continue;
        // The first factor, then the second, is written by others.
        Sm90Options options{.schedule = schedule, .dependent = dependent};
        options.constant.assign(epilogue->program.params.size(), true);
        const int written = dependent == 1 ? epilogue->a.param : epilogue->b.param;
        options.constant[static_cast<size_t>(written)] = false;
        const Sm90Result result = compiled(*epilogue, options);
        CHECK(result.image.dependent);
        const auto before = prefix(result);
        CHECK(before.touches.empty());
        CHECK(before.waits > 0);
        CHECK(before.allows > 0);
        const std::set<int> allowed = constant_maps(result, options.constant);
        CHECK(std::includes(allowed.begin(), allowed.end(), before.maps.begin(), before.maps.end()));
        ahead += before.maps.size();
      }
    }
    // Without the setting there is neither.
    const Sm90Result plain = compiled(*epilogue, {.schedule = some_schedules(*epilogue)[0]});
    CHECK_FALSE(plain.image.dependent);
    CHECK(plain.ptx.find("griddepcontrol") == std::string::npos);
  }
  CHECK(ahead > 0);
}

TEST_CASE("a dependent pass over rows touches nothing before it has waited", "[dependent]") {
  for (const test::RowwiseForm& form : test::rowwise_forms()) {
    std::string report;
    const auto epilogue = test::lower_text({form.name, form.text, form.bound}, report);
    INFO(form.name << "\n" << report);
    REQUIRE(epilogue);
    for (const int dependent : {1, 2}) {
      Sm90Options options{.dependent = dependent};
      options.columns = 4096;
      options.constant.assign(epilogue->program.params.size(), true);
      const auto before = prefix(compiled(*epilogue, options));
      CHECK(before.touches.empty());
      CHECK(before.maps.empty());
      CHECK(before.waits > 0);
      CHECK(before.allows == 1);
    }
  }
}

}  // namespace coda
