// The messages of health streams: bytes that a plugin sent, as plain values. Pure, any thread.
#pragma once

#include <optional>
#include <string>

#include "health/plugin_client.h"

namespace berth::health {

// Nothing when the bytes are no message of the service. Names, texts and numbers are as the plugin wrote
// them.
std::optional<Reports> reports_in(const std::string& bytes, HealthService service);

}  // namespace berth::health
