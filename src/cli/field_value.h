// Values of configuration fields: from a flag's text or a file's JSON, with their bounds, and back.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/configuration.h"

namespace berth::cli {

inline constexpr std::size_t kTextBytesMax = 4095;  // of a path, as Linux bounds it

// Both refuse (Invalid, without a path) what is of another type or beyond the bounds; the message says what
// is wanted.
Status set_from_flag(const ConfigurationField& field, const std::vector<std::string>& texts,
                     Configuration& configuration);
Status set_from_json(const ConfigurationField& field, const Json& value, Configuration& configuration);

// As it is printed: gates as all of the table.
Json value_of(const ConfigurationField& field, Component component, const Configuration& configuration);

// "DURATION", empty for a switch; and its bounds for a reader: "1s to 24h".
std::string_view type_name(const ConfigurationField& field);
std::string bounds_text(const ConfigurationField& field);
// For a reader: empty when there is none, and for gates.
std::string default_text(const ConfigurationField& field, Component component);

}  // namespace berth::cli
