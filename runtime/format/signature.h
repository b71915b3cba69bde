// What callers see of compiled code, be it a kernel or a block's plan: its parameters and what must hold of their
// shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/format/dim.h"
#include "runtime/format/dtype.h"
#include "runtime/format/param_layout.h"

namespace coda {

struct ParamSpec {
  enum class Role : uint8_t { In, Out, InOut, Scalar };
  std::string name;
  Role role = Role::In;
  DType dtype = DType::F32;
  std::vector<Dim> extents;             ///< in declared order; empty for scalars
  std::optional<double> default_value;  ///< Scalar
  ParamLayout layout = ParamLayout::RowMajor;

  bool is_output() const { return role == Role::Out || role == Role::InOut; }
};

/// left (mod modulus) relation right, checked at launch.
struct FactSpec {
  Dim left, right;
  std::optional<Dim> modulus;
  std::string relation;  ///< "=", "!=", "<", "<=", ">", ">="
  bool operator==(const FactSpec&) const = default;
};

struct Signature {
  std::string name;
  std::string target;  ///< "host" or "sm_90a"
  std::vector<ParamSpec> params;
  std::vector<FactSpec> facts;
  Bindings bound;  ///< symbols the code is specialised to
};

}  // namespace coda
