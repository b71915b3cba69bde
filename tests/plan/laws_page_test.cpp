// docs/laws.md is the table of laws; CODA_UPDATE_GOLDENS=1 writes it.
#include <sstream>

#include "compiler/rewrite/law.h"
#include "tests/golden.h"

namespace coda::test {

namespace {

struct Group {
  LawKind kind;
  const char *title, *text;
};

constexpr Group kGroups[] = {
    {LawKind::Identity, "What needs no law",
     "Both sides are one value: dimensions have names, products and sums keep their operands in one order, and equal "
     "expressions are one."},
    {LawKind::Normal, "Normal form",
     "Applied wherever they hold. A sum of a wide tensor and another is left alone: `h = x + a @ w` is one value to "
     "all "
     "its users."},
    {LawKind::Directed, "Directed laws", "Applied wherever they hold, once nothing simpler does."},
    {LawKind::Choice, "Choices",
     "Applied or not, at each place: whichever makes the faster plan. `codac explain` prints both times."},
    {LawKind::Planner, "What the planner does", "With factors, statistics and values, once the kernels are known."},
};

std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string page() {
  std::ostringstream text;
  text
      << "# Laws\n\n"
         "What the compiler knows of algebra when it plans a `block`. No law looks at an operator's name: `norm` and "
         "`silu` are\nprograms like yours. All hold over the real numbers, for finite values that do not overflow; "
         "those "
         "that move or drop the\nrounding of an operand or of a stored value say so. A written cast is never crossed. "
         "Each is tested on random programs\nof its own, and `codac explain --without-law NAME` shows what it is worth "
         "to a block.\n\n"
         "A factor that an empty dimension makes infinite or no number (`rsqrt(mean(x*x, over = D))` at D = 0) may not "
         "leave a sum\nover that dimension, which is 0 then. A plan that takes it out says `requires 1 <= D`, and a "
         "launch with D = 0 is refused;\na block compiled with D = 0 given is planned without. A `kernel` takes it out "
         "with a 0 in its place where D is 0.\n";
  for (const Group& group : kGroups) {
    text << "\n## " << group.title << "\n\n" << group.text << "\n\n| law | equation | holds if |\n|---|---|---|\n";
    for (const Law* law : law_table()) {
      if (law->kind != group.kind) continue;
      text << "| " << law->name << " | `" << cell(law->equation) << "` | " << cell(law->conditions)
           << (law->exactness == Exactness::Elastic ? "; moves a rounding" : "") << " |\n";
    }
  }
  return text.str();
}

}  // namespace

TEST_CASE("the page of laws is the table of laws", "[golden]") {
  golden::check(source_root() + "/docs/laws.md", page());
}

}  // namespace coda::test
