#include "compiler/codegen/sm90_context.h"

namespace coda {

std::vector<Val> Sm90Context::for_region(Val region, std::span<const Ty> types,
                                         const std::function<std::vector<Val>(int)>& body) {
  const int count = static_cast<int>(plan.regions.size());
  if (count == 1) return body(0);
  std::vector<Block> blocks, ends;
  for (int r = 0; r < count; ++r) blocks.push_back(b.block("region" + std::to_string(r)));
  Block join = b.block("regions.end");
  b.switch_on(region, blocks.back(), std::span<const Block>(blocks).first(blocks.size() - 1));
  std::vector<std::vector<Val>> results;
  for (int r = 0; r < count; ++r) {
    b.enter(blocks[static_cast<size_t>(r)]);
    results.push_back(body(r));
    ends.push_back(b.here());
    b.jump(join);
  }
  b.enter(join);
  std::vector<Val> joined;
  for (size_t i = 0; i < types.size(); ++i) {
    Phi phi = b.phi(types[i]);
    for (size_t r = 0; r < ends.size(); ++r) b.incoming(phi, results[r][i], ends[r]);
    joined.push_back(phi.value);
  }
  return joined;
}

void Sm90Context::for_code(Val region, const std::function<void(int)>& body) {
  const auto& likeness = plan.likeness;
  if (plan.codes() == 1) return body(0);
  std::vector<Block> blocks;
  for (size_t r = 0; r < likeness.size(); ++r) {
    const auto leader = static_cast<size_t>(likeness[r].leader);
    blocks.push_back(leader == r ? b.block("region" + std::to_string(r)) : blocks[leader]);
  }
  Block join = b.block("regions.end");
  b.switch_on(region, blocks.back(), std::span<const Block>(blocks).first(blocks.size() - 1));
  for (size_t r = 0; r < likeness.size(); ++r) {
    if (static_cast<size_t>(likeness[r].leader) != r) continue;
    b.enter(blocks[r]);
    body(static_cast<int>(r));
    b.jump(join);
  }
  b.enter(join);
}

}  // namespace coda
