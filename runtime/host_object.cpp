#include "runtime/host_object.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

namespace coda {

/// Every offset that comes from the bytes is checked before it is used.
class ObjectReader {
 public:
  explicit ObjectReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  Status read(HostObject& object) {
    for (const auto step : {&ObjectReader::read_sections, &ObjectReader::map_sections, &ObjectReader::read_symbols,
                            &ObjectReader::relocate, &ObjectReader::protect}) {
      if (Status status = (this->*step)(object); !status.ok()) return status;
    }
    return {};
  }

 private:
  static Status corrupt(const std::string& what) { return {Code::Corrupt, "not a usable host object: " + what}; }

  template <class T>
  bool get(uint64_t offset, T& out) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return false;
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return true;
  }

  bool text(uint32_t section, uint64_t offset, std::string& out) const {
    if (section >= sections_.size()) return false;
    const Elf64_Shdr& table = sections_[section];
    if (table.sh_type != SHT_STRTAB || offset >= table.sh_size || !holds(table)) return false;
    const char* first = reinterpret_cast<const char*>(bytes_.data() + table.sh_offset + offset);
    out.assign(first, strnlen(first, table.sh_size - offset));
    return true;
  }

  bool holds(const Elf64_Shdr& section) const {
    return section.sh_offset <= bytes_.size() && section.sh_size <= bytes_.size() - section.sh_offset;
  }

  Status read_sections(HostObject&) {
    Elf64_Ehdr header;
    if (!get(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return corrupt("it is no ELF file");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 || header.e_type != ET_REL) {
      return corrupt("it is not a relocatable object for x86-64");
    }
    for (unsigned i = 0; i < header.e_shnum; ++i) {
      Elf64_Shdr section;
      if (!get(header.e_shoff + uint64_t{i} * sizeof(section), section)) return corrupt("its section table is cut off");
      sections_.push_back(section);
    }
    return {};
  }

  /// Code first, then data, each from a page of its own.
  Status map_sections(HostObject& object) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const auto round_up = [](uint64_t value, uint64_t to) { return (value + to - 1) / to * to; };
    places_.assign(sections_.size(), kNowhere);
    uint64_t size = 0;
    for (const bool code : {true, false}) {
      size = round_up(size, page);
      if (!code) code_size_ = size;
      for (size_t i = 0; i < sections_.size(); ++i) {
        const Elf64_Shdr& section = sections_[i];
        if ((section.sh_flags & SHF_ALLOC) == 0 || ((section.sh_flags & SHF_EXECINSTR) != 0) != code) continue;
        if ((section.sh_flags & SHF_WRITE) != 0) return corrupt("it has writable data");
        if (section.sh_type != SHT_NOBITS && !holds(section)) return corrupt("a section is cut off");
        if (section.sh_addralign > page || section.sh_size > kMaxBytes) return corrupt("a section is out of bounds");
        size = round_up(size, section.sh_addralign > 0 ? section.sh_addralign : 1);
        places_[i] = size;
        size += section.sh_size;
        if (size > kMaxBytes) return corrupt("it is too large");
      }
    }
    size = round_up(size > 0 ? size : 1, page);
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return {Code::OutOfMemory, "no memory for " + std::to_string(size) + " bytes of code"};
    object.memory_ = memory;
    object.size_ = size;
    base_ = static_cast<uint8_t*>(memory);
    for (size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& section = sections_[i];
      if (places_[i] == kNowhere || section.sh_type == SHT_NOBITS || section.sh_size == 0) continue;
      std::memcpy(base_ + places_[i], bytes_.data() + section.sh_offset, section.sh_size);
    }
    return {};
  }

  Status read_symbols(HostObject& object) {
    for (const Elf64_Shdr& table : sections_) {
      if (table.sh_type != SHT_SYMTAB) continue;
      for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        std::string name;
        if (!get(table.sh_offset + at, symbol) || !text(table.sh_link, symbol.st_name, name)) {
          return corrupt("its symbol table is cut off");
        }
        Symbol entry{nullptr, name};
        const bool is_placed = symbol.st_shndx < sections_.size() && places_[symbol.st_shndx] != kNowhere;
        if (is_placed && symbol.st_value <= sections_[symbol.st_shndx].sh_size) {
          entry.address = base_ + places_[symbol.st_shndx] + symbol.st_value;
          if (ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL) object.symbols_[name] = entry.address;
        }
        symbols_.push_back(std::move(entry));
      }
      return {};
    }
    return corrupt("it has no symbols");
  }

  Status relocate(HostObject&) {
    for (const Elf64_Shdr& table : sections_) {
      if (table.sh_type == SHT_REL) return corrupt("it has relocations without addends");
      if (table.sh_type != SHT_RELA || table.sh_info >= sections_.size() || places_[table.sh_info] == kNowhere)
        continue;
      for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.sh_size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela entry;
        if (!get(table.sh_offset + at, entry)) return corrupt("its relocations are cut off");
        if (Status status = apply(entry, table.sh_info); !status.ok()) return status;
      }
    }
    return {};
  }

  Status apply(const Elf64_Rela& entry, uint32_t section) {
    const uint64_t index = ELF64_R_SYM(entry.r_info), type = ELF64_R_TYPE(entry.r_info);
    if (index >= symbols_.size()) return corrupt("a relocation has no symbol");
    const Symbol& symbol = symbols_[index];
    if (!symbol.address) return corrupt("it needs the symbol '" + symbol.name + "', which it does not have");
    const uint64_t width = type == R_X86_64_64 ? 8 : 4;
    const uint64_t size = sections_[section].sh_size;
    if (size < width || entry.r_offset > size - width) return corrupt("a relocation is out of bounds");
    uint8_t* place = base_ + places_[section] + entry.r_offset;
    // Modulo 2^64, as the addend may be anything.
    const uint64_t target = reinterpret_cast<uint64_t>(symbol.address) + static_cast<uint64_t>(entry.r_addend);
    if (type == R_X86_64_64) {
      std::memcpy(place, &target, sizeof(target));
      return {};
    }
    if (type != R_X86_64_PC32 && type != R_X86_64_PLT32) {
      return corrupt("it has a relocation of type " + std::to_string(type));
    }
    const auto distance = static_cast<int64_t>(target - reinterpret_cast<uint64_t>(place));
    if (distance != static_cast<int32_t>(distance)) return corrupt("a relocation does not reach");
    const auto narrow = static_cast<int32_t>(distance);
    std::memcpy(place, &narrow, sizeof(narrow));
    return {};
  }

  Status protect(HostObject& object) {
    const bool done =
        (code_size_ == 0 || mprotect(base_, code_size_, PROT_READ | PROT_EXEC) == 0) &&
        (code_size_ == object.size_ || mprotect(base_ + code_size_, object.size_ - code_size_, PROT_READ) == 0);
    if (!done) return {Code::Io, std::string("the system refuses executable memory: ") + std::strerror(errno)};
    return {};
  }

  struct Symbol {
    uint8_t* address;
    std::string name;
  };
  static constexpr uint64_t kNowhere = std::numeric_limits<uint64_t>::max();
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 28;

  std::span<const uint8_t> bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<uint64_t> places_;  // of a section in memory
  std::vector<Symbol> symbols_;
  uint8_t* base_ = nullptr;
  uint64_t code_size_ = 0;
};

Expected<std::shared_ptr<const HostObject>> HostObject::load(std::span<const uint8_t> bytes) {
#if !defined(__x86_64__)
  return Status(Code::Unsupported, "host code runs on x86-64 only");
#endif
  std::shared_ptr<HostObject> object(new HostObject);
  if (Status status = ObjectReader(bytes).read(*object); !status.ok()) return status;
  return std::shared_ptr<const HostObject>(std::move(object));
}

HostObject::~HostObject() {
  if (memory_) munmap(memory_, size_);
}

void* HostObject::find(const std::string& name) const {
  const auto it = symbols_.find(name);
  return it == symbols_.end() ? nullptr : it->second;
}

}  // namespace coda
