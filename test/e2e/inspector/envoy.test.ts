// tier: long
/** An inspector behind a real Envoy that is told to stop, and the configurations for users of Envoy. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { parse } from "yaml";
import { envoyBootstrap } from "../../../src/cli/dev/envoy-bootstrap.ts";
import { peer } from "../../peers/index.ts";
import { runProgram } from "../support/gateway.ts";
import { freePort } from "../support/ports.ts";
import { eventually, type Owner, within } from "../support/wait.ts";
import { postPieces, postWhole, recordingUpstream, runEnvoy, startProxy } from "./support/envoy.ts";
import { GUARDRAILS, type Inspecting, KEY, MAIL, REDACTED, startInspector } from "./support/inspecting.ts";
import { type HttpFilter, istioFilter } from "./support/istio-filter.ts";
import { chat } from "./support/peer.ts";

const envoy = await peer("envoy");
const IN_FLIGHT = 20;

interface Setup extends Inspecting {
  readonly allowsFailure?: boolean;
  readonly messageTimeout?: string;
}

async function setUp(t: Owner, setup: Setup = {}) {
  const address = `127.0.0.1:${await freePort()}`;
  const start = () => startInspector(t, GUARDRAILS, { ...setup, address });
  const [upstream, gateway] = await Promise.all([recordingUpstream(t), start()]);
  const proxy = await startProxy(t, envoy.path, { inspector: address, upstream: upstream.address, ...setup });
  const isInspected = async (): Promise<boolean> => {
    const { status } = await postWhole(proxy.url, chat(MAIL));
    return status === 200 && upstream.seen().endsWith(chat(REDACTED));
  };
  await eventually("an inspected request", isInspected);
  return { gateway, upstream, proxy, start, isInspected };
}

/** Requests of which the inspector holds a part. */
async function openRequests(url: string, streams: () => Promise<number>) {
  const whole = chat(`${"x".repeat(30_000)} ${MAIL}`);
  const postings = Array.from({ length: IN_FLIGHT }, () => postPieces(url));
  for (const posting of postings) posting.write(whole.slice(0, -10));
  await eventually("requests under way", async () => (await streams()) >= IN_FLIGHT);
  return { postings, rest: whole.slice(-10) };
}

const streamsOf = (metricsUrl: string | undefined) => async (): Promise<number> => {
  const text = await (await fetch(metricsUrl ?? "")).text();
  return Number(/^gateway_inspector_streams (\d+)$/m.exec(text)?.[1] ?? 0);
};

describe("behind a real Envoy", { skip: envoy.missing }, () => {
  test("a stopping node answers requests in flight", async (t) => {
    const { gateway, upstream, proxy } = await setUp(t, { env: { GATEWAY_DRAIN: "20s" } });
    const { postings, rest } = await openRequests(proxy.url, streamsOf(gateway.metricsUrl));
    gateway.signal("SIGTERM");
    await gateway.logged("stopping: waiting for requests in flight; a second signal ends the process at once");
    for (const posting of postings) posting.end(rest);
    const answers = await Promise.all(postings.map(({ answered }) => within("an answer", answered)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.deepEqual(await within("the end", gateway.ended), { status: 0, signal: null });
    assert.ok(!upstream.seen().includes(MAIL));
    assert.equal((await postWhole(proxy.url, chat(MAIL))).status, 500);
  });

  test("the configuration printed by `gateway dev -inspector` works unchanged", async (t) => {
    const free = ["-listen", "127.0.0.1:0", "-metrics-listen", "127.0.0.1:0"];
    const program = runProgram(t, { args: ["dev", "-inspector", ...free] });
    await eventually("the last line", () => /^ready /m.test(program.stdout()), 60_000);
    const printed = program.stdout();
    const path = /^envoy -c (\S+)$/m.exec(printed)?.[1] ?? "";
    assert.ok(printed.includes(await readFile(path, "utf8")), "the file is not what is printed");
    const [, admin = ""] = /'http:\/\/([^/]+)\/stats/.exec(printed) ?? [];
    const [, url = ""] = /^curl -i (http:\/\/[^/]+)\//m.exec(printed) ?? [];
    await runEnvoy(t, envoy.path, path, admin);
    const hello = await postWhole(url, chat(MAIL).replace('"m"', '"sim-chat"'));
    assert.equal(hello.status, 200);
    assert.match(hello.body, /mail <EMAIL_ADDRESS>/);
    assert.equal((await postWhole(url, chat(KEY))).status, 403);
  });

  test("Envoy accepts the filter that Istio is given", async (t) => {
    const [listen, admin] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
    const modes = { request_body_mode: "duplex", inspect_responses: "" } as const;
    const text = envoyBootstrap({ listen, admin, inspector: listen, upstream: listen, modes });
    const bootstrap = parse(text) as Bootstrap;
    const [first] =
      bootstrap.static_resources.listeners[0]?.filter_chains[0]?.filters[0]?.typed_config.http_filters ?? [];
    assert.ok(first !== undefined);
    first.typed_config = (await istioFilter()).typed_config;
    const folder = await mkdtemp(join(tmpdir(), "gateway-envoy-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    // The cluster's name is resolved by Istio.
    const path = join(folder, "envoy.json");
    await writeFile(path, JSON.stringify(bootstrap).replace(/outbound\|[^"]*/, "inspector"));
    await runEnvoy(t, envoy.path, path, admin);
  });
});

interface Bootstrap {
  readonly static_resources: {
    readonly listeners: readonly {
      readonly filter_chains: readonly {
        readonly filters: readonly { readonly typed_config: { readonly http_filters: readonly HttpFilter[] } }[];
      }[];
    }[];
  };
}
