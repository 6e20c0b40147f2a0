// Every kind in protobuf and JSON, full and sparse, written by tools/typegen with the Go types.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/base64.h"
#include "base/testing/source_dir.h"

namespace berth::api {

struct ProtobufSample {
  std::string api_version;
  std::string kind;
  std::string body;
  std::string json;
};

inline std::vector<ProtobufSample> protobuf_samples() {
  std::ifstream file(source_path("src/api/testdata/samples.txt"));
  std::vector<ProtobufSample> found;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    ProtobufSample sample;
    words >> sample.api_version >> sample.kind >> sample.body >> std::ws;
    std::getline(words, sample.json);
    sample.body = *base64_decode(sample.body);
    found.push_back(std::move(sample));
  }
  EXPECT_GT(found.size(), 150u);
  return found;
}

}  // namespace berth::api
