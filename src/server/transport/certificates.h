// The certificates of an embedded control plane: its own CA, the server's, and the administrator's.
//
// ECDSA P-256, PEM. Keys come from OpenSSL's generator, not from the Random seam: a seeded key would not be
// secret. Cost: a few milliseconds.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace berth::server {

struct Identity {
  std::string certificate_pem;
  std::string key_pem;
};

struct Certificates {
  Identity ca;
  Identity server;  // localhost, the loopback addresses, kubernetes.default.svc and `hosts`
  Identity admin;   // CN kubernetes-admin, O system:masters
};

// Valid from an hour before `now` (clocks of peers differ): the CA for ten years, the others for one. `hosts`
// are further names or addresses of the server.
Result<Certificates> generate_certificates(const std::vector<std::string>& hosts, Time now);

// As above, stored in `directory` (created with mode 0700 when absent) in files of mode 0600. Existing ones
// are reused; a certificate that is missing, does not match its CA, lacks a host or ends within thirty days
// is issued anew by the existing CA, so that kubeconfigs stay valid. Refuses (Unavailable) a directory that
// cannot be read or written, and (Invalid) a CA that does not parse.
Result<Certificates> certificates_in(const std::string& directory, const std::vector<std::string>& hosts,
                                     Time now);

}  // namespace berth::server
