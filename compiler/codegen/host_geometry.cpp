#include "compiler/codegen/host_geometry.h"

#include <cstddef>

namespace coda {

HostGeometryWriter::HostGeometryWriter(HostModule& module, const std::string& name)
    : HostFunction(module, name, {true}) {}

void HostGeometryWriter::put(size_t offset, llvm::Value* value) {
  llvm::IRBuilder<>& builder = emitter().at(emitter().root());
  builder.CreateStore(value, builder.CreateConstGEP1_64(builder.getInt8Ty(), argument(0), offset));
}

void HostGeometryWriter::put_operand(size_t offset, const GemmOperand& operand) {
  const Param& param = module_.epilogue.program.params[operand.param];
  const auto stride = [&](int axis) {
    return word({.kind = WordSpec::Kind::Stride, .param = operand.param, .axis = axis});
  };
  if (operand.outer_axes.size() > kHostMaxAxes) {
    evaluator().fail("an operand with more than " + std::to_string(kHostMaxAxes) + " axes of rows or columns");
    return;
  }
  put(offset + offsetof(HostOperand, address), word({.kind = WordSpec::Kind::Pointer, .param = operand.param}));
  put(offset + offsetof(HostOperand, dtype), number(static_cast<int64_t>(param.dtype)));
  put(offset + offsetof(HostOperand, axes), number(static_cast<int64_t>(operand.outer_axes.size())));
  for (size_t i = 0; i < operand.outer_axes.size(); ++i) {
    const int axis = operand.outer_axes[i];
    put(offset + offsetof(HostOperand, extents) + i * sizeof(int64_t), value_of(extent(param.dims[axis].extent)));
    put(offset + offsetof(HostOperand, strides) + i * sizeof(int64_t), stride(axis));
  }
  put(offset + offsetof(HostOperand, depth_stride), stride(operand.depth_axis));
}

void HostGeometryWriter::emit() {
  const EpilogueProgram& epilogue = module_.epilogue;
  put(offsetof(HostGeometry, rows), value_of(extent(module_.layout.rows)));
  put(offsetof(HostGeometry, tile_rows), number(module_.layout.tile_rows));
  if (epilogue.is_rowwise()) return;
  put(offsetof(HostGeometry, depth), value_of(extent(epilogue.depth)));
  put(offsetof(HostGeometry, regions), number(static_cast<int64_t>(epilogue.regions.size())));
  put_operand(offsetof(HostGeometry, a), epilogue.a);
  put_operand(offsetof(HostGeometry, b), epilogue.b);
  for (size_t r = 0; r < epilogue.regions.size(); ++r) {
    const Region& region = epilogue.regions[r];
    const size_t at = offsetof(HostGeometry, region) + r * sizeof(HostRegion);
    put(at + offsetof(HostRegion, columns), value_of(extent(region.extent)));
    put(at + offsetof(HostRegion, segments), number(static_cast<int64_t>(region.segments.size())));
    put(at + offsetof(HostRegion, width), number(module_.layout.widths[r]));
    for (size_t s = 0; s < region.segments.size(); ++s) {
      put(at + offsetof(HostRegion, offsets) + s * sizeof(int64_t), value_of(extent(region.segments[s])));
    }
  }
}

}  // namespace coda
