// Objects in files, for `-f`: read and checked as a whole.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/gates.h"
#include "api/type_table.h"
#include "base/json.h"

namespace berth::cli {

struct Manifest {
  Json object;  // as written, lists expanded
  const api::ResourceInfo* resource = nullptr;
  std::string file;
  std::shared_ptr<const std::string> text;  // of the whole file
  int document = 1;                         // counted from one
  std::string item;                         // "items[3]" for an item of a list
  Json canonical = {};                      // once it is checked: api::decode_document() of the object
};

// "pods.yaml:14: document 2: spec.nodeName: Pod default/web": the place of the value at `path`.
std::string place_of(const Manifest& manifest, std::string_view path);

// The error at `path`, with its place.
Error refused(const Manifest& manifest, std::string_view path, const std::string& why);
// As the server sees it: "default" where a namespace is missing, empty for a cluster-scoped kind.
std::string namespace_of(const Manifest& manifest);

// Objects of one kind that is not served.
struct UnservedKind {
  std::string api_version, kind;
  std::string first_place;  // file, line and object
  std::size_t count = 0;
  bool defined = false;  // by a CustomResourceDefinition of the files
};
// What is served, and what is not.
struct ManifestSelection {
  std::vector<Manifest> manifests;     // in canonical form, which is in memory once
  std::vector<UnservedKind> unserved;  // in the order of the files
  std::vector<Manifest> groups;        // not served, but of a project whose groups Berth reads
};

// Finds the resource. Refuses kinds that are not served and fields that a kind does not have.
Status check_manifest(Manifest& manifest, const api::Gates& gates);

enum class FolderDepth : std::uint8_t { Top, Recursive };

// Files in a folder, all its folders included.
inline constexpr std::size_t kManifestFilesMax = 10'000;

// The files that paths of files, folders and - mean.
struct ManifestFiles {
  std::vector<std::string> files;
  std::vector<std::string> notes;  // for people: a sentence for each folder, what was read and what was not
};

// A folder means its *.yaml, *.yml and *.json by name, with Recursive those of the folders in it too; links
// to folders are not followed.
Result<ManifestFiles> manifest_files(const std::vector<std::string>& paths, FolderDepth depth);

// Every object of the files; a folder means its *.yaml, *.yml and *.json, by name. Refuses unreadable files,
// text that is no YAML, kinds that are not served and fields that a kind does not have, each with file,
// document, line and field path. Namespaces come first, then the order of the files.
Result<std::vector<Manifest>> read_manifests(const std::vector<std::string>& paths, const api::Gates& gates);
// The same, but leaves out kinds that are not served, and keeps apart the groups that other projects make.
Result<ManifestSelection> read_served_manifests(const std::vector<std::string>& paths,
                                                const api::Gates& gates);

}  // namespace berth::cli
