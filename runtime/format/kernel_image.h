// The artefact a compiler hands to the runtime for one kernel: code, and how to turn a program's arguments into a
// launch. Depends on neither LLVM nor CUDA; can be written to and read from bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coda/status.h"
#include "runtime/format/envelope.h"
#include "runtime/format/signature.h"

namespace coda {

/// One 64-bit word of the kernel's argument block.
struct WordSpec {
  enum class Kind : uint8_t {
    Pointer,     ///< address of `param`
    Stride,      ///< stride of `axis` of `param`, in elements
    Extent,      ///< value of `dim`
    Scalar,      ///< `param`'s value: f32 bits for Real types, the integer otherwise
    Workspace,   ///< address of workspace buffer `param`
    Conditions,  ///< bit i is set when conditions[i] holds
    TensorMaps,  ///< bit i is set when tensor_maps[i] could be encoded; the kernel reads no map whose bit is clear
  };
  Kind kind = Kind::Pointer;
  int param = -1, axis = -1;
  Dim dim;
};

/// What the code would like to know of a parameter's memory, found at launch. An axis of extent 1 has any stride.
struct ConditionSpec {
  int param = -1;
  int unit_axis = -1;     ///< its stride must be 1; -1: no demand
  int64_t alignment = 1;  ///< base address, and the byte strides of all axes but `unit_axis`, are multiples of it
  std::vector<Dim> extents;
  int64_t extent_multiple = 1;  ///< each of `extents` is a multiple of it
};

/// One axis of a TMA tensor map over a parameter: extent, byte stride = multiplier * stride of `axis`, box.
struct TensorMapAxis {
  Dim extent;  ///< of the parameter's memory; the map gets floor(extent / divisor)
  int64_t divisor = 1;
  int axis = -1;  ///< axis of the parameter whose stride is used; the innermost one's must be 1
  int64_t multiplier = 1;
  uint32_t box = 1;
};
/// A map that can't be encoded (an extent of 0, a base or stride that is no multiple of 16 bytes, an innermost axis
/// whose stride isn't 1) is left unwritten and its bit in the TensorMaps word stays clear: the kernel then loads by
/// other means.
struct TensorMapSpec {
  int param = -1;
  int offset_axis = -1;  ///< the base address moves by `offset` steps of this axis
  Dim offset;
  std::vector<TensorMapAxis> axes;  ///< innermost first
  /// Lists of axes walked as one, outermost first: encodable only where each one's stride is the next one's stride
  /// times its extent. A TensorMapAxis names the last of a list.
  std::vector<std::vector<int>> collapsed;
  bool swizzle_128b = true;
};

struct WorkspaceSpec {
  Dim bytes;          ///< before rounding: extents of the problem; may use ceiling terms below
  Dim rows, columns;  ///< bytes += row_tile_bytes * ceil(rows/tile_rows) * ceil(columns/tile_columns), if tiles set
  int64_t tile_rows = 0, tile_columns = 0, tile_bytes = 0;
  bool zeroed = false;  ///< zero before the first launch; the kernel leaves it zero
};

enum class CodeKind : uint8_t { HostObject, Ptx, Cubin };

struct KernelImage : Signature {
  CodeKind code_kind = CodeKind::HostObject;
  std::string entry;
  std::vector<uint8_t> code;

  // Geometry of the GEMM. A pass over rows has no depth, and no region either unless CTAs share a row's columns: then
  // one of one segment, of which a CTA does `tile_columns` at a time.
  Dim rows, depth;
  std::vector<Dim> region_columns;
  int tile_rows = 0, tile_columns = 0;  ///< columns of a region's coordinate a tile covers: tile_columns / segments
  std::vector<int> region_segments;
  int cluster = 1, threads = 0, shared_bytes = 0;
  int ctas_per_sm = 1;  ///< that the grid is sized for
  int split = 1;        ///< parts into which the depth of a tile is cut at most, each of a CTA's own
  /// It may be launched before the kernel in front of it on the stream has ended: until that one has, it only reads
  /// what no kernel of the plan writes, and writes nothing.
  bool dependent = false;

  std::vector<WordSpec> words;
  std::vector<ConditionSpec> conditions;   ///< at most 64
  std::vector<TensorMapSpec> tensor_maps;  ///< at most 64
  std::vector<WorkspaceSpec> workspaces;

  std::string schedule;  ///< the schedule's name, for `explain`
  // What `explain` prints; filled where an assembler ran.
  int registers = 0, spill_bytes = 0;
};

extern const FileKind kKernelFile;
/// The image as bytes. Equal images give equal bytes.
std::vector<uint8_t> to_bytes(const KernelImage& image);
/// The image those bytes hold; Corrupt for anything that to_bytes() did not make or that contradicts itself.
Expected<KernelImage> image_from_bytes(std::span<const uint8_t> bytes);

/// What is wrong with an image's own indices and sizes (a word that names no parameter, ...); Ok if nothing is.
Status check_image(const KernelImage& image);

}  // namespace coda
