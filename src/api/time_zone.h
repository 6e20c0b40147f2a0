// Time zones of the IANA database, as the machine's tzdata has them.
//
// Immutable and shared, any thread. find() reads a file of some KiB below /usr/share/zoneinfo. Zones that
// were found stay in memory, no more than the machine has; other names do not. Source: RFC 8536; the names
// that Kubernetes takes are those of batch/v1 validation.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace berth::api {

class TimeZone {
 public:
  // "Europe/Berlin". Refuses (Invalid) with Kubernetes' text what is no name of a zone, and a zone that the
  // machine does not have.
  static Result<TimeZone> find(std::string_view name);

  // What its clocks are ahead of UTC.
  Duration offset_at(Time time) const;
  // The first change of the offset after a time, and the last one not after it.
  std::optional<Time> next_change(Time after) const;
  std::optional<Time> last_change(Time until) const;

 private:
  struct Zone;
  explicit TimeZone(std::shared_ptr<const Zone> zone) : zone_(std::move(zone)) {}

  std::shared_ptr<const Zone> zone_;
};

}  // namespace berth::api
