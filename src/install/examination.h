// The base of the checks of `berth doctor`: reads, and a list of findings. Only doctor*.cc include this.
#pragma once

#include <optional>
#include <string>

#include "install/doctor.h"

namespace berth::install {

// An omitted flag gets its default again, the image too.
inline constexpr std::string_view kInstallAgain = "run `berth install` with the flags of the installation";

struct Examination {
  const DoctorOptions& options;
  const ServerCall& call;
  Time now;  // the API server's, if it sent one
  Diagnosis& diagnosis;

  void blocks(std::string where, std::string what, std::string advice);
  void warns(std::string where, std::string what, std::string advice);
  // Nothing when it could not be read, which is a finding. Null for an absent object.
  std::optional<Json> read(const std::string& target);
  std::optional<JsonArray> list(const std::string& target);
};

// Up to kNamesShownMax of the names, and the number of further ones.
std::string shortened(const std::vector<std::string>& names);

void check_definitions(Examination& exam);
void check_rights(Examination& exam);
void check_schedulers(Examination& exam);  // Berth's own Deployment and Lease, and others
void check_pools(Examination& exam);
void check_leftovers(Examination& exam);
void check_node_agents(Examination& exam);  // where they are installed: their mode, and who is silent

}  // namespace berth::install
