/**
 * Nodes in config mode, each a `gateway` process with a folder, a data directory and an admin socket of its own:
 * single, or members of one cluster. A node keeps its files and its directory across starts.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AdminClient, type AdminError, createAdminClient } from "../../../../src/admin-api/index.ts";
import type { Document } from "../../support/config.ts";
import { type Gateway, type LogLine, type Program, runProgram } from "../../support/gateway.ts";
import { freePort } from "../../support/ports.ts";
import { type Answer, exchange, post } from "../../support/raw.ts";
import { reply, scriptedUpstream, type Upstream } from "../../support/upstream.ts";
import { atEnd, eventually, type Owner, within } from "../../support/wait.ts";

export const SECRET = "a-secret-that-is-long-enough-for-tests";

/** Elections, restarts and compilations on a busy machine. */
export const SLOW_MS = 60_000;

type Env = Readonly<Record<string, string>>;

export interface TestNode {
  readonly id: string;
  readonly dir: string;
  readonly dataDir: string;
  readonly nodePath: string;
  readonly client: AdminClient;
  /** Replaced keys of the node file and of its `cluster`; `undefined` removes one. */
  writeNode(changes: Document, cluster?: Document): Promise<void>;
  writeDeployment(document: Document | string): Promise<void>;
  /** Starts the process without waiting. */
  launch(env?: Env): Program;
  /** Resolves when it serves. */
  start(env?: Env): Promise<Gateway>;
  /** Sends SIGTERM; it must end cleanly. */
  stop(): Promise<void>;
  /** The running process, or the last one. */
  readonly program: Program;
  /** All output of its processes. */
  output(): string;
}

interface NodesOptions {
  readonly ids?: readonly string[];
  /** `undefined` if the deployment is written through the admin API. */
  readonly deployment?: Document | string | undefined;
  readonly changes?: Document;
}

export async function createNodes(owner: Owner, options: NodesOptions = {}): Promise<readonly TestNode[]> {
  const { ids = ["n1"], deployment, changes = {} } = options;
  const root = await mkdtemp(join(tmpdir(), "gateway-config-"));
  atEnd(owner, () => rm(root, { recursive: true, force: true }));
  const peers: Document[] = [];
  for (const id of ids.length > 1 ? ids : []) {
    const [raft, forward] = [await freePort(), await freePort()];
    peers.push({ id, raft_addr: `127.0.0.1:${raft}`, forward_addr: `127.0.0.1:${forward}` });
  }
  return Promise.all(
    ids.map(async (id) => {
      const node = createNode(owner, join(root, id), id, {
        listen: "127.0.0.1:0",
        metrics_listen: "127.0.0.1:0",
        deployment: deployment === undefined ? undefined : "deployment.yaml",
        cluster: {
          node_id: id,
          data_dir: "data",
          secret: SECRET,
          ...(peers.length > 0 ? { peers } : { bootstrap: true }),
        },
        admin: { local_socket: "admin.sock" },
      });
      await mkdir(node.dir);
      await node.writeNode(changes);
      if (deployment !== undefined) await node.writeDeployment(deployment);
      return node;
    }),
  );
}

export async function createOne(owner: Owner, options: Omit<NodesOptions, "ids"> = {}): Promise<TestNode> {
  const [node] = await createNodes(owner, options);
  assert.ok(node);
  return node;
}

function createNode(owner: Owner, dir: string, id: string, ordinary: Document): TestNode {
  const nodePath = join(dir, "node.yaml");
  const client = createAdminClient({ address: { kind: "socket", path: join(dir, "admin.sock") } });
  atEnd(owner, () => client.close());
  const programs: Program[] = [];
  const node: TestNode = {
    id,
    dir,
    dataDir: join(dir, "data"),
    nodePath,
    client,
    writeNode: (changes, cluster = {}) => {
      const own = ordinary["cluster"] as Document;
      return writeFile(nodePath, JSON.stringify({ ...ordinary, ...changes, cluster: { ...own, ...cluster } }));
    },
    writeDeployment: (document) =>
      writeFile(join(dir, "deployment.yaml"), typeof document === "string" ? document : JSON.stringify(document)),
    launch(env = {}) {
      const program = runProgram(owner, { args: ["-config", nodePath], env });
      programs.push(program);
      return program;
    },
    start: (env) => ready(node.launch(env)),
    async stop() {
      node.program.signal("SIGTERM");
      const end = await within(`the end of ${id}`, node.program.ended, SLOW_MS);
      assert.deepEqual(end, { status: 0, signal: null }, node.program.stderr());
    },
    get program() {
      const program = programs.at(-1);
      assert.ok(program, `${id} was never started`);
      return program;
    },
    output: () => programs.map((program) => program.stdout() + program.stderr()).join(""),
  };
  return node;
}

/** Characters from the end of a gateway's output that are shown. */
const SHOWN = 8_000;

/** Resolves with the gateway of a started process once it serves. */
export async function ready(program: Program): Promise<Gateway> {
  let end: unknown;
  void program.ended.then((it) => {
    end = it;
  });
  const { listen, metrics } = await eventually(
    "a gateway that serves",
    () => {
      if (end !== undefined) throw new Error(`it ended: ${JSON.stringify(end)}\n${program.stderr()}`);
      return program.log().find(({ message }) => message === "ready");
    },
    SLOW_MS,
  ).catch((cause: unknown) => {
    throw new Error(`it did not serve, and said:\n${program.stderr().slice(-SHOWN)}`, { cause });
  });
  const { hostname, port } = new URL(`http://${listen}`);
  const metricsUrl = metrics === "none" ? undefined : `http://${metrics}/metrics`;
  return { ...program, host: hostname, port: Number(port), url: `http://${listen}`, metricsUrl };
}

/** Resolves with the first line with this message, from `from` on in the log. */
export function logged(program: Program, message: string, from = 0): Promise<LogLine> {
  const find = () =>
    program
      .log()
      .slice(from)
      .find((line) => line.message === message);
  return eventually(`the log line "${message}"`, find, SLOW_MS);
}

/** Resolves when the node's socket answers and it knows a leader. */
export function led(node: TestNode): Promise<string> {
  return eventually(
    `a leader known to ${node.id}`,
    async () => {
      const status = await node.client.call("get_status").catch(() => undefined);
      return status?.leader ?? undefined;
    },
    SLOW_MS,
  );
}

/** An upstream that names itself in every answer. */
export const named = (owner: Owner, name: string): Promise<Upstream> =>
  scriptedUpstream(owner, (socket) => reply(socket, { body: JSON.stringify({ from: name }) }));

export const provider = (name: string, url: string, facts: Document = {}): Document => ({
  name,
  dialect: "compat",
  base_url: url,
  ...facts,
});

/** One provider at the upstream, with the version if one is given. */
export const one = ({ url }: Pick<Upstream, "url">, version?: number): Document => ({
  ...(version !== undefined && { version }),
  providers: [provider("one", url)],
});

export function ask(owner: Owner, gateway: Pick<Gateway, "port">): Promise<Answer> {
  const body = JSON.stringify({ model: "m", messages: [] });
  return exchange(owner, gateway.port, post("/v1/chat/completions", body, ["Content-Type: application/json"]));
}

/** Resolves with the name of the upstream that answers now. */
export async function served(owner: Owner, gateway: Pick<Gateway, "port">): Promise<unknown> {
  const { status, body } = await ask(owner, gateway);
  assert.equal(status, 200, body.toString());
  return (JSON.parse(body.toString()) as { readonly from: unknown }).from;
}

/** Credential of the upstream's last request. */
export const credentialAt = ({ requests }: Upstream): string | undefined =>
  requests.at(-1)?.headers.find(([name]) => name.toLowerCase() === "authorization")?.[1];

/** State, message and remedy of the document on the disk. */
export const fileStatus = async ({ client }: TestNode) => (await client.call("get_config")).file_status;

/** Resolves with the refusal of a call. */
export async function refusalOf(call: Promise<unknown>): Promise<AdminError> {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  assert.ok("error" in outcome, `it was not refused: ${JSON.stringify(outcome)}`);
  return outcome.error as AdminError;
}

/** The refusal's list of problems. */
export const problemsOf = ({ details }: AdminError) =>
  details as readonly {
    readonly source: string;
    readonly path: string;
    readonly line: number;
    readonly message: string;
  }[];
