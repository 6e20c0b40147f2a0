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

// With mode 0700, unless it exists. Refuses (Unavailable) a path whose parent is absent or cannot be written.
Status make_certificate_folder(const std::string& directory);

// As above, stored in `directory` (created with mode 0700 when absent) in files of mode 0600. Existing ones
// are reused. The existing CA issues a certificate again if it is missing, does not match the CA, lacks a
// host or ends within thirty days; so kubeconfigs stay valid. Refuses (Unavailable) a directory that cannot
// be read or written, and (Invalid) a CA that does not parse.
Result<Certificates> certificates_in(const std::string& directory, const std::vector<std::string>& hosts,
                                     Time now);

// What a certificate signing request (PKCS #10, PEM) asks for.
struct SigningRequest {
  std::string common_name;
  std::vector<std::string> organizations;
  std::size_t dns_names = 0, addresses = 0, emails = 0, uris = 0;  // subjectAltNames of each sort
};

// Refuses (Invalid) what is no request, and one whose signature is not its key's.
Result<SigningRequest> read_signing_request(const std::string& pem);

struct SigningTerms {
  Time not_before, not_after;                // cut at the end of the CA
  std::vector<std::string> key_usages;       // in OpenSSL's words: "digitalSignature"
  std::vector<std::string> extended_usages;  // "clientAuth"
};

// The certificate (PEM) for the key, subject and subjectAltNames of the request; never one of a CA. Refuses
// what read_signing_request() refuses, and when the CA has ended.
Result<std::string> sign_request(const Identity& ca, const std::string& request_pem,
                                 const SigningTerms& terms);

}  // namespace berth::server
