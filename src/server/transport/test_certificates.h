// For tests: a certificate as OpenSSL reads it.
#pragma once

#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace berth::server {

struct FreeCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using ReadCertificate = std::unique_ptr<X509, FreeCertificate>;

// The first one of the text; null: there is none.
inline ReadCertificate read_certificate(const std::string& pem) {
  BIO* memory = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  ReadCertificate certificate(PEM_read_bio_X509(memory, nullptr, nullptr, nullptr));
  BIO_free_all(memory);
  return certificate;
}

}  // namespace berth::server
