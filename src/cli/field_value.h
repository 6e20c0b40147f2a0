// Values of configuration fields: parsed from a flag's text or a file's JSON within their bounds, and
// printed.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/configuration.h"

namespace berth::cli {

inline constexpr std::size_t kTextBytesMax = 4095;  // of a path, as Linux bounds it

// Both refuse (Invalid, without a path) another type and values beyond the bounds; the message says what is
// accepted.
Status set_from_flag(const ConfigurationField& field, const std::vector<std::string>& texts,
                     Configuration& configuration);
Status set_from_json(const ConfigurationField& field, const Json& value, Configuration& configuration);

// The printed form: gates as the whole table.
Json value_of(const ConfigurationField& field, Component component, const Configuration& configuration);

// "DURATION", empty for a switch; the bounds in words: "1s to 24h".
std::string_view type_name(const ConfigurationField& field);
std::string bounds_text(const ConfigurationField& field);
// In words: empty without a default, and for gates.
std::string default_text(const ConfigurationField& field, Component component);

}  // namespace berth::cli
