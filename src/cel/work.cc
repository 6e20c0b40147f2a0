#include "cel/work.h"

namespace berth::cel {
namespace {

thread_local std::uint64_t* left_steps = nullptr;

}  // namespace

WorkScope::WorkScope(std::uint64_t& left) : outer_(left_steps) {
  left_steps = &left;
}
WorkScope::~WorkScope() {
  left_steps = outer_;
}

bool spend_work(std::uint64_t steps) {
  if (!left_steps) return true;
  if (*left_steps < steps) {
    *left_steps = 0;
    return false;
  }
  *left_steps -= steps;
  return *left_steps > 0;
}

bool is_work_spent() {
  return left_steps && *left_steps == 0;
}

}  // namespace berth::cel
