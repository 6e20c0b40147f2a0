// Which approved requests get a certificate, what it says, and who may approve, sign and ask.
#include "server/certificate_signer.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/base64.h"
#include "server/test_bench.h"
#include "server/test_store.h"
#include "server/transport/test_certificates.h"

namespace berth::server {
namespace {

// Requests (PEM in base64) with one key of P-256: of CN=eve,O=dev; of CN=eve,O=system:masters; and of
// CN=system:node:n1,O=system:nodes for DNS:n1 and IP:10.0.0.1.
constexpr const char* kClientRequest =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWE1INENBUUF3SERFTU1Bb0dBMVVFQ2d3RFpH"
    "VjJNUXd3Q2dZRFZRUUREQU5sZG1Vd1dUQVRCZ2NxaGtqTwpQUUlCQmdncWhrak9QUU1CQndOQ0FBUzJiWGdsNW9t"
    "ODllY1BUTmlkUFhmU0tXYWRmY3BNdER5eE83SGREWFNRCi9rMzlxZ1FFd2xyTkQrTkhPWDdWVnlSbnp2c2NwdTJI"
    "anNxbTV4azROVW9wb0FBd0NnWUlLb1pJemowRUF3SUQKU1FBd1JnSWhBUHp6cUZxZWZWMDZ3S1JkYWZ5b2VTOEJa"
    "NmRRZHNzQ3VoaHIwdXl5bVQvVEFpRUFwUXRBU3A3SQpDbk5ZZWViQlNGMU1JcmlLY2VWeGVqTGMyd2luTVpRZ1lG"
    "Yz0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";
constexpr const char* kMastersRequest =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIaU1JR0pBZ0VBTUNjeEZ6QVZCZ05WQkFvTURu"
    "TjVjM1JsYlRwdFlYTjBaWEp6TVF3d0NnWURWUVFEREFObApkbVV3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFN"
    "QkJ3TkNBQVMyYlhnbDVvbTg5ZWNQVE5pZFBYZlNLV2FkCmZjcE10RHl4TzdIZERYU1EvazM5cWdRRXdsck5EK05I"
    "T1g3VlZ5Um56dnNjcHUySGpzcW01eGs0TlVvcG9BQXcKQ2dZSUtvWkl6ajBFQXdJRFNBQXdSUUloQUk2QUVRaTRF"
    "alZWMmxEeWZ4TUljNmVLZEk3TGdUZmJDM21peU1KQQpPRkV4QWlCZnR1NFNsYy9tcVJUQ1FZRGJSaXVUc1pZOVg3"
    "MXZCZUV3VGl5N3lCb2Yrdz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";
constexpr const char* kNodeRequest =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlJQkVUQ0J1QUlCQURBd01SVXdFd1lEVlFRS0RB"
    "eHplWE4wWlcwNmJtOWtaWE14RnpBVkJnTlZCQU1NRG5ONQpjM1JsYlRwdWIyUmxPbTR4TUZrd0V3WUhLb1pJemow"
    "Q0FRWUlLb1pJemowREFRY0RRZ0FFdG0xNEplYUp2UFhuCkQwelluVDEzMGlsbW5YM0tUTFE4c1R1eDNRMTBrUDVO"
    "L2FvRUJNSmF6US9qUnpsKzFWY2taODc3SEtidGg0N0sKcHVjWk9EVktLYUFtTUNRR0NTcUdTSWIzRFFFSkRqRVhN"
    "QlV3RXdZRFZSMFJCQXd3Q29JQ2JqR0hCQW9BQUFFdwpDZ1lJS29aSXpqMEVBd0lEU0FBd1JRSWhBT0ZRVStEc1Nx"
    "dmlHeS9ZNEFGZ1JJU3BxRHNLWWVDRGpmcnZrdGFOClZZVFpBaUJHYnl3L09QRVQ1V3pSRDlHS2w3L04xUFUwaklS"
    "MGZlTHlRZkNRTXFvUDJBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";
// Of CN=system:node:n1,O=system:nodes, with a subjectAltName that is no list of names.
constexpr const char* kUnreadableRequest =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlJQkNEQ0JyZ0lCQURBd01SVXdFd1lEVlFRS0RB"
    "eHplWE4wWlcwNmJtOWtaWE14RnpBVkJnTlZCQU1NRG5ONQpjM1JsYlRwdWIyUmxPbTR4TUZrd0V3WUhLb1pJemow"
    "Q0FRWUlLb1pJemowREFRY0RRZ0FFVUxVMzlQYUJ2L3FNCkNzcmQ5bjZ6d3daSTNNbVFEdWVla0NvMDhxZ2dPNmhJ"
    "ekM1bEFDVytLbERXVE9JQ05CakloaWNETHJYZ1VnSFMKcXlXTnpmV1N3S0FjTUJvR0NTcUdTSWIzRFFFSkRqRU5N"
    "QXN3Q1FZRFZSMFJCQUlFQURBS0JnZ3Foa2pPUFFRRApBZ05KQURCR0FpRUEwVHZWQ0RYYmFHRkVBTG5NalJxMDBm"
    "bjR5amp4bXpGc2Q3VEp3MDV2Zm5BQ0lRQ2grZUhNCnhHNFo3RncvaUMvK1V2TlYvZVZ6VDFMNVowcHl2VnpBUWlu"
    "TUJnPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";

constexpr const char* kRequestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

class CertificateSignerTest : public testing::Test, protected ServerBench {
 protected:
  explicit CertificateSignerTest(store::StoreOptions options = {}, store::Disk* disk = nullptr)
      : ServerBench(std::move(options), {}, disk), ca(generate_certificates({}, clock.now())->ca) {
    EXPECT_TRUE(server.make_bootstrap_roles().ok());
    server.sign_certificates(ca);
  }

  struct Told {
    int code = 0;
    Json body;
    std::string message() const { return std::string(body.string_at("message")); }
  };
  Told ask(const User& user, const std::string& method, const std::string& path,
           const std::string& body = "") {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.body = body;
    request.user = user;
    if (method == "PATCH") request.headers.emplace_back("Content-Type", "application/merge-patch+json");
    const auto exchange = std::make_shared<Said>();
    server.handle(std::move(request), exchange);
    return {exchange->response.status, parse_json(exchange->response.body).value_or(Json())};
  }
  Told request(const User& user, const std::string& name, const std::string& pem, const std::string& signer,
               const std::string& usages, const std::string& more = "") {
    return ask(user, "POST", kRequestsPath,
               R"({"metadata":{"name":")" + name + R"("},"spec":{"request":")" + pem + R"(","signerName":")" +
                   signer + R"(","usages":[)" + usages + "]" + more + "}}");
  }
  Told approve(const User& user, const std::string& name) {
    return ask(user, "PATCH", std::string(kRequestsPath) + "/" + name + "/approval",
               R"({"status":{"conditions":[{"type":"Approved","status":"True","reason":"r"}]}})");
  }
  // After a tick: the certificate (PEM), or the message of the condition Failed.
  std::string result_of(const std::string& name) {
    server.tick(clock.monotonic());
    const Json status = ask(root, "GET", std::string(kRequestsPath) + "/" + name).body.part("status");
    for (const Json& condition : status.items_at("conditions"))
      if (condition.string_at("type") == "Failed") return std::string(condition.string_at("message"));
    return base64_decode(status.string_at("certificate")).value();
  }

  const User root{"root", {"system:masters"}};
  const User eve{"eve", {"team"}};
  const Identity ca;
};

constexpr const char* kClientUsages = R"("client auth","digital signature")";

TEST_F(CertificateSignerTest, AnApprovedRequestGetsACertificate) {
  const std::string signer = "kubernetes.io/kube-apiserver-client";
  ASSERT_EQ(request(root, "c", kClientRequest, signer, kClientUsages, R"(,"expirationSeconds":3600)").code,
            201);
  EXPECT_EQ(result_of("c"), "");
  ASSERT_EQ(approve(root, "c").code, 200);
  const std::string pem = result_of("c");
  ASSERT_TRUE(pem.starts_with("-----BEGIN CERTIFICATE-----")) << pem;
  EXPECT_EQ(result_of("c"), pem);
  const ReadCertificate issued = read_certificate(pem), authority = read_certificate(ca.certificate_pem);
  char subject[100];
  EXPECT_STREQ(X509_NAME_oneline(X509_get_subject_name(issued.get()), subject, sizeof subject),
               "/O=dev/CN=eve");
  EXPECT_EQ(X509_verify(issued.get(), X509_get0_pubkey(authority.get())), 1);
  EXPECT_EQ(X509_check_ca(issued.get()), 0);
  time_t end = (clock.now() + Duration::seconds(3600)).whole_seconds();
  EXPECT_EQ(ASN1_TIME_cmp_time_t(X509_get0_notAfter(issued.get()), end), 0);
}

class SignerOnADisk : protected OneDisk, public CertificateSignerTest {
 protected:
  SignerOnADisk() : CertificateSignerTest({.directory = "store"}, &disk) {}
};

TEST_F(SignerOnADisk, TriesAgainWhatTheStoreCouldNotTake) {
  ASSERT_EQ(request(root, "c", kClientRequest, "kubernetes.io/kube-apiserver-client", kClientUsages).code,
            201);
  ASSERT_EQ(approve(root, "c").code, 200);
  disk.fill(true);
  const std::string large = R"({"metadata":{"name":"a"},"data":{"k":")" + std::string(500'000, 'x') + "\"}}";
  ASSERT_EQ(ask(root, "POST", "/api/v1/namespaces/default/configmaps", large).code, 500);
  EXPECT_EQ(result_of("c"), "");
  disk.fill(false);
  clock.advance(kSigningRetry);
  EXPECT_TRUE(result_of("c").starts_with("-----BEGIN CERTIFICATE-----"));
}

struct Judged {
  const char* name;
  const char* pem;
  const char* signer;
  const char* usages;
  const char* result;  // how the certificate or the message begins; empty: nothing
};

TEST_F(CertificateSignerTest, EachSignerHasItsRules) {
  const Judged rows[] = {
      {"a", kClientRequest, "kubernetes.io/kube-apiserver-client", R"("server auth")",
       "invalid usage for client certificate: server auth"},
      {"b", kClientRequest, "kubernetes.io/kube-apiserver-client", R"("digital signature")",
       "missing required usage for client certificate: client auth"},
      {"c", kNodeRequest, "kubernetes.io/kubelet-serving", R"("server auth","digital signature")",
       "-----BEGIN"},
      {"d", kNodeRequest, "kubernetes.io/kubelet-serving", R"("client auth","digital signature")",
       "usages did not match [digital signature key encipherment server auth]"},
      {"e", kClientRequest, "kubernetes.io/kubelet-serving", R"("server auth","digital signature")",
       "subject organization is not system:nodes"},
      {"f", kNodeRequest, "kubernetes.io/kube-apiserver-client-kubelet", kClientUsages,
       "DNS subjectAltNames are not allowed"},
      {"g", kClientRequest, "example.com/signer", kClientUsages, ""},
      {"h", kUnreadableRequest, "kubernetes.io/kube-apiserver-client-kubelet", kClientUsages,
       "the request's subjectAltName is there twice, or cannot be read"},
  };
  for (const Judged& row : rows) {
    ASSERT_EQ(request(root, row.name, row.pem, row.signer, row.usages).code, 201) << row.name;
    ASSERT_EQ(approve(root, row.name).code, 200) << row.name;
    const std::string result = result_of(row.name);
    EXPECT_EQ(result.substr(0, std::string(row.result).size()), row.result) << row.name;
    EXPECT_EQ(result.empty(), std::string(row.result).empty()) << row.name << result;
  }
}

TEST_F(CertificateSignerTest, ANodeAsksForItsOwnCertificateOfAKubelet) {
  const User node{"system:node:n1", {"system:nodes"}};
  const std::string serving = "kubernetes.io/kubelet-serving",
                    usages = R"("server auth","digital signature")";
  EXPECT_EQ(request(node, "a", kClientRequest, serving, usages).message(),
            "certificatesigningrequests.certificates.k8s.io \"a\" is forbidden: can only create a node CSR "
            "with CN=system:node:n1");
  EXPECT_EQ(request(node, "a", kNodeRequest, serving, usages).code, 201);
}

TEST_F(CertificateSignerTest, WhoApprovesNeedsTheSigner) {
  const std::string signer = "kubernetes.io/kube-apiserver-client";
  ASSERT_EQ(request(root, "c", kClientRequest, signer, kClientUsages).code, 201);
  const std::string roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  const std::string rule = R"({"verbs":["patch","update"],"apiGroups":["certificates.k8s.io"],"resources":[
      "certificatesigningrequests/approval","certificatesigningrequests/status"]})";
  ASSERT_EQ(ask(root, "POST", roles, R"({"metadata":{"name":"approver"},"rules":[)" + rule + "]}").code, 201);
  ASSERT_EQ(ask(root, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                R"({"metadata":{"name":"a"},"roleRef":{"kind":"ClusterRole","name":"approver"},)"
                R"("subjects":[{"kind":"User","name":"eve"}]})")
                .code,
            201);
  EXPECT_EQ(
      approve(eve, "c").message(),
      "certificatesigningrequests.certificates.k8s.io \"c\" is forbidden: user not permitted to approve "
      "requests with signerName \"kubernetes.io/kube-apiserver-client\"");
  EXPECT_EQ(
      ask(eve, "PATCH", std::string(kRequestsPath) + "/c/status", R"({"status":{"certificate":"eA=="}})")
          .message(),
      "certificatesigningrequests.certificates.k8s.io \"c\" is forbidden: user not permitted to sign "
      "requests with signerName \"kubernetes.io/kube-apiserver-client\"");
  const std::string signers = R"({"verbs":["approve"],"apiGroups":["certificates.k8s.io"],)"
                              R"("resources":["signers"],"resourceNames":["kubernetes.io/*"]})";
  ASSERT_EQ(ask(root, "PATCH", roles + "/approver", R"({"rules":[)" + rule + "," + signers + "]}").code, 200);
  EXPECT_EQ(approve(eve, "c").code, 200);
}

TEST_F(CertificateSignerTest, NobodyAsksForMasters) {
  EXPECT_EQ(
      request(root, "m", kMastersRequest, "kubernetes.io/kube-apiserver-client", kClientUsages).message(),
      "certificatesigningrequests.certificates.k8s.io \"m\" is forbidden: use of "
      "kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed");
}

}  // namespace
}  // namespace berth::server
