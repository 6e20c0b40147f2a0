#include "api/kinds/cel_check.h"

#include <atomic>

namespace berth::api {
namespace {

std::atomic<CelCheck> plugged = nullptr;

}  // namespace

void set_cel_check(CelCheck check) {
  plugged = check;
}

CelVerdict check_cel(std::string_view expression, CelUse use, const Gates& gates) {
  const CelCheck check = plugged;
  return check ? check(expression, use, gates) : CelVerdict{};
}

}  // namespace berth::api
