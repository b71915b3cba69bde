#include "ptx_paths.h"

#include <map>
#include <sstream>

namespace coda::test {
namespace {

struct Instruction {
  std::string predicate, op, rest;
  int scope = 0;
};

struct Text {
  std::vector<Instruction> code;
  std::vector<int> parents{-1};                          // of scopes
  std::map<std::pair<int, std::string>, size_t> labels;  // by scope: labels of assembly blocks are their own
  std::multimap<std::string, size_t> definitions;        // of registers, by name

  size_t target(int scope, const std::string& label) const {
    for (int s = scope; s >= 0; s = parents[static_cast<size_t>(s)]) {
      const auto found = labels.find({s, label});
      if (found != labels.end()) return found->second;
    }
    return code.size();
  }
};

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\n"), last = text.find_last_not_of(" \t\n");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

void add_statement(Text& text, const std::string& statement, int scope) {
  Instruction i;
  std::istringstream words(statement);
  words >> i.op;
  if (i.op[0] == '@') {
    i.predicate = i.op;
    words >> i.op;
  }
  std::getline(words, i.rest, '\0');
  i.rest = trimmed(i.rest);
  i.scope = scope;
  const size_t end = i.rest.find_first_of(", ");
  text.definitions.emplace(i.rest.substr(0, end), text.code.size());
  text.code.push_back(std::move(i));
}

/// Statements of the kernel's body. A brace that follows a space within a statement is a vector's.
Text parse(const std::string& ptx) {
  Text text;
  size_t at = ptx.find("\n{");
  if (at == std::string::npos) return text;
  at += 2;
  std::vector<int> scopes{0};
  std::string statement;
  int vectors = 0;
  for (; at < ptx.size() && !scopes.empty(); ++at) {
    const char c = ptx[at];
    if (c == '/' && ptx[at + 1] == '/') {
      at = ptx.find('\n', at);
      continue;
    }
    const std::string so_far = trimmed(statement);
    if (c == '{' && so_far.empty()) {
      text.parents.push_back(scopes.back());
      scopes.push_back(static_cast<int>(text.parents.size()) - 1);
    } else if (c == '}' && vectors == 0) {
      scopes.pop_back();
      statement.clear();
    } else if (c == ':' && !so_far.empty() && so_far.find_first_of(" \t") == std::string::npos && ptx[at + 1] != ':' &&
               so_far.back() != ':') {
      text.labels[{scopes.back(), so_far}] = text.code.size();
      statement.clear();
    } else if (c == ';') {
      if (!so_far.empty() && so_far[0] != '.') add_statement(text, so_far, scopes.back());
      statement.clear();
    } else {
      vectors += c == '{' ? 1 : c == '}' ? -1 : 0;
      statement += c;
    }
  }
  return text;
}

bool starts_with(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

/// The tensor maps that a register may hold the address of.
void maps_of(const Text& text, const std::string& reg, std::set<std::string>& seen, PtxPrefix& result) {
  if (!seen.insert(reg).second) return;
  const auto [begin, end] = text.definitions.equal_range(reg);
  if (begin == end) result.unknown = "the origin of " + reg;
  for (auto it = begin; it != end; ++it) {
    const Instruction& i = text.code[it->second];
    const bool moves = starts_with(i.op, "mov") || starts_with(i.op, "cvta") || starts_with(i.op, "selp");
    if (!moves) result.unknown = i.op + " " + i.rest;
    std::istringstream operands(i.rest);
    std::string operand;
    std::getline(operands, operand, ',');  // the destination
    for (int n = 0; moves && std::getline(operands, operand, ',') && n < 2; ++n) {
      operand = trimmed(operand);
      const size_t param = operand.rfind("_param_");
      if (param != std::string::npos) {
        result.maps.insert(std::atoi(operand.c_str() + param + 7));
      } else {
        maps_of(text, operand, seen, result);
      }
    }
  }
}

void look_at(const Text& text, const Instruction& i, PtxPrefix& result) {
  if (starts_with(i.op, "cp.async.bulk.tensor")) {
    // [shared], [map, {coordinates}], [barrier]
    const size_t map = i.rest.find('[', 1) + 1;
    std::set<std::string> seen;
    maps_of(text, trimmed(i.rest.substr(map, i.rest.find(',', map) - map)), seen, result);
    return;
  }
  const bool memory = starts_with(i.op, "ld.") || starts_with(i.op, "st.") || starts_with(i.op, "atom") ||
                      starts_with(i.op, "red.") || starts_with(i.op, "cp.") || starts_with(i.op, "ldu");
  const auto among = [&](const char* space) { return i.op.find(space) != std::string::npos; };
  if (memory && !among(".param") && !among(".shared") && !among(".const") && !among(".local")) {
    result.touches.push_back(i.op + " " + i.rest);
  }
}

}  // namespace

PtxPrefix ptx_before_wait(const std::string& ptx) {
  PtxPrefix result;
  const Text text = parse(ptx);
  for (const Instruction& i : text.code) result.allows += starts_with(i.op, "griddepcontrol.launch_dependents");
  std::set<size_t> seen;
  std::vector<size_t> open{0};
  while (!open.empty()) {
    const size_t at = open.back();
    open.pop_back();
    if (at >= text.code.size()) {
      result.unknown = "the end of the text";
      continue;
    }
    if (!seen.insert(at).second) continue;
    const Instruction& i = text.code[at];
    if (i.op == "griddepcontrol.wait") {
      ++result.waits;
      continue;
    }
    if (i.op == "ret" || i.op == "exit") {
      if (!i.predicate.empty()) open.push_back(at + 1);
      continue;
    }
    if (starts_with(i.op, "brx") || starts_with(i.op, "call")) result.unknown = i.op;
    if (starts_with(i.op, "bra")) {
      open.push_back(text.target(i.scope, i.rest));
      if (!i.predicate.empty()) open.push_back(at + 1);
      continue;
    }
    look_at(text, i, result);
    open.push_back(at + 1);
  }
  return result;
}

}  // namespace coda::test
