#include "client/kubeconfig.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

namespace berth::client {
namespace {

class Directory {
 public:
  Directory() : path_(testing::TempDir() + "/kubeconfig-XXXXXX") {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  std::string at(const std::string& name) const { return path_ + "/" + name; }
  std::string with(const std::string& name, const std::string& text) const {
    std::ofstream(at(name)) << text;
    return at(name);
  }
  static std::string text_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};

const char kTwoClusters[] = R"(apiVersion: v1
kind: Config
current-context: one
clusters:
- name: east
  cluster: {server: "https://east:6443/pre/", certificate-authority: pki/ca.pem, tls-server-name: real}
- name: west
  cluster: {server: https://west, certificate-authority-data: Y2EtZGF0YQ==, certificate-authority: /nowhere}
users:
- name: admin
  user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}
- name: robot
  user: {token: secret, tokenFile: token.txt}
contexts:
- name: one
  context: {cluster: east, user: admin, namespace: team}
- name: two
  context: {cluster: west, user: robot}
)";

KubeEnvironment nothing() {
  return {.kubeconfig = {}, .home = {}, .service_host = {}, .service_port = {}};
}

TEST(Kubeconfig, ReadsTheCurrentContextWithPathsBesideTheFile) {
  const Directory directory;
  ::mkdir(directory.at("pki").c_str(), 0700);
  directory.with("pki/ca.pem", "ca-file");
  const std::string file = directory.with("config", kTwoClusters);
  const ClusterAccess access = read_kubeconfig(file, "", nothing()).value();
  EXPECT_EQ(access.server, "https://east:6443/pre");
  EXPECT_EQ(access.ca_pem, "ca-file");
  EXPECT_EQ(access.tls_server_name, "real");
  EXPECT_EQ(access.client_certificate_pem, "cert");
  EXPECT_EQ(access.client_key_pem, "key");
  EXPECT_EQ(access.ns, "team");
}

TEST(Kubeconfig, InlineDataWinsAndAContextCanBeNamed) {
  const Directory directory;
  const std::string file = directory.with("config", kTwoClusters);
  const ClusterAccess access = read_kubeconfig(file, "two", nothing()).value();
  EXPECT_EQ(access.ca_pem, "ca-data");
  EXPECT_EQ(access.token, "secret");
  EXPECT_EQ(access.token_file, directory.at("token.txt"));
  EXPECT_EQ(access.ns, "default");
}

TEST(Kubeconfig, OfSeveralFilesTheFirstDefinitionWins) {
  const Directory directory;
  const std::string first = directory.with("first", R"(
current-context: two
clusters: [{name: west, cluster: {server: "http://127.0.0.1:8001"}}]
)");
  const std::string second = directory.with("second", kTwoClusters);
  KubeEnvironment environment = nothing();
  environment.kubeconfig = first + "::" + directory.at("absent") + ":" + second;
  const ClusterAccess access = read_kubeconfig("", "", environment).value();
  EXPECT_EQ(access.server, "http://127.0.0.1:8001");
  EXPECT_EQ(access.ca_pem, "");
  EXPECT_EQ(access.token, "secret");
}

TEST(Kubeconfig, FallsBackToHomeAndThenToThePod) {
  const Directory directory;
  KubeEnvironment environment = nothing();
  environment.home = directory.at("");
  environment.service_account = directory.at("");
  environment.service_host = "fd00::1";
  environment.service_port = "443";
  directory.with("ca.crt", "pod-ca");
  directory.with("token", "pod-token\n");
  directory.with("namespace", "pod-ns\n");
  const ClusterAccess pod = read_kubeconfig("", "", environment).value();
  EXPECT_EQ(pod.server, "https://[fd00::1]:443");
  EXPECT_EQ(pod.ca_pem, "pod-ca");
  EXPECT_EQ(read_token_file(pod.token_file).value(), "pod-token");
  EXPECT_EQ(pod.ns, "pod-ns");

  ::mkdir(directory.at(".kube").c_str(), 0700);
  directory.with(".kube/config", kTwoClusters);
  EXPECT_EQ(read_kubeconfig("", "two", environment).value().server, "https://west");
}

struct Refusal {
  std::string name;
  std::string text;
  ErrorCode code;
};

TEST(Kubeconfig, RefusesWithAReason) {
  const std::string cluster = "clusters: [{name: c, cluster: {server: \"https://c\"}}]\n";
  const std::string context = "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n";
  const Refusal refusals[] = {
      {"no YAML", "a: [", ErrorCode::Invalid},
      {"no mapping", "- a", ErrorCode::Invalid},
      {"empty", "", ErrorCode::NotFound},
      {"no context", cluster, ErrorCode::NotFound},
      {"no cluster", context, ErrorCode::NotFound},
      {"no user", cluster + context, ErrorCode::NotFound},
      {"no server", "clusters: [{name: c, cluster: {server: c}}]\n" + context, ErrorCode::Invalid},
      {"exec", cluster + context + "users: [{name: u, user: {exec: {command: aws}}}]",
       ErrorCode::Unsupported},
      {"bad base64", cluster + context + "users: [{name: u, user: {client-key-data: \"x*x=\"}}]",
       ErrorCode::Invalid},
      {"no key", cluster + context + "users: [{name: u, user: {client-certificate-data: YQ==}}]",
       ErrorCode::Invalid},
      {"absent file", cluster + context + "users: [{name: u, user: {client-key: nowhere.pem}}]",
       ErrorCode::NotFound},
  };
  const Directory directory;
  for (const Refusal& refusal : refusals) {
    const auto read = read_kubeconfig(directory.with("config", refusal.text), "", nothing());
    ASSERT_FALSE(read.ok()) << refusal.name;
    EXPECT_EQ(read.error().code(), refusal.code) << refusal.name << ": " << read.error().text();
  }
  EXPECT_EQ(read_kubeconfig("", "", nothing()).error().code(), ErrorCode::NotFound);
}

TEST(Kubeconfig, ReadsWhatItWrote) {
  const Directory directory;
  const std::string file = directory.at("deep/er/config");
  ClusterAccess access;
  access.server = "https://127.0.0.1:6443";
  access.ca_pem = "-----BEGIN\nca\n";
  access.client_certificate_pem = "certificate";
  access.client_key_pem = "key";
  ASSERT_TRUE(write_kubeconfig(file, access).ok());
  struct stat status{};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const ClusterAccess read = read_kubeconfig(file, "", nothing()).value();
  EXPECT_EQ(read.server, access.server);
  EXPECT_EQ(read.ca_pem, access.ca_pem);
  EXPECT_EQ(read.client_certificate_pem, access.client_certificate_pem);
  EXPECT_EQ(read.client_key_pem, access.client_key_pem);

  access = {};
  access.server = "http://127.0.0.1:8080";
  ASSERT_TRUE(write_kubeconfig(file, access).ok()) << "its own file may be replaced";
  EXPECT_EQ(read_kubeconfig(file, "", nothing()).value().server, "http://127.0.0.1:8080");
}

TEST(Kubeconfig, IsRemovedWithItsFolder) {
  const Directory directory;
  const std::string other = directory.with("other", "x");
  const std::string folder = other.substr(0, other.rfind('/')) + "/own";
  ClusterAccess access;
  access.server = "http://127.0.0.1:8080";
  ASSERT_TRUE(write_kubeconfig(folder + "/config", access).ok());
  remove_kubeconfig(folder + "/config");
  struct stat status{};
  EXPECT_NE(::stat(folder.c_str(), &status), 0);
  EXPECT_EQ(Directory::text_of(other), "x");
}

TEST(Kubeconfig, NeverReplacesAForeignFile) {
  const Directory directory;
  const std::string file = directory.with("config", kTwoClusters);
  ClusterAccess access;
  access.server = "http://127.0.0.1:8080";
  const Status written = write_kubeconfig(file, access);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code(), ErrorCode::Exists);
  EXPECT_EQ(Directory::text_of(file), kTwoClusters);
  EXPECT_EQ(write_kubeconfig("/proc/no/such/place", access).error().code(), ErrorCode::Unavailable);
}

}  // namespace
}  // namespace berth::client
