// rooms: binding
// Any text as the annotations of a GPU share: an accepted share rounds to at least 0.01 and at most 0.99 and
// reads back as such, and every refusal names a field and says what to do.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "binding/gpu_requests.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const auto plugin = berth::binding::make_gpu_requests();
  berth::binding::BinderOptions options;
  options.gpu_sharing = true;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  for (const std::string_view key : {berth::api::kGpuFraction, berth::api::kGpuMemory,
                                     berth::api::kGpuFractionDevices, berth::api::kGpuMps}) {
    berth::api::Pod pod;
    pod.containers.emplace_back();
    pod.meta.annotations.emplace(key, text);
    const berth::api::FieldErrors errors = plugin->validate(pod, options);
    for (const berth::api::FieldError& error : errors)
      if (error.path.empty() || error.body.empty()) std::abort();
    if (key != berth::api::kGpuFraction || !errors.empty()) continue;
    const double share = std::round(std::strtod(text.c_str(), nullptr) * 100) / 100;
    if (!(share >= 0.01 && share <= 0.99)) std::abort();
  }
  return 0;
}
