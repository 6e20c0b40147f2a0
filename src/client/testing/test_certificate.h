// A key and a self-signed certificate for 127.0.0.1 and "server.test", a new one for each test.
#pragma once

#include <string>

namespace berth::client {

struct TestCertificate {
  std::string certificate_pem;
  std::string key_pem;
};

TestCertificate make_test_certificate();

}  // namespace berth::client
