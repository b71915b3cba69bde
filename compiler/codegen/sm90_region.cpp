#include "compiler/codegen/sm90_region.h"

namespace coda {

Sm90Region::Sm90Region(Sm90Context& c, NvptxNumbers& number_emitter, int r, const Sm90Tile& t, bool all_inside)
    : context(c),
      numbers(number_emitter),
      index(r),
      region(c.epilogue.regions[static_cast<size_t>(r)]),
      plan(c.plan.regions[static_cast<size_t>(r)]),
      tile(t),
      whole(all_inside),
      fragment(region, plan, c.plan.row_slots(), c.rows) {
  fragment.assume_digits(c.epilogue, r);
  NvptxBuilder& b = c.b;
  Val lane = b.op(IntOp::And, c.thread, 31);
  quad = b.op(IntOp::And, lane, 3);
  Val warp = b.op(IntOp::Lshr, c.thread_in_wg, 5);
  Val in_warp = b.add(b.op(IntOp::Shl, warp, 4), b.op(IntOp::Lshr, lane, 2));
  first_row = b.add(b.add(tile.row, b.mul(c.share, c.plan.schedule.rows_per_consumer())), in_warp);
  Val rows = tile.row_end, end = rows;
  // A tile of fewer rows than an instruction's: the next tile has the others.
  if (c.plan.schedule.tile_m < kSm90InstructionRows)
    end = b.op(IntOp::Umin, rows, b.add(tile.row, c.plan.schedule.tile_m));
  for (int h = 0; h < c.plan.row_slots(); ++h) {
    Val number = b.add(first_row, Sm90Plan::slot_row(h));
    row_inside.push_back(whole ? b.i1(true) : b.test(IntTest::Ult, number, end));
    row.push_back(b.convert(whole ? number : b.op(IntOp::Umin, number, b.add(rows, -1)), Ty::I64));
  }
  Val start = b.add(tile.column, b.mul(quad, plan.width));
  remaining = b.sub(c.arguments.extent32(region.extent), start);
  tile_value = b.convert(tile.column, Ty::I64);
  quad_low_value = b.convert(b.op(IntOp::And, quad, 1), Ty::I64);
  quad_high_value = b.convert(b.op(IntOp::Lshr, quad, 1), Ty::I64);
}

void Sm90Region::fail(const std::string& reason) {
  if (failure.empty()) failure = reason;
}

Val Sm90Region::variable(VarId variable) const {
  if (variable == fragment.tile_variable()) return tile_value;
  if (variable == fragment.quad_low()) return quad_low_value;
  if (variable == fragment.quad_high()) return quad_high_value;
  if (const auto h = fragment.row_slot(Coord::variable(variable))) return row[static_cast<size_t>(*h)];
  return {};
}

Val Sm90Region::early_value(const Coord& coordinate) const {
  NvptxBuilder& b = context.b;
  Val sum = context.arguments.extent(coordinate.symbolic());
  for (const Coord::Term& term : coordinate.terms()) {
    Val value = variable(term.variable);
    if (term.factor.denominator != 1) value = b.op(IntOp::Udiv, value, term.factor.denominator);
    sum = b.add(sum, b.mul(value, term.factor.numerator));
  }
  return b.add(sum, coordinate.constant());
}

Val Sm90Region::column_inside(int k) const {
  return whole ? context.b.i1(true) : context.b.test(IntTest::Sge, remaining, k + 1);
}

Val Sm90Region::wide(const ConditionSpec& condition) {
  if (!whole) return context.arguments.condition(condition);
  assumed |= context.arguments.condition_bit(condition);
  return {};
}

Val Sm90Region::guard(int k, Val predicate) const {
  if (whole) return predicate;
  return predicate ? context.b.both(predicate, column_inside(k)) : column_inside(k);
}

Val Sm90Region::guard_row(int h, Val predicate) const {
  if (whole) return predicate;
  Val inside = row_inside[static_cast<size_t>(h)];
  return predicate ? context.b.both(inside, predicate) : inside;
}

}  // namespace coda
