// Documents as an API server would serve them, for questions about objects in files.
#pragma once

#include <map>
#include <string>

#include "planning/plan.h"

namespace berth::cli {

class DocumentPages {
 public:
  explicit DocumentPages(const std::vector<planning::Document>& documents);
  // The object or the list at a path; of a query only fieldSelector=metadata.name%3DNAME is read. Null: none.
  Json at(const std::string& path) const;

 private:
  std::map<std::string, Json> objects_;
  std::map<std::string, JsonArray> lists_;
};

}  // namespace berth::cli
