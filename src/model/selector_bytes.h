// The bytes of a label selector, for keys of caches.
#pragma once

#include <string>

#include "api/selectors.h"

namespace berth::model {

// Equal exactly for selectors with the same requirements in the same order.
void append_selector(std::string& key, const api::LabelSelector& selector);

}  // namespace berth::model
