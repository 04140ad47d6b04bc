#!/usr/bin/env node
/**
 * Starts the whole deployment on this machine, for a try: three nodes, the simulated provider in place of the real ones, an
 * identity provider, and a proxy that ends TLS in front of the admin API. Prints what to type, and ends with Ctrl-C.
 *
 *   node try/start.mjs [FOLDER]     FOLDER keeps the state; without it, a temporary one is removed at the end
 *
 * The files of the example are used as they are, except for addresses and paths: see `replacements`. It needs `openssl`.
 */
import { execFile, execFileSync, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startIdentityProvider } from "./identity-provider.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const EXAMPLE = resolve(HERE, "..");
const GATEWAY = process.env.GATEWAY ?? resolve(EXAMPLE, "../../bin/gateway");
const NODES = [1, 2, 3];
/** Longest wait for all nodes to be ready. */
const READY_MS = 60_000;
const READY_POLL_MS = 200;

const isTemporary = process.argv[2] === undefined;
const folder = isTemporary ? mkdtempSync(join(tmpdir(), "gw-")) : resolve(process.argv[2]);
const children = [];
const closing = [];
let isEnding = false;
let isReady = false;

/**
 * Returns a port without a listener. Ports are tried from a random one below those that systems use for outgoing
 * connections, which could take a port before the node listens on it.
 */
async function freePort() {
  for (;;) {
    const server = createServer();
    const port = nextPort++;
    const isFree = await new Promise((done) => {
      server.once("error", () => done(false)).listen(port, "127.0.0.1", () => done(true));
    });
    if (!isFree) continue;
    await new Promise((done) => server.close(done));
    return port;
  }
}

let nextPort = 10_000 + randomInt(1_900);
const ports = {};
for (const name of ["simulator", "issuer", "proxy"]) ports[name] = await freePort();
for (const node of NODES)
  for (const name of ["data", "metrics", "raft", "forward", "admin"]) ports[`${name}${node}`] = await freePort();

const local = (port) => `127.0.0.1:${port}`;
const simulator = `http://${local(ports.simulator)}`;
const issuer = `http://${local(ports.issuer)}`;
const etc = join(folder, "etc");
const secrets = join(etc, "secrets");
const socketOf = (node) => join(folder, `n${node}`, "admin.sock");

/** What stands in the files of the example, and what takes its place for a node on this machine. Longer texts come first. */
const replacements = (node) => [
  // Gateways, as they name each other.
  ...NODES.flatMap((other) => [
    [`gateway-${other}.internal:7000`, local(ports[`raft${other}`])],
    [`gateway-${other}.internal:7001`, local(ports[`forward${other}`])],
  ]),
  ["${NODE_ID}.internal:7000", local(ports[`raft${node}`])],
  ["${NODE_ID}.internal:7001", local(ports[`forward${node}`])],
  ['":8484"', `"${local(ports[`data${node}`])}"`],
  ['":9464"', `"${local(ports[`metrics${node}`])}"`],
  ['":7000"', `"${local(ports[`raft${node}`])}"`],
  ['":7001"', `"${local(ports[`forward${node}`])}"`],
  ["127.0.0.1:9485", local(ports[`admin${node}`])],
  // Folders.
  ["/etc/gateway", etc],
  ["/var/cache/gateway", join(folder, "cache")],
  ["/var/lib/gateway", join(folder, `n${node}`, "data")],
  ["/run/gateway", join(folder, `n${node}`)],
  // The rest of the world.
  ["https://login.example.com", issuer],
  ["https://models.example.com", `https://localhost:${ports.data1}`],
  ["https://wiki.example.com/mcp", `${simulator}/mcp`],
  ["https://api.openai.com/v1", `${simulator}/v1`],
  ["https://api.openai.com", simulator],
  ["https://example.openai.azure.com/openai/v1", `${simulator}/v1`],
  ["https://api.anthropic.com", simulator],
  ["https://aws-external-anthropic.eu-central-1.api.aws", simulator],
];

const localized = (name, node) =>
  replacements(node).reduce((text, [from, to]) => text.replaceAll(from, to), readFileSync(join(EXAMPLE, name), "utf8"));

function writeFiles() {
  for (const path of [secrets, join(etc, "tls"), join(folder, "cache")])
    mkdirSync(path, { recursive: true, mode: 0o700 });
  for (const node of NODES) {
    mkdirSync(join(folder, `n${node}`, "data"), { recursive: true, mode: 0o700 });
    writeFileSync(join(etc, `node-${node}.yaml`), localized("node.yaml", node));
  }
  writeFileSync(join(etc, "deployment.yaml"), localized("deployment.yaml", 1));
  for (const name of ["admin.cedar", "rules-suite.yaml"]) writeFileSync(join(etc, name), localized(name, 1));
  const document =
    readFileSync(join(EXAMPLE, "node.yaml"), "utf8") + readFileSync(join(EXAMPLE, "deployment.yaml"), "utf8");
  for (const [, name] of document.matchAll(/\$\{secret:(\w+)\}/g)) {
    const path = join(secrets, name);
    if (!existsSync(path)) writeFileSync(path, randomBytes(32).toString("hex"), { mode: 0o600 });
  }
  const certificate = join(etc, "tls/fullchain.pem");
  if (existsSync(certificate)) return;
  const names = "subjectAltName=DNS:localhost,IP:127.0.0.1";
  const subject = ["-subj", "/CN=localhost", "-addext", names, "-days", "30"];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", join(etc, "tls/key.pem")];
  execFileSync("openssl", ["req", "-x509", ...key, ...subject, "-out", certificate], { stdio: "ignore" });
}

function start(name, args, env = {}) {
  const log = createWriteStream(join(folder, `${name}.log`), { flags: "a" });
  const child = spawn(GATEWAY, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.pipe(log);
  child.stderr.pipe(log);
  const ended = new Promise((done) => child.once("close", done));
  child.once("error", (error) => void end(`${name} could not be started: ${error.message}`));
  child.once("exit", (code, signal) => {
    const what = `${name} ended (${signal ?? code}); see ${join(folder, `${name}.log`)}`;
    if (isEnding) return;
    if (isReady) console.error(`${what}. The others go on.`);
    else void end(what);
  });
  children.push({ name, child, ended });
}

/** Ends TLS in front of the admin API of node 1, as proxy/nginx.conf does. */
async function startProxy() {
  const pair = { cert: readFileSync(join(etc, "tls/fullchain.pem")), key: readFileSync(join(etc, "tls/key.pem")) };
  const server = createTlsServer(pair, (request, response) => {
    const { method, url, headers } = request;
    const to = httpRequest({ host: "127.0.0.1", port: ports.admin1, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    to.once("error", () => response.writeHead(502).end());
    response.once("close", () => to.destroy());
    request.pipe(to);
  });
  await new Promise((done) => server.listen(ports.proxy, "127.0.0.1", done));
  closing.push(() => server.close().closeAllConnections());
}

async function allReady() {
  const deadline = Date.now() + READY_MS;
  const answersReady = (node) =>
    fetch(`http://${local(ports[`metrics${node}`])}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await Promise.all(NODES.map(answersReady))).every(Boolean)) {
    if (Date.now() > deadline) return false;
    await sleep(READY_POLL_MS);
  }
  return true;
}

async function mint(name, profile, metadata) {
  const args = ["keys", "mint", name, "-profile", profile, "-metadata", metadata, "-socket", socketOf(1)];
  try {
    return (await promisify(execFile)(GATEWAY, args)).stdout.trim();
  } catch (error) {
    return /exists|conflict/.test(error.stderr) ? "(minted before)" : Promise.reject(error);
  }
}

async function end(problem) {
  if (isEnding) return;
  isEnding = true;
  if (problem !== undefined) console.error(problem);
  for (const { child } of [...children].reverse()) child.kill("SIGTERM");
  await Promise.all(children.map(({ ended }) => ended));
  for (const close of closing) close();
  if (isTemporary && problem === undefined) rmSync(folder, { recursive: true, force: true });
  process.exit(problem === undefined ? 0 : 1);
}

process.once("SIGINT", () => void end());
process.once("SIGTERM", () => void end());

try {
  writeFiles();
  const provider = await startIdentityProvider(ports.issuer);
  closing.push(provider.close);
  start("simulator", ["simulate", "-listen", local(ports.simulator)]);
  for (const node of NODES)
    start(`gateway-${node}`, ["-config", join(etc, `node-${node}.yaml`)], {
      NODE_ID: `gateway-${node}`,
      GATEWAY_WORKERS: "1",
      GATEWAY_DRAIN: "2s",
    });
  await startProxy();
  if (!(await allReady())) throw new Error(`not all nodes are ready after ${READY_MS / 1_000} s; see ${folder}/*.log`);
  isReady = true;
  const search = await mint("search-bot", "search", "team=search");
  const support = await mint("support-desk", "support", "team=support");
  const ca = join(etc, "tls/fullchain.pem");
  console.log(`
examples/production on this machine

  nodes      https://localhost:${ports.data1}  https://localhost:${ports.data2}  https://localhost:${ports.data3}
  processes  ${children.map(({ name, child }) => `${name} ${child.pid}`).join(", ")}
  admin      https://localhost:${ports.proxy}  through a proxy that ends TLS; ${socketOf(1)} without a sign-in
  sign in    ${issuer}  as ada, sam, olga or tom
  simulator  ${simulator}  in place of the providers and the wiki
  metrics    http://${local(ports.metrics1)}/metrics
  files      ${folder}${isTemporary ? "  (temporary)" : ""}

In another shell:

export SEARCH_KEY=${search}
export SUPPORT_KEY=${support}
export GATEWAY_ADMIN_SOCKET=${socketOf(1)} NODE_EXTRA_CA_CERTS=${ca}
curl --cacert ${ca} https://localhost:${ports.data1}/v1/chat/completions -H "authorization: Bearer $SEARCH_KEY" -H 'content-type: application/json' -d '{"model":"fast","messages":[{"role":"user","content":"Bill 4111 1111 1111 1111"}]}'
TOKEN=$(curl -s '${issuer}/try/token?user=ada' | jq -r .access_token)
curl --cacert ${ca} https://localhost:${ports.data2}/v1/chat/completions -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' -d '{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"Hello"}]}'
gateway status
gateway login https://localhost:${ports.proxy}
NODE_ID=gateway-1 gateway -config ${etc}/node-1.yaml -test-rules ${etc}/rules-suite.yaml
ready; Ctrl-C ends it
`);
} catch (error) {
  await end(error.message);
}
