// The Helm chart of Berth, from the objects of an installation: expressions stand where values do.
//
// Pure, any thread. deploy/helm/berth is what chart_files() gives; a test says when it differs. Source:
// Helm's chart format (apiVersion v2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::install {

struct ChartFile {
  std::string path;  // below the chart's folder
  std::string text;
};

// Chart.yaml, values.yaml, README.md, and a template an object. `version` is the program's.
std::vector<ChartFile> chart_files(std::string_view version);

}  // namespace berth::install
