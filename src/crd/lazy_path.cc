#include "crd/lazy_path.h"

#include <vector>

namespace berth::crd {

LazyPath::LazyPath(std::string_view root)
    : last_(std::make_shared<const Step>(Step{nullptr, root, 0, Form::Child})) {}

std::string LazyPath::text() const {
  std::vector<const Step*> steps;
  for (const Step* at = last_.get(); at; at = at->above.get()) steps.push_back(at);
  std::string text;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    switch ((*step)->form) {
      case Form::Child:
        if (!text.empty()) text += '.';
        text += (*step)->name;
        break;
      case Form::Dotted:
        text.append(".").append((*step)->name);
        break;
      case Form::Key:
        text.append("[").append((*step)->name).append("]");
        break;
      case Form::Index:
        text.append("[").append(std::to_string((*step)->index)).append("]");
        break;
    }
  }
  return text;
}

}  // namespace berth::crd
