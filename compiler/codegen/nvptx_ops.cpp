#include "compiler/codegen/nvptx_ops.h"

#include <array>

namespace coda::gpu {

Val special_register(NvptxBuilder& b, std::string_view name) {
  return b.intrinsic("nvvm.read.ptx.sreg." + std::string(name), {});
}

Val broadcast_lane0(NvptxBuilder& b, Val value) {
  return b.intrinsic("nvvm.shfl.sync.idx.i32", {b.i32(-1), value, b.i32(0), b.i32(31)});
}

Val veiled(NvptxBuilder& b, Val value) {
  const Val args[] = {value};
  const Ty results[] = {Ty::I32};
  return b.inline_asm("mov.b32 $0, $1;", "=r,r", args, results, {true, true})[0];
}

Val shuffle_xor(NvptxBuilder& b, Val value, int mask) {
  return b.intrinsic("nvvm.shfl.sync.bfly.f32", {b.i32(-1), value, b.i32(mask), b.i32(31)});
}

Val shuffle_from(NvptxBuilder& b, Val value, Val lane) {
  return b.intrinsic("nvvm.shfl.sync.idx.f32", {b.i32(-1), value, lane, b.i32(31)});
}

void cluster_barrier(NvptxBuilder& b) {
  b.intrinsic("nvvm.barrier.cluster.arrive", {});
  b.intrinsic("nvvm.barrier.cluster.wait", {});
}
void cta_barrier(NvptxBuilder& b) { b.intrinsic("nvvm.barrier.cta.sync.aligned.all", {b.i32(0)}); }
void named_barrier(NvptxBuilder& b, Val id, int threads) {
  b.intrinsic("nvvm.barrier.cta.sync.aligned.count", {id, b.i32(threads)});
}
void named_barrier_arrive(NvptxBuilder& b, Val id, int threads) {
  b.intrinsic("nvvm.barrier.cta.arrive.aligned.count", {id, b.i32(threads)});
}
// Memory operations may not be moved across: LLVM's intrinsics don't say so.
void await_earlier_kernels(NvptxBuilder& b) { b.inline_asm("griddepcontrol.wait;", "~{memory}", {}, {}); }
void allow_next_kernel(NvptxBuilder& b) { b.inline_asm("griddepcontrol.launch_dependents;", "~{memory}", {}, {}); }
void set_registers(NvptxBuilder& b, int count, bool increase) {
  b.intrinsic(increase ? "nvvm.setmaxnreg.inc.sync.aligned.u32" : "nvvm.setmaxnreg.dec.sync.aligned.u32",
              {b.i32(count)});
}

void mbarrier_init(NvptxBuilder& b, Val barrier, int arrivals) {
  b.intrinsic("nvvm.mbarrier.init.shared", {barrier, b.i32(arrivals)});
}
void mbarrier_fence_init(NvptxBuilder& b) { b.intrinsic("nvvm.fence.mbarrier_init.release.cluster", {}); }
void mbarrier_expect(NvptxBuilder& b, Val barrier, Val bytes) {
  b.intrinsic("nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta", {barrier, bytes});
}
void mbarrier_arrive(NvptxBuilder& b, Val barrier) {
  b.intrinsic("nvvm.mbarrier.arrive.scope.cta.space.cta", {barrier, b.i32(1)});
}
void mbarrier_arrive_remote(NvptxBuilder& b, Val barrier, Val rank) {
  Val remote = b.intrinsic("nvvm.mapa.shared.cluster", {barrier, rank});
  b.intrinsic("nvvm.mbarrier.arrive.scope.cta.space.cluster", {remote, b.i32(1)});
}
void mbarrier_wait(NvptxBuilder& b, Val barrier, Val parity) {
  Block again = b.block("wait"), done = b.block("wait.done");
  b.jump(again);
  b.enter(again);
  Val ready = b.intrinsic("nvvm.mbarrier.try.wait.parity.scope.cta.space.cta", {barrier, parity});
  b.branch(ready, done, again);
  b.enter(done);
}

void prefetch_tensor_map(NvptxBuilder& b, Val map) { b.intrinsic("nvvm.prefetch.tensormap", {map}, {Ty::Ptr}); }

void tensor_load(NvptxBuilder& b, Val destination, Val barrier, Val map, std::span<const Val> coordinates,
                 std::optional<int> mask) {
  std::vector<Val> args = {b.to_remote(destination), barrier, map};
  args.insert(args.end(), coordinates.begin(), coordinates.end());
  args.push_back(b.i16(mask.value_or(0)));
  args.push_back(b.i64(0));
  args.push_back(b.i1(mask.has_value()));
  args.push_back(b.i1(false));  // no cache hint: hints cost time
  args.push_back(b.i32(0));
  b.intrinsic("nvvm.cp.async.bulk.tensor.g2s.tile." + std::to_string(coordinates.size()) + "d", args);
}

void fence_async_shared(NvptxBuilder& b) { b.intrinsic("nvvm.fence.proxy.async.shared_cta", {}); }
void fence_gpu(NvptxBuilder& b) { b.inline_asm("fence.acq_rel.gpu;", "~{memory}", {}, {}); }

Val atomic_increment_release(NvptxBuilder& b, Val pointer) {
  const Val args[] = {pointer};
  const Ty results[] = {Ty::I32};
  return b.inline_asm("atom.release.gpu.global.add.u32 $0, [$1], 1;", "=r,l,~{memory}", args, results)[0];
}

namespace {

/// Collects the operands of one inline-assembly block: results first, then arguments, numbered as they come.
struct AsmBlock {
  std::string text = "{\n";
  std::string constraints;
  std::vector<Val> args;
  std::vector<Ty> results;

  std::string result(Ty type, const std::string& constraint) {
    constraints += (constraints.empty() ? "=&" : ",=&") + constraint;
    results.push_back(type);
    return "$" + std::to_string(results.size() - 1);
  }
  std::string arg(Val value, const std::string& constraint) {
    constraints += (constraints.empty() ? "" : ",") + constraint;
    args.push_back(value);
    return "$" + std::to_string(results.size() + args.size() - 1);
  }
  void line(const std::string& code) { text += "  " + code + "\n"; }
  std::vector<Val> emit(NvptxBuilder& b) { return b.inline_asm(text + "}", constraints + ",~{memory}", args, results); }
};

std::string vector_suffix(int words) { return words == 1 ? ".b32" : ".v" + std::to_string(words) + ".b32"; }

std::string vector_operand(std::span<const std::string> words) {
  if (words.size() == 1) return words[0];
  std::string list = "{";
  for (const std::string& word : words) list += (list.size() > 1 ? ", " : "") + word;
  return list + "}";
}

std::string at(const std::string& address, int offset) {
  return "[" + address + (offset == 0 ? "" : "+" + std::to_string(offset)) + "]";
}

/// Where element `slot` of a unit may be touched.
void set_predicate(AsmBlock& a, const std::string& remaining, int slot, const std::string& predicate) {
  a.line("setp.gt.s32 p, " + remaining + ", " + std::to_string(slot) + ";");
  if (!predicate.empty()) a.line("and.pred p, p, " + predicate + ";");
}

}  // namespace

std::vector<Val> load_unit(NvptxBuilder& b, const Unit& unit) {
  AsmBlock a;
  if (!unit.wide) {
    std::vector<std::string> all;
    for (int i = 0; i < unit.words(); ++i) all.push_back(a.result(Ty::I32, "r"));
    const std::string from = a.arg(unit.address, "l");
    const std::string guard = unit.predicate ? "@" + a.arg(unit.predicate, "b") + " " : "";
    for (const std::string& word : all) {
      if (unit.predicate) a.line("mov.b32 " + word + ", 0;");  // as below
    }
    a.line(guard + "ld.global" + vector_suffix(unit.words()) + " " + vector_operand(all) + ", " + at(from, 0) + ";");
    return a.emit(b);
  }
  std::vector<std::string> words;
  for (int i = 0; i < unit.words(); ++i) words.push_back(a.result(Ty::I32, "r"));
  const std::string address = a.arg(unit.address, "l"), wide = a.arg(unit.wide, "b"),
                    remaining = a.arg(unit.remaining, "r"),
                    predicate = unit.predicate ? a.arg(unit.predicate, "b") : "";
  a.line(".reg .pred p; .reg .b32 t;");
  // A predicated write alone would keep the register alive from the start of the kernel.
  for (const std::string& word : words) a.line("mov.b32 " + word + ", 0;");
  a.line("@!" + wide + " bra.uni narrow;");
  set_predicate(a, remaining, unit.slots[0], predicate);
  a.line("@p ld.global" + vector_suffix(unit.words()) + " " + vector_operand(words) + ", " + at(address, 0) + ";");
  a.line("bra.uni done;");
  a.line("narrow:");
  for (int i = 0; i < unit.elements(); ++i) {
    const int byte = i * unit.element_bytes;
    const std::string& word = words[static_cast<size_t>(byte / 4)];
    set_predicate(a, remaining, unit.slots[static_cast<size_t>(i)], predicate);
    if (unit.element_bytes >= 4) {
      const size_t first = static_cast<size_t>(byte / 4), count = static_cast<size_t>(unit.element_bytes / 4);
      a.line("@p ld.global" + vector_suffix(static_cast<int>(count)) + " " +
             vector_operand(std::span(words).subspan(first, count)) + ", " + at(address, byte) + ";");
      continue;
    }
    a.line("mov.b32 t, 0;");
    a.line("@p ld.global.u" + std::to_string(8 * unit.element_bytes) + " t, " + at(address, byte) + ";");
    if (byte % 4 != 0) a.line("shl.b32 t, t, " + std::to_string(byte % 4 * 8) + ";");
    a.line("or.b32 " + word + ", " + word + ", t;");
  }
  a.line("done:");
  return a.emit(b);
}

void store_unit(NvptxBuilder& b, const Unit& unit, std::span<const Val> values) {
  AsmBlock a;
  std::vector<std::string> words;
  for (Val v : values) words.push_back(a.arg(v, "r"));
  if (!unit.wide) {
    const std::string to = a.arg(unit.address, "l");
    const std::string guard = unit.predicate ? "@" + a.arg(unit.predicate, "b") + " " : "";
    a.line(guard + "st.global" + vector_suffix(unit.words()) + " " + at(to, 0) + ", " + vector_operand(words) + ";");
    a.emit(b);
    return;
  }
  const std::string address = a.arg(unit.address, "l"), wide = a.arg(unit.wide, "b"),
                    remaining = a.arg(unit.remaining, "r"),
                    predicate = unit.predicate ? a.arg(unit.predicate, "b") : "";
  a.line(".reg .pred p; .reg .b32 t;");
  a.line("@!" + wide + " bra.uni narrow;");
  set_predicate(a, remaining, unit.slots[0], predicate);
  a.line("@p st.global" + vector_suffix(unit.words()) + " " + at(address, 0) + ", " + vector_operand(words) + ";");
  a.line("bra.uni done;");
  a.line("narrow:");
  for (int i = 0; i < unit.elements(); ++i) {
    const int byte = i * unit.element_bytes;
    const std::string& word = words[static_cast<size_t>(byte / 4)];
    set_predicate(a, remaining, unit.slots[static_cast<size_t>(i)], predicate);
    if (unit.element_bytes >= 4) {
      const size_t first = static_cast<size_t>(byte / 4), count = static_cast<size_t>(unit.element_bytes / 4);
      a.line("@p st.global" + vector_suffix(static_cast<int>(count)) + " " + at(address, byte) + ", " +
             vector_operand(std::span(words).subspan(first, count)) + ";");
      continue;
    }
    a.line("shr.u32 t, " + word + ", " + std::to_string(byte % 4 * 8) + ";");
    a.line("@p st.global.u" + std::to_string(8 * unit.element_bytes) + " " + at(address, byte) + ", t;");
  }
  a.line("done:");
  a.emit(b);
}

Val load_element(NvptxBuilder& b, Val address, int bytes, Val predicate) {
  AsmBlock a;
  const bool wide = bytes == 8;
  const std::string out = a.result(wide ? Ty::I64 : Ty::I32, wide ? "l" : "r"), from = a.arg(address, "l");
  if (predicate) a.line(std::string(wide ? "mov.b64 " : "mov.b32 ") + out + ", 0;");
  const std::string guard = predicate ? "@" + a.arg(predicate, "b") + " " : "";
  a.line(guard + "ld.global.u" + std::to_string(8 * bytes) + " " + out + ", " + at(from, 0) + ";");
  return a.emit(b)[0];
}

void store_element(NvptxBuilder& b, Val address, Val value, int bytes, Val predicate) {
  AsmBlock a;
  const std::string from = a.arg(value, bytes == 8 ? "l" : "r"), to = a.arg(address, "l");
  const std::string guard = predicate ? "@" + a.arg(predicate, "b") + " " : "";
  a.line(guard + "st.global.u" + std::to_string(8 * bytes) + " " + at(to, 0) + ", " + from + ";");
  a.emit(b);
}

void store_shared(NvptxBuilder& b, Val address, Val value, int bytes) {
  const Val args[] = {address, value};
  b.inline_asm("st.shared.u" + std::to_string(8 * bytes) + " [$0], $1;", bytes == 8 ? "r,l,~{memory}" : "r,r,~{memory}",
               args, {});
}

Val load_shared(NvptxBuilder& b, Val address, int bytes) {
  const Val args[] = {address};
  const Ty results[] = {bytes == 8 ? Ty::I64 : Ty::I32};
  return b.inline_asm("ld.shared.u" + std::to_string(8 * bytes) + " $0, [$1];",
                      bytes == 8 ? "=l,r,~{memory}" : "=r,r,~{memory}", args, results)[0];
}

void store_shared_where(NvptxBuilder& b, Val address, Val word, Val predicate) {
  const Val args[] = {address, word, predicate};
  b.inline_asm("@$2 st.shared.u32 [$0], $1;", "r,r,b,~{memory}", args, {});
}

Val load_released(NvptxBuilder& b, Val address, Val otherwise, Val predicate) {
  const Val args[] = {otherwise, address, predicate};
  const Ty results[] = {Ty::F32};
  return b.inline_asm("mov.b32 $0, $1;\n @$3 ld.relaxed.gpu.global.f32 $0, [$2];", "=&f,f,l,b,~{memory}", args,
                      results)[0];
}

std::vector<Val> add_released(NvptxBuilder& b, Val address, int stride, std::span<const Val> sums, Val predicate) {
  const int count = static_cast<int>(sums.size());
  std::string text = "{\n .reg .f32 t<" + std::to_string(count) + ">;", constraints;
  const auto number = [](const char* prefix, int i) { return prefix + std::to_string(i); };
  const std::string from = number("$", 2 * count), guard = predicate ? "@" + number("$", 2 * count + 1) + " " : "";
  if (predicate) {
    for (int i = 0; i < count; ++i) text += "\n mov.f32 " + number("t", i) + ", 0f00000000;";
  }
  for (int i = 0; i < count; i += 4) {
    text += "\n " + guard + "ld.relaxed.gpu.global.v4.f32 {" + number("t", i) + ", " + number("t", i + 1) + ", " +
            number("t", i + 2) + ", " + number("t", i + 3) + "}, [" + from + "+" + std::to_string(4 * stride * i) +
            "];";
  }
  for (int i = 0; i < count; ++i) {
    text += "\n add.rn.f32 " + number("$", i) + ", " + number("$", i) + ", " + number("t", i) + ";";
  }
  for (int i = 0; i < count; ++i) constraints += "=f,";
  for (int i = 0; i < count; ++i) constraints += std::to_string(i) + ",";
  std::vector<Val> args(sums.begin(), sums.end());
  args.push_back(address);
  if (predicate) args.push_back(predicate);
  const std::vector<Ty> results(sums.size(), Ty::F32);
  return b.inline_asm(text + "\n}", constraints + (predicate ? "l,b" : "l") + ",~{memory}", args, results);
}

}  // namespace coda::gpu
