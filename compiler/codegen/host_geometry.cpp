#include "compiler/codegen/host_geometry.h"

#include <algorithm>
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
  if (std::max({operand.outer_axes.size(), operand.batch_axes.size(), operand.outer_depth_axes.size() + 1,
                operand.index_axes.size()}) > kHostMaxAxes) {
    evaluator().fail("an operand with more than " + std::to_string(kHostMaxAxes) +
                     " axes of rows, columns, depth or batches");
    return;
  }
  put(offset + offsetof(HostOperand, address), word({.kind = WordSpec::Kind::Pointer, .param = operand.param}));
  put(offset + offsetof(HostOperand, dtype), number(static_cast<int64_t>(param.dtype)));
  const auto put_axes_of = [&](int of, const std::vector<int>& axes, size_t count, size_t extents, size_t strides) {
    put(offset + count, number(static_cast<int64_t>(axes.size())));
    for (size_t i = 0; i < axes.size(); ++i) {
      put(offset + extents + i * sizeof(int64_t),
          value_of(extent(module_.epilogue.program.params[of].dims[axes[i]].extent)));
      put(offset + strides + i * sizeof(int64_t), word({.kind = WordSpec::Kind::Stride, .param = of, .axis = axes[i]}));
    }
  };
  const auto put_axes = [&](const std::vector<int>& axes, size_t count, size_t extents, size_t strides) {
    put_axes_of(operand.param, axes, count, extents, strides);
  };
  put_axes_of(operand.index_param, operand.index_axes, offsetof(HostOperand, index_axes),
              offsetof(HostOperand, index_extents), offsetof(HostOperand, index_strides));
  if (operand.gathered()) {
    const DType dtype = module_.epilogue.program.params[operand.index_param].dtype;
    put(offset + offsetof(HostOperand, index_address),
        word({.kind = WordSpec::Kind::Pointer, .param = operand.index_param}));
    put(offset + offsetof(HostOperand, index_dtype), number(static_cast<int64_t>(dtype)));
  }
  put_axes(operand.outer_axes, offsetof(HostOperand, axes), offsetof(HostOperand, extents),
           offsetof(HostOperand, strides));
  put_axes(operand.batch_axes, offsetof(HostOperand, batch_axes), offsetof(HostOperand, batch_extents),
           offsetof(HostOperand, batch_strides));
  put(offset + offsetof(HostOperand, depth_stride), stride(operand.depth_axis));
  put(offset + offsetof(HostOperand, depth_run), value_of(extent(param.dims[operand.depth_axis].extent)));
  std::vector<int> depth_axes = operand.outer_depth_axes;
  depth_axes.push_back(operand.depth_axis);
  put_axes(depth_axes, offsetof(HostOperand, depth_axes), offsetof(HostOperand, depth_extents),
           offsetof(HostOperand, depth_strides));
}

void HostGeometryWriter::emit() {
  const EpilogueProgram& epilogue = module_.epilogue;
  put(offsetof(HostGeometry, rows), value_of(extent(module_.layout.rows)));
  put(offsetof(HostGeometry, tile_rows), number(module_.layout.tile_rows));
  if (epilogue.is_rowwise()) return;
  put(offsetof(HostGeometry, batches), value_of(extent(epilogue.batches())));
  put(offsetof(HostGeometry, regions), number(static_cast<int64_t>(epilogue.regions.size())));
  const std::vector<GemmTerm> terms = epilogue.terms();
  put(offsetof(HostGeometry, terms), number(static_cast<int64_t>(terms.size())));
  for (size_t t = 0; t < terms.size(); ++t) {
    const size_t at = offsetof(HostGeometry, term) + t * sizeof(HostTerm);
    put_operand(at + offsetof(HostTerm, a), terms[t].a);
    put_operand(at + offsetof(HostTerm, b), terms[t].b);
    put(at + offsetof(HostTerm, depth), value_of(extent(terms[t].depth)));
    Val scale = emitter().real(1);
    if (terms[t].scale != kNoNode) scale = evaluator().evaluate_real(terms[t].scale, {});
    put(at + offsetof(HostTerm, scale),
        emitter().at(emitter().root()).CreateFPExt(value_of(scale), builder_.getDoubleTy()));
  }
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
