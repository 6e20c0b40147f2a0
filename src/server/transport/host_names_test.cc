// By which names a plain server answers.
#include "server/transport/host_names.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth::server {
namespace {

TEST(HostNames, AreThoseThatNoOtherSiteCanHave) {
  const std::vector<std::string> more = {"berth.example.com"};
  struct Case {
    const char* host;
    bool answered;
  };
  for (const Case& c : {Case{"", true},
                        Case{"localhost", true},
                        Case{"LOCALHOST:6443", true},
                        Case{"127.0.0.1:6443", true},
                        Case{"127.8.9.1", true},
                        Case{"[::1]:6443", true},
                        Case{"[::1]", true},
                        Case{"kind.localhost:1", true},
                        Case{"berth", true},
                        Case{"192.168.1.7:80", true},
                        Case{"Berth.Example.com:6443", true},
                        Case{"berth.example.com.", true},
                        Case{"evil.example", false},
                        Case{"evil.example:6443", false},
                        Case{"evil.example.", false},
                        Case{"localhost.evil.example:80", false},
                        Case{"127.0.0.1.evil.example", false},
                        Case{"127.0.0.1.", true},
                        Case{"evil.localhost.example", false},
                        Case{"a.berth.example.com", false},
                        Case{"7f.1", false}})
    EXPECT_EQ(may_be_called(c.host, more), c.answered) << c.host;
}

}  // namespace
}  // namespace berth::server
