#include "tools/codac/tuned.h"

#include <bit>
#include <nlohmann/json.hpp>

#include "runtime/format/file_io.h"
#include "runtime/format/hash.h"
#include "runtime/format/output_file.h"
#include "tools/codac/command.h"

namespace coda {
namespace {

using nlohmann::json;

constexpr uint64_t kLargestFile = uint64_t{64} << 20;
constexpr const char* kFormat = "coda tuned schedules 1";

Status malformed(const std::string& path, const std::string& what) {
  return {Code::Corrupt, path + " is no file of measured schedules: " + what};
}

std::optional<std::string> text_of(const json& entry, const char* name) {
  const auto found = entry.find(name);
  if (found == entry.end() || !found->is_string()) return {};
  return found->get<std::string>();
}

}  // namespace

Expected<TunedFile> TunedFile::read(const std::string& path) {
  TunedFile file;
  auto bytes = read_file(path, kLargestFile);
  if (!bytes) {
    if (bytes.status().code() == Code::NotFound) return file;
    return bytes.status();
  }
  const json content = json::parse(bytes->begin(), bytes->end(), nullptr, false);
  if (!content.is_object() || text_of(content, "format") != kFormat) {
    return malformed(path, std::string("it does not begin with the format \"") + kFormat + "\"");
  }
  const auto entries = content.find("entries");
  if (entries == content.end() || !entries->is_array()) return malformed(path, "it has no list of entries");
  for (const json& entry : *entries) {
    if (!entry.is_object()) return malformed(path, "an entry is no object");
    const auto program = text_of(entry, "program"), sizes = text_of(entry, "sizes"), device = text_of(entry, "device"),
               compiler = text_of(entry, "compiler"), schedule = text_of(entry, "schedule");
    const auto split = entry.find("split"), ms = entry.find("ms");
    if (!program || !sizes || !device || !compiler || !schedule || split == entry.end() || ms == entry.end() ||
        !split->is_number_integer() || !ms->is_number()) {
      return malformed(path, "an entry lacks a field");
    }
    const auto tail = entry.find("tail");
    const int shares = tail != entry.end() && tail->is_number_integer() ? tail->get<int>() : 0;
    file.put({*program, *sizes, *device, *compiler}, {*schedule, split->get<int>(), shares, ms->get<double>()});
  }
  return file;
}

Status TunedFile::write(const std::string& path) const {
  json content = {{"format", kFormat}, {"entries", json::array()}};
  for (const auto& [key, schedule] : entries_) {
    content["entries"].push_back({{"program", key.program},
                                  {"sizes", key.sizes},
                                  {"device", key.device},
                                  {"compiler", key.compiler},
                                  {"schedule", schedule.name},
                                  {"split", schedule.split},
                                  {"tail", schedule.tail},
                                  {"ms", schedule.milliseconds}});
  }
  const std::string text = content.dump(1) + "\n";
  return write_output(path, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

const TunedSchedule* TunedFile::find(const TunedKey& key) const {
  const TunedSchedule* match = nullptr;
  for (const auto& [own, schedule] : entries_) {
    if (own.program != key.program || own.sizes != key.sizes || own.compiler != key.compiler) continue;
    if (own.device != key.device && !key.device.empty()) continue;
    if (match) return nullptr;
    match = &schedule;
  }
  return match;
}

std::string size_bucket(const Bindings& dims) {
  constexpr int kBits = 3;
  std::string text;
  for (const auto& [name, value] : dims) {
    auto size = static_cast<uint64_t>(std::max<int64_t>(value, 0));
    const int extra = std::max(static_cast<int>(std::bit_width(size)) - kBits, 0);
    size = ((size + (uint64_t{1} << extra) - 1) >> extra) << extra;
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(size);
  }
  return text;
}

TunedKey tuned_key(const EpilogueProgram& epilogue, const Bindings& dims, const std::string& device) {
  const std::string text = to_text(epilogue);
  const Hash128 hash = hash_bytes(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  return {epilogue.program.name + "." + hash.hex(), size_bucket(dims), device, version_text()};
}

std::string apply_tuned(const std::string& path, const std::string& device, CompileRequest& request) {
  if (!request.schedule_name.empty() || !request.schedule.empty()) return "";
  auto file = TunedFile::read(path);
  if (!file) return file.status().message();
  CompileRequest trial = request;
  trial.stage = Stage::Lower;
  trial.dumps.clear();
  const Compilation lowered = compile(trial);
  if (!lowered.epilogue || !lowered.epilogue->program.schedule.empty()) return "";
  const TunedKey key = tuned_key(*lowered.epilogue, request.bindings, device);
  const TunedSchedule* found = file->find(key);
  if (!found)
    return path + " has no schedule for `" + lowered.program->name + "` at " + key.sizes +
           (device.empty() ? " of one device only" : " on " + device);
  trial.schedule_name = found->name;
  trial.schedule["split"] = found->split;
  if (found->tail) trial.schedule["tail"] = 1;
  trial.stage = Stage::Code;
  const Compilation tried = compile(trial);
  if (!tried.ok()) return "the schedule in " + path + " can't be used: " + tried.diagnostics->all()[0].message;
  request.schedule_name = trial.schedule_name;
  request.schedule = trial.schedule;
  return "";
}

}  // namespace coda
