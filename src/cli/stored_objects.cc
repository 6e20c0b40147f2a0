#include "cli/stored_objects.h"

namespace berth::cli {

std::vector<Json> stored_objects(const store::Store& store, std::string_view resource) {
  std::vector<Json> objects;
  store::ListQuery query;
  query.resource = resource;
  if (const Result<store::ListPage> page = store.list(query))
    for (const store::ObjectPtr& object : page->objects)
      if (Result<Json> json = parse_json(object->bytes)) objects.push_back(std::move(json).value());
  return objects;
}

}  // namespace berth::cli
