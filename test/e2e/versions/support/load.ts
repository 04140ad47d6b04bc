/**
 * Clients of a cluster while its nodes are replaced one by one: model requests that try the next node if a connect is
 * refused and retry nothing else, and revisions of the deployment's source.
 */
import { Agent, createServer, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { AdminError, createAdminClient } from "../../../../src/admin-api/index.ts";
import type { TestCluster, TestNode } from "../../cluster/support/cluster.ts";
import { listenLocally } from "../../support/ports.ts";
import { atEnd, type Owner } from "../../support/wait.ts";

const SOURCE = "main";
const BUDGET = "all";
const LIMIT_MS = 10_000;
const PACE_MS = 10;
/** Occurs on a busy machine; a client retries it automatically. */
const LEADERLESS = /^503 .*"budget_unavailable"/;

/** A provider that answers at once and counts. */
export async function startProvider(owner: Owner): Promise<{ readonly url: string; requests(): number }> {
  let requests = 0;
  const server = createServer((incoming, response) => {
    incoming.resume().once("end", () => {
      requests += 1;
      const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ id: "x", object: "chat.completion", model: "m", choices: [], usage }));
    });
  });
  const port = await listenLocally(server);
  atEnd(owner, () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${port}/v1`, requests: () => requests };
}

const documentOf = (provider: string, edition: number): string =>
  JSON.stringify({
    auth: { virtual_keys: true },
    providers: [
      { name: "only", dialect: "compat", base_url: provider, api_key: "k", models: ["m", `edition-${edition}`] },
    ],
    budgets: [{ name: BUDGET, limit: 1_000_000, window: "720h", shared: true, cost: { type: "CEL", cel: "1" } }],
    profiles: [{ name: "team", budget: BUDGET }],
  });

/** Uses a node's admin API for one operation. */
async function asking<Answer>(
  { socketPath }: TestNode,
  work: (client: ReturnType<typeof createAdminClient>) => Promise<Answer>,
): Promise<Answer> {
  const client = createAdminClient({ address: { kind: "socket", path: socketPath } });
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

export const putSource = (node: TestNode, provider: string, edition: number): Promise<unknown> =>
  asking(node, (client) =>
    client.call(
      "put_source",
      { params: { name: SOURCE }, body: documentOf(provider, edition) },
      { timeLimitMs: LIMIT_MS },
    ),
  );

/** Returns the newest edition of the node's source. */
export const editionOf = (node: TestNode): Promise<number> =>
  asking(node, async (client) => {
    const { document } = await client.call("get_source", { params: { name: SOURCE } }, { timeLimitMs: LIMIT_MS });
    return Number(/edition-(\d+)/.exec(document)?.[1]);
  });

/** Requests charged to the budget in the cluster, including those that can no longer be reported. */
export const chargedTo = (node: TestNode): Promise<{ readonly used: number; readonly unaccounted: number }> =>
  asking(node, async (client) => {
    const { items } = await client.call("list_budgets", {}, { timeLimitMs: LIMIT_MS });
    const [row] = items;
    return { used: row?.used ?? 0, unaccounted: row?.unaccounted ?? 0 };
  });

export const mintKey = (node: TestNode): Promise<string> =>
  asking(node, async (client) => {
    const { key } = await client.call(
      "create_key",
      { body: { name: "the-client", profile: "team" } },
      { timeLimitMs: LIMIT_MS },
    );
    return key ?? "";
  });

interface Load {
  readonly served: number;
  readonly refusedConnects: number;
  /** Requests to a node that had just started, during an election longer than the second that a charge waits. */
  readonly leaderless: number;
  /** Failures that clients must not see. */
  readonly failures: readonly string[];
  /** The newest acknowledged edition. */
  readonly edition: number;
  stop(): Promise<void>;
}

interface LoadOptions {
  readonly cluster: TestCluster;
  readonly provider: string;
  readonly key: string;
  /** Ports of the nodes' data planes, in order. */
  readonly ports: readonly number[];
  /** Current step of the test, for failure messages. */
  doing(): string;
}

export function startLoad(options: LoadOptions): Load {
  const { cluster, provider, key, ports } = options;
  const failures: string[] = [];
  let [served, refusedConnects, leaderless, edition] = [0, 0, 0, 1];
  let isOver = false;

  const sendRequests = async (lane: number): Promise<void> => {
    const agent = new Agent({ keepAlive: true });
    for (let turn = lane; !isOver; turn += 1) {
      const at = turn % ports.length;
      const begun = performance.now();
      try {
        await askModel(agent, ports[at]!, key);
        served += 1;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ECONNREFUSED") refusedConnects += 1;
        else if (error instanceof Error && LEADERLESS.test(error.message)) leaderless += 1;
        else {
          const reason = error instanceof Error ? error.message : String(error);
          failures.push(
            `${options.doing()}: ${cluster.ids[at]} after ${Math.round(performance.now() - begun)} ms: ${reason}`,
          );
        }
      }
      await pause(PACE_MS);
    }
    agent.destroy();
  };

  const edits = async (): Promise<void> => {
    for (let next = 2; !isOver; next += 1) {
      const running = cluster.nodes.filter(({ isRunning }) => isRunning);
      const node = running[next % running.length];
      try {
        if (node !== undefined) await putSource(node, provider, next);
        edition = next;
      } catch (error) {
        if (!(error instanceof AdminError)) throw error;
      }
      await pause(20 * PACE_MS);
    }
  };

  const working = [sendRequests(0), sendRequests(1), edits()];
  return {
    get served() {
      return served;
    },
    get refusedConnects() {
      return refusedConnects;
    },
    get leaderless() {
      return leaderless;
    },
    failures,
    get edition() {
      return edition;
    },
    async stop() {
      isOver = true;
      await Promise.all(working);
    },
  };
}

function askModel(agent: Agent, port: number, key: string): Promise<void> {
  const body = JSON.stringify({ model: "m", max_tokens: 8, messages: [{ role: "user", content: "hello" }] });
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    authorization: `Bearer ${key}`,
  };
  return new Promise((done, fail) => {
    const path = "/v1/chat/completions";
    const asked = request({ agent, host: "127.0.0.1", port, method: "POST", path, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.once("error", fail);
      response.once("end", () =>
        response.statusCode === 200 ? done() : fail(new Error(`${response.statusCode} ${text.slice(0, 300)}`)),
      );
    });
    asked.once("error", fail);
    asked.end(body);
  });
}
