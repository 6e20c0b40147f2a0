#include "health/health.h"

#include "api/names.h"

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

bool is_reportable(const DeviceName& name) {
  const bool pool = !name.pool.empty() && name.pool.size() <= api::kDnsSubdomainBytesMax;
  return pool && api::dns_label_problems(name.device).empty();
}

std::string bounded_message(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  constexpr std::string_view kDots = "...";
  std::size_t end = bytes_max - kDots.size();
  const auto inside_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) == 0x80u; };
  while (end > 0 && inside_character(text[end])) --end;
  text.resize(end);
  text += kDots;
  return text;
}

}  // namespace berth::health
