// What the checks of `berth doctor` share: how they read, and where findings go. Only doctor*.cc include
// this.
#pragma once

#include <optional>
#include <string>

#include "install/doctor.h"

namespace berth::install {

struct Examination {
  const DoctorOptions& options;
  const ServerCall& call;
  Time now;  // the API server's, where it told
  Diagnosis& diagnosis;

  void blocks(std::string where, std::string what, std::string advice);
  void warns(std::string where, std::string what, std::string advice);
  // Nothing when it could not be read, which is a finding. Null for what is not there.
  std::optional<Json> read(const std::string& target);
  std::optional<JsonArray> list(const std::string& target);
};

// Up to kNamesShownMax of the names, and how many there are besides.
std::string shortened(const std::vector<std::string>& names);

void check_definition(Examination& exam);
void check_rights(Examination& exam);
void check_schedulers(Examination& exam);  // Berth's own Deployment and Lease, and others
void check_pools(Examination& exam);
void check_leftovers(Examination& exam);

}  // namespace berth::install
