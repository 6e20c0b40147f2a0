#include "api/protobuf_document.h"

#include <gtest/gtest.h>

#include <set>

#include "api/kinds.h"
#include "api/protobuf.h"
#include "api/protobuf_encode.h"
#include "api/serialized.h"
#include "api/testing/document_drawer.h"
#include "api/testing/protobuf_samples.h"
#include "base/random.h"

namespace berth::api {
namespace {

std::string words(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += text + ",";
  return out + "]";
}

template <class Map>
std::string amounts(const Map& map) {
  std::string out = "{";
  for (const auto& [name, quantity] : map) out += name + "=" + quantity.text() + ",";
  return out + "}";
}

std::string pairs(const StringMap& map) {
  std::string out = "{";
  for (const auto& [key, value] : map) out += key + "=" + value + ",";
  return out + "}";
}

std::string number(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "none";
}

std::string told(const ObjectMeta& meta) {
  std::string out = meta.name + "|" + meta.ns + "|" + meta.uid + "|" + std::to_string(meta.resource_version) +
                    "|" + std::to_string(meta.generation) + "|" + std::to_string(meta.created.micros()) +
                    "|" + std::to_string(meta.deleted.micros()) + "|" + number(meta.deletion_grace_s) +
                    pairs(meta.labels) + pairs(meta.annotations) + words(meta.finalizers);
  for (const OwnerReference& owner : meta.owners) out += to_string(to_json(owner));
  return out;
}

std::string told(const std::vector<Condition>& conditions) {
  std::string out;
  for (const Condition& condition : conditions)
    out += to_string(to_json(condition)) + std::to_string(condition.last_transition.micros());
  return out;
}

std::string told(const std::vector<Toleration>& tolerations) {
  std::string out;
  for (const Toleration& toleration : tolerations) out += to_string(to_json(toleration));
  return out;
}

std::string told(const ReportedRequests* reported) {
  std::string out;
  if (!reported) return out;
  for (const auto* of : {&reported->allocated, &reported->actual}) out += *of ? amounts(**of) : "none";
  return out;
}

std::string told(const std::vector<Container>& containers) {
  std::string out;
  for (const Container& container : containers) {
    out += container.name + "|" + container.image + amounts(container.requests) + amounts(container.limits) +
           (container.restartable_init ? "sidecar" : "") + told(container.reported.get());
    for (const ContainerClaim& claim : container.claims) out += claim.name + "/" + claim.request + ",";
  }
  return out;
}

std::string told(const std::optional<NodeSelector>& selector) {
  return selector ? to_string(to_json(*selector)) : "any";
}

// Every member of the struct.
std::string told(const Pod& pod) {
  std::string out = told(pod.meta);
  for (const std::string* text :
       {&pod.node_name, &pod.scheduler_name, &pod.preemption_policy, &pod.priority_class, &pod.restart_policy,
        &pod.group, &pod.phase, &pod.nominated_node, &pod.extended_claim, &pod.only_gpu})
    out += "\n" + *text;
  out += "\n" + std::to_string(pod.priority) + " " + std::to_string(pod.termination_grace_s) + " " +
         format_micro_time(pod.started) + "\n" + pairs(pod.node_selector) + told(pod.required_node_affinity) +
         told(pod.tolerations) + "\n" + told(pod.containers) + "\n" + told(pod.init_containers) + "\n" +
         amounts(pod.overhead) + "\n" + (pod.pod_level_requests ? amounts(*pod.pod_level_requests) : "none") +
         (pod.pod_level_limits ? amounts(*pod.pod_level_limits) : "none") + words(pod.scheduling_gates) +
         told(pod.reported.get()) + (pod.resize_infeasible ? "infeasible" : "") + told(pod.conditions) +
         to_string(to_json(pod.node_allocatable)) + "\n";
  for (const HostPort& port : pod.host_ports)
    out += std::to_string(port.port) + port.protocol + port.ip + ",";
  for (const std::string_view feature : pod.required_features) out.append(feature).append(",");
  for (const PodClaim& claim : pod.claims)
    out += claim.name + "/" + claim.claim_name + "/" + claim.template_name + ",";
  for (const PodVolume& volume : pod.volumes)
    out += volume.name + "/" + volume.claim_name + (volume.ephemeral ? "/ephemeral," : ",");
  for (const PodClaimStatus& status : pod.claim_statuses) out += status.name + "/" + status.claim_name + ",";
  return out;
}

std::string told(const ResourceClaim& claim) {
  std::string out = told(claim.meta) + "\n";
  for (const DeviceRequest& request : claim.requests) {
    out += request.name + (request.prioritized ? " first of:" : ":");
    for (const DeviceSubRequest& sub : request.alternatives) {
      out += sub.name + "|" + sub.device_class + words(sub.selectors) +
             (sub.mode == AllocationMode::All ? "all" : "count") + std::to_string(sub.count) +
             (sub.admin_access ? "admin" : "") + told(sub.tolerations) + amounts(sub.capacity);
      for (const auto& [name, text] : sub.derived_attributes) out += name + "=" + text + ",";
    }
  }
  for (const DeviceConstraint& constraint : claim.constraints)
    out += words(constraint.requests) + constraint.match_attribute + "|" + constraint.distinct_attribute;
  out += to_string(claim.config) + (claim.allocation ? to_string(to_json(*claim.allocation)) : "none") + "\n";
  for (const ClaimConsumer& consumer : claim.reserved_for) out += to_string(to_json(consumer));
  for (const AllocatedDeviceStatus& device : claim.devices)
    out += device.driver + "/" + device.pool + "/" + device.device + "/" + device.share_id +
           told(device.conditions);
  return out;
}

std::string told(const std::vector<Taint>& taints) {
  std::string out;
  for (const Taint& taint : taints)
    out += taint.key + "=" + taint.value + ":" + taint.effect + std::to_string(taint.added.micros()) + ",";
  return out;
}

std::string told(const Node& node) {
  std::string out = told(node.meta) + "\n" + (node.unschedulable ? "cordoned" : "") +
                    (node.disables_resize_preemption ? "no preemption" : "") + told(node.taints) +
                    amounts(node.capacity) + amounts(node.allocatable) + told(node.conditions) +
                    words(node.declared_features);
  for (const NodeImage& image : node.images) out += image.name + "=" + std::to_string(image.bytes) + ",";
  return out;
}

std::string told(const std::optional<Quantity>& quantity) {
  return quantity ? quantity->text() : "none";
}

std::string told(const AttributeValue& value) {
  const auto text = [](const auto& one) {
    using One = std::decay_t<decltype(one)>;
    if constexpr (std::is_same_v<One, std::string>)
      return one;
    else if constexpr (std::is_same_v<One, AttributeVersion>)
      return one.text;
    else if constexpr (std::is_arithmetic_v<One>)
      return std::to_string(one);
    else
      return std::string("none");
  };
  const auto all = [&](const auto& one) {
    if constexpr (requires { one.begin()->text; } ||
                  (requires { one.begin(); } && !std::is_same_v<std::decay_t<decltype(one)>, std::string>)) {
      std::string out;
      for (const auto& item : one) out += text(typename std::decay_t<decltype(one)>::value_type(item)) + ",";
      return out;
    } else {
      return text(one);
    }
  };
  return std::to_string(value.index()) + ":" + std::visit(all, value);
}

std::string told(const Device& device) {
  std::string out = device.name + "|" + device.node_name + told(device.node_selector) + told(device.taints) +
                    (device.all_nodes ? "all" : "") + (device.binds_to_node ? "binds" : "") +
                    (device.allow_multiple ? "multiple" : "") + words(device.binding_conditions) +
                    words(device.binding_failure_conditions) + "\n";
  for (const auto& [name, value] : device.attributes) out += name + "=" + told(value) + ";";
  for (const auto& [name, capacity] : device.capacity) {
    out += name + "=" + capacity.value.text();
    if (!capacity.policy) continue;
    out += told(capacity.policy->default_value) + told(capacity.policy->range_min) +
           told(capacity.policy->range_max) + told(capacity.policy->range_step);
    for (const Quantity& valid : capacity.policy->valid_values) out += valid.text() + ",";
  }
  for (const CounterConsumption& one : device.consumes)
    out += one.counter_set + amounts(one.counters) + words(one.groups);
  for (const auto& [name, takes] : device.node_allocatable) {
    out += name;
    if (takes.mapping) out += takes.mapping->capacity_key + takes.mapping->multiplier.text();
    if (takes.overhead) out += told(takes.overhead->per_pod) + told(takes.overhead->per_container);
  }
  return out;
}

std::string told(const ResourceSlice& slice) {
  std::string out = told(slice.meta) + "\n" + slice.driver + "|" + slice.pool + "|" +
                    std::to_string(slice.generation) + "|" + std::to_string(slice.slice_count) + "|" +
                    slice.node_name + told(slice.node_selector) + (slice.all_nodes ? "all" : "") +
                    (slice.per_device_node_selection ? "each" : "") + words(slice.skip_node_operations);
  for (const Device& device : slice.devices) out += "\n" + told(device);
  for (const CounterSet& set : slice.shared_counters) out += "\n" + set.name + amounts(set.counters);
  return out;
}

std::string told(const TypedObject& object) {
  if (const auto* pod = std::get_if<std::shared_ptr<const Pod>>(&object)) return told(**pod);
  if (const auto* node = std::get_if<std::shared_ptr<const Node>>(&object)) return told(**node);
  if (const auto* slice = std::get_if<std::shared_ptr<const ResourceSlice>>(&object)) return told(**slice);
  return told(*std::get<std::shared_ptr<const ResourceClaim>>(object));
}

// The struct by way of a document: the slow twin.
Result<TypedObject> by_document(Kind kind, const RawPtr& raw) {
  return decode_typed(kind, raw, TRY(parse_object(*raw, ManagedFields::Skip)));
}

constexpr std::array kReadDirectly = {Kind::Pod, Kind::ResourceClaim, Kind::Node, Kind::ResourceSlice};

Kind kind_of(std::string_view name) {
  for (const Kind kind : kReadDirectly)
    if (info_of(kind).name == name) return kind;
  return Kind::Other;
}

// Bodies of these kinds that Go has written.
std::vector<std::pair<Kind, std::string>> bodies_of_go() {
  std::vector<std::pair<Kind, std::string>> found;
  for (ProtobufSample& sample : protobuf_samples()) {
    const bool served = sample.api_version == "v1" || sample.api_version == "resource.k8s.io/v1";
    if (served && kind_of(sample.kind) != Kind::Other)
      found.emplace_back(kind_of(sample.kind), std::move(sample.body));
  }
  return found;
}

TEST(ProtobufDocument, StructsOfGosBodiesAreThoseByWayOfADocument) {
  const auto bodies = bodies_of_go();
  ASSERT_EQ(bodies.size(), 8u);
  for (const auto& [kind, body] : bodies) {
    const RawPtr raw = std::make_shared<const std::string>(body);
    const auto direct = decode_typed(kind, raw), twin = by_document(kind, raw);
    ASSERT_TRUE(direct.ok() && twin.ok());
    EXPECT_EQ(told(*direct), told(*twin));
    EXPECT_EQ(raw_of(*direct), raw);
  }
}

std::string random_body(Kind kind, std::uint64_t seed) {
  const bool is_core = kind == Kind::Pod || kind == Kind::Node;
  const std::string api_version = is_core ? "v1" : "resource.k8s.io/v1";
  const std::string name(info_of(kind).name);
  Json document = Json::object({{"kind", name}, {"apiVersion", api_version}});
  const Json drawn = DocumentDrawer(seed).document(*find_kind(api_version, name), 0);
  for (const JsonMember& member : drawn.as_object())
    if (member.key != "kind" && member.key != "apiVersion") document[member.key] = member.value;
  const Result<std::string> body = encode_protobuf_body(to_string(document), Unnumbered::Refuse);
  EXPECT_TRUE(body.ok()) << body.error().text();
  return body.ok() ? *body : std::string();
}

TEST(ProtobufDocumentJudge, AgreesWithTheDocumentOnRandomObjects) {
  for (const Kind kind : kReadDirectly) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      SCOPED_TRACE(seed);
      const auto raw = std::make_shared<const std::string>(random_body(kind, seed));
      const auto direct = decode_typed(kind, raw), twin = by_document(kind, raw);
      ASSERT_TRUE(direct.ok()) << direct.error().text();
      ASSERT_TRUE(twin.ok()) << twin.error().text();
      ASSERT_EQ(told(*direct), told(*twin));
      seen.insert(told(*twin));
    }
    EXPECT_GT(seen.size(), 290u);
  }
}

// What the twin reads is read alike. What it refuses may be in a field that the struct does not have.
TEST(ProtobufDocumentJudge, DamagedBytesAreRefusedOrReadAsByWayOfADocument) {
  SeededRandom random(7);
  std::size_t read = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    const Kind kind = kReadDirectly[seed % kReadDirectly.size()];
    std::string body = random_body(kind, seed % 40 + 1);
    for (std::uint64_t n = random.below(3); n < 3; ++n)
      body[random.below(body.size())] = static_cast<char>(random.next());
    if (random.below(4) == 0) body.resize(random.below(body.size()));
    const auto raw = std::make_shared<const std::string>(std::move(body));
    if (!is_protobuf(*raw)) continue;
    const auto direct = decode_typed(kind, raw), twin = by_document(kind, raw);
    if (!direct) ++refused;
    if (!twin) continue;
    ++read;
    ASSERT_TRUE(direct.ok()) << direct.error().text();
    ASSERT_EQ(told(*direct), told(*twin));
  }
  EXPECT_GT(read, 100u);
  EXPECT_GT(refused, 100u);
}

TEST(ProtobufDocument, MalformedDataThatIsReadIsTrouble) {
  const TypeInfo& pod = *find_kind("v1", "Pod");
  const auto body_of = [](std::uint32_t number, std::string_view bytes) {
    std::string meta, object;
    append_bytes_field(meta, number, bytes);
    append_bytes_field(object, 1, meta);
    return object;
  };
  ProtobufDocument::Reading reading;
  std::optional<Error>& trouble = reading.trouble;
  const std::string name = body_of(1, "\xff");
  EXPECT_EQ(decode_meta(ProtobufDocument(pod, name, reading)).name, "");
  ASSERT_TRUE(trouble.has_value());
  EXPECT_EQ(trouble->message(), "malformed protobuf: a text is not UTF-8");
  trouble.reset();
  const std::string self_link = body_of(4, "\xff");
  decode_meta(ProtobufDocument(pod, self_link, reading));
  EXPECT_FALSE(trouble.has_value()) << "nobody reads selfLink";
}

}  // namespace
}  // namespace berth::api
