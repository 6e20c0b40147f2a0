// The admission webhook's Service and registrations. Only objects.cc and workloads.cc include this.
//
// Validation fails open: the binder validates again before it binds. Both are asked about pods of Berth's
// schedulerName alone.
#pragma once

#include "base/json.h"
#include "install/objects.h"

namespace berth::install {

inline constexpr std::string_view kWebhookName = "berth-webhook";  // the Service
inline constexpr std::int64_t kWebhookPort = 9443;
inline constexpr std::string_view kCertificateFolder = "/etc/berth-webhook";  // in the scheduler's container

Json webhook_service(const InstallOptions& options);
Json validating_webhook(const InstallOptions& options);
Json mutating_webhook(const InstallOptions& options);

}  // namespace berth::install
