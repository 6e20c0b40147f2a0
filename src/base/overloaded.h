// Function objects as one: std::visit(Overloaded{[](const A&) { … }, [](const B&) { … }}, variant).
#pragma once

namespace berth {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace berth
