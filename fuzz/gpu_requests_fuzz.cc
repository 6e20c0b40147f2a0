// rooms: binding
// Any text as the annotations of a GPU share: an accepted share rounds to at least 0.01 and at most 0.99 and
// reads back as such, and every refusal names a field and says what to do. What the scheduler reads is what
// the binder accepts. Any text as the groups of a bound pod: what is read is bounded and reads back the same.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "binding/gpu_requests.h"

namespace {

void read_groups(const std::string& text) {
  berth::api::Pod pod;
  pod.meta.annotations.emplace(berth::api::kGpuFraction, "0.5");
  pod.meta.annotations.emplace(berth::api::kGpuGroupsAnnotation, text);
  pod.meta.annotations.emplace(berth::api::kGpuPortionAnnotation, "0.50");
  const berth::api::GpuSharePtr share = berth::api::gpu_share_of(pod);
  if (!share) return;
  if (share->empty() || share->groups.size() > berth::api::kGpuFractionDevicesMax) std::abort();
  for (auto& [key, value] : berth::api::gpu_share_annotations(*share)) pod.meta.annotations[key] = value;
  const berth::api::GpuSharePtr again = berth::api::gpu_share_of(pod);
  if (!again || !(*again == *share)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const auto plugin = berth::binding::make_gpu_requests();
  berth::binding::BinderOptions options;
  options.gpu_sharing = true;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  read_groups(text);
  for (const std::string_view key : {berth::api::kGpuFraction, berth::api::kGpuMemory,
                                     berth::api::kGpuFractionDevices, berth::api::kGpuMps}) {
    berth::api::Pod pod;
    pod.containers.emplace_back();
    pod.meta.annotations.emplace(key, text);
    const berth::api::FieldErrors errors = plugin->validate(pod, options);
    for (const berth::api::FieldError& error : errors)
      if (error.path.empty() || error.body.empty()) std::abort();
    if (berth::api::asks_for_gpu_share(pod.meta) &&
        errors.empty() != berth::api::gpu_share_request(pod.meta).has_value())
      std::abort();
    if (key != berth::api::kGpuFraction || !errors.empty()) continue;
    const double share = std::round(std::strtod(text.c_str(), nullptr) * 100) / 100;
    if (!(share >= 0.01 && share <= 0.99)) std::abort();
  }
  return 0;
}
