#include "server/transport/certificates.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <utility>

#include "server/transport/subject_names.h"
#include "server/transport/test_certificates.h"

namespace berth::server {
namespace {

const Time kNow = Time::from_seconds(1'800'000'000);

bool issued_by(const Identity& leaf, const Identity& ca) {
  const ReadCertificate issuer = read_certificate(ca.certificate_pem);
  return X509_verify(read_certificate(leaf.certificate_pem).get(), X509_get0_pubkey(issuer.get())) == 1;
}

std::string new_directory() {
  std::string form = testing::TempDir() + "/certificates-XXXXXX";
  EXPECT_NE(::mkdtemp(form.data()), nullptr);
  return form + "/pki";
}

TEST(Certificates, TheServerIsKnownByAllItsNames) {
  const Certificates made = generate_certificates({"10.0.0.7", "berth.example.com"}, kNow).value();
  const ReadCertificate server = read_certificate(made.server.certificate_pem);
  EXPECT_TRUE(issued_by(made.server, made.ca));
  EXPECT_TRUE(issued_by(made.admin, made.ca));
  for (const char* host : {"localhost", "kubernetes", "kubernetes.default.svc", "berth.example.com"})
    EXPECT_EQ(X509_check_host(server.get(), host, 0, 0, nullptr), 1) << host;
  for (const char* address : {"127.0.0.1", "::1", "10.0.0.7"})
    EXPECT_EQ(X509_check_ip_asc(server.get(), address, 0), 1) << address;
  EXPECT_NE(X509_check_ip_asc(server.get(), "10.0.0.8", 0), 1);
  EXPECT_EQ(X509_check_ca(read_certificate(made.ca.certificate_pem).get()), 1);
  EXPECT_EQ(X509_check_purpose(server.get(), X509_PURPOSE_SSL_SERVER, 0), 1);
  EXPECT_EQ(X509_check_purpose(server.get(), X509_PURPOSE_SSL_CLIENT, 0), 0);
  EXPECT_EQ(
      X509_check_purpose(read_certificate(made.admin.certificate_pem).get(), X509_PURPOSE_SSL_CLIENT, 0), 1);
}

TEST(Certificates, AreKeptInPrivateFiles) {
  const std::string directory = new_directory();
  const Certificates first = certificates_in(directory, {}, kNow).value();
  const Certificates again = certificates_in(directory, {}, kNow).value();
  EXPECT_EQ(first.ca.certificate_pem, again.ca.certificate_pem);
  EXPECT_EQ(first.server.key_pem, again.server.key_pem);
  EXPECT_EQ(first.admin.certificate_pem, again.admin.certificate_pem);
  for (const char* name : {"ca.crt", "ca.key", "server.crt", "server.key", "admin.crt", "admin.key"}) {
    struct stat status{};
    ASSERT_EQ(::stat((directory + "/" + name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 0777, 0600u) << name;
  }
}

TEST(Certificates, AreIssuedAnewByTheSameCa) {
  const std::string directory = new_directory();
  const Certificates first = certificates_in(directory, {}, kNow).value();
  const Certificates wider = certificates_in(directory, {"10.1.2.3"}, kNow).value();
  EXPECT_EQ(first.ca.certificate_pem, wider.ca.certificate_pem);
  EXPECT_EQ(first.admin.certificate_pem, wider.admin.certificate_pem);
  EXPECT_NE(first.server.certificate_pem, wider.server.certificate_pem);
  EXPECT_TRUE(issued_by(wider.server, first.ca));

  const Certificates later = certificates_in(directory, {}, kNow + Duration::minutes(60 * 24 * 340)).value();
  EXPECT_EQ(first.ca.certificate_pem, later.ca.certificate_pem);
  EXPECT_NE(wider.server.certificate_pem, later.server.certificate_pem);
  EXPECT_NE(first.admin.certificate_pem, later.admin.certificate_pem);
}

TEST(Certificates, ABrokenCaIsNotReplaced) {
  const std::string directory = new_directory();
  ASSERT_TRUE(certificates_in(directory, {}, kNow).ok());
  std::ofstream(directory + "/ca.crt") << "not a certificate";
  const Result<Certificates> broken = certificates_in(directory, {}, kNow);
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().code(), ErrorCode::Invalid);
  EXPECT_FALSE(certificates_in("/proc/no-such-place/pki", {}, kNow).ok());
}

TEST(SubjectNames, TheLastCommonNameCounts) {
  const std::unique_ptr<X509_NAME, decltype(&X509_NAME_free)> name(X509_NAME_new(), X509_NAME_free);
  EXPECT_EQ(subject_names(name.get()).common_name, "");
  const std::pair<const char*, const char*> entries[] = {
      {"CN", "admin"}, {"O", "a"}, {"CN", "system:node:n1"}, {"O", "b"}};
  for (const auto& [field, value] : entries)
    ASSERT_EQ(X509_NAME_add_entry_by_txt(name.get(), field, MBSTRING_UTF8,
                                         reinterpret_cast<const unsigned char*>(value), -1, -1, 0),
              1);
  const SubjectNames names = subject_names(name.get());
  EXPECT_EQ(names.common_name, "system:node:n1");
  EXPECT_EQ(names.organizations, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace berth::server
