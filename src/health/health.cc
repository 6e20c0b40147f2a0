#include "health/health.h"

#include "api/names.h"
#include "base/utf8.h"

namespace berth::health {

std::string_view name_of(Health health) {
  switch (health) {
    case Health::Healthy:
      return "Healthy";
    case Health::Unknown:
      return "Unknown";
    case Health::Unhealthy:
      return "Unhealthy";
  }
  BERTH_ASSERT(false, "every health has a name");
}

std::optional<Health> health_named(std::string_view name) {
  for (const Health health : {Health::Healthy, Health::Unknown, Health::Unhealthy})
    if (name_of(health) == name) return health;
  return std::nullopt;
}

bool is_reportable(const DeviceName& name) {
  const bool pool = !name.pool.empty() && name.pool.size() <= api::kDnsSubdomainBytesMax;
  return pool && api::dns_label_problems(name.device).empty();
}

std::string bounded_message(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  constexpr std::string_view kDots = "...";
  text.resize(cut_offset(text, bytes_max - kDots.size()));
  text += kDots;
  return text;
}

}  // namespace berth::health
