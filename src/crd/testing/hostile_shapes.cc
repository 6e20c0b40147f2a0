#include "crd/testing/hostile_shapes.h"

#include <functional>

#include "crd/budget.h"

namespace berth::crd {
namespace {

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  out.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

// `part(i)`, separated by commas, while they fit a request.
std::string list_of(const std::function<std::string(std::size_t)>& part, std::size_t count,
                    std::size_t bytes = kHostileBytesMax - 20'000) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    std::string next = part(i);
    if (out.size() + next.size() + 1 > bytes) break;
    out.append(i ? "," : "").append(next);
  }
  return out;
}

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}
std::string numbered(std::string_view name, std::size_t at) {
  return quoted(std::string(name) + std::to_string(at));
}

constexpr std::size_t kMany = 3'000'000;

std::string object_schema(const std::string& properties, const std::string& more = "") {
  return R"j({"type":"object",)j" + more + R"j("properties":{)j" + properties + "}}";
}
std::string rules_of(const std::string& rules) {
  return R"j("x-kubernetes-validations":[)j" + rules + "],";
}
std::string rule(std::string_view text, std::string_view message = "") {
  return R"j({"rule":")j" + std::string(text) + R"j(","message":"m")j" +
         (message.empty() ? "" : R"j(,"messageExpression":")j" + std::string(message) + "\"") + "}";
}
// `text` again and again, up to the bytes of one expression.
std::string chain(std::string_view term, std::string_view between, std::size_t bytes = 10'000) {
  std::string out(term);
  while (out.size() + between.size() + term.size() <= bytes) out.append(between).append(term);
  return out;
}

constexpr std::string_view kText = R"j({"type":"string"})j";
constexpr const char* kTextBytes = "bytes of expressions";

void add_wide(std::vector<HostileDefinition>& all) {
  const auto property = [](std::size_t i) { return numbered("p", i) + ":" + std::string(kText); };
  const auto object = [](std::size_t i) {
    return numbered("p", i) + R"j(:{"type":"object","properties":{"a":{"type":"string"}}})j";
  };
  const std::string wide = list_of(property, 99'000);
  all.push_back({"99,000 properties", {object_schema(wide)}, ""});
  all.push_back({"parts without end", {object_schema(list_of(property, kMany))}, "100000 parts"});
  std::vector<std::string> versions(100, object_schema(list_of(property, 1'300)));
  all.push_back({"100 versions of 1,300 properties", std::move(versions), "100000 parts"});
  all.push_back(
      {"30,000 objects below 1,000 rules",
       {object_schema(list_of(object, 30'000),
                      rules_of(list_of([](std::size_t) { return rule("self.p1.a == 'x'"); }, 1'000)))},
       ""});
  all.push_back({"90,000 properties that 2,000 rules read",
                 {object_schema(list_of(property, 40'000), rules_of(list_of(
                                                               [](std::size_t i) {
                                                                 return rule("self.p" + std::to_string(i) +
                                                                             " == self.p" +
                                                                             std::to_string(39'999 - i));
                                                               },
                                                               2'000)))},
                 ""});
  all.push_back({"90,000 properties, and rules that misspell them",
                 {object_schema(list_of(property, 90'000),
                                rules_of(list_of(
                                    [](std::size_t i) {
                                      return rule(chain("self.q" + std::to_string(i) + "=='x'", "&&", 1'200));
                                    },
                                    100)))},
                 "undefined field"});
  all.push_back(
      {"60,000 properties in a message literal",
       {object_schema(
           list_of(property, 60'000),
           rules_of(list_of(
               [](std::size_t i) { return rule(chain("object0{}==object0{}", "&&", 9'000 + i)); }, 15)))},
       ""});
  all.push_back(
      {"a name of 1.4 MB above 30,000",
       {object_schema(quoted(std::string(1'400'000, 'n')) + ":" + object_schema(list_of(property, 30'000)))},
       ""});
  all.push_back({"a name of 1.4 MB above 30,000 errors",
                 {object_schema(
                     quoted(std::string(1'400'000, 'n')) + ":" +
                     object_schema(list_of([](std::size_t i) { return numbered("p", i) + ":{}"; }, 30'000)))},
                 "must not be empty"});
}

void add_deep(std::vector<HostileDefinition>& all) {
  std::string deep(kText);
  for (int i = 0; i < 190; ++i)
    deep = object_schema(quoted("a") + ":" + deep, rules_of(rule("self == oldSelf || has(self.a)")));
  all.push_back({"190 levels with rules", {deep}, ""});
  std::string arrays = R"j({"type":"string","x-kubernetes-validations":[)j" + rule("self != 'x'") + "]}";
  for (int i = 0; i < 190; ++i) arrays = R"j({"type":"array","maxItems":1,"items":)j" + arrays + "}";
  all.push_back({"190 arrays", {object_schema("\"a\":" + arrays)}, ""});
  std::string alternatives = R"j({"minLength":1})j";
  for (int i = 0; i < 150; ++i) alternatives = R"j({"anyOf":[)j" + alternatives + R"j(,{"maxLength":3}]})j";
  all.push_back({"150 alternatives in each other",
                 {object_schema(R"j("a":{"type":"string","allOf":[)j" + alternatives + "]}")},
                 ""});
}

void add_rules(std::vector<HostileDefinition>& all) {
  const auto with = [](const std::string& rules, std::size_t count) {
    return object_schema(R"j("s":{"type":"string"},"l":{"type":"array","maxItems":2,)j"
                         R"j("items":{"type":"string","maxLength":2}})j",
                         rules_of(list_of([&](std::size_t) { return rules; }, count)));
  };
  all.push_back(
      {"700 copies of a rule of 3.5 kB", {with(rule(chain("self.s=='abc'", "||", 3'500)), 700)}, kTextBytes});
  const auto distinct = [&](const std::string& term, const std::string& between, std::size_t bytes) {
    return object_schema(
        R"j("s":{"type":"string","maxLength":4},"l":{"type":"array","maxItems":2,"items":)j"
        R"j({"type":"string","maxLength":2}})j",
        rules_of(list_of(
            [&](std::size_t i) {
              return rule(chain(term, between, bytes) + "||self.s=='" + std::to_string(i) + "'");
            },
            (kRuleTextMax - 4'000) / (bytes + 40))));
  };
  struct Row {
    const char *name, *term, *between;
  };
  static constexpr Row kRows[] = {
      {"comparisons", "self.s=='a'", "||"},
      {"additions", "1+1+1+1+1==5", "||"},
      {"macros", "self.l.exists(x,x=='a')", "||"},
      {"two macros in each other", "self.l.all(x,self.l.exists(y,y==x))", "||"},
      {"lists of lists",
       "[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]==[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]", "||"},
      {"optional chains", "self.?s.optMap(x,x+'a').optMap(x,x+'a').orValue('')==''", "||"},
      {"binds", "cel.bind(a,[1],cel.bind(b,[a],cel.bind(c,[b],c==c)))", "||"},
      {"format lists", "'%s%s%s'.format([self.s,self.s,self.s])=='a'", "||"},
      {"ternaries", "(self.s=='a'?1:2)==1", "||"},
      {"negations", "!!!!!!!!!!!!!!!true", "||"},
      {"maps", "{'a':1,'b':2,'c':3}=={'a':1}", "||"},
  };
  for (const Row& row : kRows)
    all.push_back(
        {std::string("the largest text of ") + row.name, {distinct(row.term, row.between, 9'900)}, ""});
}

void add_refused_rules(std::vector<HostileDefinition>& all) {
  all.push_back({"2,000 short rules on 2,000 types",
                 {object_schema(list_of(
                     [](std::size_t i) {
                       return numbered("p", i) + ":" +
                              object_schema(R"j("s":{"type":"string"})j",
                                            rules_of(rule("self.s!='x'", "'m'+self.s")));
                     },
                     2'000))},
                 ""});
  all.push_back({"rules without end",
                 {object_schema(R"j("s":{"type":"string"})j",
                                rules_of(list_of([](std::size_t) { return rule("true"); }, 100'000)))},
                 "2000 rules"});
  std::string doubled = "{1:1}";
  for (int i = 0; i < 60; ++i)
    doubled = "cel.bind(v" + std::to_string(60 - i) + "," + doubled + ",{v" + std::to_string(60 - i) + ":v" +
              std::to_string(60 - i) + "})";
  all.push_back({"types that double 60 times",
                 {object_schema(R"j("s":{"type":"string"})j", rules_of(rule(doubled + "==1")))},
                 "nests more than"});
  all.push_back({"20 patterns of 1,000 repetitions in each of 20 rules",
                 {object_schema(R"j("s":{"type":"string","maxLength":4})j",
                                rules_of(list_of(
                                    [](std::size_t i) {
                                      std::string text;
                                      for (std::size_t j = 0; j < 20; ++j)
                                        text += (j ? "||self.s.matches('" : "self.s.matches('") +
                                                std::string(".{1000}") + std::to_string(i * 20 + j) + "')";
                                      return rule(text);
                                    },
                                    20)))},
                 "instructions"});
  all.push_back({"unknown functions and names",
                 {object_schema(R"j("s":{"type":"string"})j", rules_of(list_of(
                                                                  [](std::size_t) {
                                                                    return rule(
                                                                        chain(std::string(90, 'f') + "(" +
                                                                                  std::string(90, 'g') + ")",
                                                                              "||", 9'900));
                                                                  },
                                                                  15)))},
                 "undeclared reference"});
}

void add_values(std::vector<HostileDefinition>& all) {
  all.push_back({"50,000 defaults",
                 {object_schema(list_of(
                     [](std::size_t i) { return numbered("p", i) + R"j(:{"type":"string","default":"x"})j"; },
                     50'000))},
                 ""});
  all.push_back(
      {"20,000 defaults with rules",
       {object_schema(list_of(
           [](std::size_t i) {
             return numbered("p", i) +
                    R"j(:{"type":"array","maxItems":9,"items":{"type":"integer"},"default":[1,2,3]})j";
           },
           20'000))},
       ""});
  all.push_back({"1,900 defaults whose rule takes long",
                 {object_schema(list_of(
                     [](std::size_t i) {
                       return numbered("p", i) +
                              R"j(:{"type":"array","maxItems":20,"items":{"type":"integer"},"default":[)j" +
                              list_of([](std::size_t) { return std::string("1"); }, 20) + "]," +
                              rules_of(rule("self.all(a,self.all(b,self.all(c,true)))")) +
                              R"j("maxLength":1})j";
                     },
                     1'900))},
                 "cost budget"});
  all.push_back(
      {"a million keys of a list map",
       {object_schema(
           R"j("l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":[)j" +
           list_of([](std::size_t i) { return numbered("k", i); }, kMany) +
           R"j(],"items":{"type":"object","properties":{"k":{"type":"string"}}}})j")},
       "Too many"});
}

void add_patterns(std::vector<HostileDefinition>& all) {
  all.push_back({"2,000 patterns",
                 {object_schema(list_of(
                     [](std::size_t i) {
                       return numbered("p", i) +
                              R"j(:{"type":"string","pattern":"^[a-z0-9]([-a-z0-9]*[a-z0-9]){1,20}$"})j";
                     },
                     2'000))},
                 ""});
  all.push_back({"patterns of many instructions",
                 {object_schema(list_of(
                     [](std::size_t i) {
                       return numbered("p", i) + R"j(:{"type":"string","pattern":".{1,990}x)j" +
                              std::to_string(i) + "\"}";
                     },
                     40))},
                 ""});
  all.push_back({"patterns of too many instructions",
                 {object_schema(list_of(
                     [](std::size_t i) {
                       return numbered("p", i) + R"j(:{"type":"string","pattern":"[\\p{L}\\p{N}]{1)j" +
                              std::to_string(i) + "}\"}";
                     },
                     2'000))},
                 "instructions"});
  all.push_back({"100 rules with patterns of too many instructions",
                 {object_schema(R"j("s":{"type":"string","maxLength":4})j",
                                rules_of(list_of(
                                    [](std::size_t i) {
                                      return rule(R"j(self.s.matches('\\\\p{L}{9)j" + std::to_string(i) +
                                                  "}')");
                                    },
                                    100)))},
                 "instructions"});
  all.push_back({"100 versions with 2,000 patterns each",
                 std::vector<std::string>(100, object_schema(list_of(
                                                   [](std::size_t i) {
                                                     return numbered("p", i) +
                                                            R"j(:{"type":"string","pattern":"^a+$"})j";
                                                   },
                                                   600))),
                 "2000 patterns"});
  all.push_back({"an enum of 300,000",
                 {object_schema(R"j("a":{"type":"string","enum":[)j" +
                                list_of([](std::size_t i) { return numbered("e", i); }, kMany) + "]}")},
                 ""});
  all.push_back({"300,000 required names",
                 {object_schema(R"j("a":{"type":"object","required":[)j" +
                                list_of([](std::size_t i) { return numbered("r", i); }, kMany) + "]}")},
                 ""});
}

}  // namespace

std::vector<HostileDefinition> hostile_definitions() {
  std::vector<HostileDefinition> all;
  add_wide(all);
  add_deep(all);
  add_rules(all);
  add_refused_rules(all);
  add_values(all);
  add_patterns(all);
  return all;
}

namespace {

std::string items_schema(const std::string& item, const std::string& more = "") {
  return object_schema(R"j("l":{"type":"array",)j" + more + R"j("items":)j" + item + "}");
}
std::string items(std::size_t bytes, const std::function<std::string(std::size_t)>& item) {
  return R"j({"l":[)j" + list_of(item, kMany, bytes) + "]}";
}

void add_value_shapes(std::size_t bytes, std::vector<HostileObject>& all) {
  const auto empty = [](std::size_t) { return std::string("{}"); };
  const auto text = [](std::size_t i) { return numbered("e", i); };
  all.push_back({"many empty objects", items_schema(R"j({"type":"object"})j"), items(bytes, empty), "", ""});
  all.push_back({"a large enum for many items",
                 items_schema(R"j({"type":"string","enum":[)j" + list_of(text, bytes / 20) + "]}"),
                 items(bytes, [bytes](std::size_t i) { return numbered("e", i % (bytes / 20)); }), "", ""});
  all.push_back({"many required names for many objects",
                 items_schema(R"j({"type":"object","required":[)j" + list_of(text, bytes / 30) + "]}"),
                 items(bytes, empty), "", "too complex"});
  all.push_back({"a default of a long name for many objects",
                 items_schema(object_schema(quoted(std::string(bytes / 3, 'n')) +
                                            R"j(:{"type":"integer","default":1})j")),
                 items(bytes, empty), "", "more defaults than fit"});
  all.push_back({"many properties and one default for many objects",
                 items_schema(object_schema(list_of(
                     [](std::size_t i) {
                       return numbered("p", i) +
                              (i ? R"j(:{"type":"string"})j"
                                 : R"j(:{"type":"string","default":")j" + std::string(100, 'x') + "\"}");
                     },
                     bytes / 33))),
                 items(bytes, empty), "", "more defaults than fit"});
  all.push_back(
      {"a long key above many items",
       object_schema(
           R"j("m":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}})j"),
       R"j({"m":{")j" + std::string(bytes / 2, 'k') + R"j(":[)j" +
           list_of([](std::size_t) { return std::string("\"a\""); }, kMany, bytes / 2) + "]}}",
       "", ""});
  all.push_back(
      {"many errors below a long key",
       object_schema(
           R"j("m":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}})j"),
       R"j({"m":{")j" + std::string(bytes / 2, 'k') + R"j(":[)j" +
           list_of([](std::size_t) { return std::string("1"); }, kMany, bytes / 2) + "]}}",
       "", "must be of type string"});
  all.push_back({"many unique items",
                 items_schema(std::string(kText), R"j("x-kubernetes-list-type":"set",)j"), items(bytes, text),
                 "", ""});
  all.push_back({"many items of a list map",
                 items_schema(R"j({"type":"object","required":["k"],"properties":{"k":{"type":"string"}}})j",
                              R"j("x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],)j"),
                 items(bytes, [](std::size_t i) { return "{\"k\":" + numbered("", i) + "}"; }),
                 items(bytes, [](std::size_t i) { return "{\"k\":" + numbered("", i + 1) + "}"; }), ""});
  all.push_back({"many unknown members", object_schema(R"j("a":{"type":"string"})j"),
                 "{" + list_of([](std::size_t i) { return numbered("u", i) + ":1"; }, kMany, bytes) + "}", "",
                 ""});
  all.push_back({"alternatives that print a long text",
                 object_schema(R"j("a":{"type":"string","anyOf":[)j" +
                               list_of(
                                   [](std::size_t i) {
                                     return R"j({"maxLength":)j" + std::to_string(i) +
                                            R"j(,"pattern":"^b"})j";
                                   },
                                   1'500) +
                               "]}"),
                 R"j({"a":")j" + std::string(bytes, 'a') + "\"}", "", "too complex"});
  all.push_back({"a pattern of many states and a long text",
                 object_schema(R"j("a":{"type":"string","pattern":"(a|b)*a(a|b){500}c"})j"),
                 R"j({"a":")j" + repeated("aabab", bytes / 5) + "\"}", "", "too complex"});
  all.push_back({"a small pattern and a long text",
                 object_schema(R"j("a":{"type":"string","pattern":"(a|b)*a(a|b){12}c"})j"),
                 R"j({"a":")j" + repeated("aabab", bytes / 5) + "\"}", "", "should match"});
}

std::string ruled(const std::string& rules, const std::string& more = "") {
  return object_schema(R"j("s":{"type":"string"},"p":{"type":"string"},"q":{"type":"string"},)j"
                       R"j("l":{"type":"array","items":{"type":"string"}},)j"
                       R"j("d":{"type":"array","items":{"type":"array","items":{"type":"string"}}})j" +
                           more,
                       rules_of(rules));
}

void add_rule_shapes(std::size_t bytes, std::vector<HostileObject>& all) {
  const std::string texts = items(bytes, [](std::size_t i) { return numbered("e", i % 1'000); });
  const std::string lists =
      R"j({"d":[)j" + list_of([](std::size_t) { return std::string(R"j(["a"])j"); }, kMany, bytes) + "]}";
  const std::string long_text = R"j({"s":")j" + std::string(bytes, 'a') + R"j(","p":"(a.*b|a)"})j";
  const std::string two_texts = R"j({"s":")j" + std::string(bytes / 3 * 2, 'a') + R"j(","q":")j" +
                                std::string(bytes / 6, 'a') + "b" + std::string(bytes / 7, 'a') + "\"}";
  constexpr const char* kSpent = "cost";
  struct Row {
    const char *name, *term;
    const std::string* object;
  };
  const Row rows[] = {
      {"comparisons of the whole object", "self.l==self.l", &texts},
      {"comparisons of lists of lists", "self.d==self.d", &lists},
      {"sums of lists", "(self.l+self.l).size()>1", &texts},
      {"distinct lists", "self.d.distinct().size()>0", &lists},
      {"sorts", "self.l.sort().size()>0", &texts},
      {"ranges", "lists.range(1000000).size()>0", &texts},
      {"flattened lists", "self.d.flatten().size()>0", &lists},
      {"sizes of a text", "size(self.s)>0", &long_text},
      {"searches of a text", "self.s.findAll('(a.*b|a)').size()>0", &long_text},
      {"patterns from the object", "self.l.all(x,self.s.matches(x)||true)", &texts},
      {"membership", "self.l.all(x,x in self.l)", &texts},
      {"loops", "self.l.all(x,self.l.all(y,self.l.all(z,true)))", &texts},
      {"replacements", "self.s.replace('a','bb').size()>0", &long_text},
      {"joins", "self.l.join('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').size()>0", &texts},
      {"characters", "self.s.charAt(1)=='a'", &long_text},
      {"last characters", "self.s.lastIndexOf('b')<0", &long_text},
      {"texts in a text", "self.s.indexOf(self.q)<0", &two_texts},
      {"texts in a text from its end", "self.s.lastIndexOf(self.q)<0", &two_texts},
      {"splits", "self.s.split('').size()>0", &long_text},
  };
  for (const Row& row : rows)
    all.push_back(
        {std::string("10 kB of ") + row.name, ruled(rule(chain(row.term, "&&"))), *row.object, "", kSpent});
  std::string loops;
  for (int i = 0; i < 20; ++i)
    loops += (i ? "," : "") + rule("self.l.all(x,self.l.all(y," + std::to_string(i) + ">=0))");
  all.push_back({"20 rules that take nearly all of their cost", ruled(loops),
                 R"j({"l":[)j" + list_of([](std::size_t) { return std::string("\"a\""); }, 400) + "]}", "",
                 kSpent});
  all.push_back({"a rule of named formats for many items",
                 items_schema(R"j({"type":"string","x-kubernetes-validations":[)j" +
                              rule("!format.dns1123Label().validate(self).hasValue()") + "]}"),
                 items(bytes, [](std::size_t) { return std::string("\"abc\""); }), "", ""});
  all.push_back({"a pattern of its own for each of many items",
                 items_schema(R"j({"type":"string","x-kubernetes-validations":[)j" +
                              rule("'abc'.matches(self)||true") + "]}"),
                 items(bytes, [](std::size_t i) { return quoted("a{1000}" + std::to_string(i)); }), "",
                 kSpent});
  all.push_back(
      {"many items that fail a rule in a list that changed",
       items_schema(R"j({"type":"string","x-kubernetes-validations":[)j" + rule("false") + "]}"),
       items(bytes, [](std::size_t) { return std::string("\"abc\""); }),
       items(bytes, [bytes](std::size_t i) { return std::string(i == bytes / 12 ? "\"abd\"" : "\"abc\""); }),
       "m"});
  std::string deep = R"j({"type":"string"})j", value = "\"x\"", old = "\"y\"";
  for (int i = 0; i < 180; ++i) {
    deep = object_schema("\"b\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"a\":" + deep,
                         rules_of(rule("false")));
    const std::string filler =
        "{\"b\":[" + list_of([](std::size_t) { return std::string("\"z\""); }, bytes / 800) + "],\"a\":";
    value = filler + value + "}";
    old = filler + old + "}";
  }
  all.push_back(
      {"180 levels of which each fails a rule, and only the lowest changed", deep, value, old, "m"});
}

}  // namespace

std::vector<HostileObject> hostile_objects(std::size_t bytes) {
  std::vector<HostileObject> all;
  add_value_shapes(bytes, all);
  add_rule_shapes(bytes, all);
  return all;
}

}  // namespace berth::crd
