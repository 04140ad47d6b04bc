/** `gateway check` in the test's process: its report on a configuration, and its requests. */

import assert from "node:assert/strict";
import { chmod, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { Interrupted } from "../../../src/cli/process-io.ts";
import { type Document, type Files, writeFiles } from "../../e2e/support/config.ts";
import { startOidc } from "../../e2e/support/oidc.ts";
import { freePort, listenLocally } from "../../e2e/support/ports.ts";
import { atEnd, type Owner } from "../../e2e/support/wait.ts";
import { type BufferIo, bufferIo } from "../buffer-io.ts";

const DEAD = "http://127.0.0.1:9";
const AUDIENCE = "gateway-admin";

interface Checked {
  readonly status: number;
  /** Lines of stdout. */
  readonly lines: readonly string[];
  readonly io: BufferIo;
}

async function check(files: Files, ...flags: readonly string[]): Promise<Checked> {
  const io = bufferIo();
  const status = await execute(["check", "-config", files.nodePath, ...flags], io);
  return { status, lines: io.out().split("\n").slice(0, -1), io };
}

/** Returns the lines with this beginning. */
const of = ({ lines }: Checked, start: string): readonly string[] => lines.filter((line) => line.startsWith(start));

async function serve(owner: Owner, handle: RequestListener): Promise<string> {
  const server: Server = createServer(handle);
  const url = `http://127.0.0.1:${await listenLocally(server)}`;
  atEnd(owner, () => {
    server.closeAllConnections();
    server.close();
  });
  return url;
}

const provider = (name: string, url: string): Document => ({
  op: "add",
  name,
  schema: { name: "compat" },
  base_url: `${url}/v1`,
  strip_path_prefix: "/v1",
});

/** One provider of the compat dialect per name. */
const providers = (urls: Readonly<Record<string, string>>): Document => ({
  catalog_overlays: [{ name: "test", providers: Object.entries(urls).map(([name, url]) => provider(name, url)) }],
  providers: Object.keys(urls).map((name) => ({ preset: name, models: [`${name}-*`] })),
});

const trusting = (url: string, more: Document = {}): Document => ({
  issuers: [{ name: "corp", url }],
  admin: { listen: "127.0.0.1:0", issuers: [{ issuer: "corp", audience: AUDIENCE }], policy_file: "p.cedar", ...more },
});

const writePolicy = (files: Files, text: string): Promise<void> => writeFile(join(files.dir, "p.cedar"), text);

test("a configuration whose provider and issuer answer passes, with a line per answer", async (t) => {
  const { issuer } = await startOidc(t);
  const upstream = await serve(t, (_, response) => response.end("{}"));
  const files = await writeFiles(t, providers({ one: upstream }), trusting(issuer));
  await writePolicy(files, "permit(principal, action, resource);\n");
  const checked = await check(files);
  assert.equal(checked.status, 0, checked.io.out());
  assert.equal(checked.io.err(), "");
  assert.deepEqual(of(checked, "fail"), []);
  assert.deepEqual(of(checked, "ok    issuer"), [`ok    issuer corp: ${issuer}/jwks has 1 key`]);
  assert.deepEqual(of(checked, "ok    admin policy"), [`ok    admin policy: ${join(files.dir, "p.cedar")} compiles`]);
  assert.match(of(checked, "ok    provider")[0] ?? "", /^ok {4}provider one: .*\/v1\/models answered 200 in \d+ ms$/);
});

test("an unreachable issuer, and one that answers for another, fail the check", async (t) => {
  const { issuer } = await startOidc(t);
  for (const [url, message] of [
    [DEAD, /^fail {2}issuer corp: discovery: http:\/\/127\.0\.0\.1:9\/\.well-known\/openid-configuration/],
    [issuer.replace("127.0.0.1", "localhost"), /^fail {2}issuer corp: discovery: .*of another issuer$/],
  ] as const) {
    const files = await writeFiles(t, {}, trusting(url));
    await writePolicy(files, "permit(principal, action, resource);\n");
    const checked = await check(files);
    assert.equal(checked.status, 1);
    const failures = of(checked, "fail");
    assert.equal(failures.length, 1, checked.io.out());
    assert.match(failures[0] ?? "", message);
  }
});

test("problems of a policy are reported with their place: an error fails, a warning does not", async (t) => {
  const files = await writeFiles(t, {}, trusting(DEAD));
  const policy = join(files.dir, "p.cedar");
  await writePolicy(files, "permit(principal, action, resource);\n\npermit(principal action, resource);\n");
  const broken = await check(files, "-offline");
  assert.equal(broken.status, 1);
  assert.match(of(broken, "fail")[0] ?? "", new RegExp(`^fail {2}admin policy: ${policy}:3:\\d+: `));

  await writePolicy(files, 'permit(\n  principal,\n  action == Action::"list_kees",\n  resource\n);\n');
  const doubtful = await check(files, "-offline");
  assert.equal(doubtful.status, 0, doubtful.io.out());
  assert.match(
    of(doubtful, "note  admin policy")[0] ?? "",
    new RegExp(`^note {2}admin policy: ${policy}:\\d+:\\d+: .*list_kees`),
  );
});

test("a policy file that is missing fails the check", async (t) => {
  const files = await writeFiles(t, {}, trusting(DEAD));
  const checked = await check(files, "-offline");
  assert.equal(checked.status, 1);
  assert.match(of(checked, "fail")[0] ?? "", /^fail {2}admin policy: admin\.policy_file: .*p\.cedar.*no such file$/);
});

test("a refused configuration shows every problem, those of the policy as well", async (t) => {
  const files = await writeFiles(t, { hue: 1, size: 2 }, trusting(DEAD));
  await writePolicy(files, "permit(");
  const checked = await check(files);
  assert.equal(checked.status, 1);
  const failures = of(checked, "fail");
  assert.deepEqual(
    failures.map((line) => /hue|size|p\.cedar:1:\d+/.exec(line)?.[0].replace(/\d+$/, "")),
    ["hue", "size", "p.cedar:1:"],
  );
  assert.deepEqual(checked.lines, failures);
});

test("a warning beside an error is a note", async (t) => {
  const files = await writeFiles(t, { hue: 1 });
  await files.writeNode({
    cluster: { node_id: "n1", data_dir: "data", secret: "twenty-characters-20", bootstrap: true },
  });
  const checked = await check(files);
  assert.equal(checked.status, 1);
  assert.match(of(checked, "note")[0] ?? "", /cluster\.secret: warning: /);
  assert.equal(of(checked, "fail").length, 1);
});

test("-offline opens no connection and probes no path", async (t) => {
  let connections = 0;
  const server = createTcpServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  const url = `http://127.0.0.1:${await listenLocally(server)}`;
  atEnd(t, () => server.close());
  const files = await writeFiles(t, providers({ one: url }), trusting(url, { local_socket: "admin.sock" }));
  await writePolicy(files, "permit(principal, action, resource);\n");
  const offline = await check(files, "-offline");
  assert.equal(offline.status, 0, offline.io.out());
  assert.equal(connections, 0);
  for (const subject of ["provider", "issuer", "library", "cluster.data_dir"]) {
    assert.deepEqual(of(offline, `ok    ${subject}`), []);
  }
  const online = await check(files);
  assert.equal(online.status, 1);
  assert.equal(connections, 2);
  assert.deepEqual(of(online, "ok    library"), [
    "ok    library koffi: loaded; it identifies the callers of the admin socket",
  ]);
});

test("-timeout limits each probe, and answers keep their order", async (t) => {
  const silent = await serve(t, () => undefined);
  const quick = await serve(t, (_, response) => response.end("{}"));
  const files = await writeFiles(t, providers({ one: silent, two: quick }), trusting(silent));
  await writePolicy(files, "permit(principal, action, resource);\n");
  const startedAt = performance.now();
  const checked = await check(files, "-timeout", "200ms");
  assert.ok(performance.now() - startedAt < 8_000);
  assert.equal(checked.status, 1);
  const [one, two, corp] = checked.lines.slice(-3);
  assert.equal(one, `fail  provider one: ${silent}/v1/models: no answer within 200ms`);
  assert.match(two ?? "", /^ok {4}provider two: /);
  assert.match(corp ?? "", /^fail {2}issuer corp: discovery: .*no answer within 200/);
});

test("a timeout longer than a timer can be does not expire at once", async (t) => {
  const quick = await serve(t, (_, response) => response.end("{}"));
  const files = await writeFiles(t, providers({ one: quick }));
  const checked = await check(files, "-timeout", "10000h");
  assert.equal(checked.status, 0, checked.io.out());
});

test("a terminal shows what is being awaited, and clears it afterwards", async (t) => {
  const quick = await serve(t, (_, response) => response.end("{}"));
  const files = await writeFiles(t, providers({ one: quick }));
  const io = bufferIo({ isTerminal: () => true });
  assert.equal(await execute(["check", "-config", files.nodePath], io), 0, io.out());
  assert.equal(io.err(), "\r\u001b[Kwaiting for provider one\r\u001b[K\r\u001b[K");
  const dumb = bufferIo({ isTerminal: () => true, env: { TERM: "dumb" } });
  assert.equal(await execute(["check", "-config", files.nodePath], dumb), 0);
  assert.equal(dumb.err(), "");
});

test("an aborted probe reports no result", async (t) => {
  const stop = new AbortController();
  const silent = await serve(t, () => stop.abort(new Interrupted("SIGINT")));
  const files = await writeFiles(t, providers({ one: silent }));
  const io = bufferIo({ signal: stop.signal });
  assert.equal(await execute(["check", "-config", files.nodePath], io), 130);
  assert.doesNotMatch(io.out(), /provider one/);
  assert.equal(io.err(), "");
});

/** Answers of a provider with its own credential, and without one. */
const STATUSES: readonly (readonly [status: number, hasKey: boolean, line: RegExp])[] = [
  [200, true, /^ok .* answered 200 in \d+ ms$/],
  [401, true, /^fail .*: the provider refuses the credential$/],
  [401, false, /^ok .*: the provider requires a credential, which clients must send$/],
  [404, true, /^note .*: the provider has no list of models, or the path of its `base_url` is wrong$/],
  [418, true, /^fail .* answered 418 in/],
  [429, true, /^ok .* answered 429 in/],
  [503, true, /^fail .* answered 503 in/],
];

for (const [status, hasKey, line] of STATUSES) {
  test(`a provider that answers ${status} ${hasKey ? "to its key" : "without a key"} is reported with it`, async (t) => {
    const url = await serve(t, (_, response) => response.writeHead(status).end());
    const document = providers({ one: url });
    const keyed = hasKey ? { ...document, providers: [{ preset: "one", models: ["*"], api_key: "k" }] } : document;
    const checked = await check(await writeFiles(t, keyed));
    assert.match(checked.lines.at(-1) ?? "", line);
    assert.equal(checked.status, line.source.startsWith("^fail") ? 1 : 0);
    assert.doesNotMatch(checked.io.out(), /\bk\b/);
  });
}

test("an unreachable provider fails with the reason", async (t) => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const checked = await check(await writeFiles(t, providers({ one: url })));
  assert.equal(checked.status, 1);
  assert.equal(checked.lines.at(-1), `fail  provider one: ${url}/v1/models: nothing listens there`);
});

test("the admin addresses are listed, with exposed tokens noted", async (t) => {
  const files = await writeFiles(t, {}, trusting(DEAD, { listen: ":9485", local_socket: "admin.sock" }));
  await writePolicy(files, "permit(principal, action, resource);\n");
  const open = of(await check(files, "-offline"), "note  node: ").join("\n");
  assert.match(open, /serves the admin API on :9485 in plain HTTP to callers with a token from corp$/m);
  assert.match(open, /other machines can reach :9485, and tokens travel unencrypted/);
  assert.ok(open.includes(`serves the admin API on the socket ${join(files.dir, "admin.sock")}\n`));
  assert.ok(open.includes(`authorizes admin callers with the policy ${join(files.dir, "p.cedar")}\n`));

  await files.writeNode({ admin: { listen: "127.0.0.1:9485" } });
  const local = of(await check(files, "-offline"), "note  node: ").join("\n");
  assert.match(local, /on 127\.0\.0\.1:9485 in plain HTTP to every caller on this machine, without a token$/m);
  assert.match(local, /permits every operation to every admin caller, since `admin.policy_file` is not set$/m);
  assert.doesNotMatch(local, /put a TLS proxy in front/);

  await files.writeNode({});
  assert.deepEqual(of(await check(files, "-offline"), "note  node: serves no"), [
    "note  node: serves no admin API, since `admin` is not set",
  ]);
});

test("the location of the audit trail is listed with the state of the directory", async (t) => {
  const files = await writeFiles(t, {}, { audit: { dir: "trail/of/n1" } });
  const trail = join(files.dir, "trail/of/n1");
  const made = await check(files);
  assert.equal(made.status, 0, made.io.out());
  assert.ok(
    made.lines.includes(`note  node: writes its audit trail to stderr, and stores its key and journal in ${trail}`),
  );
  assert.ok(made.lines.includes(`ok    audit.dir: ${trail} does not exist; the gateway creates it`));
  assert.deepEqual((await readdir(files.dir)).sort(), ["deployment.yaml", "node.yaml"]);

  await mkdir(trail, { recursive: true });
  assert.ok((await check(files)).lines.includes(`ok    audit.dir: ${trail} exists and is writable`));

  await files.writeNode({});
  const beside = await check(files);
  const data = join(files.dir, "data");
  assert.ok(
    beside.lines.includes(`note  node: writes its audit trail to stderr, and stores its key and journal in ${data}`),
  );
  assert.deepEqual(of(beside, "ok    audit.dir"), []);
});

const isRoot = process.getuid?.() === 0;

test("a directory not writable by this user is a note", { skip: isRoot && "root may write anywhere" }, async (t) => {
  const files = await writeFiles(t, {}, { audit: { dir: "sealed/trail" } });
  await mkdir(join(files.dir, "sealed"));
  await chmod(join(files.dir, "sealed"), 0o500);
  const checked = await check(files);
  assert.equal(checked.status, 0, checked.io.out());
  assert.match(of(checked, "note  audit.dir")[0] ?? "", /is not writable for the user who runs this check$/);
});

test("a path that no user could use is a failure", async (t) => {
  const files = await writeFiles(t, {}, { audit: { dir: "taken" }, admin: { local_socket: "taken" } });
  const taken = join(files.dir, "taken");
  await writeFile(taken, "");
  const direct = await check(files);
  assert.equal(direct.status, 1);
  assert.deepEqual(of(direct, "fail"), [
    `fail  audit.dir: ${taken} is not a directory: name another path`,
    `fail  admin.local_socket: ${taken} is not a socket: remove it, or name another path`,
  ]);

  await files.writeNode({ audit: { dir: "taken/x" }, admin: { local_socket: "taken/admin.sock" } });
  const below = await check(files);
  assert.deepEqual(of(below, "fail"), [
    `fail  audit.dir: a parent of ${taken}/x is not a directory: name another path`,
    `fail  admin.local_socket: a parent of ${taken}/admin.sock is not a directory: name another path`,
  ]);
});

test("a directory behind a link to nothing is a failure", async (t) => {
  const files = await writeFiles(t, {}, { audit: { dir: "volume/trail" } });
  const volume = join(files.dir, "volume");
  await symlink(join(files.dir, "not-mounted"), volume);
  assert.deepEqual(of(await check(files), "fail"), [
    `fail  audit.dir: ${volume} is a symbolic link to something that does not exist: create its target, or mount it`,
  ]);
  await mkdir(join(files.dir, "not-mounted"));
  assert.deepEqual(of(await check(files), "fail"), []);
});

test("a socket in a missing directory is a note, and nothing is created", async (t) => {
  const files = await writeFiles(t, {}, { admin: { local_socket: "run/admin.sock" } });
  const checked = await check(files);
  assert.equal(checked.status, 0, checked.io.out());
  const text = `${join(files.dir, "run")} does not exist: create it before the gateway starts`;
  assert.deepEqual(of(checked, "note  admin.local_socket"), [`note  admin.local_socket: ${text}`]);
  assert.deepEqual((await readdir(files.dir)).sort(), ["deployment.yaml", "node.yaml"]);
});

test("an unreadable kek_file fails the check", async (t) => {
  const files = await writeFiles(t, {});
  const cluster = {
    node_id: "n1",
    data_dir: "data",
    secret: "a-secret-that-is-long-enough-for-tests",
    bootstrap: true,
    kek_file: "none.key",
  };
  await files.writeNode({ cluster });
  const checked = await check(files);
  assert.equal(checked.status, 1);
  assert.match(of(checked, "fail")[0] ?? "", /^fail {2}cluster\.kek_file: .*none\.key/);
});

test("a key that is sealed in the cluster counts as present", async (t) => {
  const sealed = (name: string): string => `\${secret:${name}}`;
  const files = await writeFiles(t, {
    guardrails: {
      pseudonym_key: sealed("PSEUDONYMS"),
      fpe_key: sealed("NUMBERS"),
      detectors: [{ type: "pii", name: "finder", prefilter: "pure", entities: ["CREDIT_CARD", "EMAIL_ADDRESS"] }],
      rules: [
        { name: "mails", action: "redact", select: 'a.label == "EMAIL_ADDRESS"', operator: "pseudonym" },
        { name: "cards", action: "redact", select: 'a.label == "CREDIT_CARD"', operator: "fpe" },
      ],
    },
  });
  const checked = await check(files);
  assert.deepEqual(of(checked, "fail"), [], checked.io.out());
  assert.match(checked.io.out(), /PSEUDONYMS/);
});

test("credentials that were copied with quotes, `Bearer` or the name of the variable are notes", async (t) => {
  const endpoint = { dialect: "compat", base_url: `${DEAD}/v1` };
  const files = await writeFiles(
    t,
    {
      providers: [
        { ...endpoint, name: "one", models: ["a"], api_key: `${"$"}{WRAPPED_KEY}` },
        { ...endpoint, name: "two", models: ["b"], api_key: `${"$"}{secret:TWO}` },
        { ...endpoint, name: "three", models: ["c"], api_key: `${"$"}{secret:THREE}` },
      ],
    },
    { secrets_dir: "secrets" },
  );
  await mkdir(join(files.dir, "secrets"));
  await writeFile(join(files.dir, "secrets/TWO"), "Bearer sk-two\r\n", { mode: 0o600 });
  await writeFile(join(files.dir, "secrets/THREE"), "THREE_KEY=sk-three\n", { mode: 0o600 });
  const io = bufferIo({ env: { WRAPPED_KEY: "'sk-one'" } });
  assert.equal(await execute(["check", "-offline", "-config", files.nodePath], io), 0, io.out());
  const notes = io
    .out()
    .split("\n")
    .filter((line) => /^note .*api_key/.test(line))
    .map((line) => line.replace(/^.*(?=providers.*: warning: )/, "").replace("warning: ", ""));
  assert.deepEqual(notes, [
    "providers[0].api_key: is in quotes, which become part of the value; remove them",
    "providers[1].api_key: begins with `Bearer`, which the gateway adds itself where it is needed; keep only what follows",
    "providers[2].api_key: begins with a variable name and `=`, as in an environment file; keep only the value",
  ]);
  assert.doesNotMatch(io.out(), /sk-/);
});
