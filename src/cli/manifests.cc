#include "cli/manifests.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "api/decode.h"
#include "api/served_kinds.h"
#include "api/yaml.h"
#include "base/count_text.h"
#include "base/text_file.h"
#include "groups/source.h"

namespace berth::cli {
namespace {

constexpr std::size_t kManifestBytesMax = 512u << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kListSuffix = "List";
constexpr std::size_t kFilesNamedMax = 8;                   // in a note
constexpr std::string_view kSnapshotMember = "rawObjects";  // of the snapshots of KAI Scheduler

// Beginnings of files that are no text, and what makes text of them.
struct Packed {
  std::string_view magic;
  std::string_view what, unpack;
};
constexpr Packed kPacked[] = {
    {"\x1f\x8b", "gzip", "gunzip -c"},
    {"PK\x03\x04", "zip", "unzip -p"},
    {"\x28\xb5\x2f\xfd", "zstd", "zstd -dc"},
    {"\xfd\x37zXZ", "xz", "xz -dc"},
    {"BZh", "bzip2", "bzip2 -dc"},
};

Status refuse_packed(const std::string& path, std::string_view text) {
  for (const Packed& packed : kPacked)
    if (text.starts_with(packed.magic))
      return Error(ErrorCode::Invalid, path,
                   "is compressed (" + std::string(packed.what) + "): unpack it first, as with `" +
                       std::string(packed.unpack) + " " + path + "`, and read the output with -f -");
  return {};
}

Result<std::string> manifest_text(const std::string& path) {
  Result<std::string> text = path == "-" ? read_text(STDIN_FILENO, path, kManifestBytesMax)
                                         : read_text_file(path, kManifestBytesMax);
  if (!text && text.error().code() == ErrorCode::NotFound)
    return Error(ErrorCode::NotFound, path, "cannot be opened");
  if (text) TRY(refuse_packed(path, *text));
  if (text && text->starts_with(kByteOrderMark)) text->erase(0, kByteOrderMark.size());
  return text;
}

bool is_manifest(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

struct Folder {
  std::vector<std::string> files;  // sorted
  std::size_t folders_left = 0;    // not looked into
};

Result<Folder> read_folder(const std::string& path, FolderDepth depth) {
  Folder folder;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(path, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    if (entry->is_directory(error)) {
      if (depth == FolderDepth::Recursive) continue;
      entry.disable_recursion_pending();
      ++folder.folders_left;
    } else if (is_manifest(entry->path())) {
      folder.files.push_back(entry->path().string());
    }
    if (folder.files.size() > kManifestFilesMax)
      return Error(
          ErrorCode::TooLarge, path,
          "has more than " + std::to_string(kManifestFilesMax) + " files: name the folders that are meant");
  }
  if (error) return Error(ErrorCode::NotFound, path, "cannot be read: " + error.message());
  std::sort(folder.files.begin(), folder.files.end());
  return folder;
}

std::string note_of(const std::string& path, const Folder& folder) {
  std::string note = path + ": " + count_text(folder.files.size(), "file") + " read";
  for (std::size_t i = 0; i < folder.files.size() && i < kFilesNamedMax; ++i)
    note += (i == 0 ? " (" : ", ") + std::filesystem::path(folder.files[i]).lexically_relative(path).string();
  if (folder.files.size() > kFilesNamedMax) note += ", …";
  if (!folder.files.empty()) note += ")";
  if (folder.folders_left > 0)
    note += "; " + count_text(folder.folders_left, "folder") + " in it left out: -R reads them";
  return note;
}

// The path inside `unknown field "spec.junk"`.
std::string_view between_quotes(std::string_view text) {
  const std::size_t begin = text.find('"');
  const std::size_t end = text.rfind('"');
  return begin == std::string_view::npos || end <= begin ? std::string_view()
                                                         : text.substr(begin + 1, end - begin - 1);
}

bool is_namespace(const Manifest& manifest) {
  return manifest.resource->group.empty() && manifest.resource->plural == "namespaces";
}

bool is_list(const Json& object) {
  return object.string_at("kind").ends_with(kListSuffix) && object.part("items").is_array();
}

// The items of a List, or of a PodList, whose items have the list's kind.
void append_items(Manifest list, std::vector<Manifest>& manifests) {
  const std::string api_version(list.object.string_at("apiVersion"));
  std::string kind(list.object.string_at("kind"));
  kind.resize(kind.size() - kListSuffix.size());
  JsonArray items = std::move(list.object["items"].as_array());
  manifests.reserve(manifests.size() + items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    Json item = std::move(items[i]);
    if (!kind.empty() && item.is_object()) {
      if (!item.find("apiVersion")) item["apiVersion"] = api_version;
      if (!item.find("kind")) item["kind"] = kind;
    }
    manifests.push_back(
        {std::move(item), nullptr, list.file, list.text, list.document, "items[" + std::to_string(i) + "]"});
  }
}

}  // namespace

std::string place_of(const Manifest& manifest, std::string_view path) {
  std::string whole_path = manifest.item;
  if (!whole_path.empty() && !path.empty()) whole_path += '.';
  whole_path += path;
  std::string place = api::yaml_position(*manifest.text, manifest.file, manifest.document, whole_path);
  if (!manifest.object.is_object()) return place;
  const std::string_view name = manifest.object.part("metadata").string_at("name");
  const std::string_view kind = manifest.object.string_at("kind");
  if (!kind.empty()) place.append(": ").append(kind);
  if (!name.empty()) place.append(kind.empty() ? ": " : " ").append(name);
  return place;
}

Error refused(const Manifest& manifest, std::string_view path, const std::string& why) {
  return Error(ErrorCode::Invalid, place_of(manifest, path), why);
}

std::string namespace_of(const Manifest& manifest) {
  if (!manifest.resource->namespaced) return "";
  const std::string_view ns = manifest.object.part("metadata").string_at("namespace");
  return std::string(ns.empty() ? "default" : ns);
}

namespace {

// Sets the resource of a kind that is served.
Status find_resource(Manifest& manifest, const api::Gates& gates) {
  if (!manifest.object.is_object()) return refused(manifest, "", "is no object");
  const std::string_view api_version = manifest.object.string_at("apiVersion");
  const std::string_view kind = manifest.object.string_at("kind");
  if (manifest.object.find(kSnapshotMember) && api_version.empty())
    return refused(manifest, kSnapshotMember,
                   "is a snapshot of KAI Scheduler, whose objects have no kinds: give the output of `kubectl "
                   "get nodes,pods,… -A -o yaml` instead");
  if (api_version.empty())
    return refused(manifest, "apiVersion", "is missing: write the API version, such as v1");
  if (kind.empty()) return refused(manifest, "kind", "is missing: write the kind, such as Pod");
  manifest.resource = api::find_resource_of_kind(api_version, kind);
  if (manifest.resource && !api::is_served(*manifest.resource, gates)) manifest.resource = nullptr;
  return {};
}

// Refuses an object that its kind does not allow.
Status check_fields(Manifest& manifest) {
  Result<api::Decoded> decoded = api::decode_document(manifest.resource->type(), manifest.object);
  if (!decoded) return refused(manifest, decoded.error().path(), decoded.error().message());
  if (!decoded->strict_errors.empty())
    return refused(manifest, between_quotes(decoded->strict_errors.front()), decoded->strict_errors.front());
  manifest.canonical = std::move(decoded->document);
  return {};
}

Result<std::vector<Manifest>> parsed_manifests(const std::vector<std::string>& paths) {
  std::vector<Manifest> manifests;
  const ManifestFiles sources = TRY(manifest_files(paths, FolderDepth::Top));
  for (const std::string& file : sources.files) {
    auto text = std::make_shared<const std::string>(TRY(manifest_text(file)));
    std::vector<api::YamlDocument> documents = TRY(api::parse_yaml_documents(*text, file));
    for (api::YamlDocument& document : documents) {
      Manifest manifest{std::move(document.value), nullptr, file, text, document.number, ""};
      if (!document.duplicate_keys.empty()) return refused(manifest, "", document.duplicate_keys.front());
      if (manifest.object.is_object() && is_list(manifest.object))
        append_items(std::move(manifest), manifests);
      else
        manifests.push_back(std::move(manifest));
    }
  }
  return manifests;
}

std::string_view group_of(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

// Whether a CustomResourceDefinition among the manifests defines the kind.
bool is_defined(const UnservedKind& kind, const std::vector<Manifest>& manifests) {
  return std::any_of(manifests.begin(), manifests.end(), [&](const Manifest& manifest) {
    if (manifest.resource->kind != "CustomResourceDefinition") return false;
    const Json& spec = manifest.object.part("spec");
    return spec.string_at("group") == group_of(kind.api_version) &&
           spec.part("names").string_at("kind") == kind.kind;
  });
}

void note_unserved(const Manifest& manifest, std::vector<UnservedKind>& unserved) {
  const std::string_view api_version = manifest.object.string_at("apiVersion");
  const std::string_view kind = manifest.object.string_at("kind");
  auto known = std::find_if(unserved.begin(), unserved.end(), [&](const UnservedKind& other) {
    return other.api_version == api_version && other.kind == kind;
  });
  if (known == unserved.end())
    known = unserved.insert(
        known, {std::string(api_version), std::string(kind), place_of(manifest, "kind"), 0, false});
  ++known->count;
}

}  // namespace

Status check_manifest(Manifest& manifest, const api::Gates& gates) {
  TRY(find_resource(manifest, gates));
  if (manifest.resource) return check_fields(manifest);
  return refused(manifest, "kind",
                 "no kind \"" + std::string(manifest.object.string_at("kind")) +
                     "\" is served in version \"" + std::string(manifest.object.string_at("apiVersion")) +
                     "\"; `kubectl api-resources` lists what is");
}

Result<ManifestFiles> manifest_files(const std::vector<std::string>& paths, FolderDepth depth) {
  ManifestFiles all;
  for (const std::string& path : paths) {
    std::error_code error;
    if (path == "-" || !std::filesystem::is_directory(path, error)) {
      all.files.push_back(path);
      continue;
    }
    Folder folder = TRY(read_folder(path, depth));
    all.notes.push_back(note_of(path, folder));
    std::move(folder.files.begin(), folder.files.end(), std::back_inserter(all.files));
  }
  return all;
}

Result<std::vector<Manifest>> read_manifests(const std::vector<std::string>& paths, const api::Gates& gates) {
  std::vector<Manifest> manifests = TRY(parsed_manifests(paths));
  for (Manifest& manifest : manifests)
    if (Status checked = check_manifest(manifest, gates); !checked) return checked.error();
  std::stable_partition(manifests.begin(), manifests.end(), is_namespace);
  return manifests;
}

Result<ManifestSelection> read_served_manifests(const std::vector<std::string>& paths,
                                                const api::Gates& gates) {
  ManifestSelection selection;
  for (Manifest& manifest : TRY(parsed_manifests(paths))) {
    TRY(find_resource(manifest, gates));
    if (!manifest.resource) {
      if (groups::source_with_kind(manifest.object.string_at("apiVersion"),
                                   manifest.object.string_at("kind")))
        selection.groups.push_back(std::move(manifest));
      else
        note_unserved(manifest, selection.unserved);
      continue;
    }
    TRY(check_fields(manifest));
    manifest.object = manifest.canonical;
    selection.manifests.push_back(std::move(manifest));
  }
  std::stable_partition(selection.manifests.begin(), selection.manifests.end(), is_namespace);
  for (UnservedKind& kind : selection.unserved) kind.defined = is_defined(kind, selection.manifests);
  return selection;
}

}  // namespace berth::cli
