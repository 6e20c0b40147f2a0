// The requested form of objects, from the Accept header, and the rendering of single objects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/type_table.h"
#include "base/time.h"
#include "server/http.h"
#include "server/object_target.h"
#include "server/status.h"
#include "store/store.h"

namespace berth::server {

inline constexpr std::string_view kMetaGroup = "meta.k8s.io";

// The form of objects: unchanged, as Table rows or as metadata alone.
enum class Form { Object, Table, Metadata, MetadataList };
enum class Encoding { Json, Yaml, Protobuf };
struct Rendering {
  Form form = Form::Object;
  Encoding encoding = Encoding::Json;
  std::string_view version = "v1";  // of kMetaGroup, for all but objects
  enum class Include { None, Metadata, Object } include = Include::Metadata;  // Table rows
};

// By the media types that the client accepts, the preferred one first. Tables are not in protobuf. Nor are
// objects of custom resources and of Berth's own kinds, but their metadata is. 406 when none is supported.
// Source: apiserver/pkg/endpoints/handlers/negotiation.
ApiResult<Rendering> rendering_of(const HttpRequest& request, const ObjectTarget& target);
// Of a Status: JSON when the client accepts only what a Status cannot be.
Encoding status_encoding(const HttpRequest& request);
// 406 for a watch in an encoding that is none of events.
ApiResult<void> check_streams(Encoding encoding);
// 406 for PartialObjectMetadata of a list, or its list form of one object. The form is Metadata afterwards.
ApiResult<void> check_metadata_form(Rendering& rendering, const api::ResourceInfo& resource, bool is_list);

// `object` may be null (a dry run): `stored` then holds the document.
std::string render_one(const api::ResourceInfo& resource, const store::ObjectPtr& object,
                       const std::string& stored, Rendering rendering, Time now);

std::string_view media_type_of(Encoding encoding);
// A JSON text as YAML, members sorted as the reference does; empty when it is no JSON.
std::string yaml_of(const std::string& json);
// Turns a JSON response into another encoding; other bodies stay.
HttpResponse encoded(HttpResponse response, Encoding encoding);

// Of the headers of one answer together, and of each when all of them are more. In characters.
// Source: apiserver/pkg/endpoints/filters/warning.go.
inline constexpr std::size_t kWarningsMax = 4 * 1024;
inline constexpr std::size_t kWarningOfManyMax = 256;
// A Warning for each text, escaped: 299 - "text". A text is said once.
void add_warnings(Headers& headers, const std::vector<std::string>& texts);

}  // namespace berth::server
