"""Random CEL selectors with a device each, from a grammar of typed templates; seeded."""
import random
import re

ATTRIBUTES = 'device.attributes["dra.example.com"]'
CAPACITY = 'device.capacity["dra.example.com"]'
DAMAGE_ONE_IN = 12

# By type: what stands alone, and templates in which {type} is filled again. of «a|b» one is taken.
ALONE = {
    "bool": ["true", "false", "@.yes", "@.no", "has(@.«yes|nothing|seven»)",
             "device.allowMultipleAllocations"],
    "int": ["0", "1", "2", "3", "-1", "7", "9223372036854775807", "-9223372036854775807", "0x1F", "10",
            "@.seven",
            "@.neg", "@.nothing"],
    "uint": ["0u", "1u", "5u", "18446744073709551615u"],
    "double": ["0.0", "1.5", "-2.25", "1e300", "3.0", "0.1"],
    "string": ["''", "'a'", "'abc'", "'a,b,,c'", "'ABC-def'", "'10.1.2.3'", "'10.0.0.0/8'", "'1.2.3'",
               "'42'",
               "'größe✓'", "'500m'", "'https://h.example:8080/p?q=1'", "'::1'", "'1h'", "'x y'", "'-7'",
               "'true'",
               "'1.5'", "device.driver", "@.name", "@.qual"],
    "bytes": ["b'abc'", "b''", r"b'\xff'"],
    "ints": ["[]", "[1]", "[1, 2, 3]", "[3, 1, 2, 1]", "lists.range(4)", "@.ints"],
    "strings": ["[]", "['a', 'b']", "['b', 'a', 'b']", "@.strs", "['x']"],
    "map": ["{}", "{'a': 1}", "{'a': 1, 'b': 2}"],
    "duration": ["duration('1h')", "duration('90s')", "duration('-5ms')", "duration('1.5h')"],
    "timestamp": ["timestamp('2026-01-02T03:04:05Z')", "timestamp('0001-01-01T00:00:00Z')",
                  "timestamp('2024-02-29T23:59:59.123+02:00')", "timestamp('9999-12-31T23:59:59Z')"],
    "semver": ["@.ver", "@.build", "@.pre", "semver('1.2.3')", "semver('2.0.0-rc.1')",
               "semver('v1.2', true)",
               "semver('01.2.3', true)"],
    "quantity": ["quantity('1Gi')", "quantity('500m')", "quantity('12E')", "quantity('-3')", "#.slots",
                 "#.mem",
                 "quantity('0.1')"],
    "ip": ["ip('10.1.2.3')", "ip('::1')", "ip('0.0.0.0')", "ip('fe80::1')", "cidr('10.1.2.3/24').ip()"],
    "cidr": ["cidr('10.0.0.0/8')", "cidr('10.1.2.3/24')", "cidr('2001:db8::/32')",
             "cidr('10.1.2.3/24').masked()"],
    "url": ["url('https://h.example:8080/p?q=1&q=2#f')", "url('http://[::1]:80/a%20b')", "url('/rel')"],
    "optional": ["optional.none()", "[1, 2][?1]", "{'a': 1}.?«a|b»", "@.?«seven|nothing»"],
}
FILLED = {
    "bool": [
        "({bool} && {bool})", "({bool} || {bool})", "!{bool}", "({bool} ? {bool} : {bool})",
        *(f"{{{t}}} «<|<=|>|>=» {{{t}}}" for t in ("int", "double", "string", "uint", "bytes", "duration",
                                                     "timestamp")),
        *(f"{{{t}}} «==|!=» {{{t}}}" for t in ("int", "double", "string", "bytes", "ints", "strings", "map",
                                                 "semver", "ip", "cidr", "url", "optional", "bool")),
        "{int} in {ints}", "{string} in {strings}", "{string} in {map}", "[{int}].isSorted()",
        "{string}.«startsWith|endsWith|contains»({string})",
        r"{string}.matches(«'^a.*'|'[a-z]+'|'['|'\\d[2-9]'|'b?c$'»)",
        "{ints}.«all|exists|exists_one»(x, «x > 1|x == 2|x % 2 == 0|x / (x - 1) > 0|true»)",
        """{map}.«all|exists|exists_one»(k, «k != "a"|k.size() == 1|k < "b"»)""",
        "{ints}.«all|exists|existsOne»(i, v, «i < v|i == v|v > 0»)",
        """{map}.«all|exists|existsOne»(k, v, «k == "a"|v == 2|v > 1»)""",
        "sets.«contains|equivalent|intersects»({ints}, {ints})",
        "sets.«contains|equivalent|intersects»({strings}, {strings})",
        "{semver}.«isLessThan|isGreaterThan»({semver})",
        "{quantity}.«isLessThan|isGreaterThan»({quantity})",
        "is«Semver|Quantity|IP|CIDR|URL»({string})", "{ints}.isSorted()", "{optional}.hasValue()",
        "{ip}.«isLoopback|isUnspecified|isGlobalUnicast|isLinkLocalMulticast|isLinkLocalUnicast»()",
        "{cidr}.containsIP({ip})", "{cidr}.containsIP({string})", "{cidr}.containsCIDR({cidr})",
        "cel.bind(v, {int}, «v > 2|v * v < 10|v in [1, 2, 3]»)", '"«seven|nothing|ints»" in @',
        "@.«ints|one|seven|bools».includes({int})", "@.«strs|ver|vers».includes({string})",
        """@.exists(k, «k == "seven"|k.startsWith("q")»)""", "dyn({int}) «==|<|>=|!=» dyn({double})",
        "dyn({uint}) «==|<|>=|!=» dyn({int})", "type({int}) == «int|string|double»",
        "ip.isCanonical({string})",
        "bool({string})", "@.?«yes|nothing|no|seven».orValue({bool})",
    ],
    "int": [
        "({int} «+|-|*|/|%» {int})", "-{int}", "{string}.size()", "size({ints})", "{map}.size()",
        "size({bytes})",
        "int({double})", "int({uint})", "int({string})", "int({timestamp})", "{ints}[{int}]",
        "{map}[{string}]",
        "{string}.«indexOf|lastIndexOf»({string})", "{semver}.«major|minor|patch»()",
        "{semver}.compareTo({semver})",
        "{quantity}.compareTo({quantity})", "{quantity}.asInteger()", "{quantity}.sign()",
        "{ints}.«sum|min|max»()",
        "{optional}.orValue({int})", "{optional}.value()", "{cidr}.prefixLength()", "{ip}.family()",
        "{timestamp}.get«FullYear|Month|Date|DayOfWeek|DayOfYear|DayOfMonth»()",
        "{timestamp}.get«Hours|Minutes|Seconds|Milliseconds»()",
        "{duration}.get«Hours|Minutes|Seconds|Milliseconds»()", "({bool} ? {int} : {int})",
        "{ints}.«indexOf|lastIndexOf»({int})", "{ints}.«first|last»().orValue(0)",
        "cel.bind(w, {int}, w + w)",
    ],
    "uint": ["({uint} «+|-|*|/|%» {uint})", "uint({int})", "uint({double})", "uint({string})"],
    "double": ["({double} «+|-|*|/» {double})", "double({int})", "double({string})", "-{double}",
               "{quantity}.asApproximateFloat()"],
    "string": [
        "({string} + {string})", "{string}.«lowerAscii|upperAscii|trim|reverse»()",
        "{string}.charAt({int})",
        "{string}.substring({int})", "{string}.substring({int}, {int})",
        "{string}.replace({string}, {string})",
        "{string}.replace({string}, {string}, {int})", "{strings}.join({string})", "{strings}.join()",
        *(f"string({{{t}}})" for t in ("int", "uint", "double", "bool", "bytes", "duration", "timestamp",
        "ip",
                                       "cidr", "string")),
        "{strings}[{int}]", r"{string}.find(«'[a-c]+'|'\\d+'|'x*'»)", "strings.quote({string})",
        *(f"'«%s|%d|%.2f|%x|%b|%e|%o|%X»'.format([{{{t}}}])" for t in ("int", "string", "double", "ints",
        "bool",
                                                                       "uint", "duration")),
        "{url}.get«Scheme|Host|Hostname|Port|EscapedPath»()", "({bool} ? {string} : {string})",
        'device.attributes[«"other.example.org"|device.driver|"nope.example"»].name',
    ],
    "bytes": ["bytes({string})", "({bytes} + {bytes})"],
    "ints": [
        "[{int}, {int}]", "({ints} + {ints})", "{ints}.map(x, «x * 2|x - 1|x % 2|10 / x»)",
        "{ints}.map(x, «x > 1|x != 2», x + 1)", "{ints}.filter(x, «x > 1|x % 2 == 1|5 / x > 1»)",
        "{ints}.«sort|reverse|distinct»()", "{ints}.slice({int}, {int})", "lists.range(«3|0|-1|5»)",
        "[{ints}, {ints}].flatten()", "[[1, 2], {ints}].flatten(«1|0|2|-1»)", "[?{optional}, {int}]",
        "{ints}.transformList(i, v, «i + v|v|i * 2»)", "{ints}.sortBy(x, «-x|x % 3|string(x)»)",
        "({bool} ? {ints} : {ints})", "@.?«ints|one|nothing».orValue({ints})",
    ],
    "strings": [
        "[{string}]", "{string}.split({string})", "{string}.split({string}, {int})",
        r"{string}.findAll(«'[a-c]'|'\\d'|''»)", "{strings}.map(x, x + {string})",
        "{strings}.«sort|reverse|distinct»()", "{ints}.map(x, string(x))", "({strings} + {strings})",
    ],
    "map": ["{{string}: {int}}", "{'a': {int}, {string}: 2}", "{?{string}: {optional}}",
            "{map}.transformMap(k, v, v + 1)", "{ints}.transformMapEntry(i, v, {string(i): v})"],
    "duration": ["({duration} «+|-» {duration})", "({timestamp} - {timestamp})", "duration({string})"],
    "timestamp": ["({timestamp} «+|-» {duration})", "timestamp({string})", "timestamp({int})"],
    "semver": ["semver({string})"],
    "quantity": ["{quantity}.«add|sub»({quantity})", "{quantity}.«add|sub»({int})", "quantity({string})"],
    "ip": ["ip({string})"],
    "cidr": ["cidr({string})"],
    "url": ["url({string})"],
    "optional": ["optional.of({int})", "optional.ofNonZeroValue({int})", "[1, 2][?{int}]",
                 "{'a': 1}[?{string}]",
                 "{optional}.optMap(x, x + 1)", "{optional}.or({optional})",
                 "{optional}.optFlatMap(x, [x][?0])",
                 "{ints}.first()"],
}
BLANK = re.compile("{(" + "|".join(ALONE) + ")}")
CHOICE = re.compile("«([^»]*)»")


class Selector:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.text = self.filled("bool", 2 + self.random.randrange(3))
        if self.random.randrange(DAMAGE_ONE_IN) == 0:
            self.damage()

    def filled(self, kind, depth):
        alone = depth <= 0 or self.random.randrange(4) == 0
        template = self.random.choice(ALONE[kind] if alone else FILLED[kind])
        template = CHOICE.sub(lambda found: self.random.choice(found[1].split("|")), template)
        template = template.replace("@", ATTRIBUTES).replace("#.", CAPACITY + ".")
        return BLANK.sub(lambda found: self.filled(found[1], depth - 1), template)

    def damage(self):
        at = self.random.randrange(len(self.text))
        added = self.random.choice(["", ")", ".", "x", "0", "'", " ", "?"])
        self.text = self.text[:at] + added + self.text[at + self.random.randrange(3):]

    def device(self):
        attributes = {
            "addr": {"string": "10.1.2.3"}, "name": {"string": "abc"}, "qual": {"string": "a"},
            "ints": {"ints": [3, 1, 2]}, "one": {"ints": [7]}, "seven": {"int": 7}, "neg": {"int": -3},
            "yes": {"bool": True}, "no": {"bool": False}, "bools": {"bools": [True, False]},
            "strs": {"strings": ["x", "abc"]}, "ver": {"version": "1.2.3"},
            "build": {"version": "1.10.0+b7"},
            "pre": {"version": "2.0.0-rc.1"}, "vers": {"versions": ["1.2.3", "2.0.0"]},
            "other.example.org/name": {"string": "elsewhere"}}
        kept = {name: value for name, value in attributes.items() if self.random.randrange(8)}
        return {"driver": "dra.example.com", "attributes": kept,
                "capacity": {"slots": {"value": "500m"}, "mem": {"value": "8Gi"}},
                "allowMultipleAllocations": bool(self.random.randrange(2))}
