// Stops at the first pass that changes what a block means: the source and the rewritten values are interpreted on small
// random inputs after every step.
#pragma once

#include "compiler/plan/hosting.h"
#include "compiler/plan/interpret.h"

namespace coda {

class PassCheck {
 public:
  PassCheck(const Program& block, bool on);

  /// False if the values, or the plan, do not mean what the block says. The first failure is kept.
  bool values(std::string_view pass, const Graph& graph, const BlockValues& values);
  bool plan(const Plan& plan);

  struct Failure {
    std::string pass, output, amount;
  };
  const std::optional<Failure>& failure() const { return failure_; }

 private:
  bool compare(std::string_view pass, const Meaning& meaning);

  const Program& block_;
  std::optional<Bindings> sizes_;  // none: off, or no small sizes fulfil the facts
  Meaning source_;
  std::optional<Failure> failure_;
};

}  // namespace coda
