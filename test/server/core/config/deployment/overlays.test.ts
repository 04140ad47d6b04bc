import assert from "node:assert/strict";
import { test } from "node:test";
import { operationChecks, type ProviderOperation } from "../../../../../src/server/core/config/deployment/index.ts";
import { documentOf, problemAt, problemsOf } from "./harness.ts";

test("a problem in an inline overlay is reported at its place", () => {
  const document = documentOf({
    catalog_overlays: [{ name: "house", providers: [{ op: "remove", name: "xai", docs: "https://x.example" }] }],
  });
  assert.deepEqual(problemsOf(document), [
    "catalog_overlays[0].providers[0].docs: `op: remove` takes no key except `name`; `docs` is not one of them",
  ]);
});

const OPERATIONS: readonly {
  readonly name: string;
  readonly operation: ProviderOperation;
  readonly expected: readonly string[];
}[] = [
  {
    name: "a full definition by the provider's own keys is accepted",
    operation: { op: "add", name: "house", schema: { name: "compat" }, base_url: "https://{region}.example.com/v1" },
    expected: [],
  },
  {
    name: "a full definition by its channels is accepted",
    operation: {
      op: "replace",
      name: "house",
      channels: [
        { id: "own", dialect: "messages", base_url: "https://a.example.com" },
        {
          id: "compat",
          dialect: "compat",
          base_url: "https://a.example.com/v1",
          tier: "provider_compat",
          verified_at: "2026-05-01",
          verified_by: "platform team",
        },
      ],
    },
    expected: [],
  },
  {
    name: "a definition that says neither dialect nor address is refused",
    operation: { op: "add", name: "house" },
    expected: [
      ": `op: add` needs `schema.name`, or a `dialect` on each of its channels",
      ": `op: add` needs a `base_url`, for the provider or on each of its channels",
    ],
  },
  {
    name: "a patch of anything but the four keys is refused",
    operation: { op: "patch", name: "openai", schema: { name: "messages" }, set_request_fields: { store: false } },
    expected: [
      "schema: `op: patch` may change only `base_url`, `key_env`, `docs` and `channels`; `schema` is not one of them",
      "set_request_fields: `op: patch` may change only `base_url`, `key_env`, `docs` and `channels`; `set_request_fields` is not one of them",
    ],
  },
  {
    name: "a compatibility surface needs its verification",
    operation: {
      op: "patch",
      name: "xai",
      channels: [{ id: "m", op: "add", dialect: "messages", tier: "provider_compat", verified_at: "2026-05-01" }],
    },
    expected: ["channels[0]: a channel of tier `provider_compat` needs `verified_by`"],
  },
  {
    name: "a channel has an operation under patch, and only there",
    operation: { op: "patch", name: "xai", channels: [{ id: "m" }, { id: "n", op: "remove", caps: [] }] },
    expected: [
      "channels[0]: a channel under `op: patch` needs its own `op`: `add`, `replace` or `remove`",
      "channels[1].caps: a channel with `op: remove` has only an `id`: remove `caps`",
    ],
  },
  {
    name: "a channel's operation under add is refused",
    operation: {
      op: "add",
      name: "house",
      schema: { name: "compat" },
      base_url: "https://a.example.com",
      channels: [{ id: "m", op: "add" }],
    },
    expected: ["channels[0].op: a channel has an `op` only under `op: patch`, not under `op: add`"],
  },
  {
    name: "two channels with the same id are refused",
    operation: {
      op: "patch",
      name: "xai",
      channels: [
        { id: "m", op: "remove" },
        { id: "m", op: "add" },
      ],
    },
    expected: ['channels[1]: two channels of this provider have the name "m", the first is entry 1 of this list'],
  },
  {
    name: "a root with a user or a query is refused, and the user is not repeated",
    operation: {
      op: "patch",
      name: "xai",
      base_url: "https://user:secret@a.example.com",
      channels: [{ id: "m", op: "add", base_url: "https://a.example.com/?q" }],
    },
    expected: [
      "base_url: a root URL must not contain a user or password",
      "channels[0].base_url: the root URL must not have a query or fragment (`?`, `#`)",
    ],
  },
  {
    name: "headers that the gateway sets, invalid headers, and headers with a line end are refused",
    operation: {
      op: "add",
      name: "house",
      schema: { name: "compat" },
      base_url: "https://a.example.com",
      set_request_headers: { Authorization: "x", "a b": "x", "x-team": "a\r\nhost: b", "x-ok": "fine" },
    },
    expected: [
      'set_request_headers.Authorization: the header "Authorization" is set by the gateway and by nothing else',
      'set_request_headers["a b"]: this is not a header name (RFC 9110 section 5.1)',
      "set_request_headers.x-team: the value contains a character that is not allowed in a header",
    ],
  },
];

for (const { name, operation, expected } of OPERATIONS) {
  test(`overlay: ${name}`, () => {
    const found = operationChecks(operation, problemAt).map(({ path, message }) => `${path}: ${message}`);
    assert.deepEqual(found, expected);
  });
}
