/** The registry's answers, as an unprotected editor reads them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { answerRegistry, isRegistryPath, registryEntries } from "../../../../../src/server/core/agents/index.ts";

const AT = "2026-11-20T09:00:00Z";
const server = (name: string, more: object = {}) => ({
  name: `inner-${name}`,
  url: "http://10.0.0.4/mcp",
  api_key: "SECRET",
  cost_per_call: 1,
  registry: { name, description: `About ${name}`, ...more },
});
const TICKETS = server("com.example.tools/tickets", {
  title: "Tickets",
  website_url: "https://tools.example.com/",
  repository: { url: "https://github.com/example/tickets-mcp", source: "github", subfolder: "server" },
  icons: [
    { src: "https://tools.example.com/i.png", mime_type: "image/png", sizes: ["48x48"], theme: "light" as const },
  ],
});

type Servers = Parameters<typeof registryEntries>[0];
const entriesOf = (servers: readonly object[]) =>
  registryEntries(servers as Servers, "https://gw.example.com", () => AT);
const ENTRIES = entriesOf([
  server("com.example/b", { version: "1.2.3+x" }),
  TICKETS,
  { name: "unlisted", url: "http://x", cost_per_call: 1 },
]);

interface Page {
  readonly servers: readonly { readonly server: { readonly name: string; readonly version: string } }[];
  readonly metadata: { readonly count: number; readonly nextCursor?: string };
}

const get = (path: string, query = "", entries = ENTRIES) => answerRegistry(entries, { method: "GET", path, query });

function page(query: string, entries = ENTRIES): Page {
  const { status, body } = get("/registry/v0.1/servers", query, entries);
  assert.equal(status, 200, body);
  return JSON.parse(body) as Page;
}

const names = ({ servers }: Page): readonly string[] => servers.map(({ server: one }) => one.name);

test("an entry equals the reference's own sample and does not disclose where the server is", () => {
  const { body } = get("/registry/v0.1/servers", "limit=50&version=latest&search=TICKETS");
  assert.equal(
    body,
    '{"servers":[{"server":{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",' +
      '"name":"com.example.tools/tickets","title":"Tickets","description":"About com.example.tools/tickets",' +
      '"version":"0.0.0","websiteUrl":"https://tools.example.com/","repository":{"url":' +
      '"https://github.com/example/tickets-mcp","source":"github","subfolder":"server"},"icons":[{"src":' +
      '"https://tools.example.com/i.png","mimeType":"image/png","sizes":["48x48"],"theme":"light"}],"remotes":[{"type":' +
      '"streamable-http","url":"https://gw.example.com/mcp/com.example.tools/tickets"}]},"_meta":{' +
      `"io.modelcontextprotocol.registry/official":{"status":"active","statusChangedAt":"${AT}","publishedAt":"${AT}",` +
      `"updatedAt":"${AT}","isLatest":true}}}],"metadata":{"count":1}}`,
  );
});

test("one entry is found by its name in either spelling, with its versions", () => {
  for (const path of [
    "com.example%2Fb/versions/latest",
    "com.example/b/versions/1.2.3%2Bx",
    "com.example%2Fb/versions/latest/",
  ]) {
    assert.match(get(`/registry/v0.1/servers/${path}`).body, /^\{"server":\{.*"version":"1\.2\.3\+x"/, path);
  }
  assert.match(get("/registry/v0.1/servers/com.example%2Fb/versions").body, /"metadata":\{"count":1\}/);
  for (const path of [
    "com.example%2Fb",
    "com.example%2Fb/versions/2.0.0",
    "com.example%2Fc/versions",
    "inner-b/x/versions",
    "com.example%2Fb/versions/latest/x",
  ]) {
    assert.equal(get(`/registry/v0.1/servers/${path}`).status, 404, path);
  }
});

test("filters combine, and an empty page is still a page", () => {
  assert.deepEqual(names(page("")), ["com.example.tools/tickets", "com.example/b"]);
  assert.deepEqual(names(page("search=about&version=0.0.0")), ["com.example.tools/tickets"]);
  assert.deepEqual(names(page("updated_since=2026-11-20T10:00:00%2B01:00")), [
    "com.example.tools/tickets",
    "com.example/b",
  ]);
  assert.deepEqual(page("updated_since=2027-01-01T00:00:00Z"), { servers: [], metadata: { count: 0 } });
});

test("pages join without a gap, with unencoded cursors", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.stringMatching(/^[a-z.]{2,6}\/[a-z0-9._-]{2,8}$/), { maxLength: 40 }),
      fc.integer({ min: 1, max: 9 }),
      (all, limit) => {
        const entries = entriesOf(all.map((name) => server(name)));
        const seen: string[] = [];
        let cursor = "";
        do {
          const one = page(`limit=${limit}${cursor === "" ? "" : `&cursor=${cursor}`}`, entries);
          seen.push(...names(one));
          cursor = one.metadata.nextCursor ?? "";
          assert.match(cursor, /^[\w-]*$/);
        } while (cursor !== "");
        assert.deepEqual(seen, [...all].sort());
      },
    ),
    { numRuns: 60 },
  );
});

test("an unanswerable request gives the reason in both error formats", () => {
  const faults = [
    ["limit=0", 422],
    ["limit=101", 422],
    ["limit=x", 422],
    ["cursor=%20", 400],
    ["updated_since=yesterday", 400],
  ] as const;
  for (const [query, status] of faults) {
    const answer = get("/registry/v0.1/servers", query);
    const { error, detail } = JSON.parse(answer.body) as { error: string; detail: string };
    assert.deepEqual([answer.status, error], [status, detail], query);
  }
  assert.equal(answerRegistry(ENTRIES, { method: "POST", path: "/registry/v0.1/publish", query: "" }).status, 501);
  assert.equal(get("/registry/v0.1/servers/%zz/versions").status, 400);
  assert.equal(get("/registry/v0.1/ping").status, 404);
  assert.deepEqual([isRegistryPath("/registry/v0.1/servers"), isRegistryPath("/registry/v0.10")], [true, false]);
});
