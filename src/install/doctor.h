// What prevents Berth from scheduling on a cluster, now or later: one finding per line, with advice.
//
// Owner: one command, on its thread; every call blocks. Reads only, apart from access reviews, which the API
// server answers and does not store. Bounds: lists by kPagesMax, kLeftoversMax.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "install/objects.h"
#include "install/server_call.h"

namespace berth::install {

inline constexpr int kKubernetesMinorMin = 34;  // of 1: DRA v1
inline constexpr Duration kClockSkewMax = Duration::seconds(5);
inline constexpr std::size_t kLeftoversMax = 500;  // BindRequests whose pods are looked up
inline constexpr std::size_t kNamesShownMax = 5;

enum class Severity { Warns, Blocks };

struct Finding {
  Severity severity = Severity::Warns;
  std::string where;   // the object or the server
  std::string what;    // the problem
  std::string advice;  // what to do
};

// "blocks  WHERE: WHAT — ADVICE".
std::string to_line(const Finding& finding);

struct DoctorOptions {
  std::string ns = std::string(kNamespaceDefault);
  std::string scheduler_name = "berth";  // without a Deployment that names another
};

struct Diagnosis {
  std::vector<Finding> findings;
  std::string kubernetes;  // "1.37"; empty: unknown

  bool blocks() const;
};

Diagnosis diagnose(const DoctorOptions& options, const ServerCall& call, const Clock& clock);

}  // namespace berth::install
