/**
 * Configuration for an operator: refused starts, reloads by SIGHUP and by a changed secret, and `check`. Source:
 * specification document 1, States and transitions; exit statuses: design decisions, section 5.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { type Document, type Files, startWithFiles, twoDialects, writeFiles } from "./support/config.ts";
import { type Gateway, type Program, runProgram, startGateway } from "./support/gateway.ts";
import { type Answer, exchange, post, rawClient } from "./support/raw.ts";
import { simulated } from "./support/simulated.ts";
import { endChunks, type Recorded, reply, scriptedUpstream, startEvents, writeChunk } from "./support/upstream.ts";
import { eventually, type Owner } from "./support/wait.ts";

const PATH = "/v1/chat/completions";
const NOBODY = "http://127.0.0.1:1";
const KEPT = "the previous configuration keeps serving";
const WAITS = "the deployment document on disk waits for a reload; what the cluster stores keeps serving";
const APPLIED = "configuration applied";
const NOT_APPLIED = "the deployment document on disk is not applied; what the cluster stores keeps serving";
const RELOADED = "reloaded";

const provider = (name: string, url: string, facts: Document = {}): Document => ({
  name,
  dialect: "compat",
  base_url: url,
  ...facts,
});

/** An upstream that names itself in every answer. */
const named = (owner: Owner, name: string) =>
  scriptedUpstream(owner, (socket) => reply(socket, { body: JSON.stringify({ from: name }) }));

function ask(owner: Owner, gateway: Gateway, model = "m"): Promise<Answer> {
  const body = JSON.stringify({ model, messages: [] });
  return exchange(owner, gateway.port, post(PATH, body, ["Content-Type: application/json"]));
}

/** Resolves with the name of the upstream that answers now. */
async function served(owner: Owner, gateway: Gateway): Promise<unknown> {
  const { status, body } = await ask(owner, gateway);
  assert.equal(status, 200, body.toString());
  return (JSON.parse(body.toString()) as { readonly from: unknown }).from;
}

/** Requests a reload and resolves with the log line of its outcome. */
async function reload(gateway: Gateway, message: string) {
  const from = gateway.log().length;
  gateway.signal("SIGHUP");
  return gateway.logged(message, from);
}

const header = (request: Recorded | undefined, name: string) =>
  request?.headers.find(([candidate]) => candidate.toLowerCase() === name)?.[1];

interface Result {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function resultOf(program: Program): Promise<Result> {
  const { status } = await program.ended;
  return { status, stdout: program.stdout(), stderr: program.stderr() };
}

const start = (t: TestContext, files: Files) => resultOf(runProgram(t, { args: ["-config", files.nodePath] }));
const check = (t: TestContext, files: Files, ...flags: string[]) =>
  resultOf(runProgram(t, { args: ["check", "-config", files.nodePath, ...flags] }));

function overlay(name: string, url: string): Document {
  return { op: "add", name, schema: { name: "compat" }, base_url: url, strip_path_prefix: "/v1" };
}

// Concurrent, since one of them waits for the ten-second check of the secret files.
describe("configuration and reload", { concurrency: 2 }, () => {
  test("SIGHUP serves from the new document while a stream in flight ends under the old one", async (t) => {
    const old = await scriptedUpstream(t, (socket) => {
      startEvents(socket);
      writeChunk(socket, 'data: {"model":"real","n":1}\n\n');
      finish = () => {
        writeChunk(socket, 'data: {"model":"real","n":2}\n\n');
        endChunks(socket);
      };
    });
    let finish = (): void => assert.fail("the old provider was not asked");
    const next = await named(t, "next");
    const gateway = await startWithFiles(t, {
      providers: [provider("old", old.url, { model_aliases: { fast: "real" } })],
    });

    const client = await rawClient(t, gateway.port);
    const body = JSON.stringify({ model: "fast", stream: true, messages: [] });
    client.send(post(PATH, body, ["Content-Type: application/json"]));
    await eventually("the first event", () => client.received().includes('"n":1'));

    await gateway.files.writeDeployment({ version: 1, providers: [provider("next", next.url)] });
    const { sources, providers } = await reload(gateway, APPLIED);
    assert.deepEqual({ sources, providers }, { sources: ["default@2"], providers: 1 });
    assert.equal(await served(t, gateway), "next");
    assert.equal(old.requests.length, 1);

    finish();
    const answer = await client.answer();
    assert.equal(answer.status, 200);
    assert.equal(answer.body.toString(), 'data: {"model":"fast","n":1}\n\ndata: {"model":"fast","n":2}\n\n');
    await eventually("the end of the old provider's connections", () => old.open() === 0);
  });

  test("an invalid document at SIGHUP is logged with each of its problems, and the running one stays", async (t) => {
    const [first, second] = await Promise.all([named(t, "first"), named(t, "second")]);
    const gateway = await startWithFiles(t, { providers: [provider("first", first.url)] });
    const { files } = gateway;

    await files.writeDeployment({ colour: "red", size: 7, providers: [provider("second", second.url)] });
    assert.equal((await reload(gateway, NOT_APPLIED))["problems"], 2);
    const problems = gateway.log().filter(({ message }) => message === "configuration refused");
    assert.deepEqual(
      problems.map(({ problem }) => /colour|size/.exec(String(problem))?.[0]),
      ["colour", "size"],
    );
    assert.equal(await served(t, gateway), "first");

    await files.writeDeployment("providers: [");
    await reload(gateway, NOT_APPLIED);
    assert.equal(await served(t, gateway), "first");

    await files.writeDeployment({ providers: [provider("second", second.url)] });
    assert.match(String((await reload(gateway, WAITS))["reason"]), /has no version; `gateway config reload`/);
    assert.equal(await served(t, gateway), "first");
    await files.writeDeployment({ version: 1, providers: [provider("second", second.url)] });
    await reload(gateway, APPLIED);
    assert.equal(await served(t, gateway), "second");
    await files.writeDeployment({ providers: [provider("first", first.url)] });
    await reload(gateway, WAITS);
    assert.equal(await served(t, gateway), "second");
  });

  test("at SIGHUP an equal version with other content and a lower one are refused, and a higher one is applied", async (t) => {
    const [first, second] = await Promise.all([named(t, "first"), named(t, "second")]);
    const edition = (version: number, name: string, { url }: { readonly url: string }): Document => ({
      version,
      providers: [provider(name, url)],
    });
    const gateway = await startWithFiles(t, edition(5, "first", first));
    const { writeDeployment } = gateway.files;

    await writeDeployment(edition(5, "second", second));
    assert.match(String((await reload(gateway, NOT_APPLIED))["reason"]), /version 5 is stored with different content/);
    assert.equal(await served(t, gateway), "first");

    await writeDeployment(edition(4, "second", second));
    assert.match(String((await reload(gateway, NOT_APPLIED))["reason"]), /version 4 is lower than the stored .* 5/);
    assert.equal(await served(t, gateway), "first");

    await writeDeployment(edition(6, "second", second));
    await reload(gateway, APPLIED);
    assert.equal(await served(t, gateway), "second");

    await writeDeployment(edition(5, "first", first));
    assert.match(String((await reload(gateway, NOT_APPLIED))["reason"]), /version 5 is lower than the stored .* 6/);
    assert.equal(await served(t, gateway), "second");
  });

  test("a changed secret file takes effect without a reload; other changes on disk wait for one", async (t) => {
    const [upstream, other] = await Promise.all([named(t, "upstream"), named(t, "other")]);
    const document = (url: string): Document => ({
      version: 1,
      providers: [provider("one", url, { api_key: "${secret:key}" })],
    });
    const files = await writeFiles(t, document(upstream.url), { secrets_dir: "secrets" });
    const secret = join(files.dir, "secrets", "key");
    await mkdir(join(files.dir, "secrets"));
    await writeFile(secret, "sk-old\n");
    const gateway = await startGateway(t, { args: ["-config", files.nodePath] });

    assert.equal(await served(t, gateway), "upstream");
    assert.equal(header(upstream.requests.at(-1), "authorization"), "Bearer sk-old");

    await files.writeDeployment(document(other.url));
    const from = gateway.log().length;
    await writeFile(secret, "sk-new\n");
    const isRebuilt = () =>
      gateway
        .log()
        .slice(from)
        .some(({ message }) => message === APPLIED);
    await eventually("a rebuild", isRebuilt, 14_000);
    assert.equal(await served(t, gateway), "upstream");
    assert.equal(header(upstream.requests.at(-1), "authorization"), "Bearer sk-new");
    assert.doesNotMatch(gateway.stderr() + gateway.stdout(), /sk-(old|new)/);

    assert.match(String((await reload(gateway, NOT_APPLIED))["reason"]), /raise the version/);
  });

  test("a node file change that needs a restart is named in the log", async (t) => {
    const upstream = await named(t, "upstream");
    const gateway = await startWithFiles(t, { providers: [provider("one", upstream.url)] });
    await gateway.files.writeNode({
      listen: "127.0.0.1:9",
      metrics_listen: "none",
      catalog_overlay_paths: ["x-*.yaml"],
    });
    await reload(gateway, RELOADED);
    const lines = gateway.log().filter(({ message }) => message === "a change of the node file needs a restart");
    assert.deepEqual(lines.map(({ key }) => key).sort(), ["listen", "metrics_listen"]);
    assert.equal(await served(t, gateway), "upstream");
  });

  test("a data directory in use by another process ends the start with status 11 and a message", async (t) => {
    const gateway = await startWithFiles(t, { providers: [provider("one", NOBODY)] });
    const { status, stderr } = await start(t, gateway.files);
    assert.equal(status, 11);
    assert.ok(stderr.includes(join(gateway.files.dir, "data")), stderr);
    assert.match(stderr, /another process|in use|locked/);
    assert.doesNotMatch(stderr, /\bat .*\.js:\d/, "no stack");
  });

  test("an invalid configuration ends the start with status 10 and all problems of both documents", async (t) => {
    const document = { hue: 1, max_body_bytes: -1, providers: [provider("one", NOBODY, { api_key: "written out" })] };
    const files = await writeFiles(t, document, { colour: "red", metrics_listen: 7 });
    const { status, stdout, stderr } = await start(t, files);
    assert.equal(status, 10);
    assert.equal(stdout, "");
    const lines = stderr.trimEnd().split("\n");
    const keys = lines.slice(0, -1).map((line) => / ([\w.[\]]+(?:: warning)?): /.exec(line)?.[1]);
    const expected = ["colour", "hue", "max_body_bytes", "metrics_listen", "providers[0].api_key: warning"];
    assert.deepEqual(keys.sort(), expected, stderr);
    assert.equal(lines.at(-1), "gateway: the configuration was refused: 4 problems, 1 warning");
    assert.ok(!existsSync(join(files.dir, "data")));
  });

  test("an invalid node file does not cause false errors about the document's overlays", async (t) => {
    const changes = { colour: "red", catalog_overlay_paths: ["local.yaml"] };
    const files = await writeFiles(t, { providers: [{ preset: "local" }] }, changes);
    await writeFile(join(files.dir, "local.yaml"), JSON.stringify(overlay("local", NOBODY)));
    const { status, stderr } = await start(t, files);
    assert.equal(status, 10);
    assert.match(stderr, /colour/);
    assert.doesNotMatch(stderr, /preset/);
  });

  test("a missing node file and a missing deployment document end the start with status 10", async (t) => {
    const files = await writeFiles(t, {}, { deployment: "absent.yaml" });
    const absent = await start(t, files);
    assert.equal(absent.status, 10);
    assert.match(absent.stderr, /absent\.yaml: no such file/);
    const none = await start(t, { ...files, nodePath: join(files.dir, "none.yaml") });
    assert.equal(none.status, 10);
    assert.match(none.stderr, /none\.yaml: no such file/);
  });

  for (const key of ["listen", "metrics_listen"]) {
    test(`a port in use for ${key} ends the start with status 12 and names the address`, async (t) => {
      const { port } = await scriptedUpstream(t);
      const files = await writeFiles(t, { providers: [provider("one", NOBODY)] }, { [key]: `127.0.0.1:${port}` });
      const { status, stderr } = await start(t, files);
      assert.equal(status, 12);
      assert.match(stderr, new RegExp(`cannot listen: another process uses the address.*127\\.0\\.0\\.1:${port}`));
    });
  }

  test("offline check compiles, notes what the gateway will do, calls no upstream and creates nothing", async (t) => {
    const upstream = await named(t, "upstream");
    const files = await writeFiles(t, { providers: [provider("one", upstream.url), provider("dead", NOBODY)] });
    const { status, stdout } = await check(t, files, "-offline");
    assert.equal(status, 0, stdout);
    assert.match(stdout, /^ok {4}configuration: .*node\.yaml: 2 providers$/m);
    assert.match(stdout, /^note {2}node: serves no admin API/m);
    assert.doesNotMatch(stdout, /^fail/m);
    assert.equal(upstream.requests.length, 0);
    assert.ok(!existsSync(join(files.dir, "data")));
  });

  test("check calls each provider, prints a line for each answer, and disturbs no gateway with the same files", async (t) => {
    const simulator = await simulated(t);
    const gateway = await startWithFiles(t, {
      catalog_overlays: [twoDialects("simulator", simulator.url)],
      providers: [{ preset: "simulator", api_key: "sk-check" }],
    });
    const { status, stdout, stderr } = await check(t, gateway.files);
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /^ok {4}provider simulator \(compat\): http:\S+\/v1\/models answered 200 in \d+ ms$/m);
    assert.match(stdout, /^ok {4}provider simulator \(messages\): http:\S+\/v1\/models answered 200 in \d+ ms$/m);
    assert.doesNotMatch(stdout + stderr, /sk-check/);
  });

  test("check fails with status 1 for a refused connection and for a refused credential", async (t) => {
    const [simulator, upstream] = await Promise.all([
      simulated(t),
      scriptedUpstream(t, (socket) => reply(socket, { status: 401 })),
    ]);
    const files = await writeFiles(t, {
      providers: [
        provider("sound", simulator.url),
        provider("dead", NOBODY),
        provider("locked", upstream.url, { api_key: "sk-wrong" }),
      ],
    });
    const { status, stdout, stderr } = await check(t, files, "-timeout", "5s");
    assert.equal(status, 1);
    assert.match(stdout, /^ok {4}provider sound: /m);
    assert.match(stdout, /^fail {2}provider dead: http:\S+: nothing listens there$/m);
    assert.match(stdout, /^fail {2}provider locked: http:\S+ answered 401 .*refuses the credential$/m);
    assert.equal(header(upstream.requests[0], "authorization"), "Bearer sk-wrong");
    assert.doesNotMatch(stdout + stderr, /sk-wrong/);
    assert.ok(!existsSync(join(files.dir, "data")));
  });

  test("check gives each probe its timeout and no more", async (t) => {
    const silent = await scriptedUpstream(t, () => undefined);
    const files = await writeFiles(t, { providers: [provider("silent", silent.url)] });
    const { status, stdout } = await check(t, files, "-timeout", "200ms");
    assert.equal(status, 1);
    assert.match(stdout, /^fail {2}provider silent: http:\S+: no answer within 200ms$/m);
  });

  test("check prints each problem of an invalid configuration as a line and fails", async (t) => {
    const files = await writeFiles(t, { hue: 1, providers: [] }, { colour: "red" });
    const { status, stdout } = await check(t, files);
    assert.equal(status, 1);
    assert.match(stdout, /^fail {2}configuration: .*colour/m);
    assert.match(stdout, /^fail {2}configuration: .*hue/m);
  });

  test("an overlay pattern without a matching file is reported by check, at startup and at a reload", async (t) => {
    const files = await writeFiles(t, {}, { catalog_overlay_paths: ["overlays/*.yml"] });
    await mkdir(join(files.dir, "overlays"));
    await writeFile(
      join(files.dir, "overlays", "local-a.yaml"),
      JSON.stringify(overlay("local-a", "http://127.0.0.1:9")),
    );
    const { status, stdout } = await check(t, files);
    assert.equal(status, 0, stdout);
    assert.match(stdout, /^note {2}configuration: .*overlays\/\*\.yml matches no file$/m);
    const gateway = await startGateway(t, { args: ["-config", files.nodePath] });
    const warnings = () =>
      gateway.log().filter(({ warning }) => /overlays\/\*\.yml matches no file$/.test(String(warning)));
    assert.equal(warnings().length, 1);
    gateway.signal("SIGHUP");
    await eventually("the warning of the reload", () => warnings().length === 2);
  });

  test("overlay files match a pattern, a new file is loaded at the next SIGHUP, and inline overlays take precedence", async (t) => {
    const [first, second, inline] = await Promise.all([named(t, "first"), named(t, "second"), named(t, "inline")]);
    const files = await writeFiles(
      t,
      { providers: [{ preset: "local-a" }] },
      { catalog_overlay_paths: ["overlays/*.yaml"] },
    );
    const write = (file: string, content: Document) =>
      writeFile(join(files.dir, "overlays", file), JSON.stringify(content));
    await mkdir(join(files.dir, "overlays"));
    await write("local-a.yaml", overlay("local-a", first.url));
    await write("local-b.txt", { nonsense: true });
    const gateway = await startGateway(t, { args: ["-config", files.nodePath] });
    assert.equal(await served(t, gateway), "first");

    await write("local-b.yaml", overlay("local-b", second.url));
    await files.writeDeployment({ version: 1, providers: [{ preset: "local-b" }] });
    await reload(gateway, APPLIED);
    assert.equal(await served(t, gateway), "second");

    const over = { ...overlay("local-b", inline.url), op: "replace" };
    await files.writeDeployment({
      version: 2,
      catalog_overlays: [{ name: "ours", providers: [over] }],
      providers: [{ preset: "local-b" }],
    });
    await reload(gateway, APPLIED);
    assert.equal(await served(t, gateway), "inline");

    await write("other-name.yaml", overlay("local-c", first.url));
    await reload(gateway, KEPT);
    const [problem] = gateway.log().filter(({ message }) => message === "configuration refused");
    assert.match(String(problem?.["problem"]), /other-name\.yaml:1:\d+: name: must equal the file's base name/);
    assert.equal(await served(t, gateway), "inline");
  });
});

test("without `auth` the start says once whose credential is spent, and check says it too", async (t) => {
  const upstream = await named(t, "open");
  const deployment = (version: number, more: Document = {}): Document => ({
    version,
    providers: [provider("open", upstream.url, { api_key: "k" }), provider("bare", upstream.url)],
    default_provider: "open",
    ...more,
  });
  const gateway = await startWithFiles(t, deployment(1));
  const warnings = () =>
    gateway.log().filter(({ warning }) => /can use the credential of provider open: set `auth`/.test(String(warning)));
  assert.equal(warnings().length, 1);
  await gateway.files.writeDeployment(deployment(2));
  await reload(gateway, APPLIED);
  assert.equal(warnings().length, 1);
  const { stdout } = await check(t, gateway.files, "-offline");
  assert.match(stdout, /^note {2}node: everybody who can reach .* can use the credential of provider open: /m);
});
