#include "compiler/codegen/host.h"

#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>
#include <cstddef>
#include <limits>
#include <numeric>

#include "compiler/codegen/host_finish.h"
#include "compiler/codegen/host_geometry.h"
#include "compiler/codegen/host_object.h"
#include "compiler/codegen/host_rowwise.h"
#include "compiler/codegen/host_tile.h"
#include "compiler/codegen/signature.h"

namespace coda {

namespace {

/// Accumulators of a tile: 144 x 256 f32 stay in the second-level cache; 144 is a multiple of the product's register
/// blocks (12 and 6 rows).
constexpr int kTileRows = 144, kTileColumns = 256;

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void describe(const EpilogueProgram& epilogue, KernelImage& image) {
  describe_signature(epilogue.program, "host", image);
  image.code_kind = CodeKind::HostObject;
  image.entry = "coda";
  image.rows = Dim(1);
  for (const NamedDim& dim : epilogue.rows) image.rows = image.rows * dim.extent;
  if (epilogue.is_rowwise()) return;
  image.depth = epilogue.total_depth();
  for (const Region& region : epilogue.regions) {
    image.region_columns.push_back(region.extent);
    image.region_segments.push_back(static_cast<int>(region.segments.size()));
  }
}

/// Columns that tiles of a region are to hold wholly: its granule, and what the regroupings of its values walk as one.
/// 0 if that is out of bounds.
int64_t block_of(const EpilogueProgram& epilogue, int region) {
  constexpr int64_t kMost = 65536;
  int64_t block = epilogue.regions[region].granule;
  const auto add = [&](int owner, const ColumnSpace& columns) {
    if (owner != region || columns.digits.size() < 2 || block <= 0 || block > kMost) return;
    block = std::lcm(block, columns.digits[0].stride.constant().value_or(1));
  };
  for (const Store& store : epilogue.stores) add(store.region, store.columns);
  for (const Statistic& statistic : epilogue.statistics) {
    for (const Statistic::Part& part : statistic.parts) add(part.region, part.columns);
  }
  return block > kMost ? 0 : block;
}

/// Tile widths: whole blocks, near kTileColumns accumulators over all segments.
bool choose_tiles(const EpilogueProgram& epilogue, KernelImage& image, HostLayout& layout, std::string& reason) {
  int64_t unit = 1;
  for (size_t r = 0; r < epilogue.regions.size(); ++r) {
    const auto segments = static_cast<int64_t>(epilogue.regions[r].segments.size());
    const int64_t block = block_of(epilogue, static_cast<int>(r));
    if (block <= 0 || segments > kHostMaxSegments) {
      reason = "its columns are regrouped in blocks beyond 65536, or in more than " + std::to_string(kHostMaxSegments) +
               " segments";
      return false;
    }
    unit = std::lcm(unit, block * segments);
    if (unit > (int64_t{1} << 20)) {
      reason = "its regroupings of the columns have no common tile width below 2^20";
      return false;
    }
  }
  if (epilogue.regions.size() > static_cast<size_t>(kHostMaxRegions)) {
    reason = "more than " + std::to_string(kHostMaxRegions) + " regions of columns";
    return false;
  }
  const int64_t columns = (kTileColumns + unit - 1) / unit * unit;
  image.tile_rows = layout.tile_rows = kTileRows;
  image.tile_columns = static_cast<int>(columns);
  layout.rows = image.rows;
  if (epilogue.earlier.size() >= static_cast<size_t>(kHostMaxTerms)) {
    reason = "more than " + std::to_string(kHostMaxTerms) + " products are summed";
    return false;
  }
  for (const Region& region : epilogue.regions) {
    layout.widths.push_back(static_cast<int>(columns / static_cast<int64_t>(region.segments.size())));
  }
  return true;
}

/// A pass over rows: every walk is whole in its tile.
void whole_rows(const EpilogueProgram& epilogue, KernelImage& image, HostLayout& layout) {
  image.tile_rows = layout.tile_rows = kHostSweepRows;
  layout.rows = image.rows;
  layout.widths.assign(epilogue.regions.size(), std::numeric_limits<int>::max());
}

/// Partial states, in the layouts that host_tile.cpp gives.
void plan_workspaces(const EpilogueProgram& epilogue, KernelImage& image, HostLayout& layout) {
  for (const Statistic& statistic : epilogue.statistics) {
    std::vector<int> buffers;
    if (epilogue.is_rowwise() && statistic.scope == StatScope::Row) {  // finished where it is needed
      layout.buffers.push_back(buffers);
      continue;
    }
    const int64_t bytes = 4 * statistic.reduction->state_size;
    for (const Statistic::Part& part : statistic.parts) {
      WorkspaceSpec spec{.rows = image.rows,
                         .columns = epilogue.regions[part.region].extent,
                         .tile_rows = statistic.scope == StatScope::Row ? 1 : layout.tile_rows,
                         .tile_columns = statistic.scope == StatScope::Column ? 1 : layout.widths[part.region],
                         .tile_bytes = bytes};
      // Of a batch each product has a ragged tile of its own.
      if (epilogue.batch > 0) spec.rows = spec.rows + epilogue.batches() * Dim(spec.tile_rows);
      if (statistic.scope == StatScope::Column) spec.bytes = epilogue.kept_groups() * spec.columns * Dim(bytes);
      // Rows are swept and their state is written even where they have no columns.
      if (epilogue.is_rowwise() && statistic.scope == StatScope::All) {
        spec.columns = Dim(1);
        spec.tile_columns = 1;
      }
      buffers.push_back(static_cast<int>(image.workspaces.size()));
      image.workspaces.push_back(spec);
    }
    layout.buffers.push_back(std::move(buffers));
  }
}

template <class Function, class Emit>
std::string generate(Function&& function, const std::string& what, Emit emit) {
  emit(function);
  const std::string reason = function.finish();
  return reason.empty() ? "" : what + ": " + reason;
}

std::string generate_product(HostModule& module) {
  const std::string& entry = module.image.entry;
  for (size_t r = 0; r < module.epilogue.regions.size(); ++r) {
    const std::string number = std::to_string(r);
    const std::string reason = generate(HostTile(module, entry + ".tile" + number, static_cast<int>(r)),
                                        "region " + number, [](HostTile& tile) { tile.emit(); });
    if (!reason.empty()) return reason;
  }
  return generate(HostFinish(module, entry + ".rows", {false, false}), "finish of rows",
                  [](HostFinish& rows) { rows.emit_rows(); });
}

std::string generate(HostModule& module) {
  const std::string& entry = module.image.entry;
  std::string reason = module.epilogue.is_rowwise()
                           ? generate(HostRowwise(module, entry + ".sweep"), "rows", [](HostRowwise& f) { f.emit(); })
                           : generate_product(module);
  if (!reason.empty()) return reason;
  reason = generate(HostFinish(module, entry + ".finish", {}), "finish", [](HostFinish& f) { f.emit_rest(); });
  if (!reason.empty()) return reason;
  return generate(HostGeometryWriter(module, entry + ".geometry"), "geometry", [](HostGeometryWriter& f) { f.emit(); });
}

}  // namespace

std::optional<HostOutput> compile_host(const EpilogueProgram& epilogue, const HostRequest& request,
                                       std::string& reason) {
  Stopwatch watch;
  HostOutput output;
  HostLayout layout;
  describe(epilogue, output.image);
  if (epilogue.is_rowwise()) {
    whole_rows(epilogue, output.image, layout);
  } else if (!choose_tiles(epilogue, output.image, layout, reason)) {
    return std::nullopt;
  }
  plan_workspaces(epilogue, output.image, layout);

  const std::unique_ptr<llvm::TargetMachine> machine = host_machine(request.cpu, reason);
  if (!machine) return std::nullopt;
  llvm::LLVMContext context;
  llvm::Module code(epilogue.program.name, context);
  code.setTargetTriple(machine->getTargetTriple());
  code.setDataLayout(machine->createDataLayout());
  HostModule module{epilogue, layout, code, vector_lanes(*machine), output.image};
  // Host code takes any stride of a last axis, also of a parameter it does not read.
  for (size_t i = 0; i < output.image.params.size(); ++i) {
    const int rank = static_cast<int>(output.image.params[i].extents.size());
    if (rank > 0) module.word({.kind = WordSpec::Kind::Stride, .param = static_cast<int>(i), .axis = rank - 1});
  }
  reason = generate(module);
  if (!reason.empty()) return std::nullopt;
  output.generate_ms = watch.lap();

  optimise(code, *machine);
  if (request.want_llvm) {
    llvm::raw_string_ostream stream(output.llvm_text);
    code.print(stream, nullptr);
  }
  output.optimise_ms = watch.lap();
  output.image.code = emit_object(code, *machine, reason);
  output.object_ms = watch.lap();
  if (output.image.code.empty()) return std::nullopt;
  return output;
}

}  // namespace coda
