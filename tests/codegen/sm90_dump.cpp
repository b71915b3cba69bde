// Hidden: writes PTX and launch descriptions for tools/gpu_kernels.py into the folder $CODA_DUMP.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/codegen/sm90.h"
#include "dsl/diagnostics.h"
#include "sm90_programs.h"

namespace coda {
namespace {

using nlohmann::json;

json describe(const KernelImage& image) {
  static constexpr const char* kWords[] = {"pointer", "stride", "extent", "scalar", "workspace", "conditions", "maps"};
  static constexpr const char* kRoles[] = {"in", "out", "inout", "scalar"};
  const auto texts = [](const std::vector<Dim>& dims) {
    json list = json::array();
    for (const Dim& dim : dims) list.push_back(dim.text());
    return list;
  };
  json j = {{"name", image.name},
            {"entry", image.entry},
            {"threads", image.threads},
            {"cluster", image.cluster},
            {"shared", image.shared_bytes},
            {"tile_rows", image.tile_rows},
            {"tile_columns", image.tile_columns},
            {"segments", image.region_segments},
            {"rows", image.rows.text()},
            {"depth", image.depth.text()},
            {"columns", texts(image.region_columns)},
            {"schedule", image.schedule}};
  for (const ParamSpec& p : image.params) {
    j["params"].push_back({{"name", p.name},
                           {"role", kRoles[static_cast<int>(p.role)]},
                           {"dtype", std::string(info(p.dtype).name)},
                           {"extents", texts(p.extents)}});
  }
  for (const WordSpec& w : image.words) {
    j["words"].push_back(
        {{"kind", kWords[static_cast<int>(w.kind)]}, {"param", w.param}, {"axis", w.axis}, {"dim", w.dim.text()}});
  }
  j["conditions"] = json::array();
  for (const ConditionSpec& c : image.conditions) {
    j["conditions"].push_back({{"param", c.param},
                               {"unit_axis", c.unit_axis},
                               {"alignment", c.alignment},
                               {"extents", texts(c.extents)},
                               {"multiple", c.extent_multiple}});
  }
  for (const TensorMapSpec& m : image.tensor_maps) {
    json axes = json::array();
    for (const TensorMapAxis& a : m.axes) {
      axes.push_back({{"extent", a.extent.text()},
                      {"divisor", a.divisor},
                      {"axis", a.axis},
                      {"multiplier", a.multiplier},
                      {"box", a.box}});
    }
    j["maps"].push_back(
        {{"param", m.param}, {"offset_axis", m.offset_axis}, {"offset", m.offset.text()}, {"axes", axes}});
  }
  j["workspaces"] = json::array();
  for (const WorkspaceSpec& w : image.workspaces) {
    j["workspaces"].push_back({{"bytes", w.bytes.text()},
                               {"rows", w.rows.text()},
                               {"columns", w.columns.text()},
                               {"tile_rows", w.tile_rows},
                               {"tile_columns", w.tile_columns},
                               {"tile_bytes", w.tile_bytes}});
  }
  return j;
}

TEST_CASE("dump kernels", "[.dump]") {
  const char* folder = std::getenv("CODA_DUMP");
  REQUIRE(folder);
  const char* only = std::getenv("CODA_DUMP_ONLY");
  for (const test::Sm90Program& program : test::sm90_programs()) {
    if (only && std::string(only).find(program.name) == std::string::npos) continue;
    std::string report;
    const auto lowered = test::lower_text(program, report);
    INFO(program.name << "\n" << report);
    CHECK(lowered);
    if (!lowered) continue;
    const std::string& name = program.name;
    const EpilogueProgram& epilogue = *lowered;
    for (const std::string& schedule : sm90_schedules_for(epilogue, {})) {
      SourceMap sources;
      Diagnostics diagnostics(sources);
      Sm90Options options;
      options.schedule = schedule;
      const auto result = compile_sm90(epilogue, options, diagnostics);
      for (const auto& d : diagnostics.all()) UNSCOPED_INFO(name << " " << schedule << ": " << d.message);
      CHECK(result);
      if (!result) continue;
      const std::string base = std::string(folder) + "/" + name + "_" + options.schedule;
      std::ofstream(base + ".ptx") << result->ptx;
      std::ofstream(base + ".json") << describe(result->image).dump();
    }
  }
}

}  // namespace
}  // namespace coda
