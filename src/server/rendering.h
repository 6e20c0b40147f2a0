// How the client wants objects shown, from its Accept header, and single objects shown that way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/type_table.h"
#include "base/time.h"
#include "server/http.h"
#include "server/status.h"
#include "store/store.h"

namespace berth::server {

// How objects are shown: as they are, as Table rows or as metadata alone.
enum class Form { Object, Table, Metadata, MetadataList };
enum class Encoding { Json, Yaml };
struct Rendering {
  Form form = Form::Object;
  Encoding encoding = Encoding::Json;                                         // a watch is always JSON
  std::string_view version = "v1";                                            // of meta.k8s.io: a Table's
  enum class Include { None, Metadata, Object } include = Include::Metadata;  // Table rows
};

// 406 when nothing offered is understood. Protobuf alone is answered in JSON: every client of built-in kinds
// takes it.
ApiResult<Rendering> rendering_of(const HttpRequest& request);
// 406 for PartialObjectMetadata of a list, or its list form of one object. The form is Metadata afterwards.
ApiResult<void> check_metadata_form(Rendering& rendering, const api::ResourceInfo& resource, bool is_list);

// `object` may be null (a dry run): `stored` then holds the document.
std::string render_one(const api::ResourceInfo& resource, const store::ObjectPtr& object,
                       const std::string& stored, Rendering rendering, Time now);

// Turns a JSON answer into YAML; what is no JSON stays.
void encode_as_yaml(HttpResponse& response);

// Of the headers of one answer together, and of each when all of them are more. In characters.
// Source: apiserver/pkg/endpoints/filters/warning.go.
inline constexpr std::size_t kWarningsMax = 4 * 1024;
inline constexpr std::size_t kWarningOfManyMax = 256;
// A Warning for each text, escaped: 299 - "text". A text is said once.
void add_warnings(Headers& headers, const std::vector<std::string>& texts);

}  // namespace berth::server
