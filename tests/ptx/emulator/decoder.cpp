#include "tests/ptx/emulator/decoder.h"

#include <algorithm>
#include <cstring>

#include "tests/ptx/emulator/fault.h"
#include "tests/ptx/emulator/opcodes.h"

namespace coda::ptx {
namespace {

struct SpecialName {
  const char* name;
  Special what;
};
constexpr SpecialName kSpecialNames[] = {{"%tid.x", Special::TidX},
                                         {"%ntid.x", Special::NtidX},
                                         {"%ctaid.x", Special::CtaidX},
                                         {"%nctaid.x", Special::NctaidX},
                                         {"%laneid", Special::LaneId},
                                         {"%warpid", Special::WarpId},
                                         {"%smid", Special::Smid},
                                         {"%nsmid", Special::Nsmid},
                                         {"%cluster_ctarank", Special::ClusterCtaRank},
                                         {"%cluster_nctarank", Special::ClusterNctaRank},
                                         {"%clusterid.x", Special::ClusteridX},
                                         {"%nclusterid.x", Special::NclusteridX},
                                         {"%tid.y", Special::Zero},
                                         {"%tid.z", Special::Zero},
                                         {"%ctaid.y", Special::Zero},
                                         {"%ctaid.z", Special::Zero},
                                         {"%ntid.y", Special::One},
                                         {"%ntid.z", Special::One},
                                         {"%nctaid.y", Special::One},
                                         {"%nctaid.z", Special::One}};

/// Bytes of a type such as ".b32" or ".f16x2"; 0 of .pred, -1 if it is none.
int bytes_of_type(std::string_view type) {
  if (type == ".pred") return 0;
  if (type == ".f16x2" || type == ".bf16x2") return 4;
  if (type == ".bf16") return 2;
  for (const auto& [bits, bytes] : {std::pair{"64", 8}, {"32", 4}, {"16", 2}, {"8", 1}}) {
    if (type.size() > 2 && type.substr(2) == bits) return bytes;
  }
  return -1;
}

uint32_t align(uint64_t offset, uint64_t alignment) {
  return static_cast<uint32_t>((offset + alignment - 1) / alignment * alignment);
}

/// ".param .align 64 .b8 name[128]" and its like of other spaces: name, alignment and size.
struct Declared {
  std::string name;
  uint64_t alignment = 1, bytes = 0;
};
Declared declared(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  Declared d;
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == ".align") {
      d.alignment = std::stoull(words[++i]);
    } else if (words[i] == "[" && i + 1 < words.size() && words[i + 1] != "]") {
      d.bytes *= std::stoull(words[++i]);
    } else if (const int bytes = bytes_of_type(words[i]); bytes > 0) {
      d.bytes = static_cast<uint64_t>(bytes);
      d.alignment = std::max(d.alignment, d.bytes);
    } else if (words[i][0] != '.' && words[i] != "[" && words[i] != "]") {
      d.name = words[i];
    }
  }
  return d;
}

}  // namespace

Decoder::Decoder(const EntryText& entry, std::vector<std::string> shared) : entry_(entry), shared_(std::move(shared)) {}

void Decoder::fail(const std::string& what) const {
  const std::string where = statement_ ? "PTX line " + std::to_string(statement_->line) + " (" + statement_->name + ")"
                                       : "kernel " + entry_.name;
  throw Fault(where + ": " + what);
}

Kernel Decoder::decode() {
  kernel_.name = entry_.name;
  for (const std::string& text : entry_.parameters) {
    const Declared d = declared(text);
    const uint32_t at = align(kernel_.parameter_bytes, d.alignment);
    kernel_.parameters.push_back({d.name, at, static_cast<uint32_t>(d.bytes)});
    addresses_[d.name] = at;
    kernel_.parameter_bytes = at + static_cast<uint32_t>(d.bytes);
  }
  const std::vector<std::string> attributes = words_of(entry_.attributes);
  for (size_t i = 0; i + 1 < attributes.size(); ++i) {
    if (attributes[i] == ".maxntid") kernel_.threads = static_cast<unsigned>(std::stoul(attributes[i + 1]));
    if (attributes[i] == ".reqnctapercluster") kernel_.cluster = static_cast<unsigned>(std::stoul(attributes[i + 1]));
  }
  scopes_.emplace_back();
  for (const Statement& statement : entry_.body) {
    statement_ = &statement;
    switch (statement.kind) {
      case Statement::Kind::Open:
        scopes_.emplace_back();
        break;
      case Statement::Kind::Close:
        close_scope();
        break;
      case Statement::Kind::Label:
        scopes_.back().labels[statement.name] = static_cast<uint32_t>(kernel_.code.size());
        break;
      case Statement::Kind::Directive:
        directive(statement);
        break;
      case Statement::Kind::Instruction:
        instruction(statement);
        break;
    }
  }
  close_scope();
  statement_ = nullptr;
  if (kernel_.code.empty()) fail("it has no instruction");
  return std::move(kernel_);
}

void Decoder::close_scope() {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  for (auto& [instruction, label] : scope.branches) {
    if (const auto it = scope.labels.find(label); it != scope.labels.end()) {
      kernel_.code[instruction].target = it->second;
    } else if (scopes_.empty()) {
      fail("there is no label '" + label + "'");
    } else {
      scopes_.back().branches.emplace_back(instruction, label);
    }
  }
}

void Decoder::directive(const Statement& statement) {
  const std::vector<std::string> words = words_of(statement.name);
  if (words[0] == ".pragma" || words[0] == ".loc") return;
  if (words[0] == ".reg") {
    const int bytes = bytes_of_type(words.at(1));
    if (bytes < 0) fail("a register of type " + words[1]);
    const auto declare = [&](const std::string& name) {
      scopes_.back().registers[name] = make_register(bytes == 1 ? 2 : bytes, name);
    };
    for (size_t i = 2; i < words.size(); ++i) {
      if (i + 2 < words.size() && words[i + 1] == "<") {
        const int count = std::stoi(words[i + 2]);
        for (int k = 0; k < count; ++k) declare(words[i] + std::to_string(k));
        i += 3;
      } else {
        declare(words[i]);
      }
    }
    return;
  }
  const Declared d = declared(statement.name);
  if (words[0] == ".local") {
    const uint32_t at = align(kernel_.local_bytes, d.alignment);
    addresses_[d.name] = at;
    kernel_.local_bytes = at + static_cast<uint32_t>(d.bytes);
  } else if (words[0] == ".shared") {
    const uint32_t at = align(kernel_.static_shared, d.alignment);
    static_shared_[d.name] = at;
    kernel_.static_shared = at + static_cast<uint32_t>(d.bytes);
  } else {
    fail("the emulator does not know this directive");
  }
}

void Decoder::instruction(const Statement& statement) {
  Instruction in;
  in.line = statement.line;
  const auto [it, is_new] = opcode_numbers_.emplace(statement.name, static_cast<uint32_t>(kernel_.opcodes.size()));
  if (is_new) kernel_.opcodes.push_back(statement.name);
  in.opcode = it->second;
  if (!statement.guard.empty()) {
    const RegisterPlace* guard = find(statement.guard);
    if (!guard || guard->bytes != 0) fail("'" + statement.guard + "' is no predicate");
    in.guarded = true;
    in.negated = statement.negated;
    in.guard = guard->operand;
  }
  decode_opcode(*this, statement, in);
  kernel_.code.push_back(in);
}

const RegisterPlace* Decoder::find(const std::string& name) const {
  for (size_t i = scopes_.size(); i-- > 0;) {
    if (const auto it = scopes_[i].registers.find(name); it != scopes_[i].registers.end()) return &it->second;
  }
  return nullptr;
}

RegisterPlace Decoder::make_register(int bytes, const std::string& name) {
  RegisterPlace place;
  place.bytes = bytes;
  const uint32_t size = bytes == 0 ? 4 : static_cast<uint32_t>(bytes * kLanes);
  kernel_.register_bytes = align(kernel_.register_bytes, bytes == 0 ? 4 : 64);
  place.operand = {kernel_.register_bytes, kernel_.registers++};
  kernel_.register_bytes += size;
  kernel_.register_names.push_back(name);
  kernel_.register_bytes_of.push_back(static_cast<uint8_t>(bytes));
  return place;
}

RegisterPlace Decoder::constant(uint64_t value, int bytes) {
  if (bytes == 0) fail("a constant where a predicate is needed");
  if (bytes < 8) value &= (uint64_t{1} << (8 * bytes)) - 1;
  auto [it, is_new] = constants_.try_emplace({bytes, value});
  if (is_new) {
    it->second = make_register(bytes, "the constant " + std::to_string(value));
    kernel_.constants.push_back({it->second, value});
  }
  return it->second;
}

RegisterPlace Decoder::special(const std::string& name, int bytes, uint64_t addend) {
  Special what = Special::SharedAddress;
  if (name[0] == '%') {
    const auto* row = std::find_if(std::begin(kSpecialNames), std::end(kSpecialNames),
                                   [&](const SpecialName& s) { return name == s.name; });
    if (row == std::end(kSpecialNames)) fail("the emulator does not know '" + name + "'");
    what = row->what;
  }
  auto [it, is_new] = specials_.try_emplace({name, {bytes, addend}});
  if (is_new) {
    it->second = make_register(bytes, name);
    kernel_.specials.push_back({what, it->second, addend});
  }
  return it->second;
}

RegisterPlace Decoder::any_value(const Argument& argument, int bytes) {
  switch (argument.kind) {
    case Argument::Kind::Integer:
      return constant(argument.bits, bytes);
    case Argument::Kind::Float32:
    case Argument::Kind::Float64:
      if (bytes != (argument.kind == Argument::Kind::Float32 ? 4 : 8)) fail("a constant of another size");
      return constant(argument.bits, bytes);
    case Argument::Kind::Name:
      break;
    default:
      fail("an operand of another kind is needed");
  }
  if (argument.name == "_") return {{0, kNoRegister}, bytes};
  if (const RegisterPlace* place = find(argument.name)) return *place;
  const auto offset = static_cast<uint64_t>(argument.offset);
  if (const auto it = addresses_.find(argument.name); it != addresses_.end())
    return constant(it->second + offset, bytes);
  if (const auto it = static_shared_.find(argument.name); it != static_shared_.end()) {
    return special(it->first, bytes, it->second + offset);
  }
  if (std::find(shared_.begin(), shared_.end(), argument.name) != shared_.end()) {
    return special(argument.name, bytes, align(kernel_.static_shared, 1024) + offset);
  }
  if (argument.name[0] == '%' && argument.name.size() > 1) return special(argument.name, bytes, 0);
  fail("there is no '" + argument.name + "'");
}

Operand Decoder::value(const Argument& argument, int bytes) {
  const RegisterPlace place = any_value(argument, bytes);
  if (place.bytes != bytes) {
    fail("'" + argument.name + "' has " + std::to_string(8 * place.bytes) + " bits, and " + std::to_string(8 * bytes) +
         " are needed");
  }
  return place.operand;
}

void Decoder::address(const Argument& argument, Instruction& in) {
  if (argument.kind != Argument::Kind::Address) fail("an address is needed");
  Argument base = argument;
  in.offset = argument.offset;
  base.offset = 0;
  base.kind = argument.name.empty() ? Argument::Kind::Integer : Argument::Kind::Name;
  if (argument.name.empty()) in.offset = 0;
  const RegisterPlace place = any_value(base, 8);
  if (place.bytes != 8 && place.bytes != 4) fail("an address has 32 or 64 bits");
  in.at[0] = place.operand;
  in.address_bytes = static_cast<uint8_t>(place.bytes);
}

void Decoder::list(const std::vector<Argument>& arguments, int bytes, Instruction& in) {
  in.list = static_cast<uint32_t>(kernel_.lists.size());
  in.list_size = static_cast<uint32_t>(arguments.size());
  for (const Argument& argument : arguments) kernel_.lists.push_back(value(argument, bytes));
}

int64_t Decoder::integer(const Argument& argument) const {
  if (argument.kind != Argument::Kind::Integer) fail("a number is needed");
  return static_cast<int64_t>(argument.bits);
}

void Decoder::branch(const Argument& label) {
  if (label.kind != Argument::Kind::Name) fail("a label is needed");
  scopes_.back().branches.emplace_back(kernel_.code.size(), label.name);
}

Module decode_module(std::string_view text) {
  const ModuleText syntax = read_syntax(text);
  std::vector<std::string> shared;
  for (const std::string& declaration : syntax.declarations) {
    const std::vector<std::string> words = words_of(declaration);
    if (std::find(words.begin(), words.end(), ".shared") == words.end()) {
      throw Fault("the emulator does not know the declaration '" + declaration + "'");
    }
    shared.push_back(declared(declaration).name);
  }
  Module module;
  for (const EntryText& entry : syntax.entries) module.kernels[entry.name] = Decoder(entry, shared).decode();
  if (module.kernels.empty()) throw Fault("the text has no kernel");
  return module;
}

}  // namespace coda::ptx
