#include "runtime/format/kernel_image.h"

#include <algorithm>

#include "runtime/format/archive.h"
#include "runtime/format/signature_visit.h"

namespace coda {

namespace {

// For each structure, the one description of its stored form.

template <class Io, class Word>
void visit_word(Io& io, Word& word) {
  io.enumeration(word.kind, WordSpec::Kind::TensorMaps);
  io.field(word.param);
  io.field(word.axis);
  io.field(word.dim);
}

template <class Io, class Condition>
void visit_condition(Io& io, Condition& condition) {
  io.field(condition.param);
  io.field(condition.unit_axis);
  io.field(condition.alignment);
  io.list(condition.extents, [](Io& inner, auto& dim) { inner.field(dim); });
  io.field(condition.extent_multiple);
}

template <class Io, class Map>
void visit_tensor_map(Io& io, Map& map) {
  io.field(map.param);
  io.field(map.offset_axis);
  io.field(map.offset);
  io.list(map.axes, [](Io& inner, auto& axis) {
    inner.field(axis.extent);
    inner.field(axis.divisor);
    inner.field(axis.axis);
    inner.field(axis.multiplier);
    inner.field(axis.box);
  });
  io.list(map.collapsed, [](Io& inner, auto& axes) { inner.list(axes, [](Io& one, auto& axis) { one.field(axis); }); });
  io.field(map.swizzle_128b);
}

template <class Io, class Workspace>
void visit_workspace(Io& io, Workspace& workspace) {
  io.field(workspace.bytes);
  io.field(workspace.rows);
  io.field(workspace.columns);
  io.field(workspace.tile_rows);
  io.field(workspace.tile_columns);
  io.field(workspace.tile_bytes);
  io.field(workspace.zeroed);
}

template <class Io, class Image>
void visit(Io& io, Image& image) {
  visit_signature(io, image);
  io.enumeration(image.code_kind, CodeKind::Cubin);
  io.field(image.entry);
  io.bytes(image.code);
  io.field(image.rows);
  io.field(image.depth);
  io.list(image.region_columns, [](Io& inner, auto& dim) { inner.field(dim); });
  io.field(image.tile_rows);
  io.field(image.tile_columns);
  io.list(image.region_segments, [](Io& inner, auto& count) { inner.field(count); });
  io.field(image.cluster);
  io.field(image.threads);
  io.field(image.shared_bytes);
  io.field(image.ctas_per_sm);
  io.field(image.split);
  io.field(image.dependent);
  io.list(image.words, [](Io& inner, auto& item) { visit_word(inner, item); });
  io.list(image.conditions, [](Io& inner, auto& item) { visit_condition(inner, item); });
  io.list(image.tensor_maps, [](Io& inner, auto& item) { visit_tensor_map(inner, item); });
  io.list(image.workspaces, [](Io& inner, auto& item) { visit_workspace(inner, item); });
  io.field(image.schedule);
  io.field(image.registers);
  io.field(image.spill_bytes);
}

Status corrupt(const std::string& reason) { return corrupt(kKernelFile, reason); }

}  // namespace

// The version rises with every change of visit() above.
const FileKind kKernelFile = {"CODAIMG\n", 5, "kernel image"};

std::vector<uint8_t> to_bytes(const KernelImage& image) {
  Writer fields;
  visit(fields, image);
  return seal(kKernelFile, fields.take());
}

Expected<KernelImage> image_from_bytes(std::span<const uint8_t> bytes) {
  auto fields = unseal(kKernelFile, bytes);
  if (!fields) return fields.status();
  KernelImage image;
  Reader reader(*fields);
  visit(reader, image);
  if (!reader.ok() || !reader.at_end()) return corrupt("a field is malformed");
  if (Status status = check_image(image); !status.ok()) return status;
  return image;
}

Status check_image(const KernelImage& image) {
  const int params = static_cast<int>(image.params.size());
  auto is_tensor = [&](int param) {
    return param >= 0 && param < params && image.params[param].role != ParamSpec::Role::Scalar;
  };
  auto has_axis = [&](int param, int axis) {
    return axis >= 0 && axis < static_cast<int>(image.params[param].extents.size());
  };
  for (const WordSpec& word : image.words) {
    bool good = true;
    switch (word.kind) {
      case WordSpec::Kind::Pointer:
        good = is_tensor(word.param);
        break;
      case WordSpec::Kind::Stride:
        good = is_tensor(word.param) && has_axis(word.param, word.axis);
        break;
      case WordSpec::Kind::Scalar:
        good = word.param >= 0 && word.param < params && !is_tensor(word.param);
        break;
      case WordSpec::Kind::Workspace:
        good = word.param >= 0 && word.param < static_cast<int>(image.workspaces.size());
        break;
      default:
        break;
    }
    if (!good) return corrupt("an argument word names a parameter that is not there");
  }
  if (image.conditions.size() > 64 || image.tensor_maps.size() > 64) {
    return corrupt("it has more than 64 launch conditions or tensor maps");
  }
  for (const ConditionSpec& condition : image.conditions) {
    if (!is_tensor(condition.param) || condition.alignment < 1 || condition.extent_multiple < 1 ||
        (condition.unit_axis != -1 && !has_axis(condition.param, condition.unit_axis))) {
      return corrupt("a launch condition is malformed");
    }
  }
  for (const TensorMapSpec& map : image.tensor_maps) {
    bool good = is_tensor(map.param) && !map.axes.empty() && map.axes.size() <= 5 &&
                (map.offset_axis == -1 || has_axis(map.param, map.offset_axis));
    for (const TensorMapAxis& axis : map.axes) {
      good = good && axis.divisor >= 1 && axis.multiplier >= 1 && axis.box >= 1 && axis.box <= 256 &&
             has_axis(map.param, axis.axis);
    }
    for (const auto& axes : map.collapsed) {
      good = good && !axes.empty();
      for (const int axis : axes) good = good && has_axis(map.param, axis);
    }
    if (!good) return corrupt("a tensor map is malformed");
  }
  for (const WorkspaceSpec& workspace : image.workspaces) {
    if (workspace.tile_rows < 0 || workspace.tile_columns < 0 || workspace.tile_bytes < 0) {
      return corrupt("a workspace is malformed");
    }
  }
  static constexpr const char* kRelations[] = {"=", "!=", "<", "<=", ">", ">="};
  for (const FactSpec& fact : image.facts) {
    if (std::find(std::begin(kRelations), std::end(kRelations), fact.relation) == std::end(kRelations)) {
      return corrupt("a fact has the unknown relation '" + fact.relation + "'");
    }
  }
  if (image.region_segments.size() != image.region_columns.size() || image.tile_rows < 0 || image.tile_columns < 0 ||
      image.cluster < 1 || image.ctas_per_sm < 1 || image.split < 1 || image.threads < 0 || image.shared_bytes < 0 ||
      std::any_of(image.region_segments.begin(), image.region_segments.end(), [](int n) { return n < 1; })) {
    return corrupt("its geometry is malformed");
  }
  return {};
}

}  // namespace coda
