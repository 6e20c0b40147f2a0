// The Helm chart of Berth: the objects of an installation with template expressions in place of values.
//
// Pure, any thread. deploy/helm/berth is the output of chart_files(); a test fails when it differs. Source:
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

// Chart.yaml, values.yaml, README.md, and one template per object. `version` is the program's.
std::vector<ChartFile> chart_files(std::string_view version);

}  // namespace berth::install
