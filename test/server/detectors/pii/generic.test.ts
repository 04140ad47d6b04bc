import assert from "node:assert/strict";
import test from "node:test";
import { BUILT_IN, compileScan, engineOf } from "../../../../src/server/detectors/pii/index.ts";
import { toV8 } from "../../../../src/server/detectors/pii/pattern-syntax.ts";
import { GENERIC } from "../../../../src/server/detectors/pii/recognizers/generic.ts";

const scan = compileScan(GENERIC, { engine: engineOf("pure")!, usesContext: false });

/** Text, and its findings: `TYPE score value`. */
const ROWS: readonly (readonly [text: string, ...found: string[]])[] = [
  ["4111 1111 1111 1111", "CREDIT_CARD 1 4111 1111 1111 1111"],
  ["pay 4111-1111-1111-1111!", "CREDIT_CARD 1 4111-1111-1111-1111"],
  ["٤١١١١١١١١١١١١١١١", "CREDIT_CARD 1 ٤١١١١١١١١١١١١١١١"],
  ["2221000000000009", "CREDIT_CARD 1 2221000000000009"],
  ["4111111111111112"],
  ["0000000000000000"],
  ["1700000000002"],
  ["GB82 WEST 1234 5698 7654 32 thanks", "IBAN_CODE 1 GB82 WEST 1234 5698 7654 32"],
  ["sa0380000000608010167519", "IBAN_CODE 1 sa0380000000608010167519"],
  ["DE89370400440532013001"],
  ["ZZ89370400440532013000"],
  ["1BoatSLRHtKNngkdXEeobR76b53LETtpyT", "CRYPTO 1 1BoatSLRHtKNngkdXEeobR76b53LETtpyT"],
  ["1BoatSLRHtKNngkdXEeobR76b53LETtpyU"],
  ["bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "CRYPTO 1 bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"],
  ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "CRYPTO 1 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"],
  ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD"],
  [`0x${"5a".repeat(20)}`, `CRYPTO 0.4 0x${"5a".repeat(20)}`],
  ["<Bob.Smith+x@mail.example.com>.", "EMAIL_ADDRESS 1 Bob.Smith+x@mail.example.com"],
  ["a@b.unlisted", "EMAIL_ADDRESS 0.5 a@b.unlisted"],
  ["me＠example．com", "EMAIL_ADDRESS 1 me＠example．com"],
  ["git clone git@git.example.unlisted:org/repo.git ssh://git@git.example.unlisted/repo"],
  ["git@example.com, //x git@example.com", "EMAIL_ADDRESS 1 git@example.com", "EMAIL_ADDRESS 1 git@example.com"],
  [
    "digit@example.com:22 //a.git@example.com",
    "EMAIL_ADDRESS 1 digit@example.com",
    "EMAIL_ADDRESS 1 a.git@example.com",
  ],
  ["a..b@example.com a@b @x.com x@-.com"],
  ["see https://x.example.com/a?b=c.", "URL 0.6 https://x.example.com/a?b=c"],
  ["http://10.0.0.1:80/x", "URL 0.6 http://10.0.0.1:80/x", "IP_ADDRESS 0.6 10.0.0.1"],
  ["at www.example.org, now", "URL 0.5 www.example.org"],
  ["readme.md user.id this.name end.It 1.5 e.g. v1.2.com3"],
  ["10.0.0.1 or 192.168.0.0/16", "IP_ADDRESS 0.6 10.0.0.1", "IP_ADDRESS 0.6 192.168.0.0/16"],
  ["ip:10.0.0.1 ip:fe80::1:2", "IP_ADDRESS 0.6 10.0.0.1", "IP_ADDRESS 0.6 fe80::1:2"],
  ["256.0.0.1 1.2.3.4.5 v1.2.3.4"],
  ["fe80::1%eth0 ::ffff:10.0.0.1", "IP_ADDRESS 0.6 fe80::1%eth0", "IP_ADDRESS 0.6 ::ffff:10.0.0.1"],
  ["10.11.21.133 npm 1.2.8000", "IP_ADDRESS 0.6 10.11.21.133"],
  ["ff:f2:9f:16:cf:0f:00:0d:60:e9 ff:f2:9f:16:cf:0f", "MAC_ADDRESS 0.6 ff:f2:9f:16:cf:0f"],
  ["session 0x14ed93111f20048"],
  ["std::vector ab::cd 12:30:45 :: "],
  ["00:1A:2B:3C:4D:5E 001a.2b3c.4d5e", "MAC_ADDRESS 0.6 00:1A:2B:3C:4D:5E", "MAC_ADDRESS 0.6 001a.2b3c.4d5e"],
  ["ff:ff:ff:ff:ff:ff 00:1A-2B:3C:4D:5E 00:1G:2B:3C:4D:5E"],
  ["2024-02-29T10:20:30.5+03:00", "DATE_TIME 0.8 2024-02-29T10:20:30.5+03:00"],
  ["2023-02-29T10:20:30Z 13/13/2020 31.02.2020 0/0/20"],
  [
    "12/31/1999 5-JAN-2020 01.02.2003",
    "DATE_TIME 0.6 12/31/1999",
    "DATE_TIME 0.6 5-JAN-2020",
    "DATE_TIME 0.6 01.02.2003",
  ],
  ["AB1234563 AB1234564", "MEDICAL_LICENSE 1 AB1234563"],
  ["490154203237518 490154203237519", "CREDIT_CARD 0.3 490154203237518", "IMEI 0.1 490154203237518"],
  ["1HGCM82633A004352 1HGCM82634A004352", "US_VIN 1 1HGCM82633A004352"],
];

test("generic entities are found if they validate, and not one character off", () => {
  for (const [text, ...expected] of ROWS) {
    const found = scan(text).map(({ label, score, start, end }) => `${label} ${score} ${text.slice(start, end)}`);
    assert.deepEqual(found.sort(), [...expected].sort(), text);
  }
});

test("built-in tables load with distinct names, patterns valid in both engines, and bounded repeats", () => {
  const names = BUILT_IN.map(({ name }) => name);
  assert.deepEqual(names, [...new Set(names)]);
  for (const { name, patterns } of BUILT_IN) {
    for (const pattern of patterns) if (pattern.kind === "text") assert.ok(toV8(pattern.regex), name);
  }
  compileScan(BUILT_IN, { engine: engineOf("pure")!, usesContext: true });
  for (const regex of ["a*", "a+", "a{2,}", "(?i)a", "(?=a)", "\\1", "[[:alpha:]]", "\\A"]) {
    assert.throws(() => toV8(regex), regex);
  }
});

/** Each has the requested length and causes its own kind of work. */
const HOSTILE: Readonly<Record<string, (length: number) => string>> = {
  "one word": (length) => "a".repeat(length),
  digits: (length) => "7".repeat(length),
  dashes: (length) => "-".repeat(length),
  "a@": (length) => "a@".repeat(length / 2),
  "Arabic digits": (length) => "٣".repeat(length),
  "groups of digits": (length) => "4111 ".repeat(length / 5),
  "starts of accounts": (length) => "GB82 ".repeat(length / 5),
  "a.": (length) => "a.".repeat(length / 2),
  "1.": (length) => "1.".repeat(length / 2),
  colons: (length) => ":".repeat(length),
  schemes: (length) => "http://".repeat(length / 7),
  ignorables: (length) => "1\u200b".repeat(length / 2),
};

test("a hostile text of twice the length takes about twice the time", () => {
  const all = compileScan(BUILT_IN, { engine: engineOf("pure")!, usesContext: true });
  const best = (text: string) =>
    Math.min(
      ...Array.from({ length: 3 }, () => {
        const start = performance.now();
        all(text);
        return performance.now() - start;
      }),
    );
  for (const [name, make] of Object.entries(HOSTILE)) {
    best(make(10_000));
    const isLinear = () => {
      const [once, twice] = [best(make(50_000)), best(make(100_000))];
      measured.push(`${once.toFixed(1)} and ${twice.toFixed(1)} ms`);
      // Quadratic would be four times; the rest allows for short measurements.
      return twice <= once * 3 + 5;
    };
    const measured: string[] = [];
    // A busy machine may interrupt one measurement, but not each.
    assert.ok(isLinear() || isLinear() || isLinear() || isLinear(), `${name}: ${measured.join(", ")}`);
  }
});
