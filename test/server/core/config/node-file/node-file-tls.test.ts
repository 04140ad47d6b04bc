import assert from "node:assert/strict";
import { test } from "node:test";
import { readNodeFile } from "../../../../../src/server/core/config/index.ts";
import { TEST_CERTIFICATE } from "../../../dataplane/hops/websocket/certificate.ts";
import { lines, references } from "../samples.ts";

const SECRET = "twenty-four-characters-24-of-no-one";

/** Returns the problems of `tls`, except that a version cannot order certificates. */
const problemsOf = (tls: Readonly<Record<string, unknown>>): readonly string[] => {
  const document = { cluster: { node_id: "a", data_dir: "/d", bootstrap: true, secret: SECRET }, tls };
  const result = readNodeFile({ name: "n", text: JSON.stringify(document) }, references);
  return lines(result)
    .filter((line) => !line.includes("not supported by this version"))
    .map((line) => line.replace(/^n:[0-9:]+ tls\.?/, ""));
};

const hosted = { provider: "hosted_api", api_token: "t" };
const tsig = { provider: "rfc2136", server: "ns:53", key_name: "k.", key_alg: "HMAC-SHA512.", key: "c2VjcmV0" };

test("certificate files and every way to use an authority are accepted", () => {
  const valid: readonly Readonly<Record<string, unknown>>[] = [
    { cert_file: "c.pem", key_file: "k.pem" },
    { domains: ["gateway.example.com"] },
    { domains: ["gateway"], email: "ops@example.com", ca: "", trusted_roots: TEST_CERTIFICATE },
    { domains: ["a.example", "*.a.example", "xn--bcher-kva.example"], dns: hosted },
    { domains: ["*.a.example"], dns: { ...hosted, zone_token: "z" } },
    { domains: ["*.a.example", "b.c.a.example"], dns: tsig },
    { domains: ["a.example"], ca: "https://ca.internal/dir", eab: { key_id: "k", mac_key: "-_8" } },
    { domains: ["a.example"], ca: "http://127.0.0.1:1/dir" },
  ];
  for (const tls of valid) assert.deepEqual(problemsOf(tls), [], JSON.stringify(tls));
});

const BAD: readonly (readonly [Readonly<Record<string, unknown>>, ...string[]])[] = [
  [{}, ": exactly one of `domains` and `cert_file` is required, found none"],
  [{ email: "a@b" }, ": exactly one of `domains` and `cert_file` is required, found none"],
  [{ cert_file: "c.pem" }, ": `cert_file` needs `key_file` beside it"],
  [{ cert_file: TEST_CERTIFICATE, key_file: "k" }, "cert_file: must be the path of a file, not the PEM text itself"],
  [{ domains: ["*.a.example"] }, "domains[0]: a wildcard needs `tls.dns`, since HTTP-01 cannot prove it"],
  [
    { domains: ["*.a.example", "b.a.example"], dns: hosted },
    "domains[1]: is covered by `*.a.example` already; authorities refuse both in one order",
  ],
  [{ domains: ["192.0.2.1"] }, "domains[0]: is an address or URL; write a domain such as `gateway.example.com`"],
  [{ domains: ["2001:db8::1"] }, "domains[0]: is an address or URL; write a domain such as `gateway.example.com`"],
  [{ domains: ["a.example."] }, "domains[0]: ends in a dot; leave it out"],
  [{ domains: ["A.example"] }, "domains[0]: has capital letters; write it in lower case"],
  [{ domains: ["b\u00fccher.example"] }, "domains[0]: is not ASCII; write it as it is in the DNS (`xn--…`)"],
  ...["https://a.example", "a_b.example", "-a.example", "a..example", "a.*.example", "*.*.example", "*"].map(
    (name) =>
      [
        { domains: [name], dns: hosted },
        name.includes(":")
          ? "domains[0]: is an address or URL; write a domain such as `gateway.example.com`"
          : "domains[0]: is not a domain such as `gateway.example.com`, or `*.example.com`",
      ] as const,
  ),
  [{ domains: ["a.example"], email: "mailto:a@b.example" }, "email: must not begin with `mailto:`"],
  [{ domains: ["a.example"], email: "a@b, c@d" }, "email: is not one email address such as `ops@example.com`"],
  [{ domains: ["a.example"], ca: "http://ca.example/dir" }, "ca: must be an `https://` URL; ACME requires TLS"],
  [
    { domains: ["a.example"], trusted_roots: "/etc/roots.pem" },
    "trusted_roots: contains no certificate; write the PEM text here, not the path of a file",
  ],
  [
    { domains: ["a.example"], trusted_roots: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----" },
    "trusted_roots: contains text that is not a PEM certificate",
  ],
  [
    { domains: ["a.example"], dns: { provider: "hosted_api", key: "c2VjcmV0" } },
    "dns: provider `hosted_api` needs `api_token`",
    "dns.key: is not a key of provider `hosted_api`",
  ],
  [
    { domains: ["a.example"], dns: { ...hosted, api_token: "t t" } },
    "dns.api_token: contains a blank or a line break, which are not allowed in a token",
  ],
  [{ domains: ["a.example"], dns: { ...tsig, server: ":53" } }, "dns.server: needs a host before its port"],
  [
    { domains: ["a.example"], dns: { ...tsig, key_alg: "hmac-md5" } },
    "dns.key_alg: is not one of `hmac-sha256`, `hmac-sha512`, `hmac-sha384`, `hmac-sha224` and `hmac-sha1`",
  ],
  [{ domains: ["a.example"], dns: { ...tsig, key: "a*b" } }, "dns.key: is not base64"],
];

for (const [tls, ...expected] of BAD) {
  test(`${JSON.stringify(tls).slice(0, 90)} is refused: ${expected[0]}`, () => {
    assert.deepEqual(problemsOf(tls), expected);
  });
}

test("certificates by ACME need the secret that seals their keys", () => {
  const document = { cluster: { node_id: "a", data_dir: "/d", bootstrap: true }, tls: { domains: ["a.example"] } };
  const found = lines(readNodeFile({ name: "n", text: JSON.stringify(document) }, references));
  assert.deepEqual(
    found.map((line) => line.replace(/^n:[0-9:]+ /, "")),
    [
      "tls.domains: needs `cluster.secret`, since the private keys of certificates are sealed with a key that is derived from it",
    ],
  );
});
